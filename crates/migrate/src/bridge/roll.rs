//! Who else is at work on a table that several processes share, as who leads a bridge has to know it.
//!
//! **Invariant: of two phases that follow one another a process may be in either, and in no other.** The next one begins when all that are
//! known say that they have reached this one. Who says nothing more is watched for longer than it may work on unheard, and forgotten then.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use singlet_runtime::{Engine, TableControl, TableProcess};
use tokio::time::Instant;

use super::process::{process_id, process_name};
use crate::error::MigrateError;
use crate::gate::{GATE_BEAT, GATE_STALE};

/// How often a process says that it is there.
pub const PROCESS_BEAT: Duration = Duration::from_secs(10);

/// How long a process works on though it could not say so.
pub const PROCESS_STALE: Duration = Duration::from_secs(30);

/// How long a process that says nothing is waited for.
pub const PROCESS_GONE: Duration = Duration::from_secs(60);

/// How late the stream and the indexes of a table may be that several processes share.
pub const TABLE_LATE: Duration = Duration::from_secs(10);

/// By what times processes that share a table know of one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessTimes {
    /// How often a process reads what the table says.
    pub reads: Duration,
    /// How long it works on without having read it.
    pub stale: Duration,
    /// How often it says that it is there.
    pub beats: Duration,
    /// How long it works on though it could not say so.
    pub unheard: Duration,
    /// How long one that says nothing is waited for; longer than the others.
    pub gone: Duration,
    /// How late the stream and the indexes of the table may be.
    pub late: Duration,
}

impl Default for ProcessTimes {
    fn default() -> Self {
        ProcessTimes {
            reads: GATE_BEAT,
            stale: GATE_STALE,
            beats: PROCESS_BEAT,
            unheard: PROCESS_STALE,
            gone: PROCESS_GONE,
            late: TABLE_LATE,
        }
    }
}

/// The roll of processes, and this one in it.
#[derive(Debug)]
pub(crate) struct Roll {
    times: ProcessTimes,
    clock: fn() -> i64,
    own: Mutex<Own>,
}

#[derive(Debug)]
struct Own {
    process: TableProcess,
    /// By both clocks: one stands still while the machine sleeps.
    said_at: Option<(Instant, i64)>,
}

impl Roll {
    pub fn new(times: ProcessTimes, clock: fn() -> i64) -> Self {
        let process = TableProcess {
            id: process_id(),
            face: String::new(),
            epoch: 0,
            beat: 0,
            name: process_name(),
        };
        Roll {
            times,
            clock,
            own: Mutex::new(Own { process, said_at: None }),
        }
    }

