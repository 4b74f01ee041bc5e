//! Erasure: what history has of rows that are gone, and of attributes that are readable no longer, is emptied where it tells of a person.
//!
//! **Invariant:** history has personal values only of rows that are in the table of what is, and of those that `_erasures` names. Files of before are
//! in no version any more that a vacuum leaves; logs and checkpoints have no values at all.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::actions::{Action, AddFile};
use crate::cell::{Cell, Column, ColumnType};
use crate::compaction::LEVEL_TAG;
use crate::data_file::RowsFile;
use crate::drafts::{Draft, removed_file};
use crate::error::LakeError;
use crate::lake::Lake;
use crate::layout::{
    CHANGE_AFTER, CHANGE_ID, CHANGE_KEY, ERASURES, EntityTables, MISFITS, changes_table, erasure_columns,
};
use crate::personal::{Emptied, empty_cells};

/// How long it may take until history is emptied of a row that is gone: one reading of all history a day, however many go.
const ERASE_MILLIS: i64 = 24 * 60 * 60 * 1_000;

/// So many rows that are gone are not waited with: their keys are held in memory.
const ERASURES_MAX: u64 = 500_000;

/// Rows that are gone: by entity and key, the number of the last change that counts for nothing any more.
type Erasures = BTreeMap<String, HashMap<String, i64>>;

impl Lake {
    /// Empties history where that is due.
    ///
    /// # Errors
    ///
    /// Where another process was faster, or files cannot be read or written.
    pub(crate) fn erase_due(&mut self, now_millis: i64) -> Result<usize, LakeError> {
        let Some(table) = self.tables.get(ERASURES) else {
            return Ok(0);
        };
        let rows: u64 = table.files.values().filter_map(AddFile::rows).sum();
        let has_waited = now_millis.saturating_sub(self.batch.erased_at) >= ERASE_MILLIS;
        match rows > 0 && (has_waited || rows >= ERASURES_MAX) {
            true => self.erase_gone(now_millis),
            false => Ok(0),
        }
    }

    /// Empties what history has of rows that are gone and tells of a person; how many rows of changes had something.
    ///
    /// # Errors
    ///
    /// Where another process was faster, or files cannot be read or written.
    pub fn erase_gone(&mut self, now_millis: i64) -> Result<usize, LakeError> {
        let (erasures, waiting) = self.waiting_erasures()?;
        if waiting.is_empty() {
            return Ok(0);
        }
        let mut draft = self.begin_draft();
        let mut emptied = 0;
        for (entity, gone) in &erasures {
            emptied += self.draft_erased(&mut draft, entity, gone, now_millis)?;
        }
        for file in &waiting {
            // In the batch that empties them: what is still to be erased is never forgotten before it is.
            draft.add_action(ERASURES, Action::Remove(removed_file(file, true, now_millis)));
        }
        draft.is_erased = true;
        self.commit(draft, "erase", None, now_millis)?;
        Ok(emptied)
    }

    fn waiting_erasures(&self) -> Result<(Erasures, Vec<AddFile>), LakeError> {
        let mut erasures = Erasures::new();
        let Some(table) = self.tables.get(ERASURES) else {
            return Ok((erasures, Vec::new()));
        };
        for path in table.files.keys() {
            for row in self.read_rows(ERASURES, path, &erasure_columns())? {
                let [Cell::Long(number), entity, key] = row.as_slice() else {
                    return Err(LakeError::Shape);
                };
                let (Some(entity), Some(key)) = (entity.as_text(), key.as_text()) else {
                    return Err(LakeError::Shape);
                };
                let last = erasures.entry(entity.to_owned()).or_default().entry(key.to_owned());
                let last = last.or_insert(*number);
                // The last end of the row counts: what came before it is emptied, what came after is of a new row.
                *last = (*last).max(*number);
            }
        }
        Ok((erasures, table.files.values().cloned().collect()))
    }

    fn draft_erased(
        &mut self,
        draft: &mut Draft,
        entity: &str,
        gone: &HashMap<String, i64>,
        now_millis: i64,
    ) -> Result<usize, LakeError> {
        let name = changes_table(entity);
        let table = self.table(&name)?;
        let columns = table.columns.clone();
        let files: Vec<AddFile> = table.files.values().cloned().collect();
        let is_head = |column: &&Column| matches!(column.name.as_str(), "number" | "key");
        let heads: Vec<Column> = columns.iter().filter(is_head).cloned().collect();
        let is_gone = |number: Option<&Cell>, key: Option<&Cell>| match (number, key.and_then(Cell::as_text)) {
            // A row that was made again under the key has later numbers.
            (Some(Cell::Long(number)), Some(key)) => gone.get(key).is_some_and(|last| number <= last),
            _ => false,
        };
        let mut emptied = 0;
        for file in files {
            // Most files have nothing of most rows: two columns tell.
            let heads = self.read_rows(&name, &file.path, &heads)?;
            if !heads.iter().any(|head| is_gone(head.first(), head.get(1))) {
                continue;
            }
            let empty_gone = |row: &mut [Cell]| {
                is_gone(row.first(), row.get(CHANGE_KEY)) && empty_cells(&columns, row, Emptied::Personal)
            };
            emptied += self.draft_again(draft, (&name, &columns), &file, empty_gone, now_millis)?;
        }
        Ok(emptied)
    }

