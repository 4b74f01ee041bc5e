//! Rate limits: a bucket for each caller, which empties at the rate that the model says.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use singlet_model::model::Rate;

use crate::problem::Problem;

/// How many callers are remembered. Past it, those whose bucket is empty are forgotten.
const CALLERS_MAX: usize = 100_000;

/// The limit of one system.
#[derive(Debug)]
pub(crate) struct RateLimit {
    count: u32,
    window: Duration,
    started: Instant,
    /// For each caller, when its bucket will be empty.
    empty_at: Mutex<HashMap<String, Duration>>,
}

/// What is left to a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLeft {
    /// How many requests are left now.
    pub remaining: u32,
    /// In how long there is one more.
    pub next: Duration,
    /// Whether this request is within the limit.
    pub admitted: bool,
}

impl RateLimit {
    /// A limit of so many requests in so long.
    pub fn new(rate: Rate) -> Option<Self> {
        let count = if rate.count >= 1.0 {
            rate.count.min(1e9) as u32
        } else {
            return None;
        };
        Some(RateLimit {
            count,
            window: Duration::try_from_secs_f64(rate.seconds)
                .ok()
                .filter(|window| !window.is_zero())?,
            started: Instant::now(),
            empty_at: Mutex::new(HashMap::new()),
        })
    }

    /// Counts a request of a caller.
    pub fn count(&self, caller: &str) -> RateLeft {
        self.count_at(caller, self.started.elapsed())
    }

    fn count_at(&self, caller: &str, now: Duration) -> RateLeft {
        // Of more requests than a window has nanoseconds each takes one all the same, or there would be no limit.
        let step = (self.window / self.count).max(Duration::from_nanos(1));
        let mut all = self.empty_at.lock().unwrap_or_else(PoisonError::into_inner);
        // Only where it is full, since it goes through all of them.
        if all.len() >= CALLERS_MAX && !all.contains_key(caller) {
            all.retain(|_, empty_at| *empty_at > now);
        }
        // A bucket never holds more than its size, however long nobody came.
        let empty_at = all.get(caller).copied().unwrap_or_default().max(now);
        let filled = empty_at + step;
        let admitted = filled - now <= self.window;
        // A crowd that cannot be remembered is let through rather than locked out.
        // What is refused fills nothing: who tries too often is not locked out for longer by it.
        if admitted && (all.len() < CALLERS_MAX || all.contains_key(caller)) {
            all.insert(caller.to_owned(), filled);
        }
        let used = if admitted { filled - now } else { empty_at - now };
        let free = self.window.saturating_sub(used);
        let remaining = u32::try_from(free.as_nanos() / step.as_nanos()).unwrap_or(u32::MAX);
        RateLeft {
            remaining,
            next: (used + step).saturating_sub(self.window),
            admitted,
        }
    }

    /// The headers that say what is left.
    pub fn rate_headers(&self, left: RateLeft, headers: &mut HeaderMap) {
        let policy = format!("\"caller\";q={};w={}", self.count, self.window.as_secs().max(1));
        let now = format!("\"caller\";r={};t={}", left.remaining, seconds_up(left.next));
        for (name, text) in [("ratelimit-policy", policy), ("ratelimit", now)] {
            if let Ok(value) = HeaderValue::from_str(&text) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
    }

    /// What a caller past the limit is told.
    pub fn rate_refusal(&self, left: RateLeft) -> Problem {
        let seconds = seconds_up(left.next).max(1);
        let detail = format!(
            "{} requests in {} seconds are the limit",
            self.count,
            self.window.as_secs().max(1)
        );
        Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", detail)
            .with_header(header::RETRY_AFTER, &seconds.to_string())
    }
}

fn seconds_up(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_a_second() -> RateLimit {
        RateLimit::new(Rate {
            count: 2.0,
            seconds: 1.0,
        })
        .unwrap()
    }

    #[test]
    fn a_caller_past_the_limit_waits_and_others_do_not() {
        let limit = two_a_second();
        let at = |millis| Duration::from_millis(millis);
        assert_eq!(limit.count_at("ada", at(0)).remaining, 1);
        assert!(limit.count_at("ada", at(0)).admitted);
        let third = limit.count_at("ada", at(100));
        assert!(!third.admitted);
        assert_eq!(third.next, at(400));
        assert!(limit.count_at("linus", at(100)).admitted);
        assert!(limit.count_at("ada", at(500)).admitted);
    }

    #[test]
    fn a_refused_request_fills_nothing() {
        let limit = two_a_second();
        let at = |millis| Duration::from_millis(millis);
        limit.count_at("ada", at(0));
        limit.count_at("ada", at(0));
        assert!((0..50).all(|_| !limit.count_at("ada", at(1)).admitted));
        assert!(limit.count_at("ada", at(501)).admitted);
    }
}
