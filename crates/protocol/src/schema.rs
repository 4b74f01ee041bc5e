//! What the key of a table asks of keys and items, before a store sees them.

use singlet_item::limits::{ITEM_SIZE_BYTES_MAX, PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
use singlet_item::{Item, Value, item_size_bytes};
use singlet_store::well_formed::changed_paths;
use singlet_store::{IndexSpec, KeySchema, TableSpec, Update};

use crate::fault::Fault;

/// Of what kind a value is empty, if it is.
pub(crate) fn empty_kind(value: &Value) -> Option<&'static str> {
    match value {
        Value::S(text) if text.is_empty() => Some("string"),
        Value::B(bytes) if bytes.is_empty() => Some("binary"),
        _ => None,
    }
}

/// Refuses what is not exactly the key of the table.
pub(crate) fn check_key(table: &TableSpec, key: &Item) -> Result<(), Fault> {
    let matches = key.len() == table.key.attributes().count()
        && table.key.attributes().all(|attribute| {
            key.get(&attribute.name)
                .is_some_and(|value| attribute.key_type.takes_value(value))
        });
    if !matches {
        return Err(Fault::validation_fault(
            "The provided key element does not match the schema",
        ));
    }
    check_key_values(&table.key, key)
}

/// Refuses an item that lacks the table's key, has one of another type, or does not fit an index or a limit.
pub(crate) fn check_item(table: &TableSpec, item: &Item) -> Result<(), Fault> {
    for attribute in table.key.attributes() {
        match item.get(&attribute.name) {
            None => {
                return Err(invalid_values(format!(
                    "Missing the key {} in the item",
                    attribute.name
                )));
            }
            Some(value) if !attribute.key_type.takes_value(value) => {
                return Err(invalid_values(format!(
                    "Type mismatch for key {} expected: {} actual: {}",
                    attribute.name,
                    attribute.key_type.type_letter(),
                    value.type_name()
                )));
            }
            Some(_) => {}
        }
    }
    check_key_values(&table.key, item)?;
    for index in &table.indexes {
        check_index_keys(index, item)?;
    }
    match item_size_bytes(item) > ITEM_SIZE_BYTES_MAX {
        true => Err(Fault::validation_fault(
            "Item size has exceeded the maximum allowed size",
        )),
        false => Ok(()),
    }
}

/// Refuses an item whose attributes cannot be keys of an index that they are keys of.
fn check_index_keys(index: &IndexSpec, item: &Item) -> Result<(), Fault> {
    for attribute in index.key.attributes() {
        let Some(value) = item.get(&attribute.name) else {
            continue;
        };
        if !attribute.key_type.takes_value(value) {
            return Err(invalid_values(format!(
                "Type mismatch for Index Key {} Expected: {} Actual: {} IndexName: {}",
                attribute.name,
                attribute.key_type.type_letter(),
                value.type_name(),
                index.name
            )));
        }
        if let Some(kind) = empty_kind(value) {
            return Err(Fault::validation_fault(format!(
                "One or more parameter values are not valid. A value specified for a secondary index key is not \
                 supported. The AttributeValue for a key attribute cannot contain an empty {kind} value. \
                 IndexName: {}, IndexKey: {}",
                index.name, attribute.name
            )));
        }
    }
    Ok(())
}

/// Refuses an update of the key itself.
pub(crate) fn check_update(table: &TableSpec, update: &Update) -> Result<(), Fault> {
    for path in changed_paths(update) {
        if table.key.attributes().any(|attribute| attribute.name == path.name()) {
            return Err(invalid_values(format!(
                "Cannot update attribute {}. This attribute is part of the key",
                path.name()
            )));
        }
    }
    Ok(())
}

fn check_key_values(key: &KeySchema, item: &Item) -> Result<(), Fault> {
    for attribute in key.attributes() {
        if let Some(kind) = item.get(&attribute.name).and_then(empty_kind) {
            return Err(Fault::validation_fault(format!(
                "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an \
                 empty {kind} value. Key: {}",
                attribute.name
            )));
        }
    }
    let bytes = |value: Option<&Value>| match value {
        Some(Value::S(text)) => text.len(),
        Some(Value::B(bytes)) => bytes.len(),
        _ => 0,
    };
    if key
        .partition
        .iter()
        .any(|attribute| bytes(item.get(&attribute.name)) > PARTITION_KEY_BYTES_MAX)
    {
        return Err(invalid_values(format!(
            "Size of hashkey has exceeded the maximum size limit of{PARTITION_KEY_BYTES_MAX} bytes"
        )));
    }
    if key
        .sort
        .iter()
        .any(|attribute| bytes(item.get(&attribute.name)) > SORT_KEY_BYTES_MAX)
    {
        return Err(invalid_values(format!(
            "Aggregated size of all range keys has exceeded the size limit of {SORT_KEY_BYTES_MAX} bytes"
        )));
    }
    Ok(())
}

/// `One or more parameter values were invalid: …`
pub(crate) fn invalid_values(words: impl std::fmt::Display) -> Fault {
    Fault::validation_fault(format!("One or more parameter values were invalid: {words}"))
}
