//! An index that a model adds is made while the table is served.
//!
//! Rows get the keys of the new index one by one, each under the condition that it is as it was read; then the store makes the index, and
//! then only the table knows the new model alone. Whoever is killed begins anew: rows that have their keys are left as they are.
//!
//! **Invariant: no read sees half an index.** Until it is whole, reads by it are told to come again; all others, and every write, go on.
//! Writes keep the keys of the rows that they touch from the first moment on, so that one reading of the table suffices.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use singlet_item::Item;
use singlet_model::model::Entity;
use singlet_runtime::load::entity_of_item;
use singlet_runtime::{Attributes, Caller, Engine, RuntimeError, Scope, key_in, retried_past_conflicts, row, table};
use singlet_store::{
    GetRequest, IndexSpec, PageAnswer, PutRequest, QueryRequest, Result as StoreResult, ScanRequest, Store, StoreError,
    StoreLayer, TableChange, WantedItem,
};

use crate::error::{MigrateError, RowMisfit};
use crate::step::as_read;
use crate::table_steps::{TableStep, wait_for_table};

/// How many rows are read at a time.
const PAGE_ITEMS: u32 = 200;

/// How often a row is looked at anew because somebody changed it meanwhile.
const ATTEMPTS_MAX: usize = 16;

const NOT_WHOLE: &str = "an index that this needs is being built";

/// A store whose new indexes are not whole yet.
#[derive(Debug)]
struct IndexGate {
    store: Arc<dyn Store>,
    pending: Arc<RwLock<BTreeSet<String>>>,
}

