use crate::{Context, Findings, design_rule};

design_rule! {
    /// Correctness rests on the TTL, which may be two days late.
    ///
    /// DynamoDB removes expired rows in the background, usually within 48 hours and without a promise. Until then they are
    /// read, enumerated, counted and updated like any other, and a hold that ended a day ago still keeps its item. When a row
    /// vanishes at last, nothing else happens: what it held is not set free.
    ///
    /// ```yaml
    /// claim: {swept_by_ttl: now >= expiresAt}
    /// ```
    ///
    /// Way out: `expires: expiresAt`, past which every read and write takes the row for absent, whenever it is removed; and
    /// `lapse:` for a state that ends by time.
    "E003" "ttl-trusted" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for entity in &context.model.entities {
        let Some(condition) = &entity.claims.swept_by_ttl else {
            continue;
        };
        let message = format!(
            "`{}` counts on the TTL to remove rows in time, and it may be two days late",
            entity.name
        );
        findings.push(
            findings
                .at(condition.span, entity.name.clone(), message)
                .help("say `expires:`, past which reads and writes take the row for absent, or `lapse:` for a state"),
        );
    }
}
