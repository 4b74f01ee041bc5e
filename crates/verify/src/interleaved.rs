//! A store whose requests wait for one another: each lets others go first, a drawn number of times, so that operations that are begun
//! together meet between their requests.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use fastrand::Rng;
use singlet_store::{Store, StoreLayer};

/// How often a request lets others go first, at most.
const YIELDS_MAX: u8 = 4;

/// A store whose requests let others go first.
#[derive(Debug)]
pub struct Interleaved {
    inner: Arc<dyn Store>,
    rng: Mutex<Rng>,
}

impl Interleaved {
    /// Around a store.
    pub fn interleaved_around(inner: Arc<dyn Store>, rng: Rng) -> Arc<dyn Store> {
        let rng = Mutex::new(rng);
        Arc::new(Interleaved { inner, rng })
    }
}

#[async_trait]
impl StoreLayer for Interleaved {
    fn beneath(&self) -> &dyn Store {
        &*self.inner
    }

    async fn before_call(&self) {
        let times = self
            .rng
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .u8(..=YIELDS_MAX);
        for _ in 0..times {
            tokio::task::yield_now().await;
        }
    }
}