impl IndexGate {
    fn check(&self, index: Option<&String>) -> StoreResult<()> {
        let Some(index) = index else { return Ok(()) };
        match self
            .pending
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(index)
        {
            true => Err(StoreError::unavailable(NOT_WHOLE).with_told(Some(NOT_WHOLE))),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl StoreLayer for IndexGate {
    fn beneath(&self) -> &dyn Store {
        &*self.store
    }

    fn passes_at_once(&self) -> bool {
        true
    }

    fn passes_wanted(&self) -> bool {
        true
    }

    async fn query_wanted(&self, request: &QueryRequest, wanted: WantedItem<'_>) -> StoreResult<PageAnswer> {
        self.check(request.index.as_ref())?;
        self.store.query_wanted(request, wanted).await
    }

    async fn query(&self, request: &QueryRequest) -> StoreResult<PageAnswer> {
        self.check(request.index.as_ref())?;
        self.store.query(request).await
    }

    async fn scan(&self, request: &ScanRequest) -> StoreResult<PageAnswer> {
        self.check(request.index.as_ref())?;
        self.store.scan(request).await
    }
}

/// What makes indexes while their table is served.
#[derive(Debug)]
pub struct IndexBuilder {
    engine: Engine,
    pending: Arc<RwLock<BTreeSet<String>>>,
}

/// How many rows got keys of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexesBuilt {
    /// Rows that were written.
    pub rows: u64,
}

/// The same engine, whose reads by some indexes wait until these are whole; and what makes them so.
pub fn before_indexes(engine: Engine, names: &[String]) -> (Engine, IndexBuilder) {
    let pending = Arc::new(RwLock::new(names.iter().cloned().collect()));
    let gated = engine.on_store(Arc::new(IndexGate {
        store: Arc::clone(engine.store()),
        pending: Arc::clone(&pending),
    }));
    (gated, IndexBuilder { engine, pending })
}

impl IndexBuilder {
    /// Fills and makes the indexes, and has the table know the model alone. The clock gives epoch milliseconds.
    ///
    /// # Errors
    ///
    /// Where a row has no key for an index, or the store fails: the indexes stay as they are, and the next start goes on.
    pub async fn build_indexes(&self, clock: &(dyn Fn() -> i64 + Sync)) -> Result<IndexesBuilt, MigrateError> {
        let rows = self.fill_rows(clock).await?;
        let (store, table) = (self.engine.store(), &self.engine.model().table.name);
        for index in self.pending_indexes() {
            wait_for_table(&**store, table).await?;
            let live = store.describe_table(table).await?.spec;
            if !live.indexes.iter().any(|known| known.name == index.name) {
                let step = TableStep::Change(TableChange::AddIndex(index));
                step.take(&**store, table).await?;
            }
        }
        wait_for_table(&**store, table).await?;
        let control = self.engine.table_control().await?.ok_or(MigrateError::Unknown)?;
        let is_still = control.current_migration().is_none() && control.current_relocation().is_none();
        if !is_still || !self.engine.end_migration(&control).await? {
            // Somebody has begun to migrate the table, and makes the indexes; or to carry it elsewhere.
            return Err(RuntimeError::Conflict.into());
        }
        self.pending.write().unwrap_or_else(PoisonError::into_inner).clear();
        Ok(IndexesBuilt { rows })
    }

    fn pending_indexes(&self) -> Vec<IndexSpec> {
        let pending = self.pending.read().unwrap_or_else(PoisonError::into_inner);
        let wanted = table::table_spec(self.engine.model()).indexes.into_iter();
        wanted.filter(|index| pending.contains(&index.name)).collect()
    }

    async fn fill_rows(&self, clock: &(dyn Fn() -> i64 + Sync)) -> Result<u64, MigrateError> {
        let indexes = self.pending_indexes();
        let keys = indexes.iter().flat_map(|index| index.key.attributes());
        let keys: BTreeSet<String> = keys.map(|key| key.name.clone()).collect();
        let (mut written, mut start) = (0, None);
        loop {
            let request = ScanRequest {
                table: self.engine.model().table.name.clone(),
                consistent: true,
                limit: Some(PAGE_ITEMS),
                start,
                ..ScanRequest::default()
            };
            let store = self.engine.store();
            let page = retried_past_conflicts(self.engine.bounds(), || store.scan(&request)).await?;
            for item in page.items {
                written += u64::from(self.fill_row(item, &keys, clock).await?);
            }
            start = page.last_key;
            if start.is_none() {
                return Ok(written);
            }
        }
    }

    /// Gives a row the keys that it lacks; whether it lacked any.
    async fn fill_row(
        &self,
        mut item: Item,
        keys: &BTreeSet<String>,
        clock: &(dyn Fn() -> i64 + Sync),
    ) -> Result<bool, MigrateError> {
        let (store, bounds) = (self.engine.store(), self.engine.bounds());
        let table = self.engine.model().table.name.clone();
        for _ in 0..ATTEMPTS_MAX {
            let Some(filled) = self.filled(&item, keys, clock())? else {
                return Ok(false);
            };
            let put = PutRequest {
                table: table.clone(),
                condition: Some(as_read(&item, &filled)),
                item: filled,
                ..PutRequest::default()
            };
            match retried_past_conflicts(bounds, || store.put(&put)).await {
                Ok(_) => return Ok(true),
                Err(error) if error.is_condition_failed() => {}
                Err(error) => return Err(error.into()),
            }
            let get = GetRequest {
                table: table.clone(),
                key: key_in(self.engine.model(), &item),
                consistent: true,
                ..GetRequest::default()
            };
            match retried_past_conflicts(bounds, || store.get(&get)).await?.item {
                Some(found) => item = found,
                None => return Ok(false),
            }
        }
        Err(RuntimeError::Conflict.into())
    }

    /// A row with the keys that it should have; none where it has them, or is no row.
    fn filled(&self, item: &Item, keys: &BTreeSet<String>, now: i64) -> Result<Option<Item>, MigrateError> {
        let model = self.engine.model();
        let entity = entity_of_item(model, item).filter(|entity| entity.role.is_none() && !entity.index.is_empty());
        let Some(entity) = entity else { return Ok(None) };
        let own = match self.own_item(entity, item, now) {
            // What has ended is nobody's any more.
            Err(_) if row::has_expired(model, item, now) => return Ok(None),
            own => own.map_err(|error| misfit(entity, key_in(model, item), &error))?,
        };
        let mut filled = item.clone();
        for key in keys {
            match own.get(key) {
                Some(value) => drop(filled.insert(key.clone(), value.clone())),
                None => drop(filled.remove(key)),
            }
        }
        Ok((filled != *item).then_some(filled))
    }

    fn own_item(&self, entity: &Entity, item: &Item, now: i64) -> Result<Item, RuntimeError> {
        let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
        let scope = Scope {
            setting: self.engine.setting(),
            now,
            args: &nothing,
            caller: &nobody,
            attributes: None,
            row: None,
            bound: &nothing,
        };
        let row = row::decode_as_stored(entity, item)?;
        row::encode_own(self.engine.model(), entity, &row, scope)
    }
}

fn misfit(entity: &Entity, key: Item, error: &RuntimeError) -> MigrateError {
    let misfit = RowMisfit {
        key,
        entity: entity.name.clone(),
        reason: error.to_string(),
    };
    MigrateError::Blocked(1, vec![misfit])
}
