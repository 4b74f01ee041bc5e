//! How often it is looked for what there is to do, and what is waited for where nothing can be done.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use singlet_changes::FollowError;
use singlet_face::Company;

use crate::noticed::Noticed;

/// How long it is waited at the head of a stream of this process's own, where asking costs nothing.
pub(crate) const HEAD_PAUSE_ALONE: Duration = Duration::from_millis(25);

/// The same in DynamoDB, where each question is paid for, and a shard takes five a second.
pub const HEAD_PAUSE_SHARED: Duration = Duration::from_millis(250);

/// How often it is looked whether another process has given the lease back.
pub(crate) const LEASE_PAUSE: Duration = Duration::from_secs(5);

/// The longest wait after the store failed.
pub const AWAY_PAUSE_MAX: Duration = Duration::from_secs(16);

/// How late the stream of DynamoDB may be after a scan.
const STREAM_LATE_MILLIS: i64 = 10_000;

/// The instant that it is, in epoch milliseconds.
pub fn now_millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// How many seconds ago the newest change of a page happened.
pub(crate) fn lag_of(newest_at: Option<i64>) -> i64 {
    newest_at.map_or(0, |newest| (now_millis() / 1_000 - newest).max(0))
}

/// How late the stream may be after a scan: a process that is alone reads its own.
pub fn stream_late_millis(company: Company) -> i64 {
    match company {
        Company::Shared => STREAM_LATE_MILLIS,
        Company::Alone => 0,
    }
}

/// How long it is waited at the head of a stream.
pub(crate) fn head_pause(company: Company) -> Duration {
    match company {
        Company::Shared => HEAD_PAUSE_SHARED,
        Company::Alone => HEAD_PAUSE_ALONE,
    }
}

/// How long it is waited after the store failed so many times in a row.
pub(crate) fn away_pause(failures: u32) -> Duration {
    HEAD_PAUSE_SHARED
        .saturating_mul(1 << failures.min(10))
        .min(AWAY_PAUSE_MAX)
}

/// Waits after another process has the lease, or the store has failed.
pub(crate) async fn pause_after(ended: Result<(), FollowError>, noticed: &Noticed, failures: &mut u32) {
    match ended {
        Ok(()) => tokio::time::sleep(LEASE_PAUSE).await,
        // It was said at the beginning.
        Err(FollowError::Held(_)) => tokio::time::sleep(LEASE_PAUSE).await,
        // Another process is further; where it goes on is read anew.
        Err(FollowError::Overtaken) => tokio::time::sleep(HEAD_PAUSE_SHARED).await,
        Err(error) => {
            // Said once: a store that is away for an hour must not fill the log.
            if *failures == 0 {
                tracing::warn!(system = noticed.system, %error, "cannot follow changes and timers for now");
            }
            *failures = failures.saturating_add(1);
            tokio::time::sleep(away_pause(*failures)).await;
        }
    }
}
