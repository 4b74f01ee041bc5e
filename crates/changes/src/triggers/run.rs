//! The runs of one page: rows side by side, the changes of each in order.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use singlet_model::model::{TRIGGER_ROWS_AT_ONCE, TriggerEvent};
use singlet_runtime::{Attributes, ChangedRow, Refused, RuntimeError, TriggerOutcome, TriggerRun, Value};

use super::fire::SetTimersError;
use super::parked::{BEHIND, Parking};
use super::retries::Tries;
use super::{Followed, Follows, ParkedChange, RunEnd, TriggerFollower, TriggerObserver, is_of_kind};
use crate::change::{Change, ChangeId};
use crate::decode::{Decoded, Misfit};
use crate::followers::FollowError;
use crate::reader::{ChangePage, Told};

/// How often a run that fails by itself is tried before its change is parked.
const TRIES_MAX: u32 = 3;

/// The wait after a run that cannot be done for now; it doubles up to the longest.
const WAIT_FIRST: Duration = Duration::from_millis(50);
const WAIT_DOUBLINGS_MAX: u32 = 8;

/// The runs of one row.
pub(super) type RowRun<'r> = Pin<Box<dyn Future<Output = Result<Vec<RunEnd>, FollowError>> + Send + 'r>>;

/// Why a write runs: what happened to which row.
#[derive(Clone, Copy)]
pub(super) struct Caused<'c> {
    pub entity: &'c str,
    /// What tells the row from others.
    pub row: &'c str,
    pub at_seconds: i64,
    pub changed: &'c ChangedRow,
}

