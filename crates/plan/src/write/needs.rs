//! Whether an update can be written without reading the row: every index key, computed attribute and expiry that follows from
//! what changes must be known from the request and the key alone.

use std::collections::BTreeSet;

use singlet_model::Model;
use singlet_model::model::{Entity, KeyChoice, MoveTo, Step, StepKind};

use super::copies::holders;

/// What an update does to a row, as far as it is known before the row is.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// Attributes that may differ afterwards.
    pub touched: BTreeSet<String>,
    /// Attributes whose value afterwards is known: those of the key, and those that are set or removed.
    pub known: BTreeSet<String>,
    /// The states it may come from, and the one it goes to.
    pub moves: Option<(Vec<String>, String)>,
}

impl Change {
    fn touches<'a>(&self, mut names: impl Iterator<Item = &'a str>) -> bool {
        names.any(|name| self.touched.contains(name))
    }

    fn unknown<'a>(&self, mut names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
        names.find(|name| !self.known.contains(*name))
    }
}

/// Why the row must be read before it is changed; nothing, if it need not be.
pub fn old_values_needed(model: &Model, entity: &Entity, change: &Change) -> Option<String> {
    if entity.history.is_some() {
        return Some("the next version follows the last".to_owned());
    }
    if let Some(mirror) = model.mirrors_of(entity.id).next() {
        return Some(format!("`{}` follows it", mirror.name));
    }
    let mut change = change.clone();
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
        let missing = entry_needs(entry.choices(), &change)?;
        let index = model.index(entry.index).map_or("", |index| &index.name);
        Some(format!("its place in {index} follows from `{missing}` too"))
    })
}

/// Why a step needs the old values of its row, if it changes all that it may.
pub(super) fn of_step(model: &Model, entity: &Entity, step: &Step) -> Option<String> {
    let set = step.set.iter().map(|set| &set.attribute);
    let taken = step.take.iter().chain(&step.patch).map(|taken| &taken.attribute);
    let parts = step
        .add
        .iter()
        .chain(&step.remove)
        .chain(&step.append)
        .map(|part| &part.attribute);
    let always = entity.attributes.iter().filter(|attribute| attribute.always.is_some());
    let mut change = Change::default();
    change
        .known
        .extend(set.chain(taken).chain(always.map(|attribute| &attribute.name)).cloned());
    change.touched = change.known.clone();
    change.touched.extend(parts.cloned());
    let names = model.catalog.names(entity.id);
    change
        .known
        .extend(names.into_iter().flat_map(|names| names.key_variables.clone()));
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
        change.moves = named.map(|known| (known.from.clone(), known.to.clone()));
        change.touched.insert(states.of.clone());
        change.known.insert(states.of.clone());
        // What holds only during a state is set or removed with it.
        let held = states
            .holding
            .iter()
            .flat_map(|(_, held)| held)
            .map(|(name, _)| name.clone());
        let held: Vec<String> = held.collect();
        change.touched.extend(held.iter().cloned());
        change.known.extend(held);
    }
    old_values_needed(model, entity, &change)
}

/// An attribute that holds only in some states, where it is not known whether the row was in one.
fn states(entity: &Entity, change: &Change) -> Option<String> {
    let (states, (from, to)) = (entity.states.as_ref()?, change.moves.as_ref()?);
    if !states.lapses.is_empty() {
        return Some("its state may have lapsed".to_owned());
    }
    let mixed = states.holding.iter().find(|(during, _)| {
        let inside = from.iter().filter(|state| during.contains(state)).count();
        during.contains(to) && inside > 0 && inside < from.len()
    })?;
    let (name, _) = mixed.1.first()?;
    Some(format!("`{name}` is kept or set anew by the state it was in"))
}

/// Computed attributes follow; what they are made of must be known.
fn computed(entity: &Entity, change: &mut Change) -> Option<String> {
    for _ in 0..entity.attributes.len() {
        let mut grown = false;
        for attribute in &entity.attributes {
            let (Some(is), None) = (&attribute.is, &attribute.alias) else {
                continue;
            };
            if change.touched.contains(&attribute.name) || !change.touches(is.attributes().into_iter()) {
                continue;
            }
            if let Some(missing) = change.unknown(is.attributes().into_iter()) {
                return Some(format!("`{}` follows from `{missing}` too", attribute.name));
            }
            change.touched.insert(attribute.name.clone());
            change.known.insert(attribute.name.clone());
            grown = true;
        }
        if !grown {
            break;
        }
    }
    None
}

fn copied(model: &Model, entity: &Entity, change: &Change) -> Option<String> {
    let mut copies = holders(model, entity).into_iter();
    let held = copies.find(|(_, _, copy)| change.touched.contains(&copy.attribute))?;
    Some(held.0.name.clone())
}

/// The attribute that is not known though an index key follows from it.
fn entry_needs<'a>(choices: &'a [KeyChoice], change: &Change) -> Option<&'a str> {
    let conditional = choices.iter().any(|choice| choice.when.is_some());
    let roots = |choice: &'a KeyChoice| choice.keys.iter().flat_map(|key| &key.parts).map(|part| part.root());
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
    keys.filter(|key| change.touches(key.parts.iter().map(|part| part.root())))
        .find_map(|key| change.unknown(key.parts.iter().map(|part| part.root())))
}
