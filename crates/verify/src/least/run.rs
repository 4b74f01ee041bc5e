//! What plans consume, beside the least that the keys allow.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fastrand::Rng;
use singlet_model::expression::Expr;
use singlet_model::model::{Read, Return, SelectionKind};
use singlet_plan::read::plan_text;
use singlet_runtime::{Attributes, Bounds, Caller, Request, RuntimeError, Scope, load};
use singlet_store::Store;

use super::draw;
use super::ways::{Asked, StoredRow, Table, Way};
use crate::bench::{Bench, BenchError, Case, Outcome, bench_scope};
use crate::mismatch::Mismatch;

/// The instant of every case: the middle of the days over which rows are spread.
const NOW: i64 = 1_771_200_000_000;
/// How often a read is asked.
const CASES_PER_READ: usize = 3;
/// Of how many cases one is held against the oracle, page by page.
const CHECKED_ONE_IN: u8 = 4;
/// How far from the least a plan may be: this many times, or this many half units more.
const NEAR: (f64, u64) = (1.25, 2);
/// How far it is never.
const FAR: (f64, u64) = (3.0, 6);
/// How many of the worst cases are told.
const WORST_MAX: usize = 200;

/// What is asked of a run.
#[derive(Clone, Copy, Debug)]
pub struct LeastOptions {
    /// Where chance begins.
    pub seed: u64,
    /// How many cases with two ways or more.
    pub cases: usize,
    /// How many times too large the estimates are.
    pub estimates_off: f64,
}

/// What a run came to.
#[derive(Debug, Default)]
pub struct LeastReport {
    /// Models.
    pub models: usize,
    /// Cases with two ways or more.
    pub cases: usize,
    /// Cases with one way.
    pub one_way: usize,
    /// Reads that have no plan, and those of them that have ways.
    pub unplanned: (usize, usize),
    /// Other ways that were taken for some cases because the read named their index: each gave the same rows.
    pub pinned: usize,
    /// Cases within 1.25 times the least, or a unit more.
    pub near: usize,
    /// Cases that are more than 3 times the least, and 3 units more.
    pub far: usize,
    /// Half units that were consumed in all, and the least.
    pub half_units: (u64, u64),
    /// What is less than the least: the enumeration would be wrong.
    pub below: usize,
    /// One of those.
    pub lowest: Option<LeastCase>,
    /// The cases that are furthest off, the worst first.
    pub worst: Vec<LeastCase>,
    /// How many are not near, by the kind of the least way and the plan's.
    pub kinds: BTreeMap<String, usize>,
}

/// A case that is far from the least.
#[derive(Clone, Debug)]
pub struct LeastCase {
    /// Consumed, in half units.
    pub consumed: u64,
    /// The least way.
    pub least: Way,
    /// The model, the read and its arguments, and the plan.
    pub shown: String,
}

/// Why a run ended before its end.
#[derive(Debug)]
pub enum LeastError {
    /// A table could not be made.
    Bench(BenchError),
    /// An answer differs from what is meant.
    Mismatch(Box<Mismatch>),
    /// A read failed.
    Run(RuntimeError),
}

impl From<BenchError> for LeastError {
    fn from(error: BenchError) -> Self {
        LeastError::Bench(error)
    }
}

impl From<RuntimeError> for LeastError {
    fn from(error: RuntimeError) -> Self {
        LeastError::Run(error)
    }
}

