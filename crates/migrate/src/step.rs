//! What is done to the items of a row, in one transaction.

use std::collections::BTreeMap;

use singlet_item::capacity::{IndexWrite, WriteMode, WriteUnits, write_units};
use singlet_item::{Item, Value, item_size_bytes};
use singlet_model::Model;
use singlet_runtime::load::KeptKind;
use singlet_runtime::{GUARD_OWNER, key_in};
use singlet_store::{Condition, DeleteRequest, IndexProjection, Path, PutRequest, TableSpec, TransactWrite};

use crate::images::{Image, RowImages};
use crate::stamp::{STAMP, is_left_behind, is_stamped, left_behind, stamped_as_made, stamped_item, unstamped_item};

/// How many actions a transaction has at most.
pub(crate) const ACTIONS_MAX: usize = 100;

/// How many attributes a condition compares at most; DynamoDB takes 300 operators.
pub(crate) const COMPARED_MAX: usize = 250;

/// Items by their keys, as they were read; one that was asked for and is not there is none.
pub(crate) type Actual = BTreeMap<Item, Option<Item>>;

/// What was read of the items of a row.
pub(crate) fn known_of(images: &RowImages, actual: &Actual) -> Actual {
    let keys = images.old.keys().chain(images.new.keys());
    keys.filter_map(|key| Some((key.clone(), actual.get(key)?.clone())))
        .collect()
}

/// What is done to one item.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// It is put, over what was read.
    Put { item: Item, over: Option<Item> },
    /// It is deleted, as it was read.
    Delete { item: Item },
    /// It stays, as it was read.
    Check { item: Item },
}

/// Something else lies where an item of the row belongs: its key.
#[derive(Clone, Debug)]
pub(crate) struct Blocked(pub Item);

/// Which way rows go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Backward,
}

/// How rows go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Going<'m> {
    pub direction: Direction,
    /// The attributes that say what an item is, where a row that moves leaves something behind.
    pub leaves: Option<&'m [&'m String]>,
}

/// What makes the items of a row those of the new model, or again those of the old. The row's own item is among those that were
/// read.
pub(crate) fn row_steps(
    images: &RowImages,
    own: &Item,
    actual: &Actual,
    going: Going<'_>,
) -> Result<Vec<Step>, Blocked> {
    let direction = going.direction;
    let (from, to) = match direction {
        Direction::Forward => (&images.old, &images.new),
        Direction::Backward => (&images.new, &images.old),
    };
    let was = images.old_own().map(|(_, item)| item);
    let mut steps = Vec::new();
    for (key, target) in to {
        let found = actual.get(key).and_then(Option::as_ref);
        let is_both = from.contains_key(key);
        if found.is_some_and(|found| is_as_wanted(found, target, is_both, direction)) {
            continue;
        }
        if let Some(found) = found.filter(|found| !is_left_behind(found)) {
            let is_ours = from
                .get(key)
                .is_some_and(|image| is_own_image(found, image, own, direction));
            // Nobody else has the value: that was looked for. What lies there is the guard of a row that gives it up.
            let is_guard = |kind: &KeptKind| matches!(kind, KeptKind::Unique(_) | KeptKind::Identity);
            let is_before = is_stamped(found) == (direction == Direction::Backward);
            let is_given_up = is_guard(&target.kind) && found.contains_key(GUARD_OWNER) && is_before;
            if !is_ours && !is_given_up {
                // Something is there that is neither the row's nor given up: writing over it would lose it.
                return Err(Blocked(key.clone()));
            }
        }
        let item = match (&target.kind, direction) {
            (KeptKind::Own, Direction::Forward) => match was {
                Some(was) => stamped_item(was, &target.item),
                None => target.item.clone(),
            },
            (KeptKind::Mirror(_), Direction::Forward) => stamped_as_made(&target.item),
            (KeptKind::Own | KeptKind::Mirror(_), Direction::Backward) => target.item.clone(),
            (KeptKind::Unique(_) | KeptKind::Identity, Direction::Forward) => {
                stamped_as_made(&with_notes(target, from, actual))
            }
            (KeptKind::Unique(_) | KeptKind::Identity, Direction::Backward) => with_notes(target, from, actual),
        };
        steps.push(Step::Put {
            item,
            over: found.cloned(),
        });
    }
    for (key, image) in from.iter().filter(|(key, _)| !to.contains_key(*key)) {
        let Some(found) = actual.get(key).and_then(Option::as_ref) else {
            continue;
        };
        // What somebody else has put there since stays.
        if !is_own_image(found, image, own, direction) {
            continue;
        }
        steps.push(match (going.leaves, direction, &image.kind) {
            (Some(names), Direction::Forward, KeptKind::Own) => Step::Put {
                item: left_behind(key, names),
                over: Some(found.clone()),
            },
            _ => Step::Delete { item: found.clone() },
        });
    }
    let touches_own = |step: &Step| match step {
        Step::Put { over, .. } => over.as_ref() == Some(own),
        Step::Delete { item } | Step::Check { item } => item == own,
    };
    // What is beside a row changes only where the row is there, too.
    if !steps.is_empty() && !steps.iter().any(touches_own) {
        steps.push(Step::Check { item: own.clone() });
    }
    Ok(steps)
}

