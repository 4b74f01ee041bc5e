//! A store that notes what is asked of the one beneath: calls with what they looked at, and rows as they were before.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use singlet_item::Item;
use singlet_store::{
    BatchGetAnswer, BatchGetRequest, BatchWrite, BatchWriteAnswer, BatchWriteRequest, Consumed, DeleteRequest,
    GetAnswer, GetRequest, PageAnswer, PutRequest, QueryRequest, Result, ScanRequest, Store, StoreLayer,
    TransactGetAnswer, TransactGetRequest, TransactWrite, TransactWriteRequest, UpdateRequest, WriteAnswer,
};

/// How many rows are noted of one operation; what goes beyond is done, and not noted.
pub(crate) const NOTED_ROWS_MAX: usize = 500;

/// How many calls are noted of one operation.
const NOTED_CALLS_MAX: usize = 200;

/// A call of the store.
#[derive(Clone, Debug)]
pub(crate) struct NotedCall {
    pub call: &'static str,
    pub index: Option<String>,
    /// Items that it looked at.
    pub looked: usize,
    /// Items that came back.
    pub returned: usize,
    pub consumed: Consumed,
}

/// What was noted.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub calls: Vec<NotedCall>,
    /// Rows by their key, as they were when they were first met; none where there was none.
    pub rows: Vec<(Item, Option<Item>)>,
    /// The keys of rows that were written or were about to be.
    pub written: Vec<Item>,
    /// Whether there was more than is noted.
    pub is_cut: bool,
}

/// A store that notes what is asked of the one beneath.
#[derive(Debug)]
pub(crate) struct NotingStore {
    beneath: Arc<dyn Store>,
    table: String,
    key: Vec<String>,
    /// Whether rows that are only read are noted too.
    notes_reads: bool,
    notes: Mutex<Notes>,
}

impl NotingStore {
    pub fn new(engine: &singlet_runtime::Engine, notes_reads: bool) -> Arc<Self> {
        let table = &engine.model().table;
        Arc::new(NotingStore {
            beneath: Arc::clone(engine.store()),
            table: table.name.clone(),
            key: table.key.iter().map(|key| key.name.clone()).collect(),
            notes_reads,
            notes: Mutex::default(),
        })
    }

    pub fn lock_notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(
        &self,
        call: &'static str,
        index: Option<&String>,
        (looked, returned): (usize, usize),
        consumed: &Consumed,
    ) {
        let mut notes = self.lock_notes();
        if notes.calls.len() >= NOTED_CALLS_MAX {
            notes.is_cut = true;
            return;
        }
        notes.calls.push(NotedCall {
            call,
            index: index.cloned(),
            looked,
            returned,
            consumed: consumed.clone(),
        });
    }

    /// Notes rows as they are now, those that are not noted yet.
    async fn meet(&self, keys: Vec<Item>, written: bool) -> Result<()> {
        for key in keys {
            {
                let mut notes = self.lock_notes();
                if written && !notes.written.contains(&key) {
                    notes.written.push(key.clone());
                }
                if notes.rows.iter().any(|(known, _)| *known == key) {
                    continue;
                }
                if notes.rows.len() >= NOTED_ROWS_MAX {
                    notes.is_cut = true;
                    return Ok(());
                }
            }
            let request = GetRequest {
                table: self.table.clone(),
                key: key.clone(),
                consistent: true,
                ..GetRequest::default()
            };
            let found = self.beneath.get(&request).await?.item;
            self.lock_notes().rows.push((key, found));
        }
        Ok(())
    }

    async fn meet_read<'i>(&self, items: impl Iterator<Item = &'i Item>) -> Result<()> {
        if !self.notes_reads {
            return Ok(());
        }
        let keys = items
            .map(|item| key_of(&self.key, item))
            .filter(|key| key.len() == self.key.len());
        let keys: Vec<Item> = keys.collect();
        self.meet(keys, false).await
    }
}

/// The key attributes of an item.
pub(crate) fn key_of(names: &[String], item: &Item) -> Item {
    names
        .iter()
        .filter_map(|name| Some((name.clone(), item.get(name)?.clone())))
        .collect()
}

