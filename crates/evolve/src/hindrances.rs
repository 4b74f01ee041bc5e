//! What keeps two models from running at once on one table, by name. Then writes stop.
//!
//! A change whose way is a bridge is one for which both *could* run. What Singlet carries over one is less; here is what it does not.

use singlet_face::Face;
use singlet_model::Model;
use singlet_model::model::{Attribute, Entity, Role};

use crate::{DataClass, RowChange, Settings, Way, compare_models};

/// Why two models cannot run at once on one table; nothing where they can.
pub fn bridge_hindrances(old: (&Model, &Settings), new: (&Model, &Settings)) -> Vec<String> {
    let changes = compare_models(old, new);
    let mut found: Vec<String> = changes.iter().filter_map(way_hindrance).collect();
    let faces = (Face::of(old.0, old.1), Face::of(new.0, new.1));
    found.extend(model_hindrances(old.0, new.0, &faces));
    found.sort();
    found.dedup();
    found
}

/// Of a table that has a stream of which the models know nothing.
pub const STREAM_HINDRANCE: &str = "the table has a stream that the models do not have: whoever reads it would take the images of the other model for changes of rows";

/// What a stream carries by which the two items of a row can be told apart.
const BOTH_IMAGES: &str = "both_images";

fn way_hindrance(change: &RowChange) -> Option<String> {
    let of = match &change.entity {
        Some(entity) => format!("`{entity}`, {}", change.part),
        None => change.part.clone(),
    };
    let is_carried = match change.data {
        DataClass::Nothing | DataClass::Fill | DataClass::Index | DataClass::Rekey => true,
        // Entries of an index that only the old model has are kept for it until the end.
        DataClass::Drop => change.part.starts_with("index `"),
        DataClass::Reshape => false,
    };
    match (change.way, is_carried) {
        (Way::Free, _) | (Way::Bridge, true) => None,
        (Way::Bridge, false) => Some(format!("{of}: a bridge carries no {}", change.data.word())),
        (way, _) => Some(format!("{of}: {}; {}", way.word(), change.so)),
    }
}

fn model_hindrances(old: &Model, new: &Model, faces: &(Face, Face)) -> Vec<String> {
    let mut found = Vec::new();
    if old.name != new.name || old.table.name != new.table.name {
        found.push("the models are of two systems, or of two tables".to_owned());
    }
    if old.table.type_attribute.is_none() || new.table.type_attribute.is_none() {
        found.push("rows do not say their kind, so that those of the two models cannot be told apart".to_owned());
    }
    found.extend(stream_hindrance(old, new));
    for entity in &old.entities {
        let Some(other) = new.entity_named(&entity.name) else {
            if entity.mirror.is_some() || entity.role.is_some() {
                found.push(format!("`{}` is gone, and the old model needs it kept", entity.name));
            }
            continue;
        };
        let key = |face: &Face| face.entities.get(&entity.name).map(|entity| entity.key.clone());
        let is_moved = key(&faces.0) != key(&faces.1);
        found.extend(entity_hindrances((old, entity), (new, other), is_moved));
    }
    for entity in &new.entities {
        let is_new = old.entity_named(&entity.name).is_none();
        if is_new && entity.role == Some(Role::Idempotency) {
            found.push(format!("`{}` is new, and holds the records of requests", entity.name));
        }
    }
    found
}

/// Who follows changes must be told them by one stream, and see in each record of which of the models it is.
fn stream_hindrance(old: &Model, new: &Model) -> Option<String> {
    match (old.table.stream.as_deref(), new.table.stream.as_deref()) {
        (None, None) => None,
        (was, is) if was != is => Some("the table's stream is another one in the new model".to_owned()),
        (Some(BOTH_IMAGES), _) => None,
        _ => Some(format!(
            "the table's stream does not carry `{BOTH_IMAGES}`, so that a row and what the other model has of it cannot be told apart"
        )),
    }
}

/// What waits for an instant names its row by the key that it has in the model which told of it.
fn timer_hindrance((model, entity): (&Model, &Entity), is_moved: bool) -> Option<String> {
    (is_moved && model.is_timed(entity)).then(|| {
        format!(
            "`{}`: something runs after what time does to its rows, and is set by the key that the old model has",
            entity.name
        )
    })
}

fn entity_hindrances((old, was): (&Model, &Entity), (new, is): (&Model, &Entity), is_moved: bool) -> Vec<String> {
    let name = &is.name;
    let mut found = Vec::new();
    let lacks = |one: &Entity, other: &Entity| {
        let mut attributes = one.attributes.iter();
        attributes.any(|attribute| {
            attribute.alias.is_none() && attribute.is.is_none() && source_of(other, attribute).is_none()
        })
    };
    // What only one model has of a row is known by the row of that model, which must be found by what both have.
    let differs = lacks(was, is) || lacks(is, was);
    for (of, model, other) in [(was, old, is), (is, new, was)] {
        for attribute in &of.attributes {
            let Some(known) = other.attribute(&attribute.name) else {
                if attribute.copy.is_some() {
                    found.push(format!(
                        "`{name}`: `{}` is a copy that only one model has",
                        attribute.name
                    ));
                }
                if is_moved && of.is_key_attribute(&attribute.name) {
                    found.push(format!(
                        "`{name}`: the key has `{}`, which only one model has",
                        attribute.name
                    ));
                }
                continue;
            };
            if known.optional != attribute.optional {
                found.push(format!("`{name}`: `{}` is optional in one model only", attribute.name));
            }
            if attribute
                .was
                .as_ref()
                .is_some_and(|was| other.attribute(&was.text).is_some())
            {
                found.push(format!(
                    "`{name}`: `{}` was an attribute that the other model has",
                    attribute.name
                ));
            }
        }
        found.extend(timer_hindrance((model, of), is_moved));
        let rekeys = model.writes.iter().find(|write| {
            let mut steps = write.all_steps().into_iter();
            steps.any(|step| step.rekey && step.entity() == Some(of.id))
        });
        if let Some(write) = rekeys.filter(|_| differs) {
            found.push(format!(
                "`{name}`: `{}` moves rows to another key, and what only one model has of them would be lost",
                write.name
            ));
        }
    }
    if was.role.is_some() && (is_moved || differs) {
        found.push(format!(
            "`{name}` holds the records of requests, which a bridge does not carry"
        ));
    }
    if was.history.is_some() && differs {
        found.push(format!(
            "`{name}` has versions, and what only one model has would be lost from one to the next"
        ));
    }
    let guards = was.history.is_some() || !was.unique.is_empty() || !is.unique.is_empty();
    if is_moved && guards && key_variables(was) != key_variables(is) {
        found.push(format!(
            "`{name}`: its guards say whose they are by the values of its key, and these are others"
        ));
    }
    found
}

/// The attribute of another model's entity that this one was.
fn source_of<'o>(other: &'o Entity, attribute: &Attribute) -> Option<&'o Attribute> {
    let was = attribute.was.as_ref().and_then(|was| other.attribute(&was.text));
    was.or_else(|| other.attribute(&attribute.name))
}

fn key_variables(entity: &Entity) -> Vec<String> {
    let mut names: Vec<String> = entity
        .attributes
        .iter()
        .filter(|attribute| entity.is_key_attribute(&attribute.name))
        .map(|attribute| attribute.name.clone())
        .collect();
    names.sort();
    names
}
