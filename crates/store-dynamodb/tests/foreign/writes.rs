//! Every write of the five systems, and the races, on the foreign endpoint. Faults and crashes are the embedded engine's.

#[path = "../../../runtime/tests/writes/auctions.rs"]
mod auctions;
#[path = "../../../runtime/tests/writes/beyond.rs"]
mod beyond;
#[path = "../../../runtime/tests/writes/booking.rs"]
mod booking;
#[path = "../../../runtime/tests/writes/consistency.rs"]
mod consistency;
#[path = "../../../runtime/tests/writes/country.rs"]
mod country;
#[path = "../../../runtime/tests/writes/decisions.rs"]
mod decisions;
#[path = "../../../runtime/tests/writes/ecobid.rs"]
mod ecobid;
#[path = "../../../runtime/tests/writes/invariants.rs"]
mod invariants;
#[path = "../../../runtime/tests/writes/races.rs"]
mod races;
#[path = "../../../runtime/tests/writes/support.rs"]
mod support;
#[path = "../../../runtime/tests/writes/todo.rs"]
mod todo;
#[path = "../../../runtime/tests/writes/wardrobe.rs"]
mod wardrobe;

/// Where they run.
mod place {
    use std::sync::Arc;

    use singlet_store::Store;

    /// The store of all tests.
    pub async fn store() -> (Arc<dyn Store>, bool) {
        (crate::place::store().await, true)
    }

    /// The same: others are in the way by themselves here.
    pub async fn busy(_: u64) -> (Arc<dyn Store>, bool) {
        store().await
    }
}
