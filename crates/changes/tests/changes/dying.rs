//! A store for a process that ends at some call: the last one is done, and nobody learns of it.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use singlet_runtime::{Attributes, Engine};
use singlet_store::{Store, StoreLayer};
use tokio::sync::Notify;

/// The engine of a process that ends at a call of its store, counted from 1, and what tells its end.
pub fn dying_engine(engine: &Engine, calls: usize) -> (Arc<Engine>, Arc<Notify>) {
    let dying = Dying::after(Arc::clone(engine.store()), calls);
    let ended = Arc::clone(&dying.ended);
    let model = Arc::clone(engine.model());
    let engine = Engine::open(model, Arc::new(dying), Attributes::new(), [7; 32]);
    (Arc::new(engine), ended)
}

#[derive(Debug)]
pub struct Dying {
    store: Arc<dyn Store>,
    left: AtomicUsize,
    /// Told when the process has ended.
    pub ended: Arc<Notify>,
}

impl Dying {
    /// Ends at a call, counted from 1.
    pub fn after(store: Arc<dyn Store>, calls: usize) -> Self {
        Dying {
            store,
            left: AtomicUsize::new(calls),
            ended: Arc::default(),
        }
    }
}

#[async_trait]
impl StoreLayer for Dying {
    fn beneath(&self) -> &dyn Store {
        &*self.store
    }

    /// What comes after the end is not done.
    async fn before_call(&self) {
        if self.left.load(Ordering::SeqCst) == 0 {
            pending::<()>().await;
        }
    }

    async fn after_call(&self) {
        if self.left.fetch_sub(1, Ordering::SeqCst) <= 1 {
            self.left.store(0, Ordering::SeqCst);
            self.ended.notify_one();
            pending::<()>().await;
        }
    }
}
