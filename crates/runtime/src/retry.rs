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
pub async fn retried<T, F>(mut call: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let mut attempt = 1;
    loop {
        match call().await {
            Err(error) if error.is_throttled() || error.is_unavailable() => {
                if wait(attempt).await.is_none() {
                    return Err(error);
                }
                attempt += 1;
            }
            ended => return ended,
        }
    }
}

/// Waits before the attempt after this one; nothing where there is none.
pub async fn wait(attempt: u32) -> Option<()> {
    if attempt >= ATTEMPTS_MAX {
        return None;
    }
    tokio::time::sleep(backoff(attempt)).await;
    Some(())
}

/// A random wait up to the bound of the attempt, so that callers that failed together do not come back together.
fn backoff(attempt: u32) -> Duration {
    let most = BACKOFF_FIRST.saturating_mul(1 << attempt.min(6));
    most.mul_f64(fastrand::f64())
}
