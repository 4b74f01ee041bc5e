//! A store whose indexes come late: reads by them see what was a while ago, of the model that asks and of no other.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use singlet_item::Item;
use singlet_migrate::{Bridge, BridgeGoal, BridgeSide, ProcessTimes};
use singlet_runtime::{Engine, load};
use singlet_store::{
    DeleteRequest, PageAnswer, PutRequest, QueryRequest, Result as StoreResult, Store, StoreLayer, StreamPosition,
    StreamRequest, TableChange,
};
use singlet_store_embedded::EmbeddedStore;
use tokio::sync::Mutex;

use super::super::support::{NOW, Table, open_to_write};
use super::clients::is_shut;
use super::models::*;
use super::processes::PATIENT;

/// How late an entry of an index comes at most.
const LATE: Duration = Duration::from_millis(60);

/// How late what leads the bridge believes it to come.
const TIMES: ProcessTimes = ProcessTimes {
    late: Duration::from_millis(400),
    ..PATIENT
};

/// A store whose indexes are those of a table that gets its changes late, and in their order.
#[derive(Debug)]
struct LateIndexes {
    store: Arc<dyn Store>,
    late: Arc<dyn Store>,
    table: String,
    brought: Mutex<Brought>,
    is_late: AtomicBool,
}

/// How far the indexes are, and how many changes there were at some instants.
#[derive(Debug)]
struct Brought {
    position: StreamPosition,
    changes: usize,
    known: VecDeque<(Instant, usize)>,
}

impl LateIndexes {
    /// Brings what is due, and some of the rest; all where they are not late.
    async fn bring(&self) {
        let brought = &mut *self.brought.lock().await;
        loop {
            let request = StreamRequest {
                table: self.table.clone(),
                position: brought.position.clone(),
                limit: 1_000,
            };
            let ahead = self.store.read_stream(&request).await.unwrap().records.len();
            brought.known.push_back((Instant::now(), brought.changes + ahead));
            let is_due = |(at, _): &&(Instant, usize)| at.elapsed() > LATE;
            let due = brought.known.iter().rfind(is_due).map_or(0, |(_, changes)| *changes);
            let due = due.saturating_sub(brought.changes);
            brought.known.retain(|(at, _)| at.elapsed() < LATE * 4);
            let count = match self.is_late.load(Ordering::SeqCst) {
                true => due + fastrand::usize(0..=ahead.saturating_sub(due)) / 2,
                false => ahead,
            };
            if count == 0 {
                return;
            }
            brought.changes += count;
            let request = StreamRequest {
                limit: u32::try_from(count).unwrap(),
                ..request
            };
            let page = self.store.read_stream(&request).await.unwrap();
            for record in page.records {
                match record.new {
                    Some(item) => {
                        let put = PutRequest {
                            table: self.table.clone(),
                            item,
                            ..PutRequest::default()
                        };
                        self.late.put(&put).await.unwrap();
                    }
                    None => {
                        let delete = DeleteRequest {
                            table: self.table.clone(),
                            key: record.key,
                            ..DeleteRequest::default()
                        };
                        self.late.delete(&delete).await.unwrap();
                    }
                }
            }
            brought.position = page.next;
            if due == 0 || !self.is_late.load(Ordering::SeqCst) {
                return;
            }
        }
    }
}

#[async_trait]
impl StoreLayer for LateIndexes {
    fn beneath(&self) -> &dyn Store {
        &*self.store
    }

    async fn query(&self, request: &QueryRequest) -> StoreResult<PageAnswer> {
        match request.index {
            Some(_) => {
                self.bring().await;
                self.late.query(request).await
            }
            None => self.store.query(request).await,
        }
    }

    async fn update_table(&self, table: &str, change: &TableChange) -> StoreResult<()> {
        self.late.update_table(table, change).await?;
        self.store.update_table(table, change).await
    }
}

fn streamed(model: &str) -> String {
    model.replace("type: kind\n", "type: kind\n  stream: both_images\n")
}

/// What a task was at any time: its owner and number, and its points.
type Past = BTreeMap<(String, i64), BTreeSet<i64>>;

fn seen(row: &Item) -> ((String, i64), i64) {
    let of = |name: &str| row[name].as_number().unwrap().to_i64().unwrap();
    ((row["owner"].as_str().unwrap().to_owned(), of("number")), of("points"))
}

/// What an index gives is of the past, no row of it comes twice, and each is as the model that asks has it.
async fn assert_past(engine: &Engine, side: BridgeSide, past: &Past) -> bool {
    let mut reads = vec![("byPoints", None)];
    if side == BridgeSide::New {
        reads.extend([("bySize", Some("small")), ("bySize", Some("large"))]);
    }
    for (name, size) in reads {
        let found = match size {
            None => read(engine, name, []).await,
            Some(size) => read(engine, name, [("size", text(size))]).await,
        };
        let found = match found {
            Err(error) if is_shut(&error) => return false,
            found => found.unwrap(),
        };
        let singlet_item::Value::L(rows) = found else {
            panic!("no rows")
        };
        let mut keys = BTreeSet::new();
        for row in rows.iter().map(|row| row.as_map().unwrap()) {
            let (key, points) = seen(row);
            assert!(
                past[&key].contains(&points),
                "{side:?} {name} {key:?}: {points} was never"
            );
            assert!(keys.insert(key.clone()), "{side:?} {name} {key:?} comes twice");
            assert_eq!(row.contains_key("size"), side == BridgeSide::New);
        }
    }
    true
}

