//! The shape of answers.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};
use singlet_model::Model;
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{HIGHLIGHTS, Read, Return, Selection, SelectionKind, StepKind, Write};
use singlet_model::types::{EntityId, Type};
use singlet_plan::write::answered_steps;

use super::schema::{Schemas, closed_object, insert_member};

/// The answer of a read.
pub fn of_read(model: &Model, read: &Read, schemas: &mut Schemas<'_>) -> Json {
    let Some(selection) = &read.selection else {
        let (properties, required) = groups(model, read, schemas);
        return paged(read, closed_object(properties, required));
    };
    match selection.kind {
        SelectionKind::Count => count(model, selection, schemas, true),
        SelectionKind::Find => {
            let row = with_groups(model, read, selection, schemas);
            list(read, row)
        }
        SelectionKind::Get { optional } => {
            let found = paged(read, with_groups(model, read, selection, schemas));
            if !optional {
                return found;
            }
            // Nothing comes with a row that is missing; `return` is computed all the same.
            let alone = object_of(&read.returns, schemas).filter(|_| !read.with.is_empty());
            let all: Vec<Json> = [
                Some(found),
                alone.map(|alone| paged(read, alone)),
                Some(json!({"type": "null"})),
            ]
            .into_iter()
            .flatten()
            .collect();
            json!({"anyOf": all})
        }
    }
}

/// What a search found in a row, where it shows that.
fn highlights(selection: &Selection) -> Option<Json> {
    let matching = selection.matching.as_ref()?;
    if matching.highlight.is_empty() {
        return None;
    }
    let pieces = json!({
        "type": "array",
        "description": "The text in pieces, in turn not found and found; of a list, such pieces of each of its texts",
        "items": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
    });
    let shown = matching.highlight.iter().map(|name| (name.clone(), pieces.clone()));
    let shown: Map<String, Json> = shown.collect();
    Some(json!({"type": "object", "properties": shown, "additionalProperties": false}))
}

/// A row as it is answered, or what `return` makes of it, with the groups of `with` and what was found beside its members. They are
/// members of one object: a row's own schema admits no others.
fn with_groups(model: &Model, read: &Read, selection: &Selection, schemas: &mut Schemas<'_>) -> Json {
    let highlights = highlights(selection);
    if (read.with.is_empty() && highlights.is_none()) || read.each.is_some() {
        return object_of(&read.returns, schemas).unwrap_or_else(|| rows(selection, schemas));
    }
    let members = match &read.returns {
        Return::Usual | Return::Nothing => selection
            .entity()
            .and_then(|id| model.entity(id))
            .map(|of| schemas.row(of)),
        Return::Fields(fields) => Some(of_fields(fields, schemas)),
        Return::Value(expr) => match &expr.ty {
            Type::Row(entity) => model.entity(*entity).map(|of| schemas.row(of)),
            Type::Object(of) | Type::Geo(Some(of)) => Some(schemas.object_fields(of)),
            _ => None,
        },
    };
    // What is known of any other value is that it is an object: the language has no place for groups beside another.
    let Some((mut properties, mut required)) = members else {
        return json!({"type": "object"});
    };
    let (more, needed) = groups(model, read, schemas);
    properties.extend(more);
    required.extend(needed);
    if let Some(highlights) = highlights {
        properties.insert(HIGHLIGHTS.to_owned(), highlights);
        required.push(HIGHLIGHTS.to_owned());
    }
    let whole = closed_object(properties, required);
    match &read.returns {
        Return::Value(expr) if expr.optional => or_null(whole),
        _ => whole,
    }
}

/// The answer of a write, if it has one.
pub fn of_write(model: &Model, write: &Write, schemas: &mut Schemas<'_>) -> Option<Json> {
    match &write.returns {
        Return::Nothing => None,
        Return::Usual => {
            let mut entities = answered_entities(model, write);
            match (entities.pop(), entities.is_empty()) {
                (None, _) => None,
                (Some(only), true) => Some(schemas.entity(only)),
                (Some(last), false) => {
                    entities.push(last);
                    let shapes: Vec<Json> = entities.into_iter().map(|entity| schemas.entity(entity)).collect();
                    Some(json!({"anyOf": shapes}))
                }
            }
        }
        shaped => object_of(shaped, schemas),
    }
}

/// The entities whose row may be the answer where nothing else is said.
fn answered_entities(model: &Model, write: &Write) -> Vec<EntityId> {
    let mut found: Vec<EntityId> = Vec::new();
    let entities = answered_steps(write).steps.into_iter().filter_map(|step| step.entity());
    for entity in entities.filter_map(|entity| model.entity(entity)) {
        let source = model.source_of(entity).id;
        if !found.contains(&source) {
            found.push(source);
        }
    }
    found
}

/// The entity whose row is the answer where nothing else is said; none where it may be one of several.
pub(crate) fn changed_entity(model: &Model, write: &Write) -> Option<EntityId> {
    match answered_entities(model, write).as_slice() {
        [only] => Some(*only),
        _ => None,
    }
}

