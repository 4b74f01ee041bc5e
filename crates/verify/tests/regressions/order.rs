//! In which order rows come, and each once.

use singlet_runtime::{Attributes, Caller};
use singlet_verify::Outcome;

use super::{HEAD, attributes, check, check_model};

#[tokio::test]
async fn false_comes_before_true_where_ranges_are_merged() {
    let entity = "    attributes: {o: string 1..9, g: Grade, b: bool}\n    key: {PK: \"P#{o}\", SK: \"E\"}\n    index:\n      GX1: {G1P: \"I#{g}\", G1S: \"B#{b}\"}\n";
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

const LAPSING: &str = "    attributes: {o: string 1..9, state: State, until: 'seconds?'}\n    key: {PK: \"P#{o}\", SK: \"E\"}\n    index:\n      GX1: {G1P: \"U#{until}\", G1S: \"{rank(state)}#{o}\"}\n    states:\n      of: state\n      start: free\n      moves: {hold: free -> held, end: held -> gone}\n      while: {held: {until: now + hours(1)}}\n      lapse: {held: 'free at until'}\n";

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
    let entity = "    attributes:\n      o: string 1..9\n      g: Grade\n      spot: {object: {lat: 'int 0..9', lon: 'int 0..9'}}\n    key: {PK: \"P#{o}\", SK: \"E\"}\n    index:\n      GX1: {G1P: \"I#{g}\", G1S: \"L#{spot.lat}\"}\n";
    let read = "    where: 'g in [\"low\", \"high\"]'\n    order: spot.lat\n";
    let rows: [&[_]; 2] = [
        &[("o", "a"), ("g", "low"), ("spot", "7 1")],
        &[("o", "b"), ("g", "high"), ("spot", "5 1")],
    ];
    assert_eq!(check(entity, read, &rows, Attributes::new()).await, Outcome::Same(2));
}

/// The rows of `beside` lie among those of the read itself, and come from the other end.
#[tokio::test]
async fn the_first_row_in_an_order_is_not_the_first_of_a_list_beside_it_that_runs_the_other_way() {
    let entity = "    attributes: {o: string 1..9, n: 'int 0..1000'}\n    key: {PK: \"P#{o}\", SK: \"N#{desc(n)}\"}\n";
    let read = "reads:\n  r:\n    get: E\n    args: {o: string}\n    where: 'o == args.o'\n    order: n\n    with:\n      beside: {find: E, where: 'o == row.o'}\n    allow: 'true'\n";
    let rows: [&[_]; 2] = [&[("o", "a"), ("n", "7")], &[("o", "a"), ("n", "5")]];
    let text = format!("{HEAD}{entity}{read}");
    let outcome = check_model(&text, &rows, attributes(&[("o", "a")]), &Caller::with_id("ada")).await;
    assert_eq!(outcome, Outcome::Same(2));
}

/// Where a row's template is chosen by a state that lapses, the store cannot drop the rows of the other template.
#[tokio::test]
async fn ranges_among_which_rows_of_other_templates_lie_are_not_merged() {
    let states = "    states:\n      of: state\n      start: free\n      moves: {hold: free -> held}\n      while: {held: {until: now + hours(1)}}\n      lapse: {held: 'free at until'}\n";
    let entity = format!(
        "    attributes: {{o: string 1..9, n: 'int 0..1000', state: State, until: 'seconds?'}}\n    key:\n      - {{when: 'state == \"held\"', PK: \"P#{{o}}\", SK: \"F#{{desc(n)}}\"}}\n      - {{PK: \"P#{{o}}\", SK: \"F#a#{{n}}\"}}\n{states}"
    );
    let rows: [&[_]; 3] = [
        &[("o", "a"), ("n", "5"), ("state", "held"), ("until", "1794916800")],
        &[("o", "b"), ("n", "1"), ("state", "held"), ("until", "1794916800")],
        &[("o", "b"), ("n", "9"), ("state", "free")],
    ];
    let read = "    where: 'state == \"held\" && o in [\"a\", \"b\"]'\n    order: n\n";
    assert_eq!(
        check(&entity, read, &rows, Attributes::new()).await,
        Outcome::Unplanned("order not given")
    );
    let one = "    where: 'state == \"held\" && o == \"b\"'\n    order: n\n";
    assert_eq!(check(&entity, one, &rows, Attributes::new()).await, Outcome::Same(1));
}

