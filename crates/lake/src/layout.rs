//! Which tables a model has in a lake, and how its rows stand in them.

use std::collections::{BTreeMap, BTreeSet};

use singlet_changes::{Change, Misfit, SnapshotRow};
use singlet_item::{Item, Value};
use singlet_model::Model;
use singlet_model::model::{Entity, Personal};
use singlet_runtime::Attributes;

use crate::cell::{Cell, Column, ColumnType};
use crate::columns::{entity_columns, mark_personal, merge_columns};
use crate::encode::{NoPlace, RowEncoder};
use crate::erasure::is_emptied_since;
use crate::error::LakeError;
use crate::personal::{EntityPersons, ValueHasher, any_personal};

/// What the table of an entity's changes is called after its name.
const CHANGES: &str = "_changes";

/// The table of what does not fit.
pub(crate) const MISFITS: &str = "_misfits";

/// The table of rows that are gone and told of a person: what history has of them is to be emptied.
pub(crate) const ERASURES: &str = "_erasures";

/// The stream that a lake needs: of every change the row before and after.
const STREAM: &str = "both_images";

/// Where `id`, `key`, `before` and `after` stand among the columns of changes.
pub(crate) const CHANGE_ID: usize = 1;
pub(crate) const CHANGE_KEY: usize = 5;
const BEFORE: usize = 6;
pub(crate) const CHANGE_AFTER: usize = 7;

/// The two tables of an entity.
pub(crate) struct EntityTables {
    pub entity: String,
    /// The name of the table of changes.
    pub changes: String,
    pub changes_columns: Vec<Column>,
    /// The columns of the table of what is, which has the entity's name.
    pub current_columns: Vec<Column>,
    pub persons: EntityPersons,
    /// The attributes that stood readable in the tables and tell of a person by now.
    readable: BTreeSet<String>,
    /// Whether something in the tables is to be emptied or hidden.
    is_emptied: bool,
    before: RowEncoder,
    after: RowEncoder,
    current: RowEncoder,
}

/// What of a row of changes does not come from the rows themselves.
pub(crate) struct ChangeHead<'c> {
    pub number: u64,
    pub id: Option<String>,
    pub kind: &'static str,
    pub at_seconds: i64,
    pub by: Option<&'c str>,
}

/// The entities of a model that have tables: mirrors and what Singlet keeps for itself have none.
///
/// # Errors
///
/// Where the model's table has no stream that a lake can be made of, or two tables would have one name.
pub(crate) fn lake_entities(model: &Model) -> Result<Vec<&Entity>, LakeError> {
    if model.table.stream.as_deref() != Some(STREAM) {
        return Err(LakeError::Refused(format!(
            "a lake needs `stream: {STREAM}` under `table` of the model"
        )));
    }
    let is_own = |entity: &&Entity| entity.mirror.is_none() && entity.role.is_none();
    let entities: Vec<&Entity> = model.entities.iter().filter(is_own).collect();
    let mut names = BTreeMap::from([
        (MISFITS.to_owned(), "what does not fit"),
        (ERASURES.to_owned(), "what is to be erased"),
    ]);
    for entity in &entities {
        // Folders and tables that differ by letter case alone are the same to many.
        for name in [entity.name.clone(), changes_table(&entity.name)] {
            if let Some(other) = names.insert(name.to_lowercase(), &entity.name) {
                let reason = format!("the tables of `{}` and `{other}` would have the same name", entity.name);
                return Err(LakeError::Refused(reason));
            }
        }
    }
    Ok(entities)
}

pub(crate) fn changes_table(entity: &str) -> String {
    format!("{entity}{CHANGES}")
}

