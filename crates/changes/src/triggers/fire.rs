//! Firing timers: what time has done to a row is stored, which is a change as any other, and what runs at an instant of the row is run.
//!
//! What is not due, because the deadline has moved, the row is gone, or somebody was faster, is nothing. The timer goes afterwards: killed
//! before that, the row is looked at again, and records tell what ran.

use std::collections::BTreeMap;

use futures_util::{StreamExt, stream};
use singlet_item::Item;
use singlet_model::model::{Entity, TRIGGER_ROWS_AT_ONCE, Trigger, TriggerEvent};
use singlet_runtime::{Attributes, ChangedRow, RuntimeError};

use super::run::{Caused, RowRun};
use super::timers::{Late, Timer, Timers};
use super::{Follows, RunEnd, TriggerFollower};
use crate::change::{Change, ChangeId};
use crate::followers::FollowError;

/// How the id of a run at an instant of a row begins; that of a change begins with the store's number of it.
pub(super) const REACHED: &str = "reach ";

/// What is fired of a deadline.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Firing {
    /// All that is due.
    Whole,
    /// What time changes, and no write: the row did not come from one.
    StoresOnly,
}

impl TriggerFollower {
    /// Does what is due by an instant, of every minute since the last that was read: what time has done to rows that something
    /// follows is stored, and told as a change; what runs at instants of rows is run. How many timers that was.
    ///
    /// # Errors
    ///
    /// Where the store fails; what was not fired is fired later.
    pub async fn fire_due(&mut self, now_millis: i64) -> Result<usize, FollowError> {
        let Some(timers) = &self.timers else { return Ok(0) };
        let mut fired = 0;
        for minute in timers.minutes_due(now_millis).await? {
            fired += self.fire_minute(minute, now_millis).await?;
        }
        // Only when all of them were fired: a minute that is noted is not read again.
        timers.note_fired(now_millis).await?;
        Ok(fired)
    }

