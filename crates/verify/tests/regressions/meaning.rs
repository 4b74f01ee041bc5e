//! Which rows a path has, and what the request leaves unsaid.

use singlet_runtime::{Attributes, Caller};
use singlet_verify::Outcome;

use super::{HEAD, NUMBERED, attributes, check, check_model};

const CHOSEN: &str = "    attributes: {o: string 1..9, g: Grade}\n    key: {PK: \"P#{o}\", SK: \"E\"}\n    index:\n      GX1:\n        - {when: 'g == \"low\"', G1P: \"LOW\", G1S: \"O#{o}\"}\n        - {G1P: \"I#{g}\", G1S: \"O#{o}\"}\n";

#[tokio::test]
async fn templates_after_a_condition_hold_only_rows_that_it_excludes() {
    let row: [&[_]; 2] = [&[("o", "a"), ("g", "low")], &[("o", "b"), ("g", "mid")]];
    let any = "    args: {g: Grade}\n    where: 'g == args.g'\n";
    assert_eq!(
        check(CHOSEN, any, &row, attributes(&[("g", "low")])).await,
        Outcome::Same(1)
    );
    let other = "    where: 'g == \"mid\"'\n";
    assert_eq!(check(CHOSEN, other, &row, Attributes::new()).await, Outcome::Same(1));
}

#[tokio::test]
async fn templates_of_one_index_that_share_a_collection_settle_nothing() {
    let entity = "    attributes: {o: string 1..9, g: Grade, n: 'int 0..9', m: 'int 0..9'}\n    key: {PK: \"P#{o}\", SK: \"E\"}\n    index:\n      GX1:\n        - {when: 'g == \"low\"', G1P: \"N#{n}\", G1S: \"O#{o}\"}\n        - {G1P: \"N#{m}\", G1S: \"O#{o}\"}\n";
    let read = "    where: 'g == \"low\" && n == 7'\n    order: o\n";
    let rows: [&[_]; 3] = [
        &[("o", "a"), ("g", "low"), ("n", "7"), ("m", "1")],
        &[("o", "b"), ("g", "mid"), ("n", "1"), ("m", "7")],
        &[("o", "c"), ("g", "low"), ("n", "1"), ("m", "7")],
    ];
    assert_eq!(check(entity, read, &rows, Attributes::new()).await, Outcome::Same(1));
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
async fn a_local_index_leaves_the_primary_key_that_a_condition_has_chosen() {
    let entity = "    attributes: {o: string 1..9, g: Grade, LS: 'int 0..9'}\n    key:\n      - {when: 'g == \"low\"', PK: \"LOW\", SK: \"O#{o}\"}\n      - {PK: \"P#{o}\", SK: \"E\"}\n    index:\n      LX1: own\n";
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

const IN_INDEX_KEY: &str = "    attributes: {o: string 1..9, n: 'int 0..9', x: {type: 'string 1..9', stored: none}}\n    key: {PK: \"P#{o}\", SK: \"N#{n}\"}\n    index:\n      GX1: {G1P: \"G#{n}\", G1S: \"X#{x}#{o}\"}\n";

#[tokio::test]
async fn what_stands_only_in_an_index_key_is_read_from_it_on_every_path() {
    let rows: [&[_]; 2] = [
        &[("o", "a"), ("n", "1"), ("x", "u#v")],
        &[("o", "a"), ("n", "2"), ("x", "w")],
    ];
    let args = attributes(&[("o", "a")]);
    let all = "    args: {o: string}\n    where: 'o == args.o'\n    order: n\n";
    assert_eq!(check(IN_INDEX_KEY, all, &rows, args.clone()).await, Outcome::Same(2));
    let some = "    args: {o: string}\n    where: 'o == args.o && x > \"v\"'\n";
    assert_eq!(check(IN_INDEX_KEY, some, &rows, args.clone()).await, Outcome::Same(1));
    let beside = "    args: {o: string}\n    where: 'o == args.o'\n    with:\n      same: {find: E, where: o == row.o && x == row.x}\n";
    assert_eq!(check(IN_INDEX_KEY, beside, &rows, args).await, Outcome::Same(2));
    let indexed = "    where: 'n == 1'\n";
    assert_eq!(
        check(IN_INDEX_KEY, indexed, &rows, Attributes::new()).await,
        Outcome::Same(1)
    );
}

#[tokio::test]
async fn side_by_side_rows_have_what_only_a_key_has() {
    let text = format!(
        "{HEAD}{IN_INDEX_KEY}reads:\n  r:\n    args: {{o: string}}\n    with:\n      one: {{get: 'E?', where: o == args.o && n == 1}}\n      \
         all: {{find: E, where: o == args.o, limit: 5}}\n    allow: 'true'\n"
    );
    let rows: [&[_]; 2] = [
        &[("o", "a"), ("n", "1"), ("x", "u")],
        &[("o", "a"), ("n", "2"), ("x", "w")],
    ];
    let args = attributes(&[("o", "a")]);
    let outcome = check_model(&text, &rows, args, &Caller::with_id("ada")).await;
    assert!(matches!(outcome, Outcome::Same(_)), "{outcome:?}");
}

/// Of a state that others lapse to, an index has the rows where its condition has those states too.
#[tokio::test]
async fn an_index_by_states_has_the_rows_that_lapse_within_them() {
    let rows: [&[_]; 4] = [
        &[("o", "a"), ("g", "x"), ("state", "free")],
        // An hour ago, and in an hour.
        &[("o", "b"), ("g", "x"), ("state", "held"), ("until", "1794826800")],
        &[("o", "c"), ("g", "x"), ("state", "held"), ("until", "1794834000")],
        &[("o", "d"), ("g", "x"), ("state", "gone")],
    ];
    let (free_or_held, not_free) = ("(state == \"free\" || state == \"held\")", "state != \"free\"");
    let missing = Outcome::Unplanned("condition not implied");
    for (when, meant, outcome) in [
        (free_or_held, free_or_held, Outcome::Same(3)),
        (free_or_held, "state == \"free\"", Outcome::Same(2)),
        (free_or_held, "state == \"held\"", Outcome::Same(1)),
        ("state in [\"held\", \"free\"]", free_or_held, Outcome::Same(3)),
        ("state != \"gone\"", "state != \"gone\"", Outcome::Same(3)),
        ("state <= \"held\"", free_or_held, Outcome::Same(3)),
        (not_free, not_free, Outcome::Same(2)),
        ("state == \"free\"", "state == \"free\"", missing),
        ("state in [\"free\", \"gone\"]", "state == \"gone\"", Outcome::Same(1)),
        (
            "state in [\"free\", \"gone\"]",
            "state in [\"gone\", \"free\"]",
            missing,
        ),
    ] {
        let entity = format!(
            "    attributes: {{o: string 1..9, g: string 1..9, state: State, until: 'seconds?'}}\n    key: {{PK: \"P#{{o}}\", SK: \"E\"}}\n    \
             index:\n      GX1: [{{when: '{when}', G1P: \"G#{{g}}\", G1S: \"{{o}}\"}}]\n    states:\n      of: state\n      start: free\n      \
             moves: {{hold: free -> held, end: held -> gone}}\n      while: {{held: {{until: now + hours(1)}}}}\n      \
             lapse: {{held: 'free at until'}}\n"
        );
        let read = format!("    args: {{g: string}}\n    where: 'g == args.g && {meant}'\n    order: o\n");
        let args = attributes(&[("g", "x")]);
        assert_eq!(check(&entity, &read, &rows, args).await, outcome, "{when}, {meant}");
    }
}
