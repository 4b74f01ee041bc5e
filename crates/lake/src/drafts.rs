//! How a batch of a lake is made: data files first, then the batch, then what each table's log gets.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;
use singlet_store::StreamPosition;

use crate::actions::{Action, AddFile, Format, MetaData, RemoveFile, Txn};
use crate::batches::{Batch, put_batch};
use crate::buckets::BUCKET_TAG;
use crate::cell::{Cell, Column};
use crate::compaction::LEVEL_TAG;
use crate::data_file::{file_of_rows, open_rows};
use crate::delta_schema::schema_text;
use crate::error::LakeError;
use crate::files::drawn_name;
use crate::lake::{Appended, Lake};
use crate::layout::{ERASURES, EntityTables, MISFITS, Unfitting, erasure_columns, misfit_columns};
use crate::table_log::{PROTOCOL, TableLog};

/// How often a version of a table is tried to be written that others write too.
const TRIES_MAX: usize = 16;

/// What the rows of an entity become: by key, what they are, or that they are gone.
pub(crate) type RowUpdates = HashMap<String, Option<Vec<Cell>>>;

/// What a batch will be.
#[derive(Default)]
pub(crate) struct Draft {
    tables: BTreeMap<String, Vec<Action>>,
    pub(crate) changes: u64,
    misfits: Vec<Vec<Cell>>,
    /// Rows that are gone and told of a person.
    erasures: Vec<Vec<Cell>>,
    /// Whether all that was to be emptied has been.
    pub(crate) is_erased: bool,
    appended: Appended,
}

impl Lake {
    pub(crate) fn begin_draft(&self) -> Draft {
        Draft {
            changes: self.batch.changes,
            ..Draft::default()
        }
    }

    /// Adds rows to an entity's table of changes.
    pub(crate) fn draft_changes(
        &self,
        draft: &mut Draft,
        entity: &str,
        rows: Vec<Vec<Cell>>,
        now_millis: i64,
    ) -> Result<(), LakeError> {
        let job = self.changes_job(entity, rows);
        self.draft_files(draft, job.into_iter().collect(), now_millis)
    }

    /// Has an entity's rows be what they became. Files with fewer bits than some are left alone, and none gets fewer.
    pub(crate) fn draft_updates(
        &self,
        draft: &mut Draft,
        entity: &str,
        updates: RowUpdates,
        bits_min: usize,
        now_millis: i64,
    ) -> Result<(), LakeError> {
        let jobs = self.bucket_jobs(entity, updates, bits_min)?;
        self.draft_files(draft, jobs, now_millis)
    }

    /// Adds what does not fit, and the rows that are gone and told of a person.
    pub(crate) fn draft_apart(&self, draft: &mut Draft, now_millis: i64) -> Result<(), LakeError> {
        let misfits = std::mem::take(&mut draft.misfits);
        if !misfits.is_empty() {
            let added = self.new_file(MISFITS, &misfit_columns(), misfits, (LEVEL_TAG, "0"), now_millis)?;
            draft.add_action(MISFITS, Action::Add(added));
        }
        let erasures = std::mem::take(&mut draft.erasures);
        if !erasures.is_empty() {
            let added = self.new_file(ERASURES, &erasure_columns(), erasures, (LEVEL_TAG, "0"), now_millis)?;
            draft.add_action(ERASURES, Action::Add(added));
        }
        Ok(())
    }

    /// Has every table of the model be there, with the columns it wants.
    pub(crate) fn draft_tables(&self, draft: &mut Draft, now_millis: i64) -> Result<(), LakeError> {
        let misfits = (MISFITS, misfit_columns());
        let of_entities = self.entities.values().flat_map(|entity| {
            let changes = (entity.changes.as_str(), entity.changes_columns.clone());
            [changes, (entity.entity.as_str(), entity.current_columns.clone())]
        });
        let is_personal = self.entities.values().any(EntityTables::is_personal);
        let erasures = is_personal.then(|| (ERASURES, erasure_columns()));
        for (name, columns) in of_entities.chain([misfits]).chain(erasures) {
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

    /// The rows of a data file, in the columns that the table has by now.
    pub(crate) fn read_rows(&self, table: &str, path: &str, columns: &[Column]) -> Result<Vec<Vec<Cell>>, LakeError> {
        self.read_each(table, path, columns)?.collect()
    }

    /// The same one after the other.
    pub(crate) fn read_each<'c>(
        &self,
        table: &str,
        path: &str,
        columns: &'c [Column],
    ) -> Result<impl Iterator<Item = Result<Vec<Cell>, LakeError>> + use<'c>, LakeError> {
        let (path, bytes) = self.file_bytes(table, path)?;
        let rows = open_rows(columns, bytes).map_err(|error| LakeError::unreadable(&path, error))?;
        Ok(rows.map(move |row| row.map_err(|error| LakeError::unreadable(&path, error))))
    }