    /// The same for one who has followed from the beginning and moves a clock by hand: only the timers that it has set itself.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn fire_set(&mut self, now_millis: i64) -> Result<usize, FollowError> {
        let Some(timers) = &self.timers else { return Ok(0) };
        let mut fired = 0;
        for minute in timers.minutes_set(now_millis) {
            fired += self.fire_minute(minute, now_millis).await?;
        }
        timers.forget_set(now_millis);
        Ok(fired)
    }

    /// Rows side by side, the timers of each in the order of their instants.
    async fn fire_minute(&self, minute: i64, now: i64) -> Result<usize, FollowError> {
        let Some(timers) = &self.timers else { return Ok(0) };
        let (mut fired, mut start) = (0, None);
        loop {
            let (due, next) = timers.due_page(&self.engine, minute, start, now).await?;
            fired += due.len();
            if !due.is_empty() {
                self.parked.look_anew().await?;
            }
            let mut rows: BTreeMap<String, Vec<Timer>> = BTreeMap::new();
            for timer in due {
                rows.entry(row_mark(&timer.key)).or_default().push(timer);
            }
            let mut running: Vec<RowRun<'_>> = Vec::with_capacity(rows.len());
            for of_row in rows.values() {
                running.push(Box::pin(self.fire_row(of_row, now)));
            }
            let mut running = stream::iter(running).buffer_unordered(TRIGGER_ROWS_AT_ONCE);
            // Rows side by side; within a row in order, in `fire_row`.
            while let Some(ended) = running.next().await {
                ended?;
            }
            match next {
                Some(next) => start = Some(next),
                None => return Ok(fired),
            }
        }
    }

    async fn fire_row(&self, of_row: &[Timer], now: i64) -> Result<Vec<RunEnd>, FollowError> {
        let mut ends = Vec::new();
        for timer in of_row {
            ends.extend(self.fire(timer, Firing::Whole, now).await?);
            if let Some(timers) = &self.timers {
                // After it was fired: killed between the two, the row is looked at again, and nothing is due any more.
                timers.remove(&self.engine, timer).await?;
            }
        }
        Ok(ends)
    }

    /// Does what is due of one deadline. What cannot be done is said or parked, and holds up nothing.
    pub(super) async fn fire(&self, timer: &Timer, firing: Firing, now: i64) -> Result<Vec<RunEnd>, FollowError> {
        let Some(entity) = self.engine.model().entity_named(&timer.entity) else {
            return Ok(Vec::new());
        };
        if let Some(write) = &timer.look {
            self.look_again(write, timer, now.max(timer.at)).await?;
            return Ok(Vec::new());
        }
        let model = self.engine.model();
        let all: Vec<Follows<'_>> = self.follows_of(&timer.entity).collect();
        let is_stored =
            |trigger: &Trigger| model.is_timed_by(trigger) && !matches!(trigger.event, TriggerEvent::Reach(_));
        let stores = all.iter().any(|follows| is_stored(follows.trigger()));
        if stores && let Err(error) = self.engine.store_due(&timer.entity, &timer.key, now).await {
            self.let_go(error, entity)?;
        }
        let mut ends = Vec::new();
        for follows in all.into_iter().filter(|_| firing == Firing::Whole) {
            let TriggerEvent::Reach(attribute) = &follows.trigger().event else {
                continue;
            };
            let looked = self.engine.row_reaching(entity, &timer.key, (attribute, timer.at), now);
            let row = match looked.await {
                Ok(Some(row)) => row,
                // The instant has moved or the row is gone: the timer was a hint.
                Ok(None) => continue,
                Err(error) => {
                    self.let_go(error, entity)?;
                    continue;
                }
            };
            let changed = reached_row(timer, row);
            let mark = row_mark(&timer.key);
            let caused = Caused {
                entity: &timer.entity,
                // As changes of the row are marked, so that what is parked of it holds up this run too.
                row: &mark,
                at_seconds: timer.at.div_euclid(1_000),
                changed: &changed,
            };
            // Not before the deadline, whatever this process's clock was when the timer was read.
            let clock = || now.max(timer.at);
            ends.extend(self.run_change(follows, &caused, &clock).await?);
        }
        Ok(ends)
    }

    /// Says that what time does to a row cannot be done, and goes on: the next write of the row stores it. A store that is away is no
    /// reason to let go.
    fn let_go(&self, error: RuntimeError, entity: &Entity) -> Result<(), FollowError> {
        match error.is_temporary() {
            true => Err(error.into()),
            false => {
                self.observer.unfired(&entity.name, &error);
                Ok(())
            }
        }
    }

    /// Sets the timers of a row that changed, and fires those that are due; a store that is away is waited for.
    pub(super) async fn set_timers(
        &self,
        change: &Change,
        clock: &(dyn Fn() -> i64 + Sync),
    ) -> Result<Vec<RunEnd>, SetTimersError> {
        let Some(after) = &change.after else {
            return Ok(Vec::new());
        };
        let firing = match &change.by {
            None => Firing::Whole,
            Some(_) => Firing::StoresOnly,
        };
        let Some((timers, entity)) = self.timers_of(&change.entity) else {
            return Ok(Vec::new());
        };
        let images = (change.before.as_ref(), after);
        let mut waits = 0_u32;
        let due = loop {
            match timers
                .set_timers(&self.engine, entity, images, Late::Given, clock())
                .await
            {
                Ok(due) => break due,
                Err(error) if error.is_temporary() => {
                    waits = waits.saturating_add(1);
                    super::run::wait_to_retry(waits).await;
                }
                Err(error) => return Err(SetTimersError::Deadline(error)),
            }
        };
        let mut ends = Vec::new();
        for timer in &due {
            let fired = self.fire(timer, firing, clock()).await;
            ends.extend(fired.map_err(SetTimersError::Follow)?);
        }
        Ok(ends)
    }

    /// Sets the timers of a row whose change was parked: what is due by now is fired next, when the change is no longer in the way.
    pub(super) async fn set_timers_again(
        &self,
        entity: &str,
        images: (Option<&Attributes>, &Attributes),
        now: i64,
    ) -> Result<(), RuntimeError> {
        if let Some((timers, entity)) = self.timers_of(entity) {
            timers
                .set_timers(&self.engine, entity, images, Late::Timed, now)
                .await?;
        }
        Ok(())
    }

    fn timers_of(&self, entity: &str) -> Option<(&Timers, &Entity)> {
        let model = self.engine.model();
        let entity = model.entity_named(entity).filter(|entity| model.is_timed(entity));
        self.timers.as_ref().zip(entity)
    }
}

/// Why the timers of a row are not set.
pub(super) enum SetTimersError {
    /// A deadline of the row cannot be computed.
    Deadline(RuntimeError),
    /// Following cannot go on.
    Follow(FollowError),
}

/// What tells the row of a timer from others, as changes of it are told.
fn row_mark(key: &Item) -> String {
    ChangeId::of_record("row", key).item_mark().to_owned()
}

/// A row that an instant has come for, as writes know it: once for each row and instant.
fn reached_row(timer: &Timer, row: Attributes) -> ChangedRow {
    ChangedRow {
        id: ChangeId::of_record(&format!("{REACHED}{}", timer.at), &timer.key)
            .as_str()
            .to_owned(),
        row,
        before: None,
    }
}
