//! A lake: what is done to its tables, in batches.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::json;
use singlet_changes::{Change, ChangeDecoder, SnapshotRow, Told};
use singlet_model::Model;
use singlet_store::StreamPosition;

use crate::actions::{Action, AddFile, Format, MetaData, RemoveFile, Txn};
use crate::batches::{Batch, newest_batch, newest_number, put_batch};
use crate::buckets::{BUCKET_ROWS_MAX, BUCKET_TAG, bucket_of, key_hash, split_bucket};
use crate::cell::{Cell, Column};
use crate::compaction::LEVEL_TAG;
use crate::data_file::{file_of_rows, rows_of_file};
use crate::delta_schema::schema_text;
use crate::error::LakeError;
use crate::files::{LakeFiles, drawn_name};
use crate::layout::{
    ChangeHead, EntityTables, MISFITS, Unfitting, changes_table, key_text, lake_entities, misfit_columns,
};
use crate::table_log::{PROTOCOL, TableLog};

/// How often a version of a table is tried to be written that others write too.
const TRIES_MAX: usize = 16;

/// The tables of a model, and how far they are.
pub struct Lake {
    pub(crate) files: Arc<dyn LakeFiles>,
    decoder: ChangeDecoder,
    /// The last batch, which every table has followed.
    pub(crate) batch: Batch,
    pub(crate) tables: BTreeMap<String, TableLog>,
    entities: BTreeMap<String, EntityTables>,
    bucket_rows_max: usize,
}

/// Checks that a model can be brought into a lake.
///
/// # Errors
///
/// Where its table has no stream that a lake can be made of, or two tables would have one name.
pub fn check_model(model: &Model) -> Result<(), LakeError> {
    lake_entities(model).map(drop)
}

/// What became of some changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Appended {
    /// How many rows the tables of changes got.
    pub changes: usize,
    /// How many did not fit.
    pub misfits: usize,
}

/// What the rows of an entity become: by key, what they are, or that they are gone.
pub(crate) type RowUpdates = HashMap<String, Option<Vec<Cell>>>;

/// What a batch will be.
#[derive(Default)]
pub(crate) struct Draft {
    tables: BTreeMap<String, Vec<Action>>,
    changes: u64,
    misfits: Vec<Vec<Cell>>,
    appended: Appended,
}

impl Lake {
    /// Opens a lake, or makes one. What the last batch says of tables that did not follow it yet is done first.
    ///
    /// # Errors
    ///
    /// Where the model has no stream for it, files cannot be read or written, or another changed what only the lake writes.
    pub fn open(files: Arc<dyn LakeFiles>, model: Arc<Model>, now_millis: i64) -> Result<Self, LakeError> {
        lake_entities(&model)?;
        let batch = match newest_batch(files.as_ref())? {
            Some(batch) => batch,
            None => create_lake(files.as_ref(), now_millis)?,
        };
        let mut lake = Lake {
            files,
            decoder: ChangeDecoder::new(Arc::clone(&model)),
            batch,
            tables: BTreeMap::new(),
            entities: BTreeMap::new(),
            bucket_rows_max: BUCKET_ROWS_MAX,
        };
        lake.follow_batch()?;
        lake.table(MISFITS)?;
        for entity in lake_entities(&model)? {
            let changes = lake.table(&changes_table(&entity.name))?.columns.clone();
            let current = lake.table(&entity.name)?.columns.clone();
            let tables = EntityTables::new(entity, &changes, &current);
            lake.entities.insert(entity.name.clone(), tables);
        }
        Ok(lake)
    }

    /// The same with smaller files of what is.
    #[must_use]
    pub fn with_bucket_rows(mut self, rows_max: usize) -> Self {
        self.bucket_rows_max = rows_max;
        self
    }

    /// What the lake is called: drawn when it was made.
    pub fn id(&self) -> &str {
        &self.batch.lake
    }

    /// How far the changes are; nothing before the first snapshot.
    pub fn position(&self) -> Option<StreamPosition> {
        self.batch.position.clone().map(StreamPosition::After)
    }

