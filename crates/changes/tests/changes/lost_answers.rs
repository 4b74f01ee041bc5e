//! A store that does transactions and loses the answer, every second time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use singlet_store::{
    BatchGetAnswer, BatchGetRequest, BatchWriteAnswer, BatchWriteRequest, DeleteRequest, GetAnswer, GetRequest,
    PageAnswer, PutRequest, QueryRequest, Result, ScanRequest, Store, StoreError, StreamPage, StreamRequest,
    TableDescription, TableSpec, TransactGetAnswer, TransactGetRequest, TransactWriteRequest, UpdateRequest,
    WriteAnswer,
};

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
impl Store for LostAnswers {
    async fn get(&self, request: &GetRequest) -> Result<GetAnswer> {
        self.store.get(request).await
    }

    async fn batch_get(&self, request: &BatchGetRequest) -> Result<BatchGetAnswer> {
        self.store.batch_get(request).await
    }

    async fn query(&self, request: &QueryRequest) -> Result<PageAnswer> {
        self.store.query(request).await
    }

    async fn scan(&self, request: &ScanRequest) -> Result<PageAnswer> {
        self.store.scan(request).await
    }

    async fn transact_get(&self, request: &TransactGetRequest) -> Result<TransactGetAnswer> {
        self.store.transact_get(request).await
    }

    async fn put(&self, request: &PutRequest) -> Result<WriteAnswer> {
        self.store.put(request).await
    }

    async fn update(&self, request: &UpdateRequest) -> Result<WriteAnswer> {
        self.store.update(request).await
    }

    async fn delete(&self, request: &DeleteRequest) -> Result<WriteAnswer> {
        self.store.delete(request).await
    }

    async fn batch_write(&self, request: &BatchWriteRequest) -> Result<BatchWriteAnswer> {
        self.store.batch_write(request).await
    }

    async fn transact_write(&self, request: &TransactWriteRequest) -> Result<WriteAnswer> {
        let answer = self.store.transact_write(request).await;
        match self.was_lost.fetch_xor(true, Ordering::Relaxed) {
            true => answer,
            false => Err(StoreError::unavailable("the answer is lost")),
        }
    }

    async fn create_table(&self, spec: &TableSpec) -> Result<()> {
        self.store.create_table(spec).await
    }

    async fn describe_table(&self, table: &str) -> Result<TableDescription> {
        self.store.describe_table(table).await
    }

    async fn delete_table(&self, table: &str) -> Result<()> {
        self.store.delete_table(table).await
    }

    async fn list_tables(&self) -> Result<Vec<String>> {
        self.store.list_tables().await
    }

    async fn update_ttl(&self, table: &str, attribute: Option<&str>) -> Result<()> {
        self.store.update_ttl(table, attribute).await
    }

    async fn read_stream(&self, request: &StreamRequest) -> Result<StreamPage> {
        self.store.read_stream(request).await
    }
}
