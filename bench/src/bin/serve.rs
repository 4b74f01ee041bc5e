//! How many requests a second the service answers, beside a bare axum handler that makes the same call of the same engine and
//! answers with the same rows: a closed loop of some connections, on the embedded engine on disk, one side after the other, several
//! times.
//!
//! `serve [SECONDS]`: how long each side of each case runs at a time.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use singlet_bench::error::{Failure, Outcome};
use singlet_http::auth::{ApiKeys, JwtKeys, JwtSettings, LocalToken, Secret};
use singlet_http::{Server, Service, Settings, System, SystemSettings};
use singlet_runtime::{Attributes, Engine, Item, Source, Store, Value, table, values};
use singlet_store::{Condition, Direction, GetRequest, KeyRange, PutRequest, QueryRequest, SortRange};
use singlet_store_embedded::EmbeddedStore;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const CONNECTIONS: usize = 8;
const TURNS: usize = 3;
const TASKS: usize = 200;
/// Of the bare handler's requests a second, the least that the service may answer.
const GOAL: f64 = 0.8;
const TABLE: &str = "todo-app-data";

#[tokio::main]
async fn main() -> ExitCode {
    let seconds = std::env::args().nth(1).and_then(|seconds| seconds.parse().ok());
    match measure(Duration::from_secs(seconds.unwrap_or(3))).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(time: Duration) -> Outcome<()> {
    let folder = std::env::temp_dir().join(format!("singlet-bench-{}", std::process::id()));
    let (service, token) = service(&folder.join("service")).await?;
    let bare = bare(&folder.join("bare")).await?;
    let id = task_id(7);
    println!("{CONNECTIONS} connections, on disk");
    println!("case     side       requests/s   p50 ms   p99 ms  errors   of bare");
    for case in ["get", "list", "create"] {
        let (mut ours, mut theirs) = (Loop::default(), Loop::default());
        for _ in 0..TURNS {
            let request = |prefix: &str, bare: bool| match (case, bare) {
                ("get", false) => http("GET", &format!("{prefix}/api/v1/tasks/{id}"), &token, None),
                ("list", false) => http(
                    "GET",
                    &format!("{prefix}/api/v1/tasks?status=pending&limit=20"),
                    &token,
                    None,
                ),
                (_, false) => http(
                    "POST",
                    &format!("{prefix}/api/v1/tasks"),
                    &token,
                    Some(r#"{"title":"Paint the fence"}"#),
                ),
                ("get", true) => http("GET", &format!("/tasks/{id}"), &token, None),
                ("list", true) => http("GET", "/tasks", &token, None),
                (_, true) => http("POST", "/tasks", &token, Some(r#"{"title":"Paint the fence"}"#)),
            };
            theirs.join(run(bare, request("", true), time).await?);
            ours.join(run(service, request("/todo", false), time).await?);
        }
        theirs.print(case, "bare", None);
        let share = ours.rate() / theirs.rate();
        ours.print("", "service", Some(share));
    }
    let _ = std::fs::remove_dir_all(&folder);
    Ok(())
}

/// What a closed loop saw.
#[derive(Default)]
struct Loop {
    times: Vec<Duration>,
    errors: u64,
    seconds: f64,
}

impl Loop {
    fn join(&mut self, other: Loop) {
        self.times.extend(other.times);
        self.errors += other.errors;
        self.seconds += other.seconds;
    }

    fn rate(&self) -> f64 {
        self.times.len() as f64 / self.seconds
    }

    fn print(&mut self, case: &str, side: &str, share: Option<f64>) {
        self.times.sort();
        let at = |part: usize| {
            let time = self.times.get(self.times.len() * part / 100);
            time.copied().unwrap_or_default().as_secs_f64() * 1e3
        };
        let verdict = share.map(|share| {
            let met = if share >= GOAL { "met" } else { "missed" };
            format!("{share:>8.2}  goal {GOAL} {met}")
        });
        println!(
            "{case:<8} {side:<9} {:>11.0} {:>8.2} {:>8.2} {:>7} {}",
            self.rate(),
            at(50),
            at(99),
            self.errors,
            verdict.unwrap_or_default()
        );
    }
}

/// Sends a request again and again over some connections.
async fn run(address: SocketAddr, request: Vec<u8>, time: Duration) -> Outcome<Loop> {
    let errors = Arc::new(AtomicU64::new(0));
    let started = Instant::now();
    let loops: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let (request, errors) = (request.clone(), Arc::clone(&errors));
            tokio::spawn(async move {
                let mut stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                let mut times = Vec::new();
                let mut buffer = Vec::new();
                while started.elapsed() < time {
                    let sent = Instant::now();
                    stream.write_all(&request).await?;
                    let status = answer(&mut stream, &mut buffer).await?;
                    times.push(sent.elapsed());
                    if !(200..300).contains(&status) {
                        errors.fetch_add(1, Ordering::Relaxed);
                    }
                }
                Ok::<_, std::io::Error>(times)
            })
        })
        .collect();
    let mut all = Loop::default();
    for task in loops {
        let times = task.await.map_err(|error| Failure(error.to_string()))?;
        all.times.extend(times.map_err(|error| Failure(error.to_string()))?);
    }
    all.seconds = started.elapsed().as_secs_f64();
    all.errors = errors.load(Ordering::Relaxed);
    Ok(all)
}

/// Reads one answer, and gives its status.
async fn answer(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> std::io::Result<u16> {
    buffer.clear();
    let mut chunk = [0_u8; 16 * 1024];
    loop {
        let read = stream.read(&mut chunk).await?;
        if read == 0 {
            return Err(std::io::Error::other("the connection was closed"));
        }
        buffer.extend(chunk.get(..read).unwrap_or_default());
        let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(buffer.get(..end).unwrap_or_default()).to_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: ")?.trim().parse::<usize>().ok());
        if buffer.len() >= end + 4 + length.unwrap_or(0) {
            let status = head.split_whitespace().nth(1).and_then(|status| status.parse().ok());
            return Ok(status.unwrap_or(0));
        }
    }
}

fn http(method: &str, path: &str, token: &str, body: Option<&str>) -> Vec<u8> {
    let body = body.unwrap_or_default();
    let typed = if body.is_empty() {
        ""
    } else {
        "Content-Type: application/json\r\n"
    };
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n{typed}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn now_seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

fn task_id(at: usize) -> String {
    format!("01J{at:023}")
}

async fn engine(folder: &std::path::Path) -> Outcome<(Engine, Arc<dyn Store>)> {
    let text = include_str!("../../../systems/todo/model.yaml");
    let loaded = singlet_model::load(&Source::new("todo", text));
    let model = loaded.model.ok_or_else(|| Failure("the model has errors".to_owned()))?;
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(folder)?);
    store.create_table(&table::spec(&model)).await?;
    let engine = Engine::open(Arc::new(model), Arc::clone(&store), Attributes::new(), [7; 32]);
    let tasks = (0..TASKS).map(|at| {
        let id = task_id(at);
        format!(r#"{{"Task": {{"user_id": "ada", "task_id": "{id}", "title": "something to do", "status": "pending", "created_at": 1, "updated_at": 1, "version": 1}}}}"#)
    });
    let user = r#"{"User": {"user_id": "ada", "email": "ada@x.org", "name": "Ada", "created_at": 1, "updated_at": 1}}"#;
    let rows: Vec<String> = tasks.chain([user.to_owned()]).collect();
    engine.put_lines(&rows.join("\n")).await?;
    Ok((engine, store))
}

async fn service(folder: &std::path::Path) -> Outcome<(SocketAddr, String)> {
    let (engine, _) = engine(folder).await?;
    let secret = Secret::new("a secret of the benchmark alone").map_err(Failure)?;
    let settings = SystemSettings {
        prefix: "/todo".to_owned(),
        jwt_keys: JwtKeys::Secret(secret.clone()),
        jwt: JwtSettings { issuer: None },
        api_keys: ApiKeys::default(),
        read_only: false,
        rate: Some(None),
        sample: None,
    };
    let token = LocalToken {
        audience: Some("todo".to_owned()),
        issuer: None,
        claims: [("sub".to_owned(), "ada".to_owned())].into(),
        expires: now_seconds() + 3_600,
    };
    let token = token.sign(&secret).map_err(Failure)?;
    let service = Service::new(vec![System::new(Arc::new(engine), settings)], Settings::default());
    let server = Server::bind("127.0.0.1:0", None).await.map_err(Failure)?;
    let address = server.address().ok_or_else(|| Failure("no address".to_owned()))?;
    tokio::spawn(async move { server.run(service, std::future::pending()).await });
    Ok((address, token))
}

/// The same calls as a program would write them that knows the keys, without tokens, checks or documents.
async fn bare(folder: &std::path::Path) -> Outcome<SocketAddr> {
    let (_, store) = engine(folder).await?;
    let router = Router::new()
        .route("/tasks/{id}", get(bare_get))
        .route("/tasks", get(bare_list))
        .route("/tasks", post(bare_create))
        .with_state(store);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .map_err(|error| Failure(error.to_string()))?;
    let address = listener.local_addr().map_err(|error| Failure(error.to_string()))?;
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}

type Bare = State<Arc<dyn Store>>;

fn row(item: &Item) -> serde_json::Value {
    let hidden = |name: &str| name.starts_with("GSI") || name == "PK" || name == "SK" || name == "EntityType";
    let own = item.iter().filter(|(name, _)| !hidden(name));
    serde_json::Value::Object(
        own.map(|(name, value)| (name.clone(), values::to_json(value)))
            .collect(),
    )
}

fn json(status: StatusCode, value: &serde_json::Value) -> axum::response::Response {
    (status, [("content-type", "application/json")], value.to_string()).into_response()
}

async fn bare_get(State(store): Bare, Path(id): Path<String>) -> axum::response::Response {
    let key = [("PK", "TASK#ada".to_owned()), ("SK", format!("TASK#{id}"))];
    let request = GetRequest {
        table: TABLE.to_owned(),
        key: key
            .into_iter()
            .map(|(name, text)| (name.to_owned(), Value::S(text)))
            .collect(),
        ..GetRequest::default()
    };
    match store.get(&request).await {
        Ok(answer) => json(StatusCode::OK, &answer.item.as_ref().map(row).unwrap_or_default()),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()).into_response(),
    }
}

async fn bare_list(State(store): Bare) -> axum::response::Response {
    let range = KeyRange {
        partition: vec![("GSI1PK".to_owned(), Value::S("USER#ada".to_owned()))],
        sort: vec![("GSI1SK".to_owned(), SortRange::begins_with("STATUS#pending#"))],
    };
    let mut request = QueryRequest::new(TABLE, range);
    request.index = Some("GSI1".to_owned());
    request.direction = Direction::Descending;
    request.limit = Some(20);
    match store.query(&request).await {
        Ok(page) => {
            let items: Vec<serde_json::Value> = page.items.iter().map(row).collect();
            json(StatusCode::OK, &serde_json::json!({"items": items, "next": null}))
        }
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()).into_response(),
    }
}

/// A task and the check of its user, as the model has it.
async fn bare_create(State(store): Bare, body: Bytes) -> axum::response::Response {
    static NEXT: AtomicU64 = AtomicU64::new(1_000_000);
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    let title = body
        .get("title")
        .and_then(serde_json::Value::as_str)
        .unwrap_or_default();
    let id = format!("01K{:023}", NEXT.fetch_add(1, Ordering::Relaxed));
    let text = |text: &str| Value::S(text.to_owned());
    let item: Item = [
        ("PK", text("TASK#ada")),
        ("SK", text(&format!("TASK#{id}"))),
        ("GSI1PK", text("USER#ada")),
        ("GSI1SK", text(&format!("STATUS#pending#{id}"))),
        ("EntityType", text("Task")),
        ("user_id", text("ada")),
        ("task_id", text(&id)),
        ("title", text(title)),
        ("status", text("pending")),
        ("created_at", Value::from(now_seconds())),
        ("updated_at", Value::from(now_seconds())),
        ("version", Value::from(1)),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect();
    let answered = row(&item);
    let user = [("PK", text("USER#ada")), ("SK", text("METADATA"))];
    let request = singlet_store::TransactWriteRequest {
        actions: vec![
            singlet_store::TransactWrite::Put(PutRequest {
                table: TABLE.to_owned(),
                item,
                condition: Some(Condition::not_exists("PK")),
                return_old: false,
            }),
            singlet_store::TransactWrite::Check {
                table: TABLE.to_owned(),
                key: user.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
                condition: Condition::exists("PK").and(Condition::not_exists("deleting")),
            },
        ],
        token: Some(id),
    };
    match store.transact_write(&request).await {
        Ok(_) => json(StatusCode::CREATED, &answered),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()).into_response(),
    }
}
