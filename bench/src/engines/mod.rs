//! Engines that keep an ordered space of bytes, behind one small trait: the key space, and what it could have been instead.
//!
//! All are durable before they answer. The key space commits for all who wait; the others get a writer that does the same.

mod fjall;
mod grouped;
mod ours;
mod redb;
mod sqlite;

use crate::error::{Failure, Outcome};
use std::path::Path;

/// Keys and values that are written as one.
pub type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// A space of bytes, as many threads use it.
pub trait Space: Send + Sync {
    /// Writes rows, durable when it returns.
    fn put(&self, rows: Rows) -> Outcome<()>;
    /// How many bytes the value of a key has.
    fn get(&self, key: &[u8]) -> Outcome<Option<usize>>;
    /// Reads up to `limit` rows from a key on, and answers how many bytes they have.
    fn range(&self, from: &[u8], limit: usize) -> Outcome<usize>;
    /// Gives room back, as far as the engine can while it is open.
    fn compact(&self) -> Outcome<()>;
}

/// An engine with one writer, which is given what is to be written at once.
trait Engine: Send + Sync + 'static {
    fn write(&self, group: &[Rows]) -> Outcome<()>;
    fn get(&self, key: &[u8]) -> Outcome<Option<usize>>;
    fn range(&self, from: &[u8], limit: usize) -> Outcome<usize>;
    fn compact(&self) -> Outcome<()>;
}

/// The names of all engines.
pub const NAMES: [&str; 4] = ["keyspace", "redb", "fjall", "sqlite"];
/// What each may cache, as far as it lets itself be told.
const CACHE_BYTES: usize = 32 << 20;

/// Opens an engine in a folder.
pub fn open(name: &str, folder: &Path) -> Outcome<Box<dyn Space>> {
    std::fs::create_dir_all(folder)?;
    match name {
        "keyspace" => Ok(Box::new(ours::Ours::open(folder)?)),
        "redb" => Ok(Box::new(grouped::Grouped::new(redb::Redb::open(folder)?))),
        "fjall" => Ok(Box::new(grouped::Grouped::new(fjall::Fjall::open(folder)?))),
        "sqlite" => Ok(Box::new(grouped::Grouped::new(sqlite::Sqlite::open(folder)?))),
        _ => Err(Failure(format!("no engine is called `{name}`"))),
    }
}
