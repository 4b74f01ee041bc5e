//! The rows of a plan are those of a brute-force evaluation of the meaning, in order, across all pages.
//!
//! `SINGLET_CASES` runs more cases than usual, `SINGLET_SEED` begins elsewhere, `SINGLET_KEEP_GOING` shows many mismatches and
//! not only the first.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it tried"
)]

mod support;

use std::collections::BTreeMap;

use fastrand::Rng;
use singlet_runtime::Caller;
use singlet_verify::bench::{BenchError, Row};
use singlet_verify::{Bench, Case, Generated, Mismatch, Outcome, generate};

use support::{memory, rng, setting};

/// 2026-11-16T12:00:00.500Z: between two seconds.
const NOW: i64 = 1_794_830_400_500;

/// Cases in a usual run.
const CASES: usize = 12_000;

const SEED: u64 = 1;
const ROWS_PER_MODEL: usize = 60;
const ROWS_PER_MODEL_MAX: usize = 240;
const CASES_PER_READ: usize = 6;

/// What a read may have.
const SHAPES: &[&str] = &[
    "find: ",
    "get: ",
    "count: ",
    "by: ",
    "each: ",
    "with:",
    "more:",
    "same:",
    "together: ",
    "at: ",
    "versions: ",
    "order: ",
    "limit: ",
    "consistent: ",
    " || ",
    " in ",
    "near(",
    ".contains(",
    ".startsWith(",
    "== absent",
    "caller.id",
    "spot.",
];

#[derive(Debug, Default)]
struct Tally {
    models: usize,
    not_models: usize,
    cases: usize,
    with_rows: usize,
    /// Cases with more than one row, whose order matters.
    with_several: usize,
    refused: usize,
    /// Cases with rows, by what their read has: none may fall silent.
    covered: BTreeMap<&'static str, usize>,
    /// Cases for which there is no plan, by reason.
    unplanned: BTreeMap<&'static str, usize>,
}

#[tokio::test]
async fn plans_answer_what_reads_mean() {
    let (seed, cases) = (
        setting("SINGLET_SEED", SEED),
        setting("SINGLET_CASES", CASES as u64) as usize,
    );
    let keep = std::env::var("SINGLET_KEEP_GOING").is_ok();
    println!("seed {seed}");
    let mut tally = Tally::default();
    let mut failures = 0;
    for model in 0.. {
        if tally.cases >= cases || failures > 30 {
            break;
        }
        let mut rng = rng(seed, model);
        if let Err(mismatch) = check_model(&mut rng, &mut tally).await {
            println!("seed {seed}, model {model}: {mismatch}\n=====");
            failures += 1;
            assert!(keep, "seed {seed}, model {model}: {}", mismatch.what);
        }
    }
    println!("{tally:#?}");
    assert_eq!(failures, 0);
    let unplanned = tally.unplanned.values().sum::<usize>();
    let share = |part: usize, of: usize| part as f64 / of as f64;
    assert!(share(unplanned, unplanned + tally.cases) < 0.4, "{tally:?}");
    assert!(share(tally.refused, tally.cases) < 0.02, "{tally:?}");
    assert!(share(tally.with_rows, tally.cases) > 0.3, "{tally:?}");
    for shape in SHAPES {
        let cases = tally.covered.get(shape).copied().unwrap_or_default();
        assert!(cases * 500 > tally.cases, "too few cases with `{shape}`: {tally:#?}");
    }
    assert!(share(tally.not_models, tally.models) < 0.05, "{tally:?}");
}

async fn check_model(rng: &mut Rng, tally: &mut Tally) -> Result<(), Box<Mismatch>> {
    let generated = generate::model(rng);
    let count = if rng.u8(..4) == 0 {
        ROWS_PER_MODEL_MAX
    } else {
        ROWS_PER_MODEL
    };
    let rows = generated.rows(rng, count);
    tally.models += 1;
    let bench = match Bench::open(&generated.text(), memory(), rows, NOW).await {
        Ok(bench) => bench,
        Err(BenchError::Model(errors)) => {
            tally.not_models += 1;
            println!("not a model: {errors}\n{}", generated.text());
            return Ok(());
        }
        Err(BenchError::Run(error)) => panic!("the rows cannot be stored: {error}\n{}", generated.text()),
    };
    for read in &generated.reads {
        for _ in 0..CASES_PER_READ {
            let row = read.some_row(rng, bench.rows());
            let texts = row
                .into_iter()
                .flat_map(|row| row.values())
                .filter_map(|value| value.as_str());
            let id = rng.choice(texts.collect::<Vec<_>>()).unwrap_or("ada");
            let case = Case {
                read: read.name.clone(),
                args: read.arguments(rng, row),
                caller: match rng.u8(..10) {
                    0 => Caller::anonymous(),
                    _ => Caller::with_id(id),
                },
                page: rng.usize(1..10),
                now: NOW + rng.choice([0, 0, 600, 86_400_000]).unwrap_or_default(),
            };
            match bench.check(&case).await {
                Ok(Outcome::Same(rows)) => {
                    tally.cases += 1;
                    tally.with_rows += usize::from(rows > 0);
                    tally.with_several += usize::from(rows > 1);
                    let has = SHAPES.iter().filter(|shape| rows > 0 && read.text.contains(*shape));
                    has.for_each(|shape| *tally.covered.entry(shape).or_default() += 1);
                }
                Ok(Outcome::Unplanned(reason)) => *tally.unplanned.entry(reason).or_default() += 1,
                Ok(Outcome::Refused) => tally.refused += 1,
                Err(mismatch) => return Err(smallest(&generated, *mismatch).await),
            }
        }
    }
    Ok(())
}

/// The same mismatch with as few rows as show it.
async fn smallest(generated: &Generated, mut mismatch: Mismatch) -> Box<Mismatch> {
    let text = generated.text_with(&mismatch.case.read);
    let mut at = 0;
    while at < mismatch.rows.len() {
        let mut fewer: Vec<Row> = mismatch.rows.clone();
        fewer.remove(at);
        let bench = Bench::open(&text, memory(), fewer, NOW).await.unwrap();
        match bench.check(&mismatch.case).await {
            Err(smaller) => mismatch = *smaller,
            Ok(_) => at += 1,
        }
    }
    mismatch.model = text;
    Box::new(mismatch)
}
