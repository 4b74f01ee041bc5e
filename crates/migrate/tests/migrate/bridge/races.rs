//! Somebody writes a row between its being read and its being copied.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use singlet_item::Item;
use singlet_migrate::{BridgeGoal, BridgeSide};
use singlet_store::{
    BatchGetAnswer, BatchGetRequest, PutRequest, Result, Store, StoreLayer, TransactWrite, TransactWriteRequest,
    WriteAnswer,
};

use tokio::sync::Notify;

use super::models::*;

pub type Meanwhile = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A store in which something happens just before the first transaction that puts a twin of some row of `ada`.
pub struct Racing {
    pub store: Arc<dyn Store>,
    pub meanwhile: Mutex<Option<Meanwhile>>,
    pub sort: &'static str,
}

impl std::fmt::Debug for Racing {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Racing")
    }
}

#[async_trait]
impl StoreLayer for Racing {
    fn beneath(&self) -> &dyn Store {
        &*self.store
    }

    async fn transact_write(&self, request: &TransactWriteRequest) -> Result<WriteAnswer> {
        let puts = |action: &TransactWrite| match action {
            TransactWrite::Put(put) => put.item["PK"] == text("USER#ada") && put.item["SK"].as_str() == Some(self.sort),
            _ => false,
        };
        if request.actions.iter().any(puts) {
            let meanwhile = self.meanwhile.lock().unwrap().take();
            if let Some(meanwhile) = meanwhile {
                meanwhile.await;
            }
        }
        self.store.transact_write(request).await
    }
}

/// The copy of task 3 of `ada` is about to be written when a client of the old model does something.
async fn raced(name: &'static str, args: Vec<(&'static str, singlet_item::Value)>) -> Vec<Item> {
    let table = old_table(6).await;
    let racing = Arc::new(Racing {
        store: Arc::clone(&table.store),
        meanwhile: Mutex::new(None),
        sort: "TASK#0003",
    });
    let store: Arc<dyn Store> = racing.clone();
    let bridge = Arc::new(bridge_on(&table, &store, &new_model()).await.unwrap());
    let client = Arc::clone(&bridge);
    *racing.meanwhile.lock().unwrap() = Some(Box::pin(async move {
        let old = client.engine(BridgeSide::Old);
        let request = singlet_runtime::WriteRequest {
            args: args.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            now: clock(),
            ..Default::default()
        };
        old.write(name, &request).await.unwrap();
    }));
    reach(&bridge, BridgeGoal::Both).await.unwrap();
    assert!(racing.meanwhile.lock().unwrap().is_none(), "nothing raced");
    let (old, new) = sides(&bridge);
    let of_new = tasks(&new, "ada").await;
    assert_eq!(shared(of_new.clone()), tasks(&old, "ada").await);
    reach(&bridge, BridgeGoal::NewAlone).await.unwrap();
    assert_new(&table, &new_model()).await;
    of_new.into_values().filter(|row| row["number"] == number(3)).collect()
}

fn at() -> Vec<(&'static str, singlet_item::Value)> {
    vec![("owner", text("ada")), ("number", number(3))]
}

#[tokio::test]
async fn a_row_that_is_deleted_while_it_is_copied_stays_deleted() {
    assert_eq!(raced("remove", at()).await, Vec::<Item>::new());
}

#[tokio::test]
async fn what_is_added_while_a_row_is_copied_is_in_the_copy() {
    let mut args = at();
    args.push(("points", number(40)));
    let rows = raced("score", args).await;
    assert_eq!(rows[0]["points"], number(43));
}

/// A store in which one transaction waits to be let go.
#[derive(Debug)]
pub struct Held {
    store: Arc<dyn Store>,
    sort: &'static str,
    was_held: AtomicBool,
    pub entered: Notify,
    pub released: Notify,
}

impl Held {
    pub fn new(store: &Arc<dyn Store>, sort: &'static str) -> Arc<Self> {
        Arc::new(Held {
            store: Arc::clone(store),
            sort,
            was_held: AtomicBool::new(false),
            entered: Notify::new(),
            released: Notify::new(),
        })
    }
}

#[async_trait]
impl StoreLayer for Held {
    fn beneath(&self) -> &dyn Store {
        &*self.store
    }

    async fn transact_write(&self, request: &TransactWriteRequest) -> Result<WriteAnswer> {
        let puts = |action: &TransactWrite| match action {
            TransactWrite::Put(put) => put.item["SK"].as_str() == Some(self.sort),
            TransactWrite::Update(update) => update.key["SK"].as_str() == Some(self.sort),
            _ => false,
        };
        if request.actions.iter().any(puts) && !self.was_held.swap(true, Ordering::SeqCst) {
            self.entered.notify_one();
            self.released.notified().await;
        }
        self.store.transact_write(request).await
    }
}

