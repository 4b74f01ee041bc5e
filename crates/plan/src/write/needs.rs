//! Whether an update can be written without reading the row: every index key, computed attribute and expiry that follows from
//! what changes must be known from the request and the key alone.

use std::collections::BTreeSet;

use singlet_model::Model;
use singlet_model::model::{Entity, KeyChoice, MoveTo, Step, StepKind};

use super::copies::copy_holders;

/// What an update does to a row, as far as it is known before the row is.
#[derive(Clone, Debug, Default)]
pub struct Change<'a> {
    /// Attributes that may differ afterwards.
    pub touched: BTreeSet<&'a str>,
    /// Attributes whose value afterwards is known: those of the key, and those that are set or removed.
    pub known: BTreeSet<&'a str>,
    /// The states it may come from, and the one it goes to.
    pub moves: Option<(&'a [String], &'a str)>,
}

impl Change<'_> {
    fn touches<'n>(&self, mut names: impl Iterator<Item = &'n str>) -> bool {
        names.any(|name| self.touched.contains(name))
    }

    fn unknown<'n>(&self, mut names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
        names.find(|name| !self.known.contains(*name))
    }
}

/// Why the row must be read before it is changed; nothing, if it need not be.
pub fn old_values_needed<'a>(model: &Model, entity: &'a Entity, mut change: Change<'a>) -> Option<String> {
    if entity.history.is_some() {
        return Some("the next version follows the last".to_owned());
    }
    if let Some(mirror) = model.mirrors_of(entity.id).next() {
        return Some(format!("`{}` follows it", mirror.name));
    }
    if let Some(reason) = states(entity, &change).or_else(|| computed(entity, &mut change)) {
        return Some(reason);
    }
    let guard = entity
        .unique
        .iter()
        .find(|guard| change.touches(guard.value.attributes().into_iter()));
    if let Some(guard) = guard {
        return Some(format!("the guard of `{}` moves with it", guard.name));
    }
    let ends = entity.expires.iter().flat_map(|expires| expires.attributes());
    if let Some(guard) = entity.unique.first().filter(|_| change.touches(ends)) {
        return Some(format!("the guard of `{}` expires with it", guard.name));
    }
    if let Some(holder) = copied(model, entity, &change) {
        return Some(format!("`{holder}` has a copy of it"));
    }
    if let Some(expires) = &entity.expires
        && change.touches(expires.attributes().into_iter())
        && let Some(name) = change.unknown(expires.attributes().into_iter())
    {
        return Some(format!("when it expires follows from `{name}` too"));
    }
    entity.index.iter().find_map(|entry| {
        let missing = entry_needs(entry.key_choices(), &change)?;
        let index = model.index(entry.index).map_or("", |index| &index.name);
        Some(format!("its place in {index} follows from `{missing}` too"))
    })
}

/// Why a step needs the old values of its row, if it changes all that it may.
pub(super) fn of_step(model: &Model, entity: &Entity, step: &Step) -> Option<String> {
    let set = step.set.iter().map(|set| set.attribute.as_str());
    let taken = step.take.iter().chain(&step.patch);
    let taken = taken.map(|taken| taken.attribute.as_str());
    let parts = step.add.iter().chain(&step.remove).chain(&step.append);
    let parts = parts.map(|part| part.attribute.as_str());
    let always = entity.attributes.iter().filter(|attribute| attribute.always.is_some());
    let mut change = Change::default();
    let always = always.map(|attribute| attribute.name.as_str());
    change.known.extend(set.chain(taken).chain(always));
    // What is only added to is touched and not known: its new value is the store's.
    change.touched = change.known.clone();
    change.touched.extend(parts);
    let names = model.catalog.names(entity.id);
    let keys = names.into_iter().flat_map(|names| &names.key_variables);
    change
        .known
        .extend(keys.map(String::as_str).filter(|name| entity.key_tells(name)));
    match &step.kind {
        StepKind::Update(_) => {}
        StepKind::Delete(_) => {
            let follows = !entity.unique.is_empty() || model.mirrors_of(entity.id).next().is_some();
            return follows.then(|| "its guards and mirrors go with it".to_owned());
        }
        _ => return None,
    }
    if let (Some(states), Some(moves)) = (&entity.states, &step.moves) {
        let named = states
            .moves
            .iter()
            .find(|known| matches!(moves, MoveTo::Named(name, _) if *name == known.name));
        change.moves = named.map(|known| (known.from.as_slice(), known.to.as_str()));
        change.touched.insert(&states.of);
        change.known.insert(&states.of);
        // What holds only during a state is set or removed with it.
        let held = states
            .holding
            .iter()
            .flat_map(|(_, held)| held)
            .map(|(name, _)| name.as_str());
        change.touched.extend(held.clone());
        change.known.extend(held);
    }
    old_values_needed(model, entity, change)
}

