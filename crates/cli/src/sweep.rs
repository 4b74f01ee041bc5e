//! Expired rows are removed while a service runs, as DynamoDB does by itself.

use std::time::Duration;

use singlet_store_embedded::EmbeddedStore;
use tokio::task::JoinHandle;

/// How often it is looked for expired rows. Nobody sees them meanwhile: reads leave them out.
const SWEEP_PAUSE: Duration = Duration::from_secs(60);

/// The sweeping of a store; it ends when this is dropped.
#[derive(Debug)]
pub struct Sweeping(JoinHandle<()>);

impl Drop for Sweeping {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Removes expired rows now and then.
pub fn start(store: EmbeddedStore) -> Sweeping {
    Sweeping(tokio::spawn(async move {
        loop {
            tokio::time::sleep(SWEEP_PAUSE).await;
            match store.delete_expired().await {
                Ok(0) => {}
                Ok(rows) => tracing::debug!(rows, "expired rows were removed"),
                Err(error) => tracing::warn!(%error, "expired rows could not be removed"),
            }
        }
    }))
}
