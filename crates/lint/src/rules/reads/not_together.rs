use singlet_item::key::Verdict;
use singlet_model::model::{Entity, KeyTemplate, Selection};
use singlet_plan::access::AccessPath;

use crate::context::templates_of;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// Rows are said to be read in one query, but lie in different partitions.
    ///
    /// A query reads one partition of the table or of one index. Rows whose partition keys can never be equal take a query
    /// each, or a batch of gets; the second often waits for the answer of the first.
    ///
    /// ```yaml
    /// eventWithBooking:
    ///   get: Event                              # EVENT#{date}
    ///   where: date == args.date && timeSlot == args.timeSlot
    ///   with:
    ///     booking: {get: "Booking?", where: bookingId == row.bookingId}     # BOOKING#{bookingId}
    ///   claim: {one_query: true}
    /// ```
    ///
    /// Way out: give the rows one partition key, by a mirror or an index that holds both; or take the claim back.
    "R009" "not-together" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for read in &context.model.reads {
        let (Some(span), Some(root)) = (read.claim.one_query, entity_of(context, read.selection.as_ref())) else {
            continue;
        };
        let others = read
            .with
            .iter()
            .filter_map(|part| entity_of(context, Some(&part.selection)));
        for other in others {
            if let Some(message) = apart(context, root, other) {
                let finding = findings.at(span, &read.name, message);
                findings.push(finding.help("give them one partition key, by a mirror or an index that holds both"));
            }
        }
    }
    for entity in &context.model.entities {
        for (other, span) in &entity.claims.together {
            let other = context.model.entity(*other);
            if let Some(message) = other.and_then(|other| apart(context, entity, other)) {
                let finding = findings.at(*span, &entity.name, message);
                findings.push(finding.help("give them one partition key, by a mirror or an index that holds both"));
            }
        }
    }
}

fn entity_of<'a>(context: &Context<'a>, selection: Option<&'a Selection>) -> Option<&'a Entity> {
    context.model.entity(selection?.entity()?)
}

/// Why no query returns rows of both, if it is certain that none does.
fn apart(context: &Context<'_>, one: &Entity, other: &Entity) -> Option<String> {
    let (ones, others) = (context.entity_paths(one.id), context.entity_paths(other.id));
    let meets = ones
        .iter()
        .any(|one| others.iter().any(|other| share_a_partition(context, one, other)));
    if meets {
        return None;
    }
    let (first, second) = (ones.first()?, others.first()?);
    Some(format!(
        "`{}` and `{}` are never in one query: their partitions are {} and {}",
        one.name,
        other.name,
        shown(first.partition_templates()),
        shown(second.partition_templates()),
    ))
}

/// Whether rows of two paths may lie in one partition; also where that is not decided, since only what is certain is said.
fn share_a_partition(context: &Context<'_>, one: &AccessPath<'_>, other: &AccessPath<'_>) -> bool {
    let same_place = one.index.map(|index| &index.name) == other.index.map(|index| &index.name);
    same_place && context.key_collision(&templates_of(one.partition_templates()), &templates_of(other.partition_templates())) != Verdict::Never
}

fn shown(keys: &[KeyTemplate]) -> String {
    let texts: Vec<String> = keys.iter().map(|key| format!("`{}`", key.text)).collect();
    texts.join(", ")
}
