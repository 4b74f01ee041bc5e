//! Makes a folder as the store of before left it, for the test that takes one over.
//!
//! `cargo run --manifest-path bench/Cargo.toml -p singlet-store-before --example old_folder -- FOLDER`

use std::collections::BTreeMap;
use std::path::Path;

use singlet_item::{Item, Value};
use singlet_store::{
    Billing, DeleteRequest, IndexKind, IndexProjection, IndexSpec, KeySchema, KeyType, PutRequest, Store, StreamView,
    TableSpec,
};
use singlet_store_before::EmbeddedStore;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("name a folder")?;
    let store = EmbeddedStore::open(Path::new(&folder))?;
    let index = |name: &str, kind, key, projection| IndexSpec {
        name: name.to_owned(),
        kind,
        key,
        projection,
        units: None,
    };
    let mut things = TableSpec::new(
        "things",
        KeySchema::partition("p", KeyType::String).sort("s", KeyType::Number),
    );
    things.indexes = vec![
        index(
            "by-g",
            IndexKind::Global,
            KeySchema::partition("g", KeyType::String).sort("s", KeyType::Number),
            IndexProjection::Include(vec!["x".to_owned()]),
        ),
        index(
            "by-x",
            IndexKind::Local,
            KeySchema::partition("p", KeyType::String).sort("x", KeyType::Binary),
            IndexProjection::All,
        ),
    ];
    things.ttl = Some("ends".to_owned());
    things.stream = Some(StreamView::Both);
    things.billing = Billing::Provisioned {
        read_units: 5,
        write_units: 3,
    };
    store.create_table(&things).await?;
    store
        .create_table(&TableSpec::new("empty.one", KeySchema::partition("id", KeyType::Binary)))
        .await?;
    for number in 0..40_i64 {
        store.put(&put(row(number))).await?;
    }
    let gone = Item::from([("p".to_owned(), "a".into()), ("s".to_owned(), 1_i64.into())]);
    let delete = DeleteRequest {
        table: "things".to_owned(),
        key: gone,
        ..DeleteRequest::default()
    };
    store.delete(&delete).await?;
    Ok(())
}

fn put(item: Item) -> PutRequest {
    PutRequest {
        table: "things".to_owned(),
        item,
        ..PutRequest::default()
    }
}

/// A row with values of every type.
fn row(number: i64) -> Item {
    let mut row = Item::from([
        ("p".to_owned(), if number % 2 == 0 { "b\0é" } else { "a" }.into()),
        ("s".to_owned(), number.into()),
        ("g".to_owned(), format!("g{}", number % 3).into()),
        ("ends".to_owned(), (4_000_000_000 + number).into()),
        ("x".to_owned(), Value::B(vec![0, number.unsigned_abs() as u8, 255])),
        ("null".to_owned(), Value::Null),
        ("set".to_owned(), Value::Ns([1_i64.into(), number.into()].into())),
    ]);
    let inner = BTreeMap::from([("deep".to_owned(), vec![Value::from(true), Value::from("text")].into())]);
    row.insert("map".to_owned(), inner.into());
    row
}
