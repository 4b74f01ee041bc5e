//! How fast the embedded store is, beside the one of before: in one run, each after the other, both in a folder, both durable before they
//! answer.
//!
//! - `store [SECONDS]` measures every case for so long a round, and says whether the goals are met.
//! - `store --sustained ROWS` creates and updates so many rows with 64 tasks.
//! - `store --growth ROWS` creates so many rows and updates each twice, trims all changes, and says how large the folder is beside a copy.
//! - `store --kill ROWS` fills a table with so many rows in a process of its own, kills it amid writes, and opens the folder.
//! - `store --only CASE TASKS SECONDS` runs one case on the store of today, for profilers.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use singlet_bench::error::{Failure, Outcome};
use singlet_bench::rounds;
use singlet_runtime::{Item, Store, Value};
use singlet_store::{
    BatchWrite, BatchWriteRequest, Condition, GetRequest, IndexKind, IndexProjection, IndexSpec, KeyRange, KeySchema,
    KeyType, PutRequest, QueryRequest, Select, StreamView, TableSpec, Update, UpdateRequest,
};
use singlet_store_embedded::{EmbeddedStore, Retention};

const TABLE: &str = "orders";
const SECONDS_USUAL: f64 = 1.0;
const ROUNDS: usize = 5;
const TASKS: [usize; 3] = [1, 8, 16];
/// Rows that are there before anything is measured: customers of 400 orders each.
const CUSTOMERS: u64 = 10;
const ORDERS: u64 = 400;

/// A case and how many times as fast it is to be, at 1, 8 and 16 tasks.
const GOALS: [(Case, [f64; 3]); 6] = [
    (Case::Get, [5.0; 3]),
    (Case::Page, [5.0; 3]),
    (Case::Count, [20.0; 3]),
    (Case::Put, [1.0, 2.5, 2.5]),
    (Case::RefusedPut, [5.0; 3]),
    (Case::GetBesideWriters, [20.0; 3]),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    Get,
    Page,
    Count,
    Put,
    RefusedPut,
    GetBesideWriters,
}

#[tokio::main(flavor = "multi_thread")]
async fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let ran = match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["--sustained", rows] => sustained(rows.parse().unwrap_or(200_000)).await,
        ["--growth", rows] => growth(rows.parse().unwrap_or(200_000)).await,
        ["--kill", rows] => kill(rows),
        ["--fill", folder, rows] => fill_until_killed(Path::new(folder), rows.parse().unwrap_or(1_000_000)).await,
        ["--open", folder, rows] => open_again(Path::new(folder), rows.parse().unwrap_or(1_000_000)).await,
        ["--only", case, tasks, seconds] => {
            only(
                case,
                tasks.parse().unwrap_or(1),
                seconds.parse().unwrap_or(SECONDS_USUAL),
            )
            .await
        }
        [seconds] => measure(seconds.parse().unwrap_or(SECONDS_USUAL)).await,
        _ => measure(SECONDS_USUAL).await,
    };
    rounds::exit(ran)
}

async fn measure(seconds: f64) -> Outcome<()> {
    let (before, after) = (Side::before().await?, Side::today().await?);
    for side in [&before, &after] {
        side.fill().await?;
    }
    println!("case                tasks   before/s    today/s       ×   goal");
    for (case, goals) in GOALS {
        for (tasks, goal) in TASKS.into_iter().zip(goals) {
            let (mut old, mut new) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                old.push(before.rate(case, tasks, seconds).await?);
                new.push(after.rate(case, tasks, seconds).await?);
            }
            let (old, new) = (rounds::median(old), rounds::median(new));
            let multiple = new / old;
            println!(
                "{:<18} {tasks:>6} {old:>10.0} {new:>10.0} {multiple:>7.1}  {goal:>5.1} {}",
                format!("{case:?}"),
                rounds::met(multiple >= goal)
            );
        }
    }
    Ok(())
}

async fn only(case: &str, tasks: usize, seconds: f64) -> Outcome<()> {
    let case = GOALS
        .iter()
        .map(|(case, _)| *case)
        .find(|known| format!("{known:?}") == case);
    let case = case.ok_or_else(|| Failure("there is no such case".to_owned()))?;
    let side = Side::today().await?;
    side.fill().await?;
    println!("{:.0} a second", side.rate(case, tasks, seconds).await?);
    Ok(())
}

