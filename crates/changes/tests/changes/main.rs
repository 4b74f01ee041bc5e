//! What the records of a table mean, on models as users write them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

mod copies;
mod dying;
mod faults;
mod following;
mod held;
mod kills;
mod kinds;
mod lost_answers;
mod reach;
mod retries;
mod snapshots;
mod support;
mod tallies;
mod ticks;
mod timers;
mod triggers;
mod versions;
mod webhooks;
