//! A store on which a write can be tried: what it would touch is copied into a table in memory, and written there.
//!
//! **Invariant: nothing beneath is written.** Every call that changes something ends here; the store beneath is only read. The copy is
//! a real store, so that conditions, sizes and units are those that the write will meet.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use singlet_item::Item;
use singlet_runtime::{Engine, table};
use singlet_store::{
    BatchGetAnswer, BatchGetRequest, BatchGetTable, BatchWriteAnswer, BatchWriteRequest, DeleteRequest, GetAnswer,
    GetRequest, PageAnswer, PutRequest, QueryRequest, Result, ScanRequest, Store, StoreError, StoreLayer, TableChange,
    TableSpec, TransactGetAnswer, TransactGetRequest, TransactWriteRequest, UpdateRequest, WriteAnswer,
};
use singlet_store_embedded::EmbeddedStore;

use crate::noting_store::{key_of, key_of_action, key_of_batched};

/// How many rows a dry run may touch.
pub(crate) const DRY_ROWS_MAX: usize = 1_000;

/// A store on which a write can be tried.
#[derive(Debug)]
pub(crate) struct DryStore {
    beneath: Arc<dyn Store>,
    copy: EmbeddedStore,
    table: String,
    key: Vec<String>,
    /// Rows that were copied, by key, as they were; none where there was none.
    copied: Mutex<Vec<(Item, Option<Item>)>>,
}

impl DryStore {
    /// Makes an empty copy of an engine's table.
    pub async fn new(engine: &Engine) -> Result<Arc<Self>> {
        let model = engine.model();
        let copy = EmbeddedStore::memory()?;
        copy.create_table(&table::table_spec(model)).await?;
        Ok(Arc::new(DryStore {
            beneath: Arc::clone(engine.store()),
            copy,
            table: model.table.name.clone(),
            key: model.table.key.iter().map(|key| key.name.clone()).collect(),
            copied: Mutex::default(),
        }))
    }

    fn copied(&self) -> MutexGuard<'_, Vec<(Item, Option<Item>)>> {
        self.copied.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_copy(&self, key: &Item) -> bool {
        self.copied().iter().any(|(known, _)| known == key)
    }

    /// Copies rows that are about to be written or checked.
    async fn bring(&self, keys: Vec<Item>) -> Result<()> {
        for key in keys {
            if self.has_copy(&key) {
                continue;
            }
            if self.copied().len() >= DRY_ROWS_MAX {
                let message = format!("a dry run touches at most {DRY_ROWS_MAX} rows");
                return Err(StoreError::bad_request(message));
            }
            let request = GetRequest {
                table: self.table.clone(),
                key: key.clone(),
                consistent: true,
                ..GetRequest::default()
            };
            let found = self.beneath.get(&request).await?.item;
            if let Some(item) = &found {
                let put = PutRequest {
                    table: self.table.clone(),
                    item: item.clone(),
                    ..PutRequest::default()
                };
                self.copy.put(&put).await?;
            }
            self.copied().push((key, found));
        }
        Ok(())
    }

    /// Rows that would change: key, before, after.
    pub async fn changed_rows(&self) -> Result<Vec<(Item, Option<Item>, Option<Item>)>> {
        let copied = self.copied().clone();
        let mut changes = Vec::new();
        for (key, before) in copied {
            let request = GetRequest {
                table: self.table.clone(),
                key: key.clone(),
                consistent: true,
                ..GetRequest::default()
            };
            let after = self.copy.get(&request).await?.item;
            if before != after {
                changes.push((key, before, after));
            }
        }
        Ok(changes)
    }

    /// What a page from beneath is after what was tried: rows that were changed or removed since are as they are now. Rows that the
    /// dry run made itself are in no page.
    async fn corrected(&self, mut page: PageAnswer) -> Result<PageAnswer> {
        let copied = self.copied().clone();
        if copied.is_empty() || page.items.is_empty() {
            return Ok(page);
        }
        let mut items = Vec::with_capacity(page.items.len());
        for item in std::mem::take(&mut page.items) {
            let key = key_of(&self.key, &item);
            if !copied.iter().any(|(known, _)| *known == key) {
                items.push(item);
                continue;
            }
            let request = GetRequest {
                table: self.table.clone(),
                key,
                consistent: true,
                ..GetRequest::default()
            };
            let now = self.copy.get(&request).await?.item;
            // What was projected stays so.
            items.extend(now.map(|now| {
                now.into_iter()
                    .filter(|(name, _)| item.contains_key(name))
                    .collect::<Item>()
            }));
        }
        page.count = items.len();
        page.items = items;
        Ok(page)
    }
}

