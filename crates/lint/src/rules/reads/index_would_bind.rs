use singlet_model::expression::BinaryOp;
use singlet_model::model::KeyPart;
use singlet_plan::access::{AccessPath, Bindings};
use singlet_plan::by_hand::ByHand;
use singlet_plan::facts::{Facts, Relation};

use crate::{Context, Findings, design_rule};

design_rule! {
    /// A filter by hand throws away rows that another key would not have read.
    ///
    /// A filter is applied after the rows are read and billed. Where another path has the same partition, and its key begins
    /// with the attribute that is filtered by, a query there reads only the rows that match.
    ///
    /// ```yaml
    /// index:
    ///   GSI1: {GSI1PK: "USER#{user_id}", GSI1SK: "STATUS#{status}#{task_id}"}
    /// …
    /// using: {key: {PK: "TASK#{caller.id}", SK: {begins_with: "TASK#"}}, filter: status == "completed"}
    /// ```
    ///
    /// Way out: ask the path that the message names, or leave `using` out.
    "R008" "index-would-bind" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for by_hand in context.by_hand() {
        let Some(filter) = &by_hand.using.filter else { continue };
        let filtered = Facts::of(by_hand.entity, [filter]);
        let found = filtered
            .iter()
            .filter(|fact| is_equality(&fact.relation) && fact.function.is_none())
            .find_map(|fact| {
                let path = better(context, by_hand, fact.attribute)?;
                Some((fact.attribute, path))
            });
        if let Some((attribute, path)) = found {
            let keys: Vec<String> = path.choice.keys.iter().map(|key| format!("`{}`", key.text)).collect();
            let message = format!(
                "rows are read and then filtered by `{attribute}`, which {} has in its key ({})",
                path.name(),
                keys.join(", ")
            );
            let help = format!("ask {} for it, or leave `using` out", path.name());
            findings.push(findings.at(filter.span, &by_hand.read.name, message).help(help));
        }
    }
}

fn is_equality(relation: &Relation<'_>) -> bool {
    match relation {
        Relation::Compared(BinaryOp::Eq, value) => !value.is_absent(),
        Relation::Is(_) => true,
        _ => false,
    }
}

/// Another path of the entity whose key the meaning fixes up to and with an attribute.
fn better<'a>(context: &Context<'a>, by_hand: &ByHand<'a>, attribute: &str) -> Option<AccessPath<'a>> {
    let facts = by_hand.facts();
    let bindings = context.bindings(by_hand.read, by_hand.selection);
    let read_now = by_hand.index.map(|index| &index.name);
    context.paths(by_hand.entity.id).into_iter().find(|path| {
        let other = path.index.map(|index| &index.name) != read_now || path.entity.id != by_hand.entity.id;
        let mut held = path.choice.keys.iter().flat_map(|key| &key.parts);
        let complete = held.all(|part| !part.optional || facts.excludes_absent(part.root()));
        other && complete && path.choice.when.is_none() && binds_with(path, &bindings, attribute)
    })
}

fn binds_with(path: &AccessPath<'_>, bindings: &Bindings<'_>, attribute: &str) -> bool {
    let parts: Vec<&KeyPart> = path.partition().iter().flat_map(|key| &key.parts).collect();
    let partition = !parts.is_empty() && parts.iter().all(|part| bindings.names(part, path.entity));
    let first = path.sort().iter().flat_map(|key| &key.parts).next();
    let holds = parts.into_iter().chain(first).any(|part| part.path == attribute);
    partition && holds
}
