use singlet_model::model::{Entity, KeyPart, KeyTemplate, UsingCall};

use crate::steps::placed_steps;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// An update changes an attribute, and leaves the index keys that were made of it.
    ///
    /// To DynamoDB, `GSI1SK` is a text like any other: it does not know that it was made of the status. After an update of
    /// `status` alone the row is found under the old status, and not under the new one.
    ///
    /// ```yaml
    /// index: {GSI1: {GSI1PK: "USER#{user_id}", GSI1SK: "STATUS#{status}#{task_id}"}}
    /// …
    /// using: {call: UpdateItem, set: [status]}
    /// ```
    ///
    /// The same goes for what a `when:` of the entry looks at: it decides whether the row is in the index, and under which
    /// template.
    ///
    /// Way out: set the index's key attributes in the same update (`set: [status, GSI1SK]`), or remove them where a part is
    /// gone. Without `using`, Singlet does.
    "W015" "stale-index-keys" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for placed in placed_steps(context.model) {
        let updates = |using: &&UsingCall| matches!(using.call.as_str(), "UpdateItem" | "TransactWriteItems");
        let Some(using) = placed.step.using.as_ref().filter(updates) else {
            continue;
        };
        let Some(entity) = placed.step.entity().and_then(|id| context.model.entity(id)) else {
            continue;
        };
        for (attribute, span) in &using.set {
            let stale = stale_keys(entity, attribute, using);
            if stale.is_empty() {
                continue;
            }
            let listed: Vec<String> = stale.iter().map(|key| format!("`{}`", key.attribute)).collect();
            let message = format!("`{}` sets `{attribute}` and leaves {} as it was", placed.owner, listed.join(", "));
            let help = format!("set {} in the same update", listed.join(", "));
            let mut finding = findings.at(*span, placed.owner, message).help(help);
            if let Some(key) = stale.first() {
                let made = key.parts.iter().any(|part| follows(entity, part.root_attribute(), attribute));
                let why = if made { "made of" } else { "there by a condition on" };
                finding = finding.note(key.span, format!("{why} `{attribute}`"));
            }
            findings.push(finding);
        }
    }
}

/// The templates of index keys that are made of an attribute, or are there by a condition on it, and that the call does not set.
fn stale_keys<'a>(entity: &'a Entity, attribute: &str, using: &UsingCall) -> Vec<&'a KeyTemplate> {
    let mut stale: Vec<&KeyTemplate> = Vec::new();
    for choices in entity.index.iter().map(|entry| entry.key_choices()) {
        let mut conditions = choices.iter().filter_map(|choice| choice.when.as_ref());
        let decides = conditions.any(|when| when.attributes().iter().any(|name| follows(entity, name, attribute)));
        for key in choices.iter().flat_map(|choice| &choice.keys) {
            let set = using.set.iter().any(|(name, _)| *name == key.attribute);
            let made_of = key.parts.iter().any(|part| follows(entity, part.root_attribute(), attribute));
            // A key that is an attribute by itself is set with it, and is there whatever a condition says.
            let own = |only: &KeyPart| key.span == only.span && (only.path == attribute || !made_of);
            let itself = matches!(key.parts.as_slice(), [only] if own(only));
            let primary = entity.key_templates().any(|primary| primary.attribute == key.attribute);
            let known = stale.iter().any(|known| known.attribute == key.attribute);
            if (made_of || decides) && !set && !itself && !primary && !known {
                stale.push(key);
            }
        }
    }
    stale
}

/// Whether a part of a key is an attribute, or is computed from it.
fn follows(entity: &Entity, root: &str, attribute: &str) -> bool {
    let computed = || entity.attribute(root)?.is.as_ref();
    root == attribute || computed().is_some_and(|value| value.mentions_attribute(attribute))
}
