//! The least write units that a change of a table can take, found from its items before and after.
//!
//! It shares no code with the planner: which items differ is all that it knows. One that differs alone is written alone; several at once
//! are a transaction, which takes twice the units of each. A bulk operation may stop between its rows, so that each could be written alone.

use std::collections::{BTreeMap, BTreeSet};

use singlet_item::capacity::{IndexWrite, WriteMode, write_units};
use singlet_item::{Item, WriteUnits, item_size_bytes};
use singlet_model::Model;
use singlet_model::model::{Index, Projection};

/// What differs between two states of a table, and what writing it takes at least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LeastWrite {
    /// How many items differ.
    pub items: u64,
    /// Write units on the table and its indexes.
    pub units: u64,
}

/// What became of the items of a table. A bulk operation writes them one by one.
pub(crate) fn least_write(model: &Model, before: &[Item], after: &[Item], is_bulk: bool) -> LeastWrite {
    let (before, after) = (by_key(model, before), by_key(model, after));
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let images = keys
        .into_iter()
        .map(|key| (before.get(key).copied(), after.get(key).copied()));
    let changed: Vec<(Option<&Item>, Option<&Item>)> = images.filter(|(before, after)| before != after).collect();
    let mode = match changed.len() > 1 && !is_bulk {
        true => WriteMode::Transaction,
        false => WriteMode::Single,
    };
    let mut units = WriteUnits::ZERO;
    for (before, after) in &changed {
        units += write_units(before.map(item_size_bytes), after.map(item_size_bytes), mode);
        units += model
            .table
            .indexes
            .iter()
            .map(|index| entry_units(model, index, *before, *after))
            .sum::<WriteUnits>();
    }
    LeastWrite {
        items: changed.len() as u64,
        units: units.get(),
    }
}

fn by_key<'i>(model: &Model, items: &'i [Item]) -> BTreeMap<String, &'i Item> {
    let key = |item: &Item| {
        let parts = model.table.key.iter().map(|key| format!("{:?}", item.get(&key.name)));
        parts.collect::<Vec<String>>().join(" ")
    };
    items.iter().map(|item| (key(item), item)).collect()
}

/// What a change of an item does to its entry in an index.
fn entry_units(model: &Model, index: &Index, before: Option<&Item>, after: Option<&Item>) -> WriteUnits {
    let partition = match index.local {
        true => model.table.key.get(..1).unwrap_or_default(),
        false => index.partition.as_slice(),
    };
    let own: Vec<&str> = partition
        .iter()
        .chain(&index.sort)
        .map(|key| key.name.as_str())
        .collect();
    let is_in = |name: &str| {
        let included = match &index.projection {
            Projection::All => true,
            Projection::Keys => false,
            Projection::Include(names) => names.iter().any(|known| known == name),
        };
        included || own.contains(&name) || model.table.key.iter().any(|key| key.name == name)
    };
    let entry = |item: Option<&Item>| -> Option<Item> {
        let kept = item?.iter().filter(|(name, _)| is_in(name));
        Some(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
    };
    IndexWrite::between_items(entry(before).as_ref(), entry(after).as_ref(), &own).write_units()
}
