//! Whose guard an item is.

use singlet_item::key::Delimiter;
use singlet_item::{Item, Value};
use singlet_model::Model;
use singlet_model::model::Entity;
use singlet_model::types::Type;

use super::beside::primary_keys;
use crate::scope::Attributes;
use crate::values;
use crate::write::GUARD_OWNER;

/// The row whose guard an item is.
pub(super) struct Owner<'m> {
    pub entity: &'m Entity,
    /// The values of its key variables.
    pub known: Attributes,
    /// The keys that it may have; none where it has versions.
    pub keys: Vec<Item>,
}

/// Reads what a guard says of its owner: the entity's name and the values of its key variables. None where that is no row
/// that the model can have.
pub(super) fn owner_of<'m>(model: &'m Model, guard: &Item) -> Option<Owner<'m>> {
    let delimiter = Delimiter::new(model.table.delimiter).unwrap_or_default();
    let text = guard.get(GUARD_OWNER).and_then(Value::as_str)?;
    let parts: Option<Vec<String>> = text
        .split(delimiter.character())
        .map(|part| delimiter.unescaped_text(part))
        .collect();
    let parts = parts?;
    let (name, texts) = parts.split_first()?;
    let entity = model.entity_named(name)?;
    let variables = &model.catalog.names(entity.id)?.key_variables;
    if variables.len() != texts.len() {
        return None;
    }
    let mut known = Attributes::new();
    for (variable, text) in variables.iter().zip(texts) {
        let attribute = entity.attribute(variable);
        // What a text does not give back says nothing of where the row is.
        let Some(attribute) = attribute.filter(|attribute| !matches!(attribute.ty, Type::Bytes(_))) else {
            let keys = Vec::new();
            return Some(Owner { entity, known, keys });
        };
        known.insert(variable.clone(), values::from_text(text, &attribute.ty).ok()?);
    }
    let keys = match entity.history {
        Some(_) => Vec::new(),
        None => primary_keys(entity, &known),
    };
    Some(Owner { entity, known, keys })
}
