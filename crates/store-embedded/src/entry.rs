//! Index entries.
//!
//! An entry lies under the key of the index, then the key of its item: entries with the same index key are told apart, and lie in
//! the order of their items. It holds what the index projects of the item, so that a page is one walk.

use std::sync::Arc;

use singlet_item::capacity::IndexWrite;
use singlet_item::{Item, Value};
use singlet_keyspace::Draft;
use singlet_store::{KeyAttribute, Result};

use crate::catalogue::{Index, Table};
use crate::check::is_empty;
use crate::codec::RawItem;
use crate::layout;
use crate::order::put_key_value;
use crate::view::from_space;

/// What an index has of one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: Vec<u8>,
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) size_bytes: usize,
}

impl Entry {
    /// The entry of an item; none, if the item lacks a key of the index, or has one that cannot be one.
    pub(crate) fn of(table: &Table, index: &Index, bytes: &Arc<[u8]>) -> Result<Option<Self>> {
        let item = RawItem::new(bytes)?;
        let Some(key) = entry_key(table, index, item)? else {
            return Ok(None);
        };
        if index.has_all() {
            return Ok(Some(Self {
                key,
                bytes: Arc::clone(bytes),
                size_bytes: item.size_bytes(),
            }));
        }
        let projected = item.project_bytes(|name| index.projects_attribute(name))?;
        Ok(Some(Self {
            key,
            size_bytes: RawItem::new(&projected)?.size_bytes(),
            bytes: projected.into(),
        }))
    }
}

fn entry_key(table: &Table, index: &Index, item: RawItem<'_>) -> Result<Option<Vec<u8>>> {
    let Some(partition) = key_values(&index.spec.key.partition, item)? else {
        return Ok(None);
    };
    let Some(sort) = key_values(&index.spec.key.sort, item)? else {
        return Ok(None);
    };
    let Some(own_partition) = key_values(table.partition_key(), item)? else {
        return Ok(None);
    };
    let Some(own_sort) = key_values(table.sort_key(), item)? else {
        return Ok(None);
    };
    let mut key = layout::of_index(table.number, index.number);
    layout::put_partition(&mut key, &partition);
    // The key of the item behind that of the index: without it items with one index key would take each other's place.
    for value in sort.iter().chain(&own_partition).chain(&own_sort) {
        put_key_value(&mut key, value);
    }
    Ok(Some(key))
}

/// The values of a key, if the item has all of them.
fn key_values(attributes: &[KeyAttribute], item: RawItem<'_>) -> Result<Option<Vec<Value>>> {
    let mut values = Vec::with_capacity(attributes.len());
    for attribute in attributes {
        let Some(value) = item.get(&attribute.name)? else {
            return Ok(None);
        };
        let value = value.decode_value()?;
        // What cannot be a key keeps the item out of the index, as a missing attribute does, and not the item out of the table.
        if !attribute.key_type.takes_value(&value) || is_empty(&value) {
            return Ok(None);
        }
        values.push(value);
    }
    Ok(Some(values))
}

/// Where a page goes on after an item, by the attributes of its keys.
pub(crate) fn entry_position(table: &Table, index: Option<&Index>, start: &Item) -> Vec<u8> {
    let Some(index) = index else {
        return table.item_key(start);
    };
    let mut key = layout::of_index(table.number, index.number);
    let partition = &index.spec.key.partition;
    layout::put_partition(
        &mut key,
        partition.iter().filter_map(|attribute| start.get(&attribute.name)),
    );
    layout::put_values(&mut key, &index.spec.key.sort, start);
    layout::put_values(&mut key, table.partition_key(), start);
    layout::put_values(&mut key, table.sort_key(), start);
    key
}

/// Changes an index as its item changed. Gives what it costs.
pub(crate) fn replace_entry(draft: &mut Draft<'_>, before: Option<Entry>, after: Option<Entry>) -> Result<IndexWrite> {
    let mut put = |entry: Entry| draft.put_row(entry.key, entry.bytes).map_err(from_space);
    Ok(match (before, after) {
        (None, None) => IndexWrite::Absent,
        // Nothing is written, and nothing counted, where the index has no part of what changed.
        (Some(before), Some(after)) if before == after => IndexWrite::Unchanged,
        (None, Some(after)) => {
            let after_bytes = after.size_bytes;
            put(after)?;
            IndexWrite::Added { after_bytes }
        }
        (Some(before), None) => {
            draft.delete_row(before.key).map_err(from_space)?;
            IndexWrite::Removed {
                before_bytes: before.size_bytes,
            }
        }
        (Some(before), Some(after)) => {
            let (before_bytes, after_bytes) = (before.size_bytes, after.size_bytes);
            if before.key == after.key {
                put(after)?;
                return Ok(IndexWrite::Changed {
                    before_bytes,
                    after_bytes,
                });
            }
            // Another key is another row: the old one has to go in the same commit.
            put(after)?;
            draft.delete_row(before.key).map_err(from_space)?;
            IndexWrite::Moved {
                before_bytes,
                after_bytes,
            }
        }
    })
}
