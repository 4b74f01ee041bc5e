//! How wide the ranges are that are told of requests before anything is read, and whether what is consumed lies within them, where the
//! estimates of a model are those of its rows.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use singlet_item::{Value, item_size_bytes};
use singlet_plan::cost::{RequestCost, Sizes, Worked};
use singlet_runtime::{Attributes, Caller, Request, load};

use super::reads::case_of;
use super::{NOW, model_errors, rng_of};
use crate::bench::{Bench, BenchGiven, Case, bench_scope};
use crate::generate;
use crate::smallest::StoreMaker;
use crate::writes::RangeWidths;

/// Rows on one table.
const ROWS: usize = 40;
/// Cases of one read.
const CASES_PER_READ: usize = 4;

/// What ranges of requests came to.
#[derive(Debug, Default)]
pub struct RequestRanges {
    /// How wide they were.
    pub widths: RangeWidths,
    /// Requests that consumed more than was told, each as it was.
    pub beyond: Vec<String>,
    /// Requests that consumed less: what a request settles is not asked for.
    pub below: usize,
}

/// The requests of one model of a seed. A model with mistakes has none.
pub async fn request_ranges(seed: u64, model: u64, store: StoreMaker<'_>, found: &mut RequestRanges) {
    let mut rng = rng_of(seed, model);
    let generated = generate::generate_model(&mut rng);
    let text = generated.text();
    if !model_errors(&text).is_empty() {
        return;
    }
    let rows = generated.rows(&mut rng, ROWS);
    let given = BenchGiven {
        settings: generated.settings.clone(),
        ..BenchGiven::default()
    };
    let Ok(first) = Bench::open_with(&text, store(), rows.clone(), NOW, given.clone()).await else {
        return;
    };
    let text = with_estimates(&text, &estimates_of(&first));
    let Ok(bench) = Bench::open_with(&text, store(), rows, NOW, given).await else {
        return;
    };
    for read in &generated.reads {
        for _ in 0..CASES_PER_READ {
            let case = case_of(&mut rng, read, &bench);
            found.take(&bench, &case).await;
        }
    }
}

impl RequestRanges {
    async fn take(&mut self, bench: &Bench, case: &Case) {
        let engine = bench.engine();
        let request = Request {
            args: case.args.clone(),
            caller: case.caller.clone(),
            now: case.now,
            ..Request::default()
        };
        let Ok(previewed) = engine.preview(&case.read, &request) else {
            return;
        };
        let costs: Vec<RequestCost> = previewed.requests.iter().map(|preview| preview.cost.clone()).collect();
        let worked = Worked::sum_requests(&costs, &Sizes::of(engine.model()));
        let Ok(answer) = engine.read(&case.read, &request).await else {
            return;
        };
        let consumed = answer.consumed.total_units().read;
        let most = worked.estimated.or(worked.most);
        let kind = || costs.iter().map(kind_of).collect::<Vec<String>>().join(" + ");
        self.widths
            .count_range(&kind(), worked.least.half_count(), most.map(|most| most.half_count()));
        self.below += usize::from(consumed < worked.least);
        // What one query of neighbours does not reach is asked for on its own.
        let is_alone = previewed.combination.neighbours.is_none();
        if let Some(most) = most.filter(|most| is_alone && consumed > *most) {
            let text = bench.case_mismatch(case, String::new()).model;
            let name = &case.read;
            self.beyond.push(format!(
                "{consumed} read units, and {most} were told, by `{name}` {:?}: {}\n{text}",
                case.args,
                kind()
            ));
        }
    }
}

/// A request, with what makes its range wide.
fn kind_of(cost: &RequestCost) -> String {
    let times = match cost.times.most {
        Some(1) => "",
        Some(_) => " for each of several",
        None => " for each of any number",
    };
    let reads_on = if cost.reads_on { " reads on" } else { "" };
    let rows = if cost.rows.is_none() { " of all rows" } else { "" };
    format!("{}{times}{rows}{reads_on}", cost.call.word())
}

/// What there is of an entity.
#[derive(Default)]
struct RowsThere {
    count: usize,
    /// The bytes of the largest item.
    bytes_most: usize,
    /// How many rows have each value of an attribute.
    values: BTreeMap<String, BTreeMap<String, usize>>,
}

/// What there is of each entity.
fn estimates_of(bench: &Bench) -> BTreeMap<String, RowsThere> {
    let engine = bench.engine();
    let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
    let mut known: BTreeMap<String, RowsThere> = BTreeMap::new();
    for (name, row) in bench.rows() {
        let Some(entity) = engine.model().entity_named(name) else {
            continue;
        };
        let items = load::items_of_row(engine.model(), entity, row, bench_scope(engine, NOW, &nothing, &nobody));
        let bytes = items.iter().flatten().map(item_size_bytes).max().unwrap_or(0);
        let there = known.entry(name.clone()).or_default();
        there.count += 1;
        there.bytes_most = bytes.max(there.bytes_most);
        for (attribute, value) in row {
            let text = match value {
                Value::S(text) => text.clone(),
                Value::N(number) => number.to_string(),
                _ => continue,
            };
            // Of instants `per` says how many rows share a day.
            let is_told = entity
                .attribute(attribute)
                .is_some_and(|attribute| !attribute.ty.is_instant() && !attribute.optional);
            if is_told {
                *there
                    .values
                    .entry(attribute.clone())
                    .or_default()
                    .entry(text)
                    .or_default() += 1;
            }
        }
    }
    known
}

/// A model with these estimates in place of its own.
fn with_estimates(text: &str, known: &BTreeMap<String, RowsThere>) -> String {
    let mut is_own = true;
    let kept = text.lines().filter(|line| {
        if !line.starts_with([' ', '#']) && !line.is_empty() {
            is_own = !line.starts_with("estimates:");
        }
        is_own
    });
    let mut made: String = kept.map(|line| format!("{line}\n")).collect();
    if !known.is_empty() {
        made.push_str("estimates:\n");
    }
    for (name, there) in known {
        let most = |values: &BTreeMap<String, usize>| values.values().copied().max().unwrap_or_default();
        let per = there
            .values
            .iter()
            .map(|(attribute, values)| format!("{attribute}: {}", most(values)));
        let per: Vec<String> = per.collect();
        let (count, bytes) = (there.count, there.bytes_most);
        let _ = writeln!(
            made,
            "  {name}: {{items: {count}, bytes: {bytes}, per: {{{}}}}}",
            per.join(", ")
        );
    }
    made
}
