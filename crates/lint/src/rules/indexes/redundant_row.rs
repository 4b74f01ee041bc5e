use std::collections::BTreeSet;

use singlet_model::model::{Entity, KeyPart, KeyTemplate};
use singlet_model::types::EntityId;
use singlet_plan::access::{self, AccessPath};

use crate::{Context, Findings, design_rule};

design_rule! {
    /// A row repeats what an index already says.
    ///
    /// The row's partition is made of what an index of the same rows is partitioned by, in the same order: whatever is asked
    /// of the one, the other answers. Both are written, stored and kept in step.
    ///
    /// ```yaml
    /// Item:
    ///   index:
    ///     GSI1: own                             # geohash, timestamp
    /// GeoItem:
    ///   mirrors: Item
    ///   key: {PK: "GEO#{geohash}", SK: "ITEM#{itemId}#{timestamp}"}
    /// ```
    ///
    /// Way out: keep the index and drop the row; keep the row alone where strong reads or a smaller projection are needed.
    "I012" "redundant-row" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for entity in &context.model.entities {
        let Some(source) = repeated(context, entity) else {
            continue;
        };
        let own = access::own_paths(context.model, entity);
        let row = own.iter().find(|path| path.index.is_none());
        let indexes = access::own_paths(context.model, source);
        let mut pairs = indexes
            .iter()
            .filter(|path| path.index.is_some())
            .filter_map(|index| Some((row?, index)));
        if let Some((row, index)) = pairs.find(|(row, index)| says_the_same(entity, row, index)) {
            let Some(key) = row.partition_templates().first() else { continue };
            let message = format!(
                "the rows `{}` of `{}` repeat {}, which has the same partitions of `{}`",
                key.text,
                entity.name,
                index.name(),
                source.name
            );
            let help = format!("drop `{}`, and read {}", entity.name, index.name());
            findings.push(findings.at(key.span, &entity.name, message).help(help));
        }
    }
}

/// The entity whose rows an entity repeats: by mirroring it, or by copies.
fn repeated<'a>(context: &Context<'a>, entity: &'a Entity) -> Option<&'a Entity> {
    let copied = || {
        entity
            .attributes
            .iter()
            .find_map(|attribute| attribute.copy.as_ref())
            .map(|copy| copy.entity)
    };
    let source: EntityId = entity.mirror.as_ref().map(|mirror| mirror.of).or_else(copied)?;
    context.model.entity(source).filter(|source| source.id != entity.id)
}

fn says_the_same(entity: &Entity, row: &AccessPath<'_>, index: &AccessPath<'_>) -> bool {
    let partition = variables(entity, row.partition_templates());
    if partition.is_empty() || partition != plain_variables(index.partition_templates()) {
        return false;
    }
    let (rows, entries) = (variables(entity, row.sort_templates()), plain_variables(index.sort_templates()));
    !entries.is_empty() && entries.is_subset(&rows) && row.choice.when.is_none() && index.choice.when.is_none()
}

/// The variables of a repeated row's key, each under its name in the source.
fn variables(entity: &Entity, keys: &[KeyTemplate]) -> BTreeSet<String> {
    let parts = keys.iter().flat_map(|key| &key.parts);
    parts.map(|part| named(part, in_source(entity, part))).collect()
}

fn plain_variables(keys: &[KeyTemplate]) -> BTreeSet<String> {
    keys.iter()
        .flat_map(|key| &key.parts)
        .map(|part| named(part, &part.path))
        .collect()
}

fn named(part: &KeyPart, name: &str) -> String {
    match part.function {
        Some(function) => format!("{function:?}({name})"),
        None => name.to_owned(),
    }
}

fn in_source<'a>(entity: &'a Entity, part: &'a KeyPart) -> &'a str {
    let attribute = entity.attribute(&part.path).filter(|_| entity.mirror.is_none());
    let copied = attribute
        .and_then(|attribute| attribute.copy.as_ref())
        .map(|copy| copy.attribute.as_str());
    let referred = attribute
        .and_then(|attribute| attribute.reference.as_ref())
        .map(|(_, name)| name.as_str());
    copied.or(referred).unwrap_or(&part.path)
}
