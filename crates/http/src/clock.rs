//! What time it is for the operations of a service.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Where the instant of an operation comes from.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The machine.
    #[default]
    Machine,
    /// Epoch milliseconds that somebody else sets: scenarios hold the time still.
    Held(Arc<AtomicI64>),
}

impl Clock {
    /// The instant, in epoch milliseconds.
    pub fn now(&self) -> i64 {
        match self {
            Clock::Machine => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
            }
            Clock::Held(instant) => instant.load(Ordering::SeqCst),
        }
    }
}
