//! What must hold of an item, as a tree.

use crate::Path;
use serde::{Deserialize, Serialize};
use singlet_item::Value;

/// What must hold of an item before it is written, or for it to pass a filter.
///
/// A comparison, [`Between`](Self::Between), [`In`](Self::In) or a function on an attribute that is absent does not
/// hold, with one exception: [`Comparison::NotEqual`] does. A comparison between different types likewise holds only
/// if it is `NotEqual`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Condition {
    /// All hold. It may not be empty.
    And(Vec<Condition>),
    /// At least one holds. It may not be empty.
    Or(Vec<Condition>),
    /// It does not hold.
    Not(Box<Condition>),
    /// Two operands compare.
    Compare {
        /// The left side.
        left: Operand,
        /// How they compare.
        comparison: Comparison,
        /// The right side.
        right: Operand,
    },
    /// An operand lies between two others, both ends included.
    Between {
        /// What lies between.
        operand: Operand,
        /// The lower end.
        low: Operand,
        /// The upper end.
        high: Operand,
    },
    /// An operand equals one of up to 100 others.
    In {
        /// What equals one of them.
        operand: Operand,
        /// The others, at least one.
        options: Vec<Operand>,
    },
    /// There is a value at the path, be it the stored null.
    Exists(Path),
    /// There is no value at the path.
    NotExists(Path),
    /// The value at the path has the type.
    HasType(Path, AttributeType),
    /// The string or binary on the left starts with that on the right.
    BeginsWith(Operand, Operand),
    /// The string on the left contains that on the right, or the set or list has it as an element.
    Contains(Operand, Operand),
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Operand {
    /// A given value.
    Value(Value),
    /// The value at a path.
    Path(Path),
    /// The size of the value at a path: bytes of a string or binary, elements of a set, list or map.
    Size(Path),
}

/// How two operands compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// The type of an attribute value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AttributeType {
    /// A string.
    String,
    /// A number.
    Number,
    /// Bytes.
    Binary,
    /// A boolean.
    Bool,
    /// The stored null.
    Null,
    /// A list.
    List,
    /// A map.
    Map,
    /// A set of strings.
    StringSet,
    /// A set of numbers.
    NumberSet,
    /// A set of binaries.
    BinarySet,
}

impl AttributeType {
    /// Every type.
    pub const ALL: [Self; 10] = [
        Self::String,
        Self::Number,
        Self::Binary,
        Self::Bool,
        Self::Null,
        Self::List,
        Self::Map,
        Self::StringSet,
        Self::NumberSet,
        Self::BinarySet,
    ];

    /// DynamoDB's name of the type, such as `S`.
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "S",
            Self::Number => "N",
            Self::Binary => "B",
            Self::Bool => "BOOL",
            Self::Null => "NULL",
            Self::List => "L",
            Self::Map => "M",
            Self::StringSet => "SS",
            Self::NumberSet => "NS",
            Self::BinarySet => "BS",
        }
    }
}

impl Condition {
    /// A comparison.
    pub fn compare(left: impl Into<Operand>, comparison: Comparison, right: impl Into<Operand>) -> Self {
        Self::Compare {
            left: left.into(),
            comparison,
            right: right.into(),
        }
    }

    /// The value at `path` equals `right`.
    pub fn equal(path: impl Into<Path>, right: impl Into<Operand>) -> Self {
        Self::compare(path.into(), Comparison::Equal, right)
    }

    /// There is a value at `path`.
    pub fn exists(path: impl Into<Path>) -> Self {
        Self::Exists(path.into())
    }

    /// There is no value at `path`.
    pub fn not_exists(path: impl Into<Path>) -> Self {
        Self::NotExists(path.into())
    }

    /// The string or binary at `path` starts with `prefix`.
    pub fn begins_with(path: impl Into<Path>, prefix: impl Into<Operand>) -> Self {
        Self::BeginsWith(Operand::Path(path.into()), prefix.into())
    }

    /// The string at `path` contains `part`, or the set or list has it as an element.
    pub fn contains(path: impl Into<Path>, part: impl Into<Operand>) -> Self {
        Self::Contains(Operand::Path(path.into()), part.into())
    }

    /// Both hold.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match self {
            Self::And(mut all) => {
                all.push(other);
                Self::And(all)
            }
            first => Self::And(vec![first, other]),
        }
    }

    /// At least one of both holds.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match self {
            Self::Or(mut any) => {
                any.push(other);
                Self::Or(any)
            }
            first => Self::Or(vec![first, other]),
        }
    }

    /// It does not hold.
    #[must_use]
    pub fn negate(self) -> Self {
        Self::Not(Box::new(self))
    }
}

impl From<Path> for Operand {
    fn from(path: Path) -> Self {
        Self::Path(path)
    }
}

impl From<Value> for Operand {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

from_what_values_are_made_of!(Operand);
