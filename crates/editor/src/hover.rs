//! What stands at a place, in Markdown: a word's meaning, a name's type, a key as it is stored, a read's plan.

use std::fmt::Write as _;

use singlet_model::expression::Function;
use singlet_model::model::{Entity, KeyTemplate};
use singlet_model::{Model, Span};
use singlet_plan::cost::Sizes;
use singlet_plan::example::example_key;
use singlet_plan::plan_json::{call_text, cost_of_write, units_text};
use singlet_plan::read::{plan_read, priced_plan_text};
use singlet_plan::write::{plan_write, write_text};

use crate::occurrences::{NameKind, NameOccurrence};
use crate::outline::Outline;
use crate::shapes::record_at;
use crate::{Document, span_touches};

/// What stands at a place.
pub(crate) fn hover_at(document: &Document, offset: usize) -> Option<String> {
    let mut parts = Vec::new();
    let whole = document.model().filter(|_| document.is_whole());
    if let Some(at) = document.occurrence_at(offset) {
        parts.extend(
            document
                .model()
                .and_then(|model| name_text(model, whole.is_some(), &at)),
        );
    }
    if let Some(model) = whole {
        parts.extend(template_text(model, offset));
    }
    if parts.is_empty() {
        parts.extend(word_text(document.text(), offset));
    }
    if parts.is_empty() {
        parts.extend(function_text(document.text(), offset));
    }
    let found = document
        .all_findings()
        .iter()
        .filter(|finding| span_touches(finding.span, offset));
    parts.extend(found.map(|finding| {
        let page = singlet_lint::rule_page(finding.rule);
        let help = finding
            .help
            .as_ref()
            .map(|help| format!("\n\n{help}"))
            .unwrap_or_default();
        format!(
            "**{} {}**: {}{help}\n\n{page}",
            finding.rule.code, finding.rule.name, finding.message
        )
    }));
    (!parts.is_empty()).then(|| parts.join("\n\n---\n\n"))
}

fn name_text(model: &Model, is_whole: bool, at: &NameOccurrence) -> Option<String> {
    let name = &at.name;
    Some(match &at.kind {
        NameKind::Entity => entity_text(model, model.entity_named(name)?),
        NameKind::Attribute(owner) => attribute_text(model, model.entity_named(owner)?, name)?,
        NameKind::Argument(operation) => {
            let read = model
                .reads
                .iter()
                .find(|read| read.name == *operation)
                .map(|read| &read.args);
            let write = model
                .writes
                .iter()
                .find(|write| write.name == *operation)
                .map(|write| &write.args);
            let argument = read.or(write)?.iter().find(|argument| argument.name == *name)?;
            let optional = if argument.optional { "?" } else { "" };
            format!(
                "`{name}: {}{optional}`, an argument of `{operation}`",
                model.catalog.describe_type(&argument.ty)
            )
        }
        NameKind::Operation if is_whole => operation_text(model, name)?,
        NameKind::Operation => return None,
        NameKind::Setting => {
            let setting = model.settings.iter().find(|setting| setting.name == *name)?;
            format!(
                "`{name}: {}`, a value given at deployment: `--set {}.{name}=…`",
                setting.ty, model.name
            )
        }
        NameKind::Index => index_text(model, name)?,
        NameKind::Claim => {
            let claim = model.callers.claim_named(name)?;
            format!(
                "`caller.{name}: {}`, which a token has as `{}`",
                claim.ty,
                claim.claim_place()
            )
        }
        NameKind::Tally => {
            let tally = model.tallies.iter().find(|tally| tally.name == *name)?;
            format!(
                "`{name}`: a count of `{}` that is kept as rows change",
                model.catalog.name(tally.entity)
            )
        }
        NameKind::Type => {
            let of_type = |attribute: &&singlet_model::model::Attribute| attribute.ty.to_string() == *name;
            let used = model.entities.iter().flat_map(|entity| entity.attributes.iter());
            let members = used
                .filter(|attribute| of_type(attribute))
                .find_map(|attribute| match &attribute.ty {
                    singlet_model::types::Type::Enum(words) => Some(words.members.join(", ")),
                    _ => None,
                });
            match members {
                Some(members) => format!("`{name}`: one of {members}, in this order"),
                None => format!("`{name}`, a type of this model"),
            }
        }
        NameKind::Step => format!("`{name}`, a step that writes share"),
        NameKind::Local(operation) => format!("`{name}`, named in `{operation}`"),
    })
}

fn entity_text(model: &Model, entity: &Entity) -> String {
    let mut text = format!("**{}**", entity.name);
    if let Some(mirror) = &entity.mirror {
        let _ = write!(text, ", another row of `{}`", model.catalog.name(mirror.of));
    }
    text.push_str("\n\n");
    for key in entity.key_templates() {
        let _ = writeln!(
            text,
            "- `{}` = `{}`, such as `{}`",
            key.attribute,
            key.text,
            example_key(&key.template)
        );
    }
    for entry in &entity.index {
        let Some(index) = model.index(entry.index) else {
            continue;
        };
        for key in entry.key_choices().iter().flat_map(|choice| &choice.keys) {
            let shown = example_key(&key.template);
            let _ = writeln!(
                text,
                "- {}: `{}` = `{}`, such as `{shown}`",
                index.name, key.attribute, key.text
            );
        }
    }
    text
}