    /// How far they were before the last batch.
    pub(crate) fn position_before(&self) -> Option<StreamPosition> {
        self.batch.position_before.clone().map(StreamPosition::After)
    }

    /// Whether nobody has written a batch since.
    pub(crate) fn is_newest(&self) -> Result<bool, LakeError> {
        Ok(newest_number(self.files.as_ref())? == Some(self.batch.number))
    }

    /// When the last batch was, in milliseconds since 1970.
    pub fn batch_at_millis(&self) -> i64 {
        self.batch.at
    }

    /// Whether all rows must be read: at the beginning, and where the model has entities or columns that the tables do not have.
    pub fn needs_snapshot(&self) -> bool {
        let lacks = |name: &str, columns: &[Column]| {
            let table = self.tables.get(name);
            table.is_none_or(|table| table.version.is_none() || table.columns != columns)
        };
        self.batch.position.is_none()
            || self.entities.values().any(|entity| {
                lacks(&entity.changes, &entity.changes_columns) || lacks(&entity.entity, &entity.current_columns)
            })
    }

    /// Appends what was told to the tables of changes, and has it in those of what is. Where it fails, open the lake again: it may have
    /// been done.
    ///
    /// # Errors
    ///
    /// Where another process was faster, or files cannot be read or written.
    pub fn append(&mut self, told: &[Told], position: &StreamPosition, now_millis: i64) -> Result<Appended, LakeError> {
        if self.needs_snapshot() {
            return Err(LakeError::Refused("changes follow a snapshot".to_owned()));
        }
        let mut draft = self.draft();
        let mut rows: BTreeMap<String, Vec<Vec<Cell>>> = BTreeMap::new();
        let mut updates: BTreeMap<String, RowUpdates> = BTreeMap::new();
        for told in told {
            match told {
                Told::Change(change) => self.take_change(&mut draft, change, &mut rows, &mut updates),
                Told::Misfit(misfit) => {
                    let old = misfit.record.old.as_ref();
                    let key = old.and_then(|old| self.decoder.fitting_key(&misfit.entity, old));
                    if let Some(key) = key {
                        updates
                            .entry(misfit.entity.clone())
                            .or_default()
                            .insert(key_text(&key), None);
                    }
                    draft.take_misfit(Unfitting::of_misfit(misfit));
                }
            }
        }
        self.draft_rows(&mut draft, rows, updates, now_millis)?;
        self.commit(draft, "append", Some(position), now_millis)
    }

    fn take_change(
        &self,
        draft: &mut Draft,
        change: &Change,
        rows: &mut BTreeMap<String, Vec<Vec<Cell>>>,
        updates: &mut BTreeMap<String, RowUpdates>,
    ) {
        let Some(tables) = self.entities.get(&change.entity) else {
            return;
        };
        let key = key_text(&change.key);
        let head = ChangeHead {
            number: draft.changes,
            id: Some(change.id.as_str()),
            kind: change.kind.word(),
            at_seconds: change.at_seconds,
            by: change.by.as_deref(),
        };
        let images = (change.before.as_ref(), change.after.as_ref());
        // What a row was and had no place for was said when it became that.
        let row = tables.change_row(&head, &key, images);
        let row = row.or_else(|_| tables.change_row(&head, &key, (None, images.1)));
        let current = change
            .after
            .as_ref()
            .map(|row| tables.current_row(&key, row))
            .transpose();
        let updates = updates.entry(change.entity.clone()).or_default();
        match (row, current) {
            (Ok(row), Ok(current)) => {
                updates.insert(key, current);
                rows.entry(change.entity.clone()).or_default().push(row);
                draft.count_change();
            }
            (Err(no_place), _) | (_, Err(no_place)) => {
                // What it is cannot be said in the table, and what it was it is no more.
                updates.insert(key, None);
                draft.take_misfit(Unfitting::of_change(change, no_place));
            }
        }
    }

