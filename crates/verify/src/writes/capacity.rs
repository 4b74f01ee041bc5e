//! What operations consume, against what their plans say.

use std::collections::BTreeMap;

use singlet_item::capacity::{WriteMode, write_units};
use singlet_item::{Item, item_size_bytes};
use singlet_model::Model;
use singlet_model::model::{IdempotencyNeed, Step, Write};
use singlet_model::types::EntityId;
use singlet_plan::write::WriteCost;
use singlet_runtime::{Engine, WriteRequest};
use singlet_store::Units;

use super::dump;
use crate::VerifyError;
use crate::least::writes::least_write;

/// What operations on a table may consume.
#[derive(Debug)]
pub(super) struct WriteCapacity {
    /// Of each write of the model, in its order.
    ranges: Vec<CapacityRange>,
    /// The write units of the largest item that was ever there: plans count for small ones.
    largest_units: Option<u64>,
    /// The items before the next operation.
    items: Vec<Item>,
    /// What operations took, by write.
    spent: BTreeMap<String, WriteSpent>,
    /// How wide the ranges of requests were.
    widths: RangeWidths,
}

/// How wide the ranges are that are told of requests before they run.
#[derive(Clone, Debug, Default)]
pub struct RangeWidths {
    /// The most is no more than four times the least.
    pub narrow: usize,
    /// It is more.
    pub wide: usize,
    /// There is no most.
    pub open: usize,
    /// The ones that are not narrow, by write.
    pub of: BTreeMap<String, usize>,
}

/// The most times the least that a narrow range is.
const NARROW_TIMES_MAX: u64 = 4;

impl RangeWidths {
    /// Counts the range of one request.
    pub fn count_range(&mut self, name: &str, least: u64, most: Option<u64>) {
        match most {
            Some(most) if most <= least.max(1) * NARROW_TIMES_MAX => {
                self.narrow += 1;
                return;
            }
            Some(_) => self.wide += 1,
            None => self.open += 1,
        }
        *self.of.entry(name.to_owned()).or_default() += 1;
    }

    /// Both together.
    pub fn add_widths(&mut self, other: &RangeWidths) {
        self.narrow += other.narrow;
        self.wide += other.wide;
        self.open += other.open;
        for (name, count) in &other.of {
            *self.of.entry(name.clone()).or_default() += count;
        }
    }

    /// The part of all that are narrow, those without a most among them.
    pub fn narrow_share(&self) -> f64 {
        self.narrow as f64 / (self.narrow + self.wide + self.open).max(1) as f64
    }
}

/// What the runs of one write took, and how much more than the least that was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WriteSpent {
    /// Halves of read units, from and to.
    pub read_halves: Option<(u64, u64)>,
    /// Write units, from and to.
    pub write_units: Option<(u64, u64)>,
    /// The most write units beyond the least; of a bulk operation for each item that differs, rounded up.
    pub beyond: u64,
    /// Runs that took less than the least: the enumeration would be wrong.
    pub below: u64,
}

impl WriteSpent {
    /// Both together.
    pub fn add_spent(&mut self, other: &WriteSpent) {
        let wider = |one: Option<(u64, u64)>, other: Option<(u64, u64)>| match (one, other) {
            (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
            (one, other) => one.or(other),
        };
        self.read_halves = wider(self.read_halves, other.read_halves);
        self.write_units = wider(self.write_units, other.write_units);
        self.beyond = self.beyond.max(other.beyond);
        self.below += other.below;
    }
}

/// What one write may consume, for small items.
#[derive(Clone, Copy, Debug, Default)]
struct CapacityRange {
    /// Nothing where it depends on rows how much is done at least.
    least: u64,
    most: Option<u64>,
    /// Whether a key that need not be sent has a record made, which plans do not count.
    may_have_record: bool,
    /// Whether the model says what that key is.
    is_keyed: bool,
}

impl WriteCapacity {
    pub fn new(model: &Model, costs: &[WriteCost]) -> Self {
        let writes = model.writes.iter().zip(costs);
        WriteCapacity {
            ranges: writes
                .map(|(write, cost)| CapacityRange::of(model, write, cost))
                .collect(),
            largest_units: None,
            items: Vec::new(),
            spent: BTreeMap::new(),
            widths: RangeWidths::default(),
        }
    }

    /// What operations took.
    pub fn spent_by_write(&self) -> &BTreeMap<String, WriteSpent> {
        &self.spent
    }

    /// How wide the ranges of requests were.
    pub fn range_widths(&self) -> &RangeWidths {
        &self.widths
    }

