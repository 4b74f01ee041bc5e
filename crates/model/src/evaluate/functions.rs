//! The functions of the language.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use singlet_item::{Number, Value};

use super::geo::Place;
use super::time::{self, Duration};
use super::{EvaluateError, Evaluated, Evaluator, compare, elements};
use crate::expression::{BinaryOp, EachOp, Expr, ExprKind, FunctionId};
use crate::types::Type;

/// The most days that `days(from, to)` gives.
pub const DAYS_BETWEEN_MAX: usize = 3_660;

const MILLIS_PER_MINUTE: i64 = 60_000;

/// Decimals of a distance: metres.
const DISTANCE_DECIMALS: usize = 3;

pub(super) fn call<'a>(
    evaluator: &mut Evaluator<'a>,
    function: FunctionId,
    args: &'a [Expr],
    expr: &'a Expr,
) -> Evaluated {
    match function {
        FunctionId::Ulid | FunctionId::Ksuid | FunctionId::Uuid | FunctionId::Digits | FunctionId::Random => {
            let argument = match args.first() {
                Some(arg) => evaluator
                    .value(arg)?
                    .and_then(|value| value.as_number())
                    .and_then(Number::to_u64),
                None => None,
            };
            return Ok(evaluator.environment().generate(expr, argument));
        }
        FunctionId::Round => return rounded(evaluator, args),
        FunctionId::Contains | FunctionId::StartsWith | FunctionId::Near => {
            let holds = test(evaluator, function, args)?;
            return Ok(match !holds && evaluator.any_unknown(args)? {
                true => None,
                false => Some(Value::Bool(holds)),
            });
        }
        _ => {}
    }
    let mut values = Vec::with_capacity(args.len());
    for arg in args {
        match evaluator.value(arg)? {
            Some(value) => values.push((value, &arg.ty)),
            None => return Ok(None),
        }
    }
    match values.as_slice() {
        [one] => unary(evaluator, function, one),
        [first, second] => binary(evaluator, function, first, second),
        many => least_or_greatest(function, many.to_vec()),
    }
}

type Typed<'t> = (Value, &'t Type);

fn unary(evaluator: &Evaluator<'_>, function: FunctionId, (value, ty): &Typed<'_>) -> Evaluated {
    let zone = evaluator.environment().zone();
    let number = || value.as_number().and_then(Number::to_i64).unwrap_or(0);
    let millis = |of: i64| Some(Duration { months: 0, millis: of }.to_value());
    let text = |change: fn(&str) -> String| value.as_str().map(|text| Value::S(change(text)));
    Ok(match function {
        FunctionId::Lower => text(singlet_item::key::lower),
        FunctionId::Upper => text(singlet_item::key::upper),
        FunctionId::Size => Some(Value::N(Number::from(size(value)))),
        FunctionId::String => Some(Value::S(shown(value, ty)?)),
        FunctionId::Days => millis(number().saturating_mul(24 * 60 * MILLIS_PER_MINUTE)),
        FunctionId::Hours => millis(number().saturating_mul(60 * MILLIS_PER_MINUTE)),
        FunctionId::Minutes => millis(number().saturating_mul(MILLIS_PER_MINUTE)),
        FunctionId::Months => Some(
            Duration {
                months: number(),
                millis: 0,
            }
            .to_value(),
        ),
        FunctionId::Day => Some(Value::S(day(value, ty, zone)?)),
        FunctionId::Month => Some(Value::S(day(value, ty, zone)?.chars().take(7).collect())),
        FunctionId::Year => year(&day(value, ty, zone)?),
        FunctionId::Date => Some(Value::S(
            time::parse_day(value.as_str().unwrap_or_default())?.to_string(),
        )),
        FunctionId::Hash => Some(Value::N(Number::from(hash(&shown(value, ty)?)))),
        FunctionId::Numbered => Some(numbered(value.clone())),
        FunctionId::Flat => Some(Value::L(
            elements(value.clone()).into_iter().flat_map(elements).collect(),
        )),
        FunctionId::Rank => rank(value, ty),
        FunctionId::Min | FunctionId::Max => {
            let element = ty.element().unwrap_or(ty);
            let values = elements(value.clone());
            return least_or_greatest(function, values.into_iter().map(|value| (value, element)).collect());
        }
        _ => Some(value.clone()),
    })
}

