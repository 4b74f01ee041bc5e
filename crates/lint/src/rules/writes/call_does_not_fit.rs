use singlet_model::Model;
use singlet_model::model::{Step, StepKind};

use crate::steps::{placed_steps, step_taken};
use crate::{Context, Findings, design_rule};

design_rule! {
    /// The call that is named does something else than the step.
    ///
    /// `PutItem` replaces the whole item. For an update it means reading the row, changing it and putting it back: whatever was
    /// written in between is gone, and so is every attribute that the code did not know. So it is for an `upsert` that does not name
    /// every attribute. A `DeleteItem` makes nothing, a `PutItem` removes nothing. A delete without a condition is done where there is
    /// no row, and nobody is told.
    ///
    /// ```yaml
    /// - update: Task(caller.id, args.task_id)
    ///   set: {title: args.title}
    ///   using: {call: PutItem}
    /// ```
    ///
    /// Way out: `UpdateItem` with `attribute_exists`, which changes only what it names. A put under a condition on what was
    /// read, a version for instance, says `condition: true`, and so does a delete under `attribute_exists`; a delete that may find
    /// nothing says `else: skip`. What `BatchWriteItem` cannot do has a rule of its own.
    "W025" "call-does-not-fit" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for placed in placed_steps(context.model) {
        let Some(using) = &placed.step.using else { continue };
        let (what, help) = match (&placed.step.kind, using.call.as_str()) {
            (StepKind::Update(_), "PutItem") if !using.condition => (
                "updates with PutItem, which replaces the whole row and what was written to it meanwhile",
                "use UpdateItem with `attribute_exists`, or put under a condition on what was read and say `condition: true`",
            ),
            (StepKind::Upsert(_), "PutItem") if !using.condition && leaves_attributes(context.model, placed.step) => (
                "upserts with PutItem, which replaces the whole row and drops what the step does not name",
                "use UpdateItem, which keeps the rest, or set every attribute",
            ),
            (StepKind::Delete(_), "DeleteItem" | "TransactWriteItems") if !using.condition && !placed.step.or_skip => (
                "deletes without a condition, so it says that it deleted a row that was not there",
                "add the condition `attribute_exists` and say `condition: true`, or say `else: skip` where that is meant",
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

/// Whether the entity has attributes that a step does not give a value: a row that is put has them no more.
fn leaves_attributes(model: &Model, step: &Step) -> bool {
    let Some(entity) = step.entity().and_then(|id| model.entity(id)) else {
        return false;
    };
    let key = model.catalog.names(entity.id).map_or(&[][..], |names| &names.key_variables);
    entity.attributes.iter().any(|attribute| {
        let follows = attribute.is.is_some() || attribute.always.is_some() || attribute.alias.is_some();
        let set = step.set.iter().any(|set| set.attribute == attribute.name && set.entry.is_none());
        let sent = step_taken(step).any(|taken| taken.attribute == attribute.name);
        !follows && !set && !sent && !key.contains(&attribute.name)
    })
}
