//! Mending copies that follow through the stream, and did not: what was written past the service, found by an index that was behind, or
//! parked and left out.

use std::collections::BTreeSet;
use std::sync::Arc;

use singlet_item::{Item, Value};
use singlet_model::model::{Entity, Kept};
use singlet_runtime::{Engine, TriggerOutcome};
use singlet_values::json_text;

use crate::decode::{ChangeDecoder, fitting_row};
use crate::followers::{FollowError, Followers, number_of, number_value, turn_of};
use crate::source::{ScanItems, scan_items_in};
use crate::triggers::followers_of;

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
            // What does not fit is told elsewhere, and a copy of it is worth nothing.
            let Ok(row) = fitting_row(entity, item) else { continue };
            repaired.rows += 1;
            for stale in engine.stale_copies(entity, &row, clock()).await? {
                repaired.stale += 1;
                let mark = format!(
                    "{} {}",
                    stale.write,
                    json_text::json_of(&Value::M(stale.source.clone()))
                );
                // By the source and the write: many rows hold copies of one source.
                if !done.insert(mark) {
                    continue;
                }
                let id = new_id();
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

fn new_id() -> String {
    format!("repair-{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..))
}

const ASKED_KIND: &str = "repair";
const ASKED: &str = "$asked";
const ANSWERED: &str = "$answered";

/// The most that is remembered of what was asked for, and of what came of it.
const ASKED_MAX: usize = 16;

/// How often it is asked for, where others write the same row.
const ASK_TRIES_MAX: usize = 16;

/// What operators asked for where another process has the store open, and what came of it.
#[derive(Default)]
struct RepairRow {
    turn: Option<u64>,
    /// By id, the entity; all, where it is empty.
    asked: Vec<(String, String)>,
    answered: Vec<(String, Repaired)>,
}

impl RepairRow {
    async fn read(followers: &Followers) -> Result<Self, FollowError> {
        let Some(item) = followers.get(&followers.row(ASKED_KIND, &[])?).await? else {
            return Ok(RepairRow::default());
        };
        let entries = |name: &str| match item.get(name) {
            Some(Value::L(entries)) => entries.iter().filter_map(Value::as_map).collect(),
            _ => Vec::new(),
        };
        let text = |map: &Item, name: &str| map.get(name).and_then(Value::as_str).map(str::to_owned);
        let count = |map: &Item, name: &str| usize::try_from(number_of(map.get(name))?).ok();
        let asked = |map: &Item| Some((text(map, "id")?, text(map, "entity")?));
        let answered = |map: &Item| {
            let repaired = Repaired {
                rows: count(map, "rows")?,
                stale: count(map, "stale")?,
                sources: count(map, "sources")?,
                left: count(map, "left")?,
            };
            Some((text(map, "id")?, repaired))
        };
        Ok(RepairRow {
            turn: Some(turn_of(&item)?),
            asked: entries(ASKED).into_iter().filter_map(asked).collect(),
            answered: entries(ANSWERED).into_iter().filter_map(answered).collect(),
        })
    }

    /// Whether it was written: nobody else was faster.
    async fn write(&self, followers: &Followers) -> Result<bool, FollowError> {
        let text = |text: &str| Value::S(text.to_owned());
        let count = |count: usize| number_value(i64::try_from(count).unwrap_or(i64::MAX));
        let asked = self.asked.iter().map(|(id, entity)| {
            let map = [("id".to_owned(), text(id)), ("entity".to_owned(), text(entity))];
            Value::M(map.into())
        });
        let answered = self.answered.iter().map(|(id, repaired)| {
            let map = [
                ("id".to_owned(), text(id)),
                ("rows".to_owned(), count(repaired.rows)),
                ("stale".to_owned(), count(repaired.stale)),
                ("sources".to_owned(), count(repaired.sources)),
                ("left".to_owned(), count(repaired.left)),
            ];
            Value::M(map.into())
        });
        let mut item = followers.row(ASKED_KIND, &[])?;
        item.insert(ASKED.to_owned(), Value::L(asked.collect()));
        item.insert(ANSWERED.to_owned(), Value::L(answered.collect()));
        Ok(followers.put_item(item, self.turn).await?.is_some())
    }
}

/// Asks whoever follows to mend copies, of one entity or of all; the id by which it is answered.
///
/// # Errors
///
/// Where no row of the entity holds such a copy, too much is asked for already, or the store fails.
pub async fn ask_for_repair(followers: &Followers, entity: Option<&str>) -> Result<String, FollowError> {
    let mut known = entities_with_kept_copies(followers.model());
    if let Some(entity) = entity.filter(|name| !known.any(|known| known.name == **name)) {
        let message = format!("no row of `{entity}` holds a copy with `kept: stream`");
        return Err(FollowError::Refused(message));
    }
    let id = new_id();
    for _ in 0..ASK_TRIES_MAX {
        let mut row = RepairRow::read(followers).await?;
        if row.asked.len() >= ASKED_MAX {
            let message = "too much is asked for already: nobody follows".to_owned();
            return Err(FollowError::Refused(message));
        }
        row.asked.push((id.clone(), entity.unwrap_or_default().to_owned()));
        // On condition of what was read: another who asks at the same time must not be written over.
        if row.write(followers).await? {
            return Ok(id);
        }
    }
    Err(FollowError::Overtaken)
}

/// What came of what was asked for; nothing, where it is not done yet.
///
/// # Errors
///
/// Where the store fails.
pub async fn repair_answer(followers: &Followers, id: &str) -> Result<Option<Repaired>, FollowError> {
    let row = RepairRow::read(followers).await?;
    let answer = row.answered.into_iter().find(|(known, _)| known == id);
    Ok(answer.map(|(_, repaired)| repaired))
}

/// Does the first thing that was asked for; whether there was any.
///
/// # Errors
///
/// Where the store fails; then it is asked for still.
pub async fn repair_as_asked(engine: &Arc<Engine>, clock: &(dyn Fn() -> i64 + Sync)) -> Result<bool, FollowError> {
    let followers = followers_of(engine);
    let Some((id, of)) = RepairRow::read(&followers).await?.asked.into_iter().next() else {
        return Ok(false);
    };
    let all = entities_with_kept_copies(engine.model());
    let entities: Vec<&Entity> = all.filter(|entity| of.is_empty() || entity.name == of).collect();
    // Before it is noted as answered: killed here, it is asked for still, and mending twice does no harm.
    let repaired = repair_copies(engine, &entities, clock).await?;
    for _ in 0..ASK_TRIES_MAX {
        let mut row = RepairRow::read(&followers).await?;
        // By its id, for others may have asked meanwhile.
        row.asked.retain(|(known, _)| *known != id);
        let over = row.answered.len().saturating_sub(ASKED_MAX - 1);
        row.answered.drain(..over);
        row.answered.push((id.clone(), repaired));
        if row.write(&followers).await? {
            return Ok(true);
        }
    }
    Err(FollowError::Overtaken)
}