impl EntityTables {
    /// Of an entity, whose tables have these columns by now.
    pub(crate) fn new(
        entity: &Entity,
        changes_there: &[Column],
        current_there: &[Column],
        hasher: &ValueHasher,
    ) -> Self {
        let attributes = entity_columns(entity);
        let readable: BTreeSet<String> = readable_attributes(entity, changes_there).collect();
        let mut changes_columns = changes_there.to_vec();
        for column in &mut changes_columns {
            if let ColumnType::Struct(fields) = &mut column.ty {
                // Also columns of before: what is personal now must be emptied where it was not.
                mark_personal(fields, entity);
            }
        }
        let is_emptied = !readable.is_empty() || is_emptied_since(changes_there, &changes_columns);
        // What is there keeps its place: files of before are read by it.
        merge_columns(&mut changes_columns, &wanted_changes(&attributes));
        let mut current_columns = current_there.to_vec();
        mark_personal(&mut current_columns, entity);
        let key = Column::of_lake("_key", ColumnType::Text);
        merge_columns(&mut current_columns, &[key]);
        merge_columns(&mut current_columns, &attributes);
        let image = |at: usize| match changes_columns.get(at).map(|column| &column.ty) {
            Some(ColumnType::Struct(fields)) => RowEncoder::of_entity(entity, fields, hasher),
            _ => RowEncoder::of_entity(entity, &[], hasher),
        };
        EntityTables {
            entity: entity.name.clone(),
            changes: changes_table(&entity.name),
            before: image(BEFORE),
            after: image(CHANGE_AFTER),
            current: RowEncoder::of_entity(entity, &current_columns, hasher),
            persons: EntityPersons::of_entity(entity, hasher),
            readable,
            is_emptied,
            changes_columns,
            current_columns,
        }
    }

    /// Whether history has anything of a row that tells of a person.
    pub(crate) fn is_personal(&self) -> bool {
        any_personal(&self.changes_columns, &|personal| personal != Personal::Omitted)
    }

    /// Whether something in the tables is to be emptied or hidden that was written before the model said so.
    pub(crate) fn is_emptied(&self) -> bool {
        self.is_emptied
    }

    /// Whether rows of before may have stood under other keys than now.
    pub(crate) fn has_other_keys(&self) -> bool {
        !self.readable.is_empty()
    }

    /// A key of before as it stands by now; nothing where it was written so.
    pub(crate) fn hidden_key(&self, key: &str) -> Option<String> {
        if self.readable.is_empty() {
            return None;
        }
        let key: serde_json::Map<String, serde_json::Value> = serde_json::from_str(key).ok()?;
        self.persons.hidden_key(key, &self.readable)
    }

    /// A row of the table of changes.
    pub(crate) fn change_row(
        &self,
        head: &ChangeHead<'_>,
        key: &str,
        (before, after): (Option<&Attributes>, Option<&Attributes>),
    ) -> Result<Vec<Cell>, NoPlace> {
        let image = |encoder: &RowEncoder, row: Option<&Attributes>| match row {
            None => Ok(Cell::Null),
            Some(row) => encoder.encode_row(row).map(Cell::Struct),
        };
        Ok(vec![
            Cell::Long(i64::try_from(head.number).unwrap_or(i64::MAX)),
            Cell::optional_text(head.id.clone()),
            Cell::text(head.kind),
            instant_cell(head.at_seconds),
            Cell::optional_text(head.by.map(str::to_owned)),
            Cell::text(key),
            image(&self.before, before)?,
            image(&self.after, after)?,
        ])
    }

    /// A row of the table of what is.
    pub(crate) fn current_row(&self, key: &str, row: &Attributes) -> Result<Vec<Cell>, NoPlace> {
        let mut cells = self.current.encode_row(row)?;
        if let Some(first) = cells.first_mut() {
            *first = Cell::text(key);
        }
        Ok(cells)
    }
}

/// The attributes that tell of a person and stand in columns that were not marked so.
fn readable_attributes(entity: &Entity, changes: &[Column]) -> impl Iterator<Item = String> + use<> {
    let fields = match changes.get(CHANGE_AFTER).map(|column| &column.ty) {
        Some(ColumnType::Struct(fields)) => fields.as_slice(),
        _ => &[],
    };
    let is_readable = |name: &String| {
        let personal = entity.attribute(name).and_then(|attribute| attribute.personal);
        let mut of_name = fields.iter().filter(|field| field.attribute.as_ref() == Some(name));
        // One that was hashed or emptied before was hidden in keys then.
        personal.is_some() && of_name.clone().count() > 0 && of_name.all(|field| field.personal.is_none())
    };
    let names = fields.iter().filter_map(|field| field.attribute.clone());
    names.filter(is_readable).collect::<Vec<_>>().into_iter()
}

