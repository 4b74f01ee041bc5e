//! Many models of a seed, on several threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::runtime::Builder;

use super::followed::{FollowedTally, followed_cases};
use super::reads::{ReadTally, read_cases};
use super::writes::{WriteTally, write_cases};
use crate::smallest::StoreMaker;

/// What is run.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// What everything follows from.
    pub seed: u64,
    /// The first model of each kind: a run that was stopped goes on there.
    pub first_model: u64,
    /// Cases of reads.
    pub reads: u64,
    /// Cases of writes.
    pub writes: u64,
    /// Cases of writes on tables that are followed.
    pub followed: u64,
    /// Threads.
    pub workers: usize,
    /// Differences after which a run stops.
    pub failures_max: usize,
}

/// What came of a run.
#[derive(Debug, Default)]
pub struct RunReport {
    /// Of reads.
    pub reads: ReadTally,
    /// Of writes.
    pub writes: WriteTally,
    /// Of writes on tables that are followed.
    pub followed: FollowedTally,
    /// What differs, each as small as it could be made.
    pub failures: Vec<String>,
    /// The next model of reads, of writes, and of those that are followed.
    pub next: [u64; 3],
}

struct SharedRun<'a> {
    options: RunOptions,
    store: StoreMaker<'a>,
    progress: &'a (dyn Fn(&RunReport) + Sync),
    next: [AtomicU64; 3],
    report: Mutex<RunReport>,
}

/// Runs the models of a seed until there are so many cases. What came of each model is told as it comes.
pub fn run_models(options: RunOptions, store: StoreMaker<'_>, progress: &(dyn Fn(&RunReport) + Sync)) -> RunReport {
    let shared = SharedRun {
        options,
        store,
        progress,
        next: std::array::from_fn(|_| AtomicU64::new(options.first_model)),
        report: Mutex::default(),
    };
    std::thread::scope(|scope| {
        for _ in 0..options.workers.max(1) {
            scope.spawn(|| shared.work());
        }
    });
    shared.report.into_inner().unwrap_or_else(PoisonError::into_inner)
}

impl SharedRun<'_> {
    /// Takes one model after the other, of that kind of which more is left to do.
    fn work(&self) {
        let Ok(runtime) = Builder::new_current_thread().enable_all().build() else {
            return;
        };
        while let Some(kind) = self.wanted() {
            let next = self.next.get(kind).map(|next| next.fetch_add(1, Ordering::Relaxed));
            let model = next.unwrap_or_default();
            let (mut reads, mut writes) = (ReadTally::default(), WriteTally::default());
            let mut followed = FollowedTally::default();
            let seed = self.options.seed;
            let failed = match kind {
                0 => {
                    let cases = runtime.block_on(read_cases(seed, model, self.store, &mut reads));
                    cases
                        .err()
                        .map(|mismatch| format!("reads, seed {seed}, model {model}: {mismatch}"))
                }
                1 => {
                    let cases = runtime.block_on(write_cases(seed, model, self.store, &mut writes));
                    cases
                        .err()
                        .map(|what| format!("writes, seed {seed}, model {model}: {what}"))
                }
                _ => {
                    let cases = runtime.block_on(followed_cases(seed, model, self.store, &mut followed));
                    cases
                        .err()
                        .map(|what| format!("followed, seed {seed}, model {model}: {what}"))
                }
            };
            let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
            report.reads.add_tally(reads);
            report.writes.add_tally(writes);
            report.followed.add_tally(followed);
            report.failures.extend(failed);
            if let Some(known) = report.next.get_mut(kind) {
                *known = (*known).max(model + 1);
            }
            (self.progress)(&report);
        }
    }

    /// The kind that is furthest from its end.
    fn wanted(&self) -> Option<usize> {
        let report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        if report.failures.len() >= self.options.failures_max {
            return None;
        }
        let share = |done: u64, wanted: u64| if wanted == 0 { 1.0 } else { done as f64 / wanted as f64 };
        let shares = [
            share(report.reads.cases as u64, self.options.reads),
            share(report.writes.operations, self.options.writes),
            share(report.followed.operations, self.options.followed),
        ];
        let left = shares.into_iter().enumerate().filter(|(_, share)| *share < 1.0);
        left.min_by(|(_, one), (_, other)| one.total_cmp(other))
            .map(|(kind, _)| kind)
    }
}
