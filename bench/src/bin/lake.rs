//! The lake: how many changes a second it takes on a local disk, how soon after its commit a write can be asked for there, how many bytes a change
//! takes beside JSON lines, and what putting files together costs as they become more.
//!
//! `lake [--changes N] [--rows N] [--seconds N] [--batches N]`

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures_util::future::try_join_all;
use singlet_bench::error::{Failure, Outcome};
use singlet_bench::rounds::{self, met};
use singlet_changes::{ChangeReader, ChangeSource, Told};
use singlet_lake::{FileEntry, Lake, LakeFiles, LakeFollower, LocalFiles};
use singlet_model::{Model, Source};
use singlet_runtime::{Attributes, Caller, Engine, Value, WriteRequest};
use singlet_store::{PutRequest, Store, StreamPosition};
use singlet_store_embedded::{EmbeddedStore, Retention};

const MODEL: &str = include_str!("../lake.yaml");

/// How many changes a second are to come into the lake.
const CHANGES_GOAL: f64 = 50_000.0;

/// How soon a write is to be in the lake.
const QUERYABLE_GOAL: Duration = Duration::from_secs(10);

/// How much more a row may cost to put together where there are eight times as many.
const GROWTH_GOAL: f64 = 1.2;

/// How many writes a second are followed.
const WRITES_A_SECOND: u32 = 500;

/// How long the service waits at the head of the stream.
const HEAD_PAUSE: Duration = Duration::from_millis(250);

/// How often it is looked what the lake has.
const LOOK_PAUSE: Duration = Duration::from_millis(10);

/// How many changes a batch has where files are put together, and how many rows they are of.
const BATCH_CHANGES: usize = 100;
const COMPACTED_ROWS: usize = 500;

/// Rows that are put at once: they share what the disk takes.
const PUT_AT_ONCE: usize = 500;

/// After so many batches the follower looks whether files are to be put together.
const TIDY_BATCHES: usize = 16;

struct Options {
    changes: usize,
    rows: usize,
    seconds: u64,
    batches: usize,
}

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let measured = match Options::of(&args) {
        Ok(options) => {
            let place = std::env::var_os("SINGLET_BENCH_FOLDER").map_or_else(std::env::temp_dir, PathBuf::from);
            let folder = Folder(place.join(format!("singlet-bench-lake-{}", std::process::id())));
            measure(&options, &folder.0).await
        }
        Err(failure) => Err(failure),
    };
    rounds::exit(measured)
}

async fn measure(options: &Options, folder: &Path) -> Outcome<()> {
    measure_appending(options.changes, &folder.join("appended")).await?;
    measure_queryable(options, &folder.join("followed")).await?;
    measure_compaction(options.batches, &folder.join("compacted")).await
}

/// A table in memory or in a folder, and its model.
struct Bench {
    model: Arc<Model>,
    engine: Arc<Engine>,
    store: Arc<dyn Store>,
}

impl Bench {
    async fn open(store: Arc<dyn Store>) -> Outcome<Self> {
        let loaded = singlet_model::load_source(&Source::new("lake.yaml", MODEL.to_owned()));
        let model = loaded
            .model
            .ok_or_else(|| Failure(format!("{:?}", loaded.diagnostics)))?;
        let model = Arc::new(model);
        let engine = Engine::open(Arc::clone(&model), Arc::clone(&store), Attributes::new(), [1; 32]);
        engine.create_table().await?;
        Ok(Bench {
            model,
            engine: Arc::new(engine),
            store,
        })
    }

    fn source(&self) -> Arc<dyn ChangeSource> {
        Arc::new(Arc::clone(&self.store))
    }

    fn follower(&self, files: Arc<dyn LakeFiles>) -> LakeFollower {
        LakeFollower::new(files, Arc::clone(&self.model), self.source(), 0)
    }

    /// Stores a row as it is the first time, or a later one.
    async fn put(&self, number: usize, round: usize) -> Outcome<()> {
        let mut item = task(number, round);
        let key = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (user, id) = (key("user_id"), key("task_id"));
        item.insert("PK".to_owned(), Value::S(format!("TASK#{user}")));
        item.insert("SK".to_owned(), Value::S(format!("TASK#{id}")));
        item.insert("kind".to_owned(), Value::from("Task"));
        let request = PutRequest {
            table: self.model.table.name.clone(),
            item,
            ..PutRequest::default()
        };
        self.store.put(&request).await?;
        Ok(())
    }

