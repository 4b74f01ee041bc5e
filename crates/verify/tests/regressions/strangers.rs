//! Rows of other entities among those of a read, and what is counted of them.

use std::sync::Arc;

use singlet_store_embedded::EmbeddedStore;
use singlet_verify::bench::BenchGiven;
use singlet_verify::{Bench, Case, Outcome};

use super::{Caller, NOW, attributes};

/// No attribute says which entity a row of the index is of.
const UNTYPED: &str = r##"singlet: 1
name: made
table:
  name: made
  key: {partition: PK, sort: SK}
  indexes: {GX1: {partition: G1P, sort: G1S}}
callers:
  jwt: {audience: made, claims: {id: sub}}
entities:
  Other: {attributes: {n: int 0..9}, key: {PK: "P#", SK: "OTHER#{n}"}, index: {GX1: {G1P: "I#{n}", G1S: "X"}}}
  Own:
    attributes: {n: int 0..9, id: {type: int 0..9, stored: none}, flag: string 1..9}
    key: {PK: "P#", SK: "OWN#{id}#"}
    index: {GX1: {G1P: "I#{n}", G1S: "{flag}"}}
  Bare: {attributes: {n: int 0..9, word: string 1..9}, key: {PK: "P#", SK: "BARE#{word}"}, index: {GX1: {G1P: "I#{n}", G1S: "Y"}}}
reads:
  own: {args: {n: int 0..9}, find: Own, where: n == args.n, allow: "true"}
  bare: {args: {n: int 0..9}, find: Bare, where: n == args.n, allow: "true"}
  counted: {args: {n: int 0..9}, count: Bare, where: n == args.n, allow: "true"}
  grouped: {args: {n: int 0..9}, count: Bare, where: n == args.n, by: word, allow: "true"}
"##;

/// The index is too thin to have the word.
const THIN: &str = r##"singlet: 1
name: made
table:
  name: made
  key: {partition: PK, sort: SK}
  indexes: {GX2: {partition: G2P, sort: G2S, project: keys}}
  type: Kind
entities:
  E:
    attributes: {o: string 1..9, at: {type: int 0..9, stored: none}}
    key: {PK: "P#{o}", SK: "E#{at}"}
    index: {GX2: {G2P: "I#{at}", G2S: "S#"}}
  F: {attributes: {n: int 0..9}, key: {PK: "P#", SK: "F#"}, index: {GX2: {G2P: "I#{n}", G2S: "S#"}}}
reads:
  listed: {args: {at: int 0..9}, find: E, where: at == args.at, allow: "true"}
  counted: {args: {at: int 0..9}, count: E, where: at == args.at, allow: "true"}
"##;

/// The mirror has the attributes of the index's key, and so is in it.
const MIRRORED: &str = r##"singlet: 1
name: made
table:
  name: made
  key: {partition: PK, sort: SK}
  indexes: {GX3: {partition: [a, b], sort: [c]}}
  type: Kind
entities:
  E: {attributes: {a: string 1..9, b: string 1..9, c: string 1..9}, key: {PK: "P#{a}", SK: "E#{c}"}, index: {GX3: own}}
  M: {mirrors: E, key: {PK: "M#{a}", SK: "M#{c}"}}
reads:
  grouped: {args: {a: string, b: string}, count: E, where: a == args.a && b == args.b, by: b, allow: "true"}
  listed: {args: {a: string, b: string, c: string}, find: E, where: 'a in [args.a, args.a] && b == args.b && c == args.c', allow: "true"}
"##;

/// An argument may be one that no key has.
const RANGED: &str = r##"singlet: 1
name: made
table: {name: made, key: {partition: PK, sort: SK}}
types:
  Code: string /[A-Z]{2}[0-9]{2}/
entities:
  E:
    attributes: {o: string 1..9, n: int 0..99999, code: Code, grade: string 1..9}
    key: {PK: "P#{o}", SK: "E#{n}"}
  F: {attributes: {o: string 1..9, code: Code}, key: {PK: "F#{o}", SK: "F#{raw(code)}#"}}
