use std::collections::HashSet;

use singlet_model::model::{Entity, Step};

use crate::context::enumerated;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A write changes the primary key of rows.
    ///
    /// DynamoDB cannot change a key. Each such update deletes the row and writes another in one transaction: two table
    /// writes at twice the price, every index entry removed and written anew, and every reference to the old key (a link, a
    /// cursor, a copy, another row's attribute) points to nothing from then on.
    ///
    /// ```yaml
    /// key: {PK: "TEAM#{slug}", SK: "METADATA"}
    /// do:
    ///   - update: Team(args.slug)
    ///     set: {slug: args.newSlug}
    ///     rekey: true
    /// ```
    ///
    /// Way out: make the key of something that never changes, such as an id, and find the row by the other attribute
    /// through an index or a `unique` guard. Where keys change seldom and nothing refers to them, accept it and say so.
    "K010" "mutable-primary-key" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let mut reported = HashSet::new();
    for (write, step) in context.steps().filter(|(_, step)| step.rekey) {
        let entity = step.entity().and_then(|entity| context.model.entity(entity));
        let Some(entity) = entity.filter(|_| reported.insert(step.span)) else {
            continue;
        };
        let changed = changed_keys(entity, step);
        let which = if changed.is_empty() {
            String::new()
        } else {
            format!(" ({})", enumerated(&changed))
        };
        let message = format!(
            "`{}` changes the primary key of `{}`{which}: the row is deleted and written anew, and references go stale",
            write.name, entity.name
        );
        findings.push(
            findings
                .at(step.span, write.name.clone(), message)
                .note(entity.span, format!("`{}` is declared here", entity.name))
                .help(
                    "make the key of an id that never changes, and find the row through an index or a `unique` guard",
                ),
        );
    }
}

/// The attributes of the primary key that a step changes.
fn changed_keys(entity: &Entity, step: &Step) -> Vec<String> {
    let set = step.set.iter().chain(&step.add).map(|set| set.attribute.as_str());
    let taken = step
        .take
        .iter()
        .chain(&step.patch)
        .map(|taken| taken.attribute.as_str());
    let keys = set.chain(taken).filter(|name| entity.is_key_attribute(name));
    keys.map(|name| format!("`{name}`")).collect()
}
