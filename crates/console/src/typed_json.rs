//! Values as DynamoDB writes them in JSON, each with its type: numbers are texts, so that no digit is lost on the way.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json, json};
use singlet_item::{Item, Number, Value};
use singlet_store::{Consumed, Units};

use crate::answer::ConsoleError;

/// A value with its type.
pub(crate) fn typed_value(value: &Value) -> Json {
    match value {
        Value::S(text) => json!({"S": text}),
        Value::N(number) => json!({"N": number.to_string()}),
        Value::B(bytes) => json!({"B": STANDARD.encode(bytes)}),
        Value::Bool(truth) => json!({"BOOL": truth}),
        Value::Null => json!({"NULL": true}),
        Value::L(list) => json!({"L": list.iter().map(typed_value).collect::<Vec<_>>()}),
        Value::M(map) => json!({"M": typed_map(map)}),
        Value::Ss(set) => json!({"SS": set}),
        Value::Ns(set) => json!({"NS": set.iter().map(ToString::to_string).collect::<Vec<_>>()}),
        Value::Bs(set) => json!({"BS": set.iter().map(|bytes| STANDARD.encode(bytes)).collect::<Vec<_>>()}),
    }
}

/// An item, a row or a map: the type of each value beside it.
pub(crate) fn typed_map(map: &Item) -> Json {
    let entries = map.iter().map(|(name, value)| (name.clone(), typed_value(value)));
    Json::Object(entries.collect::<Map<String, Json>>())
}

/// The attributes of a key: texts, numbers and bytes.
pub(crate) fn key_from_typed(json: &Json) -> Result<Item, ConsoleError> {
    let wrong = || ConsoleError::invalid_request("a key is an object of `{\"S\": …}`, `{\"N\": …}` or `{\"B\": …}`");
    let entries = json.as_object().ok_or_else(wrong)?;
    let mut key = Item::new();
    for (name, value) in entries {
        let value = value.as_object().filter(|value| value.len() == 1).ok_or_else(wrong)?;
        let (kind, text) = value.iter().next().ok_or_else(wrong)?;
        let text = text.as_str().ok_or_else(wrong)?;
        let value = match kind.as_str() {
            "S" => Value::S(text.to_owned()),
            "N" => Value::N(text.parse::<Number>().map_err(|_| wrong())?),
            "B" => Value::B(STANDARD.decode(text).map_err(|_| wrong())?),
            _ => return Err(wrong()),
        };
        key.insert(name.clone(), value);
    }
    Ok(key)
}

/// What was consumed, in all and by place.
pub(crate) fn consumed_json(consumed: &Consumed) -> Json {
    let total = consumed.total_units();
    let mut places = Vec::new();
    for table in consumed.tables.values() {
        places.push(units_json("table", table.table));
        let indexes = table.indexes.iter();
        places.extend(indexes.map(|(name, units)| units_json(name, *units)));
    }
    json!({"read": read_units(total), "write": total.write.get(), "places": places})
}

/// Read units as a number: they come in halves.
pub(crate) fn read_units(units: Units) -> f64 {
    units.read.half_count() as f64 / 2.0
}

fn units_json(place: &str, units: Units) -> Json {
    json!({"place": place, "read": read_units(units), "write": units.write.get()})
}
