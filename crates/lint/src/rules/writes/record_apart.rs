use singlet_model::model::{Role, StepKind};

use crate::steps::placed_steps;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// The record of a request is written by a step of its own.
    ///
    /// A record protects a change only if both are written together, under the condition that there is no record yet. One that
    /// a write creates by hand is written with what that write does, not with the request that it stands for: a crash between
    /// the two loses the record or repeats the change.
    ///
    /// ```yaml
    /// rememberRequest:
    ///   do:
    ///     - create: Idempotency            # role: idempotency
    /// ```
    ///
    /// Way out: remove the step. Every write with `idempotency` other than `none` writes the record in its own transaction;
    /// the entity with `role: idempotency` says what it holds.
    "W017" "record-apart" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for placed in placed_steps(context.model) {
        let makes = matches!(placed.step.kind, StepKind::Create(_) | StepKind::Upsert(_));
        let entity = placed.step.entity().and_then(|id| context.model.entity(id));
        let Some(entity) = entity.filter(|entity| makes && entity.role == Some(Role::Idempotency)) else {
            continue;
        };
        let message = format!("`{}` writes `{}` by hand, apart from the request that it records", placed.owner, entity.name);
        let help = "remove the step: a write with `idempotency` puts the record into its own transaction";
        findings.push(findings.at(placed.step.span, placed.owner, message).help(help));
    }
}
