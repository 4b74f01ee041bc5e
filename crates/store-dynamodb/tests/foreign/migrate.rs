//! Migrations on the foreign endpoint: an index, and a key.

#[path = "../../../migrate/tests/migrate/classes.rs"]
mod classes;
#[path = "../../../migrate/tests/migrate/pairs.rs"]
mod pairs;
#[allow(dead_code, reason = "what is aborted is tried on the embedded engine alone")]
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

    /// An index takes seconds to be made here: it is tried, and a key.
    pub const PAIRS_TRIED: usize = 2;

    /// Every row is several requests over the network.
    pub const TASKS: usize = 5;
}
