use singlet_cost::figure_text;
use singlet_item::limits::PARTITION_WRITE_UNITS_PER_SECOND_MAX;
use singlet_plan::access::AccessPath;

use crate::context::{counted_thing, enumerated_names, grouped_thousands};
use crate::{Context, Findings, design_rule};

design_rule! {
    /// All rows of an entity share a handful of partitions.
    ///
    /// Every variable of the partition key is an enum, a bool or a small number, so there are as many partitions as it has
    /// values, for the whole system and for ever. Each serves 1,000 write units and 3,000 read units a second: four states
    /// make 4,000 writes a second if the traffic spreads evenly, and 1,000 if most of it is in one state, which is usual.
    /// Throttled index writes throttle the table. Counted are keys of up to 100 combinations; more than that spread well.
    ///
    /// ```yaml
    /// index:
    ///   GSI1: {GSI1PK: "STATUS#{status}", GSI1SK: "{requestedAt}"}
    /// ```
    ///
    /// Nothing is said where `estimates` show that one partition would carry all reads and writes ten times over, nor where
    /// a part is a shard (an int that is or begins as `hash(…)`, `random(…)` or a remainder, `number % 10`): that spread is
    /// deliberate.
    ///
    /// Way out: add what spreads the traffic (the owner, the day, a shard that reads fan out over). Where the traffic is
    /// small and stays small, give `estimates`, or accept it and say so.
    "K002" "low-cardinality-partition-key" Warning
}

/// Keys of more combinations spread well enough.
const PARTITIONS_MAX: u64 = 100;

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for path in context.own_paths() {
        let parts = || path.partition_templates().iter().flat_map(|key| &key.parts);
        let spread = || parts().any(|part| context.is_shard(path.entity, part));
        let Some(partitions) = context.partition_count(&path).filter(|count| *count <= PARTITIONS_MAX) else {
            continue;
        };
        if parts().next().is_none() || spread() || context.row_traffic().is_light(context.model, path.entity) {
            continue;
        }
        report(context, findings, &path, partitions);
    }
}

fn report(context: &Context<'_>, findings: &mut Findings<'_>, path: &AccessPath<'_>, partitions: u64) {
    let Some(key) = path.partition_templates().first() else { return };
    let parts = path.partition_templates().iter().flat_map(|key| &key.parts);
    let mut names: Vec<String> = parts.map(|part| format!("`{}`", part.path)).collect();
    names.dedup();
    let evenly = grouped_thousands(partitions * PARTITION_WRITE_UNITS_PER_SECOND_MAX);
    let message = format!(
        "all `{}` rows share {} in {}, one for each {}: hot from {} writes a second on one of them, {evenly} on all",
        path.entity.name,
        counted_thing(partitions, "partition"),
        path.name(),
        enumerated_names(&names),
        grouped_thousands(PARTITION_WRITE_UNITS_PER_SECOND_MAX),
    );
    let writes = context.row_traffic().write_load(context.model, path.entity);
    let known = (writes.least > 0.0).then(|| format!("; the estimates give {} writes a second", figure_text(writes.least)));
    findings.push(
        findings
            .at(key.span, context.path_subject(path), message + &known.unwrap_or_default())
            .help(way_out(context, path)),
    );
}

/// How many operations the help names.
const NAMED_MAX: usize = 4;

/// What little traffic would take to be known; where all is estimated, it is not little.
fn way_out(context: &Context<'_>, path: &AccessPath<'_>) -> String {
    let spread = "add the owner, the day or a shard to the partition key";
    if context.model.estimates.is_empty() {
        return format!("{spread}; or give `estimates` that show little traffic");
    }
    let unrated = context.row_traffic().unrated_operations(context, path.entity);
    if unrated.is_empty() {
        return format!("{spread}; or accept it, and say why");
    }
    let named = unrated.iter().take(NAMED_MAX).map(|name| format!("`{name}`"));
    let mut named: Vec<String> = named.collect();
    if let Some(more) = unrated.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
        named.push(format!("{more} more"));
    }
    format!("{spread}; or give {} a rate in `estimates`, where it is low", enumerated_names(&named))
}
