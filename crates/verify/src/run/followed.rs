//! Sequences of writes on a table that is followed: what runs after changes is done twice, until all is at rest.

use std::collections::BTreeMap;

use fastrand::Rng;
use singlet_model::model::{LetValue, Step, StepKind, Write};
use singlet_model::{Model, Source, load_source};
use singlet_plan::read::plan_selection;
use singlet_plan::write::trigger_cycles;

use super::coverage::WordCoverage;
use super::{NOW, model_errors, rng_of};
use crate::VerifyError;
use crate::bench::BenchGiven;
use crate::generate::writes::{GeneratedWrites, tallies, triggers, webhooks};
use crate::smallest::StoreMaker;
use crate::writes::sequence::operation_lines;
use crate::writes::{Draw, ExpectedOutcome, FollowedOp, FollowedSequence, Op};

/// Operations on one table.
const SEQUENCE: u64 = 80;

/// After how long every state has lapsed that lapses.
const LAPSE_MILLIS: i64 = 150_000;
const DAY_MILLIS: i64 = 86_400_000;

/// What came of operations on tables that are followed.
#[derive(Debug, Default)]
pub struct FollowedTally {
    /// Operations that were done twice.
    pub operations: u64,
    /// Operations that were done, and not refused.
    pub done: u64,
    /// Runs by what they run after, in a word: done, and refused.
    pub runs: BTreeMap<String, (u64, u64)>,
    /// Changes that were parked.
    pub parked: u64,
    /// Tables of which too many orders were possible to try them all.
    pub open: u64,
    /// Models in all, and those whose writes commute.
    pub models: [u64; 2],
    /// Tallies that were kept.
    pub tallies: u64,
    /// Copies that follow through the stream.
    pub kept_copies: u64,
    /// What other systems are told.
    pub told: u64,
    /// Refusals that were tried again.
    pub retried: u64,
    /// Writes that are none, by message.
    pub mistakes: BTreeMap<String, usize>,
    /// Writes in all.
    pub writes: usize,
    /// The words of models whose writes were done.
    pub coverage: WordCoverage,
}

impl FollowedTally {
    /// Both together.
    pub fn add_tally(&mut self, other: FollowedTally) {
        self.operations += other.operations;
        self.done += other.done;
        self.parked += other.parked;
        self.open += other.open;
        self.writes += other.writes;
        self.tallies += other.tallies;
        self.kept_copies += other.kept_copies;
        self.told += other.told;
        self.retried += other.retried;
        for (known, more) in self.models.iter_mut().zip(other.models) {
            *known += more;
        }
        for (event, (done, refused)) in other.runs {
            let known = self.runs.entry(event).or_default();
            *known = (known.0 + done, known.1 + refused);
        }
        for (message, count) in other.mistakes {
            *self.mistakes.entry(message).or_default() += count;
        }
        self.coverage.add_coverage(other.coverage);
    }
}

/// One table of a made-up model of a seed.
///
/// # Errors
///
/// The first difference, with the fewest operations that show it.
pub(crate) async fn followed_cases(
    seed: u64,
    model: u64,
    store: StoreMaker<'_>,
    tally: &mut FollowedTally,
) -> Result<(), VerifyError> {
    match first_found(seed, model, store, tally).await? {
        None => Ok(()),
        Some(found) => Err(VerifyError::Differs(found.smallest(store).await)),
    }
}

/// Operations after which something differs.
#[derive(Debug)]
pub struct FollowedMismatch {
    text: String,
    given: BenchGiven,
    steps: Vec<FollowedOp>,
    /// What differs.
    pub what: String,
}

