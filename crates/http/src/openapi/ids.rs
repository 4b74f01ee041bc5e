//! Ids: values that name a row. Clients give each a type of its own, so that the id of one entity does not pass for that of another.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use singlet_model::Model;
use singlet_model::expression::{BinaryOp, Expr, ExprKind};
use singlet_model::model::{Entity, LetValue, Read, Selection, StepKind, Write};
use singlet_model::types::{EntityId, Type};

use super::schema::insert_member;
use crate::routing::RouteEndpoint;

/// Which id a text is, in a schema.
pub(crate) const ID_EXTENSION: &str = "x-singlet-id";

/// How many attributes may each have the type of the next.
const REFERENCES_MAX: usize = 64;

/// The id that an attribute is: by the entity whose key it is part of, which another's attribute may refer to.
pub(super) fn id_of_attribute(model: &Model, entity: &Entity, name: &str) -> Option<String> {
    let mut owner = model.source_of(entity);
    let mut attribute = owner.attribute(name).or_else(|| entity.attribute(name))?;
    for _ in 0..REFERENCES_MAX {
        let Some((of, referred)) = &attribute.reference else {
            break;
        };
        owner = model.entity(*of)?;
        attribute = owner.attribute(referred)?;
    }
    let is_text = matches!(attribute.ty, Type::Text(_) | Type::Ulid | Type::Ksuid | Type::Uuid);
    let names = model.catalog.names(owner.id)?;
    let is_key = names.key_variables.contains(&attribute.name);
    (is_text && is_key).then(|| id_name(&owner.name, &attribute.name))
}

/// `TaskId` for `Task.task_id` and for `Task.id`.
fn id_name(entity: &str, attribute: &str) -> String {
    let attribute = pascal_case(attribute);
    let entity = pascal_case(entity);
    match attribute.starts_with(&entity) && attribute.len() > entity.len() {
        true => attribute,
        false => format!("{entity}{attribute}"),
    }
}

/// `task_id`, `task-id` and `taskId` as `TaskId`.
pub(crate) fn pascal_case(name: &str) -> String {
    let words = name
        .split(|char: char| !char.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words
        .map(|word| {
            let mut letters = word.chars();
            let first = letters.next().map(|first| first.to_ascii_uppercase());
            first.into_iter().chain(letters).collect::<String>()
        })
        .collect()
}

/// A schema that says which id it is; of a list, what its elements are.
pub(super) fn with_id(mut schema: Json, id: Option<&String>) -> Json {
    let Some(id) = id else { return schema };
    match schema.get("type").and_then(Json::as_str) {
        Some("array") => {
            if let Some(items) = schema.get_mut("items") {
                insert_member(items, ID_EXTENSION, json!(id));
            }
        }
        Some("string") => insert_member(&mut schema, ID_EXTENSION, json!(id)),
        _ => {}
    }
    schema
}

/// The ids that the arguments of an operation are: what they are compared with, or name a row by.
pub(super) fn ids_of_arguments(model: &Model, endpoint: &RouteEndpoint) -> BTreeMap<String, String> {
    let mut ids = ArgumentIds {
        model,
        found: BTreeMap::new(),
        elements: BTreeMap::new(),
    };
    match endpoint.is_write {
        false => ids.see_read(model.reads.get(endpoint.position)),
        true => ids.see_write(model.writes.get(endpoint.position)),
    }
    ids.found
}

struct ArgumentIds<'m> {
    model: &'m Model,
    found: BTreeMap<String, String>,
    /// The names that elements of an argument have in a loop, and the argument.
    elements: BTreeMap<String, String>,
}

impl ArgumentIds<'_> {
    fn see_read(&mut self, read: Option<&Read>) {
        let Some(read) = read else { return };
        for selection in read.all_selections() {
            self.see_selection(selection);
        }
        for bound in &read.lets {
            self.see_let(&bound.value);
        }
        self.see(&read.allow, None);
    }

    fn see_write(&mut self, write: Option<&Write>) {
        let Some(write) = write else { return };
        for bound in &write.lets {
            self.see_let(&bound.value);
        }
        self.see(&write.allow, None);
        for step in write.all_steps() {
            let entity = step.entity();
            if let Some((element, LetValue::Value(list))) = &step.repeat
                && let ExprKind::Arg(argument) = &list.kind
            {
                self.elements.insert(element.clone(), argument.clone());
            }
            match &step.kind {
                StepKind::Update(target)
                | StepKind::Delete(target)
                | StepKind::Upsert(target)
                | StepKind::Present(target)
                | StepKind::Absent(target) => self.see(target, None),
                StepKind::Create(_) | StepKind::Call { .. } | StepKind::Group(_) => {}
            }
            for assignment in &step.set {
                self.learn(&assignment.value, entity, &assignment.attribute);
                self.see(&assignment.value, entity);
            }
            for taken in step.take.iter().chain(&step.patch) {
                self.learn_name(&taken.attribute, entity, &taken.attribute);
            }
        }
    }

    fn see_let(&mut self, value: &LetValue) {
        match value {
            LetValue::Value(expr) => self.see(expr, None),
            LetValue::Read(selection) => self.see_selection(selection),
        }
    }

    fn see_selection(&mut self, selection: &Selection) {
        if let Some(filter) = &selection.filter {
            self.see(filter, selection.entity());
        }
    }

    fn see(&mut self, expr: &Expr, row: Option<EntityId>) {
        let mut compared: Vec<(Expr, Option<EntityId>, String)> = Vec::new();
        expr.walk(&mut |part| match &part.kind {
            ExprKind::Binary(BinaryOp::Eq | BinaryOp::In, left, right) => {
                for (asked, attribute) in [(left, right), (right, left)] {
                    match &attribute.kind {
                        ExprKind::Attribute(name) => compared.push((asked.as_ref().clone(), row, name.clone())),
                        ExprKind::Field(of, name) => {
                            if let Type::Row(entity) = of.ty {
                                compared.push((asked.as_ref().clone(), Some(entity), name.clone()));
                            }
                        }
                        _ => {}
                    }
                }
            }
            ExprKind::Entity { entity, key } => {
                compared.extend(
                    key.iter()
                        .map(|(name, value)| (value.clone(), Some(*entity), name.clone())),
                );
            }
            _ => {}
        });
        for (asked, entity, attribute) in compared {
            self.learn(&asked, entity, &attribute);
        }
    }

    fn learn(&mut self, asked: &Expr, entity: Option<EntityId>, attribute: &str) {
        match &asked.kind {
            ExprKind::Arg(name) => self.learn_name(name, entity, attribute),
            ExprKind::Bound(element) => {
                if let Some(argument) = self.elements.get(element).cloned() {
                    self.learn_name(&argument, entity, attribute);
                }
            }
            _ => {}
        }
    }

    fn learn_name(&mut self, argument: &str, entity: Option<EntityId>, attribute: &str) {
        let entity = entity.and_then(|entity| self.model.entity(entity));
        if let Some(id) = entity.and_then(|entity| id_of_attribute(self.model, entity, attribute)) {
            self.found.entry(argument.to_owned()).or_insert(id);
        }
    }
}
