//! The embedded store: one process, in memory or in one file, on `dynoxide` (SQLite underneath).
//!
//! It speaks DynamoDB's expression language, so requests go through the one renderer of the store crate. Its answers
//! are converted back to plain values here, and nothing of the engine is visible outside this crate.
//!
//! # How calls run
//!
//! The engine is synchronous behind one lock. Measured on two shared cores without optimisation, a get takes 35 to 60
//! microseconds, a put in memory 180, a put in a file 5000 (it waits for the disk, holding the lock), and handing a call
//! to a blocking thread and back 11. So in memory a small call runs where it is asked: it delays the other tasks of that
//! thread no more than their own work does. Calls that may touch a megabyte, and every call on a file, which may have to
//! wait for the lock of a write, go to the blocking threads of the runtime. `cargo run --example call_cost` measures it.
//!
//! # What it is not
//!
//! It is not shared between processes: opening a folder that another process has open is refused. Expired items stay
//! until [`EmbeddedStore::delete_expired`] is called.

mod convert;
mod error;
mod reads;
mod streams;
mod tables;
mod unfinished;
mod writes;

use async_trait::async_trait;
use dynoxide::Database;
use singlet_store::{
    BatchGetAnswer, BatchGetRequest, BatchWriteAnswer, BatchWriteRequest, DeleteRequest, GetAnswer, GetRequest,
    PageAnswer, PutRequest, QueryRequest, Result, ScanRequest, Store, StoreError, StreamPage, StreamRequest,
    TableDescription, TableSpec, TransactGetAnswer, TransactGetRequest, TransactWriteRequest, TtlChange, UpdateRequest,
    WriteAnswer,
};
use std::fmt;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The file of the database inside its folder.
pub const DATABASE_FILE: &str = "singlet.db";
/// The file whose lock says that a process has the folder open.
pub const LOCK_FILE: &str = "singlet.lock";

/// A store inside this process.
#[derive(Clone)]
pub struct EmbeddedStore {
    database: Database,
    // Held for as long as any clone of the store lives; in memory there is nothing to lock.
    folder: Option<Arc<Folder>>,
}

/// The folder of a store.
struct Folder {
    path: PathBuf,
    /// Its lock says that this process has the folder open.
    _lock: File,
    /// Tables are made and removed one after the other.
    tables: Mutex<()>,
}

/// How long a call may take, which decides where it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cost {
    /// A few rows.
    Small,
    /// Up to a page of a megabyte, or a hundred items.
    Large,
}

impl EmbeddedStore {
    /// An empty store in memory, gone when the last clone is dropped.
    pub fn memory() -> Result<Self> {
        let database = Database::memory().map_err(error::from_engine)?;
        Ok(Self { database, folder: None })
    }

    /// The store in a folder, which is created if it is not there.
    pub fn open(folder: &Path) -> Result<Self> {
        let failed =
            |error: std::io::Error| StoreError::unavailable(format!("cannot open `{}`: {error}", folder.display()));
        std::fs::create_dir_all(folder).map_err(failed)?;
        let lock = File::create(folder.join(LOCK_FILE)).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::unavailable(format!(
                    "`{}` is open in another process",
                    folder.display()
                )));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let file = folder.join(DATABASE_FILE);
        let Some(path) = file.to_str() else {
            return Err(StoreError::bad_request(format!(
                "`{}` is not valid UTF-8",
                file.display()
            )));
        };
        let database = Database::new(path).map_err(error::from_engine)?;
        unfinished::end(&database, folder)?;
        Ok(Self {
            database,
            folder: Some(Arc::new(Folder {
                path: folder.to_owned(),
                _lock: lock,
                tables: Mutex::new(()),
            })),
        })
    }

    /// Deletes every item whose TTL attribute names a time in the past, and returns how many there were. DynamoDB does
    /// so by itself, within days; here the owner of the store decides when.
    pub async fn delete_expired(&self) -> Result<usize> {
        self.run(Cost::Large, Database::sweep_ttl).await
    }

    /// Makes or removes a table, one at a time.
    async fn change_tables<F>(&self, change: F) -> Result<()>
    where
        F: FnOnce(&Database, Option<&Path>) -> Result<()> + Send + 'static,
    {
        let (database, folder) = (self.database.clone(), self.folder.clone());
        let changed = move || match folder {
            Some(folder) => {
                let _one = folder.tables.lock().unwrap_or_else(PoisonError::into_inner);
                change(&database, Some(&folder.path))
            }
            None => change(&database, None),
        };
        blocking(changed).await
    }

    /// Runs one call of the engine, where its cost says.
    async fn run<T, F>(&self, cost: Cost, call: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Database) -> dynoxide::Result<T> + Send + 'static,
    {
        if self.folder.is_none() && cost == Cost::Small {
            return call(&self.database).map_err(error::from_engine);
        }
        let database = self.database.clone();
        blocking(move || call(&database).map_err(error::from_engine)).await
    }
}

