//! What the generated cases have found, each as the smallest model that showed it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it tried"
)]

mod alternatives;
mod cost;
mod days;
mod meaning;
mod named;
mod order;
mod ranges;
mod strangers;

use std::sync::Arc;

use singlet_item::Value;
use singlet_runtime::{Attributes, Caller};
use singlet_store_embedded::EmbeddedStore;
use singlet_verify::{Bench, Case, Outcome};

/// 2026-11-16T12:00:00.500Z.
const NOW: i64 = 1_794_830_400_500;

const HEAD: &str = "singlet: 1
name: made
table:
  name: made
  key: {partition: PK, sort: SK}
  indexes:
    GX1: {partition: G1P, sort: G1S}
    THIN: {partition: TP, sort: TS, project: keys}
    LX1: {local: true, sort: {name: LS, type: number}}
  type: Kind
  ttl: ttl
types:
  Grade: {enum: [low, mid, high]}
  State: {enum: [free, held, gone]}
callers:
  jwt: {audience: made, claims: {id: sub}}
entities:
  E:
";

const NUMBERED: &str = "    attributes: {o: string 1..9, n: 'int 0..1000'}\n    key: {PK: \"P#{o}\", SK: \"N#{n}\"}\n";

/// What an attribute's text stands for: a number, a bool, a place or text.
fn value(text: &str) -> Value {
    if let Some((lat, lon)) = text.split_once(' ') {
        return Value::M(
            [("lat", lat), ("lon", lon)]
                .map(|(name, text)| (name.to_owned(), value(text)))
                .into(),
        );
    }
    match (text, text.parse()) {
        ("true" | "false", _) => Value::Bool(text == "true"),
        (_, Ok(number)) => Value::N(number),
        _ => Value::S(text.to_owned()),
    }
}

fn attributes(pairs: &[(&str, &str)]) -> Attributes {
    pairs
        .iter()
        .map(|(name, text)| ((*name).to_owned(), value(text)))
        .collect()
}

/// Checks the read `r` on every page size; how it came out.
async fn check(entity: &str, read: &str, rows: &[&[(&str, &str)]], args: Attributes) -> Outcome {
    check_in("UTC", entity, read, rows, args).await
}

async fn check_in(zone: &str, entity: &str, read: &str, rows: &[&[(&str, &str)]], args: Attributes) -> Outcome {
    let text = format!("zone: {zone}\n{HEAD}{entity}reads:\n  r:\n    find: E\n{read}    allow: 'true'\n");
    check_model(&text, rows, args, &Caller::with_id("ada")).await
}

async fn check_model(text: &str, rows: &[&[(&str, &str)]], args: Attributes, caller: &Caller) -> Outcome {
    let rows = rows.iter().map(|row| ("E".to_owned(), attributes(row))).collect();
    let store = Arc::new(EmbeddedStore::memory().unwrap());
    let bench = Bench::open(text, store, rows, NOW).await.unwrap();
    let mut outcome = Outcome::Refused;
    for page in [1, 2, 9] {
        let case = Case {
            read: "r".to_owned(),
            args: args.clone(),
            caller: caller.clone(),
            page,
            now: NOW,
        };
        outcome = bench.check(&case).await.unwrap_or_else(|mismatch| panic!("{mismatch}"));
    }
    outcome
}
