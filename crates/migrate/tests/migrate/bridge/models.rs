//! The two models, and what is done with them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use singlet_item::{Item, Number, Value};
use singlet_migrate::{Bridge, BridgeGoal, BridgeSide, MigrateError, MigrateOptions};
use singlet_runtime::{Attributes, AuditDepth, BRIDGED, Engine, Request, RuntimeError, WriteRequest, audit_rows, load};
use singlet_store::Store;

use super::super::place;
use super::super::support::{NOW, Table, open_to_write};

/// Tasks with a guard, a mirror, expiry, a version and an index; prices with versions of their own; requests by their keys.
pub const OLD: &str = r#"
singlet: 1
name: desk
table:
  name: TABLE
  key: {partition: PK, sort: SK}
  indexes: {GSI1: {partition: GSI1PK, sort: GSI1SK}}
  type: kind
  ttl: ends
callers: {jwt: {audience: desk, claims: {id: sub}}}
entities:
  Task:
    attributes:
      owner: string 1..20
      number: int 0..99
      title: string 1..40
      points: int 0..99999 = 0
      due: int? 0..9999
      until: time?
      edition: version
    key: {PK: "USER#{owner}", SK: "TASK#{number}"}
    index:
      GSI1: {GSI1PK: "POINTS", GSI1SK: "{points}"}
    unique: {title: lower(title)}
    expires: until
  TaskByTitle:
    mirrors: Task
    carries: [points, due]
    key: {PK: "TITLE#{title}", SK: "{owner}#{number}"}
  Price:
    attributes:
      code: string /[A-Z]{2}/
      from: time = now
      until: time?
      gone: bool = false
      amount: int 0..9999
    key: {PK: "PRICE#{code}", SK: "{from}"}
    history: {at: from, until: until, tombstone: gone, same: keep}
  Memo:
    attributes: {id: string 1..20, text: string 1..100}
    key: {PK: "MEMO#{id}", SK: "MEMO"}
  Sent:
    role: idempotency
    attributes:
      who: {is: caller.id}
      which: {is: request.key}
      hash: {is: request.hash}
      status: {is: response.status}
      body: {is: response.body}
      at: time = now
    key: {PK: "SENT#{who}#{which}", SK: "SENT"}
    expires: at + days(1)
reads:
  tasks: {find: Task, where: owner == args.owner, args: {owner: string}, order: number, allow: true}
  task: {get: Task, where: owner == args.owner && number == args.number, args: {owner: string, number: int}, allow: true}
  titled: {find: TaskByTitle, where: title == args.title, args: {title: string}, allow: true}
  byPoints: {find: Task, order: points, allow: true}
  price: {get: Price, where: code == args.code, args: {code: string}, allow: true}
writes:
  add: {allow: true, idempotency: optional, do: [{create: Task, take: [owner, number, title, points, due, until]}]}
  retitle: {args: {owner: string, number: int, title: string}, allow: true, do: [{update: "Task(args.owner, args.number)", set: {title: args.title}}]}
  score: {args: {owner: string, number: int, points: int}, allow: true, do: [{update: "Task(args.owner, args.number)", add: {points: args.points}}]}
  plan: {args: {owner: string, number: int, due: int}, allow: true, do: [{update: "Task(args.owner, args.number)", set: {due: args.due}}]}
  remove: {args: {owner: string, number: int}, allow: true, do: [{delete: "Task(args.owner, args.number)"}]}
  charge: {args: {code: string, amount: int}, allow: true, do: [{update: Price(args.code), set: {amount: args.amount}}]}
  note: {args: {id: string, text: string}, allow: true, do: [{create: Memo, set: {id: args.id, text: args.text}}]}
"#;

/// Numbers become wider, so that keys move; tasks get a size and an index by it, and so do their mirrors.
pub fn new_model() -> String {
    let edits = [
        ("number: int 0..99", "number: int 0..9999"),
        (
            "indexes: {GSI1: {partition: GSI1PK, sort: GSI1SK}}",
            "indexes: {GSI1: {partition: GSI1PK, sort: GSI1SK}, GSI2: {partition: GSI2PK, sort: GSI2SK}}",
        ),
        ("SK: \"{from}\"}", "SK: \"V#{from}\"}"),
        (
            "      edition: version\n",
            "      edition: version\n      size: {type: Size = \"small\", fill: 'due == absent ? \"small\" : \"large\"'}\n",
        ),
        (
            "GSI1SK: \"{points}\"}\n",
            "GSI1SK: \"{points}\"}\n      GSI2: {GSI2PK: \"SIZE#{size}\", GSI2SK: \"{points}#{number}\"}\n",
        ),
        ("carries: [points, due]", "carries: [points, due, size]"),
        (
            "entities:\n  Task:",
            "types: {Size: {enum: [small, large]}}\nentities:\n  Task:",
        ),
        (
            "reads:\n",
            "reads:\n  bySize: {find: Task, where: size == args.size, args: {size: Size}, order: points, allow: true}\n",
        ),
        (
            "writes:\n",
            "writes:\n  resize: {args: {owner: string, number: int, size: Size}, allow: true, do: [{update: \"Task(args.owner, args.number)\", set: {size: args.size}}]}\n",
        ),
    ];
    edits.iter().fold(OLD.to_owned(), |text, (was, is)| {
        assert!(text.contains(was), "{was}");
        text.replace(was, is)
    })
}

