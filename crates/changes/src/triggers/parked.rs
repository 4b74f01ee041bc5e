//! Changes after which a write cannot be done: each is kept whole in rows of the table, and one row more has the list.
//!
//! What is kept of a change may be more than an item holds, so that it is cut into pieces. The first piece goes with the run that
//! is done after all, in one transaction: a change is parked, or its write ran.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use singlet_item::{Item, Value};
use singlet_model::model::Tick;
use singlet_runtime::{Attributes, ChangedRow};
use singlet_store::{DeleteRequest, Store, StreamEvent, StreamRecord};
use singlet_values::json_text;

use super::fire::REACHED;
use super::retries::Tries;
use super::run::Caused;
use crate::decode::Misfit;
use crate::followers::{FollowError, Followers, number_of, number_value, turn_of, unreadable_progress};

const LIST_KIND: &str = "parked";
const PIECE_KIND: &str = "parked-change";

/// What ticks have in place of the mark of a row, which is a hash.
const TICK_MARK: &str = "tick";

const ENTRIES: &str = "$entries";
const BODY: &str = "$body";

/// The most changes that are parked in a table at once. Then nothing runs after changes until some of them are dealt with: a
/// change is never left out.
pub const PARKED_MAX: usize = 500;

/// Why a change waits that could be done.
pub(super) const BEHIND: &str = "an earlier change of its row is parked";

/// The longest reason that is kept, in characters.
const REASON_CHARS_MAX: usize = 200;

/// How many bytes of a change one row holds; an item has 400 KB.
const PIECE_BYTES_MAX: usize = 256 * 1024;

/// How often the list is tried to be written, which operators write too.
const TRIES_MAX: usize = 16;

/// A parked change, as the list has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParkedChange {
    /// The write that could not be done.
    pub write: String,
    /// The id of the change.
    pub change: String,
    /// The entity.
    pub entity: String,
    /// Why.
    pub reason: String,
    /// When the change happened, in seconds since 1970.
    pub at_seconds: i64,
    /// What an operator asked for.
    pub order: Option<ParkedOrder>,
    /// When it is tried by itself.
    pub(super) tries: Tries,
    /// Which row, as far as one is told from another.
    row: String,
    pieces: usize,
}

/// What an operator asks for of a parked change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParkedOrder {
    /// To be tried again.
    Retry,
    /// To be left out for good.
    Discard,
}

impl ParkedOrder {
    fn word(self) -> &'static str {
        match self {
            ParkedOrder::Retry => "retry",
            ParkedOrder::Discard => "discard",
        }
    }
}

/// All that is kept of a change.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Parking {
    pub write: String,
    pub id: String,
    entity: String,
    row_mark: String,
    at_seconds: i64,
    row: Attributes,
    before: Option<Attributes>,
    /// Of a row that did not fit, the record.
    misfit: Option<KeptRecord>,
    /// Of a tick of the clock, its planned instant.
    #[serde(default)]
    tick_at: Option<i64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct KeptRecord {
    sequence: String,
    event: String,
    key: Item,
    old: Option<Item>,
    new: Option<Item>,
    expired: bool,
}

impl Parking {
    pub(super) fn of_change(write: &str, caused: &Caused<'_>) -> Self {
        Parking {
            write: write.to_owned(),
            id: caused.changed.id.clone(),
            entity: caused.entity.to_owned(),
            row_mark: caused.row.to_owned(),
            at_seconds: caused.at_seconds,
            row: caused.changed.row.clone(),
            before: caused.changed.before.clone(),
            misfit: None,
            tick_at: None,
        }
    }

    /// Whether it is a run at an instant of its row, and no change.
    pub fn is_reached(&self) -> bool {
        self.id.starts_with(REACHED)
    }

    /// The entity.
    pub fn entity(&self) -> &str {
        &self.entity
    }

    pub fn of_tick(write: &str, tick: &Tick) -> Self {
        Parking {
            write: write.to_owned(),
            id: tick.id.clone(),
            entity: String::new(),
            row_mark: TICK_MARK.to_owned(),
            at_seconds: tick.at.div_euclid(1_000),
            row: Attributes::new(),
            before: None,
            misfit: None,
            tick_at: Some(tick.at),
        }
    }

    /// The tick, where it is one.
    pub fn parked_tick(&self) -> Option<Tick> {
        Some(Tick {
            at: self.tick_at?,
            id: self.id.clone(),
        })
    }

