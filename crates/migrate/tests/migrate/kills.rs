//! Killed at any call of the store, paused, aborted, run by two at once: the table is the old model's or the new one's.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use singlet_migrate::MigrateError;
use singlet_runtime::{Engine, MigrationPhase};
use singlet_store::{Store, StoreLayer};
use tokio::sync::Notify;

use super::pairs::{PAIRS, Pair};
use super::place::{TASKS, is_tried, kills};
use super::support::{aborted, assert_new, assert_same, migrated, old_table, open_to_write, options};

/// A store for a process that ends at some call: the last one is done, and nobody learns of it.
#[derive(Debug)]
struct Dying {
    store: Arc<dyn Store>,
    left: AtomicUsize,
    ended: Arc<Notify>,
}

#[async_trait]
impl StoreLayer for Dying {
    fn beneath(&self) -> &dyn Store {
        &*self.store
    }

    async fn before_call(&self) {
        if self.left.load(Ordering::SeqCst) == 0 {
            pending::<()>().await;
        }
    }

    async fn after_call(&self) {
        if self
            .left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1))
            == Ok(1)
        {
            self.ended.notify_one();
            pending::<()>().await;
        }
    }
}

fn tried() -> impl Iterator<Item = &'static Pair> {
    PAIRS.iter().filter(|pair| is_tried(pair.name))
}

/// Migrates, or aborts, in a process that ends after some calls; none, where it did.
async fn dying(
    pair: &Pair,
    (old, new): (&Engine, &Engine),
    calls: usize,
    aborts: bool,
) -> Option<Result<(), MigrateError>> {
    let ended = Arc::new(Notify::new());
    let layer: Arc<dyn Store> = Arc::new(Dying {
        store: Arc::clone(old.store()),
        left: AtomicUsize::new(calls),
        ended: Arc::clone(&ended),
    });
    let (old, new) = (old.on_store(Arc::clone(&layer)), new.on_store(layer));
    let work = async {
        match aborts {
            true => aborted(&old, &new, options(pair)).await.map(drop),
            false => migrated(&old, &new, options(pair)).await.map(drop),
        }
    };
    tokio::select! {
        done = work => Some(done),
        () = ended.notified() => None,
    }
}

#[tokio::test]
async fn a_migration_that_is_killed_goes_on_to_its_end() {
    let mut killed = 0;
    while killed < kills() {
        for pair in tried() {
            let (table, old) = old_table(TASKS).await;
            let new = table.engine(&pair.new_model());
            loop {
                match dying(pair, (&old, &new), fastrand::usize(1..150), false).await {
                    Some(done) => {
                        done.unwrap_or_else(|error| panic!("{}: {error}", pair.name));
                        break;
                    }
                    None => killed += 1,
                }
            }
            assert_new(pair, &table, TASKS).await;
            table.remove().await;
        }
    }
    println!("{killed} kills");
}

/// Killed somewhere, then aborted, and the abort killed too: every item is again what it was, byte for byte.
#[tokio::test]
async fn an_aborted_migration_leaves_what_was() {
    let (mut killed, mut aborts) = (0, 0);
    while killed < kills() {
        for pair in tried() {
            let (table, old) = old_table(TASKS).await;
            let new = table.engine(&pair.new_model());
            let before = table.contents().await;
            if dying(pair, (&old, &new), fastrand::usize(20..120), false)
                .await
                .is_some()
            {
                table.remove().await;
                continue;
            }
            killed += 1;
            let phase = old.migration_phase().await.unwrap();
            let is_late = phase == Some(MigrationPhase::Finish);
            loop {
                match dying(pair, (&old, &new), fastrand::usize(5..150), true).await {
                    Some(Err(MigrateError::TooLate(_))) if is_late => break,
                    Some(Err(MigrateError::NothingToAbort)) => break,
                    Some(done) => {
                        done.unwrap_or_else(|error| panic!("{}: {error}", pair.name));
                        break;
                    }
                    None => killed += 1,
                }
            }
            if is_late {
                table.remove().await;
                continue;
            }
            if old.table_control().await.unwrap().unwrap().faces() != [old.face_in_table().await.unwrap().face_hash()] {
                // It had come to its end.
                table.remove().await;
                continue;
            }
            aborts += 1;
            assert_same(pair.name, &table.contents().await, &before);
            open_to_write(&old).await.unwrap();
            migrated(&old, &new, options(pair)).await.unwrap();
            assert_new(pair, &table, TASKS).await;
            table.remove().await;
        }
    }
    assert!(aborts * 10 > kills() || kills() < 10, "{aborts} aborts");
    println!("{killed} kills, {aborts} aborts");
}

/// Two people begin at once: both come to the end, or one is told that it is done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_at_once_come_to_one_end() {
    for pair in tried() {
        let (table, old) = old_table(TASKS).await;
        let new = table.engine(&pair.new_model());
        let one = || migrated(&old, &new, options(pair));
        let (first, second, third) = tokio::join!(one(), one(), one());
        for ended in [first, second, third] {
            ended.unwrap_or_else(|error| panic!("{}: {error}", pair.name));
        }
        assert_new(pair, &table, TASKS).await;
        table.remove().await;
    }
}

/// While one migrates, another aborts: whichever wins, the table is one of the two.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_abort_beside_a_migration_leaves_one_of_the_two() {
    for pair in tried() {
        let (table, old) = old_table(TASKS).await;
        let before = table.contents().await;
        // Left by a process that was killed in the middle.
        let new = table.engine(&pair.new_model());
        let _ = dying(pair, (&old, &new), 60, false).await;
        let go_on = migrated(&old, &new, options(pair));
        let abort = aborted(&old, &new, options(pair));
        let (_, _) = tokio::join!(go_on, abort);
        let control = old.table_control().await.unwrap().unwrap();
        assert_eq!(control.current_migration(), None, "{}", pair.name);
        match control.faces() == [old.face_in_table().await.unwrap().face_hash()] {
            true => assert_same(pair.name, &table.contents().await, &before),
            false => assert_new(pair, &table, TASKS).await,
        }
        table.remove().await;
    }
}