/// A write of the old model alone that has begun before the bridge, and arrives late: nothing is read before it has ended.
#[tokio::test]
async fn a_write_that_has_begun_is_waited_for() {
    let table = old_table(4).await;
    let held = Held::new(&table.store, "TASK#50");
    let store: Arc<dyn Store> = held.clone();
    let bridge = Arc::new(bridge_on(&table, &store, &new_model()).await.unwrap());
    let old = bridge.engine(BridgeSide::Old);
    let writing = tokio::spawn(async move {
        write(
            &old,
            "add",
            [("owner", text("ada")), ("number", number(50)), ("title", text("slow"))],
        )
        .await
        .unwrap();
    });
    held.entered.notified().await;
    let reaching = Arc::clone(&bridge);
    let reaching = tokio::spawn(async move { reach(&reaching, BridgeGoal::Both).await.unwrap() });
    for _ in 0..5_000 {
        tokio::task::yield_now().await;
    }
    assert!(!reaching.is_finished());
    held.released.notify_one();
    writing.await.unwrap();
    reaching.await.unwrap();
    let (old, new) = sides(&bridge);
    assert!(tasks(&new, "ada").await.contains_key(&50));
    assert_eq!(shared(tasks(&new, "ada").await), tasks(&old, "ada").await);
}

/// What has ended is not copied, and does not stay where no model looks.
#[tokio::test]
async fn what_has_ended_is_not_copied() {
    let table = old_table(4).await;
    for mut item in table.contents().await.into_values() {
        if item["SK"] == text("TASK#02") || item["SK"] == text("ada#02") {
            item.insert("ends".to_owned(), number(1_700_000_000));
            let put = PutRequest {
                table: table.name.clone(),
                item,
                ..PutRequest::default()
            };
            table.store.put(&put).await.unwrap();
        }
    }
    let bridge = bridge(&table).await;
    reach(&bridge, BridgeGoal::Both).await.unwrap();
    let (old, new) = sides(&bridge);
    assert_eq!(tasks(&new, "ada").await.into_keys().collect::<Vec<i64>>(), [0, 1, 3]);
    assert_eq!(shared(tasks(&new, "ada").await), tasks(&old, "ada").await);
    reach(&bridge, BridgeGoal::NewAlone).await.unwrap();
    for (key, item) in table.contents().await {
        assert!(item["SK"] != text("TASK#02") && item["SK"] != text("ada#02"), "{key}");
    }
}

/// A row of the old model that no copy was made of, by whoever slept through the phases before: it is copied before it goes.
#[tokio::test]
async fn a_row_that_nobody_has_copied_is_copied_before_it_goes() {
    let table = old_table(4).await;
    let bridge = bridge(&table).await;
    reach(&bridge, BridgeGoal::Both).await.unwrap();
    let asleep = table.engine(OLD);
    write(
        &asleep,
        "add",
        [("owner", text("ada")), ("number", number(70)), ("title", text("late"))],
    )
    .await
    .unwrap();
    reach(&bridge, BridgeGoal::NewAlone).await.unwrap();
    assert!(tasks(&bridge.engine(BridgeSide::New), "ada").await.contains_key(&70));
    assert_new(&table, &new_model()).await;
}

/// A store in which something happens just before what lies beside a row is read.
struct Torn {
    store: Arc<dyn Store>,
    meanwhile: Mutex<Option<Meanwhile>>,
    /// How the key begins of what is read.
    beside: &'static str,
}

impl std::fmt::Debug for Torn {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Torn")
    }
}

#[async_trait]
impl StoreLayer for Torn {
    fn beneath(&self) -> &dyn Store {
        &*self.store
    }

    async fn batch_get(&self, request: &BatchGetRequest) -> Result<BatchGetAnswer> {
        let asks = |key: &Item| key["PK"].as_str().is_some_and(|key| key.starts_with(self.beside));
        if request.tables.iter().any(|table| table.keys.iter().any(asks)) {
            let meanwhile = self.meanwhile.lock().unwrap().take();
            if let Some(meanwhile) = meanwhile {
                meanwhile.await;
            }
        }
        self.store.batch_get(request).await
    }
}

/// A row and its mirror are read one after the other, and somebody writes both in between: no value is one that only one model can hold.
#[tokio::test]
async fn what_is_read_of_two_moments_is_read_again() {
    for during_backfill in [true, false] {
        let table = old_table(4).await;
        let torn = Arc::new(Torn {
            store: Arc::clone(&table.store),
            meanwhile: Mutex::new(None),
            beside: "TITLE#ada 3",
        });
        let store: Arc<dyn Store> = torn.clone();
        let bridge = Arc::new(bridge_on(&table, &store, &filled_model()).await.unwrap());
        let score = |points: i64| {
            let old = bridge.engine(BridgeSide::Old);
            async move {
                let at = [
                    ("owner", text("ada")),
                    ("number", number(3)),
                    ("points", number(points)),
                ];
                write(&old, "score", at).await
            }
        };
        if !during_backfill {
            reach(&bridge, BridgeGoal::Both).await.unwrap();
        }
        *torn.meanwhile.lock().unwrap() = {
            let score = score(40);
            Some(Box::pin(async move { score.await.unwrap() }))
        };
        match during_backfill {
            true => reach(&bridge, BridgeGoal::Both).await.unwrap(),
            false => score(5).await.unwrap(),
        }
        assert!(torn.meanwhile.lock().unwrap().is_none(), "nothing was torn");
        let (old, new) = sides(&bridge);
        let points = if during_backfill { 43 } else { 48 };
        assert_eq!(tasks(&old, "ada").await[&3]["points"], number(points));
        assert_eq!(shared(tasks(&new, "ada").await), tasks(&old, "ada").await);
    }
}
