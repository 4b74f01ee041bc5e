//! How wide the ranges are that plans of made-up models print: `cargo test -p singlet-verify --test ranges -- --nocapture`.
//! That what is consumed lies within them is held case by case in `generated.rs`.
//!
//! `SINGLET_MODELS` looks at more models than usual.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it measured"
)]

use std::collections::BTreeMap;
use std::sync::Arc;

use singlet_model::{Model, Source, load_source};
use singlet_plan::cost::{RequestCost, Sizes, Worked};
use singlet_plan::read::plan_read;
use singlet_plan::write::write_costs;
use singlet_store::Store;
use singlet_store_embedded::EmbeddedStore;
use singlet_verify::generate;
use singlet_verify::run::ranges::{RequestRanges, request_ranges};
use singlet_verify::run::rng_of;
use singlet_verify::run::writes::{WriteTally, write_cases};
use singlet_verify::writes::RangeWidths;

const SEED: u64 = 1;
/// Models of each kind in a usual run.
const MODELS: u64 = 15;
/// The most times the least that a range may have to be narrow.
const NARROW: f64 = 4.0;

/// Ranges, by how wide they are.
#[derive(Debug, Default)]
struct Widths {
    narrow: usize,
    wide: usize,
    /// Those that have no most: nothing limits how much is read or written.
    open: usize,
    /// The wide and the open ones, by what they are of.
    kinds: BTreeMap<String, usize>,
}

impl Widths {
    fn count(&mut self, least: u64, most: Option<u64>, kind: impl FnOnce() -> String) {
        match most {
            Some(most) if most as f64 <= least.max(1) as f64 * NARROW => {
                self.narrow += 1;
                return;
            }
            Some(_) => self.wide += 1,
            None => self.open += 1,
        }
        *self.kinds.entry(kind()).or_default() += 1;
    }

    /// Of the ranges that have both ends.
    fn narrow_share(&self) -> f64 {
        self.narrow as f64 / (self.narrow + self.wide).max(1) as f64
    }

    fn show(&self, name: &str) {
        println!(
            "{name}: {} ranges no wider than {NARROW} times, {} wider, {} without a most: {:.1} % of those with both ends",
            self.narrow,
            self.wide,
            self.open,
            self.narrow_share() * 100.0
        );
        let mut kinds: Vec<(&String, &usize)> = self.kinds.iter().collect();
        kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (kind, count) in kinds.into_iter().take(12) {
            println!("{count:>6} {kind}");
        }
    }
}

/// The calls of a plan, with what makes their ranges wide.
fn kind_of(requests: &[RequestCost]) -> String {
    let calls = requests.iter().map(|request| {
        let each = match request.times.most {
            Some(1) => "",
            Some(_) => " for each of several",
            None => " for each of any number",
        };
        let reads_on = if request.reads_on { " reads on" } else { "" };
        let rows = if request.rows.is_none() { " of all rows" } else { "" };
        format!("{}{each}{rows}{reads_on}", request.call.word())
    });
    calls.collect::<Vec<String>>().join(" + ")
}

fn reads_of(model: &Model, widths: &mut Widths) {
    let sizes = Sizes::of(model);
    for read in &model.reads {
        for combination in &plan_read(model, read).combinations {
            if combination.parts.iter().any(|part| part.plan.is_unanswered()) {
                continue;
            }
            let worked = Worked::sum_requests(&combination.requests, &sizes);
            let most = worked.most.map(|most| most.half_count());
            widths.count(worked.least.half_count(), most, || kind_of(&combination.requests));
        }
    }
}

fn writes_of(model: &Model, widths: &mut Widths) {
    for (write, cost) in model.writes.iter().zip(write_costs(model)) {
        let kind = || format!("{}{}", write.name, if write.bulk { " (bulk)" } else { "" });
        widths.count(cost.least, cost.most, kind);
    }
}

#[test]
fn ranges_of_made_up_models_are_measured() {
    let models = std::env::var("SINGLET_MODELS").ok();
    let models = models.and_then(|text| text.parse().ok()).unwrap_or(MODELS);
    let (mut reads, mut writes) = (Widths::default(), Widths::default());
    for at in 0..models {
        let drawn = generate::generate_model(&mut rng_of(SEED, at)).text();
        if let Some(model) = load_source(&Source::new("made", &drawn)).model {
            reads_of(&model, &mut reads);
        }
        let drawn = generate::writes::generate_writes(&mut rng_of(SEED, at)).text();
        if let Some(model) = load_source(&Source::new("made", &drawn)).model {
            writes_of(&model, &mut writes);
        }
    }
    reads.show("reads");
    writes.show("writes");
    assert!(reads.narrow + reads.wide > 10 && writes.narrow + writes.wide > 100);
}

fn memory() -> Arc<dyn Store> {
    Arc::new(EmbeddedStore::memory().unwrap())
}

/// The least part of all requests whose ranges are narrow, at the estimates.
const NARROW_SHARE_MIN: f64 = 0.75;
/// Of how many requests one may take more than is told as estimated.
const BEYOND_ONE_IN: usize = 100;
/// The same share of requests to write.
const WRITES_NARROW_SHARE_MIN: f64 = 0.6;

fn show(name: &str, widths: &RangeWidths) {
    println!(
        "{name}: {} ranges no wider than {NARROW} times, {} wider, {} without a most: {:.1} %",
        widths.narrow,
        widths.wide,
        widths.open,
        widths.narrow_share() * 100.0
    );
    let mut kinds: Vec<(&String, &usize)> = widths.of.iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for (kind, count) in kinds.into_iter().take(12) {
        println!("{count:>6} {kind}");
    }
}

#[tokio::test]
async fn what_is_told_of_a_request_to_read_is_narrow_and_holds() {
    let mut found = RequestRanges::default();
    for at in 0..MODELS {
        request_ranges(SEED, at, &memory, &mut found).await;
    }
    show("requests to read", &found.widths);
    println!("{} consumed less than was told", found.below);
    // What is estimated of an entry that has part of a row is no bound of it.
    let told = found.widths.narrow + found.widths.wide;
    println!("{} consumed more than was told", found.beyond.len());
    for beyond in &found.beyond {
        println!("{}", beyond.lines().next().unwrap_or_default());
    }
    assert!(found.beyond.len() * BEYOND_ONE_IN <= told, "{:?}", found.beyond);
    assert!(found.widths.narrow_share() >= NARROW_SHARE_MIN, "{:?}", found.widths);
}

#[tokio::test]
async fn what_is_told_of_a_request_to_write_is_narrow_and_holds() {
    let mut tally = WriteTally::default();
    for at in 0..MODELS {
        if let Err(what) = write_cases(SEED, at, &memory, &mut tally).await {
            panic!("{what}");
        }
    }
    show("requests to write", &tally.widths);
    // What rows decide stays open: whether a value differs, which entries it moves, how many rows a bulk operation finds.
    assert!(
        tally.widths.narrow_share() >= WRITES_NARROW_SHARE_MIN,
        "{:?}",
        tally.widths
    );
}
