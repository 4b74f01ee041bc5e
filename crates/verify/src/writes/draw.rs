//! Requests, made up so that most of them are about rows that are there, and chosen so that every write is done and every
//! refusal said: of several that are drawn, one is taken that comes to what is wanted.

use std::collections::BTreeMap;

use fastrand::Rng;
use singlet_item::{Number, Value};
use singlet_model::evaluate::time;
use singlet_model::expression::{BinaryOp, Expr, ExprKind};
use singlet_model::model::{Argument, Attribute, IdempotencyNeed, LetValue, Step, StepKind, Write};
use singlet_model::types::{EntityId, ObjectType, Type};
use singlet_runtime::{Attributes, Caller, WriteRequest, values};

use super::oracle::Outcome;
use super::sequence::Sequence;
use super::world::Row;

/// Texts that fit one type or another: names, codes, addresses, and characters that keys escape.
const TEXTS: &[&str] = &[
    "ada",
    "bob",
    "cyd",
    "Ada",
    "home",
    "home office",
    "a#b",
    "a$b",
    "x",
    "hello there",
    "ada@x.org",
    "ADA@x.org",
    "bob@x.org",
    "cyd@y.org",
    "AA",
    "BB",
    "CC",
    "AAA",
    "BBB",
    "CCC",
    "001",
    "002",
    "003",
    "12345678",
    "123456",
    "EUR",
];

/// How many of the texts that fit are used, so that rows share some.
const TEXTS_USUAL: usize = 5;

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
const WRITES_TRIED: usize = 3;
const REQUESTS_TRIED: usize = 6;

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

