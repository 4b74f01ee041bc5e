//! Which tables a model has in a lake, and how its rows stand in them.

use std::collections::BTreeMap;

use singlet_changes::{Change, Misfit, SnapshotRow};
use singlet_item::{Item, Value};
use singlet_model::Model;
use singlet_model::model::Entity;
use singlet_runtime::Attributes;
use singlet_runtime::values::json_text;

use crate::cell::{Cell, Column, ColumnType};
use crate::columns::{entity_columns, merge_columns};
use crate::encode::{NoPlace, RowEncoder};
use crate::error::LakeError;

/// What the table of an entity's changes is called after its name.
const CHANGES: &str = "_changes";

/// The table of what does not fit.
pub(crate) const MISFITS: &str = "_misfits";

/// The stream that a lake needs: of every change the row before and after.
const STREAM: &str = "both_images";

/// Where `before` and `after` stand among the columns of changes.
const BEFORE: usize = 6;
const AFTER: usize = 7;

/// The two tables of an entity.
pub(crate) struct EntityTables {
    pub entity: String,
    /// The name of the table of changes.
    pub changes: String,
    pub changes_columns: Vec<Column>,
    /// The columns of the table of what is, which has the entity's name.
    pub current_columns: Vec<Column>,
    before: RowEncoder,
    after: RowEncoder,
    current: RowEncoder,
}

/// What of a row of changes does not come from the rows themselves.
pub(crate) struct ChangeHead<'c> {
    pub number: u64,
    pub id: Option<&'c str>,
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
    let mut names = BTreeMap::from([(MISFITS.to_owned(), "what does not fit")]);
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
    pub(crate) fn new(entity: &Entity, changes_there: &[Column], current_there: &[Column]) -> Self {
        let attributes = entity_columns(entity);
        let mut changes_columns = changes_there.to_vec();
        merge_columns(&mut changes_columns, &wanted_changes(&attributes));
        let mut current_columns = current_there.to_vec();
        let key = Column::of_lake("_key", ColumnType::Text);
        merge_columns(&mut current_columns, &[key]);
        merge_columns(&mut current_columns, &attributes);
        let image = |at: usize| match changes_columns.get(at).map(|column| &column.ty) {
            Some(ColumnType::Struct(fields)) => RowEncoder::of_entity(entity, fields),
            _ => RowEncoder::of_entity(entity, &[]),
        };
        EntityTables {
            entity: entity.name.clone(),
            changes: changes_table(&entity.name),
            before: image(BEFORE),
            after: image(AFTER),
            current: RowEncoder::of_entity(entity, &current_columns),
            changes_columns,
            current_columns,
        }
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
            Cell::optional_text(head.id.map(str::to_owned)),
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

    pub(crate) fn cells(self, number: u64) -> Vec<Cell> {
        let json = |item: Option<Item>| Cell::optional_text(item.map(|item| json_text::of(&Value::M(item))));
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

/// What identifies a row, as text.
pub(crate) fn key_text(key: &Attributes) -> String {
    json_text::of(&Value::M(key.clone()))
}

fn instant_cell(seconds: i64) -> Cell {
    seconds.checked_mul(1_000_000).map_or(Cell::Null, Cell::Long)
}
