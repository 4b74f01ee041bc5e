//! The log of one Delta table: what each version says, and what the table is by it.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use crate::actions::{
    Action, AddFile, MetaData, Protocol, RemoveFile, Txn, cell_of_json, checkpoint_columns, json_of_cell,
};
use crate::cell::Column;
use crate::data_file::{file_of_rows, rows_of_file};
use crate::delta_schema::columns_of_schema;
use crate::error::LakeError;
use crate::files::{FileEntry, LakeFiles};

/// What readers and writers of our tables must be able to do: no more than the first version of the protocol that is of any use.
pub(crate) const PROTOCOL: Protocol = Protocol {
    min_reader_version: 1,
    min_writer_version: 2,
};

/// The folder of a table's log.
const LOG: &str = "_delta_log";

/// A table as its log has it.
#[derive(Debug, Default)]
pub(crate) struct TableLog {
    /// Its folder.
    pub name: String,
    /// The last version that was read; none where there is no table.
    pub version: Option<u64>,
    pub metadata: Option<MetaData>,
    /// The columns of its schema.
    pub columns: Vec<Column>,
    /// The files that hold its rows, by path.
    pub files: BTreeMap<String, AddFile>,
    /// Files that held some, by path.
    pub removed: BTreeMap<String, RemoveFile>,
    txns: BTreeMap<String, Txn>,
    /// The version of the newest checkpoint that is known.
    checkpoint: Option<u64>,
}

impl TableLog {
    /// Reads a table from its newest checkpoint on.
    pub(crate) fn load_log(files: &dyn LakeFiles, name: &str) -> Result<Self, LakeError> {
        let mut table = TableLog {
            name: name.to_owned(),
            ..TableLog::default()
        };
        // From the last checkpoint on, since the entries before it may be gone.
        if let Some(version) = table.checkpoint_versions(files)?.last().copied() {
            table.read_checkpoint(files, version)?;
        }
        table.refresh_log(files)?;
        Ok(table)
    }

    /// Reads what was written since.
    pub(crate) fn refresh_log(&mut self, files: &dyn LakeFiles) -> Result<(), LakeError> {
        while self.read_version(files, self.next_version())? {}
        Ok(())
    }

    /// Reads one version; whether it is there.
    pub(crate) fn read_version(&mut self, files: &dyn LakeFiles, version: u64) -> Result<bool, LakeError> {
        let path = self.version_path(version);
        let Some(bytes) = files.get(&path).map_err(LakeError::file(&path))? else {
            return Ok(false);
        };
        let text = std::str::from_utf8(&bytes).map_err(|error| LakeError::unreadable(&path, error))?;
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let json = serde_json::from_str(line).map_err(|error| LakeError::unreadable(&path, error))?;
            self.read_json(&path, json)?;
        }
        self.version = Some(version);
        Ok(true)
    }

    /// Writes the next version; whether nobody else did.
    pub(crate) fn commit(&mut self, files: &dyn LakeFiles, actions: &[Action]) -> Result<bool, LakeError> {
        let next = self.next_version();
        let path = self.version_path(next);
        let mut text = String::new();
        for action in actions {
            let line = serde_json::to_string(action).map_err(|error| LakeError::unreadable(&path, error))?;
            text.push_str(&line);
            text.push('\n');
        }
        // The one step that decides: of two who write a version one is told.
        if !files.put_new(&path, text.as_bytes()).map_err(LakeError::file(&path))? {
            return Ok(false);
        }
        // Taken in only once it is there, so that what is known of the table is what it says.
        for action in actions {
            self.take(&path, action.clone())?;
        }
        self.version = Some(next);
        Ok(true)
    }

    /// How far a writer is in the table, in its own count.
    pub(crate) fn txn_version(&self, app_id: &str) -> Option<i64> {
        self.txns.get(app_id).map(|txn| txn.version)
    }

    fn next_version(&self) -> u64 {
        self.version.map_or(0, |version| version + 1)
    }

    pub(crate) fn log_folder(&self) -> String {
        format!("{}/{LOG}", self.name)
    }

    pub(crate) fn version_path(&self, version: u64) -> String {
        format!("{}/{LOG}/{version:020}.json", self.name)
    }

    pub(crate) fn checkpoint_path(&self, version: u64) -> String {
        format!("{}/{LOG}/{version:020}.checkpoint.parquet", self.name)
    }

    fn read_json(&mut self, path: &str, json: Json) -> Result<(), LakeError> {
        let action = Action::from_json(json).map_err(|error| LakeError::unreadable(path, error))?;
        match action {
            Some(action) => self.take(path, action),
            None => Ok(()),
        }
    }

    fn take(&mut self, path: &str, action: Action) -> Result<(), LakeError> {
        match action {
            Action::Add(add) => {
                self.removed.remove(&add.path);
                self.files.insert(add.path.clone(), add);
            }
            Action::Remove(remove) => {
                self.files.remove(&remove.path);
                self.removed.insert(remove.path.clone(), remove);
            }
            Action::MetaData(metadata) => {
                let columns = columns_of_schema(&metadata.schema_string);
                self.columns = columns.ok_or_else(|| LakeError::unreadable(path, "another has changed the schema"))?;
                self.metadata = Some(metadata);
            }
            Action::Protocol(protocol) if protocol != PROTOCOL => {
                let reason = "another has changed the table to a protocol that the lake does not write";
                // Nothing is written to a table whose rules are not known.
                return Err(LakeError::unreadable(path, reason));
            }
            Action::Txn(txn) => {
                self.txns.insert(txn.app_id.clone(), txn);
            }
            Action::Protocol(_) | Action::CommitInfo(_) => {}
        }
        Ok(())
    }
}

