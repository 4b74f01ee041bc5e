//! What runs after changes, by looking at every row: which changes an operation made, what time has done, and what becomes of all that
//! when nothing is left to run.
//!
//! Changes of one row run in order; which row comes first is left open, and is one of the [`Choices`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use singlet_changes::{ChangeKind, REFUSED_PAUSES_SECONDS};
use singlet_item::Value;
use singlet_model::Model;
use singlet_model::evaluate::{EvaluateError, evaluate, evaluate_as, holds_condition};
use singlet_model::expression::Word;
use singlet_model::model::{Entity, Trigger, TriggerEvent, Webhook, Write};
use singlet_model::types::EntityId;
use singlet_runtime::{Attributes, Caller, Precondition, Scope, Setting, WriteRequest};
use singlet_values::json_text;

use super::oracle::{ExpectedOutcome, Oracle};
use super::world::{self, Row};
use crate::VerifyError;
use crate::choices::Choices;

/// Tells what runs make up from what operations do.
const RUN_NUMBERS: u64 = 1_000_000;

/// The most runs until all is at rest: models whose writes run after one another in a circle are not drawn.
const RUNS_MAX: u64 = 10_000;

/// A row by its entity and identity, in words.
type RowName = String;

/// What happened to a row.
#[derive(Clone, Debug)]
pub(super) struct FollowedChange {
    entity: EntityId,
    row_name: RowName,
    kind: ChangeKind,
    /// What the row became; of one that is gone, what it was last.
    row: Attributes,
    /// What it was before an update.
    before: Option<Attributes>,
}

/// What is still to run, and how often writes ran.
#[derive(Clone, Debug, Default)]
pub(crate) struct FollowingWrites {
    /// Changes by row, those of a row in order.
    queues: BTreeMap<RowName, VecDeque<(FollowedChange, usize)>>,
    /// Writes that cannot be done for a change of a row: later ones wait behind it.
    parked: BTreeSet<(String, RowName)>,
    /// How many changes are parked.
    pub parked_changes: usize,
    /// Runs by write: done, and refused.
    pub runs: BTreeMap<String, (u64, u64)>,
    /// What other systems are told: webhook, and what of the change.
    pub told: Vec<(String, String)>,
    /// What a rule refused for now, by write and row, and what waits behind it.
    waiting: BTreeMap<(String, RowName), Waiting>,
    /// How many refusals were tried again.
    pub retried: u64,
    run_count: u64,
}

/// Changes of a row that wait for a write to be tried again.
#[derive(Clone, Debug)]
struct Waiting {
    changes: VecDeque<FollowedChange>,
    /// How often the first was refused.
    refused: usize,
    /// When it is tried next, in seconds; never, where it waits for an operator.
    next_at: Option<i64>,
}

impl Waiting {
    fn refuse(&mut self, now: i64) {
        let pause = REFUSED_PAUSES_SECONDS.get(self.refused);
        self.refused += 1;
        self.next_at = pause.map(|pause| now.div_euclid(1_000) + pause);
    }
}

/// What is done after a change.
#[derive(Clone, Copy)]
enum After<'m> {
    Write(&'m Write, &'m Trigger),
    Webhook(&'m Webhook),
}

impl<'m> After<'m> {
    fn all(model: &'m Model, entity: EntityId) -> impl Iterator<Item = After<'m>> {
        let writes = model
            .triggered_writes()
            .map(|(write, trigger)| After::Write(write, trigger));
        let all = writes.chain(model.webhooks.iter().map(After::Webhook));
        all.filter(move |after| after.trigger().entity == entity)
    }

    fn trigger(self) -> &'m Trigger {
        match self {
            After::Write(_, trigger) => trigger,
            After::Webhook(webhook) => &webhook.after,
        }
    }
}

/// The model and its deployment.
#[derive(Clone, Copy)]
pub(super) struct FollowSetting<'a> {
    pub model: &'a Model,
    pub setting: &'a Setting,
}