/// Nothing of tasks moves: they get a size, and an index by it.
pub fn filled_model() -> String {
    new_model()
        .replace("SK: \"V#{from}\"}", "SK: \"{from}\"}")
        .replace("number: int 0..9999", "number: int 0..99")
        .replace("GSI2SK: \"{points}#{number}\"", "GSI2SK: \"{points}\"")
}

pub fn clock() -> i64 {
    NOW
}

pub fn options() -> MigrateOptions {
    MigrateOptions {
        page_items: 7,
        rows_at_once: 3,
        ..MigrateOptions::default()
    }
}

/// The old model's table, with so many tasks of each of some owners.
pub async fn old_table(tasks: usize) -> Table {
    let table = Table::named(place::store().await);
    let old = table.engine(OLD);
    open_to_write(&old).await.unwrap();
    let mut lines = Vec::new();
    for owner in ["ada", "bob", "eve"] {
        for number in 0..tasks {
            let due = if number % 2 == 0 {
                format!(r#", "due": {number}"#)
            } else {
                String::new()
            };
            let until = if number % 5 == 4 {
                r#", "until": "2026-12-01T00:00:00Z""#
            } else {
                ""
            };
            lines.push(format!(
                r#"{{"Task": {{"owner": "{owner}", "number": {number}, "title": "{owner} {number}", "points": {number}{due}{until}, "edition": 1}}}}"#
            ));
        }
    }
    lines.push(r#"{"Price": {"code": "AB", "from": "2026-01-01T00:00:00Z", "gone": false, "amount": 5}}"#.to_owned());
    lines.push(r#"{"Memo": {"id": "m", "text": "t"}}"#.to_owned());
    load::load_text(&old, &lines.join("\n"), NOW).await.unwrap();
    table
}

/// A table and two models, on a store of the process's own.
pub async fn bridge_on(table: &Table, store: &Arc<dyn Store>, new: &str) -> Result<Bridge, MigrateError> {
    let on = |text: &str| table.engine(text).on_store(Arc::clone(store));
    Bridge::open(on(OLD), on(new), options(), clock).await
}

pub async fn bridge(table: &Table) -> Bridge {
    bridge_on(table, &table.store, &new_model()).await.unwrap()
}

pub async fn reach(bridge: &Bridge, goal: BridgeGoal) -> Result<(), MigrateError> {
    bridge.reach(goal, &|_| {}).await.map(drop)
}

/// Both sides as they serve.
pub fn sides(bridge: &Bridge) -> (Engine, Engine) {
    (bridge.engine(BridgeSide::Old), bridge.engine(BridgeSide::New))
}

pub fn text(text: &str) -> Value {
    Value::S(text.to_owned())
}

pub fn number(number: i64) -> Value {
    Value::N(Number::from(number))
}

fn named<const N: usize>(args: [(&str, Value); N]) -> Attributes {
    args.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

pub async fn write<const N: usize>(engine: &Engine, name: &str, args: [(&str, Value); N]) -> Result<(), RuntimeError> {
    static WRITTEN: AtomicI64 = AtomicI64::new(0);
    let request = WriteRequest {
        args: named(args),
        // Versions of one instant are one.
        now: NOW + 1_000 * WRITTEN.fetch_add(1, Ordering::Relaxed),
        ..WriteRequest::default()
    };
    engine.write(name, &request).await.map(drop)
}

pub async fn read<const N: usize>(
    engine: &Engine,
    name: &str,
    args: [(&str, Value); N],
) -> Result<Value, RuntimeError> {
    let request = Request {
        args: named(args),
        limit: Some(100),
        now: NOW,
        ..Request::default()
    };
    let answer = engine.read(name, &request).await?;
    Ok(answer.value.unwrap_or(Value::Null))
}

pub async fn rows<const N: usize>(engine: &Engine, name: &str, args: [(&str, Value); N]) -> Vec<Item> {
    let Value::L(rows) = read(engine, name, args).await.unwrap() else {
        panic!("no list");
    };
    rows.iter().map(|row| row.as_map().unwrap().clone()).collect()
}

/// The tasks of an owner, by number: the rest of each.
pub async fn tasks(engine: &Engine, owner: &str) -> BTreeMap<i64, Item> {
    let rows = rows(engine, "tasks", [("owner", text(owner))]).await;
    let count = rows.len();
    let by_number: BTreeMap<i64, Item> = rows
        .into_iter()
        .map(|row| (row["number"].as_number().unwrap().to_i64().unwrap(), row))
        .collect();
    assert_eq!(by_number.len(), count, "a row comes twice");
    by_number
}

/// What both models have of rows.
pub fn shared(rows: BTreeMap<i64, Item>) -> BTreeMap<i64, Item> {
    let without = |mut row: Item| {
        row.remove("size");
        row
    };
    rows.into_iter().map(|(number, row)| (number, without(row))).collect()
}

/// The table is the new model's, as a migration for which writes stop would have made it.
pub async fn assert_new(table: &Table, new: &str) {
    let width = if new.contains("number: int 0..9999") { 4 } else { 2 };
    let new = table.engine(new);
    assert_eq!(new.table_control().await.unwrap().unwrap().current_migration(), None);
    open_to_write(&new).await.unwrap();
    let audit = audit_rows(&new, NOW, AuditDepth::Whole).await.unwrap();
    assert_eq!(audit.misfit_count(), 0, "{:?}", audit.first);
    for (key, item) in table.contents().await {
        assert!(!item.contains_key(BRIDGED), "{key}");
        if let Some(sort) = item["SK"].as_str().and_then(|sort| sort.strip_prefix("TASK#")) {
            assert_eq!(sort.len(), width, "{key}");
        }
    }
}
