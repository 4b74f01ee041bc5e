//! What a process does in the phase that it has last read.

use std::sync::Arc;

use singlet_runtime::MigrationPhase;
use tokio::sync::{RwLock, RwLockReadGuard};

use super::twins::{Keeping, Stamping, Twins};

/// Whose process it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BridgeSide {
    /// Of the model that is left.
    Old,
    /// Of the model that comes.
    New,
}

/// What is done with the calls of a model.
#[derive(Clone, Debug)]
pub(crate) enum Mode {
    /// There is no bridge.
    Apart,
    /// Rows are kept for both models, or those of the other one are taken along.
    Beside {
        twins: Arc<Twins>,
        keeping: Keeping,
        stamping: Stamping,
    },
    /// Nothing is let through: why.
    Shut(&'static str),
}

const NOT_YET: &str = "the new model does not serve yet: rows are being made ready for it";
pub(crate) const NO_MORE: &str = "this model no longer serves: another one has taken its place";

impl Mode {
    /// What a side does in a phase.
    ///
    /// **Invariant: of two phases that follow one another a process may be in either.** So no phase takes away what a process that is
    /// still in the one before counts on: a model ceases to serve in a phase of its own before its images go.
    pub fn of(side: BridgeSide, phase: MigrationPhase, twins: &Arc<Twins>, stamping: Stamping) -> Self {
        use MigrationPhase as Phase;
        let beside = |keeping| Mode::Beside {
            twins: Arc::clone(twins),
            keeping,
            stamping,
        };
        match (side, phase) {
            (BridgeSide::Old, Phase::Expand | Phase::Backfill | Phase::Verify | Phase::Switch | Phase::Withdraw)
            | (BridgeSide::New, Phase::Switch | Phase::Settle) => beside(Keeping::Both),
            (BridgeSide::Old, Phase::Retreat) | (BridgeSide::New, Phase::Contract) => beside(Keeping::OwnAlone),
            (BridgeSide::New, Phase::Expand | Phase::Backfill | Phase::Verify) => Mode::Shut(NOT_YET),
            (BridgeSide::Old, Phase::Settle | Phase::Contract)
            | (BridgeSide::New, Phase::Withdraw | Phase::Retreat) => Mode::Shut(NO_MORE),
            // Writes stop: the gate lets nothing through.
            (_, Phase::Look | Phase::Rows | Phase::Finish | Phase::Abort) => Mode::Shut(NO_MORE),
        }
    }
}

/// The mode of a process's calls. A write holds it for as long as it lasts, so that who changes it knows that no write of before is
/// under way.
#[derive(Debug)]
pub(crate) struct BridgeState {
    mode: RwLock<Mode>,
}

impl BridgeState {
    pub fn new(mode: Mode) -> Self {
        BridgeState {
            mode: RwLock::new(mode),
        }
    }

    pub async fn held(&self) -> RwLockReadGuard<'_, Mode> {
        self.mode.read().await
    }

    /// Waits for the writes that are under way, and goes on otherwise.
    pub async fn change(&self, mode: Mode) {
        *self.mode.write().await = mode;
    }
}
