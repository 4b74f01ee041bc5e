use std::collections::HashMap;

use singlet_model::Span;
use singlet_model::expression::{BinaryOp, Expr, ExprKind};
use singlet_model::model::{Let, LetValue, StepKind, Write};
use singlet_model::types::EntityId;

use crate::steps::{placed_in, step_taken};
use crate::{Context, Findings, design_rule};

design_rule! {
    /// Callers choose what they may do.
    ///
    /// An `allow` looks at an attribute of the caller's own row, and another write takes that attribute from the body. Whoever
    /// registers with `"role": "admin"` is one.
    ///
    /// ```yaml
    /// deleteUser: {let: {me: User(caller.id)}, allow: me.role == "admin", …}
    /// register: {do: [{create: User, take: [name, role]}], …}
    /// ```
    ///
    /// Way out: set the attribute from what is known (`set: {role: user}`, or a default), and change it only in a write that
    /// the privileged may call. A role that the token carries (`caller.role`) needs no row at all.
    "W020" "role-from-body" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let deciding = deciding(context);
    if deciding.is_empty() {
        return;
    }
    for write in context.model.writes.iter().filter(|write| !is_privileged(write)) {
        for placed in placed_in(write) {
            let changes = matches!(placed.step.kind, StepKind::Create(_) | StepKind::Update(_) | StepKind::Upsert(_));
            let Some(entity) = placed.step.entity().filter(|_| changes) else { continue };
            for taken in step_taken(placed.step) {
                let Some((owner, span)) = deciding.get(&(entity, taken.attribute.as_str())) else {
                    continue;
                };
                let name = format!("{}.{}", context.model.catalog.name(entity), taken.attribute);
                let message = format!("`{}` takes `{name}` from the body, and `{owner}` decides by it who may", write.name);
                let help = format!("set `{}` from what is known, and let only the privileged change it", taken.attribute);
                findings.push(findings.at(taken.span, name, message).note(*span, "decided here").help(help));
            }
        }
    }
}

/// Attributes of the caller's own row that some `allow` looks at, with the first that does.
fn deciding<'a>(context: &Context<'a>) -> HashMap<(EntityId, &'a str), (&'a str, Span)> {
    let reads = context.model.reads.iter().map(|read| (read.name.as_str(), read.lets.as_slice(), &read.allow));
    let writes = context.model.writes.iter().map(|write| (write.name.as_str(), write.lets.as_slice(), &write.allow));
    let mut found = HashMap::new();
    for (owner, lets, allow) in reads.chain(writes) {
        allow.walk(&mut |part| {
            if let ExprKind::Field(row, attribute) = &part.kind
                && let Some((entity, key)) = own_row(row, lets)
                && !key.iter().any(|(variable, _)| variable == attribute)
            {
                found.entry((entity, attribute.as_str())).or_insert((owner, part.span));
            }
        });
    }
    found
}

/// A row whose key is the caller's and nothing else.
fn own_row<'a>(row: &'a Expr, lets: &'a [Let]) -> Option<(EntityId, &'a [(String, Expr)])> {
    let row = match &row.kind {
        ExprKind::Bound(name) => match &lets.iter().find(|bound| bound.name == *name)?.value {
            LetValue::Value(row) => row,
            LetValue::Read(_) => return None,
        },
        _ => row,
    };
    let ExprKind::Entity { entity, key } = &row.kind else { return None };
    let of_caller = |(_, value): &(String, Expr)| matches!(&value.kind, ExprKind::Caller(_));
    (!key.is_empty() && key.iter().all(of_caller)).then_some((*entity, key.as_slice()))
}

/// Whether only some callers may: by a claim that has a certain value, or by their own row.
fn is_privileged(write: &Write) -> bool {
    write.allow.any(|part| match &part.kind {
        ExprKind::Binary(BinaryOp::Eq | BinaryOp::In, left, right) => {
            let claims = [left, right].into_iter().any(|side| matches!(side.kind, ExprKind::Caller(_)));
            claims && [left, right].into_iter().any(|side| side.is_constant())
        }
        ExprKind::Field(row, _) => own_row(row, &write.lets).is_some(),
        _ => false,
    })
}
