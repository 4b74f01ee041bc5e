//! The base: the rows of a space in one file of `redb`, as of one commit.

use crate::backend::{Backend, BaseFailure};
use crate::bytes::{Key, Value};
use crate::disk::{self, Disk, DiskFile, SyncPoint};
use crate::error::is_full;
use crate::layers::Known;
use crate::limits::COPY_CACHE_BYTES;
use crate::range::{Bounds, Direction};
use crate::shared::Stopped;
use crate::{Error, Result};
use redb::{Database, ReadOnlyTable, ReadableDatabase, TableDefinition};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

type Rows = ReadOnlyTable<&'static [u8], &'static [u8]>;
type Guard = redb::AccessGuard<'static, &'static [u8]>;

/// Rows of a base, one after the other.
pub(crate) struct BaseRange {
    rows: redb::Range<'static, &'static [u8], &'static [u8]>,
    stopped: Stopped,
}

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
    engine: Arc<BaseEngine>,
}

struct BaseEngine {
    /// There until it is dropped.
    database: Option<Database>,
    file: Arc<dyn DiskFile>,
    failure: Arc<BaseFailure>,
    generation: u64,
    stopped: Stopped,
}

impl Base {
    /// Makes a base with `rows`, in their order, as of commit `number`. It has its name, durably, once it is whole.
    pub(crate) fn create_base(
        disk: &dyn Disk,
        generation: u64,
        rows: impl Iterator<Item = Result<(Key, Value)>>,
        number: u64,
    ) -> Result<()> {
        let name = base_name(generation);
        let failed = |error: std::io::Error| Error::io(&disk.name(), &format!("cannot write `{name}`"), &error);
        // Under another name until it is whole: whatever has the name of a base is one that an opening may take.
        let first = disk::unfinished_name(&name);
        let file = disk.create(&first).map_err(failed)?;
        let engine = BaseEngine::open(file, generation, COPY_CACHE_BYTES, Stopped::default())?;
        engine.write(number, |table| {
            for row in rows {
                let (key, value) = row?;
                table.insert(&*key, &*value).map_err(broken)?;
            }
            Ok(())
        })?;
        // The engine writes once more as it closes, which has to be over before the file has its name.
        drop(engine);
        disk.rename(&first, &name).map_err(failed)?;
        // Durable before anybody removes the log or the base that it replaces.
        disk.sync_entries(SyncPoint::BaseEntry).map_err(failed)
    }

    /// Opens a base. Who finds later that it is damaged says so in `stopped`: nothing may be written over it any more.
    pub(crate) fn open(disk: &dyn Disk, generation: u64, cache_bytes: usize, stopped: &Stopped) -> Result<Self> {
        let name = base_name(generation);
        let file = disk
            .open(&name)
            .map_err(|error| Error::opening(&disk.name(), &name, &error))?;
        // The engine takes an empty file for a new one, and there was something in it.
        if file
            .len()
            .map_err(|error| Error::opening(&disk.name(), &name, &error))?
            == 0
        {
            return Err(Error::taken_away(format!("`{name}` in `{}` is empty", disk.name())));
        }
        let engine = BaseEngine::open(file, generation, cache_bytes, Arc::clone(stopped))?;
        Self::newest(Arc::new(engine))
    }

    /// Writes changes in one transaction that ends with commit `number`, and answers the state after it.
    pub(crate) fn write<'c>(
        &self,
        changes: impl IntoIterator<Item = (&'c Arc<[u8]>, &'c Known)>,
        number: u64,
    ) -> Result<Self> {
        // The rows and the number of their commit in one transaction: apart, an opening would read the log from the wrong place
        // on.
        self.engine.write(number, |table| {
            for (key, value) in changes {
                match value {
                    Some(value) => table.insert(&**key, &**value).map(drop),
                    // Beneath a base there is nothing, so that a deletion need not be remembered there.
                    None => table.remove(&**key).map(drop),
                }
                .map_err(broken)?;
            }
            Ok(())
        })?;
        Self::newest(Arc::clone(&self.engine))
    }

    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Value>> {
        let found = reading(|| {
            let found = self.rows.get(key).map_err(broken)?;
            Ok(found.map(|value| Value::copy_of(value.value())))
        });
        // Before it is answered: nobody may write over a base that is known to be damaged, and no log be removed for it.
        found.inspect_err(|error| note_damage(&self.engine.stopped, error))
    }

    pub(crate) fn range_rows(&self, bounds: Bounds<'_>) -> Result<BaseRange> {
        let rows = reading(|| self.rows.range::<&[u8]>(bounds).map_err(broken));
        let rows = rows.inspect_err(|error| note_damage(&self.engine.stopped, error))?;
        Ok(BaseRange {
            rows,
            stopped: Arc::clone(&self.engine.stopped),
        })
    }

    /// Holds every page against its checksum.
    pub(crate) fn check_pages(self) -> Result<()> {
        let Self { rows, engine, .. } = self;
        // The engine is checked as a whole and by one holder; rows that are open would keep it.
        drop(rows);
        let mut engine = Arc::into_inner(engine).ok_or_else(Error::closed)?;
        let name = base_name(engine.generation);
        let damaged =
            |reason: &str| Error::damaged(format!("a page of `{name}` is not what was written there{reason}"));
        let checked = without_panic(|| engine.database.as_mut().map(Database::check_integrity));
        match checked {
            // It may have counted free pages anew, which is no damage.
            Some(Some(Ok(_))) => Ok(()),
            Some(Some(Err(error))) => Err(damaged(&format!(": {error}"))),
            _ => Err(damaged("")),
        }
    }

    /// Fails where its file is no longer the one that was opened, or was cut short.
    pub(crate) fn check(&self, disk: &dyn Disk) -> Result<()> {
        let BaseEngine { file, failure, .. } = &*self.engine;
        let name = base_name(self.engine.generation);
        loop {
            // Asked before the check, so that a cut in between is seen as one.
            let cuts = failure.cuts();
            let checked = disk::check_file(disk, &name, &**file, failure.bytes_min());
            // A checkpoint may have made it shorter since it was asked how long it is.
            if checked.is_ok() || failure.cuts() == cuts {
                return checked;
            }
        }
    }

    pub(crate) fn generation(&self) -> u64 {
        self.engine.generation
    }

    /// How many bytes its file has.
    pub(crate) fn bytes(&self) -> std::io::Result<u64> {
        self.engine.file.len()
    }

    fn newest(engine: Arc<BaseEngine>) -> Result<Self> {
        let (rows, number) = reading(|| {
            let transaction = engine.database()?.begin_read().map_err(broken)?;
            let state = transaction.open_table(STATE).map_err(broken)?;
            let number = state.get(NUMBER).map_err(broken)?.map(|number| number.value());
            Ok((transaction.open_table(ROWS).map_err(broken)?, number))
        })?;
        // Without it nobody knows which commits of the log to add, and to guess would lose some or do some twice.
        let number = number.ok_or_else(|| Error::damaged("the base does not say which commit it shows".to_owned()))?;
        Ok(Self { rows, number, engine })
    }
}

