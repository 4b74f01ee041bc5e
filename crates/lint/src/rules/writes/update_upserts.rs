use singlet_model::model::StepKind;

use crate::steps::placed_steps;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// An update makes a row that was never created.
    ///
    /// `UpdateItem` on a key that is not there creates an item with only the attributes that the update names, and so does an
    /// update in `TransactWriteItems`. A late retry after a delete, or a wrong id, leaves a torso without name, owner or index keys, and nobody is told.
    ///
    /// ```yaml
    /// - update: Task(caller.id, args.task_id)
    ///   set: {title: args.title}
    ///   using: {call: UpdateItem}
    /// ```
    ///
    /// Way out: update under the condition that the item exists (`attribute_exists(PK)`), and say `condition: true`; use
    /// `upsert` where both is meant. Without `using`, Singlet always sends the condition.
    "W002" "update-upserts" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for placed in placed_steps(context.model) {
        let (Some(using), StepKind::Update(_)) = (&placed.step.using, &placed.step.kind) else {
            continue;
        };
        if using.condition || !matches!(using.call.as_str(), "UpdateItem" | "TransactWriteItems") {
            continue;
        }
        let entity = placed.step.entity().map_or("", |id| context.model.catalog.name(id));
        let message = format!("`{}` updates `{entity}` without a condition, so it creates a row that was not there", placed.owner);
        let help = "add the condition `attribute_exists` and say `condition: true`, or write `upsert` where both is meant";
        findings.push(findings.at(using.span, placed.owner, message).help(help));
    }
}