async fn sustained(rows: u64) -> Outcome<()> {
    const SUSTAINED_TASKS: u64 = 64;
    println!("side      creates/s  updates/s   MB on disk");
    let mut rates = Vec::new();
    for side in [Side::before().await?, Side::today().await?] {
        let created = side.all(rows, SUSTAINED_TASKS, |number| Change::Create(number)).await?;
        let updated = side.all(rows, SUSTAINED_TASKS, |number| Change::Update(number)).await?;
        let bytes = folder_bytes(&side.folder)?;
        println!(
            "{:<8} {created:>10.0} {updated:>10.0} {:>12.0}",
            side.name,
            bytes as f64 / 1e6
        );
        rates.push((created, updated));
    }
    if let [(old_creates, old_updates), (creates, updates)] = rates.as_slice() {
        let (creates, updates) = (creates / old_creates, updates / old_updates);
        println!("creates {creates:.1} × {}", rounds::met(creates >= 3.0));
        println!("updates {updates:.1} × {}", rounds::met(updates >= 3.0));
    }
    Ok(())
}

/// How large the folder is after creates and updates, once the changes of a day are trimmed, and beside a copy.
async fn growth(rows: u64) -> Outcome<()> {
    const TASKS: u64 = 64;
    const TIMES_MAX: f64 = 1.5;
    let place = folder("growth");
    let store = EmbeddedStore::open(&place)?;
    let side = Side::on("today", Arc::new(store.clone()), place).await?;
    side.all(rows, TASKS, Change::Create).await?;
    for _ in 0..2 {
        side.all(rows, TASKS, Change::Update).await?;
    }
    let megabytes = |what: &str| -> Outcome<f64> {
        let megabytes = folder_bytes(&side.folder)? as f64 / 1e6;
        println!("{what:<20} {megabytes:>8.0} MB");
        Ok(megabytes)
    };
    megabytes("written")?;
    // As if the day were over, after which nobody needs them.
    let retention = Retention {
        age_min: Duration::ZERO,
        age_max: Duration::ZERO,
        ..Retention::default()
    };
    let trimmed = store.trim_changes(&retention).await?;
    println!("{trimmed} changes trimmed");
    let trimmed = megabytes("trimmed")?;
    let copy = folder("growth-copy");
    store.backup(&copy).await?;
    let copied = folder_bytes(&copy)? as f64 / 1e6;
    std::fs::remove_dir_all(&copy)?;
    println!("{:<20} {copied:>8.0} MB, {:.2} × it before", "a copy", trimmed / copied);
    let started = Instant::now();
    store.compact().await?;
    println!("compacted in {:.1} s", started.elapsed().as_secs_f64());
    let compacted = megabytes("compacted")? / copied;
    println!("{compacted:.2} × the copy {}", rounds::met(compacted <= TIMES_MAX));
    Ok(())
}

/// Runs this program twice more: to fill a folder until it is killed, and to open it.
fn kill(rows: &str) -> Outcome<()> {
    let (program, place) = (std::env::current_exe()?, folder("kill"));
    let text = place.to_string_lossy().into_owned();
    let mut child = Command::new(&program)
        .args(["--fill", &text, rows])
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    if let Some(out) = child.stdout.take() {
        std::io::BufReader::new(out).read_line(&mut line)?;
    }
    // It goes on writing over what is there.
    std::thread::sleep(Duration::from_secs(5));
    println!(
        "{}, {:.0} MB of memory at most",
        line.trim(),
        peak_megabytes(child.id())?
    );
    child.kill()?;
    child.wait()?;
    let opened = Command::new(&program).args(["--open", &text, rows]).status();
    std::fs::remove_dir_all(&place)?;
    match opened?.success() {
        true => Ok(()),
        false => Err(Failure("the folder could not be opened".to_owned())),
    }
}