    /// Writes through the engine: every second write makes a row, the others change one of those that were there.
    async fn write(&self, number: usize, rows: usize) -> Outcome<()> {
        let is_new = number.is_multiple_of(2);
        let mut args = task(if is_new { rows + number } else { number % rows }, number);
        let caller = args.remove("user_id").and_then(|user| user.as_str().map(str::to_owned));
        if !is_new {
            args.retain(|name, _| name == "task_id" || name == "title");
            // Another title for certain: a write that changes nothing is no change, and would be waited for.
            args.insert("title".to_owned(), Value::S(format!("Written anew by number {number}")));
        }
        let request = WriteRequest {
            args,
            caller: Caller::with_id(&caller.unwrap_or_default()),
            now: now(),
            ..WriteRequest::default()
        };
        self.engine
            .write(if is_new { "add" } else { "rename" }, &request)
            .await?;
        Ok(())
    }
}

/// A task; in later rounds it is another.
fn task(number: usize, round: usize) -> Attributes {
    let statuses = ["pending", "in_progress", "completed"];
    let text = |name: &str, value: String| (name.to_owned(), Value::S(value));
    Attributes::from([
        text("user_id", format!("user-{:05}", number * 7_919 % 5_003)),
        text("task_id", format!("{number:026}")),
        text(
            "title",
            format!("Write the letter number {} and send it", (number + round) % 977),
        ),
        text(
            "status",
            statuses
                .get((number + round) % 3)
                .map_or_else(String::new, |status| (*status).to_owned()),
        ),
        text("category", format!("category {}", number % 23)),
        (
            "created".to_owned(),
            Value::N(i64::try_from(1_760_000_000 + number).unwrap_or_default().into()),
        ),
        text(
            "due",
            format!("2026-{:02}-{:02}", 1 + number % 12, 1 + (number + round) % 28),
        ),
    ])
}

/// Follows rows that are made, and then as many changes of them, each of another row than the one before.
async fn measure_appending(changes: usize, folder: &Path) -> Outcome<()> {
    let store = EmbeddedStore::memory()?;
    // All of them: a follower that is behind what is kept takes a snapshot, and no changes.
    store.keep_changes(Retention::default());
    let bench = Bench::open(Arc::new(store)).await?;
    let mut lake = bench
        .follower(Arc::new(LocalFiles::new(folder.to_owned())))
        .with_kept_millis(0);
    follow_to_head(&mut lake).await?;
    for (round, what) in ["rows made", "rows changed"].into_iter().enumerate() {
        for number in 0..changes {
            bench.put(number * 7_919 % changes, round).await?;
        }
        let started = Instant::now();
        let followed = follow_to_head(&mut lake).await?;
        if followed < changes {
            return Err(Failure(format!("{followed} changes were followed, of {changes}")));
        }
        let rate = followed as f64 / started.elapsed().as_secs_f64();
        println!(
            "{followed} {what}, into both tables: {rate:.0} a second, goal {CHANGES_GOAL:.0} {}",
            met(rate >= CHANGES_GOAL)
        );
    }
    // Nothing of before is kept: what is there then is what the tables have.
    lake.tidy(i64::MAX).await?;
    let mut reader = ChangeReader::new(Arc::clone(&bench.model), bench.source(), StreamPosition::Start);
    let (mut told, mut json_bytes) = (0_usize, 0);
    while !reader.is_at_head() {
        for change in reader.next_page().await?.told {
            if let Told::Change(change) = change {
                told += 1;
                json_bytes += change.to_json().len() + 1;
            }
        }
    }
    let bytes = bytes_under(&folder.join("Task_changes"))?;
    println!(
        "bytes a change: {:.1} in `Task_changes`, {:.1} as JSON lines: {:.1} times",
        bytes as f64 / told as f64,
        json_bytes as f64 / told as f64,
        json_bytes as f64 / bytes as f64
    );
    Ok(())
}

async fn follow_to_head(lake: &mut LakeFollower) -> Outcome<usize> {
    let mut records = 0;
    loop {
        records += lake.follow_page(&now).await?.records;
        if lake.is_at_head() {
            lake.flush_waiting(now()).await?;
            return Ok(records);
        }
    }
}

