//! Instants, days and durations.
//!
//! Years have four digits, from 0000 to 9999: texts of one width sort as what they stand for. What leaves these years is an
//! error, never a text of another width.
#![deny(
    clippy::wildcard_enum_match_arm,
    reason = "a type that is forgotten must not compile"
)]

use std::cmp::Ordering;
use std::collections::BTreeMap;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};
use singlet_item::{Number, Value};

use super::EvaluateError;
use crate::types::Type;

const MILLIS_PER_DAY: i64 = 86_400_000;

/// The first instant, 0000-01-01T00:00:00.000Z.
pub const INSTANT_MILLIS_MIN: i64 = -62_167_219_200_000;
/// The last instant, 9999-12-30T22:00:00.000Z: in every zone it is of a day that can be written.
pub const INSTANT_MILLIS_MAX: i64 = 253_402_207_200_000;

/// The longest duration in months: the years that can be written, and back.
pub(crate) const DURATION_MONTHS_MAX: i64 = 12 * 9_999;
/// The longest duration in milliseconds: 9,999 years of 366 days.
pub(crate) const DURATION_MILLIS_MAX: i64 = 9_999 * 366 * MILLIS_PER_DAY;

/// A span of time: months of the calendar and milliseconds, both within their bounds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Duration {
    months: i64,
    millis: i64,
}

/// The fields under which a duration travels as a value. Never stored.
const MONTHS: &str = "months";
const MILLIS: &str = "millis";

impl Duration {
    /// So many months and milliseconds.
    ///
    /// # Errors
    ///
    /// Where it is longer than the years that can be written.
    pub fn new(months: i64, millis: i64) -> Result<Self, EvaluateError> {
        let fits = |part: i64, most: i64| (-most..=most).contains(&part);
        match fits(months, DURATION_MONTHS_MAX) && fits(millis, DURATION_MILLIS_MAX) {
            true => Ok(Duration { months, millis }),
            false => Err(too_long()),
        }
    }

    /// So many of a unit that is that many milliseconds long.
    pub(super) fn counted(count: Number, unit_millis: i64) -> Result<Self, EvaluateError> {
        let millis = count.to_i64().and_then(|count| count.checked_mul(unit_millis));
        Duration::new(0, millis.ok_or_else(too_long)?)
    }

    /// So many months.
    pub(super) fn of_months(count: Number) -> Result<Self, EvaluateError> {
        Duration::new(count.to_i64().ok_or_else(too_long)?, 0)
    }

    /// The months.
    pub fn months(self) -> i64 {
        self.months
    }

    /// The milliseconds beside the months.
    pub fn millis(self) -> i64 {
        self.millis
    }

    /// As a value, while an expression is computed.
    pub fn to_value(self) -> Value {
        let field = |name: &str, number: i64| (name.to_owned(), Value::N(Number::from(number)));
        Value::M(BTreeMap::from([field(MONTHS, self.months), field(MILLIS, self.millis)]))
    }

    /// From such a value.
    pub fn from_value(value: &Value) -> Option<Self> {
        let map = value.as_map().filter(|map| map.len() == 2)?;
        let field = |name: &str| map.get(name)?.as_number()?.to_i64();
        Duration::new(field(MONTHS)?, field(MILLIS)?).ok()
    }

    /// The duration backwards.
    pub fn negated(self) -> Self {
        Duration {
            months: -self.months,
            millis: -self.millis,
        }
    }

    /// Both together.
    pub(super) fn plus(self, other: Duration) -> Result<Self, EvaluateError> {
        Duration::new(self.months + other.months, self.millis + other.millis)
    }

    /// That many times as long.
    pub(super) fn times(self, count: Number) -> Result<Self, EvaluateError> {
        let count = count.to_i64().ok_or_else(too_long)?;
        let part = |part: i64| part.checked_mul(count).ok_or_else(too_long);
        Duration::new(part(self.months)?, part(self.millis)?)
    }
}

