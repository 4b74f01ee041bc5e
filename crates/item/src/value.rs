//! Attribute values and items.

mod json;

use crate::Number;
use std::collections::{BTreeMap, BTreeSet};

/// The attributes of one row, by name.
pub type Item = BTreeMap<String, Value>;

/// One attribute value. Serialised, it is DynamoDB JSON: `{"S": "text"}`, `{"N": "1.5"}`, binary in
/// base64.
///
/// Two values of one scalar type compare as DynamoDB sorts them in a key: strings and binaries by
/// bytes, numbers by value. Across types the order means nothing beyond being total.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// A string.
    S(String),
    /// A number.
    N(Number),
    /// Bytes.
    B(Vec<u8>),
    /// A boolean.
    Bool(bool),
    /// The null value, which is stored, unlike an absent attribute.
    Null,
    /// A list.
    L(Vec<Value>),
    /// A map.
    M(BTreeMap<String, Value>),
    /// A set of strings. DynamoDB stores no empty set.
    Ss(BTreeSet<String>),
    /// A set of numbers. DynamoDB stores no empty set.
    Ns(BTreeSet<Number>),
    /// A set of binaries. DynamoDB stores no empty set.
    Bs(BTreeSet<Vec<u8>>),
}

impl Value {
    /// DynamoDB's name of the type: `S`, `N`, `B`, `BOOL`, `NULL`, `L`, `M`, `SS`, `NS` or `BS`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::S(_) => "S",
            Self::N(_) => "N",
            Self::B(_) => "B",
            Self::Bool(_) => "BOOL",
            Self::Null => "NULL",
            Self::L(_) => "L",
            Self::M(_) => "M",
            Self::Ss(_) => "SS",
            Self::Ns(_) => "NS",
            Self::Bs(_) => "BS",
        }
    }

    /// The text, if it is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::S(text) => Some(text),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn as_number(&self) -> Option<Number> {
        match self {
            Self::N(number) => Some(*number),
            _ => None,
        }
    }

    /// The boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// The bytes, if it is a binary.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::B(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The elements, if it is a list.
    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Self::L(elements) => Some(elements),
            _ => None,
        }
    }

    /// The entries, if it is a map.
    pub fn as_map(&self) -> Option<&BTreeMap<String, Value>> {
        match self {
            Self::M(entries) => Some(entries),
            _ => None,
        }
    }

    /// Whether it is the stored null.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::S(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::S(text)
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Self {
        Self::N(number)
    }
}

impl From<i64> for Value {
    fn from(integer: i64) -> Self {
        Self::N(Number::from(integer))
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<Vec<Value>> for Value {
    fn from(elements: Vec<Value>) -> Self {
        Self::L(elements)
    }
}

impl From<BTreeMap<String, Value>> for Value {
    fn from(entries: BTreeMap<String, Value>) -> Self {
        Self::M(entries)
    }
}
