//! Formulas with numbers: the least, what estimates make usual, and the most that limits allow.

use singlet_item::ReadUnits;
use singlet_item::capacity::READ_UNIT_BYTES;
use singlet_item::limits::PAGE_SIZE_BYTES_MAX;
use singlet_model::Model;
use singlet_model::model::IndexId;
use singlet_model::types::EntityId;

use super::{Call, RequestCost, least_in_all, most_in_all};
use crate::bounds::Bounds;
use crate::read::entry_bytes_expected;
use crate::size::{self, SizeBound};

/// How large the rows of a model are.
#[derive(Debug)]
pub struct Sizes<'a> {
    model: &'a Model,
    bounds: Vec<SizeBound<'a>>,
}

/// What requests cost, as far as it is known before any is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worked {
    /// At least.
    pub least: ReadUnits,
    /// With rows as the estimates have them.
    pub usual: Option<ReadUnits>,
    /// At most where there are as many rows as estimated, of that size, whatever a filter drops of them.
    pub estimated: Option<ReadUnits>,
    /// With the largest rows that limits allow.
    pub most: Option<ReadUnits>,
}

impl<'a> Sizes<'a> {
    /// The sizes of a model's rows.
    pub fn of(model: &'a Model) -> Self {
        Sizes {
            model,
            bounds: size::size_bounds(model),
        }
    }

    /// How large an entity's rows can be, as far as limits say.
    pub fn entity_bound(&self, entity: EntityId) -> Option<&SizeBound<'a>> {
        self.bounds.get(entity.0 as usize)
    }

    /// The most bytes of an entity's row on the table, or of its entry in an index.
    pub fn most_bytes(&self, entity: EntityId, index: Option<IndexId>) -> Option<u64> {
        let bound = self.bounds.get(entity.0 as usize)?;
        match index {
            None => bound.complete.then_some(bound.bytes),
            Some(index) => size::entry_bytes_max(self.model, self.model.entity(entity)?, index, bound),
        }
    }

    /// The usual bytes, by the estimates, on the table or in an index: of the entity, or of the one that it mirrors.
    fn usual(&self, entity: EntityId, index: Option<IndexId>) -> Option<u64> {
        let entity = self.model.entity(entity)?;
        let of = |name: &str| self.model.estimate_of(name)?.bytes;
        let whole = of(&entity.name).or_else(|| of(&self.model.source_of(entity).name))?;
        Some(entry_bytes_expected(self.model, entity, index, whole as f64).ceil() as u64)
    }
}

impl RequestCost {
    /// The cost of an answer, before any reading on.
    pub fn worked_cost(&self, sizes: &Sizes<'_>) -> Worked {
        let largest = self.largest(|entity| sizes.most_bytes(entity, self.index));
        let usual = self.largest(|entity| sizes.usual(entity, self.index));
        let times = |units: ReadUnits| Some(units * self.times.most?);
        let most = largest.and_then(|bytes| times(self.page(bytes)?));
        let usual = usual.and_then(|bytes| times(self.page(bytes)?));
        Worked {
            least: self.request_units([0]) * self.times.least,
            usual: usual.map(|usual| most.map_or(usual, |most| usual.min(most))),
            estimated: self.estimated(sizes),
            most,
        }
    }

    /// At most where there are as many rows as estimated: those that a page asks for, or all that lie in the ranges where it reads on.
    fn estimated(&self, sizes: &Sizes<'_>) -> Option<ReadUnits> {
        let bytes = self.largest(|entity| sizes.usual(entity, self.index))?;
        let page = (|| Some(self.page(bytes)? * self.times.most?))();
        if !self.reads_on && page.is_some() {
            return page;
        }
        let there = self.rows_there?;
        if matches!(self.call, Call::Get | Call::BatchGet | Call::TransactGet) {
            let gets = self.times.most.map_or(there, |most| most.min(there));
            return Some(self.page(bytes)? * gets);
        }
        // Each range has a block that is not full, and so has each round of reading on. Where a round was full, that nothing follows is
        // told by another; each asks for twice as much as the one before.
        let full_rounds = there.checked_div(self.rows.unwrap_or(Bounds::USUAL.rows_per_call as u64));
        let read_on = full_rounds
            .and_then(u64::checked_ilog2)
            .map_or(0, |doubled| u64::from(doubled) + 1);
        let begun = self.times.most?.checked_mul(read_on + 1)?;
        let block = self.request_units([0]);
        let full = there.checked_mul(bytes)? / READ_UNIT_BYTES as u64;
        Some(block * begun.checked_add(full)?)
    }

    fn largest(&self, bytes: impl Fn(EntityId) -> Option<u64>) -> Option<u64> {
        let all: Option<Vec<u64>> = self.entities.iter().map(|entity| bytes(*entity)).collect();
        all?.into_iter().max()
    }

    /// One request that reads as many rows of a size as it asks for; a page has a limit of its own.
    fn page(&self, row_bytes: u64) -> Option<ReadUnits> {
        let rows = match self.call {
            Call::Get | Call::BatchGet | Call::TransactGet => 1,
            Call::Query | Call::Scan => self.rows?,
        };
        let bytes = usize::try_from(rows.saturating_mul(row_bytes)).ok()?;
        Some(self.request_units([bytes.min(PAGE_SIZE_BYTES_MAX)]))
    }
}

impl Worked {
    /// Nothing.
    pub const NOTHING: Worked = Worked {
        least: ReadUnits::ZERO,
        usual: Some(ReadUnits::ZERO),
        estimated: Some(ReadUnits::ZERO),
        most: Some(ReadUnits::ZERO),
    };

    /// All of several requests. What reads on until a page is full has no most.
    pub fn sum_requests(requests: &[RequestCost], sizes: &Sizes<'_>) -> Worked {
        let halves = |units: Option<ReadUnits>| units.map(|units| units.half_count());
        let most = |request: &RequestCost| halves(request.worked_cost(sizes).most.filter(|_| !request.reads_on));
        Worked {
            least: ReadUnits::from_halves(least_in_all(requests, |request| {
                request.worked_cost(sizes).least.half_count()
            })),
            usual: most_in_all(requests, |request| halves(request.worked_cost(sizes).usual))
                .map(ReadUnits::from_halves),
            estimated: most_in_all(requests, |request| halves(request.worked_cost(sizes).estimated))
                .map(ReadUnits::from_halves),
            most: most_in_all(requests, most).map(ReadUnits::from_halves),
        }
    }
}
