//! All rows of all entities, and what time makes of them.

use singlet_item::{Number, Value};
use singlet_model::Model;
use singlet_model::evaluate::{EvaluateError, evaluate_as};
use singlet_model::expression::Expr;
use singlet_model::model::{Entity, History};
use singlet_model::types::{EntityId, Type};
use singlet_runtime::{Attributes, Scope};

/// A row and its entity.
pub type Row = (EntityId, Attributes);

/// Which row: the values of the key's variables.
pub type Identity = Vec<Option<Value>>;

/// The variables of an entity's key, without the instants of its versions.
pub fn key_variables(model: &Model, entity: EntityId) -> &[String] {
    model.catalog.names(entity).map_or(&[], |names| &names.key_variables)
}

/// Which row it is.
pub fn identity(model: &Model, entity: EntityId, row: &Attributes) -> Identity {
    let names = key_variables(model, entity).iter();
    names.map(|name| row.get(name).cloned()).collect()
}

/// The row as it is at the scope's instant: none where it has ended, in a later state where one has lapsed.
///
/// # Errors
///
/// Where an expression leaves the range of its type.
pub fn seen(entity: &Entity, row: &Attributes, scope: Scope<'_>) -> Result<Option<Attributes>, EvaluateError> {
    if let Some(expires) = &entity.expires
        && let Some(millis) = millis(expires, row, scope)?
    {
        // The second in which a row ends is still its own.
        let ends = millis.div_euclid(1_000) + i64::from(millis.rem_euclid(1_000) > 0);
        if ends * 1_000 <= scope.now {
            return Ok(None);
        }
    }
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
    Ok(Some(row))
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
pub fn computed(entity: &Entity, mut row: Attributes, scope: Scope<'_>) -> Result<Attributes, EvaluateError> {
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
