//! A table of many rows on the disk beside one of few: what a create, a get and a list take, and how soon it is ready after a
//! kill under load.
//!
//! `SINGLET_ROWS=1000000 cargo test --release -p singlet --test folder million -- --ignored --nocapture` prints the figures.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use singlet_runtime::{Item, Store, Value};
use singlet_store::{BatchWrite, BatchWriteRequest};
use singlet_store_embedded::EmbeddedStore;

use crate::running::{Folder, singlet};
use crate::served::{Served, call};
use crate::times;

const MODEL: &str = r#"
singlet: 1
name: notes
table:
  name: Notes
  key: {partition: PK, sort: SK}
  indexes: {ByTopic: {partition: GP, sort: GS}}
  type: kind
  ttl: ttl
  recovery: point_in_time
entities:
  Note:
    attributes:
      user: string 1..20
      id: string 1..20
      topic: string 1..20
      text: string 1..200
    key: {PK: "USER#{user}", SK: "NOTE#{id}"}
    index: {ByTopic: {GP: "TOPIC#{user}#{topic}", GS: "{id}"}}
reads:
  note:
    get: Note
    where: user == args.user && id == args.id
    allow: true
    http: GET /users/{user}/notes/{id}
  notes:
    find: Note
    where: user == args.user && topic == args.topic
    order: id
    allow: true
    http: GET /users/{user}/topics/{topic}
writes:
  addNote:
    http: POST /users/{user}/notes
    allow: true
    do:
      - create: Note
        set: {user: args.user}
        take: [id, topic, text]
"#;

const TEXT: &str =
    "a note of about a hundred characters, as somebody would write it down to find it again some day later";
/// Rows of one user, and calls of each kind that are measured.
const ROWS_PER_USER: usize = 100;
const CALLS: usize = 500;

#[test]
#[ignore = "it takes minutes, and prints figures"]
fn a_million_rows_are_served_as_a_thousand_are() {
    let sizes = [1_000, times("SINGLET_ROWS", 20_000)];
    let folders = sizes.map(|rows| Folder::new(&format!("rows-{rows}")));
    for (folder, rows) in folders.iter().zip(sizes) {
        fill(folder.path(), rows);
    }
    let served = [0, 1].map(|at: usize| start(folders[at].path()));
    for (kind, requests) in [("create", create as Request), ("get", get), ("list", list)] {
        let [few, many] = medians(&served, sizes, requests);
        let times = many.as_secs_f64() / few.as_secs_f64();
        eprintln!(
            "{kind}: median {few:?} with {} rows, {many:?} with {}, {times:.2} times",
            sizes[0], sizes[1]
        );
    }
    for (served, (folder, rows)) in served.into_iter().zip(folders.iter().zip(sizes)) {
        kill_under_load(served, rows);
        let began = Instant::now();
        let served = start(folder.path());
        assert_eq!(served.ready().0, 200);
        eprintln!("{rows} rows: ready {:?} after a kill under load", began.elapsed());
    }
}

fn start(folder: &Path) -> Served {
    let mut command = singlet(["serve", "model.yaml"]);
    command.args(["--rate", "off"]);
    Served::one(folder, command)
}

/// The table is made by the command with one row; the others are put as it puts that one, in batches.
fn fill(folder: &Path, rows: usize) {
    std::fs::write(folder.join("model.yaml"), MODEL).unwrap();
    let line = format!(
        r#"{{"Note": {{"user": "u0", "id": "{:09}", "topic": "t0", "text": "{TEXT}"}}}}"#,
        0
    );
    std::fs::write(folder.join("rows.jsonl"), line).unwrap();
    let began = Instant::now();
    let mut load: Command = singlet(["load", "model.yaml", "rows.jsonl", "--store", "embedded:singlet-data"]);
    let loaded = load.current_dir(folder).output().unwrap();
    assert!(loaded.status.success(), "{}", String::from_utf8_lossy(&loaded.stderr));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = EmbeddedStore::open(&folder.join("singlet-data")).unwrap();
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let store = store.clone();
                tokio::spawn(async move {
                    let mine: Vec<usize> = (1..rows)
                        .filter(|row| row / ROWS_PER_USER % WRITERS == writer)
                        .collect();
                    for rows in mine.chunks(BATCH_ROWS) {
                        let puts = rows.iter().map(|row| BatchWrite::Put {
                            table: "Notes".to_owned(),
                            item: item(*row),
                        });
                        let request = BatchWriteRequest { writes: puts.collect() };
                        assert!(store.batch_write(&request).await.unwrap().unprocessed.is_empty());
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.await.unwrap();
        }
    });
    let examined = singlet(["doctor", "singlet-data", "model.yaml"])
        .current_dir(folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&examined.stdout).into_owned();
    assert!(examined.status.success(), "{said}");
    eprintln!("{rows} rows: filled and examined in {:?}\n{said}", began.elapsed());
}

