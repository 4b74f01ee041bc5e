//! The record of a request: what tells a retry from a new request, written with what it records.

use singlet_item::limits::IDEMPOTENCY_KEY_CHARS_MAX;
use singlet_item::{Item, Number, Value};
use singlet_model::Model;
use singlet_model::evaluate::evaluate_as;
use singlet_model::expression::{ExprKind, Word};
use singlet_model::model::{Entity, Role, Stored};
use singlet_store::{Comparison, Condition, Consumed, GetRequest, Path};

use super::generate::Generating;
use super::guards::{own_row_key, texts_hash};
use super::refuse::Denial;
use super::touched::{Doing, RowCheck, WriteAction, absent_item, stored_name};
use super::{WriteOperation, Written};
use crate::by_key::primary_key;
use crate::error::RuntimeError;
use crate::scope::Attributes;
use crate::{retry, row, values};

/// How long a record counts, where the model does not say.
const KEPT_SECONDS: i64 = 86_400;

/// How long the record of a change counts: longer than any change comes again. A store keeps changes for a week at most, and one
/// that is parked is done with the removal of its row.
const CHANGE_KEPT_SECONDS: i64 = 8 * 86_400;

/// The type of the record of a change.
const CHANGE_TYPE: &str = "$change";

/// The rule that refused a write which ran after a change.
const REFUSED: &str = "$refused";

/// The expiry of a record in a table that has no TTL.
const UNTIL: &str = "$until";

/// The version of the row that was answered. No entity shapes it: a replay must say it whatever a model records.
const VERSION: &str = "$version";

/// The record of one request.
#[derive(Debug)]
pub(super) struct RequestRecord<'a> {
    /// What it is the record of.
    kind: RecordKind,
    /// The entity that shapes it.
    entity: Option<&'a Entity>,
    /// Its place.
    key: Item,
    /// `request.key` and `request.hash`.
    words: Attributes,
    /// Whether the caller is known by an id. Those who are not cannot be told apart: what they ask is done once for each key and
    /// request, but no answer is kept that another of them could be given.
    is_of_somebody: bool,
}

/// What a record is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecordKind {
    /// A request, with its answer.
    Request,
    /// A change after which a write ran. Nobody is answered.
    Change,
}

impl<'a> RequestRecord<'a> {
    /// The record of a change. Its place is of the write and the change alone: no caller shapes it.
    pub fn of_change(operation: &WriteOperation<'a>, change: &str) -> Result<Self, RuntimeError> {
        Ok(RequestRecord {
            kind: RecordKind::Change,
            entity: None,
            key: own_row_key(
                operation.model,
                "change",
                &[&operation.model.name, &operation.write.name, change],
            )?,
            words: Attributes::new(),
            is_of_somebody: true,
        })
    }

    /// The item that records what became of a change: that it was refused, and by which rule, or that it was done.
    pub(super) fn item_of_change(&self, operation: &WriteOperation<'_>, refused: Option<&str>) -> Item {
        let mut item = self.key.clone();
        item.extend([record_expiry(operation)]);
        item.extend(refused.map(|name| (REFUSED.to_owned(), Value::S(name.to_owned()))));
        if let Some(name) = &operation.model.table.type_attribute {
            item.insert(name.clone(), Value::S(CHANGE_TYPE.to_owned()));
        }
        item
    }

    pub fn new(operation: &WriteOperation<'a>, key: String) -> Result<Self, RuntimeError> {
        // Bounded, for it stands in a key of the table.
        if key.is_empty() || key.chars().count() > IDEMPOTENCY_KEY_CHARS_MAX {
            return Err(RuntimeError::Request(format!(
                "an idempotency key has 1 to {IDEMPOTENCY_KEY_CHARS_MAX} characters"
            )));
        }
        let model = operation.model;
        // Of everything that was sent: the same key with another request is refused, and not answered with the first.
        let hash = request_hash(operation);
        let words = Attributes::from([
            (Word::RequestKey.as_str().to_owned(), Value::S(key.clone())),
            (Word::RequestHash.as_str().to_owned(), Value::S(hash.clone())),
        ]);
        let caller = operation.request.caller.claims.get("id").and_then(Value::as_str);
        let entity = model
            .entities
            .iter()
            .find(|entity| entity.role == Some(Role::Idempotency));
        let place = match entity {
            Some(entity) => key_of_entity(operation, entity, &words)?,
            None => match caller {
                Some(caller) => own_row_key(model, "request", &[&operation.write.name, caller, &key])?,
                // One part more than any caller's, so that nobody's id is nobody.
                None => own_row_key(model, "request", &[&operation.write.name, "", &key, &hash])?,
            },
        };
        Ok(RequestRecord {
            kind: RecordKind::Request,
            entity,
            key: place,
            words,
            is_of_somebody: caller.is_some(),
        })
    }

