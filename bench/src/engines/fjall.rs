use super::{CACHE_BYTES, Engine, Rows};
use crate::error::Outcome;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use std::path::Path;

pub(super) struct Fjall {
    database: Database,
    rows: Keyspace,
}

impl Fjall {
    pub(super) fn open(folder: &Path) -> Outcome<Self> {
        let database = Database::builder(folder).cache_size(CACHE_BYTES as u64).open()?;
        let rows = database.keyspace("rows", KeyspaceCreateOptions::default)?;
        Ok(Self { database, rows })
    }
}

impl Engine for Fjall {
    fn write(&self, group: &[Rows]) -> Outcome<()> {
        let mut batch = self.database.batch().durability(Some(PersistMode::SyncData));
        for (key, value) in group.iter().flatten() {
            batch.insert(&self.rows, &key[..], &value[..]);
        }
        Ok(batch.commit()?)
    }

    fn get(&self, key: &[u8]) -> Outcome<Option<usize>> {
        Ok(self.rows.get(key)?.map(|value| value.len()))
    }

    fn range(&self, from: &[u8], limit: usize) -> Outcome<usize> {
        let mut bytes = 0;
        for row in self.rows.range(from..).take(limit) {
            let (key, value) = row.into_inner()?;
            bytes += key.len() + value.len();
        }
        Ok(bytes)
    }

    fn compact(&self) -> Outcome<()> {
        self.rows.rotate_memtable_and_wait()?;
        Ok(self.rows.major_compact()?)
    }
}
