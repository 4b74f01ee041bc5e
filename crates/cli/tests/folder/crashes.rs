//! All five systems are killed under mixed writes, with sweeps on: what was acknowledged is there, and nothing is by half.
//!
//! `SINGLET_KILLS=200 cargo test -p singlet --test folder killed -- --nocapture` kills more often than the usual run.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::running::{Folder, singlet};
use crate::served::{DEADLINE, Served, examined};
use crate::times;

/// What must be so after the next start.
#[derive(Clone, Debug)]
enum Truth {
    /// A row is there, with this value.
    Has(String, &'static str, String),
    /// It is not there.
    Gone(String),
    /// A number behind a name is this at least: later writes may not have been answered.
    AtLeast(String, &'static str, u64),
}

/// What was acknowledged by all who write.
#[derive(Default)]
struct Book {
    truths: Mutex<Vec<Truth>>,
    acknowledged: AtomicU64,
    /// Tasks that end a second later.
    completed: AtomicU64,
}

impl Book {
    fn note(&self, truth: Truth) {
        self.acknowledged.fetch_add(1, Ordering::Relaxed);
        self.truths.lock().unwrap().push(truth);
    }
}

/// Completed tasks end a second later, so that sweeps have something to remove.
fn start(folder: &Folder) -> Served {
    let mut command = singlet(["serve"]);
    command.args(["--set", "todo.retention=1s", "--rate", "off"]);
    Served::with(folder.path(), command).unwrap_or_else(|log| panic!("{log}"))
}

#[test]
fn killed_under_load_nothing_acknowledged_is_lost_and_nothing_is_by_half() {
    let folder = Folder::new("killed");
    let data = folder.path().join("singlet-data");
    let book = Book::default();
    let (kills, version) = (times("SINGLET_KILLS", 4), AtomicU64::new(0));
    let mut slowest_ready = Duration::ZERO;
    for round in 0..kills {
        let began = Instant::now();
        let served = start(&folder);
        assert_eq!(served.ready().0, 200);
        // The first start fills the tables.
        if round > 0 {
            slowest_ready = slowest_ready.max(began.elapsed());
        }
        check(&served, &book);
        let before = book.acknowledged.load(Ordering::Relaxed);
        let millis = 200 + (round as u64 * 7919) % 1800;
        std::thread::scope(|scope| {
            for writes in [write_tasks, write_items, write_bookings, write_things] {
                let (served, book) = (&served, &book);
                scope.spawn(move || writes(served, round, book));
            }
            let (served_ref, book, version) = (&served, &book, &version);
            scope.spawn(move || write_countries(served_ref, version, book));
            let began = Instant::now();
            // A kill before anything was written shows nothing.
            while began.elapsed() < Duration::from_millis(millis)
                || book.acknowledged.load(Ordering::Relaxed) < before + 10
            {
                assert!(began.elapsed() < DEADLINE, "nothing is acknowledged");
                std::thread::sleep(Duration::from_millis(5));
            }
            kill(&served);
        });
        served.kill();
        let (code, report) = examined(&data);
        assert_eq!(code, 0, "round {round}: {report:#}");
        if round % 10 == 9 {
            eprintln!(
                "{} kills so far, {} writes acknowledged",
                round + 1,
                book.acknowledged.load(Ordering::Relaxed)
            );
        }
    }
    let served = start(&folder);
    check(&served, &book);
    // Every completed task is swept, so that no time of a task is kept.
    let (mut ends, began) = (Value::Null, Instant::now());
    let copy = folder.path().join("copy");
    while ends != 0 {
        assert!(began.elapsed() < DEADLINE, "{ends} bytes of times are left");
        std::thread::sleep(Duration::from_secs(1));
        let _ = std::fs::remove_dir_all(&copy);
        let copied = singlet(["backup", "singlet-data", "copy"])
            .current_dir(folder.path())
            .output();
        assert!(copied.unwrap().status.success());
        let (code, report) = examined(&copy);
        assert_eq!(code, 0, "{report:#}");
        let tables = report["tables"].as_array().unwrap();
        ends = tables.iter().find(|table| table["name"] == "todo-app-data").unwrap()["expiry_bytes"].clone();
    }
    assert!(served.end());
    let count = |number: &AtomicU64| number.load(Ordering::Relaxed);
    eprintln!(
        "{kills} kills, {} writes acknowledged and there, {} tasks swept, every folder sound, ready after {slowest_ready:?} at most",
        count(&book.acknowledged),
        count(&book.completed)
    );
}

/// Kills it while its writers still hold it.
fn kill(served: &Served) {
    let id = served.id().to_string();
    let killed = std::process::Command::new("kill").args(["-9", &id]).status().unwrap();
    assert!(killed.success());
}

/// Everything that was acknowledged in the last rounds is so; what was looked at twice is forgotten.
fn check(served: &Served, book: &Book) {
    let truths = std::mem::take(&mut *book.truths.lock().unwrap());
    for truth in truths {
        match &truth {
            Truth::Has(path, name, value) => {
                let (status, row) = served.ask("GET", path, "").unwrap();
                assert_eq!(
                    (status, row[name].as_str()),
                    (200, Some(value.as_str())),
                    "{truth:?}: {row}"
                );
            }
            Truth::Gone(path) => {
                let (status, row) = served.ask("GET", path, "").unwrap();
                assert_eq!(status, 404, "{truth:?}: {row}");
            }
            Truth::AtLeast(path, name, number) => {
                let (status, row) = served.ask("GET", path, "").unwrap();
                let found = row[name]
                    .as_str()
                    .and_then(|text| text.rsplit(' ').next()?.parse::<u64>().ok());
                assert!(status == 200 && found >= Some(*number), "{truth:?}: {row}");
            }
        }
    }
}

/// Tasks are made, changed, completed (and swept a second later) and deleted.
fn write_tasks(served: &Served, round: usize, book: &Book) {
    for turn in 0.. {
        let title = format!("task {round}-{turn}");
        let made = served.ask("POST", "/todo/api/v1/tasks", &json!({"title": title}).to_string());
        let Some((201, task)) = made else { return left(made) };
        let path = format!("/todo/api/v1/tasks/{}", id_of(&task, "task_id"));
        match turn % 4 {
            0 => book.note(Truth::Has(path, "title", title)),
            1 => {
                let gone = served.ask("DELETE", &path, "");
                let Some((204, _)) = gone else { return left(gone) };
                book.note(Truth::Gone(path));
            }
            2 => {
                let started = served.ask("POST", &format!("{path}/start"), "");
                let Some((200, _)) = started else {
                    return left(started);
                };
                let completed = served.ask("POST", &format!("{path}/complete"), "");
                let Some((200, _)) = completed else {
                    return left(completed);
                };
                book.completed.fetch_add(1, Ordering::Relaxed);
            }
            _ => {
                let changed = format!("changed {round}-{turn}");
                let answer = served.ask("PATCH", &path, &json!({"title": changed}).to_string());
                let Some((200, _)) = answer else { return left(answer) };
                book.note(Truth::Has(path, "title", changed));
            }
        }
    }
}

/// Items of the wardrobe with their mirrors, activities and records of requests.
fn write_items(served: &Served, round: usize, book: &Book) {
    for turn in 0.. {
        let (name, key) = (
            format!("coat {round}-{turn}"),
            format!("Idempotency-Key: {round}-{turn}\r\n"),
        );
        let body = json!({"Name": name, "Category": "Outerwear"}).to_string();
        let made = served.ask_with("POST", "/wardrobe/users/tomas/items", &key, &body);
        let Some((201, item)) = made else { return left(made) };
        let path = format!("/wardrobe/items/{}", id_of(&item, "ItemId"));
        book.note(Truth::Has(path.clone(), "Name", name));
        let key = format!("Idempotency-Key: share-{round}-{turn}\r\n");
        let shared = served.ask_with("POST", &format!("{path}/share"), &key, "{}");
        let Some((200 | 201, _)) = shared else {
            return left(shared);
        };
    }
}

/// Bookings with their mirrors, of a user whose counter they raise.
fn write_bookings(served: &Served, round: usize, book: &Book) {
    for turn in 0.. {
        let text = format!("tea {round}-{turn}");
        let body = json!({"date": "2099-05-01", "duration": "MORNING", "eventDescription": text, "attendees": 4});
        let made = served.ask("POST", "/booking/bookings", &body.to_string());
        let Some((201, booking)) = made else { return left(made) };
        let path = format!("/booking/bookings/{}", id_of(&booking, "bookingId"));
        book.note(Truth::Has(path, "eventDescription", text));
    }
}

/// Things with their mirrors and places, some of which are deleted.
fn write_things(served: &Served, round: usize, book: &Book) {
    let place = json!({"lat": 52.2297, "lon": 21.0122, "city": "Warszawa", "country": "PL"});
    for turn in 0.. {
        let title = format!("bike {round}-{turn}");
        let body = json!({"title": title, "description": "", "category": "sports", "mode": "free", "location": place});
        let made = served.ask("POST", "/ecobid/items", &body.to_string());
        let Some((201, item)) = made else { return left(made) };
        let path = format!("/ecobid/items/{}", id_of(&item, "itemId"));
        if turn % 3 > 0 {
            book.note(Truth::Has(path, "title", title));
            continue;
        }
        let gone = served.ask("DELETE", &path, "");
        let Some((204, _)) = gone else { return left(gone) };
        book.note(Truth::Gone(path));
    }
}

/// Versions of one country, each of which closes the one before.
fn write_countries(served: &Served, version: &AtomicU64, book: &Book) {
    loop {
        let number = version.fetch_add(1, Ordering::Relaxed);
        let name = format!("Norge {number}");
        let body = json!({"alpha2Code": "NO", "alpha3Code": "NOR", "numericCode": "578", "name": name});
        let path = "/country/api/v1/countries/code/NO";
        let answer = served.ask("PUT", path, &body.to_string());
        let Some((200, _)) = answer else { return left(answer) };
        book.note(Truth::AtLeast(path.to_owned(), "name", number));
    }
}

fn id_of(row: &Value, name: &str) -> String {
    row[name]
        .as_str()
        .unwrap_or_else(|| panic!("no `{name}` in {row}"))
        .to_owned()
}

/// Nobody answered, since it was killed; any other answer is wrong.
fn left(answer: Option<(u16, Value)>) {
    assert!(answer.is_none(), "{answer:?}");
}