async fn late(new: &str, goal: BridgeGoal) {
    let (old, new) = (streamed(OLD), streamed(new));
    let real: Arc<dyn Store> = Arc::new(EmbeddedStore::memory().unwrap());
    let copy: Arc<dyn Store> = Arc::new(EmbeddedStore::memory().unwrap());
    let table = Table::named(Arc::clone(&real));
    open_to_write(&table.engine(&old)).await.unwrap();
    copy.create_table(&real.describe_table(&table.name).await.unwrap().spec)
        .await
        .unwrap();
    let store = Arc::new(LateIndexes {
        store: real,
        late: copy,
        table: table.name.clone(),
        brought: Mutex::new(Brought {
            position: StreamPosition::Start,
            changes: 0,
            known: VecDeque::new(),
        }),
        is_late: AtomicBool::new(true),
    });
    let on = |text: &str| table.engine(text).on_store(store.clone());
    let (mut past, mut lines) = (Past::new(), Vec::new());
    for at in 0..12 {
        past.insert(("ada".to_owned(), at), [at].into());
        lines.push(format!(
            r#"{{"Task": {{"owner": "ada", "number": {at}, "title": "t {at}", "points": {at}, "edition": 1}}}}"#
        ));
    }
    load::load_text(&on(&old), &lines.join("\n"), NOW).await.unwrap();
    let bridge = Bridge::lead(on(&old), on(&new), options(), (TIMES, clock))
        .await
        .unwrap();
    let bridge = Arc::new(bridge);
    let due = Arc::clone(&store);
    let bringing = tokio::spawn(async move {
        loop {
            due.bring().await;
            tokio::time::sleep(LATE / 6).await;
        }
    });
    let is_over = Arc::new(AtomicBool::new(false));
    let (of, over) = (Arc::clone(&bridge), Arc::clone(&is_over));
    let client = tokio::spawn(async move {
        let (mut answered, mut left) = (0, 30);
        while left > 0 {
            left -= i32::from(over.load(Ordering::SeqCst));
            for side in [BridgeSide::Old, BridgeSide::New] {
                let engine = of.engine(side);
                let at = fastrand::i64(0..12);
                let key = ("ada".to_owned(), at);
                let there = tasks(&engine, "ada");
                let there = match read(&engine, "tasks", [("owner", text("ada"))]).await {
                    Ok(_) => there.await.remove(&at).map(|row| seen(&row).1),
                    Err(_) => continue,
                };
                let id = [("owner", text("ada")), ("number", number(at))];
                let [owner, place] = id.clone();
                // Known before it is done: an index may have it at once.
                let (done, points) = match (there, fastrand::bool()) {
                    (None, _) => {
                        past.get_mut(&key).unwrap().insert(0);
                        let title = ("title", text(&format!("again {}", fastrand::u64(..))));
                        (write(&engine, "add", [owner, place, title]).await, 0)
                    }
                    (Some(_), true) if fastrand::u32(0..3) == 0 => (write(&engine, "remove", id).await, -1),
                    (Some(points), _) => {
                        past.get_mut(&key).unwrap().insert(points + 3);
                        (
                            write(&engine, "score", [owner, place, ("points", number(3))]).await,
                            points + 3,
                        )
                    }
                };
                match done {
                    Err(error) if is_shut(&error) => {}
                    done => done.unwrap_or_else(|error| panic!("{side:?} {at} {points}: {error}")),
                }
                answered += usize::from(assert_past(&engine, side, &past).await);
            }
            tokio::task::yield_now().await;
        }
        (past, answered)
    });
    bridge.reach(BridgeGoal::Both, &|_| {}).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    bridge.reach(goal, &|_| {}).await.unwrap();
    is_over.store(true, Ordering::SeqCst);
    let (past, answered) = client.await.unwrap();
    assert!(answered > 20, "{answered}");
    // Once nothing is late an index has what the table has.
    store.is_late.store(false, Ordering::SeqCst);
    bringing.abort();
    let _ = bringing.await;
    let side = if goal == BridgeGoal::OldAlone {
        BridgeSide::Old
    } else {
        BridgeSide::New
    };
    let engine = bridge.engine(side);
    assert!(assert_past(&engine, side, &past).await);
    let by_index: BTreeMap<(String, i64), i64> = rows(&engine, "byPoints", []).await.iter().map(seen).collect();
    let by_key: BTreeMap<(String, i64), i64> = tasks(&engine, "ada").await.values().map(seen).collect();
    assert_eq!(by_index, by_key);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_by_an_index_that_comes_late_see_their_own_model() {
    late(&new_model(), BridgeGoal::NewAlone).await;
    late(&filled_model(), BridgeGoal::NewAlone).await;
    late(&new_model(), BridgeGoal::OldAlone).await;
}
