//! Operations that are more than a transaction holds: each step, and each turn of an outermost loop, is done whole or not at all, in
//! order; turns about different rows share a transaction. How far it came stands in a row that every transaction moves on with what it
//! does, so that a turn is done once.

mod progress;

use std::collections::HashSet;

use singlet_item::{Item, Number, Value};
use singlet_model::model::{LetValue, Step, StepKind};
use singlet_plan::write::StepPlan;
use singlet_store::{Condition, Consumed, DeleteRequest, ErrorKind, GetRequest, Path, Update};

use self::progress::{BOUND, BulkProgress, BulkTurn, FROM, SEEN, TURN, mark_of, place_of, unreadable};
use super::attempt::Attempt;
use super::steps::Element;
use super::touched::{Doing, RowCheck, WriteAction};
use super::{AttemptStop, WriteOperation, Written, internal_mistake, record, send};
use crate::error::RuntimeError;
use crate::find::Onward;
use crate::scope::Attributes;
use crate::{retry, row};

/// Does an operation from where it stopped.
pub(super) async fn run_bulk(operation: &WriteOperation<'_>) -> Result<Written, RuntimeError> {
    let mut consumed = Consumed::default();
    if let Some(record) = &operation.record
        // First: what was answered is answered again, and not done a second time.
        && let Some(written) = record.replayed(operation, &mut consumed).await?
    {
        return Ok(Written { consumed, ..written });
    }
    let mut bulk = Bulk {
        operation,
        key: place_of(operation)?,
        progress: BulkProgress::default(),
        turn: 0,
        resumed: false,
        bound: Attributes::new(),
        alone: false,
        consumed,
    };
    // The record is written when all is done, and everything is of the instant at which it began.
    let begins = unrecorded(operation, operation.request);
    if let Some(written) = bulk.begin(&begins).await? {
        return Ok(Written {
            consumed: bulk.consumed,
            ..written
        });
    }
    let request = super::WriteRequest {
        // The instant at which it began, also after a restart: turns of one operation must not be of two.
        now: bulk.progress.now,
        // A version is one row's; every turn is about another.
        precondition: super::Precondition::Unsaid,
        ..operation.request.clone()
    };
    let began = unrecorded(operation, &request);
    bulk.steps(&began).await?;
    bulk.end(operation).await
}

/// The operation for one turn: of another request, and without the record of the first.
fn unrecorded<'a>(operation: &WriteOperation<'a>, request: &'a super::WriteRequest) -> WriteOperation<'a> {
    WriteOperation {
        engine: operation.engine,
        model: operation.model,
        write: operation.write,
        plan: operation.plan,
        args: operation.args.clone(),
        request,
        record: None,
        change: operation.change,
    }
}

struct Bulk<'o> {
    operation: &'o WriteOperation<'o>,
    key: Item,
    progress: BulkProgress,
    /// How often the progress was moved on: two runs of one operation must not both take a turn.
    turn: u64,
    /// Whether an earlier run stopped half-way.
    resumed: bool,
    bound: Attributes,
    /// Whether turns were found to be in one another's way.
    alone: bool,
    consumed: Consumed,
}

impl<'o> Bulk<'o> {
    /// Goes on where an earlier run stopped, or begins: then `allow`, `let` and `require` are evaluated, once. Gives the answer
    /// where another run has just ended.
    async fn begin(&mut self, operation: &WriteOperation<'_>) -> Result<Option<Written>, RuntimeError> {
        let mut read_first = HashSet::new();
        let mut tries = 0;
        loop {
            // Before anything is evaluated: whoever began has decided `allow` and `require` already.
            if let Some(item) = self.stored().await? {
                let stored = BulkProgress::read(&item)?;
                (self.progress, self.turn, self.bound) = (stored.progress, stored.turn, stored.bound);
                self.resumed = true;
                return Ok(None);
            }
            let mut attempt = Attempt::new(operation, &read_first);
            let began = self.first(&mut attempt).await;
            self.consumed += &attempt.consumed;
            match began {
                Ok(bound) => {
                    self.bound = bound;
                    return Ok(None);
                }
                Err(AttemptStop::ReadFirst(keys)) => super::remember_wanted(&mut read_first, keys)?,
                Err(AttemptStop::Again | AttemptStop::Recorded) => {
                    if let Some(written) = self.operation.replayed(&mut self.consumed).await? {
                        return Ok(Some(written));
                    }
                    tries += 1;
                    if tries as usize >= self.operation.engine.bounds().write_attempts_max {
                        return Err(RuntimeError::Conflict);
                    }
                    retry::retry_pause(tries).await;
                }
                stopped => return ended(stopped).map(|_| None),
            }
        }
    }

