//! Operations one after another, each done twice: by the engine on a store, and by the oracle.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use singlet_item::{Item, Value};
use singlet_model::model::Write;
use singlet_model::types::Type;
use singlet_model::{Model, Source};
use singlet_runtime::{Attributes, Caller, Engine, Refused, RuntimeError, Scope, WriteRequest, Written, table};
use singlet_store::Store;
use singlet_values as values;

use crate::VerifyError;
use crate::bench::BenchGiven;
use crate::choices::CHOICES_TRIED_MAX;
use crate::smallest::StoreMaker;

use singlet_plan::write::{WriteCost, write_costs};

use super::capacity::{RangeWidths, WriteCapacity, WriteSpent};
use super::dump;
use super::oracle::{ExpectedOutcome, MeantWrite, Oracle};
use super::request::version_of;
use super::unify::Made;
use super::world;

/// How long an operation may take: one that is in its own way would be tried for minutes.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);

/// The number of an operation that is not done: no other has it.
const NUMBER_OF_NONE: u64 = 1_000_000_000;

/// One operation. Values that an earlier one made up stand here as the oracle made them up, so that it can be done again.
#[derive(Clone, Debug)]
pub struct Op {
    /// Tells what it makes up from what others make up.
    pub number: u64,
    /// The write.
    pub write: String,
    /// What is asked of it.
    pub request: WriteRequest,
}

/// A table, and what must be in it.
#[derive(Debug)]
pub struct WriteSequence {
    /// What decides; the engine may have been opened with another.
    pub(super) judge: Arc<Model>,
    pub(super) engine: Arc<Engine>,
    pub(super) oracle: Oracle,
    /// The engine's values of what the oracle made up.
    pub(super) made: BTreeMap<String, String>,
    /// Whether something was left open, so that what the table holds is not known any more.
    is_open: bool,
    /// What writes may consume, where they are held to it.
    costs: Option<WriteCapacity>,
    /// Whether operations are done by the calls that the model's document names, in place of the engine.
    by_hand: bool,
}

impl WriteSequence {
    /// An empty table of a model.
    ///
    /// # Errors
    ///
    /// What is wrong with the model, or why the store has no table.
    pub async fn open(text: &str, store: Arc<dyn Store>, given: BenchGiven) -> Result<Self, VerifyError> {
        let loaded = singlet_model::load_source(&Source::new("made", text));
        let errors = loaded.diagnostics.iter();
        let errors = errors.filter(|finding| finding.rule.severity == singlet_model::Severity::Error);
        let errors: Vec<String> = errors.map(|finding| finding.message.clone()).collect();
        let model = loaded.model.filter(|_| errors.is_empty());
        let model = Arc::new(model.ok_or_else(|| VerifyError::Failed(errors.join("\n")))?);
        let created = store.create_table(&table::table_spec(&model)).await;
        created?;
        let engine = Engine::open(Arc::clone(&model), store, given.settings, [7; 32]).bounded(given.bounds);
        Ok(Self::on_table(model, Arc::new(engine), Vec::new()))
    }

    /// A table in which rows are already, as the judge has them.
    pub fn on_table(judge: Arc<Model>, engine: Arc<Engine>, rows: Vec<world::Row>) -> Self {
        let mut oracle = Oracle::default();
        oracle.rows = rows;
        WriteSequence {
            judge,
            engine,
            oracle,
            made: BTreeMap::new(),
            is_open: false,
            costs: None,
            by_hand: false,
        }
    }

    /// Does operations by the calls that stand under `using:`, where `by_hand`.
    #[must_use]
    pub(crate) fn done_by_hand(mut self, by_hand: bool) -> Self {
        self.by_hand = by_hand;
        self
    }

    /// Holds every operation that is done to what its plan says it consumes, where these costs are given.
    #[must_use]
    pub(crate) fn held_to_costs(mut self, costs: Option<Arc<[WriteCost]>>) -> Self {
        self.costs = costs.map(|costs| WriteCapacity::new(&self.judge, &costs));
        self
    }

    /// What operations took, by write, where they are held to costs.
    pub fn spent_by_write(&self) -> impl Iterator<Item = (&String, &WriteSpent)> {
        self.costs.iter().flat_map(WriteCapacity::spent_by_write)
    }