fn attribute_text(model: &Model, entity: &Entity, name: &str) -> Option<String> {
    let attribute = entity.attribute(name)?;
    let optional = if attribute.optional { "?" } else { "" };
    let ty = model.catalog.describe_type(&attribute.ty);
    let mut text = format!("`{name}: {ty}{optional}`, of `{}`", entity.name);
    if let singlet_model::types::Type::Enum(words) = &attribute.ty {
        let _ = write!(text, ": {}", words.members.join(", "));
    }
    if let Some((of, other)) = &attribute.reference {
        let _ = write!(text, "; as `{}.{other}`", model.catalog.name(*of));
    }
    let has_it = |key: &&KeyTemplate| key.parts.iter().any(|part| part.root_attribute() == name);
    let in_key = entity.key_templates().filter(has_it).map(|key| key.attribute.clone());
    let in_indexes = entity.index.iter().flat_map(|entry| {
        let index = model
            .index(entry.index)
            .map(|index| index.name.as_str())
            .unwrap_or_default();
        let keys = entry
            .key_choices()
            .iter()
            .flat_map(|choice| &choice.keys)
            .filter(has_it);
        keys.map(move |key| format!("{index}.{}", key.attribute))
    });
    let keys: Vec<String> = in_key.chain(in_indexes).collect();
    if !keys.is_empty() {
        let _ = write!(text, "\n\nPart of the keys {}", keys.join(", "));
    }
    Some(text)
}

fn operation_text(model: &Model, name: &str) -> Option<String> {
    if let Some(read) = model.reads.iter().find(|read| read.name == name) {
        let text = priced_plan_text(model, &plan_read(model, read), &Sizes::of(model), false);
        return Some(format!("```text\n{}\n```", text.trim_end()));
    }
    let write = model.writes.iter().find(|write| write.name == name)?;
    let text = write_text(model, write, &plan_write(model, write));
    let cost = cost_of_write(model, write);
    let call = call_text(model, write);
    let units = units_text(&cost);
    Some(format!(
        "```text\n{}\n  call     {call}\n  units    {units}\n```",
        text.trim_end()
    ))
}

fn index_text(model: &Model, name: &str) -> Option<String> {
    let index = model.table.indexes.iter().find(|index| index.name == name)?;
    let keys: Vec<String> = index.key().map(|key| format!("`{}`", key.name)).collect();
    let position = model.table.indexes.iter().position(|index| index.name == name)?;
    let holds = |entity: &&Entity| {
        let entries = entity.index.iter().filter(|entry| !entry.key_choices().is_empty());
        entries.map(|entry| entry.index.0 as usize).any(|at| at == position)
    };
    let held: Vec<&str> = model
        .entities
        .iter()
        .filter(holds)
        .map(|entity| entity.name.as_str())
        .collect();
    let local = if index.local { "a local index" } else { "an index" };
    Some(format!(
        "**{name}**, {local} by {}\n\nHolds {}",
        keys.join(", "),
        held.join(", ")
    ))
}

/// The key that a template makes.
fn template_text(model: &Model, offset: usize) -> Option<String> {
    let of_entity = |entity: &'_ Entity| -> Option<String> {
        let in_indexes = entity
            .index
            .iter()
            .flat_map(|entry| entry.key_choices())
            .flat_map(|choice| &choice.keys);
        let mut keys = entity.key_templates().chain(in_indexes);
        let key = keys.find(|key| span_touches(key.span, offset) && !key.parts.is_empty())?;
        let parts = key.parts.iter().map(|part| format!("- `{}`: {}", part.path, part.ty));
        let parts: Vec<String> = parts.collect();
        let shown = example_key(&key.template);
        Some(format!(
            "`{}` = `{}`, such as `{shown}`\n\n{}",
            key.attribute,
            key.text,
            parts.join("\n")
        ))
    };
    model.entities.iter().find_map(of_entity)
}

/// What a field of the language is for.
fn word_text(text: &str, offset: usize) -> Option<String> {
    let outline = Outline::of(text);
    let mut entries = outline.entries.iter();
    let entry = entries.find(|entry| !entry.key.is_empty() && span_touches(entry.key_span, offset))?;
    let record = record_at(&outline.path(entry.parent))?;
    let field = record.field_named(&entry.key)?;
    let required = if field.required { ", required" } else { "" };
    Some(format!(
        "**{}** of {}{required}\n\n{}",
        field.name, record.name, field.doc
    ))
}

fn function_text(text: &str, offset: usize) -> Option<String> {
    let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let before = text.get(..offset)?;
    let start = before.rfind(|char| !is_part(char)).map_or(0, |at| at + 1);
    let after = text.get(offset..)?;
    let end = offset + after.find(|char| !is_part(char)).unwrap_or(after.len());
    let name = text.get(Span::new(start, end).text_range())?;
    let is_called = text.get(end..).is_some_and(|rest| rest.starts_with('('));
    let mut functions = Function::functions_named(name).filter(|_| is_called);
    let function = functions.next()?;
    Some(format!("`{}`\n\n{}", function.signature, function.doc))
}
