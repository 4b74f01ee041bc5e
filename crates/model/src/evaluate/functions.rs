//! The functions of the language.
#![deny(
    clippy::wildcard_enum_match_arm,
    reason = "a function or a type that is forgotten must not compile"
)]

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use singlet_item::{Number, Value};

use super::geo::Place;
use super::time::{self, Duration};
use super::{EvaluateError, Evaluated, Evaluator, compare, convert, elements_of, has_unknown};
use crate::expression::{BinaryOp, EachOp, Expr, ExprKind, FunctionId};
use crate::types::Type;

/// The most days that `days(from, to)` gives.
pub(crate) const DAYS_BETWEEN_MAX: usize = 3_660;

const MILLIS_PER_MINUTE: i64 = 60_000;

/// How much of a day's text is its month.
const MONTH_CHARS: usize = 7;

/// Decimals of a distance: metres.
const DISTANCE_DECIMALS: usize = 3;

pub(super) fn call_function<'a>(
    evaluator: &mut Evaluator<'a>,
    function: FunctionId,
    args: &'a [Expr],
    expr: &'a Expr,
) -> Evaluated {
    match function {
        FunctionId::Ulid | FunctionId::Ksuid | FunctionId::Uuid => {
            required(evaluator.environment().generate(expr, None), function)
        }
        FunctionId::Digits | FunctionId::Random => generated(evaluator, function, args, expr),
        FunctionId::Round => rounded(evaluator, args),
        FunctionId::Contains | FunctionId::StartsWith | FunctionId::Near => {
            let outcome = test(evaluator, function, args)?;
            Ok(
                match outcome != Some(true) && (outcome.is_none() || evaluator.any_unknown(args)?) {
                    true => None,
                    false => outcome.map(Value::Bool),
                },
            )
        }
        FunctionId::Lower
        | FunctionId::Upper
        | FunctionId::Trim
        | FunctionId::Size
        | FunctionId::String
        | FunctionId::Days
        | FunctionId::Hours
        | FunctionId::Minutes
        | FunctionId::Months
        | FunctionId::DaysBetween
        | FunctionId::Day
        | FunctionId::Month
        | FunctionId::Year
        | FunctionId::Date
        | FunctionId::Time
        | FunctionId::Min
        | FunctionId::Max
        | FunctionId::Hash
        | FunctionId::Numbered
        | FunctionId::Flat
        | FunctionId::Distance
        | FunctionId::Geohash
        | FunctionId::Desc
        | FunctionId::Rank
        | FunctionId::Ordered
        | FunctionId::Plain
        | FunctionId::Raw => {
            let mut values = Vec::with_capacity(args.len());
            for arg in args {
                match evaluator.value(arg)? {
                    // What a list with an element that is not known gives is not known either.
                    Some(value) if !has_unknown(&value) => values.push((value, &arg.ty)),
                    Some(_) | None => return Ok(None),
                }
            }
            if is_of_nothing(function, &values) {
                return Ok(None);
            }
            of_values(evaluator, function, &values, expr).map(Some)
        }
    }
}

type Typed<'t> = (Cow<'t, Value>, &'t Type);