    /// How wide the ranges were that were told of requests, where they are held to costs.
    pub fn range_widths(&self) -> Option<&RangeWidths> {
        self.costs.as_ref().map(WriteCapacity::range_widths)
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.judge
    }

    /// The rows, as the engine has them.
    pub fn rows(&self) -> &[world::Row] {
        &self.oracle.rows
    }

    /// What an operation would come to, without doing it.
    pub fn meant_outcome(&self, write: &Write, request: &WriteRequest) -> ExpectedOutcome {
        let meant = self
            .oracle
            .meant_outcome(&self.judge, self.engine.setting(), write, request, NUMBER_OF_NONE);
        meant.outcome
    }

    /// A request in which values that were made up stand as the oracle made them up.
    pub fn recorded_request(&self, request: WriteRequest) -> WriteRequest {
        let mut back = Made::default();
        back.known = self
            .made
            .iter()
            .map(|(made, known)| (known.clone(), made.clone()))
            .collect();
        translate_error(&back, request)
    }

    /// Does an operation and says what came of it. After [`ExpectedOutcome::Open`] nothing more can be said of the table.
    ///
    /// # Errors
    ///
    /// How the engine differs from what is meant.
    pub async fn step(&mut self, op: &Op) -> Result<ExpectedOutcome, VerifyError> {
        let mut known = Made::default();
        known.known = self.made.clone();
        let request = translate_error(&known, op.request.clone());
        let model = Arc::clone(&self.judge);
        let write = write_named(&model, &op.write)?;
        if self.by_hand {
            return self.step_by_hand(write, &request, op.number).await;
        }
        let mut meant = self
            .oracle
            .meant_outcome(&model, self.engine.setting(), write, &request, op.number);
        if let Some(costs) = self.costs.as_mut() {
            costs.look_first(&self.engine).await?;
        }
        let got = tokio::time::timeout(ANSWER_WITHIN, self.engine.write(&op.write, &request)).await;
        self.is_open |= meant.outcome == ExpectedOutcome::Open;
        if self.is_open {
            return Ok(ExpectedOutcome::Open);
        }
        // Nobody else is there, so that nothing can be in the way.
        let got = got.unwrap_or(Err(RuntimeError::Conflict));
        let done = got.as_ref().ok().filter(|written| !written.replayed);
        let consumed = done.map(|written| written.consumed.total_units());
        let mut explained = self.explains(&mut meant, &got, request.now).await;
        let mut tried = 1;
        while explained.is_err() && tried < CHOICES_TRIED_MAX {
            let choices = match meant.choices.lacks_numbers() {
                true => Some(meant.choices.with_numbers(self.stored_numbers().await?)),
                false => meant.choices.next_way(),
            };
            let Some(choices) = choices else { break };
            let places = (model.as_ref(), self.engine.setting());
            let mut other = self.oracle.meant_choosing(places, write, &request, op.number, choices);
            let by_it = self.explains(&mut other, &got, request.now).await;
            tried += 1;
            meant = other;
            // Of what none explains, the difference from the first is told.
            if by_it.is_ok() {
                explained = by_it;
            }
        }
        // So many draws that they were not all tried: any of them may have been it.
        if explained.is_err() && tried == CHOICES_TRIED_MAX && meant.choices.draws_otherwise() {
            self.is_open = true;
            return Ok(ExpectedOutcome::Open);
        }
        let (made, items) = explained?;
        if let Some(costs) = self.costs.as_mut() {
            if let Some(consumed) = consumed.filter(|_| !meant.leaves_a_row && request.idempotency_key.is_none()) {
                costs.note_spent(&model, write, &items, consumed);
            }
            costs.see_items(&items);
            let at = model.writes.iter().position(|known| known.name == write.name);
            if let (Some(consumed), Some(at)) = (consumed, at) {
                let units = consumed.write.get();
                costs.compare_write(at, &request, units, meant.leaves_a_row)?;
                costs.compare_request(&self.engine, write, &request, units, meant.leaves_a_row)?;
            }
        }
        meant.put(&made);
        let outcome = meant.outcome.clone();
        self.made.extend(made.known);
        self.oracle.accept_meant(meant);
        Ok(outcome)
    }

