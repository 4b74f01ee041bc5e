//! Rows changed from one model to another: each class of change, killed at random, aborted, run twice at once.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

mod bridge;
mod classes;
mod deploying;
mod followers;
mod gated;
mod hindered;
mod indexing;
mod kills;
mod million;
mod pairs;
mod planted;
mod support;
mod units;

/// Where the tables are, and how much is tried there.
mod place {
    use std::sync::Arc;

    use singlet_store::Store;
    use singlet_store_embedded::EmbeddedStore;

    /// A store of its own.
    pub async fn store() -> Arc<dyn Store> {
        Arc::new(EmbeddedStore::memory().unwrap())
    }

    /// Whether a pair is tried: all are.
    pub fn is_tried(_: &str) -> bool {
        true
    }

    /// Whether indexes are built: they are.
    pub fn builds_indexes() -> bool {
        true
    }

    /// How many tasks lie in a table.
    pub const TASKS: usize = 16;

    /// How many kills; `SINGLET_KILLS` asks for more.
    pub fn kills() -> usize {
        let asked = std::env::var("SINGLET_KILLS").ok();
        asked.and_then(|text| text.parse().ok()).unwrap_or(60)
    }
}
