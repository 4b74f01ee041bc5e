//! A store that remembers what is asked of it, so that a plan can be held to what it said would be asked.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use singlet_item::capacity::{Consistency, ReadUnits};
use singlet_plan::cost::Call;
use singlet_store::{
    BatchGetAnswer, BatchGetRequest, Consumed, GetAnswer, GetRequest, PageAnswer, QueryRequest, Result, ScanRequest,
    Store, StoreLayer, TransactGetAnswer, TransactGetRequest,
};

/// A request that reads, and what it consumed.
#[derive(Clone, Debug)]
pub struct MeteredRequest {
    /// What was called.
    pub call: Call,
    /// The index; the table, if there is none.
    pub index: Option<String>,
    /// What it promises.
    pub consistency: Consistency,
    /// What it consumed.
    pub consumed: ReadUnits,
    /// The request, to be shown.
    pub shown: String,
}

/// A store that remembers what is asked of it.
#[derive(Debug)]
pub(crate) struct Metered {
    inner: Arc<dyn Store>,
    sent: Mutex<Vec<MeteredRequest>>,
}

impl Metered {
    /// Around a store.
    pub fn new(inner: Arc<dyn Store>) -> Arc<Self> {
        let sent = Mutex::default();
        Arc::new(Metered { inner, sent })
    }

    /// What was asked since this was asked last.
    pub fn taken_requests(&self) -> Vec<MeteredRequest> {
        std::mem::take(&mut *self.sent.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn remember(&self, call: Call, index: Option<&String>, promise: Consistency, consumed: &Consumed, shown: String) {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.push(MeteredRequest {
            call,
            index: index.cloned(),
            consistency: promise,
            consumed: consumed.total_units().read,
            shown,
        });
    }
}

fn promise(strong: bool) -> Consistency {
    match strong {
        true => Consistency::Strong,
        false => Consistency::Eventual,
    }
}

#[async_trait]
impl StoreLayer for Metered {
    fn beneath(&self) -> &dyn Store {
        &*self.inner
    }

    async fn get(&self, request: &GetRequest) -> Result<GetAnswer> {
        let answer = self.inner.get(request).await?;
        let shown = format!("{:?}", request.key);
        self.remember(Call::Get, None, promise(request.consistent), &answer.consumed, shown);
        Ok(answer)
    }

    async fn batch_get(&self, request: &BatchGetRequest) -> Result<BatchGetAnswer> {
        let answer = self.inner.batch_get(request).await?;
        let strong = request.tables.iter().any(|table| table.consistent);
        let keys = request.tables.iter().flat_map(|table| &table.keys);
        let shown = format!("{:?}", keys.collect::<Vec<_>>());
        self.remember(Call::BatchGet, None, promise(strong), &answer.consumed, shown);
        Ok(answer)
    }

    async fn query(&self, request: &QueryRequest) -> Result<PageAnswer> {
        let answer = self.inner.query(request).await?;
        let strong = promise(request.consistent);
        let shown = format!("{:?} filter {:?}", request.range, request.filter);
        self.remember(Call::Query, request.index.as_ref(), strong, &answer.consumed, shown);
        Ok(answer)
    }

    async fn scan(&self, request: &ScanRequest) -> Result<PageAnswer> {
        let answer = self.inner.scan(request).await?;
        let strong = promise(request.consistent);
        let shown = format!("filter {:?}", request.filter);
        self.remember(Call::Scan, request.index.as_ref(), strong, &answer.consumed, shown);
        Ok(answer)
    }

    async fn transact_get(&self, request: &TransactGetRequest) -> Result<TransactGetAnswer> {
        let answer = self.inner.transact_get(request).await?;
        let shown = format!("{:?}", request.gets);
        self.remember(
            Call::TransactGet,
            None,
            Consistency::Transactional,
            &answer.consumed,
            shown,
        );
        Ok(answer)
    }
}