impl FollowSetting<'_> {
    fn scope<'s>(&'s self, now: i64, nothing: &'s Attributes, nobody: &'s Caller, bound: &'s Attributes) -> Scope<'s> {
        Scope {
            setting: self.setting,
            now,
            args: nothing,
            caller: nobody,
            attributes: None,
            row: None,
            bound,
        }
    }

    /// The row as it is at an instant.
    fn seen(&self, (entity, row): &Row, now: i64) -> Result<Option<Attributes>, EvaluateError> {
        let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
        let scope = self.scope(now, &nothing, &nobody, &nothing);
        match self.model.entity(*entity) {
            Some(entity) => world::live_row(entity, row, scope),
            None => Ok(None),
        }
    }

    fn is_lapsed(&self, (entity, row): &Row, seen: &Attributes) -> bool {
        let entity = self.model.entity(*entity);
        let states = entity.and_then(|entity| entity.states.as_ref());
        states.is_some_and(|states| row.get(&states.of) != seen.get(&states.of))
    }

    /// Whether something runs after what time has done to the state of a row, were it not for its end.
    fn waits_for_lapse(&self, entity: &Entity, row: &Row, now: i64) -> Result<bool, EvaluateError> {
        let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
        let scope = self.scope(now, &nothing, &nobody, &nothing);
        let lapsed = world::lapsed_row(entity, &row.1, scope)?;
        let change = self.change(row, ChangeKind::Updated, (&lapsed, Some(&row.1)));
        Ok(self.is_lapsed(row, &lapsed) && change.runs_something(self.model))
    }

    fn row_name(&self, (entity, row): &Row) -> RowName {
        format!("{entity:?} {:?}", world::row_identity(self.model, *entity, row))
    }

    fn change(&self, of: &Row, kind: ChangeKind, (row, before): (&Attributes, Option<&Attributes>)) -> FollowedChange {
        FollowedChange {
            entity: of.0,
            row_name: self.row_name(of),
            kind,
            row: row.clone(),
            before: before.cloned(),
        }
    }

    fn followed_rows<'r>(&self, rows: &'r [Row]) -> BTreeMap<RowName, &'r Row> {
        let mut found = BTreeMap::new();
        for row in rows.iter().filter(|(entity, _)| self.model.is_followed(*entity)) {
            let entity = self.model.entity(row.0);
            if entity.is_some_and(|entity| world::is_current(entity, &row.1)) {
                found.insert(self.row_name(row), row);
            }
        }
        found
    }
}