impl BaseEngine {
    fn open(file: Arc<dyn DiskFile>, generation: u64, cache_bytes: usize, stopped: Stopped) -> Result<Self> {
        let unsized_file = |error: std::io::Error| Error::failed(format!("cannot ask for the size of a base: {error}"));
        let (backend, failure) = Backend::new(Arc::clone(&file)).map_err(unsized_file)?;
        // Where a file is not what it says, the engine panics in places.
        let opened = without_panic(|| {
            redb::Builder::new()
                .set_cache_size(cache_bytes)
                .create_with_backend(backend)
        });
        let database = opened.ok_or_else(|| Error::damaged(format!("`{}` cannot be read", base_name(generation))))?;
        // A write that failed is not said by the engine, which saw none fail.
        if let Some(reason) = failure.reason() {
            return Err(cannot_write(generation, &reason));
        }
        let name = base_name(generation);
        let database = database.map_err(|error| Error::unreadable(&format!("`{name}`"), &error.into()))?;
        Ok(Self {
            database: Some(database),
            file,
            failure,
            generation,
            stopped,
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
            // In the transaction of the rows.
            state.insert(NUMBER, number).map_err(broken)?;
            drop(state);
            transaction.commit().map_err(broken)
        });
        // The commit may have succeeded in memory alone, so that its own word is worth nothing here.
        if let Some(reason) = self.failure.reason() {
            return Err(cannot_write(self.generation, &reason));
        }
        written.unwrap_or_else(|| Err(Error::failed(format!("cannot write `{}`", base_name(self.generation)))))
    }
}

impl Drop for BaseEngine {
    /// The engine writes in the end, and reads for that: see [`reading`].
    fn drop(&mut self) {
        let database = self.database.take();
        without_panic(|| drop(database));
    }
}

impl BaseRange {
    pub(crate) fn next_row(&mut self, direction: Direction) -> Result<Option<(Key, Value)>> {
        let rows = &mut self.rows;
        let row = reading(|| {
            let row: Option<redb::Result<(Guard, Guard)>> = match direction {
                Direction::Forward => rows.next(),
                Direction::Backward => rows.next_back(),
            };
            let Some(row) = row else { return Ok(None) };
            let (key, value) = row.map_err(broken)?;
            Ok(Some((Key::copy_of(key.value()), Value::copy_of(value.value()))))
        });
        // Also while rows are walked, since a page may be read only then.
        row.inspect_err(|error| note_damage(&self.stopped, error))
    }
}

/// Stops writes where what was read is not what was written.
fn note_damage(stopped: &Stopped, error: &Error) {
    if error.is_damaged() {
        let _ = stopped.set(error.clone());
    }
}

fn cannot_write(generation: u64, reason: &std::io::Error) -> Error {
    let message = format!("cannot write `{}`: {reason}", base_name(generation));
    match is_full(reason) {
        true => Error::full(message),
        false => Error::failed(message),
    }
}

pub(crate) fn base_name(generation: u64) -> String {
    format!("{PREFIX}{generation:016x}")
}

/// The generations of all bases in a folder, in order.
pub(crate) fn base_generations(names: &[String]) -> Vec<u64> {
    let generation = |name: &String| {
        let generation = u64::from_str_radix(name.strip_prefix(PREFIX)?, 16).ok()?;
        // Only names as they are written here: another spelling of the number would be a second file of one generation.
        (base_name(generation) == *name).then_some(generation)
    };
    let mut generations: Vec<u64> = names.iter().filter_map(generation).collect();
    generations.sort_unstable();
    generations
}

fn broken(error: impl Into<redb::Error>) -> Error {
    Error::unreadable("the base", &error.into())
}

/// What a read answers. Where a file is not what it says, the engine panics in places.
fn reading<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    without_panic(read).unwrap_or_else(|| Err(Error::damaged("the base is not what was written there".to_owned())))
}

/// What `run` answers, or nothing where it panics.
fn without_panic<T>(run: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(run)).ok()
}
