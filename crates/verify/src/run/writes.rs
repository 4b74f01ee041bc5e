//! Sequences of writes on one table: each operation is done twice.

use std::collections::BTreeMap;
use std::pin::Pin;

use singlet_model::{Source, load_source};
use singlet_plan::write::write_costs;

use super::coverage::WordCoverage;
use super::{NOW, bounds_of, model_errors, rng_of};
use crate::VerifyError;
use crate::bench::BenchGiven;
use crate::generate;
use crate::shrink::{AsyncShows, smallest_model};
use crate::smallest::{StoreMaker, declared_settings, kind_of};
use crate::writes::sequence::{fewest_operations, first_difference, operation_lines};
use crate::writes::{Draw, ExpectedOutcome, Op, RangeWidths, WriteSequence, WriteSpent};

/// Operations on one table.
const SEQUENCE: u64 = 100;

/// What came of operations.
#[derive(Debug, Default)]
pub struct WriteTally {
    /// Operations that were done twice.
    pub operations: u64,
    /// By outcome: done, replayed, a refusal's status.
    pub outcomes: BTreeMap<String, u64>,
    /// By the refusal's name.
    pub refusals: BTreeMap<String, u64>,
    /// By write, and what it came to in a word.
    pub words: BTreeMap<String, BTreeMap<String, u64>>,
    /// The words of models whose writes were done.
    pub coverage: WordCoverage,
    /// Writes that are none, by message.
    pub mistakes: BTreeMap<String, usize>,
    /// Writes in all.
    pub writes: usize,
    /// Models in all.
    pub models: usize,
    /// By write, what its runs took, where costs are compared.
    pub spent: BTreeMap<String, WriteSpent>,
    /// How wide the ranges were that are told of requests, where costs are compared.
    pub widths: RangeWidths,
    /// Whether the store counts otherwise than the plan does, so that costs are not compared.
    pub costs_differ: bool,
}

impl WriteTally {
    fn count(&mut self, op: &Op, outcome: &ExpectedOutcome) {
        self.operations += 1;
        let words = self.words.entry(op.write.clone()).or_default();
        *words.entry(outcome.word()).or_default() += 1;
        let kind = match outcome {
            ExpectedOutcome::Refused(any) => {
                let name = any.first().map(|first| first.name.clone()).unwrap_or_default();
                *self.refusals.entry(name).or_default() += 1;
                format!("refused {}", any.first().map_or(0, |first| first.status))
            }
            other => other.word(),
        };
        *self.outcomes.entry(kind).or_default() += 1;
    }

    /// How often a write came to what a word says.
    pub fn of(&self, write: &str, word: &str) -> u64 {
        let words = self.words.get(write);
        words.and_then(|words| words.get(word)).copied().unwrap_or_default()
    }

    /// The share of operations that came to something.
    pub fn done_share(&self, kind: &str) -> f64 {
        self.outcomes.get(kind).copied().unwrap_or_default() as f64 / self.operations as f64
    }

    /// Both together.
    pub fn add_tally(&mut self, other: WriteTally) {
        self.operations += other.operations;
        self.models += other.models;
        self.writes += other.writes;
        for (kind, count) in other.outcomes {
            *self.outcomes.entry(kind).or_default() += count;
        }
        for (name, count) in other.refusals {
            *self.refusals.entry(name).or_default() += count;
        }
        for (write, words) in other.words {
            let known = self.words.entry(write).or_default();
            for (word, count) in words {
                *known.entry(word).or_default() += count;
            }
        }
        for (message, count) in other.mistakes {
            *self.mistakes.entry(message).or_default() += count;
        }
        for (write, spent) in &other.spent {
            self.spent.entry(write.clone()).or_default().add_spent(spent);
        }
        self.widths.add_widths(&other.widths);
        self.coverage.add_coverage(other.coverage);
    }
}

/// One table of a made-up model of a seed.
///
/// # Errors
///
/// The first difference, with the fewest operations and the smallest model that show it.
pub async fn write_cases(
    seed: u64,
    model: u64,
    store: StoreMaker<'_>,
    tally: &mut WriteTally,
) -> Result<(), VerifyError> {
    let mut rng = rng_of(seed, model);
    let mut generated = generate::writes::generate_writes(&mut rng);
    tally.models += 1;
    if !model_errors(&generated.text()).is_empty() {
        let wrong = |write: &String| model_errors(&generated.text_with(write)).into_iter().next();
        let (mut kept, mut mistakes) = (Vec::new(), Vec::new());
        for write in &generated.writes {
            match wrong(write) {
                Some(message) => mistakes.push(message),
                None => kept.push(write.clone()),
            }
        }
        generated.writes = kept;
        for message in mistakes {
            *tally.mistakes.entry(message).or_default() += 1;
        }
    }
    tally.writes += generated.writes.len();
    let text = generated.text();
    let given = BenchGiven {
        bounds: bounds_of(&mut rng),
        costs: !tally.costs_differ,
        ..BenchGiven::default()
    };
    let mut draw = Draw::new(rng, NOW, &["teller"]);
    sequence_cases(&text, &given, &mut draw, store, tally).await
}

