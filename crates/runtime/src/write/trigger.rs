//! Writes that run by themselves: once for each change of a row, or each tick of the clock, whoever runs them and however often.
//!
//! The transaction of such a write has a record, keyed by write and change or tick, that must not be there yet. So it does not matter
//! who believes to be the one who runs it, nor how often a change is told. What a rule refuses is recorded likewise: it is what became
//! of the change, and stays so.

use singlet_item::{Item, Value};
use singlet_model::evaluate::{evaluate, evaluate_as, holds_condition};
use singlet_model::expression::Word;
use singlet_model::model::{Tick, Trigger, TriggerEvent, Write};
use singlet_plan::write::WritePlan;
use singlet_store::{DeleteRequest, PutRequest, StoreError, TransactWrite, TransactWriteRequest};

use super::record::{RequestRecord, absent_or_expired};
use super::refuse::Denial;
use super::touched::{Doing, RowCheck, WriteAction, present_item};
use super::{Precondition, Refused, WriteOperation, WriteRequest, arguments, bulk};
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::retry;
use crate::scope::{Attributes, Caller, Scope};

/// A change of a row, as far as writes know it.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangedRow {
    /// Names the change: equal whenever it is told again.
    pub id: String,
    /// What the row became; of one that is gone, what it was last.
    pub row: Attributes,
    /// What it was before an update.
    pub before: Option<Attributes>,
}

/// A write that runs after a change.
#[derive(Clone, Copy, Debug)]
pub struct TriggerRun<'a> {
    /// The write.
    pub write: &'a str,
    /// The change.
    pub change: &'a ChangedRow,
    /// The instant, in epoch milliseconds.
    pub now: i64,
    /// The key of the row in which the change is parked: it goes with the run.
    pub parked: Option<&'a Item>,
}

/// A write that runs by the clock.
#[derive(Clone, Copy, Debug)]
pub struct TickRun<'a> {
    /// The write.
    pub write: &'a str,
    /// The tick; its planned instant is the run's `now`, however late it runs.
    pub tick: &'a Tick,
    /// The key of the row in which the tick is parked: it goes with the run.
    pub parked: Option<&'a Item>,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq)]
pub enum TriggerOutcome {
    /// It was done.
    Done,
    /// It was done, or refused, before.
    DoneBefore,
    /// The model does not mean this change.
    NotMeant,
    /// A rule refused it, and that is recorded.
    Refused(Refused),
    /// A rule refused it, and the model has that tried again: nothing is recorded.
    RefusedForNow(Refused),
}

/// Why an operation runs by itself: after a change, or by the clock.
#[derive(Clone, Copy)]
pub(super) struct TriggerCause<'a> {
    /// What tells it from other causes of the same write.
    id: &'a str,
    /// The change; none for a tick.
    change: Option<&'a ChangedRow>,
    parked: Option<&'a Item>,
    /// What the rows say that it changes, where it is no write that others are to follow.
    pub mark: Option<&'a str>,
}

impl TriggerCause<'_> {
    /// What expressions know of it.
    pub fn words(&self) -> Attributes {
        self.change.map(words_of).unwrap_or_default()
    }

    /// Removes what expressions know of it.
    pub fn leave_out(&self, bound: &mut Attributes) {
        for word in [Word::Changed, Word::Before] {
            bound.remove(word.as_str());
        }
    }

    /// Removes the row in which the change is parked. Where it is gone, somebody else ran it.
    pub fn unpark<'c>(&self, operation: &WriteOperation<'_>) -> Option<WriteAction<'c>> {
        Some(WriteAction {
            key: self.parked?.clone(),
            doing: Doing::Delete,
            checks: vec![RowCheck {
                order: 0,
                condition: present_item(operation.model),
                denial: Denial::Recorded,
            }],
        })
    }
}

/// Whether what a rule refuses is no outcome of this cause.
fn retries_refusals(write: &Write, cause: TriggerCause<'_>) -> bool {
    cause.change.is_some() && write.after.as_ref().is_some_and(|trigger| trigger.retries_refusals)
}

