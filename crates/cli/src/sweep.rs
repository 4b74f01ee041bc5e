//! Expired rows, and changes that need not be kept, are removed while a service runs, as DynamoDB does by itself.

use std::time::Duration;

use singlet_store_embedded::EmbeddedStore;
use tokio::task::JoinHandle;

/// How often it is looked for expired rows. Nobody sees them meanwhile: reads leave them out.
const SWEEP_PAUSE: Duration = Duration::from_secs(60);

/// The sweeping of a store; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Sweeping(JoinHandle<()>);

impl Drop for Sweeping {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Removes expired rows and old changes now and then.
pub(crate) fn start_sweep(store: EmbeddedStore) -> Sweeping {
    Sweeping(tokio::spawn(async move {
        loop {
            tokio::time::sleep(sweep_pause()).await;
            match store.delete_expired().await {
                Ok(0) => {}
                Ok(rows) => tracing::debug!(rows, "expired rows were removed"),
                Err(error) => tracing::warn!(%error, "expired rows could not be removed"),
            }
            // Writes trim some with each; where nobody writes, changes would stay.
            if let Err(error) = store.trim_old_changes().await {
                tracing::warn!(%error, "old changes could not be removed");
            }
        }
    }))
}

/// Tests sweep more often than anybody needs to.
fn sweep_pause() -> Duration {
    let seconds = std::env::var("SINGLET_SWEEP_SECONDS").ok();
    let seconds = seconds.and_then(|text| text.parse::<u64>().ok());
    seconds.map_or(SWEEP_PAUSE, |seconds| Duration::from_secs(seconds.max(1)))
}
