use crate::{Context, Findings, design_rule};

design_rule! {
    /// A lake is fed from the table, and the table cannot be restored or exported.
    ///
    /// A lake begins with an export of what is there, and after a gap of more than 24 hours in the stream it needs another.
    /// Both take point-in-time recovery, at $0.20 a GB and month. Without it the lake is filled by a scan, which costs
    /// read units for every row.
    ///
    /// ```yaml
    /// table:
    ///   stream: {images: both_images, readers: [lake]}
    ///   recovery: none
    /// ```
    ///
    /// Way out: `recovery: point_in_time`.
    "E007" "no-recovery" Hint
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let table = &context.model.table;
    let lake = table.stream_readers.iter().any(|reader| reader == "lake");
    if table.recovery || !lake {
        return;
    }
    let message = format!(
        "a lake is fed from `{}`, which has no point-in-time recovery to export from",
        table.name
    );
    findings.push(
        findings
            .at(table.spans.stream.unwrap_or(table.span), "table", message)
            .help("say `recovery: point_in_time`"),
    );
}
