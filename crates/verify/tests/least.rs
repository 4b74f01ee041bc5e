//! The least that the keys of a table allow, and how far plans are from it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failed expectation is a failed test"
)]

use std::sync::Arc;

use singlet_item::Value;
use singlet_runtime::{Attributes, Caller, Scope};
use singlet_store::Store;
use singlet_store_embedded::EmbeddedStore;
use singlet_verify::Bench;
use singlet_verify::bench::Row;
use singlet_verify::least::run::{LeastOptions, asked_least, run_least, stored_table};

/// Forty tickets of 1,000 bytes for each of five agents, in four states; half of them due in each of two days.
const TICKETS: &str = r##"
singlet: 1
name: tickets
table:
  name: tickets
  key: {partition: PK, sort: SK}
  type: kind
  indexes:
    byAgent: {partition: AP, sort: AS}
    byDay: {partition: DP, sort: DS, project: keys}
    late: {partition: LP, sort: LS}
entities:
  Ticket:
    attributes:
      id: int 0..999
      agent: string 1..9
      state: {enum: [new, open, held, done]}
      due: date
      note: string 0..2000
    key: {PK: "T#{id}", SK: "T"}
    index:
      byAgent: {AP: "A#{agent}", AS: "{state}#{due}#{id}"}
      byDay: {DP: "D#{due}", DS: "{id}"}
      late:
        - {when: state == "held", LP: "L#{agent}", LS: "{id}"}
reads:
  dueOfAgent: {find: Ticket, args: {agent: string 1..9, to: date}, where: agent == args.agent && due <= args.to, page: 100, allow: true}
  ofDay: {find: Ticket, args: {day: date}, where: due == args.day, page: 100, allow: true}
  idsOfDay: {find: Ticket, args: {day: date}, where: due == args.day, return: {id: id}, page: 100, allow: true}
  held: {find: Ticket, args: {agent: string 1..9}, where: agent == args.agent && state == "held", page: 100, allow: true}
  some: {find: Ticket, args: {ids: list(int) 1..9}, where: id in args.ids, page: 100, allow: true}
  firstThree: {find: Ticket, args: {agent: string 1..9}, where: agent == args.agent, page: 3, allow: true}
"##;

fn tickets() -> Vec<Row> {
    let ticket = |id: i64| {
        let state = ["new", "open", "held", "done"][usize::try_from(id % 4).unwrap()];
        let row = Attributes::from([
            ("id".to_owned(), Value::N(id.into())),
            ("agent".to_owned(), Value::S(format!("a{}", id / 40))),
            ("state".to_owned(), Value::S(state.to_owned())),
            ("due".to_owned(), Value::S(format!("2026-01-0{}", 1 + id % 40 / 20))),
            ("note".to_owned(), Value::S("n".repeat(900))),
        ]);
        ("Ticket".to_owned(), row)
    };
    (0..200).map(ticket).collect()
}

/// The ways to answer a read, in half units with their names.
async fn ways(read: &str, args: &[(&str, Value)]) -> Vec<(u64, String)> {
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::memory().unwrap());
    let bench = Bench::open(TICKETS, store, tickets(), 0).await.unwrap();
    let table = stored_table(&bench).unwrap();
    let read = bench.model().reads.iter().find(|known| known.name == read).unwrap();
    let args: Attributes = args
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    let (caller, setting) = (Caller::anonymous(), bench.setting());
    let nothing = Attributes::new();
    let scope = Scope {
        setting,
        now: 0,
        args: &args,
        caller: &caller,
        attributes: None,
        row: None,
        bound: &nothing,
    };
    let ways = table.possible_ways(&asked_least(&bench, read, scope).unwrap());
    let mut ways: Vec<(u64, String)> = ways.into_iter().map(|way| (way.half_units, way.name)).collect();
    ways.sort();
    ways
}

fn text(text: &str) -> Value {
    Value::S(text.to_owned())
}

#[tokio::test]
async fn a_range_behind_few_values_is_a_way_and_so_is_the_whole_partition() {
    // An agent's forty tickets are 40 KB; the five of each state that are due on the first are 5 KB.
    let ways = ways("dueOfAgent", &[("agent", text("a1")), ("to", text("2026-01-01"))]).await;
    let least = &ways[0];
    assert_eq!(least.1, "byAgent by [agent, state] and a range, 4 times", "{ways:?}");
    assert_eq!(least.0, 4 * 2);
    let whole = ways
        .iter()
        .find(|(_, name)| name == "byAgent by [agent], 1 times")
        .unwrap();
    assert_eq!(whole.0, 10, "{ways:?}");
}

#[tokio::test]
async fn rows_behind_a_thin_index_are_got_unless_it_tells_what_is_shown() {
    let whole = ways("ofDay", &[("day", text("2026-01-02"))]).await;
    // A hundred entries of less than forty bytes, and as many gets of a row each.
    assert_eq!(whole[0], (1 + 100, "byDay by [due], 1 times, then gets".to_owned()));
    let ids = ways("idsOfDay", &[("day", text("2026-01-02"))]).await;
    assert_eq!(ids[0], (1, "byDay by [due], 1 times".to_owned()));
}

#[tokio::test]
async fn an_index_by_condition_is_a_way_where_the_meaning_says_the_condition() {
    let ways = ways("held", &[("agent", text("a0"))]).await;
    let names: Vec<&str> = ways.iter().map(|(_, name)| name.as_str()).collect();
    assert!(names.contains(&"late by [agent], 1 times"), "{names:?}");
    // Ten tickets, in three blocks.
    assert_eq!(ways[0].0, 3, "{ways:?}");
}

#[tokio::test]
async fn keys_that_are_named_are_got_each_by_itself() {
    let ids = Value::L([1, 2, 999].into_iter().map(|id: i64| Value::N(id.into())).collect());
    let ways = ways("some", &[("ids", ids)]).await;
    assert_eq!(ways[0], (3, "the table by [id], 3 times".to_owned()));
}

#[tokio::test]
async fn a_page_ends_a_way() {
    let ways = ways("firstThree", &[("agent", text("a0"))]).await;
    assert!(
        ways.contains(&(1, "byAgent by [agent], 1 times".to_owned())),
        "{ways:?}"
    );
    // In no order the first of four ranges suffices, too.
    assert!(
        ways.contains(&(1, "byAgent by [agent, state], 4 times".to_owned())),
        "{ways:?}"
    );
}

/// A sample of what `examples/least_cost.rs` does on thousands of cases.
#[tokio::test]
async fn plans_are_near_the_least() {
    let options = LeastOptions {
        seed: 3,
        cases: 300,
        estimates_off: 1.0,
    };
    let store = || -> Arc<dyn Store> { Arc::new(EmbeddedStore::memory().unwrap()) };
    let report = run_least(options, &store).await.unwrap();
    assert!(report.near_share() >= 0.97, "{report:#?}");
    assert_eq!(report.far, 0, "{report:#?}");
    // Every index that answers a read gives the rows that are meant.
    assert!(report.pinned >= 40, "{report:#?}");
}
