//! A store with a clock that is moved by hand, for what follows its changes: every change is told with the instant at which it was made.
//! A process on it may end at one of its requests, which is done, and of which it does not learn.

use std::future::pending;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use singlet_store::{
    BatchGetAnswer, BatchGetRequest, BatchWriteAnswer, BatchWriteRequest, DeleteRequest, GetAnswer, GetRequest,
    PageAnswer, PutRequest, QueryRequest, Result, ScanRequest, Store, StreamPage, StreamPosition, StreamRequest,
    TableDescription, TableSpec, TransactGetAnswer, TransactGetRequest, TransactWriteRequest, UpdateRequest,
    WriteAnswer,
};
use tokio::sync::Notify;

/// A store with a clock of its own.
#[derive(Debug)]
pub struct Clocked {
    inner: Arc<dyn Store>,
    /// In seconds since 1970.
    now: AtomicI64,
    /// Up to which number of the stream it was which second.
    past: Mutex<Vec<(String, i64)>>,
}

impl Clocked {
    /// Around a store whose stream has one line of numbers, as the embedded one has.
    pub fn around(inner: Arc<dyn Store>, now_millis: i64) -> Arc<Self> {
        Arc::new(Clocked {
            inner,
            now: AtomicI64::new(now_millis.div_euclid(1_000)),
            past: Mutex::default(),
        })
    }

    /// Moves the clock. What was made before keeps its instant.
    ///
    /// # Errors
    ///
    /// Where the stream cannot be read.
    pub async fn move_to(&self, table: &str, now_millis: i64) -> Result<()> {
        let now = now_millis.div_euclid(1_000);
        if now == self.now.load(Ordering::SeqCst) {
            return Ok(());
        }
        let request = StreamRequest {
            table: table.to_owned(),
            position: StreamPosition::Latest,
            limit: 1,
        };
        if let StreamPosition::After(last) = self.inner.read_stream(&request).await?.next {
            let before = self.now.swap(now, Ordering::SeqCst);
            let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
            past.push((last, before));
        }
        Ok(())
    }

    fn second_of(&self, sequence: &str) -> i64 {
        let past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        // Numbers have one length, so that they are in the order of their texts.
        let first = past.iter().find(|(last, _)| sequence <= last.as_str());
        first.map_or_else(|| self.now.load(Ordering::SeqCst), |(_, second)| *second)
    }

    async fn living(&self) {}

    async fn answered<T>(&self, answer: T) -> T {
        answer
    }

    fn told(&self, mut page: StreamPage) -> StreamPage {
        for record in &mut page.records {
            record.at_seconds = self.second_of(&record.sequence);
        }
        page
    }
}

/// A store for a process that ends at one of its requests.
#[derive(Debug)]
pub struct Mortal {
    inner: Arc<dyn Store>,
    left: AtomicUsize,
    /// Told when the process has ended.
    pub ended: Notify,
}

impl Mortal {
    /// Ends at a request, counted from 1.
    pub fn after(inner: Arc<dyn Store>, requests: usize) -> Arc<Self> {
        Arc::new(Mortal {
            inner,
            left: AtomicUsize::new(requests),
            ended: Notify::new(),
        })
    }

    async fn answered<T>(&self, answer: T) -> T {
        let less = |left: usize| Some(left.saturating_sub(1));
        let left = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
        if left.is_ok_and(|left| left <= 1) {
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

    fn told(&self, page: StreamPage) -> StreamPage {
        page
    }
}

macro_rules! passed_on {
    ($store:ident; $($name:ident($($arg:ident: $ty:ty),*) -> $answer:ty;)*) => {
        #[async_trait]
        impl Store for $store {
            $(
                async fn $name(&self, $($arg: $ty),*) -> Result<$answer> {
                    self.living().await;
                    let answer = self.inner.$name($($arg),*).await;
                    self.answered(answer).await
                }
            )*

            async fn read_stream(&self, request: &StreamRequest) -> Result<StreamPage> {
                self.living().await;
                let page = self.inner.read_stream(request).await.map(|page| self.told(page));
                self.answered(page).await
            }
        }
    };
}

macro_rules! all_passed_on {
    ($($store:ident),*) => {
        $(passed_on! {
            $store;
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
        })*
    };
}

all_passed_on!(Clocked, Mortal);
