//! Looks at every row before anything is changed: what it becomes, what that takes, and what cannot be.

use std::collections::{BTreeSet, HashSet};

use sha2::{Digest, Sha256};
use singlet_item::Item;
use singlet_item::capacity::{WriteMode, WriteUnits};
use singlet_runtime::key_in;
use singlet_runtime::load::KeptKind;
use singlet_store::{TableChange, TableSpec};

use crate::error::{MigrateError, RowMisfit};
use crate::images::{OldKind, RowImages};
use crate::migrator::Working;
use crate::pass::shown_key;
use crate::report::{EntityCount, MigrationPlan};
use crate::stamp::{is_stamped, stamped_as_made};
use crate::step::{ACTIONS_MAX, Actual, Blocked, COMPARED_MAX, Direction, Step, change_units, known_of, row_steps};
use crate::table_steps::{TableStep, steps_before};

/// How many places that rows come to stand in are compared with one another. Beyond that a place that two rows want is found only
/// when the second of them is changed.
const CLAIMS_MAX: usize = 20_000_000;

/// Places that rows will have, each by what stands for it.
#[derive(Default)]
pub(crate) struct Claims(HashSet<u128>);

impl Claims {
    /// Claims a place; whether nobody else has.
    pub fn claim_key(&mut self, key: &Item) -> bool {
        let mut hash = Sha256::new();
        for (name, value) in key {
            hash.update((name.len() as u64).to_be_bytes());
            hash.update(name.as_bytes());
            hash.update(singlet_runtime::values::json_text::json_of(value).as_bytes());
        }
        let first = hash
            .finalize()
            .iter()
            .take(16)
            .fold(0_u128, |all, byte| all << 8 | u128::from(*byte));
        self.0.len() >= CLAIMS_MAX || self.0.insert(first)
    }
}

impl Working<'_> {
    /// What the migration would do to every row.
    pub async fn survey_rows(&self, live: &TableSpec) -> Result<MigrationPlan, MigrateError> {
        let mut plan = MigrationPlan::default();
        let mut claims = Claims::default();
        let mut start = None;
        let before = self.consumed_units();
        // Indexes that are removed first cost nothing.
        let wanted = singlet_runtime::table::table_spec(self.models.map.new);
        let mut during = live.clone();
        let removed = steps_before(&wanted, live);
        during.indexes.retain(|known| {
            let is_it = |step: &TableStep| matches!(step, TableStep::Change(TableChange::RemoveIndex(name)) if *name == known.name);
            !removed.iter().any(is_it)
        });
        loop {
            let page = self.page(start.take()).await?;
            plan.items += page.scanned as u64;
            self.survey_page(page.items, &during, &mut plan, &mut claims).await?;
            self.tell_progress(page.scanned as u64, 0);
            start = page.last_key;
            if start.is_none() {
                break;
            }
        }
        plan.read_units = self.consumed_units() - before;
        Ok(plan)
    }

    async fn survey_page(
        &self,
        items: Vec<Item>,
        live: &TableSpec,
        plan: &mut MigrationPlan,
        claims: &mut Claims,
    ) -> Result<(), MigrateError> {
        let (now, model) = ((self.clock)(), self.models.map.old);
        let items: Vec<Item> = items.into_iter().filter(|item| !is_stamped(item)).collect();
        let all_images = self.images_of_all(&items, now).await?;
        let mut rows: Vec<(Item, RowImages)> = Vec::new();
        for (item, images) in items.into_iter().zip(all_images) {
            let kind = self.models.old_kind(&item);
            if let OldKind::Row(entity, _) | OldKind::Gone(entity) = kind {
                let count = plan.entities.entry(entity.name.clone()).or_default();
                count.rows += u64::from(entity.mirror.is_none() && entity.role.is_none());
                count.gone += u64::from(matches!(kind, OldKind::Gone(_)));
            }
            if self.is_dropped(&item) {
                let units = change_units(live, Some(&item), None, WriteMode::Single);
                plan.add_units(WriteUnits::ZERO, units);
                continue;
            }
            match images {
                Ok(Some(images)) if !images.is_same() => rows.push((item, images)),
                Ok(images) => {
                    for misfit in images.iter().filter_map(|images| claim_places(images, claims)) {
                        plan.add_misfit(misfit);
                    }
                }
                // What has ended is nobody's any more, and stays until it is removed.
                Err(_) if singlet_runtime::row::has_expired(model, &item, now) => {}
                Err(misfit) => plan.add_misfit(misfit),
            }
        }
        let places = rows
            .iter()
            .flat_map(|(_, images)| images.old.keys().chain(images.new.keys()));
        let places: BTreeSet<Item> = places.cloned().collect();
        let own: BTreeSet<Item> = rows.iter().map(|(item, _)| key_in(model, item)).collect();
        let wanted: Vec<Item> = places.difference(&own).cloned().collect();
        let mut actual = self.read_keys(&wanted).await?;
        actual.extend(rows.iter().map(|(item, _)| (key_in(model, item), Some(item.clone()))));
        for (item, images) in &rows {
            let misfit = match claim_places(images, claims) {
                Some(misfit) => Some(misfit),
                None => self.taken_place(item, images, &actual, now).await?,
            };
            if let Some(misfit) = misfit {
                plan.add_misfit(misfit);
                continue;
            }
            let mut known = known_of(images, &actual);
            share_identity(images, &mut known, claims);
            match self.planned(item, images, known) {
                Ok(planned) => count_row(plan, images, &planned, live),
                Err(misfit) => plan.add_misfit(misfit),
            }
        }
        Ok(())
    }

    /// What would be done about a row, as if whatever lies in its way had gone.
    fn planned(&self, item: &Item, images: &RowImages, mut free: Actual) -> Result<Vec<Step>, RowMisfit> {
        let misfit = |reason: String| RowMisfit {
            key: key_in(self.models.map.old, item),
            entity: images.entity.clone(),
            reason,
        };
        let planned = loop {
            match row_steps(images, item, &free, self.going_rows(Direction::Forward)) {
                Ok(planned) => break planned,
                Err(Blocked(place)) if free.get(&place).is_some_and(Option::is_some) => {
                    free.insert(place, None);
                }
                Err(Blocked(place)) => return Err(misfit(format!("something else lies at {}", shown_key(&place)))),
            }
        };
        if planned.len() > ACTIONS_MAX {
            return Err(misfit(format!(
                "its mirrors and guards take {} actions, and a transaction has {ACTIONS_MAX}",
                planned.len()
            )));
        }
        if planned.iter().any(|step| step.compared_count() > COMPARED_MAX) {
            return Err(misfit("it has more attributes than a condition can compare".to_owned()));
        }
        Ok(planned)
    }

    /// Whether something that stays lies where an item of the row is to come.
    async fn taken_place(
        &self,
        item: &Item,
        images: &RowImages,
        actual: &Actual,
        now: i64,
    ) -> Result<Option<RowMisfit>, MigrateError> {
        let model = self.models.map.old;
        let new = images.new.iter().filter(|(key, image)| {
            let is_row = matches!(image.kind, KeptKind::Own | KeptKind::Mirror(_));
            is_row && !images.old.contains_key(*key)
        });
        for (key, _) in new {
            let Some(found) = actual.get(key).and_then(Option::as_ref) else {
                continue;
            };
            let goes = match self.models.old_kind(found) {
                OldKind::Row(..) | OldKind::Record(..) => {
                    let theirs = self.images_of_all(std::slice::from_ref(found), now).await?.pop();
                    let theirs = theirs.and_then(|theirs| theirs.ok().flatten());
                    theirs.is_some_and(|theirs| theirs.new_own().is_some_and(|(place, _)| place != key))
                }
                // The mirror of a row whose mirrors lie elsewhere from now on.
                OldKind::Mirror => true,
                _ => false,
            };
            if !goes {
                return Ok(Some(RowMisfit {
                    key: key_in(model, item),
                    entity: images.entity.clone(),
                    reason: format!("something else lies where it is to come, at {}", shown_key(key)),
                }));
            }
        }
        Ok(None)
    }
}