    /// What the record says of the request: its key and its hash.
    pub fn words(&self) -> &Attributes {
        &self.words
    }

    /// The answer that the record holds; none, where there is no record or it has expired.
    pub async fn replayed(
        &self,
        operation: &WriteOperation<'_>,
        consumed: &mut Consumed,
    ) -> Result<Option<Written>, RuntimeError> {
        let request = GetRequest {
            table: operation.model.table.name.clone(),
            key: self.key.clone(),
            consistent: true,
            projection: Default::default(),
        };
        let answer = retry::with_retries(operation.engine.bounds(), || operation.engine.store().get(&request)).await?;
        *consumed += &answer.consumed;
        let Some(item) = answer.item.filter(|item| !has_expired(operation, item)) else {
            return Ok(None);
        };
        let hash = self.words.get(Word::RequestHash.as_str());
        let recorded = self.value(&item, Word::RequestHash);
        // A record that an entity shapes may not keep the hash, and then the key alone decides.
        if recorded.is_some() && recorded != hash {
            return Err(RuntimeError::IdempotencyKeyReused);
        }
        // Callers without an id cannot be told apart: one must not be given the answer of another.
        if !self.is_of_somebody {
            return Err(RuntimeError::AlreadyDone);
        }
        let status = self.value(&item, Word::ResponseStatus).and_then(Value::as_number);
        let status = status
            .and_then(Number::to_u64)
            .and_then(|status| u16::try_from(status).ok());
        let replay = operation
            .write
            .idempotency
            .replay
            .and_then(|status| u16::try_from(status).ok());
        let value = self.value(&item, Word::ResponseBody).cloned();
        Ok(Some(Written {
            status: replay.or(status).unwrap_or(200),
            value: value.filter(|value| !value.is_null()),
            version: item.get(VERSION).and_then(Value::as_number),
            replayed: true,
            consumed: Consumed::default(),
        }))
    }

    /// What the record holds of a word.
    fn value<'i>(&self, item: &'i Item, word: Word) -> Option<&'i Value> {
        match self.entity {
            None => item.get(word.as_str()),
            Some(entity) => {
                let attribute = entity.attributes.iter().find(|attribute| {
                    let is = attribute.is.as_ref().map(|is| &is.kind);
                    is == Some(&ExprKind::Word(word)) && attribute.stored != Stored::No
                })?;
                item.get(stored_name(&attribute.stored, &attribute.name))
            }
        }
    }

    /// Writes the record with what it records.
    pub(super) fn action<'c>(
        &self,
        operation: &WriteOperation<'_>,
        written: &Written,
        answered: &Attributes,
    ) -> Result<WriteAction<'c>, RuntimeError> {
        if self.kind == RecordKind::Change {
            return Ok(WriteAction {
                doing: Doing::Put(self.item_of_change(operation, None)),
                ..self.absent(operation)
            });
        }
        let model = operation.model;
        let mut words = self.words.clone();
        let status = Value::N(Number::from(i64::from(written.status)));
        words.insert(Word::ResponseStatus.as_str().to_owned(), status);
        // Not kept where it could be given to somebody else.
        if let Some(value) = written.value.as_ref().filter(|_| self.is_of_somebody) {
            words.insert(Word::ResponseBody.as_str().to_owned(), value.clone());
        }
        let mut item = match self.entity {
            Some(entity) => {
                let mut scope = operation.scope(&words);
                scope.row = Some(answered);
                let defaults = defaults(operation, entity, &words)?;
                let items = row::encode_with_mirrors(model, entity, &defaults, scope)?;
                items.into_iter().next().unwrap_or_default()
            }
            None => {
                let mut item = self.key.clone();
                item.extend(words);
                item.extend([record_expiry(operation)]);
                if let Some(name) = &model.table.type_attribute {
                    item.insert(name.clone(), Value::S("$request".to_owned()));
                }
                item
            }
        };
        item.extend(written.version.map(|version| (VERSION.to_owned(), Value::N(version))));
        Ok(WriteAction {
            doing: Doing::Put(item),
            ..self.absent(operation)
        })
    }

    /// Checks that there is no record, or none that still counts.
    pub(super) fn absent<'c>(&self, operation: &WriteOperation<'_>) -> WriteAction<'c> {
        WriteAction {
            key: self.key.clone(),
            doing: Doing::Check,
            checks: vec![RowCheck {
                // Before everything else: that it was done already is no refusal.
                order: 0,
                condition: absent_or_expired(operation),
                denial: Denial::Recorded,
            }],
        }
    }
}

