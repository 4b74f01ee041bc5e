//! How fast changes come into a lake in a folder, how many bytes each takes there beside JSON lines, and what putting files together costs.
//!
//! `cargo run --profile long -p singlet-lake --example append_speed [CHANGES]`
#![allow(clippy::print_stdout, reason = "what it measures is printed")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use singlet_changes::{ChangeReader, ChangeSource, Told};
use singlet_item::{Item, Value};
use singlet_lake::{LakeFollower, LocalFiles};
use singlet_model::{Model, Source};
use singlet_runtime::table;
use singlet_store::{PutRequest, Store, StreamPosition};
use singlet_store_embedded::EmbeddedStore;

const MODEL: &str = r#"
singlet: 1
name: speed
table: {name: speed, key: {partition: PK, sort: SK}, type: kind, stream: both_images}
types:
  Status: {enum: [pending, in_progress, completed]}
entities:
  Task:
    attributes:
      userId: string 1..40
      taskId: string 1..40
      title: string 1..200
      status: Status
      category: string 1..50
      created: seconds
      due: date
    key: {PK: "TASK#{userId}", SK: "TASK#{taskId}"}
"#;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let changes = std::env::args().nth(1).map_or(Ok(200_000), |text| text.parse())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(measure(changes))
}

fn task(number: usize) -> Item {
    let statuses = ["pending", "in_progress", "completed"];
    let text = |name: &str, value: String| (name.to_owned(), Value::S(value));
    let user = format!("user-{:05}", number * 7_919 % 5_003);
    Item::from([
        text("PK", format!("TASK#{user}")),
        text("SK", format!("TASK#{number:026}")),
        text("kind", "Task".to_owned()),
        text("userId", user),
        text("taskId", format!("{number:026}")),
        text("title", format!("Write the letter number {} and send it", number % 977)),
        text(
            "status",
            statuses
                .get(number % 3)
                .map_or_else(String::new, |status| (*status).to_owned()),
        ),
        text("category", format!("category {}", number % 23)),
        (
            "created".to_owned(),
            Value::N(i64::try_from(1_760_000_000 + number).unwrap_or_default().into()),
        ),
        text("due", format!("2026-{:02}-{:02}", 1 + number % 12, 1 + number % 28)),
    ])
}

async fn measure(changes: usize) -> Outcome<()> {
    let loaded = singlet_model::load_source(&Source::new("model.yaml", MODEL.to_owned()));
    let model: Arc<Model> = Arc::new(loaded.model.ok_or("the model has errors")?);
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::memory()?);
    store.create_table(&table::table_spec(&model)).await?;
    let source: Arc<dyn ChangeSource> = Arc::new(Arc::clone(&store));
    let folder = std::env::temp_dir().join(format!("singlet-lake-speed-{}", std::process::id()));
    let files = Arc::new(LocalFiles::new(folder.clone()));
    let mut lake = LakeFollower::new(files, Arc::clone(&model), Arc::clone(&source), 0);
    let began = Instant::now();
    let now = || 1_794_830_400_000 + i64::try_from(began.elapsed().as_millis()).unwrap_or_default();
    while !lake.is_at_head() {
        lake.follow_page(&now).await?;
    }
    let mut tidied: Vec<(usize, Duration)> = Vec::new();
    let mut following = Duration::ZERO;
    for half in 0..2 {
        for number in changes / 2 * half..changes / 2 * (half + 1) {
            let request = PutRequest {
                table: model.table.name.clone(),
                item: task(number),
                ..PutRequest::default()
            };
            store.put(&request).await?;
        }
        let begun = Instant::now();
        let mut read = 0;
        while read < changes / 2 {
            read += lake.follow_page(&now).await?.records;
        }
        lake.flush_waiting(now()).await?;
        following += begun.elapsed();
        let begun = Instant::now();
        lake.tidy(now()).await?;
        tidied.push((changes / 2 * (half + 1), begun.elapsed()));
    }
    let mut reader = ChangeReader::new(Arc::clone(&model), source, StreamPosition::Start);
    let mut json_bytes = 0;
    while !reader.is_at_head() {
        for told in reader.next_page().await?.told {
            if let Told::Change(change) = told {
                json_bytes += change.to_json().len() + 1;
            }
        }
    }
    let in_lake = bytes_under(&folder.join("Task_changes"))?;
    let rate = changes as f64 / following.as_secs_f64();
    println!("{changes} changes followed into both tables in {following:.2?}: {rate:.0} a second");
    println!(
        "bytes a change: {:.1} in `Task_changes`, {:.1} as JSON lines",
        in_lake as f64 / changes as f64,
        json_bytes as f64 / changes as f64
    );
    for (changes, time) in tidied {
        println!("tidied after {changes} changes: {time:.2?}");
    }
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// The bytes of the data files of a table.
fn bytes_under(folder: &Path) -> Outcome<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let known = entry?.metadata()?;
        bytes += if known.is_file() { known.len() } else { 0 };
    }
    Ok(bytes)
}
