use singlet_model::model::{IdempotencyNeed, MoveTo, Step, StepKind, Write};
use singlet_model::types::Type;

use crate::context::steps_of;
use crate::steps::makes_up_key;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A retry counts twice.
    ///
    /// Clients, proxies and SDKs send a request again when the answer is lost. Adding to a number, appending to a list or
    /// creating a row under a generated id then happens a second time, and nothing can tell.
    ///
    /// ```yaml
    /// http: POST /items/{itemId}/share
    /// idempotency: none
    /// do:
    ///   - update: Item(args.itemId)
    ///     add: {shares: 1}
    /// ```
    ///
    /// Way out: remove `idempotency: none`, so that callers can send a key, or say `required`. Silent where another step
    /// refuses the second time: a create under a key from the request, a delete, a move to another state.
    "W013" "retried-add" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for write in &context.model.writes {
        let unrecorded = write.idempotency.need == IdempotencyNeed::None && write.claim.idempotent.is_none();
        if write.http.is_none() || !unrecorded {
            continue;
        }
        let steps = steps_of(context.model, write);
        if !steps.iter().any(|step| refuses_again(context, step)) {
            steps.iter().for_each(|step| report(context, write, step, findings));
        }
    }
}

fn report(context: &Context<'_>, write: &Write, step: &Step, findings: &mut Findings<'_>) {
    let Some(entity) = step.entity().and_then(|id| context.model.entity(id)) else {
        return;
    };
    let is_set = |name: &str| entity.attribute(name).is_some_and(|attribute| matches!(attribute.ty, Type::Set(..)));
    let added = step.add.iter().filter(|assignment| !is_set(&assignment.attribute));
    let twice = added.map(|assignment| (assignment, "adds to")).chain(step.append.iter().map(|assignment| (assignment, "appends to")));
    let help = "remove `idempotency: none`, or say `idempotency: required`";
    for (assignment, does) in twice {
        let message = format!("a retry of `{}` {does} `{}.{}` again", write.name, entity.name, assignment.attribute);
        findings.push(findings.at(assignment.span, &write.name, message).help(help));
    }
    if matches!(step.kind, StepKind::Create(_)) && makes_up_key(context.model, step, entity) {
        let message = format!("a retry of `{}` creates a second `{}`: its id is generated", write.name, entity.name);
        findings.push(findings.at(step.span, &write.name, message).help(help));
    }
}

/// Whether the step cannot be done a second time, so that the whole write is refused.
fn refuses_again(context: &Context<'_>, step: &Step) -> bool {
    if step.when.is_some() || step.repeat.is_some() || step.or_skip {
        return false;
    }
    let Some(entity) = step.entity().and_then(|id| context.model.entity(id)) else {
        return false;
    };
    match &step.kind {
        StepKind::Create(_) => !makes_up_key(context.model, step, entity) || !entity.unique.is_empty(),
        StepKind::Delete(_) => true,
        StepKind::Update(_) => match (&step.moves, &entity.states) {
            (Some(MoveTo::Named(name, _)), Some(states)) => {
                let known = states.moves.iter().find(|known| known.name == *name);
                known.is_some_and(|known| !known.from.contains(&known.to))
            }
            _ => false,
        },
        _ => false,
    }
}
