//! Runs writes: one business operation, one atomic call, and the name of the rule that refused it.
//!
//! An operation is tried as often as it takes to find nobody in the way. Each [`attempt`] evaluates everything anew: rows that
//! the plan says must be read are read, the others only get conditions; the steps become changes of rows ([`touched`]), and
//! those become the actions of one request ([`send`]). Where the store refuses, the conditions are looked at again on the old
//! images that came back ([`refuse`]): the first that fails names the refusal; where only a value that was read has changed,
//! the operation is tried again.
//!
//! # Terms
//!
//! - A row is *touched* when the operation reads, checks or changes it; each row is touched once.
//! - A *check* is a condition with what is said when it fails. A *pin* is a condition that a value is still as it was read.
//! - The *record* of a request is the row by which a retry is told from a new request.

mod actions;
mod answer;
mod arguments;
mod attempt;
mod bulk;
mod clauses;
mod create;
mod due;
mod edits;
mod generate;
mod guards;
mod history;
mod looking;
mod new_values;
mod record;
mod refuse;
mod request_cost;
mod send;
mod steps;
mod touched;
mod trigger;
mod update;
mod webhook;

use std::borrow::Cow;
use std::collections::HashSet;

use singlet_item::{Item, Number, Value};
use singlet_model::Model;
use singlet_model::evaluate::{evaluate, holds_condition};
use singlet_model::model::{IdempotencyNeed, Write};
use singlet_plan::write::{Place, WritePlan};
use singlet_store::Consumed;

use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::retry;
use crate::scope::{Attributes, Caller, Scope};

use attempt::Attempt;
pub use create::key_in;
pub use due::Deadline;
pub(crate) use generate::Generating;
pub use guards::OWNER as GUARD_OWNER;
pub use guards::kept_row;
pub(crate) use guards::{CLOSED as GUARD_CLOSED, GuardKind, identity_guard as identity_place, of_row as guards_of_row};
pub(crate) use touched::absent_now;
pub use trigger::{ChangedRow, TickRun, TriggerOutcome, TriggerRun};
pub use webhook::{change_record_put, keep_row_until};

/// What is asked of a write.
#[derive(Clone, Debug, Default)]
pub struct WriteRequest {
    /// The arguments that were sent, as their types store them; null clears an attribute that may be absent.
    pub args: Attributes,
    /// Who calls.
    pub caller: Caller,
    /// The instant, in epoch milliseconds.
    pub now: i64,
    /// By which a retry is told from a new request.
    pub idempotency_key: Option<String>,
    /// What must hold of the first row that changes.
    pub precondition: Precondition,
}

/// What a caller says of the first row that changes, before all rules of the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Precondition {
    /// Nothing.
    #[default]
    Unsaid,
    /// The row is there, whatever its version.
    Present,
    /// The row is not there.
    Absent,
    /// The row has one of these versions.
    Version(Vec<Number>),
}

impl From<Option<Number>> for Precondition {
    fn from(version: Option<Number>) -> Self {
        version.map_or(Precondition::Unsaid, |version| Precondition::Version(vec![version]))
    }
}

/// What became of a write.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Written {
    /// 200, 201, 204, or what the model says.
    pub status: u16,
    /// What is answered.
    pub value: Option<Value>,
    /// The version of the row that is answered.
    pub version: Option<Number>,
    /// Whether it is the answer of an earlier request with the same key.
    pub replayed: bool,
    /// What it consumed, attempts in vain included.
    pub consumed: Consumed,
}

/// A rule said no.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    /// The rule: `task_not_pending`.
    pub name: String,
    /// 404, 409, or what the model says.
    pub status: u16,
    /// Values that the model chose to show.
    pub shown: Attributes,
}

impl Refused {
    pub(crate) fn new(name: impl Into<String>, status: u16) -> Self {
        Refused {
            name: name.into(),
            status,
            shown: Attributes::new(),
        }
    }
}