fn binary(evaluator: &Evaluator<'_>, function: FunctionId, first: &Typed<'_>, second: &Typed<'_>) -> Evaluated {
    let ((a, _), (b, _)) = (first, second);
    Ok(match function {
        FunctionId::DaysBetween => {
            let (from, to) = (a.as_str().unwrap_or_default(), b.as_str().unwrap_or_default());
            let days = time::days_between(from, to, DAYS_BETWEEN_MAX)?;
            Some(Value::L(days.into_iter().map(Value::S).collect()))
        }
        FunctionId::Time => {
            let zone = evaluator.environment().zone();
            let millis = time::at_clock(a.as_str().unwrap_or_default(), b.as_str().unwrap_or_default(), zone)?;
            Some(Value::S(time::iso(millis)?))
        }
        FunctionId::Distance => match (Place::from_value(a), Place::from_value(b)) {
            (Some(a), Some(b)) => kilometres(a.distance_km(b)),
            _ => None,
        },
        FunctionId::Geohash => {
            let precision = b
                .as_number()
                .and_then(Number::to_u64)
                .and_then(|number| u8::try_from(number).ok());
            Place::from_value(a)
                .zip(precision)
                .map(|(place, precision)| Value::S(place.geohash(precision)))
        }
        _ => return least_or_greatest(function, vec![first.clone(), second.clone()]),
    })
}

/// `contains`, `startsWith` and `near`: false with an absent operand.
fn test<'a>(evaluator: &mut Evaluator<'a>, function: FunctionId, args: &'a [Expr]) -> Result<bool, EvaluateError> {
    let mut values = Vec::new();
    for arg in args {
        match evaluator.value(arg)? {
            Some(value) => values.push((value, &arg.ty)),
            None => return Ok(false),
        }
    }
    match (function, values.as_slice()) {
        (FunctionId::StartsWith, [(Value::S(text), _), (Value::S(start), _)]) => Ok(text.starts_with(start.as_str())),
        (FunctionId::Contains, [(Value::S(text), _), (Value::S(part), _)]) => Ok(text.contains(part.as_str())),
        (FunctionId::Contains, [(list, list_ty), (element, element_ty)]) => {
            compare::compare(BinaryOp::In, (element, element_ty), (list, list_ty))
        }
        (FunctionId::Near, [(a, _), (b, _), (km, _)]) => {
            let km = km.as_number().and_then(|number| number.to_string().parse::<f64>().ok());
            let places = Place::from_value(a).zip(Place::from_value(b));
            Ok(places.zip(km).is_some_and(|((a, b), km)| a.distance_km(b) <= km))
        }
        _ => Ok(false),
    }
}

/// `round(x / y, 2)` divides to just that many decimals, so that nothing is rounded twice.
fn rounded<'a>(evaluator: &mut Evaluator<'a>, args: &'a [Expr]) -> Evaluated {
    let [inner, decimals] = args else { return Ok(None) };
    let decimals = evaluator
        .value(decimals)?
        .and_then(|value| value.as_number())
        .and_then(Number::to_u64);
    let decimals = decimals.and_then(|number| u8::try_from(number).ok()).unwrap_or(0);
    if let ExprKind::Binary(BinaryOp::Div, over, under) = &inner.kind {
        let (over, under) = (evaluator.value(over)?, evaluator.value(under)?);
        let numbers = over
            .and_then(|value| value.as_number())
            .zip(under.and_then(|value| value.as_number()));
        let Some((over, under)) = numbers else { return Ok(None) };
        let quotient = over.div_rounded(under, decimals);
        return quotient
            .map(|number| Some(Value::N(number)))
            .map_err(|error| EvaluateError::Arithmetic(error.to_string()));
    }
    let number = evaluator.value(inner)?.and_then(|value| value.as_number());
    Ok(number.map(|number| Value::N(number.round(decimals))))
}

