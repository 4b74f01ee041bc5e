//! Search: how long searches take, rows and all, in many rows; alone, and while rows are written.
//!
//! `search [--rows N] [--queries N]`

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fastrand::Rng;
use singlet_bench::error::{Failure, Outcome};
use singlet_bench::rounds::{self, met};
use singlet_model::Source;
use singlet_runtime::{Answer, Attributes, Caller, Engine, Request, Value};
use singlet_search::{IndexPlace, SearchFollower};
use singlet_store::{PutRequest, Store};
use singlet_store_embedded::EmbeddedStore;
use tokio::task::JoinSet;

const MODEL: &str = include_str!("../search.yaml");

/// How long a search is to take.
const SEARCH_GOAL: Duration = Duration::from_millis(20);

/// How many rows are put at once before anything is measured.
const PUT_AT_ONCE: usize = 500;

/// How many people the rows are of.
const OWNERS: usize = 500;

/// How many rows a page has, and which page is a deep one.
const PAGE_ROWS: usize = 20;
const DEEP_PAGE: usize = 20;

/// The rows lie in a square of so many degrees: some hundred kilometres, of which a search looks at 25 around a place.
const DEGREES: f64 = 2.0;

/// How many writes a second are followed beside searches.
const WRITES_A_SECOND: u32 = 200;

/// How long the service waits at the head of a stream of its own.
const HEAD_PAUSE: Duration = Duration::from_millis(25);

/// A kind of search.
struct Case {
    name: &'static str,
    read: &'static str,
    words: usize,
    is_prefix: bool,
    page: usize,
}

const CASES: [Case; 7] = [
    Case::new("one word", "all", 1),
    Case::new("two words", "all", 2),
    Case {
        is_prefix: true,
        ..Case::new("a beginning", "all", 1)
    },
    Case {
        is_prefix: true,
        ..Case::new("a word and a beginning", "all", 2)
    },
    Case::new("two words of one's own", "mine", 2),
    Case::new("a word near a place", "near", 1),
    Case {
        page: DEEP_PAGE,
        ..Case::new("page 20 of a word", "all", 1)
    },
];

impl Case {
    const fn new(name: &'static str, read: &'static str, words: usize) -> Self {
        Case {
            name,
            read,
            words,
            is_prefix: false,
            page: 1,
        }
    }
}

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let measured = match options(&args) {
        Ok((rows, queries)) => {
            let place = std::env::var_os("SINGLET_BENCH_FOLDER").map_or_else(std::env::temp_dir, PathBuf::from);
            let folder = Folder(place.join(format!("singlet-bench-search-{}", std::process::id())));
            measure(rows, queries, &folder.0).await
        }
        Err(failure) => Err(failure),
    };
    rounds::exit(measured)
}

async fn measure(rows: usize, queries: usize, folder: &Path) -> Outcome<()> {
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(&folder.join("data"))?);
    let engine = open(Arc::clone(&store)).await?;
    let mut rng = Rng::with_seed(1);
    // Many at once share a sync of the disk.
    for first in (0..rows).step_by(PUT_AT_ONCE) {
        let items = (first..rows.min(first + PUT_AT_ONCE)).map(|number| item(&mut rng, number));
        let mut puts: JoinSet<Outcome<()>> = items
            .map(|item| {
                let store = Arc::clone(&store);
                async move { put(&store, item).await }
            })
            .collect();
        while let Some(done) = puts.join_next().await {
            done??;
        }
    }
    let place = IndexPlace::Folder(folder.join("search"));
    let mut follower = SearchFollower::new(place, Arc::clone(engine.model()), Arc::new(Arc::clone(&store)), 0);
    engine.search_by(follower.served_index());
    let started = Instant::now();
    follower.follow_to_head(&now).await?;
    println!("{rows} rows into the index: {:.1} s", started.elapsed().as_secs_f64());
    println!(
        "{queries} searches of each kind, pages of {PAGE_ROWS}, goal p99 {} ms",
        SEARCH_GOAL.as_millis()
    );
    measure_cases(&engine, &mut rng, queries).await?;
    println!("the same beside {WRITES_A_SECOND} writes a second");
    let is_over = Arc::new(AtomicBool::new(false));
    let writing = tokio::spawn(write_on(store, rows, Arc::clone(&is_over)));
    let following = tokio::spawn(follow_on(follower, Arc::clone(&is_over)));
    let measured = measure_cases(&engine, &mut rng, queries).await;
    is_over.store(true, Ordering::Relaxed);
    writing.await??;
    following.await??;
    measured
}

async fn measure_cases(engine: &Engine, rng: &mut Rng, queries: usize) -> Outcome<()> {
    for case in &CASES {
        let (mut times, mut found) = (Vec::with_capacity(queries), 0);
        while times.len() < queries {
            if let Some((time, rows)) = search(engine, rng, case).await? {
                times.push(time);
                found += rows;
            }
        }
        times.sort_unstable();
        let share = |percent: usize| {
            times
                .get((queries * percent / 100).min(queries - 1))
                .copied()
                .unwrap_or_default()
        };
        println!(
            "{:<24} p50 {:>6.2} ms  p99 {:>6.2} ms  most {:>6.2} ms  {:>4.1} rows  {}",
            case.name,
            share(50).as_secs_f64() * 1e3,
            share(99).as_secs_f64() * 1e3,
            share(100).as_secs_f64() * 1e3,
            found as f64 / queries as f64,
            met(share(99) <= SEARCH_GOAL)
        );
    }
    Ok(())
}

