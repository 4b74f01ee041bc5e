//! What tables there are.
//!
//! A table is kept as an item under its name. What was read of it is kept too, with the commit that was looked at. As long as no commit
//! between that one and the one that is looked at now changed a table, it is not read again: so a table and its rows are
//! always of one commit, and a request looks for its rows only.

mod stored;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use singlet_item::{Item, Value};
use singlet_keyspace::Draft;
use singlet_store::{IndexKind, IndexSpec, KeyAttribute, Result, TableSpec};

use crate::codec::{Reader, damaged_data};
use crate::layout::{self, Area, IndexNumber, TableNumber};
use crate::order;
use crate::view::{View, from_space};
use crate::words;

/// A table as the store knows it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    pub(crate) number: TableNumber,
    pub(crate) spec: TableSpec,
    /// The indexes with their numbers, in the order of `spec.indexes`.
    pub(crate) indexes: Vec<Index>,
    /// The number that the next index gets; none is given twice.
    pub(crate) next_index: IndexNumber,
    /// Whether items that were there when expiry was turned on are still being found.
    pub(crate) expiry_is_building: bool,
    /// The stream has changes from this commit on.
    pub(crate) stream_since: u64,
    pub(crate) created_at_seconds: i64,
}

/// An index of a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Index {
    pub(crate) number: IndexNumber,
    pub(crate) spec: IndexSpec,
    /// Whether items that were there before it are still being entered. Writes keep it as any other, reads are refused.
    pub(crate) is_building: bool,
    /// Which attributes its entries have besides; none, if all.
    kept: Option<Vec<String>>,
}

impl Index {
    pub(crate) fn new(number: IndexNumber, spec: IndexSpec, table: &TableSpec, is_building: bool) -> Self {
        use singlet_store::IndexProjection as Projection;
        let keys = || {
            let all = table.key.attributes().chain(spec.key.attributes());
            all.map(|attribute| attribute.name.clone())
        };
        let mut kept: Option<Vec<String>> = match &spec.projection {
            Projection::All => None,
            Projection::KeysOnly => Some(keys().collect()),
            Projection::Include(names) => Some(keys().chain(names.iter().cloned()).collect()),
        };
        if let Some(kept) = &mut kept {
            kept.sort_unstable();
            kept.dedup();
        }
        Self {
            number,
            spec,
            is_building,
            kept,
        }
    }

    pub(crate) fn is_local(&self) -> bool {
        self.spec.kind == IndexKind::Local
    }

    /// Whether its entries are whole items.
    pub(crate) fn has_all(&self) -> bool {
        self.kept.is_none()
    }

    /// Whether its entries have an attribute.
    pub(crate) fn projects_attribute(&self, name: &str) -> bool {
        match &self.kept {
            None => true,
            Some(kept) => kept.binary_search_by(|kept| kept.as_str().cmp(name)).is_ok(),
        }
    }
}

impl Table {
    /// The partition attribute of the table's key.
    pub(crate) fn partition_key(&self) -> &[KeyAttribute] {
        &self.spec.key.partition
    }

    pub(crate) fn sort_key(&self) -> &[KeyAttribute] {
        &self.spec.key.sort
    }

    /// The key of an item whose key attributes were checked.
    pub(crate) fn item_key(&self, item: &Item) -> Vec<u8> {
        self.item_key_of(|name| item.get(name))
    }

    /// [`Table::item_key`] of values that are asked for by their names.
    pub(crate) fn item_key_of<'v>(&self, value_of: impl Fn(&str) -> Option<&'v Value>) -> Vec<u8> {
        let mut key = layout::of_table(Area::Items, self.number);
        let partition = self.partition_key().iter();
        // The hash of the partition comes first, so that a part of a scan is one span.
        layout::put_partition(&mut key, partition.filter_map(|attribute| value_of(&attribute.name)));
        for attribute in self.sort_key() {
            let Some(value) = value_of(&attribute.name) else { break };
            order::put_key_value(&mut key, value);
        }
        key
    }

    pub(crate) fn has_local_index(&self) -> bool {
        self.indexes.iter().any(Index::is_local)
    }

    /// Keeps the table in the space.
    pub(crate) fn store(&self, catalogue: &Catalogue, draft: &mut Draft<'_>) -> Result<()> {
        // Before the row is put: whoever sees the new table must not take the old one from memory.
        catalogue.changes_with(draft);
        let key = layout::named_key(Area::Tables, &self.spec.name);
        draft.put_row(key, stored::encode_table(self)).map_err(from_space)
    }
}

