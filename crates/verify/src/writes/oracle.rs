//! What a write means, by looking at every row.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use singlet_item::{Number, Value};
use singlet_model::Model;
use singlet_model::evaluate::{Borrowed, Environment, EvaluateError, KeyValue, Look};
use singlet_model::expression::{Expr, ExprKind, FunctionId, Word};
use singlet_model::model::{LetValue, Step, Write};
use singlet_model::types::EntityId;
use singlet_runtime::{Attributes, Refused, Scope, Setting, WriteRequest};

use super::mends::Trace;
use super::request::{RecordedAnswer, RequestId, progress_kept_until};
use super::steps::{OperationSteps, same_item_refusal};
use super::world::{self, Row};
use crate::choices::Choices;

/// What must become of an operation.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpectedOutcome {
    /// It is done.
    Done {
        /// 200, 201, 204, or what the model says.
        status: u16,
        /// What is answered.
        value: Option<Value>,
        /// Whether it is the answer of an earlier request.
        replayed: bool,
    },
    /// A rule says no. Where several rules of one step do, any of them may speak.
    Refused(Vec<Refused>),
    /// The caller may not.
    Forbidden,
    /// The caller has shown no credentials.
    Unauthenticated,
    /// The request is wrong.
    BadRequest,
    /// The row has another version.
    VersionMismatch,
    /// The version of the row must be said.
    VersionRequired,
    /// The idempotency key was used for something else.
    KeyReused,
    /// It was done before, for somebody without an id.
    AlreadyDone,
    /// More than one row fits where one is expected.
    Several,
    /// Left open: rows appeared while an operation that had stopped was waiting to go on, and whether they have their turn
    /// depends on where they lie.
    Open,
}

impl ExpectedOutcome {
    /// In a word: `done`, `replayed`, a refusal's name, or why it was not looked at.
    pub fn word(&self) -> String {
        match self {
            ExpectedOutcome::Done { replayed: true, .. } => "replayed".to_owned(),
            ExpectedOutcome::Done { .. } => "done".to_owned(),
            ExpectedOutcome::Refused(any) => any.first().map(|first| first.name.clone()).unwrap_or_default(),
            other => format!("{other:?}"),
        }
    }
}

impl From<EvaluateError> for ExpectedOutcome {
    fn from(_: EvaluateError) -> Self {
        ExpectedOutcome::BadRequest
    }
}

/// Everything that there is.
#[derive(Clone, Debug, Default)]
pub struct Oracle {
    /// The rows, as they were last written.
    pub rows: Vec<Row>,
    /// Answers by request.
    pub(super) records: BTreeMap<RequestId, RecordedAnswer>,
    /// How far operations came that stopped on their way.
    progress: BTreeMap<String, OracleProgress>,
}

/// What an operation would make of everything.
#[derive(Debug)]
pub struct MeantWrite {
    /// What becomes of it.
    pub outcome: ExpectedOutcome,
    /// The rows afterwards.
    pub rows: Vec<Row>,
    /// Values that were made up.
    pub made: Vec<String>,
    /// Whether a row that would be changed is as it was, or was written in the same instant.
    pub(super) leaves_a_row: bool,
    /// What was chosen where the model leaves something open.
    pub(super) choices: Choices,
    record: Option<(RequestId, RecordedAnswer)>,
    progress: Option<(String, Option<OracleProgress>)>,
}

#[derive(Clone, Debug)]
struct OracleProgress {
    step: usize,
    element: usize,
    done: u64,
    now: i64,
    bound: Attributes,
    /// The rows of the step's loop that had their turn.
    seen: BTreeSet<Turned>,
    /// The rows that there were when it stopped.
    known: BTreeSet<Turned>,
    /// How long it counts: what was left for longer begins anew.
    until: i64,
}

/// A row by its identity, in words.
type Turned = String;

fn turned(model: &Model, entity: EntityId, row: &Attributes) -> Turned {
    format!("{entity:?} {:?}", world::row_identity(model, entity, row))
}

impl MeantWrite {
    /// Leaves nothing for a request that comes again.
    pub(super) fn forget_request(&mut self) {
        self.record = None;
        self.progress = None;
    }

    /// Puts the engine's values in place of those that were made up here.
    pub(super) fn put(&mut self, made: &super::unify::Made) {
        for (_, row) in &mut self.rows {
            *row = made.put_row(row);
        }
        let recorded = self.record.iter_mut().map(|(_, recorded)| &mut recorded.outcome);
        for outcome in recorded.chain([&mut self.outcome]) {
            if let ExpectedOutcome::Done { value: Some(value), .. } = outcome {
                *value = made.put_engine_value(value);
            }
        }
    }
}

