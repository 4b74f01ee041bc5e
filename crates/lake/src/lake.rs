//! A lake: what is done to its tables, in batches.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use singlet_changes::{Change, ChangeDecoder, Told};
use singlet_model::Model;
use singlet_runtime::Attributes;
use singlet_store::StreamPosition;

use crate::actions::{Action, AddFile};
use crate::batches::{Batch, newest_batch, put_batch};
use crate::buckets::{BUCKET_ROWS_MAX, KeyGroup, group_bits, key_hash};
use crate::cell::{Cell, Column};
use crate::drafts::{Draft, RowUpdates, bucket_bits, removed_file};
use crate::error::LakeError;
use crate::files::{LakeFiles, drawn_name};
use crate::layout::{
    ChangeHead, ERASURES, EntityTables, MISFITS, Unfitting, changes_table, erasure_columns, lake_entities,
};
use crate::personal::{ValueHasher, has_personal};
use crate::snapshot_rows::{PART_BITS, SnapshotRows};
use crate::table_log::TableLog;

/// The most rows of an entity that may come to stand under other keys: they are looked at together.
const REKEYED_ROWS_MAX: usize = 2_000_000;

/// The tables of a model, and how far they are.
pub struct Lake {
    pub(crate) files: Arc<dyn LakeFiles>,
    decoder: ChangeDecoder,
    /// The last batch, which every table has followed.
    pub(crate) batch: Batch,
    pub(crate) tables: BTreeMap<String, TableLog>,
    pub(crate) entities: BTreeMap<String, EntityTables>,
    pub(crate) bucket_rows_max: usize,
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

impl Lake {
    /// Opens a lake, or makes one. What the last batch says of tables that did not follow it yet is done first. Values that tell of a person
    /// are hashed under the secret, of which a model without such values needs none.
    ///
    /// # Errors
    ///
    /// Where the model has no stream for it, files cannot be read or written, or another changed what only the lake writes.
    pub fn open(
        files: Arc<dyn LakeFiles>,
        model: Arc<Model>,
        secret: &[u8],
        now_millis: i64,
    ) -> Result<Self, LakeError> {
        lake_entities(&model)?;
        // Values hashed without a key could be tried until one fits.
        if has_personal(&model) && secret.is_empty() {
            return Err(LakeError::Refused(
                "personal values need a key to be hashed with".to_owned(),
            ));
        }
        let hasher = ValueHasher::new(secret);
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
        // First: the last batch may not be in every table yet, and what is read of them must have it.
        lake.follow_batch()?;
        lake.table(MISFITS)?;
        lake.table(ERASURES)?;
        for entity in lake_entities(&model)? {
            let changes = lake.table(&changes_table(&entity.name))?.columns.clone();
            let current = lake.table(&entity.name)?.columns.clone();
            let tables = EntityTables::new(entity, &changes, &current, &hasher);
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
    pub fn told_position(&self) -> Option<StreamPosition> {
        self.batch.position.clone().map(StreamPosition::After)
    }

    /// How far they were before the last batch.
    pub(crate) fn position_before(&self) -> Option<StreamPosition> {
        self.batch.position_before.clone().map(StreamPosition::After)
    }

    /// The number of the last batch.
    pub(crate) fn batch_number(&self) -> u64 {
        self.batch.number
    }

    /// When the last batch was, in milliseconds since 1970.
    pub(crate) fn batch_at_millis(&self) -> i64 {
        self.batch.at
    }

    /// Whether all rows must be read: at the beginning, and where the model has entities or columns that the tables do not have.
    pub(crate) fn needs_snapshot(&self) -> bool {
        let lacks = |name: &str, columns: &[Column]| {
            let table = self.tables.get(name);
            table.is_none_or(|table| table.version.is_none() || table.columns != columns)
        };
        let is_personal = self.entities.values().any(EntityTables::is_personal);
        self.batch.position.is_none()
            || is_personal && lacks(ERASURES, &erasure_columns())
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
    pub fn append_told(
        &mut self,
        told: &[Told],
        position: &StreamPosition,
        now_millis: i64,
    ) -> Result<Appended, LakeError> {
        // Changes alone would leave rows out that nobody has changed.
        if self.needs_snapshot() {
            return Err(LakeError::Refused("changes follow a snapshot".to_owned()));
        }
        let mut draft = self.begin_draft();
        let mut rows: BTreeMap<String, Vec<Vec<Cell>>> = BTreeMap::new();
        let mut updates: BTreeMap<String, RowUpdates> = BTreeMap::new();
        for told in told {
            match told {
                Told::Change(change) => self.take_change(&mut draft, change, &mut rows, &mut updates)?,
                Told::Misfit(misfit) => {
                    let old = misfit.record.old.as_ref();
                    let key = old.and_then(|old| self.decoder.fitting_key(&misfit.entity, old));
                    // A version that does not fit takes the place of another that did.
                    let is_new = misfit.record.old.is_none() && misfit.record.new.is_some();
                    let versioned = || self.decoder.versioned_key(&misfit.entity, &misfit.record.key);
                    let key = key.or_else(|| is_new.then(versioned).flatten());
                    if let (Some(key), Some(tables)) = (key, self.entities.get(&misfit.entity)) {
                        let key = tables.persons.key_text(&key);
                        let updates = updates.entry(misfit.entity.clone()).or_default();
                        let rows = rows.entry(misfit.entity.clone()).or_default();
                        self.end_fitting(&mut draft, tables, key, misfit.record.at_seconds, (rows, updates))?;
                    }
                    self.take_misfit(&mut draft, Unfitting::of_misfit(misfit));
                }
            }
        }
        let mut jobs = Vec::new();
        for (entity, rows) in rows {
            jobs.extend(self.changes_job(&entity, rows));
        }
        for (entity, updates) in updates {
            jobs.extend(self.bucket_jobs(&entity, updates, 0)?);
        }
        // Files before the batch that names them: until then they are nobody's.
        self.draft_files(&mut draft, jobs, now_millis)?;
        self.draft_apart(&mut draft, now_millis)?;
        self.commit(draft, "append", Some(position), now_millis)
    }

    fn take_change(
        &self,
        draft: &mut Draft,
        change: &Change,
        rows: &mut BTreeMap<String, Vec<Vec<Cell>>>,
        updates: &mut BTreeMap<String, RowUpdates>,
    ) -> Result<(), LakeError> {
        let Some(tables) = self.entities.get(&change.entity) else {
            return Ok(());
        };
        let key = tables.persons.key_text(&change.key);
        let head = ChangeHead {
            number: draft.changes,
            id: Some(tables.persons.id_text(&change.key, change.id.as_str())),
            kind: change.kind.word(),
            at_seconds: change.at_seconds,
            by: change.by.as_deref(),
        };
        let images = (change.before.as_ref(), change.after.as_ref());
        // What a row was and had no place for was said when it became that.
        let row = tables.change_row(&head, &key, images);
        // The row as it is has a place; that it had none before was said then.
        let row = row.or_else(|_| tables.change_row(&head, &key, (None, images.1)));
        let current = change
            .after
            .as_ref()
            .map(|row| tables.current_row(&key, row))
            .transpose();
        let updates = updates.entry(change.entity.clone()).or_default();
        match (row, current) {
            (Ok(row), Ok(current)) => {
                match current {
                    Some(current) => drop(updates.insert(key, Some(current))),
                    None => draft.end_row(tables, key, updates),
                }
                rows.entry(change.entity.clone()).or_default().push(row);
                draft.count_change();
            }
            (Err(no_place), _) | (_, Err(no_place)) => {
                let rows = rows.entry(change.entity.clone()).or_default();
                self.end_fitting(draft, tables, key, change.at_seconds, (rows, updates))?;
                self.take_misfit(draft, Unfitting::of_change(change, no_place));
            }
        }
        Ok(())
    }

    /// A row that does not fit any more: what it is cannot be said in the tables, and what it was it is no more.
    fn end_fitting(
        &self,
        draft: &mut Draft,
        tables: &EntityTables,
        key: String,
        at_seconds: i64,
        (rows, updates): (&mut Vec<Vec<Cell>>, &mut RowUpdates),
    ) -> Result<(), LakeError> {
        let head = ChangeHead {
            number: draft.changes,
            id: None,
            kind: "unfit",
            at_seconds,
            by: None,
        };
        let row = tables.change_row(&head, &key, (None, None));
        rows.push(row.map_err(|_| LakeError::Shape)?);
        // A row that does not fit any more must not stay in the table as it was.
        draft.end_row(tables, key, updates);
        draft.changes += 1;
        Ok(())
    }

    /// Notes what does not fit, without what tells of a person.
    fn take_misfit(&self, draft: &mut Draft, unfitting: Unfitting) {
        let unfitting = match self.entities.get(&unfitting.entity) {
            Some(tables) => unfitting.shown_by(&tables.persons),
            None => unfitting,
        };
        draft.take_misfit(unfitting);
    }

    /// The key of a row as it stands in the lake; nothing where its entity has no tables.
    pub(crate) fn row_key(&self, entity: &str, key: &Attributes) -> Option<String> {
        Some(self.entities.get(entity)?.persons.key_text(key))
    }

    /// Brings the tables to what the rows are at a position. What differs enters the tables of changes, as `snapshot` or `deleted`.
    ///
    /// # Errors
    ///
    /// Where another process was faster, or files cannot be read or written.
    pub(crate) fn replace_rows(
        &mut self,
        mut found: SnapshotRows,
        position: &StreamPosition,
        now_millis: i64,
    ) -> Result<Appended, LakeError> {
        let mut draft = self.begin_draft();
        for row in found.take_misfits() {
            let unfitting = Unfitting::of_scanned(&row, now_millis.div_euclid(1_000));
            unfitting
                .into_iter()
                .for_each(|unfitting| self.take_misfit(&mut draft, unfitting));
        }
        let mut present: BTreeMap<String, HashSet<String>> = BTreeMap::new();
        for name in self.entities.keys() {
            let keys = self.draft_snapshot(&mut draft, name, &mut found, now_millis)?;
            present.insert(name.clone(), keys);
        }
        self.draft_apart(&mut draft, now_millis)?;
        self.draft_emptied(&mut draft, &present, now_millis)?;
        self.draft_tables(&mut draft, now_millis)?;
        self.commit(draft, "snapshot", Some(position), now_millis)
    }

    /// Brings the tables of an entity to what its rows are, some at a time where they are many. The keys of all of them, where history is emptied
    /// by those.
    fn draft_snapshot(
        &self,
        draft: &mut Draft,
        entity: &str,
        found: &mut SnapshotRows,
        now_millis: i64,
    ) -> Result<HashSet<String>, LakeError> {
        let mut present = HashSet::new();
        let (Some(table), Some(tables)) = (self.tables.get(entity), self.entities.get(entity)) else {
            return Ok(present);
        };
        let there: u64 = table.files.values().filter_map(AddFile::rows).sum();
        let count = found
            .count_rows(entity)
            .max(usize::try_from(there).unwrap_or(usize::MAX));
        let bits = match tables.has_other_keys() {
            // What a row was may lie under a key of another group.
            true if count <= REKEYED_ROWS_MAX => 0,
            true => {
                return Err(LakeError::Refused(format!(
                    "`{entity}` has more than {REKEYED_ROWS_MAX} rows: what tells of a person now cannot be hidden in their keys; make another lake"
                )));
            }
            false => group_bits(count, found.held_rows_max(), PART_BITS),
        };
        // Files of several groups become files of one each.
        let mut wide = Vec::new();
        for file in table.files.values() {
            if bucket_bits(table, file)?.len() < bits as usize {
                draft.add_action(entity, Action::Remove(removed_file(file, true, now_millis)));
                wide.push(file);
            }
        }
        let mut changed = Vec::new();
        for group in KeyGroup::by_bits(bits) {
            let rows = found.rows_of(entity, group)?;
            if tables.is_emptied() {
                present.extend(rows.keys().cloned());
            }
            let moved = self.rows_in_group(entity, group, wide.iter().copied())?;
            let own = table
                .files
                .values()
                .filter(|file| wide.iter().all(|wide| wide.path != file.path));
            let mut there = self.rows_in_group(entity, group, own)?;
            there.extend(moved.iter().map(|(key, row)| (key.clone(), row.clone())));
            let (some, mut updates) = self.differences(draft, entity, (rows, there), now_millis.div_euclid(1_000))?;
            for (key, row) in moved {
                updates.entry(key).or_insert(Some(row));
            }
            changed.extend(some);
            if changed.len() >= found.held_rows_max() {
                self.draft_changes(draft, entity, std::mem::take(&mut changed), now_millis)?;
            }
            self.draft_updates(draft, entity, updates, bits as usize, now_millis)?;
        }
        self.draft_changes(draft, entity, changed, now_millis)?;
        Ok(present)
    }

    /// The rows of an entity that are other than in its table, for both tables.
    fn differences(
        &self,
        draft: &mut Draft,
        entity: &str,
        (found, mut there): (BTreeMap<String, Attributes>, HashMap<String, Vec<Cell>>),
        at_seconds: i64,
    ) -> Result<(Vec<Vec<Cell>>, RowUpdates), LakeError> {
        let (mut rows, mut updates) = (Vec::new(), RowUpdates::new());
        let Some(tables) = self.entities.get(entity) else {
            return Ok((rows, updates));
        };
        // Rows under keys that told of a person, by the keys that they have now.
        let mut former: HashMap<String, String> = HashMap::new();
        for key in there.keys() {
            former.extend(tables.hidden_key(key).map(|hidden| (hidden, key.clone())));
        }
        for (hidden, key) in &former {
            if let Some(row) = there.remove(key) {
                there.insert(hidden.clone(), row);
            }
        }
        let head = |number: u64, kind: &'static str| ChangeHead {
            number,
            id: None,
            kind,
            at_seconds,
            by: None,
        };
        for (key, row) in found {
            let before = there.remove(&key);
            if let Some(former) = former.remove(&key) {
                updates.insert(former, None);
            }
            let encoded = tables.current_row(&key, &row).and_then(|current| {
                let head = head(draft.changes, "snapshot");
                Ok((current, tables.change_row(&head, &key, (None, Some(&row)))?))
            });
            match encoded {
                // Nothing has changed: a row of history for it would tell a change that did not happen.
                Ok((current, _)) if before.as_ref() == Some(&current) => {}
                Ok((current, changed)) => {
                    updates.insert(key, Some(current));
                    rows.push(changed);
                    draft.count_change();
                }
                Err(no_place) => {
                    if before.is_some() {
                        self.end_fitting(draft, tables, key, at_seconds, (&mut rows, &mut updates))?;
                    }
                    let unfitting = Unfitting {
                        id: None,
                        entity: entity.to_owned(),
                        reason: no_place.0,
                        at_seconds,
                        old: None,
                        new: Some(row),
                    };
                    self.take_misfit(draft, unfitting);
                }
            }
        }
        // What it was is in the rows of changes before.
        // What is left was in the lake and is not in the table any more.
        for key in there.into_keys() {
            if let Some(former) = former.remove(&key) {
                updates.insert(former, None);
            }
            let row = tables.change_row(&head(draft.changes, "deleted"), &key, (None, None));
            rows.push(row.map_err(|_| LakeError::Shape)?);
            draft.end_row(tables, key, &mut updates);
            draft.count_change();
        }
        Ok((rows, updates))
    }

    /// The rows of some files of what is whose keys are of a group.
    fn rows_in_group<'f>(
        &self,
        entity: &str,
        group: KeyGroup,
        files: impl Iterator<Item = &'f AddFile>,
    ) -> Result<HashMap<String, Vec<Cell>>, LakeError> {
        let mut rows = HashMap::new();
        let (Some(table), Some(tables)) = (self.tables.get(entity), self.entities.get(entity)) else {
            return Ok(rows);
        };
        for file in files {
            if !group.meets_bits(bucket_bits(table, file)?) {
                continue;
            }
            for row in self.read_each(entity, &file.path, &tables.current_columns)? {
                let row = row?;
                let key = row.first().and_then(Cell::as_text).unwrap_or_default().to_owned();
                if group.has_hash(key_hash(&key)) {
                    rows.insert(key, row);
                }
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
        let draft = self.begin_draft();
        self.commit(draft, "append", Some(position), now_millis).map(drop)
    }
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
        erased_at: now_millis,
        tables: BTreeMap::new(),
    };
    match put_batch(files, &batch) {
        Ok(()) => Ok(batch),
        // Of two who make it one is first, and both go on with that.
        Err(LakeError::Overtaken) => newest_batch(files)?.ok_or(LakeError::Overtaken),
        Err(error) => Err(error),
    }
}
