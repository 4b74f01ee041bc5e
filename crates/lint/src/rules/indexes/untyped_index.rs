use singlet_model::model::IndexId;

use crate::context::{index_subject, listed_names};
use crate::{Context, Findings, design_rule};

design_rule! {
    /// An index holds several kinds of rows, and nothing names their kind.
    ///
    /// Who reads the index, the stream or an export must guess the entity from the shape of the keys, and every new template
    /// can break the guess.
    ///
    /// ```yaml
    /// table:
    ///   indexes:
    ///     GSI1: {partition: GSI1PK, sort: GSI1SK}     # users by email, bookings by status
    ///   type: none
    /// ```
    ///
    /// Way out: `type: entityType` on the table: each row carries its entity's name.
    "I009" "untyped-index" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    if context.model.table.type_attribute.is_some() {
        return;
    }
    let mut kinds: Vec<Vec<&str>> = vec![Vec::new(); context.model.table.indexes.len()];
    for entity in &context.model.entities {
        for entry in entity.index.iter().filter(|entry| !entry.key_choices().is_empty()) {
            let IndexId(at) = entry.index;
            kinds
                .iter_mut()
                .skip(at as usize)
                .take(1)
                .for_each(|kinds| kinds.push(&entity.name));
        }
    }
    for (index, kinds) in context.model.table.indexes.iter().zip(kinds) {
        if kinds.len() < 2 {
            continue;
        }
        let names = listed_names(kinds.iter().copied());
        let message = format!(
            "index `{}` holds {names}, and no attribute tells them apart",
            index.name
        );
        let help = "add `type: entityType` to the table";
        findings.push(findings.at(index.span, index_subject(index), message).help(help));
    }
}
