//! Audits of the five systems' tables: damage of every kind is reported, sound tables are not, also while they are written to;
//! and a repair mends what it says, and nothing else.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

mod damages;
mod planted;
mod probe;
mod racing;
mod repairing;
mod resuming;
mod support;
mod writers;

/// Where the tables are.
mod place {
    use std::sync::Arc;

    use singlet_store::Store;
    use singlet_store_embedded::EmbeddedStore;

    /// How many of the damages are planted: every one.
    pub fn every() -> usize {
        1
    }

    /// The same.
    pub async fn streamed_store() -> Arc<dyn Store> {
        store().await
    }

    /// A store of its own.
    pub async fn store() -> Arc<dyn Store> {
        Arc::new(EmbeddedStore::memory().unwrap())
    }
}
