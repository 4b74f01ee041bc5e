//! A folder of data that lasts: checked by `doctor`, served through trouble with its disk, killed again and again.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it saw"
)]

#[cfg(unix)]
#[path = "folder/beside.rs"]
mod beside;
#[path = "folder/crashes.rs"]
mod crashes;
#[path = "folder/damage.rs"]
mod damage;
#[path = "folder/million.rs"]
mod million;
#[path = "cli/running.rs"]
#[allow(dead_code, reason = "other tests of the command use the rest")]
mod running;
#[path = "folder/served.rs"]
mod served;
#[path = "folder/troubles.rs"]
mod troubles;

/// How often something is done: as the environment says, or so often in a usual run.
fn times(variable: &str, usual: usize) -> usize {
    let given = std::env::var(variable).ok().and_then(|text| text.parse().ok());
    given.unwrap_or(usual)
}