/// Rows with one index, in batches, and then the same rows again until it is killed.
async fn fill_until_killed(folder: &Path, rows: u64) -> Outcome<()> {
    const TASKS: u64 = 4;
    const BATCH: u64 = 25;
    let store = Arc::new(EmbeddedStore::open(folder)?);
    let mut spec = spec();
    spec.indexes.truncate(1);
    spec.stream = None;
    store.create_table(&spec).await?;
    let started = Instant::now();
    let (slowest, said) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let (store, slowest, said) = (Arc::clone(&store), Arc::clone(&slowest), Arc::clone(&said));
            tokio::spawn(async move {
                for batch in (task..).step_by(TASKS as usize) {
                    let first = batch * BATCH;
                    if first >= rows
                        && first < rows + TASKS * BATCH
                        && said.fetch_add(1, Ordering::Relaxed) + 1 == TASKS
                    {
                        let (seconds, slowest) = (started.elapsed().as_secs_f64(), slowest.load(Ordering::Relaxed));
                        println!("{rows} rows in {seconds:.0} s, the slowest batch {slowest} ms");
                    }
                    let writes = (first..first + BATCH).map(|number| BatchWrite::Put {
                        table: TABLE.to_owned(),
                        item: put(number * 2_654_435_761 % rows, None).item,
                    });
                    let asked = Instant::now();
                    let request = BatchWriteRequest {
                        writes: writes.collect(),
                    };
                    store.batch_write(&request).await?;
                    slowest.fetch_max(asked.elapsed().as_millis() as u64, Ordering::Relaxed);
                }
                Outcome::Ok(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok(())
}

async fn open_again(folder: &Path, rows: u64) -> Outcome<()> {
    const SECONDS_MAX: f64 = 2.0;
    const MEGABYTES_MAX: f64 = 150.0;
    let started = Instant::now();
    let store = EmbeddedStore::open(folder)?;
    let seconds = started.elapsed().as_secs_f64();
    let found = store.describe_table(TABLE).await?.item_count;
    let memory = peak_megabytes(std::process::id())?;
    println!("opened in {seconds:.2} s {}", rounds::met(seconds <= SECONDS_MAX));
    println!(
        "{found} rows, {memory:.0} MB of memory {}",
        rounds::met(memory <= MEGABYTES_MAX)
    );
    match found == rows {
        true => Ok(()),
        false => Err(Failure(format!("{found} of {rows} rows are there"))),
    }
}

fn peak_megabytes(process: u32) -> Outcome<f64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes
        .map(|kilobytes| kilobytes / 1024.0)
        .ok_or_else(|| Failure("the system does not say".to_owned()))
}

enum Change {
    Create(u64),
    Update(u64),
}

/// One of the two stores, in a folder of its own.
struct Side {
    name: &'static str,
    store: Arc<dyn Store>,
    folder: PathBuf,
    next: Arc<AtomicU64>,
}

impl Drop for Side {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Side {
    async fn before() -> Outcome<Self> {
        let folder = folder("before");
        let store = Arc::new(singlet_store_before::EmbeddedStore::open(&folder)?);
        Self::on("before", store, folder).await
    }

    async fn today() -> Outcome<Self> {
        let folder = folder("today");
        let store = Arc::new(EmbeddedStore::open(&folder)?);
        Self::on("today", store, folder).await
    }

    async fn on(name: &'static str, store: Arc<dyn Store>, folder: PathBuf) -> Outcome<Self> {
        store.create_table(&spec()).await?;
        Ok(Self {
            name,
            store,
            folder,
            next: Arc::new(AtomicU64::new(CUSTOMERS * ORDERS)),
        })
    }

    async fn fill(&self) -> Outcome<()> {
        for number in 0..CUSTOMERS * ORDERS {
            self.store.put(&put(number, None)).await?;
        }
        Ok(())
    }

    /// How often a second a case is done by so many tasks.
    async fn rate(&self, case: Case, tasks: usize, seconds: f64) -> Outcome<f64> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut writers = Vec::new();
        if case == Case::GetBesideWriters {
            for _ in 0..4 {
                writers.push(self.spawn(Case::Put, Arc::clone(&stop)));
            }
        }
        let started = Instant::now();
        let running: Vec<_> = (0..tasks).map(|_| self.spawn(case, Arc::clone(&stop))).collect();
        tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
        stop.store(true, Ordering::Relaxed);
        let mut done = 0;
        for task in running {
            done += task.await??;
        }
        let rate = done as f64 / started.elapsed().as_secs_f64();
        for writer in writers {
            writer.await??;
        }
        Ok(rate)
    }

    fn spawn(&self, case: Case, stop: Arc<AtomicBool>) -> tokio::task::JoinHandle<Outcome<u64>> {
        let (store, next) = (Arc::clone(&self.store), Arc::clone(&self.next));
        tokio::spawn(async move {
            let mut done: u64 = 0;
            while !stop.load(Ordering::Relaxed) {
                let drawn = done.wrapping_mul(2_654_435_761) % (CUSTOMERS * ORDERS);
                run(&*store, case, drawn, &next).await?;
                done += 1;
                // A read that waits for nothing would keep its thread, and so the other tasks and the clock, from ever getting on.
                tokio::task::yield_now().await;
            }
            Ok(done)
        })
    }

    /// How many changes a second so many tasks make together.
    async fn all(&self, rows: u64, tasks: u64, change: fn(u64) -> Change) -> Outcome<f64> {
        let started = Instant::now();
        let mut running = Vec::new();
        for task in 0..tasks {
            let store = Arc::clone(&self.store);
            running.push(tokio::spawn(async move {
                for number in (task..rows).step_by(tasks as usize) {
                    match change(number) {
                        Change::Create(number) => store.put(&put(number, None)).await?,
                        Change::Update(number) => store.update(&update(number)).await?,
                    };
                }
                Outcome::Ok(())
            }));
        }
        for task in running {
            task.await??;
        }
        Ok(rows as f64 / started.elapsed().as_secs_f64())
    }
}

async fn run(store: &dyn Store, case: Case, drawn: u64, next: &AtomicU64) -> Outcome<()> {
    match case {
        Case::Get | Case::GetBesideWriters => {
            let answer = store.get(&get(drawn)).await?;
            expect(answer.item.is_some())
        }
        Case::Page => {
            let mut request = by_customer(drawn);
            request.limit = Some(20);
            expect(store.query(&request).await?.items.len() == 20)
        }
        Case::Count => {
            let mut request = by_customer(drawn);
            request.select = Select::Count;
            expect(store.query(&request).await?.count == ORDERS as usize)
        }
        Case::Put => {
            let number = next.fetch_add(1, Ordering::Relaxed);
            store.put(&put(number, None)).await?;
            Ok(())
        }
        Case::RefusedPut => {
            let refused = store.put(&put(drawn, Some(Condition::not_exists("PK")))).await;
            expect(refused.is_err_and(|error| error.is_condition_failed()))
        }
    }
}

fn expect(is_right: bool) -> Outcome<()> {
    match is_right {
        true => Ok(()),
        false => Err(Failure("an answer is not what it should be".to_owned())),
    }
}

fn by_customer(drawn: u64) -> QueryRequest {
    let customer = format!("CUSTOMER#{}", drawn % CUSTOMERS);
    let mut request = QueryRequest::new(TABLE, KeyRange::partition("GSI1PK", customer.as_str()));
    request.index = Some("GSI1".to_owned());
    request
}

fn key(number: u64) -> Item {
    Item::from([
        ("PK".to_owned(), format!("ORDER#{number:012}").into()),
        ("SK".to_owned(), "ORDER".into()),
    ])
}

fn get(number: u64) -> GetRequest {
    GetRequest {
        table: TABLE.to_owned(),
        key: key(number),
        ..GetRequest::default()
    }
}

fn update(number: u64) -> UpdateRequest {
    UpdateRequest {
        table: TABLE.to_owned(),
        key: key(number),
        update: Update::new()
            .set("status", "shipped")
            .set("GSI3PK", "STATUS#shipped")
            .add("version", 1_i64),
        ..UpdateRequest::default()
    }
}

fn put(number: u64, condition: Option<Condition>) -> PutRequest {
    // Those beyond the first have customers of their own, so that what is counted stays as it is.
    let customer = match number < CUSTOMERS * ORDERS {
        true => number % CUSTOMERS,
        false => number,
    };
    let text = |name: &str, text: String| (name.to_owned(), Value::from(text));
    let mut item = key(number);
    item.extend([
        text("type", "Order".to_owned()),
        text("customer", format!("{customer}")),
        text("status", "open".to_owned()),
        text("created", format!("2026-11-16T12:00:{:02}Z", number % 60)),
        text("GSI1PK", format!("CUSTOMER#{customer}")),
        text("GSI1SK", format!("{number:012}")),
        text("GSI2PK", format!("DAY#{}", number % 365)),
        text("GSI2SK", format!("{number:012}")),
        text("GSI3PK", "STATUS#open".to_owned()),
        text("GSI3SK", format!("{number:012}")),
        text("GSI4PK", format!("SHOP#{}", number % 50)),
        ("GSI4SK".to_owned(), i64::try_from(number).unwrap_or(0).into()),
        ("version".to_owned(), 1_i64.into()),
    ]);
    PutRequest {
        table: TABLE.to_owned(),
        item,
        condition,
        return_old: false,
    }
}

/// Four indexes that project everything, and a stream with both images.
fn spec() -> TableSpec {
    let strings = KeySchema::partition("PK", KeyType::String).sort("SK", KeyType::String);
    let mut spec = TableSpec::new(TABLE, strings);
    spec.indexes = (1..=4)
        .map(|number| {
            let sort = if number == 4 { KeyType::Number } else { KeyType::String };
            IndexSpec {
                name: format!("GSI{number}"),
                kind: IndexKind::Global,
                key: KeySchema::partition(format!("GSI{number}PK"), KeyType::String)
                    .sort(format!("GSI{number}SK"), sort),
                projection: IndexProjection::All,
                units: None,
            }
        })
        .collect();
    spec.stream = Some(StreamView::Both);
    spec
}

fn folder(name: &str) -> PathBuf {
    let base = std::env::var_os("SINGLET_BENCH_FOLDER").map_or_else(std::env::temp_dir, PathBuf::from);
    base.join(format!("singlet-bench-store-{name}-{}", std::process::id()))
}

/// What a folder takes on the disk: files have holes.
fn folder_bytes(folder: &Path) -> Outcome<u64> {
    const BLOCK_BYTES: u64 = 512;
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        bytes += std::os::unix::fs::MetadataExt::blocks(&entry?.metadata()?) * BLOCK_BYTES;
    }
    Ok(bytes)
}
