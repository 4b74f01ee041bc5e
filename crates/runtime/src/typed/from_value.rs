//! Values into the caller's types. Numbers are exact: one that does not fit its type is an error, not another number.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use singlet_item::{Number, Value};

/// A value as a type of the caller's.
///
/// # Errors
///
/// Where it is not of the type, with the place in it.
pub fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, TypeMisfit> {
    T::deserialize(From(value))
}

/// Why a value is not of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeMisfit {
    /// Where, as a JSON pointer; empty for the whole.
    pub pointer: String,
    /// Why.
    pub reason: String,
}

impl TypeMisfit {
    fn under(mut self, step: impl fmt::Display) -> Self {
        let step = step.to_string().replace('~', "~0").replace('/', "~1");
        self.pointer = format!("/{step}{}", self.pointer);
        self
    }
}

impl fmt::Display for TypeMisfit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.is_empty() {
            true => out.write_str(&self.reason),
            false => write!(out, "`{}`: {}", self.pointer, self.reason),
        }
    }
}

impl std::error::Error for TypeMisfit {}

impl serde::de::Error for TypeMisfit {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        TypeMisfit {
            pointer: String::new(),
            reason: reason.to_string(),
        }
    }
}

#[derive(Clone, Copy)]
struct From<'a>(&'a Value);

/// The number as a double, where that is the same number in its shortest spelling.
fn double(number: Number) -> Option<f64> {
    let double: f64 = number.to_string().parse().ok()?;
    let again: Number = double.to_string().parse().ok()?;
    (again == number).then_some(double)
}

fn too_wide<T>(number: Number) -> Result<T, TypeMisfit> {
    Err(TypeMisfit::custom(format!(
        "`{number}` does not fit exactly: take it as text"
    )))
}

