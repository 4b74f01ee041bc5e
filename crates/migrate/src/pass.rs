//! One reading of the whole table in which every row is brought one way.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use singlet_item::Item;
use singlet_runtime::load::KeptKind;
use singlet_runtime::{RuntimeError, batch_get, key_in, retried_past_conflicts, row};
use singlet_store::{
    Condition, Consumed, DeleteRequest, PageAnswer, Path, ScanRequest, TransactWrite, TransactWriteRequest, Update,
    UpdateRequest,
};

use crate::error::{MigrateError, RowMisfit};
use crate::images::{OldKind, RowImages};
use crate::migrator::Working;
use crate::report::MISFITS_SHOWN_MAX;
use crate::stamp::{STAMP, is_left_behind, is_stamped, restored_item};
use crate::step::{Actual, Blocked, Direction, Going, Step, as_read, known_of, owner_in, row_steps};

/// How often a row is looked at anew because somebody changed it meanwhile.
const ATTEMPTS_MAX: usize = 8;

/// What came of one reading of the table.
#[derive(Debug, Default)]
pub(crate) struct PassEnd {
    /// Rows that were written.
    pub written: u64,
    /// Rows in whose way something lay: how many, and the first.
    pub blocked: u64,
    pub first_blocked: Vec<RowMisfit>,
}

/// How a reading of the table ended.
pub(crate) enum Passed {
    /// It came to the end of the table.
    Whole(PassEnd),
    /// The phase is over: somebody else has gone on.
    Over,
}

/// What is done about rows that exchange their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turning {
    /// They are left: they may be no circle, but wait for one that goes.
    Nothing,
    /// They go in one transaction.
    Circles,
}

/// What became of a row.
enum Done {
    Nothing,
    Written,
    Blocked(RowMisfit),
    /// The phase is over.
    Over,
}

