//! Where the reads run: on the embedded engine. The same cases run elsewhere with another file in this one's place.

use std::sync::Arc;

use singlet_store::Store;
use singlet_store_embedded::EmbeddedStore;

/// How many tables change at random while they are read.
pub const ROUNDS: u64 = 12;

/// The sizes of pages by which a list is read.
pub const PAGES: &[usize] = &[100, 7, 3, 1];

/// Whether a page without items may cost nothing.
pub const EMPTY_PAGES_MAY_BE_FREE: bool = false;

/// A store.
pub async fn store() -> Arc<dyn Store> {
    Arc::new(EmbeddedStore::memory().unwrap())
}
