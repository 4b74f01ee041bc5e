//! `serve --lake`, and `singlet lake` beside a service. What is in the tables, readers of Delta tables say: `scripts/lake-readers`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::running::{Folder, singlet};
use crate::serving::{Served, ask};

/// How long a change may take to be in the lake; it waits two seconds for others.
const WAIT_MAX: Duration = Duration::from_secs(60);

fn newest_batch(lake: &Path) -> Option<Value> {
    let batches = std::fs::read_dir(lake.join("_batches")).ok()?;
    let newest = batches.map(|entry| entry.unwrap().path()).max()?;
    serde_json::from_slice(&std::fs::read(newest).unwrap()).ok()
}

/// How many rows each snapshot of a lake had, the last at the end.
pub fn snapshots(lake: &Path) -> Vec<u64> {
    let Ok(batches) = std::fs::read_dir(lake.join("_batches")) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = batches.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: PathBuf| serde_json::from_slice::<Value>(&std::fs::read(path).ok()?).ok();
    let all = paths.into_iter().filter_map(read);
    let all = all.filter(|batch| batch["operation"] == "snapshot");
    all.map(|batch| batch["changes"].as_u64().unwrap_or_default()).collect()
}

/// How many rows a table of a lake has, by the statistics in its log.
pub fn rows_of_table(lake: &Path, table: &str) -> u64 {
    let Ok(log) = std::fs::read_dir(lake.join(table).join("_delta_log")) else {
        return 0;
    };
    let mut commits: Vec<PathBuf> = log.map(|entry| entry.unwrap().path()).collect();
    commits.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    commits.sort();
    let mut rows = BTreeMap::new();
    for commit in commits {
        let text = std::fs::read_to_string(commit).unwrap_or_default();
        for action in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            if let Some(path) = action["remove"]["path"].as_str() {
                rows.remove(path);
            }
            if let Some(path) = action["add"]["path"].as_str() {
                let stats = action["add"]["stats"].as_str().unwrap_or_default();
                let stats: Value = serde_json::from_str(stats).unwrap_or_default();
                rows.insert(path.to_owned(), stats["numRecords"].as_u64().unwrap_or_default());
            }
        }
    }
    rows.values().sum()
}

/// Waits for a batch of an operation that has something of a table.
fn wait_for_batch(lake: &Path, operation: &str, table: &str) -> Value {
    let begun = Instant::now();
    loop {
        let batch = newest_batch(lake);
        let is_meant = |batch: &Value| batch["operation"] == operation && batch["tables"][table].is_array();
        match batch.filter(is_meant) {
            Some(batch) => return batch,
            None => assert!(begun.elapsed() < WAIT_MAX, "no {operation} of {table}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_service_brings_changes_into_a_lake_and_another_lake_is_made_beside_it() {
    let folder = Folder::new("lakes");
    let served = Served::start(&folder, &["--lake", "lakes"]);
    let own = folder.path().join("lakes/todo");
    let snapshot = wait_for_batch(&own, "snapshot", "Task");
    let (header, _) = served.calls()[0].clone();
    let posted = ask(
        &served.address(),
        "POST",
        "/todo/api/v1/tasks",
        &header,
        r#"{"title": "new"}"#,
    );
    assert_eq!(posted.unwrap().0, 201);
    let appended = wait_for_batch(&own, "append", "Task_changes");
    assert_eq!(appended["lake"], snapshot["lake"]);
    assert!(appended["tables"]["Task"].is_array(), "{appended}");

    let beside = |to: &str| {
        let model: PathBuf = crate::repository().join("systems/todo/model.yaml");
        let output = singlet([
            "lake",
            "--store",
            "embedded:singlet-data",
            "--once",
            "--log",
            "off",
            "--to",
            to,
        ])
        .arg(model)
        .current_dir(folder.path())
        .output()
        .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let rows = appended["changes"].as_u64().unwrap();
    assert_eq!(
        beside("others"),
        format!("others/todo: {rows} rows brought, 0 do not fit\n")
    );
    assert_eq!(beside("others"), "others/todo: 0 rows brought, 0 do not fit\n");
}
