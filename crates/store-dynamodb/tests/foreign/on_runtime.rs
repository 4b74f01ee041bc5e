//! A store whose calls all run on one runtime that never ends.
//!
//! Every test has a runtime of its own, and the connections of a client die with the runtime on which they were opened.

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use singlet_store::{
    BatchGetAnswer, BatchGetRequest, BatchWriteAnswer, BatchWriteRequest, DeleteRequest, GetAnswer, GetRequest,
    PageAnswer, PutRequest, QueryRequest, Result, ScanRequest, Store, StreamPage, StreamRequest, TableChange,
    TableDescription, TableSpec, TableUpkeep, TransactGetAnswer, TransactGetRequest, TransactWriteRequest,
    UpdateRequest, WriteAnswer,
};
use tokio::runtime::{Builder, Runtime};

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
});

/// A store on that runtime.
#[derive(Debug)]
pub struct OnRuntime(Arc<dyn Store>);

/// The same, whose tables have no streams. With each request on a table that has one, DynamoDB Local goes through the changes of all tables:
/// whoever does not follow them has none.
#[derive(Debug)]
pub struct WithoutStreams(pub Arc<OnRuntime>);

impl OnRuntime {
    /// Opens a store on the runtime.
    pub async fn open<S: Store + 'static>(connect: impl Future<Output = S> + Send + 'static) -> Self {
        OnRuntime(Arc::new(RUNTIME.spawn(connect).await.unwrap()))
    }
}

macro_rules! calls {
    ($($name:ident: $request:ty => $answer:ty),* $(,)?) => {
        #[async_trait]
        impl Store for OnRuntime {
            $(
                async fn $name(&self, request: &$request) -> Result<$answer> {
                    let (store, request) = (Arc::clone(&self.0), request.to_owned());
                    RUNTIME.spawn(async move { store.$name(&request).await }).await.unwrap()
                }
            )*

            async fn create_table(&self, spec: &TableSpec) -> Result<()> {
                let (store, spec) = (Arc::clone(&self.0), spec.clone());
                RUNTIME.spawn(async move { store.create_table(&spec).await }).await.unwrap()
            }

            async fn update_table(&self, table: &str, change: &TableChange) -> Result<()> {
                let (store, table, change) = (Arc::clone(&self.0), table.to_owned(), change.clone());
                RUNTIME
                    .spawn(async move { store.update_table(&table, &change).await })
                    .await
                    .unwrap()
            }

            async fn list_tables(&self) -> Result<Vec<String>> {
                let store = Arc::clone(&self.0);
                RUNTIME.spawn(async move { store.list_tables().await }).await.unwrap()
            }

            async fn update_ttl(&self, table: &str, attribute: Option<&str>) -> Result<()> {
                let (store, table, attribute) = (Arc::clone(&self.0), table.to_owned(), attribute.map(str::to_owned));
                RUNTIME
                    .spawn(async move { store.update_ttl(&table, attribute.as_deref()).await })
                    .await
                    .unwrap()
            }
        }

        #[async_trait]
        impl Store for WithoutStreams {
            $(
                async fn $name(&self, request: &$request) -> Result<$answer> {
                    self.0.$name(request).await
                }
            )*

            async fn create_table(&self, spec: &TableSpec) -> Result<()> {
                let spec = TableSpec {
                    stream: None,
                    ..spec.clone()
                };
                self.0.create_table(&spec).await
            }

            async fn update_table(&self, table: &str, change: &TableChange) -> Result<()> {
                self.0.update_table(table, change).await
            }

            async fn list_tables(&self) -> Result<Vec<String>> {
                self.0.list_tables().await
            }

            async fn update_ttl(&self, table: &str, attribute: Option<&str>) -> Result<()> {
                self.0.update_ttl(table, attribute).await
            }
        }
    };
}

calls! {
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
    describe_table: str => TableDescription,
    describe_upkeep: str => TableUpkeep,
    delete_table: str => (),
    read_stream: StreamRequest => StreamPage,
}
