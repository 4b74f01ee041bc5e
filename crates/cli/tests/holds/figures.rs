//! Figures of what was seen.

use std::collections::BTreeMap;
use std::time::Duration;

/// What a client saw.
#[derive(Debug, Default)]
pub struct Seen {
    pub statuses: BTreeMap<u16, u64>,
    /// Requests that got no answer, by what was said of it.
    pub lost: BTreeMap<String, u64>,
    pub times: Vec<Duration>,
}

impl Seen {
    pub fn take(&mut self, answer: &std::io::Result<super::client::Answer>, time: Duration) {
        self.times.push(time);
        match answer {
            Ok(answer) => *self.statuses.entry(answer.status).or_default() += 1,
            Err(error) => *self.lost.entry(error.to_string()).or_default() += 1,
        }
    }

    pub fn merge(&mut self, other: Seen) {
        for (status, times) in other.statuses {
            *self.statuses.entry(status).or_default() += times;
        }
        for (reason, times) in other.lost {
            *self.lost.entry(reason).or_default() += times;
        }
        self.times.extend(other.times);
    }

    /// The time within which so many of a hundred were answered.
    pub fn percentile(&self, percent: f64) -> Duration {
        let mut times = self.times.clone();
        times.sort_unstable();
        let last = times.len().saturating_sub(1);
        let at = (last as f64 * percent / 100.0).ceil() as usize;
        times.get(at).copied().unwrap_or_default()
    }

    pub fn count(&self) -> u64 {
        self.times.len() as u64
    }

    /// Statuses that are the service's fault: 503 says that there is too much to do.
    pub fn faults(&self) -> u64 {
        let faults = self
            .statuses
            .iter()
            .filter(|(status, _)| **status >= 500 && **status != 503);
        faults.map(|(_, times)| times).sum()
    }

    pub fn of(&self, status: u16) -> u64 {
        self.statuses.get(&status).copied().unwrap_or_default()
    }
}

pub fn megabytes(bytes: u64) -> String {
    format!("{:.0} MB", bytes as f64 / 1e6)
}

pub fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

/// A number from the environment.
pub fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| {
        text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}"))
    })
}
