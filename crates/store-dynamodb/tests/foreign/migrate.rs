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

    /// Names a variable that has indexes built too.
    const INDEX_BUILDS: &str = "SINGLET_INDEX_BUILDS";

    /// Whether a pair is tried: a key; and an index where that is asked for. DynamoDB Local builds an index within seconds where it has
    /// nothing else to do, and not within minutes beside the other tests.
    pub fn is_tried(name: &str) -> bool {
        match name {
            "a key, with what names it in guards" => true,
            "an index" => std::env::var_os(INDEX_BUILDS).is_some(),
            _ => false,
        }
    }

    /// Every row is several requests over the network.
    pub const TASKS: usize = 5;
}
