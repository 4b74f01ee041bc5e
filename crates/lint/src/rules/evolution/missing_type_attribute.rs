use crate::{Context, Findings, design_rule};

design_rule! {
    /// Rows of several kinds lie in one table, and none says of which kind it is.
    ///
    /// Whoever meets a row outside the query that it was written for, in a stream, an export, a scan, a shared partition or an
    /// index, must guess its kind from its key, and a change of the keys breaks each of these guesses. An attribute
    /// with the entity's name costs some ten bytes a row, and cannot be added later without rewriting every row.
    ///
    /// ```yaml
    /// table: {type: none}
    /// ```
    ///
    /// Mirrors count: they are rows of another shape. A table of one kind of row needs no such attribute.
    ///
    /// Way out: `type: entityType`.
    "E006" "missing-type-attribute" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let table = &context.model.table;
    let kinds = context.model.entities.len();
    if table.type_attribute.is_some() || kinds < 2 {
        return;
    }
    let message = format!(
        "`{}` holds {kinds} kinds of rows, and no attribute says which a row is",
        table.name
    );
    findings.push(
        findings
            .at(table.spans.type_attribute.unwrap_or(table.span), "table", message)
            .help("name one under `table`: `type: entityType`"),
    );
}
