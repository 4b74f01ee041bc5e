//! Calls that a store throttled or could not take are made again, later each time, within a bound.

use std::future::Future;
use std::time::Duration;

use singlet_plan::Bounds;
use singlet_store::StoreError;

/// The longest wait before the second attempt; it doubles from there.
const BACKOFF_FIRST: Duration = Duration::from_millis(20);

/// Makes a call until it succeeds, fails for good, or was tried as often as the bounds say.
///
/// # Errors
///
/// The last failure.
pub async fn with_retries<T, F>(bounds: &Bounds, call: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    // A conflict is not tried again here: whoever writes has to look at the row that somebody else has changed.
    retried_where(bounds, |error| error.is_throttled() || error.is_unavailable(), call).await
}

/// Makes a call as [`with_retries`] does, and tries again after a conflict too: for a transaction that only reads, that somebody writes
/// one of its items is no answer.
///
/// # Errors
///
/// The last failure.
pub async fn retried_past_conflicts<T, F>(bounds: &Bounds, call: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    retried_where(bounds, StoreError::is_retryable, call).await
}

async fn retried_where<T, F>(
    bounds: &Bounds,
    again: fn(&StoreError) -> bool,
    mut call: impl FnMut() -> F,
) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let mut attempt = 1;
    loop {
        match call().await {
            // The last failure is the answer, as it is: it says more than that there were too many attempts.
            Err(error) if (attempt as usize) < bounds.call_attempts_max && again(&error) => {
                retry_pause(attempt).await;
                attempt += 1;
            }
            ended => return ended,
        }
    }
}

/// Waits before the next attempt.
pub async fn retry_pause(attempt: u32) {
    tokio::time::sleep(backoff(attempt)).await;
}

/// A random wait up to the bound of the attempt, so that callers that failed together do not come back together.
fn backoff(attempt: u32) -> Duration {
    // A shift of more than the bits there are would panic, and waits beyond some seconds help nobody.
    let most = BACKOFF_FIRST.saturating_mul(1 << attempt.min(6));
    most.mul_f64(fastrand::f64())
}
