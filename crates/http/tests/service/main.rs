//! The five systems over real sockets, and a model for what they do not use.

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
mod jwks;
mod notes;
mod openapi;
mod overload;
mod proxied;
mod reads;
mod running;
mod shutdown;
mod signing;
mod surfaces;
mod tls;
mod writes;
