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
mod carried;
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
mod restored;
mod restored_followed;
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

    /// The store that tables are carried to.
    pub async fn target_store() -> Arc<dyn Store> {
        store().await
    }

    /// Whether a pair is tried: all are.
    pub fn is_tried(_: &str) -> bool {
        true
    }

    /// How many calls a deployment makes before it is killed.
    pub const CALLS_UNTIL_KILLED: std::ops::Range<usize> = 0..24;

    /// How many tasks lie in a table.
    pub const TASKS: usize = 16;

    /// How many kills; `SINGLET_KILLS` asks for more.
    pub fn kills() -> usize {
        let asked = std::env::var("SINGLET_KILLS").ok();
        asked.and_then(|text| text.parse().ok()).unwrap_or(60)
    }
}
