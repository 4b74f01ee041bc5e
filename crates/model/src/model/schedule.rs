//! When a write runs by the clock: its ticks, in the zone of the model.
//!
//! A tick is planned for an instant and has an id: of the local day where a clock time is named, of the instant where an interval is. So
//! a day has one tick, whatever the clock time becomes in a later model, and whatever daylight saving makes of that day.

use std::fmt;

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, ToSpan};

/// The shortest interval, in minutes.
pub(crate) const INTERVAL_MINUTES_MIN: i64 = 1;

/// The longest interval, in minutes: a day. What is rarer names its clock time.
pub(crate) const INTERVAL_MINUTES_MAX: i64 = 24 * 60;

const MINUTE_MILLIS: i64 = 60_000;

/// The month in which runs are counted, in minutes: 30 days.
const MONTH_MINUTES: i64 = 30 * 24 * 60;

/// The local midnight from which intervals are counted, of a Monday before anything here.
const INTERVALS_FROM: Date = jiff::civil::date(2001, 1, 1);

/// How many days around an instant can have the tick that is asked for: a week, the day before and the day after.
const DAYS_AROUND: i64 = 9;

/// When a write runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Every so many minutes, counted from a local midnight, whatever the clock shows.
    Interval {
        /// How many.
        minutes: i64,
    },
    /// Every day at a clock time.
    Day(Time),
    /// Every week on a day at a clock time.
    Week(Weekday, Time),
}

/// One time at which a write is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tick {
    /// The planned instant, in epoch milliseconds.
    pub at: i64,
    /// What tells it from the other ticks of its write.
    pub id: String,
}

const WEEKDAYS: [(&str, Weekday); 7] = [
    ("monday", Weekday::Monday),
    ("tuesday", Weekday::Tuesday),
    ("wednesday", Weekday::Wednesday),
    ("thursday", Weekday::Thursday),
    ("friday", Weekday::Friday),
    ("saturday", Weekday::Saturday),
    ("sunday", Weekday::Sunday),
];

/// Why a text is no schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSchedule {
    /// It is not written as one is.
    Form,
    /// The interval is too short or too long.
    Interval,
    /// The clock time is none.
    Clock,
}

impl Schedule {
    /// Reads `15min`, `1h`, `day at 03:30`, `monday at 07:00`.
    ///
    /// # Errors
    ///
    /// Where the text is none of these.
    pub fn parse(text: &str) -> Result<Self, NoSchedule> {
        let Some((day, clock)) = text.split_once(" at ") else {
            return interval(text);
        };
        let clock = crate::evaluate::time::clock_time(clock.trim());
        let day = match day.trim() {
            "day" => None,
            name => {
                let known = WEEKDAYS.iter().find(|(known, _)| *known == name);
                Some(known.ok_or(NoSchedule::Form)?.1)
            }
        };
        let clock = clock.ok_or(NoSchedule::Clock)?;
        Ok(day.map_or(Schedule::Day(clock), |day| Schedule::Week(day, clock)))
    }

    /// The last tick that is not after an instant in epoch milliseconds; none where the calendar ends.
    pub fn last_tick(&self, now: i64, zone: &TimeZone) -> Option<Tick> {
        match self {
            Schedule::Interval { minutes } => interval_tick(*minutes, now, 0, zone),
            Schedule::Day(_) | Schedule::Week(..) => {
                let ticks = (-1..=DAYS_AROUND).filter_map(|back| self.tick_of_day(now, -back, zone));
                ticks.filter(|tick| tick.at <= now).max_by_key(|tick| tick.at)
            }
        }
    }

    /// The first tick after an instant in epoch milliseconds; none where the calendar ends.
    pub fn next_tick(&self, now: i64, zone: &TimeZone) -> Option<Tick> {
        match self {
            Schedule::Interval { minutes } => interval_tick(*minutes, now, 1, zone),
            Schedule::Day(_) | Schedule::Week(..) => {
                let ticks = (-1..=DAYS_AROUND).filter_map(|on| self.tick_of_day(now, on, zone));
                ticks.filter(|tick| tick.at > now).min_by_key(|tick| tick.at)
            }
        }
    }

