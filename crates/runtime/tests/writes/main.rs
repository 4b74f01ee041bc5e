//! Every write of the five systems: what it changes, what it refuses, and by which name.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

mod auctions;
mod beyond;
mod booking;
mod bulk;
mod claims;
mod clients;
mod consistency;
mod country;
mod crashes;
mod decisions;
mod ecobid;
mod faults;
mod faulty_store;
mod invariants;
mod looked_at;
mod lost_races;
mod measured;
mod numbered;
mod place;
mod races;
mod replays;
mod said_first;
mod support;
mod todo;
mod versions_among_others;
mod wardrobe;
