//! Entities with versions: an update writes the next version and closes the last, a delete writes a tombstone.

use std::sync::Arc;

use singlet_item::{Item, Value};
use singlet_model::evaluate::time;
use singlet_model::model::{Entity, History, Step};
use singlet_plan::write::{DefaultRefusal, step_refusal};
use singlet_store::{Condition, Direction, KeyRange, Path, QueryRequest, Update};

use super::actions::item_update;
use super::attempt::Attempt;
use super::create::key_in;
use super::guards::{CLOSED, closed_at, identity_guard, identity_item};
use super::refuse::RefusalRule;
use super::touched::{
    Before, Doing, RowCheck, Touched, TouchedChange, WriteAction, absent_item, present_item, stored_name,
};
use super::{AttemptStop, Refused, internal_mistake};
use crate::error::RuntimeError;
use crate::scope::Attributes;
use crate::{range_rows, retry, row};

/// Whether the last version of a row says that it was deleted: it is a tombstone, or no other followed when it was closed.
pub(super) fn is_over(entity: &Entity, row: &Attributes) -> bool {
    entity.history.as_ref().is_some_and(|history| {
        let tombstone = history.tombstone.as_ref().and_then(|name| row.get(name));
        row.contains_key(&history.until) || tombstone.and_then(Value::as_bool) == Some(true)
    })
}

impl<'a> Attempt<'a> {
    /// The item of the last version, a tombstone included; where every version is closed, the one that was last.
    pub(crate) async fn last_version(
        &mut self,
        entity: &'a Entity,
        history: &History,
        at: usize,
    ) -> Result<Option<Item>, AttemptStop> {
        let model = self.operation.model;
        let mut known = Attributes::clone(&self.touched(at)?.named);
        // Of a row that is to be created everything is known; only its identity is what versions have in common.
        let variables = model.catalog.names(entity.id).map(|names| &names.key_variables);
        let variables = variables.ok_or_else(|| internal_mistake("an entity has no key"))?;
        known.retain(|name, _| variables.contains(name));
        let partition = model.table.key.first().map(|key| key.name.clone());
        let partition = partition.ok_or_else(|| internal_mistake("a table has no key"))?;
        let template = entity.key_templates().find(|key| key.attribute == partition);
        let lookup = |name: &str| known.get(name);
        let value = template
            .map(|template| row::encode_key(entity, template, &lookup))
            .transpose()?
            .flatten();
        let Some(value) = value else {
            return Err(AttemptStop::Failed(RuntimeError::no_key(entity)));
        };
        let mut request = QueryRequest::new(model.table.name.clone(), KeyRange::partition(partition, value));
        // The last version must be the last: an old copy would have a second one follow the same.
        request.consistent = true;
        request.direction = Direction::Descending;
        let bounds = self.operation.engine.bounds();
        request.limit = u32::try_from(bounds.versions_per_call).ok();
        let mut closed: Option<Item> = None;
        for _ in 0..bounds.rounds_max {
            let page = retry::with_retries(self.operation.engine.bounds(), || {
                self.operation.engine.store().query(&request)
            })
            .await?;
            self.consumed += &page.consumed;
            for item in page.items {
                // By what the versions have in common: other rows may lie in the collection.
                let same = known
                    .iter()
                    .all(|(name, value)| item.get(name).is_none_or(|known| known == value));
                if !same || !item.contains_key(&history.at) || !range_rows::is_row_of(model, entity, &item) {
                    continue;
                }
                // The one that is open is the last, wherever it lies.
                if !item.contains_key(&history.until) {
                    return Ok(Some(item));
                }
                let begun = |item: &Item| -> Result<Option<i64>, AttemptStop> {
                    let attribute = entity.attribute(&history.at).zip(item.get(&history.at));
                    let instant = attribute.map(|(attribute, value)| time::millis_of(value, &attribute.ty));
                    Ok(instant.transpose()?.flatten())
                };
                let later = match &closed {
                    Some(known) => begun(&item)? > begun(known)?,
                    None => true,
                };
                if later {
                    closed = Some(item);
                }
            }
            match page.last_key {
                Some(last) => request.start = Some(last),
                None => return Ok(closed),
            }
        }
        let (write, most) = (&self.operation.write.name, bounds.rounds_max);
        let message = format!(
            "`{write}` would read on more than {most} times for the last version of `{}`",
            entity.name
        );
        Err(AttemptStop::Failed(RuntimeError::Request(message)))
    }

    /// The instant of the next version: now, or just after the last, or just after that was closed. A version that begins where
    /// another was closed is the next of the same row; of a row that was deleted and made again none is.
    fn next_instant(
        &self,
        entity: &Entity,
        history: &History,
        last: Option<&Attributes>,
    ) -> Result<Value, AttemptStop> {
        let attribute = entity.attribute(&history.at);
        let ty = attribute.map(|attribute| &attribute.ty);
        let ty = ty.ok_or_else(|| AttemptStop::Failed(RuntimeError::no_key(entity)))?;
        let now = self.operation.request.now;
        let instant = |name: &str| match last.and_then(|row| row.get(name)) {
            Some(value) => time::millis_of(value, ty),
            None => Ok(None),
        };
        let (last, closed) = (instant(&history.at)?, instant(&history.until)?);
        let step = if *ty == singlet_model::types::Type::Seconds {
            1_000
        } else {
            1
        };
        // Always later than the last, though the clock was set back: two versions of one instant would have one key.
        let at = last.map_or(now, |last| now.max(last.saturating_add(step)));
        let at = closed.map_or(at, |closed| at.max(closed.saturating_add(step)));
        Ok(time::instant_as(at, ty)?)
    }