impl<'de> Deserializer<'de> for From<'_> {
    type Error = TypeMisfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeMisfit> {
        match self.0 {
            Value::S(text) => visitor.visit_str(text),
            Value::N(number) => match (number.to_i64(), number.to_u64(), double(*number)) {
                (Some(integer), _, _) => visitor.visit_i64(integer),
                (_, Some(integer), _) => visitor.visit_u64(integer),
                (_, _, Some(double)) if !number.is_integer() => visitor.visit_f64(double),
                _ => visitor.visit_string(number.to_string()),
            },
            Value::B(bytes) => visitor.visit_bytes(bytes),
            Value::Bool(truth) => visitor.visit_bool(*truth),
            Value::Null => visitor.visit_unit(),
            Value::L(elements) => sequence(elements.iter().map(Element::Value), visitor),
            Value::Ss(words) => sequence(words.iter().map(|word| Element::Own(Value::S(word.clone()))), visitor),
            Value::Ns(numbers) => sequence(numbers.iter().map(|number| Element::Own(Value::N(*number))), visitor),
            Value::Bs(all) => sequence(all.iter().map(|bytes| Element::Own(Value::B(bytes.clone()))), visitor),
            Value::M(entries) => visitor.visit_map(MapEntries {
                entries: entries.iter(),
                value: None,
            }),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeMisfit> {
        match self.0 {
            Value::N(number) => match double(*number) {
                Some(double) => visitor.visit_f64(double),
                None => too_wide(*number),
            },
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeMisfit> {
        let Value::N(number) = self.0 else {
            return self.deserialize_any(visitor);
        };
        let single = number.to_string().parse::<f32>().ok();
        let again = single.and_then(|single| single.to_string().parse::<Number>().ok());
        match (single, again) {
            (Some(single), Some(again)) if again == *number => visitor.visit_f32(single),
            _ => too_wide(*number),
        }
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeMisfit> {
        match self.0 {
            Value::N(number) => match number.to_string().parse().ok() {
                Some(integer) => visitor.visit_i128(integer),
                None => too_wide(*number),
            },
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeMisfit> {
        match self.0 {
            Value::N(number) => match number.to_string().parse().ok() {
                Some(integer) => visitor.visit_u128(integer),
                None => too_wide(*number),
            },
            _ => self.deserialize_any(visitor),
        }
    }

    /// A number is also its decimal text: so types of exact numbers take it.
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeMisfit> {
        match self.0 {
            Value::N(number) => visitor.visit_string(number.to_string()),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeMisfit> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeMisfit> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, TypeMisfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TypeMisfit> {
        match self.0 {
            Value::S(word) => visitor.visit_enum(Variant { word, value: None }),
            Value::M(entries) if entries.len() == 1 => match entries.iter().next() {
                Some((word, value)) => visitor.visit_enum(Variant {
                    word,
                    value: Some(value),
                }),
                None => self.deserialize_any(visitor),
            },
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 char bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

enum Element<'a> {
    Value(&'a Value),
    /// A member of a set, which is no value by itself.
    Own(Value),
}

fn sequence<'a, 'de, V: Visitor<'de>>(
    elements: impl Iterator<Item = Element<'a>>,
    visitor: V,
) -> Result<V::Value, TypeMisfit> {
    visitor.visit_seq(ListElements { elements, at: 0 })
}

struct ListElements<I> {
    elements: I,
    at: usize,
}

impl<'a, 'de, I: Iterator<Item = Element<'a>>> SeqAccess<'de> for ListElements<I> {
    type Error = TypeMisfit;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, TypeMisfit> {
        let Some(element) = self.elements.next() else {
            return Ok(None);
        };
        let value = match &element {
            Element::Value(value) => value,
            Element::Own(value) => value,
        };
        let made = seed.deserialize(From(value)).map_err(|misfit| misfit.under(self.at))?;
        self.at += 1;
        Ok(Some(made))
    }
}

struct MapEntries<'a> {
    entries: std::collections::btree_map::Iter<'a, String, Value>,
    value: Option<(&'a str, &'a Value)>,
}

impl<'de> MapAccess<'de> for MapEntries<'_> {
    type Error = TypeMisfit;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, TypeMisfit> {
        let Some((name, value)) = self.entries.next() else {
            return Ok(None);
        };
        self.value = Some((name, value));
        seed.deserialize(EntryName(name)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, TypeMisfit> {
        let Some((name, value)) = self.value.take() else {
            return Err(TypeMisfit::custom("a value is asked for before its name"));
        };
        seed.deserialize(From(value)).map_err(|misfit| misfit.under(name))
    }
}

/// The name of an entry, which may be the spelling of a number.
struct EntryName<'a>(&'a str);

macro_rules! spelled {
    ($($method:ident: $visit:ident),*) => { $(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeMisfit> {
            match self.0.parse() {
                Ok(spelled) => visitor.$visit(spelled),
                Err(_) => visitor.visit_str(self.0),
            }
        }
    )* };
}

impl<'de> Deserializer<'de> for EntryName<'_> {
    type Error = TypeMisfit;

    spelled! {
        deserialize_bool: visit_bool,
        deserialize_i8: visit_i8, deserialize_i16: visit_i16, deserialize_i32: visit_i32, deserialize_i64: visit_i64,
        deserialize_u8: visit_u8, deserialize_u16: visit_u16, deserialize_u32: visit_u32, deserialize_u64: visit_u64
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypeMisfit> {
        visitor.visit_str(self.0)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, TypeMisfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TypeMisfit> {
        visitor.visit_enum(StrDeserializer::new(self.0))
    }

    forward_to_deserialize_any! {
        i128 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

struct Variant<'a> {
    word: &'a str,
    value: Option<&'a Value>,
}

impl<'a, 'de> EnumAccess<'de> for Variant<'a> {
    type Error = TypeMisfit;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), TypeMisfit> {
        let variant = seed.deserialize(StrDeserializer::<TypeMisfit>::new(self.word))?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = TypeMisfit;

    fn unit_variant(self) -> Result<(), TypeMisfit> {
        match self.value {
            None | Some(Value::Null) => Ok(()),
            Some(_) => Err(TypeMisfit::invalid_type(Unexpected::NewtypeVariant, &"a word alone")),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, TypeMisfit> {
        let value = From(self.value.unwrap_or(&Value::Null));
        seed.deserialize(value).map_err(|misfit| misfit.under(self.word))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, TypeMisfit> {
        let value = From(self.value.unwrap_or(&Value::Null));
        value.deserialize_any(visitor).map_err(|misfit| misfit.under(self.word))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, TypeMisfit> {
        let value = From(self.value.unwrap_or(&Value::Null));
        value.deserialize_any(visitor).map_err(|misfit| misfit.under(self.word))
    }
}
