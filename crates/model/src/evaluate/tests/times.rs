//! Instants, days, months and durations: zones, clocks that are put forward and back, ends of months and of time.

use super::*;

const TOO_FAR: &str = "!the instant is out of range: years go from 0000 to 9999";
const NO_SUCH_DAY: &str = "!the day is out of range: years go from 0000 to 9999";
const TOO_LONG: &str = "!the duration is out of range: it is longer than 9999 years";

fn world_in(zone: &str, at: &str) -> World {
    let mut world = world();
    world.zone = TimeZone::get(zone).unwrap();
    world.row.insert("at".to_owned(), Value::S(at.to_owned()));
    world
}

#[test]
fn clocks_are_those_of_the_zone() {
    // Rome puts its clocks forward at 02:00 on 2026-03-29 and back at 03:00 on 2026-10-25.
    expect(
        &world_in("Europe/Rome", "2026-02-13T23:30:00.000Z"),
        &[
            (r#"time(date("2026-03-29"), "01:59")"#, "2026-03-29T00:59:00.000Z"),
            (r#"time(date("2026-03-29"), "02:30")"#, "2026-03-29T01:30:00.000Z"),
            (r#"time(date("2026-03-29"), "03:00")"#, "2026-03-29T01:00:00.000Z"),
            (r#"time(date("2026-10-25"), "01:59")"#, "2026-10-24T23:59:00.000Z"),
            (r#"time(date("2026-10-25"), "02:30")"#, "2026-10-25T00:30:00.000Z"),
            (r#"time(date("2026-10-25"), "03:00")"#, "2026-10-25T02:00:00.000Z"),
            (r#"time(date("2026-01-01"), "00:00")"#, "2025-12-31T23:00:00.000Z"),
            (
                r#"time(date("2026-03-30"), "00:00") - time(date("2026-03-29"), "00:00") == hours(23)"#,
                "true",
            ),
            (
                r#"time(date("2026-10-26"), "00:00") - time(date("2026-10-25"), "00:00") == hours(25)"#,
                "true",
            ),
            // Days are of 24 hours each on an instant, months are the calendar's.
            (
                r#"time(date("2026-03-28"), "12:00") + days(1)"#,
                "2026-03-29T11:00:00.000Z",
            ),
            (
                r#"time(date("2026-03-01"), "12:00") + months(1)"#,
                "2026-04-01T10:00:00.000Z",
            ),
            (
                r#"time(date("2026-02-28"), "02:30") + months(1)"#,
                "2026-03-28T01:30:00.000Z",
            ),
            (
                r#"time(date("2026-01-31"), "12:00") + months(1)"#,
                "2026-02-28T11:00:00.000Z",
            ),
            ("day(at)", "2026-02-14"),
            ("month(at)", "2026-02"),
            ("year(at)", "2026"),
            ("today", "2026-02-13"),
        ],
    );
    expect(
        &world_in("America/New_York", "2026-03-08T06:59:59.999Z"),
        &[
            ("day(at)", "2026-03-08"),
            (r#"time(date("2026-03-08"), "01:59")"#, "2026-03-08T06:59:00.000Z"),
            (r#"time(date("2026-03-08"), "02:00")"#, "2026-03-08T07:00:00.000Z"),
            (r#"time(date("2026-11-01"), "01:30")"#, "2026-11-01T05:30:00.000Z"),
            (
                r#"time(date("2026-11-02"), "00:00") - time(date("2026-11-01"), "00:00") == hours(25)"#,
                "true",
            ),
        ],
    );
    // Half an hour forward and back, a day that was left out, and a zone of half an hour.
    expect(
        &world_in("Australia/Lord_Howe", "2026-04-04T14:59:00.000Z"),
        &[
            (
                r#"time(date("2026-04-06"), "00:00") - time(date("2026-04-05"), "00:00") == hours(24) + minutes(30)"#,
                "true",
            ),
            (
                r#"time(date("2026-10-05"), "00:00") - time(date("2026-10-04"), "00:00") == hours(23) + minutes(30)"#,
                "true",
            ),
        ],
    );
    expect(
        &world_in("Pacific/Apia", "2011-12-30T09:59:59.999Z"),
        &[("day(at)", "2011-12-29"), ("day(at + minutes(1))", "2011-12-31")],
    );
    expect(
        &world_in("Asia/Kolkata", "2026-01-31T18:30:00.000Z"),
        &[("day(at)", "2026-02-01"), ("month(at)", "2026-02")],
    );
}

#[test]
fn months_end_where_the_calendar_ends_them() {
    expect(
        &world(),
        &[
            (r#"date("2026-01-31") + months(1)"#, "2026-02-28"),
            (r#"date("2024-01-31") + months(1)"#, "2024-02-29"),
            (r#"date("2024-02-29") + months(12)"#, "2025-02-28"),
            (r#"date("2024-02-29") + months(48)"#, "2028-02-29"),
            (r#"date("2024-02-29") - months(12)"#, "2023-02-28"),
            (r#"date("2026-03-31") - months(1)"#, "2026-02-28"),
            (r#"date("2026-01-31") + months(1) + days(1)"#, "2026-03-01"),
            (r#"date("2026-01-31") + (months(1) + days(1))"#, "2026-03-01"),
            (r#"date("2026-12-31") + days(1)"#, "2027-01-01"),
            (r#"date("2024-02-28") + days(1)"#, "2024-02-29"),
            (r#"date("2023-02-28") + days(1)"#, "2023-03-01"),
            (r#"date("1900-02-28") + days(1)"#, "1900-03-01"),
            (r#"date("2000-02-28") + days(1)"#, "2000-02-29"),
            (r#"days(1) + date("2026-02-13")"#, "2026-02-14"),
            (r#"date("2026-02-13") + days(-13)"#, "2026-01-31"),
            (r#"date("2024-03-01") - date("2024-02-01") == days(29)"#, "true"),
            (r#"date("2024-02-01") - date("2024-03-01") == days(-29)"#, "true"),
            (r#"date("2026-02-13") - date("2026-02-13") == days(0)"#, "true"),
            (
                r#"days(date("2024-02-28"), date("2024-03-01"))"#,
                "[2024-02-28 2024-02-29 2024-03-01]",
            ),
            (
                r#"days(date("2026-03-28"), date("2026-03-30"))"#,
                "[2026-03-28 2026-03-29 2026-03-30]",
            ),
            (r#"days(date("2026-02-13"), date("2026-02-13"))"#, "[2026-02-13]"),
            (r#"days(date("2026-02-13"), date("2026-02-12"))"#, "[]"),
            (
                r#"days(date("9999-12-30"), date("9999-12-31"))"#,
                "[9999-12-30 9999-12-31]",
            ),
            (r#"size(days(date("2016-01-01"), date("2026-01-07")))"#, "3660"),
            (
                r#"size(days(date("2016-01-01"), date("2026-01-08")))"#,
                "!there are more than 3660 days from 2016-01-01 to 2026-01-08",
            ),
        ],
    );
}

#[test]
fn time_ends_with_the_years_of_four_digits() {
    expect(
        &world(),
        &[
            (r#"date("9999-12-31") + days(0)"#, "9999-12-31"),
            (r#"date("9999-12-31") + days(1)"#, NO_SUCH_DAY),
            (r#"date("9999-12-01") + months(1)"#, NO_SUCH_DAY),
            (r#"date("0000-01-01") - days(0)"#, "0000-01-01"),
            (r#"date("0000-01-01") - days(1)"#, NO_SUCH_DAY),
            (r#"date("0000-01-31") - months(1)"#, NO_SUCH_DAY),
            (r#"date("9999-12-31") - days(3652058)"#, "0001-01-01"),
            (r#"date("0001-01-01") + days(3652058)"#, "9999-12-31"),
            (r#"today + days(8000000)"#, TOO_LONG),
            (r#"today + days(100000000000000000000)"#, TOO_LONG),
            (r#"today + days(-100000000000000000000)"#, TOO_LONG),
            (r#"today + days(99999999999999999999999999999999999999)"#, TOO_LONG),
            (r#"today + days(3659634)"#, NO_SUCH_DAY),
            (r#"today + days(3659635)"#, TOO_LONG),
            (r#"today + months(119988)"#, NO_SUCH_DAY),
            (r#"today + months(119989)"#, TOO_LONG),
            (r#"today - months(-119989)"#, TOO_LONG),
            (r#"now + hours(9223372036854775807)"#, TOO_LONG),
            (r#"now + minutes(9223372036854775808)"#, TOO_LONG),
            (r#"now + days(3000000)"#, TOO_FAR),
            (r#"now - days(3000000)"#, TOO_FAR),
            (r#"days(3659634) + days(1) > days(1)"#, TOO_LONG),
            (r#"days(3659634) * 2 > days(1)"#, TOO_LONG),
            (r#"days(1) * 99999999999999999999 > days(1)"#, TOO_LONG),
            (r#"time(date("0000-01-01"), "00:00")"#, TOO_FAR),
            (r#"time(date("0000-01-01"), "12:00")"#, "0000-01-01T11:10:04.000Z"),
            (r#"time(date("9999-12-31"), "12:00")"#, TOO_FAR),
            (r#"time(date("9999-12-30"), "12:00")"#, "9999-12-30T11:00:00.000Z"),
            (r#"date("+002026-02-13")"#, "!`+002026-02-13` is no day"),
            (r#"date("20260213")"#, "!`20260213` is no day"),
            (r#"date("2026-02-30")"#, "!`2026-02-30` is no day"),
            (r#"time(today, args.text)"#, "!`milk` is no time of day"),
        ],
    );
}

#[test]
fn durations_compare_by_their_length() {
    expect(
        &world(),
        &[
            ("days(1) == hours(24) && hours(1) == minutes(60)", "true"),
            ("months(1) == days(30)", "true"),
            ("months(1) < days(31) && months(1) > days(29)", "true"),
            ("days(2) * 3 == days(6) && 3 * days(2) == days(6)", "true"),
            ("-days(2) == days(-2)", "true"),
            ("days(2) - days(3) == days(-1)", "true"),
            ("months(-1) + days(30) == days(0)", "true"),
            (
                "now - at == minutes(30) + round(45.123, 0) * minutes(0) || now - at > minutes(30)",
                "true",
            ),
            ("millis - now == days(0)", "true"),
            ("max(now, millis) == millis", "true"),
            ("max(now, at)", "2026-02-13T22:30:45.123Z"),
            ("min(now, at)", "2026-02-13T22:00:00.000Z"),
            ("[now, at]", "[2026-02-13T22:30:45.123Z 2026-02-13T22:00:00.000Z]"),
            ("now", "2026-02-13T22:30:45.123Z"),
            ("epoch + days(1)", "1771108200"),
            ("epoch + months(1)", "1773441000"),
            ("millis - hours(1)", "1771018245123"),
            (r#"words == "OUT""#, "true"),
            (r#"words < "2030-01-01""#, "false"),
            (r#"words > "1970-01-01""#, "false"),
            (r#"words != "1970-01-01""#, "true"),
            (r#"month == "2026-02" && month < "2026-10""#, "true"),
        ],
    );
}
