use singlet_model::expression::{Expr, ExprKind};

use crate::{Context, Findings, design_rule};

design_rule! {
    /// A condition by hand returns rows past their end.
    ///
    /// DynamoDB removes expired rows some time after they expire, often hours, up to days later. Until then a query returns
    /// them like any other, unless its filter compares what the expiry is made of with the time.
    ///
    /// ```yaml
    /// expires: created_at + days(1)
    /// …
    /// using: {key: {PK: "IDEMPOTENCY#{args.request_id}", SK: "METADATA"}}
    /// ```
    ///
    /// Way out: a filter such as `created_at > now - days(1)`; or leave `using` out, where it is added by itself.
    "R012" "expired-rows-returned" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for by_hand in context.by_hand() {
        let source = context.model.source_of(by_hand.entity);
        let Some(expires) = &source.expires else { continue };
        if by_hand.using.filter.as_ref().is_some_and(looks_at_time) || reads_by_time(by_hand.using) {
            continue;
        }
        let sources = expires.attributes();
        let message = match sources.as_slice() {
            [] => format!(
                "rows of `{}` that have expired are returned until they are removed",
                source.name
            ),
            names => format!(
                "rows of `{}` that have expired are returned: no filter compares `{}` with `now`",
                source.name,
                names.join("`, `")
            ),
        };
        let help = "add a filter on the time, or leave `using` out: it is added by itself";
        findings.push(findings.at(by_hand.using.span, &by_hand.read.name, message).help(help));
    }
}

fn looks_at_time(filter: &Expr) -> bool {
    filter.any(|part| matches!(part.kind, ExprKind::Now | ExprKind::Today))
}

/// Whether a range of the key itself starts from the time of the request.
fn reads_by_time(using: &singlet_model::model::Using) -> bool {
    use singlet_model::model::Comparison::{Between, Greater, GreaterOrEqual};
    using.key.iter().any(|key| match &key.comparison {
        Greater(low) | GreaterOrEqual(low) | Between(low, _) => {
            low.parts.iter().any(|part| part.path == "now" || part.path == "today")
        }
        _ => false,
    })
}
