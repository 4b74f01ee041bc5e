//! Folders of before: their rows are taken over at the first opening.
//!
//! The store once kept everything in one file of SQLite, items as DynamoDB JSON. That file is only read. Its rows are copied in
//! bounded commits and then compared, row by row; only when all agree it is said so in the new space, and the old file is
//! renamed. A process that is killed before begins again from nothing; one that is killed after has only to rename.

mod source;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::Path;

use singlet_item::{Item, item_size_bytes};
use singlet_keyspace::{Direction, Draft};
use singlet_store::{Result, StoreError, StreamRecord, TableSpec};

use crate::catalogue::{self, Table};
use crate::check::check_key_of;
use crate::codec::{RawItem, encode_item};
use crate::layout::{self, Area, Span};
use crate::stream::{self, Moment};
use crate::totals::Totals;
use crate::view::{View, from_space};
use crate::wait::wait_for;
use crate::write::ItemChange;
use crate::{EmbeddedStore, now_millis, tables};
use source::Source;

/// The file of a folder of before.
pub const OLD_FILE: &str = "singlet.db";
/// What it is called when its rows were taken over. It may be removed.
pub const OLD_FILE_KEPT: &str = "singlet.db.before";
/// The lock of a process that has a folder of before open.
const OLD_LOCK_FILE: &str = "singlet.lock";
/// How the name of a file ends that says that a table was being made or removed.
const UNFINISHED: &str = ".unfinished";

/// How much one commit takes over.
const STEP_ROWS_MAX: usize = 500;
/// Changes older than a day are not taken over: nobody can expect them.
const CHANGES_AGE_SECONDS_MAX: i64 = 24 * 60 * 60;

/// How far a folder of before is taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakeoverProgress {
    /// Which table.
    pub table: String,
    /// How many of its rows were copied.
    pub copied_rows: u64,
    /// How many of its rows were compared.
    pub compared_rows: u64,
    /// How many rows it has.
    pub rows: u64,
}

/// Where the state of it is kept.
fn state_key() -> Vec<u8> {
    layout::named_key(Area::Format, "takeover")
}

const BEGUN: &[u8] = b"begun";
const DONE: &[u8] = b"done";

/// Takes over the rows of a folder of before, if it is one.
pub(crate) fn take_over(
    store: &EmbeddedStore,
    folder: &Path,
    progress: &mut dyn FnMut(&TakeoverProgress),
) -> Result<()> {
    let old = folder.join(OLD_FILE);
    if !old.exists() {
        return Ok(());
    }
    // Held to the end: a process of before that writes meanwhile would write rows that nobody takes over.
    let _lock = lock(folder)?;
    let snapshot = store.snapshot();
    let state = snapshot.value(&state_key())?;
    match state.as_deref() {
        Some(DONE) if !folder.join(OLD_FILE_KEPT).exists() => return rename(folder),
        Some(BEGUN) => {}
        // Only into an empty space: rows of one name from two stores cannot be told apart afterwards.
        None if catalogue::table_names(&snapshot)?.is_empty() => {}
        // What is here now is not of that file, and would be lost.
        _ => {
            return Err(StoreError::unavailable(format!(
                "`{}` has tables of its own beside `{OLD_FILE}`, whose rows cannot be taken over; move that file to another folder",
                folder.display()
            )));
        }
    }
    // From nothing each time: what a killed attempt copied may be half of a table.
    begin(store)?;
    let source = Source::open(&old)?;
    for table in source.tables(&unfinished(folder)?)? {
        take_table(store, &source, &table, progress)?;
    }
    // After every row was compared, and before the old file is touched.
    set_state(store, DONE)?;
    // SQLite removes what it keeps beside the file when it is closed.
    drop(source);
    rename(folder)
}

fn set_state(store: &EmbeddedStore, state: &'static [u8]) -> Result<()> {
    wait_for(store.commit(0, move |_, draft, _| {
        draft.put_row(state_key(), state).map_err(from_space)
    }))
}

