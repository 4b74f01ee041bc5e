use super::{CACHE_BYTES, Engine, Rows};
use crate::error::Outcome;
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use std::path::Path;

const ROWS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("rows");

pub(super) struct Redb(Database);

impl Redb {
    pub(super) fn open(folder: &Path) -> Outcome<Self> {
        let database = Database::builder()
            .set_cache_size(CACHE_BYTES)
            .create(folder.join("redb"))?;
        let this = Self(database);
        this.write(&[])?;
        Ok(this)
    }
}

impl Engine for Redb {
    fn write(&self, group: &[Rows]) -> Outcome<()> {
        let transaction = self.0.begin_write()?;
        let mut table = transaction.open_table(ROWS)?;
        for (key, value) in group.iter().flatten() {
            table.insert(&key[..], &value[..])?;
        }
        drop(table);
        Ok(transaction.commit()?)
    }

    fn get(&self, key: &[u8]) -> Outcome<Option<usize>> {
        let table = self.0.begin_read()?.open_table(ROWS)?;
        Ok(table.get(key)?.map(|value| value.value().to_vec().len()))
    }

    fn range(&self, from: &[u8], limit: usize) -> Outcome<usize> {
        let table = self.0.begin_read()?.open_table(ROWS)?;
        let mut bytes = 0;
        for row in ReadableTable::range::<&[u8]>(&table, from..)?.take(limit) {
            let (key, value) = row?;
            bytes += key.value().to_vec().len() + value.value().to_vec().len();
        }
        Ok(bytes)
    }

    /// It compacts only while nobody uses it.
    fn compact(&self) -> Outcome<()> {
        Ok(())
    }
}
