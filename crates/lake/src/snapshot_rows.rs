//! The rows of a table as they are read for a snapshot, and as the stream tells them meanwhile: what the stream tells of a row counts, whatever
//! was read of it.
//!
//! Rows beyond those that are held in memory lie in a file of this machine, in parts by their hashed keys, so that some can be looked at by
//! themselves. The file has no name, so that nobody else opens it, and it goes with the process.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};

use serde::{Deserialize, Serialize};
use singlet_changes::{Change, ChangeDecoder, ChangePage, Misfit, SnapshotRow, Told};
use singlet_item::{Item, Value};
use singlet_runtime::Attributes;
use singlet_values::json_text;

use crate::buckets::{KeyGroup, key_hash};
use crate::error::LakeError;
use crate::files::drawn_name;
use crate::lake::Lake;

/// How many rows are held in memory, of those that are read and of those that are compared with the lake.
pub(crate) const HELD_ROWS_MAX: usize = 100_000;

/// The most rows that change, or do not fit, while all are read: these are held in memory.
const TOLD_ROWS_MAX: usize = 2_000_000;

/// The file has so many parts, as a power of two: by the first bits of the hashed keys.
pub(crate) const PART_BITS: u32 = 8;

/// What messages call the file.
const SPILL_FILE: &str = "the file for the rows of a snapshot";

/// The rows of a snapshot.
pub(crate) struct SnapshotRows {
    decoder: ChangeDecoder,
    entities: BTreeMap<String, EntityRows>,
    misfits: Vec<SnapshotRow>,
    /// The items of those, as text.
    known_misfits: HashSet<String>,
    file: Option<File>,
    file_bytes: u64,
    held_rows: usize,
    told_rows: usize,
    held_rows_max: usize,
}

/// The rows of an entity, under their keys in the lake.
#[derive(Default)]
struct EntityRows {
    held: Vec<(String, Attributes)>,
    /// Where in the file others are, by part.
    spilled: BTreeMap<u64, Vec<Block>>,
    spilled_rows: usize,
    /// What the stream told last; none where the row is gone.
    told: HashMap<String, Option<Attributes>>,
}

struct Block {
    start: u64,
    bytes: usize,
}

/// A row in the file.
#[derive(Serialize, Deserialize)]
struct SpilledRow {
    key: String,
    row: Item,
}

impl SnapshotRows {
    pub(crate) fn new(decoder: ChangeDecoder, held_rows_max: usize) -> Self {
        SnapshotRows {
            decoder,
            entities: BTreeMap::new(),
            misfits: Vec::new(),
            known_misfits: HashSet::new(),
            file: None,
            file_bytes: 0,
            held_rows: 0,
            told_rows: 0,
            held_rows_max: held_rows_max.max(1),
        }
    }

    /// How many rows may be held at once.
    pub(crate) fn held_rows_max(&self) -> usize {
        self.held_rows_max
    }

    pub(crate) fn take_scanned(&mut self, lake: &Lake, page: Vec<SnapshotRow>) -> Result<(), LakeError> {
        for row in page {
            match row {
                SnapshotRow::Row { entity, key, row } => {
                    if let Some(key) = lake.row_key(&entity, &key) {
                        self.entities.entry(entity).or_default().held.push((key, row));
                        self.held_rows += 1;
                    }
                }
                SnapshotRow::Misfit { .. } => self.add_misfit(row),
            }
        }
        self.check_told()
    }

    pub(crate) fn take_told(&mut self, lake: &Lake, page: &ChangePage) -> Result<(), LakeError> {
        for told in &page.told {
            match told {
                Told::Change(change) => self.take_change(lake, change),
                Told::Misfit(misfit) => self.take_misfit(lake, misfit),
            }
        }
        self.check_told()
    }

    fn take_change(&mut self, lake: &Lake, change: &Change) {
        if let Some(key) = lake.row_key(&change.entity, &change.key) {
            self.tell_row(&change.entity, key, change.after.clone());
        }
    }

    /// A row that does not fit any more is read as one that does not, or told as one; what it was before is the past.
    fn take_misfit(&mut self, lake: &Lake, misfit: &Misfit) {
        let old = misfit.record.old.as_ref();
        let key = old.and_then(|old| self.decoder.fitting_key(&misfit.entity, old));
        if let Some(key) = key.and_then(|key| lake.row_key(&misfit.entity, &key)) {
            self.tell_row(&misfit.entity, key, None);
        }
        if let Some(item) = &misfit.record.new {
            self.add_misfit(SnapshotRow::Misfit {
                entity: misfit.entity.clone(),
                reason: misfit.reason.clone(),
                item: item.clone(),
            });
        }
    }

