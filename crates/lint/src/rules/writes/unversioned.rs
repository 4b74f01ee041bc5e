use singlet_model::types::Type;

use crate::{Context, Findings, design_rule};

design_rule! {
    /// A document says that an entity is versioned, and no attribute holds the version.
    ///
    /// Optimistic locking needs a number that every write raises and every update compares. Without one, two people who edit
    /// the same row at once both succeed, and the first one's change is gone.
    ///
    /// ```yaml
    /// Booking:
    ///   attributes: {bookingId: ulid, status: string}
    ///   claim: {versioned: true}
    /// ```
    ///
    /// Way out: add an attribute `version: version`. Every write raises it, and callers send it as `If-Match`.
    "W003" "unversioned" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for entity in &context.model.entities {
        let Some(span) = entity.claims.versioned else { continue };
        let source = context.model.source_of(entity);
        if source.attributes.iter().any(|attribute| attribute.ty == Type::Version) {
            continue;
        }
        let message = format!("`{}` is said to be versioned, but has no version attribute", entity.name);
        let help = format!("add `version: version` to the attributes of `{}`", source.name);
        findings.push(findings.at(span, &entity.name, message).help(help));
    }
}