fn words_of(change: &ChangedRow) -> Attributes {
    let row = (Word::Changed.as_str().to_owned(), Value::M(change.row.clone()));
    let before = change.before.clone();
    let before = before.map(|before| (Word::Before.as_str().to_owned(), Value::M(before)));
    std::iter::once(row).chain(before).collect()
}

impl Engine {
    /// Whether a write is meant to run after a change: the event happened, and its `when` holds.
    ///
    /// # Errors
    ///
    /// Where `when` has no value for this change.
    pub fn is_meant(&self, trigger: &Trigger, change: &ChangedRow) -> Result<bool, RuntimeError> {
        let happened = match &trigger.event {
            TriggerEvent::Create
            | TriggerEvent::Delete
            | TriggerEvent::Expire
            | TriggerEvent::Update(None)
            // Whoever fires it has seen that its instant has come.
            | TriggerEvent::Reach(_) => true,
            TriggerEvent::Update(Some(name)) => {
                let before = change.before.as_ref().and_then(|before| before.get(name));
                before != change.row.get(name)
            }
            TriggerEvent::Enter(state) => {
                let entity = self.model().entity(trigger.entity);
                let attribute = entity
                    .and_then(|entity| entity.states.as_ref())
                    .map(|states| &states.of);
                let is_in = |row: &Attributes| {
                    let value = attribute.and_then(|attribute| row.get(attribute));
                    value.and_then(Value::as_str) == Some(state.as_str())
                };
                is_in(&change.row) && !change.before.as_ref().is_some_and(is_in)
            }
        };
        let Some(when) = trigger.when.as_ref().filter(|_| happened) else {
            return Ok(happened);
        };
        let (nothing, nobody, words) = (Attributes::new(), Caller::anonymous(), words_of(change));
        Ok(holds_condition(when, &self.change_scope(&nothing, &nobody, &words))?)
    }

