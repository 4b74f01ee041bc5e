//! Migrations on the foreign endpoint: some classes of change, killed now and then, and tables that become what a model declares.

#[path = "bridge/mod.rs"]
mod bridge;
#[path = "../../../migrate/tests/migrate/carried.rs"]
mod carried;
#[path = "../../../migrate/tests/migrate/classes.rs"]
mod classes;
#[path = "../../../migrate/tests/migrate/deploying.rs"]
mod deploying;
#[path = "../../../migrate/tests/migrate/kills.rs"]
mod kills;
#[path = "../../../migrate/tests/migrate/pairs.rs"]
mod pairs;
#[path = "../../../migrate/tests/migrate/restored.rs"]
mod restored;
#[path = "../../../migrate/tests/migrate/support.rs"]
mod support;

/// Where they run.
mod place {
    use std::sync::Arc;

    use singlet_store::Store;

    /// The store of all tests.
    pub async fn store() -> Arc<dyn Store> {
        crate::place::store_of_few_tables().await
    }

    /// The store that tables are carried to, which makes no index later.
    pub async fn target_store() -> Arc<dyn Store> {
        crate::place::streamed_store().await
    }

    /// Names a variable that has every other class of change tried, too.
    const EVERY_CLASS: &str = "SINGLET_EVERY_CLASS";

    /// Whether a pair is tried.
    pub fn is_tried(name: &str) -> bool {
        match name {
            "a key, with what names it in guards" | "an attribute that is filled, and a guard of it" | "an index" => {
                true
            }
            _ => std::env::var_os(EVERY_CLASS).is_some(),
        }
    }

    /// How many calls a deployment makes before it is killed.
    pub const CALLS_UNTIL_KILLED: std::ops::Range<usize> = 12..18;

    /// Every row is several requests over the network.
    pub const TASKS: usize = 5;

    /// How many kills; `SINGLET_FOREIGN_KILLS` asks for more.
    pub fn kills() -> usize {
        let asked = std::env::var("SINGLET_FOREIGN_KILLS").ok();
        asked.and_then(|text| text.parse().ok()).unwrap_or(4)
    }
}