/// A source of requests.
#[derive(Debug)]
pub struct Draw {
    rng: Rng,
    now: i64,
    /// How often each write came to what.
    seen: BTreeMap<(String, String), u64>,
    /// Roles that callers may have.
    roles: Vec<String>,
    /// Writes that are drawn more often, as often as they are named.
    favoured: Vec<String>,
    last: Option<(String, WriteRequest)>,
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
        }
    }

    /// The same with some writes drawn more often: those that others build on, and those that need many before them.
    #[must_use]
    pub fn favouring(mut self, writes: &[&str]) -> Self {
        self.favoured = writes.iter().map(|write| (*write).to_owned()).collect();
        self
    }

    /// Begins on another table, at an instant; what was seen before still counts.
    pub fn begin(&mut self, rng: Rng, now: i64) {
        (self.rng, self.now, self.last) = (rng, now, None);
    }

    /// A write and what is asked of it.
    pub fn request(&mut self, sequence: &Sequence) -> Option<(String, WriteRequest)> {
        self.now += self.rng.choice(JUMPS.iter().copied()).unwrap_or_default();
        if self.rng.u8(..100) < 4
            && let Some((write, request)) = &self.last
        {
            let now = self.now;
            return Some((write.clone(), WriteRequest { now, ..request.clone() }));
        }
        let goal = match self.rng.u8(..100) {
            0..45 => Goal::Done,
            45..60 => Goal::Rare,
            _ => Goal::Any,
        };
        let (write, request) = self.drawn(sequence, goal)?;
        if request.idempotency_key.is_some() {
            self.last = Some((write.clone(), request.clone()));
        }
        Some((write, request))
    }

    /// A request that comes to what is wanted; else, of all that were tried, the one that comes to the rarest.
    fn drawn(&mut self, sequence: &Sequence, goal: Goal) -> Option<(String, WriteRequest)> {
        let mut rarest: Option<(u64, (String, WriteRequest))> = None;
        let writes = if goal == Goal::Done { WRITES_TRIED } else { 1 };
        for _ in 0..writes {
            let write = self.write(sequence, goal)?;
            for _ in 0..REQUESTS_TRIED {
                let drawn = (write.name.clone(), self.asked(sequence, write));
                if goal == Goal::Any {
                    return Some(drawn);
                }
                let outcome = sequence.meant(write, &drawn.1).word();
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
    pub fn saw(&mut self, write: &str, outcome: &Outcome) {
        *self.seen.entry((write.to_owned(), outcome.word())).or_default() += 1;
    }

    fn times(&self, write: &str, outcome: &str) -> u64 {
        let key = (write.to_owned(), outcome.to_owned());
        self.seen.get(&key).copied().unwrap_or_default()
    }

    /// What is asked of a write.
    fn asked(&mut self, sequence: &Sequence, write: &Write) -> WriteRequest {
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
            precondition: self.version(sequence, focus.as_ref()).into(),
        }
    }

    /// A write; mostly one whose rows there are, and of three the one that was done least.
    fn write<'s>(&mut self, sequence: &'s Sequence, goal: Goal) -> Option<&'s Write> {
        let mut write = self.likely_write(sequence)?;
        for _ in 0..if goal == Goal::Done { 2 } else { 0 } {
            let other = self.likely_write(sequence)?;
            if self.times(&other.name, "done") < self.times(&write.name, "done") {
                write = other;
            }
        }
        Some(write)
    }

    fn likely_write<'s>(&mut self, sequence: &'s Sequence) -> Option<&'s Write> {
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

    fn any_write<'s>(&mut self, sequence: &'s Sequence) -> Option<&'s Write> {
        let writes = &sequence.model().writes;
        let favoured = self.rng.choice(&self.favoured).filter(|_| self.rng.u8(..10) < 6);
        let favoured = favoured.and_then(|name| writes.iter().find(|write| write.name == *name));
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

    fn version(&mut self, sequence: &Sequence, focus: Option<&Row>) -> Option<Number> {
        let (entity, row) = focus.filter(|_| self.rng.u8(..100) < 8)?;
        let mut attributes = sequence.model().entity(*entity)?.attributes.iter();
        let version = attributes.find(|attribute| attribute.ty == Type::Version)?;
        let current = row.get(&version.name)?.as_number()?;
        match self.rng.bool() {
            true => Some(current),
            false => current.checked_add(Number::from(1)).ok(),
        }
    }

    fn argument(&mut self, sequence: &Sequence, arg: &Argument, focus: Option<&Row>) -> Option<Value> {
        let odds = self.rng.u8(..100);
        if arg.optional || arg.default.is_some() {
            match odds {
                0..35 => return None,
                35..45 if arg.optional => return Some(Value::Null),
                _ => {}
            }
        } else if odds == 0 {
            return None;
        }
        let known = match self.rng.u8(..10) {
            0..8 => focus.and_then(|row| self.known(sequence, arg, &[row])),
            8 => self.known_anywhere(sequence, arg),
            _ => None,
        };
        // An id that nobody has is of little use.
        let known = known.or_else(|| {
            self.known_anywhere(sequence, arg)
                .filter(|_| arg.ty == Type::Ulid && odds < 90)
        });
        known.or_else(|| self.fresh(sequence, &arg.ty, 0))
    }

    fn known_anywhere(&mut self, sequence: &Sequence, arg: &Argument) -> Option<Value> {
        let all: Vec<&Row> = sequence.rows().iter().collect();
        self.known(sequence, arg, &all)
    }

    /// A value that some row has under that name, or else for an attribute of that type.
    fn known(&mut self, sequence: &Sequence, arg: &Argument, rows: &[&Row]) -> Option<Value> {
        let named = |attribute: &Attribute| attribute.name.eq_ignore_ascii_case(&arg.name);
        let typed = |attribute: &Attribute| attribute.ty == arg.ty && !matches!(arg.ty, Type::Bool | Type::Enum(_));
        let mut values = values_of(sequence, rows, &named);
        if values.is_empty() {
            values = values_of(sequence, rows, &typed);
        }
        values.retain(|value| values::checked(value, &arg.ty).is_ok());
        self.rng.choice(values).cloned()
    }

    /// An element: an id that some row has, or anything.
    fn element(&mut self, sequence: &Sequence, ty: &Type, depth: u8) -> Option<Value> {
        let rows: Vec<&Row> = sequence.rows().iter().collect();
        let known = values_of(sequence, &rows, &|attribute| attribute.ty == *ty);
        let known = self
            .rng
            .choice(known)
            .filter(|_| *ty == Type::Ulid && self.rng.u8(..10) < 9);
        known.cloned().or_else(|| self.fresh(sequence, ty, depth))
    }

    fn fresh(&mut self, sequence: &Sequence, ty: &Type, depth: u8) -> Option<Value> {
        if depth > 3 {
            return None;
        }
        let days = self.rng.i64(-2..4) * 86_400_000;
        Some(match ty {
            Type::Text(_) => {
                let fits = |text: &&str| values::checked(&Value::S((*text).to_owned()), ty).is_ok();
                let texts: Vec<&str> = TEXTS.iter().copied().filter(fits).collect();
                Value::S(self.rng.choice(texts.into_iter().take(TEXTS_USUAL))?.to_owned())
            }
            Type::Int(limits) | Type::Number(limits) => {
                let near = [limits.min, limits.max].into_iter().flatten();
                let mut numbers: Vec<Number> = near.chain((0..8).map(Number::from)).collect();
                numbers.extend(limits.only.iter().flat_map(|only| only.iter().copied()));
                numbers.retain(|number| values::checked(&Value::N(*number), ty).is_ok());
                Value::N(self.rng.choice(numbers)?)
            }
            Type::Bool => Value::Bool(self.rng.bool()),
            Type::Date => Value::S(time::iso(self.now + days).ok()?.get(..10)?.to_owned()),
            Type::Time | Type::Seconds | Type::Millis => time::instant(self.now + days, ty).ok()?,
            Type::Ulid => Value::S(format!("{:026}", self.rng.u8(..3))),
            Type::Enum(words) => Value::S(self.rng.choice(&words.members)?.clone()),
            Type::Object(object) | Type::Geo(Some(object)) => self.object(sequence, object, depth)?,
            Type::List(element, limits) => {
                let least = limits.min.unwrap_or(0).max(1);
                let count = self.rng.u64(least..least + 3).min(limits.max.unwrap_or(u64::MAX));
                let elements = (0..count).filter_map(|_| self.element(sequence, element, depth + 1));
                Value::L(elements.collect())
            }
            Type::Set(element, _) => {
                let words: Vec<Value> = (0..2)
                    .filter_map(|_| self.element(sequence, element, depth + 1))
                    .collect();
                match words.first()? {
                    Value::N(_) => Value::Ns(words.iter().filter_map(Value::as_number).collect()),
                    _ => Value::Ss(
                        words
                            .iter()
                            .filter_map(|word| word.as_str().map(str::to_owned))
                            .collect(),
                    ),
                }
            }
            Type::Map(element, _) => {
                let value = self.element(sequence, element, depth + 1)?;
                Value::M(Attributes::from([("k".to_owned(), value)]))
            }
            _ => return None,
        })
    }

    fn object(&mut self, sequence: &Sequence, object: &ObjectType, depth: u8) -> Option<Value> {
        let mut fields = Attributes::new();
        for field in &object.fields {
            if !field.optional || self.rng.bool() {
                fields.insert(field.name.clone(), self.fresh(sequence, &field.ty, depth + 1)?);
            }
        }
        Some(Value::M(fields))
    }
}

fn values_of<'s>(sequence: &Sequence, rows: &[&'s Row], wanted: &dyn Fn(&Attribute) -> bool) -> Vec<&'s Value> {
    let mut values = Vec::new();
    for (id, row) in rows {
        let entity = sequence.model().entity(*id);
        let attributes = entity.into_iter().flat_map(|entity| &entity.attributes);
        let wanted = attributes.filter(|attribute| wanted(attribute));
        values.extend(wanted.filter_map(|attribute| row.get(&attribute.name)));
    }
    values
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