/// The keys that an action of a transaction touches.
pub(crate) fn key_of_action(names: &[String], action: &TransactWrite) -> Item {
    match action {
        TransactWrite::Put(put) => key_of(names, &put.item),
        TransactWrite::Update(update) => update.key.clone(),
        TransactWrite::Delete(delete) => delete.key.clone(),
        TransactWrite::Check { key, .. } => key.clone(),
    }
}

/// The keys that a batch touches.
pub(crate) fn key_of_batched(names: &[String], write: &BatchWrite) -> Item {
    match write {
        BatchWrite::Put { item, .. } => key_of(names, item),
        BatchWrite::Delete { key, .. } => key.clone(),
    }
}

#[async_trait]
impl StoreLayer for NotingStore {
    fn beneath(&self) -> &dyn Store {
        self.beneath.as_ref()
    }

    async fn get(&self, request: &GetRequest) -> Result<GetAnswer> {
        let answer = self.beneath.get(request).await?;
        let found = usize::from(answer.item.is_some());
        self.note("get", None, (found, found), &answer.consumed);
        if self.notes_reads {
            self.meet(vec![request.key.clone()], false).await?;
        }
        Ok(answer)
    }

    async fn batch_get(&self, request: &BatchGetRequest) -> Result<BatchGetAnswer> {
        let answer = self.beneath.batch_get(request).await?;
        let found = answer.items.values().map(Vec::len).sum();
        self.note("batch get", None, (found, found), &answer.consumed);
        if self.notes_reads {
            let keys = request.tables.iter().flat_map(|table| table.keys.iter().cloned());
            self.meet(keys.collect(), false).await?;
        }
        Ok(answer)
    }

    async fn transact_get(&self, request: &TransactGetRequest) -> Result<TransactGetAnswer> {
        let answer = self.beneath.transact_get(request).await?;
        let found = answer.items.iter().flatten().count();
        self.note("transact get", None, (found, found), &answer.consumed);
        if self.notes_reads {
            let keys = request.gets.iter().map(|get| get.key.clone());
            self.meet(keys.collect(), false).await?;
        }
        Ok(answer)
    }

    async fn query(&self, request: &QueryRequest) -> Result<PageAnswer> {
        let answer = self.beneath.query(request).await?;
        let found = (answer.scanned, answer.count);
        self.note("query", request.index.as_ref(), found, &answer.consumed);
        // What the filter left out does not come back, and decides nothing.
        self.meet_read(answer.items.iter()).await?;
        Ok(answer)
    }

    async fn scan(&self, request: &ScanRequest) -> Result<PageAnswer> {
        let answer = self.beneath.scan(request).await?;
        let found = (answer.scanned, answer.count);
        self.note("scan", request.index.as_ref(), found, &answer.consumed);
        self.meet_read(answer.items.iter()).await?;
        Ok(answer)
    }

    async fn put(&self, request: &PutRequest) -> Result<WriteAnswer> {
        self.meet(vec![key_of(&self.key, &request.item)], true).await?;
        let answer = self.beneath.put(request).await?;
        self.note("put", None, (0, 0), &answer.consumed);
        Ok(answer)
    }

    async fn update(&self, request: &UpdateRequest) -> Result<WriteAnswer> {
        self.meet(vec![request.key.clone()], true).await?;
        let answer = self.beneath.update(request).await?;
        self.note("update", None, (0, 0), &answer.consumed);
        Ok(answer)
    }

    async fn delete(&self, request: &DeleteRequest) -> Result<WriteAnswer> {
        self.meet(vec![request.key.clone()], true).await?;
        let answer = self.beneath.delete(request).await?;
        self.note("delete", None, (0, 0), &answer.consumed);
        Ok(answer)
    }

    async fn batch_write(&self, request: &BatchWriteRequest) -> Result<BatchWriteAnswer> {
        let keys = request.writes.iter().map(|write| key_of_batched(&self.key, write));
        self.meet(keys.collect(), true).await?;
        let answer = self.beneath.batch_write(request).await?;
        self.note("batch write", None, (0, 0), &answer.consumed);
        Ok(answer)
    }

    async fn transact_write(&self, request: &TransactWriteRequest) -> Result<WriteAnswer> {
        let keys = request.actions.iter().map(|action| key_of_action(&self.key, action));
        self.meet(keys.collect(), true).await?;
        let answer = self.beneath.transact_write(request).await?;
        self.note("transact write", None, (0, 0), &answer.consumed);
        Ok(answer)
    }
}
