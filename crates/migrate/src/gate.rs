//! A service stops while its table is migrated.
//!
//! Rows that are half one model's and half another's are read rightly by neither, so that nothing is let through to the table: who
//! asks is told to come again. A gate that has not read the control row for a while is closed, too: it does not know.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use singlet_runtime::{Engine, OpenError, RelocationPhase, TableControl};
use singlet_store::{Store, StoreError, StoreLayer};
use tokio::time::Instant;

/// How often a service reads what its table says.
pub const GATE_BEAT: Duration = Duration::from_secs(1);

/// How long a service works on without having read it.
pub const GATE_STALE: Duration = Duration::from_secs(4);

/// Whether the calls of a process are let through.
#[derive(Debug)]
pub(crate) struct Gate {
    began: Instant,
    wall: fn() -> i64,
    stale_after: Duration,
    /// When the control row was last read, in milliseconds since then.
    read_at_millis: AtomicU64,
    /// The same in epoch milliseconds: a machine that was asleep has not counted the others.
    read_at_wall: AtomicI64,
    /// Why nothing is let through, where nothing is.
    closed: Mutex<Option<&'static str>>,
    is_closed: AtomicBool,
}

/// When something was, by both clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    millis: u64,
    wall: i64,
}

const MIGRATING: &str = "the table is being migrated";
const COPYING: &str = "the table is being copied to another store";
const RESTORING: &str = "the table is being restored";
const MOVED: &str = "the table was moved to another store, and is served from there";
const OTHER_MODEL: &str = "the table was migrated to another model, and waits for a service of that model";
const NOT_READ: &str = "whether the table is being migrated could not be read for a while";

impl Gate {
    /// One through which all calls go, as of now.
    pub fn open(wall: fn() -> i64, stale_after: Duration) -> Self {
        Gate {
            began: Instant::now(),
            wall,
            stale_after,
            read_at_millis: AtomicU64::new(0),
            read_at_wall: AtomicI64::new(wall()),
            closed: Mutex::default(),
            is_closed: AtomicBool::new(false),
        }
    }

    /// What time it is.
    pub fn gate_moment(&self) -> Moment {
        Moment {
            millis: self.millis(),
            wall: (self.wall)(),
        }
    }

    /// Closes it, or opens it by what the table said at a moment.
    pub fn has_read(&self, closed: Option<&'static str>, at: Moment) {
        // The reason before the mark, and the times last: a gate that was closed for having been read too long ago would
        // otherwise be open until the mark stands.
        *self.closed.lock().unwrap_or_else(PoisonError::into_inner) = closed;
        self.is_closed.store(closed.is_some(), Ordering::Release);
        self.read_at_wall.store(at.wall, Ordering::Release);
        self.read_at_millis.store(at.millis, Ordering::Release);
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub fn gate_refusal(&self) -> Option<StoreError> {
        let why = match self.is_closed.load(Ordering::Acquire) {
            true => *self.closed.lock().unwrap_or_else(PoisonError::into_inner),
            false => self.is_stale().then_some(NOT_READ),
        };
        why.map(|why| StoreError::unavailable(why).with_told(Some(why)))
    }

    /// Whether it was not read for too long, by either clock: one stands still while a machine sleeps, and somebody may set the other.
    pub fn is_stale(&self) -> bool {
        let since = self
            .millis()
            .saturating_sub(self.read_at_millis.load(Ordering::Acquire));
        let wall = (self.wall)().saturating_sub(self.read_at_wall.load(Ordering::Acquire));
        let longest = self.stale_after.as_millis();
        // A clock that was set back says nothing; then the other one decides.
        u128::from(since) > longest || u128::try_from(wall).is_ok_and(|wall| wall > longest)
    }
}

/// A store that lets nothing through while the gate is closed.
#[derive(Debug)]
pub(crate) struct GatedStore {
    pub store: Arc<dyn Store>,
    pub gate: Arc<Gate>,
}

impl StoreLayer for GatedStore {
    fn beneath(&self) -> &dyn Store {
        &*self.store
    }