    /// How many ticks 30 days have, in tenths.
    pub fn tenths_a_month(&self) -> i64 {
        let minutes = match self {
            Schedule::Interval { minutes } => *minutes,
            Schedule::Day(_) => 24 * 60,
            Schedule::Week(..) => 7 * 24 * 60,
        };
        10 * MONTH_MINUTES / minutes.max(INTERVAL_MINUTES_MIN)
    }

    /// The tick of the local day that is so many days after that of an instant.
    fn tick_of_day(&self, now: i64, days: i64, zone: &TimeZone) -> Option<Tick> {
        let today = Timestamp::from_millisecond(now).ok()?.to_zoned(zone.clone()).date();
        let day = today.checked_add(days.days()).ok()?;
        let clock = match self {
            Schedule::Interval { .. } => return None,
            Schedule::Day(clock) => clock,
            Schedule::Week(weekday, clock) => Some(clock).filter(|_| day.weekday() == *weekday)?,
        };
        let at = clock_instant(day.to_datetime(*clock), zone)?;
        Some(Tick {
            at,
            id: format!("every {day}"),
        })
    }
}

/// As the model says it.
impl fmt::Display for Schedule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clock = |clock: &Time| format!("{:02}:{:02}", clock.hour(), clock.minute());
        match self {
            Schedule::Interval { minutes } if minutes % 60 == 0 => write!(out, "{}h", minutes / 60),
            Schedule::Interval { minutes } => write!(out, "{minutes}min"),
            Schedule::Day(time) => write!(out, "day at {}", clock(time)),
            Schedule::Week(day, time) => {
                let known = WEEKDAYS.iter().find(|(_, known)| known == day);
                write!(out, "{} at {}", known.map_or("day", |(name, _)| name), clock(time))
            }
        }
    }
}

fn interval(text: &str) -> Result<Schedule, NoSchedule> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (count, unit) = text.split_at(digits);
    let unit = match unit {
        "min" => 1,
        "h" => 60,
        _ => return Err(NoSchedule::Form),
    };
    if count.is_empty() {
        return Err(NoSchedule::Form);
    }
    let minutes = count.parse::<i64>().ok().and_then(|count| count.checked_mul(unit));
    match minutes {
        Some(minutes @ INTERVAL_MINUTES_MIN..=INTERVAL_MINUTES_MAX) => Ok(Schedule::Interval { minutes }),
        _ => Err(NoSchedule::Interval),
    }
}

/// The beginning of the interval that an instant is in, or of the one that is so many after it.
fn interval_tick(minutes: i64, now: i64, after: i64, zone: &TimeZone) -> Option<Tick> {
    let from = clock_instant(INTERVALS_FROM.to_datetime(Time::midnight()), zone)?;
    let length = minutes.checked_mul(MINUTE_MILLIS).filter(|length| *length > 0)?;
    let count = now.checked_sub(from)?.div_euclid(length).checked_add(after)?;
    let at = count.checked_mul(length)?.checked_add(from)?;
    let id = crate::evaluate::time::iso_millis(at).ok()?;
    Some(Tick {
        at,
        id: format!("every {id}"),
    })
}

