//! How many rows and index entries there are, and how large.

use singlet_item::capacity::{READ_UNIT_BYTES, WRITE_UNIT_BYTES};
use singlet_model::Model;
use singlet_model::model::{Entity, IndexEntry, IndexId};
use singlet_plan::read::{ROW_BYTES_USUAL, SHARE_OF_A_CONDITION, carried_share, share_of_condition};

/// The bytes of a guard: two hashed keys and what it guards.
pub const GUARD_BYTES_USUAL: f64 = 150.0;
/// What storage adds to each row and each index entry.
pub const OVERHEAD_BYTES: f64 = 100.0;
/// The bytes of a gigabyte.
pub const GB_BYTES: f64 = 1024.0 * 1024.0 * 1024.0;

/// What is stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Storage {
    /// Bytes of rows, with what storage adds to each.
    pub table_bytes: f64,
    /// Bytes of the entries of each index, the same, in the order of the table's indexes.
    pub index_bytes: Vec<f64>,
    /// Entities of which nobody says how many rows there are: they are not counted.
    pub unknown: Vec<String>,
}

impl Storage {
    /// All of it, in gigabytes.
    pub(crate) fn total_gb(&self) -> f64 {
        (self.table_bytes + self.index_bytes.iter().sum::<f64>()) / GB_BYTES
    }

    /// The rows alone, in gigabytes: what recovery and backups are of.
    pub fn table_gb(&self) -> f64 {
        self.table_bytes / GB_BYTES
    }

    /// The same with that many times the rows.
    pub fn scaled_rows(&self, factor: f64) -> Storage {
        Storage {
            table_bytes: self.table_bytes * factor,
            index_bytes: self.index_bytes.iter().map(|bytes| bytes * factor).collect(),
            unknown: self.unknown.clone(),
        }
    }
}

/// What a model's estimates make of its storage.
pub fn stored_bytes(model: &Model) -> Storage {
    let mut storage = Storage {
        index_bytes: vec![0.0; model.table.indexes.len()],
        ..Storage::default()
    };
    for entity in &model.entities {
        let Some(items) = row_count(model, entity) else {
            storage.unknown.push(entity.name.clone());
            continue;
        };
        storage.table_bytes += items * (row_bytes(model, entity) + OVERHEAD_BYTES);
        storage.table_bytes += items * entity.unique.len() as f64 * (GUARD_BYTES_USUAL + OVERHEAD_BYTES);
        for entry in &entity.index {
            let entries = items * entry_share(model, entity, entry);
            let bytes = entry_bytes(model, entity, entry.index) + OVERHEAD_BYTES;
            if let Some(index) = storage.index_bytes.get_mut(entry.index.0 as usize) {
                *index += entries * bytes;
            }
        }
    }
    storage
}

/// How many rows an entity has, where that is said: of itself, or of the entity that it mirrors.
pub fn row_count(model: &Model, entity: &Entity) -> Option<f64> {
    let of = |name: &str| model.estimate_of(name)?.items.map(|items| items as f64);
    of(&entity.name).or_else(|| of(&model.source_of(entity).name))
}

/// The bytes of a usual row, where nobody says those of any.
pub fn row_bytes(model: &Model, entity: &Entity) -> f64 {
    said_bytes(model, entity).unwrap_or(ROW_BYTES_USUAL)
}

/// The bytes of a usual row, where that is said: of the entity, or of the one that it mirrors.
pub(crate) fn said_bytes(model: &Model, entity: &Entity) -> Option<f64> {
    let of = |name: &str| model.estimate_of(name)?.bytes.map(|bytes| bytes as f64);
    of(&entity.name).or_else(|| of(&model.source_of(entity).name))
}

/// The bytes of an entry in an index.
pub(crate) fn entry_bytes(model: &Model, entity: &Entity, index: IndexId) -> f64 {
    let projection = model.index(index).map(|index| &index.projection);
    row_bytes(model, entity) * projection.map_or(1.0, |projection| carried_share(entity, projection))
}

/// Which part of an entity's rows has an entry in an index: those with all attributes of its key, and of which its condition
/// holds.
pub(crate) fn entry_share(model: &Model, entity: &Entity, entry: &IndexEntry) -> f64 {
    let source = model.source_of(entity);
    let choices = entry.key_choices().iter().map(|choice| {
        let mut roots: Vec<&str> = Vec::new();
        for part in choice.keys.iter().flat_map(|key| &key.parts) {
            if part.optional && !roots.contains(&part.root_attribute()) {
                roots.push(part.root_attribute());
            }
        }
        let when = choice
            .when
            .as_ref()
            .map_or(1.0, |when| share_of_condition(model, source, when));
        when * roots
            .into_iter()
            .map(|root| said_present(model, source, root))
            .product::<f64>()
    });
    choices.sum::<f64>().min(1.0)
}

/// Which part of an entity's rows has an attribute.
pub(crate) fn present_share(model: &Model, entity: &Entity, name: &str) -> f64 {
    match entity.attribute(name).is_some_and(|attribute| attribute.optional) {
        true => said_present(model, model.source_of(entity), name),
        false => 1.0,
    }
}

/// The same of one that may be absent: as `shares` say, else half.
fn said_present(model: &Model, source: &Entity, name: &str) -> f64 {
    let estimate = model.estimate_of(&source.name);
    let absent = estimate.and_then(|estimate| estimate.share_absent(name));
    1.0 - absent.unwrap_or(SHARE_OF_A_CONDITION)
}

/// Blocks of a read, never less than one.
pub(crate) fn read_blocks(bytes: f64) -> f64 {
    (bytes / READ_UNIT_BYTES as f64).ceil().max(1.0)
}

/// Blocks of a write, never less than one.
pub(crate) fn write_blocks(bytes: f64) -> f64 {
    (bytes / WRITE_UNIT_BYTES as f64).ceil().max(1.0)
}
