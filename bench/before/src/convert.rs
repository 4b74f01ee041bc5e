//! Values, items and capacity, to and from the engine's types.

use dynoxide::AttributeValue;
use dynoxide::types::{CapacityDetail, ConsumedCapacity};
use singlet_item::{Item, Number, Value};
use singlet_store::{Consumed, Result, StoreError, TableConsumed, Units};
use std::collections::HashMap;

/// The engine's form of an item.
pub(crate) type EngineItem = HashMap<String, AttributeValue>;

pub(crate) fn item_to_engine(item: &Item) -> EngineItem {
    item.iter()
        .map(|(name, value)| (name.clone(), value_to_engine(value)))
        .collect()
}

pub(crate) fn item_from_engine(item: EngineItem) -> Result<Item> {
    item.into_iter()
        .map(|(name, value)| Ok((name, value_from_engine(value)?)))
        .collect()
}

pub(crate) fn items_from_engine(items: Vec<EngineItem>) -> Result<Vec<Item>> {
    items.into_iter().map(item_from_engine).collect()
}

/// The same with nothing but some attributes.
pub(crate) fn parts_from_engine(items: Vec<EngineItem>, names: &[&str]) -> Result<Vec<Item>> {
    let part = |item: EngineItem| {
        let wanted = item.into_iter().filter(|(name, _)| names.contains(&name.as_str()));
        wanted
            .map(|(name, value)| Ok((name, value_from_engine(value)?)))
            .collect()
    };
    items.into_iter().map(part).collect()
}

pub(crate) fn value_to_engine(value: &Value) -> AttributeValue {
    match value {
        Value::S(text) => AttributeValue::S(text.clone()),
        Value::N(number) => AttributeValue::N(number.to_string()),
        Value::B(bytes) => AttributeValue::B(bytes.clone()),
        Value::Bool(truth) => AttributeValue::BOOL(*truth),
        Value::Null => AttributeValue::NULL(true),
        Value::L(elements) => AttributeValue::L(elements.iter().map(value_to_engine).collect()),
        Value::M(entries) => AttributeValue::M(item_to_engine(entries)),
        Value::Ss(texts) => AttributeValue::SS(texts.iter().cloned().collect()),
        Value::Ns(numbers) => AttributeValue::NS(numbers.iter().map(Number::to_string).collect()),
        Value::Bs(binaries) => AttributeValue::BS(binaries.iter().cloned().collect()),
    }
}

fn value_from_engine(value: AttributeValue) -> Result<Value> {
    Ok(match value {
        AttributeValue::S(text) => Value::S(text),
        AttributeValue::N(text) => Value::N(number(&text)?),
        AttributeValue::B(bytes) => Value::B(bytes),
        AttributeValue::BOOL(truth) => Value::Bool(truth),
        AttributeValue::NULL(_) => Value::Null,
        AttributeValue::L(elements) => Value::L(elements.into_iter().map(value_from_engine).collect::<Result<_>>()?),
        AttributeValue::M(entries) => Value::M(item_from_engine(entries)?),
        AttributeValue::SS(texts) => Value::Ss(texts.into_iter().collect()),
        AttributeValue::NS(texts) => Value::Ns(texts.iter().map(|text| number(text)).collect::<Result<_>>()?),
        AttributeValue::BS(binaries) => Value::Bs(binaries.into_iter().collect()),
    })
}

fn number(text: &str) -> Result<Number> {
    let failed = |error| StoreError::unavailable(format!("the engine holds `{text}`, which is no number: {error}"));
    text.parse().map_err(failed)
}

/// Which units a call counts that reports only a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counts {
    Reads,
    Writes,
}

pub(crate) fn consumed(counts: Counts, reports: impl IntoIterator<Item = ConsumedCapacity>) -> Consumed {
    let mut consumed = Consumed::default();
    for report in reports {
        let mut table = TableConsumed {
            table: report
                .table
                .as_ref()
                .map(|detail| units(counts, detail))
                .unwrap_or_default(),
            ..TableConsumed::default()
        };
        let indexes = [report.global_secondary_indexes, report.local_secondary_indexes];
        for (name, detail) in indexes.into_iter().flatten().flatten() {
            table.indexes.insert(name, units(counts, &detail));
        }
        consumed.tables.insert(report.table_name, table);
    }
    consumed
}

/// Transactions say which units are reads and which writes; other calls only give a sum.
fn units(counts: Counts, detail: &CapacityDetail) -> Units {
    if detail.read_capacity_units.is_some() || detail.write_capacity_units.is_some() {
        return Units::from_reported(detail.read_capacity_units, detail.write_capacity_units);
    }
    match counts {
        Counts::Reads => Units::from_reported(Some(detail.capacity_units), None),
        Counts::Writes => Units::from_reported(None, Some(detail.capacity_units)),
    }
}
