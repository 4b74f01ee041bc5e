use singlet_model::expression::ExprKind;
use singlet_model::model::{Attribute, Role};

use crate::{Context, Findings, design_rule};

design_rule! {
    /// Records of requests are kept for ever.
    ///
    /// Every write with a key leaves a record. A client retries for minutes, at most for days; without an end the records
    /// outgrow the data that they protect, and are paid for every month.
    ///
    /// ```yaml
    /// Idempotency:
    ///   role: idempotency
    ///   key: {PK: "IDEMPOTENCY#{user_id}#{request_id}", SK: "METADATA"}
    /// ```
    ///
    /// Way out: add `expires: created_at + days(1)`, and a `ttl` to the table.
    "W007" "idempotency-without-expiry" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let records = context.model.entities.iter().filter(|entity| entity.role == Some(Role::Idempotency));
    for entity in records.filter(|entity| entity.expires.is_none()) {
        let message = format!("`{}` records every request and never expires", entity.name);
        let made_now = |attribute: &&Attribute| {
            attribute.ty.is_instant() && attribute.default.as_ref().is_some_and(|default| default.kind == ExprKind::Now)
        };
        let table = if context.model.table.ttl.is_none() { ", and `ttl: ttl` to the table" } else { "" };
        let help = match entity.attributes.iter().find(made_now) {
            Some(time) => format!("add `expires: {} + days(1)`{table}", time.name),
            None => format!("add an attribute `createdAt: time = now` and `expires: createdAt + days(1)`{table}"),
        };
        findings.push(findings.at(entity.span, &entity.name, message).help(help));
    }
}
