//! DynamoDB JSON, both ways.

use super::Value;
use crate::Number;
use crate::limits::NESTING_LEVELS_MAX;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        let name = self.type_name();
        match self {
            Self::S(text) => map.serialize_entry(name, text)?,
            Self::N(number) => map.serialize_entry(name, &number.to_string())?,
            Self::B(bytes) => map.serialize_entry(name, &STANDARD.encode(bytes))?,
            Self::Bool(truth) => map.serialize_entry(name, truth)?,
            Self::Null => map.serialize_entry(name, &true)?,
            Self::L(elements) => map.serialize_entry(name, elements)?,
            Self::M(entries) => map.serialize_entry(name, entries)?,
            Self::Ss(members) => map.serialize_entry(name, members)?,
            Self::Ns(members) => {
                let members: Vec<String> = members.iter().map(Number::to_string).collect();
                map.serialize_entry(name, &members)?;
            }
            Self::Bs(members) => {
                let members: Vec<String> = members.iter().map(|bytes| STANDARD.encode(bytes)).collect();
                map.serialize_entry(name, &members)?;
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Nested { levels: 0 }.deserialize(deserializer)
    }
}

/// Reads a value that stands inside `levels` lists and maps, so that hostile input cannot exhaust
/// the stack, whatever the format.
#[derive(Clone, Copy)]
struct Nested {
    levels: usize,
}

impl Nested {
    fn deeper<E: Error>(self) -> Result<Self, E> {
        if self.levels == NESTING_LEVELS_MAX {
            let message = format!("lists and maps are nested more than {NESTING_LEVELS_MAX} levels deep");
            return Err(E::custom(message));
        }
        Ok(Self {
            levels: self.levels + 1,
        })
    }
}

impl<'de> DeserializeSeed<'de> for Nested {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Nested {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an attribute value such as {\"S\": \"text\"}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let Some(name) = map.next_key::<String>()? else {
            return Err(A::Error::custom(
                "an attribute value names its type, as in {\"S\": \"text\"}",
            ));
        };
        let value = match name.as_str() {
            "S" => Value::S(map.next_value()?),
            "N" => Value::N(parse_number(&map.next_value::<String>()?)?),
            "B" => Value::B(parse_binary(&map.next_value::<String>()?)?),
            "BOOL" => Value::Bool(map.next_value()?),
            "NULL" if map.next_value()? => Value::Null,
            "NULL" => return Err(A::Error::custom("a null value is spelled {\"NULL\": true}")),
            "L" => Value::L(map.next_value_seed(List(self.deeper()?))?),
            "M" => Value::M(map.next_value_seed(Map(self.deeper()?))?),
            "SS" => Value::Ss(members(map.next_value()?, Ok)?),
            "NS" => Value::Ns(members(map.next_value()?, |text| parse_number(&text))?),
            "BS" => Value::Bs(members(map.next_value()?, |text| parse_binary(&text))?),
            _ => {
                return Err(A::Error::custom(format!("`{name}` is not a type of attribute values")));
            }
        };
        match map.next_key::<String>()? {
            None => Ok(value),
            Some(_) => Err(A::Error::custom("an attribute value has exactly one type")),
        }
    }
}

struct List(Nested);

impl<'de> DeserializeSeed<'de> for List {
    type Value = Vec<Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<Value>, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for List {
    type Value = Vec<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of attribute values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Vec<Value>, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = sequence.next_element_seed(self.0)? {
            elements.push(element);
        }
        Ok(elements)
    }
}

struct Map(Nested);

impl<'de> DeserializeSeed<'de> for Map {
    type Value = BTreeMap<String, Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Map {
    type Value = BTreeMap<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of attribute values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = BTreeMap::new();
        while let Some(name) = map.next_key::<String>()? {
            let value = map.next_value_seed(self.0)?;
            if let Some(_replaced) = entries.insert(name, value) {
                return Err(A::Error::custom("a map has an entry twice"));
            }
        }
        Ok(entries)
    }
}

/// A set, which is neither empty nor has a member twice.
fn members<T: Ord, E: Error>(texts: Vec<String>, parse: impl Fn(String) -> Result<T, E>) -> Result<BTreeSet<T>, E> {
    let count = texts.len();
    let members = texts.into_iter().map(parse).collect::<Result<BTreeSet<T>, E>>()?;
    match members.len() {
        0 => Err(E::custom("a set has at least one member")),
        distinct if distinct < count => Err(E::custom("a set has a member twice")),
        _ => Ok(members),
    }
}

fn parse_number<E: Error>(text: &str) -> Result<Number, E> {
    text.parse().map_err(E::custom)
}

fn parse_binary<E: Error>(text: &str) -> Result<Vec<u8>, E> {
    STANDARD
        .decode(text)
        .map_err(|_| E::custom("a binary value is spelled in base64 with padding"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Item;

    fn read(json: &str) -> Result<Value, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn every_type_reads_and_writes_dynamodb_json() {
        let cases = [
            r#"{"S":"text"}"#,
            r#"{"N":"-1.5"}"#,
            r#"{"B":"AAH/"}"#,
            r#"{"BOOL":false}"#,
            r#"{"NULL":true}"#,
            r#"{"L":[{"S":"a"},{"L":[]}]}"#,
            r#"{"M":{"a":{"N":"1"},"b":{"M":{}}}}"#,
            r#"{"SS":["a","b"]}"#,
            r#"{"NS":["1","20"]}"#,
            r#"{"BS":["AA==","/w=="]}"#,
        ];
        for json in cases {
            assert_eq!(serde_json::to_string(&read(json).unwrap()).unwrap(), json);
        }
    }

    #[test]
    fn an_item_is_a_map_of_values() {
        let item: Item = serde_json::from_str(r#"{"PK":{"S":"USER#1"},"n":{"N":"1.0"}}"#).unwrap();
        assert_eq!(item["PK"], Value::from("USER#1"));
        assert_eq!(
            serde_json::to_string(&item).unwrap(),
            r#"{"PK":{"S":"USER#1"},"n":{"N":"1"}}"#
        );
    }

    #[test]
    fn what_dynamodb_refuses_is_refused() {
        let cases = [
            ("{}", "names its type"),
            (r#"{"X":"a"}"#, "`X` is not a type"),
            (r#"{"S":"a","N":"1"}"#, "exactly one type"),
            (r#"{"N":1}"#, "invalid type"),
            (r#"{"N":"one"}"#, "`one` is not a number"),
            (r#"{"B":"?"}"#, "base64"),
            (r#"{"NULL":false}"#, "spelled"),
            (r#"{"SS":[]}"#, "at least one member"),
            (r#"{"SS":["a","a"]}"#, "a member twice"),
            (r#"{"NS":["1","1.0"]}"#, "a member twice"),
            (r#"{"M":{"a":{"N":"1"},"a":{"N":"1"}}}"#, "an entry twice"),
            (r#""text""#, "expected an attribute value"),
        ];
        for (json, message) in cases {
            let error = read(json).unwrap_err().to_string();
            assert!(error.contains(message), "{json}: {error}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |levels: usize| format!("{}{{\"S\":\"a\"}}{}", "{\"L\":[".repeat(levels), "]}".repeat(levels));
        assert!(read(&nested(32)).is_ok());
        assert!(read(&nested(33)).unwrap_err().to_string().contains("32 levels"));
    }
}
