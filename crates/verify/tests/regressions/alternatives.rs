//! Rows that several alternatives of a meaning have, brought by indexes that do not tell of all of them.

use std::sync::Arc;

use singlet_store_embedded::EmbeddedStore;
use singlet_verify::{Bench, Case, Outcome};

use super::{Caller, NOW, attributes};

/// The entries of one index tell nothing beside its key, and of another one attribute beside.
const THIN: &str = r##"singlet: 1
name: made
table:
  name: made
  key: {partition: PK, sort: SK}
  indexes:
    GX1: {partition: G1P, sort: G1S, project: keys}
    GX2: {partition: G2P, sort: G2S, project: [kind, c]}
    GX3: {partition: G3P, sort: G3S}
  type: kind
entities:
  E:
    attributes: {id: string 1..4, a: string 1..2, b: string 1..2, c: "int 0..3"}
    key: {PK: "P#{id}", SK: "E"}
    index:
      GX1: {G1P: "A#{a}", G1S: "{id}"}
      GX2: {G2P: "B#{b}", G2S: "{id}"}
      GX3: {G3P: "C#{c}", G3S: "{id}"}
reads:
  either: {args: {a: string, b: string, c: int}, count: E, where: a == args.a || b == args.b || c == args.c, allow: "true"}
  summed: {args: {a: string, b: string, c: int}, count: E, where: a == args.a && c > 0 || b == args.b && c == args.c, sum: {all: c}, allow: "true"}
  grouped: {args: {a: string, b: string}, count: E, where: b == args.b || a == args.a, by: c, allow: "true"}
"##;

#[tokio::test]
async fn a_row_of_several_alternatives_is_one_whichever_index_brings_it() {
    let row = |id, a, b, c| ("E".to_owned(), attributes(&[("id", id), ("a", a), ("b", b), ("c", c)]));
    let rows = vec![
        row("x", "p", "q", "1"),
        row("y", "p", "r", "2"),
        row("z", "s", "q", "1"),
    ];
    let store = Arc::new(EmbeddedStore::memory().unwrap());
    let bench = Bench::open(THIN, store, rows, NOW).await.unwrap();
    for (read, args, expected) in [
        ("either", attributes(&[("a", "p"), ("b", "q"), ("c", "1")]), 3),
        ("summed", attributes(&[("a", "p"), ("b", "q"), ("c", "1")]), 3),
        ("grouped", attributes(&[("a", "p"), ("b", "q")]), 3),
    ] {
        let case = Case {
            read: read.to_owned(),
            args,
            caller: Caller::with_id("ada"),
            page: 9,
            now: NOW,
        };
        let outcome = bench.check(&case).await.unwrap_or_else(|mismatch| panic!("{mismatch}"));
        assert_eq!(outcome, Outcome::Same(expected), "{read}");
    }
}

/// What decides an alternative's templates is another attribute, of which the entries of the other alternative's index tell nothing.
const BY_STATE: &str = r##"singlet: 1
name: made
table:
  name: made
  key: {partition: PK, sort: SK}
  indexes:
    GX1: {partition: G1P, sort: G1S}
    GX2: {partition: G2P, sort: G2S, project: [kind, a]}
  type: kind
entities:
  E:
    attributes: {id: string 1..4, a: string 1..2, b: string 1..2, state: {enum: [open, done, lost]}}
    key: {PK: "P#{id}", SK: "E"}
    index:
      GX1:
        - {when: state == "open", G1P: "O#{a}", G1S: "{id}"}
        - {G1P: "A#{a}", G1S: "{id}"}
      GX2: {G2P: "B#{b}", G2S: "{id}"}
reads:
  either: {args: {a: string, b: string}, count: E, where: a == args.a || b == args.b, allow: "true"}
"##;

#[tokio::test]
async fn a_row_of_an_alternative_that_a_state_takes_apart_is_one_whichever_index_brings_it() {
    let row = |id, a, b, state| {
        let attributes = attributes(&[("id", id), ("a", a), ("b", b), ("state", state)]);
        ("E".to_owned(), attributes)
    };
    let rows = vec![
        row("x", "p", "q", "open"),
        row("y", "p", "r", "done"),
        row("z", "s", "q", "lost"),
        row("v", "p", "q", "lost"),
    ];
    let store = Arc::new(EmbeddedStore::memory().unwrap());
    let bench = Bench::open(BY_STATE, store, rows, NOW).await.unwrap();
    let case = Case {
        read: "either".to_owned(),
        args: attributes(&[("a", "p"), ("b", "q")]),
        caller: Caller::with_id("ada"),
        page: 9,
        now: NOW,
    };
    let outcome = bench.check(&case).await.unwrap_or_else(|mismatch| panic!("{mismatch}"));
    assert_eq!(outcome, Outcome::Same(4));
}
