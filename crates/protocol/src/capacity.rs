//! What a call consumed, and how large an item collection is, as its answer says it.

use serde_json::{Map, Value as Json, json};
use singlet_item::Item;
use singlet_store::{Consumed, IndexKind, TableConsumed, TableDescription, Units};

use crate::fault::Fault;
use crate::input::Input;
use crate::value::value_json;

/// How much of it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CapacityMode {
    Nothing,
    Total,
    Indexes,
}

impl CapacityMode {
    pub(crate) fn of(input: &Input<'_>) -> Result<Self, Fault> {
        Ok(match input.text("ReturnConsumedCapacity")? {
            Some("TOTAL") => Self::Total,
            Some("INDEXES") => Self::Indexes,
            _ => Self::Nothing,
        })
    }
}

/// Which units a call names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamedUnits {
    /// Only their sum.
    Sum,
    /// Reads besides: a transaction that reads.
    Reads,
    /// Writes besides: a transaction that writes.
    Writes,
}

/// What one table consumed; none, if it was not asked for.
pub(crate) fn of_table(
    mode: CapacityMode,
    named: NamedUnits,
    table: &TableDescription,
    consumed: &Consumed,
) -> Option<Json> {
    if mode == CapacityMode::Nothing {
        return None;
    }
    let none = TableConsumed::default();
    let own = consumed.tables.get(&table.spec.name).unwrap_or(&none);
    let mut json = units_json(named, own.total_units());
    json.insert("TableName".to_owned(), Json::from(table.spec.name.clone()));
    if mode == CapacityMode::Indexes {
        json.insert("Table".to_owned(), Json::Object(units_json(named, own.table)));
        for (kind, member) in [
            (IndexKind::Global, "GlobalSecondaryIndexes"),
            (IndexKind::Local, "LocalSecondaryIndexes"),
        ] {
            let touched = own.indexes.iter().filter(|(name, _)| is_of_kind(table, name, kind));
            let indexes: Map<String, Json> = touched
                .map(|(name, units)| (name.clone(), Json::Object(units_json(named, *units))))
                .collect();
            if !indexes.is_empty() {
                json.insert(member.to_owned(), Json::Object(indexes));
            }
        }
    }
    Some(Json::Object(json))
}

fn is_of_kind(table: &TableDescription, name: &str, kind: IndexKind) -> bool {
    let index = table.spec.indexes.iter().find(|index| index.name == name);
    index.is_some_and(|index| index.kind == kind)
}

fn units_json(named: NamedUnits, units: Units) -> Map<String, Json> {
    let read = units.read.half_count() as f64 / 2.0;
    let write = units.write.get() as f64;
    let mut json = Map::new();
    json.insert("CapacityUnits".to_owned(), Json::from(read + write));
    match named {
        NamedUnits::Sum => {}
        NamedUnits::Reads => {
            json.insert("ReadCapacityUnits".to_owned(), Json::from(read));
        }
        NamedUnits::Writes => {
            json.insert("WriteCapacityUnits".to_owned(), Json::from(write));
            if read > 0.0 {
                json.insert("ReadCapacityUnits".to_owned(), Json::from(read));
            }
        }
    }
    json
}

/// The item collection that a write touched, where the table has local indexes. A collection is no larger than its
/// table, which is all that is known of its size.
pub(crate) fn touched_collection(table: &TableDescription, item: &Item) -> Option<Json> {
    const GIGABYTE: u64 = 1024 * 1024 * 1024;
    let is_local = |kind| kind == IndexKind::Local;
    if !table.spec.indexes.iter().any(|index| is_local(index.kind)) {
        return None;
    }
    let mut key = Map::new();
    for attribute in &table.spec.key.partition {
        let value = item.get(&attribute.name)?;
        key.insert(attribute.name.clone(), value_json(value));
    }
    let most = table.size_bytes.div_ceil(GIGABYTE).max(1) as f64;
    Some(json!({ "ItemCollectionKey": key, "SizeEstimateRangeGB": [0.0, most] }))
}
