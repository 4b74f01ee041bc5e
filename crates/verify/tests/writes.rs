//! Sequences of writes come to what they mean: the same outcomes, the same rows, and every item as its row is kept.
//!
//! `SINGLET_CASES` does more operations than usual, `SINGLET_SEED` begins elsewhere, `SINGLET_KEEP_GOING` shows many differences
//! and not only the first.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it tried"
)]

mod support;
mod unreached;

use std::collections::BTreeMap;
use std::path::Path;

use singlet_model::types::Type;
use singlet_model::{Model, Source};
use singlet_plan::write::possible_refusals;
use singlet_runtime::{Attributes, values};
use singlet_verify::generate;
use singlet_verify::writes::{Draw, Op, Outcome, Sequence, sequence};
use unreached::{SELDOM, UNREACHED};

use support::{memory, rng, setting};

/// 2026-11-16T12:00:00.500Z: between two seconds.
const NOW: i64 = 1_794_830_400_500;

const SEED: u64 = 1;

/// Operations on one table.
const SEQUENCE: u64 = 100;

/// Differences after which a run that goes on stops all the same.
const FAILURES_MAX: usize = 12;

/// Runs of fewer operations say nothing of what is covered.
const FLOORS_FROM: u64 = 500;

/// Refusals of made-up models, by part of their names: none may fall silent.
const REFUSALS: &[&str] = &[
    "_not_found",
    "e0_exists",
    "_by_exists",
    "name_taken",
    "note_taken",
    "_not_open",
    "_not_held",
    "too_many",
    "total_out_of_range",
    "too_few",
    "no_note",
    "other_kind",
    "place_taken",
    "same_item",
    "full",
];

/// The systems, with the roles of their callers and the writes that lead to others. Each gets operations by how many writes it has.
const SYSTEMS: [(&str, &[&str], &[&str]); 5] = [
    (
        "todo",
        &[],
        &[
            "createTask",
            "createTask",
            "startTask",
            "completeTask",
            "setStatusOfTasks",
            "reopenTask",
        ],
    ),
    (
        "booking",
        &["admin", "admin", "admin", "user"],
        &[
            "register",
            "requestBooking",
            "requestBooking",
            "approveBooking",
            "approveBooking",
            "recordPayment",
        ],
    ),
    ("country", &["writer", "writer", "writer", "reader"], &[]),
    (
        "ecobid",
        &[],
        &[
            "register",
            "createItem",
            "createItem",
            "reserveItem",
            "reserveItem",
            "reserveItem",
            "confirmReservation",
            "confirmReservation",
            "completeReservation",
            "completeReservation",
            "rateUser",
            "createAuction",
            "placeBid",
            "placeBid",
            "placeBid",
            "placeBid",
        ],
    ),
    ("wardrobe", &[], &["createItem", "shareItem"]),
];

/// How often every write of every system must be done in a normal run.
const DONE_MIN: u64 = 4;

fn model_of(text: &str) -> Model {
    singlet_model::load(&Source::new("model", text)).model.unwrap()
}

fn writes_in(text: &str) -> u64 {
    model_of(text).writes.len() as u64
}

/// What came of operations.
#[derive(Debug, Default)]
struct Tally {
    operations: u64,
    /// By outcome: done, replayed, a refusal's status.
    outcomes: BTreeMap<String, u64>,
    /// By the refusal's name.
    refusals: BTreeMap<String, u64>,
    /// By write, and what it came to in a word.
    words: BTreeMap<String, BTreeMap<String, u64>>,
    failures: usize,
}

impl Tally {
    fn count(&mut self, op: &Op, outcome: &Outcome) {
        self.operations += 1;
        let words = self.words.entry(op.write.clone()).or_default();
        *words.entry(outcome.word()).or_default() += 1;
        let kind = match outcome {
            Outcome::Refused(any) => {
                let first = any.first().unwrap();
                *self.refusals.entry(first.name.clone()).or_default() += 1;
                format!("refused {}", first.status)
            }
            other => other.word(),
        };
        *self.outcomes.entry(kind).or_default() += 1;
    }

    /// How often a write came to what a word says.
    fn of(&self, write: &str, word: &str) -> u64 {
        let words = self.words.get(write);
        words.and_then(|words| words.get(word)).copied().unwrap_or_default()
    }

    fn share(&self, kind: &str) -> f64 {
        self.outcomes.get(kind).copied().unwrap_or_default() as f64 / self.operations as f64
    }
}

/// One table, and operations on it until one differs.
async fn run(name: &str, text: &str, settings: &Attributes, draw: &mut Draw, tally: &mut Tally) {
    let mut sequence = match Sequence::open(text, memory(), settings.clone()).await {
        Ok(sequence) => sequence,
        Err(what) => panic!("{name} is not a model: {what}\n{text}"),
    };
    let mut ops = Vec::new();
    for number in 1..=SEQUENCE {
        let Some((write, request)) = draw.request(&sequence) else {
            return;
        };
        let request = sequence.recorded(request);
        let op = Op { number, write, request };
        ops.push(op.clone());
        match sequence.step(&op).await {
            Ok(outcome) => {
                draw.saw(&op.write, &outcome);
                tally.count(&op, &outcome);
            }
            Err(what) => {
                let (ops, what) = sequence::smallest(text, settings, &memory, ops, what).await;
                println!("{name}: {what}\n{}\n{text}=====", sequence::pasteable(&ops));
                tally.failures += 1;
                let keep = std::env::var("SINGLET_KEEP_GOING").is_ok() && tally.failures < FAILURES_MAX;
                assert!(keep, "{name}: {what}");
                return;
            }
        }
    }
}

