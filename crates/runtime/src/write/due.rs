//! What time does to rows: when, and its storing at that instant, for those who follow changes.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use singlet_item::{Item, Number, Value};
use singlet_model::evaluate::{evaluate_as, time};
use singlet_model::model::{Entity, TriggerEvent};
use singlet_model::types::Type;
use singlet_store::{Condition, GetRequest, Path};

use super::attempt::Attempt;
use super::touched::{Before, Doing, RowCheck, Touched, WriteAction};
use super::{AttemptStop, WriteOperation, WriteRequest, send};
use crate::by_key::primary_key;
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::row::ENDED;
use crate::scope::{Attributes, Caller};
use crate::{range_rows, retry, row};

/// An instant at which time does something to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline {
    /// In epoch milliseconds.
    pub at: i64,
}

impl Engine {
    /// The instants at which time does something to a row that something follows: its state lapses, it expires, or an instant comes
    /// that it holds.
    ///
    /// # Errors
    ///
    /// Where an expression of the entity has no value for the row.
    pub fn deadlines(&self, entity: &Entity, row: &Attributes) -> Result<Vec<Deadline>, RuntimeError> {
        let model = self.model();
        let mut found = Vec::new();
        if !model.is_timed(entity) {
            return Ok(found);
        }
        let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
        let scope = self.change_scope(&nothing, &nobody, &nothing).with_row(row);
        if let Some(states) = &entity.states {
            let state = row.get(&states.of).and_then(Value::as_str);
            for lapse in states.lapses.iter().filter(|lapse| state == Some(lapse.from.as_str())) {
                let at = evaluate_as(&lapse.at, &Type::Millis, &scope)?;
                let at = at.and_then(|value| value.as_number()).and_then(Number::to_i64);
                found.extend(at.map(|at| Deadline { at }));
            }
        }
        for trigger in model.followed_changes().filter(|trigger| trigger.entity == entity.id) {
            let at = match &trigger.event {
                TriggerEvent::Expire => {
                    let seconds = row::expiry_of(model, entity, row, scope)?;
                    seconds.map(|seconds| seconds.saturating_mul(1_000))
                }
                TriggerEvent::Reach(name) => instant_in(entity, row, name)?,
                TriggerEvent::Create | TriggerEvent::Update(_) | TriggerEvent::Delete | TriggerEvent::Enter(_) => None,
            };
            let deadline = at.map(|at| Deadline { at });
            found.extend(deadline.filter(|deadline| !found.contains(deadline)));
        }
        Ok(found)
    }

    /// A row as it is at an instant, where an attribute of it holds another instant: the deadline for which it was looked at.
    ///
    /// # Errors
    ///
    /// Where the store fails, or the row is not as the model has it.
    pub async fn row_reaching(
        &self,
        entity: &Entity,
        key: &Item,
        (attribute, at): (&str, i64),
        now: i64,
    ) -> Result<Option<Attributes>, RuntimeError> {
        let Some(row) = self.row_at(entity, key, now).await? else {
            return Ok(None);
        };
        // The instant may have moved since the deadline was noted, which then has nothing to do with it.
        Ok((instant_in(entity, &row, attribute)? == Some(at)).then_some(row))
    }

    /// A row as it is at an instant, read strongly.
    pub(crate) async fn row_at(
        &self,
        entity: &Entity,
        key: &Item,
        now: i64,
    ) -> Result<Option<Attributes>, RuntimeError> {
        let model = self.model().as_ref();
        let request = GetRequest {
            table: model.table.name.clone(),
            key: key.clone(),
            // What is due is decided by the row as it is: an old copy would be due again.
            consistent: true,
            projection: Default::default(),
        };
        let answer = retry::with_retries(self.bounds(), || self.store().get(&request)).await?;
        let Some(item) = answer.item.filter(|item| range_rows::is_row_of(model, entity, item)) else {
            return Ok(None);
        };
        let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
        let mut scope = self.change_scope(&nothing, &nobody, &nothing);
        scope.now = now;
        row::decode_live(model, entity, &item, scope)
    }

    /// The key of the item that a row of an entity is.
    ///
    /// # Errors
    ///
    /// Where no key can hold its values.
    pub fn key_of_row(&self, entity: &Entity, row: &Attributes) -> Result<Option<Item>, RuntimeError> {
        primary_key(entity, row)
    }

