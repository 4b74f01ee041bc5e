//! How far a bulk operation came, as its row says it.

use sha2::{Digest, Sha256};
use singlet_item::{Item, Number, Value};
use singlet_model::model::Entity;

use crate::cursor::Positions;
use crate::error::RuntimeError;
use crate::scope::Attributes;
use crate::values;
use crate::write::guards::{guard_owner, own_row_key, texts_hash};
use crate::write::{AttemptStop, WriteOperation, internal_mistake};

/// How far an operation came: which step, which element, how many turns did something.
///
/// **Invariant:** of a loop over rows, every row before `from` had its turn, and of those after it the rows in `seen`. A row that a
/// turn changes may still be one that is looked for, so that where it stands says nothing of whether it is done.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct BulkProgress {
    pub step: u64,
    pub element: u64,
    pub done: u64,
    /// Where the page of rows begins; none at the first.
    pub from: Option<Positions>,
    /// The rows of that page which had their turn.
    pub seen: Vec<Mark>,
    /// The instant at which it began: all of it is of that instant.
    pub now: i64,
}

const STEP: &str = "$step";
const ELEMENT: &str = "$element";
const DONE: &str = "$done";
const NOW: &str = "$now";
pub(super) const TURN: &str = "$turn";
pub(super) const BOUND: &str = "$bound";
pub(super) const FROM: &str = "$from";
pub(super) const SEEN: &str = "$seen";

/// What stands for a row in a progress: the beginning of a hash of its identity.
pub(super) type Mark = [u8; MARK_BYTES];

const MARK_BYTES: usize = 16;

/// What a turn is about.
pub(super) enum BulkTurn {
    Element(Value),
    Row(Attributes, Mark),
}

/// What the row of an operation says: how far it came, how often that was moved on, and the names that were bound when it began.
pub(super) struct StoredProgress {
    pub progress: BulkProgress,
    pub turn: u64,
    pub bound: Attributes,
}

impl BulkProgress {
    /// Where an earlier run stopped. A row that does not say it all is none to go on from.
    pub fn read(item: &Item) -> Result<StoredProgress, RuntimeError> {
        let now = item.get(NOW).and_then(Value::as_number).and_then(Number::to_i64);
        let bound = item.get(BOUND).and_then(Value::as_map);
        let (Some(now), Some(bound)) = (now, bound) else {
            return Err(unreadable());
        };
        let progress = BulkProgress {
            step: count(item, STEP)?,
            element: count(item, ELEMENT)?,
            done: count(item, DONE)?,
            from: match item.get(FROM) {
                Some(from) => Some(positions_in(from).ok_or_else(unreadable)?),
                None => None,
            },
            seen: match item.get(SEEN) {
                Some(Value::B(seen)) => seen.as_chunks().0.to_vec(),
                Some(_) => return Err(unreadable()),
                None => Vec::new(),
            },
            now,
        };
        Ok(StoredProgress {
            progress,
            turn: turn_of(item)?,
            bound: bound.clone(),
        })
    }

    /// What its row says of it after so many turns; the names that were bound stand beside it.
    pub fn fields(&self, turn: u64) -> Result<Vec<(String, Value)>, AttemptStop> {
        let number = |number: u64| Value::N(Number::from(i64::try_from(number).unwrap_or(i64::MAX)));
        let mut fields = vec![
            (STEP.to_owned(), number(self.step)),
            (ELEMENT.to_owned(), number(self.element)),
            (DONE.to_owned(), number(self.done)),
            (NOW.to_owned(), Value::N(Number::from(self.now))),
            (TURN.to_owned(), number(turn)),
        ];
        if let Some(from) = &self.from {
            let text = serde_json::to_string(from).map_err(|_| internal_mistake("a place cannot be written down"))?;
            fields.push((FROM.to_owned(), Value::S(text)));
        }
        if !self.seen.is_empty() {
            fields.push((SEEN.to_owned(), Value::B(self.seen.concat())));
        }
        Ok(fields)
    }

    /// After a turn, which did something or found that there was nothing to do.
    pub fn after(&self, turn: Option<&BulkTurn>, did: bool) -> Self {
        let mut next = self.clone();
        // An element for which there was nothing to do is passed, and not counted.
        next.done += u64::from(did && turn.is_some());
        match turn {
            Some(BulkTurn::Element(_)) => next.element += 1,
            Some(BulkTurn::Row(_, mark)) => next.seen.push(*mark),
            None => {}
        }
        next
    }

    /// At the beginning of a step.
    pub fn at_step(&self, step: u64) -> Self {
        BulkProgress {
            step,
            element: 0,
            from: None,
            seen: Vec::new(),
            ..*self
        }
    }
}

/// How often a progress was moved on.
pub(super) fn turn_of(item: &Item) -> Result<u64, RuntimeError> {
    count(item, TURN)
}

fn positions_in(value: &Value) -> Option<Positions> {
    serde_json::from_str(value.as_str()?).ok()
}

fn count(item: &Item, name: &str) -> Result<u64, RuntimeError> {
    let number = item.get(name).and_then(Value::as_number).and_then(Number::to_u64);
    number.ok_or_else(unreadable)
}

pub(super) fn unreadable() -> RuntimeError {
    RuntimeError::Stored("the progress of a bulk operation cannot be read".to_owned())
}

/// The row of an operation's progress: its caller, and its key or what it asks for.
pub(super) fn place_of(operation: &WriteOperation<'_>) -> Result<Item, RuntimeError> {
    let caller = operation.request.caller.claims.get("id").and_then(Value::as_str);
    let sent = values::json_text::json_of(&Value::M(operation.request.args.clone()));
    let key = operation.request.idempotency_key.clone().unwrap_or_default();
    // With what was sent: the same key with other arguments is another operation, whose progress is not this one's.
    let asked = texts_hash(&[&key, &sent]);
    match caller {
        Some(caller) => own_row_key(operation.model, "progress", &[&operation.write.name, caller, &asked]),
        // One part more than any caller's, so that nobody's id is nobody.
        None => own_row_key(operation.model, "progress", &[&operation.write.name, "", "", &asked]),
    }
}

/// What stands for a row of an entity.
pub(super) fn mark_of(operation: &WriteOperation<'_>, entity: &Entity, row: &Attributes) -> Mark {
    let hash = Sha256::digest(guard_owner(operation.model, entity, row).as_bytes());
    hash.first_chunk().copied().unwrap_or_default()
}
