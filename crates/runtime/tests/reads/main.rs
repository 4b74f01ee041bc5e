//! Every read of the five systems on their sample data, compared with a plain filter over the sample file itself.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

mod booking;
mod bounds;
mod changing;
mod country;
mod cursors;
mod desks;
mod ecobid;
mod place;
mod predicted;
mod recorder;
mod requests;
mod steps;
mod support;
mod todo;
mod together;
mod typed;
mod wardrobe;
mod words;
