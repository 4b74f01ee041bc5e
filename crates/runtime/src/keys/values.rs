//! The values of the parts of a key for one request.

use std::borrow::Cow;

use jiff::ToSpan;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use singlet_item::{Number, Value};
use singlet_model::evaluate::{evaluate, evaluate_as, evaluate_borrowed, geo, time};
use singlet_model::expression::Expr;
use singlet_model::types::Type;
use singlet_plan::read::{PartValues, Query};
use singlet_plan::values::{CalendarUnit, DayEnd, DayRange, Values};

use crate::error::RuntimeError;
use crate::scope::Scope;

/// The value of one part of a key: as the attribute has it, or already in the form that the key has it.
#[derive(Clone, Debug)]
pub(super) enum PartValue<'v> {
    Value(Cow<'v, Value>),
    Formed(String),
}

impl PartValue<'_> {
    /// The text that it is.
    fn word(&self) -> Option<&str> {
        match self {
            PartValue::Value(value) => value.as_str(),
            PartValue::Formed(text) => Some(text),
        }
    }
}

impl From<Value> for PartValue<'_> {
    fn from(value: Value) -> Self {
        PartValue::Value(Cow::Owned(value))
    }
}

/// The value of a part that can have one at most.
pub(super) fn one_of<'v>(
    values: &'v Values,
    ty: &Type,
    scope: &'v Scope<'_>,
) -> Result<Option<PartValue<'v>>, RuntimeError> {
    Ok(match values {
        Values::One(expr) => evaluate_borrowed(expr, ty, scope)?.map(PartValue::Value),
        Values::Formed(expr) => text_of(expr, *scope)?.map(PartValue::Formed),
        _ => None,
    })
}

/// Every combination of the values of a query's parts, those of the first part slowest. A part that follows another has the value
/// that the other has.
pub(super) fn part_combinations<'v>(
    types: &[&Type],
    query: &'v Query,
    scope: &'v Scope<'_>,
) -> Result<Vec<Vec<PartValue<'v>>>, RuntimeError> {
    if let Some(lone) = lone_combination(types, query, scope)? {
        return Ok(lone);
    }
    let parts: Vec<&'v PartValues> = query.key_parts().collect();
    // Which column of values each part takes its own from, and the columns.
    let mut taken: Vec<usize> = Vec::with_capacity(parts.len());
    let mut leaders: Vec<&PartValues> = Vec::new();
    let mut columns: Vec<Vec<PartValue<'v>>> = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        // A part that follows another has no choice of its own: combining both freely would ask for keys that no row has.
        if let Some(column) = leaders.iter().position(|leader| leader.follows(part)) {
            taken.push(column);
            continue;
        }
        let ty = types.get(at).copied().unwrap_or(&Type::Unknown);
        taken.push(columns.len());
        leaders.push(part);
        columns.push(with_lapsing(values_of(&part.values, ty, query, scope)?, &part.lapses));
    }
    let count = columns
        .iter()
        // Counted before anything is combined: lists of a request multiply, and the product is what takes memory.
        .try_fold(1_u64, |all, column| all.checked_mul(column.len() as u64));
    // A refusal, and not a shorter list: ranges that are left out are rows that are missing without a word.
    within_ranges(count.unwrap_or(u64::MAX), *scope)?;
    let mut chosen: Vec<Vec<&PartValue<'v>>> = vec![Vec::new()];
    for column in &columns {
        let longer = chosen.iter().flat_map(|known| {
            column.iter().map(|value| {
                let mut longer = known.clone();
                longer.push(value);
                longer
            })
        });
        chosen = longer.collect();
    }
    let of_parts = |known: Vec<&PartValue<'v>>| -> Vec<PartValue<'v>> {
        let values = taken.iter().filter_map(|column| known.get(*column));
        values.map(|value| (*value).clone()).collect()
    };
    Ok(chosen.into_iter().map(of_parts).collect())
}