    /// The names of a change alone: it knows no instant.
    pub(super) fn change_scope<'s>(
        &'s self,
        nothing: &'s Attributes,
        nobody: &'s Caller,
        words: &'s Attributes,
    ) -> Scope<'s> {
        Scope {
            setting: self.setting(),
            now: 0,
            args: nothing,
            caller: nobody,
            attributes: None,
            row: None,
            bound: words,
        }
    }

    /// Runs a write after a change, unless it ran already.
    ///
    /// # Errors
    ///
    /// Where the store fails or others stay in the way ([`RuntimeError::is_temporary`]: it may be tried again), or the write cannot
    /// be done for this change.
    pub async fn run_after(&self, run: TriggerRun<'_>) -> Result<TriggerOutcome, RuntimeError> {
        self.run_marked(run, None).await
    }

    /// Runs a write after a change, with a mark in what it changes where one is given: nothing runs after a marked change.
    pub(crate) async fn run_marked(
        &self,
        run: TriggerRun<'_>,
        mark: Option<&str>,
    ) -> Result<TriggerOutcome, RuntimeError> {
        let model = self.model().as_ref();
        let write = model.writes.iter().find(|write| write.name == run.write);
        let trigger = write.and_then(|write| write.after.as_ref());
        let (Some(write), Some(trigger), Some(plan)) = (write, trigger, self.write_plan(run.write)) else {
            let message = format!("there is no write `{}` that runs after a change", run.write);
            return Err(RuntimeError::Request(message));
        };
        if !self.is_meant(trigger, run.change)? {
            return Ok(TriggerOutcome::NotMeant);
        }
        let args = self.given_args(trigger, run.change)?;
        let cause = TriggerCause {
            id: &run.change.id,
            change: Some(run.change),
            parked: run.parked,
            mark,
        };
        self.run_once(write, plan, args, run.now, cause).await
    }

    /// Runs a write at a tick of its clock, unless it ran already.
    ///
    /// # Errors
    ///
    /// As after a change.
    pub async fn run_tick(&self, run: TickRun<'_>) -> Result<TriggerOutcome, RuntimeError> {
        let write = self.model().writes.iter().find(|write| write.name == run.write);
        let write = write.filter(|write| write.every.is_some());
        let (Some(write), Some(plan)) = (write, self.write_plan(run.write)) else {
            let message = format!("there is no write `{}` that runs by the clock", run.write);
            return Err(RuntimeError::Request(message));
        };
        let cause = TriggerCause {
            id: &run.tick.id,
            change: None,
            parked: run.parked,
            mark: None,
        };
        self.run_once(write, plan, Attributes::new(), run.tick.at, cause).await
    }

    /// Runs a write unless its cause is recorded, and records it with what it does, or that a rule refused it.
    async fn run_once(
        &self,
        write: &Write,
        plan: &WritePlan,
        args: Attributes,
        now: i64,
        cause: TriggerCause<'_>,
    ) -> Result<TriggerOutcome, RuntimeError> {
        self.learn_guard_form().await?;
        let request = WriteRequest {
            args,
            caller: Caller::anonymous(),
            now,
            // What tells the progress of one cause from that of another.
            idempotency_key: Some(cause.id.to_owned()),
            precondition: Precondition::Unsaid,
        };
        let mut operation = WriteOperation {
            engine: self,
            model: self.model().as_ref(),
            write,
            plan,
            args: arguments::checked_inputs(self, write, &request)?,
            request: &request,
            record: None,
            change: Some(cause),
        };
        operation.record = Some(RequestRecord::of_change(&operation, cause.id)?);
        let written = match write.bulk {
            true => bulk::run_bulk(&operation).await,
            false => operation.run().await,
        };
        match written {
            Ok(written) if written.replayed => Ok(TriggerOutcome::DoneBefore),
            Ok(_) => Ok(TriggerOutcome::Done),
            Err(RuntimeError::Refused(refused)) if retries_refusals(write, cause) => {
                Ok(TriggerOutcome::RefusedForNow(*refused))
            }
            Err(RuntimeError::Refused(refused)) => operation.record_refusal(*refused).await,
            Err(error) => Err(error),
        }
    }

    pub(super) fn given_args(&self, trigger: &Trigger, change: &ChangedRow) -> Result<Attributes, RuntimeError> {
        let (nothing, nobody, words) = (Attributes::new(), Caller::anonymous(), words_of(change));
        let scope = self.change_scope(&nothing, &nobody, &words);
        let mut args = Attributes::new();
        for (name, expr) in &trigger.args {
            let value = match expr.ty.is_unknown() {
                true => evaluate(expr, &scope)?,
                false => evaluate_as(expr, &expr.ty, &scope)?,
            };
            args.extend(value.map(|value| (name.clone(), value)));
        }
        Ok(args)
    }
}

impl WriteOperation<'_> {
    /// Records that a rule refused what ran by itself; where it is recorded already, that counts.
    async fn record_refusal(&self, refused: Refused) -> Result<TriggerOutcome, RuntimeError> {
        let Some(record) = &self.record else {
            return Err(RuntimeError::Internal("a change has no record".to_owned()));
        };
        let table = self.model.table.name.clone();
        let put = PutRequest {
            table: table.clone(),
            item: record.item_of_change(self, Some(&refused.name)),
            condition: Some(absent_or_expired(self)),
            return_old: false,
        };
        let store = self.engine.store();
        let parked = self.change.and_then(|change| change.parked);
        let recorded: Result<(), StoreError> = match parked {
            None => retry::retried_past_conflicts(self.engine.bounds(), || store.put(&put))
                .await
                .map(|_| ()),
            Some(key) => {
                let request = TransactWriteRequest {
                    actions: vec![
                        TransactWrite::Put(put),
                        TransactWrite::Delete(DeleteRequest {
                            table,
                            key: key.clone(),
                            condition: None,
                            return_old: false,
                        }),
                    ],
                    token: None,
                };
                let sent = retry::retried_past_conflicts(self.engine.bounds(), || store.transact_write(&request));
                sent.await.map(|_| ())
            }
        };
        match recorded {
            Ok(()) => Ok(TriggerOutcome::Refused(refused)),
            Err(error) if error.is_condition_failed() => Ok(TriggerOutcome::DoneBefore),
            Err(error) => Err(error.into()),
        }
    }
}
