//! Migrations on the foreign endpoint: each class of change, killed and aborted.

#[path = "../../../migrate/tests/migrate/classes.rs"]
mod classes;
#[path = "../../../migrate/tests/migrate/kills.rs"]
mod kills;
#[path = "../../../migrate/tests/migrate/pairs.rs"]
mod pairs;
#[path = "../../../migrate/tests/migrate/support.rs"]
mod support;

/// Where they run.
mod place {
    use std::sync::Arc;

    use singlet_store::Store;

    /// The store of all tests.
    pub async fn store() -> Arc<dyn Store> {
        crate::place::store().await
    }

    /// Every row is several requests over the network.
    pub const TASKS: usize = 5;

    /// How many kills; `SINGLET_KILLS` asks for more.
    pub fn kills() -> usize {
        let asked = std::env::var("SINGLET_KILLS").ok();
        asked.and_then(|text| text.parse().ok()).unwrap_or(8)
    }
}
