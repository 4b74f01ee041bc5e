use singlet_model::model::{Attribute, Stored};
use singlet_model::types::Type;

use crate::{Context, Findings, design_rule};

design_rule! {
    /// The TTL attribute is not a number of epoch seconds.
    ///
    /// DynamoDB removes an expired row only if the attribute is a Number, in seconds since 1970. A string, such as an ISO time,
    /// is ignored without any error, and the rows stay for ever. Milliseconds are a number too, and lie 50,000 years ahead.
    ///
    /// ```yaml
    /// table: {ttl: expiresAt}
    /// expiresAt: time = now + hours(24)
    /// ```
    ///
    /// Accepted are `seconds`, and `int` and `number`, which may well hold seconds.
    ///
    /// Way out: leave it to the language: name a TTL attribute that no entity declares, and say `expires: createdAt +
    /// days(30)`; or declare the attribute as `seconds`.
    "E001" "ttl-not-seconds" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let Some(ttl) = &context.model.table.ttl else { return };
    for entity in context.model.entities.iter().filter(|entity| entity.mirror.is_none()) {
        for attribute in entity
            .attributes
            .iter()
            .filter(|attribute| is_stored_as(attribute, ttl))
        {
            let Some(harm) = harm(&attribute.ty) else { continue };
            let message = format!(
                "the TTL attribute `{ttl}` of `{}` is a {}: {harm}",
                entity.name, attribute.ty
            );
            let mut finding = findings.at(attribute.span, format!("{}.{}", entity.name, attribute.name), message);
            if let Some(span) = context.model.table.spans.ttl {
                finding = finding.note(span, "the table's TTL");
            }
            findings.push(finding.help("declare it as `seconds`, or leave it to `expires:` and another TTL attribute"));
        }
    }
}

fn harm(ty: &Type) -> Option<&'static str> {
    match ty {
        Type::Seconds | Type::Int(_) | Type::Number(_) | Type::Unknown => None,
        Type::Millis => Some("read as seconds, it lies 50,000 years ahead"),
        _ => Some("DynamoDB ignores what is no number of seconds, and the rows stay"),
    }
}

/// Whether an attribute is stored under a name.
pub(crate) fn is_stored_as(attribute: &Attribute, name: &str) -> bool {
    match &attribute.stored {
        Stored::Own => attribute.alias.is_none() && attribute.name == name,
        Stored::As(stored) => stored == name,
        Stored::No => false,
    }
}
