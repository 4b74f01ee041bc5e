//! A store for a process that ends at some call: the last one is done, and nobody learns of it.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use singlet_store::{Store, StoreLayer};
use tokio::sync::Notify;

/// A store for a process that ends at some call: the last one is done, and nobody learns of it. Whoever plays the process waits for its
/// work and for [`DyingStore::ended`], whichever comes first.
#[derive(Debug)]
pub struct DyingStore {
    store: Arc<dyn Store>,
    left: AtomicUsize,
    ended: Arc<Notify>,
}

impl DyingStore {
    /// Ends at a call, counted from 1.
    pub fn after_calls(store: Arc<dyn Store>, calls: usize) -> Self {
        DyingStore {
            store,
            left: AtomicUsize::new(calls),
            ended: Arc::default(),
        }
    }

    /// Told when the process has ended.
    pub fn ended(&self) -> Arc<Notify> {
        Arc::clone(&self.ended)
    }
}

#[async_trait]
impl StoreLayer for DyingStore {
    fn beneath(&self) -> &dyn Store {
        &*self.store
    }

    /// What comes after the end is not done.
    async fn before_call(&self) {
        if self.left.load(Ordering::SeqCst) == 0 {
            pending::<()>().await;
        }
    }

    /// Of calls that are made at once, those beyond the last are done too, and nobody learns of them either.
    async fn after_call(&self) {
        let counted = |left: usize| left.checked_sub(1);
        let left = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, counted);
        if !matches!(left, Ok(2..)) {
            self.ended.notify_one();
            pending::<()>().await;
        }
    }
}