    /// The bytes of a data file, and its path in the lake.
    pub(crate) fn file_bytes(&self, table: &str, path: &str) -> Result<(String, Bytes), LakeError> {
        let path = format!("{table}/{path}");
        let bytes = self.files.get(&path).map_err(LakeError::file(&path))?;
        match bytes {
            Some(bytes) => Ok((path, bytes)),
            None => Err(LakeError::unreadable(&path, "it is gone")),
        }
    }

    /// Writes a data file that no table has yet.
    pub(crate) fn new_file(
        &self,
        table: &str,
        columns: &[Column],
        rows: Vec<Vec<Cell>>,
        tag: (&str, &str),
        now_millis: i64,
    ) -> Result<AddFile, LakeError> {
        let count = rows.len();
        self.put_file(table, (file_of_rows(columns, rows)?, count), tag, now_millis)
    }

    /// Puts a data file with so many rows under a name that is drawn.
    pub(crate) fn put_file(
        &self,
        table: &str,
        (bytes, count): (Vec<u8>, usize),
        (tag, value): (&str, &str),
        now_millis: i64,
    ) -> Result<AddFile, LakeError> {
        let name = drawn_name().map_err(LakeError::file(table))?;
        let name = format!("part-{name}.parquet");
        let path = format!("{table}/{name}");
        let is_new = self.files.put_new(&path, &bytes).map_err(LakeError::file(&path))?;
        // What was put again because no answer came is there already, and ours.
        if !is_new && self.files.get(&path).map_err(LakeError::file(&path))?.as_deref() != Some(&bytes[..]) {
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
            erased_at: if draft.is_erased {
                now_millis
            } else {
                self.batch.erased_at
            },
            tables: draft.tables,
        };
        // From here on it counts, whatever happens to this process.
        put_batch(self.files.as_ref(), &batch)?;
        self.batch = batch;
        // Tables after the batch: whoever opens the lake next does it where this one is killed.
        self.follow_batch()?;
        Ok(draft.appended)
    }

    /// Has every table follow the last batch, unless it did.
    pub(crate) fn follow_batch(&mut self) -> Result<(), LakeError> {
        let batch = self.batch.clone();
        for (name, actions) in &batch.tables {
            let mut is_done = false;
            for _ in 0..TRIES_MAX {
                let files = Arc::clone(&self.files);
                let table = self.table(name)?;
                let number = i64::try_from(batch.number).unwrap_or(i64::MAX);
                // Done already, by this process before it was killed or by another.
                if table.txn_version(&batch.lake).is_some_and(|done| done >= number) {
                    is_done = true;
                    break;
                }
                let entries = log_entries(&batch, actions, number);
                if table.commit(files.as_ref(), &entries)? {
                    is_done = true;
                    break;
                }
                table.refresh_log(files.as_ref())?;
                // What the batch removes is not there: somebody else has rewritten the table, and adding to it would double rows.
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
            let table = TableLog::load_log(self.files.as_ref(), name)?;
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

    pub(crate) fn count_change(&mut self) {
        self.changes += 1;
        self.appended.changes += 1;
    }

    /// Has a row be no more. What history has of it that tells of a person goes with it, at a later time.
    pub(crate) fn end_row(&mut self, tables: &EntityTables, key: String, updates: &mut RowUpdates) {
        // Noted with the end of the row, so that its history is emptied later.
        if tables.is_personal() {
            let number = Cell::Long(i64::try_from(self.changes).unwrap_or(i64::MAX));
            self.erasures.push(vec![
                number,
                Cell::text(tables.entity.as_str()),
                Cell::text(key.as_str()),
            ]);
        }
        updates.insert(key, None);
    }

    pub(crate) fn take_misfit(&mut self, unfitting: Unfitting) {
        self.misfits.push(unfitting.unfitting_cells(self.changes));
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

/// The bits of a file of what is.
pub(crate) fn bucket_bits<'f>(table: &TableLog, file: &'f AddFile) -> Result<&'f str, LakeError> {
    file.tag_value(BUCKET_TAG)
        .ok_or_else(|| rewritten(&table.name, &file.path))
}

fn rewritten(table: &str, path: &str) -> LakeError {
    LakeError::unreadable(
        &format!("{table}/{path}"),
        "another has rewritten the table: only the lake writes here",
    )
}
