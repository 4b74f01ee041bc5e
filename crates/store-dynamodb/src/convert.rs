//! Values, items and capacity, to and from the SDK's types.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, Capacity, ConsumedCapacity};
use aws_sdk_dynamodbstreams::types::AttributeValue as StreamValue;
use singlet_item::{Item, Number, Value};
use singlet_store::render::Placeholders;
use singlet_store::{Consumed, Result, StoreError, TableConsumed, Units};
use std::collections::HashMap;

/// The SDK's form of an item.
pub(crate) type SdkItem = HashMap<String, AttributeValue>;

pub(crate) fn item_to_sdk(item: &Item) -> SdkItem {
    item.iter()
        .map(|(name, value)| (name.clone(), value_to_sdk(value)))
        .collect()
}

fn value_to_sdk(value: &Value) -> AttributeValue {
    match value {
        Value::S(text) => AttributeValue::S(text.clone()),
        Value::N(number) => AttributeValue::N(number.to_string()),
        Value::B(bytes) => AttributeValue::B(Blob::new(bytes.clone())),
        Value::Bool(truth) => AttributeValue::Bool(*truth),
        Value::Null => AttributeValue::Null(true),
        Value::L(elements) => AttributeValue::L(elements.iter().map(value_to_sdk).collect()),
        Value::M(entries) => AttributeValue::M(item_to_sdk(entries)),
        Value::Ss(texts) => AttributeValue::Ss(texts.iter().cloned().collect()),
        Value::Ns(numbers) => AttributeValue::Ns(numbers.iter().map(Number::to_string).collect()),
        Value::Bs(binaries) => AttributeValue::Bs(binaries.iter().cloned().map(Blob::new).collect()),
    }
}

/// The SDK has a type of its own for the values of a stream, with the same variants.
macro_rules! from_sdk {
    ($value:ident, $item_from:ident, $value_from:ident) => {
        pub(crate) fn $item_from(item: HashMap<String, $value>) -> Result<Item> {
            item.into_iter()
                .map(|(name, value)| Ok((name, $value_from(value)?)))
                .collect()
        }

        fn $value_from(value: $value) -> Result<Value> {
            Ok(match value {
                $value::S(text) => Value::S(text),
                $value::N(text) => Value::N(number(&text)?),
                $value::B(bytes) => Value::B(bytes.into_inner()),
                $value::Bool(truth) => Value::Bool(truth),
                $value::Null(_) => Value::Null,
                $value::L(elements) => Value::L(elements.into_iter().map($value_from).collect::<Result<_>>()?),
                $value::M(entries) => Value::M($item_from(entries)?),
                $value::Ss(texts) => Value::Ss(texts.into_iter().collect()),
                $value::Ns(texts) => Value::Ns(texts.iter().map(|text| number(text)).collect::<Result<_>>()?),
                $value::Bs(binaries) => Value::Bs(binaries.into_iter().map(Blob::into_inner).collect()),
                _ => return Err(StoreError::unavailable("an item has a value of an unknown type")),
            })
        }
    };
}

from_sdk!(AttributeValue, item_from_sdk, value_from_sdk);
from_sdk!(StreamValue, item_from_stream, value_from_stream);

pub(crate) fn items_from_sdk(items: Vec<SdkItem>) -> Result<Vec<Item>> {
    items.into_iter().map(item_from_sdk).collect()
}

fn number(text: &str) -> Result<Number> {
    let failed = |error| StoreError::unavailable(format!("an item holds `{text}`, which is no number: {error}"));
    text.parse().map_err(failed)
}

pub(crate) fn placeholder_names(placeholders: &Placeholders) -> Option<HashMap<String, String>> {
    let names = &placeholders.names;
    (!names.is_empty()).then(|| names.iter().map(|(name, text)| (name.clone(), text.clone())).collect())
}

pub(crate) fn placeholder_values(placeholders: &Placeholders) -> Option<SdkItem> {
    let values = &placeholders.values;
    (!values.is_empty()).then(|| {
        values
            .iter()
            .map(|(name, value)| (name.clone(), value_to_sdk(value)))
            .collect()
    })
}

/// Which units a call counts that reports only a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counts {
    Reads,
    Writes,
}

pub(crate) fn reported_consumed(counts: Counts, reports: impl IntoIterator<Item = ConsumedCapacity>) -> Consumed {
    let mut consumed = Consumed::default();
    for report in reports {
        let mut table = TableConsumed {
            table: report
                .table
                .as_ref()
                .map(|capacity| units(counts, capacity))
                .unwrap_or_default(),
            ..TableConsumed::default()
        };
        let indexes = [report.global_secondary_indexes, report.local_secondary_indexes];
        for (name, capacity) in indexes.into_iter().flatten().flatten() {
            table.indexes.insert(name, units(counts, &capacity));
        }
        consumed.tables.insert(report.table_name.unwrap_or_default(), table);
    }
    consumed
}

/// Transactions say which units are reads and which writes; other calls only give a sum.
fn units(counts: Counts, capacity: &Capacity) -> Units {
    if capacity.read_capacity_units.is_some() || capacity.write_capacity_units.is_some() {
        return Units::from_reported(capacity.read_capacity_units, capacity.write_capacity_units);
    }
    match counts {
        Counts::Reads => Units::from_reported(capacity.capacity_units, None),
        Counts::Writes => Units::from_reported(None, capacity.capacity_units),
    }
}
