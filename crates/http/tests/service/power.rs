//! Loss of power beneath the whole service: every answer that a client had is true afterwards, and nothing is there by half.
//!
//! The five systems are written to over HTTP on a disk that keeps apart what was synced. Then the power is cut at many points of all
//! that was done to it: unsynced writes are there, are not, or are torn. `SINGLET_CUTS=500` makes more cuts than the usual
//! run.

use std::sync::{Arc, Mutex};

use serde_json::json;
use singlet_face::Company;
use singlet_keyspace::Options;
use singlet_keyspace::simulated::{Random, SimulatedDisk};
use singlet_runtime::{AuditDepth, Engine, TableOpening, TableUse, audit_rows};
use singlet_store::Store;
use singlet_store_embedded::EmbeddedStore;

use crate::client::Reply;
use crate::running::{Running, SYSTEMS, now, start_on};

const CUTS_PER_LOAD: usize = 50;
/// How often each writer goes around.
const TURNS: usize = 8;

/// What somebody was told.
#[derive(Clone, Debug)]
enum Truth {
    /// A row has this value.
    Has(&'static str, String, &'static str, String),
    Gone(&'static str, String),
    /// The number at the end of a name is this at least.
    AtLeast(&'static str, String, &'static str, usize),
}

/// All that was told, in order; the disk knows how many were by when.
struct Told {
    disk: SimulatedDisk,
    truths: Mutex<Vec<Truth>>,
}

impl Told {
    fn note(&self, truth: Truth) {
        let mut truths = self.truths.lock().unwrap();
        truths.push(truth);
        self.disk.mark_commit(truths.len() as u64);
    }
}

/// Small enough that what is in memory is written to the base again and again.
fn small() -> Options {
    let mut options = Options::default();
    options.memory_bytes = 60_000;
    options.cache_bytes = 256 << 10;
    options
}

fn opened(disk: &SimulatedDisk) -> EmbeddedStore {
    EmbeddedStore::open_on(Arc::new(disk.clone()), small()).unwrap()
}

/// Who calls a system in these tests.
fn caller(system: &str) -> &'static str {
    match system {
        "country" => "writer",
        "booking" => "elena/admin",
        _ => "ada",
    }
}

fn call(running: &Running, system: &str, method: &str, path: &str, body: &str) -> Reply {
    running.call(system, caller(system), method, path, &[], body)
}

#[test]
fn every_answer_is_true_after_a_loss_of_power() {
    let wanted = std::env::var("SINGLET_CUTS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(15_usize);
    let (mut cuts, mut checked) = (0, 0);
    for seed in 0..wanted.div_ceil(CUTS_PER_LOAD) as u64 {
        let (disk, truths) = load();
        let mut random = Random(seed);
        let mut replay = disk.power_cuts();
        let count = CUTS_PER_LOAD.min(wanted - cuts);
        let mut points: Vec<u64> = (0..count)
            .map(|_| random.number_below(replay.point_count() as u64))
            .collect();
        points.sort_unstable();
        for point in points {
            replay.advance_to(usize::try_from(point).unwrap());
            let told = usize::try_from(replay.greatest_mark()).unwrap();
            let after = replay.cut_power(&mut random);
            checked += recover(&after, &truths[..told], &format!("load {seed}, point {point}"));
            cuts += 1;
        }
        println!("{cuts} losses of power so far");
    }
    println!("{cuts} losses of power, {checked} answers looked at and true");
}

/// Writes to all systems at once, with a compaction and a sweep between.
fn load() -> (SimulatedDisk, Vec<Truth>) {
    let disk = SimulatedDisk::default();
    let store = opened(&disk);
    let running = start_on(store.clone());
    let told = Told {
        disk: disk.clone(),
        truths: Mutex::default(),
    };
    std::thread::scope(|scope| {
        for writes in [write_tasks, write_items, write_countries, write_bookings, write_things] {
            let (running, told) = (&running, &told);
            scope.spawn(move || writes(running, told));
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            store.compact().await.unwrap();
            store.delete_expired().await.unwrap();
            store.trim_old_changes().await.unwrap();
        });
    });
    assert!(running.wait());
    (disk, told.truths.into_inner().unwrap())
}

/// Opens what a cut left: everything fits together, and what was told is so.
fn recover(disk: &SimulatedDisk, truths: &[Truth], place: &str) -> usize {
    let store = opened(disk);
    let inspected = store.inspect_rows().unwrap();
    assert!(inspected.flaws.is_empty(), "{place}: {:?}", inspected.flaws);
    let running = start_on(store.clone());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    for name in SYSTEMS {
        let store: Arc<dyn Store> = Arc::new(store.clone());
        let engine = Engine::open(
            Arc::new(crate::running::model(name)),
            store,
            Default::default(),
            [0; 32],
        );
        // What the table knows of its model, such as the key under which unique values are hashed.
        let opening = TableOpening {
            makes_tables: false,
            company: Company::Alone,
            used_for: TableUse::Reading,
            now: now() * 1000,
        };
        runtime.block_on(engine.open_table(&opening)).unwrap();
        let audit = runtime
            .block_on(audit_rows(&engine, opening.now, AuditDepth::Whole))
            .unwrap();
        assert_eq!(audit.first, [], "{place}: {name}");
    }
    for truth in truths {
        let (Truth::Has(system, path, ..) | Truth::Gone(system, path) | Truth::AtLeast(system, path, ..)) = truth;
        let reply = call(&running, system, "GET", path, "");
        match truth {
            Truth::Has(_, _, name, value) => {
                assert_eq!(reply.status, 200, "{place}: {truth:?}: {}", reply.text());
                assert_eq!(reply.json()[name], value.as_str(), "{place}: {truth:?}");
            }
            Truth::Gone(..) => assert_eq!(reply.status, 404, "{place}: {truth:?}: {}", reply.text()),
            Truth::AtLeast(_, _, name, number) => {
                assert_eq!(reply.status, 200, "{place}: {truth:?}: {}", reply.text());
                let found: usize = reply.json()[name]
                    .as_str()
                    .unwrap()
                    .rsplit(' ')
                    .next()
                    .unwrap()
                    .parse()
                    .unwrap();
                assert!(found >= *number, "{place}: {truth:?}: {found}");
            }
        }
    }
    assert!(running.wait());
    truths.len()
}