    pub(crate) async fn create_version(
        &mut self,
        step: &'a Step,
        entity: &'a Entity,
        row: Attributes,
    ) -> Result<(), AttemptStop> {
        let Some(at) = self.touch(entity, row.clone())? else {
            return Err(AttemptStop::Failed(RuntimeError::no_key(entity)));
        };
        self.read(at).await?;
        let touched = self.touched(at)?;
        if touched.change != TouchedChange::Nothing {
            return Err(self.same_item().await);
        }
        if touched.row().is_some() {
            let rule = RefusalRule::of(
                entity,
                step_refusal(step, &DefaultRefusal::Exists),
                DefaultRefusal::Exists,
            );
            return Err(self.denied(rule, None).await);
        }
        self.excluded(step, entity, &row).await?;
        self.next_version(step, entity, at, row, TouchedChange::Create)
    }

    pub(crate) async fn update_version(
        &mut self,
        step: &'a Step,
        entity: &'a Entity,
        at: usize,
    ) -> Result<(), AttemptStop> {
        let history = history_of(entity)?;
        let touched = self.touched(at)?;
        let before = touched
            .row()
            .ok_or_else(|| internal_mistake("a version is changed that is not there"))?;
        let before = Arc::clone(before);
        let mut after = Attributes::clone(&before);
        if touched.edits.apply(&mut after).is_none() {
            return Err(AttemptStop::Failed(RuntimeError::Request(
                "a number leaves its range".to_owned(),
            )));
        }
        let changed = touched.edits.summed();
        let after = self.sums_within_limits(step, entity, changed, after, &before).await?;
        let after = row::complete_row(entity, after, self.scope(None))?;
        let kept = |name: &str| {
            let attribute = entity.attribute(name);
            attribute.is_some_and(|attribute| attribute.always.is_some())
        };
        let names = before.keys().chain(after.keys());
        let same = names
            .filter(|name| !kept(name))
            .all(|name| before.get(name) == after.get(name));
        // Without this each retry of a client would make a version.
        if same && !history.again {
            // An identical update is no new version; the one there is must still be the last.
            let touched = self.touched_mut(at)?;
            touched.change = TouchedChange::Nothing;
            touched.after = Some(Arc::clone(&before));
            self.became(step, at, &before, false);
            return Ok(());
        }
        self.next_version(step, entity, at, after, TouchedChange::Update)
    }

    pub(crate) async fn delete_version(
        &mut self,
        step: &'a Step,
        entity: &'a Entity,
        at: usize,
    ) -> Result<(), AttemptStop> {
        let row = self.touched(at)?.row();
        let row = row.ok_or_else(|| internal_mistake("a version is removed that is not there"))?;
        let mut row = Attributes::clone(row);
        match &history_of(entity)?.tombstone {
            Some(tombstone) => {
                row.insert(tombstone.clone(), Value::Bool(true));
                self.next_version(step, entity, at, row, TouchedChange::Delete)
            }
            None => self.end_versions(entity, at, &row),
        }
    }

    /// Without a tombstone the last version is only closed: its guards go, and its identity remembers it.
    fn end_versions(&mut self, entity: &'a Entity, at: usize, row: &Attributes) -> Result<(), AttemptStop> {
        let model = self.operation.model;
        let until = self.close_version(entity, at, None)?;
        let mut actions = self.guards_moved(entity, None, row, &Attributes::new())?;
        actions.push(WriteAction {
            key: identity_guard(model, entity, row)?,
            doing: Doing::Update(Update::new().set(CLOSED, until)),
            checks: Vec::new(),
        });
        let touched = self.touched_mut(at)?;
        touched.change = TouchedChange::Delete;
        touched.others.extend(actions);
        Ok(())
    }

