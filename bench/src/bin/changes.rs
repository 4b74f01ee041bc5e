//! What follows a write: how fast changes are read and looked at, how soon after a commit a trigger's effect is there, and what those who
//! watch cost everybody else.
//!
//! `changes [--changes N] [--seconds N] [--watchers N]`

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use singlet_bench::error::{Failure, Outcome};
use singlet_bench::load::client::{Length, turn};
use singlet_bench::load::data;
use singlet_bench::load::operations::{self, SECRET, Tokens};
use singlet_bench::load::process::{self, Process};
use singlet_bench::rounds::{self, median, met};
use singlet_changes::{ChangeReader, Told, TriggerFollower, Unobserved};
use singlet_http::auth::{LocalToken, Secret};
use singlet_model::Source;
use singlet_runtime::{Attributes, Caller, Engine, Precondition, Store, Value, WriteRequest};
use singlet_store::StreamPosition;
use singlet_store_embedded::EmbeddedStore;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

const MODEL: &str = include_str!("../changes.yaml");

/// How many changes a second are to be read and looked at.
const CHANGES_GOAL: f64 = 50_000.0;

/// How many writes a second the effects of triggers are measured at.
const WRITES_A_SECOND: u32 = 500;

/// How soon an effect is to be there.
const EFFECT_GOAL: Duration = Duration::from_millis(100);

/// What the throughput beside those who watch is to be of the throughput without them.
const WATCHED_GOAL: f64 = 0.8;

/// How long the service waits at the head of a stream of its own.
const HEAD_PAUSE: Duration = Duration::from_millis(25);

/// How many watch from one address: fewer than one address may.
const WATCHERS_PER_ADDRESS: usize = 150;

struct Options {
    changes: usize,
    seconds: u64,
    watchers: usize,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, side, folder] = args.as_slice()
        && mode == "--side"
    {
        return rounds::exit(process::run(side, Path::new(folder)).await);
    }
    let measured = match Options::of(&args) {
        Ok(options) => {
            let folder = Folder(std::env::temp_dir().join(format!("singlet-bench-changes-{}", std::process::id())));
            measure(&options, &folder.0).await
        }
        Err(failure) => Err(failure),
    };
    rounds::exit(measured)
}

async fn measure(options: &Options, folder: &Path) -> Outcome<()> {
    measure_reading(options.changes).await?;
    measure_effects(&folder.join("effects"), options.seconds).await?;
    measure_watchers(folder, options).await
}

/// Reads all changes, and then lets a follower of triggers look at all of them, of which none is to run.
async fn measure_reading(changes: usize) -> Outcome<()> {
    let engine = open(Arc::new(EmbeddedStore::memory()?)).await?;
    let mut follower = TriggerFollower::start(Arc::clone(&engine), Arc::new(Unobserved), now()).await?;
    for _ in 0..changes {
        add(&engine, false).await?;
    }
    let mut reader = reader(&engine, StreamPosition::Start);
    let (started, mut read) = (Instant::now(), 0);
    loop {
        let page = reader.next_page().await?;
        read += page.told.len();
        if page.is_empty() {
            break;
        }
    }
    let read_rate = read as f64 / started.elapsed().as_secs_f64();
    let (started, mut followed) = (Instant::now(), 0);
    while followed < changes {
        followed += follower.follow_page(&now).await?.records;
    }
    let followed_rate = followed as f64 / started.elapsed().as_secs_f64();
    println!("{read} changes read: {read_rate:.0} a second {}", met(read_rate >= CHANGES_GOAL));
    println!(
        "{followed} changes looked at, none to run: {followed_rate:.0} a second, goal {CHANGES_GOAL:.0} {}",
        met(followed_rate >= CHANGES_GOAL)
    );
    Ok(())
}

/// Writes at a steady rate to a folder, each of which a trigger follows.
async fn measure_effects(folder: &Path, seconds: u64) -> Outcome<()> {
    let engine = open(Arc::new(EmbeddedStore::open(folder)?)).await?;
    let mut follower = TriggerFollower::start(Arc::clone(&engine), Arc::new(Unobserved), now()).await?;
    let mut reader = reader(&engine, StreamPosition::Latest);
    reader.next_page().await?;
    let following = tokio::spawn(async move {
        loop {
            match follower.follow_page(&now).await {
                Ok(page) if page.records == 0 => tokio::time::sleep(HEAD_PAUSE).await,
                Ok(_) => {}
                Err(error) => return error,
            }
        }
    });
    let writes = usize::try_from(seconds * u64::from(WRITES_A_SECOND))?;
    let (sender, mut written) = tokio::sync::mpsc::unbounded_channel();
    let writing = tokio::spawn({
        let engine = Arc::clone(&engine);
        async move {
            let mut pace = tokio::time::interval(Duration::from_secs(1) / WRITES_A_SECOND);
            for _ in 0..writes {
                pace.tick().await;
                let (engine, sender) = (Arc::clone(&engine), sender.clone());
                tokio::spawn(async move {
                    if let Ok(id) = add(&engine, true).await {
                        let _ = sender.send((id, Instant::now()));
                    }
                });
            }
        }
    });
    let mut seen: HashMap<String, Instant> = HashMap::new();
    while seen.len() < writes {
        let page = reader.next_page().await?;
        let at = Instant::now();
        for told in &page.told {
            let Told::Change(change) = told else { continue };
            let id = change.after.as_ref().and_then(|row| row.get("task_id")?.as_str());
            if let Some(id) = id.filter(|_| change.entity == "Told") {
                seen.insert(id.to_owned(), at);
            }
        }
        if page.is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        if following.is_finished() {
            return Err(Failure("nothing is followed any more".to_owned()));
        }
    }
    writing.await?;
    following.abort();
    let mut waited = Vec::new();
    while let Ok((id, at)) = written.try_recv() {
        waited.extend(seen.get(&id).map(|seen| seen.saturating_duration_since(at)));
    }
    waited.sort_unstable();
    let share = |percent: usize| waited.get((waited.len() * percent / 100).min(waited.len() - 1)).copied();
    let (Some(half), Some(most)) = (share(50), share(99)) else {
        return Err(Failure("nothing was written".to_owned()));
    };
    println!(
        "{writes} writes at {WRITES_A_SECOND} a second, from the answer to the effect: p50 {:.1} ms, p99 {:.1} ms, goal {} ms {}",
        half.as_secs_f64() * 1e3,
        most.as_secs_f64() * 1e3,
        EFFECT_GOAL.as_millis(),
        met(most <= EFFECT_GOAL)
    );
    Ok(())
}

