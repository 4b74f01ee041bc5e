//! Requests, made up so that most of them are about rows that are there, and chosen so that every write is done and every
//! refusal said: of several that are drawn, one is taken that comes to what is wanted.

use std::collections::BTreeMap;

use fastrand::Rng;
use singlet_item::{Number, Value};
use singlet_model::expression::{BinaryOp, Expr, ExprKind};
use singlet_model::model::{IdempotencyNeed, LetValue, Step, StepKind, Write};
use singlet_model::types::{EntityId, Type};
use singlet_runtime::{Attributes, Caller, WriteRequest};

use super::oracle::ExpectedOutcome;
use super::sequence::WriteSequence;
use super::world::Row;

/// How often another write is drawn where one has no rows to change.
const TRIES: usize = 6;

/// Who calls.
const CALLERS: &[&str] = &["ada", "bob", "cyd"];

/// An id that is longer than any attribute takes.
const ID_CHARS_MANY: usize = 300;

const KEYS: &[&str] = &["k1", "k2", "k3", "k4", "k5"];

/// Spans by which the clock moves on, in milliseconds: within a second, and past leases, days and retention.
const JUMPS: &[i64] = &[
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    1,
    1,
    1,
    1,
    350,
    350,
    350,
    1_000,
    1_000,
    1_000,
    1_000,
    61_000,
    61_000,
    61_000,
    61_000,
    3_600_000,
    3_600_000,
    20_000_000,
    90_000_000,
    8 * 86_400_000,
];

/// How many writes are tried, and how many requests of each, until one comes to what is wanted.
const WRITES_TRIED: usize = 5;
const REQUESTS_TRIED: usize = 7;

/// How often, of a hundred, what was refused is asked for again.
const STOPPED_AGAIN_PERCENT: u8 = 25;

/// What an operation is drawn for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    /// To be done.
    Done,
    /// To come to what its write has come to least.
    Rare,
    /// To be whatever it is.
    Any,
}

/// The longest span before an operation that is to be done.
const JUMP_SMALL: i64 = 61_000;

/// A source of requests.
#[derive(Debug)]
pub struct Draw {
    pub(super) rng: Rng,
    pub(super) now: i64,
    /// How often each write came to what.
    seen: BTreeMap<(String, String), u64>,
    /// Roles that callers may have.
    roles: Vec<String>,
    /// Writes that are drawn more often, as often as they are named.
    favoured: Vec<String>,
    last: Option<(String, WriteRequest)>,
    /// Whether it was refused.
    stopped: bool,
}

impl Draw {
    /// Requests from an instant on, of callers with one of these roles or none.
    pub fn new(rng: Rng, now: i64, roles: &[&str]) -> Self {
        Draw {
            rng,
            now,
            seen: BTreeMap::new(),
            roles: roles.iter().map(|role| (*role).to_owned()).collect(),
            favoured: Vec::new(),
            last: None,
            stopped: false,
        }
    }

    /// Draws some writes more often: those that others build on, and those that need many before them.
    #[must_use]
    pub fn favouring_writes(mut self, writes: &[&str]) -> Self {
        self.favoured = writes.iter().map(|write| (*write).to_owned()).collect();
        self
    }

    /// Begins on another table, at an instant; what was seen before still counts.
    pub fn begin(&mut self, rng: Rng, now: i64) {
        (self.rng, self.now, self.last, self.stopped) = (rng, now, None, false);
    }

    /// Lets time pass before the next request.
    pub(crate) fn pass_time(&mut self, millis: i64) {
        self.now += millis;
    }

