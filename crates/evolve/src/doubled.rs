//! Writes that would be too large for one transaction while rows are kept in two places.

use singlet_item::limits::{TRANSACTION_BYTES_MAX, TRANSACTION_ITEMS_MAX};
use singlet_model::Model;
use singlet_model::model::{StepKind, Write};
use singlet_plan::size::size_bounds;
use singlet_plan::write::transaction_bound;

use crate::{DataClass, RowChange, Way};

/// While both models run, what is rekeyed is written twice: where a write would then be more than a transaction holds, writes stop.
pub(crate) fn forbid_large_twins(changes: &mut [RowChange], old: Option<&Model>, new: &Model) {
    let models = old.into_iter().chain([new]);
    let large: Vec<(&Model, &Write)> = models.flat_map(too_large_twice).collect();
    for change in changes {
        let has_twins = change.way == Way::Bridge && (change.data == DataClass::Rekey || change.part == "the mirror");
        let Some(entity) = change.entity.as_ref().filter(|_| has_twins) else {
            continue;
        };
        let found = large.iter().find(|(model, write)| writes_rows_of(model, write, entity));
        if let Some((_, write)) = found {
            change.way = Way::Still;
            let more = format!(
                "; `{}` can write so much that a transaction does not hold it twice",
                write.name
            );
            change.so.push_str(&more);
        }
    }
}

fn too_large_twice(model: &Model) -> Vec<(&Model, &Write)> {
    let sizes = size_bounds(model);
    let is_large = |write: &&Write| {
        let bound = transaction_bound(model, write, &sizes);
        bound.items.saturating_mul(2) > TRANSACTION_ITEMS_MAX as u64
            || bound.bytes.saturating_mul(2) > TRANSACTION_BYTES_MAX as u64
    };
    let large = model.writes.iter().filter(is_large);
    large.map(|write| (model, write)).collect()
}

/// Whether a write may change rows of an entity, or of the one that it mirrors.
fn writes_rows_of(model: &Model, write: &Write, entity: &str) -> bool {
    let renamed = || {
        let mut entities = model.entities.iter();
        entities.find(|known| known.was.as_ref().is_some_and(|was| was.text == entity))
    };
    let Some(entity) = model.entity_named(entity).or_else(renamed) else {
        return false;
    };
    let source = model.source_of(entity);
    write.all_steps().iter().any(|step| match &step.kind {
        StepKind::Call { .. } => true,
        StepKind::Present(_) | StepKind::Absent(_) => false,
        _ => step.entity().is_some_and(|id| id == entity.id || id == source.id),
    })
}
