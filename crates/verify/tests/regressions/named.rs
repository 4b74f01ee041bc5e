//! What generated cases found of names, of lists beside rows, and of the few values of a number.

use super::{Attributes, Caller, Outcome, attributes, check, check_model};

#[tokio::test]
async fn a_number_of_a_few_values_is_asked_for_by_those() {
    let entity =
        "    attributes: {o: {type: int, in: [1, 25]}, n: 'int 0..9'}\n    key: {PK: \"P#{o}\", SK: \"N#{n}\"}\n";
    let rows: &[&[(&str, &str)]] = &[&[("o", "25"), ("n", "1")], &[("o", "1"), ("n", "2")]];
    let outcome = check(entity, "    order: n\n", rows, Attributes::new()).await;
    assert_eq!(outcome, Outcome::Same(2));
}

#[tokio::test]
async fn a_list_that_names_a_whole_key_is_a_list() {
    let entity = "    attributes: {o: string 1..9, n: 'int 0..9'}\n    key: {PK: \"P#{o}\", SK: \"N#{n}\"}\n";
    let with = "    where: o == args.o\n    args: {o: string 1..9}\n    with:\n      same: {find: E, where: o == row.o && n == row.n}\n      \
                many: {count: E, where: o == row.o && n == row.n}\n";
    let rows: &[&[(&str, &str)]] = &[&[("o", "a"), ("n", "1")], &[("o", "a"), ("n", "2")]];
    let outcome = check(entity, with, rows, attributes(&[("o", "a")])).await;
    assert_eq!(outcome, Outcome::Same(2));
}

const NAMED: &str = "singlet: 1
name: made
table: {name: made, key: {partition: PK, sort: SK}, type: kind}
entities:
  E:
    attributes: {o: 'string /[a-z]/', n: 'int 0..9'}
    key: {PK: \"P#{o}\", SK: \"N#{n}\"}
reads:
  r:
    find: E
    args: {o: string, one: string}
";

#[tokio::test]
async fn a_name_stands_for_all_rows_of_its_list() {
    let text = format!(
        "{NAMED}    let: {{many: {{find: E, where: o == args.one, order: n, limit: 5}}}}\n    where: o == args.o && n in many.map(m, \
         m.n)\n    allow: 'true'\n"
    );
    let rows: &[&[(&str, &str)]] = &[
        &[("o", "a"), ("n", "1")],
        &[("o", "a"), ("n", "2")],
        &[("o", "b"), ("n", "2")],
    ];
    let args = attributes(&[("o", "b"), ("one", "a")]);
    assert_eq!(
        check_model(&text, rows, args, &Caller::with_id("ada")).await,
        Outcome::Same(1)
    );
}

#[tokio::test]
async fn a_value_that_no_key_has_is_the_key_of_no_row() {
    let text = format!(
        "{NAMED}    let: {{e: 'E{{o: args.one, n: 1}}'}}\n    where: o == args.o && n == e.n\n    allow: 'true'\n"
    );
    let rows: &[&[(&str, &str)]] = &[&[("o", "a"), ("n", "1")]];
    let args = attributes(&[("o", "a"), ("one", "TOO LONG")]);
    assert_eq!(
        check_model(&text, rows, args, &Caller::with_id("ada")).await,
        Outcome::Same(0)
    );
}
