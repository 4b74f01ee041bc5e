//! How many planted mistakes `verify` finds: each operator at each place of the five systems where it fits.
//!
//! A usual run tries some of them in few cases, which is a net with wide meshes; all are tried, in many cases, by
//!
//! ```text
//! SINGLET_MUTANTS=all SINGLET_CASES=400 cargo test --profile long -p singlet-verify --test mutants -- --nocapture
//! ```
//!
//! and then 95 of 100 must be found, and 80 of each operator. `SINGLET_MUTANTS=500` draws so many by `SINGLET_SEED`, and
//! `SINGLET_ONLY=page-off-by-one` takes one operator, `SINGLET_SYSTEM=todo` the mistakes in one system, `SINGLET_WORKERS=1` one thread.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it tried"
)]

mod support;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use singlet_model::types::Type;
use singlet_model::{Model, Source};
use singlet_plan::read::plan_read;
use singlet_runtime::{Attributes, Engine};
use singlet_values as values;
use singlet_verify::mutants::{Mutant, all_mutants};
use singlet_verify::probe::{self, Options, Subject};
use support::{memory, rng, setting};

const SYSTEMS: [&str; 5] = ["booking", "country", "ecobid", "todo", "wardrobe"];

/// How many are tried where nothing else is said.
const MUTANTS_USUAL: usize = 40;

/// Cases of each operation where nothing else is said: few, so that a usual run ends soon.
const CASES_USUAL: u64 = 30;

/// Cases of each operation that are tried first.
const CASES_FIRST: usize = 12;

/// How many of a hundred must be found in so few cases, and in as many as a long run has.
const FOUND_USUAL: usize = 90;
const FOUND_IN_ALL: usize = 95;

/// Mistakes that no row which the model allows tells apart from the model as it is: operator, place, reason.
const HARMLESS: &[(&str, &str, &str)] = &[
    (
        "forgotten-escape",
        r##"todo Idempotency.PK "IDEMPOTENCY#{user_id}#{request_id}": user_id"##,
        ONE_DELIMITER_SPLITS,
    ),
    (
        "forgotten-escape",
        r##"todo Idempotency.PK "IDEMPOTENCY#{user_id}#{request_id}": request_id"##,
        ONE_DELIMITER_SPLITS,
    ),
    (
        "forgotten-escape",
        r##"country Idempotency.alpha2Code "IDEMPOTENCY#{callerId}#{requestKey}": callerId"##,
        ONE_DELIMITER_SPLITS,
    ),
    (
        "forgotten-escape",
        r##"country Idempotency.alpha2Code "IDEMPOTENCY#{callerId}#{requestKey}": requestKey"##,
        ONE_DELIMITER_SPLITS,
    ),
    (
        "swapped-parts",
        r##"todo Idempotency.PK "IDEMPOTENCY#{user_id}#{request_id}": user_id and request_id"##,
        RECORDS_ARE_THE_ENGINES,
    ),
    (
        "swapped-parts",
        r##"country Idempotency.alpha2Code "IDEMPOTENCY#{callerId}#{requestKey}": callerId and requestKey"##,
        RECORDS_ARE_THE_ENGINES,
    ),
    (
        "dropped-conjunct",
        "todo taskCounts.by_priority: priority != absent",
        "a row without a priority is in no group of a count by priority",
    ),
    ("forgotten-filter", "wardrobe item ()", ALLOW_IS_ASKED_AGAIN),
    ("forgotten-filter", "booking booking ()", ALLOW_IS_ASKED_AGAIN),
    ("forgotten-filter", "ecobid reservation ()", ALLOW_IS_ASKED_AGAIN),
    (
        "argument-limit-off-by-one",
        "todo createTask: category",
        KEY_TAKES_NO_LONGER,
    ),
    (
        "argument-limit-off-by-one",
        "todo updateTask: category",
        KEY_TAKES_NO_LONGER,
    ),
    (
        "value-not-set",
        "todo deleteUser: deleting",
        "the row is gone when the operation is done: only what comes between its turns sees the mark",
    ),
];

/// Either part holds no delimiter, as it is escaped, so that the first or the last delimiter tells them apart; and nothing but the
/// engine that wrote a record looks it up.
const ONE_DELIMITER_SPLITS: &str = "two records have two keys still, and no read finds them otherwise";

/// Records are written and looked up by one engine, and no read of the model is of them.
const RECORDS_ARE_THE_ENGINES: &str = "two records have two keys still, and no read finds them otherwise";

/// A row that is got by its whole key is held against `allow` after it has come.
const ALLOW_IS_ASKED_AGAIN: &str = "all that is filtered is what `allow` says, which is asked of the row again";

/// The key of an index is made of the attribute, to its limit: a longer value is refused as a wrong request there.
const KEY_TAKES_NO_LONGER: &str = "a value that is too long for its key is refused in the same way";

fn text_of(system: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../systems/{system}"));
    std::fs::read_to_string(folder.join("model.yaml")).unwrap()
}

fn model_of(text: &str) -> Model {
    singlet_model::load_source(&Source::new("model", text)).model.unwrap()
}

fn settings() -> Attributes {
    let retention = values::from_text("30d", &Type::Duration).unwrap();
    Attributes::from([("retention".to_owned(), retention)])
}

