//! A process that shares a table with others, and takes part in whatever goes on with it.
//!
//! It reads the control row again and again, does what the phase asks of its model once no write of before is under way, and says so in its
//! own row. What another model has of each row it learns from that model's text, which the table keeps.
//!
//! **Invariant: a process that does not know the phase writes nothing.** Where it could not read the control row for a while, by either
//! clock, or could not say that it is there, nothing is let through; what was sent before and arrives later is refused by the stamps of rows.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use singlet_evolve::bridge_hindrances;
use singlet_model::Source;
use singlet_runtime::{Engine, Migration, MigrationPhase, OpenError, RuntimeError, TableControl, TableProcess};
use singlet_store::Store;
use tokio::time::Instant;

use super::layer::BridgeStore;
use super::roll::ProcessTimes;
use super::state::{BridgeSide, BridgeState, Mode, NO_MORE, Wake};
use super::twins::Twins;
use crate::gate::{Gate, GatedStore, closed_by};

const CANNOT_BESIDE: &str = "this model cannot run beside the one that the table is on its way to: its settings or its writes are others than those that this was tried with";

const HAS_LEFT: &str = "the process ends, and serves no more";

/// How often the table is read until it says the same before and after this process said that it is there.
const TRIES_MAX: usize = 16;

/// A process at work on a table that it shares with others. It takes part for as long as the engine is there that it serves.
#[derive(Debug)]
pub struct TableMember {
    /// Reads and says what is the process's own, past what keeps its calls back.
    engine: Engine,
    /// The face that the table must know; none of a table that knows no model.
    faces: Vec<String>,
    gate: Weak<Gate>,
    state: Arc<BridgeState>,
    /// What is done with the calls of who follows its changes.
    following: Arc<BridgeState>,
    wake: Arc<Wake>,
    times: ProcessTimes,
    own: Mutex<Own>,
    /// Looking at the table is one thing at a time.
    looking: tokio::sync::Mutex<Looked>,
}

#[derive(Debug)]
struct Own {
    process: TableProcess,
}

/// What was last found, and what was made of it.
#[derive(Debug, Default)]
struct Looked {
    epoch: Option<u64>,
    /// Whether it takes part no more.
    has_left: bool,
    said: Option<(u64, Instant)>,
    other: Option<(String, Result<Arc<Twins>, &'static str>)>,
}

/// What tells a process from all others.
pub(crate) fn process_id() -> String {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let made = MADE.fetch_add(1, Ordering::Relaxed);
    format!("{:016x}{:x}.{made:x}", fastrand::u64(..), std::process::id())
}

/// What people find a process by.
pub(crate) fn process_name() -> String {
    let host = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty());
    let host = host.or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok());
    let host = host.map(|name| name.trim().to_owned()).unwrap_or_default();
    format!("process {} on `{host}`", std::process::id())
}

impl TableMember {
    /// Takes part with an engine that was opened on its table, or on one that is on a bridge from or to its model: the engine to serve with
    /// comes beside. Nothing is let through before [`TableMember::look`].
    ///
    /// # Errors
    ///
    /// Where the store fails, or the table is on its way to or from other models than this one.
    pub async fn join(engine: Engine, times: ProcessTimes, clock: fn() -> i64) -> Result<(Self, Engine), OpenError> {
        let own = engine.face_in_table().await?.face_hash();
        let control = engine.table_control().await?;
        let migration = control.as_ref().and_then(TableControl::current_migration);
        let faces = match (&control, migration) {
            (Some(_), Some(migration)) if serves_on(migration, &own) => vec![own.clone()],
            (Some(_), Some(migration)) => return Err(OpenError::Migrating(migration.clone())),
            (Some(control), None) if control.current_relocation().is_some() || control.faces().contains(&own) => {
                vec![own.clone()]
            }
            // It was opened, and the table became another model's before it came so far.
            (Some(_), None) => return Err(OpenError::Model(Vec::new())),
            (None, _) => Vec::new(),
        };
        let gate = Arc::new(Gate::open(clock, times.stale));
        // Closed until it has looked: what it may do hangs on what the table says.
        gate.has_read(Some(super::state::NOT_LOOKED), gate.gate_moment());
        let wake = Arc::new(Wake::default());
        let state = Arc::new(BridgeState::woken_by(Mode::ALONE, Arc::clone(&wake)));
        let following = Arc::new(BridgeState::woken_by(Mode::ALONE, Arc::clone(&wake)));
        let gated: Arc<dyn Store> = Arc::new(GatedStore {
            store: Arc::clone(engine.store()),
            gate: Arc::clone(&gate),
        });
        let table = engine.model().table.name.clone();
        let store = |state: &Arc<BridgeState>| {
            Arc::new(BridgeStore::new((Arc::clone(&gated), &table), Arc::clone(state), clock))
        };
        let served = engine.on_store(store(&state)).followed_on(store(&following));
        let process = TableProcess {
            id: process_id(),
            face: own,
            epoch: 0,
            beat: 0,
            name: process_name(),
        };
        let member = TableMember {
            engine,
            faces,
            gate: Arc::downgrade(&gate),
            state,
            following,
            wake,
            times,
            own: Mutex::new(Own { process }),
            looking: tokio::sync::Mutex::default(),
        };
        Ok((member, served))
    }

