//! Folders of before are taken over: every row, what tables are, and the changes of the last day.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::Connection;
use singlet_item::{Item, Value};
use singlet_store::{
    Billing, IndexKind, IndexProjection, KeyRange, QueryRequest, ScanRequest, Store, StreamEvent, StreamPosition,
    StreamRequest, StreamView,
};
use singlet_store_embedded::{EmbeddedStore, OLD_FILE, OLD_FILE_KEPT};

/// As the engine of before made it.
const SCHEMA: &str = "
    PRAGMA journal_mode = WAL;
    CREATE TABLE _config (key TEXT PRIMARY KEY, value TEXT NOT NULL);
    INSERT INTO _config VALUES ('schema_version', '11');
    CREATE TABLE _tables (table_name TEXT PRIMARY KEY, key_schema TEXT NOT NULL, attribute_definitions TEXT NOT NULL,
        gsi_definitions TEXT, lsi_definitions TEXT, stream_enabled INTEGER DEFAULT 0, stream_view_type TEXT, stream_label TEXT,
        ttl_attribute TEXT, ttl_enabled INTEGER DEFAULT 0, created_at INTEGER NOT NULL,
        table_status TEXT NOT NULL DEFAULT 'ACTIVE', billing_mode TEXT DEFAULT 'PAY_PER_REQUEST', provisioned_throughput TEXT,
        tags TEXT, sse_specification TEXT, table_class TEXT, deletion_protection_enabled INTEGER DEFAULT 0,
        on_demand_throughput TEXT, table_id TEXT, vector_index_definitions TEXT);
    CREATE TABLE _stream_records (id INTEGER PRIMARY KEY AUTOINCREMENT, table_name TEXT NOT NULL, event_name TEXT NOT NULL,
        keys_json TEXT NOT NULL, new_image TEXT, old_image TEXT, sequence_number TEXT NOT NULL, shard_id TEXT NOT NULL,
        created_at INTEGER NOT NULL, user_identity TEXT, event_id TEXT);
    CREATE TABLE \"things\" (pk TEXT NOT NULL, sk TEXT NOT NULL DEFAULT '', item_json TEXT NOT NULL, item_size INTEGER NOT NULL,
        cached_at REAL, hash_prefix TEXT NOT NULL DEFAULT '', PRIMARY KEY (pk, sk));
    CREATE TABLE \"half\" (pk TEXT NOT NULL, sk TEXT NOT NULL DEFAULT '', item_json TEXT NOT NULL, item_size INTEGER NOT NULL,
        cached_at REAL, hash_prefix TEXT NOT NULL DEFAULT '', PRIMARY KEY (pk, sk));
    INSERT INTO _tables (table_name, key_schema, attribute_definitions, created_at) VALUES ('half',
        '[{\"AttributeName\":\"id\",\"KeyType\":\"HASH\"}]', '[{\"AttributeName\":\"id\",\"AttributeType\":\"S\"}]', 1);
    INSERT INTO _tables (table_name, key_schema, attribute_definitions, gsi_definitions, lsi_definitions, stream_enabled,
        stream_view_type, ttl_attribute, ttl_enabled, created_at, billing_mode, provisioned_throughput) VALUES ('things',
        '[{\"AttributeName\":\"p\",\"KeyType\":\"HASH\"},{\"AttributeName\":\"s\",\"KeyType\":\"RANGE\"}]',
        '[{\"AttributeName\":\"p\",\"AttributeType\":\"S\"},{\"AttributeName\":\"s\",\"AttributeType\":\"N\"},{\"AttributeName\":\"g\",\"AttributeType\":\"S\"},{\"AttributeName\":\"x\",\"AttributeType\":\"B\"}]',
        '[{\"IndexName\":\"by-g\",\"KeySchema\":[{\"AttributeName\":\"g\",\"KeyType\":\"HASH\"},{\"AttributeName\":\"s\",\"KeyType\":\"RANGE\"}],\"Projection\":{\"ProjectionType\":\"INCLUDE\",\"NonKeyAttributes\":[\"x\"]},\"ProvisionedThroughput\":{\"ReadCapacityUnits\":5,\"WriteCapacityUnits\":3}}]',
        '[{\"IndexName\":\"by-x\",\"KeySchema\":[{\"AttributeName\":\"p\",\"KeyType\":\"HASH\"},{\"AttributeName\":\"x\",\"KeyType\":\"RANGE\"}],\"Projection\":{\"ProjectionType\":\"ALL\"}}]',
        1, 'NEW_AND_OLD_IMAGES', 'ends', 1, 1790000000, 'PROVISIONED', '{\"ReadCapacityUnits\":5,\"WriteCapacityUnits\":3}');";

