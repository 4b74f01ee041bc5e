//! What the generated cases have found, each as the smallest model that showed it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it tried"
)]

use std::sync::Arc;

use singlet_item::Value;
use singlet_runtime::{Attributes, Caller};
use singlet_store_embedded::EmbeddedStore;
use singlet_verify::{Bench, Case, Outcome};

/// 2026-11-16T12:00:00.500Z.
const NOW: i64 = 1_794_830_400_500;

const HEAD: &str = "singlet: 1
name: made
table:
  name: made
  key: {partition: PK, sort: SK}
  indexes:
    G1: {partition: G1P, sort: G1S}
    THIN: {partition: TP, sort: TS, project: keys}
    L1: {local: true, sort: {name: LS, type: number}}
  type: Kind
  ttl: ttl
types:
  Grade: {enum: [low, mid, high]}
  State: {enum: [free, held, gone]}
callers:
  jwt: {audience: made, claims: {id: sub}}
entities:
  E:
";

/// What an attribute's text stands for: a number, a bool, a place or text.
fn value(text: &str) -> Value {
    if let Some((lat, lon)) = text.split_once(' ') {
        return Value::M(
            [("lat", lat), ("lon", lon)]
                .map(|(name, text)| (name.to_owned(), value(text)))
                .into(),
        );
    }
    match (text, text.parse()) {
        ("true" | "false", _) => Value::Bool(text == "true"),
        (_, Ok(number)) => Value::N(number),
        _ => Value::S(text.to_owned()),
    }
}

fn attributes(pairs: &[(&str, &str)]) -> Attributes {
    pairs
        .iter()
        .map(|(name, text)| ((*name).to_owned(), value(text)))
        .collect()
}

/// Checks the read `r` on every page size; how it came out.
async fn check(entity: &str, read: &str, rows: &[&[(&str, &str)]], args: Attributes) -> Outcome {
    check_in("UTC", entity, read, rows, args).await
}

async fn check_in(zone: &str, entity: &str, read: &str, rows: &[&[(&str, &str)]], args: Attributes) -> Outcome {
    let text = format!("zone: {zone}\n{HEAD}{entity}reads:\n  r:\n    find: E\n{read}    allow: 'true'\n");
    check_model(&text, rows, args, &Caller::with_id("ada")).await
}

async fn check_model(text: &str, rows: &[&[(&str, &str)]], args: Attributes, caller: &Caller) -> Outcome {
    let rows = rows.iter().map(|row| ("E".to_owned(), attributes(row))).collect();
    let store = Arc::new(EmbeddedStore::memory().unwrap());
    let bench = Bench::open(text, store, rows, NOW).await.unwrap();
    let mut outcome = Outcome::Refused;
    for page in [1, 2, 9] {
        let case = Case {
            read: "r".to_owned(),
            args: args.clone(),
            caller: caller.clone(),
            page,
            now: NOW,
        };
        outcome = bench.check(&case).await.unwrap_or_else(|mismatch| panic!("{mismatch}"));
    }
    outcome
}

const NUMBERED: &str = "    attributes: {o: string 1..9, n: 'int 0..1000'}\n    key: {PK: \"P#{o}\", SK: \"N#{n}\"}\n";

#[tokio::test]
async fn an_end_beyond_the_limits_of_an_attribute_leaves_that_side_open() {
    let rows: [&[_]; 2] = [&[("o", "a"), ("n", "1")], &[("o", "a"), ("n", "1000")]];
    for (test, end, count) in [
        ("<", "1001", 2),
        ("<", "9.5", 1),
        (">", "9.5", 1),
        (">=", "-5", 2),
        ("<", "-5", 0),
        (">", "1001", 0),
    ] {
        let read = format!(
            "    args: {{o: string, end: number}}\n    where: 'o == args.o && n {test} args.end'\n    order: n\n"
        );
        let args = attributes(&[("o", "a"), ("end", end)]);
        assert_eq!(
            check(NUMBERED, &read, &rows, args).await,
            Outcome::Same(count),
            "n {test} {end}"
        );
    }
}