/// A function of values that are all there.
fn of_values(
    evaluator: &Evaluator<'_>,
    function: FunctionId,
    values: &[Typed<'_>],
    expr: &Expr,
) -> Result<Value, EvaluateError> {
    let zone = evaluator.environment().zone();
    let one = || values.first().ok_or_else(|| unfit(function));
    let text = || one()?.0.as_str().ok_or_else(|| unfit(function));
    let number = || one()?.0.as_number().ok_or_else(|| unfit(function));
    let second = || values.get(1).map(|(value, _)| &**value).ok_or_else(|| unfit(function));
    let second_text = || second()?.as_str().ok_or_else(|| unfit(function));
    let place = |value: &Value| Place::from_value(value).ok_or_else(|| unfit(function));
    let counted = |unit: i64| Ok(Duration::counted(number()?, unit)?.to_value());
    let day = || one().and_then(|(value, ty)| day(value, ty, zone));
    Ok(match function {
        FunctionId::Lower => Value::S(singlet_item::key::lower_case(text()?)),
        FunctionId::Upper => Value::S(singlet_item::key::upper_case(text()?)),
        FunctionId::Trim => Value::S(text()?.trim().to_owned()),
        FunctionId::Size => Value::N(Number::from(size(&one()?.0, function)?)),
        FunctionId::String => Value::S(one().and_then(|(value, ty)| shown(value, ty))?),
        FunctionId::Hash => Value::N(Number::from(hash(&one().and_then(|(value, ty)| shown(value, ty))?))),
        FunctionId::Days => return counted(24 * 60 * MILLIS_PER_MINUTE),
        FunctionId::Hours => return counted(60 * MILLIS_PER_MINUTE),
        FunctionId::Minutes => return counted(MILLIS_PER_MINUTE),
        FunctionId::Months => Duration::of_months(number()?)?.to_value(),
        FunctionId::Day => Value::S(day()?),
        FunctionId::Month => Value::S(day()?.chars().take(MONTH_CHARS).collect()),
        FunctionId::Year => year(&day()?).ok_or_else(|| unfit(function))?,
        FunctionId::Date => Value::S(time::parse_day(text()?)?.to_string()),
        FunctionId::Numbered => numbered(&one()?.0),
        FunctionId::Flat => {
            let lists = elements_of(Cow::Borrowed(&*one()?.0)).into_iter();
            Value::L(lists.flat_map(elements_of).map(Cow::into_owned).collect())
        }
        FunctionId::Rank => one().and_then(|(value, ty)| rank(value, ty).ok_or_else(|| unfit(function)))?,
        FunctionId::Min => return extreme(Ordering::Less, function, values, expr),
        FunctionId::Max => return extreme(Ordering::Greater, function, values, expr),
        FunctionId::DaysBetween => {
            let days = time::days_between(text()?, second_text()?, DAYS_BETWEEN_MAX)?;
            Value::L(days.into_iter().map(Value::S).collect())
        }
        FunctionId::Time => Value::S(time::iso_millis(time::at_clock(text()?, second_text()?, zone)?)?),
        FunctionId::Distance => {
            let km = place(&one()?.0)?.distance_km(place(second()?)?);
            kilometres(km).ok_or_else(|| unfit(function))?
        }
        FunctionId::Geohash => {
            let precision = second()?.as_number().and_then(Number::to_u64);
            let precision = precision.and_then(|number| u8::try_from(number).ok());
            Value::S(place(&one()?.0)?.geohash(precision.ok_or_else(|| unfit(function))?))
        }
        // These make keys, which are no values.
        FunctionId::Desc | FunctionId::Ordered | FunctionId::Plain | FunctionId::Raw => return Err(unfit(function)),
        // These do not take their values one by one.
        FunctionId::Ulid
        | FunctionId::Ksuid
        | FunctionId::Uuid
        | FunctionId::Digits
        | FunctionId::Random
        | FunctionId::Round
        | FunctionId::Contains
        | FunctionId::StartsWith
        | FunctionId::Near => return Err(unfit(function)),
    })
}

/// What a function says of a value that it does not take: the checker lets none through, so the value is not what its type says.
fn unfit(function: FunctionId) -> EvaluateError {
    EvaluateError::Unfit(format!("`{}` has a value that it does not take", function.name()))
}

fn required(value: Option<Value>, function: FunctionId) -> Evaluated {
    match value {
        Some(value) => Ok(Some(value)),
        None => Err(EvaluateError::Unfit(format!(
            "`{}` gives no value here",
            function.name()
        ))),
    }
}

/// `digits` and `random`, of a number.
fn generated<'a>(evaluator: &mut Evaluator<'a>, function: FunctionId, args: &'a [Expr], expr: &'a Expr) -> Evaluated {
    let [arg] = args else { return Err(unfit(function)) };
    let Some(value) = evaluator.value(arg)? else {
        return Ok(None);
    };
    let number = value.as_number().ok_or_else(|| unfit(function))?;
    let argument = number.to_i64().filter(|number| *number > 0);
    let argument = argument.and_then(|number| u64::try_from(number).ok()).ok_or_else(|| {
        EvaluateError::Arithmetic(format!(
            "`{}` takes a whole number from 1 to {}, not `{number}`",
            function.name(),
            i64::MAX
        ))
    })?;
    required(evaluator.environment().generate(expr, Some(argument)), function)
}