    /// Brings the tables to what the rows are at a position. What differs enters the tables of changes, as `snapshot` or `deleted`.
    ///
    /// # Errors
    ///
    /// Where another process was faster, or files cannot be read or written.
    pub fn replace(
        &mut self,
        found: &[SnapshotRow],
        position: &StreamPosition,
        now_millis: i64,
    ) -> Result<Appended, LakeError> {
        let at_seconds = now_millis.div_euclid(1_000);
        let mut draft = self.draft();
        let mut all: BTreeMap<&str, Vec<(String, &SnapshotRow)>> = BTreeMap::new();
        for row in found {
            match row {
                SnapshotRow::Row { entity, key, .. } => {
                    all.entry(entity.as_str()).or_default().push((key_text(key), row));
                }
                SnapshotRow::Misfit { .. } => {
                    let unfitting = Unfitting::of_scanned(row, at_seconds);
                    unfitting.into_iter().for_each(|unfitting| draft.take_misfit(unfitting));
                }
            }
        }
        let (mut rows, mut updates) = (BTreeMap::new(), BTreeMap::new());
        let names: Vec<String> = self.entities.keys().cloned().collect();
        for name in names {
            let found = all.remove(name.as_str()).unwrap_or_default();
            let (changed, updated) = self.differences(&mut draft, &name, found, at_seconds)?;
            rows.insert(name.clone(), changed);
            updates.insert(name, updated);
        }
        self.draft_rows(&mut draft, rows, updates, now_millis)?;
        self.draft_tables(&mut draft, now_millis)?;
        self.commit(draft, "snapshot", Some(position), now_millis)
    }

    /// The rows of an entity that are other than in its table, for both tables.
    fn differences(
        &self,
        draft: &mut Draft,
        entity: &str,
        found: Vec<(String, &SnapshotRow)>,
        at_seconds: i64,
    ) -> Result<(Vec<Vec<Cell>>, RowUpdates), LakeError> {
        let mut there = self.current_rows(entity)?;
        let (mut rows, mut updates) = (Vec::new(), RowUpdates::new());
        let Some(tables) = self.entities.get(entity) else {
            return Ok((rows, updates));
        };
        let head = |number: u64, kind: &'static str| ChangeHead {
            number,
            id: None,
            kind,
            at_seconds,
            by: None,
        };
        for (key, found) in found {
            let SnapshotRow::Row { row, .. } = found else { continue };
            let before = there.remove(&key);
            let encoded = tables.current_row(&key, row).and_then(|current| {
                let head = head(draft.changes, "snapshot");
                Ok((current, tables.change_row(&head, &key, (None, Some(row)))?))
            });
            match encoded {
                Ok((current, _)) if before.as_ref() == Some(&current) => {}
                Ok((current, changed)) => {
                    updates.insert(key, Some(current));
                    rows.push(changed);
                    draft.count_change();
                }
                Err(no_place) => {
                    updates.insert(key, None);
                    draft.take_misfit(Unfitting {
                        id: None,
                        entity: entity.to_owned(),
                        reason: no_place.0,
                        at_seconds,
                        old: None,
                        new: Some(row.clone()),
                    });
                }
            }
        }
        // What it was is in the rows of changes before.
        for key in there.into_keys() {
            let row = tables.change_row(&head(draft.changes, "deleted"), &key, (None, None));
            rows.push(row.map_err(|_| LakeError::Shape)?);
            updates.insert(key, None);
            draft.count_change();
        }
        Ok((rows, updates))
    }

    /// The rows of the table of what is, by key.
    fn current_rows(&self, entity: &str) -> Result<HashMap<String, Vec<Cell>>, LakeError> {
        let mut rows = HashMap::new();
        let (Some(table), Some(tables)) = (self.tables.get(entity), self.entities.get(entity)) else {
            return Ok(rows);
        };
        for path in table.files.keys() {
            for row in self.read_rows(entity, path, &tables.current_columns)? {
                let key = row.first().and_then(Cell::as_text).unwrap_or_default().to_owned();
                rows.insert(key, row);
            }
        }
        Ok(rows)
    }

    /// Notes how far the changes are where none came: a position may grow too old.
    ///
    /// # Errors
    ///
    /// Where another process was faster, or files cannot be read or written.
    pub fn note_position(&mut self, position: &StreamPosition, now_millis: i64) -> Result<(), LakeError> {
        let draft = self.draft();
        self.commit(draft, "append", Some(position), now_millis).map(drop)
    }
}

