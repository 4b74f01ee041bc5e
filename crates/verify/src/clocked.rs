//! A store with a clock that is moved by hand, for what follows its changes: every change is told with the instant at which it was made.
//! A process on it may end at one of its requests, which is done, and of which it does not learn.

use std::future::pending;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use singlet_store::{Result, Store, StoreLayer, StreamPage, StreamPosition, StreamRequest};
use tokio::sync::Notify;

/// A store with a clock of its own.
#[derive(Debug)]
pub(crate) struct Clocked {
    inner: Arc<dyn Store>,
    /// In seconds since 1970.
    now: AtomicI64,
    /// Up to which number of the stream it was which second.
    past: Mutex<Vec<(String, i64)>>,
}

impl Clocked {
    /// Around a store whose stream has one line of numbers, as the embedded one has.
    pub fn clocked_around(inner: Arc<dyn Store>, now_millis: i64) -> Arc<Self> {
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
    pub(crate) async fn move_to(&self, table: &str, now_millis: i64) -> Result<()> {
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
}

#[async_trait]
impl StoreLayer for Clocked {
    fn beneath(&self) -> &dyn Store {
        &*self.inner
    }

    async fn read_stream(&self, request: &StreamRequest) -> Result<StreamPage> {
        let mut page = self.inner.read_stream(request).await?;
        for record in &mut page.records {
            record.at_seconds = self.second_of(&record.sequence);
        }
        Ok(page)
    }
}

/// A store for a process that ends at one of its requests.
#[derive(Debug)]
pub(crate) struct Mortal {
    inner: Arc<dyn Store>,
    left: AtomicUsize,
    /// Told when the process has ended.
    pub ended: Notify,
}

impl Mortal {
    /// Ends at a request, counted from 1.
    pub fn mortal_after(inner: Arc<dyn Store>, requests: usize) -> Arc<Self> {
        Arc::new(Mortal {
            inner,
            left: AtomicUsize::new(requests),
            ended: Notify::new(),
        })
    }
}

#[async_trait]
impl StoreLayer for Mortal {
    fn beneath(&self) -> &dyn Store {
        &*self.inner
    }

    /// What comes after the end is not done.
    async fn before_call(&self) {
        if self.left.load(Ordering::SeqCst) == 0 {
            pending::<()>().await;
        }
    }

    async fn after_call(&self) {
        let less = |left: usize| Some(left.saturating_sub(1));
        let left = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
        if left.is_ok_and(|left| left <= 1) {
            self.ended.notify_one();
            pending::<()>().await;
        }
    }
}
