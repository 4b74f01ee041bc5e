//! Dollars a month: by operation, by what is kept, on demand and provisioned, with and without what is free.

use serde::{Deserialize, Serialize};
use singlet_model::Model;

use crate::capacity::{Capacity, PlaceUnits, capacity_needed};
use crate::operations::{MONTH_SECONDS, Operation, OperationKind};
use crate::prices::Prices;
use crate::sizes::Storage;

/// The hours of a month of 30 days.
pub const MONTH_HOURS: f64 = 30.0 * 24.0;
/// How often a reader of the stream asks each shard, a second: as Singlet's own follower does.
pub(crate) const STREAM_READS_PER_SECOND: f64 = 4.0;
/// The write units a second that one shard of a stream carries.
const SHARD_WRITE_UNITS_PER_SECOND: f64 = 1_000.0;

/// What a month costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Bill {
    /// How many times the estimates.
    pub factor: f64,
    /// Each operation, on demand.
    pub operations: Vec<OperationBill>,
    /// Read units, on demand.
    pub reads: f64,
    /// Write units, on demand.
    pub writes: f64,
    /// Gigabytes of rows and of index entries.
    pub stored_gb: f64,
    /// Rows and index entries that are kept.
    pub storage: f64,
    /// Reads of the stream.
    pub stream: f64,
    /// Point-in-time recovery.
    pub recovery: f64,
    /// One full backup, kept for the month. It is in no total: a model does not say how many are kept.
    pub backup: f64,
    /// Restoring it once. In no total either.
    pub restore: f64,
    /// What is to be provisioned in all, for the peak.
    pub provision: ProvisionedBill,
    /// What the model provisions in all.
    pub declared: Option<ProvisionedBill>,
    /// The average in parts of what is to be provisioned, by price.
    pub utilisation: f64,
    /// The utilisation from which on provisioned units are cheaper.
    pub break_even: f64,
    /// What is free of this, apart.
    pub free: FreeBill,
}

/// What an operation costs in a month, on demand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationBill {
    /// Its name.
    pub name: String,
    /// Whether it writes.
    pub writes: bool,
    /// Whether it is no operation of the model, but what is done for those that run by themselves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_itself: bool,
    /// Runs in a month; none where nobody says.
    pub runs: Option<f64>,
    /// Read units of a run.
    pub read_units: f64,
    /// Write units of a run.
    pub write_units: f64,
    /// Dollars.
    pub dollars: f64,
}

/// What provisioned units cost in a month.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProvisionedBill {
    /// Read units a second, table and indexes together.
    pub read: u64,
    /// Write units a second.
    pub write: u64,
    /// Dollars.
    pub dollars: f64,
    /// What is free of that.
    pub free: f64,
    /// Whether each place gets no more than it has, on average.
    pub enough: bool,
}

/// What is free in a month, for a table that is alone in its account and region.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FreeBill {
    /// Of storage.
    pub storage: f64,
    /// Of reads of the stream.
    pub stream: f64,
}

impl Bill {
    /// What is kept and followed, whatever units cost.
    fn beside(&self) -> f64 {
        self.storage + self.stream + self.recovery
    }

    /// All of it, on demand.
    pub fn on_demand(&self) -> f64 {
        self.reads + self.writes + self.beside()
    }

    /// All of it, provisioned for the peak.
    pub fn provisioned_total(&self) -> f64 {
        self.provision.dollars + self.beside()
    }

    /// On demand, less what is free.
    pub fn on_demand_net(&self) -> f64 {
        (self.on_demand() - self.free.storage - self.free.stream).max(0.0)
    }

    /// Provisioned for the peak, less what is free.
    pub fn provisioned_net(&self) -> f64 {
        (self.provisioned_total() - self.provision.free - self.free.storage - self.free.stream).max(0.0)
    }

    /// As the model is billed, less what is free.
    pub(crate) fn as_declared_net(&self) -> f64 {
        match self.declared {
            None => self.on_demand_net(),
            Some(declared) => {
                let units = declared.dollars - declared.free;
                (units + self.beside() - self.free.storage - self.free.stream).max(0.0)
            }
        }
    }

    /// As the model is billed, before anything is free.
    pub(crate) fn as_declared(&self) -> f64 {
        match self.declared {
            None => self.on_demand(),
            Some(declared) => declared.dollars + self.beside(),
        }
    }
}

