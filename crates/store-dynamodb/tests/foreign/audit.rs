//! Audits on the foreign endpoint: damage, sound tables under write load, repairs.

#[path = "../../../audit/tests/audit/damages.rs"]
mod damages;
#[path = "../../../audit/tests/audit/planted.rs"]
mod planted;
#[path = "../../../audit/tests/audit/racing.rs"]
mod racing;
#[path = "../../../audit/tests/audit/repairing.rs"]
mod repairing;
#[path = "../../../audit/tests/audit/support.rs"]
mod support;
#[path = "../../../audit/tests/audit/writers.rs"]
mod writers;

/// Where they run.
mod place {
    use std::sync::Arc;

    use singlet_store::Store;

    /// How many of the damages are planted: one of so many. `SINGLET_DAMAGES` plants every one.
    pub fn every() -> usize {
        if std::env::var_os("SINGLET_DAMAGES").is_some() {
            1
        } else {
            9
        }
    }

    /// The store of all tests.
    pub async fn store() -> Arc<dyn Store> {
        crate::place::store().await
    }

    /// The store of those that follow changes.
    pub async fn streamed_store() -> Arc<dyn Store> {
        crate::place::streamed_store().await
    }
}
