//! All rows of all entities, and what time makes of them.

use singlet_item::{Number, Value};
use singlet_model::Model;
use singlet_model::evaluate::geo::Place;
use singlet_model::evaluate::{EvaluateError, evaluate_as};
use singlet_model::expression::Expr;
use singlet_model::model::{Entity, History, KeyPart, PartFunction};
use singlet_model::types::{EntityId, Type};
use singlet_runtime::{Attributes, Scope};

/// A row and its entity.
pub type Row = (EntityId, Attributes);

/// Which row: what its key keeps of the variables.
pub type Identity = Vec<Option<Value>>;

/// The variables of an entity's key, without the instants of its versions.
pub fn key_variables(model: &Model, entity: EntityId) -> &[String] {
    model.catalog.names(entity).map_or(&[], |names| &names.key_variables)
}

/// Which row it is.
pub(crate) fn row_identity(model: &Model, entity: EntityId, row: &Attributes) -> Identity {
    let names = key_variables(model, entity).iter().map(String::as_str);
    model
        .entity(entity)
        .map_or_else(Identity::new, |entity| kept_by_key(entity, names, row))
}

/// What a key keeps of some of its variables. One that folds a value, or has a part of it only, is the same key for all values that agree in
/// that: `Repo(owner, "Singlet")` and `Repo(owner, "singlet")` are one row where the key has `{lower(repo)}`.
pub(crate) fn kept_by_key<'n>(entity: &Entity, names: impl Iterator<Item = &'n str>, row: &Attributes) -> Identity {
    let templates = entity.key.first().map(|choice| &choice.keys);
    let parts: Vec<&KeyPart> = templates.into_iter().flatten().flat_map(|key| &key.parts).collect();
    let mut kept = Identity::new();
    for name in names {
        let of_it: Vec<&KeyPart> = parts
            .iter()
            .copied()
            .filter(|part| part.root_attribute() == name)
            .collect();
        let is_whole = |part: &&KeyPart| part.path == name && part.keeps_value();
        match of_it.is_empty() || of_it.iter().any(is_whole) {
            true => kept.push(row.get(name).cloned()),
            false => kept.extend(of_it.into_iter().map(|part| kept_in_part(part, row))),
        }
    }
    kept
}

/// What a part of a key keeps of a row, told without the code that makes keys.
fn kept_in_part(part: &KeyPart, row: &Attributes) -> Option<Value> {
    let mut fields = part.path.split('.');
    let mut value = row.get(fields.next()?)?;
    for field in fields {
        value = value.as_map()?.get(field)?;
    }
    let beginning = |characters: usize| {
        let text = value.as_str()?;
        Some(Value::S(text.chars().take(characters).collect()))
    };
    match part.function {
        Some(PartFunction::Lower) => {
            let text = value.as_str()?.chars().flat_map(char::to_lowercase).collect();
            Some(Value::S(text))
        }
        Some(PartFunction::Upper) => {
            let text = value.as_str()?.chars().flat_map(char::to_uppercase).collect();
            Some(Value::S(text))
        }
        // Text of an instant is in UTC, and so is the day in a key.
        Some(PartFunction::Day) => beginning("2026-01-31".len()),
        Some(PartFunction::Month) => beginning("2026-01".len()),
        Some(PartFunction::Year) => beginning("2026".len()),
        Some(PartFunction::Geohash(precision)) => {
            let place = Place::from_value(value)?;
            Some(Value::S(place.geohash(precision)))
        }
        None | Some(PartFunction::Desc | PartFunction::Rank | PartFunction::Ordered) => Some(value.clone()),
        Some(PartFunction::Plain | PartFunction::Raw) => Some(value.clone()),
    }
}

/// The row as it is at the scope's instant: none where it has ended, in a later state where one has lapsed.
///
/// # Errors
///
/// Where an expression leaves the range of its type.
pub(crate) fn live_row(
    entity: &Entity,
    row: &Attributes,
    scope: Scope<'_>,
) -> Result<Option<Attributes>, EvaluateError> {
    if let Some(expires) = &entity.expires
        && let Some(millis) = millis(expires, row, scope)?
    {
        // The second in which a row ends is still its own.
        let ends = millis.div_euclid(1_000) + i64::from(millis.rem_euclid(1_000) > 0);
        if ends * 1_000 <= scope.now {
            return Ok(None);
        }
    }
    lapsed_row(entity, row, scope).map(Some)
}

/// The row in a later state where one has lapsed, whether or not it has ended.
///
/// # Errors
///
/// Where an expression leaves the range of its type.
pub(crate) fn lapsed_row(entity: &Entity, row: &Attributes, scope: Scope<'_>) -> Result<Attributes, EvaluateError> {
    let mut row = row.clone();
    if let Some(states) = &entity.states {
        for lapse in &states.lapses {
            let is_in = row.get(&states.of).and_then(Value::as_str) == Some(lapse.from.as_str());
            if !is_in || millis(&lapse.at, &row, scope)?.is_none_or(|at| at > scope.now) {
                continue;
            }
            row.insert(states.of.clone(), Value::S(lapse.to.clone()));
            for (during, held) in &states.holding {
                if during.contains(&lapse.from) && !during.contains(&lapse.to) {
                    row.retain(|name, _| !held.iter().any(|(held, _)| held == name));
                }
            }
        }
    }
    Ok(row)
}

fn millis(at: &Expr, row: &Attributes, scope: Scope<'_>) -> Result<Option<i64>, EvaluateError> {
    let at = evaluate_as(at, &Type::Millis, &scope.with_row(row))?;
    Ok(at.and_then(|value| value.as_number()).and_then(Number::to_i64))
}

/// The row with everything that is computed from its other attributes.
///
/// # Errors
///
/// Where an expression leaves the range of its type.
pub(crate) fn compute_row(entity: &Entity, mut row: Attributes, scope: Scope<'_>) -> Result<Attributes, EvaluateError> {
    // One may build on another, so that they are computed as often as there are some.
    for _ in &entity.attributes {
        for attribute in &entity.attributes {
            let Some(is) = &attribute.is else { continue };
            match evaluate_as(is, &attribute.ty, &scope.with_row(&row))? {
                Some(value) => row.insert(attribute.name.clone(), value),
                None => row.remove(&attribute.name),
            };
        }
    }
    Ok(row)
}

/// Whether a version says that its row was deleted.
pub fn is_deleted(history: &History, row: &Attributes) -> bool {
    let tombstone = history.tombstone.as_ref().and_then(|name| row.get(name));
    tombstone == Some(&Value::Bool(true))
}

/// Whether a row stands for itself: the current version of something that is not deleted, where there are versions.
pub fn is_current(entity: &Entity, row: &Attributes) -> bool {
    let past = |history: &History| row.contains_key(&history.until) || is_deleted(history, row);
    !entity.history.as_ref().is_some_and(past)
}