reads:
  grouped: {args: {o: string, n: int}, count: E, where: o == args.o && n < args.n, by: grade, allow: "true"}
  codes: {args: {o: string, low: string, high: string}, find: F, where: o == args.o && code > args.low && code <= args.high, allow: "true"}
"##;

const EMPTY_KEY: &str = r##"singlet: 1
name: made
table: {name: made, key: {partition: PK, sort: SK}}
entities:
  E: {attributes: {a: string, b: string}, key: {PK: "{a}", SK: "{b}"}}
reads:
  r: {args: {a: string, b: string}, get: "E?", where: a == args.a && b == args.b, allow: "true"}
"##;

/// How a read comes out, with every size of page; that it costs what its plan says is checked with it.
async fn outcome(model: &str, rows: &[(&str, &[(&str, &str)])], read: &str, args: &[(&str, &str)]) -> Outcome {
    let rows = rows.iter().map(|(entity, row)| ((*entity).to_owned(), attributes(row)));
    let store = Arc::new(EmbeddedStore::memory().unwrap());
    let given = BenchGiven {
        costs: true,
        ..BenchGiven::default()
    };
    let bench = Bench::open_with(model, store, rows.collect(), NOW, given)
        .await
        .unwrap();
    let mut outcome = Outcome::Refused;
    for page in [1, 2, 9] {
        let case = Case {
            read: read.to_owned(),
            args: attributes(args),
            caller: Caller::with_id("ada"),
            page,
            now: NOW,
        };
        outcome = bench.check(&case).await.unwrap_or_else(|mismatch| panic!("{mismatch}"));
    }
    outcome
}

#[tokio::test]
async fn rows_without_a_word_for_their_entity_are_told_apart_by_their_keys() {
    let rows: [(&str, &[_]); 3] = [
        ("Other", &[("n", "2")]),
        ("Own", &[("n", "2"), ("id", "7"), ("flag", "x")]),
        ("Bare", &[("n", "2"), ("word", "a")]),
    ];
    for read in ["own", "bare", "counted", "grouped"] {
        assert_eq!(
            outcome(UNTYPED, &rows, read, &[("n", "2")]).await,
            Outcome::Same(1),
            "{read}"
        );
    }
    for read in ["own", "bare"] {
        let strangers: [(&str, &[_]); 1] = [("Other", &[("n", "2")])];
        assert_eq!(
            outcome(UNTYPED, &strangers, read, &[("n", "2")]).await,
            Outcome::Same(0),
            "{read}"
        );
    }
}

#[tokio::test]
async fn rows_of_an_index_without_their_word_are_told_apart_by_their_keys() {
    let rows: [(&str, &[_]); 2] = [("E", &[("o", "a"), ("at", "2")]), ("F", &[("n", "2")])];
    for read in ["listed", "counted"] {
        assert_eq!(
            outcome(THIN, &rows, read, &[("at", "2")]).await,
            Outcome::Same(1),
            "{read}"
        );
    }
}

#[tokio::test]
async fn a_mirror_in_the_index_of_its_source_is_read_and_not_counted() {
    let rows: [(&str, &[_]); 2] = [
        ("E", &[("a", "x"), ("b", "y"), ("c", "a")]),
        ("E", &[("a", "x"), ("b", "y"), ("c", "b")]),
    ];
    let grouped = outcome(MIRRORED, &rows, "grouped", &[("a", "x"), ("b", "y")]).await;
    assert_eq!(grouped, Outcome::Same(2));
    let listed = outcome(MIRRORED, &rows, "listed", &[("a", "x"), ("b", "y"), ("c", "a")]).await;
    assert_eq!(listed, Outcome::Same(1));
}

#[tokio::test]
async fn an_end_that_no_key_has_leaves_its_side_open() {
    let row: [(&str, &[_]); 1] = [("E", &[("o", "a"), ("n", "99979"), ("code", "AB12"), ("grade", "low")])];
    let counted = outcome(RANGED, &row, "grouped", &[("o", "a"), ("n", "100000")]).await;
    assert_eq!(counted, Outcome::Same(1));
    let code: [(&str, &[_]); 1] = [("F", &[("o", "a"), ("code", "ZZ00")])];
    let listed = outcome(RANGED, &code, "codes", &[("o", "a"), ("low", "ab12"), ("high", "AB1")]).await;
    assert_eq!(listed, Outcome::Same(0));
}

