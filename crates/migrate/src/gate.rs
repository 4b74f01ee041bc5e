//! A service stops while its table is migrated.
//!
//! Rows that are half one model's and half another's are read rightly by neither, so that nothing is let through to the table: who
//! asks is told to come again. A gate that has not read the control row for a while is closed, too: it does not know.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use singlet_runtime::{Engine, MigrationPhase, OpenError, RelocationPhase, TableControl};
use singlet_store::{Store, StoreError, StoreLayer};

/// How often a service reads what its table says.
pub const GATE_BEAT: Duration = Duration::from_secs(1);

/// How long a service works on without having read it.
pub const GATE_STALE: Duration = Duration::from_secs(4);

#[derive(Debug)]
struct Gate {
    began: Instant,
    /// When the control row was last read, in milliseconds since then.
    read_at_millis: AtomicU64,
    /// Why nothing is let through, where nothing is.
    closed: Mutex<Option<&'static str>>,
    is_closed: AtomicBool,
}

const MIGRATING: &str = "the table is being migrated";
const COPYING: &str = "the table is being copied to another store";
const RESTORING: &str = "the table is being restored";
const MOVED: &str = "the table was moved to another store, and is served from there";
const OTHER_MODEL: &str = "the table was migrated to another model, and waits for a service of that model";
const NOT_READ: &str = "whether the table is being migrated could not be read for a while";

impl Gate {
    fn has_read(&self, closed: Option<&'static str>) {
        *self.closed.lock().unwrap_or_else(PoisonError::into_inner) = closed;
        self.is_closed.store(closed.is_some(), Ordering::Release);
        self.read_at_millis.store(self.millis(), Ordering::Release);
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn refusal(&self) -> Option<StoreError> {
        let why = match self.is_closed.load(Ordering::Acquire) {
            true => *self.closed.lock().unwrap_or_else(PoisonError::into_inner),
            false => {
                let since = self
                    .millis()
                    .saturating_sub(self.read_at_millis.load(Ordering::Acquire));
                (u128::from(since) > GATE_STALE.as_millis()).then_some(NOT_READ)
            }
        };
        why.map(|why| StoreError::unavailable(why).telling(Some(why)))
    }
}

/// A store that lets nothing through while the gate is closed.
#[derive(Debug)]
struct GatedStore {
    store: Arc<dyn Store>,
    gate: Arc<Gate>,
}

impl StoreLayer for GatedStore {
    fn beneath(&self) -> &dyn Store {
        &*self.store
    }

    fn refusal(&self) -> Option<StoreError> {
        self.gate.refusal()
    }

    fn passes_at_once(&self) -> bool {
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
    let gate = Arc::new(Gate {
        began: Instant::now(),
        read_at_millis: AtomicU64::new(0),
        closed: Mutex::default(),
        is_closed: AtomicBool::new(false),
    });
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
    let is_left = |now: &[String]| faces.is_empty() || now.iter().any(|face| faces.contains(face));
    loop {
        tokio::time::sleep(GATE_BEAT).await;
        let control = engine.table_control().await;
        let Some(gate) = gate.upgrade() else { return };
        let phase = |control: &TableControl| control.migration().map(|migration| migration.phase);
        match control {
            Ok(Some(control)) if bridges == Bridges::Pass && phase(&control).is_some_and(MigrationPhase::is_bridge) => {
                gate.has_read(None);
            }
            Ok(Some(control)) if control.migration().is_some() => gate.has_read(Some(MIGRATING)),
            Ok(Some(control)) if control.relocation().is_some() => {
                let phase = control.relocation().map(|relocation| relocation.phase);
                gate.has_read(Some(match phase {
                    Some(RelocationPhase::Moved) => MOVED,
                    Some(RelocationPhase::Preparing | RelocationPhase::Restoring) => RESTORING,
                    _ => COPYING,
                }));
            }
            Ok(Some(control)) if !is_left(control.faces()) => gate.has_read(Some(OTHER_MODEL)),
            Ok(_) => gate.has_read(None),
            // The gate closes by itself once it has not been read for too long.
            Err(_) => {}
        }
    }
}