    /// Reads what the table says, does what it asks for, and says so; whether the engine is still there.
    ///
    /// # Errors
    ///
    /// Where the table could not be read or told: nothing is let through once that is so for a while.
    pub async fn look(&self) -> Result<bool, RuntimeError> {
        let mut looked = self.looking.lock().await;
        // A process that has said that it goes must not be taken in again by a look that was late.
        if looked.has_left {
            return Ok(false);
        }
        for _ in 0..TRIES_MAX {
            let Some(gate) = self.gate.upgrade() else {
                return Ok(false);
            };
            // Before the table is read: what is read is as of then at the latest.
            let at = gate.gate_moment();
            let control = self.engine.table_control().await.map_err(failed)?;
            let epoch = control.as_ref().map(TableControl::epoch);
            let (closed, mode, following) = self.part_in(control.as_ref(), &mut looked).await?;
            if looked.epoch != epoch || closed.is_some() {
                if closed.is_some() {
                    // Closed first, and opened last: in between nothing goes through that the new phase does not know.
                    gate.has_read(closed, at);
                }
                // It waits for all that was sent in the mode before.
                self.state.change(mode).await;
                self.following.change(following).await;
                looked.epoch = epoch;
            }
            // Only who has said so before it read the table for the last time is waited for.
            if let Some(control) = &control
                // After the mode was changed, and then it reads once more: only what it says and still finds true counts.
                && self.say_if_due(control, &mut looked).await?
            {
                continue;
            }
            gate.has_read(closed, at);
            self.wake.has_looked();
            return Ok(true);
        }
        Err(RuntimeError::Conflict)
    }

