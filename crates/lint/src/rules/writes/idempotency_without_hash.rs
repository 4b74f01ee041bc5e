use singlet_model::expression::{ExprKind, Word};
use singlet_model::model::{Entity, Role};

use crate::{Context, Findings, design_rule};

design_rule! {
    /// The same key with another request is answered as the first was.
    ///
    /// A client that uses a key again for something else has a mistake, and should be told. A record that keeps nothing of the
    /// request cannot tell the two apart: the second caller gets the first one's answer and believes that it was done.
    ///
    /// ```yaml
    /// Idempotency:
    ///   role: idempotency
    ///   attributes:
    ///     request_id: {is: request.key}
    ///     response_data: {is: response.body}
    /// ```
    ///
    /// Way out: keep what the request was, `request_hash: {is: request.hash}`; another body with the same key is then refused.
    "W021" "idempotency-without-hash" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let records = context.model.entities.iter().filter(|entity| entity.role == Some(Role::Idempotency));
    for entity in records.filter(|entity| !keeps_hash(entity)) {
        let message = format!(
            "`{}` keeps nothing of the request: the same key with another body is answered as the first was",
            entity.name
        );
        let help = "add an attribute with `{is: request.hash}`";
        findings.push(findings.at(entity.span, &entity.name, message).help(help));
    }
}

fn keeps_hash(entity: &Entity) -> bool {
    let mut values = entity.attributes.iter().filter_map(|attribute| attribute.is.as_ref());
    values.any(|is| is.any(|part| part.kind == ExprKind::Word(Word::RequestHash)))
}
