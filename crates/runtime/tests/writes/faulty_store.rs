//! A store that others use too, and that fails: calls give way to one another, and some are throttled, run into a transaction of
//! somebody else, are lost before they arrive or after they were done, or are done by half where the protocol allows it.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use singlet_store::{
    BatchGetAnswer, BatchGetRequest, BatchWriteAnswer, BatchWriteRequest, Cancellation, DeleteRequest, ErrorKind,
    GetAnswer, GetRequest, PageAnswer, PutRequest, QueryRequest, Result, ScanRequest, Store, StoreError, StoreLayer,
    StreamPage, StreamRequest, TableDescription, TableSpec, TransactGetAnswer, TransactGetRequest,
    TransactWriteRequest, UpdateRequest, WriteAnswer,
};
use singlet_store_embedded::EmbeddedStore;

/// What may happen to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Nothing.
    None,
    Throttled,
    Conflict,
    /// The call never arrives.
    LostBefore,
    /// The call is done, but its answer never arrives.
    LostAfter,
    /// A batch is done by half.
    Partial,
}

const ON_READS: &[Fault] = &[Fault::Throttled, Fault::LostBefore];
const ON_WRITES: &[Fault] = &[Fault::Throttled, Fault::Conflict, Fault::LostBefore, Fault::LostAfter];
const ON_BATCHES: &[Fault] = &[Fault::Throttled, Fault::LostBefore, Fault::LostAfter, Fault::Partial];
const ON_TABLES: &[Fault] = &[];

/// A store in memory with faults in the way.
#[derive(Debug)]
pub struct FaultyStore {
    inner: EmbeddedStore,
    faults: Mutex<Faults>,
    meanwhile: Mutex<Option<Meanwhile>>,
}

/// What others do just before a write arrives.
struct Meanwhile(Pin<Box<dyn Future<Output = ()> + Send>>);

impl std::fmt::Debug for Meanwhile {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Meanwhile")
    }
}

#[derive(Debug)]
struct Faults {
    random: fastrand::Rng,
    /// How many of a hundred calls fail.
    percent: u32,
    /// The only faults there are; all, where none is named.
    only: Vec<Fault>,
    /// What happens to the next writes, before chance decides.
    next: VecDeque<Fault>,
    seen: BTreeMap<Fault, u32>,
}

impl FaultyStore {
    /// A store that fails so many of a hundred calls.
    pub fn new(percent: u32, seed: u64) -> Arc<Self> {
        FaultyStore::with(percent, seed, &[])
    }

    /// A store on which others are in the way of so many of a hundred writes.
    pub fn busy(percent: u32, seed: u64) -> Arc<Self> {
        FaultyStore::with(percent, seed, &[Fault::Conflict])
    }

    fn with(percent: u32, seed: u64, only: &[Fault]) -> Arc<Self> {
        Arc::new(FaultyStore {
            inner: EmbeddedStore::memory().unwrap(),
            faults: Mutex::new(Faults {
                random: fastrand::Rng::with_seed(seed),
                percent,
                only: only.to_vec(),
                next: VecDeque::new(),
                seen: BTreeMap::new(),
            }),
            meanwhile: Mutex::new(None),
        })
    }

    /// These faults happen to the next writes, one after the other.
    pub fn expect(&self, faults: &[Fault]) {
        self.faults.lock().unwrap().next.extend(faults);
    }

    /// Others do this just before the next write arrives.
    pub fn meanwhile(&self, others: impl Future<Output = ()> + Send + 'static) {
        *self.meanwhile.lock().unwrap() = Some(Meanwhile(Box::pin(others)));
    }

    /// From here on nothing fails. Says how often what failed before.
    pub fn calm(&self) -> BTreeMap<Fault, u32> {
        let mut faults = self.faults.lock().unwrap();
        faults.percent = 0;
        faults.next.clear();
        faults.seen.clone()
    }

    fn fault(&self, possible: &[Fault]) -> Option<Fault> {
        let mut faults = self.faults.lock().unwrap();
        if possible == ON_WRITES
            && let Some(next) = faults.next.pop_front()
        {
            return Some(next);
        }
        let percent = faults.percent;
        if faults.random.u32(0..100) >= percent {
            return None;
        }
        let only = faults.only.clone();
        let possible: Vec<Fault> = possible
            .iter()
            .filter(|fault| only.is_empty() || only.contains(fault))
            .copied()
            .collect();
        // Every other time the one that was seen least: none is left out of a short run.
        let least = possible
            .iter()
            .copied()
            .min_by_key(|fault| faults.seen.get(fault).copied().unwrap_or(0));
        let fault = match faults.random.bool() {
            true => least?,
            false => faults.random.choice(possible)?,
        };
        *faults.seen.entry(fault).or_default() += 1;
        Some(fault)
    }

