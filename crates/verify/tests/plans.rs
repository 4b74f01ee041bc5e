//! The rows of a plan are those of a brute-force evaluation of the meaning, in order, across all pages.
//!
//! `SINGLET_VERIFY_CASES` runs more cases than usual, `SINGLET_VERIFY_SEED` begins elsewhere, `SINGLET_VERIFY_KEEP` goes on after
//! a mismatch and shows the first of each kind.

use std::sync::Arc;

use fastrand::Rng;
use singlet_runtime::Caller;
use singlet_store::Store;
use singlet_store_embedded::EmbeddedStore;
use singlet_verify::bench::{BenchError, Row};
use singlet_verify::{Bench, Case, Generated, Mismatch, Outcome, generate};

/// 2026-11-16T12:00:00.500Z: between two seconds.
const NOW: i64 = 1_794_830_400_500;

/// Cases in a usual run.
const CASES: usize = 12_000;

const SEED: u64 = 1;
const ROWS_PER_MODEL: usize = 40;
const CASES_PER_READ: usize = 6;

#[derive(Debug, Default)]
struct Tally {
    models: usize,
    not_models: usize,
    cases: usize,
    with_rows: usize,
    unplanned: usize,
    refused: usize,
}

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

fn memory() -> Arc<dyn Store> {
    Arc::new(EmbeddedStore::memory().unwrap())
}

#[tokio::test]
async fn plans_answer_what_reads_mean() {
    let (seed, cases) = (setting("SINGLET_VERIFY_SEED", SEED), setting("SINGLET_VERIFY_CASES", CASES as u64) as usize);
    let keep = std::env::var("SINGLET_VERIFY_KEEP").is_ok();
    println!("seed {seed}");
    let mut tally = Tally::default();
    let mut failures = 0;
    for model in 0.. {
        if tally.cases >= cases || failures > 30 {
            break;
        }
        let mut rng = Rng::with_seed(seed.wrapping_mul(1_000_003).wrapping_add(model));
        if let Err(mismatch) = check_model(&mut rng, &mut tally).await {
            println!("seed {seed}, model {model}: {mismatch}\n=====");
            failures += 1;
            assert!(keep, "seed {seed}, model {model}: {}", mismatch.what);
        }
    }
    println!("{tally:?}");
    assert_eq!(failures, 0);
    let share = |part: usize, of: usize| part as f64 / of as f64;
    assert!(share(tally.unplanned, tally.unplanned + tally.cases) < 0.4, "{tally:?}");
    assert!(share(tally.refused, tally.cases) < 0.02, "{tally:?}");
    assert!(share(tally.with_rows, tally.cases) > 0.3, "{tally:?}");
    assert!(share(tally.not_models, tally.models) < 0.05, "{tally:?}");
}

async fn check_model(rng: &mut Rng, tally: &mut Tally) -> Result<(), Box<Mismatch>> {
    let generated = generate::model(rng);
    let rows = generated.rows(rng, ROWS_PER_MODEL);
    tally.models += 1;
    let bench = match Bench::open(&generated.text(), memory(), rows, NOW).await {
        Ok(bench) => bench,
        Err(BenchError::Model(errors)) => {
            tally.not_models += 1;
            println!("not a model: {errors}");
            return Ok(());
        }
        Err(BenchError::Run(error)) => panic!("{error}\n{}", generated.text()),
    };
    for read in &generated.reads {
        for _ in 0..CASES_PER_READ {
            let id = generate::KINDS[0].any(rng, false);
            let case = Case {
                read: read.name.clone(),
                args: read.arguments(rng),
                caller: Caller::with_id(id.as_str().unwrap_or_default()),
                page: rng.usize(1..10),
                now: NOW,
            };
            match bench.check(&case).await {
                Ok(Outcome::Same(rows)) => {
                    tally.cases += 1;
                    tally.with_rows += usize::from(rows > 0);
                }
                Ok(Outcome::Unplanned) => tally.unplanned += 1,
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
