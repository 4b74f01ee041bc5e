//! Rows that are loaded, and tables that know their model.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod audit;
mod control;
mod hashed_guards;
mod kept;
mod probe;
mod table_only;