/// Batches: made of data files first, then put, then followed by the tables.
impl Lake {
    pub(crate) fn draft(&self) -> Draft {
        Draft {
            changes: self.batch.changes,
            ..Draft::default()
        }
    }

    fn draft_rows(
        &mut self,
        draft: &mut Draft,
        rows: BTreeMap<String, Vec<Vec<Cell>>>,
        updates: BTreeMap<String, RowUpdates>,
        now_millis: i64,
    ) -> Result<(), LakeError> {
        for (entity, rows) in rows.into_iter().filter(|(_, rows)| !rows.is_empty()) {
            let Some(tables) = self.entities.get(&entity) else {
                continue;
            };
            let added = self.new_file(
                &tables.changes,
                &tables.changes_columns,
                rows,
                (LEVEL_TAG, "0"),
                now_millis,
            )?;
            draft.add_action(&tables.changes, Action::Add(added));
        }
        for (entity, updates) in updates {
            let actions = self.rewrite_buckets(&entity, updates, now_millis)?;
            actions.into_iter().for_each(|action| draft.add_action(&entity, action));
        }
        let misfits = std::mem::take(&mut draft.misfits);
        if !misfits.is_empty() {
            let added = self.new_file(MISFITS, &misfit_columns(), misfits, (LEVEL_TAG, "0"), now_millis)?;
            draft.add_action(MISFITS, Action::Add(added));
        }
        Ok(())
    }

    /// Has every table of the model be there, with the columns it wants.
    fn draft_tables(&self, draft: &mut Draft, now_millis: i64) -> Result<(), LakeError> {
        let misfits = (MISFITS, misfit_columns());
        let of_entities = self.entities.values().flat_map(|entity| {
            let changes = (entity.changes.as_str(), entity.changes_columns.clone());
            [changes, (entity.entity.as_str(), entity.current_columns.clone())]
        });
        for (name, columns) in of_entities.chain([misfits]) {
            let table = self.tables.get(name);
            let known = table.and_then(|table| table.metadata.as_ref());
            if table.is_some_and(|table| table.version.is_some() && table.columns == columns) {
                continue;
            }
            let metadata = Action::MetaData(metadata_of(name, &columns, known, now_millis)?);
            let actions = draft.tables.entry(name.to_owned()).or_default();
            actions.insert(0, metadata);
            if known.is_none() {
                actions.insert(0, Action::Protocol(PROTOCOL));
            }
        }
        Ok(())
    }

    /// The files of what is, written anew where rows in them change.
    fn rewrite_buckets(&self, entity: &str, updates: RowUpdates, now_millis: i64) -> Result<Vec<Action>, LakeError> {
        let (Some(table), Some(tables)) = (self.tables.get(entity), self.entities.get(entity)) else {
            return Ok(Vec::new());
        };
        let mut there: BTreeMap<String, &AddFile> = BTreeMap::new();
        for file in table.files.values() {
            let bits = file.tag(BUCKET_TAG).ok_or_else(|| rewritten(&table.name, &file.path))?;
            there.insert(bits.to_owned(), file);
        }
        let mut by_bucket: BTreeMap<String, RowUpdates> = BTreeMap::new();
        for (key, cells) in updates {
            let bits = bucket_of(key_hash(&key), &there);
            by_bucket.entry(bits).or_default().insert(key, cells);
        }
        let mut actions = Vec::new();
        for (bits, updates) in by_bucket {
            let mut rows = Vec::new();
            if let Some(file) = there.get(&bits) {
                for row in self.read_rows(entity, &file.path, &tables.current_columns)? {
                    let key = row.first().and_then(Cell::as_text).unwrap_or_default();
                    if !updates.contains_key(key) {
                        rows.push((key_hash(key), row));
                    }
                }
                actions.push(Action::Remove(removed_file(file, true, now_millis)));
            }
            let new = updates
                .into_iter()
                .filter_map(|(key, cells)| Some((key_hash(&key), cells?)));
            rows.extend(new);
            for (bits, rows) in split_bucket(bits, rows, self.bucket_rows_max) {
                let columns = &tables.current_columns;
                let added = self.new_file(entity, columns, rows, (BUCKET_TAG, &bits), now_millis)?;
                actions.push(Action::Add(added));
            }
        }
        Ok(actions)
    }

