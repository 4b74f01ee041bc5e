//! What takes longer than one commit: filling an index, removing a table.
//!
//! A task is written in the commit that asks for it, and goes on in bounded commits, others between them. It says how far it is, so
//! that whoever opens the folder next goes on there. Meanwhile a table is as it was asked to be: writes keep an index
//! that is being filled, and what is being removed is found by nobody.

use singlet_keyspace::{Direction, Draft};
use singlet_store::{Result, StoreError};

use crate::catalogue::{Catalogue, Table};
use crate::codec::{Reader, damaged_data, put_varint};
use crate::entry::Entry;
use crate::expiry;
use crate::layout::{self, Area, IndexNumber, Span, TABLE_AREAS, TableNumber};
use crate::view::{View, from_space};

/// How much one commit of a task changes.
const STEP_ROWS_MAX: usize = 512;
const STEP_BYTES_MAX: usize = 1 << 20;

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Items that are there are entered in an index.
    FillIndex {
        table: String,
        number: TableNumber,
        index: IndexNumber,
    },
    /// The times of items that are there are entered.
    FillExpiries {
        table: String,
        number: TableNumber,
    },
    /// Everything of a table goes.
    RemoveTable {
        number: TableNumber,
    },
    RemoveIndex {
        number: TableNumber,
        index: IndexNumber,
    },
    RemoveExpiries {
        number: TableNumber,
    },
}

impl Task {
    /// Asks for it.
    pub(crate) fn begin(&self, draft: &mut Draft<'_>) -> Result<()> {
        self.store(draft, &[])
    }

    fn store(&self, draft: &mut Draft<'_>, position: &[u8]) -> Result<()> {
        draft.put_row(self.key(), self.value(position)).map_err(from_space)
    }

    fn end(&self, draft: &mut Draft<'_>) -> Result<()> {
        draft.delete_row(self.key()).map_err(from_space)
    }

    fn parts(&self) -> (u8, TableNumber, IndexNumber, &str) {
        match self {
            Self::FillIndex { table, number, index } => (1, *number, *index, table),
            Self::FillExpiries { table, number } => (2, *number, 0, table),
            Self::RemoveTable { number } => (3, *number, 0, ""),
            Self::RemoveIndex { number, index } => (4, *number, *index, ""),
            Self::RemoveExpiries { number } => (5, *number, 0, ""),
        }
    }

    fn key(&self) -> Vec<u8> {
        let (kind, number, index, _) = self.parts();
        let mut key = vec![Area::Tasks as u8];
        key.extend_from_slice(&number.to_be_bytes());
        key.push(kind);
        key.extend_from_slice(&index.to_be_bytes());
        key
    }

    fn value(&self, position: &[u8]) -> Vec<u8> {
        let (_, _, _, table) = self.parts();
        let mut value = Vec::new();
        put_varint(&mut value, table.len() as u128);
        value.extend_from_slice(table.as_bytes());
        value.extend_from_slice(position);
        value
    }

    /// A task, and how far it is.
    fn read(key: &[u8], value: &[u8]) -> Result<(Self, Vec<u8>)> {
        let mut reader = Reader::new(key.get(1..).unwrap_or_default());
        let four = |bytes: &[u8]| {
            bytes
                .try_into()
                .map(u32::from_be_bytes)
                .map_err(|_| damaged_data("a task"))
        };
        let number = four(reader.take_bytes(4)?)?;
        let kind = reader.read_byte()?;
        let index = four(reader.take_bytes(4)?)?;
        let mut reader = Reader::new(value);
        let table = reader.text()?.to_owned();
        let task = match kind {
            1 => Self::FillIndex { table, number, index },
            2 => Self::FillExpiries { table, number },
            3 => Self::RemoveTable { number },
            4 => Self::RemoveIndex { number, index },
            5 => Self::RemoveExpiries { number },
            _ => return Err(damaged_data("a task of another kind")),
        };
        Ok((task, reader.rest_bytes().to_vec()))
    }
}

/// Whether there is something to do.
pub(crate) fn is_any(view: &impl View) -> Result<bool> {
    Ok(view.first(&layout::all_of(Area::Tasks), Direction::Forward)?.is_some())
}

/// All that was begun and is not done.
pub(crate) fn begun_tasks(view: &impl View) -> Result<Vec<Task>> {
    let rows = view.rows(layout::all_of(Area::Tasks).bounds(), Direction::Forward);
    rows.map(|row| {
        let (key, value) = row.map_err(from_space)?;
        Ok(Task::read(&key, &value)?.0)
    })
    .collect()
}