/// What was read of tables.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    known: RwLock<HashMap<String, Known>>,
    /// The last commit that changed a table, or was about to and was not done.
    ///
    /// **Invariant:** whoever sees a commit that changed a table sees its number here: it is written before the commit is shown.
    changed_by: AtomicU64,
}

#[derive(Debug)]
struct Known {
    /// The commit in whose state it was found so.
    as_of: u64,
    table: Arc<Table>,
}

impl Catalogue {
    /// A table in a state; refused, if it is not there.
    pub(crate) fn table(&self, view: &impl View, name: &str) -> Result<Arc<Table>> {
        self.find_table(view, name)?.ok_or_else(words::no_table)
    }

    pub(crate) fn find_table(&self, view: &impl View, name: &str) -> Result<Option<Arc<Table>>> {
        let as_of = view.last_commit();
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        // Loaded after what is known was locked: a change that whoever noted it had seen is seen here.
        let changed_by = self.changed_by.load(Ordering::Acquire);
        if let Some(known) = known.get(name)
            && changed_by <= as_of
            // Both: what is known may be older than the change, or the view may be.
            && changed_by <= known.as_of
        {
            return Ok(Some(Arc::clone(&known.table)));
        }
        drop(known);
        let Some(bytes) = view.value(&layout::named_key(Area::Tables, name))? else {
            return Ok(None);
        };
        let table = stored::decode_table(&bytes)?;
        Ok(Some(self.note(name, as_of, table)))
    }

    /// Keeps what was read, unless what is known is newer. Where it is the same table as before, it is the same pointer too.
    fn note(&self, name: &str, as_of: u64, table: Table) -> Arc<Table> {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        match known.get_mut(name) {
            Some(known) if *known.table == table => {
                known.as_of = known.as_of.max(as_of);
                Arc::clone(&known.table)
            }
            // A view of before must not put its table over a newer one.
            Some(known) if known.as_of > as_of => Arc::new(table),
            _ => {
                let table = Arc::new(table);
                let read = Known {
                    as_of,
                    table: Arc::clone(&table),
                };
                known.insert(name.to_owned(), read);
                table
            }
        }
    }

    /// Says that a commit changes a table, before it does.
    pub(crate) fn changes_with(&self, draft: &Draft<'_>) {
        // Never back: a lower number would hide a change from the views in between.
        self.changed_by.fetch_max(draft.number(), Ordering::Release);
    }

    /// A table that went is not kept in memory.
    pub(crate) fn forget_table(&self, name: &str) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.remove(name);
    }
}

/// All tables, in the order of their names.
pub(crate) fn all_tables(view: &impl View) -> Result<Vec<Table>> {
    let rows = view.rows(
        layout::all_of(Area::Tables).bounds(),
        singlet_keyspace::Direction::Forward,
    );
    rows.map(|row| stored::decode_table(&row.map_err(from_space)?.1))
        .collect()
}

/// A table as it is kept.
pub(crate) fn decode_table(bytes: &[u8]) -> Result<Table> {
    stored::decode_table(bytes)
}

/// The names of all tables, sorted.
pub(crate) fn table_names(view: &impl View) -> Result<Vec<String>> {
    let rows = view.rows(
        layout::all_of(Area::Tables).bounds(),
        singlet_keyspace::Direction::Forward,
    );
    rows.map(|row| {
        let (key, _) = row.map_err(from_space)?;
        let name = key.get(1..).unwrap_or_default();
        String::from_utf8(name.to_vec()).map_err(|_| damaged_data("the name of a table"))
    })
    .collect()
}

/// A number for a new table.
pub(crate) fn next_table(draft: &mut Draft<'_>) -> Result<TableNumber> {
    let key = layout::named_key(Area::Format, "next table");
    let next = match draft.value(&key)? {
        None => 1,
        Some(bytes) => {
            u32::try_from(Reader::new(&bytes).read_varint()?).map_err(|_| damaged_data("the number of tables"))?
        }
    };
    let after = next
        .checked_add(1)
        .ok_or_else(|| damaged_data("the number of tables"))?;
    let mut bytes = Vec::new();
    crate::codec::put_varint(&mut bytes, u128::from(after));
    draft.put_row(key, bytes).map_err(from_space)?;
    Ok(next)
}
