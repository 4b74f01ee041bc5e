use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::WEBHOOK_BODY_BYTES_MAX;
use singlet_model::types::Type;
use singlet_plan::size::value_bytes_max;

use crate::context::{enumerated_names, grouped_thousands};
use crate::{Context, Findings, design_rule};

design_rule! {
    /// What a webhook tells may be larger than what is told.
    ///
    /// A body has up to 20,000 bytes, as Standard Webhooks recommends. A change whose body would have more is parked: nobody is told of it
    /// until an operator looks. The upper limits of what is sent say how large a body can be; a character takes up to 4 bytes. What
    /// has no limit, or is computed, is not in the sum.
    ///
    /// ```yaml
    /// webhooks:
    ///   posted:
    ///     after: {create: Post}
    ///     to: settings.postsUrl
    ///     send: {post: row.postId, body: row.body}     # body: string 1..10000
    /// ```
    ///
    /// Way out: send what identifies the row, and let the receiver ask for the rest; or lower the limits.
    "W031" "webhook-too-large" Warning
}

/// How many fields the message names.
const NAMED_MAX: usize = 3;

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for webhook in &context.model.webhooks {
        let fields = webhook.sent_values().iter();
        let mut limited: Vec<(&str, u64)> = fields
            .filter_map(|(name, expr)| Some((name.as_str(), largest(context, expr)?)))
            .collect();
        limited.sort_by(|(_, one), (_, two)| two.cmp(one));
        let bytes = limited.iter().fold(0_u64, |all, (_, bytes)| all.saturating_add(*bytes));
        if bytes <= WEBHOOK_BODY_BYTES_MAX as u64 {
            continue;
        }
        let named: Vec<String> = limited
            .iter()
            .take(NAMED_MAX)
            .map(|(name, bytes)| format!("`{name}` {}", grouped_thousands(*bytes)))
            .collect();
        let message = format!(
            "what `{}` tells can have {} bytes, and a body has {}: {}",
            webhook.name,
            grouped_thousands(bytes),
            grouped_thousands(WEBHOOK_BODY_BYTES_MAX as u64),
            enumerated_names(&named),
        );
        let help = "send what identifies the row, and let the receiver ask for the rest";
        findings.push(findings.at(webhook.span, &webhook.name, message).help(help));
    }
}

/// The most bytes of a field by declared limits; none where it has none, or is computed.
fn largest(context: &Context<'_>, expr: &Expr) -> Option<u64> {
    match (&expr.kind, &expr.ty) {
        (_, Type::Row(entity)) => {
            let entity = context.model.entity(*entity)?;
            context.size_bound(entity).map(|bound| bound.bytes)
        }
        (ExprKind::Field(..), ty) => value_bytes_max(ty),
        _ => None,
    }
}