/// Checkpoints: what counts of all versions so far, in one file.
impl TableLog {
    /// The versions that have one, in order.
    pub(crate) fn checkpoint_versions(&self, files: &dyn LakeFiles) -> Result<Vec<u64>, LakeError> {
        let folder = self.log_folder();
        let entries = files.list(&folder).map_err(LakeError::file(&folder))?;
        let version = |name: &str| name.strip_suffix(".checkpoint.parquet")?.parse().ok();
        let mut versions: Vec<u64> = entries.iter().filter_map(|entry| version(&entry.name)).collect();
        versions.sort_unstable();
        Ok(versions)
    }

    fn read_checkpoint(&mut self, files: &dyn LakeFiles, version: u64) -> Result<(), LakeError> {
        let path = self.checkpoint_path(version);
        let bytes = files.get(&path).map_err(LakeError::file(&path))?;
        let bytes = bytes.ok_or_else(|| LakeError::unreadable(&path, "it is gone"))?;
        let columns = checkpoint_columns();
        let rows = rows_of_file(&columns, bytes).map_err(|error| LakeError::unreadable(&path, error))?;
        for row in rows {
            for (column, cell) in columns.iter().zip(&row) {
                let json = json_of_cell(&column.ty, cell);
                if !json.is_null() {
                    self.read_json(&path, json!({ column.name.as_str(): json }))?;
                }
            }
        }
        (self.version, self.checkpoint) = (Some(version), Some(version));
        Ok(())
    }

    /// How many versions there are since the newest checkpoint.
    pub(crate) fn versions_since_checkpoint(&self) -> u64 {
        let version = self.version.map_or(0, |version| version + 1);
        version.saturating_sub(self.checkpoint.map_or(0, |checkpoint| checkpoint + 1))
    }

    /// Writes one for the last version, and says so to readers. Of two who write the same one, either will do.
    pub(crate) fn write_checkpoint(&mut self, files: &dyn LakeFiles) -> Result<(), LakeError> {
        let (Some(version), Some(metadata)) = (self.version, &self.metadata) else {
            return Ok(());
        };
        let mut actions = vec![Action::Protocol(PROTOCOL), Action::MetaData(metadata.clone())];
        actions.extend(self.txns.values().cloned().map(Action::Txn));
        actions.extend(self.files.values().cloned().map(Action::Add));
        actions.extend(self.removed.values().cloned().map(Action::Remove));
        let columns = checkpoint_columns();
        let mut rows = Vec::with_capacity(actions.len());
        for action in &actions {
            let json = serde_json::to_value(action).map_err(|_| LakeError::Shape)?;
            let cell = |column: &Column| {
                let json = json.get(&column.name).unwrap_or(&Json::Null);
                cell_of_json(&column.ty, json)
            };
            rows.push(columns.iter().map(cell).collect());
        }
        let size = rows.len();
        let path = self.checkpoint_path(version);
        let bytes = file_of_rows(&columns, rows)?;
        // Whoever was faster has written the same.
        files.put_new(&path, &bytes).map_err(LakeError::file(&path))?;
        let path = format!("{}/{LOG}/_last_checkpoint", self.name);
        let last = json!({"version": version, "size": size}).to_string();
        // After the checkpoint is there, which it names.
        files.put_over(&path, last.as_bytes()).map_err(LakeError::file(&path))?;
        self.checkpoint = Some(version);
        Ok(())
    }

    /// The files of the log that no version younger than an instant needs: those before the newest checkpoint that is older than it.
    pub(crate) fn old_log_files(&self, files: &dyn LakeFiles, before_millis: i64) -> Result<Vec<String>, LakeError> {
        let folder = self.log_folder();
        let entries = files.list(&folder).map_err(LakeError::file(&folder))?;
        let version = |name: &str| name.split('.').next()?.parse::<u64>().ok();
        let is_old_checkpoint =
            |entry: &&FileEntry| entry.name.ends_with(".checkpoint.parquet") && entry.made_at_millis < before_millis;
        let old = entries.iter().filter(is_old_checkpoint);
        // Nothing after the newest old checkpoint goes: readers begin at it.
        let Some(first_kept) = old.filter_map(|entry| version(&entry.name)).max() else {
            return Ok(Vec::new());
        };
        let is_before = |entry: &&FileEntry| version(&entry.name).is_some_and(|version| version < first_kept);
        let before = entries.iter().filter(is_before);
        Ok(before.map(|entry| format!("{folder}/{}", entry.name)).collect())
    }

    /// Forgets files that were removed so long ago that they are gone.
    pub(crate) fn forget_removed(&mut self, before_millis: i64) {
        self.removed
            .retain(|_, removed| removed.deletion_timestamp >= before_millis);
    }
}