/// Draws models, and asks each read of them some times.
///
/// # Errors
///
/// Where a table cannot be made, a read fails, or an answer is wrong.
pub async fn run_least(options: LeastOptions, store: &dyn Fn() -> Arc<dyn Store>) -> Result<LeastReport, LeastError> {
    let mut report = LeastReport::default();
    while report.cases < options.cases {
        let mut rng = Rng::with_seed(options.seed.wrapping_mul(1_000_003).wrapping_add(report.models as u64));
        report.models += 1;
        let drawn = draw::draw_model(&mut rng, options.estimates_off);
        let bench = Bench::open(&drawn.text, store(), drawn.rows(&mut rng), NOW).await?;
        let table = stored_table(&bench)?;
        for read in &drawn.reads {
            for _ in 0..CASES_PER_READ {
                let case = Case {
                    read: read.name.clone(),
                    args: read.row_arguments(&mut rng, bench.rows()),
                    page: 10,
                    now: NOW,
                    ..Case::default()
                };
                if !report.take(&bench, &table, &case).await? {
                    break;
                }
                if rng.u8(..CHECKED_ONE_IN) == 0 {
                    bench.check(&case).await.map_err(LeastError::Mismatch)?;
                    report.pinned += pinned_answers(&bench, &case, &read.pinned).await?;
                }
            }
        }
    }
    Ok(report)
}

/// How many indexes answer a case when it names them: each as it is meant.
async fn pinned_answers(bench: &Bench, case: &Case, pinned: &[String]) -> Result<usize, LeastError> {
    let mut answers = 0;
    for name in pinned {
        let case = Case {
            read: name.clone(),
            ..case.clone()
        };
        let outcome = bench.check(&case).await.map_err(LeastError::Mismatch)?;
        answers += usize::from(matches!(outcome, Outcome::Same(_)));
    }
    Ok(answers)
}

/// The items of a bench.
///
/// # Errors
///
/// Where a row has no key.
pub fn stored_table(bench: &Bench) -> Result<Table<'_>, RuntimeError> {
    let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
    let engine = bench.engine();
    let mut rows = Vec::new();
    for (name, row) in bench.rows() {
        let Some(entity) = engine.model().entity_named(name) else {
            continue;
        };
        let items = load::items_of_row(engine.model(), entity, row, bench_scope(engine, NOW, &nothing, &nobody))?;
        rows.extend(items.into_iter().take(1).map(|item| StoredRow {
            entity: entity.id,
            row: row.clone(),
            item,
        }));
    }
    Ok(Table::of(engine.model(), rows))
}

/// What a read's own selection asks for; none where it has none.
pub fn asked_least<'a>(bench: &'a Bench, read: &'a Read, scope: Scope<'a>) -> Option<Asked<'a>> {
    let model = bench.engine().model();
    let selection = read.selection.as_ref()?;
    let entity = model.entity(selection.entity()?)?;
    let page = read.page.map_or(Bounds::USUAL.page_rows_usual, |page| page as usize);
    let limit = selection.limit.map_or(page, |limit| page.min(limit as usize));
    let conjuncts = selection.filter.iter().chain([&read.allow]).flat_map(Expr::conjuncts);
    Some(Asked {
        entity,
        conjuncts: conjuncts.collect(),
        order: &selection.order,
        wanted: match selection.kind {
            SelectionKind::Get { .. } => Some(1),
            SelectionKind::Find => Some(limit),
            SelectionKind::Count => None,
        },
        scope,
        is_strong: read.consistent.is_some(),
        may_scan: read.scan.is_some(),
        shown: shown_attributes(read),
    })
}

/// The attributes that an answer shows; none where it shows all.
pub(super) fn shown_attributes(read: &Read) -> Option<BTreeSet<String>> {
    let names = |expr: &Expr| {
        expr.attributes()
            .into_iter()
            .map(str::to_owned)
            .collect::<BTreeSet<String>>()
    };
    let whole = |expr: &Expr| expr.any(|part| matches!(part.kind, singlet_model::expression::ExprKind::Row));
    let selection = read.selection.as_ref()?;
    if selection.kind == SelectionKind::Count {
        let sums = selection.sums.iter().flat_map(|(_, sum)| names(sum));
        return Some(selection.by.iter().cloned().chain(sums).collect());
    }
    match &read.returns {
        Return::Fields(fields) if fields.iter().all(|(_, field)| !whole(field)) => {
            Some(fields.iter().flat_map(|(_, field)| names(field)).collect())
        }
        Return::Value(value) if !whole(value) => Some(names(value)),
        Return::Nothing => Some(BTreeSet::new()),
        _ => None,
    }
}

