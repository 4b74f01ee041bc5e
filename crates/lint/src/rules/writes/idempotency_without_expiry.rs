use singlet_model::model::Role;

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
        let help = "add `expires`, such as `expires: created_at + days(1)`";
        findings.push(findings.at(entity.span, &entity.name, message).help(help));
    }
}