    /// Looks again and again, for as long as the engine is there.
    pub async fn keep_looking(self: Arc<Self>) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(self.times.reads) => {}
                () = self.wake.asked.notified() => {}
            }
            // What was not read for a while closes the gate.
            // The gate is dropped or the process has left; anything else is tried again.
            if matches!(self.look().await, Ok(false)) {
                break;
            }
        }
        self.leave().await;
    }

    /// Is known no more, so that nobody has to wait for it. Nothing is let through from then on, and what is under way is waited for.
    pub async fn leave(&self) {
        self.looking.lock().await.has_left = true;
        if let Some(gate) = self.gate.upgrade() {
            gate.has_read(Some(HAS_LEFT), gate.gate_moment());
        }
        self.state.change(Mode::Shut(HAS_LEFT)).await;
        self.following.change(Mode::Shut(HAS_LEFT)).await;
        let process = self.process();
        if let Ok(Some(control)) = self.engine.table_control().await {
            let _ = self.engine.forget_process(&control, &process).await;
        }
    }

    fn process(&self) -> TableProcess {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        own.process.clone()
    }

    /// Says that it is there, where it has reached another epoch or has not said so for a while; whether it has.
    async fn say_if_due(&self, control: &TableControl, looked: &mut Looked) -> Result<bool, RuntimeError> {
        let is_said = looked
            .said
            .is_some_and(|(epoch, at)| epoch == control.epoch() && at.elapsed() < self.times.beats);
        if is_said {
            return Ok(false);
        }
        let at = Instant::now();
        let process = {
            let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
            own.process.epoch = control.epoch();
            own.process.beat += 1;
            own.process.clone()
        };
        self.engine.say_process(control, &process).await?;
        looked.said = Some((control.epoch(), at));
        Ok(true)
    }

    /// What this process and who follows its changes do by what the table says, and why it does nothing where it does not.
    async fn part_in(
        &self,
        control: Option<&TableControl>,
        looked: &mut Looked,
    ) -> Result<(Option<&'static str>, Mode, Mode), RuntimeError> {
        let shut = |why| (Some(why), Mode::Shut(why), Mode::Shut(why));
        let Some(control) = control else {
            return Ok((None, Mode::ALONE, Mode::ALONE));
        };
        let own = self.process().face;
        let migration = control
            .current_migration()
            .filter(|migration| migration.phase.is_bridge());
        let Some(migration) = migration else {
            let closed = closed_by(Some(control), &self.faces);
            let mode = match closed {
                Some(why) => Mode::Shut(why),
                None => Mode::Apart {
                    beside: None,
                    epoch: Some(control.epoch()),
                },
            };
            return Ok((closed, mode.clone(), mode));
        };
        let side = match (migration.target == own, migration.source.as_deref() == Some(&own)) {
            (true, _) => BridgeSide::New,
            (false, true) => BridgeSide::Old,
            (false, false) => return Ok(shut(NO_MORE)),
        };
        Ok(match self.twins(control, migration, side, looked).await? {
            Ok(twins) => {
                let (phase, epoch) = (migration.phase, control.epoch());
                let following = Mode::of_follower(side, phase, &twins, epoch);
                (None, Mode::of(side, phase, &twins, epoch), following)
            }
            Err(why) => shut(why),
        })
    }

    /// The other model, by its text in the table.
    async fn twins(
        &self,
        control: &TableControl,
        migration: &Migration,
        side: BridgeSide,
        looked: &mut Looked,
    ) -> Result<Result<Arc<Twins>, &'static str>, RuntimeError> {
        let hash = match side {
            BridgeSide::Old => Some(migration.target.clone()),
            BridgeSide::New => migration.source.clone(),
        };
        let Some(hash) = hash else {
            return Ok(Err(CANNOT_BESIDE));
        };
        if let Some((known, twins)) = &looked.other
            // By the face: a model that changes has another.
            && *known == hash
        {
            return Ok(twins.clone());
        }
        let text = self.engine.kept_model(control, &hash).await?;
        let twins = match text {
            Some(text) => self.twins_of(text, &hash, side).await?,
            None => Err(CANNOT_BESIDE),
        };
        looked.other = Some((hash, twins.clone()));
        Ok(twins)
    }

    async fn twins_of(
        &self,
        text: String,
        hash: &str,
        side: BridgeSide,
    ) -> Result<Result<Arc<Twins>, &'static str>, RuntimeError> {
        let Some(model) = singlet_model::load_source(&Source::new("the model in the table", text)).model else {
            return Ok(Err(CANNOT_BESIDE));
        };
        let mut settings = self.engine.setting().settings.clone();
        settings.retain(|name, _| model.settings.iter().any(|known| known.name == *name));
        // What it is not served with seals nothing.
        let other = Engine::open(Arc::new(model), Arc::clone(self.engine.store()), settings, [0; 32]);
        let face = other.face_in_table().await?;
        let own_face = self.engine.face_in_table().await?;
        let (own, other) = (
            Arc::new(self.engine.on_store(Arc::clone(self.engine.store()))),
            Arc::new(other),
        );
        let (old, new) = match side {
            BridgeSide::Old => (&own, &other),
            BridgeSide::New => (&other, &own),
        };
        let hindrances = bridge_hindrances(
            (old.model(), &old.setting().settings),
            (new.model(), &new.setting().settings),
        );
        // The same as was tried with: another text or other settings would seal rows differently.
        if face.face_hash() != hash || !hindrances.is_empty() {
            return Ok(Err(CANNOT_BESIDE));
        }
        Ok(Ok(Arc::new(Twins::new(own, other, (&own_face, &face)))))
    }
}

/// Whether a process of a model is begun while a bridge is in some phase: not where its model ceases to serve.
fn serves_on(migration: &Migration, face: &str) -> bool {
    use MigrationPhase as Phase;
    let is_old = migration.source.as_deref() == Some(face);
    let is_new = migration.target == face;
    match migration.phase {
        Phase::Announce | Phase::Expand | Phase::Backfill | Phase::Verify | Phase::Switch => is_old || is_new,
        Phase::Settle | Phase::Rest | Phase::Contract => is_new,
        Phase::Withdraw | Phase::Retreat => is_old,
        Phase::Look | Phase::Rows | Phase::Finish | Phase::Abort => false,
    }
}

fn failed(error: OpenError) -> RuntimeError {
    match error {
        OpenError::Failed(error) => error,
        other => RuntimeError::Stored(other.to_string()),
    }
}
