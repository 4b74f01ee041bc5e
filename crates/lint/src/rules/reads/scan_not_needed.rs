use singlet_plan::access::AccessPath;
use singlet_plan::read::SelectionPlan;

use crate::context::Asked;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A scan is asked for though a key answers the read.
    ///
    /// A scan reads, and bills, every row of the table to find the few of one partition; it grows with the table, not with
    /// the answer. Filters, projections and counts save nothing of that.
    ///
    /// ```yaml
    /// countByStatus:
    ///   count: Task
    ///   by: status
    ///   where: user_id == caller.id         # Task has the partition `USER#{user_id}`
    ///   scan: "counted in the background"
    /// ```
    ///
    /// Way out: remove `scan`; the read becomes a query of that partition.
    "R007" "scan-not-needed" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for asked in context.asked_rows() {
        let Some((read, (_, span))) = asked.own_read().and_then(|read| Some((read, read.scan.as_ref()?))) else {
            continue;
        };
        let Some(path) = answering(context, &asked) else {
            continue;
        };
        let key = path
            .partition_templates()
            .iter()
            .map(|key| format!("`{}`", key.text))
            .collect::<Vec<_>>()
            .join(", ");
        let message = format!(
            "`{}` scans the table, though its meaning fixes the partition {key} of {}",
            read.name,
            path.name()
        );
        findings.push(
            findings
                .at(*span, &read.name, message)
                .help("remove `scan`: a query reads that partition alone"),
        );
    }
}

/// The path that the planner takes in place of the scan; none where it needs the scan with some of the optional arguments.
fn answering<'a>(context: &Context<'a>, asked: &Asked<'a>) -> Option<AccessPath<'a>> {
    let answers = context.answers_of(asked);
    let is_found = |plan: &SelectionPlan| plan.is_answer() && plan.queries.iter().all(|query| !query.scan);
    if !answers.iter().all(|answer| is_found(&answer.plan)) {
        return None;
    }
    let query = answers.iter().find_map(|answer| answer.plan.queries.first())?;
    context.path_of(query)
}
