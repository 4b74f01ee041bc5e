//! The embedded store of before: one process, in memory or in one file, on `dynoxide` (SQLite underneath). It is what the store of today
//! is measured against, and a second opinion in its tests.
//!
//! It speaks DynamoDB's expression language, so requests go through the one renderer of the store crate. Its answers
//! are converted back to plain values here, and nothing of the engine is visible outside this crate.
//!
//! # How calls run
//!
//! The engine is synchronous behind one lock. Measured on two shared cores without optimisation, a get takes 35 to 60
//! microseconds, a put in memory 180, and handing a call to a blocking thread and back 11. So in memory a small call runs
//! where it is asked: it delays the other tasks of that thread no more than their own work does. So does a small read of a
//! file while nobody writes. Calls that may touch a megabyte, every write to a file, which waits for the disk, and reads
//! beside it go to the blocking threads of the runtime. `cargo run --example call_cost` measures it.
//!
//! # What it is not
//!
//! It is not shared between processes: opening a folder that another process has open is refused. Expired items stay
//! until [`EmbeddedStore::delete_expired`] is called.

mod convert;
mod error;
mod journal;
mod reads;
mod streams;
mod tables;
mod tokens;
mod unfinished;
mod upkeep;
mod writes;

use async_trait::async_trait;
use dynoxide::Database;
use journal::Journal;
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
use std::time::Instant;
use tokens::{Once, Tokens};

/// The file of the database inside its folder.
pub const DATABASE_FILE: &str = "singlet.db";
/// The journal that SQLite keeps beside it while it is open.
const JOURNAL_FILE: &str = "singlet.db-wal";
/// The file whose lock says that a process has the folder open.
pub const LOCK_FILE: &str = "singlet.lock";

/// A store inside this process.
#[derive(Clone)]
pub struct EmbeddedStore {
    database: Database,
    tokens: Arc<Tokens>,
    // Held for as long as any clone of the store lives; in memory there is nothing to lock.
    folder: Option<Arc<Folder>>,
}

/// The folder of a store.
struct Folder {
    path: PathBuf,
    journal: Journal,
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
        Ok(Self {
            database,
            tokens: Arc::default(),
            folder: None,
        })
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
        upkeep::prepare(&file)?;
        // What it calls so is to add a write to the journal without waiting for the disk, which is the journal's to do.
        database.disable_bulk_loading().map_err(error::from_engine)?;
        let journal = Journal::open(&folder.join(JOURNAL_FILE)).map_err(failed)?;
        sync_entries(folder).map_err(failed)?;
        let folder = Folder {
            path: folder.to_owned(),
            journal,
            _lock: lock,
            tables: Mutex::new(()),
        };
        unfinished::end(&database, &folder)?;
        Ok(Self {
            database,
            tokens: Arc::default(),
            folder: Some(Arc::new(folder)),
        })
    }

    /// Deletes every item whose TTL attribute names a time in the past, and returns how many there were. DynamoDB does
    /// so by itself, within days; here the owner of the store decides when.
    pub async fn delete_expired(&self) -> Result<usize> {
        self.write(Cost::Large, |db| db.sweep_ttl().map_err(error::from_engine))
            .await
    }

    /// Makes or removes a table, one at a time.
    async fn change_tables<F>(&self, change: F) -> Result<()>
    where
        F: FnOnce(&Database, Option<&Folder>) -> Result<()> + Send + 'static,
    {
        let (database, folder) = (self.database.clone(), self.folder.clone());
        let changed = move || match folder {
            Some(folder) => {
                let _one = folder.tables.lock().unwrap_or_else(PoisonError::into_inner);
                change(&database, Some(&folder))
            }
            None => change(&database, None),
        };
        blocking(changed).await
    }

    /// Runs one call of the engine that only reads, where its cost says.
    async fn read<T, F>(&self, cost: Cost, call: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Database) -> Result<T> + Send + 'static,
    {
        match &self.folder {
            None => self.in_memory(cost, call).await,
            // Where nobody writes, there is nothing to wait for; what began meanwhile is waited for elsewhere.
            Some(folder) if cost == Cost::Small && folder.journal.is_idle() => {
                let answer = call(&self.database);
                if !folder.journal.is_idle() {
                    let (seen, folder) = (folder.journal.begun(), Arc::clone(folder));
                    blocking(move || folder.journal.keep(seen)).await?;
                }
                answer
            }
            Some(folder) => {
                let (database, folder) = (self.database.clone(), Arc::clone(folder));
                blocking(move || folder.journal.read(|| call(&database))).await
            }
        }
    }

    /// Runs one call of the engine that may write, where its cost says.
    async fn write<T, F>(&self, cost: Cost, call: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Database) -> Result<T> + Send + 'static,
    {
        match &self.folder {
            None => self.in_memory(cost, call).await,
            Some(folder) => {
                let (database, folder) = (self.database.clone(), Arc::clone(folder));
                blocking(move || folder.journal.write(|| call(&database))).await
            }
        }
    }

    async fn in_memory<T, F>(&self, cost: Cost, call: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Database) -> Result<T> + Send + 'static,
    {
        if cost == Cost::Small {
            return call(&self.database);
        }
        let database = self.database.clone();
        blocking(move || call(&database)).await
    }
}