/// Why an attempt ended before it was done.
enum AttemptStop {
    /// A rule said no.
    Refused(Refused),
    /// A step cannot be done, and says that this does not matter.
    Skipped,
    /// The request's record is there: somebody else did it.
    Recorded,
    /// Somebody was in the way.
    Again,
    /// These rows must be read first after all.
    ReadFirst(Vec<Item>),
    /// It cannot be done.
    Failed(RuntimeError),
}

impl<E: Into<RuntimeError>> From<E> for AttemptStop {
    fn from(error: E) -> Self {
        AttemptStop::Failed(error.into())
    }
}

/// A state that cannot be, if nothing is wrong here: nothing is written then.
fn internal_mistake(what: &str) -> AttemptStop {
    AttemptStop::Failed(RuntimeError::Internal(what.to_owned()))
}

/// One write on its way.
struct WriteOperation<'a> {
    pub engine: &'a Engine,
    pub model: &'a Model,
    pub write: &'a Write,
    pub plan: &'a WritePlan,
    pub args: Cow<'a, Attributes>,
    pub request: &'a WriteRequest,
    /// The record of the request, where it has a key; of its cause, where it runs by itself.
    pub record: Option<record::RequestRecord<'a>>,
    /// The change after which it runs, or the tick.
    pub change: Option<trigger::TriggerCause<'a>>,
}

impl Engine {
    /// Does a write.
    ///
    /// # Errors
    ///
    /// Where the request is wrong or not allowed, a rule refuses it, others stay in the way, or the store fails for good.
    pub async fn write(&self, name: &str, request: &WriteRequest) -> Result<Written, RuntimeError> {
        let model = self.model().as_ref();
        let write = model.writes.iter().find(|write| write.name == name);
        let (Some(write), Some(plan)) = (write, self.write_plan(name)) else {
            return Err(RuntimeError::Request(format!("there is no write `{name}`")));
        };
        // Before anything is made of a key: guards of another form would let a value be taken twice.
        self.learn_guard_form().await?;
        // The order of refusals begins here: what was sent, then what is lacking, then who asks.
        let args = arguments::checked_inputs(self, write, request)?;
        let mut operation = WriteOperation {
            engine: self,
            model,
            write,
            plan,
            args,
            request,
            record: None,
            change: None,
        };
        operation.has_key()?;
        operation.takes_precondition()?;
        // Before the record is looked for: who may not ask is not told whether it was done.
        operation.admit()?;
        operation.record = operation.record_of_request()?;
        match write.bulk {
            true => Box::pin(bulk::run_bulk(&operation)).await,
            false => operation.run().await,
        }
    }
}

impl<'a> WriteOperation<'a> {
    /// The names of the request alone.
    pub fn scope<'s>(&'s self, nothing: &'s Attributes) -> Scope<'s> {
        Scope {
            setting: self.engine.setting(),
            now: self.request.now,
            args: &self.args,
            caller: &self.request.caller,
            attributes: None,
            row: None,
            bound: nothing,
        }
    }

    /// The words that every expression of it knows: of its record, and of the change after which it runs.
    fn words(&self) -> Attributes {
        let mut words = self
            .record
            .as_ref()
            .map(|record| record.words().clone())
            .unwrap_or_default();
        if let Some(change) = self.change.filter(|_| self.write.is_uncalled()) {
            words.extend(change.words());
        }
        words
    }

    /// What a request lacks is said before who may ask.
    fn has_key(&self) -> Result<(), RuntimeError> {
        let idempotency = &self.write.idempotency;
        let sent = idempotency.key.is_some() || self.request.idempotency_key.is_some();
        match idempotency.need == IdempotencyNeed::Required && !sent {
            true => Err(RuntimeError::Request(format!(
                "`{}` needs an idempotency key",
                self.write.name
            ))),
            false => Ok(()),
        }
    }

    /// What is done in several turns has no one version that a caller could have seen.
    fn takes_precondition(&self) -> Result<(), RuntimeError> {
        match self.write.bulk && self.request.precondition != Precondition::Unsaid {
            true => Err(RuntimeError::Request(format!(
                "`{}` is done in several turns and takes no version",
                self.write.name
            ))),
            false => Ok(()),
        }
    }