/// The mix of the service's benchmark, in turns with nobody and with many who watch lists of their own.
async fn measure_watchers(folder: &Path, options: &Options) -> Outcome<()> {
    let place = folder.join("service");
    data::fill(&place).await?;
    let service = Process::of_this_program("service", &place)?;
    let mix = Arc::new(operations::mix(&Tokens::sign()?));
    let length = Length::Time(Duration::from_secs(2));
    turn(service.address, &mix, 8, length).await?;
    let (mut without, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        without.push(turn(service.address, &mix, 8, length).await?.rate);
        let watchers = watch_all(service.address, options.watchers).await?;
        let seen = turn(service.address, &mix, 8, length).await?;
        beside.push(seen.rate);
        if seen.errors > 0 || watchers.iter().any(tokio::task::JoinHandle::is_finished) {
            return Err(Failure("a watcher ended, or a request failed".to_owned()));
        }
        watchers.iter().for_each(tokio::task::JoinHandle::abort);
    }
    let (without, beside) = (median(without), median(beside));
    println!(
        "{} watchers of different callers: {beside:.0} requests a second beside them, {without:.0} without: {:.2}, goal {WATCHED_GOAL} {}",
        options.watchers,
        beside / without,
        met(beside / without >= WATCHED_GOAL)
    );
    Ok(())
}

/// Opens streams of events, each with its first page, and goes on reading them.
async fn watch_all(address: SocketAddr, count: usize) -> Outcome<Vec<tokio::task::JoinHandle<()>>> {
    let secret = Secret::new(SECRET)?;
    let mut watchers = Vec::new();
    for number in 0..count {
        let token = LocalToken {
            audience: Some("todo".to_owned()),
            issuer: None,
            claims: [("sub".to_owned(), format!("watcher-{number}").into())].into_iter().collect(),
            expires: now() / 1_000 + 3_600,
        };
        let token = token.sign_token(&secret)?;
        let mut stream = connect_from(number / WATCHERS_PER_ADDRESS, address).await?;
        let request = format!(
            "GET /todo/api/v1/tasks?status=pending&limit=20 HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nAuthorization: Bearer {token}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        let mut received = Vec::new();
        while !received.windows(11).any(|window| window == b"event: page") {
            if stream.read_buf(&mut received).await? == 0 {
                return Err(Failure(String::from_utf8_lossy(&received).into_owned()));
            }
        }
        watchers.push(tokio::spawn(async move {
            let mut received = [0; 4096];
            while stream.read(&mut received).await.is_ok_and(|length| length > 0) {}
        }));
    }
    Ok(watchers)
}

/// Connects from one of the addresses of this machine alone.
async fn connect_from(place: usize, address: SocketAddr) -> Outcome<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    let from = Ipv4Addr::new(127, 0, 1, u8::try_from(place)? + 1);
    socket.bind(SocketAddr::from((from, 0)))?;
    Ok(socket.connect(address).await?)
}

async fn open(store: Arc<dyn Store>) -> Outcome<Arc<Engine>> {
    let loaded = singlet_model::load_source(&Source::new("changes.yaml", MODEL.to_owned()));
    let model = loaded.model.ok_or_else(|| Failure(format!("{:?}", loaded.diagnostics)))?;
    let engine = Engine::open(Arc::new(model), store, Attributes::new(), [1; 32]);
    engine.create_table().await?;
    Ok(Arc::new(engine))
}

fn reader(engine: &Arc<Engine>, from: StreamPosition) -> ChangeReader {
    ChangeReader::new(Arc::clone(engine.model()), Arc::new(Arc::clone(engine.store())), from)
}

/// Creates a task, and answers its id.
async fn add(engine: &Engine, loud: bool) -> Outcome<String> {
    let request = WriteRequest {
        args: [
            ("title".to_owned(), Value::from("Paint the fence")),
            ("loud".to_owned(), Value::Bool(loud)),
        ]
        .into(),
        caller: Caller::with_id("ada"),
        now: now(),
        idempotency_key: None,
        precondition: Precondition::Unsaid,
    };
    let written = engine.write("add", &request).await?;
    let id = match written.value {
        Some(Value::M(row)) => row.get("task_id").and_then(Value::as_str).map(str::to_owned),
        _ => None,
    };
    id.ok_or_else(|| Failure("it has no id".to_owned()))
}

fn now() -> i64 {
    data::now_seconds() * 1_000
}

impl Options {
    fn of(args: &[String]) -> Outcome<Self> {
        let mut options = Options {
            changes: 200_000,
            seconds: 10,
            watchers: 1_000,
        };
        for pair in args.chunks(2) {
            let [name, value] = pair else {
                return Err(Failure(format!("{pair:?} needs a number")));
            };
            let number = value.parse::<usize>()?;
            match name.as_str() {
                "--changes" => options.changes = number,
                "--seconds" => options.seconds = number as u64,
                "--watchers" => options.watchers = number,
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
