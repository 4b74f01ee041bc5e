use singlet_item::limits::{ITEM_SIZE_BYTES_MAX, LOCAL_INDEX_COLLECTION_BYTES_MAX};
use singlet_model::model::Entity;

use crate::{Context, Findings, design_rule};

design_rule! {
    /// A local index limits each partition to 10 GB, and nothing bounds the partitions.
    ///
    /// With a local index, all rows of one partition key and their index entries together may not pass 10 GB. From then on
    /// every write that would add to that partition fails, and a local index can be removed only with the table.
    ///
    /// ```yaml
    /// LSI1: {local: true, sort: createdAt}
    /// …
    /// estimates:
    ///   Message: {items: 10000000}              # how many to a room, it does not say
    /// ```
    ///
    /// An estimate bounds a partition: `Message: {per: {room: 5000}, bytes: 800}`. Without `bytes`, 400 KB are assumed for
    /// each row.
    ///
    /// Way out: say how crowded a partition is, or use a global index.
    "I010" "unbounded-local-index" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for entity in &context.model.entities {
        for entry in entity.index.iter().filter(|entry| !entry.key_choices().is_empty()) {
            let Some(index) = context.model.index(entry.index).filter(|index| index.local) else {
                continue;
            };
            let Some(why) = unbounded(context, entity) else {
                continue;
            };
            let message = format!(
                "local index `{}` limits a partition of `{}` to 10 GB, {why}",
                index.name, entity.name
            );
            let subject = format!("{}.{}", entity.name, index.name);
            let help = format!(
                "add `{}: {{per: {{…}}, bytes: …}}` to `estimates`, or use a global index",
                entity.name
            );
            findings.push(findings.at(entry.span, subject, message).help(help));
        }
    }
}

/// Why a partition may grow past the limit.
fn unbounded(context: &Context<'_>, entity: &Entity) -> Option<String> {
    let estimate = context.model.estimate_of(&entity.name);
    let partition = context.model.table.key.first()?;
    let rows = estimate.and_then(|estimate| {
        let named = |name: &str| {
            entity
                .key
                .iter()
                .filter_map(|choice| choice.attribute_template(&partition.name))
                .any(|key| key.parts.iter().any(|part| part.root_attribute() == name))
        };
        estimate
            .per
            .iter()
            .filter(|(name, _)| named(name))
            .map(|(_, rows)| *rows)
            .min()
    });
    let Some(rows) = rows else {
        return Some("and no estimate says how many rows share one".to_owned());
    };
    let bytes = estimate
        .and_then(|estimate| estimate.bytes)
        .unwrap_or(ITEM_SIZE_BYTES_MAX as u64);
    let total = rows.saturating_mul(bytes);
    (total > LOCAL_INDEX_COLLECTION_BYTES_MAX as u64)
        .then(|| format!("and {rows} rows of up to {bytes} bytes may share one"))
}