impl<'c> Caused<'c> {
    fn of_change(row: &'c str, change: &'c Change, changed: &'c ChangedRow) -> Self {
        Caused {
            entity: &change.entity,
            row,
            at_seconds: change.at_seconds,
            changed,
        }
    }
}

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
            if self.follows_of(entity).next().is_some() {
                // By row, in the order in which they were told.
                rows.entry(row).or_default().push(of_row);
            }
        }
        if rows.is_empty() {
            return Ok(followed);
        }
        // Once a page: an operator or another process may have changed the list.
        self.parked.look_anew().await?;
        let this = &*self;
        // Boxed, each by itself: a task that follows goes from thread to thread.
        let mut running: Vec<RowRun<'_>> = Vec::with_capacity(rows.len());
        for (row, all) in &rows {
            running.push(Box::pin(this.run_row(row, all, clock)));
        }
        let mut running = stream::iter(running).buffer_unordered(TRIGGER_ROWS_AT_ONCE);
        while let Some(ended) = running.next().await {
            for end in ended? {
                match end {
                    RunEnd::Done => followed.done += 1,
                    RunEnd::DoneBefore => {}
                    RunEnd::Refused(_) => followed.refused += 1,
                    RunEnd::Later(_) => followed.later += 1,
                    RunEnd::Parked(_) => followed.parked += 1,
                }
            }
        }
        Ok(followed)
    }

    pub(super) fn follows_of<'s>(&'s self, entity: &str) -> impl Iterator<Item = Follows<'s>> + use<'s> {
        let model = self.engine.model();
        let id = model.catalog.entity(entity);
        Follows::all(model).filter(move |follows| Some(follows.trigger().entity) == id)
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
                    for follows in self.follows_of(&misfit.entity) {
                        let parking = Parking::of_misfit(follows.name(), row, misfit);
                        // For every write, though nobody knows whether it is meant: a row that cannot be read must not be passed
                        // over.
                        ends.push(self.park(&parking, misfit.reason.clone()).await?);
                    }
                }
                OfRow::Change(change) => {
                    // Before anything runs after the change: killed in between, it is told again, and timers are set again.
                    match self.set_timers(change, clock).await {
                        Ok(fired) => ends.extend(fired),
                        Err(SetTimersError::Deadline(error)) => {
                            ends.extend(self.park_deadline(row, change, &error).await?);
                        }
                        Err(SetTimersError::Follow(error)) => return Err(error),
                    }
                    // Loaded or mended rows are told, and nothing runs after them.
                    if change.by.is_some() {
                        continue;
                    }
                    let Some(changed) = changed_row(change) else { continue };
                    let all = self.follows_of(&change.entity);
                    for follows in all.filter(|follows| is_of_kind(&follows.trigger().event, change)) {
                        ends.extend(
                            self.run_change(follows, &Caused::of_change(row, change, &changed), clock)
                                .await?,
                        );
                    }
                }
            }
        }
        Ok(ends)
    }

    /// Parks a change whose row has a deadline that cannot be computed, for every write that may run by it.
    async fn park_deadline(
        &self,
        row: &str,
        change: &Change,
        error: &RuntimeError,
    ) -> Result<Vec<RunEnd>, FollowError> {
        let mut ends = Vec::new();
        let Some(changed) = changed_row(change) else {
            return Ok(ends);
        };
        let caused = Caused::of_change(row, change, &changed);
        let model = self.engine.model();
        let all = self.follows_of(&change.entity);
        for follows in all.filter(|follows| model.is_timed_by(follows.trigger())) {
            let parking = Parking::of_change(follows.name(), &caused);
            let reason = format!("a deadline of the row: {error}");
            ends.push(self.park(&parking, reason).await?);
        }
        Ok(ends)
    }

    /// One write or delivery after one change; nothing, where the model does not mean it.
    pub(super) async fn run_change(
        &self,
        follows: Follows<'_>,
        caused: &Caused<'_>,
        clock: &(dyn Fn() -> i64 + Sync),
    ) -> Result<Option<RunEnd>, FollowError> {
        let Caused { row, changed, .. } = *caused;
        let name = follows.name();
        let parking = || Parking::of_change(name, caused);
        // Before the order is looked at: what is not meant must not queue behind anything.
        match self.engine.is_meant(follows.trigger(), changed) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) => return self.park(&parking(), error.to_string()).await.map(Some),
        }
        // An earlier change of this row waits for this write: to run this one now would turn their order round.
        if follows.is_in_order() && self.parked.has_of_row(name, row) {
            let tries = match follows.trigger().retries_refusals {
                true => Tries::at_once(clock().div_euclid(1_000)),
                false => Tries::NONE,
            };
            self.parked.park_change(&parking(), BEHIND, tries).await?;
            return Ok(Some(self.parked_end(&parking(), BEHIND.to_owned())));
        }
        // What tells others writes no row of the model: it is no part of a loop.
        if follows.is_in_order() && self.rate.is_too_much(name, row, clock()) {
            let message = format!(
                "it ran more than {} times in a minute after changes of this row: what it writes may be what it runs after",
                super::RUNS_PER_MINUTE_MAX
            );
            return self.park(&parking(), message).await.map(Some);
        }
        match self.tried(follows, (changed, caused.at_seconds), None, clock).await {
            Ok(TriggerOutcome::NotMeant) => Ok(None),
            Ok(TriggerOutcome::RefusedForNow(refused)) => {
                let tries = Tries::NONE.after_refusal(clock().div_euclid(1_000));
                self.parked
                    .park_change(&parking(), &refused_text(&refused, tries), tries)
                    .await?;
                let end = RunEnd::Later(refused);
                self.observer.ran(name, &changed.id, &end);
                Ok(Some(end))
            }
            Ok(outcome) => {
                // Before the run counts as ended, so that a process killed here tells the change again.
                self.set_look(follows, changed, clock()).await?;
                let end = run_end(outcome);
                self.observer.ran(name, &changed.id, &end);
                Ok(Some(end))
            }
            Err(error) => self.park(&parking(), error.to_string()).await.map(Some),
        }
    }

    /// Runs it until it is done, refused, or fails by itself.
    async fn tried(
        &self,
        follows: Follows<'_>,
        (changed, at_seconds): (&ChangedRow, i64),
        parked: Option<&singlet_item::Item>,
        clock: &(dyn Fn() -> i64 + Sync),
    ) -> Result<TriggerOutcome, RuntimeError> {
        let run = || async move {
            match follows {
                Follows::Write(write, _) => {
                    let run = TriggerRun {
                        write: &write.name,
                        change: changed,
                        now: clock(),
                        parked,
                    };
                    self.engine.run_after(run).await
                }
                Follows::Webhook(webhook) => {
                    let told = (changed, at_seconds);
                    self.deliveries
                        .make_deliveries(&self.engine, webhook, told, parked, clock())
                        .await
                }
            }
        };
        run_with_retries(self.observer.as_ref(), follows.name(), run).await
    }

    async fn park(&self, parking: &Parking, reason: String) -> Result<RunEnd, FollowError> {
        self.parked.park_change(parking, &reason, Tries::NONE).await?;
        Ok(self.parked_end(parking, reason))
    }

    fn parked_end(&self, parking: &Parking, reason: String) -> RunEnd {
        let end = RunEnd::Parked(reason);
        self.observer.ran(&parking.write, &parking.id, &end);
        end
    }

    /// Whether an earlier change of the row of a parked one is parked for its write, too.
    pub(super) fn is_behind(&self, parked: &ParkedChange) -> bool {
        let model = self.engine.model();
        let follows = Follows::all(model).find(|follows| follows.name() == parked.write);
        let is_first = |first: &ParkedChange| first.is_same(parked);
        follows.is_some_and(Follows::is_in_order) && !self.parked.first_of_rows().iter().any(is_first)
    }

    /// What was parked because of a deadline that still cannot be computed stays.
    async fn not_set(&self, parked: &ParkedChange, error: RuntimeError) -> Result<(), FollowError> {
        match error.is_temporary() {
            true => Err(error.into()),
            false => self.parked.note_still_parked(parked, &error.to_string()).await,
        }
    }

    /// Runs a write after a parked change, and removes the change with it. What still cannot be done stays.
    pub(super) async fn retry(
        &mut self,
        parked: &ParkedChange,
        clock: &(dyn Fn() -> i64 + Sync),
    ) -> Result<(), FollowError> {
        let store = self.engine.store().as_ref();
        let model = std::sync::Arc::clone(self.engine.model());
        let follows = Follows::all(&model).find(|follows| follows.name() == parked.write);
        // The first piece went with the run: what is left is the place in the list.
        let (Some(follows), Some((key, parking))) = (follows, self.parked.parked_body(parked).await?) else {
            // The write is gone from the model, or the change was done and only its place in the list was left.
            return self.parked.remove(store, parked).await;
        };
        let changed = match parking.misfit_record() {
            None if parking.is_reached() => parking.changed_row(),
            None => {
                let changed = parking.changed_row();
                // What a rule refused had its timers set when it was told.
                if let Some(changed) = changed.as_ref().filter(|_| parked.tries == Tries::NONE) {
                    let images = (changed.before.as_ref(), &changed.row);
                    if let Err(error) = self.set_timers_again(parking.entity(), images, clock()).await {
                        return self.not_set(parked, error).await;
                    }
                }
                // Of a write that runs at an instant, only its deadline was parked: the timer runs it.
                changed.filter(|_| !matches!(follows.trigger().event, TriggerEvent::Reach(_)))
            }
            Some(record) => {
                let decoder = crate::decode::ChangeDecoder::new(std::sync::Arc::clone(self.engine.model()));
                match decoder.decode_change(self.followers.source().as_ref(), record).await? {
                    Decoded::Changes(changes) => {
                        for change in &changes {
                            let images = change.after.as_ref().map(|after| (change.before.as_ref(), after));
                            if let Some(images) = images
                                && let Err(error) = self.set_timers_again(&change.entity, images, clock()).await
                            {
                                return self.not_set(parked, error).await;
                            }
                        }
                        let meant = |change: &&Change| is_of_kind(&follows.trigger().event, change);
                        changes.iter().find(meant).and_then(changed_row)
                    }
                    Decoded::Misfit(misfit) => return self.parked.note_still_parked(parked, &misfit.reason).await,
                    Decoded::Nothing | Decoded::Unknown => None,
                }
            }
        };
        let Some(changed) = changed else {
            return self.parked.remove(store, parked).await;
        };
        match self
            // The parked row is removed in the transaction of the run: both happen, or neither.
            .tried(follows, (&changed, parked.at_seconds), Some(&key), clock)
            .await
        {
            Ok(TriggerOutcome::RefusedForNow(refused)) => {
                let tries = parked.tries.after_refusal(clock().div_euclid(1_000));
                let reason = refused_text(&refused, tries);
                self.parked.still_until(parked, &reason, tries).await?;
                let end = match tries.next_at {
                    Some(_) => RunEnd::Later(refused),
                    None => RunEnd::Parked(reason),
                };
                self.observer.ran(follows.name(), &changed.id, &end);
                Ok(())
            }
            Ok(outcome) => {
                self.set_look(follows, &changed, clock()).await?;
                if outcome != TriggerOutcome::NotMeant {
                    self.observer.ran(follows.name(), &changed.id, &run_end(outcome));
                }
                self.parked.remove(store, parked).await
            }
            Err(error) => self.parked.note_still_parked(parked, &error.to_string()).await,
        }
    }
}

