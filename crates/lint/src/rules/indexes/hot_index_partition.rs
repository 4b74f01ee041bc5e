use std::collections::HashMap;

use singlet_item::capacity::{WriteMode, write_units};
use singlet_item::limits::PARTITION_WRITE_UNITS_PER_SECOND_MAX;
use singlet_model::model::{Estimate, Index, Projection, Rate, Step, StepKind};
use singlet_model::types::EntityId;
use singlet_plan::access::AccessPath;

use crate::context::steps_of;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// One partition of an index takes more writes than a partition can, and the table waits for it.
    ///
    /// A partition of an index takes 1,000 write units a second, like one of the table. When it cannot follow, DynamoDB holds
    /// back writes to the table itself, those of other partitions too.
    ///
    /// ```yaml
    /// index:
    ///   GSI1: {GSI1PK: "STATUS#{status}", GSI1SK: "{createdAt}"}     # two words
    /// estimates:
    ///   placeOrder: 3000/s
    /// ```
    ///
    /// Counted from the estimated rates of writes: an entry for each row, of the estimated `bytes`. The traffic is taken as
    /// evenly spread over the values of the key, unless `top_share` says what the busiest gets.
    ///
    /// Way out: a shard in the index's partition key, `STATUS#{status}#{shard}`, that reads fan out over.
    "I016" "hot-index-partition" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let estimates: Estimates<'_> = context
        .model
        .estimates
        .iter()
        .map(|estimate| (estimate.subject.as_str(), estimate))
        .collect();
    let rates = rates(context, &estimates);
    for path in context.own_paths() {
        let Some(index) = path.index else { continue };
        let source = context.model.source_of(path.entity);
        let Some(writes) = rates.get(&source.id) else { continue };
        let estimate = estimates.get(source.name.as_str()).copied();
        let Some(share) = busiest_share(estimate, &path) else {
            continue;
        };
        let rate: f64 = writes
            .iter()
            .filter(|write| reaches(write, index, &path))
            .map(|write| write.rate)
            .sum();
        let units = rate * share * entry_units(estimate);
        if units > PARTITION_WRITE_UNITS_PER_SECOND_MAX as f64 {
            let Some(key) = path.partition_templates().first() else { continue };
            let message = format!(
                "a partition `{}` of index `{}` takes {units:.0} writes a second; at 1,000 it throttles the table",
                key.text, index.name
            );
            let help = "put a shard into the index's partition key";
            findings.push(findings.at(key.span, context.path_subject(&path), message).help(help));
        }
    }
}

/// A step of a write with an estimated rate.
struct Written<'a> {
    step: &'a Step,
    rate: f64,
}

type Estimates<'a> = HashMap<&'a str, &'a Estimate>;

fn rates<'a>(context: &Context<'a>, estimates: &Estimates<'a>) -> HashMap<EntityId, Vec<Written<'a>>> {
    let mut rates: HashMap<EntityId, Vec<Written<'a>>> = HashMap::new();
    for write in &context.model.writes {
        let estimated = estimates.get(write.name.as_str()).and_then(|estimate| estimate.rate);
        let Some(rate) = estimated.map(Rate::per_second) else {
            continue;
        };
        for step in steps_of(context.model, write)
            .into_iter()
            .filter(|step| step.when.is_none())
        {
            if let Some(entity) = step.entity() {
                rates.entry(entity).or_default().push(Written { step, rate });
            }
        }
    }
    rates
}

/// Whether a step surely changes the entry of a path.
fn reaches(written: &Written<'_>, index: &Index, path: &AccessPath<'_>) -> bool {
    let step = written.step;
    let optional = path
        .choice
        .keys
        .iter()
        .flat_map(|key| &key.parts)
        .any(|part| part.optional);
    match &step.kind {
        StepKind::Create(_) => !optional && path.choice.when.is_none(),
        StepKind::Update(_) => index.projection == Projection::All && !optional && changes_something(step),
        _ => false,
    }
}

fn changes_something(step: &Step) -> bool {
    !step.set.is_empty() || !step.add.is_empty() || !step.append.is_empty() || step.moves.is_some()
}

/// What share of the writes the busiest partition gets: as estimated, or at the least.
fn busiest_share(estimate: Option<&Estimate>, path: &AccessPath<'_>) -> Option<f64> {
    let parts = path.partition_templates().iter().flat_map(|key| &key.parts);
    let values = parts
        .map(|part| part.ty.cardinality())
        .try_fold(1_u64, |all, values| all.checked_mul(values?));
    let even = values.filter(|values| *values > 0).map(|values| 1.0 / values as f64);
    match (estimate.and_then(|estimate| estimate.top_share), even) {
        (Some(estimated), Some(even)) => Some(estimated.max(even)),
        (_, even) => even,
    }
}

fn entry_units(estimate: Option<&Estimate>) -> f64 {
    let bytes = estimate.and_then(|estimate| estimate.bytes).unwrap_or(1);
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    write_units(None, Some(bytes), WriteMode::Single).get() as f64
}