fn mutants_of(text: &str) -> Vec<Mutant> {
    let mut model = model_of(text);
    let mut plans: Vec<_> = model.reads.iter().map(|read| plan_read(&model, read)).collect();
    all_mutants(&mut model, &mut plans)
}

/// Whether verify finds a mistake, and what it says of it.
fn tried(text: &str, mutant: &Mutant, seed: u64) -> Option<String> {
    let judge = Arc::new(model_of(text));
    let subjects = || {
        Box::pin(async {
            let mut model = model_of(text);
            mutant.change_model(&mut model);
            let store = mutant.change_store(&model, memory());
            Subject::make_table(&model, store.as_ref()).await?;
            let subject = Subject::with_engine(store, |store| {
                let mut engine = Engine::open(Arc::new(model), store, settings(), [7; 32]);
                engine.change_plans(&mut mutant.change_plans());
                engine
            });
            Ok(subject)
        }) as _
    };
    let cases = setting("SINGLET_CASES", CASES_USUAL) as usize;
    // A few cases of everything before many of anything: most mistakes show at once, and somewhere else than in the first read.
    let stages = [CASES_FIRST.min(cases), cases];
    stages.into_iter().find_map(|cases| {
        let found = AtomicBool::new(false);
        let options = Options {
            first_only: Some(&found),
            workers: setting("SINGLET_WORKERS", 2) as usize,
            ..Options::new(seed, cases)
        };
        let report = probe::run_probe(&judge, &settings(), &subjects, &options);
        report.all_findings().next().map(|finding| finding.operation.clone())
    })
}

#[test]
fn planted_mistakes_are_found() {
    let seed = setting("SINGLET_SEED", 1);
    let only = std::env::var("SINGLET_ONLY").ok();
    let wanted = match std::env::var("SINGLET_MUTANTS").ok().as_deref() {
        Some("all") => usize::MAX,
        Some(number) => number.parse().unwrap(),
        None => MUTANTS_USUAL,
    };
    let only_system = std::env::var("SINGLET_SYSTEM").ok();
    let texts = SYSTEMS.map(text_of);
    let mut all: Vec<(&str, &str, Mutant)> = Vec::new();
    for (system, text) in SYSTEMS.iter().zip(&texts) {
        all.extend(
            mutants_of(text)
                .into_iter()
                .map(|mutant| (*system, text.as_str(), mutant)),
        );
    }
    let operators: BTreeMap<&str, usize> = all.iter().fold(BTreeMap::new(), |mut counts, (_, _, mutant)| {
        *counts.entry(mutant.operator).or_default() += 1;
        counts
    });
    println!("{} mutants of {} operators", all.len(), operators.len());
    assert!(operators.len() >= 15 && all.len() >= 120, "too few mistakes to plant");
    rng(seed, 0).shuffle(&mut all);
    // Of a few, some of each operator rather than many of the commonest.
    let mut taken: BTreeMap<&str, usize> = BTreeMap::new();
    let mut ranked: Vec<(usize, (&str, &str, Mutant))> = Vec::new();
    for entry in all {
        let count = taken.entry(entry.2.operator).or_default();
        *count += 1;
        ranked.push((*count, entry));
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    let mut found: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut survivors = Vec::new();
    let chosen = ranked.into_iter().map(|(_, entry)| entry);
    let chosen = chosen.filter(|(_, _, mutant)| only.as_ref().is_none_or(|only| only == mutant.operator));
    let chosen = chosen.filter(|(system, ..)| only_system.as_ref().is_none_or(|only| only == system));
    for (system, text, mutant) in chosen.take(wanted) {
        let place = format!("{system} {}", mutant.place);
        let harmless = HARMLESS
            .iter()
            .find(|(operator, at, _)| *operator == mutant.operator && *at == place);
        let began = Instant::now();
        let what = tried(text, &mutant, seed);
        println!(
            "{} at {place}: {} ({:.1} s)",
            mutant.operator,
            what.as_deref().unwrap_or("NOT FOUND"),
            began.elapsed().as_secs_f64()
        );
        assert!(
            harmless.is_none() || what.is_none(),
            "{} at {place} is not harmless",
            mutant.operator
        );
        if harmless.is_some() {
            continue;
        }
        let counts = found.entry(mutant.operator).or_default();
        counts.1 += 1;
        match what {
            Some(_) => counts.0 += 1,
            None => survivors.push(format!("{} at {place}", mutant.operator)),
        }
    }
    let (hits, tried) = found
        .values()
        .fold((0, 0), |(hits, all), (hit, of)| (hits + hit, all + of));
    println!(
        "{found:#?}\n{hits} of {tried} found; not found:\n{}",
        survivors.join("\n")
    );
    let is_long = wanted > MUTANTS_USUAL;
    let floor = if is_long { FOUND_IN_ALL } else { FOUND_USUAL };
    assert!(
        hits * 100 >= tried * floor,
        "{hits} of {tried} planted mistakes are found"
    );
    for (operator, (hit, of)) in &found {
        // Of a few, one that is missed is more than a fifth.
        assert!(
            !is_long || *of < 5 || hit * 100 >= of * 80,
            "{operator}: {hit} of {of} are found"
        );
    }
}