    /// A write and what is asked of it.
    pub fn draw_request(&mut self, sequence: &WriteSequence) -> Option<(String, WriteRequest)> {
        let goal = match self.rng.u8(..100) {
            0..45 => Goal::Done,
            45..65 => Goal::Rare,
            _ => Goal::Any,
        };
        // What is to be done is often done before something lapses.
        let jump = self.rng.choice(JUMPS.iter().copied()).unwrap_or_default();
        self.now += match goal {
            Goal::Done => jump.min(JUMP_SMALL),
            Goal::Rare | Goal::Any => jump,
        };
        // What stopped half-way goes on when it is asked for again, at another instant.
        let again = if self.stopped { STOPPED_AGAIN_PERCENT } else { 4 };
        if self.rng.u8(..100) < again
            && let Some((write, request)) = &self.last
        {
            let now = self.now;
            return Some((write.clone(), WriteRequest { now, ..request.clone() }));
        }
        let (write, request) = self.drawn(sequence, goal)?;
        let is_bulk = sequence
            .model()
            .writes
            .iter()
            .any(|known| known.name == write && known.bulk);
        if request.idempotency_key.is_some() || is_bulk {
            self.last = Some((write.clone(), request.clone()));
            self.stopped = false;
        }
        Some((write, request))
    }

    /// A request that comes to what is wanted; else, of all that were tried, the one that comes to the rarest.
    fn drawn(&mut self, sequence: &WriteSequence, goal: Goal) -> Option<(String, WriteRequest)> {
        let mut rarest: Option<(u64, (String, WriteRequest))> = None;
        let writes = if goal == Goal::Done { WRITES_TRIED } else { 1 };
        for _ in 0..writes {
            let write = self.write(sequence, goal)?;
            for _ in 0..REQUESTS_TRIED {
                let drawn = (write.name.clone(), self.asked(sequence, write));
                if goal == Goal::Any {
                    return Some(drawn);
                }
                let outcome = sequence.meant_outcome(write, &drawn.1).word();
                let seen = self.times(&write.name, &outcome);
                if (goal == Goal::Done && outcome == "done") || (goal == Goal::Rare && seen == 0) {
                    return Some(drawn);
                }
                if rarest.as_ref().is_none_or(|(known, _)| seen < *known) {
                    rarest = Some((seen, drawn));
                }
            }
        }
        rarest.map(|(_, drawn)| drawn)
    }

    /// Remembers what came of a request.
    pub fn saw_outcome(&mut self, write: &str, outcome: &ExpectedOutcome) {
        *self.seen.entry((write.to_owned(), outcome.word())).or_default() += 1;
        if self.last.as_ref().is_some_and(|(last, _)| last == write) {
            self.stopped = matches!(outcome, ExpectedOutcome::Refused(_));
        }
    }

    fn times(&self, write: &str, outcome: &str) -> u64 {
        let key = (write.to_owned(), outcome.to_owned());
        self.seen.get(&key).copied().unwrap_or_default()
    }

    /// What is asked of a write.
    fn asked(&mut self, sequence: &WriteSequence, write: &Write) -> WriteRequest {
        let mut about: Vec<EntityId> = write.all_steps().into_iter().filter_map(Step::entity).collect();
        about.extend(write.lets.iter().filter_map(|bound| match &bound.value {
            LetValue::Read(selection) => selection.entity(),
            LetValue::Value(_) => None,
        }));
        let near = sequence.rows().iter().filter(|(entity, _)| about.contains(entity));
        let near: Vec<&Row> = near.collect();
        let focus = self
            .rng
            .choice(near)
            .or_else(|| self.rng.choice(sequence.rows()))
            .cloned();
        let caller = self.caller(focus.as_ref());
        let mut args = Attributes::new();
        for arg in &write.args {
            let value = match is_caller(write, &arg.name) && self.rng.u8(..10) < 9 {
                true => caller.claims.get("id").cloned(),
                false => self.argument(sequence, arg, focus.as_ref()),
            };
            if let Some(value) = value {
                args.insert(arg.name.clone(), value);
            }
        }
        WriteRequest {
            args,
            caller,
            now: self.now,
            idempotency_key: self.key(write),
            precondition: self
                .version(sequence, write, focus.as_ref())
                .filter(|_| !write.bulk)
                .into(),
        }
    }