/// Makes up values that are the same in every run of an operation of that number.
#[derive(Debug)]
pub(super) struct Maker {
    operation: u64,
    count: Cell<u64>,
    made: RefCell<Vec<String>>,
    pub choices: Choices,
}

impl Maker {
    pub fn of_operation(number: u64) -> Self {
        Maker::choosing(number, Choices::default())
    }

    fn choosing(number: u64, choices: Choices) -> Self {
        Maker {
            operation: number,
            count: Cell::new(0),
            made: RefCell::default(),
            choices,
        }
    }

    fn next(&self) -> u64 {
        self.count.set(self.count.get() + 1);
        self.operation * 1_000 + self.count.get()
    }

    fn value(&self, function: FunctionId, argument: Option<u64>) -> Option<Value> {
        let number = self.next();
        let text = match function {
            FunctionId::Ulid => format!("{number:026}"),
            FunctionId::Ksuid => format!("{number:027}"),
            FunctionId::Uuid => format!("00000000-0000-7000-8000-{number:012}"),
            FunctionId::Digits => {
                let length = usize::try_from(argument.unwrap_or(6)).ok()?;
                short_text(number, length)?
            }
            FunctionId::Random => {
                let drawn = self.choices.draw(argument.unwrap_or(1), number);
                return Some(Value::N(Number::from(drawn)));
            }
            _ => return None,
        };
        self.made.borrow_mut().push(text.clone());
        Some(Value::S(text))
    }
}

/// A scope in which values can be made up, and rows are known by their keys.
pub(super) struct Making<'a> {
    pub scope: Scope<'a>,
    pub maker: &'a Maker,
    /// The operation whose rows are known; none before there is one.
    pub operation: Option<&'a OperationSteps<'a>>,
    /// Whether rows are seen as they become.
    pub becoming: bool,
}

impl Environment for Making<'_> {
    fn attribute(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.scope.attribute(name)
    }
    fn row(&self) -> Option<Cow<'_, Value>> {
        self.scope.row()
    }
    fn arg(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.scope.arg(name)
    }
    fn caller(&self, claim: &str) -> Option<Cow<'_, Value>> {
        self.scope.caller(claim)
    }
    fn setting(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.scope.setting(name)
    }
    fn bound(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.scope.bound(name)
    }
    fn row_by_key(&self, entity: EntityId, key: &[KeyValue<'_>], look: Look<'_>) -> Borrowed<'_> {
        let operation = self.operation.ok_or(EvaluateError::NeedsStore)?;
        match operation.row_with_key(entity, key, self.becoming)? {
            Some(row) => Ok(look.within_row(&row).map(|seen| Cow::Owned(seen.into_owned()))),
            None if look == Look::Presence => Ok(None),
            None => Err(EvaluateError::RowMissing(entity)),
        }
    }
    fn word(&self, word: Word) -> Option<Cow<'_, Value>> {
        self.scope.word(word)
    }
    fn now(&self) -> i64 {
        self.scope.now
    }
    fn zone(&self) -> &jiff::tz::TimeZone {
        self.scope.zone()
    }
    fn generate(&self, expr: &Expr, argument: Option<u64>) -> Option<Value> {
        match &expr.kind {
            ExprKind::Call(function, _) => self.maker.value(*function, argument),
            _ => None,
        }
    }
}

/// What stays the same while an operation is looked at.
#[derive(Clone, Copy)]
pub(super) struct OracleFrame<'a> {
    pub model: &'a Model,
    pub setting: &'a Setting,
    pub write: &'a Write,
    pub request: &'a WriteRequest,
    pub maker: &'a Maker,
    pub trace: &'a Trace,
    /// Whether refusals are passed over, to see whether one item is changed in two ways.
    pub lenient: bool,
    /// Whether steps are taken by the calls that a document names: one without a condition is refused by nothing.
    pub by_hand: bool,
    /// What is known of the change after which a write runs; nothing, where somebody calls it.
    pub cause: Option<&'a Attributes>,
}

impl Oracle {
    /// What an operation must come to. The number tells what it makes up from what others do.
    pub fn meant_outcome(
        &self,
        model: &Model,
        setting: &Setting,
        write: &Write,
        request: &WriteRequest,
        number: u64,
    ) -> MeantWrite {
        self.meant_traced((model, setting), write, request, number, &Trace::default())
    }

    /// What an operation must come to on one of the ways through what the model leaves open.
    pub(super) fn meant_choosing(
        &self,
        (model, setting): (&Model, &Setting),
        write: &Write,
        request: &WriteRequest,
        number: u64,
        choices: Choices,
    ) -> MeantWrite {
        let maker = Maker::choosing(number, choices);
        self.meant_made((model, setting), write, (request, None), maker, &Trace::default())
    }

