use super::{CACHE_BYTES, Engine, Rows};
use crate::error::Outcome;
use rusqlite::{Connection, OptionalExtension};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One connection writes; each reader takes one of its own, and leaves it for the next.
pub(super) struct Sqlite {
    file: PathBuf,
    writer: Mutex<Connection>,
    readers: Mutex<Vec<Connection>>,
}

impl Sqlite {
    pub(super) fn open(folder: &Path) -> Outcome<Self> {
        let file = folder.join("sqlite.db");
        let writer = connect(&file)?;
        writer.execute_batch(
            "CREATE TABLE IF NOT EXISTS rows (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
        )?;
        Ok(Self {
            file,
            writer: Mutex::new(writer),
            readers: Mutex::default(),
        })
    }

    fn read<T>(&self, read: impl FnOnce(&Connection) -> Outcome<T>) -> Outcome<T> {
        let reader = lock(&self.readers).pop();
        let reader = match reader {
            Some(reader) => reader,
            None => connect(&self.file)?,
        };
        let answer = read(&reader);
        lock(&self.readers).push(reader);
        answer
    }
}

fn connect(file: &Path) -> Outcome<Connection> {
    let connection = Connection::open(file)?;
    let cache_kb = CACHE_BYTES >> 10;
    connection.execute_batch(&format!(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -{cache_kb}; PRAGMA busy_timeout = 5000"
    ))?;
    Ok(connection)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Engine for Sqlite {
    fn write(&self, group: &[Rows]) -> Outcome<()> {
        let mut writer = lock(&self.writer);
        let transaction = writer.transaction()?;
        let mut insert = transaction.prepare_cached("INSERT OR REPLACE INTO rows (key, value) VALUES (?1, ?2)")?;
        for (key, value) in group.iter().flatten() {
            insert.execute((key, value))?;
        }
        drop(insert);
        Ok(transaction.commit()?)
    }

    fn get(&self, key: &[u8]) -> Outcome<Option<usize>> {
        self.read(|reader| {
            let mut select = reader.prepare_cached("SELECT value FROM rows WHERE key = ?1")?;
            let value = select.query_row([key], |row| row.get::<_, Vec<u8>>(0)).optional()?;
            Ok(value.map(|value| value.len()))
        })
    }

    fn range(&self, from: &[u8], limit: usize) -> Outcome<usize> {
        self.read(|reader| {
            let mut select =
                reader.prepare_cached("SELECT key, value FROM rows WHERE key >= ?1 ORDER BY key LIMIT ?2")?;
            let mut rows = select.query((from, limit as i64))?;
            let mut bytes = 0;
            while let Some(row) = rows.next()? {
                bytes += row.get::<_, Vec<u8>>(0)?.len() + row.get::<_, Vec<u8>>(1)?.len();
            }
            Ok(bytes)
        })
    }

    fn compact(&self) -> Outcome<()> {
        lock(&self.readers).clear();
        Ok(lock(&self.writer).execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")?)
    }
}
