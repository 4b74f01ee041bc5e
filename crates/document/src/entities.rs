//! The entity chart, and the attributes of each entity.

use singlet_model::Model;
use singlet_model::model::{Attribute, Entity, IndexEntryKind, IndexId, Stored};
use singlet_model::types::Type;

use crate::escape::{escape_markdown, inline_code};
use crate::guarantees::keeping_words;
use crate::relations::refers_to;
use crate::steps;
use crate::table::{MarkdownTable, cell_lines};
use crate::text;

/// Every entity with the templates of its keys, on the table and on each index.
pub(crate) fn key_chart(model: &Model) -> String {
    let keys = model.table.key.iter().map(|key| inline_code(&key.name));
    let indexes = model.table.indexes.iter().map(|index| inline_code(&index.name));
    let mut table = MarkdownTable::new(["Entity".to_owned()].into_iter().chain(keys).chain(indexes));
    for entity in &model.entities {
        let mut cells = vec![inline_code(&entity.name)];
        for key in &model.table.key {
            cells.push(cell_lines(text::template_texts(model, &entity.key, &key.name)));
        }
        for number in 0..model.table.indexes.len() {
            cells.push(entry(model, entity, IndexId(u32::try_from(number).unwrap_or(u32::MAX))));
        }
        table.row(cells);
    }
    table.text()
}

/// What an entity puts into an index.
fn entry(model: &Model, entity: &Entity, id: IndexId) -> String {
    let (Some(index), Some(entry)) = (model.index(id), entity.index_entry(id)) else {
        return String::new();
    };
    if matches!(entry.kind, IndexEntryKind::None) {
        return "never".to_owned();
    }
    let own = index
        .key()
        .filter(|key| !index.local || index.sort.iter().any(|sort| sort.name == key.name));
    cell_lines(own.flat_map(|key| text::template_texts(model, entry.key_choices(), &key.name)))
}

/// The attributes of an entity; for a mirror, which ones it carries.
pub(crate) fn attribute_table(model: &Model, entity: &Entity) -> String {
    if let Some(mirror) = &entity.mirror {
        let of = inline_code(model.catalog.name(mirror.of));
        let names: Vec<String> = entity
            .attributes
            .iter()
            .map(|attribute| inline_code(&attribute.name))
            .collect();
        let carried = if mirror.all {
            "all of it".to_owned()
        } else {
            names.join(", ")
        };
        return format!("Another row of {of}, written, changed and removed with it. It carries {carried}.\n\n");
    }
    let mut table = MarkdownTable::new(["Attribute", "Type", "Required", "Default", "Set by", "Notes"]);
    for attribute in &entity.attributes {
        let required = match (attribute.alias.is_some(), attribute.optional) {
            (true, _) => String::new(),
            (false, true) => "optional".to_owned(),
            (false, false) => "yes".to_owned(),
        };
        let default = attribute.default.as_ref();
        table.row(vec![
            inline_code(&attribute.name),
            inline_code(&text::type_text(&attribute.ty)),
            required,
            default
                .map(|value| inline_code(&text::expression_text(model, value)))
                .unwrap_or_default(),
            setters(model, entity, attribute),
            notes(model, entity, attribute),
        ]);
    }
    table.text()
}

/// Who decides the value: the model, a request, or an operation.
fn setters(model: &Model, entity: &Entity, attribute: &Attribute) -> String {
    let name = attribute.name.as_str();
    let mut all = Vec::new();
    if let Some(alias) = &attribute.alias {
        return format!("another name of {}", inline_code(alias));
    }
    if let Some(is) = &attribute.is {
        return format!("computed: {}", inline_code(&text::expression_text(model, is)));
    }
    if let Some(always) = &attribute.always {
        all.push(format!(
            "every write: {}",
            inline_code(&text::expression_text(model, always))
        ));
    }
    if let Some(copy) = &attribute.copy {
        let of = format!("{}.{}", text::expression_text(model, &copy.source), copy.attribute);
        all.push(format!("copied from {}", inline_code(&of)));
    }
    if attribute.ty == Type::Version {
        all.push("every write raises it".to_owned());
    }
    let history = entity.history.as_ref();
    if history.is_some_and(|history| {
        history.at == name || history.until == name || history.tombstone.as_deref() == Some(name)
    }) {
        all.push("the history".to_owned());
    }
    if let Some(states) = &entity.states {
        all.extend((states.of == name).then(|| format!("its moves; starts as {}", inline_code(&states.start))));
        for (names, values) in &states.holding {
            let held = values.iter().any(|(held, _)| held == name);
            all.extend(held.then(|| format!("held while {}", escape_markdown(&names.join(", ")))));
        }
    }
    all.extend(by_writes(model, entity, name));
    cell_lines(all)
}

/// The writes that take the value from the request, and those that set it themselves.
fn by_writes(model: &Model, entity: &Entity, name: &str) -> Vec<String> {
    let (mut taken, mut set) = (Vec::new(), Vec::new());
    for write in &model.writes {
        let own: Vec<_> = steps::all_steps(model, write)
            .into_iter()
            .filter(|step| step.entity() == Some(entity.id))
            .collect();
        let takes = |step: &&singlet_model::model::Step| {
            step.take.iter().chain(&step.patch).any(|taken| taken.attribute == name)
        };
        let sets = |step: &&singlet_model::model::Step| {
            let all = step.set.iter().chain(&step.add).chain(&step.remove).chain(&step.append);
            all.into_iter().any(|assignment| assignment.attribute == name)
        };
        taken.extend(own.iter().any(takes).then(|| inline_code(&write.name)));
        set.extend(own.iter().any(sets).then(|| inline_code(&write.name)));
    }
    let mut all = Vec::new();
    if !taken.is_empty() {
        all.push(format!("request of {}", taken.join(", ")));
    }
    if !set.is_empty() {
        all.push(set.join(", "));
    }
    all
}

fn notes(model: &Model, entity: &Entity, attribute: &Attribute) -> String {
    let mut all = Vec::new();
    if entity.is_key_attribute(&attribute.name) {
        all.push("key".to_owned());
    }
    if let Some((of, name)) = refers_to(model, attribute) {
        all.push(format!(
            "refers to {}",
            inline_code(&format!("{}.{name}", model.catalog.name(of)))
        ));
    }
    if let Some(copy) = &attribute.copy {
        all.push(keeping_words(copy.kept).to_owned());
    }
    if attribute.fixed {
        all.push("never changes".to_owned());
    }
    match &attribute.stored {
        Stored::Own => {}
        Stored::As(name) => all.push(format!("stored as {}", inline_code(name))),
        Stored::No => all.push("only in the key".to_owned()),
    }
    if let Some(members) = attribute.ty.enum_members() {
        all.push(escape_markdown(&members.join(", ")));
    }
    all.join("; ")
}
