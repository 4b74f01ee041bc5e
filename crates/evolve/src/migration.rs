//! What it takes to change the rows, by the estimates of the models.

use std::collections::BTreeMap;

use serde::Serialize;
use singlet_cost::{GUARD_BYTES_USUAL, Prices, row_bytes, row_count};
use singlet_item::capacity::{READ_UNIT_BYTES, WRITE_UNIT_BYTES};
use singlet_model::Model;
use singlet_model::model::Entity;

use crate::{DataClass, RowChange, Way};

/// Write units a second at which rows are changed, unless said.
pub const RATE_UNITS_USUAL: f64 = 1_000.0;

/// What each action of a transaction costs, in units of one outside.
const TRANSACTION_FACTOR: f64 = 2.0;

/// What it takes to change the rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MigrationCost {
    /// What is written, by entity.
    pub entities: Vec<EntityWork>,
    /// Read units: every row of the table is read once.
    pub read_units: f64,
    /// Write units.
    pub write_units: f64,
    /// Dollars on demand.
    pub dollars: f64,
    /// Write units a second.
    pub rate: f64,
    /// Seconds at that rate.
    pub seconds: f64,
    /// Entities whose rows change, and of which nobody says how many there are: they are not counted.
    pub unknown: Vec<String>,
}

/// What is written for the rows of one entity.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EntityWork {
    /// The entity.
    pub entity: String,
    /// How many rows.
    pub rows: f64,
    /// Write units.
    pub write_units: f64,
}

/// What is done to each row of an entity.
#[derive(Debug, Default)]
struct RowWork {
    in_place: bool,
    moved: bool,
    indexes: Vec<String>,
    guards: usize,
    mirror: bool,
}

/// What it takes to make the changes; nothing, where no row changes.
pub fn migration_cost(
    changes: &[RowChange],
    old: &Model,
    new: &Model,
    prices: &Prices,
    rate: f64,
) -> Option<MigrationCost> {
    let work = row_work(changes, old);
    if work.is_empty() {
        return None;
    }
    let mut cost = MigrationCost {
        entities: Vec::new(),
        read_units: table_reads(old),
        write_units: 0.0,
        dollars: 0.0,
        rate,
        seconds: 0.0,
        unknown: Vec::new(),
    };
    for (name, work) in &work {
        // Rows of before are as many as the model of before says; a mirror that is new has one for each row of its source.
        let known = old.entity_named(name).map(|entity| (old, entity));
        let was = || {
            let was = new.entity_named(name)?.was.as_ref()?;
            Some((old, old.entity_named(&was.text)?))
        };
        let added = || Some((new, new.entity_named(name)?));
        let Some((model, entity)) = known.or_else(was).or_else(added) else {
            continue;
        };
        let rows = row_count(model, entity).or_else(|| row_count(new, new.entity_named(name)?));
        let Some(rows) = rows else {
            cost.unknown.push(name.clone());
            continue;
        };
        let write_units = rows * units_a_row(model, entity, work);
        cost.write_units += write_units;
        cost.entities.push(EntityWork {
            entity: name.clone(),
            rows,
            write_units,
        });
    }
    let millions = |units: f64| units / 1_000_000.0;
    cost.dollars = millions(cost.read_units) * prices.on_demand.read_million
        + millions(cost.write_units) * prices.on_demand.write_million;
    cost.seconds = cost.write_units / rate;
    Some(cost)
}

fn row_work(changes: &[RowChange], old: &Model) -> BTreeMap<String, RowWork> {
    let mut all: BTreeMap<String, RowWork> = BTreeMap::new();
    for change in changes {
        // What is dropped stays until somebody asks for it to go.
        let is_work = !matches!(change.data, DataClass::Nothing | DataClass::Drop);
        if !is_work || change.way == Way::Free {
            continue;
        }
        let Some(entity) = &change.entity else {
            // What concerns the table concerns all rows, but for an index whose entries are said of each entity.
            if change.data != DataClass::Index {
                for entity in &old.entities {
                    let work = all.entry(entity.name.clone()).or_default();
                    work.moved |= change.data == DataClass::Rekey;
                    work.in_place |= change.data != DataClass::Rekey;
                }
            }
            continue;
        };
        let work = all.entry(entity.clone()).or_default();
        let named = change.part.split('`').nth(1).unwrap_or_default();
        match change.data {
            _ if change.part.starts_with("unique ") => work.guards += 1,
            _ if change.part == "the mirror" => work.mirror = true,
            DataClass::Rekey => work.moved = true,
            DataClass::Index => {
                work.in_place = true;
                work.indexes.push(named.to_owned());
            }
            _ => work.in_place = true,
        }
    }
    all
}

/// Write units for a row: one change in place, or a put and a delete in one transaction with all that goes along.
fn units_a_row(model: &Model, entity: &Entity, work: &RowWork) -> f64 {
    let blocks = |bytes: f64| (bytes / WRITE_UNIT_BYTES as f64).ceil().max(1.0);
    let row = blocks(row_bytes(model, entity));
    let guard = blocks(GUARD_BYTES_USUAL) * TRANSACTION_FACTOR;
    let mut units = 0.0;
    if work.moved {
        units += 2.0 * row * TRANSACTION_FACTOR;
        // A guard names the key of its row, and an entry of an index holds it.
        units += entity.unique.len() as f64 * guard;
        units += 2.0 * row * entity.index.len() as f64;
    } else if work.in_place {
        units += row;
        units += 2.0 * row * work.indexes.len() as f64;
    }
    units += work.guards as f64 * (guard + row * TRANSACTION_FACTOR);
    if work.mirror {
        units += row * TRANSACTION_FACTOR;
    }
    units
}

/// Read units for every row, read consistently in pages.
fn table_reads(model: &Model) -> f64 {
    let bytes = model.entities.iter().filter_map(|entity| {
        let rows = row_count(model, entity)?;
        Some(rows * (row_bytes(model, entity) + entity.unique.len() as f64 * GUARD_BYTES_USUAL))
    });
    (bytes.sum::<f64>() / READ_UNIT_BYTES as f64).ceil()
}
