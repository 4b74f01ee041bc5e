//! What generated cases found of names, of lists beside rows, and of the few values of a number.

use super::{Attributes, Caller, HEAD, Outcome, attributes, check, check_model};

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

const VERSIONS: &str = "singlet: 1
name: made
table: {name: made, key: {partition: PK, sort: SK}, type: kind}
entities:
  E:
    attributes: {o: string 1..9, at: time, until: time?, gone: 'bool = false', n: 'int 0..9'}
    key: {PK: \"P#{o}\", SK: \"{at}\"}
    history: {at: at, until: until, tombstone: gone}
reads:
  r:
    find: E
    args: {o: string, one: string}
    let: {e: 'E(args.one)MARK'}
    where: o == args.o && n == e.n
    allow: 'true'
";

/// How the read comes out where a name stands for the row of `one`, and rows of `b` are found by it.
async fn named_version(mark: &str, one: &str) -> Outcome {
    let (first, second) = ("2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z");
    let rows: &[&[(&str, &str)]] = &[
        &[
            ("o", "a"),
            ("at", first),
            ("until", second),
            ("gone", "false"),
            ("n", "1"),
        ],
        &[("o", "a"), ("at", second), ("gone", "false"), ("n", "2")],
        &[("o", "b"), ("at", first), ("gone", "false"), ("n", "2")],
        &[
            ("o", "c"),
            ("at", first),
            ("until", second),
            ("gone", "false"),
            ("n", "1"),
        ],
        &[("o", "c"), ("at", second), ("gone", "true"), ("n", "2")],
    ];
    let args = attributes(&[("o", "b"), ("one", one)]);
    let text = VERSIONS.replace("MARK", mark);
    check_model(&text, rows, args, &Caller::with_id("ada")).await
}

#[tokio::test]
async fn a_row_with_versions_is_found_by_its_key_without_the_instant() {
    assert_eq!(named_version("", "a").await, Outcome::Same(1));
    // The last version says that the row was deleted; the answer is 404, or nothing where it may be missing.
    assert_eq!(named_version("", "c").await, Outcome::Same(0));
    assert_eq!(named_version("", "nobody").await, Outcome::Same(0));
    assert_eq!(named_version("?", "c").await, Outcome::Same(0));
}

const MANY: &str = "    let: {many: {find: E, where: o == args.one, limit: 2}}\n    where: o == args.o && n in many.map(m, m.n)\n    \
                    allow: 'true'\n";

/// Of rows that are equal in the order of a list, any may be in it: nothing can be said of what hangs on that.
#[tokio::test]
async fn which_rows_a_limit_leaves_of_many_is_open() {
    let text = format!("{NAMED}{MANY}");
    let all: Vec<[(&str, &str); 2]> = ["1", "2", "3", "4"].map(|n| [("o", "a"), ("n", n)]).to_vec();
    let rows: Vec<&[(&str, &str)]> = all.iter().map(|row| &row[..]).collect();
    let args = attributes(&[("o", "b"), ("one", "a")]);
    let outcome = check_model(&text, &rows, args, &Caller::with_id("ada")).await;
    assert_eq!(outcome, Outcome::Ambiguous);
}

/// Without a word that names their entity, rows that have the attributes of an index are told apart by their primary keys.
#[tokio::test]
async fn a_mirror_in_an_index_of_attributes_is_no_row_of_its_source() {
    for what in ["find: E", "count: E"] {
        let text = format!(
            "singlet: 1\nname: made\ntable: {{name: made, key: {{partition: PK, sort: SK}}, type: none, indexes: {{GX1: {{partition: o, \
             sort: n}}}}}}\nentities:\n  E:\n    attributes: {{id: string 1..9, o: string 1..9, n: string 1..9}}\n    key: {{PK: \"P#{{id}}\", \
             SK: \"E#{{o}}\"}}\n    index: {{GX1: own}}\n  M:\n    mirrors: E\n    carries: all\n    key: {{PK: \"M#{{n}}\", SK: \
             \"M#{{id}}\"}}\nreads:\n  r:\n    {what}\n    args: {{o: string 1..9}}\n    where: o == args.o\n    allow: 'true'\n"
        );
        let rows: &[&[(&str, &str)]] = &[
            &[("id", "x"), ("o", "a"), ("n", "p")],
            &[("id", "y"), ("o", "a"), ("n", "q")],
        ];
        let outcome = check_model(&text, rows, attributes(&[("o", "a")]), &Caller::with_id("ada")).await;
        assert!(matches!(outcome, Outcome::Same(_)), "{what}: {outcome:?}");
    }
}

const MIRROR_ALONE: &str = "    attributes: {o: string 1..9, n: 'int 0..9', note: string?}\n    key: {PK: \"P#{o}\", SK: \"E\"}\n  M: {mirrors: E, carries: [], key: {PK: \"M#{n}\", SK: \"M\"}}\n";

/// A mirror whose whole key is known, and whose rows do not say by what the row itself is found, or do.
#[tokio::test]
async fn a_row_is_found_from_a_mirror_only_where_the_mirror_names_it() {
    let rows: [&[_]; 1] = [&[("o", "a"), ("n", "1"), ("note", "x")]];
    let args = || attributes(&[("n", "1")]);
    let by_number = "    args: {n: int}\n    where: 'n == args.n && note == \"x\"'\n";
    let unnamed = check(MIRROR_ALONE, by_number, &rows, args()).await;
    assert!(matches!(unnamed, Outcome::Unplanned(_)), "{unnamed:?}");
    let named = MIRROR_ALONE.replace("carries: []", "carries: [o]");
    assert_eq!(check(&named, by_number, &rows, args()).await, Outcome::Same(1));
    let constant = MIRROR_ALONE.replace("P#{o}", "P#");
    assert_eq!(check(&constant, by_number, &rows, args()).await, Outcome::Same(1));
    let beside =
        "    args: {n: int}\n    where: 'n == args.n'\n    with:\n      same: {get: 'E?', where: n == row.n}\n";
    assert_eq!(check(&constant, beside, &rows, args()).await, Outcome::Same(1));
}

#[tokio::test]
async fn a_key_that_is_one_folded_text_alone_is_asked_for_as_it_is_stored() {
    let entity = "    attributes: {o: string 1..9, t: string 1..9}\n    key: {PK: \"{lower(o)}\", SK: \"{upper(t)}\"}\n    index:\n      GX1: {G1P: \"{upper(o)}\", G1S: \"{lower(t)}\"}\n";
    let rows: [&[_]; 2] = [&[("o", "a#B"), ("t", "x$#")], &[("o", "ab"), ("t", "x")]];
    for condition in [
        "lower(o) == lower(args.o)",
        "upper(o) == upper(args.o)",
        "lower(o) in [lower(args.o), \"none\"]",
        "lower(o) == lower(args.o) && upper(t) == upper(args.t)",
        "upper(o) == upper(args.o) && lower(t) == lower(args.t)",
    ] {
        let mut args = attributes(&[("o", "A#b"), ("t", "X$#")]);
        args.retain(|name, _| name == "o" || condition.contains("args.t"));
        let used = if condition.contains("args.t") {
            ", t: string"
        } else {
            ""
        };
        let read = format!("    args: {{o: string{used}}}\n    where: '{condition}'\n");
        assert_eq!(check(entity, &read, &rows, args).await, Outcome::Same(1), "{condition}");
    }
    let nobody = attributes(&[("o", "")]);
    let read = "    args: {o: string}\n    where: 'lower(o) == lower(args.o)'\n";
    assert_eq!(check(entity, read, &rows, nobody).await, Outcome::Same(0));
}

/// Each of several templates may have a row with the same values: two fit, and none is the one.
#[tokio::test]
async fn a_row_that_two_templates_can_have_is_not_one() {
    let entity = "    attributes: {o: string 1..9, n: 'int 0..9', g: Grade}\n    key:\n      - {when: 'g == \"low\"', PK: \"P#{o}\", SK: \"LOW\"}\n      - {PK: \"P#{o}\", SK: \"E\"}\n    index:\n      GX1: {G1P: \"ALL\", G1S: \"X\"}\n";
    let with = "    where: n == args.n\n    args: {n: 'int 0..9'}\n    with: {same: {get: 'E?', where: o == row.o}}\n";
    let rows: [&[(&str, &str)]; 2] = [
        &[("o", "a"), ("n", "1"), ("g", "low")],
        &[("o", "a"), ("n", "2"), ("g", "mid")],
    ];
    let outcome = check(entity, with, &rows, attributes(&[("n", "1")])).await;
    // Both say so, and no row comes.
    assert_eq!(outcome, Outcome::Same(0));
}

/// There is no row that `let` could name, and the arguments do not go together: the request is told of what it got wrong.
#[tokio::test]
async fn arguments_that_do_not_go_together_are_refused_before_a_row_is_looked_for() {
    let text = format!(
        "{HEAD}    attributes: {{o: string 1..9, n: 'int? 0..9'}}\n    key: {{PK: \"P#{{o}}\", SK: \"E\"}}\nreads:\n  r:\n    find: E\n    let: {{one: \"E(args.o)\"}}\n    args: {{o: string, n: int?}}\n    combinations: [[]]\n    where: 'o == args.o && n == args.n'\n    allow: 'true'\n"
    );
    let args = attributes(&[("o", "a"), ("n", "1")]);
    let outcome = check_model(&text, &[], args, &Caller::with_id("ada")).await;
    assert_eq!(outcome, Outcome::Same(0));
}
