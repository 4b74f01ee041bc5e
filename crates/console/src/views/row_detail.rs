//! One row: the raw item, its keys decoded part by part, the indexes that hold it, and where its references lead.

use serde::Deserialize;
use serde_json::{Value as Json, json};
use singlet_item::key::Part;
use singlet_item::{Item, Value, item_size_bytes};
use singlet_model::Model;
use singlet_model::evaluate::geo::Place;
use singlet_model::model::{Entity, KeyChoice, KeyTemplate, PartFunction};
use singlet_plan::show::expression_in;
use singlet_runtime::{Attributes, row};
use singlet_store::GetRequest;
use singlet_values::json_text;

use super::rows::Shown;
use crate::answer::ConsoleError;
use crate::routes::Asking;
use crate::typed_json::{key_from_typed, typed_map, typed_value};

/// Which row.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RowAsked {
    /// Its primary key.
    key: Json,
}

/// Everything about a row.
pub(super) async fn row_detail(asking: &Asking<'_>, asked: RowAsked) -> Result<Json, ConsoleError> {
    let model = asking.system.model();
    let request = GetRequest {
        table: model.table.name.clone(),
        key: key_from_typed(&asked.key)?,
        consistent: true,
        ..GetRequest::default()
    };
    let found = asking.system.engine.store().get(&request).await?;
    let Some(item) = found.item else {
        return Err(ConsoleError::not_there("there is no such row any more"));
    };
    Ok(described_item(model, &item, asking.service.now()))
}

/// What an item is: `{entity, kind, item, row, places, references, bytes, expired, misfit}`.
pub(crate) fn described_item(model: &Model, item: &Item, now: i64) -> Json {
    let shown = Shown::of(model, item);
    let references = match (shown.entity, &shown.row) {
        (Some(entity), Some(row)) => references(model, entity, row),
        _ => Vec::new(),
    };
    json!({
        "entity": shown.entity.map(|entity| &entity.name),
        "kind": shown.kind,
        "item": typed_map(item),
        "row": shown.row.as_ref().map(typed_map),
        "places": places(model, shown.entity, item, shown.row.as_ref()),
        "references": references,
        "bytes": item_size_bytes(item),
        "expired": row::has_expired(model, item, now),
        "misfit": shown.misfit,
    })
}

/// The table and each index: whether it holds the item, and its key there, part by part.
fn places(model: &Model, entity: Option<&Entity>, item: &Item, row: Option<&Attributes>) -> Vec<Json> {
    let table_keys: Vec<&str> = model.table.key.iter().map(|key| key.name.as_str()).collect();
    let choices = entity.map_or(&[][..], |entity| &entity.key);
    let mut all = vec![place(model, (None, &table_keys, 1), choices, item, row)];
    for (number, index) in model.table.indexes.iter().enumerate() {
        let keys: Vec<&str> = index.key().map(|key| key.name.as_str()).collect();
        let id = singlet_model::model::IndexId(u32::try_from(number).unwrap_or(u32::MAX));
        let entry = entity.and_then(|entity| entity.index_entry(id));
        let choices = entry.map_or(&[][..], |entry| entry.key_choices());
        let partition = index.partition.len();
        all.push(place(model, (Some(&index.name), &keys, partition), choices, item, row));
    }
    all
}

fn place(
    model: &Model,
    (index, keys, partition): (Option<&str>, &[&str], usize),
    choices: &[KeyChoice],
    item: &Item,
    row: Option<&Attributes>,
) -> Json {
    // DynamoDB puts an item into an index when it has every attribute of its key, and for no other reason.
    let missing: Vec<&&str> = keys.iter().filter(|name| !item.contains_key(**name)).collect();
    let choice = choices.iter().find(|choice| {
        let mut keys = choice.keys.iter();
        keys.all(|key| {
            item.get(&key.attribute)
                .is_some_and(|value| key.template.decode_key(value).is_ok())
        })
    });
    let shown = keys.iter().enumerate().map(|(at, name)| {
        let template = choice.and_then(|choice| choice.attribute_template(name));
        let value = item.get(*name);
        json!({
            "attribute": name,
            "is": if at < partition { "partition" } else { "sort" },
            "value": value.map(typed_value),
            "template": template.map(|template| &template.text),
            "parts": template.zip(value).and_then(|(template, value)| parts(template, value, row)),
        })
    });
    let whens = choice.and_then(|choice| choice.when.as_ref());
    json!({
        "index": index,
        "holds": missing.is_empty(),
        "missing": missing,
        "keys": shown.collect::<Vec<_>>(),
        "when": whens.map(|when| expression_in(&model.catalog, when)),
        "names": !choices.is_empty(),
    })
}

