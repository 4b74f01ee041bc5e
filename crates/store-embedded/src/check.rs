//! What DynamoDB takes as a key and as an item.

use singlet_item::limits::{
    ATTRIBUTE_NAME_BYTES_MAX, ITEM_SIZE_BYTES_MAX, NESTING_LEVELS_MAX, PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX,
};
use singlet_item::{Item, Value, item_size_bytes};
use singlet_store::{KeyAttribute, KeySchema, Result};

use crate::catalogue::Table;
use crate::words;

/// Refuses what is not the key of an item of the table.
pub(crate) fn check_key(table: &Table, key: &Item) -> Result<()> {
    check_key_values(table, key.len(), |name| key.get(name))
}

/// [`check_key`] of so many attributes, whose values are asked for by their names.
pub(crate) fn check_key_values<'v>(
    table: &Table,
    attributes: usize,
    value_of: impl Fn(&str) -> Option<&'v Value>,
) -> Result<()> {
    let schema = &table.spec.key;
    // Counted first: a key with one attribute too many has all that the schema asks for.
    if attributes != schema.attributes().count() {
        return Err(words::key_does_not_match());
    }
    for attribute in schema.attributes() {
        let Some(value) = value_of(&attribute.name).filter(|value| attribute.key_type.takes_value(value)) else {
            return Err(words::key_does_not_match());
        };
        if is_empty(value) {
            return Err(words::empty_key(&attribute.name, value));
        }
    }
    check_sizes(schema, value_of)
}

/// Refuses an item without a key of the table, whatever else it has.
pub(crate) fn check_key_of(table: &Table, item: &Item) -> Result<()> {
    let key = table.spec.key.attributes().filter_map(|attribute| {
        let value = item.get(&attribute.name)?;
        Some((attribute.name.clone(), value.clone()))
    });
    check_key(table, &key.collect())
}

/// Refuses an item that the table cannot hold. Gives its size.
pub(crate) fn check_put(table: &Table, item: &Item) -> Result<usize> {
    check_values(item)?;
    for attribute in table.spec.key.attributes() {
        let name = &attribute.name;
        match item.get(name) {
            None => return Err(words::invalid_values(format!("Missing the key {name} in the item"))),
            Some(value) if !attribute.key_type.takes_value(value) => {
                return Err(words::invalid_values(format!(
                    "Type mismatch for key {name} expected: {} actual: {}",
                    attribute.key_type.type_letter(),
                    value.type_name()
                )));
            }
            Some(value) if is_empty(value) => return Err(words::empty_key(name, value)),
            Some(_) => {}
        }
    }
    // Before the item's size, as DynamoDB refuses them.
    check_key_sizes(&table.spec.key, item)?;
    check_index_keys(table, None, item)?;
    let size = item_size_bytes(item);
    if size > ITEM_SIZE_BYTES_MAX {
        return Err(words::item_too_large());
    }
    Ok(size)
}

/// Refuses what an update made of an item. What it did not touch is as it was.
pub(crate) fn check_updated(table: &Table, old: &Item, new: &Item) -> Result<usize> {
    check_values(new)?;
    // Only what the update has changed: a key of an index that was there is not its fault.
    check_index_keys(table, Some(old), new)?;
    let size = item_size_bytes(new);
    if size > ITEM_SIZE_BYTES_MAX {
        return Err(words::updated_item_too_large());
    }
    Ok(size)
}

/// Refuses values that no item has.
pub(crate) fn check_values(item: &Item) -> Result<()> {
    for (name, value) in item {
        check_name(name)?;
        if name.len() > ATTRIBUTE_NAME_BYTES_MAX {
            return Err(words::invalid_values(
                "Attribute name is too large, must be less than 65536 bytes",
            ));
        }
        check_value(value, 1)?;
    }
    Ok(())
}

fn check_name(name: &str) -> Result<()> {
    match name.is_empty() {
        true => Err(words::invalid_request("Empty attribute name")),
        false => Ok(()),
    }
}

