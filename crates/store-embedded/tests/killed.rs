//! A process is killed while it makes tables, fills them, adds indexes and removes tables: what was acknowledged is there afterwards, each
//! table is there whole or not at all, and items, indexes and changes agree.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, and its other process says how far it came"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use singlet_item::{Item, Value};
use singlet_store::{
    IndexKind, IndexProjection, IndexSpec, KeyRange, KeySchema, KeyType, PutRequest, QueryRequest, ScanRequest, Store,
    StreamPosition, StreamRequest, StreamView, TableChange, TableSpec, TableStatus,
};
use singlet_store_embedded::EmbeddedStore;

/// Where the process that is killed makes its tables; the test passes it on.
const FOLDER: &str = "SINGLET_KILLED_FOLDER";
/// Which run it is.
const RUN: &str = "SINGLET_KILLED_RUN";
/// How often a process is killed, unless `SINGLET_KILLS` says otherwise.
const KILLS_USUAL: u32 = 25;
/// How many rows a table gets before an index is added: more than a step of filling it takes.
const ROWS: i64 = 600;
const LATE: &str = "late";

fn index(name: &str) -> IndexSpec {
    IndexSpec {
        name: format!("by-{name}"),
        kind: IndexKind::Global,
        key: KeySchema::partition(name, KeyType::String),
        projection: IndexProjection::All,
        units: None,
    }
}

fn spec(name: &str, with_late: bool) -> TableSpec {
    let mut spec = TableSpec::new(name, KeySchema::partition("id", KeyType::Number));
    spec.indexes = ["a", "b"].map(index).to_vec();
    if with_late {
        spec.indexes.push(index(LATE));
    }
    spec.ttl = Some("ends".to_owned());
    spec.stream = Some(StreamView::Both);
    spec
}

fn row(id: i64) -> Item {
    let text = |name: &str| (name.to_owned(), Value::S("x".to_owned()));
    let mut row = Item::from([text("a"), text("b"), text(LATE)]);
    row.insert("id".to_owned(), id.into());
    row
}

/// What the killed process said it had done.
#[derive(Debug, Default)]
struct Said {
    made: Vec<String>,
    removed: Vec<String>,
    /// The last row that was put into a table.
    rows: BTreeMap<String, i64>,
    /// Tables whose index was added.
    late: BTreeSet<String>,
}

