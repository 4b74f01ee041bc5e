//! The base: the rows of a space in one file of `redb`, as of one commit.

use crate::backend::{Backend, Failure};
use crate::bytes::{Key, Value};
use crate::disk::{self, Disk, DiskFile, SyncPoint};
use crate::layers::Frozen;
use crate::limits::COPY_CACHE_BYTES;
use crate::range::Bounds;
use crate::{Error, Result};
use redb::{Database, ReadOnlyTable, ReadableDatabase, TableDefinition};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

type Rows = ReadOnlyTable<&'static [u8], &'static [u8]>;
pub(crate) type BaseRange = redb::Range<'static, &'static [u8], &'static [u8]>;

const ROWS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("rows");
const STATE: TableDefinition<'_, &str, u64> = TableDefinition::new("state");
/// The last commit whose changes are in the rows.
const NUMBER: &str = "number";

const PREFIX: &str = "base.";

/// One state of the base file. It stays readable while newer ones are written.
pub(crate) struct Base {
    rows: Rows,
    pub(crate) number: u64,
    // After the rows, which must go first.
    engine: Arc<Engine>,
}

struct Engine {
    /// There until it is dropped.
    database: Option<Database>,
    file: Arc<dyn DiskFile>,
    failure: Arc<Failure>,
    generation: u64,
}

impl Base {
    /// Makes a base with `rows`, in their order, as of commit `number`. It has its name, durably, once it is whole.
    pub(crate) fn create(
        disk: &dyn Disk,
        generation: u64,
        rows: impl Iterator<Item = Result<(Key, Value)>>,
        number: u64,
    ) -> Result<()> {
        let name = base_name(generation);
        let failed = |error: std::io::Error| Error::io(&disk.name(), &format!("cannot write `{name}`"), &error);
        let first = disk::unfinished(&name);
        let file = disk.create(&first).map_err(failed)?;
        let engine = Engine::open(file, generation, COPY_CACHE_BYTES)?;
        engine.write(number, |table| {
            for row in rows {
                let (key, value) = row?;
                table.insert(&*key, &*value).map_err(broken)?;
            }
            Ok(())
        })?;
        drop(engine);
        disk.rename(&first, &name).map_err(failed)?;
        disk.sync_entries(SyncPoint::BaseEntry).map_err(failed)
    }

    pub(crate) fn open(disk: &dyn Disk, generation: u64, cache_bytes: usize) -> Result<Self> {
        let name = base_name(generation);
        let file = disk
            .open(&name)
            .map_err(|error| Error::opening(&disk.name(), &name, &error))?;
        let engine = Engine::open(file, generation, cache_bytes)?;
        Self::newest(Arc::new(engine))
    }

    /// Writes changes in one transaction, and answers the state after it.
    pub(crate) fn write(&self, frozen: &Frozen) -> Result<Self> {
        self.engine.write(frozen.number, |table| {
            for (key, value) in &frozen.changes {
                match value {
                    Some(value) => table.insert(&**key, &**value).map(drop),
                    None => table.remove(&**key).map(drop),
                }
                .map_err(broken)?;
            }
            Ok(())
        })?;
        Self::newest(Arc::clone(&self.engine))
    }

    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Value>> {
        reading(|| {
            let found = self.rows.get(key).map_err(broken)?;
            Ok(found.map(|value| Value::copied(value.value())))
        })
    }

    pub(crate) fn range(&self, bounds: Bounds<'_>) -> Result<BaseRange> {
        reading(|| self.rows.range::<&[u8]>(bounds).map_err(broken))
    }

    pub(crate) fn generation(&self) -> u64 {
        self.engine.generation
    }

    /// How many bytes its file has.
    pub(crate) fn bytes(&self) -> std::io::Result<u64> {
        self.engine.file.len()
    }

