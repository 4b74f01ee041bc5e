//! Rows from a file into the table: sample data, and tables that are filled once.

use std::collections::HashSet;
use std::sync::Arc;

use singlet_item::Item;
use singlet_model::Model;
use singlet_model::evaluate::{EvaluateError, time};
use singlet_model::model::Entity;
use singlet_model::types::Type;
use singlet_plan::Bounds;
use singlet_store::{BatchWrite, BatchWriteRequest, Store};

use crate::error::RuntimeError;
use crate::scope::{Attributes, Scope};
use crate::values::{self, Invalid, Tree};
use crate::write::guards_of_row;
use crate::{retry, row};

/// The items of one line: `{"Entity": {…}}`.
///
/// # Errors
///
/// What is wrong with the line.
pub fn items(model: &Model, line: &str, scope: Scope<'_>) -> Result<Vec<Item>, RuntimeError> {
    let bad = |reason: String| RuntimeError::Request(reason);
    let line = Tree::parse(line).map_err(|error| bad(format!("this is not JSON: {error}")))?;
    let (name, fields) = match &line {
        Tree::Object(members) => match members.as_slice() {
            [(name, Tree::Object(fields))] => Some((name, fields)),
            _ => None,
        },
        _ => None,
    }
    .ok_or_else(|| bad("a line is `{\"Entity\": {…}}`".to_owned()))?;
    let entity = model
        .entity_named(name)
        .filter(|entity| entity.mirror.is_none())
        .ok_or_else(|| bad(format!("there is no entity `{name}` to load")))?;
    let row = attributes(entity, fields, scope).map_err(|invalid| bad(format!("`{name}` {invalid}")))?;
    items_of_row(model, entity, &row, scope)
}

/// Every item that a row is kept as: its own, its mirrors' and its guards'.
///
/// # Errors
///
/// Where the row has no key, or an expression leaves the range of its type.
pub fn items_of_row(
    model: &Model,
    entity: &Entity,
    row: &Attributes,
    scope: Scope<'_>,
) -> Result<Vec<Item>, RuntimeError> {
    let mut items = row::encode(model, entity, row, scope)?;
    items.extend(guards_of_row(model, entity, row, scope)?);
    Ok(items)
}

fn attributes(entity: &Entity, fields: &[(String, Tree)], scope: Scope<'_>) -> Result<Attributes, Invalid> {
    let mut row = Attributes::new();
    for (name, tree) in fields {
        let known = entity.attribute(name).filter(|attribute| attribute.is.is_none());
        let Some(attribute) = known else {
            return Err(Invalid {
                pointer: format!("/{name}"),
                reason: "there is no such attribute to load".to_owned(),
            });
        };
        let text = match tree {
            Tree::Text(text) => Some(text),
            _ => None,
        };
        let value = match text.and_then(|text| relative(text, &attribute.ty, scope)) {
            Some(value) => value.map_err(|error| Invalid {
                pointer: format!("/{name}"),
                reason: error.to_string(),
            })?,
            None => values::from_tree(tree, &attribute.ty).map_err(|invalid| Invalid {
                pointer: format!("/{name}{}", invalid.pointer),
                reason: invalid.reason,
            })?,
        };
        row.insert(name.clone(), value);
    }
    Ok(row)
}

/// `now-3d`, `today+7d`: instants and days from the moment of loading.
fn relative(text: &str, ty: &Type, scope: Scope<'_>) -> Option<Result<singlet_item::Value, EvaluateError>> {
    let shift = |rest: &str| -> Option<i64> {
        match rest.chars().next() {
            None => Some(0),
            Some('+') => values::duration(rest.get(1..)?).map(|duration| duration.millis),
            Some('-') => values::duration(rest.get(1..)?).map(|duration| -duration.millis),
            _ => None,
        }
    };
    if ty.is_instant() {
        let millis = scope.now + shift(text.strip_prefix("now")?)?;
        return Some(time::instant(millis, ty));
    }
    if *ty == Type::Date {
        let millis = scope.now + shift(text.strip_prefix("today")?)?;
        return Some(time::day_of(millis, &scope.setting.zone).map(singlet_item::Value::S));
    }
    None
}

/// Puts items, a call's worth at a time; what a call did not process is put again. Says how many were put after each call.
///
/// # Errors
///
/// Where the store fails for good.
pub async fn put_all(
    store: &Arc<dyn Store>,
    table: &str,
    items: Vec<Item>,
    mut progress: impl FnMut(usize),
) -> Result<(), RuntimeError> {
    let items = each_once(items);
    let mut put = 0;
    for chunk in items.chunks(Bounds::USUAL.batch_write_items) {
        let mut writes: Vec<BatchWrite> = chunk
            .iter()
            .map(|item| BatchWrite::Put {
                table: table.to_owned(),
                item: item.clone(),
            })
            .collect();
        while !writes.is_empty() {
            let request = BatchWriteRequest { writes };
            let answer = retry::retried(&Bounds::USUAL, || store.batch_write(&request)).await?;
            writes = answer.unprocessed;
        }
        put += chunk.len();
        progress(put);
    }
    Ok(())
}

/// No item may stand in a call twice, and versions of one row share the guard of its identity: of equal items one is put.
fn each_once(items: Vec<Item>) -> Vec<Item> {
    let mut seen = HashSet::new();
    items.into_iter().filter(|item| seen.insert(item.clone())).collect()
}