/// `contains`, `startsWith` and `near`: false with an absent operand, nothing where an element that is not known may be it.
fn test<'a>(
    evaluator: &mut Evaluator<'a>,
    function: FunctionId,
    args: &'a [Expr],
) -> Result<Option<bool>, EvaluateError> {
    let mut looked_at = Vec::with_capacity(args.len());
    for arg in args {
        match evaluator.value(arg)? {
            Some(value) => looked_at.push(value),
            None => return Ok(Some(false)),
        }
    }
    let values = looked_at.iter().zip(args).map(|(value, arg)| (&**value, &arg.ty));
    let values: Vec<(&Value, &Type)> = values.collect();
    match (function, values.as_slice()) {
        (FunctionId::StartsWith, [(Value::S(text), _), (Value::S(start), _)]) => {
            Ok(Some(text.starts_with(start.as_str())))
        }
        (FunctionId::Contains, [(Value::S(text), _), (Value::S(part), _)]) => Ok(Some(text.contains(part.as_str()))),
        (FunctionId::Contains, [(list, list_ty), (element, element_ty)]) if list_ty.element_type().is_some() => {
            let holds = compare::compare_values(BinaryOp::In, (*element, *element_ty), (*list, *list_ty))?;
            // The element may be the one that is not known.
            Ok((holds || !has_unknown(list)).then_some(holds))
        }
        (FunctionId::Near, [(a, _), (b, _), (km, _)]) => {
            let km = km.as_number().and_then(Number::to_f64);
            let places = Place::from_value(a).zip(Place::from_value(b));
            let ((a, b), km) = places.zip(km).ok_or_else(|| unfit(function))?;
            Ok(Some(a.distance_km(b) <= km))
        }
        _ => Err(unfit(function)),
    }
}

/// `round(x / y, 2)` divides to just that many decimals, so that nothing is rounded twice.
fn rounded<'a>(evaluator: &mut Evaluator<'a>, args: &'a [Expr]) -> Evaluated {
    let wrong = || unfit(FunctionId::Round);
    let [inner, decimals] = args else { return Err(wrong()) };
    let decimals = evaluator
        .value(decimals)?
        .and_then(|value| value.as_number())
        .and_then(Number::to_u64);
    let decimals = decimals
        .and_then(|number| u8::try_from(number).ok())
        .ok_or_else(wrong)?;
    // The quotient is rounded once: rounded to its usual digits first, it could be off by one.
    if let ExprKind::Binary(BinaryOp::Div, over, under) = &inner.kind {
        let (Some(over), Some(under)) = (evaluator.value(over)?, evaluator.value(under)?) else {
            return Ok(None);
        };
        let (over, under) = over.as_number().zip(under.as_number()).ok_or_else(wrong)?;
        let quotient = over.div_rounded(under, decimals);
        return quotient
            .map(|number| Some(Value::N(number)))
            .map_err(|error| EvaluateError::Arithmetic(error.to_string()));
    }
    let Some(value) = evaluator.value(inner)? else {
        return Ok(None);
    };
    let number = value.as_number().ok_or_else(wrong)?;
    Ok(Some(Value::N(number.round(decimals))))
}

/// An element, and what it gave.
type ElementResult<'e> = (Cow<'e, Value>, Option<Cow<'e, Value>>);

/// What a function over a list makes of what each element gave.
pub(super) fn fold_list(op: EachOp, results: Vec<ElementResult<'_>>) -> Evaluated {
    let is = |value: &Option<Cow<'_, Value>>, truth: bool| value.as_deref().and_then(Value::as_bool) == Some(truth);
    let unknown = || results.iter().any(|(_, value)| value.is_none());
    Ok(Some(match op {
        // One that is true decides, whatever else is not known.
        EachOp::Exists => match results.iter().any(|(_, value)| is(value, true)) {
            false if unknown() => return Ok(None),
            any => Value::Bool(any),
        },
        EachOp::All => match results.iter().any(|(_, value)| is(value, false)) {
            false if unknown() => return Ok(None),
            any => Value::Bool(!any),
        },
        EachOp::Filter if unknown() => return Ok(None),
        EachOp::Sum | EachOp::Group if results.iter().any(|(element, _)| element.is_null()) => return Ok(None),
        EachOp::Map
            if results
                .iter()
                .any(|(element, value)| element.is_null() && value.is_none()) =>
        {
            return Ok(None);
        }
        EachOp::Map => {
            let values = results.into_iter().filter_map(|(_, value)| value);
            Value::L(values.map(Cow::into_owned).collect())
        }
        EachOp::Filter => Value::L(
            results
                .into_iter()
                .filter(|(_, value)| is(value, true))
                .map(|(element, _)| element.into_owned())
                .collect(),
        ),
        EachOp::Sum => return sum(results).map(Some),
        EachOp::Group => grouped(results),
    }))
}

fn sum(results: Vec<ElementResult<'_>>) -> Result<Value, EvaluateError> {
    let mut total = Number::ZERO;
    for value in results.into_iter().filter_map(|(_, value)| value) {
        let number = value
            .as_number()
            .ok_or_else(|| EvaluateError::Unfit("`sum` has a value that is no number".to_owned()))?;
        let added = total.checked_add(number);
        total = added.map_err(|error| EvaluateError::Arithmetic(error.to_string()))?;
    }
    Ok(Value::N(total))
}

