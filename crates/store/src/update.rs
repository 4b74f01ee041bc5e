//! What changes in an item, as a tree.

use crate::Path;
use serde::{Deserialize, Serialize};
use singlet_item::Value;

/// What changes in an item. All right sides are evaluated on the item as it was before.
///
/// No path may stand in it twice, nor one inside another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Update {
    /// Paths that get a value.
    pub set: Vec<(Path, SetValue)>,
    /// Paths that lose their value.
    pub remove: Vec<Path>,
    /// Numbers to add (an absent one counts as zero), and elements to put into sets.
    pub add: Vec<(Path, Value)>,
    /// Elements to take out of sets.
    pub delete: Vec<(Path, Value)>,
}

/// What a path is set to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SetValue {
    /// One operand.
    Operand(SetOperand),
    /// The sum of two numbers, both of which must be there.
    Plus(SetOperand, SetOperand),
    /// The difference of two numbers, both of which must be there.
    Minus(SetOperand, SetOperand),
}

/// A part of what a path is set to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SetOperand {
    /// A given value.
    Value(Value),
    /// The value at a path, which must be there.
    Path(Path),
    /// The value at the path if there is one, else the operand.
    IfNotExists(Path, Box<SetOperand>),
    /// The second list at the end of the first.
    ListAppend(Box<SetOperand>, Box<SetOperand>),
}

impl Update {
    /// An update that changes nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.remove.is_empty() && self.add.is_empty() && self.delete.is_empty()
    }

    /// Also sets `path`.
    #[must_use]
    pub fn set(mut self, path: impl Into<Path>, value: impl Into<SetValue>) -> Self {
        self.set.push((path.into(), value.into()));
        self
    }

    /// Also removes `path`.
    #[must_use]
    pub fn remove(mut self, path: impl Into<Path>) -> Self {
        self.remove.push(path.into());
        self
    }

    /// Also adds a number to `path`, or elements to the set there.
    #[must_use]
    pub fn add(mut self, path: impl Into<Path>, value: impl Into<Value>) -> Self {
        self.add.push((path.into(), value.into()));
        self
    }

    /// Also takes elements out of the set at `path`.
    #[must_use]
    pub fn delete(mut self, path: impl Into<Path>, value: impl Into<Value>) -> Self {
        self.delete.push((path.into(), value.into()));
        self
    }
}

impl SetOperand {
    /// The value at `path` if there is one, else `default`.
    pub fn if_not_exists(path: impl Into<Path>, default: impl Into<SetOperand>) -> Self {
        Self::IfNotExists(path.into(), Box::new(default.into()))
    }

    /// The list `tail` at the end of the list `head`.
    pub fn list_append(head: impl Into<SetOperand>, tail: impl Into<SetOperand>) -> Self {
        Self::ListAppend(Box::new(head.into()), Box::new(tail.into()))
    }

    /// This number plus another.
    pub fn plus(self, other: impl Into<SetOperand>) -> SetValue {
        SetValue::Plus(self, other.into())
    }

    /// This number minus another.
    pub fn minus(self, other: impl Into<SetOperand>) -> SetValue {
        SetValue::Minus(self, other.into())
    }
}

impl From<Path> for SetOperand {
    fn from(path: Path) -> Self {
        Self::Path(path)
    }
}

impl From<Value> for SetOperand {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

from_what_values_are_made_of!(SetOperand);

impl From<SetOperand> for SetValue {
    fn from(operand: SetOperand) -> Self {
        Self::Operand(operand)
    }
}

impl From<Value> for SetValue {
    fn from(value: Value) -> Self {
        Self::Operand(value.into())
    }
}

from_what_values_are_made_of!(SetValue);