/// Does a part of the first task; whether there may be more.
pub(crate) fn step_task(catalogue: &Catalogue, draft: &mut Draft<'_>) -> Result<bool> {
    let Some((key, value)) = draft.first(&layout::all_of(Area::Tasks), Direction::Forward)? else {
        return Ok(false);
    };
    let (task, position) = Task::read(&key, &value)?;
    let is_done = match &task {
        Task::FillIndex { table, number, .. } | Task::FillExpiries { table, number } => {
            let table = catalogue
                .find_table(draft, table)?
                // The name may belong to another table by now.
                .filter(|table| table.number == *number);
            match table {
                Some(table) => fill(catalogue, draft, &task, &table, &position)?,
                // It was removed meanwhile.
                None => true,
            }
        }
        Task::RemoveTable { number } => {
            let spans = TABLE_AREAS.map(|area| Span::with_prefix(layout::of_table(area, *number)));
            remove(draft, &spans)?
        }
        Task::RemoveIndex { number, index } => remove(draft, &[Span::with_prefix(layout::of_index(*number, *index))])?,
        Task::RemoveExpiries { number } => {
            remove(draft, &[Span::with_prefix(layout::of_table(Area::Expiries, *number))])?
        }
    };
    if is_done {
        // In the commit of its last part: a task that ended before would leave a rest for good.
        task.end(draft)?;
    }
    Ok(true)
}

/// Enters some items; whether all are.
fn fill(catalogue: &Catalogue, draft: &mut Draft<'_>, task: &Task, table: &Table, position: &[u8]) -> Result<bool> {
    // On from where the last commit ended, whatever was written meanwhile: writes keep the index themselves.
    let items = Span::with_prefix(layout::of_table(Area::Items, table.number)).after_key(position);
    let (mut found, mut bytes, mut is_last) = (Vec::new(), 0, true);
    for row in draft.rows(items.bounds(), Direction::Forward) {
        let (key, value) = row.map_err(from_space)?;
        bytes += value.len();
        found.push((key.to_vec(), value.into_shared()));
        if found.len() >= STEP_ROWS_MAX || bytes >= STEP_BYTES_MAX {
            is_last = false;
            break;
        }
    }
    for (key, item) in &found {
        match task {
            Task::FillIndex { index, .. } => {
                let index = table.indexes.iter().find(|known| known.number == *index);
                let Some(index) = index else {
                    return Ok(true);
                };
                if let Some(entry) = Entry::of(table, index, item)? {
                    // From the item as it is in this draft, so that an entry which a write has made since is made again the same.
                    draft.put_row(entry.key, entry.bytes).map_err(from_space)?;
                }
            }
            _ => expiry::build_expiry(draft, table, key, item)?,
        }
    }
    if is_last {
        // With the last part, so that an index is whole when it may be read.
        finished(task, table).store(catalogue, draft)?;
    } else if let Some((key, _)) = found.last() {
        task.store(draft, key)?;
    }
    Ok(is_last)
}

/// The table whose index or times are filled.
fn finished(task: &Task, table: &Table) -> Table {
    let mut table = table.clone();
    match task {
        Task::FillIndex { index, .. } => {
            for known in table.indexes.iter_mut().filter(|known| known.number == *index) {
                known.is_building = false;
            }
        }
        _ => table.expiry_is_building = false,
    }
    table
}

/// Removes some rows; whether there are no more.
fn remove(draft: &mut Draft<'_>, spans: &[Span]) -> Result<bool> {
    let mut found: Vec<Vec<u8>> = Vec::new();
    for span in spans {
        for row in draft.rows(span.bounds(), Direction::Forward) {
            let (key, _) = row.map_err(from_space)?;
            found.push(key.to_vec());
            if found.len() >= STEP_ROWS_MAX {
                break;
            }
        }
        if found.len() >= STEP_ROWS_MAX {
            break;
        }
    }
    let is_last = found.len() < STEP_ROWS_MAX;
    for key in found {
        draft.delete_row(key).map_err(from_space)?;
    }
    Ok(is_last)
}

/// Refuses another change of a table while one goes on.
pub(crate) fn check_idle(view: &impl View, table: &Table) -> Result<()> {
    if table.indexes.iter().any(|index| index.is_building) {
        return Err(StoreError::from_protocol(
            "ResourceInUseException",
            &format!(
                "Attempt to change a resource which is still in use: Table is being updated: {}",
                table.spec.name
            ),
        ));
    }
    let mut key = vec![Area::Tasks as u8];
    key.extend_from_slice(&table.number.to_be_bytes());
    match view.first(&Span::with_prefix(key), Direction::Forward)? {
        None => Ok(()),
        Some(_) => Err(StoreError::from_protocol(
            "LimitExceededException",
            "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
        )),
    }
}
