use singlet_model::model::StepKind;

use crate::steps::placed;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// The call that is named does something else than the step.
    ///
    /// `PutItem` replaces the whole item. For an update it means reading the row, changing it and putting it back: whatever was
    /// written in between is gone, and so is every attribute that the code did not know. A `DeleteItem` makes nothing, a `PutItem`
    /// removes nothing.
    ///
    /// ```yaml
    /// - update: Task(caller.id, args.task_id)
    ///   set: {title: args.title}
    ///   using: {call: PutItem}
    /// ```
    ///
    /// Way out: `UpdateItem` with `attribute_exists`, which changes only what it names. A put under a condition on what was
    /// read, a version for instance, says `condition: true`. What `BatchWriteItem` cannot do has a rule of its own.
    "W025" "call-does-not-fit" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for placed in placed(context.model) {
        let Some(using) = &placed.step.using else { continue };
        let (what, help) = match (&placed.step.kind, using.call.as_str()) {
            (StepKind::Update(_), "PutItem") if !using.condition => (
                "updates with PutItem, which replaces the whole row and what was written to it meanwhile",
                "use UpdateItem with `attribute_exists`, or put under a condition on what was read and say `condition: true`",
            ),
            (StepKind::Create(_) | StepKind::Update(_) | StepKind::Upsert(_), "DeleteItem") => (
                "writes a row with DeleteItem, which removes it",
                "use PutItem for a create, UpdateItem for an update",
            ),
            (StepKind::Delete(_), "PutItem" | "UpdateItem") => (
                "deletes a row with a call that writes one",
                "use DeleteItem, or say what the row is changed to",
            ),
            (StepKind::Present(_) | StepKind::Absent(_), "PutItem" | "UpdateItem" | "DeleteItem") => (
                "tests a row with a call that writes it",
                "use a condition check in TransactWriteItems",
            ),
            _ => continue,
        };
        let message = format!("`{}` {what}", placed.owner);
        findings.push(findings.at(using.span, placed.owner, message).help(help));
    }
}