/// Puts on the disk which files a folder has, where a system keeps that apart from the files.
fn sync_entries(folder: &Path) -> std::io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()
    } else {
        Ok(())
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
        let answer = self
            .read(Cost::Small, move |db| {
                db.get_item(engine_request).map_err(error::from_engine)
            })
            .await?;
        reads::get_answer(answer)
    }

    async fn batch_get(&self, request: &BatchGetRequest) -> Result<BatchGetAnswer> {
        let engine_request = reads::batch_get(request)?;
        let answer = self
            .read(Cost::Large, move |db| {
                db.batch_get_item(engine_request).map_err(error::from_engine)
            })
            .await?;
        reads::batch_get_answer(request, answer)
    }

    async fn query(&self, request: &QueryRequest) -> Result<PageAnswer> {
        let engine_request = reads::query(request)?;
        let answer = self
            .read(reads::query_cost(request), move |db| {
                db.query(engine_request).map_err(error::from_engine)
            })
            .await?;
        reads::query_answer(request, answer)
    }

    async fn scan(&self, request: &ScanRequest) -> Result<PageAnswer> {
        let engine_request = reads::scan(request)?;
        let answer = self
            .read(Cost::Large, move |db| {
                db.scan(engine_request).map_err(error::from_engine)
            })
            .await?;
        reads::scan_answer(answer)
    }

    async fn transact_get(&self, request: &TransactGetRequest) -> Result<TransactGetAnswer> {
        let engine_request = reads::transact_get(request)?;
        let answer = self
            .read(Cost::Large, move |db| {
                db.transact_get_items(engine_request).map_err(error::from_engine)
            })
            .await?;
        reads::transact_get_answer(request, answer)
    }

    async fn put(&self, request: &PutRequest) -> Result<WriteAnswer> {
        let engine_request = writes::put(request)?;
        let answer = self
            .write(Cost::Small, move |db| {
                db.put_item(engine_request).map_err(error::from_engine)
            })
            .await?;
        writes::answer(answer.attributes, answer.consumed_capacity)
    }

    async fn update(&self, request: &UpdateRequest) -> Result<WriteAnswer> {
        let engine_request = writes::update(request)?;
        let answer = self
            .write(Cost::Small, move |db| {
                db.update_item(engine_request).map_err(error::from_engine)
            })
            .await?;
        writes::answer(answer.attributes, answer.consumed_capacity)
    }

    async fn delete(&self, request: &DeleteRequest) -> Result<WriteAnswer> {
        let engine_request = writes::delete(request)?;
        let answer = self
            .write(Cost::Small, move |db| {
                db.delete_item(engine_request).map_err(error::from_engine)
            })
            .await?;
        writes::answer(answer.attributes, answer.consumed_capacity)
    }

    async fn batch_write(&self, request: &BatchWriteRequest) -> Result<BatchWriteAnswer> {
        let engine_request = writes::batch_write(request)?;
        let answer = self
            .write(Cost::Large, move |db| {
                db.batch_write_item(engine_request).map_err(error::from_engine)
            })
            .await?;
        writes::batch_write_answer(answer)
    }

    async fn transact_write(&self, request: &TransactWriteRequest) -> Result<WriteAnswer> {
        let engine_request = writes::transact_write(request)?;
        let (once, tokens) = (Once::of(request), Arc::clone(&self.tokens));
        let run = move |db: &Database| {
            let call = || db.transact_write_items(engine_request).map_err(error::from_engine);
            tokens.run(once, Instant::now(), call)
        };
        match self.write(writes::transaction_cost(request), run).await? {
            Some(answer) => writes::answer(None, answer.consumed_capacity.into_iter().flatten()),
            // Done before. DynamoDB counts reads for having looked, here nothing was read.
            None => Ok(WriteAnswer::default()),
        }
    }

    async fn create_table(&self, spec: &TableSpec) -> Result<()> {
        let spec = spec.clone();
        self.change_tables(move |db, folder| unfinished::create(db, folder, &spec))
            .await
    }

    async fn describe_table(&self, table: &str) -> Result<TableDescription> {
        let (description, ttl) = (tables::describe(table), tables::describe_ttl(table));
        let call = move |db: &Database| Ok((db.describe_table(description)?, db.describe_time_to_live(ttl)?));
        let call = move |db: &Database| call(db).map_err(error::from_engine);
        let (description, ttl) = self.read(Cost::Small, call).await?;
        tables::description(description.table, ttl.time_to_live_description)
    }

    async fn delete_table(&self, table: &str) -> Result<()> {
        let table = table.to_owned();
        self.change_tables(move |db, folder| unfinished::delete(db, folder, &table))
            .await
    }

    async fn list_tables(&self) -> Result<Vec<String>> {
        self.read(Cost::Small, |db| tables::list_all(db).map_err(error::from_engine))
            .await
    }

    async fn update_ttl(&self, table: &str, attribute: Option<&str>) -> Result<()> {
        let current = self.describe_table(table).await?.spec.ttl;
        let Some(change) = TtlChange::between(table, current.as_deref(), attribute)? else {
            return Ok(());
        };
        let engine_request = tables::update_ttl(table, &change);
        self.write(Cost::Small, move |db| {
            db.update_time_to_live(engine_request).map_err(error::from_engine)
        })
        .await
        .map(drop)
    }

    async fn read_stream(&self, request: &StreamRequest) -> Result<StreamPage> {
        let reading = streams::Reading::new(request)?;
        let found = self
            .read(Cost::Large, move |db| reading.records(db).map_err(error::from_engine))
            .await?;
        streams::page(request.position.clone(), found)
    }
}
