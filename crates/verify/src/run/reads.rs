//! Reads of made-up models: each case is answered twice.

use std::collections::BTreeMap;

use fastrand::Rng;
use singlet_item::Value;
use singlet_runtime::Caller;

use super::coverage::WordCoverage;
use super::{NOW, bounds_of, model_errors, rng_of};
use crate::bench::{Bench, BenchError, BenchGiven, Case, Outcome};
use crate::generate::{self, Generated, GeneratedRead};
use crate::mismatch::Mismatch;
use crate::smallest::{StoreMaker, smallest_case};

const ROWS_PER_MODEL: usize = 60;
const ROWS_PER_MODEL_MAX: usize = 240;
const CASES_PER_READ: usize = 6;
/// Of so many cases one is walked again while rows come and go.
const CHANGING_ONE_IN: u8 = 3;

/// What came of cases.
#[derive(Debug, Default)]
pub struct ReadTally {
    /// Models that were made up.
    pub models: usize,
    /// Reads that are none.
    pub not_reads: usize,
    /// Reads in all.
    pub reads: usize,
    /// Cases that were answered twice.
    pub cases: usize,
    /// Cases with rows.
    pub with_rows: usize,
    /// Cases with more than one row, whose order matters.
    pub with_several: usize,
    /// Cases that ask for more than one request may.
    pub refused: usize,
    /// Cases whose answer hangs on an order that the model leaves open.
    pub ambiguous: usize,
    /// Cases for which there is no plan, by reason.
    pub unplanned: BTreeMap<&'static str, usize>,
    /// The words of models whose reads answered rows.
    pub coverage: WordCoverage,
    /// Why reads are none, by message.
    pub mistakes: BTreeMap<String, usize>,
    /// Whether the store counts otherwise than the plan does, so that costs are not compared.
    pub costs_differ: bool,
    /// Lists that were walked while rows came and went.
    pub changing: usize,
}

impl ReadTally {
    /// Both together.
    pub fn add_tally(&mut self, other: ReadTally) {
        self.models += other.models;
        self.not_reads += other.not_reads;
        self.reads += other.reads;
        self.cases += other.cases;
        self.with_rows += other.with_rows;
        self.with_several += other.with_several;
        self.refused += other.refused;
        self.ambiguous += other.ambiguous;
        for (reason, count) in other.unplanned {
            *self.unplanned.entry(reason).or_default() += count;
        }
        for (message, count) in other.mistakes {
            *self.mistakes.entry(message).or_default() += count;
        }
        self.changing += other.changing;
        self.coverage.add_coverage(other.coverage);
    }
}

/// All cases of one model of a seed.
///
/// # Errors
///
/// The first case that differs, as small as it could be made.
pub async fn read_cases(
    seed: u64,
    model: u64,
    store: StoreMaker<'_>,
    tally: &mut ReadTally,
) -> Result<(), Box<Mismatch>> {
    let mut rng = rng_of(seed, model);
    let generated = valid(generate::generate_model(&mut rng), tally);
    let count = match rng.u8(..4) {
        0 => ROWS_PER_MODEL_MAX,
        _ => ROWS_PER_MODEL,
    };
    let rows = generated.rows(&mut rng, count);
    let text = generated.text();
    tally.models += 1;
    let given = BenchGiven {
        settings: generated.settings.clone(),
        bounds: bounds_of(&mut rng),
        costs: rng.u8(..4) == 0 && !tally.costs_differ,
    };
    let bench = match Bench::open_with(&text, store(), rows, NOW, given).await {
        Ok(bench) => bench,
        Err(error) => return Err(Box::new(not_opened(&text, &error))),
    };
    let mut covered = Vec::new();
    for read in &generated.reads {
        let mut rows = 0;
        for _ in 0..CASES_PER_READ {
            let case = case_of(&mut rng, read, &bench);
            match bench.check(&case).await {
                Ok(outcome) => rows += tally.count(outcome),
                Err(mismatch) => return Err(Box::new(smallest_case(*mismatch, store).await)),
            }
            if rng.u8(..CHANGING_ONE_IN) == 0
                && let Some(walked) = bench.check_changing(&case, rng.u64(..)).await
            {
                tally.changing += 1;
                walked.map_err(|error| Box::new(bench.case_mismatch(&case, error.to_string())))?;
            }
        }
        if rows > 0 {
            covered.push(read.name.as_str());
        }
    }
    tally.coverage.see_words(&text, "reads", &covered);
    Ok(())
}

impl ReadTally {
    /// Counts an outcome; how many rows it has.
    fn count(&mut self, outcome: Outcome) -> usize {
        match outcome {
            Outcome::Same(rows) => {
                self.cases += 1;
                self.with_rows += usize::from(rows > 0);
                self.with_several += usize::from(rows > 1);
                return rows;
            }
            Outcome::Unplanned(reason) => *self.unplanned.entry(reason).or_default() += 1,
            Outcome::Refused => self.refused += 1,
            Outcome::Ambiguous => self.ambiguous += 1,
        }
        0
    }
}

/// The model without reads that are none: what fits where is the checker's to say.
fn valid(generated: Generated, tally: &mut ReadTally) -> Generated {
    tally.reads += generated.reads.len();
    if model_errors(&generated.text()).is_empty() {
        return generated;
    }
    let mut wrong = Vec::new();
    for read in &generated.reads {
        let found = model_errors(&generated.text_with(read));
        if let Some(first) = found.first() {
            *tally.mistakes.entry(first.clone()).or_default() += 1;
            wrong.push(read.name.clone());
        }
    }
    tally.not_reads += wrong.len();
    generated.without_reads(|read| wrong.contains(&read.name))
}

/// The caller, mostly in some groups: one that is asked for, one whose name is within or around it, one that a row names.
fn in_groups(rng: &mut Rng, caller: Caller, id: &str) -> Caller {
    if rng.u8(..4) == 0 {
        return caller;
    }
    let names = ["desk", "helpdesk-guest", "des", "", id];
    let groups = (0..rng.usize(..4)).filter_map(|_| rng.choice(names).map(Value::from));
    let groups = Value::L(groups.collect());
    caller.with_claim("groups", groups)
}

pub(super) fn case_of(rng: &mut Rng, read: &GeneratedRead, bench: &Bench) -> Case {
    let row = read.some_row(rng, bench.rows());
    let texts = row
        .into_iter()
        .flat_map(|row| row.values())
        .filter_map(|value| value.as_str());
    let id = rng.choice(texts.collect::<Vec<_>>()).unwrap_or("ada");
    let caller = match rng.u8(..10) {
        0 => Caller::anonymous(),
        1..5 => Caller::with_id(id).claim("role", "clerk"),
        _ => Caller::with_id(id),
    };
    let caller = in_groups(rng, caller, id);
    Case {
        read: read.name.clone(),
        args: read.draw_arguments(rng, row),
        caller,
        page: rng.usize(1..10),
        now: NOW + rng.choice([0, 0, 600, 86_400_000]).unwrap_or_default(),
    }
}

/// A table that could not be made is a difference too.
fn not_opened(text: &str, error: &BenchError) -> Mismatch {
    Mismatch {
        what: format!("the table cannot be opened: {error:?}"),
        model: text.to_owned(),
        rows: Vec::new(),
        case: Case::default(),
        given: BenchGiven::default(),
        plan: String::new(),
        asked: String::new(),
        expected: Vec::new(),
        got: Vec::new(),
    }
}
