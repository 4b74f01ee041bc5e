//! What operations consume, against what their plans say.

use std::sync::Arc;

use singlet_item::capacity::{WriteMode, write_units};
use singlet_item::{Item, item_size_bytes};
use singlet_model::Model;
use singlet_model::model::{IdempotencyNeed, StepKind, Write};
use singlet_plan::write::WriteCost;
use singlet_runtime::{Engine, WriteRequest};

use super::dump;

/// More turns than this a loop that is tried does not have.
const TURNS_MAX: u64 = 100;

/// What operations on a table may consume.
#[derive(Debug)]
pub(super) struct WriteCapacity {
    /// Of each write of the model, in its order.
    costs: Arc<[WriteCost]>,
    /// How many index entries each write may remove with rows that have expired.
    replaced: Vec<u64>,
    /// The write units of the largest item that was ever there: plans count for small ones.
    largest_units: Option<u64>,
}

impl WriteCapacity {
    pub fn new(model: &Model, costs: Arc<[WriteCost]>) -> Self {
        WriteCapacity {
            costs,
            replaced: model
                .writes
                .iter()
                .map(|write| entries_replaced(model, write))
                .collect(),
            largest_units: None,
        }
    }

    /// Looks at what is there before the first operation.
    pub async fn look_first(&mut self, engine: &Engine) -> Result<(), String> {
        if self.largest_units.is_none() {
            let items = dump::items(engine.model(), engine.store()).await;
            self.see(&items.map_err(|error| format!("the table cannot be read: {error}"))?);
        }
        Ok(())
    }

    /// What more a write consumes at most where its rows take the places of rows that have expired and are still there.
    fn replaced(&self, at: usize) -> u64 {
        self.replaced.get(at).copied().unwrap_or_default()
    }

    /// Takes note of what is there.
    pub fn see(&mut self, items: &[Item]) {
        let sizes = items
            .iter()
            .map(|item| write_units(None, Some(item_size_bytes(item)), WriteMode::Single).get());
        self.largest_units = sizes.chain(self.largest_units).chain([1]).max();
    }

    /// Whether an operation that was done consumed what its plan says, for items as large as they are.
    ///
    /// What a bulk operation does at least depends on how many rows there are, and a row that stays as it is is only checked: then
    /// the least does not hold.
    pub fn compare(
        &self,
        (at, write): (usize, &Write),
        request: &WriteRequest,
        consumed: u64,
        least_holds: bool,
    ) -> Result<(), String> {
        let Some(cost) = self.costs.get(at) else {
            return Ok(());
        };
        let least = if least_holds { cost.least } else { 0 };
        // A key that need not be sent has a record made, which plans do not count.
        let is_keyed = write.idempotency.need == IdempotencyNeed::Optional
            && (request.idempotency_key.is_some() || write.idempotency.key.is_some());
        let most = cost.most.filter(|_| !is_keyed).map(|most| most + self.replaced(at));
        let most = most
            .zip(self.largest_units)
            .map(|(most, each)| most.saturating_mul(each));
        match consumed < least || most.is_some_and(|most| consumed > most) {
            true => Err(format!(
                "it consumes {consumed} write units, and its plan says {least} to {}: {}",
                most.map_or("any".to_owned(), |most| most.to_string()),
                cost.terms.join(", ")
            )),
            false => Ok(()),
        }
    }
}

/// The index entries of rows that a write makes and that expire: where such a row stood before, its entries go.
fn entries_replaced(model: &Model, write: &Write) -> u64 {
    let made = write
        .all_steps()
        .into_iter()
        .chain(model.steps.iter().flat_map(|named| &named.steps));
    let made = made.filter(|step| matches!(step.kind, StepKind::Create(_) | StepKind::Upsert(_)));
    let entities = made.filter_map(|step| step.entity().and_then(|id| model.entity(id)));
    let expiring = entities.filter(|entity| entity.expires.is_some());
    let entries = expiring.map(|entity| {
        let mirrors = model.mirrors_of(entity.id).map(|mirror| mirror.index.len());
        entity.index.len() + mirrors.sum::<usize>()
    });
    let entries = entries.sum::<usize>() as u64;
    match write.all_steps().iter().any(|step| step.repeat.is_some()) {
        true => entries * TURNS_MAX,
        false => entries,
    }
}
