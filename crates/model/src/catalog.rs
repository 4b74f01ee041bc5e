//! What the checker of expressions must know of entities: names, types, and what a key is made of.

use std::collections::HashMap;

use crate::types::{EntityId, Type};

/// The names of a model's entities and their attributes.
#[derive(Debug, Default)]
pub struct Catalog {
    entities: Vec<EntityNames>,
    by_name: HashMap<String, EntityId>,
}

/// The names within one entity.
#[derive(Debug, Default)]
pub struct EntityNames {
    /// The entity's name.
    pub name: String,
    /// What [`EntityNames::attributes`] holds, in the order written.
    attributes: Vec<AttributeName>,
    by_name: HashMap<String, usize>,
    /// The variables of the primary key in order of first appearance, partition then sort, without history's.
    pub key_variables: Vec<String>,
}

/// An attribute, as far as an expression can see it.
#[derive(Clone, Debug)]
pub struct AttributeName {
    /// Its name.
    pub name: String,
    /// Its type; unknown for a computed one that is not inferred yet.
    pub ty: Type,
    /// Whether it may be absent.
    pub optional: bool,
}

impl Catalog {
    /// Adds an entity; a second one of that name is not added.
    pub(crate) fn add_entity(&mut self, name: &str) -> Option<EntityId> {
        if self.by_name.contains_key(name) {
            return None;
        }
        let id = EntityId(u32::try_from(self.entities.len()).ok()?);
        self.by_name.insert(name.to_owned(), id);
        self.entities.push(EntityNames {
            name: name.to_owned(),
            ..EntityNames::default()
        });
        Some(id)
    }

    /// The entity of that name.
    pub fn entity(&self, name: &str) -> Option<EntityId> {
        self.by_name.get(name).copied()
    }

    /// The names within an entity.
    pub fn names(&self, id: EntityId) -> Option<&EntityNames> {
        self.entities.get(id.0 as usize)
    }

    /// The names within an entity, to add to them.
    pub(crate) fn names_mut(&mut self, id: EntityId) -> Option<&mut EntityNames> {
        self.entities.get_mut(id.0 as usize)
    }

    /// An entity's name.
    pub fn name(&self, id: EntityId) -> &str {
        self.names(id).map_or("", |names| &names.name)
    }

    /// An attribute of an entity.
    pub fn attribute(&self, id: EntityId, name: &str) -> Option<&AttributeName> {
        self.names(id)?.attribute(name)
    }

    /// All entity names.
    pub(crate) fn entity_names(&self) -> impl Iterator<Item = &str> {
        self.entities.iter().map(|entity| entity.name.as_str())
    }

    /// A type as a message names it: rows by their entity.
    pub fn describe_type(&self, ty: &Type) -> String {
        match ty {
            Type::Row(id) => self.name(*id).to_owned(),
            Type::List(element, _) => format!("list({})", self.describe_type(element)),
            other => other.to_string(),
        }
    }
}

impl EntityNames {
    /// The attribute of that name.
    pub fn attribute(&self, name: &str) -> Option<&AttributeName> {
        self.attributes.get(*self.by_name.get(name)?)
    }

    /// Adds an attribute, or replaces what is known of it.
    pub(crate) fn set_attribute(&mut self, attribute: AttributeName) {
        match self.by_name.get(&attribute.name) {
            Some(at) => {
                if let Some(known) = self.attributes.get_mut(*at) {
                    *known = attribute;
                }
            }
            None => {
                self.by_name.insert(attribute.name.clone(), self.attributes.len());
                self.attributes.push(attribute);
            }
        }
    }

    /// All attributes, in the order written.
    pub fn attributes(&self) -> &[AttributeName] {
        &self.attributes
    }
}