/// One table of a made-up model of a seed, until something differs.
///
/// # Errors
///
/// Where there is no such table.
pub async fn first_found(
    seed: u64,
    model: u64,
    store: StoreMaker<'_>,
    tally: &mut FollowedTally,
) -> Result<Option<FollowedMismatch>, VerifyError> {
    let mut rng = rng_of(seed, model);
    let mut generated = triggers::triggered_model(&mut rng);
    keep_right_writes(&mut generated.writes, tally);
    keep_some_writes(&mut generated.writes, &mut rng);
    tally.models = [1, u64::from(generated.commutes)];
    let mut tally_rng = Rng::with_seed(seed.rotate_left(17) ^ model);
    let text = with_kept_copies(generated.writes.text(), &mut tally_rng);
    let text = with_tallies(text, &mut tally_rng);
    let text = with_retries(text, &mut tally_rng);
    let text = with_webhooks(text, &mut tally_rng);
    tally.tallies = text.matches("\n    count: ").count() as u64;
    tally.kept_copies = text.matches("kept: stream").count() as u64;
    let given = BenchGiven {
        bounds: super::bounds_of(&mut rng),
        ..BenchGiven::default()
    };
    let mut faults = rng.fork();
    let mut sequence = FollowedSequence::open(&text, store(), given.clone()).await?;
    let mut draw = Draw::new(rng, NOW, &["teller"]);
    let (mut steps, mut done) = (Vec::new(), Vec::new());
    for number in 1..=SEQUENCE {
        draw.pass_time(passed_millis(&mut faults));
        let Some((write, request)) = draw.draw_request(sequence.write_sequence()) else {
            break;
        };
        let request = sequence.write_sequence().recorded_request(request);
        let step = FollowedOp {
            op: Op { number, write, request },
            rests: !generated.commutes || faults.u8(..3) == 0 || number == SEQUENCE,
            faults: faults.u64(..),
        };
        steps.push(step.clone());
        match sequence.step(&step).await {
            Ok(_) if sequence.is_open() => break,
            Ok(outcome) => {
                draw.saw_outcome(&step.op.write, &outcome);
                tally.operations += 1;
                if matches!(outcome, ExpectedOutcome::Done { .. }) {
                    tally.done += 1;
                    done.push(step.op.write.clone());
                }
            }
            Err(error) => {
                return Ok(Some(FollowedMismatch {
                    text,
                    given,
                    steps,
                    what: error.to_string(),
                }));
            }
        }
    }
    tally.open = u64::from(sequence.is_open());
    count_runs(&text, &sequence, tally, done);
    Ok(None)
}

/// The model with tallies, those that are right.
fn with_tallies(text: String, rng: &mut Rng) -> String {
    let Some(model) = load_source(&Source::new("made", text.clone())).model else {
        return text;
    };
    let (whole, kept) = with_section(text, "tallies:\n", tallies::drawn_tallies(&model, rng));
    let reads = kept.iter().map(|tally| tallies::read_of(tally)).collect();
    with_section(whole, "reads:\n", reads).0
}

/// The model with webhooks, those that are right.
fn with_webhooks(text: String, rng: &mut Rng) -> String {
    let drawn = webhooks::drawn_webhooks(rng);
    with_section(text, "webhooks:\n", drawn).0
}

/// The model with those entries of a section that are right, and these.
fn with_section(text: String, section: &str, entries: Vec<String>) -> (String, Vec<String>) {
    let (mut whole, mut kept) = (text, Vec::new());
    for entry in entries {
        let head = if kept.is_empty() { section } else { "" };
        let longer = format!("{whole}{head}{entry}");
        if model_errors(&longer).is_empty() {
            whole = longer;
            kept.push(entry);
        }
    }
    (whole, kept)
}

/// The model with some of its writes tried again where a rule refuses them.
fn with_retries(text: String, rng: &mut Rng) -> String {
    let mut whole = String::with_capacity(text.len());
    for line in text.lines() {
        let event = line
            .strip_prefix("    after: {")
            .and_then(|event| event.strip_suffix('}'));
        match event.filter(|_| rng.u8(..3) == 0) {
            Some(event) => whole.push_str(&format!("    after: {{{event}, else: retry}}\n")),
            None => whole.push_str(&format!("{line}\n")),
        }
    }
    whole
}

/// The model with some of its frozen copies kept through the stream, where that is right and their rows can be found.
fn with_kept_copies(text: String, rng: &mut Rng) -> String {
    if rng.u8(..4) == 0 {
        return text;
    }
    let other = text.replacen("kept: frozen", "kept: stream", 1 + rng.usize(..3));
    let model = load_source(&Source::new("made", other.clone())).model;
    let is_planned = |model: &Model| model.writes.iter().all(|write| is_found(model, write));
    match model_errors(&other).is_empty()
        && model.is_some_and(|model| is_planned(&model) && trigger_cycles(&model).is_empty())
    {
        true => other,
        false => text,
    }
}

/// Whether the rows of which a copy is kept have a plan.
fn is_found(model: &Model, write: &Write) -> bool {
    let is_made = write.name.contains('.');
    write.steps.iter().filter(|_| is_made).all(|step| match &step.repeat {
        Some((_, LetValue::Read(selection))) => {
            let plan = plan_selection(model, selection, None, None, &|_| true);
            plan.is_some_and(|plan| plan.is_answer())
        }
        _ => true,
    })
}

/// How long nobody asks for anything: mostly not at all, sometimes until states have lapsed, or rows have ended.
fn passed_millis(faults: &mut Rng) -> i64 {
    match faults.u8(..24) {
        0..3 => LAPSE_MILLIS,
        3 => DAY_MILLIS,
        _ => 0,
    }
}

