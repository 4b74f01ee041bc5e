//! Writes that run after changes: in a service, after it was killed, and by `singlet follow`.

use std::io::{BufRead, BufReader};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::running::{Folder, singlet};
use crate::serving::{ask, terminate};

/// How long a test waits for what must come.
const DEADLINE: Duration = Duration::from_secs(180);

/// Notes are counted; the share of a note is computed, which cannot be where its number is zero.
const MODEL: &str = r#"
singlet: 1
name: after
table: {name: after, key: {partition: PK, sort: SK}, type: kind, stream: both_images, recovery: point_in_time}
entities:
  Note:
    attributes: {id: string 1..8, number: int 0.. = 1}
    key: {PK: "NOTE#{id}", SK: "NOTE"}
  Share:
    attributes: {id: string 1..8, share: number}
    key: {PK: "NOTE#{id}", SK: "SHARE"}
  Tally:
    attributes: {of: string 1..8, notes: int 0.. = 0}
    key: {PK: "TALLY#{of}", SK: "TALLY"}
reads:
  tally: {get: Tally, where: of == args.of, allow: true, http: "GET /tallies/{of}"}
writes:
  add: {allow: true, http: POST /notes, do: [{create: Note, take: [id, number]}]}
  count:
    after: {create: Note}
    do:
      - upsert: 'Tally("all")'
        add: {notes: 1}
  share:
    after: {create: Note}
    do:
      - create: Share
        set: {id: row.id, share: "round(100 / row.number, 2)"}
"#;

/// A service of the model, which is killed with it.
struct Served {
    child: Child,
    address: String,
}

impl Served {
    fn start(folder: &Folder, args: &[&str]) -> Self {
        let mut child = singlet(["serve", "after.yaml", "--listen", "127.0.0.1:0", "--log", "off"])
            .args(args)
            .env_remove("SINGLET_SECRET")
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let first = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .next()
            .unwrap()
            .unwrap();
        let address = first.rsplit("http://").next().unwrap().to_owned();
        Served { child, address }
    }

    fn address(&self) -> String {
        self.address.clone()
    }

