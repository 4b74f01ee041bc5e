//! What a call of the engine costs where it is asked, and on a blocking thread: the numbers behind how calls run.
//!
//! `cargo run -p singlet-store-embedded --example call_cost`

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement for people, not part of the store"
)]

use singlet_item::Item;
use singlet_store::{GetRequest, KeySchema, KeyType, PutRequest, Store, TableSpec};
use singlet_store_embedded::EmbeddedStore;
use std::time::Instant;

const CALLS: u32 = 2_000;

#[tokio::main]
async fn main() {
    let folder = std::env::temp_dir().join(format!("singlet-call-cost-{}", std::process::id()));
    measure("memory", &EmbeddedStore::memory().unwrap()).await;
    measure("file", &EmbeddedStore::open(&folder).unwrap()).await;
    let started = Instant::now();
    for _ in 0..CALLS {
        tokio::task::spawn_blocking(|| ()).await.unwrap();
    }
    println!("handing nothing to a blocking thread: {:?}", started.elapsed() / CALLS);
    std::fs::remove_dir_all(folder).unwrap();
}

async fn measure(place: &str, store: &EmbeddedStore) {
    let spec = TableSpec::new("things", KeySchema::partition("id", KeyType::Number));
    store.create_table(&spec).await.unwrap();
    let key = |number: u32| Item::from([("id".to_owned(), i64::from(number).into())]);
    let started = Instant::now();
    for number in 0..CALLS {
        let mut item = key(number);
        item.insert("text".to_owned(), "x".repeat(300).into());
        let put = PutRequest {
            table: "things".to_owned(),
            item,
            ..PutRequest::default()
        };
        store.put(&put).await.unwrap();
    }
    println!("{place}: a put takes {:?}", started.elapsed() / CALLS);
    let started = Instant::now();
    for number in 0..CALLS {
        let get = GetRequest {
            table: "things".to_owned(),
            key: key(number),
            ..GetRequest::default()
        };
        store.get(&get).await.unwrap();
    }
    println!("{place}: a get takes {:?}", started.elapsed() / CALLS);
}