/// Leaves out half of the writes that change rows of which something follows the changes, and most others: so that those that stay are done
/// often. What makes and removes rows stays.
fn keep_some_writes(generated: &mut GeneratedWrites, rng: &mut Rng) {
    let Some(model) = load_source(&Source::new("made", generated.text())).model else {
        return;
    };
    let mut kept = Vec::new();
    for write in &model.writes {
        let changes_followed = |step: &&Step| step.entity().is_some_and(|entity| model.is_followed(entity));
        let mut steps = write.all_steps().into_iter().filter(changes_followed);
        let of_four = match steps.next().map(|step| &step.kind) {
            _ if write.after.is_some() => 4,
            Some(StepKind::Create(_) | StepKind::Upsert(_) | StepKind::Delete(_)) => 4,
            Some(_) => 2,
            None => 1,
        };
        if rng.u8(..4) < of_four {
            kept.push(format!("  {}:\n", write.name));
        }
    }
    let is_kept = |write: &String| kept.iter().any(|name| write.starts_with(name));
    generated.writes.retain(is_kept);
}

/// Leaves out writes that the checker refuses, and those that would run after one another for ever.
fn keep_right_writes(generated: &mut GeneratedWrites, tally: &mut FollowedTally) {
    let mut kept = Vec::new();
    for write in std::mem::take(&mut generated.writes) {
        match model_errors(&generated.text_with(&write)).into_iter().next() {
            Some(message) => *tally.mistakes.entry(message).or_default() += 1,
            None => kept.push(write),
        }
    }
    generated.writes = kept;
    while let Some(model) = load_source(&Source::new("made", generated.text())).model {
        let names = trigger_cycles(&model)
            .into_iter()
            .flatten()
            .map(|write| format!("  {}:\n", write.name));
        let Some(name) = names.max() else {
            tally.writes = model.writes.len();
            return;
        };
        generated.writes.retain(|write| !write.starts_with(&name));
    }
}

fn count_runs(text: &str, sequence: &FollowedSequence, tally: &mut FollowedTally, mut done: Vec<String>) {
    tally.parked = sequence.follows.parked_changes as u64;
    tally.told = sequence.follows.told.len() as u64;
    tally.retried = sequence.follows.retried;
    for (write, trigger) in sequence.write_sequence().model().triggered_writes() {
        let Some((ran, refused)) = sequence.follows.runs.get(&write.name) else {
            continue;
        };
        let known = tally.runs.entry(trigger.event.word().to_owned()).or_default();
        *known = (known.0 + ran, known.1 + refused);
        if *ran > 0 {
            done.push(write.name.clone());
        }
    }
    let done: Vec<&str> = done.iter().map(String::as_str).collect();
    tally.coverage.see_words(text, "writes", &done);
}

impl FollowedMismatch {
    /// The difference, and the fewest operations that show it.
    async fn smallest(self, store: StoreMaker<'_>) -> String {
        let FollowedMismatch {
            text,
            given,
            mut steps,
            mut what,
        } = self;
        let mut at = steps.len();
        while at > 0 {
            at -= 1;
            let mut fewer = steps.clone();
            fewer.remove(at);
            if let Some((end, other)) = first_difference(&text, &given, store, &fewer).await {
                fewer.truncate(end + 1);
                (steps, what) = (fewer, other);
                at = at.min(steps.len());
            }
        }
        let ops: Vec<Op> = steps.iter().map(|step| step.op.clone()).collect();
        let rests: Vec<(bool, u64)> = steps.iter().map(|step| (step.rests, step.faults)).collect();
        format!(
            "{what}\n# operations\n{}\n# rests\n{rests:?}\n# model.yaml\n{text}",
            operation_lines(&ops)
        )
    }
}

/// Which of some operations is the first after which something differs, and how; with those that rest the last does.
async fn first_difference(
    text: &str,
    given: &BenchGiven,
    store: StoreMaker<'_>,
    steps: &[FollowedOp],
) -> Option<(usize, String)> {
    let mut sequence = match FollowedSequence::open(text, store(), given.clone()).await {
        Ok(sequence) => sequence,
        Err(error) => return Some((0, error.to_string())),
    };
    for (at, step) in steps.iter().enumerate() {
        if let Err(error) = sequence.step(step).await {
            return Some((at, error.to_string()));
        }
    }
    let last = sequence.rest_followers(0).await;
    last.err()
        .map(|error| (steps.len().saturating_sub(1), error.to_string()))
}
