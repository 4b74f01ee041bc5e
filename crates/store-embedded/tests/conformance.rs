//! The conformance suite on the embedded store, and what is its own: folders and restarts.

use singlet_item::limits::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
use singlet_store::conformance::{self, Difference, Report};
use singlet_store::{
    GetRequest, IndexKind, IndexProjection, IndexSpec, KeySchema, KeyType, PutRequest, Store, StreamPosition,
    StreamRequest, StreamView, TableSpec, Update, UpdateRequest,
};
use singlet_store_embedded::EmbeddedStore;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What this store does otherwise than DynamoDB: nothing.
const DIFFERENCES: [Difference; 0] = [];

fn assert_passed(report: &Report) {
    assert!(
        report.failed.is_empty(),
        "{} cases failed:\n{}",
        report.failed.len(),
        report.failures_text()
    );
    assert!(report.passed > 80, "only {} cases ran", report.passed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_suite_passes_in_memory() {
    let open = async || Arc::new(EmbeddedStore::memory().unwrap()) as Arc<dyn Store>;
    assert_passed(&conformance::run_suite(open, DIFFERENCES).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_suite_passes_in_a_file() {
    let folder = Folder::new();
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(&folder.0).unwrap());
    assert_passed(&conformance::run_suite(async || Arc::clone(&store), DIFFERENCES).await);
}

#[tokio::test]
async fn the_latest_is_only_what_comes() {
    let store = EmbeddedStore::memory().unwrap();
    let mut spec = TableSpec::new("things", KeySchema::partition("id", KeyType::String));
    spec.stream = Some(StreamView::New);
    store.create_table(&spec).await.unwrap();
    let put = async |id: &str| {
        let put = PutRequest {
            table: "things".to_owned(),
            item: singlet_item::Item::from([("id".to_owned(), id.into())]),
            ..PutRequest::default()
        };
        store.put(&put).await.unwrap();
    };
    let read = async |position| {
        let request = StreamRequest {
            table: "things".to_owned(),
            position,
            limit: 10,
        };
        store.read_stream(&request).await.unwrap()
    };
    put("before").await;
    let start = read(StreamPosition::Latest).await;
    put("after").await;
    let found = read(start.next).await.records;
    let ids: Vec<_> = found.iter().map(|record| record.key["id"].clone()).collect();
    assert_eq!(ids, ["after".into()]);
}

#[tokio::test]
async fn a_file_survives_a_restart() {
    let folder = Folder::new();
    let item = singlet_item::Item::from([("id".to_owned(), "a".into()), ("n".to_owned(), 1_i64.into())]);
    let mut spec = TableSpec::new("things", KeySchema::partition("id", KeyType::String));
    spec.stream = Some(StreamView::Both);
    spec.ttl = Some("expires".to_owned());
    {
        let store = EmbeddedStore::open(&folder.0).unwrap();
        store.create_table(&spec).await.unwrap();
        let put = PutRequest {
            table: "things".to_owned(),
            item: item.clone(),
            ..PutRequest::default()
        };
        store.put(&put).await.unwrap();
    }
    let store = EmbeddedStore::open(&folder.0).unwrap();
    assert_eq!(store.describe_table("things").await.unwrap().spec, spec);
    let get = GetRequest {
        table: "things".to_owned(),
        key: singlet_item::Item::from([("id".to_owned(), "a".into())]),
        ..GetRequest::default()
    };
    assert_eq!(store.get(&get).await.unwrap().item, Some(item.clone()));
    let stream = StreamRequest {
        table: "things".to_owned(),
        position: StreamPosition::Start,
        limit: 10,
    };
    let page = store.read_stream(&stream).await.unwrap();
    assert_eq!(page.records.len(), 1);
    assert_eq!(page.records[0].new, Some(item));
}

#[tokio::test]
async fn a_folder_is_open_once() {
    let folder = Folder::new();
    let first = EmbeddedStore::open(&folder.0).unwrap();
    let error = EmbeddedStore::open(&folder.0).unwrap_err();
    assert!(error.is_unavailable(), "{error}");
    drop(first);
    EmbeddedStore::open(&folder.0).unwrap();
}

#[tokio::test]
async fn expired_items_are_deleted_on_demand_and_told_so() {
    let store = EmbeddedStore::memory().unwrap();
    let mut spec = TableSpec::new("things", KeySchema::partition("id", KeyType::String));
    spec.stream = Some(StreamView::Both);
    spec.ttl = Some("expires".to_owned());
    store.create_table(&spec).await.unwrap();
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs() as i64;
    for (id, expires) in [("past", now - 10), ("future", now + 1000)] {
        let put = PutRequest {
            table: "things".to_owned(),
            item: singlet_item::Item::from([("id".to_owned(), id.into()), ("expires".to_owned(), expires.into())]),
            ..PutRequest::default()
        };
        store.put(&put).await.unwrap();
    }
    assert_eq!(store.delete_expired().await.unwrap(), 1);
    let stream = StreamRequest {
        table: "things".to_owned(),
        position: StreamPosition::Start,
        limit: 10,
    };
    let records = store.read_stream(&stream).await.unwrap().records;
    assert_eq!(
        records.iter().map(|record| record.expired).collect::<Vec<_>>(),
        [false, false, true]
    );
}

#[tokio::test]
async fn a_key_of_an_index_is_no_longer_than_one_of_a_table() {
    let store = EmbeddedStore::memory().unwrap();
    let mut spec = TableSpec::new("things", KeySchema::partition("id", KeyType::String));
    spec.indexes.push(IndexSpec {
        name: "index".to_owned(),
        kind: IndexKind::Global,
        key: KeySchema::partition("p", KeyType::String).sort("s", KeyType::String),
        projection: IndexProjection::All,
        units: None,
    });
    store.create_table(&spec).await.unwrap();
    let put = async |p: usize, s: usize| {
        let item = [("id", "a".to_owned()), ("p", "p".repeat(p)), ("s", "s".repeat(s))];
        let item = item.map(|(name, value)| (name.to_owned(), value.into()));
        let request = PutRequest {
            table: "things".to_owned(),
            item: singlet_item::Item::from(item),
            ..PutRequest::default()
        };
        store.put(&request).await.map(drop)
    };
    let update = async |name: &str, length: usize| {
        let request = UpdateRequest {
            table: "things".to_owned(),
            key: singlet_item::Item::from([("id".to_owned(), "a".into())]),
            update: Update::new().set(name, "x".repeat(length)),
            ..UpdateRequest::default()
        };
        store.update(&request).await.map(drop)
    };
    put(PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX).await.unwrap();
    for refused in [
        put(PARTITION_KEY_BYTES_MAX + 1, 1).await,
        put(1, SORT_KEY_BYTES_MAX + 1).await,
        update("p", PARTITION_KEY_BYTES_MAX + 1).await,
        update("s", SORT_KEY_BYTES_MAX + 1).await,
    ] {
        let error = refused.unwrap_err();
        assert!(error.is_too_large(), "{error}");
    }
    update("p", PARTITION_KEY_BYTES_MAX).await.unwrap();
    update("s", SORT_KEY_BYTES_MAX).await.unwrap();
}

/// A folder of its own, deleted at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("singlet-store-embedded-{}-{count}", std::process::id())))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
