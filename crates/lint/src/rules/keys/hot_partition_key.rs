use singlet_item::capacity::{Consistency, get_units};
use singlet_item::limits::{
    PAGE_SIZE_BYTES_MAX, PARTITION_READ_UNITS_PER_SECOND_MAX, PARTITION_WRITE_UNITS_PER_SECOND_MAX,
};
use singlet_model::model::{Entity, KeyPart, Projection, Read, Selection};
use singlet_plan::access::AccessPath;
use singlet_plan::read::PartValues;
use singlet_plan::values::Values;

use super::date_partition_key::clock_part;
use crate::context::{Asked, grouped_thousands};
use crate::traffic::rows_max;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// By the estimates, the busiest partition gets more than a partition serves.
    ///
    /// One partition serves 1,000 write units and 3,000 read units a second, whatever the table's capacity is, and no
    /// setting raises that. Compared is rate × units × the share of the busiest key: `top_share` of the entity or the read
    /// where estimated, one of n where the key has n values, all where it is constant or the present day.
    ///
    /// ```yaml
    /// estimates:
    ///   Post: {bytes: 2000, top_share: 0.2}
    ///   createPost: 4000/s                  # 4,000 × 2 units × 0.2 = 1,600 on one key
    /// ```
    ///
    /// It needs `estimates`: without a rate and a share nothing is said. A row without an estimated size counts as the
    /// smallest, and an index that only some rows are in is not counted.
    ///
    /// Way out: spread the key (a shard that reads fan out over, a finer key); gather counters before writing them; cache
    /// what is read so often. If the estimate is too high, correct it.
    "K004" "hot-partition-key" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    if context.model.estimates.is_empty() {
        return;
    }
    for path in context.own_paths() {
        let units = written_units(context, &path);
        report(
            context,
            findings,
            &path,
            (units, PARTITION_WRITE_UNITS_PER_SECOND_MAX, "write"),
        );
    }
    for (path, units) in read_units(context) {
        report(
            context,
            findings,
            &path,
            (Some(units), PARTITION_READ_UNITS_PER_SECOND_MAX, "read"),
        );
    }
}

fn report(context: &Context<'_>, findings: &mut Findings<'_>, path: &AccessPath<'_>, load: (Option<f64>, u64, &str)) {
    let (units, limit, kind) = load;
    let Some(units) = units.filter(|units| *units > limit as f64) else {
        return;
    };
    let Some(key) = path.partition_templates().first() else { return };
    let message = format!(
        "the busiest partition key of `{}` in {} gets about {} {kind} units a second, and a partition serves {}",
        path.entity.name,
        path.name(),
        grouped_thousands(units.round() as u64),
        grouped_thousands(limit),
    );
    findings.push(
        findings
            .at(key.span, context.path_subject(path), message)
            .help("spread the key, by a shard or a finer key; the rates are those under `estimates`"),
    );
}

/// The share of the busiest key, as estimated or by how many keys there are.
fn share(context: &Context<'_>, path: &AccessPath<'_>, asked: Option<f64>) -> Option<f64> {
    let traffic = context.row_traffic();
    let of = |entity: &Entity| traffic.estimate_of(&entity.name)?.top_share;
    let estimated = asked
        .or_else(|| of(path.entity))
        .or_else(|| of(context.model.source_of(path.entity)));
    estimated.or_else(|| Some(1.0 / context.partition_count(path)? as f64))
}

fn written_units<'a>(context: &Context<'a>, path: &AccessPath<'a>) -> Option<f64> {
    let optional = path
        .choice
        .keys
        .iter()
        .flat_map(|key| &key.parts)
        .any(|part| part.optional);
    let sparse = optional || path.choice.when.is_some();
    let narrow = path.index.is_some_and(|index| index.projection != Projection::All);
    if sparse || narrow {
        return None;
    }
    let share = match clock_part(context, path) {
        Some(_) => 1.0,
        None => share(context, path, None)?,
    };
    Some(context.row_traffic().write_load(context.model, path.entity).least * share)
}