impl PartialEq for Duration {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Duration {}

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
pub fn iso_millis(millis: i64) -> Result<String, EvaluateError> {
    let instant = timestamp(millis)?;
    Ok(instant.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string())
}

/// The epoch milliseconds of ISO text with a zone's offset; what is finer than a millisecond is cut off.
pub fn parse_iso(text: &str) -> Option<i64> {
    // The only separator of a day and a clock that every reader of RFC 3339 knows.
    let begins = text.split_once(['T', 't']).is_some_and(|(day, _)| is_written_day(day));
    let instant = text.parse::<Timestamp>().ok().filter(|_| begins)?;
    let millis = i64::try_from(instant.as_nanosecond().div_euclid(1_000_000)).ok()?;
    timestamp(millis).ok()?;
    Some(millis)
}

/// The epoch milliseconds of an instant of some type; none for a word in its place.
///
/// # Errors
///
/// Where it is out of range.
pub fn millis_of(value: &Value, ty: &Type) -> Result<Option<i64>, EvaluateError> {
    let counted = |unit: i64| match value.as_number() {
        None => Ok(None),
        Some(number) => {
            let millis = number.to_i64().and_then(|count| count.checked_mul(unit));
            let millis = millis.ok_or_else(out_of_range)?;
            timestamp(millis)?;
            Ok(Some(millis))
        }
    };
    match InstantForm::of(ty) {
        Some(InstantForm::Text) => Ok(value.as_str().and_then(parse_iso)),
        Some(InstantForm::Seconds) => counted(1_000),
        Some(InstantForm::Millis) => counted(1),
        None => Err(EvaluateError::Unfit(format!("a value of type {ty} is no instant"))),
    }
}

/// How a type stores an instant. Each type is named, so that a new one is decided here or does not compile.
enum InstantForm {
    Text,
    Seconds,
    Millis,
}

impl InstantForm {
    fn of(ty: &Type) -> Option<Self> {
        match ty {
            Type::Time => Some(InstantForm::Text),
            Type::Seconds => Some(InstantForm::Seconds),
            Type::Millis | Type::Now => Some(InstantForm::Millis),
            Type::OrWords(inner, _) => InstantForm::of(inner),
            Type::Text(_)
            | Type::Int(_)
            | Type::Number(_)
            | Type::Bool
            | Type::Bytes(_)
            | Type::Date
            | Type::Duration
            | Type::Month
            | Type::Ulid
            | Type::Ksuid
            | Type::Uuid
            | Type::Geo(_)
            | Type::Json
            | Type::Version
            | Type::Enum(_)
            | Type::Object(_)
            | Type::List(..)
            | Type::Set(..)
            | Type::Map(..)
            | Type::Row(_)
            | Type::Group(..)
            | Type::Absent
            | Type::Unknown => None,
        }
    }
}

/// The type of the values that are no words, where words may stand in their place.
pub fn without_words(ty: &Type) -> &Type {
    if let Type::OrWords(value, _) = ty { value } else { ty }
}

/// An instant as a type stores it. Seconds are rounded down.
///
/// # Errors
///
/// Where it is out of range.
pub fn instant_as(millis: i64, ty: &Type) -> Result<Value, EvaluateError> {
    timestamp(millis)?;
    Ok(match InstantForm::of(ty) {
        Some(InstantForm::Text) => Value::S(iso_millis(millis)?),
        Some(InstantForm::Seconds) => Value::N(Number::from(millis.div_euclid(1_000))),
        Some(InstantForm::Millis) => Value::N(Number::from(millis)),
        None => return Err(EvaluateError::Unfit(format!("a value of type {ty} holds no instant"))),
    })
}

/// The day of an instant.
///
/// # Errors
///
/// Where the instant is out of range.
pub fn day_of(millis: i64, zone: &TimeZone) -> Result<String, EvaluateError> {
    day_text(zoned(millis, zone)?.date())
}

/// The instant of a clock time on a day. A time that the zone leaves out is as much later as the clock was put forward; of one
/// that it has twice, the first.
///
/// # Errors
///
/// Where one of them is not what it should be.
pub fn at_clock(day: &str, clock: &str, zone: &TimeZone) -> Result<i64, EvaluateError> {
    let day = parse_day(day)?;
    let time = clock_time(clock).ok_or_else(|| EvaluateError::Time(format!("`{clock}` is no time of day")))?;
    let instant = day
        .to_datetime(time)
        .to_zoned(zone.clone())
        .map_err(|_| out_of_range())?;
    let millis = instant.timestamp().as_millisecond();
    timestamp(millis)?;
    Ok(millis)
}

/// `08:00`, hours and minutes with two digits each.
pub(crate) fn clock_time(clock: &str) -> Option<jiff::civil::Time> {
    let [h1, h2, b':', m1, m2] = clock.as_bytes() else {
        return None;
    };
    let two = |tens: u8, ones: u8| {
        let digits = tens.is_ascii_digit() && ones.is_ascii_digit();
        digits.then(|| i8::try_from((tens - b'0') * 10 + (ones - b'0')).ok())?
    };
    jiff::civil::Time::new(two(*h1, *h2)?, two(*m1, *m2)?, 0, 0).ok()
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
        days.push(day_text(day)?);
        match day.tomorrow() {
            Ok(next) => day = next,
            Err(_) => break,
        }
    }
    Ok(days)
}