#[tokio::test]
async fn an_instant_finer_than_the_attribute_does_not_move_the_end_of_a_range() {
    let entity = "    attributes: {o: string 1..9, t: seconds}\n    key: {PK: \"P#{o}\", SK: \"T#{t}\"}\n";
    let rows: [&[_]; 2] = [&[("o", "a"), ("t", "1794830400")], &[("o", "a"), ("t", "1794830401")]];
    for test in ["<", "<=", ">", ">="] {
        let read = format!("    args: {{o: string}}\n    where: 'o == args.o && t {test} now'\n    order: t\n");
        assert_eq!(
            check(entity, &read, &rows, attributes(&[("o", "a")])).await,
            Outcome::Same(1),
            "t {test} now"
        );
    }
}

#[tokio::test]
async fn values_that_share_a_key_are_asked_for_once() {
    let entity = "    attributes: {o: string 1..9, d: date}\n    key: {PK: \"P#{month(d)}\", SK: \"O#{o}\"}\n";
    let read = "    args: {days: list(date)}\n    where: 'd in args.days'\n";
    let days = ["2026-11-15", "2026-11-16"].map(|day| Value::S(day.to_owned()));
    let args = Attributes::from([("days".to_owned(), Value::L(days.to_vec()))]);
    assert_eq!(
        check(entity, read, &[&[("o", "a"), ("d", "2026-11-16")]], args).await,
        Outcome::Same(1)
    );
}

#[tokio::test]
async fn false_comes_before_true_where_ranges_are_merged() {
    let entity = "    attributes: {o: string 1..9, g: Grade, b: bool}\n    key: {PK: \"P#{o}\", SK: \"E\"}\n    index:\n      G1: {G1P: \"I#{g}\", G1S: \"B#{b}\"}\n";
    let read = "    where: 'g in [\"low\", \"high\"]'\n    order: b\n";
    let rows: [&[_]; 2] = [
        &[("o", "a"), ("g", "low"), ("b", "true")],
        &[("o", "b"), ("g", "high"), ("b", "false")],
    ];
    assert_eq!(check(entity, read, &rows, Attributes::new()).await, Outcome::Same(2));
}

#[tokio::test]
async fn a_number_with_many_values_is_not_fanned_out_for_an_order() {
    let entity = "    attributes: {o: string 1..9, n: 'int 0..1000'}\n    key: {PK: \"P#{o}\", SK: \"{plain(n)}#\"}\n";
    let read = "    args: {o: string}\n    where: 'o == args.o'\n    order: n\n";
    let rows: [&[_]; 2] = [&[("o", "a"), ("n", "9")], &[("o", "a"), ("n", "10")]];
    assert_eq!(
        check(entity, read, &rows, attributes(&[("o", "a")])).await,
        Outcome::Unplanned("order not given")
    );
}

#[tokio::test]
async fn a_small_number_in_the_way_of_an_order_is_fanned_out_and_its_range_kept() {
    let entity = "    attributes: {o: string 1..9, s: 'int 0..3', n: 'int 0..1000'}\n    key: {PK: \"P#{o}\", SK: \"{s}#{n}\"}\n";
    let read = "    args: {o: string, s: 'int 0..3'}\n    where: 'o == args.o && s >= args.s'\n    order: n\n";
    let rows: [&[_]; 3] = [
        &[("o", "a"), ("s", "0"), ("n", "1")],
        &[("o", "a"), ("s", "1"), ("n", "7")],
        &[("o", "a"), ("s", "3"), ("n", "5")],
    ];
    assert_eq!(
        check(entity, read, &rows, attributes(&[("o", "a"), ("s", "1")])).await,
        Outcome::Same(2)
    );
}

const CHOSEN: &str = "    attributes: {o: string 1..9, g: Grade}\n    key: {PK: \"P#{o}\", SK: \"E\"}\n    index:\n      G1:\n        - {when: 'g == \"low\"', G1P: \"LOW\", G1S: \"O#{o}\"}\n        - {G1P: \"I#{g}\", G1S: \"O#{o}\"}\n";

#[tokio::test]
async fn templates_after_a_condition_hold_only_rows_that_it_excludes() {
    let row: [&[_]; 2] = [&[("o", "a"), ("g", "low")], &[("o", "b"), ("g", "mid")]];
    let any = "    args: {g: Grade}\n    where: 'g == args.g'\n";
    assert_eq!(
        check(CHOSEN, any, &row, attributes(&[("g", "low")])).await,
        Outcome::Unplanned("condition not implied")
    );
    let other = "    where: 'g == \"mid\"'\n";
    assert_eq!(check(CHOSEN, other, &row, Attributes::new()).await, Outcome::Same(1));
}

