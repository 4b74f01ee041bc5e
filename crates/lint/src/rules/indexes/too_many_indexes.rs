use singlet_item::limits::{GLOBAL_INDEXES_MAX, LOCAL_INDEXES_MAX, PROJECTED_ATTRIBUTES_MAX};
use singlet_model::model::{Index, Projection};

use crate::{Context, Findings, design_rule};

design_rule! {
    /// The table has more indexes, or more projected attributes, than DynamoDB allows.
    ///
    /// A table takes 20 global and 5 local indexes, and 100 attributes in the lists that indexes project, all lists together,
    /// the same attribute counted in each. DynamoDB refuses the table.
    ///
    /// ```yaml
    /// indexes:
    ///   GSI21: {partition: GSI21PK, sort: GSI21SK}
    /// ```
    ///
    /// Way out: let entities share an index (`GSI1PK`, `GSI1SK` with templates of each), or project everything.
    "I011" "too-many-indexes" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let indexes = &context.model.table.indexes;
    let (local, global): (Vec<&Index>, Vec<&Index>) = indexes.iter().partition(|index| index.local);
    too_many(&global, "global", GLOBAL_INDEXES_MAX, findings);
    too_many(&local, "local", LOCAL_INDEXES_MAX, findings);
    let mut projected = 0;
    for index in indexes {
        let before = projected;
        projected += match &index.projection {
            Projection::Include(names) => names.len(),
            Projection::All | Projection::Keys => 0,
        };
        if before <= PROJECTED_ATTRIBUTES_MAX && projected > PROJECTED_ATTRIBUTES_MAX {
            let message = format!(
                "with index `{}` the indexes list {projected} projected attributes; a table takes {PROJECTED_ATTRIBUTES_MAX}",
                index.name
            );
            findings.push(
                findings
                    .at(index.span, "table", message)
                    .help("project everything, or only the keys"),
            );
        }
    }
}

fn too_many(indexes: &[&Index], kind: &str, max: usize, findings: &mut Findings<'_>) {
    if let Some(first) = indexes.get(max) {
        let message = format!("the table has {} {kind} indexes; DynamoDB allows {max}", indexes.len());
        findings.push(
            findings
                .at(first.span, "table", message)
                .help("let entities share an index"),
        );
    }
}
