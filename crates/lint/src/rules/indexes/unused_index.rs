use std::collections::HashSet;

use singlet_model::model::IndexId;
use singlet_plan::read::{Lost, plan_condition};

use crate::context::{Asked, index_subject};
use crate::{Context, Findings, design_rule};

design_rule! {
    /// No entity is in an index, or no read can use it.
    ///
    /// Each row costs a write, and storage, in every index that it is in. An index that nothing asks is paid for and gives
    /// nothing; one "reserved for the future" can be added in the future.
    ///
    /// ```yaml
    /// indexes:
    ///   GSI2: {partition: GSI2PK, sort: GSI2SK}     # reserved for future use
    /// ```
    ///
    /// An index counts as used where the plan of a read, a `let` or a `for` asks it, with any combination of optional arguments and
    /// for any branch of `||`; or where it would answer as well and holds an attribute that the meaning, the order or the grouping
    /// names.
    ///
    /// Way out: remove it, or write down the read that it is for.
    "I002" "unused-index" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let model = context.model;
    if model.reads.is_empty() {
        return; // a sketch: what is read is not written down yet
    }
    let entries = model.entities.iter().flat_map(|entity| &entity.index);
    let filled: HashSet<IndexId> = entries
        .filter(|entry| !entry.key_choices().is_empty())
        .map(|entry| entry.index)
        .collect();
    let used = used(context);
    for (at, index) in model.table.indexes.iter().enumerate() {
        let is_filled = u32::try_from(at).is_ok_and(|at| filled.contains(&IndexId(at)));
        let message = match (is_filled, used.contains(index.name.as_str())) {
            (_, true) => continue,
            (false, false) => format!("no entity says that it is in index `{}`", index.name),
            (true, false) => format!(
                "no read gains by index `{}`: none fixes its partition for more than the table gives",
                index.name
            ),
        };
        let help = "remove it, or write down the read that it is for";
        findings.push(findings.at(index.span, index_subject(index), message).help(help));
    }
}

fn used<'a>(context: &Context<'a>) -> HashSet<&'a str> {
    let model = context.model;
    let mut used = HashSet::new();
    let by_hand = context.by_hand().iter().filter_map(|by_hand| by_hand.index);
    used.extend(by_hand.map(|index| index.name.as_str()));
    for asked in context.asked_rows() {
        for answer in context.answers_of(&asked) {
            let plan = &answer.plan;
            let asked_for = plan.queries.iter().chain(&plan.covers).filter_map(|query| query.index);
            let as_good = plan.others.iter().filter(|lost| gains(context, &asked, lost));
            let all = asked_for.chain(as_good.filter_map(|lost| lost.index));
            used.extend(all.filter_map(|index| Some(model.index(index)?.name.as_str())));
        }
    }
    used.extend(found_by_copies(context));
    used
}

/// Whether an index that answers too, and is not the cheapest, holds something that the meaning, the order or the grouping names and
/// the table's partition does not have: with other data it might be the cheapest.
fn gains(context: &Context<'_>, asked: &Asked<'_>, lost: &Lost) -> bool {
    if !lost.answers() {
        return false;
    }
    let paths = context.entity_paths(asked.entity.id);
    let tables = paths.iter().filter(|path| path.index.is_none());
    let held: HashSet<&str> = tables
        .flat_map(|table| table.partition_templates())
        .flat_map(|key| &key.parts)
        .map(|part| part.root_attribute())
        .collect();
    let own = paths.iter().filter(|path| path.index_in(context.model) == lost.index);
    own.into_iter().any(|path| {
        let mut parts = path.choice.keys.iter().flat_map(|key| &key.parts);
        // A condition on the entry may be what the index is for: rows of one state, say.
        path.choice.when.is_some() || parts.any(|part| !held.contains(part.root_attribute()) && asked.mentions_attribute(part.root_attribute()))
    })
}

/// Copies that follow through the stream are looked for by what their `found` says.
fn found_by_copies<'a>(context: &Context<'a>) -> Vec<&'a str> {
    let mut used = Vec::new();
    for entity in &context.model.entities {
        let copies = entity.attributes.iter().filter_map(|attribute| attribute.copy.as_ref());
        for found in copies.filter_map(|copy| copy.found.as_ref()) {
            let plan = plan_condition(context.model, entity, found);
            let asked_for = plan.queries.iter().filter_map(|query| query.index);
            let others = plan.others.iter().filter(|lost| lost.answers());
            let indexes = asked_for.chain(others.filter_map(|lost| lost.index));
            used.extend(indexes.filter_map(|index| Some(context.model.index(index)?.name.as_str())));
        }
    }
    used
}
