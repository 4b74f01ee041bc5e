//! Keeps what is read below a rate.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The longest that one call is waited for: a page larger than expected must not stop everything for minutes.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// Paces all segments together.
#[derive(Debug)]
pub struct Pacer {
    units_per_second: Option<f64>,
    free_at: Mutex<Instant>,
}

impl Pacer {
    /// At most so many units a second; as many as there are, where none is said.
    pub fn new(units_per_second: Option<f64>) -> Self {
        Pacer {
            units_per_second,
            free_at: Mutex::new(Instant::now()),
        }
    }

    /// Waits until what was taken before is paid for.
    pub async fn wait_until_paid(&self) {
        if self.units_per_second.is_none() {
            return;
        }
        let free_at = *self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        let longest = Instant::now() + WAIT_MAX;
        tokio::time::sleep_until(free_at.min(longest)).await;
    }

    /// Notes what a call took.
    pub fn note_taken(&self, units: f64) {
        let Some(rate) = self.units_per_second.filter(|rate| *rate > 0.0) else {
            return;
        };
        let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        *free_at = paid_at(*free_at, Instant::now(), units, rate);
    }
}

/// When what was taken now is paid for.
fn paid_at(free_at: Instant, now: Instant, units: f64, rate: f64) -> Instant {
    let paid = Duration::try_from_secs_f64(units / rate).unwrap_or(WAIT_MAX);
    free_at.max(now) + paid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taken_is_paid_for_one_after_the_other() {
        let now = Instant::now();
        let paid = |free_at, units| paid_at(free_at, now, units, 10.0);
        let first = paid(now, 5.0);
        assert_eq!(first - now, Duration::from_millis(500));
        assert_eq!(paid(first, 10.0) - now, Duration::from_millis(1_500));
        // What was paid long ago is no credit.
        let later = now + Duration::from_secs(60);
        assert_eq!(paid_at(now, later, 5.0, 10.0) - later, Duration::from_millis(500));
        assert_eq!(paid_at(now, now, f64::MAX, 1e-300) - now, WAIT_MAX);
    }
}
