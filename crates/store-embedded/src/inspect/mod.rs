//! Whether a folder holds what it should: every row of the key space is looked at, and all that follows from an item is made
//! again and compared. Nothing is changed.

mod changes;
mod items;
mod leftovers;

use std::collections::BTreeMap;
use std::path::Path;

use singlet_item::{Item, Value};
use singlet_keyspace::{Direction, Keyspace, Options, Size, Snapshot};
use singlet_store::{ErrorKind, Result, StoreError};

use crate::catalogue::{self, Table};
use crate::codec::Reader;
use crate::layout::{self, Area, Span};
use crate::upkeep::FORMAT;
use crate::view::{View, from_space};
use crate::{EmbeddedStore, tasks};

/// How many flaws of one kind are shown; all are counted.
const FLAWS_SHOWN_MAX: usize = 5;

/// What is wrong in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// What kind of flaw it is.
    pub kind: FlawKind,
    /// The table, where it is one of a table.
    pub table: Option<String>,
    /// The key of the item, where it is one of an item.
    pub key: Option<String>,
    /// What was found, in words.
    pub what: String,
}

/// The kinds of flaws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FlawKind {
    /// Something cannot be read.
    Unreadable,
    /// A row of the key space belongs to nothing.
    Leftover,
    /// An item lies under a key that is not its own.
    ItemMisplaced,
    /// An item states another size than it has.
    ItemSize,
    /// An index has no entry of an item that it should have.
    EntryMissing,
    /// An entry of an index is not what its item says.
    EntryDiffers,
    /// An index has an entry of no item.
    EntryStray,
    /// The time at which an item expires is not kept.
    ExpiryMissing,
    /// A time is kept at which no item expires.
    ExpiryStray,
    /// What is counted of a table is not what is there.
    TotalsDiffer,
    /// What is counted of an item collection is not what is there.
    CollectionDiffers,
    /// A change of a stream has a number that it cannot have.
    ChangeNumber,
    /// The changes of an item do not follow from one another, or do not end with what it is.
    ChangeOrder,
    /// What is kept of the tokens of transactions does not fit together.
    TokenStray,
}

impl FlawKind {
    /// Its name, which never changes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::Leftover => "leftover",
            Self::ItemMisplaced => "item-misplaced",
            Self::ItemSize => "item-size",
            Self::EntryMissing => "entry-missing",
            Self::EntryDiffers => "entry-differs",
            Self::EntryStray => "entry-stray",
            Self::ExpiryMissing => "expiry-missing",
            Self::ExpiryStray => "expiry-stray",
            Self::TotalsDiffer => "totals-differ",
            Self::CollectionDiffers => "collection-differs",
            Self::ChangeNumber => "change-number",
            Self::ChangeOrder => "change-order",
            Self::TokenStray => "token-stray",
        }
    }
}

/// What a table takes, in rows and bytes of keys and values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableSize {
    /// Its name.
    pub name: String,
    /// Items.
    pub items: RowsSize,
    /// Entries of all its indexes.
    pub entries: RowsSize,
    /// Changes of its stream.
    pub changes: RowsSize,
    /// Times at which items expire.
    pub expiries: RowsSize,
}

/// How many rows there are, and how many bytes their keys and values have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowsSize {
    /// How many.
    pub rows: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl RowsSize {
    fn add(&mut self, key: &[u8], value: &[u8]) {
        self.rows += 1;
        self.bytes += (key.len() + value.len()) as u64;
    }
}

/// What was found in a folder.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Inspection {
    /// The first flaws of each kind.
    pub flaws: Vec<Flaw>,
    /// How many of each kind there are.
    pub counts: BTreeMap<FlawKind, u64>,
    /// The tables.
    pub tables: Vec<TableSize>,
    /// Bytes of the file that holds the each_row, free room included.
    pub base_bytes: u64,
    /// Bytes of the log.
    pub log_bytes: u64,
    /// What goes on at the next opening: filling an index, removing a table.
    pub unfinished: u64,
}

impl Inspection {
    pub(crate) fn add_flaw(
        &mut self,
        kind: FlawKind,
        table: Option<&Table>,
        key: Option<String>,
        what: impl Into<String>,
    ) {
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        if *count <= FLAWS_SHOWN_MAX as u64 {
            self.flaws.push(Flaw {
                kind,
                table: table.map(|table| table.spec.name.clone()),
                key,
                what: what.into(),
            });
        }
    }

    /// Notes what cannot be read; the rest goes on.
    pub(crate) fn note_unreadable<T>(
        &mut self,
        table: Option<&Table>,
        key: Option<String>,
        read: Result<T>,
    ) -> Option<T> {
        read.map_err(|error| self.add_flaw(FlawKind::Unreadable, table, key, error.message()))
            .ok()
    }
}

