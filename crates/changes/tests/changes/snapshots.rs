//! Every row as it is, while others write.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use singlet_changes::{ChangeKind, ChangeReader, ChangeSource, SnapshotReader, SnapshotRow, Told};
use singlet_item::{Number, Value};
use singlet_runtime::Attributes;
use singlet_store::StreamPosition;

use crate::support::{NOW, System, item};

const NOTES: &str = r#"
singlet: 1
name: notes
table: {name: notes, key: {partition: PK, sort: SK}, type: kind, ttl: ttl, stream: both_images}
entities:
  Note:
    attributes: {id: string 1..8, n: int 0.. = 0, due: time?}
    key: {PK: "NOTE#{id}", SK: "NOTE"}
    unique: {id: id}
    expires: due
  Price:
    attributes: {sku: string 1..8, since: time, until: time?, gone: bool = false, cents: int 0..}
    key: {PK: "SKU#{sku}", SK: "{since}"}
    history: {at: since, until: until, tombstone: gone}
writes:
  add: {allow: true, do: [{create: Note, take: [id, due]}]}
  raise: {allow: true, args: {id: string 1..8}, do: [{update: Note(args.id), add: {n: 1}}]}
  drop: {allow: true, args: {id: string 1..8}, do: [{delete: Note(args.id)}]}
  price: {allow: true, do: [{create: Price, take: [sku, cents]}]}
  reprice: {allow: true, args: {sku: string 1..8, cents: int 0..}, do: [{update: Price(args.sku), set: {cents: args.cents}}]}
  unprice: {allow: true, args: {sku: string 1..8}, do: [{delete: Price(args.sku)}]}
"#;

type Rows = BTreeMap<(String, Attributes), Attributes>;

fn source(system: &System) -> Arc<dyn ChangeSource> {
    Arc::new(Arc::clone(system.engine.store()))
}

async fn rows_of(system: &System) -> (Rows, usize) {
    let mut reader = SnapshotReader::new(Arc::clone(system.engine.model()), source(system));
    let (mut rows, mut misfits) = (Rows::new(), 0);
    while let Some(page) = reader.next_page(NOW).await.unwrap() {
        for found in page {
            match found {
                SnapshotRow::Row { entity, key, row } => drop(rows.insert((entity, key), row)),
                SnapshotRow::Misfit { .. } => misfits += 1,
            }
        }
    }
    (rows, misfits)
}

#[tokio::test]
async fn rows_are_what_is_there_and_nothing_that_was() {
    let system = System::open(NOTES).await;
    system.write("add", json!({"id": "a"})).await;
    let past = json!({"id": "b", "due": "2026-01-01T00:00:00.000Z"});
    system.write_at(NOW - 400 * 86_400_000, "add", past).await.unwrap();
    for sku in ["x", "y"] {
        system
            .write_at(NOW, "price", json!({"sku": sku, "cents": 1}))
            .await
            .unwrap();
        system
            .write_at(NOW + 1_000, "reprice", json!({"sku": sku, "cents": 2}))
            .await
            .unwrap();
    }
    system
        .write_at(NOW + 2_000, "unprice", json!({"sku": "y"}))
        .await
        .unwrap();
    system
        .put(item(&[("PK", "NOTE#z"), ("SK", "NOTE"), ("kind", "Note"), ("id", "z")]))
        .await;
    let (rows, misfits) = rows_of(&system).await;
    let keys: Vec<String> = rows.keys().map(|(entity, key)| format!("{entity} {key:?}")).collect();
    assert_eq!(rows.len(), 2, "{keys:?}");
    assert_eq!(misfits, 1);
    let price = rows.iter().find(|((entity, _), _)| entity == "Price").unwrap().1;
    assert_eq!(price["cents"], Value::N(Number::from(2)));
}

/// Others write between any two pages: rows, then the changes since a position before them, are what is there at the end.
#[tokio::test]
async fn rows_and_what_changed_since_are_what_is_there() {
    for seed in 0..30 {
        let mut random = fastrand::Rng::with_seed(seed);
        let system = System::open(NOTES).await;
        let ids: Vec<String> = (0..60).map(|at| format!("n{at}")).collect();
        for id in ids.iter().filter(|_| random.bool()) {
            system.write("add", json!({"id": id})).await;
        }
        let model = Arc::clone(system.engine.model());
        let mut changes = ChangeReader::new(Arc::clone(&model), source(&system), StreamPosition::Latest);
        changes.next_page().await.unwrap();
        let mut reader = SnapshotReader::new(model, source(&system)).with_page_items(9);
        let mut rows = Rows::new();
        loop {
            for _ in 0..6 {
                let id = &ids[random.usize(..ids.len())];
                let write = ["add", "raise", "drop"][random.usize(..3)];
                // Some are refused: there is no such row, or there is.
                let _ = system.write_at(NOW, write, json!({"id": id})).await;
            }
            let Some(page) = reader.next_page(NOW).await.unwrap() else {
                break;
            };
            for found in page {
                let SnapshotRow::Row { entity, key, row } = found else {
                    panic!()
                };
                rows.insert((entity, key), row);
            }
        }
        while !changes.is_at_head() {
            for told in changes.next_page().await.unwrap().told {
                let Told::Change(change) = told else { panic!() };
                let key = (change.entity, change.key);
                match change.kind {
                    ChangeKind::Created | ChangeKind::Updated => drop(rows.insert(key, change.after.unwrap())),
                    ChangeKind::Deleted | ChangeKind::Expired => drop(rows.remove(&key)),
                }
            }
        }
        assert_eq!(rows, rows_of(&system).await.0, "seed {seed}");
    }
}
