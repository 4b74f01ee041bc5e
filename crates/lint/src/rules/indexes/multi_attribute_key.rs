use std::collections::HashMap;

use singlet_item::limits::INDEX_KEY_ATTRIBUTES_MAX;
use singlet_model::model::{Entity, IndexEntry, IndexId, KeyPart, KeyTemplate, Stored};
use singlet_plan::access::{AccessPath, own_paths};

use crate::context::index_subject;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A composed index key could be several attributes.
    ///
    /// Since November 2025 a global index takes up to four partition and four sort attributes. Where one entity is in the
    /// index, and the template only joins attributes that are stored anyway, the index can name them: nothing is written
    /// twice, numbers sort as numbers, and an update of one attribute has no key to rewrite.
    ///
    /// ```yaml
    /// GSI1: {GSI1PK: "USER#{user_id}", GSI1SK: "STATUS#{status}#{task_id}"}
    /// # or, in the table:
    /// GSI1: {partition: user_id, sort: [status, task_id]}
    /// ```
    ///
    /// Conditions go from left to right, equalities first, one range last; a beginning of a part is no longer to be had of
    /// the parts together.
    ///
    /// Way out: name the attributes in the index, and say `GSI1: own` on the entity. Keep the template where several entities
    /// share the index.
    "I014" "multi-attribute-key" Hint
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let mut holders: HashMap<IndexId, Vec<(&Entity, &IndexEntry)>> = HashMap::new();
    for entity in &context.model.entities {
        for entry in entity.index.iter().filter(|entry| !entry.key_choices().is_empty()) {
            holders.entry(entry.index).or_default().push((entity, entry));
        }
    }
    for (at, index) in context
        .model
        .table
        .indexes
        .iter()
        .enumerate()
        .filter(|(_, index)| !index.local)
    {
        let id = u32::try_from(at).ok().map(IndexId);
        let Some([(entity, entry)]) = id.and_then(|id| holders.get(&id)).map(Vec::as_slice) else {
            continue;
        };
        let paths = own_paths(context.model, entity);
        let mut paths = paths
            .iter()
            .filter(|path| path.index.is_some_and(|other| other.name == index.name));
        let (Some(path), None) = (paths.next(), paths.next()) else {
            continue;
        };
        let sides = plain(entity, path.partition_templates()).zip(plain(entity, path.sort_templates()));
        let Some((partition, sort)) = sides.filter(|_| path.choice.when.is_none() && joins(path)) else {
            continue;
        };
        let message = format!(
            "the key of index `{}` joins attributes that the index could name",
            index.name
        );
        let help = format!(
            "`{}: {{partition: {}, sort: {}}}` needs no template: the entity is in it by `own`",
            index.name,
            list(&partition),
            list(&sort)
        );
        let finding = findings.at(index.span, index_subject(index), message).help(help);
        findings.push(finding.note(entry.span, "the only entity in it"));
    }
}

fn joins(path: &AccessPath<'_>) -> bool {
    path.choice.keys.iter().any(|key| key.parts.len() > 1)
}

/// The attributes of templates that join stored attributes and nothing else.
fn plain<'a>(entity: &'a Entity, keys: &'a [KeyTemplate]) -> Option<Vec<&'a str>> {
    let parts: Vec<&KeyPart> = keys.iter().flat_map(|key| &key.parts).collect();
    let stored = |part: &KeyPart| {
        let attribute = entity.attribute(&part.path);
        attribute.is_some_and(|attribute| attribute.stored != Stored::No && attribute.alias.is_none())
            && sorts_alone(part)
    };
    let fits = (1..=INDEX_KEY_ATTRIBUTES_MAX).contains(&parts.len())
        && parts.iter().all(|part| part.function.is_none() && stored(part));
    fits.then(|| parts.iter().map(|part| part.path.as_str()).collect())
}

/// An attribute that is a key by itself is a string, a number or bytes.
fn sorts_alone(part: &KeyPart) -> bool {
    singlet_model::model::KeyType::of(&part.ty).is_some()
}

fn list(names: &[&str]) -> String {
    match names {
        [one] => (*one).to_owned(),
        several => format!("[{}]", several.join(", ")),
    }
}
