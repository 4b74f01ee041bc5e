//! A process is killed while several tasks write the same table, an index of it is filled and its changes are trimmed: what was
//! acknowledged is there, and items, index entries and changes agree. `SINGLET_KILLS=500` kills more often than the usual run.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use singlet_item::{Item, Value};
use singlet_store::{
    DeleteRequest, IndexKind, IndexProjection, IndexSpec, KeySchema, KeyType, ScanRequest, Store, StreamPosition,
    StreamRequest, StreamView, TableChange, TableSpec, Update, UpdateRequest,
};
use singlet_store_embedded::{EmbeddedStore, Retention};

/// Where the process that is killed writes; the test passes it on.
const FOLDER: &str = "SINGLET_KILLED_FOLDER";
const KILLS_USUAL: u64 = 10;
const TABLE: &str = "mixed";
const TASKS: i64 = 6;
/// So few bytes of changes are kept that they are trimmed all the time.
const CHANGES_BYTES_MAX: u64 = 20_000;

fn index(name: &str) -> IndexSpec {
    IndexSpec {
        name: name.to_owned(),
        kind: IndexKind::Global,
        key: KeySchema::partition("side", KeyType::String),
        projection: IndexProjection::All,
        units: None,
    }
}

fn key(task: i64, kind: &str) -> Item {
    Item::from([("task".to_owned(), task.into()), ("kind".to_owned(), kind.into())])
}

fn retention() -> Retention {
    Retention {
        bytes_max: CHANGES_BYTES_MAX,
        ..Retention::default()
    }
}

#[tokio::test]
async fn writes_amid_upkeep_survive_a_kill() {
    let folder = Folder::new();
    let kills = std::env::var("SINGLET_KILLS").map_or(KILLS_USUAL, |text| text.parse().unwrap());
    let mut said = BTreeMap::<i64, u64>::new();
    for run in 0..kills {
        for (task, version) in killed(&folder.0, run) {
            said.insert(task, version);
        }
        let store = EmbeddedStore::open(&folder.0).unwrap();
        check(&store, &said, run).await;
    }
    assert!(said.values().sum::<u64>() > 0, "nothing was acknowledged");
}

async fn check(store: &EmbeddedStore, said: &BTreeMap<i64, u64>, run: u64) {
    let rows = all_rows(store, None).await;
    for (task, acknowledged) in said {
        let version = rows[&key(*task, "counter")]["version"]
            .as_number()
            .unwrap()
            .to_u64()
            .unwrap();
        assert!(
            version >= *acknowledged,
            "run {run}: task {task} counted to {version}, {acknowledged} acknowledged"
        );
    }
    let described = store.describe_table(TABLE).await.unwrap();
    assert_eq!(described.item_count, rows.len() as u64, "run {run}");
    for index in &described.spec.indexes {
        assert_eq!(
            all_rows(store, Some(&index.name)).await,
            rows,
            "run {run}: {}",
            index.name
        );
    }
    let mut position = StreamPosition::Start;
    let mut told = BTreeMap::<Item, Option<Item>>::new();
    loop {
        let request = StreamRequest {
            table: TABLE.to_owned(),
            position,
            limit: 1000,
        };
        let page = store.read_stream(&request).await.unwrap();
        if page.records.is_empty() {
            break;
        }
        for record in page.records {
            if let Some(before) = told.insert(record.key, record.new) {
                assert_eq!(before, record.old, "run {run}: a change is missing");
            }
        }
        position = page.next;
    }
    for (key, last) in told {
        assert_eq!(rows.get(&key), last.as_ref(), "run {run}: the last change of {key:?}");
    }
}

async fn all_rows(store: &EmbeddedStore, index: Option<&str>) -> BTreeMap<Item, Item> {
    let scan = ScanRequest {
        table: TABLE.to_owned(),
        index: index.map(str::to_owned),
        ..ScanRequest::default()
    };
    let items = store.scan(&scan).await.unwrap().items;
    let with_key = |item: Item| {
        let key = item
            .clone()
            .into_iter()
            .filter(|(name, _)| name == "task" || name == "kind");
        (key.collect(), item)
    };
    items.into_iter().map(with_key).collect()
}

/// Runs a process that writes, and kills it somewhere. Answers how far each task said it had counted.
fn killed(folder: &Path, run: u64) -> BTreeMap<i64, u64> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["writes_until_killed", "--exact", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    while !first.starts_with("begins") {
        first.clear();
        assert!(output.read_line(&mut first).unwrap() > 0, "it ended before it began");
    }
    std::thread::sleep(Duration::from_millis(run * 67 % 700 + 5));
    child.kill().unwrap();
    child.wait().unwrap();
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    let whole = rest.rfind('\n').map_or("", |end| &rest[..end]);
    let mut said = BTreeMap::new();
    for line in whole.lines() {
        if let ["counted", task, version] = line.split(' ').collect::<Vec<_>>().as_slice() {
            said.insert(task.parse().unwrap(), version.parse().unwrap());
        }
    }
    said
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the test above runs it and kills it"]
async fn writes_until_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let store = Arc::new(EmbeddedStore::open(Path::new(&folder)).unwrap());
    store.keep_changes(retention());
    if store.list_tables().await.unwrap().is_empty() {
        let schema = KeySchema::partition("task", KeyType::Number).sort("kind", KeyType::String);
        let mut spec = TableSpec::new(TABLE, schema);
        spec.indexes = vec![index("by-side")];
        spec.stream = Some(StreamView::Both);
        store.create_table(&spec).await.unwrap();
    }
    say("begins");
    let mut tasks: Vec<_> = (0..TASKS)
        .map(|task| tokio::spawn(count(Arc::clone(&store), task)))
        .collect();
    tasks.push(tokio::spawn(keep_up(Arc::clone(&store))));
    for task in tasks {
        task.await.unwrap();
    }
}

/// Counts in one item, which moves between two partitions of the index, and makes and removes another.
async fn count(store: Arc<EmbeddedStore>, task: i64) {
    for turn in 0_u64.. {
        let side = if turn.is_multiple_of(2) { "left" } else { "right" };
        let update = |kind: &str| UpdateRequest {
            table: TABLE.to_owned(),
            key: key(task, kind),
            update: Update::new().add("version", 1_i64).set("side", side),
            returns: singlet_store::UpdateReturn::New,
            ..UpdateRequest::default()
        };
        let counted = store.update(&update("counter")).await.unwrap().attributes.unwrap();
        let version = counted.get("version").and_then(Value::as_number).unwrap();
        say(&format!("counted {task} {version}"));
        store.update(&update("other")).await.unwrap();
        if turn.is_multiple_of(3) {
            let delete = DeleteRequest {
                table: TABLE.to_owned(),
                key: key(task, "other"),
                ..DeleteRequest::default()
            };
            store.delete(&delete).await.unwrap();
        }
    }
}

/// Adds an index and removes it again, and trims.
async fn keep_up(store: Arc<EmbeddedStore>) {
    loop {
        let has_late = store.describe_table(TABLE).await.unwrap().spec.indexes.len() > 1;
        let change = match has_late {
            true => TableChange::RemoveIndex("late".to_owned()),
            false => TableChange::AddIndex(index("late")),
        };
        // A change that a process before left on its way is ended first.
        let _ = store.update_table(TABLE, &change).await;
        store.trim_changes(&retention()).await.unwrap();
        tokio::task::yield_now().await;
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{line}").unwrap();
    out.flush().unwrap();
}

/// A folder of its own that goes with its test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("singlet-killed-mixed-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