/// The statuses of success: an upsert may create or not, and what is done only under a condition may not be done.
pub(crate) fn success_statuses(write: &Write) -> Vec<u16> {
    if let Some(status) = write.http.as_ref().and_then(|route| route.status) {
        return vec![status];
    }
    let usual = match &write.returns {
        Return::Nothing => return vec![204],
        Return::Usual => true,
        Return::Value(_) | Return::Fields(_) => false,
    };
    let answered = answered_steps(write);
    let mut statuses = BTreeSet::new();
    for step in &answered.steps {
        match step.kind {
            StepKind::Create(_) => statuses.extend([201]),
            StepKind::Upsert(_) => statuses.extend([200, 201]),
            _ => statuses.extend([200]),
        }
    }
    if !answered.certain {
        statuses.insert(if usual { 204 } else { 200 });
    }
    statuses.into_iter().collect()
}

fn object_of(returns: &Return, schemas: &mut Schemas<'_>) -> Option<Json> {
    match returns {
        Return::Usual | Return::Nothing => None,
        Return::Value(expr) if expr.optional => Some(or_null(of_expression(expr, schemas))),
        Return::Value(expr) => Some(of_expression(expr, schemas)),
        Return::Fields(fields) => {
            let (properties, required) = of_fields(fields, schemas);
            Some(closed_object(properties, required))
        }
    }
}

/// The properties of fields, and which are always there.
pub fn of_fields(fields: &[(String, Expr)], schemas: &mut Schemas<'_>) -> (Map<String, Json>, Vec<String>) {
    let mut properties = Map::new();
    for (name, expr) in fields {
        properties.insert(name.clone(), of_expression(expr, schemas));
    }
    let needed = fields.iter().filter(|(_, expr)| !expr.optional);
    (properties, needed.map(|(name, _)| name.clone()).collect())
}

fn or_null(schema: Json) -> Json {
    json!({"anyOf": [schema, {"type": "null"}]})
}

fn of_expression(expr: &Expr, schemas: &mut Schemas<'_>) -> Json {
    match (&expr.kind, &expr.ty) {
        (ExprKind::Entity { entity, .. }, _) => schemas.entity(*entity),
        // What is computed is bound by no limit of what it was computed from.
        (ExprKind::Binary(..) | ExprKind::Call(..) | ExprKind::Negate(_), Type::Int(_)) => json!({"type": "integer"}),
        (ExprKind::Binary(..) | ExprKind::Call(..) | ExprKind::Negate(_), Type::Number(_)) => json!({"type": "number"}),
        (ExprKind::Binary(..) | ExprKind::Call(..), Type::Text(_)) => json!({"type": "string"}),
        (_, ty) => schemas.of(ty),
    }
}

fn rows(selection: &Selection, schemas: &mut Schemas<'_>) -> Json {
    let each: Vec<Json> = selection
        .entities
        .iter()
        .map(|entity| schemas.entity(*entity))
        .collect();
    match each.as_slice() {
        [one] => one.clone(),
        _ => json!({"anyOf": each}),
    }
}

fn list(read: &Read, items: Json) -> Json {
    if read.bare {
        return json!({"type": "array", "items": items});
    }
    json!({
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": items},
            "next": {"type": ["string", "null"], "description": "The cursor of the next page."},
        },
        "required": ["items", "next"],
        "additionalProperties": false,
    })
}

fn paged(read: &Read, mut schema: Json) -> Json {
    if read.pages.is_some()
        && let Some(properties) = schema.get_mut("properties")
    {
        insert_member(properties, "next", json!({"type": ["string", "null"]}));
        if let Some(Json::Array(required)) = schema.get_mut("required") {
            required.push(json!("next"));
        }
    }
    schema
}

fn groups(model: &Model, read: &Read, schemas: &mut Schemas<'_>) -> (Map<String, Json>, Vec<String>) {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for part in &read.with {
        let selection = &part.selection;
        let schema = match selection.kind {
            SelectionKind::Get { .. } => rows(selection, schemas),
            SelectionKind::Find => json!({"type": "array", "items": rows(selection, schemas)}),
            SelectionKind::Count => count(model, selection, schemas, false),
        };
        properties.insert(part.name.clone(), schema);
        if !matches!(selection.kind, SelectionKind::Get { .. }) {
            required.push(part.name.clone());
        }
    }
    (properties, required)
}

/// How many rows: in all, or by the values of attributes, one within another; with sums beside. The number alone is an object where it
/// is the whole answer.
fn count(model: &Model, selection: &Selection, schemas: &mut Schemas<'_>, is_whole: bool) -> Json {
    let number = json!({"type": "integer", "minimum": 0});
    let counted = match (selection.sums.is_empty(), selection.by.is_empty()) {
        (true, true) if is_whole => {
            return json!({"type": "object", "properties": {"count": number}, "required": ["count"]});
        }
        (true, _) => number,
        (false, _) => {
            let mut properties = Map::from_iter([("count".to_owned(), number)]);
            for (name, sum) in &selection.sums {
                let kind = if matches!(sum.ty, Type::Int(_)) {
                    "integer"
                } else {
                    "number"
                };
                properties.insert(name.clone(), json!({"type": kind}));
            }
            let required = properties.keys().cloned().collect();
            closed_object(properties, required)
        }
    };
    let entity = selection.entity().and_then(|entity| model.entity(entity));
    selection.by.iter().rev().fold(counted, |within, by| {
        let attribute = entity.and_then(|entity| entity.attribute(by));
        let mut schema = json!({"type": "object", "additionalProperties": within});
        if let Some(attribute) = attribute.filter(|attribute| attribute.ty.enum_members().is_some()) {
            insert_member(&mut schema, "propertyNames", schemas.of(&attribute.ty));
        }
        schema
    })
}