const WRITERS: usize = 8;
const BATCH_ROWS: usize = 25;

/// A row as the model stores it; `doctor` looks whether that is so.
fn item(row: usize) -> Item {
    let (user, id, topic) = (
        format!("u{}", row / ROWS_PER_USER),
        format!("{row:09}"),
        format!("t{}", row % 4),
    );
    let values = [
        ("PK", format!("USER#{user}")),
        ("SK", format!("NOTE#{id}")),
        ("GP", format!("TOPIC#{user}#{topic}")),
        ("GS", id.clone()),
        ("kind", "Note".to_owned()),
        ("user", user),
        ("id", id),
        ("topic", topic),
        ("text", TEXT.to_owned()),
    ];
    values.map(|(name, value)| (name.to_owned(), Value::S(value))).into()
}

/// Method, path, body and the status that is expected of one call, by its number.
type Request = fn(usize, usize) -> (&'static str, String, String, u16);

/// The user, the row and the topic that a call is about.
fn place(turn: usize, rows: usize) -> (usize, usize, usize) {
    let row = turn.wrapping_mul(7919) % rows;
    (row / ROWS_PER_USER, row, row % 4)
}

fn create(turn: usize, rows: usize) -> (&'static str, String, String, u16) {
    let (user, ..) = place(turn, rows);
    let body = format!(r#"{{"id": "new-{turn}", "topic": "t0", "text": "{TEXT}"}}"#);
    ("POST", format!("/notes/users/u{user}/notes"), body, 201)
}

fn get(turn: usize, rows: usize) -> (&'static str, String, String, u16) {
    let (user, row, _) = place(turn, rows);
    (
        "GET",
        format!("/notes/users/u{user}/notes/{row:09}"),
        String::new(),
        200,
    )
}

fn list(turn: usize, rows: usize) -> (&'static str, String, String, u16) {
    let (user, _, topic) = place(turn, rows);
    let path = format!("/notes/users/u{user}/topics/t{topic}?limit=20");
    ("GET", path, String::new(), 200)
}

/// The median of a call on each of two services, which are asked in turn: what else the machine does concerns both.
fn medians(served: &[Served; 2], sizes: [usize; 2], request: Request) -> [Duration; 2] {
    let mut took = [Vec::new(), Vec::new()];
    for turn in 0..CALLS {
        for ((served, rows), took) in served.iter().zip(sizes).zip(&mut took) {
            let (method, path, body, status) = request(turn, rows);
            let began = Instant::now();
            let (answered, said) = call(&served.address, method, &path, "x-nobody: 1", &body).unwrap();
            took.push(began.elapsed());
            assert_eq!(answered, status, "{path}: {said}");
        }
    }
    took.map(|mut took| {
        took.sort_unstable();
        took[CALLS / 2]
    })
}

/// Kills it while eight clients write.
fn kill_under_load(served: Served, rows: usize) {
    let (ended, address) = (AtomicBool::new(false), served.address.clone());
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let (address, ended) = (&address, &ended);
            scope.spawn(move || {
                for turn in 0.. {
                    let body = format!(r#"{{"id": "k-{writer}-{turn}", "topic": "t0", "text": "{TEXT}"}}"#);
                    let path = format!("/notes/users/u{}/notes", (turn * 31) % (rows / ROWS_PER_USER).max(1));
                    let answer = call(address, "POST", &path, "x-nobody: 1", &body);
                    if ended.load(Ordering::Relaxed) || answer.is_none() {
                        return;
                    }
                }
            });
        }
        std::thread::sleep(Duration::from_secs(5));
        ended.store(true, Ordering::Relaxed);
        served.kill();
    });
}