/// What a month costs with that many times the estimates.
pub fn month_bill(model: &Model, operations: &[Operation], stored: &Storage, prices: &Prices, factor: f64) -> Bill {
    let load = capacity_needed(model, operations, factor);
    let stored = stored.scaled_rows(factor);
    let billed: Vec<OperationBill> = operations
        .iter()
        .map(|operation| operation_bill(operation, prices, factor))
        .collect();
    let sum = |units: fn(&OperationBill) -> f64| -> f64 {
        billed.iter().map(|bill| units(bill) * bill.runs.unwrap_or(0.0)).sum()
    };
    let reads = sum(|bill| bill.read_units) / 1e6 * prices.on_demand.read_million;
    let writes = sum(|bill| bill.write_units) / 1e6 * prices.on_demand.write_million;
    let provision = provisioned_bill(load.provisioned_total(), prices, true);
    let stream_reads = stream_reads(model, &load);
    let stored_gb = stored.total_gb();
    let table_gb = stored.table_gb();
    let used = used_dollars(&load, prices);
    Bill {
        factor,
        operations: billed,
        reads,
        writes,
        stored_gb,
        storage: stored_gb * prices.storage.gb_month,
        stream: stream_reads / 1e5 * prices.stream.reads_100_000,
        recovery: if model.table.recovery {
            table_gb * prices.storage.recovery_gb_month
        } else {
            0.0
        },
        backup: table_gb * prices.storage.backup_gb_month,
        restore: table_gb * prices.storage.restore_gb,
        provision,
        declared: load
            .declared_total()
            .map(|units| provisioned_bill(units, prices, load.carries_average())),
        utilisation: if provision.dollars > 0.0 {
            used / provision.dollars
        } else {
            0.0
        },
        break_even: break_even(&load, prices),
        free: FreeBill {
            storage: stored_gb.min(prices.free.storage_gb) * prices.storage.gb_month,
            stream: stream_reads.min(prices.free.stream_reads as f64) / 1e5 * prices.stream.reads_100_000,
        },
    }
}

fn operation_bill(operation: &Operation, prices: &Prices, factor: f64) -> OperationBill {
    let runs = operation.rate_at(factor).map(|rate| rate * MONTH_SECONDS);
    let (read_units, write_units) = (operation.read_units(), operation.write_units());
    let each = read_units / 1e6 * prices.on_demand.read_million + write_units / 1e6 * prices.on_demand.write_million;
    OperationBill {
        name: operation.name.clone(),
        writes: operation.kind != OperationKind::Read,
        by_itself: operation.kind == OperationKind::Following,
        runs,
        read_units,
        write_units,
        dollars: each * runs.unwrap_or(0.0),
    }
}

fn provisioned_bill(units: PlaceUnits, prices: &Prices, enough: bool) -> ProvisionedBill {
    let dollars = |read: u64, write: u64| {
        let hour = read as f64 * prices.provisioned.read_unit_hour + write as f64 * prices.provisioned.write_unit_hour;
        hour * MONTH_HOURS
    };
    ProvisionedBill {
        read: units.read,
        write: units.write,
        dollars: dollars(units.read, units.write),
        free: dollars(
            units.read.min(prices.free.provisioned_read_units),
            units.write.min(prices.free.provisioned_write_units),
        ),
        enough,
    }
}

/// What the average alone would cost, provisioned.
fn used_dollars(load: &Capacity, prices: &Prices) -> f64 {
    let hour = |place: &crate::PlaceLoad| {
        place.mean.read * prices.provisioned.read_unit_hour + place.mean.write * prices.provisioned.write_unit_hour
    };
    load.places.iter().map(hour).sum::<f64>() * MONTH_HOURS
}

/// A unit a second costs so much by the hour, and so much where each use is paid: used for this part of the hour both cost the
/// same, for the mix of reads and writes that there is.
fn break_even(load: &Capacity, prices: &Prices) -> f64 {
    let by_use = |place: &crate::PlaceLoad| {
        let reads = place.mean.read * prices.on_demand.read_million;
        let writes = place.mean.write * prices.on_demand.write_million;
        (reads + writes) / 1e6 * 3600.0 * MONTH_HOURS
    };
    let on_demand = load.places.iter().map(by_use).sum::<f64>();
    if on_demand > 0.0 {
        used_dollars(load, prices) / on_demand
    } else {
        0.0
    }
}

/// Each reader asks each shard by the second; what runs after changes is a reader too, and so is what keeps tallies, and what finds words.
fn stream_reads(model: &Model, load: &Capacity) -> f64 {
    if model.table.stream.is_none() {
        return 0.0;
    }
    let follows = model.followed_changes().next().is_some();
    let kept = usize::from(!model.tallies.is_empty()) + usize::from(!model.searches.is_empty());
    let readers = model.table.stream_readers.len() + usize::from(follows) + kept;
    let peak: f64 = load.places.iter().take(1).map(|table| table.peak.write).sum();
    let shards = (peak / SHARD_WRITE_UNITS_PER_SECOND).ceil().max(1.0);
    readers as f64 * shards * STREAM_READS_PER_SECOND * MONTH_SECONDS
}
