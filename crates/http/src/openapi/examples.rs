//! Examples, taken from sample rows.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};
use singlet_model::Model;
use singlet_model::model::{Argument, Entity};
use singlet_model::types::Type;

/// The first whole row of each entity.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    rows: BTreeMap<String, Map<String, Json>>,
}

impl Samples {
    /// The rows of a sample file.
    pub fn of(model: &Model, text: &str) -> Self {
        let mut samples = Samples::default();
        for line in text.lines() {
            let Ok(Json::Object(line)) = serde_json::from_str(line) else {
                continue;
            };
            for (name, row) in line {
                let Json::Object(mut row) = row else { continue };
                let Some(entity) = model.entity_named(&name) else {
                    continue;
                };
                settle(entity, &mut row);
                let known = samples.rows.entry(name).or_default();
                // The row that says most shows most.
                if row.len() > known.len() {
                    *known = row;
                }
            }
        }
        samples
    }

    /// A row of an entity, if it has all that a row always has.
    pub fn row(&self, entity: &Entity) -> Option<&Map<String, Json>> {
        let row = self.rows.get(&entity.name)?;
        let whole = entity
            .attributes
            .iter()
            .all(|attribute| attribute.optional || row.contains_key(&attribute.name));
        whole.then_some(row)
    }

    /// A body with the arguments that some row of an entity has.
    pub fn sample_body(&self, entity: Option<&Entity>, args: &[Argument]) -> Option<Json> {
        let row = self.rows.get(&entity?.name)?;
        let mut body = Map::new();
        for arg in args {
            if let Some(value) = row.get(&arg.name) {
                body.insert(arg.name.clone(), value.clone());
            }
        }
        let whole = args.iter().all(|arg| arg.optional || body.contains_key(&arg.name));
        (whole && !body.is_empty()).then_some(Json::Object(body))
    }

    /// A value of an attribute that has the argument's type by reference or by name.
    pub fn sample_argument(&self, model: &Model, arg: &Argument) -> Option<Json> {
        if let Some(members) = arg.ty.enum_members() {
            return members.first().map(|word| Json::from(word.as_str()));
        }
        let entities = model.entities.iter().filter(|entity| entity.mirror.is_none());
        let mut named = entities.filter(|entity| {
            entity
                .attribute(&arg.name)
                .is_some_and(|attribute| attribute.ty == arg.ty)
        });
        named.find_map(|entity| self.rows.get(&entity.name)?.get(&arg.name).cloned())
    }
}

/// Times of sample rows may be relative to the day they are loaded; a document needs one that never changes.
fn settle(entity: &Entity, row: &mut Map<String, Json>) {
    for attribute in &entity.attributes {
        let Some(value) = row.get_mut(&attribute.name) else {
            continue;
        };
        let relative = value
            .as_str()
            .is_some_and(|text| text.starts_with("now") || text.starts_with("today"));
        if !relative {
            continue;
        }
        match attribute.ty {
            Type::Date => *value = Json::from("2026-02-13"),
            Type::Time => *value = Json::from("2026-02-13T10:30:45.123Z"),
            Type::Seconds => *value = Json::from(1_770_978_645),
            Type::Millis => *value = Json::from(1_770_978_645_123_i64),
            _ => {}
        }
    }
}