    /// What `allow` says of the caller alone.
    fn admit(&self) -> Result<(), RuntimeError> {
        let nothing = Attributes::new();
        let requests = self.plan.allow.iter().filter(|clause| clause.place == Place::Request);
        for clause in requests {
            if !holds_condition(&clause.expr, &self.scope(&nothing))? {
                return Err(RuntimeError::not_admitted(&self.request.caller));
            }
        }
        Ok(())
    }

    fn record_of_request(&self) -> Result<Option<record::RequestRecord<'a>>, RuntimeError> {
        let idempotency = &self.write.idempotency;
        if idempotency.need == IdempotencyNeed::None {
            return Ok(None);
        }
        let nothing = Attributes::new();
        let own = match &idempotency.key {
            Some(key) => evaluate(key, &self.scope(&nothing))?.map(|value| match value {
                Value::S(text) => text,
                Value::N(number) => number.to_string(),
                other => format!("{other:?}"),
            }),
            None => None,
        };
        match own.or_else(|| self.request.idempotency_key.clone()) {
            Some(key) => record::RequestRecord::new(self, key).map(Some),
            None if idempotency.need == IdempotencyNeed::Required => Err(RuntimeError::Request(format!(
                "`{}` needs an idempotency key",
                self.write.name
            ))),
            None => Ok(None),
        }
    }

    /// Tries it until it is done. The record of the request is not looked for first: where it is there, the attempt fails, and
    /// every way to fail looks at it.
    async fn run(&self) -> Result<Written, RuntimeError> {
        let mut consumed = Consumed::default();
        let mut read_first = HashSet::new();
        let mut tries = 0;
        loop {
            let mut attempt = Attempt::new(self, &read_first);
            let ended = attempt.run().await;
            consumed += std::mem::take(&mut attempt.consumed);
            match ended {
                Ok(written) => return Ok(Written { consumed, ..written }),
                // Not counted as a try: nobody was in the way, and each time one row more is known.
                Err(AttemptStop::ReadFirst(keys)) => remember_wanted(&mut read_first, keys)?,
                Err(AttemptStop::Failed(
                    error @ (RuntimeError::VersionMismatch | RuntimeError::VersionRequired | RuntimeError::Several(_)),
                )) => {
                    return Box::pin(self.refused(error, consumed)).await;
                }
                Err(AttemptStop::Failed(error)) => return Err(error),
                Err(AttemptStop::Refused(refused)) => {
                    let refusal = RuntimeError::Refused(Box::new(refused));
                    return Box::pin(self.refused(refusal, consumed)).await;
                }
                Err(AttemptStop::Recorded | AttemptStop::Again | AttemptStop::Skipped) => {
                    // Every way to fail looks here: it may be this request that was faster, in another sending.
                    if let Some(written) = Box::pin(self.replayed(&mut consumed)).await? {
                        return Ok(Written { consumed, ..written });
                    }
                    tries += 1;
                    // Bounded: somebody else may be in the way for ever.
                    if tries as usize >= self.engine.bounds().write_attempts_max {
                        return Err(RuntimeError::Conflict);
                    }
                    retry::retry_pause(tries).await;
                }
            }
        }
    }

    /// A refusal, unless another attempt of the same request was faster: what it changed may be what refuses this one.
    async fn refused(&self, refusal: RuntimeError, mut consumed: Consumed) -> Result<Written, RuntimeError> {
        match self.replayed(&mut consumed).await? {
            Some(written) => Ok(Written { consumed, ..written }),
            None => Err(refusal),
        }
    }

    async fn replayed(&self, consumed: &mut Consumed) -> Result<Option<Written>, RuntimeError> {
        match &self.record {
            Some(record) => record.replayed(self, consumed).await,
            None => Ok(None),
        }
    }
}

/// Remembers rows that must be read first; one that was read and is asked for again is a mistake of ours, not an endless loop.
fn remember_wanted(read_first: &mut HashSet<Item>, keys: Vec<Item>) -> Result<(), RuntimeError> {
    let known = read_first.len();
    read_first.extend(keys);
    match read_first.len() > known {
        true => Ok(()),
        false => Err(RuntimeError::Internal(
            "a row is needed that was read already".to_owned(),
        )),
    }
}