/// Writes at a steady rate to a table in a folder, which has rows, while a lake follows as in a service; looks into the log of the lake how many changes
/// its table of changes has.
async fn measure_queryable(options: &Options, folder: &Path) -> Outcome<()> {
    let bench = Arc::new(Bench::open(Arc::new(EmbeddedStore::open(&folder.join("data"))?)).await?);
    for first in (0..options.rows).step_by(PUT_AT_ONCE) {
        let some = first..options.rows.min(first + PUT_AT_ONCE);
        try_join_all(some.map(|number| bench.put(number, 0))).await?;
    }
    let mut lake = bench.follower(Arc::new(LocalFiles::new(folder.join("lake"))));
    follow_to_head(&mut lake).await?;
    let log = folder.join("lake/Task_changes/_delta_log");
    let mut seen = SeenLog {
        log,
        version: 0,
        changes: 0,
    };
    seen.look()?;
    let before = seen.changes;
    let is_over = Arc::new(AtomicBool::new(false));
    let following = tokio::spawn({
        let is_over = Arc::clone(&is_over);
        async move {
            while !is_over.load(Ordering::Relaxed) {
                if lake.follow_page(&now).await?.records == 0 {
                    tokio::time::sleep(HEAD_PAUSE).await;
                }
            }
            Ok::<(), Failure>(())
        }
    });
    let writes = usize::try_from(options.seconds * u64::from(WRITES_A_SECOND))?;
    let writing = tokio::spawn(write_steadily(Arc::clone(&bench), writes, options.rows));
    // The lake has changes in the order of the stream: the first that is there is the first that was answered, but for writes at the same time.
    let mut there = Vec::with_capacity(writes);
    while there.len() < writes {
        seen.look()?;
        there.resize(usize::try_from(seen.changes - before)?, Instant::now());
        if following.is_finished() {
            return Err(Failure("nothing is followed any more".to_owned()));
        }
        tokio::time::sleep(LOOK_PAUSE).await;
    }
    is_over.store(true, Ordering::Relaxed);
    following.await??;
    let mut answered = writing.await??;
    answered.sort_unstable();
    let mut waited: Vec<Duration> = answered
        .iter()
        .zip(&there)
        .map(|(answered, there)| there.saturating_duration_since(*answered))
        .collect();
    waited.sort_unstable();
    let share = |percent: usize| {
        waited
            .get((waited.len() * percent / 100).min(waited.len() - 1))
            .copied()
    };
    let (Some(half), Some(most)) = (share(50), share(99)) else {
        return Err(Failure("nothing was written".to_owned()));
    };
    println!(
        "{writes} writes at {WRITES_A_SECOND} a second to {} rows, from the answer to the lake: p50 {:.2} s, p99 {:.2} s, goal {} s {}",
        options.rows,
        half.as_secs_f64(),
        most.as_secs_f64(),
        QUERYABLE_GOAL.as_secs(),
        met(most <= QUERYABLE_GOAL)
    );
    Ok(())
}

/// When each write was answered.
async fn write_steadily(bench: Arc<Bench>, writes: usize, rows: usize) -> Outcome<Vec<Instant>> {
    let mut pace = tokio::time::interval(Duration::from_secs(1) / WRITES_A_SECOND);
    let mut under_way = Vec::with_capacity(writes);
    for number in 0..writes {
        pace.tick().await;
        let bench = Arc::clone(&bench);
        under_way.push(tokio::spawn(async move {
            bench.write(number, rows).await.map(|()| Instant::now())
        }));
    }
    let mut answered = Vec::with_capacity(writes);
    for write in under_way {
        answered.push(write.await??);
    }
    Ok(answered)
}

/// What whoever reads the log of a table of changes has seen.
struct SeenLog {
    log: PathBuf,
    version: u64,
    changes: u64,
}