const LAPSING: &str = "    attributes: {o: string 1..9, state: State, until: 'seconds?'}\n    key: {PK: \"P#{o}\", SK: \"E\"}\n    index:\n      G1: {G1P: \"U#{until}\", G1S: \"{rank(state)}#{o}\"}\n    states:\n      of: state\n      start: free\n      moves: {hold: free -> held, end: held -> gone}\n      while: {held: {until: now + hours(1)}}\n      lapse: {held: 'free at until'}\n";

#[tokio::test]
async fn what_held_only_during_a_lapsed_state_is_gone_though_its_key_is_there() {
    let read = "    args: {until: seconds}\n    where: 'until == args.until'\n";
    let row: &[_] = &[("o", "a"), ("state", "held"), ("until", "1794830300")];
    assert_eq!(
        check(LAPSING, read, &[row], attributes(&[("until", "1794830300")])).await,
        Outcome::Same(0)
    );
}

#[tokio::test]
async fn the_key_of_a_state_that_lapses_gives_no_order() {
    let read = "    args: {until: seconds}\n    where: 'until == args.until'\n    order: state\n";
    let row: &[_] = &[("o", "a"), ("state", "held"), ("until", "1794916800")];
    assert_eq!(
        check(LAPSING, read, &[row], attributes(&[("until", "1794916800")])).await,
        Outcome::Unplanned("order not given")
    );
}

#[tokio::test]
async fn a_thin_index_is_followed_before_its_rows_are_filtered_and_merged() {
    let entity = "    attributes: {o: string 1..9, g: Grade, n: 'int 0..1000', note: string 1..9}\n    key: {PK: \"P#{o}\", SK: \"E\"}\n    index:\n      THIN: {TP: \"T#{g}\", TS: \"N#{n}\"}\n";
    let read = "    args: {note: string}\n    where: 'g in [\"low\", \"high\"] && note == args.note'\n    order: n\n";
    let rows: [&[_]; 3] = [
        &[("o", "a"), ("g", "low"), ("n", "7"), ("note", "x")],
        &[("o", "b"), ("g", "high"), ("n", "5"), ("note", "x")],
        &[("o", "c"), ("g", "high"), ("n", "6"), ("note", "y")],
    ];
    assert_eq!(
        check(entity, read, &rows, attributes(&[("note", "x")])).await,
        Outcome::Same(2)
    );
}

#[tokio::test]
async fn templates_of_one_index_that_share_a_collection_settle_nothing() {
    let entity = "    attributes: {o: string 1..9, g: Grade, n: 'int 0..9', m: 'int 0..9'}\n    key: {PK: \"P#{o}\", SK: \"E\"}\n    index:\n      G1:\n        - {when: 'g == \"low\"', G1P: \"N#{n}\", G1S: \"O#{o}\"}\n        - {G1P: \"N#{m}\", G1S: \"O#{o}\"}\n";
    let read = "    where: 'g == \"low\" && n == 7'\n    order: o\n";
    let rows: [&[_]; 3] = [
        &[("o", "a"), ("g", "low"), ("n", "7"), ("m", "1")],
        &[("o", "b"), ("g", "mid"), ("n", "1"), ("m", "7")],
        &[("o", "c"), ("g", "low"), ("n", "1"), ("m", "7")],
    ];
    assert_eq!(check(entity, read, &rows, Attributes::new()).await, Outcome::Same(1));
}

#[tokio::test]
async fn a_range_on_a_part_includes_what_follows_right_after_it() {
    let entity =
        "    attributes: {o: string 1..9, d: date, n: 'int 0..999'}\n    key: {PK: \"P#{o}\", SK: \"D#{d}{n}\"}\n";
    let rows: [&[_]; 3] = [
        &[("o", "a"), ("d", "2026-11-15"), ("n", "5")],
        &[("o", "a"), ("d", "2026-11-16"), ("n", "5")],
        &[("o", "a"), ("d", "2026-11-17"), ("n", "5")],
    ];
    for (test, count) in [("<=", 2), ("<", 1), (">", 1), (">=", 2)] {
        let read =
            format!("    args: {{o: string, d: date}}\n    where: 'o == args.o && d {test} args.d'\n    order: d, n\n");
        let args = attributes(&[("o", "a"), ("d", "2026-11-16")]);
        assert_eq!(
            check(entity, &read, &rows, args).await,
            Outcome::Same(count),
            "d {test}"
        );
    }
}

