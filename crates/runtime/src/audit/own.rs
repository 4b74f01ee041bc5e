//! What an item shows by itself.

use std::collections::BTreeSet;

use singlet_item::{Item, Number, Value};
use singlet_model::Model;
use singlet_model::evaluate::time;
use singlet_model::expression::ExprKind;
use singlet_model::model::{Attribute, Entity};
use singlet_model::types::Type;

use super::finding::{Finding, FindingKind, shown_value};
use crate::load::is_known;
use crate::scope::{Attributes, Scope};
use crate::write::key_in;
use crate::{row, values};

/// What is wrong with a row by itself, and the row as far as it can be read.
pub(super) fn look_at_own(
    (model, entity): (&Model, &Entity),
    item: &Item,
    scope: Scope<'_>,
) -> (Option<Attributes>, Vec<Finding>) {
    let key = key_in(model, item);
    let found = |kind, reason: String| Finding::new(kind, &key, reason).of(&entity.name);
    let row = match row::decode_as_stored(entity, item) {
        Ok(row) => row,
        Err(error) => return (None, vec![found(FindingKind::KeyUnreadable, error.to_string())]),
    };
    let mut findings = Vec::new();
    look_at_values(entity, &row, &key, &mut findings);
    look_at_state(entity, &row, &key, &mut findings);
    look_at_instants(entity, &row, &key, &mut findings);
    match row::encode_own(model, entity, &row, scope) {
        Ok(own) => {
            for name in derived_names(model, entity) {
                let (is, should) = (item.get(name), own.get(name));
                if is == should {
                    continue;
                }
                let kind = kind_of_difference(model, entity, name, is, should);
                let reason = format!("`{name}` is {}, and would be {}", shown_value(is), shown_value(should));
                findings.push(found(kind, reason).at(name).values(is, should));
            }
        }
        // What hinders it is said already, unless nothing is.
        Err(error) if findings.is_empty() => findings.push(found(FindingKind::KeyUnlike, error.to_string())),
        Err(_) => {}
    }
    if let Some(name) = &model.table.type_attribute
        && !item.contains_key(name)
    {
        let reason = format!("`{name}` is missing, by which a row says what it is");
        findings.push(found(FindingKind::KindMissing, reason).at(name));
    }
    look_at_names((model, entity), item, &key, &mut findings);
    (Some(row), findings)
}

/// Names that nothing of the model has; what begins with `$` is Singlet's own.
pub(super) fn look_at_names((model, entity): (&Model, &Entity), item: &Item, key: &Item, findings: &mut Vec<Finding>) {
    for (name, value) in item {
        if name.starts_with('$') || is_known(model, entity, name) {
            continue;
        }
        let holds = |other: &&Entity| other.attribute(name).is_some();
        let reason = match model.entities.iter().find(holds) {
            Some(other) => format!("`{name}` is an attribute of `{}`, not of this entity", other.name),
            None => format!("no entity has `{name}`"),
        };
        let finding = Finding::new(FindingKind::UnknownAttribute, key, reason).of(&entity.name);
        findings.push(finding.at(name).values(Some(value), None));
    }
}

fn look_at_values(entity: &Entity, row: &Attributes, key: &Item, findings: &mut Vec<Finding>) {
    for attribute in entity.attributes.iter().filter(|attribute| attribute.alias.is_none()) {
        let name = &attribute.name;
        let value = row.get(name);
        let (kind, reason) = match value {
            // What is computed is compared with what it is computed to be.
            None if attribute.optional || attribute.is.is_some() => continue,
            None => (FindingKind::MissingAttribute, format!("`{name}` is missing")),
            Some(value) => match misfit_of(value, attribute) {
                None => continue,
                Some((kind, reason)) => (kind, format!("`{name}`: {reason}")),
            },
        };
        let finding = Finding::new(kind, key, reason).of(&entity.name);
        findings.push(finding.at(name).values(value, None));
    }
}

fn misfit_of(value: &Value, attribute: &Attribute) -> Option<(FindingKind, String)> {
    match values::as_stored(value, &attribute.ty) {
        Err(invalid) => Some((kind_of_invalid(value, &attribute.ty), invalid.to_string())),
        Ok(stored) if *stored != *value => {
            let reason = format!(
                "{} is stored as {}",
                values::json_text::json_of(value),
                values::json_text::json_of(&stored)
            );
            Some((FindingKind::OtherSpelling, reason))
        }
        Ok(_) => match (value, &attribute.ty) {
            (Value::N(number), Type::Version) if *number < Number::from(1) => Some((
                FindingKind::OutOfLimits,
                format!("{number} is no version: the first is 1"),
            )),
            _ => None,
        },
    }
}