    /// What a write must come to that runs after a change, of which expressions know these words.
    pub(super) fn meant_after(
        &self,
        places: (&Model, &Setting),
        write: &Write,
        (request, cause): (&WriteRequest, &Attributes),
        number: u64,
    ) -> MeantWrite {
        let maker = Maker::of_operation(number);
        self.meant_made(places, write, (request, Some(cause)), maker, &Trace::default())
    }

    /// What an operation must come to; the trace gets what would have to be otherwise for it to be done.
    pub(crate) fn meant_traced(
        &self,
        (model, setting): (&Model, &Setting),
        write: &Write,
        request: &WriteRequest,
        number: u64,
        trace: &Trace,
    ) -> MeantWrite {
        self.meant_made(
            (model, setting),
            write,
            (request, None),
            Maker::of_operation(number),
            trace,
        )
    }

    fn meant_made(
        &self,
        (model, setting): (&Model, &Setting),
        write: &Write,
        (request, cause): (&WriteRequest, Option<&Attributes>),
        maker: Maker,
        trace: &Trace,
    ) -> MeantWrite {
        let frame = OracleFrame {
            model,
            setting,
            write,
            request,
            maker: &maker,
            trace,
            lenient: false,
            by_hand: false,
            cause,
        };
        let mut meant = MeantWrite {
            outcome: ExpectedOutcome::BadRequest,
            rows: self.rows.clone(),
            made: Vec::new(),
            leaves_a_row: false,
            choices: Choices::default(),
            record: None,
            progress: None,
        };
        meant.outcome = match self.done(frame, &mut meant) {
            Ok(outcome) | Err(outcome) => outcome,
        };
        // That one item would be changed in two ways is known from the request, and may be said before what rows say.
        if let ExpectedOutcome::Refused(any) = &mut meant.outcome
            && self.is_changed_twice(frame)
        {
            any.extend(same_item_refusal());
        }
        meant.made = maker.made.take();
        meant.choices = maker.choices;
        meant
    }

    /// Takes what an operation made of everything.
    pub fn accept_meant(&mut self, meant: MeantWrite) {
        self.rows = meant.rows;
        self.records.extend(meant.record);
        if let Some((place, progress)) = meant.progress {
            self.progress.remove(&place);
            self.progress.extend(progress.map(|progress| (place, progress)));
        }
    }

    /// Whether an operation changes one item in two ways, whatever rows there are.
    fn is_changed_twice(&self, frame: OracleFrame<'_>) -> bool {
        let Ok(args) = super::request::filled_arguments(frame) else {
            return false;
        };
        let maker = Maker::choosing(frame.maker.operation, frame.maker.choices.at_beginning());
        let frame = OracleFrame {
            lenient: true,
            maker: &maker,
            trace: &Trace::default(),
            ..frame
        };
        let mut operation = OperationSteps::new(frame, &self.rows, args);
        if frame.write.bulk || operation.prepare_operation().is_err() {
            return false;
        }
        match operation.take_steps(&frame.write.steps) {
            Err(ExpectedOutcome::Refused(any)) => any.iter().any(|refused| refused.name == "same_item"),
            _ => false,
        }
    }

    fn done(&self, frame: OracleFrame<'_>, meant: &mut MeantWrite) -> Result<ExpectedOutcome, ExpectedOutcome> {
        let args = super::request::filled_arguments(frame)?;
        // Nobody asks for what runs after a change, and it is never asked for again.
        let id = match frame.cause {
            Some(_) => None,
            None => {
                super::request::admit_caller(frame, &args)?;
                super::request::request_id(frame, &args)?
            }
        };
        if let Some(id) = &id
            && let Some(outcome) = self.replayed(frame, id)
        {
            return outcome;
        }
        let outcome = match frame.write.bulk {
            true => self.bulk(frame, args, meant)?,
            false => {
                let mut operation = OperationSteps::new(frame, &self.rows, args);
                operation.prepare_operation()?;
                let done = operation.take_steps(&frame.write.steps);
                operation.kept_promises(done)?;
                meant.rows = operation.rows_after()?;
                let mut touched = operation.touched.iter();
                meant.leaves_a_row = touched.any(|touched| operation.leaves_it_or_its_instant(touched));
                operation.answer()?
            }
        };
        if let Some(id) = id {
            meant.record = Some((id, super::request::recorded_answer(frame, &outcome)?));
        }
        Ok(outcome)
    }

