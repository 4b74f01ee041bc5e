//! Many made-up cases, outside CI: `cargo run --profile long -p singlet-verify --example long_run -- --seed 7`.
//!
//! `--reads N`, `--writes N`, `--followed N`, `--from MODEL` to go on where a run was stopped, `--workers N`, `--failures N`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a program for developers, which says what it does"
)]

use std::sync::Arc;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use singlet_store::Store;
use singlet_store_embedded::EmbeddedStore;
use singlet_verify::run::parallel::{RunOptions, RunReport, run_models};

/// How often it says how far it came.
const PROGRESS_EVERY: Duration = Duration::from_secs(30);

fn main() {
    let mut options = RunOptions {
        seed: 7,
        first_model: 0,
        reads: 500_000,
        writes: 200_000,
        followed: 50_000,
        workers: 2,
        failures_max: 20,
    };
    let words: Vec<String> = std::env::args().skip(1).collect();
    for pair in words.chunks(2) {
        let number = pair.get(1).and_then(|text| text.parse::<u64>().ok());
        let number = number.unwrap_or_else(|| panic!("{pair:?} is no option with its number"));
        match pair.first().map(String::as_str) {
            Some("--seed") => options.seed = number,
            Some("--from") => options.first_model = number,
            Some("--reads") => options.reads = number,
            Some("--writes") => options.writes = number,
            Some("--followed") => options.followed = number,
            Some("--workers") => options.workers = usize::try_from(number).unwrap(),
            Some("--failures") => options.failures_max = usize::try_from(number).unwrap(),
            _ => panic!("there is no option {pair:?}"),
        }
    }
    let said = Mutex::new((Instant::now(), 0));
    let progress = |report: &RunReport| {
        let mut said = said.lock().unwrap();
        for failure in report.failures.iter().skip(said.1) {
            println!("{failure}\n=====");
        }
        if said.0.elapsed() > PROGRESS_EVERY || report.failures.len() > said.1 {
            let (reads, writes) = (report.reads.cases, report.writes.operations);
            let followed = report.followed.operations;
            let [read_model, write_model, followed_model] = report.next;
            println!(
                "{reads} cases of reads (model {read_model}), {writes} of writes (model {write_model}), {followed} followed (model \
                 {followed_model}), {} differ",
                report.failures.len()
            );
            said.0 = Instant::now();
        }
        said.1 = report.failures.len();
    };
    let store = || -> Arc<dyn Store> { Arc::new(EmbeddedStore::memory().unwrap()) };
    let report = run_models(options, &store, &progress);
    println!(
        "seed {}: {} cases of reads ({} with rows, {} refused, {} ambiguous), {} of writes, {} followed, {} differ",
        options.seed,
        report.reads.cases,
        report.reads.with_rows,
        report.reads.refused,
        report.reads.ambiguous,
        report.writes.operations,
        report.followed.operations,
        report.failures.len()
    );
    println!("no plan: {:?}", report.reads.unplanned);
    assert!(report.failures.is_empty());
}
