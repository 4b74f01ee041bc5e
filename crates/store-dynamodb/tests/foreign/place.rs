//! Where the reads run: on the foreign endpoint. Without one, on the embedded engine once more; the endpoint's own line says so.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use singlet_store::Store;
use singlet_store_dynamodb::{DynamoDbStore, Settings};
use singlet_store_embedded::EmbeddedStore;
use tokio::sync::OnceCell;

use crate::on_runtime::{OnRuntime, WithoutStreams};
use singlet_testing::{Endpoint, Foreign};

/// How many tables change at random while they are read.
pub const ROUNDS: u64 = 4;

/// The sizes of pages by which a list is read. Every page is a request or several over the network.
pub const PAGES: &[usize] = &[100, 7, 3];

/// DynamoDB Local counts nothing for a page without items, where DynamoDB counts the least there is.
pub const EMPTY_PAGES_MAY_BE_FREE: bool = true;

// They are never dropped: what was started here ends with this process.
static ENDPOINT: OnceLock<Option<Endpoint>> = OnceLock::new();
static SECOND_ENDPOINT: OnceLock<Option<Endpoint>> = OnceLock::new();

/// The store of all tests that follow no changes; each test has tables of its own in it.
pub async fn store() -> Arc<dyn Store> {
    match connected().await {
        Some(store) => Arc::new(WithoutStreams(store)),
        None => Arc::new(EmbeddedStore::memory().unwrap()),
    }
}

/// The store of those that follow changes.
pub async fn streamed_store() -> Arc<dyn Store> {
    match connected().await {
        Some(store) => store,
        None => Arc::new(EmbeddedStore::memory().unwrap()),
    }
}

/// The store of those that make and remove indexes, and remove their tables when they are done with them.
///
/// DynamoDB Local has ten workers for all that it does by itself, and one of them is taken by each table that expires items, for as long as
/// the table is there. With seven such tables nobody is left who makes an index or removes one.
pub async fn store_of_few_tables() -> Arc<dyn Store> {
    static STORE: OnceCell<Option<Arc<OnRuntime>>> = OnceCell::const_new();
    match STORE.get_or_init(|| connect(&SECOND_ENDPOINT)).await.clone() {
        Some(store) => Arc::new(WithoutStreams(store)),
        None => Arc::new(EmbeddedStore::memory().unwrap()),
    }
}

async fn connected() -> Option<Arc<OnRuntime>> {
    static STORE: OnceCell<Option<Arc<OnRuntime>>> = OnceCell::const_new();
    STORE.get_or_init(|| connect(&ENDPOINT)).await.clone()
}

async fn connect(endpoint: &'static OnceLock<Option<Endpoint>>) -> Option<Arc<OnRuntime>> {
    // Moto's differences say nothing about reads.
    let endpoint = endpoint.get_or_init(Endpoint::start).as_ref();
    let endpoint = endpoint.filter(|endpoint| endpoint.foreign != Foreign::Moto)?;
    let settings = Settings {
        // A machine with other work takes its time to accept a thousand connections.
        connect_timeout: Duration::from_secs(120),
        attempt_timeout: Duration::from_secs(120),
        operation_timeout: Duration::from_secs(300),
        ..Settings::local_endpoint(&endpoint.url)
    };
    let connect = async move { DynamoDbStore::connect(&settings).await.unwrap() };
    Some(Arc::new(OnRuntime::open(connect).await))
}
