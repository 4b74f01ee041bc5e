//! Somebody writes a row between its being read and its being copied.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use singlet_item::Item;
use singlet_migrate::{BridgeGoal, BridgeSide};
use singlet_store::{Result, Store, StoreLayer, TransactWrite, TransactWriteRequest, WriteAnswer};

use super::models::*;
use super::whole::assert_new;

type Meanwhile = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A store in which something happens just before the first transaction that puts a twin of some row.
struct Racing {
    store: Arc<dyn Store>,
    meanwhile: Mutex<Option<Meanwhile>>,
    sort: &'static str,
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
            TransactWrite::Put(put) => put.item["SK"].as_str() == Some(self.sort),
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

/// A row of the old model that no copy was made of, by whoever slept through the phases before: it is copied before it goes.
#[tokio::test]
async fn a_row_that_nobody_has_copied_is_copied_before_it_goes() {
    let table = old_table(4).await;
    let bridge = bridge(&table).await;
    reach(&bridge, BridgeGoal::Both).await.unwrap();
    let asleep = table.engine(OLD);
    write(&asleep, "add", [("owner", text("ada")), ("number", number(70)), ("title", text("late"))]).await.unwrap();
    reach(&bridge, BridgeGoal::NewAlone).await.unwrap();
    assert!(tasks(&bridge.engine(BridgeSide::New), "ada").await.contains_key(&70));
    assert_new(&table, &new_model()).await;
}
