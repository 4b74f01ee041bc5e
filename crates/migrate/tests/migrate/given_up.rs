//! A restoring that is given up: killed halfway, too, and beside what is not its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use singlet_migrate::{AbandonedRestore, RestoreError, RestoreOptions, abort_restore};
use singlet_runtime::{Engine, HeldTable, Relocation, RelocationPhase};
use singlet_testing::DyingStore;

use super::super::pairs::OLD;
use super::super::place;
use super::super::support::{NOW, assert_same, open_to_write};
use super::{Dumped, memo, opens, put};

impl Dumped {
    /// Gives it up in a process that ends after some calls; none, where it did.
    async fn dying_abort(&self, calls: usize) -> Option<Result<AbandonedRestore, RestoreError>> {
        let store = DyingStore::after_calls(Arc::clone(self.engine.store()), calls);
        let ended = store.ended();
        let engine = self.engine.on_store(Arc::new(store));
        tokio::select! {
            done = aborted(&engine) => Some(done),
            () = ended.notified() => None,
        }
    }
}

async fn aborted(engine: &Engine) -> Result<AbandonedRestore, RestoreError> {
    let options = RestoreOptions {
        page_items: 7,
        ..RestoreOptions::default()
    };
    abort_restore(engine, options, &|_, _| {}).await
}

/// Killed somewhere, then given up, and that killed, too: the table is empty, knows nobody, and takes the files again.
#[tokio::test]
async fn a_restoring_that_is_given_up_leaves_nothing() {
    let (mut killed, mut aborts) = (0, 0);
    while killed < place::kills() {
        let dumped = Dumped::of(OLD).await;
        if killed % 2 == 0 {
            open_to_write(&dumped.target.engine(OLD)).await.unwrap();
        }
        if let Some(done) = dumped.dying(fastrand::usize(4..60)).await {
            done.unwrap();
            continue;
        }
        killed += 1;
        let mut most = 4;
        let done = loop {
            most += 4;
            match dumped.dying_abort(fastrand::usize(1..most)).await {
                Some(done) => break done,
                None => killed += 1,
            }
            // It opens empty, or whole where it had been restored with the last call, or not at all.
            if opens(&dumped.target.engine(OLD)).await.is_ok() {
                let there = dumped.there().await;
                let is_empty = there.values().all(|item| item.contains_key("$guard_key"));
                assert!(is_empty || there == dumped.exported().await, "half a table opens");
                break Err(RestoreError::NothingToAbort);
            }
        };
        match done {
            Ok(_) => {
                aborts += 1;
                assert_eq!(dumped.target.contents().await, BTreeMap::new());
                assert!(dumped.engine.table_control().await.unwrap().is_none());
            }
            // It had not begun, or ended with its last call.
            Err(RestoreError::NothingToAbort) => {}
            Err(error) => panic!("{error}"),
        }
        dumped.restored().await.unwrap();
        dumped.assert_restored().await;
    }
    assert!(aborts > 0, "of {killed}");
    println!("{killed} kills, {aborts} given up");
}

#[tokio::test]
async fn only_what_is_being_restored_is_given_up() {
    let dumped = Dumped::of(OLD).await;
    let nothing = |done| matches!(done, Err(RestoreError::NothingToAbort));
    assert!(nothing(aborted(&dumped.engine).await), "there is no table");
    dumped.restored().await.unwrap();
    assert!(nothing(aborted(&dumped.engine).await), "it has come to its end");
    dumped.assert_restored().await;
    // What a caller wrote before it noticed stays.
    let other = Dumped::of(OLD).await;
    open_to_write(&other.engine).await.unwrap();
    let claim = |phase| Relocation {
        phase,
        id: "1".to_owned(),
        to: "there".to_owned(),
    };
    let control = other.engine.table_control().await.unwrap().unwrap();
    let preparing = claim(RelocationPhase::Preparing);
    assert!(other.engine.set_relocation(&control, Some(&preparing)).await.unwrap());
    put(&other.target, memo("MEMO#m")).await;
    let before = other.target.contents().await;
    assert_eq!(aborted(&other.engine).await.unwrap().removed, 0);
    assert_same("of a caller", &other.target.contents().await, &before);
    assert!(other.opens().await.is_ok());
    // A copy is given up by `copy`.
    let control = other.engine.table_control().await.unwrap().unwrap();
    let copying = claim(RelocationPhase::Copying);
    assert!(other.engine.set_relocation(&control, Some(&copying)).await.unwrap());
    assert!(matches!(aborted(&other.engine).await, Err(RestoreError::Elsewhere(_))));
    assert_same("copied", &other.target.contents().await, &before);
}

/// A restoring that was asleep while it was given up puts nothing, and does not hold the table.
#[tokio::test]
async fn whoever_slept_while_it_was_given_up_puts_nothing() {
    let dumped = Dumped::of(OLD).await;
    assert!(dumped.dying(30).await.is_none());
    let stale = dumped.engine.table_control().await.unwrap().unwrap();
    assert_eq!(stale.current_relocation().unwrap().phase, RelocationPhase::Restoring);
    aborted(&dumped.engine).await.unwrap();
    let held = HeldTable {
        archive: "1".to_owned(),
        from: "there".to_owned(),
        since_millis: NOW,
    };
    assert!(!dumped.engine.hold_while_known(&stale, &held).await.unwrap());
    assert_eq!(dumped.target.contents().await, BTreeMap::new());
}