const ROWS: i64 = 1300;

fn row(number: i64) -> Item {
    let partition = if number % 2 == 0 { "b\0é" } else { "a" };
    Item::from([
        ("p".to_owned(), partition.into()),
        ("s".to_owned(), number.into()),
        ("g".to_owned(), format!("g{}", number % 3).into()),
        ("ends".to_owned(), (4_000_000_000 + number).into()),
        (
            "x".to_owned(),
            Value::B(vec![0, u8::try_from(number % 250).unwrap(), 255]),
        ),
        ("set".to_owned(), Value::Ns([1_i64.into(), number.into()].into())),
        (
            "deep".to_owned(),
            vec![Value::Null, vec![Value::from(true)].into()].into(),
        ),
    ])
}

fn json(item: &Item) -> String {
    serde_json::to_string(item).unwrap()
}

fn now_seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_secs()).unwrap()
}

/// A folder of before.
fn old_folder() -> Folder {
    let folder = Folder::new();
    std::fs::create_dir_all(&folder.0).unwrap();
    let mut connection = Connection::open(folder.0.join(OLD_FILE)).unwrap();
    connection.execute_batch(SCHEMA).unwrap();
    let transaction = connection.transaction().unwrap();
    for number in 0..ROWS {
        let item = row(number);
        let insert = "INSERT INTO \"things\" (pk, sk, item_json, item_size) VALUES (?1, ?2, ?3, 1)";
        transaction
            .execute(insert, (json(&item), number.to_string(), json(&item)))
            .unwrap();
    }
    let tell = |event: &str, key: i64, old: Option<&Item>, new: Option<&Item>, at: i64, identity: Option<&str>| {
        let key = Item::from([("p".to_owned(), "a".into()), ("s".to_owned(), key.into())]);
        let insert = "INSERT INTO _stream_records (table_name, event_name, keys_json, old_image, new_image, sequence_number, \
                      shard_id, created_at, user_identity) VALUES ('things', ?1, ?2, ?3, ?4, ?5, 'x', ?6, ?7)";
        static SEQUENCE: AtomicU64 = AtomicU64::new(9);
        let sequence = SEQUENCE.fetch_add(1, Ordering::Relaxed).to_string();
        let images = (old.map(json), new.map(json));
        transaction
            .execute(insert, (event, json(&key), images.0, images.1, sequence, at, identity))
            .unwrap();
    };
    let (one, now) = (row(1), now_seconds());
    tell("INSERT", 1, None, Some(&one), now - 100_000, None);
    tell("INSERT", 3, None, Some(&row(3)), now - 100, None);
    tell("MODIFY", 3, Some(&row(3)), Some(&row(3)), now - 90, None);
    tell("REMOVE", 5, Some(&one), None, now - 80, Some("{}"));
    transaction.commit().unwrap();
    std::fs::write(folder.0.join("half.unfinished"), "removing").unwrap();
    folder
}

async fn all_rows(store: &EmbeddedStore) -> Vec<Item> {
    let scan = ScanRequest {
        table: "things".to_owned(),
        ..ScanRequest::default()
    };
    let mut rows = store.scan(&scan).await.unwrap().items;
    rows.sort_by_key(|row| row["s"].clone());
    rows
}

