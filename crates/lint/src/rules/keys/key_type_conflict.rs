use std::collections::HashMap;

use singlet_item::key;
use singlet_model::Span;
use singlet_model::model::{Entity, KeyType, Stored};

use crate::{Context, Findings, design_rule};

design_rule! {
    /// One key attribute has two types.
    ///
    /// DynamoDB fixes the type of each key attribute, of the table and of its indexes, when they are made: string, number or
    /// bytes. A row that has the attribute with another type is refused, even if it was never meant to be in that index. So
    /// all entities must agree, and with the type that the table declares.
    ///
    /// ```yaml
    /// Order: {key: {PK: "USER#{userId}", SK: "{number}"}}     # a number alone is a number
    /// Item:  {key: {PK: "USER#{userId}", SK: "ITEM#{id}"}}    # a string
    /// ```
    ///
    /// Way out: put text beside the number (`ORDER#{number}`), or keep the attribute for one of the types; store an attribute
    /// that only happens to have an index's name under another (`stored: …`).
    "K013" "key-type-conflict" Error
}

/// The type that a key attribute has, as far as known, and who says so.
struct Known<'a> {
    ty: KeyType,
    by: Option<&'a str>,
    span: Span,
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let table = &context.model.table;
    let attributes = table
        .key
        .iter()
        .chain(table.indexes.iter().flat_map(|index| index.key()));
    let mut known: HashMap<&str, Option<Known<'_>>> = HashMap::new();
    for attribute in attributes {
        let entry = known.entry(&attribute.name).or_default();
        let span = attribute.span;
        *entry = entry
            .take()
            .or(attribute.declared.map(|ty| Known { ty, by: None, span }));
    }
    for path in context.own_paths() {
        for template in &path.choice.keys {
            let ty = key_type(template.template.key_type());
            compare(
                findings,
                &mut known,
                &template.attribute,
                path.entity,
                (Some(ty), template.span),
            );
        }
    }
    for entity in &context.model.entities {
        for attribute in &entity.attributes {
            let is_another_name = attribute.stored == Stored::Own && attribute.alias.is_some();
            let Some(name) = attribute.stored_name().filter(|_| !is_another_name) else { continue };
            compare(
                findings,
                &mut known,
                name,
                entity,
                (KeyType::of(&attribute.ty), attribute.span),
            );
        }
    }
}

fn compare<'a>(
    findings: &mut Findings<'_>,
    known: &mut HashMap<&str, Option<Known<'a>>>,
    name: &str,
    entity: &'a Entity,
    (ty, span): (Option<KeyType>, Span),
) {
    let Some(entry) = known.get_mut(name) else { return };
    let Some(first) = entry else {
        *entry = ty.map(|ty| Known {
            ty,
            by: Some(&entity.name),
            span,
        });
        return;
    };
    if ty == Some(first.ty) {
        return;
    }
    let here = ty.map_or("no type that a key can have", KeyType::word);
    let there = match first.by {
        Some(entity) => format!("{} for `{entity}`", first.ty.word()),
        None => format!("declared as {}", first.ty.word()),
    };
    let message = format!(
        "the key attribute `{name}` is {here} for `{}`, and {there}",
        entity.name
    );
    let note = format!("{} here", first.ty.word());
    let help = match (first.ty, first.by, ty) {
        // A constant is text, in quotes or not, so there is no template to add text to.
        (KeyType::Number | KeyType::Bytes, None, Some(KeyType::String)) => {
            "the value of this key comes from one attribute of that type: fill it by `{…}` of one, such as `seq: int = 0`"
        }
        _ => "a key attribute has one type in all rows: add text to the template, or store the attribute under another name",
    };
    findings.push(
        findings
            .at(span, entity.name.clone(), message)
            .note(first.span, note)
            .help(help),
    );
}

fn key_type(ty: key::KeyType) -> KeyType {
    match ty {
        key::KeyType::S => KeyType::String,
        key::KeyType::N => KeyType::Number,
        key::KeyType::B => KeyType::Bytes,
    }
}