/// Every write is done often, and every refusal that its plan names is said, unless a reason is given.
fn floors(name: &str, text: &str, tally: &Tally) -> Vec<String> {
    let model = model_of(text);
    let mut wrong = Vec::new();
    for write in &model.writes {
        let done = tally.of(&write.name, "done");
        if done < DONE_MIN {
            wrong.push(format!("{name}: `{}` is done {done} times", write.name));
        }
        for (_, refusal) in possible_refusals(&model, write) {
            let own = format!("{name}.{}", write.name);
            let mut entries = UNREACHED
                .iter()
                .filter(|(_, which, _)| which.contains(&refusal.as_str()));
            let everywhere = entries.clone().any(|(of, ..)| *of == "*");
            let listed = everywhere || entries.any(|(of, ..)| *of == own);
            if SELDOM.contains(&(own.as_str(), refusal.as_str())) {
                continue;
            }
            match (tally.of(&write.name, &refusal), listed) {
                (0, false) => wrong.push(format!("{name}: `{}` never answers `{refusal}`", write.name)),
                (1.., true) if !everywhere => {
                    wrong.push(format!("{name}: `{}` answers `{refusal}` after all", write.name))
                }
                _ => {}
            }
        }
    }
    wrong
}

#[tokio::test]
async fn the_five_systems_do_what_they_mean() {
    let (seed, operations) = (setting("SINGLET_SEED", SEED), setting("SINGLET_CASES", 6_000));
    let only = std::env::var("SINGLET_ONLY").ok();
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut wrong: Vec<String> = Vec::new();
    let retention = values::from_text("30d", &Type::Duration).unwrap();
    let settings = Attributes::from([("retention".to_owned(), retention)]);
    let texts = SYSTEMS.map(|(name, ..)| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../systems/{name}"));
        std::fs::read_to_string(folder.join("model.yaml")).unwrap()
    });
    let writes = texts.each_ref().map(|text| writes_in(text));
    let all_writes: u64 = writes.iter().sum();
    for (at, (name, roles, favoured)) in SYSTEMS.iter().enumerate() {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let text = texts.get(at).unwrap();
        let share = operations * writes.get(at).unwrap() / all_writes;
        let tally = tallies.entry(name).or_default();
        let mut draw = Draw::new(rng(seed, 0), NOW, roles).favouring(favoured);
        for round in 0.. {
            if tally.operations >= share {
                break;
            }
            draw.begin(rng(seed, (at as u64) << 32 | round), NOW);
            run(name, text, &settings, &mut draw, tally).await;
        }
        if tally.operations >= FLOORS_FROM {
            wrong.extend(floors(name, text, tally));
        }
    }
    println!("{tallies:#?}");
    assert!(tallies.values().all(|tally| tally.failures == 0));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for (name, tally) in tallies.iter().filter(|(_, tally)| tally.operations >= FLOORS_FROM) {
        assert!(tally.share("done") > 0.15, "{name}: too few operations are done");
        assert!(tally.share("refused 404") > 0.02, "{name}: too few rows are missing");
        assert!(tally.share("BadRequest") > 0.005, "{name}: too few requests are wrong");
    }
    let all = |kind: &str| {
        tallies
            .values()
            .filter_map(|tally| tally.outcomes.get(kind))
            .sum::<u64>()
    };
    if only.is_none() && operations >= FLOORS_FROM * SYSTEMS.len() as u64 {
        for kind in [
            "refused 409",
            "Forbidden",
            "Unauthenticated",
            "replayed",
            "KeyReused",
            "VersionMismatch",
        ] {
            assert!(all(kind) > 10, "too few operations come to `{kind}`");
        }
    }
}

#[tokio::test]
async fn made_up_models_do_what_they_mean() {
    let (seed, operations) = (setting("SINGLET_SEED", SEED), setting("SINGLET_CASES", 6_000));
    let mut tally = Tally::default();
    for at in 0.. {
        if tally.operations >= operations {
            break;
        }
        let mut rng = rng(seed, at);
        let text = generate::writes::model(&mut rng);
        let mut draw = Draw::new(rng, NOW, &["teller"]);
        run(
            &format!("seed {seed}, model {at}"),
            &text,
            &Attributes::new(),
            &mut draw,
            &mut tally,
        )
        .await;
    }
    println!("{tally:#?}");
    assert_eq!(tally.failures, 0);
    if operations < FLOORS_FROM {
        return;
    }
    assert!(tally.share("done") > 0.25, "too few operations are done");
    assert!(tally.share("refused 409") > 0.08, "too few operations are refused");
    assert!(tally.share("VersionMismatch") > 0.002, "too few versions differ");
    for name in REFUSALS {
        let count = tally.refusals.iter().filter(|(known, _)| known.contains(name));
        let count: u64 = count.map(|(_, count)| count).sum();
        assert!(count > 1, "too few refusals `{name}`");
    }
    let done = tally.words.values().filter(|words| words.contains_key("done"));
    assert!(done.count() > 35, "too few writes are ever done");
}
