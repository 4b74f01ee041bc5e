//! Rounds of one side after the other, so that what else the machine does hits both alike; and medians, so that it counts little.

use std::cmp::Ordering;
use std::fmt::Debug;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::error::{Failure, Outcome};

/// The median times of two sides.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    by_hand: Duration,
    compiled: Duration,
}

/// Runs what is written by hand and what is compiled in turn, and checks that they give the same. The first tenth warms up.
pub async fn side_by_side<T: PartialEq + Debug>(
    rounds: usize,
    mut by_hand: impl AsyncFnMut(usize) -> Outcome<T>,
    mut compiled: impl AsyncFnMut(usize) -> Outcome<T>,
) -> Outcome<Pair> {
    let (mut hand_times, mut compiled_times) = (Vec::new(), Vec::new());
    let warm = rounds / 10;
    for round in 0..rounds + warm {
        let started = Instant::now();
        let gave = black_box(by_hand(round).await?);
        let between = Instant::now();
        let same = black_box(compiled(round).await?);
        let ended = Instant::now();
        if gave != same {
            return Err(Failure(format!("by hand it is {gave:?}, compiled {same:?}")));
        }
        if round >= warm {
            hand_times.push(between - started);
            compiled_times.push(ended - between);
        }
    }
    Ok(Pair {
        by_hand: median(hand_times),
        compiled: median(compiled_times),
    })
}

/// The head of the table of pairs.
pub fn print_head() {
    println!("case         by hand µs  compiled µs      ×  goal");
}

impl Pair {
    /// A line of the table, with whether the multiple is within its goal.
    pub fn print(self, case: &str, goal: f64) {
        let multiple = self.compiled.as_secs_f64() / self.by_hand.as_secs_f64();
        println!(
            "{case:<12} {:>10.1} {:>12.1} {multiple:>6.2}  {goal:.2} {}",
            self.by_hand.as_secs_f64() * 1e6,
            self.compiled.as_secs_f64() * 1e6,
            met(multiple <= goal),
        );
    }
}

/// The middle one; what an empty list has for one is the default.
pub fn median<T: Copy + Default + PartialOrd>(mut values: Vec<T>) -> T {
    values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Whether a goal is met, in a word.
pub fn met(met: bool) -> &'static str {
    if met { "met" } else { "missed" }
}

/// How a benchmark ends.
pub fn exit(outcome: Outcome<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}