    /// The row of the progress, where there is one: it counts for a day after the last turn.
    async fn stored(&mut self) -> Result<Option<Item>, RuntimeError> {
        let request = GetRequest {
            table: self.operation.model.table.name.clone(),
            key: self.key.clone(),
            consistent: true,
            projection: Default::default(),
        };
        let answer = retry::with_retries(self.operation.engine.bounds(), || {
            self.operation.engine.store().get(&request)
        })
        .await?;
        self.consumed += &answer.consumed;
        // One that no longer counts is that of an operation which was given up.
        Ok(answer.item.filter(|item| !record::has_expired(self.operation, item)))
    }

    /// Writes the first progress under the conditions of `allow`, `let` and `require`. Gives the names that they bound.
    async fn first(&mut self, attempt: &mut Attempt<'_>) -> Result<Attributes, AttemptStop> {
        self.progress.now = self.operation.request.now;
        attempt.answers = false;
        attempt.prepare().await?;
        let mut bound = attempt.bound.clone();
        // A change is told again with every attempt, and two images of a row may be more than an item holds.
        self.operation
            .change
            .iter()
            .for_each(|change| change.leave_out(&mut bound));
        let mut item = self.key.clone();
        item.extend(self.progress.fields(self.turn)?);
        item.extend([record::record_expiry(self.operation)]);
        // Kept with the progress: later turns know the names as they were when it began.
        item.insert(BOUND.to_owned(), Value::M(bound.clone()));
        if let Some(name) = &self.operation.model.table.type_attribute {
            item.insert(name.clone(), Value::S("$progress".to_owned()));
        }
        let put = WriteAction {
            key: self.key.clone(),
            doing: Doing::Put(item),
            // Of two that begin at once one writes it; the other finds it and goes on there.
            checks: vec![RowCheck::pin(record::absent_or_expired(self.operation))],
        };
        // A request that was done before must not begin again.
        let unrecorded = self.operation.record.iter().map(|record| record.absent(self.operation));
        attempt.finish(std::iter::once(put).chain(unrecorded).collect()).await?;
        Ok(bound)
    }