/// Refuses a value of an expression that no item has.
pub(crate) fn check_given(value: &Value) -> Result<()> {
    check_value(value, 1).map_err(|error| {
        words::invalid_request(format!(
            "ExpressionAttributeValues contains invalid value: {}",
            error.message()
        ))
    })
}

fn check_value(value: &Value, level: usize) -> Result<()> {
    let empty_set = |words: &str| Err(words::invalid_values(words));
    match value {
        Value::Ss(members) if members.is_empty() => empty_set("An string set  may not be empty"),
        Value::Ns(members) if members.is_empty() => empty_set("An number set  may not be empty"),
        Value::Bs(members) if members.is_empty() => empty_set("Binary sets should not be empty"),
        // Before going deeper: the bound is what keeps this recursion from the end of the stack.
        Value::L(_) | Value::M(_) if level >= NESTING_LEVELS_MAX => {
            Err(words::invalid_request("Nesting Levels have exceeded supported limits"))
        }
        Value::L(elements) => elements.iter().try_for_each(|element| check_value(element, level + 1)),
        Value::M(entries) => entries.iter().try_for_each(|(name, entry)| {
            check_name(name)?;
            check_value(entry, level + 1)
        }),
        Value::S(_)
        | Value::N(_)
        | Value::B(_)
        | Value::Bool(_)
        | Value::Null
        | Value::Ss(_)
        | Value::Ns(_)
        | Value::Bs(_) => Ok(()),
    }
}

fn check_key_sizes(schema: &KeySchema, item: &Item) -> Result<()> {
    check_sizes(schema, |name| item.get(name))
}

fn check_sizes<'v>(schema: &KeySchema, value_of: impl Fn(&str) -> Option<&'v Value>) -> Result<()> {
    let bytes = |attributes: &[KeyAttribute]| -> usize {
        let values = attributes.iter().filter_map(|attribute| value_of(&attribute.name));
        values.map(Value::size_bytes).sum()
    };
    if bytes(&schema.partition) > PARTITION_KEY_BYTES_MAX {
        return Err(words::invalid_values(format!(
            "Size of hashkey has exceeded the maximum size limit of{PARTITION_KEY_BYTES_MAX} bytes"
        )));
    }
    if bytes(&schema.sort) > SORT_KEY_BYTES_MAX {
        return Err(words::invalid_values(format!(
            "Aggregated size of all range keys has exceeded the size limit of {SORT_KEY_BYTES_MAX} bytes"
        )));
    }
    Ok(())
}

/// Refuses what an index cannot hold as a key; of an update only what it changed. Of several indexes the first by name speaks.
fn check_index_keys(table: &Table, old: Option<&Item>, new: &Item) -> Result<()> {
    let mut indexes: Vec<_> = table.indexes.iter().map(|index| &index.spec).collect();
    indexes.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    for index in indexes {
        let mut touched = false;
        for attribute in index.key.attributes() {
            let name = &attribute.name;
            let Some(value) = new.get(name) else { continue };
            // What is as it was is not looked at again, though it would be refused today.
            if old.is_some_and(|old| old.get(name) == Some(value)) {
                continue;
            }
            touched = true;
            if !attribute.key_type.takes_value(value) {
                return Err(words::invalid_values(format!(
                    "Type mismatch for Index Key {name} Expected: {} Actual: {} IndexName: {}",
                    attribute.key_type.type_letter(),
                    value.type_name(),
                    index.name
                )));
            }
            if is_empty(value) {
                return Err(match old {
                    Some(_) => words::updated_to_empty_index_key(value),
                    None => words::empty_index_key(&index.name, name, value),
                });
            }
        }
        if touched {
            check_key_sizes(&index.key, new)?;
        }
    }
    Ok(())
}

pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::S(text) => text.is_empty(),
        Value::B(bytes) => bytes.is_empty(),
        _ => false,
    }
}
