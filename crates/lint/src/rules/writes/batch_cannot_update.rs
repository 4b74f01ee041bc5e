use singlet_model::model::StepKind;

use crate::steps::placed_steps;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A batch is asked for what it cannot do.
    ///
    /// `BatchWriteItem` puts and deletes whole items. It has no update and no condition: a "batch update of the status" means
    /// reading every item, putting it back whole, and losing whatever was written in between.
    ///
    /// ```yaml
    /// - for: {id: args.task_ids}
    ///   update: Task(caller.id, id)
    ///   set: {status: args.status}
    ///   using: {call: BatchWriteItem}
    /// ```
    ///
    /// Way out: `TransactWriteItems` for up to 100 items, all or nothing; `bulk: true` for more; or an `UpdateItem` for each.
    "W011" "batch-cannot-update" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for placed in placed_steps(context.model) {
        let Some(using) = placed.step.using.as_ref().filter(|using| using.call == "BatchWriteItem") else {
            continue;
        };
        let what = match &placed.step.kind {
            StepKind::Update(_) | StepKind::Upsert(_) => "updates",
            StepKind::Create(_) | StepKind::Delete(_) if using.condition => "names a condition",
            StepKind::Present(_) | StepKind::Absent(_) => "tests a row",
            _ => continue,
        };
        let message = format!("`{}` {what} in a BatchWriteItem, which only puts and deletes whole items, unconditionally", placed.owner);
        let help = "use TransactWriteItems for up to 100 items, `bulk: true` for more, or one call for each";
        findings.push(findings.at(using.span, placed.owner, message).help(help));
    }
}