    /// An attempt that knows what was bound when the operation began.
    fn attempt_of<'a>(&self, operation: &'a WriteOperation<'a>, read_first: &'a HashSet<Item>) -> Attempt<'a> {
        let mut attempt = Attempt::new(operation, read_first);
        attempt.bound.extend(self.bound.clone());
        attempt
    }

    /// Whether another run of the same operation took a turn, or ended it.
    async fn is_overtaken(&mut self) -> Result<bool, RuntimeError> {
        let turn = self.turn;
        Ok(match self.stored().await? {
            Some(item) => progress::turn_of(&item)? != turn,
            None => true,
        })
    }

    async fn steps(&mut self, operation: &WriteOperation<'_>) -> Result<(), RuntimeError> {
        let steps = operation.write.steps.iter().zip(&operation.plan.steps);
        for (at, (step, plan)) in steps.enumerate() {
            // Steps that were done are passed over, by their number.
            if (at as u64) < self.progress.step {
                continue;
            }
            match &step.repeat {
                None => self.turn(operation, step, plan, None, true).await?,
                Some((_, LetValue::Value(list))) => {
                    let none = HashSet::new();
                    let mut attempt = self.attempt_of(operation, &none);
                    let elements = attempt.listed(list).await;
                    self.consumed += &attempt.consumed;
                    // By place: elements of a list may be equal.
                    let from = usize::try_from(self.progress.element).unwrap_or(usize::MAX);
                    let turns = ended(elements)?.into_iter().skip(from);
                    let turns: Vec<BulkTurn> = turns.map(|(element, _)| BulkTurn::Element(element)).collect();
                    self.turns(operation, step, plan, turns).await?;
                }
                Some((_, LetValue::Read(_))) => self.found(operation, step, plan).await?,
            }
            self.progress = self.progress.at_step(at as u64 + 1);
            self.alone = false;
        }
        Ok(())
    }

    /// Every row that is found, page by page, from where an earlier run stopped.
    async fn found(
        &mut self,
        operation: &WriteOperation<'_>,
        step: &Step,
        plan: &StepPlan,
    ) -> Result<(), RuntimeError> {
        let (Some((_, LetValue::Read(selection))), Some(found)) = (&step.repeat, &plan.rows) else {
            return Err(RuntimeError::Internal("a loop over rows has no plan".to_owned()));
        };
        let rows_per_page = operation.engine.bounds().bulk_rows_per_page;
        let entity = selection.entity().and_then(|id| operation.model.entity(id));
        let entity = entity.ok_or_else(|| RuntimeError::Internal("a loop has no entity".to_owned()))?;
        let mut onward = self.progress.from.clone().map_or(Onward::Start, Onward::At);
        while onward != Onward::End {
            let none = HashSet::new();
            let mut attempt = self.attempt_of(operation, &none);
            let page = attempt.found_page(selection, found, rows_per_page, &onward).await;
            self.consumed += &attempt.consumed;
            let page = match page {
                // Rows are no longer looked for as they were when it began, so that the place says nothing.
                Err(AttemptStop::Failed(RuntimeError::Cursor)) => return Err(unreadable()),
                page => ended(page)?,
            };
            let mut met = Vec::with_capacity(page.rows.len());
            let mut turns = Vec::with_capacity(page.rows.len());
            for row in page.rows {
                let mark = mark_of(operation, entity, &row);
                // A row that a page has twice has one turn.
                // By mark and not by place: a turn that changes its row may move it behind the page.
                if !self.progress.seen.contains(&mark) && !met.contains(&mark) {
                    turns.push(BulkTurn::Row(row, mark));
                }
                met.push(mark);
            }
            self.turns(operation, step, plan, turns).await?;
            onward = page.onward;
            if let Onward::At(positions) = &onward {
                // After all turns of the page, which are noted one by one.
                self.progress.from = Some(positions.clone());
                // A page may be shorter than the one that an earlier run was in: rows that it has done may lie ahead.
                self.progress.seen.retain(|mark| !met.contains(mark));
            }
        }
        Ok(())
    }

    /// Some turns in order: those that can be in one transaction, the others by themselves.
    async fn turns(
        &mut self,
        operation: &WriteOperation<'_>,
        step: &Step,
        plan: &StepPlan,
        turns: Vec<BulkTurn>,
    ) -> Result<(), RuntimeError> {
        let mut waiting = turns.as_slice();
        while let Some((first, others)) = waiting.split_first() {
            let done = match self.alone || finds_rows(operation.model, step) {
                true => 0,
                false => self.turns_together(operation, step, plan, waiting).await?,
            };
            if done == 0 {
                self.turn(operation, step, plan, Some(first), false).await?;
            }
            waiting = match done {
                0 => others,
                done => waiting.get(done..).unwrap_or_default(),
            };
        }
        Ok(())
    }

    /// As many of the next turns as one transaction can have: each evaluated by itself, none about a row that another is about, so that they
    /// come to what they would come to one after the other. Says how many were done; none where something is in the way, which the first of them
    /// then meets by itself.
    async fn turns_together(
        &mut self,
        operation: &WriteOperation<'_>,
        step: &Step,
        plan: &StepPlan,
        waiting: &[BulkTurn],
    ) -> Result<usize, RuntimeError> {
        let bounds = operation.engine.bounds();
        let none = HashSet::new();
        let mut all: Vec<WriteAction<'_>> = Vec::new();
        let mut next = self.progress.clone();
        let mut taken = 0;
        for turn in waiting.iter().take(bounds.bulk_turns_at_once) {
            let mut attempt = self.attempt_of(operation, &none);
            let actions = evaluated(&mut attempt, step, plan, turn).await;
            self.consumed += &attempt.consumed;
            let Ok(Some(actions)) = actions else { break };
            // The progress is one more.
            if !join(&mut all, actions, bounds.transaction_items_max.saturating_sub(1)) {
                break;
            }
            // In order: a turn that was taken without those before it would leave a gap in the progress.
            next = next.after(Some(turn), true);
            taken += 1;
        }
        // Turns that are about one row stay so: what the next would look at in vain is not read.
        self.alone = taken < waiting.len().min(2).min(bounds.bulk_turns_at_once);
        if taken == 0 {
            return Ok(0);
        }
        let sent = match self.moved(&next) {
            Ok(progress) => {
                // In the same transaction: a turn is done exactly when the progress says so.
                all.push(progress);
                send::send_actions(operation, all, false, &mut self.consumed).await
            }
            Err(stop) => Err(stop),
        };
        match sent {
            Ok(_) => {
                // Once for the transaction: it is the number under which the next one must find the row.
                self.turn += 1;
                self.progress = next;
                Ok(taken)
            }
            Err(AttemptStop::Failed(RuntimeError::Store(error))) if error.is_unavailable() => Err(error.into()),
            // Whoever is in the way, or whichever of them is refused, is found one by one.
            Err(_) => {
                self.alone = true;
                Ok(0)
            }
        }
    }

    /// One transaction: what the turn does, and that it is done.
    async fn turn(
        &mut self,
        operation: &WriteOperation<'_>,
        step: &Step,
        plan: &StepPlan,
        element: Option<&BulkTurn>,
        last: bool,
    ) -> Result<(), RuntimeError> {
        let mut read_first = HashSet::new();
        let mut tries = 0;
        loop {
            let mut attempt = self.attempt_of(operation, &read_first);
            let ended_turn = self.attempt(&mut attempt, step, plan, element, last).await;
            self.consumed += &attempt.consumed;
            match ended_turn {
                Ok(did) => {
                    self.turn += u64::from(did);
                    self.progress = self.progress.after(element, did);
                    return Ok(());
                }
                Err(AttemptStop::ReadFirst(keys)) => super::remember_wanted(&mut read_first, keys)?,
                Err(AttemptStop::Failed(error)) => return Err(error),
                // A row that is gone or no longer fits was somebody else's, or this operation's own before it stopped.
                Err(AttemptStop::Refused(refused)) if refused.status == 404 && (self.resumed || self.turn > 0) => {
                    self.progress = self.progress.after(element, false);
                    return Ok(());
                }
                // What another run of the same operation did since may be what refuses this one.
                Err(AttemptStop::Refused(_)) if self.is_overtaken().await? => return Err(RuntimeError::Conflict),
                Err(AttemptStop::Refused(refused)) => {
                    if self.turn == 0 {
                        self.forget().await?;
                    }
                    return Err(RuntimeError::Refused(Box::new(refused)));
                }
                Err(AttemptStop::Again | AttemptStop::Recorded | AttemptStop::Skipped) => {
                    tries += 1;
                    if tries as usize >= self.operation.engine.bounds().write_attempts_max
                        || self.is_overtaken().await?
                    {
                        return Err(RuntimeError::Conflict);
                    }
                    retry::retry_pause(tries).await;
                }
            }
        }
    }

    async fn attempt<'a>(
        &self,
        attempt: &mut Attempt<'a>,
        step: &'a Step,
        plan: &'a StepPlan,
        element: Option<&BulkTurn>,
        last: bool,
    ) -> Result<bool, AttemptStop> {
        if let Some(turn) = element
            // Looked at again in its own turn: the row may have changed since the page was read.
            && !bind_turn(attempt, step, turn).await?
        {
            return Ok(false);
        }
        attempt.answers = false;
        attempt.turn(step, plan).await?;
        let mut next = self.progress.after(element, true);
        if last {
            next = next.at_step(next.step + 1);
        }
        let progress = self.moved(&next)?;
        attempt.finish(vec![progress]).await?;
        Ok(true)
    }

    /// The progress, moved on by one turn.
    fn moved<'a>(&self, next: &BulkProgress) -> Result<WriteAction<'a>, AttemptStop> {
        let mut fields = next.fields(self.turn + 1)?;
        fields.push(record::record_expiry(self.operation));
        let is_set = |name: &str| fields.iter().any(|(known, _)| known == name);
        let mut update = Update::new();
        // What is not set has to go, or the progress would keep the place of a step that is over.
        for name in [FROM, SEEN].into_iter().filter(|name| !is_set(name)) {
            update = update.remove(name);
        }
        for (name, value) in fields {
            update = update.set(name.as_str(), value);
        }
        Ok(WriteAction {
            key: self.key.clone(),
            doing: Doing::Update(update),
            // Two runs of one operation: the one that is second finds another number, and takes no turn.
            checks: vec![RowCheck::pin(self.is_ours())],
        })
    }

    /// Removes the row of the progress, where it is still this run's: another may have begun meanwhile.
    async fn forget(&mut self) -> Result<(), RuntimeError> {
        let request = DeleteRequest {
            table: self.operation.model.table.name.clone(),
            key: self.key.clone(),
            condition: Some(self.is_ours()),
            return_old: false,
        };
        let deleted = retry::with_retries(self.operation.engine.bounds(), || {
            self.operation.engine.store().delete(&request)
        })
        .await;
        match deleted {
            Ok(answer) => {
                self.consumed += &answer.consumed;
                Ok(())
            }
            Err(error) if matches!(error.kind(), ErrorKind::ConditionFailed { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Nobody moved the progress on since this run did.
    fn is_ours(&self) -> Condition {
        let turn = Value::N(Number::from(i64::try_from(self.turn).unwrap_or(i64::MAX)));
        Condition::equal(Path::attribute(TURN), turn)
    }

    /// The answer; with a key its record is written, and the progress goes.
    async fn end(mut self, operation: &WriteOperation<'_>) -> Result<Written, RuntimeError> {
        let none = HashSet::new();
        let mut attempt = self.attempt_of(operation, &none);
        let done = Value::N(Number::from(i64::try_from(self.progress.done).unwrap_or(i64::MAX)));
        attempt.bound.insert("done".to_owned(), done);
        if operation.record.is_some() {
            let gone = WriteAction {
                key: self.key.clone(),
                doing: Doing::Delete,
                checks: vec![RowCheck::pin(self.is_ours())],
            };
            let written = attempt.finish(vec![gone]).await;
            self.consumed += &attempt.consumed;
            let written = match written {
                // Another run ended it, and its answer counts.
                Err(AttemptStop::Recorded | AttemptStop::Again) => operation
                    .replayed(&mut self.consumed)
                    .await?
                    .ok_or(RuntimeError::Conflict)?,
                written => ended(written)?,
            };
            return Ok(Written {
                consumed: self.consumed,
                ..written
            });
        }
        let written = attempt.finish(Vec::new()).await;
        self.consumed += &attempt.consumed;
        let written = ended(written)?;
        self.forget().await?;
        Ok(Written {
            consumed: self.consumed,
            ..written
        })
    }
}

/// Binds the element of a turn; false where it no longer is what was looked for.
async fn bind_turn<'a>(attempt: &mut Attempt<'a>, step: &'a Step, turn: &BulkTurn) -> Result<bool, AttemptStop> {
    let Some((name, list)) = &step.repeat else {
        return Ok(true);
    };
    let bound: Option<Element> = match (turn, list) {
        (BulkTurn::Element(value), LetValue::Value(list)) => Some(attempt.element_of(list, value.clone())?),
        (BulkTurn::Row(found, _), LetValue::Read(selection)) => {
            let entity = selection
                .entity()
                .ok_or_else(|| internal_mistake("a loop has no entity"))?;
            let entity = attempt.entity(entity)?;
            match attempt.found_row(entity, found.clone(), selection).await? {
                Some(at) => {
                    let row = attempt.touched(at)?.row();
                    row.map(|row| (row::as_value(row), Some(at)))
                }
                None => None,
            }
        }
        _ => return Err(internal_mistake("a turn is about what its loop does not have")),
    };
    let is_bound = bound.is_some();
    if let Some(bound) = bound {
        attempt.bind_element(name, bound);
    }
    Ok(is_bound)
}

/// What a turn would do; none where there is nothing to do.
async fn evaluated<'a>(
    attempt: &mut Attempt<'a>,
    step: &'a Step,
    plan: &'a StepPlan,
    turn: &BulkTurn,
) -> Result<Option<Vec<WriteAction<'a>>>, AttemptStop> {
    if !bind_turn(attempt, step, turn).await? {
        return Ok(None);
    }
    attempt.answers = false;
    attempt.turn(step, plan).await?;
    let has_versions = attempt.rows.iter().any(|touched| touched.entity.history.is_some());
    match has_versions {
        true => Ok(None),
        // Without the progress, which is one for all of them.
        false => attempt.unsent().await.map(Some),
    }
}

