//! A table of many rows on the disk: another key, a guard that names it, a value that is filled, and an index.
//!
//! `SINGLET_ROWS=1000000 cargo test --profile long -p singlet-migrate --test migrate million -- --ignored --nocapture` prints how long
//! each phase took.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use singlet_migrate::{MigrateOptions, MigrateProgress, Migrator};
use singlet_runtime::{MigrationPhase, load};
use singlet_store::Store;
use singlet_store_embedded::EmbeddedStore;

use super::support::{NOW, Table, open_to_write};

const OLD: &str = r#"
singlet: 1
name: notes
table: {name: TABLE, key: {partition: PK, sort: SK}, type: kind}
entities:
  Note:
    attributes:
      user: string 1..20
      number: int 0..9999999
      topic: string 1..20
      text: string 1..300
    key: {PK: "USER#{user}", SK: "NOTE#{number}"}
"#;

/// The most that it may take.
const MINUTES_MAX: u64 = 15;

/// Rows that are loaded at a time.
const LOADED_ROWS: usize = 20_000;

fn rows() -> usize {
    let asked = std::env::var("SINGLET_ROWS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(20_000)
}

fn lines(from: usize, to: usize) -> String {
    let text = "A line of some length, as people write them when they have something to say. ".repeat(3);
    let mut lines = String::new();
    for number in from..to {
        let (user, topic) = (number % 1000, number % 7);
        let note = format!(r#""user": "u{user}", "number": {number}, "topic": "t{topic}", "text": "{text}""#);
        let _ = writeln!(lines, "{{\"Note\": {{{note}}}}}");
    }
    lines
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes with as many rows as it is for"]
async fn a_million_rows_are_migrated_in_time() {
    let folder = std::env::temp_dir().join(format!("singlet-million-{}", std::process::id()));
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(&folder).unwrap());
    let table = Table::named(Arc::clone(&store));
    let old = table.engine(OLD);
    open_to_write(&old).await.unwrap();
    let began = Instant::now();
    for from in (0..rows()).step_by(LOADED_ROWS) {
        let to = (from + LOADED_ROWS).min(rows());
        load::load_text(&old, &lines(from, to), NOW).await.unwrap();
    }
    println!("{} rows loaded in {:.1} s", rows(), began.elapsed().as_secs_f64());
    let new = OLD
        .replace("SK: \"NOTE#{number}\"", "SK: \"N#{number}\"")
        .replace(
            "type: kind}",
            "type: kind, indexes: {GSI1: {partition: GSI1PK, sort: GSI1SK}}}",
        )
        .replace(
            "text: string 1..300",
            "text: string 1..300\n      size: {type: int 0..999, fill: length(text)}",
        )
        + "    index: {GSI1: {GSI1PK: \"TOPIC#{topic}\", GSI1SK: \"{number}\"}}\n";
    let new = table.engine(&new);
    let phases: Mutex<Vec<(MigrationPhase, Duration)>> = Mutex::default();
    let began = Instant::now();
    let tell = |progress: MigrateProgress| {
        let mut phases = phases.lock().unwrap();
        match phases.last_mut() {
            Some((phase, at)) if *phase == progress.phase => *at = began.elapsed(),
            _ => phases.push((progress.phase, began.elapsed())),
        }
    };
    let migrator = Migrator::new((&old, &new), MigrateOptions::default(), &|| NOW, &tell);
    let plan = migrator.migration_plan().await.unwrap();
    println!("planned after {:.1} s", began.elapsed().as_secs_f64());
    let ended = migrator.run().await.unwrap();
    let took = began.elapsed();
    for (phase, at) in phases.lock().unwrap().iter() {
        println!("{} until {:.1} s", phase.word(), at.as_secs_f64());
    }
    let consumed = ended.consumed.total_units().write.get();
    let planned = plan.write_units();
    println!(
        "in all {:.1} s, {planned} write units planned, {consumed} consumed",
        took.as_secs_f64()
    );
    assert_eq!(planned, consumed);
    open_to_write(&new).await.unwrap();
    drop((old, new, table, store));
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(took < Duration::from_secs(MINUTES_MAX * 60), "{took:?}");
}