/// One table, and operations on it until one differs.
///
/// # Errors
///
/// The first difference, with the fewest operations and the smallest model that show it.
pub async fn sequence_cases(
    text: &str,
    given: &BenchGiven,
    draw: &mut Draw,
    store: StoreMaker<'_>,
    tally: &mut WriteTally,
) -> Result<(), VerifyError> {
    let sequence = WriteSequence::open(text, store(), given.clone()).await?;
    let costs = given.costs.then(|| write_costs(sequence.model()).into());
    let mut sequence = sequence.held_to_costs(costs);
    let mut ops = Vec::new();
    let mut done: Vec<String> = Vec::new();
    for number in 1..=SEQUENCE {
        let Some((write, request)) = draw.draw_request(&sequence) else {
            break;
        };
        let request = sequence.recorded_request(request);
        let op = Op { number, write, request };
        ops.push(op.clone());
        match sequence.step(&op).await {
            Ok(outcome) => {
                draw.saw_outcome(&op.write, &outcome);
                tally.count(&op, &outcome);
                if matches!(outcome, ExpectedOutcome::Done { .. }) {
                    done.push(op.write.clone());
                }
            }
            Err(error) => {
                let smallest = smallest_sequence(text, given, store, ops, error.to_string()).await;
                return Err(error.reworded(|_| smallest));
            }
        }
    }
    for (write, spent) in sequence.spent_by_write() {
        tally.spent.entry(write.clone()).or_default().add_spent(spent);
    }
    sequence
        .range_widths()
        .into_iter()
        .for_each(|widths| tally.widths.add_widths(widths));
    let done: Vec<&str> = done.iter().map(String::as_str).collect();
    tally.coverage.see_words(text, "writes", &done);
    Ok(())
}

/// The difference, the fewest operations and the smallest model that show it.
async fn smallest_sequence(
    text: &str,
    given: &BenchGiven,
    store: StoreMaker<'_>,
    ops: Vec<Op>,
    what: String,
) -> String {
    let (ops, what) = fewest_operations(text, given, store, ops, what).await;
    let mut shows = WriteShows {
        ops: &ops,
        given,
        store,
        kind: kind_of(&what),
        what: what.clone(),
    };
    let text = smallest_model(text, &mut shows).await;
    let what = shows.what;
    let model = load_source(&Source::new("made", text.as_str())).model;
    let ops = model.map(|model| fitting(&model, &ops)).unwrap_or(ops);
    format!("{what}\n# operations\n{}\n# model.yaml\n{text}", operation_lines(&ops))
}

struct WriteShows<'a> {
    ops: &'a [Op],
    given: &'a BenchGiven,
    store: StoreMaker<'a>,
    kind: String,
    what: String,
}

impl AsyncShows for WriteShows<'_> {
    fn shows<'a>(&'a mut self, text: &'a str) -> Pin<Box<dyn Future<Output = bool> + 'a>> {
        Box::pin(async move {
            let loaded = load_source(&Source::new("made", text));
            let Some(model) = loaded.model.filter(|_| !loaded.diagnostics.has_errors()) else {
                return false;
            };
            let ops = fitting(&model, self.ops);
            let given = BenchGiven {
                settings: declared_settings(&model, &self.given.settings),
                ..self.given.clone()
            };
            // Every operation is still there, and it is the last one that differs.
            if ops.len() < self.ops.len() {
                return false;
            }
            match first_difference(text, &given, (self.store)(), &ops).await {
                Some((at, what)) if at + 1 == ops.len() && kind_of(&what) == self.kind => {
                    self.what = what;
                    true
                }
                _ => false,
            }
        })
    }
}

/// Operations without the arguments that a model no longer has.
fn fitting(model: &singlet_model::Model, ops: &[Op]) -> Vec<Op> {
    let mut kept = Vec::new();
    for op in ops {
        let Some(write) = model.writes.iter().find(|write| write.name == op.write) else {
            continue;
        };
        let mut op = op.clone();
        op.request
            .args
            .retain(|name, _| write.args.iter().any(|arg| arg.name == *name));
        kept.push(op);
    }
    kept
}
