//! Which keys a condition asks for.

use singlet_item::Value;
use singlet_runtime::Attributes;
use singlet_verify::Outcome;

use super::{Caller, NUMBERED, attributes, check, check_in, check_model};

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
async fn a_day_of_another_zone_is_not_a_day_that_keys_have() {
    let entity = "    attributes: {o: string 1..9, t: time}\n    key: {PK: \"P#{day(t)}\", SK: \"O#{o}\"}\n";
    let read = "    args: {d: date}\n    where: 'day(t) == args.d'\n";
    let rows: [&[_]; 1] = [&[("o", "a"), ("t", "2026-11-16T01:00:00.000Z")]];
    let args = || attributes(&[("d", "2026-11-16")]);
    assert_eq!(check(entity, read, &rows, args()).await, Outcome::Same(1));
    let elsewhere = check_in("America/New_York", entity, read, &rows, args()).await;
    assert_eq!(elsewhere, Outcome::Same(0));
    let day_before = attributes(&[("d", "2026-11-15")]);
    let elsewhere = check_in("America/New_York", entity, read, &rows, day_before).await;
    assert_eq!(elsewhere, Outcome::Same(1));
}

#[tokio::test]
async fn each_key_has_a_place_as_finely_as_it_says() {
    let entity = "    attributes: {o: string 1..9, at: geo}\n    key: {PK: \"P#{o}\", SK: \"E\"}\n    index:\n      GX1: {G1P: \"C#{geohash(at, 3)}\", G1S: \"{geohash(at, 6)}\"}\n      THIN: {TP: \"C#{geohash(at, 5)}\", TS: \"O#{o}\"}\n";
    let read = "    args: {at: geo}\n    where: 'near(at, args.at, 2)'\n";
    let rows: [&[_]; 2] = [&[("o", "a"), ("at", "52.5 13.4")], &[("o", "b"), ("at", "52.9 13.4")]];
    assert_eq!(
        check(entity, read, &rows, attributes(&[("at", "52.505 13.4")])).await,
        Outcome::Same(1)
    );
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
async fn a_scan_of_a_table_without_a_sort_key_reads_past_its_first_page() {
    let text = "singlet: 1
name: made
table: {name: made, key: {partition: PK}}
entities:
  E:
    attributes: {o: string 1..9, n: 'int 0..9'}
    key: {PK: \"P#{o}\"}
    unique: {n: n}
reads:
  r:
    find: E
    scan: all of them
    allow: 'true'
";
    let rows: &[&[(&str, &str)]] = &[
        &[("o", "a"), ("n", "1")],
        &[("o", "b"), ("n", "2")],
        &[("o", "c"), ("n", "3")],
    ];
    let outcome = check_model(text, rows, Attributes::new(), &Caller::with_id("ada")).await;
    assert_eq!(outcome, Outcome::Same(3));
}

/// Cells get narrower toward the poles: past the latitude that the plan names, a circle is refused, and says how far it is answered.
#[tokio::test]
async fn a_circle_past_its_latitude_is_a_wrong_request() {
    let text = "singlet: 1\nname: made\ntable: {name: made, key: {partition: PK, sort: SK}, type: kind, indexes: {GX1: {partition: cell, \
                sort: SK}}}\nentities:\n  E:\n    attributes: {id: string 1..9, at: geo}\n    key: {PK: \"P#{id}\", SK: \"E\"}\n    index: \
                {GX1: {cell: \"{geohash(at, 5)}\"}}\nreads:\n  r:\n    find: E\n    args: {at: geo}\n    where: near(at, args.at, 20)\n    allow: \
                'true'\n";
    let store = std::sync::Arc::new(singlet_store_embedded::EmbeddedStore::memory().unwrap());
    let source = singlet_runtime::Source::new("model.yaml", text);
    let engine = singlet_runtime::Engine::load_source(&source, store, singlet_runtime::Deployment::default()).unwrap();
    engine.create_table().await.unwrap();
    let read = async |latitude: &str| {
        let request = singlet_runtime::Request {
            args: attributes(&[("at", &format!("{latitude} 10"))]),
            now: super::NOW,
            ..singlet_runtime::Request::default()
        };
        engine.read("r", &request).await
    };
    let plan = engine.plan("r").unwrap();
    let latitude = plan
        .combinations
        .first()
        .and_then(|known| known.parts.first()?.plan.latitude())
        .unwrap();
    assert!((60.0..89.0).contains(&latitude), "{latitude}");
    for sign in ["", "-"] {
        assert!(read(&format!("{sign}{latitude}")).await.is_ok(), "{sign}{latitude}");
        let refused = read(&format!("{sign}89.9")).await.unwrap_err();
        let singlet_runtime::RuntimeError::Request(why) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(
            why,
            format!("the circle lies too near a pole: it is answered up to {latitude}° of latitude")
        );
    }
}

#[tokio::test]
async fn an_empty_text_is_before_every_key() {
    let entity = "    attributes: {o: string 1..9, t: string}\n    key: {PK: \"P#{o}\", SK: \"E\"}\n    index:\n      GX1: {G1P: \"G\", G1S: \"{ordered(t)}##\"}\n";
    let rows: [&[_]; 2] = [&[("o", "a"), ("t", "")], &[("o", "b"), ("t", "x")]];
    for (condition, found) in [
        ("t < args.t", 0),
        ("t <= args.t", 1),
        ("t > args.t", 1),
        ("t >= args.t", 2),
    ] {
        let read = format!("    args: {{t: string}}\n    where: '{condition}'\n    order: t\n");
        let outcome = check(entity, &read, &rows, attributes(&[("t", "")])).await;
        assert_eq!(outcome, Outcome::Same(found), "{condition}");
    }
}
