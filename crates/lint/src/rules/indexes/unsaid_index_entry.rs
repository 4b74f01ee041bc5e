use singlet_model::model::{Entity, Index, IndexEntryKind, IndexId};

use crate::context::held_key;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// Rows are in an index of which their entity says nothing.
    ///
    /// A row that has all key attributes of an index is in it, whether anybody meant that or not. It costs a write and
    /// storage there, and reads of the index meet rows that they do not expect.
    ///
    /// ```yaml
    /// indexes:
    ///   GSI1: {partition: geohash, sort: timestamp}
    /// …
    /// GeoItem:
    ///   mirrors: Item
    ///   carries: [geohash, itemId, timestamp]       # and so it is in GSI1
    /// ```
    ///
    /// `none` is reported too where the attributes are always there: the rows are in the index all the same.
    ///
    /// Way out: `index: {GSI1: own}` where it is meant; else store one of the attributes under another name
    /// (`stored: createdAt`), or do not carry it.
    "I013" "unsaid-index-entry" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for entity in &context.model.entities {
        for (at, index) in context.model.table.indexes.iter().enumerate() {
            if let Ok(at) = u32::try_from(at) {
                report(context, entity, (IndexId(at), index), findings);
            }
        }
    }
}

fn report(context: &Context<'_>, entity: &Entity, (id, index): (IndexId, &Index), findings: &mut Findings<'_>) {
    let entry = entity.index_entry(id);
    let none = entry.is_some_and(|entry| matches!(entry.kind, IndexEntryKind::None));
    if entry.is_some() && !none {
        return;
    }
    let Some(held) = held_key(context.model, entity, index) else {
        return;
    };
    if none && held.may_be_absent {
        return;
    }
    let names: Vec<String> = index.key().map(|key| format!("`{}`", key.name)).collect();
    let names = names.join(" and ");
    let message = match none {
        true => format!(
            "`{}` is in index `{}` though it says `none`: it always has {names}",
            entity.name, index.name
        ),
        false => format!(
            "`{}` has {names}, so its rows are in index `{}`, of which it says nothing",
            entity.name, index.name
        ),
    };
    let help = match none {
        true => format!("say `{}: own`, or store one of them under another name", index.name),
        false => format!(
            "say `{}: own` if that is meant, else store one of them under another name",
            index.name
        ),
    };
    let span = entry.map_or(entity.span, |entry| entry.span);
    findings.push(
        findings
            .at(span, format!("{}.{}", entity.name, index.name), message)
            .help(help),
    );
}
