//! The service holds: under attack, under load, and for a while. The service is a process of its own, and what it takes is what
//! the system says of it.
//!
//! The usual run is short. `scripts/hostile`, `scripts/overload` and `scripts/soak` make longer ones, with an optimised build, and
//! judge times and memory too.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking, and prints what it saw"
)]

#[path = "holds/attacks.rs"]
mod attacks;
#[path = "holds/client.rs"]
mod client;
#[path = "holds/drawn.rs"]
mod drawn;
#[path = "holds/fairness.rs"]
mod fairness;
#[path = "holds/figures.rs"]
mod figures;
#[path = "holds/hostile.rs"]
mod hostile;
#[path = "holds/overload.rs"]
mod overload;
#[path = "holds/service.rs"]
mod service;
#[path = "holds/soak.rs"]
mod soak;