/// A row from which time took what rows are ordered by is no row of the read, and must not hold up the others of its range.
#[tokio::test]
async fn a_row_that_time_took_out_holds_up_no_other() {
    let entity = "    attributes: {o: string 1..9, g: string 1..9, state: State, until: 'seconds?'}\n    key: {PK: \"P#{o}\", SK: \"E\"}\n    index:\n      GX1: {G1P: \"U#{g}\", G1S: \"{until}#{o}\"}\n    states:\n      of: state\n      start: free\n      moves: {hold: free -> held, end: held -> gone}\n      while: {held: {until: now + hours(1)}}\n      lapse: {held: 'free at until'}\n";
    let read = "    where: '(g == \"x\" || g == \"y\") && until != absent'\n    order: -until\n";
    let (past, before) = ("1000", "900");
    let rows: [&[_]; 3] = [
        &[("o", "b"), ("g", "x"), ("state", "held"), ("until", past)],
        &[("o", "a"), ("g", "x"), ("state", "gone"), ("until", past)],
        &[("o", "c"), ("g", "y"), ("state", "gone"), ("until", before)],
    ];
    assert_eq!(check(entity, read, &rows, Attributes::new()).await, Outcome::Same(2));
}

/// Each range has one value of what a list binds, wherever it stands in the key.
#[tokio::test]
async fn ranges_of_listed_values_are_merged_by_them() {
    let rows: [&[_]; 5] = [
        &[("o", "a"), ("n", "7"), ("id", "x")],
        &[("o", "a"), ("n", "10"), ("id", "b")],
        &[("o", "a"), ("n", "7"), ("id", "c")],
        &[("o", "b"), ("n", "9"), ("id", "d")],
        &[("o", "b"), ("n", "10"), ("id", "a")],
    ];
    let numbers = [10, 7, 9, 10].map(|n| singlet_item::Value::from(i64::from(n)));
    let words = ["b", "a", "b"].map(singlet_item::Value::from);
    let args = Attributes::from([
        ("ns".to_owned(), singlet_item::Value::L(numbers.to_vec())),
        ("os".to_owned(), singlet_item::Value::L(words.to_vec())),
    ]);
    let keys = [
        "{PK: \"P#{o}\", SK: \"N#{n}#{id}\"}",
        "{PK: \"P#{n}\", SK: \"O#{o}#{id}\"}",
        "{PK: \"P#{o}#{n}\", SK: \"{id}\"}",
    ];
    for key in keys {
        let entity = format!("    attributes: {{o: string 1..9, n: 'int 0..1000', id: string 1..9}}\n    key: {key}\n");
        for order in ["n", "-n", "o, n", "n, -o", "n, id", "-n, id", "o, -n, id", "o, n, -id"] {
            let read = format!(
                "    args: {{os: 'list(string 1..9) 1..4', ns: 'list(int 0..1000) 1..4'}}\n    where: 'o in args.os && n in args.ns'\n    order: {order}\n"
            );
            let outcome = check(&entity, &read, &rows, args.clone()).await;
            let ties = !order.contains("id");
            assert!(
                outcome == Outcome::Same(5) || ties && outcome == Outcome::Ambiguous,
                "{key}, {order}: {outcome:?}"
            );
        }
    }
}

/// The table and the index could both answer; which of them does is the plan's, in either direction.
#[tokio::test]
async fn a_read_turned_round_takes_the_same_way() {
    let entity = "    attributes: {o: string 1..9, g: Grade, n: 'int 0..3'}\n    key: {PK: \"P\", SK: \"E#{g}#\"}\n    index:\n      GX1: {G1P: \"I#{n}\", G1S: \"S#{g}\"}\n";
    let read = "    args: {a: 'int 0..3', b: 'int 0..3', back: bool}\n    where: 'n in [args.a, args.b]'\n    order: g\n    reverse: args.back\n";
    let rows: [&[_]; 3] = [
        &[("o", "a"), ("g", "low"), ("n", "1")],
        &[("o", "b"), ("g", "mid"), ("n", "1")],
        &[("o", "c"), ("g", "high"), ("n", "2")],
    ];
    for back in ["false", "true"] {
        let args = attributes(&[("a", "1"), ("b", "2"), ("back", back)]);
        assert_eq!(check(entity, read, &rows, args).await, Outcome::Same(3), "{back}");
    }
}

/// No key has an end beyond the limits of its attribute: all rows are read, and the plan says so.
#[tokio::test]
async fn an_end_beyond_the_limits_of_its_attribute_costs_what_is_said() {
    let entity = "    attributes: {o: string 1..9, g: Grade, n: 'int 0..9'}\n    key: {PK: \"P#{o}\", SK: \"E\"}\n    index:\n      GX1: {G1P: \"I#{g}\", G1S: \"{n}#{o}\"}\n";
    let names: Vec<String> = (0..8).map(|n| format!("a{n}")).collect();
    let rows: Vec<[(&str, &str); 3]> = names
        .iter()
        .map(|name| [("o", name.as_str()), ("g", "low"), ("n", "9")])
        .collect();
    let rows: Vec<&[(&str, &str)]> = rows.iter().map(|row| row.as_slice()).collect();
    let read = "    where: 'g == \"low\" && n >= 100'\n";
    assert_eq!(check(entity, read, &rows, Attributes::new()).await, Outcome::Same(0));
}