/// Names that no SQL keeps for itself, as it does `at` and `by`.
fn wanted_changes(attributes: &[Column]) -> Vec<Column> {
    let image = || ColumnType::Struct(attributes.to_vec());
    [
        ("number", ColumnType::Long),
        ("id", ColumnType::Text),
        ("kind", ColumnType::Text),
        ("changed_at", ColumnType::Timestamp),
        ("written_by", ColumnType::Text),
        ("key", ColumnType::Text),
        ("before", image()),
        ("after", image()),
    ]
    .into_iter()
    .map(|(name, ty)| Column::of_lake(name, ty))
    .collect()
}

/// The columns of the table of what does not fit.
pub(crate) fn misfit_columns() -> Vec<Column> {
    [
        ("number", ColumnType::Long),
        ("id", ColumnType::Text),
        ("entity", ColumnType::Text),
        ("reason", ColumnType::Text),
        ("changed_at", ColumnType::Timestamp),
        ("old", ColumnType::Text),
        ("new", ColumnType::Text),
    ]
    .into_iter()
    .map(|(name, ty)| Column::of_lake(name, ty))
    .collect()
}

/// The columns of the table of rows that are gone.
pub(crate) fn erasure_columns() -> Vec<Column> {
    [
        ("number", ColumnType::Long),
        ("entity", ColumnType::Text),
        ("key", ColumnType::Text),
    ]
    .into_iter()
    .map(|(name, ty)| Column::of_lake(name, ty))
    .collect()
}

/// Something that has no row in the tables of its entity.
pub(crate) struct Unfitting {
    pub id: Option<String>,
    pub entity: String,
    pub reason: String,
    pub at_seconds: i64,
    pub old: Option<Item>,
    pub new: Option<Item>,
}

impl Unfitting {
    pub(crate) fn of_misfit(misfit: &Misfit) -> Self {
        Unfitting {
            id: Some(misfit.id.as_str().to_owned()),
            entity: misfit.entity.clone(),
            reason: misfit.reason.clone(),
            at_seconds: misfit.record.at_seconds,
            old: misfit.record.old.clone(),
            new: misfit.record.new.clone(),
        }
    }

    pub(crate) fn of_change(change: &Change, NoPlace(reason): NoPlace) -> Self {
        Unfitting {
            id: Some(change.id.as_str().to_owned()),
            entity: change.entity.clone(),
            reason,
            at_seconds: change.at_seconds,
            old: change.before.clone(),
            new: change.after.clone(),
        }
    }

    /// Of a row that was read and not told; only what does not fit is one.
    pub(crate) fn of_scanned(row: &SnapshotRow, at_seconds: i64) -> Option<Self> {
        let SnapshotRow::Misfit { entity, reason, item } = row else {
            return None;
        };
        Some(Unfitting {
            id: None,
            entity: entity.clone(),
            reason: reason.clone(),
            at_seconds,
            old: None,
            new: Some(item.clone()),
        })
    }

    /// The same without what tells of a person.
    pub(crate) fn shown_by(self, persons: &EntityPersons) -> Self {
        Unfitting {
            reason: persons.shown_reason(self.reason),
            old: self.old.map(|item| persons.shown_item(item)),
            new: self.new.map(|item| persons.shown_item(item)),
            ..self
        }
    }

    pub(crate) fn unfitting_cells(self, number: u64) -> Vec<Cell> {
        let json = |item: Option<Item>| {
            let text = |item| singlet_values::json_text::json_of(&Value::M(item));
            Cell::optional_text(item.map(text))
        };
        vec![
            Cell::Long(i64::try_from(number).unwrap_or(i64::MAX)),
            Cell::optional_text(self.id),
            Cell::text(self.entity),
            Cell::text(self.reason),
            instant_cell(self.at_seconds),
            json(self.old),
            json(self.new),
        ]
    }
}

fn instant_cell(seconds: i64) -> Cell {
    seconds.checked_mul(1_000_000).map_or(Cell::Null, Cell::Long)
}