/// Until when a row of the model's own counts, if it is written now: in the table's TTL, or beside it where there is none.
pub(super) fn record_expiry(operation: &WriteOperation<'_>) -> (String, Value) {
    let kept = match operation.change {
        Some(_) => CHANGE_KEPT_SECONDS,
        None => KEPT_SECONDS,
    };
    counts_until(operation.model, operation.request.now.div_euclid(1_000) + kept)
}

/// Whether a row of the model's own no longer counts.
pub(super) fn has_expired(operation: &WriteOperation<'_>, item: &Item) -> bool {
    let now = operation.request.now;
    let until = item.get(UNTIL).and_then(Value::as_number).and_then(Number::to_i64);
    row::has_expired(operation.model, item, now) || until.is_some_and(|seconds| seconds.saturating_mul(1_000) <= now)
}

/// There is no row of the model's own, or none that still counts.
pub(super) fn absent_or_expired(operation: &WriteOperation<'_>) -> Condition {
    absent_or_over(operation.model, operation.request.now.div_euclid(1_000))
}

/// The record that something other than a write was done after a change, and the condition that it was not done before.
pub(super) fn change_record(
    model: &Model,
    follower: &str,
    change: &str,
    now: i64,
) -> Result<(Item, Condition), RuntimeError> {
    let mut item = own_row_key(model, "change", &[&model.name, follower, change])?;
    let seconds = now.div_euclid(1_000);
    item.extend([counts_until(model, seconds + CHANGE_KEPT_SECONDS)]);
    if let Some(name) = &model.table.type_attribute {
        item.insert(name.clone(), Value::S(CHANGE_TYPE.to_owned()));
    }
    Ok((item, absent_or_over(model, seconds)))
}

/// Until when a row of the model's own counts, in seconds since 1970: in the table's TTL, or beside it where there is none.
pub(super) fn counts_until(model: &Model, seconds: i64) -> (String, Value) {
    (expiry_name(model).to_owned(), Value::N(Number::from(seconds)))
}

fn absent_or_over(model: &Model, seconds: i64) -> Condition {
    let seconds = Value::N(Number::from(seconds));
    let over = Condition::compare(Path::attribute(expiry_name(model)), Comparison::LessOrEqual, seconds);
    absent_item(model).or(over)
}

fn expiry_name(model: &Model) -> &str {
    model.table.ttl.as_deref().unwrap_or(UNTIL)
}

/// What a request asks for: the operation and everything that was sent.
fn request_hash(operation: &WriteOperation<'_>) -> String {
    let sent = Value::M(operation.request.args.clone());
    texts_hash(&[&operation.write.name, &values::json_text::json_of(&sent)])
}

/// Attributes of a record that have a default, such as when it was made.
fn defaults(operation: &WriteOperation<'_>, entity: &Entity, words: &Attributes) -> Result<Attributes, RuntimeError> {
    let mut found = Attributes::new();
    for attribute in &entity.attributes {
        if let Some(default) = attribute.default.as_ref().or(attribute.always.as_ref()) {
            let value = evaluate_as(default, &attribute.ty, &Generating(operation.scope(words)))?;
            found.extend(value.map(|value| (attribute.name.clone(), value)));
        }
    }
    Ok(found)
}

fn key_of_entity(operation: &WriteOperation<'_>, entity: &Entity, words: &Attributes) -> Result<Item, RuntimeError> {
    let mut row = defaults(operation, entity, words)?;
    for attribute in entity
        .attributes
        .iter()
        .filter(|attribute| entity.is_key_attribute(&attribute.name))
    {
        if let Some(is) = &attribute.is {
            let value = evaluate_as(is, &attribute.ty, &operation.scope(words))?;
            row.extend(value.map(|value| (attribute.name.clone(), value)));
        }
    }
    primary_key(entity, &row)?
        .ok_or_else(|| RuntimeError::Request("an idempotency key needs a caller who is known by an id".to_owned()))
}