    /// Each step, and each turn of an outermost loop, by itself and in order.
    fn bulk(
        &self,
        frame: OracleFrame<'_>,
        args: Attributes,
        meant: &mut MeantWrite,
    ) -> Result<ExpectedOutcome, ExpectedOutcome> {
        let request = frame.request;
        let place = format!(
            "{} {:?} {:?} {:?}",
            frame.write.name,
            request.caller.claims.get("id"),
            request.idempotency_key,
            request.args
        );
        let known = self
            .progress
            .get(&place)
            .filter(|known| known.until > request.now)
            .cloned();
        let resumed = known.is_some();
        let mut progress = match known {
            Some(progress) => progress,
            None => {
                let mut operation = OperationSteps::new(frame, &self.rows, args.clone());
                operation.prepare_operation()?;
                OracleProgress {
                    step: 0,
                    element: 0,
                    done: 0,
                    now: request.now,
                    bound: operation.bound,
                    seen: BTreeSet::new(),
                    known: BTreeSet::new(),
                    until: progress_kept_until(frame, request.now),
                }
            }
        };
        let began = WriteRequest {
            now: progress.now,
            ..request.clone()
        };
        let frame = OracleFrame {
            request: &began,
            ..frame
        };
        let mut turns = 0;
        let steps = frame.write.steps.iter().enumerate().skip(progress.step);
        for (at, step) in steps {
            for element in elements(frame, step, &meant.rows, &args, &progress)? {
                let row = element.as_ref().and_then(|(_, (_, row))| row.as_ref());
                let row = row.map(|(entity, row)| turned(frame.model, *entity, row));
                if row.as_ref().is_some_and(|row| progress.seen.contains(row)) {
                    continue;
                }
                if resumed && row.as_ref().is_some_and(|row| !progress.known.contains(row)) {
                    return Err(ExpectedOutcome::Open);
                }
                let mut turn = OperationSteps::new(frame, &meant.rows, args.clone());
                turn.bound = progress.bound.clone();
                let done = match element {
                    Some((name, element)) => {
                        turn.bind_element(&name, element);
                        turn.take_turn(step)
                    }
                    None => turn.take_turn(step),
                };
                match done {
                    Ok(()) => {
                        meant.rows = turn.rows_after()?;
                        turns += 1;
                        progress.until = progress_kept_until(frame, request.now);
                        progress.done += u64::from(step.repeat.is_some());
                    }
                    // What is gone was somebody else's, or this operation's own before it stopped.
                    Err(ExpectedOutcome::Refused(why))
                        if (resumed || turns > 0) && why.iter().all(|refused| refused.status == 404) => {}
                    Err(why) => {
                        let rows = meant.rows.iter();
                        progress.known = rows.map(|(entity, row)| turned(frame.model, *entity, row)).collect();
                        let stays = (resumed || turns > 0).then_some(progress);
                        meant.progress = Some((place, stays));
                        return Err(why);
                    }
                }
                match &step.repeat {
                    Some((_, LetValue::Value(_))) => progress.element += 1,
                    Some((_, LetValue::Read(_))) => progress.seen.extend(row),
                    None => {}
                }
            }
            progress.step = at + 1;
            progress.element = 0;
            progress.seen.clear();
        }
        meant.progress = Some((place, None));
        let mut last = OperationSteps::new(frame, &meant.rows, args);
        last.bound = progress.bound;
        let done = i64::try_from(progress.done).unwrap_or(i64::MAX);
        last.bound.insert("done".to_owned(), Value::N(Number::from(done)));
        last.answer()
    }
}

type Bound = (Value, Option<(singlet_model::types::EntityId, Attributes)>);

/// What a step is done for: once, or for each element that is left.
fn elements(
    frame: OracleFrame<'_>,
    step: &Step,
    rows: &[Row],
    args: &Attributes,
    progress: &OracleProgress,
) -> Result<Vec<Option<(String, Bound)>>, ExpectedOutcome> {
    let Some((name, list)) = &step.repeat else {
        return Ok(vec![None]);
    };
    let mut operation = OperationSteps::new(frame, rows, args.clone());
    operation.bound = progress.bound.clone();
    let elements = operation.list_elements(list)?.into_iter().skip(progress.element);
    Ok(elements.map(|element| Some((name.clone(), element))).collect())
}

/// A text of so many characters that stands for a number: its digits where they suffice, else letters too, so that the values of many
/// operations differ.
fn short_text(number: u64, length: usize) -> Option<String> {
    let digits = format!("{number:0length$}");
    if digits.len() == length {
        return Some(digits);
    }
    let mut left = number;
    let mut characters = Vec::new();
    while characters.len() < length {
        characters.push(char::from_digit(u32::try_from(left % 36).ok()?, 36)?);
        left /= 36;
    }
    Some(characters.into_iter().rev().collect())
}