/// Tries a run until it is done, refused, or fails by itself. What is only for a while is waited for.
pub(crate) async fn run_with_retries<F>(
    observer: &dyn TriggerObserver,
    write: &str,
    mut run: impl FnMut() -> F,
) -> Result<TriggerOutcome, RuntimeError>
where
    F: Future<Output = Result<TriggerOutcome, RuntimeError>>,
{
    let (mut waits, mut failures) = (0_u32, 0);
    loop {
        match run().await {
            Ok(outcome) => return Ok(outcome),
            // Waited for without an end: a store that is away is no reason to park every change that comes.
            Err(error) if error.is_temporary() => {
                if waits == 0 {
                    observer.waits(write, &error);
                }
            }
            Err(error) => {
                failures += 1;
                if failures >= TRIES_MAX {
                    return Err(error);
                }
            }
        }
        waits = waits.saturating_add(1);
        wait_to_retry(waits).await;
    }
}

/// Waits before the next try, longer each time.
pub(super) async fn wait_to_retry(waits: u32) {
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

pub(crate) fn run_end(outcome: TriggerOutcome) -> RunEnd {
    match outcome {
        TriggerOutcome::Done => RunEnd::Done,
        TriggerOutcome::DoneBefore | TriggerOutcome::NotMeant => RunEnd::DoneBefore,
        TriggerOutcome::Refused(refused) => RunEnd::Refused(refused),
        TriggerOutcome::RefusedForNow(refused) => RunEnd::Later(refused),
    }
}

/// Why a change is kept that a rule refused.
fn refused_text(refused: &Refused, tries: Tries) -> String {
    match tries.next_at {
        Some(_) => format!("refused for now, {}", refused.name),
        None => format!("refused {} times, {}", tries.refused, refused.name),
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