    fn newest(engine: Arc<Engine>) -> Result<Self> {
        let (rows, number) = reading(|| {
            let transaction = engine.database()?.begin_read().map_err(broken)?;
            let state = transaction.open_table(STATE).map_err(broken)?;
            let number = state.get(NUMBER).map_err(broken)?.map(|number| number.value());
            Ok((transaction.open_table(ROWS).map_err(broken)?, number))
        })?;
        let number = number.ok_or_else(|| Error::damaged("the base does not say which commit it shows".to_owned()))?;
        Ok(Self { rows, number, engine })
    }
}

impl Engine {
    fn open(file: Arc<dyn DiskFile>, generation: u64, cache_bytes: usize) -> Result<Self> {
        let (backend, failure) = Backend::new(Arc::clone(&file));
        // Where a file is not what it says, the engine panics in places.
        let opened = without_panic(|| {
            redb::Builder::new()
                .set_cache_size(cache_bytes)
                .create_with_backend(backend)
        });
        let database = opened.ok_or_else(|| Error::damaged(format!("`{}` cannot be read", base_name(generation))))?;
        // A write that failed is not said by the engine, which saw none fail.
        if let Some(reason) = failure.reason() {
            return Err(Error::failed(format!(
                "cannot write `{}`: {reason}",
                base_name(generation)
            )));
        }
        let name = base_name(generation);
        let database = database.map_err(|error| Error::unreadable(&format!("`{name}`"), &error.into()))?;
        Ok(Self {
            database: Some(database),
            file,
            failure,
            generation,
        })
    }

    fn database(&self) -> Result<&Database> {
        self.database.as_ref().ok_or_else(Error::closed)
    }

    /// One transaction that ends with commit `number`, durable when it returns.
    fn write(
        &self,
        number: u64,
        changes: impl FnOnce(&mut redb::Table<'_, &'static [u8], &'static [u8]>) -> Result<()>,
    ) -> Result<()> {
        let written = without_panic(|| {
            let mut transaction = self.database()?.begin_write().map_err(broken)?;
            // It costs a sync and saves reading the whole file at the opening after a kill.
            transaction.set_quick_repair(true);
            let mut rows = transaction.open_table(ROWS).map_err(broken)?;
            changes(&mut rows)?;
            drop(rows);
            let mut state = transaction.open_table(STATE).map_err(broken)?;
            state.insert(NUMBER, number).map_err(broken)?;
            drop(state);
            transaction.commit().map_err(broken)
        });
        if let Some(reason) = self.failure.reason() {
            return Err(Error::failed(format!(
                "cannot write `{}`: {reason}",
                base_name(self.generation)
            )));
        }
        written.unwrap_or_else(|| Err(Error::failed(format!("cannot write `{}`", base_name(self.generation)))))
    }
}

impl Drop for Engine {
    /// The engine writes in the end, and reads for that: see [`reading`].
    fn drop(&mut self) {
        let database = self.database.take();
        without_panic(|| drop(database));
    }
}

pub(crate) fn base_name(generation: u64) -> String {
    format!("{PREFIX}{generation:016x}")
}

/// The generations of all bases in a folder, in order.
pub(crate) fn generations(names: &[String]) -> Vec<u64> {
    let generation = |name: &String| {
        let generation = u64::from_str_radix(name.strip_prefix(PREFIX)?, 16).ok()?;
        (base_name(generation) == *name).then_some(generation)
    };
    let mut generations: Vec<u64> = names.iter().filter_map(generation).collect();
    generations.sort_unstable();
    generations
}

pub(crate) fn broken(error: impl Into<redb::Error>) -> Error {
    Error::unreadable("the base", &error.into())
}

/// What a read answers. Where a file is not what it says, the engine panics in places.
pub(crate) fn reading<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    without_panic(read).unwrap_or_else(|| Err(Error::damaged("the base is not what was written there".to_owned())))
}

/// What `run` answers, or nothing where it panics.
fn without_panic<T>(run: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(run)).ok()
}
