//! Instants, days and durations.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan, Zoned};
use singlet_item::{Number, Value};

use super::EvaluateError;
use crate::types::Type;

const MILLIS_PER_DAY: i64 = 86_400_000;

/// A span of time: months of the calendar and milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Duration {
    /// Months.
    pub months: i64,
    /// Milliseconds.
    pub millis: i64,
}

/// The fields under which a duration travels as a value. Never stored.
const MONTHS: &str = "months";
const MILLIS: &str = "millis";

impl Duration {
    /// As a value, while an expression is computed.
    pub fn to_value(self) -> Value {
        let field = |name: &str, number: i64| (name.to_owned(), Value::N(Number::from(number)));
        Value::M(BTreeMap::from([field(MONTHS, self.months), field(MILLIS, self.millis)]))
    }

    /// From such a value.
    pub fn from_value(value: &Value) -> Option<Self> {
        let map = value.as_map().filter(|map| map.len() == 2)?;
        let field = |name: &str| map.get(name)?.as_number()?.to_i64();
        Some(Duration {
            months: field(MONTHS)?,
            millis: field(MILLIS)?,
        })
    }

    /// The same backwards.
    pub fn negated(self) -> Self {
        Duration {
            months: -self.months,
            millis: -self.millis,
        }
    }

    fn span(self) -> Span {
        Span::new().months(self.months).milliseconds(self.millis)
    }
}

impl PartialOrd for Duration {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Months count as thirty days where durations are compared.
impl Ord for Duration {
    fn cmp(&self, other: &Self) -> Ordering {
        let length = |duration: &Duration| {
            i128::from(duration.months) * 30 * i128::from(MILLIS_PER_DAY) + i128::from(duration.millis)
        };
        length(self).cmp(&length(other))
    }
}

/// ISO text at the one width that sorts: milliseconds, UTC.
///
/// # Errors
///
/// Where the instant is out of range.
pub fn iso(millis: i64) -> Result<String, EvaluateError> {
    let instant = timestamp(millis)?;
    Ok(instant.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string())
}

/// The epoch milliseconds of ISO text.
pub fn parse_iso(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond)
}

/// The epoch milliseconds of an instant of some type; none for a word in its place.
pub fn millis_of(value: &Value, ty: &Type) -> Result<Option<i64>, EvaluateError> {
    let number = || value.as_number().and_then(Number::to_i64);
    match ty {
        Type::Time => Ok(value.as_str().and_then(parse_iso)),
        Type::Seconds => {
            let millis = number().map(|seconds| seconds.checked_mul(1_000));
            millis.map(|millis| millis.ok_or_else(out_of_range)).transpose()
        }
        _ => Ok(number()),
    }
}

/// The type of the values that are no words, where words may stand in their place.
pub fn without_words(ty: &Type) -> &Type {
    match ty {
        Type::OrWords(value, _) => value,
        other => other,
    }
}

/// An instant in the form of another instant type; other values, and words in an instant's place, as they are.
pub fn convert(value: Value, from: &Type, to: &Type) -> Result<Value, EvaluateError> {
    let (from, to) = (without_words(from), without_words(to));
    if from == to || !from.is_instant() || !to.is_instant() {
        return Ok(value);
    }
    let Some(millis) = millis_of(&value, from)? else {
        return Ok(value);
    };
    instant(millis, to)
}

/// An instant as a type stores it. Seconds are rounded down.
pub fn instant(millis: i64, ty: &Type) -> Result<Value, EvaluateError> {
    Ok(match ty {
        Type::Time => Value::S(iso(millis)?),
        Type::Seconds => Value::N(Number::from(millis.div_euclid(1_000))),
        _ => Value::N(Number::from(millis)),
    })
}

/// The day of an instant.
///
/// # Errors
///
/// Where the instant is out of range.
pub fn day_of(millis: i64, zone: &TimeZone) -> Result<String, EvaluateError> {
    Ok(zoned(millis, zone)?.date().to_string())
}

/// The instant of a clock time on a day.
///
/// # Errors
///
/// Where one of them is not what it should be.
pub fn at_clock(day: &str, clock: &str, zone: &TimeZone) -> Result<i64, EvaluateError> {
    let day = parse_day(day)?;
    let bad = || EvaluateError::Time(format!("`{clock}` is no time of day"));
    let (hours, minutes) = clock.split_once(':').ok_or_else(bad)?;
    let (hours, minutes) = (hours.parse().map_err(|_| bad())?, minutes.parse().map_err(|_| bad())?);
    let time = jiff::civil::Time::new(hours, minutes, 0, 0).map_err(|_| bad())?;
    let instant = day
        .to_datetime(time)
        .to_zoned(zone.clone())
        .map_err(|_| out_of_range())?;
    Ok(instant.timestamp().as_millisecond())
}

/// Each day from the first to the last.
///
/// # Errors
///
/// Where one of them is no day, or there are more than `most`.
pub fn days_between(from: &str, to: &str, most: usize) -> Result<Vec<String>, EvaluateError> {
    let (mut day, last) = (parse_day(from)?, parse_day(to)?);
    let mut days = Vec::new();
    while day <= last {
        if days.len() >= most {
            return Err(EvaluateError::Time(format!(
                "there are more than {most} days from {from} to {to}"
            )));
        }
        days.push(day.to_string());
        match day.tomorrow() {
            Ok(next) => day = next,
            Err(_) => break,
        }
    }
    Ok(days)
}

/// A day or an instant, moved by a duration.
pub(super) fn shifted(value: &Value, ty: &Type, duration: Duration, zone: &TimeZone) -> Result<Value, EvaluateError> {
    if *ty == Type::Date {
        let day = parse_day(value.as_str().unwrap_or_default())?;
        let days = duration.millis / MILLIS_PER_DAY;
        let moved = day
            .checked_add(duration.months.months())
            .and_then(|day| day.checked_add(days.days()))
            .map_err(|_| out_of_range())?;
        return Ok(Value::S(moved.to_string()));
    }
    let Some(millis) = millis_of(value, ty)? else {
        return Err(out_of_range());
    };
    let moved = match duration.months {
        0 => millis.checked_add(duration.millis).ok_or_else(out_of_range)?,
        _ => {
            let moved = zoned(millis, zone)?
                .checked_add(duration.span())
                .map_err(|_| out_of_range())?;
            moved.timestamp().as_millisecond()
        }
    };
    timestamp(moved)?;
    instant(moved, ty)
}

/// A day from its text.
///
/// # Errors
///
/// Where it is no day.
pub fn parse_day(text: &str) -> Result<Date, EvaluateError> {
    text.parse()
        .map_err(|_| EvaluateError::Time(format!("`{text}` is no day")))
}

fn zoned(millis: i64, zone: &TimeZone) -> Result<Zoned, EvaluateError> {
    Ok(timestamp(millis)?.to_zoned(zone.clone()))
}

fn timestamp(millis: i64) -> Result<Timestamp, EvaluateError> {
    Timestamp::from_millisecond(millis).map_err(|_| out_of_range())
}

fn out_of_range() -> EvaluateError {
    EvaluateError::Time("the instant is out of range".to_owned())
}