    /// Whether what is meant is what came, the answer and every row: with it what stands for made-up values, and the items.
    async fn explains(
        &self,
        meant: &mut MeantWrite,
        got: &Result<Written, RuntimeError>,
        now: i64,
    ) -> Result<(Made, Vec<Item>), VerifyError> {
        let mut made = Made::new(std::mem::take(&mut meant.made));
        compare_outcome(&mut made, &meant.outcome, got)?;
        let items = self.compare_rows(&mut made, &meant.rows, now).await?;
        Ok((made, items))
    }

    /// The whole numbers that the table holds: one that was drawn and kept is among them.
    async fn stored_numbers(&self) -> Result<Vec<u64>, VerifyError> {
        let items = dump::table_items(self.engine.model(), self.engine.store()).await;
        let items = items.map_err(|error| VerifyError::failed("the table cannot be read", error))?;
        let mut numbers: Vec<u64> = Vec::new();
        for number in items.iter().flat_map(Item::values).filter_map(whole_number) {
            numbers.extend(Some(number).filter(|number| !numbers.contains(number)));
        }
        // What was not there before was drawn most likely.
        let before = self.oracle.rows.iter().flat_map(|(_, row)| row.values());
        let before: BTreeSet<u64> = before.filter_map(whole_number).collect();
        numbers.sort_by_key(|number| before.contains(number));
        Ok(numbers)
    }

    /// Does an operation by the calls that its document names. Its answer is no matter of them: only whether it is done or refused,
    /// and what is stored.
    async fn step_by_hand(
        &mut self,
        write: &Write,
        request: &WriteRequest,
        number: u64,
    ) -> Result<ExpectedOutcome, VerifyError> {
        let (model, setting) = (Arc::clone(&self.judge), self.engine.setting());
        let mut meant = self.oracle.meant_outcome(&model, setting, write, request, number);
        let says_something = match &meant.outcome {
            ExpectedOutcome::Done { replayed, .. } => !replayed,
            ExpectedOutcome::Refused(any) => any.iter().all(|refused| refused.name != "same_item"),
            _ => false,
        };
        let calls = self
            .oracle
            .documented_calls(
                (&model, setting),
                write,
                request,
                (number, &self.engine.model().table.name),
            )
            .filter(|_| says_something);
        let Some(mut calls) = calls else {
            return Ok(meant.outcome);
        };
        let stopped = calls.stopped.take();
        let sent = calls.send_calls(self.engine.store().as_ref()).await;
        let same = match (&meant.outcome, &stopped) {
            (_, _) if sent.is_err() => false,
            (ExpectedOutcome::Done { .. }, None) => true,
            (ExpectedOutcome::Refused(meant), Some(ExpectedOutcome::Refused(got))) => {
                meant.iter().any(|meant| got.iter().any(|got| got.name == meant.name))
            }
            _ => false,
        };
        if !same {
            let got = match (sent, &stopped) {
                (Err(error), _) => format!("the store refuses it: {error}"),
                (Ok(()), Some(why)) => shown_outcome(why),
                (Ok(()), None) => "done".to_owned(),
            };
            return Err(VerifyError::Differs(format!(
                "meant: {}\n  got:   {got}",
                shown_outcome(&meant.outcome)
            )));
        }
        let mut made = Made::new(std::mem::take(&mut meant.made));
        self.compare_rows(&mut made, &meant.rows, request.now).await?;
        let outcome = meant.outcome.clone();
        meant.forget_request();
        self.oracle.accept_meant(meant);
        Ok(outcome)
    }

    pub(super) async fn compare_rows(
        &self,
        made: &mut Made,
        meant: &[world::Row],
        now: i64,
    ) -> Result<Vec<Item>, VerifyError> {
        let model = &self.judge;
        let failed = |error: RuntimeError| VerifyError::failed("the table cannot be read", error);
        let items = dump::table_items(self.engine.model(), self.engine.store())
            .await
            .map_err(failed)?;
        let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
        let scope = Scope {
            setting: self.engine.setting(),
            now,
            args: &nothing,
            caller: &nobody,
            attributes: None,
            row: None,
            bound: &nothing,
        };
        let got = dump::live_rows(model, &items, scope).map_err(failed)?;
        // Records of requests are the engine's own, also where a write makes one.
        for entity in model.entities.iter().filter(|entity| entity.role.is_none()) {
            let mut seen = Vec::new();
            for (_, row) in meant.iter().filter(|(id, _)| *id == entity.id) {
                seen.extend(world::live_row(entity, row, scope)?);
            }
            let own = got.iter().filter(|(id, _)| *id == entity.id);
            let own = own.map(|(_, row)| row.clone()).collect();
            if let Err([meant, got]) = made.same_rows(seen, own) {
                let (meant, got) = (shown_rows(&meant), shown_rows(&got));
                return Err(VerifyError::Differs(format!(
                    "rows of `{}` differ\n  meant:\n{meant}\n  stored:\n{got}",
                    entity.name
                )));
            }
        }
        match dump::items_difference(model, &items, scope).map_err(failed)? {
            Some(what) => Err(VerifyError::Differs(what)),
            None => Ok(items),
        }
    }
}

