//! What time does to rows: when, and its storing at that instant, for those who follow changes.

use std::collections::HashSet;

use singlet_item::{Item, Number, Value};
use singlet_model::evaluate::evaluate_as;
use singlet_model::model::{Entity, TriggerEvent};
use singlet_model::types::Type;
use singlet_store::{Condition, Path};

use super::attempt::Attempt;
use super::touched::{Action, Before, Check, Doing, Touched};
use super::{Operation, Stop, WriteRequest, send};
use crate::by_key::primary_key;
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::row::ENDED;
use crate::scope::{Attributes, Caller};
use crate::{retry, row, stream};

/// An instant at which time changes a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline {
    /// In epoch milliseconds.
    pub at: i64,
}

impl Engine {
    /// The instants at which time changes a row in a way that something follows: its state lapses, or it expires.
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
        let of_entity = |event: &TriggerEvent| *event == TriggerEvent::Expire;
        let mut triggers = model.triggers().filter(|(_, trigger)| trigger.entity == entity.id);
        if triggers.any(|(_, trigger)| of_entity(&trigger.event)) {
            let seconds = row::expiry(model, entity, row, scope)?;
            found.extend(seconds.map(|seconds| Deadline {
                at: seconds.saturating_mul(1_000),
            }));
        }
        Ok(found)
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
        // Whoever follows has a write, in whose name it is stored.
        let write = entity.and_then(|entity| model.triggers().find(|(_, trigger)| trigger.entity == entity.id));
        let (Some(entity), Some((write, _))) = (entity, write) else {
            return Ok(());
        };
        let Some(plan) = self.write_plan(&write.name) else {
            return Ok(());
        };
        let request = WriteRequest {
            now,
            ..WriteRequest::default()
        };
        let operation = Operation {
            engine: self,
            model,
            write,
            plan,
            args: Attributes::new(),
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
                Ok(true) if stored < lapses => stored += 1,
                Ok(_) => return Ok(()),
                Err(Stop::Failed(error)) => return Err(error),
                Err(_) => {
                    retry::pause(attempt).await;
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
    async fn store_due(&mut self, entity: &'a Entity, key: &Item) -> Result<bool, Stop> {
        let model = self.operation.model;
        let item = self.get(key.clone()).await?;
        let Some(item) = item.filter(|item| stream::is_of(model, entity, item)) else {
            return Ok(false);
        };
        let actions = match row::decode(model, entity, &item, self.scope(None))? {
            None => {
                let ttl = model.table.ttl.as_ref().and_then(|ttl| item.get_key_value(ttl));
                let Some((ttl, until)) = ttl else { return Ok(false) };
                let acting = |doing| Action {
                    key: key.clone(),
                    doing,
                    checks: vec![still_ends(ttl, until)],
                };
                // By the store's clock, by which changes are told, it may not have ended yet: so that it has is written in it.
                if !row::is_marked_ended(model, &item) {
                    let mark = vec![acting(Doing::Update(
                        singlet_store::Update::new().set(ENDED, until.clone()),
                    ))];
                    send::send(self.operation, mark, false, &mut self.consumed).await?;
                }
                vec![acting(Doing::Delete)]
            }
            Some(_) => {
                let Some(row) = row::lapsed_once(entity, &row::stored(entity, &item)?, self.scope(None))? else {
                    return Ok(false);
                };
                let mut lapsed = Touched::new(entity, key.clone(), row.clone());
                lapsed.before = Before::Read {
                    item: Some(item),
                    row: Some(row.clone()),
                };
                self.lapse_of(lapsed, row)?
            }
        };
        send::send(self.operation, actions, false, &mut self.consumed).await?;
        Ok(true)
    }
}

/// The row still ends when it did.
fn still_ends<'c>(ttl: &str, until: &Value) -> Check<'c> {
    Check::pin(Condition::equal(Path::attribute(ttl), until.clone()))
}