    /// Writes a version, closes the one before it, and moves the guards.
    fn next_version(
        &mut self,
        step: &'a Step,
        entity: &'a Entity,
        at: usize,
        mut row: Attributes,
        change: TouchedChange,
    ) -> Result<(), AttemptStop> {
        let history = history_of(entity)?;
        let model = self.operation.model;
        // Another step on the same row has said what the next version is: all of it is one version.
        let touched = self.touched_mut(at)?;
        if touched.change == TouchedChange::Update {
            // What the earlier step put there is part of the version that takes its place.
            touched.others.clear();
        }
        let last = match &touched.before {
            Before::Read { item: Some(item), .. } => Some(row::decode_as_stored(entity, item)?),
            Before::Read { item: None, .. } => None,
            Before::Unread => return Err(internal_mistake("a version follows one that was not read")),
        };
        let closed = last.as_ref().and_then(|last| last.get(&history.until)).cloned();
        let instant = self.next_instant(entity, history, last.as_ref())?;
        row.insert(history.at.clone(), instant.clone());
        row.remove(&history.until);
        let row = row::complete_row(entity, row, self.scope(None))?;
        let mut actions = Vec::new();
        for (_, item) in row::encode_each(model, entity, &row, self.scope(None))? {
            actions.push(WriteAction {
                key: key_in(model, &item),
                doing: Doing::Put(item),
                // The key of a version has its instant: one that is there is somebody else's, who was faster.
                checks: vec![RowCheck::pin(absent_item(model))],
            });
        }
        // Two first versions, or two after the same end, would have two keys: only the guard of the identity keeps them apart.
        let claim = match (&last, &closed) {
            (None, _) => Some((Doing::Put(identity_item(model, entity, &row)?), absent_item(model))),
            (Some(_), Some(until)) => {
                let reopened = Update::new().set(CLOSED, Value::Bool(false));
                Some((Doing::Update(reopened), closed_at(until)))
            }
            (Some(_), None) => None,
        };
        if let Some((doing, condition)) = claim {
            actions.push(WriteAction {
                key: identity_guard(model, entity, &row)?,
                doing,
                checks: vec![RowCheck::pin(condition)],
            });
        }
        let by = Some((step, self.order()));
        actions.extend(self.guards_moved(entity, by, last.as_ref().unwrap_or(&Attributes::new()), &row)?);
        if last.is_some() && closed.is_none() {
            self.close_version(entity, at, Some(instant))?;
        }
        let touched = self.touched_mut(at)?;
        if touched.change == TouchedChange::Create {
            return Err(AttemptStop::Refused(Refused::new("same_item", 409)));
        }
        touched.change = change;
        touched.others.extend(actions);
        match change {
            TouchedChange::Delete => {}
            _ => {
                touched.after = Some(Arc::new(row.clone()));
                self.became(step, at, &row, change == TouchedChange::Create);
            }
        }
        Ok(())
    }

    /// Says until when the last version was the current one, and gives that instant.
    fn close_version(&mut self, entity: &'a Entity, at: usize, until: Option<Value>) -> Result<Value, AttemptStop> {
        let history = history_of(entity)?;
        let model = self.operation.model;
        let item = self.touched(at)?.item().cloned();
        let item = item.ok_or_else(|| internal_mistake("a version is closed that is not there"))?;
        let mut closed = row::decode_as_stored(entity, &item)?;
        let until = match until {
            Some(until) => until,
            None => self.next_instant(entity, history, Some(&closed))?,
        };
        closed.insert(history.until.clone(), until.clone());
        let new = row::encode_with_mirrors(model, entity, &closed, self.scope(None))?;
        let new = new.first().ok_or_else(|| internal_mistake("a version has no item"))?;
        let update = item_update(model, entity, &item, new);
        let checks = self.current(entity, history);
        let mut action = WriteAction {
            key: key_in(model, &item),
            doing: Doing::Update(update),
            checks,
        };
        let touched = self.touched_mut(at)?;
        // Here, since an update of a version is no action of its own.
        action.checks.extend(std::mem::take(&mut touched.checks));
        touched.others.push(action);
        Ok(until)
    }

    /// Conditions that a version is still the last.
    fn current(&self, entity: &Entity, history: &History) -> Vec<RowCheck<'a>> {
        let until = entity
            .attribute(&history.until)
            .map_or(history.until.as_str(), |attribute| {
                stored_name(&attribute.stored, &attribute.name)
            });
        vec![
            RowCheck::pin(present_item(self.operation.model)),
            RowCheck::pin(Condition::not_exists(Path::attribute(until))),
        ]
    }

    /// A version that is only looked at must still be the last; where there is none, its identity must still say so.
    pub(crate) fn check_of_version(&self, touched: &Touched<'a>) -> Result<Vec<WriteAction<'a>>, AttemptStop> {
        let model = self.operation.model;
        let history = history_of(touched.entity)?;
        let Before::Read { item, .. } = &touched.before else {
            return Err(internal_mistake("a version is checked that was not read"));
        };
        let closed = item.as_ref().and_then(|item| item.get(&history.until));
        let (key, mut checks) = match (item, closed) {
            (Some(item), None) => (key_in(model, item), self.current(touched.entity, history)),
            (Some(_), Some(until)) => (touched.key.clone(), vec![RowCheck::pin(closed_at(until))]),
            (None, _) => (touched.key.clone(), vec![RowCheck::pin(absent_item(model))]),
        };
        checks.extend(touched.checks.iter().cloned());
        Ok(vec![WriteAction {
            key,
            doing: Doing::Check,
            checks,
        }])
    }
}

fn history_of(entity: &Entity) -> Result<&History, AttemptStop> {
    let history = entity.history.as_ref();
    history.ok_or_else(|| internal_mistake("an entity without versions has one"))
}