impl FollowingWrites {
    /// Takes up what an operation at an instant changed.
    pub(super) fn take_up(
        &mut self,
        places: FollowSetting<'_>,
        (before, after): (&[Row], &[Row]),
        now: i64,
    ) -> Result<(), EvaluateError> {
        let (before, after) = (places.followed_rows(before), places.followed_rows(after));
        let names: BTreeSet<&RowName> = before.keys().chain(after.keys()).collect();
        for name in names {
            let (was, is) = (before.get(name).copied(), after.get(name).copied());
            if was == is {
                continue;
            }
            let mut earlier = None;
            if let Some(was) = was {
                let ends_at_once = match is {
                    Some(is) => places.seen(is, now)?.is_none(),
                    None => false,
                };
                match places.seen(was, now)? {
                    // Nobody saw either, and what wrote it may have been an update that came late.
                    None if ends_at_once => earlier = Some(was.1.clone()),
                    // Nobody saw it any more, so that what is in its place is new.
                    None => self.queue(places.change(was, ChangeKind::Expired, (&was.1, None))),
                    Some(seen) => {
                        if places.is_lapsed(was, &seen) {
                            self.queue(places.change(was, ChangeKind::Updated, (&seen, Some(&was.1))));
                        }
                        earlier = Some(seen);
                    }
                }
            }
            match (earlier, is, was) {
                (None, Some(is), _) => self.queue(places.change(is, ChangeKind::Created, (&is.1, None))),
                (Some(earlier), Some(is), _) if earlier != is.1 => {
                    self.queue(places.change(is, ChangeKind::Updated, (&is.1, Some(&earlier))));
                }
                (Some(earlier), None, Some(was)) => {
                    self.queue(places.change(was, ChangeKind::Deleted, (&earlier, None)));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn queue(&mut self, change: FollowedChange) {
        let queue = self.queues.entry(change.row_name.clone()).or_default();
        queue.push_back((change, 0));
    }

    /// Stores what time has done by an instant to rows, where a write runs after that.
    fn store_due(&mut self, places: FollowSetting<'_>, oracle: &mut Oracle, now: i64) -> Result<(), EvaluateError> {
        let mut kept = Vec::new();
        for row in std::mem::take(&mut oracle.rows) {
            let entity = places.model.entity(row.0).filter(|entity| entity.history.is_none());
            let Some(entity) = entity.filter(|entity| places.model.is_followed(entity.id)) else {
                kept.push(row);
                continue;
            };
            let (mut change, mut later) = (None, None);
            match places.seen(&row, now)? {
                None => {
                    // Who waited for its state to lapse finds that it has ended, and removes it, whether or not that runs anything.
                    if places.waits_for_lapse(entity, &row, now)? {
                        self.queue(places.change(&row, ChangeKind::Expired, (&row.1, None)));
                        continue;
                    }
                    change = Some(places.change(&row, ChangeKind::Expired, (&row.1, None)));
                }
                Some(seen) if places.is_lapsed(&row, &seen) => {
                    let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
                    let seen = world::compute_row(entity, seen, places.scope(now, &nothing, &nobody, &nothing))?;
                    change = Some(places.change(&row, ChangeKind::Updated, (&seen, Some(&row.1))));
                    later = Some((row.0, seen));
                }
                Some(_) => {}
            }
            match change.filter(|change| change.runs_something(places.model)) {
                Some(change) => {
                    kept.extend(later);
                    self.queue(change);
                }
                None => kept.push(row),
            }
        }
        oracle.rows = kept;
        Ok(())
    }

    /// Runs all that is to run at an instant, until nothing is left: the values that were made up.
    pub(super) fn come_to_rest(
        &mut self,
        places: FollowSetting<'_>,
        oracle: &mut Oracle,
        now: i64,
        choices: &Choices,
    ) -> Result<Vec<String>, VerifyError> {
        let mut made = Vec::new();
        let failed = |error: EvaluateError| VerifyError::failed("the oracle cannot tell what time does", error);
        loop {
            loop {
                if self.run_count > RUNS_MAX {
                    return Err(VerifyError::Failed(
                        "writes run after one another without end".to_owned(),
                    ));
                }
                let due = self.due(now);
                if self.queues.is_empty() && due.is_empty() {
                    break;
                }
                let row = choices.choose_one(self.queues.len() + due.len());
                made.extend(match self.queues.keys().nth(row).cloned() {
                    Some(name) => self.run_next(places, oracle, &name, now).map_err(failed)?,
                    None => match due.get(row - self.queues.len()) {
                        Some(waiting) => self.try_again(places, oracle, waiting, now).map_err(failed)?,
                        None => Vec::new(),
                    },
                });
            }
            self.store_due(places, oracle, now).map_err(failed)?;
            if self.queues.is_empty() {
                return Ok(made);
            }
        }
    }

    /// Runs the next write after the first change of a row.
    fn run_next(
        &mut self,
        places: FollowSetting<'_>,
        oracle: &mut Oracle,
        name: &RowName,
        now: i64,
    ) -> Result<Vec<String>, EvaluateError> {
        let Some(queue) = self.queues.get_mut(name) else {
            return Ok(Vec::new());
        };
        let Some((change, next)) = queue.front_mut() else {
            self.queues.remove(name);
            return Ok(Vec::new());
        };
        let entity = change.entity;
        let Some(after) = After::all(places.model, entity).nth(*next) else {
            queue.pop_front();
            if queue.is_empty() {
                self.queues.remove(name);
            }
            return Ok(Vec::new());
        };
        *next += 1;
        let change = change.clone();
        match after {
            After::Write(write, trigger) => self.run(places, oracle, (write, trigger), &change, now),
            After::Webhook(webhook) => {
                self.tell(places, webhook, &change);
                Ok(Vec::new())
            }
        }
    }

    /// Has another system told of a change.
    fn tell(&mut self, places: FollowSetting<'_>, webhook: &Webhook, change: &FollowedChange) {
        let trigger = &webhook.after;
        if !change.is_event(places.model, trigger) {
            return;
        }
        let words = change.words();
        let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
        let scope = places.scope(0, &nothing, &nobody, &words);
        match trigger
            .when
            .as_ref()
            .map(|when| holds_condition(when, &scope))
            .transpose()
        {
            Ok(Some(false)) => return,
            Ok(_) => {}
            // No order is promised: nothing waits behind it.
            Err(_) => {
                self.parked_changes += 1;
                return;
            }
        }
        let mut data = Attributes::new();
        for (name, expr) in &trigger.args {
            match evaluate(expr, &scope) {
                Ok(value) => data.extend(value.map(|value| (name.clone(), value))),
                Err(_) => {
                    self.parked_changes += 1;
                    return;
                }
            }
        }
        self.told
            .push((webhook.name.clone(), json_text::json_of(&Value::M(data))));
    }

    /// How many changes are kept for writes that were not done.
    pub(crate) fn kept_changes(&self) -> usize {
        let waiting = self.waiting.values().map(|waiting| waiting.changes.len());
        self.parked_changes + waiting.sum::<usize>()
    }

    /// What was refused for now and is due.
    fn due(&self, now: i64) -> Vec<(String, RowName)> {
        let is_due = |waiting: &Waiting| waiting.next_at.is_some_and(|at| at <= now.div_euclid(1_000));
        let due = self.waiting.iter().filter(|(_, waiting)| is_due(waiting));
        due.map(|(name, _)| name.clone()).collect()
    }

    /// Tries the first of the changes again that wait for a write.
    fn try_again(
        &mut self,
        places: FollowSetting<'_>,
        oracle: &mut Oracle,
        name: &(String, RowName),
        now: i64,
    ) -> Result<Vec<String>, EvaluateError> {
        let found = places.model.triggered_writes().find(|(write, _)| write.name == name.0);
        let first = self
            .waiting
            .get(name)
            .and_then(|waiting| waiting.changes.front().cloned());
        let (Some((write, trigger)), Some(change)) = (found, first) else {
            self.waiting.remove(name);
            return Ok(Vec::new());
        };
        self.retried += 1;
        let (ended, made) = self.evaluated(places, oracle, (write, trigger), &change, now)?;
        let Some(waiting) = self.waiting.get_mut(name) else {
            return Ok(made);
        };
        match ended {
            FollowedRunEnd::Done => {
                waiting.changes.pop_front();
                (waiting.refused, waiting.next_at) = (0, Some(now.div_euclid(1_000)));
                if waiting.changes.is_empty() {
                    self.waiting.remove(name);
                }
            }
            FollowedRunEnd::Refused => waiting.refuse(now),
            FollowedRunEnd::Impossible => waiting.next_at = None,
        }
        Ok(made)
    }

    fn run(
        &mut self,
        places: FollowSetting<'_>,
        oracle: &mut Oracle,
        (write, trigger): (&Write, &Trigger),
        change: &FollowedChange,
        now: i64,
    ) -> Result<Vec<String>, EvaluateError> {
        if !change.is_event(places.model, trigger) {
            return Ok(Vec::new());
        }
        let words = change.words();
        let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
        let scope = places.scope(0, &nothing, &nobody, &words);
        match trigger
            .when
            .as_ref()
            .map(|when| holds_condition(when, &scope))
            .transpose()
        {
            Ok(Some(false)) => return Ok(Vec::new()),
            Ok(_) => {}
            Err(_) => {
                self.park(write, change);
                return Ok(Vec::new());
            }
        }
        let name = (write.name.clone(), change.row_name.clone());
        if self.parked.contains(&name) {
            self.parked_changes += 1;
            return Ok(Vec::new());
        }
        if let Some(waiting) = self.waiting.get_mut(&name) {
            waiting.changes.push_back(change.clone());
            return Ok(Vec::new());
        }
        let (ended, made) = self.evaluated(places, oracle, (write, trigger), change, now)?;
        match ended {
            FollowedRunEnd::Done => {}
            FollowedRunEnd::Refused if trigger.retries_refusals => {
                let mut waiting = Waiting {
                    changes: VecDeque::from([change.clone()]),
                    refused: 0,
                    next_at: None,
                };
                waiting.refuse(now);
                self.waiting.insert(name, waiting);
            }
            FollowedRunEnd::Refused => {}
            FollowedRunEnd::Impossible => self.park(write, change),
        }
        Ok(made)
    }

    /// Runs a write after a change: how that ended, and the values that were made up.
    fn evaluated(
        &mut self,
        places: FollowSetting<'_>,
        oracle: &mut Oracle,
        (write, trigger): (&Write, &Trigger),
        change: &FollowedChange,
        now: i64,
    ) -> Result<(FollowedRunEnd, Vec<String>), EvaluateError> {
        let words = change.words();
        let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
        let scope = places.scope(0, &nothing, &nobody, &words);
        let mut args = Attributes::new();
        for (name, expr) in &trigger.args {
            let value = match expr.ty.is_unknown() {
                true => evaluate(expr, &scope),
                false => evaluate_as(expr, &expr.ty, &scope),
            };
            match value {
                Ok(value) => args.extend(value.map(|value| (name.clone(), value))),
                Err(_) => return Ok((FollowedRunEnd::Impossible, Vec::new())),
            }
        }
        self.run_count += 1;
        let request = WriteRequest {
            args,
            caller: Caller::anonymous(),
            now,
            idempotency_key: Some(format!("change {}", self.run_count)),
            precondition: Precondition::Unsaid,
        };
        let number = RUN_NUMBERS + self.run_count;
        let meant = oracle.meant_after((places.model, places.setting), write, (&request, &words), number);
        let runs = self.runs.entry(write.name.clone()).or_default();
        let ended = match &meant.outcome {
            ExpectedOutcome::Done { .. } => {
                runs.0 += 1;
                FollowedRunEnd::Done
            }
            ExpectedOutcome::Refused(_) => {
                runs.1 += 1;
                FollowedRunEnd::Refused
            }
            _ => FollowedRunEnd::Impossible,
        };
        let before = oracle.rows.clone();
        let made = meant.made.clone();
        oracle.accept_meant(meant);
        self.take_up(places, (&before, &oracle.rows), now)?;
        Ok((ended, made))
    }

    fn park(&mut self, write: &Write, change: &FollowedChange) {
        self.parked_changes += 1;
        self.parked.insert((write.name.clone(), change.row_name.clone()));
    }
}

/// How a run ended.
enum FollowedRunEnd {
    Done,
    Refused,
    /// It cannot be done for this change.
    Impossible,
}

impl FollowedChange {
    /// What expressions know of it.
    fn words(&self) -> Attributes {
        let mut words = Attributes::from([(Word::Changed.as_str().to_owned(), Value::M(self.row.clone()))]);
        let before = self.before.clone();
        words.extend(before.map(|before| (Word::Before.as_str().to_owned(), Value::M(before))));
        words
    }

    fn runs_something(&self, model: &Model) -> bool {
        After::all(model, self.entity).any(|after| self.is_event(model, after.trigger()))
    }

    /// Whether it is what a write runs after.
    fn is_event(&self, model: &Model, trigger: &Trigger) -> bool {
        let before = |name: &str| self.before.as_ref().and_then(|before| before.get(name));
        match &trigger.event {
            TriggerEvent::Create => self.kind == ChangeKind::Created,
            TriggerEvent::Delete => self.kind == ChangeKind::Deleted,
            TriggerEvent::Expire => self.kind == ChangeKind::Expired,
            // No change is one: its instant comes. Drawn models have none.
            TriggerEvent::Reach(_) => false,
            TriggerEvent::Update(None) => self.kind == ChangeKind::Updated,
            TriggerEvent::Update(Some(name)) => self.kind == ChangeKind::Updated && before(name) != self.row.get(name),
            TriggerEvent::Enter(state) => {
                let entity = model.entity(self.entity);
                let states = entity.and_then(|entity| entity.states.as_ref());
                let Some(of) = states.map(|states| states.of.as_str()) else {
                    return false;
                };
                let is_it = |value: Option<&Value>| value.and_then(Value::as_str) == Some(state.as_str());
                let is_there = matches!(self.kind, ChangeKind::Created | ChangeKind::Updated);
                is_there && is_it(self.row.get(of)) && !is_it(before(of))
            }
        }
    }
}