/// Whether a value that does not fit is of another type, no member, or outside limits.
fn kind_of_invalid(value: &Value, ty: &Type) -> FindingKind {
    let within = |values: &mut dyn Iterator<Item = &Value>, ty: &Type| {
        let mut wrong = values.filter(|value| values::as_stored(value, ty).is_err());
        wrong
            .next()
            .map_or(FindingKind::OutOfLimits, |value| kind_of_invalid(value, ty))
    };
    match (value, ty) {
        (Value::S(_), Type::Enum(_)) => FindingKind::NotMember,
        (_, Type::OrWords(inner, _)) => kind_of_invalid(value, inner),
        (Value::S(_), Type::Text(_))
        | (Value::B(_), Type::Bytes(_))
        | (Value::N(_), Type::Int(_) | Type::Number(_) | Type::Version | Type::Seconds | Type::Millis)
        | (Value::Ss(_) | Value::Ns(_) | Value::Bs(_), Type::Set(..)) => FindingKind::OutOfLimits,
        (Value::L(elements), Type::List(element, _) | Type::Set(element, _)) => within(&mut elements.iter(), element),
        (Value::M(entries), Type::Map(element, _)) => within(&mut entries.values(), element),
        (Value::M(entries), Type::Object(object) | Type::Geo(Some(object))) => {
            let wrong = object.fields.iter().find_map(|field| {
                let value = entries.get(&field.name).filter(|value| !value.is_null());
                match value {
                    None => (!field.optional).then_some(FindingKind::WrongType),
                    Some(value) => {
                        let invalid = values::as_stored(value, &field.ty).is_err();
                        invalid.then(|| kind_of_invalid(value, &field.ty))
                    }
                }
            });
            wrong.unwrap_or(FindingKind::OutOfLimits)
        }
        _ => FindingKind::WrongType,
    }
}

/// Whether what holds during the row's state is there.
fn look_at_state(entity: &Entity, row: &Attributes, key: &Item, findings: &mut Vec<Finding>) {
    let Some(states) = &entity.states else { return };
    let Some(state) = row.get(&states.of).and_then(Value::as_str) else {
        return;
    };
    let holding = states.holding.iter();
    let during = holding.filter(|(during, _)| during.iter().any(|known| known == state));
    for (name, expr) in during.flat_map(|(_, held)| held) {
        if expr.optional || row.contains_key(name) || entity.attribute(name).is_none_or(|known| !known.optional) {
            continue;
        }
        let reason = format!("`{name}` is missing, and a row that is `{state}` has one");
        let finding = Finding::new(FindingKind::StateAttributeMissing, key, reason).of(&entity.name);
        findings.push(finding.at(name));
    }
}

/// Whether a version ends after it begins.
fn look_at_instants(entity: &Entity, row: &Attributes, key: &Item, findings: &mut Vec<Finding>) {
    let Some(history) = &entity.history else { return };
    let instant = |name: &str| {
        let attribute = entity.attribute(name)?;
        time::millis_of(row.get(name)?, &attribute.ty).ok()?
    };
    if let (Some(from), Some(until)) = (instant(&history.at), instant(&history.until))
        && until <= from
    {
        let (at, end) = (row.get(&history.at), row.get(&history.until));
        let reason = format!(
            "this version begins at {} and ends at {}",
            shown_value(at),
            shown_value(end)
        );
        let finding = Finding::new(FindingKind::VersionOrder, key, reason).of(&entity.name);
        findings.push(finding.at(&history.until).values(end, None));
    }
}

fn kind_of_difference(
    model: &Model,
    entity: &Entity,
    name: &str,
    is: Option<&Value>,
    should: Option<&Value>,
) -> FindingKind {
    let is_computed = |attribute: &Attribute| attribute.is.is_some() && attribute.stored_name() == Some(name);
    if model.table.key.iter().any(|key| key.name == name) {
        return FindingKind::KeyUnlike;
    }
    if entity.attributes.iter().any(is_computed) {
        return FindingKind::ComputedStale;
    }
    let is_expiry = model.table.ttl.as_deref() == Some(name);
    match (is, should, is_expiry) {
        (None, _, true) => FindingKind::ExpiryMissing,
        (_, None, true) => FindingKind::ExpiryExtra,
        (_, _, true) => FindingKind::ExpiryWrong,
        (None, _, false) => FindingKind::IndexKeyMissing,
        (_, None, false) => FindingKind::IndexKeyExtra,
        (_, _, false) => FindingKind::IndexKeyWrong,
    }
}

/// The names whose values follow from the rest of the row.
pub(super) fn derived_names<'m>(model: &'m Model, entity: &'m Entity) -> BTreeSet<&'m str> {
    let keys = model
        .table
        .key
        .iter()
        .chain(model.table.indexes.iter().flat_map(|index| index.key()));
    let mut names: BTreeSet<&str> = keys.map(|key| key.name.as_str()).collect();
    let computed = entity
        .attributes
        .iter()
        .filter(|attribute| attribute.is.is_some() && attribute.alias.is_none());
    names.extend(computed.filter_map(Attribute::stored_name));
    names.extend(model.table.ttl.as_deref().filter(|_| !ends_by_setting(entity)));
    names
}

/// Whether a row ends as a setting says. It said so when the row was written, and may say something else by now.
pub(super) fn ends_by_setting(entity: &Entity) -> bool {
    let expires = entity.expires.as_ref();
    expires.is_some_and(|expr| expr.any(|part| matches!(part.kind, ExprKind::Setting(_))))
}
