//! The console over real HTTP: who is let in, whether what it shows is true, and whether a dry run tells what a write then does.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod client;
mod drawn_reads;
mod drawn_writes;
mod gate;
mod running;
mod scenarios;
mod views;
