use crate::{Context, Findings, design_rule};

design_rule! {
    /// No estimates: nothing can be said about rates.
    ///
    /// Whether a partition gets hot, what a month costs and how large a list becomes depend on how often and how many, which
    /// no template tells. A partition serves 1,000 writes a second: four states as a partition key are fine at ten a day and
    /// an outage at ten thousand a second.
    ///
    /// ```yaml
    /// estimates:
    ///   Task: {items: 10000000, per: {user_id: 200}, bytes: 600}
    ///   createTask: 40/s
    /// ```
    ///
    /// Way out: estimate what is known; a rough figure is enough. What is left out is not judged.
    "C007" "no-estimates" Hint
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let model = context.model;
    let operations = model.reads.len() + model.writes.len();
    if model.estimates.is_empty() && operations > 0 {
        let message = format!(
            "`{}` has no estimates, so hot partitions and prices cannot be judged",
            model.name
        );
        findings.push(
            findings
                .at(model.table.span, "table", message)
                .help("add `estimates:` with the rates of reads and writes, and the sizes of rows"),
        );
    }
}
