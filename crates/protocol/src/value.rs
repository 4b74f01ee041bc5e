//! Attribute values as DynamoDB's JSON has them, with its words for those that are wrong.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json};
use singlet_item::limits::NESTING_LEVELS_MAX;
use singlet_item::{Item, Number, NumberError, Value};

use crate::fault::Fault;

/// One value, or why it is none.
pub(crate) fn attribute_value(json: &Json) -> Result<Value, Fault> {
    nested_value(json, 0)
}

/// The attributes of an item or a key.
pub(crate) fn item_of(members: &Map<String, Json>) -> Result<Item, Fault> {
    attributes(members, 0)
}

fn attributes(members: &Map<String, Json>, levels: usize) -> Result<BTreeMap<String, Value>, Fault> {
    members
        .iter()
        .map(|(name, json)| Ok((name.clone(), nested_value(json, levels)?)))
        .collect()
}

fn nested_value(json: &Json, levels: usize) -> Result<Value, Fault> {
    let Json::Object(members) = json else {
        return Err(Fault::serialization_of(json, "AttributeValue"));
    };
    let mut known = members.iter().filter(|(name, value)| is_type(name) && !value.is_null());
    let (Some((name, given)), more) = (known.next(), known.next()) else {
        return Err(Fault::validation_fault(
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        ));
    };
    if more.is_some() {
        return Err(Fault::validation_fault(
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported \
             datatypes",
        ));
    }
    typed_value(name, given, levels)
}

fn is_type(name: &str) -> bool {
    matches!(name, "S" | "N" | "B" | "BOOL" | "NULL" | "L" | "M" | "SS" | "NS" | "BS")
}

fn typed_value(name: &str, given: &Json, levels: usize) -> Result<Value, Fault> {
    Ok(match name {
        "S" => Value::S(text(given)?.to_owned()),
        "N" => Value::N(number_of(text(given)?)?),
        "B" => Value::B(binary(text(given)?)?),
        "BOOL" => Value::Bool(flag(given)?),
        "NULL" if flag(given)? => Value::Null,
        "NULL" => {
            return Err(invalid("Null attribute value types must have the value of true"));
        }
        "L" => {
            let levels = deeper(levels)?;
            let elements = list(given)?.iter().map(|element| nested_value(element, levels));
            Value::L(elements.collect::<Result<_, _>>()?)
        }
        "M" => {
            let Json::Object(entries) = given else {
                return Err(Fault::serialization_of(given, "Map"));
            };
            Value::M(attributes(entries, deeper(levels)?)?)
        }
        "SS" => Value::Ss(set(given, "An string set  may not be empty", |text| {
            Ok(text.to_owned())
        })?),
        "NS" => Value::Ns(set(given, "An number set  may not be empty", number_of)?),
        _ => Value::Bs(set(given, "Binary sets should not be empty", binary)?),
    })
}

fn invalid(words: impl std::fmt::Display) -> Fault {
    Fault::validation_fault(format!("One or more parameter values were invalid: {words}"))
}

/// What a value that is nested too deep is refused with.
pub(crate) const NESTED_TOO_DEEP: &str = "Nesting Levels have exceeded supported limits";

fn deeper(levels: usize) -> Result<usize, Fault> {
    // What stands inside counts as a level too.
    match levels + 1 < NESTING_LEVELS_MAX {
        true => Ok(levels + 1),
        false => Err(Fault::validation_fault(NESTED_TOO_DEEP)),
    }
}

fn text(json: &Json) -> Result<&str, Fault> {
    match json {
        Json::String(text) => Ok(text),
        other => Err(Fault::serialization_of(other, "String")),
    }
}

fn flag(json: &Json) -> Result<bool, Fault> {
    match json {
        Json::Bool(flag) => Ok(*flag),
        other => Err(Fault::serialization_of(other, "Boolean")),
    }
}

fn list(json: &Json) -> Result<&[Json], Fault> {
    match json {
        Json::Array(elements) => Ok(elements),
        Json::Object(_) => Err(Fault::serialization_fault(
            "Start of structure or map found where not expected",
        )),
        _ => Err(Fault::serialization_fault("Unexpected field type")),
    }
}

