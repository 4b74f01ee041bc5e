//! Refusals that are tried again (`else: retry`): when, how often, and in which order.
//!
//! What is refused for now is kept as a parked change is, with the instant of its next try; later changes of its row queue behind it, for that
//! write.
//!
//! **Invariant:** of a row and a write, only the change that was kept first is tried: their order is promised.

use super::{ParkedChange, TriggerFollower};
use crate::followers::FollowError;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;

/// The pauses between tries, in seconds. Together they are three days, and less than the 8 for which the progress of a `bulk` write counts.
pub const REFUSED_PAUSES_SECONDS: [i64; 11] = [
    1,
    10,
    MINUTE,
    5 * MINUTE,
    30 * MINUTE,
    2 * HOUR,
    5 * HOUR,
    10 * HOUR,
    14 * HOUR,
    20 * HOUR,
    20 * HOUR,
];

/// The longest of them.
const PAUSE_SECONDS_MAX: i64 = 20 * HOUR;

/// How many are tried at once: what comes from the stream must not wait for all of them, nor must the lease.
const TRIES_AT_ONCE_MAX: usize = 64;

/// How often a refusal is tried before it is left to an operator.
pub const REFUSED_TRIES_MAX: usize = REFUSED_PAUSES_SECONDS.len() + 1;

/// When a kept change is tried by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tries {
    /// How often a rule refused it.
    pub refused: usize,
    /// The next try, in seconds since 1970; none where it waits for an operator.
    pub next_at: Option<i64>,
}

impl Tries {
    /// It is not tried by itself.
    pub const NONE: Tries = Tries {
        refused: 0,
        next_at: None,
    };

    /// As soon as it is the first of its row.
    pub fn at_once(now: i64) -> Self {
        Tries {
            refused: 0,
            next_at: Some(now),
        }
    }

    /// After one more refusal.
    pub fn after_refusal(self, now: i64) -> Self {
        Tries {
            refused: self.refused.saturating_add(1),
            next_at: REFUSED_PAUSES_SECONDS
                // Past the last pause it waits for an operator.
                .get(self.refused)
                .map(|pause| now.saturating_add(*pause)),
        }
    }
}

impl TriggerFollower {
    /// Tries again what was refused and is due, so many at once; how many tries that was. What is refused again is not due for a while.
    pub(super) async fn retry_refused(&mut self, clock: &(dyn Fn() -> i64 + Sync)) -> Result<usize, FollowError> {
        let mut tries = 0;
        while let Some(due) = self.due_of_refused(clock().div_euclid(1_000)) {
            // The lease and the stream wait for this, so that a long list is done in parts.
            if tries >= TRIES_AT_ONCE_MAX {
                break;
            }
            tries += 1;
            self.retry(&due, clock).await?;
        }
        Ok(tries)
    }

    fn due_of_refused(&self, now: i64) -> Option<ParkedChange> {
        // What lies further ahead than any pause was noted by a clock that was ahead, and is not believed.
        let is_past = |at: i64| at <= now || at.saturating_sub(now) > PAUSE_SECONDS_MAX;
        let is_due = |parked: &ParkedChange| !parked.is_tick() && parked.next_try().is_some_and(is_past);
        let firsts = self.parked.first_of_rows();
        firsts.into_iter().find(is_due)
    }

    /// The next instant at which a refusal is tried again, in epoch milliseconds.
    pub(super) fn next_try(&self) -> Option<i64> {
        let firsts = self.parked.first_of_rows();
        let next = firsts.iter().filter_map(ParkedChange::next_try).min();
        next.map(|seconds| seconds.saturating_mul(1_000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end_after_three_days() {
        let (mut tries, mut now, mut pause) = (Tries::NONE, 0, 0);
        while let Some(next) = tries.after_refusal(now).next_at {
            assert!(next - now >= pause, "{next}");
            pause = next - now;
            assert!(pause <= PAUSE_SECONDS_MAX);
            tries = tries.after_refusal(now);
            now = next;
        }
        assert_eq!(tries.refused + 1, REFUSED_TRIES_MAX);
        assert!((71 * HOUR..73 * HOUR).contains(&now), "{now}");
    }
}