/// A process of before that has the folder open writes there still.
fn lock(folder: &Path) -> Result<File> {
    let path = folder.join(OLD_LOCK_FILE);
    let failed = |error: std::io::Error| StoreError::unavailable(format!("cannot open `{}`: {error}", path.display()));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::unavailable(format!(
            "`{}` is open in another process, of a version before this one",
            folder.display()
        ))),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// Tables that a killed process was making or removing, with what it said of them.
fn unfinished(folder: &Path) -> Result<Vec<(String, String)>> {
    let failed =
        |error: std::io::Error| StoreError::unavailable(format!("cannot read `{}`: {error}", folder.display()));
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if let Some(table) = name.and_then(|name| name.strip_suffix(UNFINISHED)) {
            found.push((table.to_owned(), fs::read_to_string(&path).map_err(failed)?));
        }
    }
    Ok(found)
}

/// Begins from nothing: what another attempt copied goes.
fn begin(store: &EmbeddedStore) -> Result<()> {
    set_state(store, BEGUN)?;
    let everything = [
        Area::Tables,
        Area::Tasks,
        Area::Items,
        Area::Entries,
        Area::Changes,
        Area::Expiries,
        Area::Totals,
    ]
    .into_iter()
    .chain([Area::Collections, Area::Trimmed, Area::Tokens, Area::TokenTimes]);
    for area in everything {
        let remove = |store: &EmbeddedStore| {
            wait_for(store.commit(0, move |catalogue, draft, _| {
                catalogue.changes_with(draft);
                let rows = draft
                    .rows(layout::all_of(area).bounds(), Direction::Forward)
                    .take(STEP_ROWS_MAX);
                let keys: Vec<Vec<u8>> = rows
                    .map(|row| row.map(|(key, _)| key.to_vec()))
                    .collect::<std::result::Result<_, _>>()
                    .map_err(from_space)?;
                for key in &keys {
                    draft.delete_row(key.as_slice()).map_err(from_space)?;
                }
                Ok(keys.len())
            }))
        };
        while remove(store)? > 0 {}
    }
    Ok(())
}

fn take_table(
    store: &EmbeddedStore,
    source: &Source,
    spec: &TableSpec,
    progress: &mut dyn FnMut(&TakeoverProgress),
) -> Result<()> {
    let mut so_far = TakeoverProgress {
        table: spec.name.clone(),
        copied_rows: 0,
        compared_rows: 0,
        rows: source.count(&spec.name)?,
    };
    progress(&so_far);
    // Without its stream: that rows are copied is no change.
    let mut silent = spec.clone();
    silent.stream = None;
    wait_for(store.commit(0, move |catalogue, draft, now| {
        tables::create_table(catalogue, draft, &silent, Moment::new(now))
    }))?;
    source.each(&spec.name, STEP_ROWS_MAX, &mut |rows| {
        so_far.copied_rows += rows.len() as u64;
        let (name, rows) = (spec.name.clone(), rows.to_vec());
        wait_for(store.commit(0, move |catalogue, draft, now| {
            let table = catalogue.table(draft, &name)?;
            rows.iter().try_for_each(|item| copy(draft, &table, item, now))
        }))?;
        progress(&so_far);
        Ok(())
    })?;
    take_changes(store, source, spec)?;
    compare(store, source, spec, &mut so_far, progress)
}

fn copy(draft: &mut Draft<'_>, table: &Table, item: &Item, now_millis: u64) -> Result<()> {
    // The engine of before took some that DynamoDB does not; they are kept as they are, if they have a key.
    check_key_of(table, item)?;
    let size = item_size_bytes(item);
    let (key, bytes) = (table.item_key(item), encode_item(item).into());
    let collection = table.has_local_index().then(|| {
        let mut collection = layout::of_table(Area::Collections, table.number);
        let values = table
            .partition_key()
            .iter()
            .filter_map(|attribute| item.get(&attribute.name));
        layout::put_partition(&mut collection, values);
        collection
    });
    let change = ItemChange {
        table,
        key: &key,
        collection: collection.as_deref(),
        old: None,
        new: Some(&bytes),
        sizes: (None, Some(size)),
    };
    change
        .apply_change(draft, None, &mut Moment::new(now_millis), false)
        .map(drop)
}

