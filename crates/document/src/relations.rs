//! How entities hang together: references, mirrors and copies.

use std::fmt::Write as _;

use singlet_model::Model;
use singlet_model::model::{Attribute, Entity};
use singlet_model::types::EntityId;

use crate::drawing::{ArrowEnd, BoxForm, DrawnArrow, DrawnBox, Graph};
use crate::escape::{escape_mermaid, inline_code, mermaid_word};
use crate::table::MarkdownTable;
use crate::text;

/// One entity holds something of another.
#[derive(Debug)]
struct EntityRelation {
    /// The entity that is referred to.
    parent: usize,
    /// The entity that refers.
    child: usize,
    /// By which attribute.
    label: String,
    /// Whether a row may refer to nothing.
    optional: bool,
    /// Whether a parent has at most one such row.
    single: bool,
    /// Whether the rows are the same thing twice.
    mirror: bool,
}

/// The entity and the key attribute that an attribute names. One that is declared with the type of any other attribute only
/// shares its type.
pub(crate) fn refers_to<'a>(model: &Model, attribute: &'a Attribute) -> Option<(EntityId, &'a str)> {
    let (entity, name) = attribute.reference.as_ref()?;
    let is_key = model.entity(*entity)?.is_key_attribute(name);
    is_key.then_some((*entity, name.as_str()))
}

fn relations(model: &Model) -> Vec<EntityRelation> {
    let mut all = Vec::new();
    for entity in &model.entities {
        let child = entity.id.0 as usize;
        if let Some(mirror) = &entity.mirror {
            all.push(EntityRelation {
                parent: mirror.of.0 as usize,
                child,
                label: "mirror".to_owned(),
                optional: false,
                single: true,
                mirror: true,
            });
            continue;
        }
        for attribute in &entity.attributes {
            if let Some((parent, _)) = refers_to(model, attribute) {
                all.push(EntityRelation {
                    parent: parent.0 as usize,
                    child,
                    label: attribute.name.clone(),
                    optional: attribute.optional,
                    single: is_key_alone(model, entity, attribute),
                    mirror: false,
                });
            }
        }
    }
    all
}

/// Whether the attribute alone is the key, so that one value has one row at most.
fn is_key_alone(model: &Model, entity: &Entity, attribute: &Attribute) -> bool {
    let names = model.catalog.names(entity.id);
    names.is_some_and(|names| names.key_variables == [attribute.name.as_str()]) && entity.history.is_none()
}

/// The drawing of a model's entities.
pub(crate) fn relation_graph(model: &Model) -> Graph {
    let nodes = model.entities.iter().map(|entity| DrawnBox {
        title: entity.name.clone(),
        lines: key_lines(model, entity),
        form: BoxForm::Box,
    });
    let edges = relations(model).into_iter().map(|relation| DrawnArrow {
        from: relation.parent,
        to: relation.child,
        label: vec![relation.label],
        dashed: relation.mirror,
        tail: if relation.optional {
            ArrowEnd::MaybeOne
        } else {
            ArrowEnd::One
        },
        head: match (relation.mirror, relation.single) {
            (true, _) => ArrowEnd::One,
            (false, true) => ArrowEnd::MaybeOne,
            (false, false) => ArrowEnd::Many,
        },
    });
    Graph {
        title: format!("Entities of {} and how they refer to one another", model.name),
        nodes: nodes.collect(),
        edges: edges.collect(),
    }
}

fn key_lines(model: &Model, entity: &Entity) -> Vec<String> {
    let names = model.catalog.names(entity.id);
    let keys = names.map_or(&[][..], |names| &names.key_variables);
    let unique = entity.unique.iter().map(|guard| format!("unique {}", guard.name));
    keys.iter().map(|name| format!("key {name}")).chain(unique).collect()
}

/// A model's entities and their references, as Mermaid.
pub(crate) fn relation_diagram(model: &Model) -> String {
    let mut out = String::from("erDiagram\n");
    for (number, entity) in model.entities.iter().enumerate() {
        let _ = writeln!(out, "  e{number}[\"{}\"] {{", escape_mermaid(&entity.name));
        for attribute in &entity.attributes {
            let mark = match (
                entity.is_key_attribute(&attribute.name),
                refers_to(model, attribute).is_some(),
            ) {
                (true, true) => " PK, FK",
                (true, false) => " PK",
                (false, true) => " FK",
                (false, false) => "",
            };
            let (ty, name) = (attribute.ty.to_string(), &attribute.name);
            let _ = writeln!(out, "    {} {}{mark}", mermaid_word(&ty), mermaid_word(name));
        }
        out.push_str("  }\n");
    }
    for relation in relations(model) {
        let parent = if relation.optional { "|o" } else { "||" };
        let (line, child) = match (relation.mirror, relation.single) {
            (true, _) => ("..", "||"),
            (false, true) => ("--", "o|"),
            (false, false) => ("--", "o{"),
        };
        let _ = writeln!(
            out,
            "  e{} {parent}{line}{child} e{} : \"{}\"",
            relation.parent,
            relation.child,
            escape_mermaid(&relation.label)
        );
    }
    out
}

/// Who refers to whom, and what a reference becomes.
pub(crate) fn relation_table(model: &Model) -> String {
    let mut table = MarkdownTable::new(["Entity", "By", "Refers to", "How"]);
    for entity in &model.entities {
        if let Some(mirror) = &entity.mirror {
            let of = model.catalog.name(mirror.of);
            let carries = if mirror.all {
                "carries all of it"
            } else {
                "carries part of it"
            };
            let how = format!("another row of it, written and removed with it; {carries}");
            table.row(vec![inline_code(&entity.name), String::new(), inline_code(of), how]);
            continue;
        }
        for attribute in &entity.attributes {
            if let Some(copy) = &attribute.copy {
                let of = format!("{}.{}", text::expression_text(model, &copy.source), copy.attribute);
                let how = format!("a copy, {}", crate::guarantees::keeping_words(copy.kept));
                table.row(vec![
                    inline_code(&entity.name),
                    inline_code(&attribute.name),
                    inline_code(&of),
                    how,
                ]);
            } else if let Some((parent, name)) = refers_to(model, attribute) {
                let of = format!("{}.{name}", model.catalog.name(parent));
                let how = if attribute.optional { "may refer to nothing" } else { "" };
                table.row(vec![
                    inline_code(&entity.name),
                    inline_code(&attribute.name),
                    inline_code(&of),
                    how.to_owned(),
                ]);
            }
        }
    }
    table.text()
}
