//! The caller's types into values. What has no exact place in a value is refused.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use serde::ser::{self, Error as _, Serialize, Serializer};
use singlet_item::{Number, Value};

/// A value of the caller's as an attribute value. Nothing (`None`, `()`) is null.
///
/// # Errors
///
/// Where a number is infinite or has more than 38 digits, or a map has names that are no text.
pub fn to_value(of: &impl Serialize) -> Result<Value, Unstorable> {
    of.serialize(Into)
}

/// Why there is no attribute value for something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unstorable(String);

impl Display for Unstorable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Unstorable {}

impl ser::Error for Unstorable {
    fn custom<T: Display>(reason: T) -> Self {
        Unstorable(reason.to_string())
    }
}

struct Into;

fn number(of: impl Display) -> Result<Value, Unstorable> {
    let text = of.to_string();
    let number: Result<Number, _> = text.parse();
    number
        .map(Value::N)
        .map_err(|error| Unstorable::custom(format!("`{text}` is no number here: {error}")))
}

/// A value under the name of its variant.
fn tagged(variant: &str, value: Value) -> Value {
    Value::M(BTreeMap::from([(variant.to_owned(), value)]))
}

macro_rules! numbers {
    ($($method:ident: $type:ty),*) => { $(
        fn $method(self, number_value: $type) -> Result<Value, Unstorable> {
            number(number_value)
        }
    )* };
}

impl Serializer for Into {
    type Ok = Value;
    type Error = Unstorable;
    type SerializeSeq = ListBuilder;
    type SerializeTuple = ListBuilder;
    type SerializeTupleStruct = ListBuilder;
    type SerializeTupleVariant = ListBuilder;
    type SerializeMap = MapBuilder;
    type SerializeStruct = MapBuilder;
    type SerializeStructVariant = MapBuilder;

    numbers! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128,
        serialize_f32: f32, serialize_f64: f64
    }

    fn serialize_bool(self, truth: bool) -> Result<Value, Unstorable> {
        Ok(Value::Bool(truth))
    }

    fn serialize_char(self, char: char) -> Result<Value, Unstorable> {
        Ok(Value::S(char.to_string()))
    }

    fn serialize_str(self, text: &str) -> Result<Value, Unstorable> {
        Ok(Value::S(text.to_owned()))
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Value, Unstorable> {
        Ok(Value::B(bytes.to_vec()))
    }

    fn serialize_none(self) -> Result<Value, Unstorable> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, Unstorable> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value, Unstorable> {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Value, Unstorable> {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<Value, Unstorable> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<Value, Unstorable> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Value, Unstorable> {
        Ok(tagged(variant, value.serialize(self)?))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<ListBuilder, Unstorable> {
        Ok(ListBuilder::default())
    }

    fn serialize_tuple(self, _: usize) -> Result<ListBuilder, Unstorable> {
        Ok(ListBuilder::default())
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<ListBuilder, Unstorable> {
        Ok(ListBuilder::default())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<ListBuilder, Unstorable> {
        Ok(ListBuilder {
            variant: Some(variant),
            ..ListBuilder::default()
        })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<MapBuilder, Unstorable> {
        Ok(MapBuilder::default())
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<MapBuilder, Unstorable> {
        Ok(MapBuilder::default())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<MapBuilder, Unstorable> {
        Ok(MapBuilder {
            variant: Some(variant),
            ..MapBuilder::default()
        })
    }
}

#[derive(Default)]
struct ListBuilder {
    elements: Vec<Value>,
    variant: Option<&'static str>,
}

impl ListBuilder {
    fn add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unstorable> {
        self.elements.push(value.serialize(Into)?);
        Ok(())
    }

    fn value(self) -> Value {
        let list = Value::L(self.elements);
        match self.variant {
            Some(variant) => tagged(variant, list),
            None => list,
        }
    }
}

macro_rules! sequences {
    ($($trait:ident::$method:ident),*) => { $(
        impl ser::$trait for ListBuilder {
            type Ok = Value;
            type Error = Unstorable;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unstorable> {
                self.add(value)
            }

            fn end(self) -> Result<Value, Unstorable> {
                Ok(self.value())
            }
        }
    )* };
}

sequences!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

#[derive(Default)]
struct MapBuilder {
    entries: BTreeMap<String, Value>,
    key: Option<String>,
    variant: Option<&'static str>,
}

impl MapBuilder {
    fn value(self) -> Value {
        let map = Value::M(self.entries);
        match self.variant {
            Some(variant) => tagged(variant, map),
            None => map,
        }
    }
}

impl ser::SerializeMap for MapBuilder {
    type Ok = Value;
    type Error = Unstorable;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Unstorable> {
        self.key = Some(match key.serialize(Into)? {
            Value::S(text) => text,
            Value::N(number) => number.to_string(),
            _ => return Err(Unstorable::custom("the names of a map are text")),
        });
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unstorable> {
        let value = value.serialize(Into)?;
        self.entries.extend(self.key.take().map(|key| (key, value)));
        Ok(())
    }

    fn end(self) -> Result<Value, Unstorable> {
        Ok(self.value())
    }
}

macro_rules! structs {
    ($($trait:ident),*) => { $(
        impl ser::$trait for MapBuilder {
            type Ok = Value;
            type Error = Unstorable;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Unstorable> {
                let value = value.serialize(Into)?;
                self.entries.insert(name.to_owned(), value);
                Ok(())
            }

            fn end(self) -> Result<Value, Unstorable> {
                Ok(self.value())
            }
        }
    )* };
}

structs!(SerializeStruct, SerializeStructVariant);
