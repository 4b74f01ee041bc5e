//! What a process does in the phase that it has last read.

use std::sync::Arc;

use singlet_runtime::MigrationPhase;
use tokio::sync::{Notify, RwLock, RwLockReadGuard, watch};

use crate::gate::GATE_BEAT;

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
    /// Rows are written for this model alone.
    Apart {
        /// The model that others may write for by now: reads drop what is its.
        beside: Option<Arc<Twins>>,
        /// Where others share the table: what was written later than this is left alone.
        epoch: Option<u64>,
    },
    /// Rows are kept for both models, or those of the other one are taken along.
    Beside {
        twins: Arc<Twins>,
        keeping: Keeping,
        stamping: Stamping,
        epoch: u64,
    },
    /// Who follows changes notes how far it is; rows that are something else to the other model stay as they are.
    Resting(Arc<Twins>),
    /// Nothing is let through: why.
    Shut(&'static str),
}

const NOT_YET: &str = "the new model does not serve yet: rows are being made ready for it";
pub(crate) const NOT_LOOKED: &str = "the process has not read yet what the table says";
pub(crate) const RESTS: &str =
    "the new model serves again in a moment: what follows the old one's changes is brought to the last of them";
pub(crate) const FOLLOWED_ELSEWHERE: &str = "changes are followed where the model is served first";
const NOT_FOLLOWED_YET: &str = "changes are followed by the old model for as long as it serves";
pub(crate) const NO_MORE: &str = "this model no longer serves: another one has taken its place";

impl Mode {
    /// What a side does in a phase.
    ///
    /// **Invariant: of two phases that follow one another a process may be in either.** So no phase takes away what a process that is
    /// still in the one before counts on: a model ceases to serve in a phase of its own before its images go.
    pub fn of(side: BridgeSide, phase: MigrationPhase, twins: &Arc<Twins>, epoch: u64) -> Self {
        use MigrationPhase as Phase;
        let stamping = Stamping::in_phase(phase, epoch);
        let beside = |keeping| Mode::Beside {
            twins: Arc::clone(twins),
            keeping,
            stamping,
            epoch,
        };
        match (side, phase) {
            (BridgeSide::Old, Phase::Announce) => Mode::Apart {
                beside: Some(Arc::clone(twins)),
                epoch: Some(epoch),
            },
            (BridgeSide::Old, Phase::Expand | Phase::Backfill | Phase::Verify | Phase::Switch | Phase::Withdraw)
            | (BridgeSide::New, Phase::Switch | Phase::Settle) => beside(Keeping::Both),
            (BridgeSide::Old, Phase::Retreat) | (BridgeSide::New, Phase::Contract) => beside(Keeping::OwnAlone),
            (BridgeSide::New, Phase::Announce | Phase::Expand | Phase::Backfill | Phase::Verify) => Mode::Shut(NOT_YET),
            (BridgeSide::New, Phase::Rest) => Mode::Shut(RESTS),
            (BridgeSide::Old, Phase::Settle | Phase::Rest | Phase::Contract)
            | (BridgeSide::New, Phase::Withdraw | Phase::Retreat) => Mode::Shut(NO_MORE),
            // Writes stop: the gate lets nothing through.
            (_, Phase::Look | Phase::Rows | Phase::Finish | Phase::Abort) => Mode::Shut(NO_MORE),
        }
    }

    /// What is done with the calls of who follows a side's changes.
    ///
    /// **Invariant: each change is told by one of the models.** The old one tells all until it is at rest, and has told the last; from
    /// there on the new one does.
    pub fn of_follower(side: BridgeSide, phase: MigrationPhase, twins: &Arc<Twins>, epoch: u64) -> Self {
        use MigrationPhase as Phase;
        match (side, phase) {
            (BridgeSide::Old, Phase::Settle) => Mode::of(side, Phase::Switch, twins, epoch),
            (BridgeSide::Old, Phase::Rest) => Mode::Resting(Arc::clone(twins)),
            (BridgeSide::New, Phase::Switch | Phase::Settle | Phase::Rest) => Mode::Shut(NOT_FOLLOWED_YET),
            _ => Mode::of(side, phase, twins, epoch),
        }
    }
}

impl Mode {
    /// No other model is at work, and nobody shares the table.
    pub const ALONE: Mode = Mode::Apart {
        beside: None,
        epoch: None,
    };

    /// The epoch by which calls are made; none where nobody shares the table, or nothing is let through.
    pub fn epoch(&self) -> Option<u64> {
        match self {
            Mode::Apart { epoch, .. } => *epoch,
            Mode::Beside { epoch, .. } => Some(*epoch),
            Mode::Resting(_) | Mode::Shut(_) => None,
        }
    }
}

/// How a call that meets what was written later has its process look at the table at once.
#[derive(Debug, Default)]
pub(crate) struct Wake {
    pub asked: Notify,
    beats: watch::Sender<u64>,
}

impl Wake {
    /// The table was looked at.
    pub fn has_looked(&self) {
        self.beats.send_modify(|beats| *beats += 1);
    }

    async fn look(&self) {
        let mut beats = self.beats.subscribe();
        // Before it asks: a look that ends in between must not be missed.
        let seen = *beats.borrow_and_update();
        self.asked.notify_one();
        let looked = beats.wait_for(|beats| *beats > seen);
        // Bounded: a table that cannot be read must not hold up the answer.
        let _ = tokio::time::timeout(GATE_BEAT, looked).await;
    }
}

/// The mode of a process's calls. A write holds it for as long as it lasts, so that who changes it knows that no write of before is
/// under way.
#[derive(Debug)]
pub(crate) struct BridgeState {
    mode: RwLock<Mode>,
    wake: Option<Arc<Wake>>,
}

impl BridgeState {
    pub fn new(mode: Mode) -> Self {
        BridgeState {
            mode: RwLock::new(mode),
            wake: None,
        }
    }

    /// The same of a process that looks at the table by itself.
    pub fn woken_by(mode: Mode, wake: Arc<Wake>) -> Self {
        BridgeState {
            mode: RwLock::new(mode),
            wake: Some(wake),
        }
    }

    /// Has the process look at the table, where it does so by itself, and waits until it has; whether it does.
    pub async fn catch_up(&self) -> bool {
        match &self.wake {
            Some(wake) => {
                wake.look().await;
                true
            }
            None => false,
        }
    }

    pub async fn held(&self) -> RwLockReadGuard<'_, Mode> {
        self.mode.read().await
    }

    /// Waits for the writes that are under way, and goes on otherwise.
    pub async fn change(&self, mode: Mode) {
        // Waits for every call that holds the mode: after it nothing of before is under way.
        *self.mode.write().await = mode;
    }
}
