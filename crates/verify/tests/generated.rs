//! Made-up models do what they mean: plans answer what reads mean, in order and across all pages, and writes come to the same
//! outcomes, the same rows, and items that are what their rows are kept as; what runs after changes comes to the same rows, whoever ends
//! on the way. The models have every word of the language, but for
//! those that are listed here with a reason.
//!
//! `SINGLET_READS`, `SINGLET_WRITES` and `SINGLET_FOLLOWED` run more cases than usual, `SINGLET_SEED` begins elsewhere, `SINGLET_MODEL` at a later
//! model, `SINGLET_KEEP_GOING` shows many differences and not only the first.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it tried"
)]

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};

use singlet_verify::run::parallel::{RunOptions, RunReport, run_models};

use support::{memory, setting};

const SEED: u64 = 1;

/// Cases in a usual run.
const READS: u64 = 7_000;
const WRITES: u64 = 6_500;
const FOLLOWED: u64 = 900;

/// Differences after which a run that goes on stops all the same.
const FAILURES_MAX: u64 = 30;

/// Why a word cannot be drawn: every model that has it is refused.
const NOT_YET: &str = "not yet in the language";

/// Words that no made-up model has, and why.
const UNDRAWN_WORDS: &[(&str, &str)] = &[
    ("attribute.by", NOT_YET),
    ("entity.shares", NOT_YET),
    (
        "after.reach",
        "a deadline of a row; drawn rows have none but lapses and expiries",
    ),
    ("write.every", "runs by the clock, and nobody calls it"),
    ("attribute.found", "drawn copies are found by what names their source"),
    ("with.tally", "as `tally` of a read"),
    ("model.search", "held against going through all rows in singlet-search"),
    (
        "searched entity.attributes",
        "held against going through all rows in singlet-search",
    ),
    (
        "searched entity.language",
        "held against going through all rows in singlet-search",
    ),
    ("read.matching", "held against going through all rows in singlet-search"),
    (
        "read.highlight",
        "held against going through all rows in singlet-search",
    ),
];

/// Functions that no made-up model calls, and why.
const UNDRAWN_FUNCTIONS: &[(&str, &str)] = &[("random", "the oracle's number is another one")];

/// Refusals of writes, by part of their names: none may fall silent.
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
    "line_there",
    "day_taken",
    "nothing_there",
];

#[test]
fn made_up_models_do_what_they_mean() {
    let keep = std::env::var("SINGLET_KEEP_GOING").is_ok();
    let options = RunOptions {
        seed: setting("SINGLET_SEED", SEED),
        first_model: setting("SINGLET_MODEL", 0),
        reads: setting("SINGLET_READS", READS),
        writes: setting("SINGLET_WRITES", WRITES),
        followed: setting("SINGLET_FOLLOWED", FOLLOWED),
        workers: 2,
        failures_max: if keep { FAILURES_MAX as usize } else { 1 },
    };
    println!("seed {}", options.seed);
    let said = AtomicUsize::new(0);
    let report = run_models(options, &memory, &|report| {
        let known = said.swap(report.failures.len(), Ordering::Relaxed);
        for failure in report.failures.iter().skip(known) {
            println!("{failure}\n=====");
        }
    });
    println!("{:#?}\n{:#?}\n{:#?}", report.reads, report.writes, report.followed);
    assert!(report.failures.is_empty(), "{} cases differ", report.failures.len());
    if options.reads >= READS {
        hold_reads(&report);
    }
    if options.writes >= WRITES {
        hold_writes(&report);
    }
    if options.followed >= FOLLOWED {
        hold_followed(&report);
    }
    if options.reads >= READS && options.writes >= WRITES && options.followed >= FOLLOWED {
        hold_words(&report);
    }
}

fn share(part: usize, of: usize) -> f64 {
    part as f64 / of as f64
}

