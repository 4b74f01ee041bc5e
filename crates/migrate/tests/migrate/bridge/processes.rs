//! Processes that share a table: those that serve it, and one that leads them.

use std::sync::Arc;
use std::time::Duration;

use singlet_migrate::{Bridge, BridgeGoal, MigrateError, ProcessTimes, TableMember};
use singlet_runtime::{Engine, MigrationPhase, RuntimeError};
use singlet_store::Store;
use singlet_testing::DyingStore;
use tokio::task::JoinHandle;

use super::super::support::Table;
use super::models::*;

/// Nobody goes stale, and nobody is given up.
pub const PATIENT: ProcessTimes = ProcessTimes {
    reads: Duration::from_millis(5),
    stale: Duration::from_secs(600),
    beats: Duration::from_millis(40),
    unheard: Duration::from_secs(600),
    gone: Duration::from_secs(900),
    late: Duration::from_millis(20),
};

/// Who says nothing is soon given up.
pub const SHORT: ProcessTimes = ProcessTimes {
    reads: Duration::from_millis(50),
    stale: Duration::from_millis(700),
    unheard: Duration::from_millis(1_400),
    gone: Duration::from_millis(1_500),
    ..PATIENT
};

/// A process that serves a model, and looks at the table when it is told to.
pub async fn joined(table: &Table, store: &Arc<dyn Store>, text: &str, times: ProcessTimes) -> (TableMember, Engine) {
    let engine = table.engine(text).on_store(Arc::clone(store));
    let (member, engine) = TableMember::join(engine, times, clock).await.unwrap();
    assert!(member.look().await.unwrap());
    (member, engine)
}

/// A process that looks at the table by itself.
pub struct Process {
    pub engine: Engine,
    looking: JoinHandle<()>,
}

impl Process {
    pub async fn start(table: &Table, text: &str, times: ProcessTimes) -> Self {
        let (member, engine) = joined(table, &table.store, text, times).await;
        Process {
            engine,
            looking: tokio::spawn(Arc::new(member).keep_looking()),
        }
    }

    /// Ends as a service does: it is known no more then.
    pub async fn end(self) {
        drop(self.engine);
        self.looking.await.unwrap();
    }
}

pub async fn leader(
    table: &Table,
    store: &Arc<dyn Store>,
    new: &str,
    times: ProcessTimes,
) -> Result<Bridge, MigrateError> {
    let on = |text: &str| table.engine(text).on_store(Arc::clone(store));
    Bridge::lead(on(OLD), on(new), options(), (times, clock)).await
}

pub async fn lead(table: &Table, new: &str, goal: BridgeGoal, times: ProcessTimes) -> Result<(), MigrateError> {
    reach(&leader(table, &table.store, new, times).await?, goal).await
}

/// Leads both models to serve by short times; on a busy machine it may be kept waiting for longer than those, and begins again.
pub async fn lead_awake(table: &Table, new: &str) {
    loop {
        match lead(table, new, BridgeGoal::Both, SHORT).await {
            Err(MigrateError::Asleep) => {}
            led => return led.unwrap(),
        }
    }
}

pub async fn phase(table: &Table) -> Option<MigrationPhase> {
    table.engine(OLD).migration_phase().await.unwrap()
}

pub fn task(number_of: i64) -> [(&'static str, singlet_item::Value); 2] {
    [("owner", text("ada")), ("number", number(number_of))]
}

pub async fn add(engine: &Engine, number_of: i64, title: &str) -> Result<(), RuntimeError> {
    let [owner, id] = task(number_of);
    write(engine, "add", [owner, id, ("title", text(title))]).await
}

/// Whatever a process of one of the models does, until it ends at some call of its store.
pub async fn dying_process(table: &Table, text_of: &str, (calls, times): (usize, ProcessTimes)) -> bool {
    let dying = DyingStore::after_calls(Arc::clone(&table.store), calls);
    let ended = dying.ended();
    let store: Arc<dyn Store> = Arc::new(dying);
    let work = async {
        let engine = table.engine(text_of).on_store(Arc::clone(&store));
        let Ok((member, engine)) = TableMember::join(engine, times, clock).await else {
            return;
        };
        let writing = async {
            for _ in 0..12 {
                let [owner, id] = task(fastrand::i64(0..8));
                let title = || ("title", text(&format!("t{}", fastrand::u64(..))));
                // Whether it is done does not matter here, only that it is done whole.
                let _ = match fastrand::u32(0..4) {
                    0 => write(&engine, "remove", [owner, id]).await,
                    1 => write(&engine, "score", [owner, id, ("points", number(1))]).await,
                    2 => write(&engine, "retitle", [owner, id, title()]).await,
                    _ => write(&engine, "add", [owner, id, title()]).await,
                };
                let _ = member.look().await;
            }
        };
        writing.await;
        member.leave().await;
    };
    tokio::select! {
        () = work => false,
        () = ended.notified() => true,
    }
}

pub async fn dying_leader(
    table: &Table,
    new: &str,
    (goal, calls, times): (BridgeGoal, usize, ProcessTimes),
) -> Option<Result<(), MigrateError>> {
    let dying = DyingStore::after_calls(Arc::clone(&table.store), calls);
    let ended = dying.ended();
    let store: Arc<dyn Store> = Arc::new(dying);
    let work = async { reach(&leader(table, &store, new, times).await?, goal).await };
    tokio::select! {
        done = work => Some(done),
        () = ended.notified() => None,
    }
}