#[tokio::test]
async fn a_killed_process_leaves_nothing_by_half() {
    let folder = Folder::new();
    let kills = std::env::var("SINGLET_KILLS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(KILLS_USUAL);
    let (mut by_half, mut rows) = (0, 0);
    for run in 0..kills {
        let said = killed(&folder.0, run);
        rows += said.rows.values().sum::<i64>();
        let store = EmbeddedStore::open(&folder.0).unwrap();
        let tables: BTreeSet<String> = store.list_tables().await.unwrap().into_iter().collect();
        for name in said.made.iter().filter(|name| !said.removed.contains(name)) {
            // The one that was made last may be on its way out again.
            let last = said.made.last() == Some(name);
            assert!(
                tables.contains(name) || last,
                "run {run}: `{name}` was made and is not there"
            );
        }
        for name in &said.removed {
            assert!(!tables.contains(name), "run {run}: `{name}` was removed and is there");
        }
        for name in &tables {
            by_half += usize::from(check(&store, name, &said, run).await);
            store.delete_table(name).await.unwrap();
        }
    }
    assert!(
        by_half > 0 && rows > 0,
        "{by_half} tables on their way and {rows} rows: too few to say anything"
    );
}

/// Whether it was on its way when the process was killed.
async fn check(store: &EmbeddedStore, table: &str, said: &Said, run: u32) -> bool {
    let found = store.describe_table(table).await.unwrap();
    let with_late = found.spec.indexes.len() == 3;
    assert_eq!(found.spec, spec(table, with_late), "run {run}");
    assert_eq!(found.status, TableStatus::Active, "run {run}: `{table}`");
    assert!(
        with_late || !said.late.contains(table),
        "run {run}: the index of `{table}` was added and is not there"
    );
    let rows = all_rows(store, table).await;
    let acknowledged = said.rows.get(table).copied().unwrap_or(0);
    // Rows are put one after the other, so that at most one more than was said is there.
    let count = i64::try_from(rows.len()).unwrap();
    assert!(
        count == acknowledged || count == acknowledged + 1,
        "run {run}: {count} rows, {acknowledged} acknowledged"
    );
    assert_eq!(found.item_count, rows.len() as u64);
    for (id, found) in rows.iter().enumerate() {
        assert_eq!(*found, row(i64::try_from(id).unwrap()), "run {run}: `{table}`");
    }
    let indexes = ["a", "b", LATE].into_iter().filter(|name| *name != LATE || with_late);
    for name in indexes {
        let mut request = QueryRequest::new(table, KeyRange::partition(name, "x"));
        request.index = Some(format!("by-{name}"));
        assert_eq!(
            store.query(&request).await.unwrap().items,
            rows,
            "run {run}: `{table}` by `{name}`"
        );
    }
    let stream = StreamRequest {
        table: table.to_owned(),
        position: StreamPosition::Start,
        limit: 1000,
    };
    let told = store.read_stream(&stream).await.unwrap().records;
    let told: Vec<Item> = told.into_iter().filter_map(|record| record.new).collect();
    assert_eq!(told, rows, "run {run}: the changes of `{table}`");
    count < ROWS || with_late
}

async fn all_rows(store: &EmbeddedStore, table: &str) -> Vec<Item> {
    let scan = ScanRequest {
        table: table.to_owned(),
        ..ScanRequest::default()
    };
    let mut rows = store.scan(&scan).await.unwrap().items;
    rows.sort_by_key(|row| row["id"].clone());
    rows
}

/// Runs a process that makes and removes tables, and kills it somewhere.
fn killed(folder: &Path, run: u32) -> Said {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["makes_and_removes_tables", "--exact", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .env(RUN, run.to_string())
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
    std::thread::sleep(Duration::from_millis(u64::from(run) * 67 % 1500 + 5));
    child.kill().unwrap();
    child.wait().unwrap();
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    let whole = rest.rfind('\n').map_or("", |end| rest.get(..end).unwrap_or_default());
    let mut said = Said::default();
    for line in whole.lines() {
        match line.split(' ').collect::<Vec<_>>().as_slice() {
            ["made", name] => said.made.push((*name).to_owned()),
            ["removed", name] => said.removed.push((*name).to_owned()),
            ["put", name, count] => {
                said.rows.insert((*name).to_owned(), count.parse().unwrap());
            }
            ["added", name] => {
                said.late.insert((*name).to_owned());
            }
            _ => {}
        }
    }
    said
}

#[tokio::test]
#[ignore = "the other test runs it in a process of its own"]
async fn makes_and_removes_tables() {
    let (Ok(folder), Ok(run)) = (std::env::var(FOLDER), std::env::var(RUN)) else {
        return;
    };
    let store = EmbeddedStore::open(Path::new(&folder)).unwrap();
    let say = |line: String| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "\n{line}").unwrap();
        out.flush().unwrap();
    };
    say("begins".to_owned());
    for number in 0..1_000 {
        let name = format!("t-{run}-{number}");
        store.create_table(&spec(&name, false)).await.unwrap();
        say(format!("made {name}"));
        for id in 0..ROWS {
            let put = PutRequest {
                table: name.clone(),
                item: row(id),
                ..PutRequest::default()
            };
            store.put(&put).await.unwrap();
            say(format!("put {name} {}", id + 1));
        }
        let add = TableChange::AddIndex(index(LATE));
        store.update_table(&name, &add).await.unwrap();
        say(format!("added {name}"));
        if number % 2 == 1 {
            store.delete_table(&name).await.unwrap();
            say(format!("removed {name}"));
        }
    }
}

/// A folder of its own that goes with its test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("singlet-killed-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