    pub fn of_misfit(write: &str, row: &str, misfit: &Misfit) -> Self {
        let record = &misfit.record;
        Parking {
            write: write.to_owned(),
            id: misfit.id.as_str().to_owned(),
            entity: misfit.entity.clone(),
            row_mark: row.to_owned(),
            at_seconds: record.at_seconds,
            row: Attributes::new(),
            before: None,
            misfit: Some(KeptRecord {
                sequence: record.sequence.clone(),
                event: event_word(record.event).to_owned(),
                key: record.key.clone(),
                old: record.old.clone(),
                new: record.new.clone(),
                expired: record.expired,
            }),
            tick_at: None,
        }
    }

    /// The change as writes know it.
    pub fn changed_row(&self) -> Option<ChangedRow> {
        self.misfit.is_none().then(|| ChangedRow {
            id: self.id.clone(),
            row: self.row.clone(),
            before: self.before.clone(),
        })
    }

    /// The record of a row that did not fit.
    pub fn misfit_record(&self) -> Option<StreamRecord> {
        let kept = self.misfit.as_ref()?;
        Some(StreamRecord {
            sequence: kept.sequence.clone(),
            event: match kept.event.as_str() {
                "insert" => StreamEvent::Insert,
                "remove" => StreamEvent::Remove,
                _ => StreamEvent::Modify,
            },
            key: kept.key.clone(),
            old: kept.old.clone(),
            new: kept.new.clone(),
            at_seconds: self.at_seconds,
            expired: kept.expired,
        })
    }
}

fn event_word(event: StreamEvent) -> &'static str {
    match event {
        StreamEvent::Insert => "insert",
        StreamEvent::Modify => "modify",
        StreamEvent::Remove => "remove",
    }
}

/// The parked changes of a model's table.
pub struct ParkedChanges {
    followers: Followers,
    /// By write and row, as last seen or parked.
    rows: Mutex<BTreeSet<(String, String)>>,
    seen: Mutex<Vec<ParkedChange>>,
    /// One at a time: the runs of a page share the list.
    writing: tokio::sync::Mutex<()>,
}

impl ParkedChanges {
    /// Of a model's table.
    pub fn new(followers: Followers) -> Self {
        ParkedChanges {
            followers,
            rows: Mutex::default(),
            seen: Mutex::default(),
            writing: tokio::sync::Mutex::default(),
        }
    }

    /// The parked changes, in the order in which they were parked.
    ///
    /// # Errors
    ///
    /// Where the store fails, or the row cannot be read.
    pub async fn list_parked(&self) -> Result<Vec<ParkedChange>, FollowError> {
        Ok(self.list_and_turn().await?.0)
    }

    /// Asks for something of parked changes: of all, or of those of one write or one change; how many it is.
    ///
    /// # Errors
    ///
    /// Where the store fails, or others write the list all the time.
    pub async fn order_parked(&self, order: ParkedOrder, of: Option<&str>) -> Result<usize, FollowError> {
        let mut count = 0;
        self.change_list(|entries| {
            let meant = |entry: &&mut ParkedChange| of.is_none_or(|of| entry.write == of || entry.change == of);
            count = entries
                .iter_mut()
                .filter(meant)
                .map(|entry| entry.order = Some(order))
                .count();
            Ok(())
        })
        .await?;
        Ok(count)
    }

    pub(crate) fn seen_parked(&self) -> Vec<ParkedChange> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks at the list anew.
    pub(crate) async fn look_anew(&self) -> Result<(), FollowError> {
        let (entries, _) = self.list_and_turn().await?;
        self.remember(&entries);
        Ok(())
    }

    fn remember(&self, entries: &[ParkedChange]) {
        let rows = entries.iter().map(|entry| (entry.write.clone(), entry.row.clone()));
        *self.rows.lock().unwrap_or_else(PoisonError::into_inner) = rows.collect();
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = entries.to_vec();
    }

