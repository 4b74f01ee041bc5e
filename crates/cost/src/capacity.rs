//! Units a second: by operation and place, at the estimates and at the peak, and what to provision for them.

use serde::Serialize;
use singlet_model::Model;
use singlet_model::model::{Billing, IndexId, ProvisionedUnits};

use crate::operations::{Operation, Part};
use crate::partitions::{KeyLoad, key_loads};

/// The part of provisioned units that may be used before more are needed: what auto-scaling aims at unless told otherwise.
pub(crate) const TARGET_UTILISATION: f64 = 0.7;

/// What a model needs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Capacity {
    /// Each place, the table first.
    pub places: Vec<PlaceLoad>,
    /// The busiest partition of each key, the busiest first.
    pub keys: Vec<KeyLoad>,
}

/// Read and write units, a second or in a month.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct UnitsRate {
    /// Read units.
    pub read: f64,
    /// Write units.
    pub write: f64,
}

/// What the table or a global index gets.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlaceLoad {
    /// `table`, or the index's name.
    pub place: String,
    /// Units a second on average.
    pub mean: UnitsRate,
    /// Units a second at the busiest time, with the peaks of all operations at once.
    pub peak: UnitsRate,
    /// What each operation takes of the average, without those that take nothing.
    pub operations: Vec<(String, UnitsRate)>,
    /// What to provision, so that the peak is served at [`TARGET_UTILISATION`].
    pub provision: PlaceUnits,
    /// From where auto-scaling may begin: what serves the average.
    pub scale_from: PlaceUnits,
    /// What the model provisions.
    pub declared: Option<PlaceUnits>,
}

/// Whole units a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PlaceUnits {
    /// Read units a second.
    pub read: u64,
    /// Write units a second.
    pub write: u64,
}

impl From<ProvisionedUnits> for PlaceUnits {
    fn from(units: ProvisionedUnits) -> Self {
        PlaceUnits {
            read: units.read,
            write: units.write,
        }
    }
}

impl UnitsRate {
    fn add(&mut self, part: &Part, times: f64) {
        self.read += part.read * times;
        self.write += part.write * times;
    }

    /// Whole units that serve this at the utilisation that is aimed at; one at least.
    fn served(self) -> PlaceUnits {
        PlaceUnits {
            read: whole_units(self.read / TARGET_UTILISATION),
            write: whole_units(self.write / TARGET_UTILISATION),
        }
    }
}

impl PlaceLoad {
    /// Whether what is declared carries the average, and the peak.
    pub fn capacity_holds(&self) -> Option<(bool, bool)> {
        let declared = self.declared?;
        let carries = |load: UnitsRate| declared.read as f64 >= load.read && declared.write as f64 >= load.write;
        Some((carries(self.mean), carries(self.peak)))
    }
}

impl Capacity {
    /// What is to be provisioned in all.
    pub(crate) fn provisioned_total(&self) -> PlaceUnits {
        let all = self.places.iter().map(|place| place.provision);
        all.fold(PlaceUnits { read: 0, write: 0 }, PlaceUnits::plus)
    }

    /// Whether what the model provisions carries the average at every place.
    pub(crate) fn carries_average(&self) -> bool {
        self.places
            .iter()
            .all(|place| place.capacity_holds().is_none_or(|(mean, _)| mean))
    }

    /// What the model provisions in all; nothing where it is billed on demand.
    pub(crate) fn declared_total(&self) -> Option<PlaceUnits> {
        let all: Option<Vec<PlaceUnits>> = self.places.iter().map(|place| place.declared).collect();
        Some(
            all?.into_iter()
                .fold(PlaceUnits { read: 0, write: 0 }, PlaceUnits::plus),
        )
    }
}

impl PlaceUnits {
    fn plus(self, other: PlaceUnits) -> PlaceUnits {
        PlaceUnits {
            read: self.read.saturating_add(other.read),
            write: self.write.saturating_add(other.write),
        }
    }
}

/// What operations need of each place, with that many times their rates.
pub fn capacity_needed(model: &Model, operations: &[Operation], factor: f64) -> Capacity {
    let global = model.table.indexes.iter().enumerate().filter(|(_, index)| !index.local);
    let indexes = global.filter_map(|(at, index)| {
        let id = IndexId(u32::try_from(at).ok()?);
        Some(place_load(model, operations, Some(id), &index.name, factor))
    });
    let table = place_load(model, operations, None, "table", factor);
    Capacity {
        places: std::iter::once(table).chain(indexes).collect(),
        keys: key_loads(model, operations, factor),
    }
}

fn place_load(model: &Model, operations: &[Operation], place: Option<IndexId>, name: &str, factor: f64) -> PlaceLoad {
    let (mut mean, mut peak) = (UnitsRate::default(), UnitsRate::default());
    let mut by_operation = Vec::new();
    for operation in operations {
        let mut own = UnitsRate::default();
        for part in operation
            .parts
            .iter()
            .filter(|part| place_of(model, part.index) == place)
        {
            own.add(part, operation.rate_at(factor).unwrap_or(0.0));
            peak.add(part, operation.peak_at(factor));
        }
        if own.read > 0.0 || own.write > 0.0 {
            mean.read += own.read;
            mean.write += own.write;
            by_operation.push((operation.name.clone(), own));
        }
    }
    PlaceLoad {
        place: name.to_owned(),
        mean,
        peak,
        operations: by_operation,
        provision: peak.served(),
        scale_from: mean.served(),
        declared: declared(model, place),
    }
}

/// The place whose units an index takes: its own, or the table's where it is local.
pub(crate) fn place_of(model: &Model, index: Option<IndexId>) -> Option<IndexId> {
    index.filter(|id| model.index(*id).is_some_and(|index| !index.local))
}

/// An index without units of its own is made with the table's.
fn declared(model: &Model, place: Option<IndexId>) -> Option<PlaceUnits> {
    let Billing::Provisioned { read, write } = model.table.billing else {
        return None;
    };
    let own = place.and_then(|index| model.index(index)?.units);
    Some(own.map_or(PlaceUnits { read, write }, PlaceUnits::from))
}

/// Rounded up; one at least, as DynamoDB has it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "casting from floating point saturates, and no figure is below zero"
)]
fn whole_units(units: f64) -> u64 {
    (units.ceil() as u64).max(1)
}
