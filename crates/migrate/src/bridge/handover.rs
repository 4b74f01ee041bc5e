//! Who follows the changes of a table goes over from the old model to the new one.
//!
//! Rows lie in two places, and a write tells of both: each model's followers drop what lies in the other's place. So a position of the
//! stream is one of both models only where no write lies across it. Nobody writes rows for a moment; what follows by itself is brought to the
//! last change that the old model has told, and every follower is put behind it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use singlet_changes::{
    FollowError, Followers, LAKE_FOLLOWERS, Lag, SEARCH_FOLLOWERS, TallyFollower, TriggerFollower, Unobserved,
};
use singlet_runtime::{Engine, Migration, MigrationPhase, TableControl};

use super::roll::Roll;
use super::run::Bridge;
use super::state::{BridgeSide, BridgeState, Mode};
use super::twins::Keeping;
use crate::error::MigrateError;

/// How long nobody writes at most: then the new model serves on, and it is said who is behind.
const REST_MAX: Duration = Duration::from_secs(60);

/// How long a lake is waited for: nobody may be there who brings it the last changes, and it takes all rows anew.
const LAKE_MAX: Duration = Duration::from_secs(10);

/// How often it is looked whether others have read all.
const REST_PAUSE: Duration = Duration::from_millis(100);

/// How far a follower may be behind that somebody else moves, when the rest begins.
const BEHIND_MAX: usize = 10_000;

/// How far it is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until {
    /// To what happened after it began: others write all the time.
    Passed,
    /// To the last change.
    Head,
}

/// Whether a follower is one process's own. It is not waited for: where that process ended, nobody brings it on, and where it runs it reads
/// by its own model and waits itself for the rest to end.
fn is_of_process(name: &str) -> bool {
    name.starts_with(SEARCH_FOLLOWERS)
}

impl Bridge {
    /// Whether something follows the changes of the table.
    pub(super) fn is_followed(&self) -> bool {
        self.old.model().table.stream.is_some()
    }

    /// Brings what follows by itself near to its end while everybody writes, so that the rest is short.
    pub(super) async fn bring_followers(&self, control: &TableControl) -> Result<(), MigrateError> {
        self.follow_old(control, Until::Passed).await?;
        // Before the rest begins: while rows rest nobody can write, so that only little may be left to do then.
        let mut behind = self.followers().followers_behind().await?;
        behind.retain(|(name, lag)| {
            !is_of_process(name) && !matches!(lag, Lag::Changes(changes) if *changes < BEHIND_MAX)
        });
        match behind.is_empty() {
            true => Ok(()),
            false => Err(MigrateError::Behind(behind)),
        }
    }

    /// Waits until all that the old model has told is done, and has everybody go on behind it.
    pub(super) async fn hand_over(&self, control: &TableControl) -> Result<(), MigrateError> {
        let (begun, followers) = (Instant::now(), self.followers());
        loop {
            self.follow_old(control, Until::Head).await?;
            // What was written last, before the rest or by what was done here, may come late.
            tokio::time::sleep(self.late()).await;
            let is_late = begun.elapsed() > LAKE_MAX;
            // A lake that misses something reads all rows anew; whoever else misses a change has lost it.
            let may_miss = |name: &str| is_late && name.starts_with(LAKE_FOLLOWERS);
            let mut behind = followers.followers_behind().await?;
            behind.retain(|(name, _)| !is_of_process(name) && !may_miss(name));
            if behind.is_empty() {
                match followers.all_to_head(&may_miss, (self.clock)().div_euclid(1_000)).await {
                    // One of them has noted something meanwhile.
                    Err(FollowError::Overtaken) => {}
                    moved => return Ok(moved?),
                }
            }
            // Writes wait for this: better no handover than a service that stands still.
            if begun.elapsed() > REST_MAX {
                return Err(MigrateError::Behind(behind));
            }
            tokio::time::sleep(REST_PAUSE).await;
        }
    }

    /// The new model serves on as before.
    pub(super) async fn leave_rest(&self, control: &TableControl, migration: &Migration) -> Result<(), MigrateError> {
        let settled = Migration {
            phase: MigrationPhase::Settle,
            ..migration.clone()
        };
        self.old.set_migration(control, Some(&settled)).await?;
        if let Some(control) = self.old.table_control().await? {
            self.adopt(&control).await;
        }
        Ok(())
    }

    fn followers(&self) -> Followers {
        let source = Arc::new(Arc::clone(self.old.store()));
        Followers::new(Arc::clone(self.old.model()), source)
    }

    /// How late the table's stream and indexes are; not at all, where one process has the table.
    pub(super) fn late(&self) -> Duration {
        self.roll.as_ref().map_or(Duration::ZERO, Roll::late)
    }

    /// Runs what follows changes in the old model, up to the head: nobody of that model is there any more who would.
    async fn follow_old(&self, control: &TableControl, until: Until) -> Result<(), MigrateError> {
        let mode = Mode::Beside {
            twins: Arc::clone(&self.of_old),
            keeping: Keeping::Both,
            stamping: self.stamping(control),
            epoch: control.epoch(),
        };
        let state = Arc::new(BridgeState::new(mode));
        let store = Arc::new(self.store_of(BridgeSide::Old, &state));
        let engine = Arc::new(self.old.on_store(store));
        match self.follow_until(&engine, until).await {
            // Another process does the same, or nothing is to run by itself.
            Err(FollowError::Overtaken | FollowError::Held(_)) => Ok(()),
            Err(FollowError::Store(error)) if error.is_condition_failed() => Ok(()),
            followed => Ok(followed?),
        }
    }

    async fn follow_until(&self, engine: &Arc<Engine>, until: Until) -> Result<(), FollowError> {
        let clock = || (self.clock)();
        let begun = clock().div_euclid(1_000);
        if engine.model().followed_changes().next().is_some() {
            let follower = TriggerFollower::start(Arc::clone(engine), Arc::new(Unobserved), clock()).await?;
            let mut follower = match self.roll {
                Some(_) => follower.with_late_indexes(),
                None => follower,
            };
            while !(follower.is_at_head() || until == Until::Passed && follower.has_passed(begun + 1)) {
                follower.follow_page(&clock).await?;
            }
        }
        if !engine.model().tallies.is_empty() {
            let late = i64::try_from(self.late().as_millis()).unwrap_or(i64::MAX);
            let mut tallies = TallyFollower::start(Arc::clone(engine), late, clock()).await?;
            while !(tallies.is_at_rest() || until == Until::Passed && tallies.has_passed(begun + 1)) {
                tallies.follow_page(&clock).await?;
            }
        }
        Ok(())
    }
}