/// Groups in order of first appearance.
fn grouped(results: Vec<ElementResult<'_>>) -> Value {
    let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
    let mut places: HashMap<Value, usize> = HashMap::new();
    for (element, key) in results {
        let Some(key) = key else { continue };
        // In the order in which the keys come first.
        let place = *places.entry(key.into_owned()).or_insert_with_key(|key| {
            groups.push((key.clone(), Vec::new()));
            groups.len() - 1
        });
        if let Some((_, rows)) = groups.get_mut(place) {
            rows.push(element.into_owned());
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

fn numbered(list: &Value) -> Value {
    let elements = elements_of(Cow::Borrowed(list)).into_iter();
    let numbered = elements.zip(1_i64..).map(|(value, number)| {
        let number = Value::N(Number::from(number));
        Value::M(BTreeMap::from([
            ("number".to_owned(), number),
            ("value".to_owned(), value.into_owned()),
        ]))
    });
    Value::L(numbered.collect())
}

/// Whether `min` or `max` looks at lists without elements: then it is absent.
fn is_of_nothing(function: FunctionId, values: &[Typed<'_>]) -> bool {
    matches!(function, FunctionId::Min | FunctionId::Max)
        && values
            .iter()
            .all(|(value, ty)| ty.element_type().is_some() && elements_of(Cow::Borrowed(value)).is_empty())
}

/// The least or the greatest of some values, or of lists of them, in the form of the whole.
fn extreme(wanted: Ordering, function: FunctionId, values: &[Typed<'_>], expr: &Expr) -> Result<Value, EvaluateError> {
    let mut best: Option<Typed<'_>> = None;
    for (value, ty) in values {
        let (all, ty) = match ty.element_type() {
            Some(element) => (elements_of(Cow::Borrowed(value)), element),
            None => (vec![Cow::Borrowed(&**value)], *ty),
        };
        for value in all {
            let better = match &best {
                None => true,
                // Of equal ones the first stays.
                Some((known, known_ty)) => compare::order_values((&value, ty), (known, known_ty))? == Some(wanted),
            };
            if better {
                best = Some((value, ty));
            }
        }
    }
    let (value, ty) = best.ok_or_else(|| unfit(function))?;
    convert::converted_borrowed(value, ty, &expr.ty).map(Cow::into_owned)
}

fn size(value: &Value, function: FunctionId) -> Result<i64, EvaluateError> {
    let size = match value {
        Value::S(text) => text.chars().count(),
        Value::B(bytes) => bytes.len(),
        Value::M(map) => map.len(),
        Value::L(list) => list.len(),
        Value::Ss(set) => set.len(),
        Value::Ns(set) => set.len(),
        Value::Bs(set) => set.len(),
        Value::N(_) | Value::Bool(_) | Value::Null => return Err(unfit(function)),
    };
    i64::try_from(size).map_err(|_| unfit(function))
}

/// A value as it stands in JSON.
fn shown(value: &Value, ty: &Type) -> Result<String, EvaluateError> {
    let text = match ty {
        Type::Now => Some(time::iso_millis(time::millis_of(value, ty)?.unwrap_or_default())?),
        Type::Text(_)
        | Type::Date
        | Type::Time
        | Type::Month
        | Type::Ulid
        | Type::Ksuid
        | Type::Uuid
        | Type::Enum(_) => value.as_str().map(str::to_owned),
        Type::Int(_) | Type::Number(_) | Type::Version | Type::Seconds | Type::Millis => {
            value.as_number().map(|number| number.to_string())
        }
        Type::Bool => value.as_bool().map(|truth| truth.to_string()),
        Type::OrWords(inner, _) => match value.as_str() {
            Some(text) => Some(text.to_owned()),
            None => Some(shown(value, inner)?),
        },
        Type::Bytes(_)
        | Type::Duration
        | Type::Geo(_)
        | Type::Json
        | Type::Object(_)
        | Type::List(..)
        | Type::Set(..)
        | Type::Map(..)
        | Type::Row(_)
        | Type::Group(..)
        | Type::Absent
        | Type::Unknown => None,
    };
    text.ok_or_else(|| EvaluateError::Unfit(format!("a value of type {ty} does not stand as text")))
}

/// The day of a day or an instant.
fn day(value: &Value, ty: &Type, zone: &jiff::tz::TimeZone) -> Result<String, EvaluateError> {
    let no_day = || EvaluateError::Unfit("this is neither a day nor an instant".to_owned());
    if *ty == Type::Date {
        return Ok(time::parse_day(value.as_str().ok_or_else(no_day)?)?.to_string());
    }
    time::day_of(time::millis_of(value, ty)?.ok_or_else(no_day)?, zone)
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
        .enum_members()?
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