/// The read units a second on the busiest key of each path that reads with a rate use.
fn read_units<'a>(context: &Context<'a>) -> Vec<(AccessPath<'a>, f64)> {
    let mut loads: Vec<(AccessPath<'a>, f64)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for asked in context.asked_rows() {
        let Some(read) = asked.read else { continue };
        let Some(rate) = context.row_traffic().rate_of(&read.name) else {
            continue;
        };
        let Some((path, fixed)) = only_path(context, &asked) else {
            continue;
        };
        let estimated = context
            .row_traffic()
            .estimate_of(&read.name)
            .and_then(|estimate| estimate.top_share);
        let Some(share) = asked_share(context, &path, &fixed, estimated) else {
            continue;
        };
        let units = rate * page_units(context, read, asked.selection, asked.entity) * share;
        let key = (path.entity.id, path.index.map(|index| index.name.as_str()));
        let at = *places.entry(key).or_insert_with(|| {
            loads.push((path, 0.0));
            loads.len() - 1
        });
        if let Some((_, load)) = loads.get_mut(at) {
            *load += units;
        }
    }
    loads
}

/// The parts of a partition key that what is asked for fixes, each to one value or a list.
type Fixed<'a> = Vec<&'a KeyPart>;

/// The path that is asked, where that is the same with all combinations of optional arguments, and what is fixed of its partition.
fn only_path<'a>(context: &Context<'a>, asked: &Asked<'a>) -> Option<(AccessPath<'a>, Fixed<'a>)> {
    if asked.own_read().is_some_and(|read| read.using.is_some()) {
        let mut by_hand = context.by_hand().iter();
        let by_hand = by_hand.find(|by_hand| std::ptr::eq(by_hand.selection, asked.selection))?;
        let [path] = by_hand.met.as_slice() else { return None };
        let facts = by_hand.meaning_facts();
        let fixed = partition_parts(path).filter(|part| facts.fixes_attribute(part.root_attribute())).collect();
        return Some((*path, fixed));
    }
    let mut found: Option<(AccessPath<'a>, Fixed<'a>)> = None;
    for answer in context.answers_of(asked) {
        let ([query], []) = (answer.plan.queries.as_slice(), answer.plan.covers.as_slice()) else {
            return None;
        };
        let path = context.path_of(query)?;
        let parts = partition_parts(&path).zip(&query.partition);
        let fixed: Fixed<'a> = parts.filter(|(_, asked)| is_fixed(asked)).map(|(part, _)| part).collect();
        match &mut found {
            None => found = Some((path, fixed)),
            Some((known, _)) if !std::ptr::eq(known.choice, path.choice) => return None,
            // What one combination leaves open is open.
            Some((_, known)) => known.retain(|part| fixed.iter().any(|other| std::ptr::eq(*other, *part))),
        }
    }
    found
}

fn partition_parts<'a>(path: &AccessPath<'a>) -> impl Iterator<Item = &'a KeyPart> {
    path.partition_templates().iter().flat_map(|key| &key.parts)
}

fn is_fixed(part: &PartValues) -> bool {
    matches!(
        part.values,
        Values::One(_) | Values::Formed(_) | Values::Each(_) | Values::EachFormed(_)
    )
}

/// A part that the read leaves open is asked for value by value: each partition gets every read.
fn asked_share(
    context: &Context<'_>,
    path: &AccessPath<'_>,
    fixed: &[&KeyPart],
    estimated: Option<f64>,
) -> Option<f64> {
    if fixed.len() == partition_parts(path).count() || estimated.is_some() {
        return share(context, path, estimated);
    }
    let each = fixed.iter().map(|part| part.ty.cardinality());
    each.into_iter()
        .try_fold(1.0, |share, values| Some(share / values? as f64))
}

/// The least read units of a page: the smallest row where no size is estimated.
fn page_units(context: &Context<'_>, read: &Read, selection: &Selection, entity: &Entity) -> f64 {
    let row = context.row_traffic().bytes(context.model, entity).unwrap_or(0);
    let rows = rows_max(read, selection)
        .and_then(|rows| usize::try_from(rows).ok())
        .unwrap_or(1);
    let consistency = match read.consistent {
        Some(_) => Consistency::Strong,
        None => Consistency::Eventual,
    };
    get_units(row.saturating_mul(rows).min(PAGE_SIZE_BYTES_MAX), consistency).half_count() as f64 / 2.0
}