/// The parts of a key: text as it stands, and each variable with the text that it has there and the value that this is. None where the
/// key is not what its template makes of the row.
fn parts(template: &KeyTemplate, value: &Value, row: Option<&Attributes>) -> Option<Vec<Json>> {
    let decoded = template.template.decode_key(value).ok()?;
    let whole = match value {
        Value::S(text) => text.clone(),
        other => json_text::json_of(other).trim_matches('"').to_owned(),
    };
    let mut all: Vec<(Option<String>, Json)> = Vec::new();
    for part in template.template.parts() {
        match part {
            Part::Text(text) => all.push((Some(text.clone()), json!({"text": text}))),
            Part::Number(number) => all.push((Some(number.to_string()), json!({"text": number.to_string()}))),
            Part::Anything => return None,
            Part::Variable(variable) => {
                let found = decoded.iter().find(|(name, _)| *name == variable.name);
                // What a key folds it does not give back; the row has what was folded.
                let known = found
                    .map(|(_, value)| value.clone())
                    .or_else(|| folded(template, &variable.name, row?));
                let raw = match (value, &known) {
                    (Value::S(_), Some(known)) => variable.encode_value(known, template.template.delimiter()).ok(),
                    (Value::S(_), None) => None,
                    _ => Some(whole.clone()),
                };
                let shown = json!({"name": variable.name, "value": found.map(|(_, value)| typed_value(value))});
                all.push((raw, shown));
            }
        }
    }
    // One that is not known is what the others leave.
    let missing: Vec<usize> = all
        .iter()
        .enumerate()
        .filter(|(_, (raw, _))| raw.is_none())
        .map(|(at, _)| at)
        .collect();
    if let [at] = missing.as_slice() {
        let length = |parts: &[(Option<String>, Json)]| {
            parts
                .iter()
                .filter_map(|(raw, _)| raw.as_ref())
                .map(String::len)
                .sum::<usize>()
        };
        let before = length(all.get(..*at)?);
        let after = whole.len().checked_sub(length(all.get(*at + 1..)?))?;
        let left = whole.get(before..after)?.to_owned();
        all.get_mut(*at)?.0 = Some(left);
    }
    let text: Option<String> = all.iter().map(|(raw, _)| raw.as_deref()).collect();
    if text? != whole {
        return None;
    }
    let parts = all.into_iter().map(|(raw, mut shown)| {
        if let Some(object) = shown.as_object_mut().filter(|object| object.contains_key("name")) {
            object.insert("raw".to_owned(), json!(raw));
        }
        shown
    });
    Some(parts.collect())
}

/// The value of a path in a row, as a key has it: a place is hashed as finely as the key says.
fn folded(template: &KeyTemplate, path: &str, row: &Attributes) -> Option<Value> {
    let mut names = path.split('.');
    let first = row.get(names.next()?)?;
    let value = names.try_fold(first, |value, name| value.as_map()?.get(name))?;
    let precision = template
        .parts
        .iter()
        .filter(|part| part.path == path)
        .find_map(|part| match part.function {
            Some(PartFunction::Geohash(precision)) => Some(precision),
            _ => None,
        });
    match precision {
        Some(precision) => Some(Value::S(Place::from_value(value)?.geohash(precision))),
        None => Some(value.clone()),
    }
}

/// Attributes that name rows of other entities, with the key of that row where this one says all of it, or its partition.
fn references(model: &Model, entity: &Entity, row: &Attributes) -> Vec<Json> {
    let mut all = Vec::new();
    for attribute in &entity.attributes {
        let Some((target, name)) = &attribute.reference else {
            continue;
        };
        let Some(target) = model.entity(*target) else { continue };
        if !target.is_key_attribute(name) || !row.contains_key(&attribute.name) || target.id == entity.id {
            continue;
        }
        // The values of the target's key, as this row has them: under the attributes that refer to them.
        let lookup = |path: &str| {
            if path == name.as_str() {
                return row.get(&attribute.name);
            }
            let others = entity.attributes.iter();
            let mut named = others.filter(|other| {
                other
                    .reference
                    .as_ref()
                    .is_some_and(|(other, name)| *other == target.id && name == path)
            });
            named.find_map(|other| row.get(&other.name))
        };
        let Some(choice) = target.key.first().filter(|_| target.key.len() == 1) else {
            continue;
        };
        let keys = choice.keys.iter().map(|key| {
            let value = row::encode_key(target, key, &lookup).ok().flatten();
            value.map(|value| (key.attribute.clone(), value))
        });
        let keys: Vec<Option<(String, Value)>> = keys.collect();
        let whole: Option<Item> = keys.iter().cloned().collect();
        let partition = keys.first().cloned().flatten();
        if whole.is_none() && partition.is_none() {
            continue;
        }
        all.push(json!({
            "attribute": attribute.name,
            "entity": target.name,
            "key": whole.as_ref().map(typed_map),
            "partition": partition.map(|(name, value)| typed_map(&Item::from([(name, value)]))),
        }));
    }
    all
}
