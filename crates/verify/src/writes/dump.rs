//! Every item of a table against the rows that the items are: index keys, mirrors, guards and expiry made anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use singlet_item::{Item, Value};
use singlet_model::Model;
use singlet_model::model::{Attribute, Entity, KeyTemplate, Role, Stored};
use singlet_runtime::{Attributes, RuntimeError, Scope, load, row};
use singlet_store::{ScanRequest, Store};
use singlet_values as values;

use super::world::Row;

/// Every item of a model's table.
///
/// # Errors
///
/// Where the store fails.
pub async fn table_items(model: &Model, store: &Arc<dyn Store>) -> Result<Vec<Item>, RuntimeError> {
    let mut items = Vec::new();
    let mut start = None;
    loop {
        let request = ScanRequest {
            table: model.table.name.clone(),
            consistent: true,
            start,
            ..ScanRequest::default()
        };
        let page = store.scan(&request).await?;
        items.extend(page.items);
        start = page.last_key;
        if start.is_none() {
            return Ok(items);
        }
    }
}

/// The rows that items hold, as they are at the scope's instant.
///
/// # Errors
///
/// Where an item is not as the model has it.
pub fn live_rows(model: &Model, items: &[Item], scope: Scope<'_>) -> Result<Vec<Row>, RuntimeError> {
    let mut rows = Vec::new();
    for item in items {
        if let Some(entity) = entity_of(model, item) {
            let row = row::decode_live(model, entity, item, scope)?;
            rows.extend(row.map(|row| (entity.id, row)));
        }
    }
    Ok(rows)
}

/// How the items differ from those that their rows are kept as.
///
/// # Errors
///
/// Where an item is not as the model has it.
pub(crate) fn items_difference(
    model: &Model,
    items: &[Item],
    scope: Scope<'_>,
) -> Result<Option<String>, RuntimeError> {
    let alive = |item: &&Item| !row::has_expired(model, item, scope.now) && !is_own(model, item);
    let there: BTreeMap<String, &Item> = items
        .iter()
        .filter(alive)
        .map(|item| (key(model, item), item))
        .collect();
    let mut meant: BTreeMap<String, Item> = BTreeMap::new();
    for item in there.values() {
        let Some(entity) = entity_of(model, item) else { continue };
        let row = row::decode_as_stored(entity, item)?;
        for item in load::items_of_row(model, entity, &row, scope)? {
            if let Some(other) = meant.insert(key(model, &item), item.clone())
                && other != item
            {
                return Ok(Some(format!(
                    "two rows are kept in one place: {} and {}",
                    json(&other),
                    json(&item)
                )));
            }
        }
    }
    for (key, item) in &there {
        match meant.get(key) {
            None => return Ok(Some(format!("no row is kept as {}", json(item)))),
            Some(meant) if *meant != without_end(item) => {
                return Ok(Some(format!("an item is {} and should be {}", json(item), json(meant))));
            }
            Some(_) => {}
        }
    }
    let missing = meant.iter().find(|(key, _)| !there.contains_key(*key));
    Ok(missing.map(|(_, item)| format!("an item is missing: {}", json(item))))
}

/// The entity of an item that is a row of its own: no mirror, no guard, no record of a request.
fn entity_of<'m>(model: &'m Model, item: &Item) -> Option<&'m Entity> {
    let is_own = |entity: &&Entity| entity.mirror.is_none() && entity.role.is_none();
    match &model.table.type_attribute {
        Some(name) => model.entity_named(item.get(name)?.as_str()?).filter(is_own),
        // Without a word for it, an item is a row of the entity that could have such a key and has what its rows must have.
        None => model
            .entities
            .iter()
            .filter(is_own)
            .find(|entity| can_be_of(entity, item)),
    }
}

fn can_be_of(entity: &Entity, item: &Item) -> bool {
    let fits = |key: &KeyTemplate| {
        let value = item.get(&key.attribute);
        value.is_some_and(|value| key.template.decode_key(value).is_ok())
    };
    let has = |attribute: &Attribute| match &attribute.stored {
        Stored::Own => item.contains_key(&attribute.name),
        Stored::As(name) => item.contains_key(name),
        Stored::No => true,
    };
    let needed = |attribute: &&Attribute| !attribute.optional && attribute.is.is_none() && attribute.alias.is_none();
    entity.key.iter().any(|choice| choice.keys.iter().all(fits)) && entity.attributes.iter().filter(needed).all(has)
}

/// An item without the end of its versions, which the guard of an identity remembers.
fn without_end(item: &Item) -> Item {
    let mut item = item.clone();
    item.remove("$closed");
    item
}

/// Whether an item is what the engine keeps for itself: records of requests and changes, how far operations and followers came, timers.
/// Guards are not: they follow from rows.
fn is_own(model: &Model, item: &Item) -> bool {
    let Some(name) = &model.table.type_attribute else {
        // No key that a template makes begins like this.
        let first = model.table.key.first().and_then(|key| item.get(&key.name)?.as_str());
        let records = model
            .entities
            .iter()
            .filter(|entity| entity.role == Some(Role::Idempotency));
        return first.is_some_and(|key| key.starts_with("$request") || key.starts_with("$progress"))
            || records.into_iter().any(|entity| can_be_of(entity, item));
    };
    let name = item.get(name).and_then(Value::as_str).unwrap_or_default();
    let role = model.entity_named(name).and_then(|entity| entity.role);
    (name.starts_with('$') && name != "$unique") || role == Some(Role::Idempotency)
}

fn key(model: &Model, item: &Item) -> String {
    let parts = model.table.key.iter().map(|key| format!("{:?}", item.get(&key.name)));
    parts.collect::<Vec<_>>().join(" ")
}

fn json(item: &Item) -> String {
    let attributes: Attributes = item.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    values::to_json(&Value::M(attributes)).to_string()
}