/// A number, or DynamoDB's words for why it is none.
pub(crate) fn number_of(text: &str) -> Result<Number, Fault> {
    text.parse().map_err(|error| {
        Fault::validation_fault(match error {
            NumberError::TooManyDigits => "Attempting to store more than 38 significant digits in a Number".to_owned(),
            NumberError::TooLarge => {
                "Number overflow. Attempting to store a number with magnitude larger than supported range".to_owned()
            }
            NumberError::TooSmall => {
                "Number underflow. Attempting to store a number with magnitude smaller than supported range".to_owned()
            }
            _ if text.is_empty() => "The parameter cannot be converted to a numeric value".to_owned(),
            _ => format!("The parameter cannot be converted to a numeric value: {text}"),
        })
    })
}

fn binary(text: &str) -> Result<Vec<u8>, Fault> {
    STANDARD
        .decode(text)
        .map_err(|_| Fault::serialization_fault("Base64 encoded string can not be decoded"))
}

fn set<T: Ord>(json: &Json, when_empty: &str, read: impl Fn(&str) -> Result<T, Fault>) -> Result<BTreeSet<T>, Fault> {
    let texts: Vec<&str> = list(json)?.iter().map(text).collect::<Result<_, _>>()?;
    if texts.is_empty() {
        return Err(invalid(when_empty));
    }
    let members: BTreeSet<T> = texts.iter().map(|text| read(text)).collect::<Result<_, _>>()?;
    match members.len() == texts.len() {
        true => Ok(members),
        false => Err(invalid(format!(
            "Input collection [{}] contains duplicates.",
            texts.join(", ")
        ))),
    }
}

/// A value as DynamoDB's JSON.
pub(crate) fn value_json(value: &Value) -> Json {
    // A value has no key that is no string, and nothing else can fail.
    serde_json::to_value(value).unwrap_or_default()
}

/// An item as DynamoDB's JSON.
pub(crate) fn item_json(item: &Item) -> Json {
    let members = item.iter().map(|(name, value)| (name.clone(), value_json(value)));
    Json::Object(members.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(json: Json) -> String {
        attribute_value(&json).unwrap_err().message().to_owned()
    }

    #[test]
    fn every_type_goes_both_ways() {
        for json in [
            json!({"S": ""}),
            json!({"N": "-1.5"}),
            json!({"B": "AAH/"}),
            json!({"BOOL": false}),
            json!({"NULL": true}),
            json!({"L": [{"S": "a"}, {"L": []}]}),
            json!({"M": {"a": {"N": "1"}}}),
            json!({"SS": ["a", "b"]}),
            json!({"NS": ["1", "2"]}),
            json!({"BS": ["AA=="]}),
        ] {
            assert_eq!(value_json(&attribute_value(&json).unwrap()), json);
        }
    }

    #[test]
    fn what_is_wrong_is_said_in_its_words() {
        assert!(refused(json!({})).starts_with("Supplied AttributeValue is empty"));
        assert!(refused(json!({"X": "a"})).starts_with("Supplied AttributeValue is empty"));
        assert!(refused(json!({"S": "a", "N": "1"})).contains("more than one datatypes"));
        assert!(refused(json!({"N": "1e"})).ends_with("numeric value: 1e"));
        assert!(refused(json!({"N": "1E126"})).starts_with("Number overflow"));
        assert!(refused(json!({"N": "1E-131"})).starts_with("Number underflow"));
        assert!(refused(json!({"SS": ["a", "a"]})).ends_with("Input collection [a, a] contains duplicates."));
        assert!(refused(json!({"NS": ["1", "1.0"]})).contains("contains duplicates"));
        assert!(refused(json!({"S": 1})).starts_with("NUMBER_VALUE cannot"));
    }

    #[test]
    fn thirty_one_levels_nest_around_a_value_and_one_more_does_not() {
        let nested = |levels: usize| (0..levels).fold(json!({"S": "x"}), |inner, _| json!({"L": [inner]}));
        assert!(attribute_value(&nested(NESTING_LEVELS_MAX - 1)).is_ok());
        assert!(refused(nested(NESTING_LEVELS_MAX)).contains("Nesting Levels"));
    }
}
