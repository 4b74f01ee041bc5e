//! On a foreign endpoint: the conformance suite of stores, every read and every write of the five systems with the same cases
//! that the embedded engine answers, and the same races.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

mod audit;
mod changes;
mod conformance;
mod generated;
mod migrate;
mod moto;
mod on_runtime;
mod opening;
mod place;
mod tallies;
mod triggers;
mod upkeep;
mod webhooks;
mod writes;

#[path = "../../../runtime/tests/reads/booking.rs"]
mod booking;
#[path = "../../../runtime/tests/reads/changing.rs"]
mod changing;
#[path = "../../../runtime/tests/reads/country.rs"]
mod country;
#[path = "../../../runtime/tests/reads/cursors.rs"]
mod cursors;
#[path = "../../../runtime/tests/reads/ecobid.rs"]
mod ecobid;
#[path = "../../../runtime/tests/reads/predicted.rs"]
mod predicted;
#[path = "../../../runtime/tests/reads/recorder.rs"]
mod recorder;
#[path = "../../../runtime/tests/reads/support.rs"]
mod support;
#[path = "../../../runtime/tests/reads/todo.rs"]
mod todo;
#[path = "../../../runtime/tests/reads/together.rs"]
mod together;
#[path = "../../../runtime/tests/reads/wardrobe.rs"]
mod wardrobe;
#[path = "../../../runtime/tests/reads/words.rs"]
mod words;