/// Claims the places that a row takes anew, and those of its unique values; what is said where another row has one.
fn claim_places(images: &RowImages, claims: &mut Claims) -> Option<RowMisfit> {
    let (own, _) = images.old_own()?;
    for (key, image) in &images.new {
        let is_claimed = match &image.kind {
            KeptKind::Unique(_) => true,
            // The versions of a row share it.
            KeptKind::Identity => false,
            KeptKind::Own | KeptKind::Mirror(_) => !images.old.contains_key(key),
        };
        if !is_claimed || claims.claim_key(key) {
            continue;
        }
        let reason = match &image.kind {
            KeptKind::Unique(name) => format!("another row has the same value, which `{name}` makes unique"),
            KeptKind::Own | KeptKind::Mirror(_) | KeptKind::Identity => {
                format!("another row would have the same key, {}", shown_key(key))
            }
        };
        return Some(RowMisfit {
            key: own.clone(),
            entity: images.entity.clone(),
            reason,
        });
    }
    None
}

/// The versions of a row share the guard of their identity: the first of them brings it along.
fn share_identity(images: &RowImages, known: &mut Actual, claims: &mut Claims) {
    let mut identities = images.new.iter().filter(|(_, image)| image.kind == KeptKind::Identity);
    let Some((key, image)) = identities.next().filter(|(key, _)| !claims.claim_key(key)) else {
        return;
    };
    let were = images.old.iter().filter(|(_, image)| image.kind == KeptKind::Identity);
    known.extend(were.map(|(key, _)| (key.clone(), None)));
    known.insert(key.clone(), Some(stamped_as_made(&image.item)));
}

fn count_row(plan: &mut MigrationPlan, images: &RowImages, planned: &[Step], live: &TableSpec) {
    let mode = match planned.len() {
        1 => WriteMode::Single,
        _ => WriteMode::Transaction,
    };
    let rows: WriteUnits = planned.iter().map(|step| step.step_units(live, mode)).sum();
    let finish: WriteUnits = planned.iter().map(|step| step.forget_units(live)).sum();
    plan.add_units(rows, finish);
    let count: &mut EntityCount = plan.entities.entry(images.entity.clone()).or_default();
    let (was, is) = (images.old_own(), images.new_own());
    let key = |own: Option<(&Item, &Item)>| own.map(|(key, _)| key.clone());
    let is_moved = key(was) != key(is);
    let is_changed = was.map(|(_, item)| item) != is.map(|(_, item)| item);
    count.moved += u64::from(is_moved);
    count.changed += u64::from(is_changed && !is_moved);
    let written = planned
        .iter()
        .filter(|step| !matches!(step, Step::Check { .. }))
        .count() as u64;
    let own = match (is_moved, is_changed) {
        (true, _) => 2,
        (false, true) => 1,
        (false, false) => 0,
    };
    count.beside += written.saturating_sub(own);
}
