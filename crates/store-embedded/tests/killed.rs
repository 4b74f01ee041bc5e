//! A process is killed while it makes and removes tables: each is there whole afterwards, or not at all.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and its other process says how far it came"
)]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use singlet_item::{Item, Value};
use singlet_store::{
    IndexKind, IndexProjection, IndexSpec, KeyRange, KeySchema, KeyType, PutRequest, QueryRequest, Store, TableSpec,
};
use singlet_store_embedded::EmbeddedStore;

/// Where the process that is killed makes its tables; the test passes it on.
const FOLDER: &str = "SINGLET_KILLED_FOLDER";
/// Which run it is.
const RUN: &str = "SINGLET_KILLED_RUN";
/// How often a process is killed.
const KILLS: u32 = 40;

fn spec(name: &str) -> TableSpec {
    let mut spec = TableSpec::new(name, KeySchema::partition("id", KeyType::String));
    spec.indexes = ["a", "b", "c", "d"]
        .map(|name| IndexSpec {
            name: name.to_owned(),
            kind: IndexKind::Global,
            key: KeySchema::partition(name, KeyType::String),
            projection: IndexProjection::All,
        })
        .to_vec();
    spec.ttl = Some("ends".to_owned());
    spec
}

#[tokio::test]
async fn a_killed_process_leaves_no_table_by_half() {
    let folder = Folder::new();
    let mut made_by_half = 0;
    for run in 0..KILLS {
        let (made, removed) = killed(&folder.0, run);
        made_by_half += usize::from(std::fs::read_dir(&folder.0).unwrap().any(|entry| {
            let name = entry.unwrap().file_name();
            name.to_string_lossy().contains(".unfinished")
        }));
        let store = EmbeddedStore::open(&folder.0).unwrap();
        let tables: BTreeSet<String> = store.list_tables().await.unwrap().into_iter().collect();
        for name in made.iter().filter(|name| !removed.iter().any(|gone| gone == *name)) {
            let last = made.last() == Some(name);
            // The one that was made last may be on its way out again.
            assert!(
                tables.contains(name) || last,
                "run {run}: `{name}` was made and is not there"
            );
        }
        for name in &removed {
            assert!(!tables.contains(name), "run {run}: `{name}` was removed and is there");
        }
        for name in &tables {
            let found = store.describe_table(name).await.unwrap();
            assert_eq!(found.spec, spec(name), "run {run}");
            use_it(&store, name).await;
            store.delete_table(name).await.unwrap();
        }
        // What was not acknowledged can be made anew.
        let again = format!("t-{run}-{}", made.len());
        store.create_table(&spec(&again)).await.unwrap();
        use_it(&store, &again).await;
        store.delete_table(&again).await.unwrap();
    }
    assert!(
        made_by_half > 5,
        "{made_by_half} kills met a table on its way: too few to say anything"
    );
}

/// A row goes in, and is found through every index.
async fn use_it(store: &EmbeddedStore, table: &str) {
    let item: Item = ["id", "a", "b", "c", "d"]
        .into_iter()
        .map(|name| (name.to_owned(), Value::S("x".to_owned())))
        .collect();
    let put = PutRequest {
        table: table.to_owned(),
        item,
        ..PutRequest::default()
    };
    store.put(&put).await.unwrap();
    for index in ["a", "b", "c", "d"] {
        let mut request = QueryRequest::new(table, KeyRange::partition(index, "x"));
        request.index = Some(index.to_owned());
        assert_eq!(store.query(&request).await.unwrap().items.len(), 1, "{table} {index}");
    }
}

/// Runs a process that makes and removes tables, and kills it somewhere. Gives what it said it had made and removed.
fn killed(folder: &Path, run: u32) -> (Vec<String>, Vec<String>) {
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
    std::thread::sleep(Duration::from_millis(u64::from(run) * 7 % 150 + 1));
    child.kill().unwrap();
    child.wait().unwrap();
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    let whole = rest.rfind('\n').map_or("", |end| rest.get(..end).unwrap_or_default());
    let said = |word: &str| {
        whole
            .lines()
            .filter_map(|line| line.strip_prefix(word))
            .map(str::to_owned)
            .collect()
    };
    (said("made "), said("removed "))
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
        store.create_table(&spec(&name)).await.unwrap();
        say(format!("made {name}"));
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
