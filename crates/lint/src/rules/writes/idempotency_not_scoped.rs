use singlet_model::expression::ExprKind;
use singlet_model::model::{Entity, Role};

use crate::{Context, Findings, design_rule};

design_rule! {
    /// One caller's idempotency key answers another caller's request.
    ///
    /// Keys are chosen by clients, and clients choose alike: a counter, the order's number, a UUID in a copied example. A
    /// record whose key names only that value replays the first caller's answer, with their data, to the second.
    ///
    /// ```yaml
    /// request_id: {is: request.key}
    /// key: {PK: "IDEMPOTENCY#{request_id}", SK: "METADATA"}
    /// ```
    ///
    /// Way out: add an attribute of the caller, `user_id: {is: caller.id}`, to the primary key:
    /// `"IDEMPOTENCY#{user_id}#{request_id}"`.
    "W008" "idempotency-not-scoped" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let callers = &context.model.callers;
    if callers.claims.is_empty() && callers.api_key_header.is_none() {
        return;
    }
    let records = context.model.entities.iter().filter(|entity| entity.role == Some(Role::Idempotency));
    for entity in records {
        let mut parts = entity.key_templates().flat_map(|key| &key.parts);
        if parts.any(|part| is_of_caller(entity, part.root_attribute())) {
            continue;
        }
        let span = entity.key_templates().next().map_or(entity.span, |key| key.span);
        let message = format!("the key of `{}` names nothing of the caller: one caller's request replays another's answer", entity.name);
        let help = "add `{is: caller.id}` as an attribute, and put it into the partition key";
        findings.push(findings.at(span, &entity.name, message).help(help));
    }
}

fn is_of_caller(entity: &Entity, name: &str) -> bool {
    let Some(attribute) = entity.attribute(name) else { return false };
    let values = [&attribute.is, &attribute.always, &attribute.default].into_iter().flatten();
    let through = attribute.alias.as_deref().is_some_and(|alias| alias != name && of_caller(entity, alias));
    through || values.into_iter().any(|value| value.any(|part| is_claim(&part.kind)))
}

/// One step further is enough: an alias names no alias.
fn of_caller(entity: &Entity, name: &str) -> bool {
    let value = entity.attribute(name).and_then(|attribute| attribute.is.as_ref());
    value.is_some_and(|value| value.any(|part| is_claim(&part.kind)))
}

fn is_claim(kind: &ExprKind) -> bool {
    matches!(kind, ExprKind::Caller(claim) if claim != "authenticated")
}
