//! Mending copies that follow through the stream, and did not: what was written past the service, found by an index that was behind, or
//! parked and left out.

use std::collections::BTreeSet;
use std::sync::Arc;

use singlet_item::Value;
use singlet_model::model::{Entity, Kept};
use singlet_runtime::values::json_text;
use singlet_runtime::{Engine, TriggerOutcome};

use crate::decode::{ChangeDecoder, fitting_row};
use crate::followers::FollowError;
use crate::source::{ScanItems, scan_items_in};

/// How many items are scanned at once.
const SCAN_ITEMS: u32 = 500;

/// What was compared, and what came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Rows that hold copies.
    pub rows: usize,
    /// Copies that were not what their source is.
    pub stale: usize,
    /// Sources whose copies were made to follow.
    pub sources: usize,
    /// Sources whose copies could not be made to follow.
    pub left: usize,
}

/// The entities whose rows hold copies that follow through the stream.
pub fn entities_with_kept_copies(model: &singlet_model::Model) -> impl Iterator<Item = &Entity> {
    let is_kept = |entity: &&Entity| {
        let mut copies = entity.attributes.iter().filter_map(|attribute| attribute.copy.as_ref());
        copies.any(|copy| copy.kept == Kept::Stream)
    };
    model.entities.iter().filter(is_kept)
}

/// Compares every copy of some entities with its source, and has those follow that did not.
///
/// # Errors
///
/// Where the store fails.
pub async fn repair_copies(
    engine: &Arc<Engine>,
    entities: &[&Entity],
    clock: &(dyn Fn() -> i64 + Sync),
) -> Result<Repaired, FollowError> {
    let decoder = ChangeDecoder::new(Arc::clone(engine.model()));
    let mut repaired = Repaired::default();
    // One source is enough for all of its copies.
    let mut done: BTreeSet<String> = BTreeSet::new();
    let mut start = None;
    loop {
        let request = ScanItems {
            table: engine.model().table.name.clone(),
            start,
            limit: SCAN_ITEMS,
        };
        let page = scan_items_in(engine.store().as_ref(), &request).await?;
        for item in &page.items {
            let entity = decoder.entity_of(item);
            let Some(entity) = entity.filter(|entity| entities.iter().any(|known| known.id == entity.id)) else {
                continue;
            };
            let Ok(row) = fitting_row(entity, item) else { continue };
            repaired.rows += 1;
            for stale in engine.stale_copies(entity, &row, clock()).await? {
                repaired.stale += 1;
                let mark = format!("{} {}", stale.write, json_text::of(&Value::M(stale.source.clone())));
                if !done.insert(mark) {
                    continue;
                }
                let id = format!("repair-{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..));
                match engine.mend_copies(&stale, &id, clock()).await? {
                    TriggerOutcome::Done => repaired.sources += 1,
                    TriggerOutcome::DoneBefore
                    | TriggerOutcome::NotMeant
                    | TriggerOutcome::Refused(_)
                    | TriggerOutcome::RefusedForNow(_) => repaired.left += 1,
                }
            }
        }
        start = page.last_key;
        if start.is_none() {
            return Ok(repaired);
        }
    }
}