impl EmbeddedStore {
    /// The store in a folder, to be looked at: whatever is done with it, the folder stays as it is. Every page of the file that
    /// holds the rows was held against its checksum.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InUse`], where a process has it open; [`ErrorKind::NotFound`], where there is no data; else what of the
    /// files is damaged.
    pub fn open_to_inspect(folder: &Path) -> Result<Self> {
        let has_old = folder.join(crate::takeover::OLD_FILE).is_file();
        if !Keyspace::is_in(folder) && has_old {
            return Err(StoreError::new(
                ErrorKind::BadRequest,
                format!("`{}` holds data of a version before: open it once", folder.display()),
            ));
        }
        let space = Keyspace::open_to_inspect(folder, Options::default()).map_err(|error| match () {
            () if error.is_locked() => StoreError::new(ErrorKind::InUse, error.to_string()),
            () if error.is_damaged() => from_space(error),
            () if Keyspace::is_in(folder) => from_space(error),
            () => StoreError::new(
                ErrorKind::NotFound,
                format!("there is no data in `{}`", folder.display()),
            ),
        })?;
        Ok(Self::unprepared(space, true))
    }

    /// Looks at every row.
    ///
    /// # Errors
    ///
    /// Where the size of the folder cannot be asked for. What cannot be read is in the answer.
    pub fn inspect_rows(&self) -> Result<Inspection> {
        let size: Size = self.inner.space.size().map_err(from_space)?;
        let snapshot = self.snapshot();
        let mut found = Inspection {
            base_bytes: size.base_bytes,
            log_bytes: size.log_bytes,
            ..Inspection::default()
        };
        inspect_format(&snapshot, &mut found);
        let tables = readable_tables(&snapshot, &mut found);
        let begun = found
            .note_unreadable(None, None, tasks::begun_tasks(&snapshot))
            .unwrap_or_default();
        found.unfinished = begun.len() as u64;
        for table in &tables {
            let mut size = TableSize {
                name: table.spec.name.clone(),
                ..TableSize::default()
            };
            items::inspect_items(&snapshot, table, &mut size, &mut found);
            items::inspect_entries(&snapshot, table, &begun, &mut size, &mut found);
            items::inspect_expiries(&snapshot, table, &mut size, &mut found);
            changes::inspect_changes(&snapshot, table, &mut size, &mut found);
            found.tables.push(size);
        }
        leftovers::inspect_leftovers(&snapshot, &tables, &begun, &mut found);
        leftovers::inspect_tokens(&snapshot, &mut found);
        Ok(found)
    }
}

fn inspect_format(snapshot: &Snapshot, found: &mut Inspection) {
    let format = snapshot.value(&layout::named_key(Area::Format, "format"));
    let format = format.and_then(|bytes| bytes.map(|bytes| Reader::new(&bytes).read_varint()).transpose());
    match found.note_unreadable(None, None, format) {
        Some(Some(FORMAT)) | None => {}
        Some(Some(other)) => found.add_flaw(
            FlawKind::Unreadable,
            None,
            None,
            format!("the store has format {other}, and this program knows {FORMAT}"),
        ),
        Some(None) => found.add_flaw(
            FlawKind::Unreadable,
            None,
            None,
            "the store does not say which format it has",
        ),
    }
}

fn readable_tables(snapshot: &Snapshot, found: &mut Inspection) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    each_row(snapshot, &layout::all_of(Area::Tables), found, |found, (key, value)| {
        let name = String::from_utf8_lossy(key.get(1..).unwrap_or_default()).into_owned();
        let Some(table) = found.note_unreadable(None, Some(name.clone()), catalogue::decode_table(&value)) else {
            return;
        };
        if table.spec.name != name || tables.iter().any(|other| other.number == table.number) {
            let what = format!(
                "table `{}` is kept under the name `{name}`, or has the number of another",
                table.spec.name
            );
            found.add_flaw(FlawKind::Leftover, Some(&table), None, what);
        }
        tables.push(table);
    });
    tables
}

type Row = (singlet_keyspace::Bytes, singlet_keyspace::Bytes);

/// Looks at the rows of a span, up to the first that cannot be read: what lies behind it cannot be reached either.
fn each_row(snapshot: &Snapshot, span: &Span, found: &mut Inspection, mut look: impl FnMut(&mut Inspection, Row)) {
    for row in snapshot.range(span.bounds(), Direction::Forward) {
        match row {
            Ok(row) => look(found, row),
            Err(error) => {
                found.note_unreadable::<()>(None, None, Err(from_space(error)));
                return;
            }
        }
    }
}

/// The key of an item in words.
fn shown_key(table: &Table, item: &Item) -> String {
    let shown = table
        .spec
        .key
        .attributes()
        .map(|attribute| match item.get(&attribute.name) {
            Some(Value::S(text)) => format!("{} `{text}`", attribute.name),
            Some(Value::N(number)) => format!("{} {number}", attribute.name),
            Some(other) => format!("{} {other:?}", attribute.name),
            None => format!("{} missing", attribute.name),
        });
    shown.collect::<Vec<_>>().join(", ")
}

/// Bytes that cannot be read as anything.
fn shown_bytes(bytes: &[u8]) -> String {
    const BYTES_SHOWN_MAX: usize = 48;
    let shown: String = bytes
        .iter()
        .take(BYTES_SHOWN_MAX)
        .flat_map(|byte| std::ascii::escape_default(*byte))
        .map(char::from)
        .collect();
    match bytes.len() > BYTES_SHOWN_MAX {
        true => format!("{shown}…"),
        false => shown,
    }
}