    fn refusal(&self) -> Option<StoreError> {
        self.gate.gate_refusal()
    }

    fn passes_at_once(&self) -> bool {
        true
    }

    fn passes_wanted(&self) -> bool {
        true
    }
}

/// The same engine on a store that lets nothing through while the table is migrated, or once it is another model's. It is watched for
/// as long as the engine is there.
///
/// # Errors
///
/// Where the store fails.
pub async fn behind_gate(engine: Engine) -> Result<Engine, OpenError> {
    let known = engine.table_control().await?;
    let faces = known.map(|control| control.faces().to_vec()).unwrap_or_default();
    let (gated, gate) = gated(&engine);
    tokio::spawn(watch_table(engine, faces, Arc::downgrade(&gate), Bridges::Close));
    Ok(gated)
}

fn gated(engine: &Engine) -> (Engine, Arc<Gate>) {
    let gate = Arc::new(Gate::open(wall_millis, GATE_STALE));
    let gated = engine.on_store(Arc::new(GatedStore {
        store: Arc::clone(engine.store()),
        gate: Arc::clone(&gate),
    }));
    (gated, gate)
}

/// The same for one of two models that run at once: what a bridge does with it is not the gate's business. The table is read by an
/// engine that is let through in any case.
pub(crate) fn gated_bridge(engine: Engine, reading: Engine, own: String) -> Engine {
    let (gated, gate) = gated(&engine);
    let followed = engine.following_store().map(|store| GatedStore {
        store: Arc::clone(store),
        gate: Arc::clone(&gate),
    });
    let gated = match followed {
        Some(followed) => gated.followed_on(Arc::new(followed)),
        None => gated,
    };
    tokio::spawn(watch_table(reading, vec![own], Arc::downgrade(&gate), Bridges::Pass));
    gated
}

/// Whether a bridge closes the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bridges {
    Close,
    Pass,
}

/// Those who wrote the rows when the table was opened stay known as long as their rows are there: others may join them.
async fn watch_table(engine: Engine, faces: Vec<String>, gate: Weak<Gate>, bridges: Bridges) {
    loop {
        tokio::time::sleep(GATE_BEAT).await;
        // Before the row is read: what it says may be old by the time it is here.
        let Some(at) = gate.upgrade().map(|gate| gate.gate_moment()) else {
            return;
        };
        let control = engine.table_control().await;
        let Some(gate) = gate.upgrade() else { return };
        // The gate closes by itself once it has not been read for too long.
        let Ok(control) = control else { continue };
        let phase = control.as_ref().and_then(TableControl::current_migration);
        let is_bridge = phase.is_some_and(|migration| migration.phase.is_bridge());
        match is_bridge && bridges == Bridges::Pass {
            true => gate.has_read(None, at),
            false => gate.has_read(closed_by(control.as_ref(), &faces), at),
        }
    }
}

/// Why a process that works by some faces lets nothing through, by what the table says.
pub(crate) fn closed_by(control: Option<&TableControl>, faces: &[String]) -> Option<&'static str> {
    let control = control?;
    let is_left = faces.is_empty() || control.faces().iter().any(|face| faces.contains(face));
    match (control.current_migration(), control.current_relocation()) {
        (Some(_), _) => Some(MIGRATING),
        (None, Some(relocation)) => Some(match relocation.phase {
            RelocationPhase::Moved => MOVED,
            RelocationPhase::Preparing | RelocationPhase::Restoring | RelocationPhase::Abandoning => RESTORING,
            RelocationPhase::Claimed | RelocationPhase::Copying => COPYING,
        }),
        (None, None) if !is_left => Some(OTHER_MODEL),
        (None, None) => None,
    }
}

pub(crate) fn wall_millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
