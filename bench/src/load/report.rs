//! What was seen, in a table.

use std::time::Duration;

use super::client::Turn;
use super::operations::{Case, Kind};
use crate::rounds::{median, met};

/// Of the bare handlers' rate, the least that the service may have.
const BARE_SHARE_MIN: f64 = 0.8;

/// How many times the rate of Node, the least that the service may have.
fn node_multiple_min(kind: Kind) -> f64 {
    match kind {
        Kind::Get => 10.0,
        Kind::List => 6.0,
        Kind::Create => 2.5,
        Kind::Count => 1.0,
    }
}

/// How many times the rate of the service on the engine of before, the least that the service may have.
fn before_multiple_min(kind: Kind) -> f64 {
    match kind {
        Kind::Get => 1.8,
        Kind::List => 2.5,
        Kind::Create => 1.3,
        Kind::Count => 8.0,
    }
}

/// All turns of a side in a case.
#[derive(Debug, Default)]
pub struct Seen {
    times: Vec<Duration>,
    errors: u64,
    rates: Vec<f64>,
    processor_time: Option<Duration>,
}

impl Seen {
    /// Adds a turn, and the processor time of the side for it.
    pub fn add(&mut self, turn: Turn, processor_time: Option<Duration>) {
        self.processor_time = processor_time.map(|time| time + self.processor_time.unwrap_or_default());
        self.times.extend(turn.times);
        self.errors += turn.errors;
        self.rates.push(turn.rate);
    }

    /// The processor time of an answer, in microseconds.
    fn processor_micros(&self) -> Option<f64> {
        Some(self.processor_time?.as_secs_f64() * 1e6 / self.times.len() as f64)
    }

    /// The median of the turns.
    fn rate(&self) -> f64 {
        median(self.rates.clone())
    }
}

/// The head of the table.
pub fn print_head() {
    println!("operation      side        requests/s   p50 ms   p90 ms   p99 ms   max ms  errors  processor µs");
}

/// The sides of a case, and how the service stands to the others.
pub fn print(case: &Case, mut sides: Vec<(&str, Seen)>) {
    for (at, (side, seen)) in sides.iter_mut().enumerate() {
        seen.times.sort_unstable();
        let last = seen.times.len().saturating_sub(1);
        let ms = |percent: usize| {
            let time = seen.times.get(last * percent / 100).copied();
            time.unwrap_or_default().as_secs_f64() * 1e3
        };
        let name = if at == 0 { case.name.as_str() } else { "" };
        let (rate, errors) = (seen.rate(), seen.errors);
        let micros = seen.processor_micros().map(|micros| format!("{micros:.0}"));
        println!(
            "{name:<14} {side:<10} {rate:>11.0} {:>8.2} {:>8.2} {:>8.2} {:>8.2} {errors:>7} {:>13}",
            ms(50),
            ms(90),
            ms(99),
            ms(100),
            micros.unwrap_or_default(),
        );
    }
    let rate = |wanted: &str| {
        let found = sides.iter().find(|(side, _)| *side == wanted);
        found.map(|(_, seen)| seen.rate())
    };
    let Some(service) = rate("service") else { return };
    for (side, _) in sides.iter().filter(|(side, _)| *side != "service") {
        let multiple = service / rate(side).unwrap_or_default();
        let goal = match (*side, case.kind) {
            ("bare", _) => Some(BARE_SHARE_MIN),
            ("before", Some(kind)) => Some(before_multiple_min(kind)),
            ("node", Some(kind)) => Some(node_multiple_min(kind)),
            _ => None,
        };
        let verdict = goal.map(|goal| format!(", goal {goal}: {}", met(multiple >= goal)));
        println!(
            "{:<14} service is {multiple:.2} × {side}{}",
            "",
            verdict.unwrap_or_default()
        );
    }
}