#[tokio::test]
async fn keys_have_days_of_utc_which_another_zone_does_not_ask_for() {
    let entity = "    attributes: {o: string 1..9, t: time}\n    key: {PK: \"P#{day(t)}\", SK: \"O#{o}\"}\n";
    let read = "    args: {d: date}\n    where: 'day(t) == args.d'\n";
    let rows: [&[_]; 1] = [&[("o", "a"), ("t", "2026-11-16T01:00:00.000Z")]];
    let args = || attributes(&[("d", "2026-11-16")]);
    assert_eq!(check(entity, read, &rows, args()).await, Outcome::Same(1));
    let elsewhere = check_in("America/New_York", entity, read, &rows, args()).await;
    assert_eq!(elsewhere, Outcome::Unplanned("day of another zone"));
}

#[tokio::test]
async fn each_key_has_a_place_as_finely_as_it_says() {
    let entity = "    attributes: {o: string 1..9, at: geo}\n    key: {PK: \"P#{o}\", SK: \"E\"}\n    index:\n      G1: {G1P: \"C#{geohash(at, 3)}\", G1S: \"{geohash(at, 6)}\"}\n      THIN: {TP: \"C#{geohash(at, 5)}\", TS: \"O#{o}\"}\n";
    let read = "    args: {at: geo}\n    where: 'near(at, args.at, 2)'\n";
    let rows: [&[_]; 2] = [&[("o", "a"), ("at", "52.5 13.4")], &[("o", "b"), ("at", "52.9 13.4")]];
    assert_eq!(
        check(entity, read, &rows, attributes(&[("at", "52.505 13.4")])).await,
        Outcome::Same(1)
    );
}

#[tokio::test]
async fn an_argument_that_is_tested_means_what_the_test_says_when_it_is_left_out() {
    let rows: [&[_]; 2] = [&[("o", "a"), ("n", "1")], &[("o", "a"), ("n", "1000")]];
    for (test, count) in [
        ("args.x == absent || n == args.x", 2),
        ("args.x != absent && n == args.x || n > 9", 1),
        ("args.x != absent && n == args.x", 0),
    ] {
        let read = format!("    args: {{o: string, x: 'int?'}}\n    where: 'o == args.o && ({test})'\n");
        let args = attributes(&[("o", "a")]);
        assert_eq!(
            check(NUMBERED, &read, &rows, args).await,
            Outcome::Same(count),
            "{test}"
        );
    }
}

#[tokio::test]
async fn a_word_in_a_days_place_is_in_no_range_of_days() {
    let entity =
        "    attributes: {o: string 1..9, d: 'date | \"NEVER\" | \"0\"'}\n    key: {PK: \"P#{o}\", SK: \"D#{d}\"}\n";
    let rows: [&[_]; 2] = [&[("o", "a"), ("d", "2026-11-16")], &[("o", "a"), ("d", "NEVER")]];
    for (test, count) in [("<=", 1), (">=", 1), ("<", 0), (">", 0), ("!=", 1)] {
        let read =
            format!("    args: {{o: string, d: date}}\n    where: 'o == args.o && d {test} args.d'\n    order: -d\n");
        let args = attributes(&[("o", "a"), ("d", "2026-11-16")]);
        assert_eq!(
            check(entity, &read, &rows, args).await,
            Outcome::Same(count),
            "d {test}"
        );
    }
}

#[tokio::test]
async fn an_instant_with_a_word_beside_it_is_compared_with_now() {
    let entity = "    attributes: {o: string 1..9, t: 'time | \"never\"'}\n    key: {PK: \"P#{o}\", SK: \"O#{o}\"}\n";
    let rows: [&[_]; 1] = [&[("o", "a"), ("t", "2026-11-16T00:00:00.000Z")]];
    let read = "    args: {o: string}\n    where: 'o == args.o && t < now'\n";
    assert_eq!(
        check(entity, read, &rows, attributes(&[("o", "a")])).await,
        Outcome::Same(1)
    );
}