/// The instant at which a clock shows a time. Of a time that is skipped, the first that exists after it; of one that comes twice, the
/// first.
fn clock_instant(time: DateTime, zone: &TimeZone) -> Option<i64> {
    let shown = |offset: jiff::tz::Offset| offset.to_timestamp(time).ok();
    let instant = match zone.to_ambiguous_timestamp(time).offset() {
        AmbiguousOffset::Unambiguous { offset } => shown(offset)?,
        AmbiguousOffset::Fold { before, .. } => shown(before)?,
        AmbiguousOffset::Gap { before, .. } => {
            // As if the clock had gone on: not before the instant at which it was put forward.
            let late = shown(before)?;
            let until = late.checked_add(1.second()).ok()?;
            zone.preceding(until).next().map_or(late, |moved| moved.timestamp())
        }
    };
    Some(instant.as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WARSAW: &str = "Europe/Warsaw";

    fn zone(name: &str) -> TimeZone {
        TimeZone::get(name).unwrap()
    }

    fn millis(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_millisecond()
    }

    fn shown(tick: Option<Tick>) -> String {
        let tick = tick.unwrap();
        format!("{} {}", tick.id, Timestamp::from_millisecond(tick.at).unwrap())
    }

    /// The instants of all ticks from one instant up to another, by `next_tick`; `last_tick` must say the same of each.
    fn ticks(every: &str, zone_name: &str, from: &str, to: &str) -> Vec<String> {
        let (schedule, zone) = (Schedule::parse(every).unwrap(), zone(zone_name));
        let (mut now, to) = (millis(from) - 1, millis(to));
        let mut found = Vec::new();
        while let Some(tick) = schedule.next_tick(now, &zone).filter(|tick| tick.at <= to) {
            assert!(tick.at > now, "{tick:?}");
            assert_eq!(schedule.last_tick(tick.at, &zone).as_ref(), Some(&tick));
            assert_ne!(schedule.last_tick(tick.at - 1, &zone).as_ref(), Some(&tick));
            now = tick.at;
            found.push(shown(Some(tick)));
        }
        found
    }

    #[test]
    fn schedules_are_written_as_they_are_read() {
        for text in [
            "1min",
            "15min",
            "90min",
            "1h",
            "24h",
            "day at 03:30",
            "monday at 07:00",
            "sunday at 23:59",
        ] {
            assert_eq!(Schedule::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Schedule::parse("60min").unwrap().to_string(), "1h");
        for (text, wrong) in [
            ("", NoSchedule::Form),
            ("h", NoSchedule::Form),
            ("15", NoSchedule::Form),
            ("30s", NoSchedule::Form),
            ("1d", NoSchedule::Form),
            ("-5min", NoSchedule::Form),
            ("1h30min", NoSchedule::Form),
            ("Monday at 07:00", NoSchedule::Form),
            ("weekday at 07:00", NoSchedule::Form),
            ("0min", NoSchedule::Interval),
            ("1441min", NoSchedule::Interval),
            ("25h", NoSchedule::Interval),
            ("99999999999999999999h", NoSchedule::Interval),
            ("day at 3:30", NoSchedule::Clock),
            ("day at 24:00", NoSchedule::Clock),
            ("day at", NoSchedule::Form),
        ] {
            assert_eq!(Schedule::parse(text), Err(wrong), "{text}");
        }
    }

    #[test]
    fn a_clock_time_that_is_skipped_is_the_next_that_exists() {
        let found = ticks("day at 02:30", WARSAW, "2026-03-27T23:00:00Z", "2026-03-30T22:00:00Z");
        assert_eq!(
            found,
            [
                "every 2026-03-28 2026-03-28T01:30:00Z",
                // The clock goes from 02:00 to 03:00.
                "every 2026-03-29 2026-03-29T01:00:00Z",
                "every 2026-03-30 2026-03-30T00:30:00Z",
            ]
        );
        // At its very beginning, too.
        let found = ticks("day at 02:00", WARSAW, "2026-03-28T23:00:00Z", "2026-03-29T20:00:00Z");
        assert_eq!(found, ["every 2026-03-29 2026-03-29T01:00:00Z"]);
    }

    #[test]
    fn a_clock_time_that_comes_twice_is_the_first() {
        let found = ticks("day at 02:30", WARSAW, "2026-10-23T23:00:00Z", "2026-10-26T22:00:00Z");
        assert_eq!(
            found,
            [
                "every 2026-10-24 2026-10-24T00:30:00Z",
                "every 2026-10-25 2026-10-25T00:30:00Z",
                "every 2026-10-26 2026-10-26T01:30:00Z",
            ]
        );
    }

    #[test]
    fn a_day_that_is_left_out_has_its_tick_when_the_next_begins() {
        let found = ticks(
            "day at 12:00",
            "Pacific/Apia",
            "2011-12-29T12:00:00Z",
            "2012-01-01T00:00:00Z",
        );
        assert_eq!(
            found,
            [
                "every 2011-12-29 2011-12-29T22:00:00Z",
                // Samoa went over the date line: there was no 30 December.
                "every 2011-12-30 2011-12-30T10:00:00Z",
                "every 2011-12-31 2011-12-30T22:00:00Z",
                "every 2012-01-01 2011-12-31T22:00:00Z",
            ]
        );
    }

    #[test]
    fn a_week_has_one_tick_and_its_day_is_local() {
        let found = ticks(
            "monday at 00:30",
            WARSAW,
            "2026-03-20T00:00:00Z",
            "2026-04-07T00:00:00Z",
        );
        assert_eq!(
            found,
            [
                "every 2026-03-23 2026-03-22T23:30:00Z",
                "every 2026-03-30 2026-03-29T22:30:00Z",
                "every 2026-04-06 2026-04-05T22:30:00Z",
            ]
        );
    }

    #[test]
    fn intervals_are_steady_over_daylight_saving_and_begin_at_local_hours() {
        for (from, to) in [
            ("2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z"),
            ("2026-10-24T12:00:00Z", "2026-10-25T12:00:00Z"),
        ] {
            assert_eq!(ticks("1h", WARSAW, from, to).len(), 25);
            assert_eq!(ticks("15min", WARSAW, from, to).len(), 97);
        }
        let schedule = Schedule::parse("1h").unwrap();
        let tick = schedule.last_tick(millis("2026-11-17T10:10:00Z"), &zone("Asia/Kolkata"));
        assert_eq!(shown(tick), "every 2026-11-17T09:30:00.000Z 2026-11-17T09:30:00Z");
    }

    #[test]
    fn an_interval_that_does_not_divide_the_day_goes_on_over_midnight() {
        let found = ticks("7h", "UTC", "2026-11-16T00:00:00Z", "2026-11-18T00:00:00Z");
        let instants: Vec<i64> = found
            .iter()
            .map(|tick| millis(tick.rsplit(' ').next().unwrap()))
            .collect();
        assert!(instants.len() >= 6);
        assert!(
            instants
                .windows(2)
                .all(|pair| pair[1] - pair[0] == 7 * 60 * MINUTE_MILLIS)
        );
    }

    #[test]
    fn every_zone_has_one_tick_a_day_for_years() {
        for name in [
            "Europe/Warsaw",
            "America/Sao_Paulo",
            "Asia/Beirut",
            "Africa/Cairo",
            "Australia/Lord_Howe",
        ] {
            for clock in ["day at 00:00", "day at 00:30", "day at 02:15", "day at 23:59"] {
                let found = ticks(clock, name, "2015-01-01T12:00:00Z", "2018-01-01T11:59:00Z");
                assert_eq!(found.len(), 1096, "{name} {clock}");
                let ids: std::collections::BTreeSet<_> = found.iter().map(|tick| tick.get(..16)).collect();
                assert_eq!(ids.len(), found.len(), "{name} {clock}");
            }
        }
    }

    #[test]
    fn where_the_calendar_ends_there_is_no_tick_and_no_panic() {
        let (schedule, zone) = (Schedule::parse("day at 03:30").unwrap(), zone("UTC"));
        for now in [i64::MIN, i64::MAX, -377_705_023_201_000, 253_402_207_200_000] {
            schedule.last_tick(now, &zone);
            schedule.next_tick(now, &zone);
            Schedule::parse("1min").unwrap().next_tick(now, &zone);
        }
    }

    #[test]
    fn runs_a_month_are_counted() {
        let tenths = |text: &str| Schedule::parse(text).unwrap().tenths_a_month();
        assert_eq!(tenths("1min"), 432_000);
        assert_eq!(tenths("day at 03:30"), 300);
        assert_eq!(tenths("monday at 07:00"), 42);
    }
}
