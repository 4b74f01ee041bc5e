//! Rows that are given, as items. What a create would fill in is filled in here too.

use serde_json::{Map, Value as Json};
use singlet_item::Item;
use singlet_model::Diagnostic;
use singlet_model::evaluate;
use singlet_model::model::Entity;
use singlet_model::types::Type;
use singlet_runtime::{Attributes, Caller, Engine, Scope, load, values};

use crate::file::Row;
use crate::names::Names;
use crate::rules;

/// The items of a row.
pub fn items(engine: &Engine, row: &Row, names: &Names, now: i64) -> Result<Vec<Item>, Box<Diagnostic>> {
    let model = engine.model();
    let nothing = Attributes::new();
    let nobody = Caller::anonymous();
    let scope = Scope {
        setting: engine.setting(),
        now,
        args: &nothing,
        caller: &nobody,
        attributes: None,
        row: None,
        bound: &nothing,
    };
    let mut fields = match names.json(&row.attributes)? {
        Json::Object(fields) => fields,
        _ => Map::new(),
    };
    let wrong = |message: String| Box::new(Diagnostic::new(&rules::MISTAKE, row.attributes.span(), message));
    if let Some(entity) = model.entity_named(&row.entity.text) {
        fill(entity, &mut fields, scope);
        let missing = entity.attributes.iter().find(|attribute| {
            let made = attribute.is.is_some() || attribute.alias.is_some() || attribute.copy.is_some();
            !made && !attribute.optional && !fields.contains_key(&attribute.name)
        });
        if let Some(missing) = missing {
            return Err(wrong(format!("a row of `{}` needs `{}`", entity.name, missing.name)));
        }
    }
    let line = Json::Object(Map::from_iter([(row.entity.text.clone(), Json::Object(fields))]));
    load::items(model, &line.to_string(), scope).map_err(|error| wrong(error.to_string()))
}

/// Defaults, first states, versions and instants, as far as nothing must be made up.
fn fill(entity: &Entity, fields: &mut Map<String, Json>, scope: Scope<'_>) {
    for attribute in &entity.attributes {
        if fields.contains_key(&attribute.name) || attribute.is.is_some() {
            continue;
        }
        let expr = attribute.always.as_ref().or(attribute.default.as_ref());
        let value = expr.and_then(|expr| evaluate::evaluate_as(expr, &attribute.ty, &scope).ok().flatten());
        if let Some(value) = value {
            fields.insert(attribute.name.clone(), values::to_json(&value));
        } else if attribute.ty == Type::Version {
            fields.insert(attribute.name.clone(), Json::from(1));
        }
    }
    if let Some(states) = &entity.states {
        fields
            .entry(states.of.clone())
            .or_insert_with(|| Json::from(states.start.as_str()));
    }
}
