//! What a migration will do, and did.

use std::collections::BTreeMap;

use serde::Serialize;
use singlet_item::capacity::WriteUnits;

use crate::error::RowMisfit;

/// How many misfits are shown; all are counted.
pub(crate) const MISFITS_SHOWN_MAX: usize = 10;

/// What a migration will do to a table, by what lies in it.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MigrationPlan {
    /// Items that were read.
    pub items: u64,
    /// The rows, by the name that the old model has for their entity.
    pub entities: BTreeMap<String, EntityCount>,
    /// What is done to the table itself, before and after its rows, in words.
    pub table: Vec<String>,
    /// Read units that looking took.
    pub read_units: f64,
    /// Write units that changing the rows takes, on the table and its indexes.
    pub row_units: u64,
    /// Write units that it takes to have them forget what they were, and to drop what is dropped.
    pub finish_units: u64,
    /// Rows that cannot become rows of the new model.
    pub misfits: u64,
    /// The first of them.
    #[serde(skip)]
    pub first_misfits: Vec<RowMisfit>,
}

/// What is done to the rows of an entity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EntityCount {
    /// Rows.
    pub rows: u64,
    /// Rows whose own item changes, in its place.
    pub changed: u64,
    /// Rows that come to stand under another key.
    pub moved: u64,
    /// Mirrors and guards that are made, changed or removed.
    pub beside: u64,
    /// Rows of no entity of the new model.
    pub gone: u64,
}

impl MigrationPlan {
    /// Rows that are written in any way.
    pub fn changed_rows(&self) -> u64 {
        self.entities.values().map(|entity| entity.changed + entity.moved).sum()
    }

    /// Write units in all.
    pub fn write_units(&self) -> u64 {
        self.row_units + self.finish_units
    }

    /// Whether anything is done at all.
    pub fn changes_nothing(&self) -> bool {
        self.write_units() == 0 && self.table.is_empty()
    }

    pub(crate) fn add_misfit(&mut self, misfit: RowMisfit) {
        self.misfits += 1;
        if self.first_misfits.len() < MISFITS_SHOWN_MAX {
            self.first_misfits.push(misfit);
        }
    }

    pub(crate) fn add_units(&mut self, rows: WriteUnits, finish: WriteUnits) {
        self.row_units += rows.get();
        self.finish_units += finish.get();
    }
}