fn hold_reads(report: &RunReport) {
    let tally = &report.reads;
    let unplanned = tally.unplanned.values().sum::<usize>();
    assert!(
        share(unplanned, unplanned + tally.cases) < 0.4,
        "too few reads have plans"
    );
    assert!(share(tally.refused, tally.cases) < 0.02, "too many cases are refused");
    assert!(
        share(tally.ambiguous, tally.cases) < 0.05,
        "too many cases are ambiguous"
    );
    assert!(share(tally.with_rows, tally.cases) > 0.25, "too few cases have rows");
    assert!(share(tally.not_reads, tally.reads) < 0.05, "too many reads are none");
    assert!(tally.changing > 100, "too few lists are walked while rows change");
}

fn hold_writes(report: &RunReport) {
    let tally = &report.writes;
    let mistakes = tally.mistakes.values().sum::<usize>();
    assert!(share(mistakes, tally.writes) < 0.05, "too many writes are none");
    assert!(tally.done_share("done") > 0.25, "too few operations are done");
    assert!(tally.done_share("refused 409") > 0.08, "too few operations are refused");
    assert!(tally.done_share("VersionMismatch") > 0.002, "too few versions differ");
    for name in REFUSALS {
        let count = tally.refusals.iter().filter(|(known, _)| known.contains(name));
        let count: u64 = count.map(|(_, count)| count).sum();
        assert!(count > 1, "too few refusals `{name}`");
    }
    let done = tally.words.values().filter(|words| words.contains_key("done"));
    assert!(done.count() > 35, "too few writes are ever done");
}

fn hold_followed(report: &RunReport) {
    let tally = &report.followed;
    let mistakes = tally.mistakes.values().sum::<usize>();
    assert!(share(mistakes, tally.writes) < 0.05, "too many writes are none");
    let [models, commuting] = tally.models;
    assert!(
        tally.open * 20 <= models,
        "of too many tables not all orders were tried"
    );
    assert!(
        commuting * 4 > models && commuting * 4 < 3 * models,
        "too few of a kind"
    );
    let ran = |event: &str| tally.runs.get(event).copied().unwrap_or_default();
    for event in ["create", "update", "delete", "enter", "expire"] {
        assert!(ran(event).0 > 2, "too few writes run after `{event}`");
    }
    assert!(tally.tallies > 15, "too few tallies are kept");
    assert!(tally.kept_copies > 1, "too few copies follow through the stream");
    assert!(tally.told > 20, "too little is told to others");
    assert!(tally.retried > 5, "too few refusals are tried again");
    let refused: u64 = tally.runs.values().map(|(_, refused)| refused).sum();
    assert!(refused > 5, "too few runs are refused");
}

/// What is not drawn is listed, and what is listed is not drawn.
fn hold_words(report: &RunReport) {
    let mut coverage = report.reads.coverage.clone();
    coverage.add_coverage(report.writes.coverage.clone());
    coverage.add_coverage(report.followed.coverage.clone());
    let left_out = UNDRAWN_WORDS.iter().filter(|(_, why)| *why != NOT_YET).count();
    assert!(left_out <= 10, "{left_out} words that a model may have are not drawn");
    let listed: Vec<&str> = UNDRAWN_WORDS.iter().map(|(word, _)| *word).collect();
    let missing = coverage.missing_words();
    let unlisted: Vec<&String> = missing.iter().filter(|word| !listed.contains(&word.as_str())).collect();
    assert!(unlisted.is_empty(), "words that nothing draws: {unlisted:#?}");
    let drawn: Vec<&&str> = listed
        .iter()
        .filter(|word| !missing.contains(&(**word).to_owned()))
        .collect();
    assert!(drawn.is_empty(), "words that are drawn after all: {drawn:?}");
    let listed: Vec<&str> = UNDRAWN_FUNCTIONS.iter().map(|(name, _)| *name).collect();
    assert_eq!(coverage.missing_functions(), listed);
    assert_eq!(coverage.missing_types(), Vec::<&str>::new());
}
