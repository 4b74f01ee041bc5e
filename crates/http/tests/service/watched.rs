//! When a watched read is to be read again: never later than what it answers changes.
//!
//! The clock is the test's own, so that every instant at which a row lapses or expires is met exactly.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fastrand::Rng;
use singlet_changes::{ChangeReader, Told};
use singlet_item::Value;
use singlet_runtime::{Attributes, Caller, Engine, Precondition, Request, RuntimeError, Watched, WriteRequest};
use singlet_store::{Store, StreamPosition};
use singlet_store_embedded::EmbeddedStore;

use crate::running::{model, secret};

/// 2026-11-16T12:00:00Z.
const BEGIN: i64 = 1_794_830_400_000;

/// What somebody who watches holds, and when time makes it read again.
struct Watching {
    name: &'static str,
    request: Request,
    watched: Watched,
    held: Shown,
    /// Of the rows that it has been told of.
    instants: BTreeSet<i64>,
}

/// What a read answers: rows, or that they are not the caller's to see.
type Shown = Result<Vec<Value>, &'static str>;

impl Watching {
    async fn open(engine: &Engine, name: &'static str, request: Request) -> Self {
        let watched = engine.watched(name, &request).unwrap().unwrap();
        let (held, instants) = read(engine, &watched, &request).await;
        Watching {
            name,
            request,
            watched,
            held,
            instants: instants.into_iter().collect(),
        }
    }
}

async fn read(engine: &Engine, watched: &Watched, request: &Request) -> (Shown, Option<i64>) {
    match engine.read_watched(watched, request, None).await {
        Ok(read) => (Ok(read.rows), read.next_instant),
        Err(RuntimeError::Forbidden | RuntimeError::NotFound) => (Err("not to be seen"), None),
        Err(error) => panic!("{error}"),
    }
}

fn pick<'a>(random: &mut Rng, of: &[&'a str]) -> &'a str {
    of[random.usize(..of.len())]
}

fn text(of: &str) -> Value {
    Value::from(of)
}

/// An instant within the first hour, or a second before it.
fn instant(at: i64) -> Value {
    let millis = at - BEGIN;
    let (hour, millis) = match millis < 0 {
        true => (11, millis + 3_600_000),
        false => (12, millis),
    };
    let (minutes, seconds) = (millis / 60_000, millis / 1_000 % 60);
    text(&format!(
        "2026-11-16T{hour}:{minutes:02}:{seconds:02}.{:03}Z",
        millis % 1_000
    ))
}

/// A write that may be refused, of desks so few that most meet another.
fn drawn_write(random: &mut Rng, now: i64) -> (&'static str, WriteRequest) {
    let later = |random: &mut Rng| instant(now + 1_000 * random.i64(-1..4));
    let mut args = Attributes::new();
    args.insert("room".to_owned(), text(pick(random, &["one", "two"])));
    let name = ["open", "add", "add", "hold", "hold", "sell", "edit", "remove", "note"][random.usize(..9)];
    if name == "open" {
        args.insert("keeper".to_owned(), text(pick(random, &["ada", "linus"])));
    } else {
        args.insert("desk".to_owned(), text(pick(random, &["a", "b", "c", "d", "e"])));
    }
    if ["add", "edit"].contains(&name) {
        args.insert("title".to_owned(), text(pick(random, &["old", "new", "odd"])));
        args.insert("size".to_owned(), Value::from(random.i64(0..10)));
        if random.u8(..3) == 0 {
            args.insert("goneAt".to_owned(), later(random));
        }
    }
    if name == "hold" {
        args.insert("until".to_owned(), later(random));
    }
    if name == "note" {
        args.insert("text".to_owned(), text(pick(random, &["hm", "aha"])));
    }
    let request = WriteRequest {
        args,
        caller: Caller::with_id(pick(random, &["ada", "linus"])),
        now,
        idempotency_key: None,
        precondition: Precondition::Unsaid,
    };
    (name, request)
}

