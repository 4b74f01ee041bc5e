//! What plans say that reads cost.

use std::sync::Arc;

use singlet_store_embedded::EmbeddedStore;
use singlet_verify::bench::BenchGiven;
use singlet_verify::{Bench, Case, Outcome};

use super::{Caller, NOW, attributes};

const PARENT_AMONG_NUMBERS: &str = r##"singlet: 1
name: made
table: {name: made, key: {partition: PK, sort: {name: SK, type: number}}, type: kind}
entities:
  Order: {attributes: {id: string 1..9, zero: int 0..0 = 0}, key: {PK: "O#{id}", SK: "{zero}"}}
  Line: {attributes: {id: string 1..9, n: int 1..99}, key: {PK: "O#{id}", SK: "{n}"}}
reads:
  order:
    args: {id: string 1..9}
    get: Order
    where: id == args.id && zero == 0
    with: {lines: {find: Line, where: id == row.id, order: n, limit: 3}}
    allow: "true"
  lines: {args: {id: string 1..9}, find: Line, where: id == args.id, order: n, page: 2, allow: "true"}
"##;

const PARENT_AMONG_TEXTS: &str = r##"singlet: 1
name: made
table: {name: made, key: {partition: PK, sort: SK}, type: kind}
entities:
  Order: {attributes: {id: string 1..9, zero: int 0..0 = 0}, key: {PK: "O#{id}", SK: "HEAD"}}
  Line: {attributes: {id: string 1..9, n: "string /[A-Z][0-9]/"}, key: {PK: "O#{id}", SK: "{n}"}}
reads:
  lines: {args: {id: string 1..9}, find: Line, where: id == args.id, order: n, page: 2, allow: "true"}
"##;

/// Rows of other entities count toward a page, so that it reads on past what was said at most.
#[tokio::test]
async fn rows_of_other_entities_are_read_for_nothing() {
    let numbers = ["1", "2", "3", "4"];
    let texts = ["A1", "B2", "H1", "Z2"];
    for (model, read, lines, count) in [
        (PARENT_AMONG_NUMBERS, "order", numbers, 1),
        (PARENT_AMONG_NUMBERS, "lines", numbers, 4),
        (PARENT_AMONG_TEXTS, "lines", texts, 4),
    ] {
        let parent = ("Order".to_owned(), attributes(&[("id", "a"), ("zero", "0")]));
        let lines = lines.map(|n| ("Line".to_owned(), attributes(&[("id", "a"), ("n", n)])));
        let rows = lines.into_iter().chain([parent]).collect();
        let store = Arc::new(EmbeddedStore::memory().unwrap());
        let given = BenchGiven {
            costs: true,
            ..BenchGiven::default()
        };
        let bench = Bench::open_with(model, store, rows, NOW, given).await.unwrap();
        let case = Case {
            read: read.to_owned(),
            args: attributes(&[("id", "a")]),
            caller: Caller::anonymous(),
            page: 2,
            now: NOW,
        };
        let outcome = bench.check(&case).await;
        assert_eq!(
            outcome.unwrap_or_else(|what| panic!("{what}")),
            Outcome::Same(count),
            "{read}"
        );
    }
}