    /// Whether a request that was done consumed what was told of it before, for items as large as they are.
    pub fn compare_request(
        &mut self,
        engine: &Engine,
        write: &Write,
        request: &WriteRequest,
        consumed: u64,
        leaves_a_row: bool,
    ) -> Result<(), VerifyError> {
        let cost = engine.write_cost(&write.name, request);
        let cost = cost.map_err(|error| VerifyError::failed("nothing is told of what it costs", error))?;
        if !write.steps.iter().any(|step| step.using.is_some()) {
            self.widths.count_range(&write.name, cost.least, cost.most);
        }
        self.compare(
            &CapacityRange::of(engine.model(), write, &cost),
            request,
            consumed,
            leaves_a_row,
        )
        .map_err(|error| error.reworded(|what| format!("of this request, {what}")))
    }

    /// Whether an operation that was done consumed what its plan says, for items as large as they are.
    pub fn compare_write(
        &self,
        at: usize,
        request: &WriteRequest,
        consumed: u64,
        leaves_a_row: bool,
    ) -> Result<(), VerifyError> {
        let range = self.ranges.get(at).copied().unwrap_or_default();
        self.compare(&range, request, consumed, leaves_a_row)
    }

    /// Takes note of what an operation took that brought the table to these items. One that leaves a row as it is checks it alone, and one
    /// with a key that need not be sent has a record: neither says anything of others.
    pub fn note_spent(&mut self, model: &Model, write: &Write, items: &[Item], consumed: Units) {
        let least = least_write(model, &self.items, items, write.bulk);
        let over = consumed.write.get().saturating_sub(least.units);
        let one = WriteSpent {
            read_halves: Some((consumed.read.half_count(), consumed.read.half_count())),
            write_units: Some((consumed.write.get(), consumed.write.get())),
            beyond: match write.bulk {
                true => over.div_ceil(least.items.max(1)),
                false => over,
            },
            below: u64::from(consumed.write.get() < least.units),
        };
        self.spent.entry(write.name.clone()).or_default().add_spent(&one);
    }

    /// Looks at what is there before the first operation.
    pub(crate) async fn look_first(&mut self, engine: &Engine) -> Result<(), VerifyError> {
        if self.largest_units.is_none() {
            let items = dump::table_items(engine.model(), engine.store()).await;
            self.see_items(&items.map_err(|error| VerifyError::failed("the table cannot be read", error))?);
        }
        Ok(())
    }

    /// Takes note of what is there.
    pub fn see_items(&mut self, items: &[Item]) {
        let sizes = items
            .iter()
            .map(|item| write_units(None, Some(item_size_bytes(item)), WriteMode::Single).get());
        self.largest_units = sizes.chain(self.largest_units).chain([1]).max();
        self.items = items.to_vec();
    }

    /// Whether what was consumed lies in a range. A row that stays as it is is only checked: then the least does not hold.
    fn compare(
        &self,
        range: &CapacityRange,
        request: &WriteRequest,
        consumed: u64,
        leaves_a_row: bool,
    ) -> Result<(), VerifyError> {
        let least = if leaves_a_row { 0 } else { range.least };
        let has_record = range.may_have_record && (range.is_keyed || request.idempotency_key.is_some());
        let most = range.most.filter(|_| !has_record);
        let most = most
            .zip(self.largest_units)
            .map(|(most, each)| most.saturating_mul(each));
        match consumed < least || most.is_some_and(|most| consumed > most) {
            true => Err(VerifyError::Differs(format!(
                "it consumes {consumed} write units, and its plan says {least} to {}",
                most.map_or("any".to_owned(), |most| most.to_string()),
            ))),
            false => Ok(()),
        }
    }
}

impl CapacityRange {
    fn of(model: &Model, write: &Write, cost: &WriteCost) -> Self {
        let named = model.steps.iter().flat_map(|named| &named.steps);
        let steps: Vec<&Step> = write.all_steps().into_iter().chain(named).collect();
        let any = |is: &dyn Fn(&Step) -> bool| steps.iter().any(|step| is(step));
        // A document's calls are counted as it has them, and not as they are made.
        if any(&|step| step.using.is_some()) {
            return CapacityRange::default();
        }
        let is_open = write.bulk || any(&|step| step.repeat.is_some() || step.or_skip) || may_change_one_row(&steps);
        CapacityRange {
            // Whether a row that has expired stands where one is put is not looked at.
            least: if is_open { 0 } else { cost.over_expired.0 },
            // Whether a state has lapsed that is stored first is not looked at either.
            most: cost
                .over_expired
                .1
                .zip(cost.lapsed)
                .map(|(most, lapsed)| most.saturating_add(lapsed)),
            may_have_record: write.idempotency.need == IdempotencyNeed::Optional,
            is_keyed: write.idempotency.key.is_some(),
        }
    }
}

/// Whether two steps are about rows of one entity, which may be one row.
fn may_change_one_row(steps: &[&Step]) -> bool {
    let mut entities: Vec<EntityId> = steps.iter().filter_map(|step| step.entity()).collect();
    let all = entities.len();
    entities.sort_unstable();
    entities.dedup();
    entities.len() < all
}
