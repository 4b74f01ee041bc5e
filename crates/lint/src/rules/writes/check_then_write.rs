use singlet_model::model::{IdempotencyNeed, StepKind, Write};

use crate::context::steps_of;
use crate::steps::step_assignments;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A write is said to be idempotent, and nothing records the request.
    ///
    /// Looking for a record first and writing afterwards races: two copies of one request look at the same time, both find
    /// nothing, and both write. That holds on the table as well as on an index. Only a record that is written under a
    /// condition, in the transaction of the change itself, tells a retry from a new request.
    ///
    /// ```yaml
    /// createItem:
    ///   idempotency: none
    ///   claim: {idempotent: true}
    /// ```
    ///
    /// Way out: remove `idempotency: none`, or say `idempotency: required`. The record is then part of the transaction.
    "W005" "check-then-write" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for write in &context.model.writes {
        let Some(span) = write.claim.idempotent else { continue };
        if write.idempotency.need != IdempotencyNeed::None || !repeats_with_effect(context, write) {
            continue;
        }
        let message = format!("`{}` is said to be idempotent, but records no request: a retry does it again", write.name);
        let mut finding = findings.at(span, &write.name, message);
        if let Some(none) = write.idempotency.span {
            finding = finding.note(none, "no record is written");
        }
        findings.push(finding.help("say `idempotency: required`: the record is written in the same transaction"));
    }
}

/// Setting the same values again, or deleting again, does no harm.
fn repeats_with_effect(context: &Context<'_>, write: &Write) -> bool {
    steps_of(context.model, write).into_iter().any(|step| {
        let makes = matches!(step.kind, StepKind::Create(_));
        let adds = !step.add.is_empty() || !step.append.is_empty();
        makes || adds || step_assignments(step).any(|assignment| assignment.value.any(|part| part.is_generated()))
    })
}