/// Every read as every caller, with several limits.
async fn everybody(engine: &Engine) -> Vec<Watching> {
    let reads = [
        "all",
        "newest",
        "held",
        "titles",
        "mine",
        "freeOrMine",
        "keepers",
        "large",
        "noted",
    ];
    let callers = [
        Caller::with_id("ada"),
        Caller::with_id("linus"),
        Caller::with_id("linus").claim("role", "boss"),
    ];
    let mut all = Vec::new();
    for name in reads {
        for caller in &callers {
            for limit in [1, 50] {
                let mut args = Attributes::from([("room".to_owned(), text("one"))]);
                if name == "large" {
                    args.insert("least".to_owned(), Value::from(5_i64));
                }
                let request = Request {
                    args,
                    caller: caller.clone(),
                    limit: Some(limit),
                    cursor: None,
                    now: BEGIN,
                };
                all.push(Watching::open(engine, name, request).await);
            }
        }
    }
    all
}

#[tokio::test]
async fn whoever_reads_again_when_told_holds_what_the_read_answers() {
    let model = Arc::new(model("desks"));
    for seed in 0..4 {
        let random = &mut Rng::with_seed(seed);
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::memory().unwrap());
        let engine = Engine::open(
            Arc::clone(&model),
            Arc::clone(&store),
            Attributes::new(),
            secret().cursor_key("desks"),
        );
        engine.create_table().await.unwrap();
        let mut reader = ChangeReader::new(Arc::clone(&model), Arc::new(store), StreamPosition::Latest);
        reader.next_page().await.unwrap();
        let mut all = everybody(&engine).await;
        let (mut now, mut done, mut passed_over) = (BEGIN, 0, 0);
        for step in 0..120 {
            let earlier = now;
            // Also instants at which something changes, and those beside them.
            now += [0, 0, 1, 999, 1_000, 2_500][random.usize(..6)];
            let (name, request) = drawn_write(random, now);
            let written = engine.write(name, &request).await;
            done += usize::from(written.is_ok());
            let mut changes = Vec::new();
            loop {
                let page = reader.next_page().await.unwrap();
                if page.is_empty() {
                    break;
                }
                changes.extend(page.told.into_iter().map(|told| match told {
                    Told::Change(change) => change,
                    Told::Misfit(misfit) => panic!("{misfit:?}"),
                }));
            }
            let mut shared: BTreeMap<String, Shown> = BTreeMap::new();
            for watching in &mut all {
                watching.request.now = now;
                let concern = changes.iter().filter(|change| {
                    let images = [change.before.as_ref(), change.after.as_ref()];
                    watching.watched.concerns(&engine, &change.entity, Some(images))
                });
                let concern: Vec<_> = concern.collect();
                for row in concern.iter().filter_map(|change| change.after.as_ref()) {
                    let instants = watching.watched.instants_of(&engine, row, now);
                    watching.instants.extend(instants);
                }
                let is_due = watching.instants.first().is_some_and(|instant| *instant <= now);
                let (answered, next_instant) = read(&engine, &watching.watched, &watching.request).await;
                // Whoever may ask and has the same key is answered the same.
                let is_admitted = engine
                    .admits_caller(watching.name, &watching.request.caller, now)
                    .is_ok();
                if let Some(key) = watching.watched.share_key.clone().filter(|_| is_admitted) {
                    let known = shared.entry(key).or_insert_with(|| answered.clone());
                    assert_eq!(*known, answered, "seed {seed}, step {step}: {}", watching.name);
                }
                if is_due || !concern.is_empty() {
                    watching.held = answered;
                    watching.instants.extend(next_instant);
                    watching.instants.retain(|instant| *instant > now);
                    continue;
                }
                passed_over += 1;
                assert_eq!(
                    watching.held,
                    answered,
                    "seed {seed}, step {step}: {name} {:?} was {:?} from {earlier} to {now}, and {} of {:?} was not told",
                    request.args,
                    written.as_ref().err(),
                    watching.name,
                    watching.request.caller
                );
            }
        }
        let shares = |name: &str| {
            all.iter()
                .any(|one| one.name == name && one.watched.share_key.is_some())
        };
        assert!(shares("all") && !shares("mine") && !shares("freeOrMine") && !shares("keepers"));
        assert!(done > 40, "almost every write is refused: {done} are done");
        assert!(
            passed_over > 1_000,
            "almost everybody reads again at everything: {passed_over}"
        );
    }
}