    fn tell_row(&mut self, entity: &str, key: String, row: Option<Attributes>) {
        let known = self
            .entities
            .entry(entity.to_owned())
            .or_default()
            .told
            // The last that the stream tells counts, also that the row is gone.
            .insert(key, row);
        self.told_rows += usize::from(known.is_none());
    }

    fn add_misfit(&mut self, row: SnapshotRow) {
        let SnapshotRow::Misfit { item, .. } = &row else { return };
        // By its content: an item that does not fit may be both scanned and told.
        if self.known_misfits.insert(json_text::json_of(&Value::M(item.clone()))) {
            self.misfits.push(row);
        }
    }

    fn check_told(&self) -> Result<(), LakeError> {
        match self.told_rows + self.misfits.len() <= TOLD_ROWS_MAX {
            true => Ok(()),
            false => Err(LakeError::Refused(format!(
                "more than {TOLD_ROWS_MAX} rows changed, or do not fit, while all were read"
            ))),
        }
    }

    /// Whether rows are to be written to the file before more are taken.
    pub(crate) fn is_full(&self) -> bool {
        self.held_rows >= self.held_rows_max
    }

    /// Writes the rows that are held to the file. It waits for the disk.
    pub(crate) fn spill_rows(&mut self) -> Result<(), LakeError> {
        self.write_held_rows().map_err(LakeError::file(SPILL_FILE))
    }

    fn write_held_rows(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(unnamed_file()?),
        };
        file.seek(SeekFrom::Start(self.file_bytes))?;
        for rows in self.entities.values_mut() {
            let mut parts: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
            rows.spilled_rows += rows.held.len();
            for (key, row) in rows.held.drain(..) {
                let text = parts.entry(key_hash(&key) >> (u64::BITS - PART_BITS)).or_default();
                serde_json::to_writer(&mut *text, &SpilledRow { key, row })?;
                text.push(b'\n');
            }
            for (part, text) in parts {
                file.write_all(&text)?;
                rows.spilled.entry(part).or_default().push(Block {
                    start: self.file_bytes,
                    bytes: text.len(),
                });
                self.file_bytes += text.len() as u64;
            }
        }
        self.held_rows = 0;
        Ok(())
    }

    /// What does not fit.
    pub(crate) fn take_misfits(&mut self) -> Vec<SnapshotRow> {
        std::mem::take(&mut self.misfits)
    }

    /// The most rows that an entity can have.
    pub(crate) fn count_rows(&self, entity: &str) -> usize {
        let rows = self.entities.get(entity);
        rows.map_or(0, |rows| rows.held.len() + rows.spilled_rows + rows.told.len())
    }

    /// The rows of an entity whose keys are of a group, as they are.
    pub(crate) fn rows_of(&mut self, entity: &str, group: KeyGroup) -> Result<BTreeMap<String, Attributes>, LakeError> {
        let mut all = BTreeMap::new();
        let Some(rows) = self.entities.get(entity) else {
            return Ok(all);
        };
        if let Some(file) = &mut self.file {
            for (_, blocks) in rows.spilled.range(group.part_numbers(PART_BITS)) {
                for block in blocks {
                    read_block(file, block, &mut all).map_err(LakeError::file(SPILL_FILE))?;
                }
            }
        }
        let held = rows.held.iter().filter(|(key, _)| group.has_hash(key_hash(key)));
        // In this order: what was told wins over what was read, wherever that lies.
        all.extend(held.cloned());
        for (key, row) in rows.told.iter().filter(|(key, _)| group.has_hash(key_hash(key))) {
            match row {
                Some(row) => drop(all.insert(key.clone(), row.clone())),
                None => drop(all.remove(key)),
            }
        }
        Ok(all)
    }
}

fn read_block(file: &mut File, block: &Block, rows: &mut BTreeMap<String, Attributes>) -> io::Result<()> {
    let mut text = vec![0; block.bytes];
    file.seek(SeekFrom::Start(block.start))?;
    file.read_exact(&mut text)?;
    for row in serde_json::Deserializer::from_slice(&text).into_iter::<SpilledRow>() {
        let SpilledRow { key, row } = row?;
        rows.insert(key, row);
    }
    Ok(())
}

/// A file for its maker alone: its name is gone at once.
fn unnamed_file() -> io::Result<File> {
    let path = std::env::temp_dir().join(format!("singlet-snapshot-{}", drawn_name()?));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let file = options.open(&path)?;
    // It stays open and has no name: nobody else reads it, and it goes with the process.
    std::fs::remove_file(&path)?;
    Ok(file)
}
