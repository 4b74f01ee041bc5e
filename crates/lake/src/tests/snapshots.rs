//! Snapshots of more rows than are held in memory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use serde_json::json;
use singlet_changes::{Beside, ChangeSource, ItemsBeside, KeptPut, ScanItems};
use singlet_item::Item;
use singlet_store::{StreamPage, StreamRequest};
use tokio::sync::Mutex;

use super::kills::{assert_versions_readable, write_something};
use super::support::{Folder, ForgetfulSource, MODEL, Shop, assert_same_rows, change_rows, current_rows, item};
use crate::table_log::TableLog;
use crate::{LakeFiles, LakeFollower};

/// How many rows are held here.
const HELD_ROWS: usize = 16;

/// A row with every type that a row in the file must keep.
fn task(number: usize, title: &str) -> Item {
    let attributes = json!({
        "title": {"S": title}, "count": {"N": (number % 100).to_string()}, "price": {"N": "12.50"},
        "big": {"N": "99999999999999999999999999999999999999"}, "free": {"N": "1E-130"}, "isDone": {"BOOL": true},
        "due": {"S": "2026-02-03"}, "tags": {"SS": ["a", "żółw"]}, "at": {"S": "2026-02-03T04:05:06.789Z"},
        "address": {"M": {"street": {"S": "\n\"\\"}, "lines": {"L": [{"S": ""}]}, "rooms": {"M": {"x": {"N": "1"}}}}},
        "anything": {"M": {"bytes": {"B": "AAEC/w=="}, "none": {"NULL": true}, "sets": {"NS": ["1.5", "-2"]}}},
    });
    item("Task", &number.to_string(), attributes)
}

/// Somebody writes while all rows are read.
struct BusySource {
    source: Arc<dyn ChangeSource>,
    shop: Arc<Shop>,
    random: Mutex<fastrand::Rng>,
    writes: AtomicUsize,
}

#[async_trait]
impl ChangeSource for BusySource {
    async fn read_records(&self, request: &StreamRequest) -> singlet_store::Result<StreamPage> {
        self.source.read_records(request).await
    }

    async fn items_beside(&self, beside: &Beside) -> singlet_store::Result<ItemsBeside> {
        self.source.items_beside(beside).await
    }

    async fn scan_items(&self, request: &ScanItems) -> singlet_store::Result<ItemsBeside> {
        let page = self.source.scan_items(request).await;
        for _ in 0..10 {
            write_something(&self.shop, &mut *self.random.lock().await).await;
            self.writes.fetch_add(1, Ordering::Relaxed);
        }
        page
    }

    async fn get_row(&self, table: &str, key: &Item) -> singlet_store::Result<Option<Item>> {
        self.source.get_row(table, key).await
    }

    async fn put_row(&self, put: &KeptPut) -> singlet_store::Result<bool> {
        self.source.put_row(put).await
    }
}

fn kinds(files: &dyn LakeFiles) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for row in change_rows(files, "Task") {
        *kinds.entry(row[2].as_text().unwrap().to_owned()).or_default() += 1;
    }
    kinds
}

#[tokio::test]
async fn more_rows_than_are_held_are_brought_in_parts() {
    let (shop, folder) = (Shop::open(MODEL).await, Folder::new());
    let files = folder.files();
    let source = ForgetfulSource::new(shop.source());
    let follower =
        |held: usize| LakeFollower::new(files.clone(), Arc::clone(&shop.model), source.clone(), 0).with_held_rows(held);
    // Small at first: one file, which keys of every part lie in later.
    for number in 0..10 {
        shop.put(task(number, "few")).await;
    }
    shop.follow(&mut follower(100)).await.unwrap();
    assert_eq!(TableLog::load(files.as_ref(), "Task").unwrap().files.len(), 1);
    for number in 5..300 {
        shop.put(task(number, "many")).await;
    }
    shop.delete("Task", "3").await;
    shop.put(item("Note", "1", json!({"text": {"S": "x"}}))).await;
    source.forget();
    shop.follow(&mut follower(HELD_ROWS)).await.unwrap();
    let hold = async || {
        for entity in ["Task", "Note"] {
            assert_same_rows(&shop, files.as_ref(), entity).await;
        }
    };
    hold().await;
    assert_eq!(current_rows(files.as_ref(), "Task").len(), 299);
    assert!(TableLog::load(files.as_ref(), "Task").unwrap().files.len() >= 300 / HELD_ROWS);
    assert_eq!(TableLog::load(files.as_ref(), "Note").unwrap().files.len(), 1);
    let told = |snapshots: usize| BTreeMap::from([("deleted".to_owned(), 1), ("snapshot".to_owned(), snapshots)]);
    assert_eq!(kinds(files.as_ref()), told(10 + 295));
    // Nothing has changed: nothing is brought, and no file is written anew.
    let before = TableLog::load(files.as_ref(), "Task").unwrap();
    source.forget();
    shop.follow(&mut follower(HELD_ROWS)).await.unwrap();
    assert_eq!(kinds(files.as_ref()), told(10 + 295));
    assert_eq!(TableLog::load(files.as_ref(), "Task").unwrap().files, before.files);
    // Other sizes of parts, and then changes one by one, in the files that there are.
    for held in [150, 40, 5, 1_000] {
        shop.put(task(held, "again")).await;
        shop.delete("Task", &(held + 1).to_string()).await;
        source.forget();
        let mut follower = follower(held);
        shop.follow(&mut follower).await.unwrap();
        hold().await;
        shop.put(task(held + 2, "told")).await;
        shop.follow(&mut follower).await.unwrap();
        follower.tidy(shop.now()).await.unwrap();
        hold().await;
    }
    assert_versions_readable(files.as_ref(), "Task");
}

#[tokio::test]
async fn what_is_told_while_rows_are_read_counts_in_every_part() {
    let (shop, folder) = (Arc::new(Shop::open(MODEL).await), Folder::new());
    let files = folder.files();
    for number in 0..1_200 {
        shop.put(task(number, "there")).await;
    }
    let source = Arc::new(BusySource {
        source: shop.source(),
        shop: Arc::clone(&shop),
        random: Mutex::new(fastrand::Rng::with_seed(5)),
        writes: AtomicUsize::new(0),
    });
    let follower = LakeFollower::new(files.clone(), Arc::clone(&shop.model), source.clone(), 0);
    let mut follower = follower.with_held_rows(HELD_ROWS);
    shop.follow(&mut follower).await.unwrap();
    assert!(source.writes.load(Ordering::Relaxed) > 20);
    for entity in ["Task", "Note"] {
        assert_same_rows(&shop, files.as_ref(), entity).await;
    }
}
