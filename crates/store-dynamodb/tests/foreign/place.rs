//! Where the reads run: on the foreign endpoint. Without one, on the embedded engine once more; the endpoint's own line says so.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use singlet_store::Store;
use singlet_store_dynamodb::{DynamoDbStore, Settings};
use singlet_store_embedded::EmbeddedStore;
use tokio::sync::OnceCell;

use crate::endpoint::{Endpoint, Foreign};
use crate::on_runtime::OnRuntime;

/// How many tables change at random while they are read.
pub const ROUNDS: u64 = 4;

/// The sizes of pages by which a list is read. Every page is a request or several over the network.
pub const PAGES: &[usize] = &[100, 7, 3];

/// DynamoDB Local counts nothing for a page without items, where DynamoDB counts the least there is.
pub const EMPTY_PAGES_MAY_BE_FREE: bool = true;

// It is never dropped: what was started here ends with this process.
static ENDPOINT: OnceLock<Option<Endpoint>> = OnceLock::new();

/// The store of all tests; each test has tables of its own in it.
pub async fn store() -> Arc<dyn Store> {
    static STORE: OnceCell<Arc<dyn Store>> = OnceCell::const_new();
    Arc::clone(STORE.get_or_init(connect).await)
}

async fn connect() -> Arc<dyn Store> {
    // Moto's differences say nothing about reads.
    let endpoint = ENDPOINT.get_or_init(Endpoint::start).as_ref();
    let Some(endpoint) = endpoint.filter(|endpoint| endpoint.foreign != Foreign::Moto) else {
        return Arc::new(EmbeddedStore::memory().unwrap());
    };
    let settings = Settings {
        // A machine with other work takes its time to accept a thousand connections.
        connect_timeout: Duration::from_secs(120),
        attempt_timeout: Duration::from_secs(120),
        operation_timeout: Duration::from_secs(300),
        ..Settings::local(&endpoint.url)
    };
    let connect = async move { DynamoDbStore::connect(&settings).await.unwrap() };
    Arc::new(OnRuntime::open(connect).await)
}