    /// Stores what time has done to a row by an instant: the later state, or its end. Where there is nothing to store, nothing is
    /// done: somebody was faster, or the deadline has moved.
    ///
    /// # Errors
    ///
    /// Where others stay in the way, or the store fails.
    pub async fn store_due(&self, entity: &str, key: &Item, now: i64) -> Result<(), RuntimeError> {
        let model = self.model().as_ref();
        let entity = model.entity_named(entity);
        // It is stored in the name of a write; of which one makes no difference. Without any nobody wrote the row.
        let (Some(entity), Some(write)) = (
            entity.filter(|entity| model.is_followed(entity.id)),
            model.writes.first(),
        ) else {
            return Ok(());
        };
        let Some(plan) = self.write_plan(&write.name) else {
            return Ok(());
        };
        let request = WriteRequest {
            now,
            ..WriteRequest::default()
        };
        let operation = WriteOperation {
            engine: self,
            model,
            write,
            plan,
            args: Cow::Owned(Attributes::new()),
            request: &request,
            record: None,
            change: None,
        };
        let none = HashSet::new();
        // Each lapse once: states that lapse in a circle go round when they are looked at again.
        let lapses = entity.states.as_ref().map_or(0, |states| states.lapses.len());
        let (mut stored, mut attempt) = (0, 1);
        while attempt <= u32::try_from(self.bounds().write_attempts_max).unwrap_or(u32::MAX) {
            match Attempt::new(&operation, &none).store_due(entity, key).await {
                // Another round, since one lapse may have made another due.
                Ok(true) if stored < lapses => stored += 1,
                Ok(_) => return Ok(()),
                Err(AttemptStop::Failed(error)) => return Err(error),
                Err(_) => {
                    retry::retry_pause(attempt).await;
                    attempt += 1;
                }
            }
        }
        Err(RuntimeError::Conflict)
    }
}

impl<'a> Attempt<'a> {
    /// Stores one thing that is due; whether there was one. A state may lapse to another that has lapsed too, and who waits for the state
    /// between them sees it.
    async fn store_due(&mut self, entity: &'a Entity, key: &Item) -> Result<bool, AttemptStop> {
        let model = self.operation.model;
        let item = self.get(key.clone()).await?;
        let Some(item) = item.filter(|item| range_rows::is_row_of(model, entity, item)) else {
            return Ok(false);
        };
        let actions = match row::decode_live(model, entity, &item, self.scope(None))? {
            None => {
                let ttl = model.table.ttl.as_ref().and_then(|ttl| item.get_key_value(ttl));
                let Some((ttl, until)) = ttl else { return Ok(false) };
                let acting = |doing| WriteAction {
                    key: key.clone(),
                    doing,
                    // On condition of the expiry that was read: a row that was given more time must not end.
                    checks: vec![still_ends(ttl, until)],
                };
                // By the store's clock, by which changes are told, it may not have ended yet: so that it has is written in it.
                if !row::is_marked_ended(model, &item) {
                    let mark = vec![acting(Doing::Update(
                        singlet_store::Update::new().set(ENDED, until.clone()),
                    ))];
                    send::send_actions(self.operation, mark, false, &mut self.consumed).await?;
                }
                // After the mark, and not in one transaction with it: a delete carries no image of what was not stored.
                vec![acting(Doing::Delete)]
            }
            Some(_) => {
                let Some(row) = row::lapsed_once(entity, &row::decode_as_stored(entity, &item)?, self.scope(None))?
                else {
                    return Ok(false);
                };
                let known = Arc::new(row.clone());
                let mut lapsed = Touched::new(entity, key.clone(), Arc::clone(&known));
                lapsed.before = Before::Read {
                    item: Some(item),
                    row: Some(known),
                };
                self.lapse_of(lapsed, row)?
            }
        };
        send::send_actions(self.operation, actions, false, &mut self.consumed).await?;
        Ok(true)
    }
}

/// The instant that an attribute of a row holds, in epoch milliseconds; none where it is absent, or a word in its place.
fn instant_in(entity: &Entity, row: &Attributes, name: &str) -> Result<Option<i64>, RuntimeError> {
    match (entity.attribute(name), row.get(name)) {
        (Some(attribute), Some(value)) => Ok(time::millis_of(value, &attribute.ty)?),
        _ => Ok(None),
    }
}

/// The row still ends when it did.
fn still_ends<'c>(ttl: &str, until: &Value) -> RowCheck<'c> {
    RowCheck::pin(Condition::equal(Path::attribute(ttl), until.clone()))
}