/// How long it is from one day to another, in days.
pub(super) fn days_apart(from: &str, to: &str) -> Result<Duration, EvaluateError> {
    let days = parse_day(to)?.duration_since(parse_day(from)?).as_hours() / 24;
    Duration::new(0, days * MILLIS_PER_DAY)
}

/// A day, moved by a duration: first by its months, then by its whole days.
pub(super) fn shifted_day(day: &str, duration: Duration) -> Result<Value, EvaluateError> {
    let months = Span::new().try_months(duration.months);
    let days = Span::new().try_days(duration.millis / MILLIS_PER_DAY);
    let moved = parse_day(day)?
        .checked_add(months.map_err(|_| day_out_of_range())?)
        .and_then(|moved| moved.checked_add(days?))
        .map_err(|_| day_out_of_range())?;
    day_text(moved).map(Value::S)
}

/// An instant, moved by a duration: months by the calendar of the zone, the rest by the clock.
pub(super) fn shifted_instant(
    value: &Value,
    ty: &Type,
    duration: Duration,
    zone: &TimeZone,
) -> Result<Value, EvaluateError> {
    let Some(millis) = millis_of(value, ty)? else {
        return Err(out_of_range());
    };
    instant_as(shifted_millis(millis, duration, zone)?, ty)
}

/// An instant in epoch milliseconds, moved by a duration.
///
/// # Errors
///
/// Where it is out of range.
pub fn shifted_millis(millis: i64, duration: Duration, zone: &TimeZone) -> Result<i64, EvaluateError> {
    let by_calendar = match duration.months {
        // Without months no calendar is needed, and no zone.
        0 => millis,
        months => {
            let span = Span::new().try_months(months).map_err(|_| out_of_range())?;
            let moved = zoned(millis, zone)?.checked_add(span).map_err(|_| out_of_range())?;
            moved.timestamp().as_millisecond()
        }
    };
    // The months first, by the calendar: the other way round the day of the month could be another.
    let moved = by_calendar.checked_add(duration.millis).ok_or_else(out_of_range)?;
    timestamp(moved)?;
    Ok(moved)
}

/// A day from its text, `2026-02-13`: four digits, two and two.
///
/// # Errors
///
/// Where it is no day.
pub fn parse_day(text: &str) -> Result<Date, EvaluateError> {
    let written = is_written_day(text).then(|| text.parse().ok()).flatten();
    written.ok_or_else(|| EvaluateError::Time(format!("`{text}` is no day")))
}

/// Whether text is written as a day is; the calendar may still not have it.
fn is_written_day(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

fn day_text(day: Date) -> Result<String, EvaluateError> {
    match day.year() {
        0.. => Ok(day.to_string()),
        _ => Err(day_out_of_range()),
    }
}

fn zoned(millis: i64, zone: &TimeZone) -> Result<Zoned, EvaluateError> {
    Ok(timestamp(millis)?.to_zoned(zone.clone()))
}

fn timestamp(millis: i64) -> Result<Timestamp, EvaluateError> {
    match millis {
        INSTANT_MILLIS_MIN..=INSTANT_MILLIS_MAX => Timestamp::from_millisecond(millis).map_err(|_| out_of_range()),
        _ => Err(out_of_range()),
    }
}

fn out_of_range() -> EvaluateError {
    EvaluateError::Time("the instant is out of range: years go from 0000 to 9999".to_owned())
}

fn day_out_of_range() -> EvaluateError {
    EvaluateError::Time("the day is out of range: years go from 0000 to 9999".to_owned())
}

fn too_long() -> EvaluateError {
    EvaluateError::Time("the duration is out of range: it is longer than 9999 years".to_owned())
}
