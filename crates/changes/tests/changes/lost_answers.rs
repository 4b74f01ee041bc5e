//! A store that does transactions and loses the answer, every second time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use singlet_store::{Result, Store, StoreError, StoreLayer, TransactWriteRequest, WriteAnswer};

#[derive(Debug)]
pub struct LostAnswers {
    store: Arc<dyn Store>,
    was_lost: AtomicBool,
}

impl LostAnswers {
    pub fn of(store: Arc<dyn Store>) -> Self {
        LostAnswers {
            store,
            was_lost: AtomicBool::new(false),
        }
    }
}

#[async_trait]
impl StoreLayer for LostAnswers {
    fn beneath(&self) -> &dyn Store {
        &*self.store
    }

    async fn transact_write(&self, request: &TransactWriteRequest) -> Result<WriteAnswer> {
        let answer = self.store.transact_write(request).await;
        match self.was_lost.fetch_xor(true, Ordering::Relaxed) {
            true => answer,
            false => Err(StoreError::unavailable("the answer is lost")),
        }
    }
}
