//! What runs after changes is held against what must be in the table at rest: mistakes on the way are found.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::sync::Arc;

use async_trait::async_trait;
use singlet_item::Value;
use singlet_store::{
    PutRequest, Result, Store, StoreLayer, StreamPage, StreamRequest, TransactWrite, TransactWriteRequest, WriteAnswer,
};
use singlet_verify::run::followed::{FollowedTally, first_found};

use support::memory;

/// What goes wrong between the store and who follows it.
#[derive(Clone, Copy, Debug)]
enum Mistake {
    /// Some changes are not told.
    LostChanges,
    /// Changes of one page are told in the wrong order.
    TurnedPages,
    /// That a write ran after a change is not recorded with it.
    NoRecords,
    /// Timers are not kept.
    NoTimers,
}

/// How many models are drawn until a mistake is found.
const MODELS_MAX: u64 = 40;

#[derive(Debug)]
struct Mistaken(Arc<dyn Store>, Mistake);

fn is_of_kind(put: &PutRequest, kind: &str) -> bool {
    put.item.get("type").and_then(Value::as_str) == Some(kind)
}

#[async_trait]
impl StoreLayer for Mistaken {
    fn beneath(&self) -> &dyn Store {
        &*self.0
    }

    async fn put(&self, request: &PutRequest) -> Result<WriteAnswer> {
        match self.1 {
            Mistake::NoTimers if is_of_kind(request, "$timers") => Ok(WriteAnswer::default()),
            _ => self.0.put(request).await,
        }
    }

    async fn transact_write(&self, request: &TransactWriteRequest) -> Result<WriteAnswer> {
        let mut request = request.clone();
        if matches!(self.1, Mistake::NoRecords) {
            let is_record = |action: &TransactWrite| match action {
                TransactWrite::Put(put) => is_of_kind(put, "$change"),
                _ => false,
            };
            request.actions.retain(|action| !is_record(action));
        }
        self.0.transact_write(&request).await
    }

    async fn read_stream(&self, request: &StreamRequest) -> Result<StreamPage> {
        let mut page = self.0.read_stream(request).await?;
        match self.1 {
            Mistake::LostChanges => page.records.retain(|record| {
                !record.sequence.ends_with('0') || {
                    let commit: String = record.sequence.chars().take(20).collect();
                    !commit.parse::<u64>().unwrap().is_multiple_of(5)
                }
            }),
            Mistake::TurnedPages => page.records.reverse(),
            Mistake::NoRecords | Mistake::NoTimers => {}
        }
        Ok(page)
    }
}

/// Whether a mistake is found, by a model of a seed from one on. The first is one that shows it, so that a usual run ends soon.
async fn is_found(mistake: Mistake, first_model: u64) -> bool {
    let store = move || -> Arc<dyn Store> { Arc::new(Mistaken(memory(), mistake)) };
    for model in first_model..first_model + MODELS_MAX {
        let mut tally = FollowedTally::default();
        if first_found(1, model, &store, &mut tally).await.unwrap().is_some() {
            return true;
        }
    }
    false
}

#[tokio::test]
async fn a_change_that_is_not_told_is_found() {
    assert!(is_found(Mistake::LostChanges, 0).await);
}

#[tokio::test]
async fn changes_of_a_row_in_the_wrong_order_are_found() {
    assert!(is_found(Mistake::TurnedPages, 11).await);
}

#[tokio::test]
async fn what_runs_twice_is_found() {
    assert!(is_found(Mistake::NoRecords, 1).await);
}

#[tokio::test]
async fn what_time_should_have_done_is_found() {
    assert!(is_found(Mistake::NoTimers, 10).await);
}