    /// The rows of a data file, in the columns that the table has by now.
    pub(crate) fn read_rows(&self, table: &str, path: &str, columns: &[Column]) -> Result<Vec<Vec<Cell>>, LakeError> {
        let path = format!("{table}/{path}");
        let bytes = self.files.get(&path).map_err(LakeError::file(&path))?;
        let bytes = bytes.ok_or_else(|| LakeError::unreadable(&path, "it is gone"))?;
        rows_of_file(columns, bytes).map_err(|error| LakeError::unreadable(&path, error))
    }

    /// Writes a data file that no table has yet.
    pub(crate) fn new_file(
        &self,
        table: &str,
        columns: &[Column],
        rows: Vec<Vec<Cell>>,
        (tag, value): (&str, &str),
        now_millis: i64,
    ) -> Result<AddFile, LakeError> {
        let count = rows.len();
        let bytes = file_of_rows(columns, rows)?;
        let name = drawn_name().map_err(LakeError::file(table))?;
        let name = format!("part-{name}.parquet");
        let path = format!("{table}/{name}");
        if !self.files.put_new(&path, &bytes).map_err(LakeError::file(&path))? {
            return Err(LakeError::unreadable(&path, "a drawn name is taken"));
        }
        Ok(AddFile {
            path: name,
            partition_values: BTreeMap::new(),
            size: i64::try_from(bytes.len()).unwrap_or(i64::MAX),
            modification_time: now_millis,
            data_change: true,
            stats: Some(json!({ "numRecords": count }).to_string()),
            tags: Some(BTreeMap::from([(tag.to_owned(), value.to_owned())])),
        })
    }

    /// Puts the batch, and has the tables follow it.
    pub(crate) fn commit(
        &mut self,
        draft: Draft,
        operation: &str,
        position: Option<&StreamPosition>,
        now_millis: i64,
    ) -> Result<Appended, LakeError> {
        let position = match position {
            None => self.batch.position.clone(),
            Some(StreamPosition::After(position)) => Some(position.clone()),
            Some(StreamPosition::Start | StreamPosition::Latest) => {
                return Err(LakeError::Refused("a lake is at a place of the stream".to_owned()));
            }
        };
        let batch = Batch {
            lake: self.batch.lake.clone(),
            number: self.batch.number + 1,
            operation: operation.to_owned(),
            at: now_millis,
            position,
            position_before: self.batch.position.clone(),
            changes: draft.changes,
            tables: draft.tables,
        };
        put_batch(self.files.as_ref(), &batch)?;
        self.batch = batch;
        self.follow_batch()?;
        Ok(draft.appended)
    }

    /// Has every table follow the last batch, unless it did.
    fn follow_batch(&mut self) -> Result<(), LakeError> {
        let batch = self.batch.clone();
        for (name, actions) in &batch.tables {
            let mut is_done = false;
            for _ in 0..TRIES_MAX {
                let files = Arc::clone(&self.files);
                let table = self.table(name)?;
                let number = i64::try_from(batch.number).unwrap_or(i64::MAX);
                if table.txn_version(&batch.lake).is_some_and(|done| done >= number) {
                    is_done = true;
                    break;
                }
                let entries = log_entries(&batch, actions, number);
                if table.commit(files.as_ref(), &entries)? {
                    is_done = true;
                    break;
                }
                table.refresh(files.as_ref())?;
                let gone = actions.iter().find(|action| match action {
                    Action::Remove(remove) => !table.files.contains_key(&remove.path),
                    _ => false,
                });
                if gone.is_some() && table.txn_version(&batch.lake).is_none_or(|done| done < number) {
                    return Err(rewritten(name, "what the batch removes"));
                }
            }
            if !is_done {
                return Err(LakeError::Overtaken);
            }
        }
        Ok(())
    }

