//! In whose place an item lies, while rows of two models lie side by side.
//!
//! It is told by the table's key, which every index entry carries. That the keys of the two models can never be equal was proved
//! before a bridge began.

use std::collections::BTreeMap;

use singlet_item::key::DecodeError;
use singlet_item::{Item, Value};
use singlet_model::Model;
use singlet_model::model::{Entity, KeyTemplate};

/// The keys that entities have in one model, by the entity's name.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    entities: BTreeMap<String, Vec<Vec<KeyTemplate>>>,
}

impl Layout {
    pub fn of<'m>(entities: impl Iterator<Item = &'m Entity>) -> Self {
        let choices = |entity: &Entity| entity.key.iter().map(|choice| choice.keys.clone()).collect();
        Layout {
            entities: entities.map(|entity| (entity.name.clone(), choices(entity))).collect(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    /// The entities whose keys could be that of an item.
    pub fn entities_at<'l>(&'l self, key: &'l Item) -> impl Iterator<Item = &'l str> {
        let at = self.entities.iter().filter(move |(_, choices)| {
            let mut choices = choices.iter();
            choices.any(|keys| keys.iter().all(|template| follows(template, key)))
        });
        at.map(|(name, _)| name.as_str())
    }

    /// Whether an item lies where rows of these entities do. What it says of its kind counts, where it says it.
    pub fn holds(&self, model: &Model, item: &Item) -> bool {
        let kind = model.table.type_attribute.as_ref().and_then(|name| item.get(name));
        // By its key and its kind: two entities may share a template.
        let mut at = self.entities_at(item);
        match kind.and_then(Value::as_str) {
            Some(kind) => at.any(|name| name == kind),
            None => at.next().is_some(),
        }
    }
}

/// Whether a key could have come from a template. One that has several readings could.
fn follows(template: &KeyTemplate, key: &Item) -> bool {
    key.get(&template.attribute)
        .is_some_and(|value| match template.template.decode_key(value) {
            // It follows the template, however it is read.
            Ok(_) | Err(DecodeError::Ambiguous { .. }) => true,
            Err(_) => false,
        })
}