/// Whether what lies there is what is wanted, but for what Singlet notes in guards. A guard that both models have there stays; any other
/// may be that of another row, which names its owner by the same words in the other model.
fn is_as_wanted(found: &Item, target: &Image, is_both: bool, direction: Direction) -> bool {
    match (&target.kind, direction) {
        (KeptKind::Unique(_) | KeptKind::Identity, _) => {
            let is_note = |name: &str| name.starts_with('$') && name != GUARD_OWNER;
            let plain = |item: &Item| -> Item {
                let kept = item.iter().filter(|(name, _)| !is_note(name));
                kept.map(|(name, value)| (name.clone(), value.clone())).collect()
            };
            // Guards of both models may be equal: the stamp says which way it was brought.
            let is_done = is_stamped(found) == (direction == Direction::Forward);
            plain(found) == plain(&target.item) && (is_both || is_done)
        }
        (KeptKind::Own | KeptKind::Mirror(_), Direction::Forward) => unstamped_item(found) == target.item,
        (KeptKind::Own, Direction::Backward) => *found == target.item,
        // What is not stamped was not touched.
        (KeptKind::Mirror(_), Direction::Backward) => !is_stamped(found),
    }
}

/// Whether what lies there is the row's own, as it is before the step.
fn is_own_image(found: &Item, image: &Image, own: &Item, direction: Direction) -> bool {
    match &image.kind {
        KeptKind::Own => found == own,
        // What was made by the migration is stamped, what was there before is not.
        KeptKind::Mirror(_) => match direction {
            Direction::Forward => !is_stamped(found),
            Direction::Backward => is_stamped(found) || unstamped_item(found) == image.item,
        },
        KeptKind::Unique(_) | KeptKind::Identity => {
            let is_before = is_stamped(found) == (direction == Direction::Backward);
            is_before && found.get(GUARD_OWNER) == image.item.get(GUARD_OWNER)
        }
    }
}

/// A guard with what is noted in the one that it follows: the guard of an identity knows until when its last version was.
fn with_notes(target: &Image, from: &BTreeMap<Item, Image>, actual: &Actual) -> Item {
    let mut item = target.item.clone();
    if target.kind != KeptKind::Identity {
        return item;
    }
    let before = from.iter().find(|(_, image)| image.kind == KeptKind::Identity);
    let before = before.and_then(|(key, _)| actual.get(key)).and_then(Option::as_ref);
    for (name, value) in before.into_iter().flatten() {
        // What the guard remembers of the row goes along with it.
        if name.starts_with('$') && name != GUARD_OWNER && name != STAMP {
            item.insert(name.clone(), value.clone());
        }
    }
    item
}

impl Step {
    /// The item that it is about, as it comes to be or as it was.
    pub fn item(&self) -> &Item {
        match self {
            Step::Put { item, .. } | Step::Delete { item } | Step::Check { item } => item,
        }
    }

