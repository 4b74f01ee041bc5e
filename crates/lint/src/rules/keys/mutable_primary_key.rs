use std::collections::HashSet;

use singlet_model::model::{Entity, Step, Write};

use crate::context::{enumerated_names, steps_of};
use crate::{Context, Findings, design_rule};

design_rule! {
    /// A write changes a primary key to which other rows refer.
    ///
    /// DynamoDB cannot change a key. `rekey: true` deletes the row and writes another in one transaction: two table writes at
    /// twice the price, and every index entry removed and written anew. What holds the old key, an attribute of another row
    /// above all, points to nothing from then on.
    ///
    /// ```yaml
    /// Team:
    ///   key: {PK: "TEAM#{slug}", SK: "METADATA"}
    /// Member:
    ///   attributes: {team: Team.slug, …}
    /// …
    /// do:
    ///   - update: Team(args.slug)
    ///     set: {slug: args.newSlug}
    ///     rekey: true                           # and every member's `team` is that of no team
    /// ```
    ///
    /// Nothing is said where no attribute of another entity refers to what is changed, or where the same write changes those rows too.
    ///
    /// Way out: make the key of something that never changes, such as an id, and find the row by the other attribute
    /// through an index or a `unique` guard. Where the old references are meant to end, accept it and say so.
    "K010" "mutable-primary-key" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let mut reported = HashSet::new();
    for (write, step) in context.write_steps().filter(|(_, step)| step.rekey) {
        let entity = step.entity().and_then(|entity| context.model.entity(entity));
        let Some(entity) = entity.filter(|_| reported.insert(step.span)) else {
            continue;
        };
        let changed = changed_keys(entity, step);
        let stale = references(context, write, entity, &changed);
        if stale.is_empty() {
            continue;
        }
        let changed: Vec<String> = changed.iter().map(|name| format!("`{name}`")).collect();
        let message = format!(
            "`{}` changes {} in the primary key of `{}`, and {} would refer to a row that is gone",
            write.name,
            enumerated_names(&changed),
            entity.name,
            enumerated_names(&stale),
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

/// The attributes of other entities that refer to one of these, and that the write leaves as they are.
fn references(context: &Context<'_>, write: &Write, entity: &Entity, changed: &[&str]) -> Vec<String> {
    let steps = steps_of(context.model, write);
    let mut stale = Vec::new();
    for other in context.model.entities.iter().filter(|other| other.id != entity.id && other.mirror.is_none()) {
        for attribute in &other.attributes {
            let refers = attribute
                .reference
                .as_ref()
                .is_some_and(|(of, name)| *of == entity.id && changed.contains(&name.as_str()));
            let followed = || {
                let own = steps.iter().filter(|step| step.entity() == Some(other.id));
                own.into_iter().any(|step| names_set(step).any(|name| name == attribute.name))
            };
            if refers && !followed() {
                stale.push(format!("`{}.{}`", other.name, attribute.name));
            }
        }
    }
    stale
}

fn names_set(step: &Step) -> impl Iterator<Item = &str> {
    let set = step.set.iter().chain(&step.add).map(|set| set.attribute.as_str());
    let taken = step.take.iter().chain(&step.patch);
    set.chain(taken.map(|taken| taken.attribute.as_str()))
}

/// The attributes of the primary key that a step changes.
fn changed_keys<'a>(entity: &Entity, step: &'a Step) -> Vec<&'a str> {
    names_set(step).filter(|name| entity.is_key_attribute(name)).collect()
}
