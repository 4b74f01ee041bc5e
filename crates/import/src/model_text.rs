//! A model, written.

use std::fmt::Write;

use singlet_store::{Billing, IndexKind, IndexProjection, KeyAttribute, KeySchema, KeyType, StreamView, TableSpec};

use crate::attributes::TypeText;
use crate::draft::{DraftAttribute, DraftEntity};
use crate::templates::is_identifier;

/// Words that YAML takes for something else.
const YAML_WORDS: [&str; 10] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan"];

/// The table of a model.
pub(crate) struct ModelTable<'s> {
    pub name: &'s str,
    pub spec: &'s TableSpec,
    pub delimiter: char,
    pub type_attribute: Option<&'s str>,
}

/// The whole file.
pub(crate) fn model_text(table: &ModelTable<'_>, entities: &[&DraftEntity]) -> String {
    let mut text = format!("singlet: 1\nname: {}\n\n", quoted(table.name));
    table_text(&mut text, table);
    text.push_str("\nentities:");
    if entities.is_empty() {
        text.push_str(" {}");
    }
    text.push('\n');
    for entity in entities {
        entity_text(&mut text, entity);
    }
    text
}

fn table_text(text: &mut String, table: &ModelTable<'_>) {
    let spec = table.spec;
    let _ = writeln!(
        text,
        "table:\n  name: {}\n  key: {{{}}}",
        quoted(&spec.name),
        key_text(&spec.key)
    );
    if table.delimiter != '#' {
        let _ = writeln!(text, "  delimiter: {}", always_quoted(&table.delimiter.to_string()));
    }
    if !spec.indexes.is_empty() {
        text.push_str("  indexes:\n");
    }
    for index in &spec.indexes {
        let mut key = index.key.clone();
        let local = index.kind == IndexKind::Local;
        if local {
            key.partition.clear();
        }
        let local = if local { "local: true, " } else { "" };
        let project = match &index.projection {
            IndexProjection::All => String::new(),
            IndexProjection::KeysOnly => ", project: keys".to_owned(),
            IndexProjection::Include(names) => {
                let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
                format!(", project: [{}]", names.join(", "))
            }
        };
        let _ = writeln!(
            text,
            "    {}: {{{local}{}{project}}}",
            quoted(&index.name),
            key_text(&key)
        );
    }
    let _ = writeln!(text, "  type: {}", quoted(table.type_attribute.unwrap_or("none")));
    if let Some(ttl) = &spec.ttl {
        let _ = writeln!(text, "  ttl: {}", quoted(ttl));
    }
    let stream = spec.stream.map_or("none", |view| match view {
        StreamView::KeysOnly => "keys_only",
        StreamView::New => "new_image",
        StreamView::Old => "old_image",
        StreamView::Both => "both_images",
    });
    let _ = writeln!(text, "  stream: {stream}\n  billing: {}", billing_text(spec));
}

fn billing_text(spec: &TableSpec) -> String {
    let Billing::Provisioned {
        read_units,
        write_units,
    } = spec.billing
    else {
        return "on_demand".to_owned();
    };
    let global = spec.indexes.iter().filter(|index| index.kind == IndexKind::Global);
    let units = global.filter_map(|index| match index.index_billing(spec.billing) {
        Billing::Provisioned {
            read_units,
            write_units,
        } => Some(format!(
            "{}: {{read: {read_units}, write: {write_units}}}",
            quoted(&index.name)
        )),
        Billing::OnDemand => None,
    });
    let units: Vec<String> = units.collect();
    let indexes = if units.is_empty() {
        String::new()
    } else {
        format!(", indexes: {{{}}}", units.join(", "))
    };
    format!("{{read: {read_units}, write: {write_units}{indexes}}}")
}

fn key_text(key: &KeySchema) -> String {
    let one = |attribute: &KeyAttribute| match attribute.key_type {
        KeyType::String => quoted(&attribute.name),
        KeyType::Number => format!("{{name: {}, type: number}}", quoted(&attribute.name)),
        KeyType::Binary => format!("{{name: {}, type: bytes}}", quoted(&attribute.name)),
    };
    let side = |name: &str, side: &[KeyAttribute]| match side {
        [] => None,
        [attribute] => Some(format!("{name}: {}", one(attribute))),
        several => {
            let names: Vec<String> = several.iter().map(|attribute| quoted(&attribute.name)).collect();
            Some(format!("{name}: [{}]", names.join(", ")))
        }
    };
    let sides = [side("partition", &key.partition), side("sort", &key.sort)];
    sides.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn entity_text(text: &mut String, entity: &DraftEntity) {
    let _ = writeln!(text, "  {}:\n    attributes:", quoted(&entity.name));
    for (name, attribute) in &entity.attributes {
        let _ = writeln!(text, "      {}: {}", quoted(name), attribute_text(attribute));
    }
    if !entity.keys.is_empty() {
        let _ = writeln!(text, "    key: {{{}}}", templates_text(&entity.keys));
    }
    if !entity.indexes.is_empty() {
        text.push_str("    index:\n");
    }
    for (index, templates) in &entity.indexes {
        let entry = match templates.is_empty() {
            true => "own".to_owned(),
            false => format!("{{{}}}", templates_text(templates)),
        };
        let _ = writeln!(text, "      {}: {entry}", quoted(index));
    }
}

fn templates_text(templates: &[(String, String)]) -> String {
    let each = templates
        .iter()
        .map(|(name, template)| format!("{}: {}", quoted(name), always_quoted(template)));
    each.collect::<Vec<_>>().join(", ")
}

fn attribute_text(attribute: &DraftAttribute) -> String {
    if let Some(is) = &attribute.is {
        return format!("{{is: {is}{}}}", stored_text(attribute));
    }
    match &attribute.ty {
        TypeText::Enum(members) => {
            let optional = if attribute.optional { ", optional: true" } else { "" };
            let stored = stored_text(attribute);
            format!(
                "{{enum: [{}]{optional}{stored}}}",
                members
                    .iter()
                    .map(|member| quoted(member))
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        }
        TypeText::Plain(text) => {
            let (word, limits) = text
                .split_once(' ')
                .map_or((text.as_str(), String::new()), |(word, limits)| {
                    (word, format!(" {limits}"))
                });
            let optional = if attribute.optional { "?" } else { "" };
            match stored_text(attribute) {
                stored if stored.is_empty() => format!("{word}{optional}{limits}"),
                stored => format!("{{type: \"{word}{optional}{limits}\"{stored}}}"),
            }
        }
    }
}

/// Where an attribute is stored, if that is not under its name.
fn stored_text(attribute: &DraftAttribute) -> String {
    match (&attribute.stored, attribute.key_only) {
        (Some(name), _) => format!(", stored: {}", always_quoted(name)),
        (None, true) => ", stored: none".to_owned(),
        (None, false) => String::new(),
    }
}

/// A name as YAML takes it for text.
fn quoted(name: &str) -> String {
    let is_plain = is_identifier(name)
        || name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.'))
            && name.starts_with(|letter: char| letter.is_ascii_alphabetic());
    match is_plain && !YAML_WORDS.contains(&name.to_lowercase().as_str()) {
        true => name.to_owned(),
        false => always_quoted(name),
    }
}

fn always_quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}
