//! What the generated runs share.

use std::sync::Arc;

use fastrand::Rng;
use singlet_store::Store;
use singlet_store_embedded::EmbeddedStore;

/// A number that the environment may set.
#[allow(dead_code, reason = "not every file has settings")]
pub fn setting(name: &str, usual: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// What a seed makes up for one of its models.
#[allow(dead_code, reason = "not every file makes up models")]
pub fn rng(seed: u64, model: u64) -> Rng {
    Rng::with_seed(seed.wrapping_mul(1_000_003).wrapping_add(model))
}

/// A store without tables.
pub fn memory() -> Arc<dyn Store> {
    Arc::new(EmbeddedStore::memory().unwrap())
}