/// The one combination of parts that can have one value each, as most have; none at all where a value is absent.
fn lone_combination<'v>(
    types: &[&Type],
    query: &'v Query,
    scope: &'v Scope<'_>,
) -> Result<Option<Vec<Vec<PartValue<'v>>>>, RuntimeError> {
    let mut parts = query.key_parts();
    if !parts.all(|part| part.values.is_one() && part.lapses.is_empty()) {
        return Ok(None);
    }
    let mut values = Vec::with_capacity(types.len());
    let mut is_whole = true;
    for (at, part) in query.key_parts().enumerate() {
        match one_of(&part.values, types.get(at).copied().unwrap_or(&Type::Unknown), scope)? {
            Some(value) => values.push(value),
            // The rest is evaluated all the same: an expression that fails must fail here as it does in combinations.
            None => is_whole = false,
        }
    }
    Ok(Some(if is_whole { vec![values] } else { Vec::new() }))
}

fn within_ranges(asked: u64, scope: Scope<'_>) -> Result<(), RuntimeError> {
    let most = scope.setting.bounds.ranges_max;
    match asked <= most as u64 {
        true => Ok(()),
        false => Err(RuntimeError::Request(format!(
            "this asks for more than {most} item collections at once"
        ))),
    }
}

fn values_of<'v>(
    values: &'v Values,
    ty: &Type,
    query: &Query,
    scope: &'v Scope<'_>,
) -> Result<Vec<PartValue<'v>>, RuntimeError> {
    Ok(match values {
        Values::One(_) | Values::Formed(_) => one_of(values, ty, scope)?.into_iter().collect(),
        Values::Each(list) => {
            let element = list.ty.element_type().unwrap_or(ty);
            // As the attribute has it, since the key is made of the attribute's form and not of the list's.
            let convert = |value: Value| Ok(Some(singlet_model::evaluate::convert_value(value, element, ty)?));
            each(list, *scope, &convert)?.into_iter().map(PartValue::from).collect()
        }
        Values::EachFormed(list) => {
            let text = |value: Value| Ok(text(value).map(Value::S));
            let texts = each(list, *scope, &text)?.into_iter();
            texts
                .filter_map(|value| match value {
                    Value::S(text) => Some(PartValue::Formed(text)),
                    _ => None,
                })
                .collect()
        }
        Values::Days(range) => days(range, ty, *scope)?,
        Values::Cells { center, km, precision } => {
            let cells = cells(center, km, *precision, *scope)?;
            cells.ok_or_else(|| too_near_a_pole(query.reach.latitude))?
        }
        Values::All(words) => words.iter().map(|word| PartValue::from(word_value(word, ty))).collect(),
    })
}

/// Whether the values are instants finer than the attribute: its key is that of the instant rounded down.
pub(super) fn rounds_down(values: &Values, ty: &Type) -> bool {
    match values {
        Values::One(expr) => is_finer(&expr.ty, ty),
        Values::Each(expr) => expr.ty.element_type().is_some_and(|element| is_finer(element, ty)),
        _ => false,
    }
}

pub(super) fn is_finer(value: &Type, attribute: &Type) -> bool {
    let (value, attribute) = (time::without_words(value), time::without_words(attribute));
    *attribute == Type::Seconds && value.is_instant() && *value != Type::Seconds
}

/// Rows that are stored in a state which time has turned into a wanted one are asked for too.
fn with_lapsing<'v>(mut values: Vec<PartValue<'v>>, lapses: &[(String, String)]) -> Vec<PartValue<'v>> {
    let mut at = 0;
    while let Some(known) = values.get(at) {
        let word = known.word().unwrap_or_default().to_owned();
        for (from, _) in lapses.iter().filter(|(_, to)| *to == word) {
            // Also what was added: states may lapse into one another in a circle.
            if !values.iter().any(|known| known.word() == Some(from)) {
                values.push(Value::S(from.clone()).into());
            }
        }
        at += 1;
    }
    values
}

fn word_value(word: &str, ty: &Type) -> Value {
    match ty {
        Type::Bool => Value::Bool(word == "true"),
        Type::Int(_) | Type::Number(_) => word.parse().map_or_else(|_| Value::S(word.to_owned()), Value::N),
        _ => Value::S(word.to_owned()),
    }
}