/// Turns the stream on, with the changes of the last day.
fn take_changes(store: &EmbeddedStore, source: &Source, spec: &TableSpec) -> Result<()> {
    let Some(view) = spec.stream else {
        return Ok(());
    };
    let name = spec.name.clone();
    wait_for(store.commit(0, move |catalogue, draft, _| {
        let mut table = Table::clone(&*catalogue.table(draft, &name)?);
        table.spec.stream = Some(view);
        table.stream_since = draft.number();
        table.store(catalogue, draft)
    }))?;
    let oldest = Moment::new(now_millis()).at_seconds - CHANGES_AGE_SECONDS_MAX;
    source.each_change(&spec.name, oldest, STEP_ROWS_MAX, &mut |changes| {
        let (name, changes) = (spec.name.clone(), changes.to_vec());
        wait_for(store.commit(0, move |catalogue, draft, _| {
            let table = catalogue.table(draft, &name)?;
            tell(draft, &table, &changes)
        }))
    })
}

fn tell(draft: &mut Draft<'_>, table: &Table, changes: &[StreamRecord]) -> Result<()> {
    let mut totals = Totals::of(draft, table)?;
    for (place, change) in (0..).zip(changes) {
        totals.change_bytes += stream::record_told(draft, table, change, place)?;
    }
    totals.store(draft, table)
}

/// Compares every row of the old file with what is in the new space, and their number.
fn compare(
    store: &EmbeddedStore,
    source: &Source,
    spec: &TableSpec,
    so_far: &mut TakeoverProgress,
    progress: &mut dyn FnMut(&TakeoverProgress),
) -> Result<()> {
    let snapshot = store.snapshot();
    let table = store.catalogue().table(&snapshot, &spec.name)?;
    source.each(&spec.name, STEP_ROWS_MAX, &mut |rows| {
        for item in rows {
            let found = snapshot.value(&table.item_key(item))?;
            let found = found.map(|bytes| RawItem::new(&bytes)?.decode_item()).transpose()?;
            if found.as_ref() != Some(item) {
                return Err(differs(&spec.name));
            }
        }
        so_far.compared_rows += rows.len() as u64;
        progress(so_far);
        Ok(())
    })?;
    let items = Span::with_prefix(layout::of_table(Area::Items, table.number));
    let count = snapshot.range(items.bounds(), Direction::Forward).count() as u64;
    if count != so_far.compared_rows || Totals::of(&snapshot, &table)?.items != count {
        return Err(differs(&spec.name));
    }
    Ok(())
}

fn differs(table: &str) -> StoreError {
    StoreError::unavailable(format!(
        "rows of table `{table}` are not what they were in `{OLD_FILE}`, which is left as it is; remove the other files of the folder and \
         open it again"
    ))
}

/// The old file is kept under another name, with what SQLite keeps beside it.
fn rename(folder: &Path) -> Result<()> {
    let failed = |error: std::io::Error| StoreError::unavailable(format!("cannot rename `{OLD_FILE}`: {error}"));
    // The file itself last: as long as it has its name, all of this is done again.
    for ending in ["-wal", "-shm", ""] {
        let from = folder.join(format!("{OLD_FILE}{ending}"));
        if from.exists() {
            fs::rename(&from, folder.join(format!("{OLD_FILE_KEPT}{ending}"))).map_err(failed)?;
        }
    }
    for (table, _) in unfinished(folder)? {
        fs::remove_file(folder.join(format!("{table}{UNFINISHED}"))).map_err(failed)?;
    }
    let _ = fs::remove_file(folder.join(OLD_LOCK_FILE));
    if cfg!(unix) {
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(failed)?;
    }
    Ok(())
}