    /// Those of which something was asked for, as last seen.
    pub(crate) fn ordered_parked(&self) -> Vec<(ParkedChange, ParkedOrder)> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter()
            .filter_map(|entry| Some((entry.clone(), entry.order?)))
            .collect()
    }

    /// Whether a change of that row is parked for a write.
    pub(super) fn has_of_row(&self, write: &str, row: &str) -> bool {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.contains(&(write.to_owned(), row.to_owned()))
    }

    /// Keeps a change. What is parked already, by a process that was killed before it noted that, stays as it is.
    pub(crate) async fn park_change(&self, parking: &Parking, reason: &str, tries: Tries) -> Result<(), FollowError> {
        let body = serde_json::to_string(parking).map_err(|_| unreadable_progress())?;
        // An item holds 400 KB, and a change may have two images of that size.
        let pieces = pieces_of(&body);
        let count = pieces.len();
        for (at, piece) in pieces.into_iter().enumerate() {
            let mut row = self.piece_row(&parking.write, &parking.id, at)?;
            row.insert(BODY.to_owned(), Value::S(piece.to_owned()));
            // Pieces before the list: an entry without its pieces would count as done.
            self.followers.put_item(row, None).await?;
        }
        let entry = ParkedChange {
            write: parking.write.clone(),
            change: parking.id.clone(),
            entity: parking.entity.clone(),
            reason: reason.chars().take(REASON_CHARS_MAX).collect(),
            at_seconds: parking.at_seconds,
            order: None,
            tries,
            row: parking.row_mark.clone(),
            pieces: count,
        };
        self.change_list(|entries| {
            // Parked before, by a process that was killed: its reason and order stay.
            if entries.iter().any(|known| known.is_same(&entry)) {
                return Ok(());
            }
            // Refused and not left out: following stops until somebody looks, and nothing is lost.
            if entries.len() >= PARKED_MAX {
                return Err(FollowError::Refused(format!(
                    "{PARKED_MAX} changes are parked: nothing runs until some are tried again or discarded"
                )));
            }
            entries.push(entry.clone());
            Ok(())
        })
        .await
    }

    /// What is kept of a change, and the key of its first row; nothing, where that row is gone: its write ran.
    pub(crate) async fn parked_body(&self, parked: &ParkedChange) -> Result<Option<(Item, Parking)>, FollowError> {
        let first = self.piece_row(&parked.write, &parked.change, 0)?;
        let mut text = String::new();
        for at in 0..parked.pieces {
            let row = self.piece_row(&parked.write, &parked.change, at)?;
            let Some(item) = self.followers.get(&row).await? else {
                // The first piece goes with the run that is done, so that without it nothing is left to do.
                return Ok(None);
            };
            text.push_str(item.get(BODY).and_then(Value::as_str).ok_or_else(unreadable_progress)?);
        }
        let parking: Parking = serde_json::from_str(&text).map_err(|_| unreadable_progress())?;
        Ok(Some((self.followers.key_of(&first), parking)))
    }

    /// Removes a change from the list, and its rows.
    pub(crate) async fn remove(&self, store: &dyn Store, parked: &ParkedChange) -> Result<(), FollowError> {
        for at in 0..parked.pieces {
            let row = self.piece_row(&parked.write, &parked.change, at)?;
            let request = DeleteRequest {
                table: self.followers.model().table.name.clone(),
                key: self.followers.key_of(&row),
                condition: None,
                return_old: false,
            };
            // The pieces before the entry: killed between, the entry alone is found, and removed.
            store.delete(&request).await?;
        }
        self.change_list(|entries| {
            entries.retain(|entry| !entry.is_same(parked));
            Ok(())
        })
        .await
    }

    /// Notes that a change still cannot be done, and that what was asked for was tried.
    pub(crate) async fn note_still_parked(&self, parked: &ParkedChange, reason: &str) -> Result<(), FollowError> {
        self.still_until(parked, reason, Tries::NONE).await
    }

    /// The same with when it is tried by itself.
    pub(super) async fn still_until(
        &self,
        parked: &ParkedChange,
        reason: &str,
        tries: Tries,
    ) -> Result<(), FollowError> {
        self.change_list(|entries| {
            for entry in entries.iter_mut().filter(|entry| entry.is_same(parked)) {
                entry.reason = reason.chars().take(REASON_CHARS_MAX).collect();
                entry.order = None;
                entry.tries = tries;
            }
            Ok(())
        })
        .await
    }

    /// Of every row and write the change that was parked first, as last seen: all others of that row wait for it.
    pub(super) fn first_of_rows(&self) -> Vec<ParkedChange> {
        let mut known = BTreeSet::new();
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        // The first in the list's order, which is the order in which they were parked.
        let firsts = seen.iter().filter(|entry| known.insert((&entry.write, &entry.row)));
        firsts.cloned().collect()
    }

    fn piece_row(&self, write: &str, change: &str, at: usize) -> Result<Item, FollowError> {
        Ok(self.followers.row(PIECE_KIND, &[write, change, &at.to_string()])?)
    }

    async fn list_and_turn(&self) -> Result<(Vec<ParkedChange>, Option<u64>), FollowError> {
        let Some(item) = self.followers.get(&self.followers.row(LIST_KIND, &[])?).await? else {
            return Ok((Vec::new(), None));
        };
        let entries = match item.get(ENTRIES) {
            Some(Value::L(entries)) => entries
                .iter()
                .map(entry_of)
                .collect::<Option<_>>()
                .ok_or_else(unreadable_progress)?,
            _ => Vec::new(),
        };
        Ok((entries, Some(turn_of(&item)?)))
    }

    async fn change_list(
        &self,
        mut change: impl FnMut(&mut Vec<ParkedChange>) -> Result<(), FollowError>,
    ) -> Result<(), FollowError> {
        // One at a time within the process, so that its own runs do not overtake one another.
        let _one = self.writing.lock().await;
        for _ in 0..TRIES_MAX {
            let (before, turn) = self.list_and_turn().await?;
            let mut entries = before.clone();
            change(&mut entries)?;
            if entries != before {
                let mut item = self.followers.row(LIST_KIND, &[])?;
                if !entries.is_empty() {
                    item.insert(ENTRIES.to_owned(), Value::L(entries.iter().map(entry_value).collect()));
                }
                if self.followers.put_item(item, turn).await?.is_none() {
                    continue;
                }
            }
            self.remember(&entries);
            return Ok(());
        }
        Err(FollowError::Overtaken)
    }
}

