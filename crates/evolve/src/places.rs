//! Where a change stands in the files.

use singlet_model::model::{Attribute, Entity};
use singlet_model::{Model, Span};

use crate::RowChange;
use crate::names::stored_name;

/// Finds the places of a change in both files.
pub(crate) fn locate_change(change: &mut RowChange, old: Option<&Model>, new: &Model) {
    let entity = change.entity.clone();
    let is_gone = entity.as_ref().is_some_and(|name| new.entity_named(name).is_none());
    change.after = place(new, entity.as_deref(), &change.part).filter(|_| !is_gone);
    let Some(old) = old else { return };
    let renamed = entity.as_ref().and_then(|name| new.entity_named(name)?.was.as_ref());
    let was = renamed
        .map(|was| was.text.clone())
        .filter(|was| old.entity_named(was).is_some());
    let known = entity.filter(|name| old.entity_named(name).is_some()).or(was);
    change.before = match (&change.entity, &known) {
        (Some(_), None) => None,
        _ => place(old, known.as_deref(), &change.part),
    };
}

fn place(model: &Model, entity: Option<&str>, part: &str) -> Option<Span> {
    let named = part.split('`').nth(1);
    let Some(entity) = entity else {
        let index = model
            .table
            .indexes
            .iter()
            .find(|index| Some(index.name.as_str()) == named);
        let spans = &model.table.spans;
        let said = match part {
            "the type attribute" => spans.type_attribute,
            "the TTL attribute" => spans.ttl,
            "the stream" => spans.stream,
            "the billing" => spans.billing,
            "recovery" => spans.recovery,
            _ => None,
        };
        return index.map(|index| index.span).or(said).or(Some(model.table.span));
    };
    let entity = model.entity_named(entity)?;
    let whole = entity.span;
    let found = match part {
        "the key" => entity.key_templates().next().map(|key| key.span),
        _ if part.starts_with("index ") => entry_place(model, entity, named),
        _ if part.starts_with("unique ") => {
            let guard = entity.unique.iter().find(|guard| Some(guard.name.as_str()) == named);
            guard.map(|guard| guard.span)
        }
        "`expires`" => entity.expires.as_ref().map(|expires| expires.span),
        "`excludes`" => entity.excludes.as_ref().map(|excludes| excludes.span),
        _ => attribute_place(entity, named),
    };
    Some(found.unwrap_or(whole))
}

fn entry_place(model: &Model, entity: &Entity, name: Option<&str>) -> Option<Span> {
    let named = |index| {
        model
            .index(index)
            .is_some_and(|index| Some(index.name.as_str()) == name)
    };
    let entry = entity.index.iter().find(|entry| named(entry.index));
    entry.map(|entry| entry.span)
}

fn attribute_place(entity: &Entity, name: Option<&str>) -> Option<Span> {
    let name = name?;
    let is_it = |attribute: &&Attribute| stored_name(attribute) == name || attribute.name == name;
    let found = entity.attributes.iter().find(is_it);
    found.map(|attribute| attribute.span)
}
