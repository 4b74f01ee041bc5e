//! The five systems over real sockets, and a model for what they do not use.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it saw"
)]

mod answers;
mod callers;
mod client;
mod documented;
mod hostile;
mod issuers;
mod issuing;
mod jwks;
mod misfits;
mod notes;
mod old_clients;
mod openapi;
mod overload;
mod own_addresses;
mod power;
mod proxied;
mod reads;
mod running;
mod shutdown;
mod signing;
mod surfaces;
mod tickets;
mod tls;
mod watched;
mod watching;
mod webhooks;
mod writes;
