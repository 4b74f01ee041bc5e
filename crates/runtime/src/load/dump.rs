//! The rows of a table as lines that can be loaded: for another table, or by a changed model.

use std::collections::BTreeMap;
use std::io::Write;

use singlet_item::key::is_kept_number;
use singlet_item::{Item, Value};
use singlet_model::Model;
use singlet_model::model::Entity;
use singlet_store::ScanRequest;

use super::LoadScope;
use super::misfit::LoadError;
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::scope::Attributes;
use crate::values::json_text;
use crate::{range_rows, retry, row};

/// What was written out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dumped {
    /// Rows.
    pub rows: u64,
    /// Rows that have expired, and were left out.
    pub expired: u64,
    /// Items of no entity of the model, and were left out; those that a model keeps for itself do not count.
    pub unknown: u64,
    /// Values that the model has no name for, and were left out: `Entity.name`, and how many.
    pub dropped: BTreeMap<String, u64>,
}

/// Writes every row of a model's table as a line `{"Entity": {…}}`. Mirrors, guards, records of requests and what is computed
/// are left out: loading makes them anew.
///
/// # Errors
///
/// Where a row is not as the model has it, or the store or the output fails.
pub async fn dump_rows(engine: &Engine, now: i64, out: &mut (dyn Write + Send)) -> Result<Dumped, LoadError> {
    let model = engine.model();
    let names = LoadScope::new();
    let scope = names.scope(engine, now);
    let mut dumped = Dumped::default();
    let mut request = ScanRequest {
        table: model.table.name.clone(),
        consistent: true,
        ..ScanRequest::default()
    };
    loop {
        let page = retry::with_retries(engine.bounds(), || engine.store().scan(&request))
            .await
            .map_err(RuntimeError::from)?;
        for item in page.items {
            let Some(entity) = entity_of_item(model, &item) else {
                dumped.unknown += u64::from(!is_of_singlet(model, &item));
                continue;
            };
            if entity.mirror.is_some() || entity.role.is_some() {
                continue;
            }
            if row::has_expired(model, &item, scope.now) {
                dumped.expired += 1;
                continue;
            }
            for name in item.keys().filter(|name| !is_known(model, entity, name)) {
                *dumped.dropped.entry(format!("{}.{name}", entity.name)).or_default() += 1;
            }
            out.write_all(&row_line(entity, &row::decode_as_stored(entity, &item)?))?;
            dumped.rows += 1;
        }
        // Only a page without a last key is the end of the table.
        request.start = page.last_key;
        if request.start.is_none() {
            out.flush()?;
            return Ok(dumped);
        }
    }
}

/// The entity whose row an item is: by the type attribute, or by the keys where there is none.
pub fn entity_of_item<'m>(model: &'m Model, item: &Item) -> Option<&'m Entity> {
    let name = model.table.type_attribute.as_ref().and_then(|name| item.get(name));
    match name {
        Some(name) => model.entity_named(name.as_str()?),
        None => model
            .entities
            .iter()
            .find(|entity| range_rows::has_key_of(entity, item)),
    }
}

/// Whether an item is one that Singlet keeps for itself: their keys begin with `$`, and so do their kinds.
pub fn is_of_singlet(model: &Model, item: &Item) -> bool {
    let kind = model.table.type_attribute.as_ref().and_then(|name| item.get(name));
    let partition = model.table.key.first().and_then(|key| item.get(&key.name));
    let begins = |value: Option<&Value>| match value {
        Some(Value::S(text)) => text.starts_with('$'),
        Some(Value::B(bytes)) => bytes.first() == Some(&b'$'),
        // Where the partition key is a number, one of its own stands for the text.
        Some(Value::N(number)) => is_kept_number(number),
        _ => false,
    };
    match model.table.type_attribute {
        Some(_) => begins(kind),
        None => begins(partition),
    }
}

/// Whether a name in an item is one of the model's: an attribute, or what is made of them.
pub fn is_known(model: &Model, entity: &Entity, name: &str) -> bool {
    let table = &model.table;
    let mut keys = table
        .key
        .iter()
        .chain(table.indexes.iter().flat_map(|index| index.key()));
    let mut attributes = entity.attributes.iter();
    name == super::BY
        || table.type_attribute.as_deref() == Some(name)
        || table.ttl.as_deref() == Some(name)
        || keys.any(|key| key.name == name)
        || attributes.any(|attribute| attribute.stored_name() == Some(name))
}

/// A row as a line `{"Entity": {…}}`, as [`load`](super) takes it: what is computed is left out, since loading computes it anew.
pub fn row_line(entity: &Entity, row: &Attributes) -> Vec<u8> {
    let mut line = vec![b'{'];
    json_text::write_string(&mut line, &entity.name);
    line.push(b':');
    let stated = row.iter().filter(|(name, _)| {
        let attribute = entity.attribute(name);
        attribute.is_some_and(|attribute| attribute.is.is_none() && attribute.alias.is_none())
    });
    json_text::write_object(&mut line, stated.map(|(name, value)| (name.as_str(), value)));
    line.extend_from_slice(b"}\n");
    line
}
