//! A store whose requests wait for one another: each lets others go first, a drawn number of times, so that operations that are begun
//! together meet between their requests.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use fastrand::Rng;
use singlet_store::{
    BatchGetAnswer, BatchGetRequest, BatchWriteAnswer, BatchWriteRequest, DeleteRequest, GetAnswer, GetRequest,
    PageAnswer, PutRequest, QueryRequest, Result, ScanRequest, Store, StreamPage, StreamRequest, TableDescription,
    TableSpec, TransactGetAnswer, TransactGetRequest, TransactWriteRequest, UpdateRequest, WriteAnswer,
};

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
    pub fn around(inner: Arc<dyn Store>, rng: Rng) -> Arc<dyn Store> {
        let rng = Mutex::new(rng);
        Arc::new(Interleaved { inner, rng })
    }

    async fn let_others_go(&self) {
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

macro_rules! passed_on {
    ($($name:ident: $request:ty => $answer:ty),* $(,)?) => {
        #[async_trait]
        impl Store for Interleaved {
            $(
                async fn $name(&self, request: &$request) -> Result<$answer> {
                    self.let_others_go().await;
                    self.inner.$name(request).await
                }
            )*

            async fn list_tables(&self) -> Result<Vec<String>> {
                self.inner.list_tables().await
            }

            async fn update_ttl(&self, table: &str, attribute: Option<&str>) -> Result<()> {
                self.inner.update_ttl(table, attribute).await
            }
        }
    };
}

passed_on! {
    get: GetRequest => GetAnswer,
    batch_get: BatchGetRequest => BatchGetAnswer,
    query: QueryRequest => PageAnswer,
    scan: ScanRequest => PageAnswer,
    transact_get: TransactGetRequest => TransactGetAnswer,
    put: PutRequest => WriteAnswer,
    update: UpdateRequest => WriteAnswer,
    delete: DeleteRequest => WriteAnswer,
    batch_write: BatchWriteRequest => BatchWriteAnswer,
    transact_write: TransactWriteRequest => WriteAnswer,
    create_table: TableSpec => (),
    describe_table: str => TableDescription,
    delete_table: str => (),
    read_stream: StreamRequest => StreamPage,
}