/// How long a search took, and how many rows it found; nothing where it has no such page.
async fn search(engine: &Engine, rng: &mut Rng, case: &Case) -> Outcome<Option<(Duration, usize)>> {
    let mut query = drawn_words(rng, case.words, case.page > 1);
    if case.is_prefix {
        query.pop();
    } else {
        query.push(' ');
    }
    let mut args = Attributes::from([("q".to_owned(), Value::S(query))]);
    if case.read == "near" {
        args.insert("at".to_owned(), place(rng));
        args.insert("km".to_owned(), Value::N(25.into()));
    }
    let mut request = Request {
        args,
        caller: Caller::with_id(&format!("user{}", rng.usize(0..OWNERS))),
        limit: Some(PAGE_ROWS),
        now: now(),
        ..Request::default()
    };
    for page in 1.. {
        let started = Instant::now();
        let answer = engine.read(case.read, &request).await?;
        let time = started.elapsed();
        if page == case.page {
            return Ok(Some((time, rows_of(&answer))));
        }
        match answer.next {
            None => return Ok(None),
            next => request.cursor = next,
        }
    }
    Ok(None)
}

fn rows_of(answer: &Answer) -> usize {
    match &answer.value {
        Some(Value::L(rows)) => rows.len(),
        _ => 0,
    }
}

/// Words as often as in a language: the n-th is as likely as one in n. Frequent ones are of the first hundred.
fn drawn_words(rng: &mut Rng, words: usize, is_frequent: bool) -> String {
    let known: f64 = if is_frequent { 100.0 } else { 50_000.0 };
    let all: Vec<String> = (0..words)
        .map(|_| format!("word{}", known.powf(rng.f64()) as u32))
        .collect();
    all.join(" ")
}

fn place(rng: &mut Rng) -> Value {
    let mut degrees = |from: f64| ((from + rng.f64() * DEGREES) * 1e5).round() / 1e5;
    let number = |degrees: f64| format!("{degrees:.5}").parse().map(Value::N).unwrap_or(Value::Null);
    let (lat, lon) = (degrees(51.0), degrees(16.0));
    Value::M(Attributes::from([
        ("lat".to_owned(), number(lat)),
        ("lon".to_owned(), number(lon)),
    ]))
}

fn item(rng: &mut Rng, number: usize) -> Attributes {
    let text = |name: &str, value: String| (name.to_owned(), Value::S(value));
    let (owner, id) = (format!("user{}", number % OWNERS), format!("item{number}"));
    Attributes::from([
        text("PK", format!("ITEM#{owner}")),
        text("SK", format!("ITEM#{id}")),
        text("kind", "Item".to_owned()),
        text("owner", owner),
        text("item", id),
        text("title", drawn_words(rng, 6, false)),
        text("description", drawn_words(rng, 20, false)),
        ("location".to_owned(), place(rng)),
        text(
            "status",
            if number.is_multiple_of(4) { "given" } else { "available" }.to_owned(),
        ),
    ])
}

async fn put(store: &Arc<dyn Store>, item: Attributes) -> Outcome<()> {
    let request = PutRequest {
        table: "search".to_owned(),
        item,
        ..PutRequest::default()
    };
    store.put(&request).await?;
    Ok(())
}

/// Changes rows at a steady rate.
async fn write_on(store: Arc<dyn Store>, rows: usize, is_over: Arc<AtomicBool>) -> Outcome<()> {
    let mut rng = Rng::with_seed(2);
    let mut pace = tokio::time::interval(Duration::from_secs(1) / WRITES_A_SECOND);
    while !is_over.load(Ordering::Relaxed) {
        pace.tick().await;
        let number = rng.usize(0..rows);
        put(&store, item(&mut rng, number)).await?;
    }
    Ok(())
}

async fn follow_on(mut follower: SearchFollower, is_over: Arc<AtomicBool>) -> Outcome<()> {
    while !is_over.load(Ordering::Relaxed) {
        if follower.follow_page(&now).await?.records == 0 {
            tokio::time::sleep(HEAD_PAUSE).await;
        }
    }
    Ok(())
}

async fn open(store: Arc<dyn Store>) -> Outcome<Engine> {
    let loaded = singlet_model::load_source(&Source::new("search.yaml", MODEL.to_owned()));
    let model = loaded
        .model
        .ok_or_else(|| Failure(format!("{:?}", loaded.diagnostics)))?;
    let engine = Engine::open(Arc::new(model), store, Attributes::new(), [1; 32]);
    engine.create_table().await?;
    Ok(engine)
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// How many rows, and how many searches of each kind.
fn options(args: &[String]) -> Outcome<(usize, usize)> {
    let (mut rows, mut queries) = (100_000, 1_000);
    for pair in args.chunks(2) {
        let [name, value] = pair else {
            return Err(Failure(format!("{pair:?} needs a number")));
        };
        let number = value.parse::<usize>()?.max(1);
        match name.as_str() {
            "--rows" => rows = number,
            "--queries" => queries = number,
            _ => return Err(Failure(format!("there is no option `{name}`"))),
        }
    }
    Ok((rows, queries))
}

/// A folder that goes when the benchmark ends.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