impl SeenLog {
    /// Reads the versions that came since, and counts the rows that they add.
    fn look(&mut self) -> Outcome<()> {
        loop {
            let text = match std::fs::read_to_string(self.log.join(format!("{:020}.json", self.version))) {
                Ok(text) => text,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            for line in text.lines() {
                let entry: serde_json::Value = serde_json::from_str(line)?;
                let add = &entry["add"];
                if let (Some(true), Some(stats)) = (add["dataChange"].as_bool(), add["stats"].as_str()) {
                    let stats: serde_json::Value = serde_json::from_str(stats)?;
                    self.changes += stats["numRecords"].as_u64().unwrap_or_default();
                }
            }
            self.version += 1;
        }
    }
}

/// Files of which it is counted how much is read and written.
struct CountedFiles {
    files: LocalFiles,
    bytes: AtomicU64,
}

impl CountedFiles {
    fn count(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl LakeFiles for CountedFiles {
    fn put_new(&self, path: &str, bytes: &[u8]) -> io::Result<bool> {
        self.count(bytes.len());
        self.files.put_new(path, bytes)
    }

    fn put_over(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.count(bytes.len());
        self.files.put_over(path, bytes)
    }

    fn get(&self, path: &str) -> io::Result<Option<bytes::Bytes>> {
        let bytes = self.files.get(path)?;
        self.count(bytes.as_ref().map_or(0, bytes::Bytes::len));
        Ok(bytes)
    }

    fn list(&self, folder: &str) -> io::Result<Vec<FileEntry>> {
        self.files.list(folder)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.files.remove(path)
    }
}

/// What a row of changes costs to be put together, checkpoints included, with batches, twice, four and eight times as many.
async fn measure_compaction(batches: usize, folder: &Path) -> Outcome<()> {
    let mut first = None;
    for times in [1, 2, 4, 8] {
        let place = folder.join(times.to_string());
        let (time, bytes) = compact(batches * times, &place).await?;
        let rows = (batches * times * BATCH_CHANGES) as f64;
        let (micros, bytes) = (time.as_secs_f64() * 1e6 / rows, bytes as f64 / rows);
        let (first_micros, first_bytes) = *first.get_or_insert((micros, bytes));
        let growth = bytes / first_bytes;
        println!(
            "{} batches of {BATCH_CHANGES} put together: {micros:.2} µs and {bytes:.0} bytes read and written a row, {:.2} and {growth:.2} times the first, goal {GROWTH_GOAL} {}",
            batches * times,
            micros / first_micros,
            met(growth <= GROWTH_GOAL)
        );
        std::fs::remove_dir_all(&place)?;
    }
    Ok(())
}

async fn compact(batches: usize, folder: &Path) -> Outcome<(Duration, u64)> {
    let bench = Bench::open(Arc::new(EmbeddedStore::memory()?)).await?;
    let files = Arc::new(CountedFiles {
        files: LocalFiles::new(folder.to_owned()),
        bytes: AtomicU64::new(0),
    });
    follow_to_head(&mut bench.follower(files.clone())).await?;
    let mut lake = Lake::open(files.clone(), Arc::clone(&bench.model), &[], now())?;
    let position = lake
        .told_position()
        .ok_or_else(|| Failure("the lake has not begun".to_owned()))?;
    let mut reader = ChangeReader::new(Arc::clone(&bench.model), bench.source(), position);
    let (mut time, mut bytes) = (Duration::ZERO, 0);
    for batch in 0..batches {
        for change in batch * BATCH_CHANGES..(batch + 1) * BATCH_CHANGES {
            bench.put(change % COMPACTED_ROWS, batch).await?;
        }
        let mut told = Vec::new();
        while told.len() < BATCH_CHANGES {
            told.extend(reader.next_page().await?.told);
        }
        lake.append_told(&told, reader.position(), now())?;
        if (batch + 1).is_multiple_of(TIDY_BATCHES) {
            let before = files.bytes.load(Ordering::Relaxed);
            let started = Instant::now();
            lake.tidy(now())?;
            time += started.elapsed();
            bytes += files.bytes.load(Ordering::Relaxed) - before;
        }
    }
    Ok((time, bytes))
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

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

impl Options {
    fn of(args: &[String]) -> Outcome<Self> {
        let mut options = Options {
            changes: 200_000,
            rows: 100_000,
            seconds: 40,
            batches: 256,
        };
        for pair in args.chunks(2) {
            let [name, value] = pair else {
                return Err(Failure(format!("{pair:?} needs a number")));
            };
            let number = value.parse::<usize>()?.max(1);
            match name.as_str() {
                "--changes" => options.changes = number,
                "--rows" => options.rows = number,
                "--seconds" => options.seconds = number as u64,
                "--batches" => options.batches = number,
                _ => return Err(Failure(format!("there is no option `{name}`"))),
            }
        }
        Ok(options)
    }
}

/// A folder that goes when the benchmark ends.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
