use singlet_model::model::Entity;

use crate::{Context, Findings, design_rule};

design_rule! {
    /// A document calls an attribute unique, and nothing makes it so.
    ///
    /// DynamoDB keeps only the primary key unique. An index takes any number of items with one key, and a look before the
    /// write races: two sign-ups at once with one address make two accounts.
    ///
    /// ```yaml
    /// User:
    ///   key: {PK: "USER#{userId}", SK: "METADATA"}
    ///   claim: {unique: email}
    /// ```
    ///
    /// Way out: add a guard, `unique: {email: lower(email)}`. It is a row of its own, claimed in the transaction that creates
    /// the user, and released with them.
    "W004" "unguarded-unique" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for entity in &context.model.entities {
        for (attribute, span) in &entity.claims.unique {
            if is_guarded(context, entity, attribute) {
                continue;
            }
            let message = format!("nothing keeps two rows of `{}` from having the same `{attribute}`", entity.name);
            let help = format!("add a guard: `unique: {{{attribute}: {attribute}}}`, or `lower({attribute})` where case does not count");
            findings.push(findings.at(*span, format!("{}.{attribute}", entity.name), message).help(help));
        }
    }
}

/// By a guard over it, or by being the whole primary key.
fn is_guarded(context: &Context<'_>, entity: &Entity, attribute: &str) -> bool {
    let source = context.model.source_of(entity);
    let guarded = source.unique.iter().any(|guard| guard.value.mentions_attribute(attribute));
    let variables = context.model.catalog.names(source.id).map_or(&[][..], |names| &names.key_variables);
    guarded || matches!(variables, [only] if only == attribute)
}