/// The row that a write answered; anything else than this status fails.
fn done(reply: &Reply, status: u16) -> serde_json::Value {
    assert_eq!(reply.status, status, "{}", reply.text());
    serde_json::from_slice(&reply.body).unwrap_or_default()
}

fn text_of(row: &serde_json::Value, name: &str) -> String {
    row[name]
        .as_str()
        .unwrap_or_else(|| panic!("no `{name}` in {row}"))
        .to_owned()
}

fn write_tasks(running: &Running, told: &Told) {
    let body = json!({"email": "ada@example.com", "name": "Ada"}).to_string();
    done(&call(running, "todo", "POST", "/api/v1/users", &body), 201);
    for turn in 0..TURNS {
        let title = format!("task {turn}");
        let made = call(
            running,
            "todo",
            "POST",
            "/api/v1/tasks",
            &json!({"title": title}).to_string(),
        );
        let path = format!("/api/v1/tasks/{}", text_of(&done(&made, 201), "task_id"));
        match turn % 3 {
            0 => told.note(Truth::Has("todo", path, "title", title)),
            1 => {
                done(&call(running, "todo", "DELETE", &path, ""), 204);
                told.note(Truth::Gone("todo", path));
            }
            _ => {
                let body = json!({"title": "changed"}).to_string();
                done(&call(running, "todo", "PATCH", &path, &body), 200);
                told.note(Truth::Has("todo", path, "title", "changed".to_owned()));
            }
        }
    }
}

fn write_items(running: &Running, told: &Told) {
    for turn in 0..TURNS {
        let name = format!("coat {turn}");
        let body = json!({"Name": name, "Category": "Outerwear"}).to_string();
        let key = format!("key-{turn}");
        let send = || {
            running.call(
                "wardrobe",
                "ada",
                "POST",
                "/users/ada/items",
                &[("idempotency-key", &key)],
                &body,
            )
        };
        let made = done(&send(), 201);
        // A replay tells of the same row.
        assert_eq!(done(&send(), 200)["ItemId"], made["ItemId"]);
        told.note(Truth::Has(
            "wardrobe",
            format!("/items/{}", text_of(&made, "ItemId")),
            "Name",
            name,
        ));
    }
}

fn write_countries(running: &Running, told: &Told) {
    let path = "/api/v1/countries/code/NO".to_owned();
    let body = |number: usize| {
        let name = format!("Norge {number}");
        json!({"alpha2Code": "NO", "alpha3Code": "NOR", "numericCode": "578", "name": name}).to_string()
    };
    done(&call(running, "country", "POST", "/api/v1/countries", &body(0)), 201);
    for number in 0..TURNS {
        if number > 0 {
            done(&call(running, "country", "PUT", &path, &body(number)), 200);
        }
        told.note(Truth::AtLeast("country", path.clone(), "name", number));
    }
}

fn write_bookings(running: &Running, told: &Told) {
    let body = json!({"email": "elena@example.it", "name": "Elena", "phone": "+39 06 4"}).to_string();
    done(&call(running, "booking", "POST", "/users", &body), 201);
    told.note(Truth::Has(
        "booking",
        "/users/me".to_owned(),
        "name",
        "Elena".to_owned(),
    ));
    for turn in 0..TURNS {
        let text = format!("tea {turn}");
        let body = json!({"date": "2099-05-01", "duration": "MORNING", "eventDescription": text, "attendees": 4});
        let made = done(&call(running, "booking", "POST", "/bookings", &body.to_string()), 201);
        let path = format!("/bookings/{}", text_of(&made, "bookingId"));
        told.note(Truth::Has("booking", path, "eventDescription", text));
    }
}

fn write_things(running: &Running, told: &Told) {
    let body = json!({"username": "ada", "email": "ada@example.pl", "city": "Warszawa", "country": "PL"}).to_string();
    done(&call(running, "ecobid", "POST", "/users", &body), 201);
    told.note(Truth::Has(
        "ecobid",
        "/users/me".to_owned(),
        "username",
        "ada".to_owned(),
    ));
    let place = json!({"lat": 52.2297, "lon": 21.0122, "city": "Warszawa", "country": "PL"});
    for turn in 0..TURNS {
        let title = format!("bike {turn}");
        let body = json!({"title": title, "description": "", "category": "sports", "mode": "free", "location": place});
        let made = done(&call(running, "ecobid", "POST", "/items", &body.to_string()), 201);
        let path = format!("/items/{}", text_of(&made, "itemId"));
        if turn % 3 > 0 {
            told.note(Truth::Has("ecobid", path, "title", title));
            continue;
        }
        done(&call(running, "ecobid", "DELETE", &path, ""), 204);
        told.note(Truth::Gone("ecobid", path));
    }
}