fn refused() -> StoreError {
    StoreError::bad_request("a dry run changes no table")
}

#[async_trait]
impl StoreLayer for DryStore {
    fn beneath(&self) -> &dyn Store {
        self.beneath.as_ref()
    }

    async fn get(&self, request: &GetRequest) -> Result<GetAnswer> {
        match self.has_copy(&request.key) {
            true => self.copy.get(request).await,
            false => self.beneath.get(request).await,
        }
    }

    async fn batch_get(&self, request: &BatchGetRequest) -> Result<BatchGetAnswer> {
        let mut answer = BatchGetAnswer::default();
        for table in &request.tables {
            let (own, others): (Vec<Item>, Vec<Item>) = table.keys.iter().cloned().partition(|key| self.has_copy(key));
            for (keys, is_own) in [(own, true), (others, false)] {
                if keys.is_empty() {
                    continue;
                }
                let part = BatchGetRequest {
                    tables: vec![BatchGetTable { keys, ..table.clone() }],
                };
                let got = match is_own {
                    true => self.copy.batch_get(&part).await?,
                    false => self.beneath.batch_get(&part).await?,
                };
                for (name, items) in got.items {
                    answer.items.entry(name).or_default().extend(items);
                }
                answer.unprocessed.extend(got.unprocessed);
                answer.consumed += got.consumed;
            }
        }
        Ok(answer)
    }

    async fn transact_get(&self, request: &TransactGetRequest) -> Result<TransactGetAnswer> {
        if !request.gets.iter().any(|get| self.has_copy(&get.key)) {
            return self.beneath.transact_get(request).await;
        }
        self.bring(request.gets.iter().map(|get| get.key.clone()).collect())
            .await?;
        self.copy.transact_get(request).await
    }

    async fn query(&self, request: &QueryRequest) -> Result<PageAnswer> {
        let page = self.beneath.query(request).await?;
        self.corrected(page).await
    }

    async fn scan(&self, request: &ScanRequest) -> Result<PageAnswer> {
        let page = self.beneath.scan(request).await?;
        self.corrected(page).await
    }

    async fn put(&self, request: &PutRequest) -> Result<WriteAnswer> {
        self.bring(vec![key_of(&self.key, &request.item)]).await?;
        self.copy.put(request).await
    }

    async fn update(&self, request: &UpdateRequest) -> Result<WriteAnswer> {
        self.bring(vec![request.key.clone()]).await?;
        self.copy.update(request).await
    }

    async fn delete(&self, request: &DeleteRequest) -> Result<WriteAnswer> {
        self.bring(vec![request.key.clone()]).await?;
        self.copy.delete(request).await
    }

    async fn batch_write(&self, request: &BatchWriteRequest) -> Result<BatchWriteAnswer> {
        let keys = request.writes.iter().map(|write| key_of_batched(&self.key, write));
        self.bring(keys.collect()).await?;
        self.copy.batch_write(request).await
    }

    async fn transact_write(&self, request: &TransactWriteRequest) -> Result<WriteAnswer> {
        let keys = request.actions.iter().map(|action| key_of_action(&self.key, action));
        self.bring(keys.collect()).await?;
        self.copy.transact_write(request).await
    }

    async fn create_table(&self, _: &TableSpec) -> Result<()> {
        Err(refused())
    }

    async fn update_table(&self, _: &str, _: &TableChange) -> Result<()> {
        Err(refused())
    }

    async fn delete_table(&self, _: &str) -> Result<()> {
        Err(refused())
    }

    async fn update_ttl(&self, _: &str, _: Option<&str>) -> Result<()> {
        Err(refused())
    }
}
