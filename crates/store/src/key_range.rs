//! Which part of an item collection a query reads.

use serde::{Deserialize, Serialize};
use singlet_item::Value;

/// Which part of one item collection a query reads, in terms of the key of a table or an index.
///
/// An index whose key has several partition or sort attributes takes one entry for each: every partition attribute is
/// given, and sort attributes are given from the left, where only the last may have another range than
/// [`SortRange::Equal`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeyRange {
    /// The partition attributes with their values, one to four.
    pub partition: Vec<(String, Value)>,
    /// The sort attributes with their ranges, none to four. With none, the whole collection is read.
    pub sort: Vec<(String, SortRange)>,
}

/// A range of one sort attribute.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SortRange {
    /// Exactly that value.
    Equal(Value),
    /// Below the value.
    Less(Value),
    /// Up to the value, included.
    LessOrEqual(Value),
    /// Above the value.
    Greater(Value),
    /// From the value on, included.
    GreaterOrEqual(Value),
    /// From the first to the second, both included. An engine may refuse a first above the second.
    Between(Value, Value),
    /// Strings or binaries that start so.
    BeginsWith(Value),
}

impl KeyRange {
    /// The whole collection under one partition attribute.
    pub fn partition(attribute: impl Into<String>, value: impl Into<Value>) -> Self {
        Self {
            partition: vec![(attribute.into(), value.into())],
            sort: Vec::new(),
        }
    }

    /// Also bound by a further partition attribute of a multi-attribute key.
    #[must_use]
    pub fn and_partition(mut self, attribute: impl Into<String>, value: impl Into<Value>) -> Self {
        self.partition.push((attribute.into(), value.into()));
        self
    }

    /// Narrowed by the next sort attribute.
    #[must_use]
    pub fn sort(mut self, attribute: impl Into<String>, range: SortRange) -> Self {
        self.sort.push((attribute.into(), range));
        self
    }
}

impl SortRange {
    /// Exactly that value.
    pub fn equal(value: impl Into<Value>) -> Self {
        Self::Equal(value.into())
    }

    /// Below the value.
    pub fn less(value: impl Into<Value>) -> Self {
        Self::Less(value.into())
    }

    /// Up to the value, included.
    pub fn less_or_equal(value: impl Into<Value>) -> Self {
        Self::LessOrEqual(value.into())
    }

    /// Above the value.
    pub fn greater(value: impl Into<Value>) -> Self {
        Self::Greater(value.into())
    }

    /// From the value on, included.
    #[cfg(any(test, feature = "conformance"))]
    pub(crate) fn greater_or_equal(value: impl Into<Value>) -> Self {
        Self::GreaterOrEqual(value.into())
    }

    /// From the first to the second, both included.
    pub fn between(low: impl Into<Value>, high: impl Into<Value>) -> Self {
        Self::Between(low.into(), high.into())
    }

    /// Strings or binaries that start so.
    pub fn begins_with(prefix: impl Into<Value>) -> Self {
        Self::BeginsWith(prefix.into())
    }
}
