//! A store for a process that ends at some call: the last one is done, and nobody learns of it.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use singlet_store::{
    BatchGetAnswer, BatchGetRequest, BatchWriteAnswer, BatchWriteRequest, DeleteRequest, GetAnswer, GetRequest,
    PageAnswer, PutRequest, QueryRequest, Result, ScanRequest, Store, StreamPage, StreamRequest, TableDescription,
    TableSpec, TransactGetAnswer, TransactGetRequest, TransactWriteRequest, UpdateRequest, WriteAnswer,
};
use tokio::sync::Notify;

#[derive(Debug)]
pub struct Dying {
    store: Arc<dyn Store>,
    left: AtomicUsize,
    /// Told when the process has ended.
    pub ended: Arc<Notify>,
}

impl Dying {
    /// Ends at a call, counted from 1.
    pub fn after(store: Arc<dyn Store>, calls: usize) -> Self {
        Dying {
            store,
            left: AtomicUsize::new(calls),
            ended: Arc::default(),
        }
    }

    async fn answered<T>(&self, answer: T) -> T {
        if self.left.fetch_sub(1, Ordering::SeqCst) <= 1 {
            self.left.store(0, Ordering::SeqCst);
            self.ended.notify_one();
            pending::<()>().await;
        }
        answer
    }

    /// What comes after the end is not done.
    async fn living(&self) {
        if self.left.load(Ordering::SeqCst) == 0 {
            pending::<()>().await;
        }
    }
}

macro_rules! forward {
    ($($name:ident($($arg:ident: $ty:ty),*) -> $answer:ty;)*) => {
        #[async_trait]
        impl Store for Dying {
            $(async fn $name(&self, $($arg: $ty),*) -> Result<$answer> {
                self.living().await;
                let answer = self.store.$name($($arg),*).await;
                self.answered(answer).await
            })*
        }
    };
}

forward! {
    get(request: &GetRequest) -> GetAnswer;
    batch_get(request: &BatchGetRequest) -> BatchGetAnswer;
    query(request: &QueryRequest) -> PageAnswer;
    scan(request: &ScanRequest) -> PageAnswer;
    transact_get(request: &TransactGetRequest) -> TransactGetAnswer;
    put(request: &PutRequest) -> WriteAnswer;
    update(request: &UpdateRequest) -> WriteAnswer;
    delete(request: &DeleteRequest) -> WriteAnswer;
    batch_write(request: &BatchWriteRequest) -> BatchWriteAnswer;
    transact_write(request: &TransactWriteRequest) -> WriteAnswer;
    create_table(spec: &TableSpec) -> ();
    describe_table(table: &str) -> TableDescription;
    delete_table(table: &str) -> ();
    list_tables() -> Vec<String>;
    update_ttl(table: &str, attribute: Option<&str>) -> ();
    read_stream(request: &StreamRequest) -> StreamPage;
}