    /// Asks it to end, and whether it ended well.
    fn end(mut self) -> bool {
        terminate(&self.child);
        self.child.wait().unwrap().success()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("after.yaml", MODEL.as_bytes());
    folder
}

fn add(served: &Served, id: usize, number: usize) {
    let body = format!("{{\"id\": \"{id}\", \"number\": {number}}}");
    let answer = ask(&served.address(), "POST", "/after/notes", "x-none: 1", &body);
    assert_eq!(answer.map(|(status, _)| status), Some(201), "{id}");
}

fn tally(served: &Served) -> u64 {
    let answer = ask(&served.address(), "GET", "/after/tallies/all", "x-none: 1", "");
    let (status, body) = answer.unwrap();
    match status {
        200 => serde_json::from_str::<Value>(&body).unwrap()["notes"].as_u64().unwrap(),
        _ => 0,
    }
}

/// Waits until so many notes are counted.
fn counted(served: &Served, notes: u64) {
    let begun = Instant::now();
    loop {
        let now = tally(served);
        assert!(now <= notes, "{now} of {notes}");
        if now == notes {
            return;
        }
        assert!(begun.elapsed() < DEADLINE, "{now} of {notes}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn run(folder: &Folder, args: &[&str]) -> Output {
    let output = singlet(args).current_dir(folder.path()).output();
    output.unwrap()
}

fn said(output: &Output) -> (i32, String) {
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code().unwrap(), text)
}

const CHANGES: [&str; 4] = ["changes", "after.yaml", "--store", "embedded:singlet-data"];

#[test]
fn a_service_runs_them_and_goes_on_where_it_was_killed() {
    let folder = folder("follow-killed");
    let mut notes = 0;
    for _ in 0..3 {
        let served = Served::start(&folder, &[]);
        for _ in 0..10 {
            add(&served, notes, 1);
            notes += 1;
        }
        // Dropped: it is killed, with some of them counted.
    }
    let served = Served::start(&folder, &[]);
    counted(&served, notes as u64);
    // Figures are set when a page of changes has ended, a little after what its last write did can be seen.
    let begun = Instant::now();
    loop {
        let figures = ask(&served.address(), "GET", "/metrics", "x-none: 1", "").unwrap().1;
        let is_said = figures.contains("singlet_parked_changes{system=\"after\"} 0")
            && figures.contains("singlet_follow_lag_seconds{system=\"after\"}");
        if is_said {
            break;
        }
        assert!(begun.elapsed() < DEADLINE, "{figures}");
        std::thread::sleep(Duration::from_millis(20));
    }
    let (code, text) = said(&run(
        &folder,
        &["follow", "after.yaml", "--store", "embedded:singlet-data"],
    ));
    assert_eq!((code, text.contains("follows by itself")), (2, true), "{text}");
    assert!(served.end());
    // Nothing is left, and nothing is done again.
    let once = ["follow", "after.yaml", "--store", "embedded:singlet-data", "--once"];
    assert_eq!(said(&run(&folder, &once)), (0, String::new()));
    let served = Served::start(&folder, &["--no-follow"]);
    add(&served, notes, 1);
    assert_eq!(tally(&served), notes as u64);
    assert!(served.end());
    assert_eq!(run(&folder, &once).status.code(), Some(0));
    let served = Served::start(&folder, &["--read-only"]);
    assert_eq!(tally(&served), notes as u64 + 1);
}

#[test]
fn what_cannot_be_done_is_shown_tried_again_and_left_out() {
    let folder = folder("follow-parked");
    let served = Served::start(&folder, &[]);
    add(&served, 0, 0);
    add(&served, 1, 4);
    counted(&served, 2);
    let begun = Instant::now();
    let parked = loop {
        let (code, text) = said(&run(&folder, &[&CHANGES[..], &["parked"]].concat()));
        if code == 1 {
            break text;
        }
        assert!(begun.elapsed() < DEADLINE, "{text}");
    };
    assert!(
        parked.contains(" share after ") && parked.lines().count() == 1,
        "{parked}"
    );
    let (code, text) = said(&run(&folder, &[&CHANGES[..], &["retry"]].concat()));
    assert_eq!(
        (code, text.contains("1 change still cannot be done")),
        (1, true),
        "{text}"
    );
    let change = parked.split_whitespace().nth(3).unwrap();
    let names_all = |order: &str| {
        let (code, text) = said(&run(&folder, &[&CHANGES[..], &[order, "nope"]].concat()));
        let named = text.contains("`nope` is neither") && text.contains("`share`") && text.contains(change);
        assert_eq!((code, named), (1, true), "{text}");
    };
    names_all("retry");
    // The service is away, and the command does it by itself.
    assert!(served.end());
    names_all("discard");
    let (code, text) = said(&run(&folder, &[&CHANGES[..], &["discard", "share"]].concat()));
    assert_eq!((code, text.as_str()), (0, "1 change left out for good\n"));
    let (code, text) = said(&run(&folder, &[&CHANGES[..], &["retry", "share"]].concat()));
    assert_eq!((code, text.as_str()), (0, "0 changes no longer parked\n"));
    assert_eq!(
        said(&run(&folder, &[&CHANGES[..], &["parked"]].concat())),
        (0, String::new())
    );
}

/// A clock needs no stream.
const CLOCK: &str = r#"
singlet: 1
name: clock
zone: Europe/Warsaw
table: {name: clock, key: {partition: PK, sort: SK}, type: kind, ttl: ttl, recovery: point_in_time}
entities:
  Day:
    attributes: {day: date, runs: int 0.. = 0}
    key: {PK: "DAY#{day}", SK: "DAY"}
reads:
  day: {get: Day, where: day == args.day, allow: true, http: "GET /days/{day}"}
writes:
  countDay:
    every: monday at 07:00
    do: [{upsert: Day(today), add: {runs: 1}}]
"#;

#[test]
fn a_clock_begins_when_it_is_first_followed_and_is_shown() {
    let folder = Folder::new("follow-clock");
    folder.write("after.yaml", CLOCK.as_bytes());
    let schedule = [&CHANGES[..], &["schedule"]].concat();
    let (code, text) = said(&run(
        &folder,
        &[
            "call",
            "after.yaml",
            "day",
            "day=2026-11-17",
            "--store",
            "embedded:singlet-data",
        ],
    ));
    assert_ne!(code, 0, "{text}");
    let (code, text) = said(&run(&folder, &schedule));
    assert!(
        code == 0 && text.starts_with("countDay every monday at 07:00: nobody has followed its clock, next "),
        "{text}"
    );
    let once = ["follow", "after.yaml", "--store", "embedded:singlet-data", "--once"];
    assert_eq!(said(&run(&folder, &once)), (0, String::new()));
    let (_, alone) = said(&run(&folder, &schedule));
    assert!(
        alone.starts_with("countDay every monday at 07:00: past ") && alone.contains(":00:00Z"),
        "{alone}"
    );
    // A service goes on with what is noted, and is asked for it.
    let served = Served::start(&folder, &[]);
    assert_eq!(said(&run(&folder, &schedule)), (0, alone));
    assert!(served.end());
    let (_, plan) = said(&run(&folder, &["plan", "after.yaml", "countDay"]));
    assert!(plan.contains("  every    monday at 07:00\n"), "{plan}");
    assert!(plan.contains("  month    4.2 runs in 30 days, "), "{plan}");
}

/// Books whose titles are copied to notes, which are counted.
const BOOKS: &str = r#"
singlet: 1
name: after
settings: {most: int 1..9}
table: {name: after, key: {partition: PK, sort: SK}, type: kind, stream: both_images, recovery: point_in_time}
entities:
  Book:
    attributes: {book: string 1..8, title: string 1..20}
    key: {PK: "BOOK#{book}", SK: "BOOK"}
  Note:
    attributes:
      book: Book.book
      id: string 1..8
      words: int 0..100
      title: {copy: "Book(book).title", kept: stream}
    key: {PK: "BOOK#{book}", SK: "NOTE#{id}"}
tallies:
  byBook: {count: Note, by: book, sum: {words: words}}
reads:
  figures: {tally: byBook, allow: settings.most > 1, http: GET /figures}
"#;

const BOOK_ROWS: &str = r#"
{"Book": {"book": "a", "title": "One"}}
{"Note": {"book": "a", "id": "x", "words": 3, "title": "Old"}}
{"Note": {"book": "a", "id": "y", "words": 4, "title": "One"}}
"#;

#[test]
fn a_service_that_has_the_folder_open_mends_and_counts_when_it_is_asked() {
    let folder = Folder::new("follow-asked");
    folder.write("after.yaml", BOOKS.as_bytes());
    folder.write("rows.jsonl", BOOK_ROWS.trim_start().as_bytes());
    let load = [
        "load",
        "after.yaml",
        "rows.jsonl",
        "--store",
        "embedded:singlet-data",
        "--as-is",
    ];
    // A setting that has no value, and may not be left out, is named before anything begins.
    let (code, text) = said(&run(&folder, &load));
    assert!(
        code != 0 && text.contains("setting `most` of `after` has no value"),
        "{text}"
    );
    let (code, text) = said(&run(&folder, &[&load[..], &["--set", "most=2"]].concat()));
    assert_eq!(code, 0, "{text}");
    let served = Served::start(&folder, &["--set", "after.most=2"]);
    let repair = [&CHANGES[..], &["--set", "most=2", "repair"]].concat();
    let first = (
        0,
        "2 rows compared, stale copies: 1; those of 1 source mended\n".to_owned(),
    );
    assert_eq!(said(&run(&folder, &repair)), first);
    let again = (
        0,
        "2 rows compared, stale copies: 0; those of 0 sources mended\n".to_owned(),
    );
    assert_eq!(said(&run(&folder, &repair)), again);
    let rebuild = [&CHANGES[..], &["--set", "most=2", "rebuild"]].concat();
    assert_eq!(said(&run(&folder, &rebuild)), (0, "byBook: counted anew\n".to_owned()));
    let figures = ask(&served.address(), "GET", "/after/figures", "x-none: 1", "").unwrap();
    assert_eq!(figures, (200, r#"{"a":{"count":2,"words":7}}"#.to_owned()));
    let metrics = ask(&served.address(), "GET", "/metrics", "x-none: 1", "").unwrap().1;
    assert!(
        metrics.contains("singlet_tally_lag_seconds{system=\"after\"}"),
        "{metrics}"
    );
    assert!(served.end());
}
