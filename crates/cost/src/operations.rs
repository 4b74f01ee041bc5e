//! What one run of each read and write consumes, and how often each runs.

use singlet_model::Model;
use singlet_model::model::{Estimate, IndexId};
use singlet_model::types::EntityId;

use crate::following::following_operations;
use crate::{reads, writes};

/// The seconds of a month of 30 days.
pub const MONTH_SECONDS: f64 = 30.0 * 24.0 * 3600.0;
/// How many times the average the busiest time has, where nobody says: a sixth of a day's requests in one hour.
pub(crate) const PEAK_USUAL: f64 = 4.0;

/// A read or a write, what one run of it consumes, and how often it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// Its name.
    pub name: String,
    /// Which of the two it is.
    pub kind: OperationKind,
    /// Runs a second, on average; none where nobody says.
    pub rate: Option<f64>,
    /// Runs a second at the busiest time.
    pub peak: f64,
    /// What that becomes with several times the estimates.
    pub growth: Growth,
    /// The share of its runs that are about the busiest key, where that is said.
    pub top_share: Option<f64>,
    /// What one run consumes, by place and entity.
    pub parts: Vec<Part>,
}

/// What an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// A read.
    Read,
    /// A write.
    Write,
    /// What whoever follows changes and clocks does beside running writes.
    Following,
}

/// How often something happens with several times the estimates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Growth {
    /// As many times as often.
    Alike,
    /// As often as before: it is done by the clock.
    None,
    /// So many slots a second are each counted once, however often something happens in them.
    Slots(f64),
}

impl Growth {
    /// What a rate comes to with that many times the estimates. What happens at any instant finds a slot empty with the chance
    /// *e*^(−rate / slots).
    fn grown(self, rate: f64, factor: f64) -> f64 {
        match self {
            Growth::Alike => rate * factor,
            Growth::None => rate,
            Growth::Slots(slots) if slots > 0.0 => slots * -(-rate * factor / slots).exp_m1(),
            Growth::Slots(_) => 0.0,
        }
    }
}

/// What one run consumes on the table or an index, of the rows of one entity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// The index; the table, if there is none.
    pub index: Option<IndexId>,
    /// Whose rows; of several, or of what the model keeps for itself, nobody's.
    pub entity: Option<EntityId>,
    /// Read units.
    pub read: f64,
    /// Write units.
    pub write: f64,
}

impl Operation {
    /// Read units of one run, on all places.
    pub fn read_units(&self) -> f64 {
        self.parts.iter().map(|part| part.read).sum()
    }

    /// Write units of one run, on all places.
    pub fn write_units(&self) -> f64 {
        self.parts.iter().map(|part| part.write).sum()
    }

    /// Runs a second with that many times the estimates; none where nobody says.
    pub(crate) fn rate_at(&self, factor: f64) -> Option<f64> {
        self.rate.map(|rate| self.growth.grown(rate, factor))
    }

    /// Runs a second at the busiest time, the same.
    pub(crate) fn peak_at(&self, factor: f64) -> f64 {
        self.growth.grown(self.peak, factor)
    }
}

/// All reads and writes of a model, in their order, reads first, and then what follows them by itself.
pub fn expected_operations(model: &Model) -> Vec<Operation> {
    let reads = model.reads.iter().map(|read| Operation {
        parts: reads::read_parts(model, read),
        ..rated(&read.name, OperationKind::Read, model.estimate_of(&read.name), None)
    });
    let costs = singlet_plan::write::WriteCosts::new(model);
    let writes = model.writes.iter().map(|write| {
        let by_clock = write
            .every
            .as_ref()
            .map(|every| every.tenths_a_month() as f64 / 10.0 / MONTH_SECONDS);
        Operation {
            parts: writes::write_parts(model, &costs, write),
            ..rated(
                &write.name,
                OperationKind::Write,
                model.estimate_of(&write.name),
                by_clock,
            )
        }
    });
    let mut all: Vec<Operation> = reads.chain(writes).collect();
    all.extend(following_operations(model, &all));
    all
}

fn rated(name: &str, kind: OperationKind, estimate: Option<&Estimate>, by_clock: Option<f64>) -> Operation {
    let said = estimate
        .and_then(|estimate| estimate.rate)
        .map(|rate| rate.per_second());
    let peak = estimate
        .and_then(|estimate| estimate.peak)
        .map(|peak| peak.per_second());
    let rate = said.or(by_clock);
    Operation {
        name: name.to_owned(),
        kind,
        rate,
        peak: peak.unwrap_or_else(|| rate.unwrap_or(0.0) * PEAK_USUAL),
        growth: Growth::Alike,
        top_share: estimate.and_then(|estimate| estimate.top_share),
        parts: Vec::new(),
    }
}

/// Adds what is consumed to the part of the same place and entity.
pub(crate) fn add_part(parts: &mut Vec<Part>, part: Part) {
    let same = |known: &&mut Part| known.index == part.index && known.entity == part.entity;
    match parts.iter_mut().find(same) {
        Some(known) => {
            known.read += part.read;
            known.write += part.write;
        }
        None if part.read > 0.0 || part.write > 0.0 => parts.push(part),
        None => {}
    }
}
