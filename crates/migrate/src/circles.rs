//! Rows that exchange their keys: none of them can go first, so that all of them go in one transaction.

use std::collections::{BTreeMap, BTreeSet};

use singlet_item::Item;
use singlet_model::Model;
use singlet_runtime::key_in;

use crate::error::MigrateError;
use crate::images::RowImages;
use crate::migrator::Working;
use crate::stamp::is_left_behind;
use crate::step::{ACTIONS_MAX, Actual, COMPARED_MAX, Direction, Step, row_steps};

/// The most rows of a circle: each is a put at least.
const CIRCLE_ROWS_MAX: usize = ACTIONS_MAX;

/// A row of a circle, with its item as it was read.
struct Member {
    item: Item,
    images: RowImages,
}

impl Member {
    /// Where its own item is to come.
    fn goes_to(&self, direction: Direction) -> Option<&Item> {
        let own = match direction {
            Direction::Forward => self.images.new_own(),
            Direction::Backward => self.images.old_own(),
        };
        own.map(|(key, _)| key)
    }
}

impl Working<'_> {
    /// What brings every row of a circle where the next one is, all or none; none, where a row is in no circle, or in one that no
    /// transaction holds.
    pub async fn circle_steps(
        &self,
        item: &Item,
        images: &RowImages,
        direction: Direction,
    ) -> Result<Option<Vec<Step>>, MigrateError> {
        let model = self.models.map.old;
        let Some(members) = self.circle(item, images, direction).await? else {
            return Ok(None);
        };
        let all = members.iter().map(|member| &member.images);
        let keys = all.flat_map(|images| images.old.keys().chain(images.new.keys()));
        let keys: BTreeSet<Item> = keys.cloned().collect();
        let mut actual = self.read_keys(&keys.into_iter().collect::<Vec<_>>()).await?;
        let own = members
            .iter()
            .map(|member| (key_in(model, &member.item), Some(member.item.clone())));
        // Over what was read just now: the images were made of these, and a row that has changed since must fail the transaction.
        actual.extend(own);
        let planned = members.iter().map(|member| {
            let free = without_others(&members, member, &actual, direction);
            row_steps(&member.images, &member.item, &free, self.going_rows(direction))
        });
        let Ok(planned) = planned.collect::<Result<Vec<_>, _>>() else {
            return Ok(None);
        };
        let merged = merged(planned.into_iter().flatten(), &actual, model);
        let is_sendable = |steps: &Vec<Step>| {
            steps.len() <= ACTIONS_MAX && steps.iter().all(|step| step.compared_count() <= COMPARED_MAX)
        };
        Ok(merged.filter(is_sendable))
    }

    /// The rows from one to the next, until the last of them goes where the first is.
    async fn circle(
        &self,
        item: &Item,
        images: &RowImages,
        direction: Direction,
    ) -> Result<Option<Vec<Member>>, MigrateError> {
        let first = key_in(self.models.map.old, item);
        let mut members = vec![Member {
            item: item.clone(),
            images: images.clone(),
        }];
        while members.len() <= CIRCLE_ROWS_MAX {
            let last = members.last().and_then(|member| member.goes_to(direction));
            let Some(place) = last.cloned() else { return Ok(None) };
            if place == first {
                return Ok(Some(members));
            }
            let found = self
                .read_keys(std::slice::from_ref(&place))
                .await?
                .remove(&place)
                .flatten();
            let Some(found) = found else { return Ok(None) };
            let Some((item, images)) = self.row_to_change(found, direction).await? else {
                return Ok(None);
            };
            members.push(Member { item, images });
        }
        Ok(None)
    }
}

/// What lies beside a row, without what the other rows of its circle give up.
fn without_others(members: &[Member], member: &Member, actual: &Actual, direction: Direction) -> Actual {
    let mut free = actual.clone();
    for other in members.iter().filter(|other| other.item != member.item) {
        let from = match direction {
            Direction::Forward => &other.images.old,
            Direction::Backward => &other.images.new,
        };
        // What a row has for itself on both sides stays its own.
        let own = |key: &&Item| !member.images.old.contains_key(*key) || !member.images.new.contains_key(*key);
        for key in from.keys().filter(own) {
            free.insert(key.clone(), None);
        }
    }
    free
}

/// One step for each place: what one row leaves, another takes.
fn merged(all: impl Iterator<Item = Step>, actual: &Actual, model: &Model) -> Option<Vec<Step>> {
    let mut by_place: BTreeMap<Item, Step> = BTreeMap::new();
    for step in all {
        let place = key_in(model, step.item());
        let step = match by_place.remove(&place) {
            None => step,
            Some(known) => match (comes(&known), comes(&step)) {
                // Two rows at one place would be one row less.
                (true, true) => return None,
                (true, false) => known,
                (false, _) => step,
            },
        };
        by_place.insert(place, step);
    }
    // Each was planned as if the others had gone; what it replaces is what lies there until then.
    let over = by_place.into_iter().map(|(place, step)| match step {
        Step::Put { item, .. } => Step::Put {
            item,
            over: actual.get(&place).cloned().flatten(),
        },
        step => step,
    });
    Some(over.collect())
}

/// Whether an item comes to stand there.
fn comes(step: &Step) -> bool {
    matches!(step, Step::Put { item, .. } if !is_left_behind(item))
}