    fn own(&self) -> std::sync::MutexGuard<'_, Own> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn late(&self) -> Duration {
        self.times.late
    }

    /// Says that this process works by an epoch from now on.
    pub async fn say(&self, engine: &Engine, control: &TableControl, epoch: u64) -> Result<(), MigrateError> {
        let at = (Instant::now(), (self.clock)());
        let process = {
            let mut own = self.own();
            // Never back, for others go on by it.
            own.process.epoch = own.process.epoch.max(epoch);
            own.process.beat += 1;
            own.process.clone()
        };
        engine.say_process(control, &process).await?;
        // The moment before it was sent: it is heard from then on at the latest.
        self.own().said_at = Some(at);
        Ok(())
    }

    /// Says again and again that this process is there.
    pub async fn keep_saying(&self, engine: &Engine) {
        loop {
            tokio::time::sleep(self.times.beats).await;
            let epoch = self.own().process.epoch;
            // Unheard for too long, it does nothing more.
            if let Ok(Some(control)) = engine.table_control().await {
                let _ = self.say(engine, &control, epoch).await;
            }
        }
    }

    /// Is known no more.
    pub async fn leave(&self, engine: &Engine) {
        let process = self.own().process.clone();
        if let Ok(Some(control)) = engine.table_control().await {
            let _ = engine.forget_process(&control, &process).await;
        }
    }

    /// Whoever was not heard for too long may have been forgotten, and does nothing more.
    pub fn check_heard(&self) -> Result<(), MigrateError> {
        let said_at = self.own().said_at;
        let is_heard = said_at.is_some_and(|(at, wall)| {
            let since = u128::try_from((self.clock)().saturating_sub(wall)).unwrap_or_default();
            // By both clocks: one stands still while the machine sleeps, and the other may be set.
            at.elapsed() <= self.times.unheard && since <= self.times.unheard.as_millis()
        });
        match is_heard {
            true => Ok(()),
            false => Err(MigrateError::Asleep),
        }
    }

    /// Waits until all others have reached an epoch; whether the table still says the same.
    pub async fn all_have_reached(&self, engine: &Engine, control: &TableControl) -> Result<bool, MigrateError> {
        let mut watching = Watching::default();
        loop {
            let others = self.others(engine, control).await?;
            let behind: Vec<TableProcess> = others
                .into_iter()
                // Those that have not said this epoch; whoever has, has no write of before under way.
                .filter(|process| process.epoch < control.epoch())
                .collect();
            if behind.is_empty() {
                return Ok(true);
            }
            self.forget_gone(engine, control, watching.silent(&behind, self.times.gone))
                .await?;
            tokio::time::sleep(self.times.reads).await;
            let now = engine.table_control().await?;
            if now.is_none_or(|now| now.epoch() != control.epoch()) {
                // Somebody else has gone on: what was waited for is past.
                return Ok(false);
            }
        }
    }

    /// That no process is at work whose model is another than those allowed; who is, once one of them is known to be alive.
    pub async fn check_faces(
        &self,
        engine: &Engine,
        control: &TableControl,
        allowed: &[&str],
    ) -> Result<(), MigrateError> {
        let mut watching = Watching::default();
        loop {
            let others = self.others(engine, control).await?;
            let found: Vec<TableProcess> = others
                .into_iter()
                .filter(|process| !process.face.is_empty() && !allowed.contains(&process.face.as_str()))
                .collect();
            if found.is_empty() {
                return Ok(());
            }
            let silent = watching.silent(&found, self.times.gone);
            let alive = watching.alive(&found);
            if !alive.is_empty() {
                // Only who has spoken since: one that says nothing may have died.
                return Err(MigrateError::Serving(alive));
            }
            self.forget_gone(engine, control, silent).await?;
            tokio::time::sleep(self.times.reads).await;
        }
    }

    async fn others(&self, engine: &Engine, control: &TableControl) -> Result<Vec<TableProcess>, MigrateError> {
        let own = self.own().process.id.clone();
        let mut others = engine.table_processes(control).await?;
        others.retain(|process| process.id != own);
        Ok(others)
    }

    async fn forget_gone(
        &self,
        engine: &Engine,
        control: &TableControl,
        gone: Vec<TableProcess>,
    ) -> Result<(), MigrateError> {
        for process in gone {
            engine.forget_process(control, &process).await?;
        }
        Ok(())
    }
}

/// Processes that are watched, as they were when they last said something, and since when.
#[derive(Debug, Default)]
struct Watching {
    since: BTreeMap<String, (TableProcess, Instant)>,
    spoke: BTreeMap<String, String>,
}

impl Watching {
    /// Those that have said nothing for so long.
    fn silent(&mut self, processes: &[TableProcess], gone: Duration) -> Vec<TableProcess> {
        let mut silent = Vec::new();
        for process in processes {
            match self.since.get(&process.id) {
                // It has said nothing since: watched by this process's clock alone, no other clock being believed.
                Some((known, since)) if known == process => {
                    if since.elapsed() > gone {
                        silent.push(process.clone());
                    }
                }
                known => {
                    if known.is_some() {
                        self.spoke.insert(process.id.clone(), process.name.clone());
                    }
                    self.since.insert(process.id.clone(), (process.clone(), Instant::now()));
                }
            }
        }
        silent
    }

    /// Those of them that have said something since they are watched.
    fn alive(&self, processes: &[TableProcess]) -> Vec<String> {
        let mut alive: Vec<String> = processes
            .iter()
            .filter_map(|process| self.spoke.get(&process.id).cloned())
            .collect();
        alive.sort();
        alive
    }
}