impl LeastReport {
    /// Takes one case; false where the read has no plan.
    async fn take(&mut self, bench: &Bench, table: &Table<'_>, case: &Case) -> Result<bool, LeastError> {
        let engine = bench.engine();
        let model = engine.model();
        let Some(read) = model.reads.iter().find(|read| read.name == case.read) else {
            return Ok(false);
        };
        let Some(asked) = asked_least(bench, read, bench_scope(engine, case.now, &case.args, &case.caller)) else {
            return Ok(false);
        };
        let ways = table.possible_ways(&asked);
        let least = ways.iter().min_by_key(|way| (way.half_units, way.requests));
        if bench.planner_refusal(read, &case.args).is_some() {
            self.unplanned.0 += 1;
            self.unplanned.1 += usize::from(least.is_some());
            return Ok(false);
        }
        let Some(least) = least else { return Ok(false) };
        let request = Request {
            args: case.args.clone(),
            caller: case.caller.clone(),
            now: case.now,
            ..Request::default()
        };
        let answer = match engine.read(&case.read, &request).await {
            Err(RuntimeError::Request(_)) => return Ok(false),
            answer => answer?,
        };
        let consumed = answer.consumed.total_units().read.half_count();
        if ways.len() < 2 {
            self.one_way += 1;
            return Ok(true);
        }
        self.count(consumed, least, || {
            let plan = engine.plan(&case.read).map(|plan| plan_text(model, plan, true));
            let ways: Vec<String> = ways
                .iter()
                .map(|way| format!("  {} {}", way.half_units, way.name))
                .collect();
            let text = bench.case_mismatch(case, String::new()).model;
            let text = without_other_reads(&text, &case.read);
            format!(
                "{text}\n{} {:?}\nplan:\n{}\nways (half units):\n{}",
                case.read,
                case.args,
                plan.unwrap_or_default(),
                ways.join("\n")
            )
        });
        Ok(true)
    }

    fn count(&mut self, consumed: u64, least: &Way, shown: impl Fn() -> String) {
        let within = |(times, more): (f64, u64)| {
            consumed as f64 <= least.half_units as f64 * times || consumed <= least.half_units + more
        };
        self.cases += 1;
        self.half_units.0 += consumed;
        self.half_units.1 += least.half_units;
        // What a request settles before anything is read takes nothing.
        if consumed > 0 && consumed < least.half_units {
            self.below += 1;
            self.lowest = Some(LeastCase {
                consumed,
                least: least.clone(),
                shown: shown(),
            });
        }
        if within(NEAR) {
            self.near += 1;
            return;
        }
        self.far += usize::from(!within(FAR));
        *self.kinds.entry(kind_of(&least.name)).or_default() += 1;
        self.worst.push(LeastCase {
            consumed,
            least: least.clone(),
            shown: shown(),
        });
        let off = |case: &LeastCase| case.consumed * 1_000 / case.least.half_units.max(1);
        self.worst.sort_by_key(|case| std::cmp::Reverse(off(case)));
        self.worst.truncate(WORST_MAX);
    }

    /// The share of the cases that are near the least.
    pub fn near_share(&self) -> f64 {
        self.near as f64 / self.cases.max(1) as f64
    }
}

/// A drawn model with one of its reads.
fn without_other_reads(text: &str, read: &str) -> String {
    let mut is_shown = true;
    let lines = text.lines().filter(|line| {
        if let Some(name) = line.strip_prefix("  r").and_then(|line| line.strip_suffix(':')) {
            is_shown = read.strip_prefix('r') == Some(name);
        }
        is_shown |= line.starts_with("estimates");
        is_shown
    });
    lines.map(|line| format!("{line}\n")).collect()
}

/// A way without its numbers and names of indexes.
fn kind_of(name: &str) -> String {
    name.chars().filter(|char| !char.is_ascii_digit()).collect()
}
