//! Small files become larger ones, old ones go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::actions::{Action, AddFile};
use crate::batches::remove_old_batches;
use crate::cell::{Cell, Column};
use crate::data_file::RowsFile;
use crate::drafts::removed_file;
use crate::error::LakeError;
use crate::files::{FileEntry, LakeFiles, UNFINISHED};
use crate::lake::Lake;

/// The tag of a file that says how often its rows were put together.
pub(crate) const LEVEL_TAG: &str = "level";

/// So many files of one level become one of the next: a row is written once a level, whatever the table has.
pub(crate) const LEVEL_FILES: usize = 16;

/// A file with so many rows is large enough.
const FULL_FILE_ROWS: u64 = 1_000_000;

/// After so many versions of a table a reader is spared those before.
const CHECKPOINT_VERSIONS: u64 = 20;

/// How long what is no longer in a table stays readable, for those who read an older version: seven days.
pub const KEPT_MILLIS: i64 = 7 * 24 * 60 * 60 * 1_000;

/// What was done to keep a lake in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tidied {
    /// How many files were put together.
    pub compacted_files: usize,
    /// How many files were removed.
    pub removed_files: usize,
    /// How many rows of changes were emptied of what told of rows that are gone.
    pub emptied_rows: usize,
}

impl Lake {
    /// Puts small files of changes together where there are enough of them, and writes checkpoints that are due.
    ///
    /// # Errors
    ///
    /// Where another process was faster, or files cannot be read or written.
    pub fn tidy(&mut self, now_millis: i64) -> Result<Tidied, LakeError> {
        let mut tidied = Tidied::default();
        let names: Vec<String> = self.tables.keys().cloned().collect();
        let mut draft = self.begin_draft();
        for name in &names {
            let Some(table) = self.tables.get(name) else { continue };
            let columns = table.columns.clone();
            for (level, files) in full_levels(table.files.values()) {
                // By their first number, so that changes stay in the order in which they happened.
                let files = self.in_order(name, &columns, files)?;
                let level = (level + 1).to_string();
                for mut added in self.put_together(name, &columns, &files, &level, now_millis)? {
                    // The same rows in other files: whoever follows the table must not take them for new ones.
                    added.data_change = false;
                    draft.add_action(name, Action::Add(added));
                }
                for file in &files {
                    draft.add_action(name, Action::Remove(removed_file(file, false, now_millis)));
                }
                tidied.compacted_files += files.len();
            }
        }
        if !draft.is_empty() {
            // Before checkpoints, which then have it.
            self.commit(draft, "compact", None, now_millis)?;
        }
        for name in &names {
            self.write_due_checkpoint(name)?;
        }
        Ok(tidied)
    }

    /// Files in the order in which their rows came: they have names that were drawn. Each has the rows between its first number and the next one's.
    fn in_order(&self, table: &str, columns: &[Column], files: Vec<AddFile>) -> Result<Vec<AddFile>, LakeError> {
        let number: Vec<Column> = columns
            .iter()
            .filter(|column| column.name == "number")
            .cloned()
            .collect();
        let mut numbered = Vec::with_capacity(files.len());
        for file in files {
            let first = self.read_each(table, &file.path, &number)?.next().transpose()?;
            let first = first.and_then(|row| match row.first() {
                Some(Cell::Long(number)) => Some(*number),
                _ => None,
            });
            numbered.push((first, file));
        }
        numbered.sort_by_key(|(first, _)| *first);
        Ok(numbered.into_iter().map(|(_, file)| file).collect())
    }

    /// Writes the rows of files into as few as hold them.
    fn put_together(
        &self,
        table: &str,
        columns: &[Column],
        files: &[AddFile],
        level: &str,
        now_millis: i64,
    ) -> Result<Vec<AddFile>, LakeError> {
        let mut all = Vec::new();
        let mut put = |made: RowsFile<'_>| -> Result<(), LakeError> {
            let count = made.rows;
            if count > 0 {
                all.push(self.put_file(table, (made.finish()?, count), (LEVEL_TAG, level), now_millis)?);
            }
            Ok(())
        };
        let mut made = RowsFile::begin(columns);
        for file in files {
            for group in self.read_leaves(table, &file.path, columns)? {
                made.push_group(group?)?;
                if made.rows as u64 >= FULL_FILE_ROWS {
                    put(std::mem::replace(&mut made, RowsFile::begin(columns)))?;
                }
            }
        }
        put(made)?;
        Ok(all)
    }

    fn write_due_checkpoint(&mut self, name: &str) -> Result<(), LakeError> {
        let files = Arc::clone(&self.files);
        let table = self.table(name)?;
        if table.versions_since_checkpoint() < CHECKPOINT_VERSIONS {
            return Ok(());
        }
        table.write_checkpoint(files.as_ref())
    }

    /// Removes what no version younger than an instant has: data files, old versions, and what processes left that ended half-way. Versions of before
    /// cannot be read any more.
    ///
    /// # Errors
    ///
    /// Where files cannot be read or removed.
    pub(crate) fn vacuum(&mut self, before_millis: i64) -> Result<Tidied, LakeError> {
        let files = Arc::clone(&self.files);
        let mut tidied = Tidied::default();
        let names: Vec<String> = self.tables.keys().cloned().collect();
        for name in &names {
            let table = self.table(name)?;
            // What others have added since must not be removed as nobody's.
            table.refresh_log(files.as_ref())?;
            table.forget_removed(before_millis);
            // Removed files stay for as long as a reader may still read an older version.
            let kept: BTreeSet<String> = table.files.keys().chain(table.removed.keys()).cloned().collect();
            let old_logs = table.old_log_files(files.as_ref(), before_millis)?;
            let there = files.list(name).map_err(LakeError::file(name))?;
            let is_over = |entry: &&FileEntry| {
                // A file that was put just now may belong to a batch that is still to come.
                entry.made_at_millis < before_millis && entry.name.ends_with(".parquet") && !kept.contains(&entry.name)
            };
            let data = there
                .iter()
                .filter(is_over)
                .map(|entry| format!("{name}/{}", entry.name));
            for path in data.chain(old_logs) {
                files.remove(&path).map_err(LakeError::file(&path))?;
                tidied.removed_files += 1;
            }
        }
        tidied.removed_files += remove_unfinished(files.as_ref(), before_millis)?;
        remove_old_batches(files.as_ref(), self.batch.number)?;
        Ok(tidied)
    }
}

/// What processes began to write and did not end.
fn remove_unfinished(files: &dyn LakeFiles, before_millis: i64) -> Result<usize, LakeError> {
    let folder = UNFINISHED;
    let mut removed = 0;
    for entry in files.list(folder).map_err(LakeError::file(folder))? {
        if entry.made_at_millis < before_millis {
            let path = format!("{folder}/{}", entry.name);
            files.remove(&path).map_err(LakeError::file(&path))?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// The files that are to be put together, by level. Files of what is have none.
fn full_levels<'f>(files: impl Iterator<Item = &'f AddFile>) -> Vec<(u32, Vec<AddFile>)> {
    let mut levels: BTreeMap<u32, Vec<AddFile>> = BTreeMap::new();
    for file in files {
        let level = file.tag_value(LEVEL_TAG).and_then(|level| level.parse().ok());
        let is_full = file.rows().is_none_or(|rows| rows >= FULL_FILE_ROWS);
        if let Some(level) = level.filter(|_| !is_full) {
            levels.entry(level).or_default().push(file.clone());
        }
    }
    levels
        .into_iter()
        .filter(|(_, files)| files.len() >= LEVEL_FILES)
        .collect()
}
