//! The attributes of an entity, in the order written, and found by their names.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};

use super::entity::Attribute;

/// The attributes of an entity. Names stay as they are; what else is known of an attribute may change.
#[derive(Debug, Default)]
pub struct AttributeList {
    list: Vec<Attribute>,
    by_name: HashMap<String, usize>,
}

impl AttributeList {
    /// Where the attribute of that name is in the order written.
    pub fn position_of(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The attribute of that name.
    pub fn attribute_named(&self, name: &str) -> Option<&Attribute> {
        self.list.get(self.position_of(name)?)
    }
}

impl FromIterator<Attribute> for AttributeList {
    fn from_iter<I: IntoIterator<Item = Attribute>>(attributes: I) -> Self {
        let list: Vec<Attribute> = attributes.into_iter().collect();
        let named = |(at, attribute): (usize, &Attribute)| (attribute.name.clone(), at);
        AttributeList {
            by_name: list.iter().enumerate().map(named).collect(),
            list,
        }
    }
}

impl Deref for AttributeList {
    type Target = [Attribute];

    fn deref(&self) -> &[Attribute] {
        &self.list
    }
}

impl DerefMut for AttributeList {
    fn deref_mut(&mut self) -> &mut [Attribute] {
        &mut self.list
    }
}

impl<'a> IntoIterator for &'a AttributeList {
    type Item = &'a Attribute;
    type IntoIter = std::slice::Iter<'a, Attribute>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

impl<'a> IntoIterator for &'a mut AttributeList {
    type Item = &'a mut Attribute;
    type IntoIter = std::slice::IterMut<'a, Attribute>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter_mut()
    }
}