fn text_of(expr: &Expr, scope: Scope<'_>) -> Result<Option<String>, RuntimeError> {
    Ok(evaluate(expr, &scope)?.and_then(text))
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::S(text) => Some(text),
        Value::N(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The elements of a list in the form that is wanted, each once.
fn each(
    list: &Expr,
    scope: Scope<'_>,
    form: &dyn Fn(Value) -> Result<Option<Value>, RuntimeError>,
) -> Result<Vec<Value>, RuntimeError> {
    let elements = match evaluate(list, &scope)? {
        Some(Value::L(elements)) => elements,
        Some(Value::Ss(words)) => words.into_iter().map(Value::S).collect(),
        Some(Value::Ns(numbers)) => numbers.into_iter().map(Value::N).collect(),
        _ => Vec::new(),
    };
    let mut once: Vec<Value> = Vec::new();
    for element in elements {
        let Some(element) = form(element)? else { continue };
        if !once.contains(&element) {
            once.push(element);
        }
        // While they are gathered, so that comparing each with all others stays bounded too.
        within_ranges(once.len() as u64, scope)?;
    }
    Ok(once)
}

/// Each day, month or year from the latest of the lower ends to the earliest of the upper ones; none where an end is absent, for
/// then no row is meant.
fn days<'v>(range: &DayRange, ty: &Type, scope: Scope<'_>) -> Result<Vec<PartValue<'v>>, RuntimeError> {
    let (mut first, mut last): (Option<Date>, Option<Date>) = (None, None);
    for end in &range.from {
        let Some(day) = day_of_end(end, range.unit, scope)? else {
            return Ok(Vec::new());
        };
        // A nearby end widens the range by one at its side, and one that is left out narrows it.
        let day = moved(day, range.unit, i64::from(end.excluded) - i64::from(end.nearby));
        first = first.max(Some(day));
    }
    for end in &range.to {
        let Some(day) = day_of_end(end, range.unit, scope)? else {
            return Ok(Vec::new());
        };
        // Outwards at this end too.
        let day = moved(day, range.unit, i64::from(end.nearby) - i64::from(end.excluded));
        last = Some(last.map_or(day, |last| last.min(day)));
    }
    let (Some(mut day), Some(last)) = (first, last) else {
        return Ok(Vec::new());
    };
    let mut days = Vec::new();
    while day <= last {
        // In the loop: the years between two ends that a request names are not bounded otherwise.
        within_ranges(days.len() as u64 + 1, scope)?;
        days.push(match (range.unit, ty) {
            (CalendarUnit::Day, Type::Date) => Value::S(day.to_string()).into(),
            (CalendarUnit::Day, _) => PartValue::Formed(day.to_string()),
            (CalendarUnit::Month, _) => PartValue::Formed(day.strftime("%Y-%m").to_string()),
            (CalendarUnit::Year, _) => PartValue::Formed(day.strftime("%Y").to_string()),
        });
        let next = moved(day, range.unit, 1);
        if next == day {
            break; // the calendar ends
        }
        day = next;
    }
    Ok(days)
}

/// Where a day, month or year begins.
pub(super) enum Start {
    /// As a value of the attribute's type, and whether every earlier instant is of an earlier day, and every later one is not.
    At(Value, bool),
    /// The request does not say which.
    Absent,
    /// Beyond what can be written.
    Nowhere,
}