/// Runs a call where it delays no other task.
async fn blocking<T, F>(call: F) -> Result<T>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T> + Send + 'static,
{
    let failed = |error| StoreError::unavailable(format!("the engine stopped: {error}"));
    tokio::task::spawn_blocking(call).await.map_err(failed)?
}

impl fmt::Debug for EmbeddedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.folder.is_some() { "file" } else { "memory" };
        f.debug_tuple("EmbeddedStore").field(&place).finish()
    }
}

#[async_trait]
impl Store for EmbeddedStore {
    async fn get(&self, request: &GetRequest) -> Result<GetAnswer> {
        let engine_request = reads::get(request)?;
        let answer = self.run(Cost::Small, move |db| db.get_item(engine_request)).await?;
        reads::get_answer(answer)
    }

    async fn batch_get(&self, request: &BatchGetRequest) -> Result<BatchGetAnswer> {
        let engine_request = reads::batch_get(request)?;
        let answer = self
            .run(Cost::Large, move |db| db.batch_get_item(engine_request))
            .await?;
        reads::batch_get_answer(request, answer)
    }

    async fn query(&self, request: &QueryRequest) -> Result<PageAnswer> {
        let engine_request = reads::query(request)?;
        let answer = self
            .run(reads::query_cost(request), move |db| db.query(engine_request))
            .await?;
        reads::query_answer(answer)
    }

    async fn scan(&self, request: &ScanRequest) -> Result<PageAnswer> {
        let engine_request = reads::scan(request)?;
        let answer = self.run(Cost::Large, move |db| db.scan(engine_request)).await?;
        reads::scan_answer(answer)
    }

    async fn transact_get(&self, request: &TransactGetRequest) -> Result<TransactGetAnswer> {
        let engine_request = reads::transact_get(request)?;
        let answer = self
            .run(Cost::Large, move |db| db.transact_get_items(engine_request))
            .await?;
        reads::transact_get_answer(request, answer)
    }

    async fn put(&self, request: &PutRequest) -> Result<WriteAnswer> {
        let engine_request = writes::put(request)?;
        let answer = self.run(Cost::Small, move |db| db.put_item(engine_request)).await?;
        writes::answer(answer.attributes, answer.consumed_capacity)
    }

    async fn update(&self, request: &UpdateRequest) -> Result<WriteAnswer> {
        let engine_request = writes::update(request)?;
        let answer = self.run(Cost::Small, move |db| db.update_item(engine_request)).await?;
        writes::answer(answer.attributes, answer.consumed_capacity)
    }

    async fn delete(&self, request: &DeleteRequest) -> Result<WriteAnswer> {
        let engine_request = writes::delete(request)?;
        let answer = self.run(Cost::Small, move |db| db.delete_item(engine_request)).await?;
        writes::answer(answer.attributes, answer.consumed_capacity)
    }

    async fn batch_write(&self, request: &BatchWriteRequest) -> Result<BatchWriteAnswer> {
        let engine_request = writes::batch_write(request)?;
        let answer = self
            .run(Cost::Large, move |db| db.batch_write_item(engine_request))
            .await?;
        writes::batch_write_answer(answer)
    }

    async fn transact_write(&self, request: &TransactWriteRequest) -> Result<WriteAnswer> {
        let engine_request = writes::transact_write(request)?;
        let answer = self
            .run(writes::transaction_cost(request), move |db| {
                db.transact_write_items(engine_request)
            })
            .await?;
        writes::answer(None, answer.consumed_capacity.into_iter().flatten())
    }

    async fn create_table(&self, spec: &TableSpec) -> Result<()> {
        let spec = spec.clone();
        self.change_tables(move |db, folder| unfinished::create(db, folder, &spec))
            .await
    }

    async fn describe_table(&self, table: &str) -> Result<TableDescription> {
        let (description, ttl) = (tables::describe(table), tables::describe_ttl(table));
        let call = move |db: &Database| Ok((db.describe_table(description)?, db.describe_time_to_live(ttl)?));
        let (description, ttl) = self.run(Cost::Small, call).await?;
        tables::description(description.table, ttl.time_to_live_description)
    }

    async fn delete_table(&self, table: &str) -> Result<()> {
        let table = table.to_owned();
        self.change_tables(move |db, folder| unfinished::delete(db, folder, &table))
            .await
    }

    async fn list_tables(&self) -> Result<Vec<String>> {
        self.run(Cost::Small, tables::list_all).await
    }

    async fn update_ttl(&self, table: &str, attribute: Option<&str>) -> Result<()> {
        let current = self.describe_table(table).await?.spec.ttl;
        let Some(change) = TtlChange::between(table, current.as_deref(), attribute)? else {
            return Ok(());
        };
        let engine_request = tables::update_ttl(table, &change);
        self.run(Cost::Small, move |db| db.update_time_to_live(engine_request))
            .await
            .map(drop)
    }

    async fn read_stream(&self, request: &StreamRequest) -> Result<StreamPage> {
        let reading = streams::Reading::new(request)?;
        let found = self.run(Cost::Large, move |db| reading.records(db)).await?;
        streams::page(request.position.clone(), found)
    }
}