/// Puts the actions of a turn to those of others, unless they are too many or one is about an item that another changes. What both only
/// look at is looked at once.
fn join<'a>(all: &mut Vec<WriteAction<'a>>, actions: Vec<WriteAction<'a>>, items_max: usize) -> bool {
    let is_check = |action: &WriteAction<'_>| matches!(action.doing, Doing::Check);
    let mut new = Vec::new();
    let mut looked_at = Vec::new();
    // Nothing is added before all fit, so that a turn is whole or left for the next transaction.
    for action in actions {
        match all.iter().position(|known| known.key == action.key) {
            None => new.push(action),
            Some(at) if is_check(&action) && all.get(at).is_some_and(is_check) => looked_at.push((at, action)),
            // Two changes of one item have an order that a transaction cannot keep.
            Some(_) => return false,
        }
    }
    if all.len() + new.len() > items_max {
        return false;
    }
    for (at, action) in looked_at {
        let Some(known) = all.get_mut(at) else { continue };
        for check in action.checks {
            if !known.checks.iter().any(|own| own.condition == check.condition) {
                known.checks.push(check);
            }
        }
    }
    all.append(&mut new);
    true
}

/// Whether what a turn does hangs on rows that are looked for: those that another turn makes may be among them.
fn finds_rows(model: &singlet_model::Model, step: &Step) -> bool {
    let inner_finds = |inner: &Step| {
        let finds = matches!(&inner.repeat, Some((_, LetValue::Read(_))));
        finds || finds_rows(model, inner)
    };
    match &step.kind {
        StepKind::Group(inner) => inner.iter().any(inner_finds),
        StepKind::Call { step: name, .. } => {
            let named = model.steps.iter().find(|named| named.name == *name);
            named.is_none_or(|named| named.steps.iter().any(inner_finds))
        }
        _ => false,
    }
}

/// What stops an operation that is not tried again.
fn ended<T>(result: Result<T, AttemptStop>) -> Result<T, RuntimeError> {
    result.map_err(|stop| match stop {
        AttemptStop::Failed(error) => error,
        AttemptStop::Refused(refused) => RuntimeError::Refused(Box::new(refused)),
        AttemptStop::Again | AttemptStop::Recorded | AttemptStop::Skipped | AttemptStop::ReadFirst(_) => {
            RuntimeError::Conflict
        }
    })
}
