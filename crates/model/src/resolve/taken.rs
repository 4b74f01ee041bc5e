//! `take` and `patch`: attributes that become arguments.

use crate::catalog::Catalog;
use crate::expression::Args;
use crate::model::Entity;
use crate::node::Node;
use crate::text::Text;
use crate::types::EntityId;

/// Declares the arguments that the steps of a write take, before any expression of it is checked: a `let` may use them.
pub(super) fn declare_taken(write: &Node, catalog: &Catalog, entities: &[Entity], args: &mut Args) {
    let steps = write.get("do").map_or(&[][..], Node::elements);
    declare_steps(steps, write, (catalog, entities), args);
}

fn declare_steps(steps: &[Node], write: &Node, known: (&Catalog, &[Entity]), args: &mut Args) {
    let (catalog, entities) = known;
    for step in steps {
        let inner = step.get("do").map_or(&[][..], Node::elements);
        declare_steps(inner, write, known, args);
        let Some(entity) = entity_of_step(step, write, catalog) else {
            continue;
        };
        if step.get("from").is_none() {
            for text in list_texts(step.get("take")) {
                // What a new row starts with need not be sent.
                let defaulted = step.get("create").is_some() && has_default(text, entity, entities);
                declare_one(text, entity, catalog, args, defaulted);
            }
        }
        for text in list_texts(step.get("patch")) {
            declare_one(text, entity, catalog, args, true);
        }
    }
}

fn has_default(text: &Text, entity: EntityId, entities: &[Entity]) -> bool {
    let (name, required) = split_required(text);
    let attribute = super::entity_of(entities, entity).and_then(|entity| entity.attribute(name));
    !required && attribute.is_some_and(|attribute| attribute.default.is_some())
}

fn declare_one(text: &Text, entity: EntityId, catalog: &Catalog, args: &mut Args, may_be_left_out: bool) {
    let (name, required) = split_required(text);
    let Some(attribute) = catalog.attribute(entity, name) else {
        return;
    };
    let optional = may_be_left_out || (attribute.optional && !required);
    args.declare_argument(name, attribute.ty.clone(), optional, text.span);
    if let Some(arg) = args.get(name) {
        arg.mark_used();
    }
}

/// `reason!`: the name, and whether it is required here.
pub(super) fn split_required(text: &Text) -> (&str, bool) {
    match text.text.strip_suffix('!') {
        Some(name) => (name, true),
        None => (text.text.as_str(), false),
    }
}

/// The scalars of a list.
pub(super) fn list_texts(node: Option<&Node>) -> impl Iterator<Item = &Text> {
    node.map_or(&[][..], Node::elements).iter().filter_map(Node::text)
}

/// The entity that a step writes, from its text alone.
fn entity_of_step(step: &Node, write: &Node, catalog: &Catalog) -> Option<EntityId> {
    if let Some(name) = step.get("create").and_then(Node::str) {
        return catalog.entity(name);
    }
    let target = ["update", "upsert"].iter().find_map(|verb| step.get(verb)?.str())?;
    entity_of_text(target, write, catalog)
}

/// `Task(a)`, `Task{a: b}`, or a name under `let` that stands for one of these or for a read.
fn entity_of_text(text: &str, write: &Node, catalog: &Catalog) -> Option<EntityId> {
    let name = text.split(['(', '{']).next().unwrap_or(text).trim();
    if name.len() < text.trim().len() {
        return catalog.entity(name);
    }
    let bound = write.get("let")?.get(name)?;
    match bound.str() {
        Some(text) => {
            let name = text.split(['(', '{']).next().unwrap_or(text).trim();
            catalog.entity(name)
        }
        None => catalog.entity(bound.get("get")?.str()?.trim_end_matches('?')),
    }
}
