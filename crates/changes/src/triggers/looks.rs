//! Copies whose holders are found by an index of DynamoDB are looked for again: the index may not have had a new row yet.
//!
//! The look is a timer of the source, and writes what the source is by then. It is a run of its own, with its own record, and has no further
//! look.

use singlet_runtime::ChangedRow;

use super::run::run_with_retries;
use super::timers::{Timer, Timers};
use super::{Follows, TriggerFollower};
use crate::change::ChangeId;
use crate::followers::FollowError;

/// After how long rows are looked for again: far longer than an index is behind.
pub const LOOK_AGAIN_MILLIS: i64 = 60_000;

impl TriggerFollower {
    /// The same on a store whose indexes may be behind the table.
    #[must_use]
    pub fn with_late_indexes(mut self) -> Self {
        self.has_late_indexes = self.engine.model().has_room_for_timers();
        let looks = self.engine.model().writes.iter().any(|write| write.looks_again);
        if self.has_late_indexes && looks && self.timers.is_none() {
            self.timers = Some(Timers::new(self.followers.clone()));
        }
        self
    }

    /// Sets the timer of another look, where what ran may have missed rows. Killed before it, the change is told again.
    pub(super) async fn set_look(
        &self,
        follows: Follows<'_>,
        changed: &ChangedRow,
        now: i64,
    ) -> Result<(), FollowError> {
        let Follows::Write(write, trigger) = follows else {
            return Ok(());
        };
        let entity = self.engine.model().entity(trigger.entity);
        let (true, Some(timers), Some(entity)) = (self.has_late_indexes && write.looks_again, &self.timers, entity)
        else {
            return Ok(());
        };
        let Some(key) = self.engine.key_of_row(entity, &changed.row)? else {
            return Ok(());
        };
        // A timer, so that the look survives the process.
        let look = Timer::of_look(&entity.name, key, &write.name, now.saturating_add(LOOK_AGAIN_MILLIS));
        Ok(timers.put_timer(&self.engine, look, now).await?)
    }

    /// Has all copies of a source be what it is by now.
    pub(super) async fn look_again(&self, write: &str, timer: &Timer, now: i64) -> Result<(), FollowError> {
        let id = ChangeId::of_record(&format!("look {}", timer.at), &timer.key);
        let look = || self.engine.look_again(write, &timer.key, id.as_str(), now);
        match run_with_retries(self.observer.as_ref(), write, look).await {
            Ok(_) => {}
            // The change itself was done: what cannot be done now is left to the next change, or to `repair`.
            Err(error) => self.observer.unfired(&timer.entity, &error),
        }
        Ok(())
    }
}
