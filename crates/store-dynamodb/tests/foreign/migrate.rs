//! Migrations on the foreign endpoint: some classes of change, killed now and then, and tables that become what a model declares.

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

    /// Names a variable that has indexes built too, and their attributes changed.
    const INDEX_BUILDS: &str = "SINGLET_INDEX_BUILDS";

    /// Names a variable that has every other class of change tried, too.
    const EVERY_CLASS: &str = "SINGLET_EVERY_CLASS";

    fn is_said(name: &str) -> bool {
        std::env::var_os(name).is_some()
    }

    /// Whether a pair is tried. DynamoDB Local builds an index within seconds where it has nothing else to do, and not within minutes
    /// beside the other tests.
    pub fn is_tried(name: &str) -> bool {
        match name {
            "a key, with what names it in guards" | "an attribute that is filled, and a guard of it" => true,
            "an index" | "a mirror that is gone, another that comes, and an index of other attributes" => {
                is_said(INDEX_BUILDS)
            }
            _ => is_said(EVERY_CLASS),
        }
    }

    /// Whether indexes are built.
    pub fn builds_indexes() -> bool {
        is_said(INDEX_BUILDS)
    }

    /// Every row is several requests over the network.
    pub const TASKS: usize = 5;

    /// How many kills; `SINGLET_FOREIGN_KILLS` asks for more.
    pub fn kills() -> usize {
        let asked = std::env::var("SINGLET_FOREIGN_KILLS").ok();
        asked.and_then(|text| text.parse().ok()).unwrap_or(4)
    }
}