#[tokio::test]
async fn a_key_may_be_made_of_another_name_of_an_attribute() {
    let entity = "    attributes:\n      o: string 1..9\n      n: 'int 0..9'\n      m: {is: n}\n    key: {PK: \"P#{m}\", SK: \"O#{o}\"}\n";
    let read = "    args: {n: 'int 0..9'}\n    where: 'n == args.n'\n    order: o\n";
    let rows: [&[_]; 2] = [&[("o", "a"), ("n", "7")], &[("o", "b"), ("n", "8")]];
    assert_eq!(
        check(entity, read, &rows, attributes(&[("n", "7")])).await,
        Outcome::Same(1)
    );
}

#[tokio::test]
async fn a_local_index_leaves_the_primary_key_that_a_condition_has_chosen() {
    let entity = "    attributes: {o: string 1..9, g: Grade, LS: 'int 0..9'}\n    key:\n      - {when: 'g == \"low\"', PK: \"LOW\", SK: \"O#{o}\"}\n      - {PK: \"P#{o}\", SK: \"E\"}\n    index:\n      L1: own\n";
    let read = "    args: {o: string}\n    where: 'o == args.o && g != \"low\"'\n";
    let rows: [&[_]; 2] = [
        &[("o", "a"), ("g", "mid"), ("LS", "7")],
        &[("o", "a"), ("g", "low"), ("LS", "7")],
    ];
    assert_eq!(
        check(entity, read, &rows, attributes(&[("o", "a")])).await,
        Outcome::Same(1)
    );
    let local = "    where: 'g == \"low\"'\n    order: LS\n";
    let outcome = check(entity, local, &rows, Attributes::new()).await;
    assert_eq!(outcome, Outcome::Unplanned("order not given"));
}

#[tokio::test]
async fn a_table_without_a_sort_key_gives_each_row_once_however_it_is_paged() {
    let text = "singlet: 1\nname: made\ntable:\n  name: made\n  key: {partition: PK}\ncallers:\n  jwt: {audience: made, claims: {id: sub}}\nentities:\n  E:\n    attributes: {o: string 1..9, n: 'int 0..9'}\n    key: {PK: \"P#{o}#{n}\"}\nreads:\n  r:\n    find: E\n    args: {o: string}\n    where: 'o == args.o && n in [1, 2, 3]'\n    allow: 'true'\n";
    let rows: [&[_]; 2] = [&[("o", "a"), ("n", "1")], &[("o", "a"), ("n", "3")]];
    assert_eq!(
        check_model(text, &rows, attributes(&[("o", "a")]), &Caller::anonymous()).await,
        Outcome::Same(2)
    );
}

#[tokio::test]
async fn ranges_are_merged_by_a_field_of_an_object() {
    let entity = "    attributes:\n      o: string 1..9\n      g: Grade\n      spot: {object: {lat: 'int 0..9', lon: 'int 0..9'}}\n    key: {PK: \"P#{o}\", SK: \"E\"}\n    index:\n      G1: {G1P: \"I#{g}\", G1S: \"L#{spot.lat}\"}\n";
    let read = "    where: 'g in [\"low\", \"high\"]'\n    order: spot.lat\n";
    let rows: [&[_]; 2] = [
        &[("o", "a"), ("g", "low"), ("spot", "7 1")],
        &[("o", "b"), ("g", "high"), ("spot", "5 1")],
    ];
    assert_eq!(check(entity, read, &rows, Attributes::new()).await, Outcome::Same(2));
}

#[tokio::test]
async fn what_is_not_known_of_a_caller_differs_from_nothing() {
    let read =
        "reads:\n  r:\n    count: E\n    args: {o: string}\n    where: 'o == args.o'\n    allow: 'note != caller.id'\n";
    let entity = "    attributes: {o: string 1..9, note: string 1..9}\n    key: {PK: \"P#{o}\", SK: \"E\"}\n";
    let text = format!("{HEAD}{entity}{read}");
    let rows: [&[_]; 1] = [&[("o", "a"), ("note", "x")]];
    let (known, unknown) = (Caller::with_id("ada"), Caller::anonymous());
    assert_eq!(
        check_model(&text, &rows, attributes(&[("o", "a")]), &known).await,
        Outcome::Same(1)
    );
    assert_eq!(
        check_model(&text, &rows, attributes(&[("o", "a")]), &unknown).await,
        Outcome::Same(0)
    );
}
