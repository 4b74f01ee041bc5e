//! How long checking a model takes, beside parsing the same file: in one run, medians of several.
//!
//! - `check [ENTITIES...]` measures; 100, 1,000 and 10,000 unless said.
//! - `check --doubling` measures models each twice as large as the one before, from 10 to 160 entities.
//! - `check --stage none|events|load|check ENTITIES` runs one stage once, for profilers.
//! - `check --print ENTITIES` prints the model.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use granit_parser::Parser;
use serde::de::IgnoredAny;
use singlet_bench::generated::model;
use singlet_bench::rounds::{median, met};
use singlet_model::{Severity, Source};

/// How long one size is measured, within these numbers of rounds.
const SIZE_SECONDS_MIN: f64 = 5.0;
const ROUNDS_MIN: usize = 5;
const ROUNDS_MAX: usize = 101;

/// The goal: a whole check takes at most this many times what parsing its YAML does.
const MULTIPLE_MAX: f64 = 4.0;

/// The goal: a model twice as large takes at most this many times as long.
const DOUBLING_MAX: f64 = 2.3;

/// The sizes between which that is measured.
const DOUBLED: [usize; 5] = [10, 20, 40, 80, 160];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["--print", entities] => print!("{}", model(entities.parse().unwrap_or(1_000))),
        ["--doubling"] => doubling(),
        ["--stage", stage, entities] => return once(stage, entities.parse().unwrap_or(1_000)),
        _ => measure(),
    }
    ExitCode::SUCCESS
}

/// One stage once, for profilers.
fn once(stage: &str, entities: usize) -> ExitCode {
    let source = Source::new("generated.yaml", model(entities));
    let ran = match stage {
        "none" => true,
        "events" => black_box(events(source.text())) > 0,
        "load" => black_box(singlet_model::load_source(&source)).model.is_some(),
        "check" => black_box(singlet_lint::check_design(singlet_model::load_source(&source))).len() < usize::MAX,
        _ => false,
    };
    if ran { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn measure() {
    let sizes: Vec<usize> = std::env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    let sizes = if sizes.is_empty() {
        vec![100, 1_000, 10_000]
    } else {
        sizes
    };
    println!("entities      KiB  events ms  serde ms  load ms  check ms  load ×  check ×  check µs/entity  findings");
    let mut first: Option<(usize, f64)> = None;
    for entities in sizes {
        let measured = Measured::of(entities);
        println!("{}", measured.line());
        let each = measured.check.as_secs_f64() / entities as f64;
        match first {
            None => first = Some((entities, each)),
            Some((from, least)) => println!("{}", growth(from, entities, each / least)),
        }
        if entities == 1_000 {
            let verdict = met(measured.multiple() <= MULTIPLE_MAX);
            println!("  goal of {MULTIPLE_MAX} × the events for 1000 entities: {verdict}");
        }
    }
}

/// How much longer a check takes with each doubling. Every round checks each size once.
fn doubling() {
    let sources = DOUBLED.map(|entities| Source::new("generated.yaml", model(entities)));
    let [a, b, c, d, e] = &sources;
    let check = |source: &Source| black_box(singlet_lint::check_design(singlet_model::load_source(source))).len() < usize::MAX;
    let times = medians(&mut [
        &mut || check(a),
        &mut || check(b),
        &mut || check(c),
        &mut || check(d),
        &mut || check(e),
    ]);
    println!("entities  check ms  of the half");
    let mut half: Option<Duration> = None;
    for (entities, time) in DOUBLED.iter().zip(times) {
        let grown = half.map(|half| time.as_secs_f64() / half.as_secs_f64());
        let shown = grown.map_or(String::new(), |grown| {
            format!("{grown:.2} ×: {}", met(grown <= DOUBLING_MAX))
        });
        println!("{entities:>8} {:>9.2}  {shown}", time.as_secs_f64() * 1_000.0);
        half = Some(time);
    }
}

/// What one size took.
struct Measured {
    entities: usize,
    bytes: usize,
    events: Duration,
    serde: Duration,
    load: Duration,
    check: Duration,
    findings: usize,
}

impl Measured {
    fn of(entities: usize) -> Self {
        let text = model(entities);
        let source = Source::new("generated.yaml", text.clone());
        let found = singlet_lint::check_design(singlet_model::load_source(&source)).into_sorted();
        let errors = found.iter().filter(|finding| finding.rule.severity == Severity::Error);
        for error in errors.take(3) {
            let line = source.position_at(error.span.start).line;
            eprintln!("line {line}: {} {}", error.rule.code, error.message);
        }
        let [events, serde, load, check] = medians(&mut [
            &mut || black_box(events(&text)) > 0,
            &mut || black_box(serde_saphyr::from_str_with_options::<IgnoredAny>(&text, unbounded())).is_ok(),
            &mut || black_box(singlet_model::load_source(&source)).model.is_some(),
            &mut || black_box(singlet_lint::check_design(singlet_model::load_source(&source))).len() < usize::MAX,
        ]);
        Measured {
            entities,
            bytes: text.len(),
            events,
            serde,
            load,
            check,
            findings: found.len(),
        }
    }

    fn multiple(&self) -> f64 {
        self.check.as_secs_f64() / self.events.as_secs_f64()
    }

    fn line(&self) -> String {
        let ms = |time: Duration| time.as_secs_f64() * 1_000.0;
        format!(
            "{:>8} {:>8} {:>10.2} {:>9.2} {:>8.2} {:>9.2} {:>7.2} {:>8.2} {:>16.1} {:>9}",
            self.entities,
            self.bytes / 1_024,
            ms(self.events),
            ms(self.serde),
            ms(self.load),
            ms(self.check),
            self.load.as_secs_f64() / self.events.as_secs_f64(),
            self.multiple(),
            self.check.as_secs_f64() * 1e6 / self.entities as f64,
            self.findings,
        )
    }
}

/// The time for each entity grows at most as its logarithm does.
fn growth(from: usize, to: usize, grown: f64) -> String {
    let allowed = (to as f64).ln() / (from as f64).ln();
    let verdict = met(grown <= allowed);
    format!(
        "  from {from} to {to} entities, the time for each grows {grown:.2} ×; n log n allows {allowed:.2}: {verdict}"
    )
}

/// The largest models are beyond the bounds that `serde-saphyr` sets by itself.
fn unbounded() -> serde_saphyr::Options {
    let mut options = serde_saphyr::Options::default();
    options.budget = None;
    options
}

/// Parses without keeping anything.
fn events(text: &str) -> usize {
    Parser::new_from_str(text).filter(Result::is_ok).count()
}

/// The median of each stage. Every round runs each stage once, so that what else the machine does hits all alike.
fn medians<const STAGES: usize>(stages: &mut [&mut dyn FnMut() -> bool; STAGES]) -> [Duration; STAGES] {
    let mut times: [Vec<Duration>; STAGES] = std::array::from_fn(|_| Vec::new());
    let begun = Instant::now();
    let mut rounds = 0;
    while rounds < ROUNDS_MIN || (begun.elapsed().as_secs_f64() < SIZE_SECONDS_MIN && rounds < ROUNDS_MAX) {
        for (stage, times) in stages.iter_mut().zip(&mut times) {
            let start = Instant::now();
            assert!(stage(), "a stage failed");
            times.push(start.elapsed());
        }
        rounds += 1;
    }
    times.map(median)
}