    /// A table of the lake, read when it is first asked for.
    pub(crate) fn table(&mut self, name: &str) -> Result<&mut TableLog, LakeError> {
        if !self.tables.contains_key(name) {
            let table = TableLog::load(self.files.as_ref(), name)?;
            self.tables.insert(name.to_owned(), table);
        }
        self.tables.get_mut(name).ok_or(LakeError::Shape)
    }
}

impl Draft {
    pub(crate) fn add_action(&mut self, table: &str, action: Action) {
        self.tables.entry(table.to_owned()).or_default().push(action);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    fn count_change(&mut self) {
        self.changes += 1;
        self.appended.changes += 1;
    }

    fn take_misfit(&mut self, unfitting: Unfitting) {
        self.misfits.push(unfitting.cells(self.changes));
        self.changes += 1;
        self.appended.misfits += 1;
    }
}

/// The entries of a table's log for a batch.
fn log_entries(batch: &Batch, actions: &[Action], number: i64) -> Vec<Action> {
    let info = json!({
        "timestamp": batch.at,
        "operation": batch.operation.to_uppercase(),
        "operationParameters": {},
        "engineInfo": concat!("singlet/", env!("CARGO_PKG_VERSION")),
        "position": batch.position,
    });
    let txn = Txn {
        app_id: batch.lake.clone(),
        version: number,
        last_updated: Some(batch.at),
    };
    let mut entries = vec![Action::CommitInfo(info), Action::Txn(txn)];
    entries.extend(actions.iter().cloned());
    entries
}

pub(crate) fn removed_file(file: &AddFile, data_change: bool, now_millis: i64) -> RemoveFile {
    RemoveFile {
        path: file.path.clone(),
        deletion_timestamp: now_millis,
        data_change,
        extended_file_metadata: true,
        partition_values: BTreeMap::new(),
        size: file.size,
    }
}

fn metadata_of(
    name: &str,
    columns: &[Column],
    known: Option<&MetaData>,
    now_millis: i64,
) -> Result<MetaData, LakeError> {
    let schema_string = schema_text(columns);
    if let Some(known) = known {
        return Ok(MetaData {
            schema_string,
            ..known.clone()
        });
    }
    Ok(MetaData {
        id: drawn_uuid().map_err(LakeError::file(name))?,
        name: Some(name.to_owned()),
        format: Format {
            provider: "parquet".to_owned(),
            options: BTreeMap::new(),
        },
        schema_string,
        partition_columns: Vec::new(),
        configuration: BTreeMap::new(),
        created_time: Some(now_millis),
    })
}

fn drawn_uuid() -> std::io::Result<String> {
    let drawn = drawn_name()?;
    let part = |from: usize, to: usize| drawn.get(from..to).unwrap_or_default();
    Ok(format!(
        "{}-{}-4{}-8{}-{}",
        part(0, 8),
        part(8, 12),
        part(13, 16),
        part(17, 20),
        part(20, 32)
    ))
}

/// The first batch, of whoever is first.
fn create_lake(files: &dyn LakeFiles, now_millis: i64) -> Result<Batch, LakeError> {
    let name = drawn_name().map_err(LakeError::file("the lake"))?;
    let batch = Batch {
        lake: name.chars().take(16).collect(),
        number: 0,
        operation: "create".to_owned(),
        at: now_millis,
        position: None,
        position_before: None,
        changes: 0,
        tables: BTreeMap::new(),
    };
    match put_batch(files, &batch) {
        Ok(()) => Ok(batch),
        Err(LakeError::Overtaken) => newest_batch(files)?.ok_or(LakeError::Overtaken),
        Err(error) => Err(error),
    }
}

fn rewritten(table: &str, path: &str) -> LakeError {
    LakeError::unreadable(
        &format!("{table}/{path}"),
        "another has rewritten the table: only the lake writes here",
    )
}