impl ParkedChange {
    /// Whether it is a tick of the clock, and no change of a row.
    pub fn is_tick(&self) -> bool {
        self.row == TICK_MARK
    }

    /// When it is tried again by itself, in seconds since 1970; none where it waits for an operator.
    pub fn next_try(&self) -> Option<i64> {
        self.tries.next_at
    }

    pub(super) fn is_same(&self, other: &ParkedChange) -> bool {
        self.write == other.write && self.change == other.change
    }

    /// As one JSON object.
    pub fn to_json(&self) -> String {
        json_text::json_of(&entry_value(self))
    }
}

/// A text in pieces that an item holds.
fn pieces_of(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while rest.len() > PIECE_BYTES_MAX {
        let at = (0..=PIECE_BYTES_MAX)
            .rev()
            // A piece must be text by itself.
            .find(|at| rest.is_char_boundary(*at))
            .unwrap_or(0);
        let (piece, others) = rest.split_at(at);
        pieces.push(piece);
        rest = others;
    }
    pieces.push(rest);
    pieces
}

fn entry_value(entry: &ParkedChange) -> Value {
    let text = |text: &str| Value::S(text.to_owned());
    let mut map = Item::from([
        ("write".to_owned(), text(&entry.write)),
        ("change".to_owned(), text(&entry.change)),
        ("entity".to_owned(), text(&entry.entity)),
        ("reason".to_owned(), text(&entry.reason)),
        ("row".to_owned(), text(&entry.row)),
        ("at".to_owned(), number_value(entry.at_seconds)),
        (
            "pieces".to_owned(),
            number_value(i64::try_from(entry.pieces).unwrap_or(i64::MAX)),
        ),
    ]);
    map.extend(entry.order.map(|order| ("order".to_owned(), text(order.word()))));
    map.extend(entry.tries.next_at.map(|at| ("next".to_owned(), number_value(at))));
    if entry.tries.refused > 0 {
        let refused = i64::try_from(entry.tries.refused).unwrap_or(i64::MAX);
        map.insert("refused".to_owned(), number_value(refused));
    }
    Value::M(map)
}

fn entry_of(value: &Value) -> Option<ParkedChange> {
    let map = value.as_map()?;
    let text = |name: &str| map.get(name).and_then(Value::as_str).map(str::to_owned);
    Some(ParkedChange {
        write: text("write")?,
        change: text("change")?,
        entity: text("entity")?,
        reason: text("reason")?,
        row: text("row")?,
        at_seconds: number_of(map.get("at"))?,
        pieces: usize::try_from(number_of(map.get("pieces"))?).ok()?,
        order: match text("order").as_deref() {
            Some("retry") => Some(ParkedOrder::Retry),
            Some("discard") => Some(ParkedOrder::Discard),
            _ => None,
        },
        tries: Tries {
            refused: number_of(map.get("refused")).map_or(Some(0), |refused| usize::try_from(refused).ok())?,
            next_at: number_of(map.get("next")),
        },
    })
}
