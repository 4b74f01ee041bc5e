//! Where the writes run: on the embedded engine. The same cases run elsewhere with another file in this one's place.

use std::sync::Arc;

use singlet_store::Store;
use singlet_store_embedded::EmbeddedStore;

/// Whether what a write takes is held against its plan.
pub const PREDICTED: bool = true;

/// A store that measures what writes cost, and whether other tests have tables in it too.
pub async fn store() -> (Arc<dyn Store>, bool) {
    let store = Arc::new(EmbeddedStore::memory().unwrap());
    (super::measured::Measured::new(store), false)
}

/// A store for a race, and what is in the way there: the embedded engine never says by itself that others are.
pub async fn busy(seed: u64) -> (Arc<dyn Store>, bool) {
    /// How many of a hundred writes meet somebody else's transaction.
    const BUSY_PERCENT: u32 = 5;
    (super::faulty_store::FaultyStore::busy(BUSY_PERCENT, seed), false)
}
