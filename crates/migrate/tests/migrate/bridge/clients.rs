//! Clients of both models under load, each against the oracle of its own model, while the bridge is built and taken down.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use singlet_migrate::{BridgeGoal, BridgeSide};
use singlet_runtime::{Engine, NOT_IN_BOTH_MODELS, RuntimeError};

use super::models::*;

/// What a client knows of a task.
#[derive(Clone, Debug, PartialEq)]
struct Known {
    title: String,
    points: i64,
    due: Option<i64>,
    /// What the new model has of it, where that was said or seen.
    size: Option<String>,
}

/// The rows of one owner, which nobody else writes.
pub struct Client {
    owner: String,
    rows: BTreeMap<i64, Known>,
    made: u64,
    pub writes: u64,
}

/// Whether a model did not serve then: it does so later, or the other one does.
pub fn is_shut(error: &RuntimeError) -> bool {
    let text = error.to_string();
    let words = [
        "serve",
        "begun yet",
        "for a while",
        "later stage",
        "is not known",
        "not read yet",
    ];
    words.iter().any(|word| text.contains(word))
}

impl Client {
    pub fn new(owner: &str) -> Self {
        Client {
            owner: owner.to_owned(),
            rows: BTreeMap::new(),
            made: 0,
            writes: 0,
        }
    }

    /// Says or asks something through one of the sides; whether it was answered.
    pub async fn act(&mut self, engine: &Engine, side: BridgeSide) -> bool {
        let at = fastrand::i64(0..30);
        let (owner, id) = (("owner", text(&self.owner)), ("number", number(at)));
        let known = self.rows.get(&at).cloned();
        let done = match fastrand::u32(0..8) {
            0 | 1 => {
                self.made += 1;
                let title = format!("{} {at} {}", self.owner, self.made);
                let done = write(engine, "add", [owner, id, ("title", text(&title)), ("due", number(at))]).await;
                if done.is_ok() {
                    let added = Known {
                        title,
                        points: 0,
                        due: Some(at),
                        size: None,
                    };
                    assert!(self.rows.insert(at, added).is_none(), "{at} was made twice");
                }
                (done, known.is_none())
            }
            2 => {
                let done = write(engine, "remove", [owner, id]).await;
                if done.is_ok() {
                    self.rows.remove(&at);
                }
                (done, known.is_some())
            }
            3 | 4 => {
                let done = write(engine, "score", [owner, id, ("points", number(3))]).await;
                if done.is_ok() {
                    self.rows.get_mut(&at).unwrap().points += 3;
                }
                (done, known.is_some())
            }
            5 => {
                self.made += 1;
                let title = format!("{} again {}", self.owner, self.made);
                let done = write(engine, "retitle", [owner, id, ("title", text(&title))]).await;
                if done.is_ok() {
                    self.rows.get_mut(&at).unwrap().title = title;
                }
                (done, known.is_some())
            }
            6 if side == BridgeSide::New => {
                let size = if fastrand::bool() { "large" } else { "small" };
                let done = write(engine, "resize", [owner, id, ("size", text(size))]).await;
                if done.is_ok() {
                    self.rows.get_mut(&at).unwrap().size = Some(size.to_owned());
                }
                (done, known.is_some())
            }
            _ => return self.check(engine, side).await,
        };
        match done {
            (Ok(()), is_possible) => {
                assert!(is_possible, "{at} was done, and could not be");
                self.writes += 1;
                true
            }
            (Err(error), _) if is_shut(&error) => false,
            (Err(RuntimeError::Refused(refused)), is_possible) => {
                assert!(!is_possible && refused.name != NOT_IN_BOTH_MODELS, "{at}: {refused:?}");
                true
            }
            (Err(error), _) => panic!("{side:?} {at}: {error}"),
        }
    }

    /// What one side says of the rows is what the client knows.
    pub async fn check(&mut self, engine: &Engine, side: BridgeSide) -> bool {
        match read(engine, "tasks", [("owner", text(&self.owner))]).await {
            Err(error) if is_shut(&error) => return false,
            answer => answer.unwrap(),
        };
        let found = tasks(engine, &self.owner).await;
        let numbers: Vec<i64> = found.keys().copied().collect();
        assert_eq!(numbers, self.rows.keys().copied().collect::<Vec<i64>>(), "{side:?}");
        for (at, known) in &mut self.rows {
            let row = &found[at];
            assert_eq!(row["title"], text(&known.title), "{side:?} {at}");
            assert_eq!(row["points"], number(known.points), "{side:?} {at}");
            assert_eq!(row.get("due"), known.due.map(number).as_ref(), "{side:?} {at}");
            if side == BridgeSide::New {
                let size = known
                    .size
                    .get_or_insert_with(|| row["size"].as_str().unwrap().to_owned());
                assert_eq!(row["size"], text(size), "{at}");
            } else {
                assert!(!row.contains_key("size"));
            }
        }
        true
    }
}

/// How many of each client's calls come after the last phase at least; `SINGLET_BRIDGE_LOAD` asks for more.
fn load() -> usize {
    let asked = std::env::var("SINGLET_BRIDGE_LOAD").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(20)
}

async fn clients_and(new: &str, goal: BridgeGoal) {
    let table = old_table(10).await;
    let bridge = Arc::new(bridge_on(&table, &table.store, new).await.unwrap());
    let is_over = Arc::new(AtomicBool::new(false));
    let mut working = Vec::new();
    for owner in ["c1", "c2", "c3", "c4"] {
        let (bridge, is_over) = (Arc::clone(&bridge), Arc::clone(&is_over));
        working.push(tokio::spawn(async move {
            let mut client = Client::new(owner);
            let mut left = load();
            while left > 0 {
                for side in [BridgeSide::Old, BridgeSide::New] {
                    client.act(&bridge.engine(side), side).await;
                }
                left -= usize::from(is_over.load(Ordering::SeqCst));
            }
            client
        }));
    }
    let until = |goal| {
        let bridge = Arc::clone(&bridge);
        async move { reach(&bridge, goal).await.unwrap() }
    };
    until(BridgeGoal::Both).await;
    until(goal).await;
    is_over.store(true, Ordering::SeqCst);
    let mut writes = 0;
    for client in working {
        let mut client = client.await.unwrap();
        let side = if goal == BridgeGoal::OldAlone {
            BridgeSide::Old
        } else {
            BridgeSide::New
        };
        assert!(client.check(&bridge.engine(side), side).await);
        writes += client.writes;
    }
    assert!(writes > 8, "{writes}");
    match goal {
        BridgeGoal::OldAlone => {
            let old = table.engine(OLD);
            let audit = singlet_runtime::audit_rows(&old, clock(), singlet_runtime::AuditDepth::Whole)
                .await
                .unwrap();
            assert_eq!(audit.misfit_count(), 0, "{:?}", audit.first);
        }
        _ => assert_new(&table, new).await,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_of_both_models_are_answered_by_their_own() {
    clients_and(&new_model(), BridgeGoal::NewAlone).await;
    clients_and(&filled_model(), BridgeGoal::NewAlone).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_are_answered_while_a_bridge_is_given_up() {
    clients_and(&new_model(), BridgeGoal::OldAlone).await;
    clients_and(&filled_model(), BridgeGoal::OldAlone).await;
}
