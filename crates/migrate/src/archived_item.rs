//! Whether an item of a file can be one of a table.

use singlet_item::limits::{ITEM_SIZE_BYTES_MAX, PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
use singlet_item::{Item, Value, item_size_bytes};
use singlet_store::{KeyAttribute, KeySchema, TableSpec};

/// Refuses what a store would not take as an item of a table.
pub(crate) fn check_item(spec: &TableSpec, item: &Item) -> Result<(), String> {
    for (attribute, bytes_max) in key_attributes(&spec.key) {
        let name = &attribute.name;
        let value = item
            .get(name)
            .ok_or_else(|| format!("the item has no `{name}`, which is part of the table's key"))?;
        check_key_value(attribute, value, bytes_max, "the table's key")?;
    }
    for index in &spec.indexes {
        for (attribute, bytes_max) in key_attributes(&index.key) {
            // Without it the item is not in the index.
            let Some(value) = item.get(&attribute.name) else {
                continue;
            };
            check_key_value(
                attribute,
                value,
                bytes_max,
                &format!("the key of index `{}`", index.name),
            )?;
        }
    }
    match item_size_bytes(item) > ITEM_SIZE_BYTES_MAX {
        true => Err("the item is larger than 400 KB".to_owned()),
        false => Ok(()),
    }
}

/// The attributes of a key, each with the most bytes that it may have.
fn key_attributes(key: &KeySchema) -> impl Iterator<Item = (&KeyAttribute, usize)> {
    let partition = key
        .partition
        .iter()
        .map(|attribute| (attribute, PARTITION_KEY_BYTES_MAX));
    partition.chain(key.sort.iter().map(|attribute| (attribute, SORT_KEY_BYTES_MAX)))
}

fn check_key_value(attribute: &KeyAttribute, value: &Value, bytes_max: usize, part_of: &str) -> Result<(), String> {
    let what = format!("the item's `{}`, which is part of {part_of},", attribute.name);
    if !attribute.key_type.takes_value(value) {
        let (is, wanted) = (value.type_name(), attribute.key_type.type_letter());
        return Err(format!("{what} is of type `{is}`, not `{wanted}`"));
    }
    let bytes = match value {
        Value::S(text) => text.len(),
        Value::B(bytes) => bytes.len(),
        _ => return Ok(()),
    };
    match bytes {
        0 => Err(format!("{what} is empty")),
        bytes if bytes > bytes_max => Err(format!("{what} has {bytes} bytes, and at most {bytes_max} are taken")),
        _ => Ok(()),
    }
}
