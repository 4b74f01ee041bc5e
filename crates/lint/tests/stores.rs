//! What a model asks of a kind of store that can do less than DynamoDB.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::path::Path;

use singlet_lint::{STORE_KINDS, check_design, check_for_store, store_kind};
use singlet_model::{Severity, Source, load_source};

const SHOP: &str = r#"
singlet: 1
name: shop
table:
  name: shop
  key: {partition: PK, sort: SK}
  indexes:
    GSI1: {partition: GSI1PK, sort: GSI1SK}
    ByDay: {partition: [day, state], sort: at}
    Small: {partition: GSI2PK, project: keys}
  type: kind
  ttl: ttl
  stream: both_images
  recovery: point_in_time
  billing: {read: 5, write: 5}
"#;

/// The findings about the store, as `CODE subject: message`.
fn found(text: &str, kind: &str) -> Vec<String> {
    let loaded = load_source(&Source::new("model.yaml", text.to_owned()));
    assert!(!loaded.diagnostics.has_errors(), "{:?}", loaded.diagnostics);
    let all = check_for_store(loaded, store_kind(kind).unwrap()).into_sorted();
    let own = all.into_iter().filter(|finding| finding.rule.code.starts_with('P'));
    own.map(|finding| {
        let place = text
            .get(finding.span.start as usize..finding.span.end as usize)
            .unwrap();
        let line = place.lines().next().unwrap_or_default();
        format!(
            "{} {} at `{line}`: {}",
            finding.rule.code, finding.subject, finding.message
        )
    })
    .collect()
}

fn model(rest: &str) -> String {
    let table = "\nsinglet: 1\nname: shop\ntable: {name: shop, key: {partition: PK, sort: SK}, type: kind, ttl: ttl}\n";
    format!("{table}{rest}")
}

const NOTE: &str = r#"
entities:
  Note:
    attributes: {id: string 1..8, text: string ..100 = ""}
    key: {PK: "NOTE#{id}", SK: "NOTE"}
  Named:
    attributes: {id: string 1..8, name: string 1..20}
    key: {PK: "NAMED#{id}", SK: "NAMED"}
    unique: {name: name}
"#;

/// The only finding about a write of these steps.
fn of_write(write: &str) -> Vec<String> {
    found(&model(&format!("{NOTE}writes:\n  it: {write}\n")), "alternator")
}

#[test]
fn a_write_of_one_item_runs_and_one_of_several_does_not() {
    for one in [
        "{idempotency: none, allow: true, do: [{create: Note, take: [id]}]}",
        "{idempotency: none, args: {id: string 1..8}, allow: true, do: [{update: Note(args.id), set: {text: '\"x\"'}}]}",
        "{idempotency: none, args: {id: string 1..8}, allow: true, do: [{delete: Note(args.id)}]}",
    ] {
        assert_eq!(of_write(one), Vec::<String>::new(), "{one}");
    }
    for (several, words) in [
        (
            "{idempotency: none, allow: true, do: [{create: Named, take: [id, name]}]}",
            "`it` writes up to 2 items in one transaction (`Named`; guards of `Named`), and Alternator has no `TransactWriteItems` (scylladb #5064)",
        ),
        (
            "{idempotency: none, args: {id: string 1..8, to: string 1..8}, allow: true, do: [{delete: Note(args.id)}, {update: Note(args.to), set: {text: '\"x\"'}}]}",
            "writes up to 2 items in one transaction (`Note`)",
        ),
        (
            "{idempotency: none, args: {id: string 1..8}, allow: true, do: [{present: Note(args.id), else: missing}]}",
            "`it` only checks what is there",
        ),
    ] {
        let found = of_write(several);
        assert_eq!(found.len(), 1, "{several}: {found:?}");
        assert!(
            found[0].starts_with("P001 it at `it`") && found[0].contains(words),
            "{found:?}"
        );
    }
}

#[test]
fn every_kind_knows_its_name_and_dynamodb_lacks_nothing() {
    for kind in STORE_KINDS {
        assert_eq!(store_kind(kind.name).unwrap().title, kind.title);
    }
    assert!(store_kind("redis").is_none());
    for system in ["todo", "wardrobe", "country", "booking", "ecobid"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../systems/{system}/model.yaml"));
        let text = fs::read_to_string(path).unwrap();
        let complete = if system == "todo" { "dynamodb" } else { "embedded" };
        if matches!(system, "todo" | "booking") {
            assert_eq!(found(&text, complete), Vec::<String>::new(), "{system} on {complete}");
        }
        let found = found(&text, "alternator");
        assert!(found.iter().any(|line| line.starts_with("P001")), "{system}: {found:?}");
    }
}

/// What no store is named for is not looked for.
#[test]
fn nothing_is_said_of_stores_unless_one_is_named() {
    let text = model(NOTE);
    let found = check_design(load_source(&Source::new("model.yaml", text))).into_sorted();
    assert!(found.iter().all(|finding| !finding.rule.code.starts_with('P')));
}

#[test]
fn tables_streams_indexes_and_what_runs_by_itself_are_said_at_their_places() {
    let text = format!(
        "{}{}",
        SHOP,
        r#"
types:
  State: {enum: [open, paid]}
settings:
  url: string?
entities:
  Order:
    attributes: {id: string 1..8, day: date, state: State = "open", at: time = now, n: int 0..9 = 0}
    key: {PK: "ORDER#{id}", SK: "ORDER"}
    index:
      GSI1: {GSI1PK: "STATE#{state}", GSI1SK: "{at}"}
      Small: {GSI2PK: "DAY#{day}"}
tallies:
  orders: {count: Order, by: [state]}
webhooks:
  ordered: {after: {create: Order}, to: settings.url, send: {order: row.id}}
reads:
  both:
    args: {one: string 1..8, two: string 1..8}
    get: Order
    where: id == args.one
    with: {other: {get: Order, where: id == args.two}}
    together: true
    allow: true
writes:
  order: {idempotency: none, allow: true, do: [{create: Order, take: [id, day]}]}
  follow: {after: {create: Order}, do: [{update: Order(row.id), add: {n: 1}}]}
  strike: {every: 1h, do: [{update: Order("a"), add: {n: 1}}]}
"#
    );
    let loaded = load_source(&Source::new("model.yaml", text.clone()));
    let errors: Vec<String> = loaded
        .diagnostics
        .iter()
        .filter(|finding| finding.rule.severity == Severity::Error)
        .map(|finding| finding.message.clone())
        .collect();
    assert_eq!(errors, Vec::<String>::new());
    let found = found(&text, "alternator");
    for wanted in [
        "P003 table at `stream: both_images`: `shop` has a change stream",
        "P005 table at `recovery: point_in_time`: `shop` has point-in-time recovery",
        "P005 table at `billing: {read: 5, write: 5}`: `shop` has provisioned units",
        "P004 ByDay at `ByDay`: the key of index `ByDay` has several attributes",
        "P004 Small at `Small`: index `Small` holds less than whole items",
        "P001 both at `together: true`: `both` reads its rows in one transaction",
        "P001 follow at `follow`: `follow` runs by itself",
        "P001 strike at `strike`: `strike` runs by itself",
        "P001 ordered at `ordered`: `ordered` writes a delivery",
        "P001 orders at `orders`: tally `orders` is written in one transaction",
    ] {
        assert!(
            found.iter().any(|line| line.starts_with(wanted)),
            "{wanted}: {found:#?}"
        );
    }
    assert_eq!(found.len(), 10, "{found:#?}");
}
