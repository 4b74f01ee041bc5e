//! How often a write ran after changes of one row: a loop that the checker could not see shows itself here.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

pub use singlet_model::model::RUNS_PER_MINUTE_MAX;

const MINUTE_MILLIS: i64 = 60_000;

/// The runs of this minute.
#[derive(Debug, Default)]
pub(super) struct RunRate(Mutex<Minute>);

#[derive(Debug, Default)]
struct Minute {
    began: Option<i64>,
    /// By write and row.
    runs: BTreeMap<(String, String), u32>,
}

impl RunRate {
    /// Counts a run; whether it is one too many.
    pub fn is_too_much(&self, write: &str, row: &str, now: i64) -> bool {
        let mut minute = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_within = |began: i64| (began..began.saturating_add(MINUTE_MILLIS)).contains(&now);
        // A clock that was set back begins a new minute: the count must not last for ever.
        if !minute.began.is_some_and(is_within) {
            *minute = Minute {
                began: Some(now),
                runs: BTreeMap::new(),
            };
        }
        let runs = minute.runs.entry((write.to_owned(), row.to_owned())).or_default();
        *runs = runs.saturating_add(1);
        *runs > RUNS_PER_MINUTE_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_so_many_runs_in_a_minute_and_another_row_its_own() {
        let rate = RunRate::default();
        for _ in 0..RUNS_PER_MINUTE_MAX {
            assert!(!rate.is_too_much("w", "a", 5));
        }
        assert!(rate.is_too_much("w", "a", 5 + MINUTE_MILLIS - 1));
        assert!(!rate.is_too_much("w", "b", 6));
        assert!(!rate.is_too_much("v", "a", 6));
        assert!(!rate.is_too_much("w", "a", 5 + MINUTE_MILLIS));
        // A clock that goes back begins another minute.
        assert!(!rate.is_too_much("w", "a", 0));
    }
}