#[tokio::test]
async fn everything_of_a_folder_of_before_is_there_and_its_file_is_kept() {
    let folder = old_folder();
    let mut told = Vec::new();
    let store = EmbeddedStore::open_with_progress(&folder.0, &mut |progress| told.push(progress.clone())).unwrap();
    assert_eq!(store.list_tables().await.unwrap(), ["things"]);
    let expected: Vec<Item> = (0..ROWS).map(row).collect();
    assert_eq!(all_rows(&store).await, expected);
    let spec = store.describe_table("things").await.unwrap().spec;
    assert_eq!(
        (spec.ttl.as_deref(), spec.stream),
        (Some("ends"), Some(StreamView::Both))
    );
    assert_eq!(
        spec.billing,
        Billing::Provisioned {
            read_units: 5,
            write_units: 3
        }
    );
    assert_eq!(
        spec.indexes[0].projection,
        IndexProjection::Include(vec!["x".to_owned()])
    );
    assert_eq!(spec.indexes[1].kind, IndexKind::Local);
    let mut by_g = QueryRequest::new("things", KeyRange::partition("g", "g1"));
    by_g.index = Some("by-g".to_owned());
    assert_eq!(store.query(&by_g).await.unwrap().count as i64, (ROWS + 1) / 3);
    let stream = StreamRequest {
        table: "things".to_owned(),
        position: StreamPosition::Start,
        limit: 1000,
    };
    let records = store.read_stream(&stream).await.unwrap().records;
    let seen: Vec<_> = records.iter().map(|record| (record.event, record.expired)).collect();
    assert_eq!(seen, [(StreamEvent::Insert, false), (StreamEvent::Remove, true)]);
    assert_eq!(records[0].new, Some(row(3)));
    let of_before = StreamRequest {
        position: StreamPosition::After("11".to_owned()),
        ..stream
    };
    assert!(store.read_stream(&of_before).await.unwrap_err().is_position_lost());
    let last = told.last().unwrap();
    let rows = ROWS.unsigned_abs();
    assert_eq!((last.copied_rows, last.compared_rows, last.rows), (rows, rows, rows));
    drop(store);
    assert!(!folder.0.join(OLD_FILE).exists() && folder.0.join(OLD_FILE_KEPT).exists());
    assert!(!folder.0.join("half.unfinished").exists());
    let store = EmbeddedStore::open(&folder.0).unwrap();
    assert_eq!(all_rows(&store).await, expected);
}

#[tokio::test]
async fn what_failed_halfway_begins_again() {
    let folder = old_folder();
    let file = folder.0.join(OLD_FILE);
    let connection = Connection::open(&file).unwrap();
    let spoil = "INSERT INTO \"things\" (pk, sk, item_json, item_size) VALUES ('zz', '', 'no item', 1)";
    connection.execute(spoil, ()).unwrap();
    assert!(EmbeddedStore::open(&folder.0).unwrap_err().is_unavailable());
    assert!(file.exists());
    // The file goes on to be used by the version before.
    connection
        .execute("DELETE FROM \"things\" WHERE pk = 'zz'", ())
        .unwrap();
    connection.execute("DELETE FROM \"things\" WHERE sk = '0'", ()).unwrap();
    drop(connection);
    let store = EmbeddedStore::open(&folder.0).unwrap();
    assert_eq!(all_rows(&store).await, (1..ROWS).map(row).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_folder_with_rows_of_its_own_is_not_overwritten() {
    let folder = old_folder();
    let store = EmbeddedStore::open(&folder.0).unwrap();
    drop(store);
    std::fs::copy(folder.0.join(OLD_FILE_KEPT), folder.0.join(OLD_FILE)).unwrap();
    let error = EmbeddedStore::open(&folder.0).unwrap_err();
    assert!(error.message().contains("tables of its own"), "{error}");
    std::fs::remove_file(folder.0.join(OLD_FILE)).unwrap();
    let store = EmbeddedStore::open(&folder.0).unwrap();
    assert_eq!(all_rows(&store).await.len(), usize::try_from(ROWS).unwrap());
}

#[tokio::test]
async fn a_folder_that_a_version_of_before_has_open_is_left_alone() {
    let folder = old_folder();
    let lock = std::fs::File::create(folder.0.join("singlet.lock")).unwrap();
    lock.try_lock().unwrap();
    let error = EmbeddedStore::open(&folder.0).unwrap_err();
    assert!(error.message().contains("open in another process"), "{error}");
    assert!(folder.0.join(OLD_FILE).exists());
    drop(lock);
    EmbeddedStore::open(&folder.0).unwrap();
}

/// A folder of its own, deleted at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("singlet-takeover-{}-{count}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