/// An attribute that holds only in some states, where it is not known whether the row was in one.
fn states(entity: &Entity, change: &Change<'_>) -> Option<String> {
    let (states, (from, to)) = (entity.states.as_ref()?, change.moves.as_ref()?);
    // Stored, the state may be one that has ended: by the condition alone it would move from there.
    if !states.lapses.is_empty() {
        return Some("its state may have lapsed".to_owned());
    }
    let mixed = states.holding.iter().find(|(during, _)| {
        let inside = from.iter().filter(|state| during.contains(state)).count();
        during.iter().any(|state| state == to) && inside > 0 && inside < from.len()
    })?;
    let (name, _) = mixed.1.first()?;
    Some(format!("`{name}` is kept or set anew by the state it was in"))
}

/// Computed attributes follow; what they are made of must be known.
fn computed<'a>(entity: &'a Entity, change: &mut Change<'a>) -> Option<String> {
    // As often as one may follow from another, until nothing new follows.
    for _ in 0..entity.attributes.len() {
        let mut grown = false;
        for attribute in &entity.attributes {
            let (Some(is), None) = (&attribute.is, &attribute.alias) else {
                continue;
            };
            if change.touched.contains(attribute.name.as_str()) || !change.touches(is.attributes().into_iter()) {
                continue;
            }
            if let Some(missing) = change.unknown(is.attributes().into_iter()) {
                return Some(format!("`{}` follows from `{missing}` too", attribute.name));
            }
            change.touched.insert(&attribute.name);
            change.known.insert(&attribute.name);
            grown = true;
        }
        if !grown {
            break;
        }
    }
    None
}

fn copied(model: &Model, entity: &Entity, change: &Change<'_>) -> Option<String> {
    let mut copies = copy_holders(model, entity).into_iter();
    let held = copies.find(|(_, _, copy)| change.touched.contains(copy.attribute.as_str()))?;
    Some(held.0.name.clone())
}

/// The attribute that is not known though an index key follows from it.
fn entry_needs<'a>(choices: &'a [KeyChoice], change: &Change<'_>) -> Option<&'a str> {
    let conditional = choices.iter().any(|choice| choice.when.is_some());
    let roots = |choice: &'a KeyChoice| {
        choice
            .keys
            .iter()
            .flat_map(|key| &key.parts)
            .map(|part| part.root_attribute())
    };
    if conditional {
        let all = || {
            choices.iter().flat_map(move |choice| {
                let whens = choice.when.iter().flat_map(|when| when.attributes());
                roots(choice).chain(whens)
            })
        };
        return if change.touches(all()) {
            change.unknown(all())
        } else {
            None
        };
    }
    let keys = choices.iter().flat_map(|choice| &choice.keys);
    keys.filter(|key| change.touches(key.parts.iter().map(|part| part.root_attribute())))
        .find_map(|key| change.unknown(key.parts.iter().map(|part| part.root_attribute())))
}