    /// A write; mostly one whose rows there are, and of three the one that was done least.
    fn write<'s>(&mut self, sequence: &'s WriteSequence, goal: Goal) -> Option<&'s Write> {
        if goal == Goal::Rare {
            return self.rng.choice(called_writes(sequence));
        }
        let mut write = self.likely_write(sequence)?;
        for _ in 0..if goal == Goal::Done { 2 } else { 0 } {
            let other = self.rng.choice(called_writes(sequence))?;
            if self.times(&other.name, "done") < self.times(&write.name, "done") {
                write = other;
            }
        }
        Some(write)
    }

    fn likely_write<'s>(&mut self, sequence: &'s WriteSequence) -> Option<&'s Write> {
        let mut write = self.any_write(sequence)?;
        for _ in 0..TRIES {
            let changed = write.all_steps().into_iter().filter(|step| {
                matches!(
                    step.kind,
                    StepKind::Update(_) | StepKind::Delete(_) | StepKind::Present(_)
                )
            });
            let mut needed = changed.filter_map(Step::entity);
            if needed.all(|entity| sequence.rows().iter().any(|(known, _)| *known == entity)) {
                break;
            }
            write = self.any_write(sequence)?;
        }
        Some(write)
    }

    fn any_write<'s>(&mut self, sequence: &'s WriteSequence) -> Option<&'s Write> {
        let writes = called_writes(sequence);
        let favoured = self.rng.choice(&self.favoured).filter(|_| self.rng.u8(..10) < 6);
        let favoured = favoured.and_then(|name| writes.iter().copied().find(|write| write.name == *name));
        favoured.or_else(|| self.rng.choice(writes))
    }

    fn caller(&mut self, focus: Option<&Row>) -> Caller {
        if self.rng.u8(..100) < 2 {
            return Caller::anonymous();
        }
        let texts = focus
            .into_iter()
            .flat_map(|(_, row)| row.values())
            .filter_map(Value::as_str);
        let near: Vec<&str> = texts.filter(|text| CALLERS.contains(text)).collect();
        let near = self.rng.choice(near).filter(|_| self.rng.u8(..10) < 6);
        let id = near
            .or_else(|| self.rng.choice(CALLERS.iter().copied()))
            .unwrap_or("ada");
        let caller = match self.rng.u8(..100) {
            0..5 => Caller::with_id("z".repeat(ID_CHARS_MANY)),
            _ => Caller::with_id(id),
        };
        match self.rng.choice(&self.roles).cloned() {
            Some(role) if self.rng.u8(..10) < 9 => caller.claim("role", role),
            _ => caller,
        }
    }

    fn key(&mut self, write: &Write) -> Option<String> {
        let often = match write.idempotency.need {
            IdempotencyNeed::Required => 97,
            _ => 12,
        };
        let key = self.rng.choice(KEYS.iter().copied())?;
        (self.rng.u8(..100) < often).then(|| match self.rng.bool() {
            true => key.to_owned(),
            false => format!("k{}", self.rng.u32(..)),
        })
    }

    fn version(&mut self, sequence: &WriteSequence, write: &Write, focus: Option<&Row>) -> Option<Number> {
        let often = if write.if_match_required { 85 } else { 8 };
        let (entity, row) = focus.filter(|_| self.rng.u8(..100) < often)?;
        let mut attributes = sequence.model().entity(*entity)?.attributes.iter();
        let version = attributes.find(|attribute| attribute.ty == Type::Version)?;
        let current = row.get(&version.name)?.as_number()?;
        match self.rng.bool() {
            true => Some(current),
            false => current.checked_add(Number::from(1)).ok(),
        }
    }
}

/// The writes that somebody may call: not those that only run after changes.
fn called_writes(sequence: &WriteSequence) -> Vec<&Write> {
    let writes = sequence.model().writes.iter();
    writes
        .filter(|write| write.after.is_none() || write.http.is_some())
        .collect()
}

/// Whether `allow` wants an argument to be the caller.
fn is_caller(write: &Write, name: &str) -> bool {
    write.allow.any(|part| match &part.kind {
        ExprKind::Binary(BinaryOp::Eq, left, right) => {
            let arg = |expr: &Expr| matches!(&expr.kind, ExprKind::Arg(known) if known == name);
            let caller = |expr: &Expr| matches!(expr.kind, ExprKind::Caller(_));
            arg(left) && caller(right)
        }
        _ => false,
    })
}