fn whole_number(value: &Value) -> Option<u64> {
    u64::try_from(value.as_number()?.to_i64()?).ok()
}

pub(super) fn write_named<'m>(model: &'m Model, name: &str) -> Result<&'m Write, VerifyError> {
    let mut writes = model.writes.iter();
    writes
        .find(|write| write.name == name)
        .ok_or_else(|| VerifyError::Failed(format!("there is no write `{name}`")))
}

pub(super) fn translate_error(made: &Made, mut request: WriteRequest) -> WriteRequest {
    request.args = made.put_row(&request.args);
    request
}

pub(super) fn compare_outcome(
    made: &mut Made,
    meant: &ExpectedOutcome,
    got: &Result<Written, RuntimeError>,
) -> Result<(), VerifyError> {
    let same = match (meant, got) {
        (
            ExpectedOutcome::Done {
                status,
                value,
                replayed,
            },
            Ok(written),
        ) => {
            let values = match (value, &written.value) {
                (Some(meant), Some(got)) => made.same_values(meant, got),
                (meant, got) => meant.is_none() && got.is_none(),
            };
            values && *status == written.status && *replayed == written.replayed
        }
        (ExpectedOutcome::Refused(any), Err(RuntimeError::Refused(got))) => {
            any.iter().any(|meant| same_refusal(made, meant, got))
        }
        (ExpectedOutcome::Forbidden, Err(RuntimeError::Forbidden))
        | (ExpectedOutcome::Unauthenticated, Err(RuntimeError::Unauthenticated))
        | (ExpectedOutcome::BadRequest, Err(RuntimeError::Request(_) | RuntimeError::Evaluate(_)))
        | (ExpectedOutcome::VersionMismatch, Err(RuntimeError::VersionMismatch))
        | (ExpectedOutcome::VersionRequired, Err(RuntimeError::VersionRequired))
        | (ExpectedOutcome::KeyReused, Err(RuntimeError::IdempotencyKeyReused))
        | (ExpectedOutcome::AlreadyDone, Err(RuntimeError::AlreadyDone))
        | (ExpectedOutcome::Several, Err(RuntimeError::Several(_))) => true,
        _ => false,
    };
    match same {
        true => Ok(()),
        false => Err(VerifyError::Differs(format!(
            "meant: {}\n  got:   {}",
            shown_outcome(meant),
            shown_result(got)
        ))),
    }
}

fn same_refusal(made: &mut Made, meant: &Refused, got: &Refused) -> bool {
    meant.name == got.name && meant.status == got.status && made.same_row(&meant.shown, &got.shown)
}

/// An outcome in a line.
pub fn shown_outcome(outcome: &ExpectedOutcome) -> String {
    match outcome {
        ExpectedOutcome::Done {
            status,
            value,
            replayed,
        } => {
            let value = value.as_ref().map(values::to_json).unwrap_or_default();
            format!("{status}{} {value}", if *replayed { " (replayed)" } else { "" })
        }
        ExpectedOutcome::Refused(any) => any.iter().map(shown_refusal).collect::<Vec<_>>().join(" or "),
        other => format!("{other:?}"),
    }
}

fn shown_refusal(refused: &Refused) -> String {
    let shown = values::to_json(&Value::M(refused.shown.clone()));
    format!("{} {} {shown}", refused.name, refused.status)
}

fn shown_result(got: &Result<Written, RuntimeError>) -> String {
    match got {
        Ok(written) => shown_outcome(&ExpectedOutcome::Done {
            status: written.status,
            value: written.value.clone(),
            replayed: written.replayed,
        }),
        Err(RuntimeError::Refused(refused)) => shown_refusal(refused),
        Err(error) => format!("{error:?}"),
    }
}

