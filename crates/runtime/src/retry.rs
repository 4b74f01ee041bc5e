//! Calls that a store throttled or could not take are made again, later each time, within a bound.

use std::future::Future;
use std::time::Duration;

use singlet_store::StoreError;

/// How often a call is made before its failure is the caller's.
pub const ATTEMPTS_MAX: u32 = 6;

/// The longest wait before the second attempt; it doubles from there.
const BACKOFF_FIRST: Duration = Duration::from_millis(20);

/// Makes a call until it succeeds, fails for good, or was tried [`ATTEMPTS_MAX`] times.
///
/// # Errors
///
/// The last failure.
pub async fn retried<T, F>(call: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    retried_where(|error| error.is_throttled() || error.is_unavailable(), call).await
}

/// The same for a transaction that only reads: that somebody writes one of its items is no answer.
///
/// # Errors
///
/// The last failure.
pub async fn retried_past_conflicts<T, F>(call: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    retried_where(StoreError::is_retryable, call).await
}

async fn retried_where<T, F>(again: fn(&StoreError) -> bool, mut call: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let mut attempt = 1;
    loop {
        match call().await {
            Err(error) if attempt < ATTEMPTS_MAX && again(&error) => {
                pause(attempt).await;
                attempt += 1;
            }
            ended => return ended,
        }
    }
}

/// Waits before the next attempt.
pub async fn pause(attempt: u32) {
    tokio::time::sleep(backoff(attempt)).await;
}

/// A random wait up to the bound of the attempt, so that callers that failed together do not come back together.
fn backoff(attempt: u32) -> Duration {
    let most = BACKOFF_FIRST.saturating_mul(1 << attempt.min(6));
    most.mul_f64(fastrand::f64())
}
