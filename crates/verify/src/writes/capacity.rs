//! What operations consume, against what their plans say.

use singlet_item::capacity::{WriteMode, write_units};
use singlet_item::{Item, item_size_bytes};
use singlet_model::Model;
use singlet_model::model::{IdempotencyNeed, Step, Write};
use singlet_model::types::EntityId;
use singlet_plan::write::WriteCost;
use singlet_runtime::{Engine, WriteRequest};

use super::dump;

/// What operations on a table may consume.
#[derive(Debug)]
pub(super) struct WriteCapacity {
    /// Of each write of the model, in its order.
    ranges: Vec<CapacityRange>,
    /// The write units of the largest item that was ever there: plans count for small ones.
    largest_units: Option<u64>,
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
        }
    }

    /// Looks at what is there before the first operation.
    pub async fn look_first(&mut self, engine: &Engine) -> Result<(), String> {
        if self.largest_units.is_none() {
            let items = dump::table_items(engine.model(), engine.store()).await;
            self.see(&items.map_err(|error| format!("the table cannot be read: {error}"))?);
        }
        Ok(())
    }

    /// Takes note of what is there.
    pub fn see(&mut self, items: &[Item]) {
        let sizes = items
            .iter()
            .map(|item| write_units(None, Some(item_size_bytes(item)), WriteMode::Single).get());
        self.largest_units = sizes.chain(self.largest_units).chain([1]).max();
    }

    /// Whether an operation that was done consumed what its plan says, for items as large as they are. A row that stays as it is is
    /// only checked: then the least does not hold.
    pub fn compare(&self, at: usize, request: &WriteRequest, consumed: u64, leaves_a_row: bool) -> Result<(), String> {
        let range = self.ranges.get(at).copied().unwrap_or_default();
        let least = if leaves_a_row { 0 } else { range.least };
        let has_record = range.may_have_record && (range.is_keyed || request.idempotency_key.is_some());
        let most = range.most.filter(|_| !has_record);
        let most = most
            .zip(self.largest_units)
            .map(|(most, each)| most.saturating_mul(each));
        match consumed < least || most.is_some_and(|most| consumed > most) {
            true => Err(format!(
                "it consumes {consumed} write units, and its plan says {least} to {}",
                most.map_or("any".to_owned(), |most| most.to_string()),
            )),
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
            most: cost.over_expired.1,
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