/// Where the day, month or year that a value is begins in the model's zone, or one so many later: as an instant, or as a day. Where it is
/// one of two instants, a range begins with the first, and ends with the `last`.
pub(super) fn start_of(
    value: &Expr,
    (unit, later): (CalendarUnit, i64),
    last: bool,
    ty: &Type,
    scope: Scope<'_>,
) -> Result<Start, RuntimeError> {
    let Some(text) = evaluate(value, &scope)?.and_then(text) else {
        return Ok(Start::Absent);
    };
    let first = match unit {
        CalendarUnit::Day => text,
        CalendarUnit::Month => format!("{text}-01"),
        CalendarUnit::Year => format!("{text:0>4}-01-01"),
    };
    let Ok(first) = time::parse_day(&first) else {
        return Ok(Start::Nowhere);
    };
    let day = moved(first, unit, later);
    // The calendar ended, and the day is not the next one: an end there would leave out the last one.
    if later != 0 && day == first {
        return Ok(Start::Nowhere);
    }
    if *time::without_words(ty) == Type::Date {
        return Ok(Start::At(Value::S(day.to_string()), true));
    }
    let zone = &scope.setting.zone;
    let midnight = zone.to_ambiguous_zoned(day.at(0, 0, 0, 0));
    // A clock that is put back over midnight has it twice, one that is put forward over it never: between the two instants that it may be,
    // rows are looked at one by one.
    let divides = !midnight.is_ambiguous();
    // Outwards: the earlier instant for a lower end, the later for an upper one, and rows between them are looked at.
    let first = match last {
        true => midnight.later(),
        false => midnight.earlier(),
    };
    let millis = first.map(|first| first.timestamp().as_millisecond());
    let instant = millis.ok().and_then(|millis| time::instant_as(millis, ty).ok());
    Ok(instant.map_or(Start::Nowhere, |instant| Start::At(instant, divides)))
}

/// The first day of the day, month or year that an end lies in; of an instant in UTC, as keys have it.
fn day_of_end(end: &DayEnd, unit: CalendarUnit, scope: Scope<'_>) -> Result<Option<Date>, RuntimeError> {
    let ty = time::without_words(&end.value.ty);
    let text = match ty.is_instant() {
        true => {
            // Also `now`, which has the type of what it is compared with.
            // Milliseconds, for the end may name instants of another type than the key has.
            let value = evaluate_as(&end.value, &Type::Millis, &scope)?;
            match value.and_then(|value| value.as_number()).and_then(Number::to_i64) {
                Some(millis) => time::day_of(millis - i64::from(end.before), &TimeZone::UTC)?,
                None => return Ok(None),
            }
        }
        false => match evaluate(&end.value, &scope)?.and_then(text) {
            Some(text) => text,
            None => return Ok(None),
        },
    };
    let whole = match ty {
        Type::Int(_) | Type::Number(_) => format!("{text:0>4}-01-01"),
        Type::Month => format!("{text}-01"),
        _ => text,
    };
    let day = time::parse_day(&whole)?;
    Ok(Some(match unit {
        CalendarUnit::Day => day,
        CalendarUnit::Month => day.first_of_month(),
        CalendarUnit::Year => day.first_of_year(),
    }))
}

/// So many days, months or years later; as it is where the calendar ends.
fn moved(day: Date, unit: CalendarUnit, by: i64) -> Date {
    let span = match unit {
        CalendarUnit::Day => by.days(),
        CalendarUnit::Month => by.months(),
        CalendarUnit::Year => by.years(),
    };
    day.checked_add(span).unwrap_or(day)
}

/// What a circle is refused with that has more cells than are asked for at once. How far north and south there are none is known
/// with the plan; a distance without a limit is an error of the model.
pub(crate) fn too_near_a_pole(latitude: Option<f64>) -> RuntimeError {
    RuntimeError::Request(match latitude {
        Some(latitude) => format!("the circle lies too near a pole: it is answered up to {latitude}° of latitude"),
        None => "the circle is too large".to_owned(),
    })
}

/// The cells of a circle; none where there are too many.
fn cells<'v>(
    center: &Expr,
    km: &Expr,
    precision: u8,
    scope: Scope<'_>,
) -> Result<Option<Vec<PartValue<'v>>>, RuntimeError> {
    let center = evaluate(center, &scope)?.and_then(|value| geo::Place::from_value(&value));
    let km = evaluate(km, &scope)?.and_then(|value| value.as_number());
    let km = km.and_then(Number::to_f64);
    let (Some(center), Some(km)) = (center, km) else {
        return Ok(Some(Vec::new()));
    };
    // None where there would be too many: fewer cells than the circle has would leave out what lies in the others.
    let cells = geo::cover_circle(center, km, precision, scope.setting.bounds.ranges_max);
    Ok(cells.map(|cells| cells.into_iter().map(PartValue::Formed).collect()))
}
