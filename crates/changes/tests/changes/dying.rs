//! The engine of a process that ends at a call of its store.

use std::sync::Arc;

use singlet_runtime::{Attributes, Engine};
use singlet_testing::DyingStore;
use tokio::sync::Notify;

/// The engine of a process that ends at a call of its store, counted from 1, and what tells its end.
pub fn dying_engine(engine: &Engine, calls: usize) -> (Arc<Engine>, Arc<Notify>) {
    let dying = DyingStore::after_calls(Arc::clone(engine.store()), calls);
    let ended = dying.ended();
    let model = Arc::clone(engine.model());
    let engine = Engine::open(model, Arc::new(dying), Attributes::new(), [7; 32]);
    (Arc::new(engine), ended)
}
