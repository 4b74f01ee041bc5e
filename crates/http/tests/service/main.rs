//! The five systems over real sockets.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod answers;
mod callers;
mod client;
mod hostile;
mod openapi;
mod reads;
mod running;
mod shutdown;
mod tls;
mod writes;