    /// Has a file written anew where rows of it become others; how many do.
    fn draft_again(
        &self,
        draft: &mut Draft,
        (table, columns): (&str, &[Column]),
        file: &AddFile,
        mut change_row: impl FnMut(&mut [Cell]) -> bool,
        now_millis: i64,
    ) -> Result<usize, LakeError> {
        let mut made = RowsFile::begin(columns);
        let mut changed = 0;
        for row in self.read_each(table, &file.path, columns)? {
            let mut row = row?;
            changed += usize::from(change_row(&mut row));
            // Every row, changed or not: the new file takes the place of the old one.
            made.push_row(row)?;
        }
        if changed > 0 {
            let count = made.rows;
            let level = file.tag_value(LEVEL_TAG).unwrap_or("0");
            let added = self.put_file(table, (made.finish()?, count), (LEVEL_TAG, level), now_millis)?;
            draft.add_action(table, Action::Remove(removed_file(file, true, now_millis)));
            draft.add_action(table, Action::Add(added));
        }
        Ok(changed)
    }

    /// Empties what the model says by now is not readable in all of history, and what tells of persons whose rows were gone before it said so.
    pub(crate) fn draft_emptied(
        &self,
        draft: &mut Draft,
        present: &BTreeMap<String, HashSet<String>>,
        now_millis: i64,
    ) -> Result<(), LakeError> {
        for tables in self.entities.values().filter(|tables| tables.is_emptied()) {
            let Some(table) = self.tables.get(&tables.changes) else {
                continue;
            };
            let columns = &tables.changes_columns;
            let mut ended: HashMap<String, i64> = HashMap::new();
            for file in table.files.values() {
                for row in self.read_each(&tables.changes, &file.path, columns)? {
                    let row = row?;
                    if let (Some(Cell::Long(number)), Some(Cell::Null)) = (row.first(), row.get(CHANGE_AFTER)) {
                        let last = ended.entry(key_of(tables, &row)).or_insert(*number);
                        *last = (*last).max(*number);
                    }
                }
            }
            let none = HashSet::new();
            let present = present.get(&tables.entity).unwrap_or(&none);
            for file in table.files.values() {
                let empty_or_hide = |row: &mut [Cell]| {
                    let mut has_changed = empty_cells(columns, row, Emptied::Omitted);
                    has_changed |= hide_key(tables, row);
                    let key = row.get(CHANGE_KEY).and_then(Cell::as_text).unwrap_or_default();
                    let has_ended = ended.get(key).is_some_and(|last| number_of(row) <= *last);
                    // Not in the table and not to be erased later: then it is emptied now.
                    if has_ended || !present.contains(key) {
                        has_changed |= empty_cells(columns, row, Emptied::Personal);
                    }
                    has_changed
                };
                self.draft_again(draft, (&tables.changes, columns), file, empty_or_hide, now_millis)?;
            }
        }
        self.draft_emptied_misfits(draft, now_millis)
    }

    /// What did not fit before the model said what tells of a person may have any of it.
    fn draft_emptied_misfits(&self, draft: &mut Draft, now_millis: i64) -> Result<(), LakeError> {
        let is_meant = |entity: &str| self.entities.get(entity).is_some_and(EntityTables::is_emptied);
        let Some(table) = self.tables.get(MISFITS) else {
            return Ok(());
        };
        if !self.entities.values().any(EntityTables::is_emptied) {
            return Ok(());
        }
        let columns = &table.columns;
        for file in table.files.values() {
            let empty_item = |row: &mut [Cell]| {
                let entity = columns.iter().position(|column| column.name == "entity");
                let entity = entity.and_then(|at| row.get(at)).and_then(Cell::as_text);
                if !entity.is_some_and(is_meant) {
                    return false;
                }
                for (column, cell) in columns.iter().zip(row.iter_mut()) {
                    match column.name.as_str() {
                        "old" | "new" | "id" => *cell = Cell::Null,
                        "reason" => *cell = Cell::text("it did not fit"),
                        _ => {}
                    }
                }
                true
            };
            self.draft_again(draft, (MISFITS, columns), file, empty_item, now_millis)?;
        }
        Ok(())
    }
}

/// The key of a change as it stands by now.
fn key_of(tables: &EntityTables, row: &[Cell]) -> String {
    let key = row.get(CHANGE_KEY).and_then(Cell::as_text).unwrap_or_default();
    tables.hidden_key(key).unwrap_or_else(|| key.to_owned())
}

fn number_of(row: &[Cell]) -> i64 {
    match row.first() {
        Some(Cell::Long(number)) => *number,
        // Without a number it is taken for newer than any end, and kept.
        _ => i64::MAX,
    }
}

/// Has the key of a change of before tell nothing of a person; whether it did.
fn hide_key(tables: &EntityTables, row: &mut [Cell]) -> bool {
    let hidden = row
        .get(CHANGE_KEY)
        .and_then(Cell::as_text)
        .and_then(|key| tables.hidden_key(key));
    let Some(hidden) = hidden else { return false };
    if let Some(key) = row.get_mut(CHANGE_KEY) {
        *key = Cell::text(hidden);
    }
    if let Some(id) = row.get_mut(CHANGE_ID) {
        let text = id.as_text().map(|id| tables.persons.hidden_id(id));
        *id = Cell::optional_text(text);
    }
    true
}

/// Whether a struct of columns has one that was emptied since.
pub(crate) fn is_emptied_since(before: &[Column], now: &[Column]) -> bool {
    before.iter().zip(now).any(|(before, now)| {
        let within = match (&before.ty, &now.ty) {
            (ColumnType::Struct(before), ColumnType::Struct(now)) => is_emptied_since(before, now),
            _ => false,
        };
        within || before.personal != now.personal
    })
}