fn shown_rows(rows: &[Attributes]) -> String {
    let lines = rows
        .iter()
        .map(|row| format!("    {}", values::to_json(&Value::M(row.clone()))));
    lines.collect::<Vec<_>>().join("\n")
}

/// As few operations as still show a difference, and the difference.
pub(crate) async fn fewest_operations(
    text: &str,
    given: &BenchGiven,
    store: StoreMaker<'_>,
    mut ops: Vec<Op>,
    mut what: String,
) -> (Vec<Op>, String) {
    let mut at = ops.len();
    while at > 0 {
        at -= 1;
        let mut fewer = ops.clone();
        fewer.remove(at);
        if let Some((end, other)) = first_difference(text, given, store(), &fewer).await {
            fewer.truncate(end + 1);
            (ops, what) = (fewer, other);
            at = at.min(ops.len());
        }
    }
    (ops, what)
}

/// Which of some operations is the first to differ, and how.
pub async fn first_difference(
    text: &str,
    given: &BenchGiven,
    store: Arc<dyn Store>,
    ops: &[Op],
) -> Option<(usize, String)> {
    let sequence = match WriteSequence::open(text, store, given.clone()).await {
        Ok(sequence) => sequence,
        Err(error) => return Some((0, error.to_string())),
    };
    let costs = given.costs.then(|| write_costs(sequence.model()).into());
    let mut sequence = sequence.held_to_costs(costs);
    for (at, op) in ops.iter().enumerate() {
        if let Err(error) = sequence.step(op).await {
            return Some((at, error.to_string()));
        }
    }
    None
}

/// Operations as lines that [`parse_operations`] reads.
pub fn operation_lines(ops: &[Op]) -> String {
    let lines = ops.iter().map(|op| {
        let request = &op.request;
        let claims = values::to_json(&Value::M(request.caller.claims.clone()));
        let args = values::to_json(&Value::M(request.args.clone()));
        format!(
            "{} {} {} {} {} {} {claims} {args}",
            op.number,
            request.now,
            op.write,
            request.caller.authenticated,
            request.idempotency_key.as_deref().unwrap_or("-"),
            version_of(request).map_or("-".to_owned(), |version| version.to_string()),
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Operations from lines of [`operation_lines`].
///
/// # Errors
///
/// The line that is none.
pub fn parse_operations(model: &Model, text: &str) -> Result<Vec<Op>, VerifyError> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines
        .map(|line| parsed_line(model, line).ok_or_else(|| VerifyError::Failed(line.to_owned())))
        .collect()
}

fn parsed_line(model: &Model, line: &str) -> Option<Op> {
    let mut words = line.splitn(7, ' ');
    let number = words.next()?.parse().ok()?;
    let now = words.next()?.parse().ok()?;
    let name = words.next()?;
    let write = write_named(model, name).ok()?;
    let authenticated = words.next()? == "true";
    let key = Some(words.next()?).filter(|key| *key != "-");
    let version = Some(words.next()?).filter(|version| *version != "-");
    let mut objects = serde_json::Deserializer::from_str(words.next()?).into_iter::<serde_json::Value>();
    let claims = objects.next()?.ok()?;
    let sent = objects.next()?.ok()?;
    let mut caller = Caller {
        authenticated,
        ..Caller::default()
    };
    for (claim, value) in claims.as_object()? {
        let value = match value {
            serde_json::Value::String(text) => Value::from(text.as_str()),
            other => values::from_json(other, &Type::Json).ok()?,
        };
        caller = caller.with_claim(claim, value);
    }
    let mut args = Attributes::new();
    for (name, json) in sent.as_object()? {
        let arg = write.args.iter().find(|arg| arg.name == *name)?;
        let value = match json {
            serde_json::Value::Null => Value::Null,
            json => values::from_json(json, &arg.ty).ok()?,
        };
        args.insert(name.clone(), value);
    }
    Some(Op {
        number,
        write: name.to_owned(),
        request: WriteRequest {
            args,
            caller,
            now,
            idempotency_key: key.map(str::to_owned),
            precondition: version.and_then(|version| version.parse().ok()).into(),
        },
    })
}
