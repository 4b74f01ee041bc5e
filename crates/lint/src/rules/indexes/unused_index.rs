use std::collections::HashSet;

use singlet_model::model::{Index, IndexId};
use singlet_plan::access::{AccessPath, Bindings};

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
    /// An index counts as used where a read, a `let` or a `for` fixes its partition and gains by it: no key of the table
    /// answers, or the index holds an attribute that the meaning, the order or the grouping names.
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
        .filter(|entry| !entry.choices().is_empty())
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
    let mut used = HashSet::new();
    let by_hand = context.by_hand().iter().filter_map(|by_hand| by_hand.index);
    used.extend(by_hand.map(|index| index.name.as_str()));
    for asked in context.asked() {
        let bindings = asked.bindings();
        let paths = context.paths(asked.entity.id);
        let gains = paths
            .iter()
            .filter_map(|path| path.index.filter(|_| gains(&asked, &bindings, path, &paths)));
        used.extend(gains.map(|index: &Index| index.name.as_str()));
    }
    used.extend(found_by_copies(context));
    used
}

/// Whether a path to an index is open, and gives something that the open paths to the table do not.
fn gains(asked: &Asked<'_>, bindings: &Bindings<'_>, path: &AccessPath<'_>, paths: &[AccessPath<'_>]) -> bool {
    if path.unbound(bindings).is_some() {
        return false;
    }
    let mut tables = paths
        .iter()
        .filter(|table| table.index.is_none() && table.unbound(bindings).is_none());
    let Some(table) = tables.next() else { return true };
    let parts = path.choice.keys.iter().flat_map(|key| &key.parts);
    let held: HashSet<&str> = table
        .partition()
        .iter()
        .flat_map(|key| &key.parts)
        .map(|part| part.root())
        .collect();
    let mentioned = parts
        .map(|part| part.root())
        .any(|root| !held.contains(root) && asked.mentions(root));
    // A condition on the entry may be what the index is for: rows of one state, say.
    mentioned || path.choice.when.is_some()
}

/// Copies that follow through the stream are looked for by what their `found` says.
fn found_by_copies<'a>(context: &Context<'a>) -> Vec<&'a str> {
    let mut used = Vec::new();
    for entity in &context.model.entities {
        let copies = entity.attributes.iter().filter_map(|attribute| attribute.copy.as_ref());
        for found in copies.filter_map(|copy| copy.found.as_ref()) {
            let bindings = Bindings::of_condition(found);
            let open = context
                .paths(entity.id)
                .into_iter()
                .filter(|path| path.unbound(&bindings).is_none());
            used.extend(open.filter_map(|path| Some(path.index?.name.as_str())));
        }
    }
    used
}
