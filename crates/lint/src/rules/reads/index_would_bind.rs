use singlet_model::expression::BinaryOp;
use singlet_plan::access::AccessPath;
use singlet_plan::by_hand::ByHand;
use singlet_plan::facts::{Facts, Relation};
use singlet_plan::read::{Combination, Query};
use singlet_plan::values::Values;

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

/// The path that the planner takes for the meaning, where that is another and its key is asked for the attribute.
fn better<'a>(context: &Context<'a>, by_hand: &ByHand<'a>, attribute: &str) -> Option<AccessPath<'a>> {
    let own = |combination: &'_ Combination| {
        let part = combination.parts.iter().find(|part| part.name.is_none())?;
        match part.plan.queries.as_slice() {
            [one] if part.plan.is_answer() && asks_for(one, attribute) => context.path_of(one),
            _ => None,
        }
    };
    let path = context.read_plan(by_hand.read).combinations.iter().find_map(own)?;
    let read_now = by_hand.index.map(|index| &index.name);
    let other = path.index.map(|index| &index.name) != read_now || path.entity.id != by_hand.entity.id;
    other.then_some(path)
}

/// Whether a query fixes an attribute by its key.
fn asks_for(query: &Query, attribute: &str) -> bool {
    let mut parts = query.key_parts();
    parts.any(|part| part.path == attribute && !matches!(part.values, Values::All(_)))
}