    /// The action, under the condition that everything is as it was read.
    pub fn step_action(&self, model: &Model) -> TransactWrite {
        let table = &model.table.name;
        let partition = model.table.key.first().map(|key| key.name.as_str()).unwrap_or_default();
        match self {
            Step::Put { item, over } => TransactWrite::Put(PutRequest {
                table: table.to_owned(),
                item: item.clone(),
                condition: Some(match over {
                    Some(over) => as_read(over, item),
                    None => Condition::not_exists(Path::attribute(partition)),
                }),
                return_old: false,
            }),
            Step::Delete { item } => TransactWrite::Delete(DeleteRequest {
                table: table.to_owned(),
                key: key_in(model, item),
                condition: Some(as_read(item, &Item::new())),
                return_old: false,
            }),
            Step::Check { item } => TransactWrite::Check {
                table: table.to_owned(),
                key: key_in(model, item),
                condition: as_read(item, &Item::new()),
            },
        }
    }

    fn sides(&self) -> (Option<&Item>, Option<&Item>) {
        match self {
            Step::Put { item, over } => (over.as_ref(), Some(item)),
            Step::Delete { item } => (Some(item), None),
            Step::Check { item } => (Some(item), Some(item)),
        }
    }

    /// How many attributes its condition compares.
    pub fn compared_count(&self) -> usize {
        let (before, after) = self.sides();
        before.map_or(1, |before| before.len() + after.map_or(0, Item::len))
    }

    /// What it consumes on the table and its indexes.
    pub fn step_units(&self, live: &TableSpec, mode: WriteMode) -> WriteUnits {
        let (before, after) = self.sides();
        change_units(live, before, after, mode)
    }

    /// What it takes to have the item that is put forget what it was.
    pub fn forget_units(&self, live: &TableSpec) -> WriteUnits {
        match self {
            Step::Put { item, .. } if is_left_behind(item) => change_units(live, Some(item), None, WriteMode::Single),
            Step::Put { item, .. } if is_stamped(item) => {
                change_units(live, Some(item), Some(&unstamped_item(item)), WriteMode::Single)
            }
            Step::Put { .. } | Step::Delete { .. } | Step::Check { .. } => WriteUnits::ZERO,
        }
    }
}

/// Every value is as it was read, and no name that is about to come is there.
pub(crate) fn as_read(item: &Item, to_come: &Item) -> Condition {
    let there = item
        .iter()
        .map(|(name, value)| Condition::equal(Path::attribute(name), value.clone()));
    let absent = to_come.keys().filter(|name| !item.contains_key(*name));
    // Also what it did not have: an attribute that came meanwhile would be written over.
    let absent = absent.map(|name| Condition::not_exists(Path::attribute(name)));
    let mut all: Vec<Condition> = there.chain(absent).collect();
    // One that was changed meanwhile remembers what it was.
    if !item.contains_key(STAMP) && !to_come.contains_key(STAMP) {
        all.push(Condition::not_exists(Path::attribute(STAMP)));
    }
    Condition::And(all)
}

pub(crate) fn change_units(
    live: &TableSpec,
    before: Option<&Item>,
    after: Option<&Item>,
    mode: WriteMode,
) -> WriteUnits {
    let mut units = write_units(before.map(item_size_bytes), after.map(item_size_bytes), mode);
    for index in &live.indexes {
        let key: Vec<&str> = index.key.attributes().map(|key| key.name.as_str()).collect();
        let table_key = live.key.attributes().map(|key| key.name.as_str());
        let all_keys: Vec<&str> = table_key.chain(key.iter().copied()).collect();
        let projected = |item: &Item| -> Item {
            let is_in = |name: &str| match &index.projection {
                IndexProjection::All => true,
                IndexProjection::KeysOnly => all_keys.contains(&name),
                IndexProjection::Include(names) => all_keys.contains(&name) || names.iter().any(|known| known == name),
            };
            let kept = item.iter().filter(|(name, _)| is_in(name));
            kept.map(|(name, value)| (name.clone(), value.clone())).collect()
        };
        let (before, after) = (before.map(projected), after.map(projected));
        units += IndexWrite::between_items(before.as_ref(), after.as_ref(), &key).write_units();
    }
    units
}

/// The owner that a guard names.
pub(crate) fn owner_in(item: &Item) -> Option<&str> {
    item.get(GUARD_OWNER).and_then(Value::as_str)
}
