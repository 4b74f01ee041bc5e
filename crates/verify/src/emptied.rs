//! A store in which a table is made anew though it is there: where many tables of one name are made one after the other.

use std::sync::Arc;

use async_trait::async_trait;
use singlet_store::{
    BatchGetAnswer, BatchGetRequest, BatchWriteAnswer, BatchWriteRequest, DeleteRequest, GetAnswer, GetRequest,
    PageAnswer, PutRequest, QueryRequest, Result, ScanRequest, Store, StreamPage, StreamRequest, TableDescription,
    TableSpec, TransactGetAnswer, TransactGetRequest, TransactWriteRequest, UpdateRequest, WriteAnswer,
};

/// A store in which a table is made anew though it is there.
#[derive(Debug)]
pub struct Emptied(Arc<dyn Store>);

impl Emptied {
    /// Around a store whose tables are nobody else's.
    pub fn around(inner: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(Emptied(inner))
    }
}

macro_rules! passed_on {
    ($($name:ident: $request:ty => $answer:ty),* $(,)?) => {
        #[async_trait]
        impl Store for Emptied {
            $(
                async fn $name(&self, request: &$request) -> Result<$answer> {
                    self.0.$name(request).await
                }
            )*

            async fn create_table(&self, spec: &TableSpec) -> Result<()> {
                if self.0.list_tables().await?.contains(&spec.name) {
                    self.0.delete_table(&spec.name).await?;
                }
                self.0.create_table(spec).await
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
    describe_table: str => TableDescription,
    delete_table: str => (),
    read_stream: StreamRequest => StreamPage,
}
