//! Mistakes in what entities promise.

use singlet_model::Model;
use singlet_model::model::{Kept, States};
use singlet_model::types::Type;

use super::Sites;

/// A unique value has no guard.
pub(super) fn forgotten_guard(model: &mut Model, sites: &mut Sites) {
    for entity in &mut model.entities {
        let name = entity.name.clone();
        entity
            .unique
            .retain(|guard| !sites.here(format!("{name}.{}", guard.name)));
    }
}

/// A copy does not follow its source.
pub(super) fn stale_copy(model: &mut Model, sites: &mut Sites) {
    for entity in &mut model.entities {
        for attribute in &mut entity.attributes {
            let Some(copy) = attribute.copy.as_mut().filter(|copy| copy.kept == Kept::Transaction) else {
                continue;
            };
            if sites.here(format!("{}.{}", entity.name, attribute.name)) {
                copy.kept = Kept::Frozen;
            }
        }
    }
}

/// A row never ends.
pub(super) fn ignored_expiry(model: &mut Model, sites: &mut Sites) {
    for entity in model
        .entities
        .iter_mut()
        .filter(|entity| entity.expires.is_some() && entity.role.is_none())
    {
        if sites.here(entity.name.clone()) {
            entity.expires = None;
        }
    }
}

/// The states of each entity that has some.
fn for_each_states(model: &mut Model, f: &mut dyn FnMut(&str, &[String], &mut States)) {
    for entity in &mut model.entities {
        let Some(states) = &mut entity.states else { continue };
        let of = entity.attributes.iter().find(|attribute| attribute.name == states.of);
        let members = of
            .and_then(|of| of.ty.enum_members())
            .map(<[String]>::to_vec)
            .unwrap_or_default();
        f(&entity.name, &members, states);
    }
}

/// A state does not end by time.
pub(super) fn ignored_lapse(model: &mut Model, sites: &mut Sites) {
    for_each_states(model, &mut |name, _, states| {
        states
            .lapses
            .retain(|lapse| !sites.here(format!("{name}: {}", lapse.from)));
    });
}

/// An attribute that holds during a state is not set.
pub(super) fn forgotten_while(model: &mut Model, sites: &mut Sites) {
    for_each_states(model, &mut |name, _, states| {
        for (while_in, set) in &mut states.holding {
            set.retain(|(attribute, _)| !sites.here(format!("{name} {}: {attribute}", while_in.join("|"))));
        }
    });
}

/// A move ends in another state.
pub(super) fn wrong_state(model: &mut Model, sites: &mut Sites) {
    for_each_states(model, &mut |name, members, states| {
        for moves in &mut states.moves {
            let Some(other) = members
                .iter()
                .find(|word| **word != moves.to && !moves.from.contains(word))
            else {
                continue;
            };
            if sites.here(format!("{name} {}: {} for {}", moves.name, other, moves.to)) {
                moves.to.clone_from(other);
            }
        }
    });
}

/// A move begins in a state in which it must not.
pub(super) fn open_move(model: &mut Model, sites: &mut Sites) {
    for_each_states(model, &mut |name, members, states| {
        for moves in &mut states.moves {
            let others = members.iter().filter(|word| !moves.from.contains(word)).cloned();
            let others: Vec<String> = others.collect();
            for other in others {
                if sites.here(format!("{name} {}: from {other} too", moves.name)) {
                    moves.from.push(other);
                }
            }
        }
    });
}

/// A version stays as it is.
pub(super) fn unraised_version(model: &mut Model, sites: &mut Sites) {
    for entity in &mut model.entities {
        for attribute in entity
            .attributes
            .iter_mut()
            .filter(|attribute| attribute.ty == Type::Version)
        {
            if sites.here(format!("{}.{}", entity.name, attribute.name)) {
                attribute.ty = Type::int();
                attribute.optional = true;
            }
        }
    }
}

/// What a create should fill in is left out.
pub(super) fn forgotten_default(model: &mut Model, sites: &mut Sites) {
    for entity in model.entities.iter_mut().filter(|entity| entity.role.is_none()) {
        let keys: Vec<String> = entity
            .attributes
            .iter()
            .map(|attribute| attribute.name.clone())
            .collect();
        let keys: Vec<String> = keys.into_iter().filter(|name| entity.is_key_attribute(name)).collect();
        for attribute in &mut entity.attributes {
            if attribute.default.is_none() || keys.contains(&attribute.name) {
                continue;
            }
            if sites.here(format!("{}.{}", entity.name, attribute.name)) {
                attribute.default = None;
                attribute.optional = true;
            }
        }
    }
}

/// A row is made beside one that excludes it.
pub(super) fn ignored_exclusion(model: &mut Model, sites: &mut Sites) {
    for entity in model.entities.iter_mut().filter(|entity| entity.excludes.is_some()) {
        if sites.here(entity.name.clone()) {
            entity.excludes = None;
        }
    }
}