impl Working<'_> {
    /// Brings every row one way. Rows that are in one another's way wait for the next time, or go together where they are in a circle.
    pub async fn rows_pass(&self, direction: Direction, turning: Turning) -> Result<Passed, MigrateError> {
        let mut end = PassEnd::default();
        let mut start = None;
        loop {
            let page = self.page(start.take()).await?;
            // Each page anew: whoever aborts meanwhile brings rows the other way.
            if !self.is_phase_on().await? {
                return Ok(Passed::Over);
            }
            let now = (self.clock)();
            let prepared = self.prepared(page.items, now, direction).await?;
            let (rows, actual) = (prepared.rows, prepared.actual);
            let work = rows.into_iter().map(|(item, images)| {
                let actual = &actual;
                async move { self.change_row(item, images, actual, (direction, turning)).await }
            });
            let mut work = stream::iter(work).buffer_unordered(self.options.rows_at_once.max(1));
            while let Some(done) = work.next().await {
                match done? {
                    Done::Nothing => {}
                    Done::Written => end.written += 1,
                    Done::Blocked(misfit) => {
                        end.blocked += 1;
                        if end.first_blocked.len() < MISFITS_SHOWN_MAX {
                            end.first_blocked.push(misfit);
                        }
                    }
                    Done::Over => return Ok(Passed::Over),
                }
            }
            self.tell_progress(page.scanned as u64, end.written);
            // Only a page without a last key is the end of the table.
            start = page.last_key;
            if start.is_none() {
                return Ok(Passed::Whole(end));
            }
        }
    }

    /// One page of the table.
    pub async fn page(&self, start: Option<Item>) -> Result<PageAnswer, MigrateError> {
        let request = ScanRequest {
            table: self.table().to_owned(),
            consistent: true,
            limit: Some(self.options.page_items.max(1)),
            start,
            ..ScanRequest::default()
        };
        let store = self.models.old.store();
        let page = retried_past_conflicts(self.models.old.bounds(), || store.scan(&request)).await?;
        self.count(&page.consumed);
        Ok(page)
    }

    /// The rows of a page that have something to change, and what lies beside them.
    async fn prepared(&self, items: Vec<Item>, now: i64, direction: Direction) -> Result<Prepared, MigrateError> {
        let mut found = Vec::new();
        for item in items {
            // What was done is not done again; what was made beside a row is the row's.
            let was = match (direction, is_stamped(&item)) {
                (Direction::Forward, true) => continue,
                (Direction::Backward, true) => match restored_item(&item) {
                    Some(was) => was,
                    None => continue,
                },
                (_, false) => item.clone(),
            };
            found.push((item, was));
        }
        let (found, were): (Vec<Item>, Vec<Item>) = found.into_iter().unzip();
        let images = self.images_of_all(&were, now).await?;
        let mut rows = Vec::new();
        for ((item, was), images) in found.into_iter().zip(were).zip(images) {
            match images {
                // A row that would have changed and has not was not reached: nothing of it is to be undone.
                Ok(Some(images))
                    if direction == Direction::Backward
                        && !is_stamped(&item)
                        && images.old_own() != images.new_own() => {}
                Ok(Some(images)) if !images.is_same() => rows.push((item, images)),
                Ok(_) => {}
                // What has ended is nobody's any more, and stays until it is removed.
                Err(_) if row::has_expired(self.models.map.old, &was, now) => {}
                // Every row was looked at before: somebody wrote meanwhile.
                Err(misfit) => return Err(MigrateError::Blocked(1, vec![misfit])),
            }
        }
        let wanted: BTreeSet<Item> = rows
            .iter()
            .flat_map(|(item, images)| beside_keys(self, item, images))
            .collect();
        let wanted: Vec<Item> = wanted.into_iter().collect();
        let actual = self.read_keys(&wanted).await?;
        Ok(Prepared { rows, actual })
    }

    /// What lies under some keys.
    pub async fn read_keys(&self, keys: &[Item]) -> Result<Actual, MigrateError> {
        let mut actual: Actual = keys.iter().map(|key| (key.clone(), None)).collect();
        if !keys.is_empty() {
            let engine = self.models.old;
            let (found, units) = batch_get(engine.store(), engine.bounds(), self.table(), keys, true).await?;
            self.count(&units);
            actual.extend(
                found
                    .into_iter()
                    .map(|item| (key_in(engine.model(), &item), Some(item))),
            );
        }
        Ok(actual)
    }

    async fn change_row(
        &self,
        mut item: Item,
        mut images: RowImages,
        known: &Actual,
        (direction, turning): (Direction, Turning),
    ) -> Result<Done, MigrateError> {
        let model = self.models.map.old;
        let mut actual = known_of(&images, known);
        for attempt in 0..ATTEMPTS_MAX {
            let key = key_in(model, &item);
            actual.insert(key.clone(), Some(item.clone()));
            let planned = match row_steps(&images, &item, &actual, self.going_rows(direction)) {
                Ok(planned) if planned.is_empty() => return Ok(Done::Nothing),
                Ok(planned) => planned,
                Err(Blocked(place)) => {
                    let together = match turning {
                        Turning::Circles => self.circle_steps(&item, &images, direction).await?,
                        Turning::Nothing => None,
                    };
                    let Some(planned) = together else {
                        return Ok(Done::Blocked(RowMisfit {
                            key,
                            entity: images.entity.clone(),
                            reason: format!("something else lies at {}", shown_key(&place)),
                        }));
                    };
                    planned
                }
            };
            if self.send_steps(&planned).await? {
                return Ok(Done::Written);
            }
            tokio::time::sleep(Duration::from_millis(5 << attempt)).await;
            // It was changed meanwhile, or something lies where it is to come: all of it is looked at again.
            let keys: Vec<Item> = images
                .old
                .keys()
                .chain(images.new.keys())
                .chain([&key])
                .cloned()
                .collect();
            let keys: BTreeSet<Item> = keys.into_iter().collect();
            actual = self.read_keys(&keys.into_iter().collect::<Vec<_>>()).await?;
            if !self.is_phase_on().await? {
                return Ok(Done::Over);
            }
            let Some(found) = actual.get(&key).cloned().flatten() else {
                return Ok(Done::Nothing);
            };
            let mut prepared = self.prepared(vec![found], (self.clock)(), direction).await?;
            let Some((again, made)) = prepared.rows.pop() else {
                return Ok(Done::Nothing);
            };
            (item, images) = (again, made);
            actual.extend(prepared.actual);
        }
        Err(RuntimeError::Conflict.into())
    }

    /// An item with what its row becomes, where that is something to change.
    pub async fn row_to_change(
        &self,
        item: Item,
        direction: Direction,
    ) -> Result<Option<(Item, RowImages)>, MigrateError> {
        let mut prepared = self.prepared(vec![item], (self.clock)(), direction).await?;
        Ok(prepared.rows.pop())
    }

    /// Does some steps, all or none; whether everything was as it was read.
    pub async fn send_steps(&self, planned: &[Step]) -> Result<bool, MigrateError> {
        let model = self.models.map.old;
        let actions: Vec<TransactWrite> = planned.iter().map(|step| step.step_action(model)).collect();
        self.send_actions(actions).await
    }

    async fn send_actions(&self, actions: Vec<TransactWrite>) -> Result<bool, MigrateError> {
        let engine = self.models.old;
        let (store, bounds) = (engine.store(), engine.bounds());
        self.pacer.wait_until_paid().await;
        let answer = match actions.as_slice() {
            [TransactWrite::Put(put)] => retried_past_conflicts(bounds, || store.put(put)).await,
            [TransactWrite::Delete(delete)] => retried_past_conflicts(bounds, || store.delete(delete)).await,
            [TransactWrite::Update(update)] => retried_past_conflicts(bounds, || store.update(update)).await,
            _ => {
                let request = TransactWriteRequest { actions, token: None };
                retried_past_conflicts(bounds, || store.transact_write(&request)).await
            }
        };
        match answer {
            Ok(answer) => {
                self.count(&answer.consumed);
                Ok(true)
            }
            Err(error) if error.is_condition_failed() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Has every row forget what it was, and removes what is dropped.
    pub async fn finish_pass(&self) -> Result<Passed, MigrateError> {
        let mut end = PassEnd::default();
        let mut start = None;
        loop {
            let page = self.page(start.take()).await?;
            if !self.is_phase_on().await? {
                return Ok(Passed::Over);
            }
            let actions: Vec<TransactWrite> = page.items.iter().filter_map(|item| self.last_action(item)).collect();
            let work = actions.into_iter().map(|action| self.send_actions(vec![action]));
            let mut work = stream::iter(work).buffer_unordered(self.options.rows_at_once.max(1));
            while let Some(done) = work.next().await {
                // Where somebody else was faster, the next reading finds nothing.
                done?;
                end.written += 1;
            }
            self.tell_progress(page.scanned as u64, end.written);
            start = page.last_key;
            if start.is_none() {
                return Ok(Passed::Whole(end));
            }
        }
    }

    /// What is done last about an item.
    fn last_action(&self, item: &Item) -> Option<TransactWrite> {
        let model = self.models.map.old;
        let key = key_in(model, item);
        if is_left_behind(item) {
            return Some(TransactWrite::Delete(DeleteRequest {
                table: self.table().to_owned(),
                key,
                condition: Some(as_read(item, &Item::new())),
                return_old: false,
            }));
        }
        if let Some(was) = item.get(STAMP) {
            return Some(TransactWrite::Update(UpdateRequest {
                table: self.table().to_owned(),
                key,
                update: Update::new().remove(Path::attribute(STAMP)),
                condition: Some(Condition::equal(Path::attribute(STAMP), was.clone())),
                returns: Default::default(),
            }));
        }
        self.is_dropped(item).then(|| {
            TransactWrite::Delete(DeleteRequest {
                table: self.table().to_owned(),
                key,
                condition: Some(as_read(item, &Item::new())),
                return_old: false,
            })
        })
    }

    /// Whether an item belongs to no entity of the new model, and did to one of the old.
    pub fn is_dropped(&self, item: &Item) -> bool {
        let models = &self.models;
        if !models.drops || singlet_runtime::load::entity_of_item(models.map.new, item).is_some() {
            return false;
        }
        match models.old_kind(item) {
            OldKind::Gone(_) => true,
            OldKind::Guard => self.is_guard_of_gone(item),
            _ => false,
        }
    }

    /// Whether an item is the guard of a row whose entity is gone.
    pub fn is_guard_of_gone(&self, item: &Item) -> bool {
        let map = &self.models.map;
        let owner = owner_in(item).and_then(|owner| owner.split(map.old.table.delimiter).next());
        let entity = owner.and_then(|name| map.old.entity_named(name));
        entity
            .is_some_and(|entity| map.counterpart_of(entity).is_none() && map.new.entity_named(&entity.name).is_none())
    }

    /// How rows go: where the table has a stream, each of them leaves something behind.
    pub fn going_rows(&self, direction: Direction) -> Going<'_> {
        Going {
            direction,
            leaves: self.leaves.as_deref(),
        }
    }

    pub fn table(&self) -> &str {
        &self.models.map.old.table.name
    }

    pub fn count(&self, consumed: &Consumed) {
        let units = consumed.total_units();
        self.pacer.note_taken(units.write.get() as f64);
        let mut total = self.consumed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *total += consumed;
    }

    /// Whether the phase is still the one that is worked on.
    pub async fn is_phase_on(&self) -> Result<bool, MigrateError> {
        let control = self.models.old.table_control().await?;
        Ok(control.is_some_and(|control| control.epoch() == self.epoch))
    }
}

/// Rows of a page, each with its item as it was read, and what lies beside them.
struct Prepared {
    rows: Vec<(Item, RowImages)>,
    actual: Actual,
}

/// The keys of what lies beside a row. Where it comes to stand itself is not asked: the condition of the put says whether that is
/// free, and most often it is.
fn beside_keys(working: &Working<'_>, item: &Item, images: &RowImages) -> Vec<Item> {
    let own = key_in(working.models.map.old, item);
    let all = images.old.iter().chain(&images.new);
    let is_beside = |image: &crate::images::Image| image.kind != KeptKind::Own;
    let keys = all
        .filter(|(key, image)| is_beside(image) && **key != own)
        .map(|(key, _)| key.clone());
    keys.collect()
}

pub(crate) fn shown_key(key: &Item) -> String {
    let parts = key.iter();
    let parts = parts.map(|(name, value)| format!("{name} {}", singlet_runtime::values::json_text::json_of(value)));
    parts.collect::<Vec<_>>().join(", ")
}