#[tokio::test]
async fn a_key_that_would_be_empty_is_nobodys() {
    let row: [(&str, &[_]); 1] = [("E", &[("a", "x"), ("b", "y")])];
    let read = outcome(EMPTY_KEY, &row, "r", &[("a", "x"), ("b", "")]).await;
    assert_eq!(read, Outcome::Same(0));
}

const TWO_KEYS: &str = r##"singlet: 1
name: made
table: {name: made, key: {partition: PK, sort: SK}}
entities:
  E:
    attributes: {open: bool, a: string 1..9, day: date}
    key: [{when: open, PK: "P#{day}", SK: "E#"}, {PK: "P#{a}", SK: "E#"}]
reads:
  r: {get: E, where: "day == args.day && !open && a in args.a", args: {a: list(string 1..9), day: date}, allow: "true"}
"##;

#[tokio::test]
async fn the_key_of_another_template_does_not_tell_rows_apart() {
    let rows: [(&str, &[_]); 2] = [
        ("E", &[("open", "false"), ("a", "x"), ("day", "2026-11-16")]),
        ("E", &[("open", "false"), ("a", "y"), ("day", "2026-11-16")]),
    ];
    let text = TWO_KEYS.replace("a in args.a", "a in [args.a, args.b]");
    let text = text.replace(
        "{a: list(string 1..9), day: date}",
        "{a: string 1..9, b: string 1..9, day: date}",
    );
    let args = [("a", "x"), ("b", "y"), ("day", "2026-11-16")];
    assert_eq!(outcome(&text, &rows, "r", &args).await, Outcome::Same(0));
}

const KEY_IN_NO_MIRROR: &str = r##"singlet: 1
name: made
table: {name: made, key: {partition: PK, sort: SK}}
entities:
  E:
    attributes: {a: string 1..9, code: {type: string 1..9, stored: none}, n: int 0..9}
    key: {PK: "P#{code}", SK: "E#"}
  M: {mirrors: E, key: {PK: "M#{a}", SK: "N#{n}"}}
reads:
  r: {find: E, where: "a == args.a", args: {a: string 1..9}, allow: "true"}
"##;

#[tokio::test]
async fn a_mirror_without_what_only_the_key_of_its_source_has_does_not_stand_for_it() {
    let rows: [(&str, &[_]); 1] = [("E", &[("a", "x"), ("code", "c"), ("n", "1")])];
    let outcome = outcome(KEY_IN_NO_MIRROR, &rows, "r", &[("a", "x")]).await;
    assert!(matches!(outcome, Outcome::Unplanned(_)), "{outcome:?}");
}

const THIN_TEMPLATES: &str = r##"singlet: 1
name: made
table: {name: made, key: {partition: PK, sort: SK}, indexes: {GX1: {partition: GP, sort: GS, project: [n]}}}
types: {Colour: {enum: [red, green]}}
entities:
  F:
    attributes: {id: string 1..9, colour: Colour, n: int 0..9, word: string? ..6}
    key: {PK: "P#{id}", SK: "F#"}
    index:
      GX1:
        - {when: 'colour == "green"', GP: "I#{n}", GS: "S#"}
        - {GP: "I#{n}", GS: "S#{word}"}
reads:
  r: {find: F, where: "word != absent && n == args.n", args: {n: int 0..9}, allow: "true"}
"##;

#[tokio::test]
async fn a_key_among_those_of_another_template_is_not_read() {
    let rows: [(&str, &[_]); 2] = [
        ("F", &[("id", "a"), ("colour", "green"), ("n", "1")]),
        ("F", &[("id", "b"), ("colour", "red"), ("n", "1"), ("word", "w")]),
    ];
    assert_eq!(
        outcome(THIN_TEMPLATES, &rows, "r", &[("n", "1")]).await,
        Outcome::Same(1)
    );
}
