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

mod listed;
mod support;
mod unreached;

use std::collections::BTreeMap;
use std::path::Path;

use singlet_cost::expected_operations;
use singlet_model::types::Type;
use singlet_model::{Model, Source};
use singlet_plan::write::possible_refusals;
use singlet_runtime::Attributes;
use singlet_values as values;
use singlet_verify::bench::BenchGiven;
use singlet_verify::run::writes::{WriteTally, sequence_cases};
use singlet_verify::writes::Draw;
use unreached::{SELDOM, UNREACHED};

use support::{memory, rng, setting};

/// 2026-11-16T12:00:00.500Z: between two seconds.
const NOW: i64 = 1_794_830_400_500;

const SEED: u64 = 1;

/// The operations of a normal run.
const CASES: u64 = 6_000;

/// Differences after which a run that goes on stops all the same.
const FAILURES_MAX: usize = 12;

/// Runs of fewer operations say nothing of what is covered.
const FLOORS_FROM: u64 = 500;

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

/// Writes whose expected units lie beside what these runs take, and why.
const EXPECTED_OTHERWISE: [(&str, &str); 5] = [
    (
        "country.updateCountry",
        "of all versions a quarter is current, and an update is of one that is",
    ),
    (
        "country.deleteCountry",
        "of all versions a quarter is current, and what is deleted is",
    ),
    (
        "ecobid.createAuction",
        "a hold that has lapsed, which moves an entry and a mirror, counts as half",
    ),
    (
        "ecobid.cancelAuction",
        "a hold that has lapsed, which moves an entry and a mirror, counts as half",
    ),
    ("ecobid.placeBid", "a mirror that might stay as it is counts as half"),
];

/// How often every write of every system must be done in a normal run.
const DONE_MIN: u64 = 4;

fn model_of(text: &str) -> Model {
    singlet_model::load_source(&Source::new("model", text)).model.unwrap()
}

fn writes_in(text: &str) -> u64 {
    model_of(text).writes.len() as u64
}

/// One table, and operations on it until one differs.
async fn run(
    name: &str,
    text: &str,
    given: &BenchGiven,
    draw: &mut Draw,
    tally: &mut WriteTally,
    failures: &mut usize,
) {
    if let Err(what) = sequence_cases(text, given, draw, &memory, tally).await {
        failed(name, &what.to_string(), failures);
    }
}

fn failed(name: &str, what: &str, failures: &mut usize) {
    println!("{name}: {what}=====");
    *failures += 1;
    let keep = std::env::var("SINGLET_KEEP_GOING").is_ok() && *failures < FAILURES_MAX;
    assert!(keep, "{name}: {what}");
}

/// Every write is done often, and every refusal that its plan names is said, unless a reason is given.
fn floors(name: &str, text: &str, tally: &WriteTally) -> Vec<String> {
    let model = model_of(text);
    let mut wrong = Vec::new();
    // What only runs after changes nobody calls.
    for write in model.writes.iter().filter(|write| !write.is_uncalled()) {
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

/// What writes take beyond the least that their rows allow, and what they read, is what `docs/plan.md` lists.
fn spent_as_listed(tallies: &BTreeMap<&str, WriteTally>) {
    let mut found = BTreeMap::new();
    for (system, tally) in tallies {
        for (write, spent) in &tally.spent {
            let name = format!("{system}.{write}");
            assert_eq!(spent.below, 0, "{name} took less than the least");
            let read = spent.read_halves.unwrap_or_default().1;
            if spent.beyond > 0 || read > 0 {
                found.insert(name, vec![spent.beyond.to_string(), format!("{}", read as f64 / 2.0)]);
            }
        }
    }
    listed::check("writes beyond the least", &found);
}

/// What `singlet cost` expects of a run lies between the least and the most that runs took, where no loop makes it depend on rows.
fn costs_as_spent(system: &str, text: &str, tally: &WriteTally) -> Vec<String> {
    let model = model_of(text);
    let mut wrong = Vec::new();
    for operation in expected_operations(&model) {
        let write = model.writes.iter().find(|write| write.name == operation.name);
        let Some((write, spent)) = write.zip(tally.spent.get(&operation.name)) else {
            continue;
        };
        // What a condition or a list decides is put in the middle, and what is drawn may always be one of them.
        let is_open = |step: &singlet_model::model::Step| step.repeat.is_some() || step.when.is_some();
        if write.all_steps().into_iter().any(is_open) || tally.of(&write.name, "done") < DONE_MIN {
            continue;
        }
        let (least, most) = spent.read_halves.unwrap_or_default();
        let (read, written) = (operation.read_units(), operation.write_units());
        if read < least as f64 / 2.0 || read > most as f64 / 2.0 {
            wrong.push(format!(
                "{system}: `{}` is expected to take {read} read units, and takes {} to {}",
                write.name,
                least as f64 / 2.0,
                most as f64 / 2.0
            ));
        }
        let (least, most) = spent.write_units.unwrap_or_default();
        let own = format!("{system}.{}", write.name);
        let is_otherwise = EXPECTED_OTHERWISE.iter().any(|(name, _)| *name == own);
        if !is_otherwise && (written < least as f64 || written > most as f64) {
            wrong.push(format!(
                "{system}: `{}` is expected to take {written} write units, and takes {least} to {most}",
                write.name
            ));
        }
    }
    wrong
}

#[tokio::test]
async fn the_five_systems_do_what_they_mean() {
    let (seed, operations) = (setting("SINGLET_SEED", SEED), setting("SINGLET_CASES", CASES));
    let only = std::env::var("SINGLET_ONLY").ok();
    let mut tallies: BTreeMap<&str, WriteTally> = BTreeMap::new();
    let mut wrong: Vec<String> = Vec::new();
    let mut failures = 0;
    let retention = values::from_text("30d", &Type::Duration).unwrap();
    let given = BenchGiven {
        settings: Attributes::from([("retention".to_owned(), retention)]),
        costs: true,
        ..BenchGiven::default()
    };
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
        let mut draw = Draw::new(rng(seed, 0), NOW, roles).favouring_writes(favoured);
        for round in 0.. {
            if tally.operations >= share {
                break;
            }
            draw.begin(rng(seed, (at as u64) << 32 | round), NOW);
            run(name, text, &given, &mut draw, tally, &mut failures).await;
        }
        if tally.operations >= FLOORS_FROM {
            wrong.extend(floors(name, text, tally));
        }
    }
    println!("{tallies:#?}");
    assert_eq!(failures, 0);
    if only.is_none() && (seed, operations) == (SEED, CASES) {
        spent_as_listed(&tallies);
    }
    for (at, (name, ..)) in SYSTEMS.iter().enumerate() {
        if let Some(tally) = tallies.get(name) {
            wrong.extend(costs_as_spent(name, texts.get(at).unwrap(), tally));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for (name, tally) in tallies.iter().filter(|(_, tally)| tally.operations >= FLOORS_FROM) {
        assert!(tally.done_share("done") > 0.15, "{name}: too few operations are done");
        assert!(
            tally.done_share("refused 404") > 0.02,
            "{name}: too few rows are missing"
        );
        assert!(
            tally.done_share("BadRequest") > 0.005,
            "{name}: too few requests are wrong"
        );
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