    /// Lets others run, then makes a call, or fails.
    async fn call<T>(&self, possible: &[Fault], call: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::task::yield_now().await;
        let others = match possible == ON_WRITES {
            true => self.meanwhile.lock().unwrap().take(),
            false => None,
        };
        if let Some(Meanwhile(others)) = others {
            others.await;
        }
        match self.fault(possible) {
            Some(Fault::Throttled) => Err(StoreError::new(ErrorKind::Throttled, "injected")),
            Some(Fault::Conflict) => Err(StoreError::new(ErrorKind::Conflict, "injected")),
            Some(Fault::LostBefore) => Err(StoreError::unavailable("injected before")),
            Some(Fault::LostAfter) => {
                let _lost = call.await;
                Err(StoreError::unavailable("injected after"))
            }
            Some(Fault::None | Fault::Partial) | None => call.await,
        }
    }

    /// A transaction fails as a whole, or names the action that others were in the way of.
    fn cancelled(&self, error: StoreError, actions: usize) -> StoreError {
        let reason = match error.kind() {
            ErrorKind::Throttled => Cancellation::Throttled,
            ErrorKind::Conflict => Cancellation::Conflict,
            _ => return error,
        };
        let mut faults = self.faults.lock().unwrap();
        if faults.random.bool() {
            return error;
        }
        let mut reasons = vec![Cancellation::Nothing; actions];
        let at = faults.random.usize(0..actions);
        reasons[at] = reason;
        StoreError::new(ErrorKind::Cancelled(reasons), "injected")
    }
}

#[async_trait]
impl StoreLayer for FaultyStore {
    fn beneath(&self) -> &dyn Store {
        &self.inner
    }

    async fn get(&self, request: &GetRequest) -> Result<GetAnswer> {
        self.call(ON_READS, self.inner.get(request)).await
    }

    async fn batch_get(&self, request: &BatchGetRequest) -> Result<BatchGetAnswer> {
        let Some(Fault::Partial) = self.fault(&[Fault::Partial]) else {
            return self.call(ON_READS, self.inner.batch_get(request)).await;
        };
        let mut now = request.clone();
        let mut later = Vec::new();
        for table in &mut now.tables {
            let half = table.keys.len().div_ceil(2);
            let mut rest = table.clone();
            rest.keys = table.keys.split_off(half);
            later.extend(Some(rest).filter(|rest| !rest.keys.is_empty()));
        }
        let mut answer = self.inner.batch_get(&now).await?;
        answer.unprocessed.extend(later);
        Ok(answer)
    }

    async fn query(&self, request: &QueryRequest) -> Result<PageAnswer> {
        self.call(ON_READS, self.inner.query(request)).await
    }

    async fn scan(&self, request: &ScanRequest) -> Result<PageAnswer> {
        self.call(ON_READS, self.inner.scan(request)).await
    }

    async fn transact_get(&self, request: &TransactGetRequest) -> Result<TransactGetAnswer> {
        self.call(ON_READS, self.inner.transact_get(request)).await
    }

    async fn put(&self, request: &PutRequest) -> Result<WriteAnswer> {
        self.call(ON_WRITES, self.inner.put(request)).await
    }

    async fn update(&self, request: &UpdateRequest) -> Result<WriteAnswer> {
        self.call(ON_WRITES, self.inner.update(request)).await
    }

    async fn delete(&self, request: &DeleteRequest) -> Result<WriteAnswer> {
        self.call(ON_WRITES, self.inner.delete(request)).await
    }

    async fn batch_write(&self, request: &BatchWriteRequest) -> Result<BatchWriteAnswer> {
        let Some(Fault::Partial) = self.fault(&[Fault::Partial]) else {
            return self.call(ON_BATCHES, self.inner.batch_write(request)).await;
        };
        let mut now = request.clone();
        let later = now.writes.split_off(now.writes.len().div_ceil(2));
        let mut answer = self.inner.batch_write(&now).await?;
        answer.unprocessed.extend(later);
        Ok(answer)
    }

    async fn transact_write(&self, request: &TransactWriteRequest) -> Result<WriteAnswer> {
        let called = self.call(ON_WRITES, self.inner.transact_write(request)).await;
        called.map_err(|error| match error.message() {
            "injected" => self.cancelled(error, request.actions.len()),
            _ => error,
        })
    }

    async fn create_table(&self, spec: &TableSpec) -> Result<()> {
        self.call(ON_TABLES, self.inner.create_table(spec)).await
    }

    async fn describe_table(&self, table: &str) -> Result<TableDescription> {
        self.call(ON_TABLES, self.inner.describe_table(table)).await
    }

    async fn delete_table(&self, table: &str) -> Result<()> {
        self.call(ON_TABLES, self.inner.delete_table(table)).await
    }

    async fn list_tables(&self) -> Result<Vec<String>> {
        self.call(ON_TABLES, self.inner.list_tables()).await
    }

    async fn update_ttl(&self, table: &str, attribute: Option<&str>) -> Result<()> {
        self.call(ON_TABLES, self.inner.update_ttl(table, attribute)).await
    }

    async fn read_stream(&self, request: &StreamRequest) -> Result<StreamPage> {
        self.call(ON_READS, self.inner.read_stream(request)).await
    }
}
