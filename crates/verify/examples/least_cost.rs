//! What plans consume beside the least that the keys allow, on models made up:
//! `cargo run --profile long -p singlet-verify --example least_cost -- --seed 7`.
//!
//! `--cases N`, `--off TIMES`: how many times too large the estimates are; `--worst N`: how many of the worst are shown.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a program for developers, which says what it does"
)]

use std::sync::Arc;

use singlet_store::Store;
use singlet_store_embedded::EmbeddedStore;
use singlet_verify::least::run::{LeastOptions, run_least};

fn main() {
    let mut options = LeastOptions {
        seed: 7,
        cases: 5_000,
        estimates_off: 1.0,
    };
    let mut worst = 3;
    let words: Vec<String> = std::env::args().skip(1).collect();
    for pair in words.chunks(2) {
        let number = pair.get(1).and_then(|text| text.parse::<f64>().ok());
        let number = number.unwrap_or_else(|| panic!("{pair:?} is no option with its number"));
        match pair.first().map(String::as_str) {
            Some("--seed") => options.seed = number as u64,
            Some("--cases") => options.cases = number as usize,
            Some("--off") => options.estimates_off = number,
            Some("--worst") => worst = number as usize,
            _ => panic!("there is no option {pair:?}"),
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let store = || -> Arc<dyn Store> { Arc::new(EmbeddedStore::memory().unwrap()) };
    let report = runtime.block_on(run_least(options, &store)).unwrap();
    for case in report.worst.iter().take(worst).rev().chain(&report.lowest) {
        println!(
            "consumed {} half units, the least is {} by {}\n{}\n=====",
            case.consumed, case.least.half_units, case.least.name, case.shown
        );
    }
    let mut kinds: Vec<(&String, &usize)> = report.kinds.iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for (kind, count) in kinds.into_iter().take(30) {
        println!("{count:>6} {kind}");
    }
    println!(
        "seed {}: {} models, {} cases with two ways or more ({} with one; {} reads without a plan, {} of them with a way), {:.2} % near the \
         least, {} far from it, {} below it; {} half units consumed, {} at least ({:.3} times); {} other ways gave the same rows",
        options.seed,
        report.models,
        report.cases,
        report.one_way,
        report.unplanned.0,
        report.unplanned.1,
        report.near_share() * 100.0,
        report.far,
        report.below,
        report.half_units.0,
        report.half_units.1,
        report.half_units.0 as f64 / report.half_units.1.max(1) as f64,
        report.pinned
    );
}
