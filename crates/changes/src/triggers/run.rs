//! The runs of one page: rows side by side, the changes of each in order.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use singlet_model::model::{Trigger, Write};
use singlet_runtime::{Attributes, ChangedRow, RuntimeError, TriggerOutcome, TriggerRun, Value};

use super::parked::Parking;
use super::{Followed, ParkedChange, RunEnd, TriggerFollower, is_of_kind};
use crate::change::{Change, ChangeId};
use crate::decode::{Decoded, Misfit};
use crate::followers::FollowError;
use crate::reader::{ChangePage, Told};

/// How many rows have their writes run at once.
const ROWS_AT_ONCE: usize = 16;

/// How often a run that fails by itself is tried before its change is parked.
const TRIES_MAX: u32 = 3;

/// The wait after a run that cannot be done for now; it doubles up to the longest.
const WAIT_FIRST: Duration = Duration::from_millis(50);
const WAIT_DOUBLINGS_MAX: u32 = 8;

/// The runs of one row.
type RowRun<'r> = Pin<Box<dyn Future<Output = Result<Vec<RunEnd>, FollowError>> + Send + 'r>>;

/// A change, or a row that does not fit, of one row.
enum OfRow<'p> {
    Change(&'p Change),
    Misfit(&'p Misfit),
}

impl TriggerFollower {
    pub(super) async fn run_page(
        &mut self,
        page: &ChangePage,
        clock: &(dyn Fn() -> i64 + Sync),
    ) -> Result<Followed, FollowError> {
        let mut followed = Followed {
            records: page.told.len() + page.nothing + page.unknown + page.earlier,
            ..Followed::default()
        };
        let mut rows: BTreeMap<String, Vec<OfRow<'_>>> = BTreeMap::new();
        for told in &page.told {
            let (entity, row, at, of_row) = match told {
                Told::Change(change) => {
                    let row = self.mark_of(change);
                    (&change.entity, row, change.at_seconds, OfRow::Change(change))
                }
                Told::Misfit(misfit) => {
                    let row = misfit.id.item_mark().to_owned();
                    (&misfit.entity, row, misfit.record.at_seconds, OfRow::Misfit(misfit))
                }
            };
            followed.newest_at = followed.newest_at.max(Some(at));
            if self.triggers_of(entity).next().is_some() {
                rows.entry(row).or_default().push(of_row);
            }
        }
        if rows.is_empty() {
            return Ok(followed);
        }
        self.parked.look().await?;
        let this = &*self;
        // Boxed, each by itself: a task that follows goes from thread to thread.
        let mut running: Vec<RowRun<'_>> = Vec::with_capacity(rows.len());
        for (row, all) in &rows {
            running.push(Box::pin(this.run_row(row, all, clock)));
        }
        let mut running = stream::iter(running).buffer_unordered(ROWS_AT_ONCE);
        while let Some(ended) = running.next().await {
            for end in ended? {
                match end {
                    RunEnd::Done => followed.done += 1,
                    RunEnd::DoneBefore => {}
                    RunEnd::Refused(_) => followed.refused += 1,
                    RunEnd::Parked(_) => followed.parked += 1,
                }
            }
        }
        Ok(followed)
    }

    fn triggers_of<'s>(&'s self, entity: &str) -> impl Iterator<Item = (&'s Write, &'s Trigger)> + use<'s> {
        let model = self.engine.model();
        let id = model.catalog.entity(entity);
        model.triggers().filter(move |(_, trigger)| Some(trigger.entity) == id)
    }

    /// What tells the row of a change from others: the key of its item. Versions of a row have items of their own, so that those
    /// are told by what identifies the row.
    fn mark_of(&self, change: &Change) -> String {
        let entity = self.engine.model().entity_named(&change.entity);
        match entity.is_some_and(|entity| entity.history.is_some()) {
            true => row_mark(&change.entity, &change.key),
            false => change.id.item_mark().to_owned(),
        }
    }

    /// The changes of one row, in order, each with all writes that run after it.
    async fn run_row(
        &self,
        row: &str,
        all: &[OfRow<'_>],
        clock: &(dyn Fn() -> i64 + Sync),
    ) -> Result<Vec<RunEnd>, FollowError> {
        let mut ends = Vec::new();
        for of_row in all {
            match of_row {
                OfRow::Misfit(misfit) => {
                    for (write, _) in self.triggers_of(&misfit.entity) {
                        let parking = Parking::of_misfit(&write.name, row, misfit);
                        ends.push(self.park(&parking, misfit.reason.clone()).await?);
                    }
                }
                OfRow::Change(change) => {
                    self.set_timers(change, clock).await?;
                    if change.by.is_some() {
                        continue;
                    }
                    let Some(changed) = changed_row(change) else { continue };
                    let triggers = self.triggers_of(&change.entity);
                    for (write, _) in triggers.filter(|(_, trigger)| is_of_kind(&trigger.event, change)) {
                        ends.extend(self.run_change(write, row, (change, &changed), clock).await?);
                    }
                }
            }
        }
        Ok(ends)
    }

    /// Sets the timers of a row; a store that is away is waited for.
    async fn set_timers(&self, change: &Change, clock: &(dyn Fn() -> i64 + Sync)) -> Result<(), FollowError> {
        let Some(timers) = &self.timers else { return Ok(()) };
        let mut waits = 0_u32;
        loop {
            match timers.set(&self.engine, change, clock()).await {
                Err(error) if error.is_temporary() => {
                    waits = waits.saturating_add(1);
                    wait(waits).await;
                }
                ended => return Ok(ended?),
            }
        }
    }

    /// One write after one change; nothing, where the model does not mean it.
    async fn run_change(
        &self,
        write: &Write,
        row: &str,
        (change, changed): (&Change, &ChangedRow),
        clock: &(dyn Fn() -> i64 + Sync),
    ) -> Result<Option<RunEnd>, FollowError> {
        let parking = || Parking::of_change(&write.name, row, change, changed);
        let is_meant = write
            .after
            .as_ref()
            .map(|trigger| self.engine.is_meant(trigger, changed))
            .transpose();
        match is_meant {
            Ok(Some(true)) => {}
            Ok(_) => return Ok(None),
            Err(error) => return self.park(&parking(), error.to_string()).await.map(Some),
        }
        if self.parked.has_of_row(&write.name, row) {
            let behind = "an earlier change of its row is parked".to_owned();
            return self.park(&parking(), behind).await.map(Some);
        }
        if self.rate.is_too_much(&write.name, row, clock()) {
            let message = format!(
                "it ran more than {} times in a minute after changes of this row: what it writes may be what it runs after",
                super::RUNS_PER_MINUTE_MAX
            );
            return self.park(&parking(), message).await.map(Some);
        }
        match self.tried(write, changed, None, clock).await {
            Ok(TriggerOutcome::NotMeant) => Ok(None),
            Ok(outcome) => {
                let end = ended(outcome);
                self.observer.ran(&write.name, &changed.id, &end);
                Ok(Some(end))
            }
            Err(error) => self.park(&parking(), error.to_string()).await.map(Some),
        }
    }

    /// Runs it until it is done, refused, or fails by itself. What is only for a while is waited for.
    async fn tried(
        &self,
        write: &Write,
        changed: &ChangedRow,
        parked: Option<&singlet_item::Item>,
        clock: &(dyn Fn() -> i64 + Sync),
    ) -> Result<TriggerOutcome, RuntimeError> {
        let (mut waits, mut failures) = (0_u32, 0);
        loop {
            let run = TriggerRun {
                write: &write.name,
                change: changed,
                now: clock(),
                parked,
            };
            match self.engine.run_after(run).await {
                Ok(outcome) => return Ok(outcome),
                Err(error) if error.is_temporary() => {
                    if waits == 0 {
                        self.observer.waits(&write.name, &error);
                    }
                    waits = waits.saturating_add(1);
                }
                Err(error) => {
                    failures += 1;
                    if failures >= TRIES_MAX {
                        return Err(error);
                    }
                    waits = waits.saturating_add(1);
                }
            }
            wait(waits).await;
        }
    }

    async fn park(&self, parking: &Parking, reason: String) -> Result<RunEnd, FollowError> {
        self.parked.park(parking, &reason).await?;
        let end = RunEnd::Parked(reason);
        self.observer.ran(&parking.write, &parking.id, &end);
        Ok(end)
    }

    /// Runs a write after a parked change, and removes the change with it. What still cannot be done stays.
    pub(super) async fn retry(
        &mut self,
        parked: &ParkedChange,
        clock: &(dyn Fn() -> i64 + Sync),
    ) -> Result<(), FollowError> {
        let store = self.engine.store().as_ref();
        let write = self
            .engine
            .model()
            .writes
            .iter()
            .find(|write| write.name == parked.write);
        let write = write.filter(|write| write.after.is_some());
        let (Some(write), Some((key, parking))) = (write, self.parked.body(parked).await?) else {
            // The write is gone from the model, or the change was done and only its place in the list was left.
            return self.parked.remove(store, parked).await;
        };
        let changed = match parking.misfit_record() {
            None => parking.changed(),
            Some(record) => {
                let decoder = crate::decode::ChangeDecoder::new(std::sync::Arc::clone(self.engine.model()));
                match decoder.decode(self.followers.source().as_ref(), record).await? {
                    Decoded::Changes(changes) => {
                        let meant = |change: &&Change| {
                            write
                                .after
                                .as_ref()
                                .is_some_and(|after| is_of_kind(&after.event, change))
                        };
                        changes.iter().find(meant).and_then(changed_row)
                    }
                    Decoded::Misfit(misfit) => return self.parked.still(parked, &misfit.reason).await,
                    Decoded::Nothing | Decoded::Unknown => None,
                }
            }
        };
        let Some(changed) = changed else {
            return self.parked.remove(store, parked).await;
        };
        match self.tried(write, &changed, Some(&key), clock).await {
            Ok(outcome) => {
                if outcome != TriggerOutcome::NotMeant {
                    self.observer.ran(&write.name, &changed.id, &ended(outcome));
                }
                self.parked.remove(store, parked).await
            }
            Err(error) => self.parked.still(parked, &error.to_string()).await,
        }
    }
}

/// Waits before the next try, longer each time.
async fn wait(waits: u32) {
    let wait = WAIT_FIRST.saturating_mul(1 << waits.min(WAIT_DOUBLINGS_MAX));
    tokio::time::sleep(wait.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
}

/// What tells a row from others by its identity.
fn row_mark(entity: &str, key: &Attributes) -> String {
    let named = Attributes::from([
        ("entity".to_owned(), Value::S(entity.to_owned())),
        ("key".to_owned(), Value::M(key.clone())),
    ]);
    ChangeId::of_record("row", &named).item_mark().to_owned()
}

fn ended(outcome: TriggerOutcome) -> RunEnd {
    match outcome {
        TriggerOutcome::Done => RunEnd::Done,
        TriggerOutcome::DoneBefore | TriggerOutcome::NotMeant => RunEnd::DoneBefore,
        TriggerOutcome::Refused(refused) => RunEnd::Refused(refused),
    }
}

/// What writes know of a change: the row as it became, or was last.
fn changed_row(change: &Change) -> Option<ChangedRow> {
    let row = change.after.clone().or_else(|| change.before.clone())?;
    Some(ChangedRow {
        id: change.id.as_str().to_owned(),
        row,
        before: change.after.as_ref().and(change.before.clone()),
    })
}
