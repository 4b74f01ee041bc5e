//! Whether an item of a file can be one of a table.

use std::fmt;

use singlet_item::limits::{ITEM_SIZE_BYTES_MAX, PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
use singlet_item::{Item, Value, item_size_bytes};
use singlet_store::{KeyAttribute, KeySchema, TableSpec};

/// Why a store would not take an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ItemRefusal {
    /// It lacks an attribute of the table's key.
    Keyless(String),
    /// It has more than 400 KB.
    TooLarge,
    /// An attribute of a key is nothing that a key can be.
    Key {
        attribute: String,
        part_of: String,
        fault: KeyFault,
    },
}

/// What is wrong with an attribute of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyFault {
    Type { is: &'static str, wanted: &'static str },
    Empty,
    TooLong { bytes: usize, bytes_max: usize },
}

impl fmt::Display for ItemRefusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ItemRefusal::Keyless(name) => {
                write!(out, "the item has no `{name}`, which is part of the table's key")
            }
            ItemRefusal::TooLarge => out.write_str("the item is larger than 400 KB"),
            ItemRefusal::Key {
                attribute,
                part_of,
                fault,
            } => {
                write!(out, "the item's `{attribute}`, which is part of {part_of}, {fault}")
            }
        }
    }
}

impl fmt::Display for KeyFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyFault::Type { is, wanted } => write!(out, "is of type `{is}`, not `{wanted}`"),
            KeyFault::Empty => out.write_str("is empty"),
            KeyFault::TooLong { bytes, bytes_max } => {
                write!(out, "has {bytes} bytes, and at most {bytes_max} are taken")
            }
        }
    }
}

/// Refuses what a store would not take as an item of a table.
pub(crate) fn check_item(spec: &TableSpec, item: &Item) -> Result<(), ItemRefusal> {
    for (attribute, bytes_max) in key_attributes(&spec.key) {
        let name = &attribute.name;
        let value = item.get(name).ok_or_else(|| ItemRefusal::Keyless(name.clone()))?;
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
        true => Err(ItemRefusal::TooLarge),
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

fn check_key_value(
    attribute: &KeyAttribute,
    value: &Value,
    bytes_max: usize,
    part_of: &str,
) -> Result<(), ItemRefusal> {
    let refused = |fault: KeyFault| ItemRefusal::Key {
        attribute: attribute.name.clone(),
        part_of: part_of.to_owned(),
        fault,
    };
    if !attribute.key_type.takes_value(value) {
        return Err(refused(KeyFault::Type {
            is: value.type_name(),
            wanted: attribute.key_type.type_letter(),
        }));
    }
    let bytes = match value {
        Value::S(text) => text.len(),
        Value::B(bytes) => bytes.len(),
        _ => return Ok(()),
    };
    match bytes {
        0 => Err(refused(KeyFault::Empty)),
        bytes if bytes > bytes_max => Err(refused(KeyFault::TooLong { bytes, bytes_max })),
        _ => Ok(()),
    }
}