/// What a function over a list makes of what each element gave.
pub(super) fn fold(op: EachOp, results: Vec<(Value, Option<Value>)>) -> Evaluated {
    let is = |value: &Option<Value>, truth: bool| value.as_ref().and_then(Value::as_bool) == Some(truth);
    let unknown = || results.iter().any(|(_, value)| value.is_none());
    Ok(Some(match op {
        EachOp::Exists => match results.iter().any(|(_, value)| is(value, true)) {
            false if unknown() => return Ok(None),
            any => Value::Bool(any),
        },
        EachOp::All => match results.iter().any(|(_, value)| is(value, false)) {
            false if unknown() => return Ok(None),
            any => Value::Bool(!any),
        },
        EachOp::Filter if unknown() => return Ok(None),
        EachOp::Map => Value::L(results.into_iter().filter_map(|(_, value)| value).collect()),
        EachOp::Filter => Value::L(
            results
                .into_iter()
                .filter(|(_, value)| is(value, true))
                .map(|(element, _)| element)
                .collect(),
        ),
        EachOp::Sum => return sum(results).map(Some),
        EachOp::Group => grouped(results),
    }))
}

fn sum(results: Vec<(Value, Option<Value>)>) -> Result<Value, EvaluateError> {
    let numbers = results.into_iter().filter_map(|(_, value)| value?.as_number());
    let total = numbers.into_iter().try_fold(Number::from(0), Number::checked_add);
    total
        .map(Value::N)
        .map_err(|error| EvaluateError::Arithmetic(error.to_string()))
}

/// Groups in order of first appearance.
fn grouped(results: Vec<(Value, Option<Value>)>) -> Value {
    let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
    for (element, key) in results {
        let Some(key) = key else { continue };
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, rows)) => rows.push(element),
            None => groups.push((key, vec![element])),
        }
    }
    let group = |(key, rows)| {
        Value::M(BTreeMap::from([
            ("key".to_owned(), key),
            ("rows".to_owned(), Value::L(rows)),
        ]))
    };
    Value::L(groups.into_iter().map(group).collect())
}

fn numbered(list: Value) -> Value {
    let numbered = elements(list).into_iter().zip(1_i64..).map(|(value, number)| {
        let number = Value::N(Number::from(number));
        Value::M(BTreeMap::from([
            ("number".to_owned(), number),
            ("value".to_owned(), value),
        ]))
    });
    Value::L(numbered.collect())
}

fn least_or_greatest(function: FunctionId, values: Vec<Typed<'_>>) -> Evaluated {
    let wanted = match function {
        FunctionId::Min => Ordering::Less,
        _ => Ordering::Greater,
    };
    let mut best: Option<Typed<'_>> = None;
    for (value, ty) in values {
        let better = match &best {
            None => true,
            Some((known, known_ty)) => compare::order((&value, ty), (known, known_ty))? == Some(wanted),
        };
        if better {
            best = Some((value, ty));
        }
    }
    Ok(best.map(|(value, _)| value))
}

fn size(value: &Value) -> i64 {
    let size = match value {
        Value::S(text) => text.chars().count(),
        Value::B(bytes) => bytes.len(),
        Value::M(map) => map.len(),
        other => elements(other.clone()).len(),
    };
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// A value as it stands in JSON.
fn shown(value: &Value, ty: &Type) -> Result<String, EvaluateError> {
    if *ty == Type::Now {
        let millis = value.as_number().and_then(Number::to_i64).unwrap_or(0);
        return time::iso(millis);
    }
    Ok(match value {
        Value::S(text) => text.clone(),
        Value::N(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        _ => String::new(),
    })
}

fn day(value: &Value, ty: &Type, zone: &jiff::tz::TimeZone) -> Result<String, EvaluateError> {
    match ty {
        Type::Date => Ok(value.as_str().unwrap_or_default().to_owned()),
        _ => match time::millis_of(value, ty)? {
            Some(millis) => time::day_of(millis, zone),
            None => Err(EvaluateError::Time("this is no instant".to_owned())),
        },
    }
}

fn year(day: &str) -> Option<Value> {
    let year = day.get(..4)?.parse::<i64>().ok()?;
    Some(Value::N(Number::from(year)))
}

fn kilometres(km: f64) -> Option<Value> {
    format!("{km:.DISTANCE_DECIMALS$}").parse().ok().map(Value::N)
}

fn rank(value: &Value, ty: &Type) -> Option<Value> {
    let at = ty
        .members()?
        .iter()
        .position(|member| Some(member.as_str()) == value.as_str())?;
    Some(Value::N(Number::from(i64::try_from(at).ok()?)))
}

/// FNV-1a over the text, 63 bits: the same on every machine and for ever, since keys are made of it.
fn hash(text: &str) -> i64 {
    let mixed = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    i64::try_from(mixed >> 1).unwrap_or(0)
}
