//! What an expression means, computed: the one evaluator.
//!
//! It works on the typed tree and on DynamoDB's values, so that what it says of a row is what DynamoDB says of it. Absence is
//! `None`: a comparison with it is false, `!=` true, and nothing else computes with it. There is no clock and no chance here:
//! the instant and generated values come from the [`Environment`].
//!
//! A claim that the caller does not have is not absent but *unknown* ([`unknown`]): what is compared with it is neither true
//! nor false, `!` leaves it so, and only what is certainly true admits anybody.
//!
//! Values stand as they are stored: dates, times and ids as text, epoch instants as numbers, rows and objects as maps. Two kinds
//! exist only while computing: the instant of the operation, in epoch milliseconds, and durations ([`Duration`]).
//!
//! Every type, function and kind of expression is named where it is computed: one that is forgotten does not compile, and a value
//! that is not what its type says is an error, never an answer.
#![deny(
    clippy::wildcard_enum_match_arm,
    reason = "a kind of expression that is forgotten must not compile"
)]

mod arithmetic;
mod compare;
mod convert;
mod functions;
pub mod geo;
#[cfg(test)]
mod tests;
pub mod time;
mod unknown;

pub use compare::{order_values, row_order};
pub use convert::convert_value;
pub use time::Duration;

use std::borrow::Cow;
use std::collections::BTreeMap;

use singlet_item::{Number, Value};

use crate::expression::{BinaryOp, EachOp, Expr, ExprKind, Literal, Word};
use crate::types::{EntityId, Type};

/// What the names in an expression stand for. Whoever has a value lends it: an expression that only looks takes no copy.
pub trait Environment {
    /// An attribute of the row in scope.
    fn attribute(&self, name: &str) -> Option<Cow<'_, Value>>;
    /// The row that `row` names, as a map.
    fn row(&self) -> Option<Cow<'_, Value>>;
    /// An attribute of the row that `row` names. Who has the row at hand takes no copy of all of it.
    fn row_field(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.row().and_then(|row| field(row, name))
    }
    /// An argument.
    fn arg(&self, name: &str) -> Option<Cow<'_, Value>>;
    /// A claim of the caller; `authenticated` is a bool.
    fn caller(&self, claim: &str) -> Option<Cow<'_, Value>>;
    /// A value given at deployment.
    fn setting(&self, name: &str) -> Option<Cow<'_, Value>>;
    /// A bound name; rows are maps.
    fn bound(&self, name: &str) -> Option<Cow<'_, Value>>;
    /// What is looked at in a bound name. Who reads rows only when they are looked at learns here what is.
    ///
    /// # Errors
    ///
    /// Where a row must be read first.
    fn look_at(&self, name: &str, look: Look<'_>) -> Borrowed<'_> {
        Ok(self.bound(name).and_then(|value| look.seen_within(value)))
    }
    /// What is looked at in the row with that key; nothing of it is there where it is absent.
    ///
    /// # Errors
    ///
    /// Where the row must be read first, or is missing and more than its presence is asked for.
    fn row_by_key(&self, _entity: EntityId, _key: &[KeyValue<'_>], _look: Look<'_>) -> Borrowed<'_> {
        Err(EvaluateError::NeedsStore)
    }
    /// A word that only some places know.
    fn word(&self, word: Word) -> Option<Cow<'_, Value>>;
    /// The instant of the operation, in epoch milliseconds.
    fn now(&self) -> i64;
    /// The model's zone.
    fn zone(&self) -> &jiff::tz::TimeZone;
    /// A new value: an id, digits, or a random number below the argument.
    fn generate(&self, expr: &Expr, argument: Option<u64>) -> Option<Value>;
}

/// What an expression looks at in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look<'n> {
    /// Only whether it is there.
    Presence,
    /// One attribute.
    Field(&'n str),
    /// All of it.
    Whole,
}

impl Look<'_> {
    /// What is seen of a value: of one that is only looked for, that it is there.
    pub fn seen_within(self, value: Cow<'_, Value>) -> Option<Cow<'_, Value>> {
        match self {
            Look::Whole => Some(value),
            Look::Field(name) => field(value, name),
            Look::Presence => Some(Cow::Owned(match value.is_null() {
                true => Value::Null,
                false => Value::Bool(true),
            })),
        }
    }

    /// What is seen of a row that is there.
    pub fn within_row(self, row: &BTreeMap<String, Value>) -> Option<Cow<'_, Value>> {
        match self {
            Look::Whole => Some(Cow::Owned(Value::M(row.clone()))),
            Look::Field(name) => row.get(name).map(Cow::Borrowed),
            Look::Presence => Some(Cow::Owned(Value::Bool(true))),
        }
    }
}

/// A variable of a row's key: its name, its value, and the type that the value was computed as.
pub type KeyValue<'n> = (&'n str, Option<Value>, &'n Type);

/// Why an expression has no value though nothing is absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvaluateError {
    /// Arithmetic left the range of numbers, or divided by zero.
    Arithmetic(String),
    /// An instant or a day is out of range.
    Time(String),
    /// Something that can only be read from a store.
    NeedsStore,
    /// A value is not what its type says, or an expression has no meaning: a mistake of the data or of this program.
    Unfit(String),
    /// A row that is named by its key is not there.
    RowMissing(EntityId),
}

impl std::fmt::Display for EvaluateError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EvaluateError::Arithmetic(reason) | EvaluateError::Time(reason) | EvaluateError::Unfit(reason) => {
                out.write_str(reason)
            }
            EvaluateError::NeedsStore => out.write_str("a row is needed that was not read"),
            EvaluateError::RowMissing(_) => out.write_str("a row that is named by its key is not there"),
        }
    }
}

impl std::error::Error for EvaluateError {}

/// A value, or `None` for absent.
pub type Evaluated = Result<Option<Value>, EvaluateError>;

/// A value, or `None` for absent; borrowed where it lies in what the names stand for.
pub type Borrowed<'e> = Result<Option<Cow<'e, Value>>, EvaluateError>;

/// Computes an expression, for whoever shows or stores it: the operation's instant is a time.
///
/// # Errors
///
/// Where arithmetic or time leaves its range.
pub fn evaluate(expr: &Expr, environment: &dyn Environment) -> Evaluated {
    evaluate_as(expr, &convert::shown_type(&expr.ty), environment)
}

/// Computes a condition; absent and unknown count as false.
///
/// # Errors
///
/// As [`evaluate`].
pub fn holds_condition(expr: &Expr, environment: &dyn Environment) -> Result<bool, EvaluateError> {
    Ok(decide_condition(expr, environment)?.unwrap_or(false))
}

/// Computes a condition: true, false, or nothing where that hangs on a claim that the caller does not have.
///
/// # Errors
///
/// As [`evaluate`].
pub fn decide_condition(expr: &Expr, environment: &dyn Environment) -> Result<Option<bool>, EvaluateError> {
    Evaluator::new(environment).truth(expr)
}

/// Computes what a name is bound to. What is unknown for want of a claim is bound as NULL, so that it stays unknown to whoever
/// looks at the name.
///
/// # Errors
///
/// As [`evaluate`].
pub fn evaluate_bound(expr: &Expr, environment: &dyn Environment) -> Evaluated {
    let mut evaluator = Evaluator::new(environment);
    evaluator.binds = true;
    let value = evaluator.value(expr)?;
    Ok(match evaluator.is_unknown(expr, value.is_none())? {
        true => Some(Value::Null),
        false => value.map(Cow::into_owned),
    })
}

/// Computes an expression as it is stored in an attribute of a type: the operation's instant becomes a time, seconds or
/// milliseconds.
///
/// # Errors
///
/// As [`evaluate`].
pub fn evaluate_as(expr: &Expr, ty: &Type, environment: &dyn Environment) -> Evaluated {
    Ok(evaluate_borrowed(expr, ty, environment)?.map(Cow::into_owned))
}

/// Computes an expression as [`evaluate_as`] does; borrowed where the value lies there in that form.
///
/// # Errors
///
/// As [`evaluate`].
pub fn evaluate_borrowed<'e>(expr: &'e Expr, ty: &Type, environment: &'e dyn Environment) -> Borrowed<'e> {
    // Not `value`: what hangs on a claim that nobody has must not leave here as if it were absent.
    let value = Evaluator::new(environment).settled(expr)?;
    value
        .map(|value| convert::converted_borrowed(value, &expr.ty, ty))
        .transpose()
}

pub(super) struct Evaluator<'a> {
    environment: &'a dyn Environment,
    /// Elements of the lists that are being looked through, the innermost last.
    variables: Vec<(&'a str, Cow<'a, Value>)>,
    /// Whether the whole is bound to a name: what is unknown in it stays so.
    binds: bool,
}

impl<'a> Evaluator<'a> {
    fn new(environment: &'a dyn Environment) -> Self {
        Evaluator {
            environment,
            variables: Vec::new(),
            binds: false,
        }
    }

    pub(super) fn value(&mut self, expr: &'a Expr) -> Borrowed<'a> {
        let environment = self.environment;
        Ok(match &expr.kind {
            ExprKind::Literal(literal) => literal_value(literal).map(Cow::Owned),
            ExprKind::Attribute(name) => present(environment.attribute(name)),
            ExprKind::Row => environment.row(),
            ExprKind::Arg(name) => present(environment.arg(name)),
            ExprKind::Caller(claim) => present(environment.caller(claim)),
            ExprKind::Now => computed(Value::N(Number::from(environment.now()))),
            ExprKind::Today => computed(Value::S(time::day_of(environment.now(), environment.zone())?)),
            ExprKind::Setting(name) => present(environment.setting(name)),
            ExprKind::Bound(name) => self.look_at(name, Look::Whole)?,
            ExprKind::Word(word) => present(environment.word(*word)),
            ExprKind::Field(of, name) => self.field_of(of, name)?,
            ExprKind::Index(of, at) => self.index(of, at)?,
            ExprKind::Not(inner) => truth_value(self.truth(inner)?.map(|truth| !truth)),
            ExprKind::Negate(inner) => self.negate(inner)?,
            ExprKind::Binary(op, left, right) => self.binary(*op, left, right)?,
            ExprKind::Conditional(test, then, otherwise) => match self.truth(test)? {
                // Only the branch that is taken is computed: the other one may fail, or look at a row that nobody has read.
                Some(true) => self.branch(then, expr)?,
                // Of two conditions the outcome may be the same either way, and is then known.
                None if expr.ty == Type::Bool => self.either_way(then, otherwise)?,
                Some(false) | None => self.branch(otherwise, expr)?,
            },
            ExprKind::List(elements) => computed(Value::L(self.list(elements, expr)?)),
            ExprKind::Record(fields) => computed(self.record(fields)?),
            ExprKind::Call(function, args) => functions::call_function(self, *function, args, expr)?.map(Cow::Owned),
            ExprKind::Each { op, list, var, body } => self.each(*op, list, var, body)?.map(Cow::Owned),
            ExprKind::Entity { entity, key } => self.row_by_key(*entity, key, Look::Whole)?,
            ExprKind::Invalid => {
                return Err(EvaluateError::Unfit("this expression was refused".to_owned()));
            }
        })
    }

    /// A branch of `?:` in the type of the whole: `now` in one branch and a time in the other are both that time.
    fn branch(&mut self, branch: &'a Expr, whole: &Expr) -> Borrowed<'a> {
        let value = self.value(branch)?;
        value
            .map(|value| convert::converted_borrowed(value, &branch.ty, &whole.ty))
            .transpose()
    }

    fn variable(&self, name: &str) -> Option<&Cow<'a, Value>> {
        // The innermost of that name.
        let variable = self.variables.iter().rev().find(|(known, _)| *known == name);
        variable.map(|(_, value)| value)
    }

    fn bound(&self, name: &str) -> Option<Cow<'_, Value>> {
        match self.variable(name) {
            Some(value) => Some(Cow::Borrowed(value)),
            None => self.environment.bound(name),
        }
    }

    /// What is looked at in a bound name: an element's variable is a value, any other may be a row that somebody reads.
    fn look_at(&self, name: &str, look: Look<'_>) -> Borrowed<'a> {
        Ok(present(match self.variable(name) {
            Some(Cow::Borrowed(value)) => look.seen_within(Cow::Borrowed(value)),
            // An element that was computed goes with its turn: what is looked at in it is copied, and no more.
            Some(Cow::Owned(value)) => look
                .seen_within(Cow::Borrowed(value))
                .map(|seen| Cow::Owned(seen.into_owned())),
            None => self.environment.look_at(name, look)?,
        }))
    }

    fn field_of(&mut self, of: &'a Expr, name: &str) -> Borrowed<'a> {
        if let ExprKind::Bound(bound) = &of.kind {
            return self.look_at(bound, Look::Field(name));
        }
        if let ExprKind::Entity { entity, key } = &of.kind {
            return Ok(present(self.row_by_key(*entity, key, Look::Field(name))?));
        }
        if let ExprKind::Row = &of.kind {
            return Ok(present(self.environment.row_field(name)));
        }
        Ok(self.value(of)?.and_then(|value| present(field(value, name))))
    }

    fn row_by_key(&mut self, entity: EntityId, key: &'a [(String, Expr)], look: Look<'_>) -> Borrowed<'a> {
        let mut values: Vec<KeyValue<'a>> = Vec::with_capacity(key.len());
        for (name, part) in key {
            values.push((name, self.value(part)?.map(Cow::into_owned), &part.ty));
        }
        self.environment.row_by_key(entity, &values, look)
    }

    /// A value that is only tested for absence: of a row nothing else is looked at.
    fn tested(&mut self, expr: &'a Expr) -> Borrowed<'a> {
        if let ExprKind::Bound(name) = &expr.kind {
            // Whether it is there is asked, and no more: a row that is only tested for need not be pinned by its values.
            return self.look_at(name, Look::Presence);
        }
        if let ExprKind::Entity { entity, key } = &expr.kind {
            return self.row_by_key(*entity, key, Look::Presence);
        }
        self.value(expr)
    }

    fn index(&mut self, of: &'a Expr, at: &'a Expr) -> Borrowed<'a> {
        if let (Type::Row(_), Some(Literal::Text(name))) = (&of.ty, at.as_literal()) {
            return self.field_of(of, name);
        }
        let (Some(of), Some(at)) = (self.value(of)?, self.value(at)?) else {
            return Ok(None);
        };
        match (of.as_ref(), at.as_ref()) {
            (Value::L(_), Value::N(number)) => {
                let at = number.to_i64().and_then(|at| usize::try_from(at).ok());
                Ok(at.and_then(|at| element_at(of, at)))
            }
            (Value::M(_), Value::S(name)) => Ok(present(field(of, name))),
            _ => {
                let reason = "this is neither an element of a list nor an entry of a map";
                Err(EvaluateError::Unfit(reason.to_owned()))
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, left: &'a Expr, right: &'a Expr) -> Borrowed<'a> {
        match op {
            BinaryOp::And => Ok(truth_value(self.joined(left, right, false)?)),
            BinaryOp::Or => Ok(truth_value(self.joined(left, right, true)?)),
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge | BinaryOp::In => {
                // `absent` is said, and not a value: both sides are only tested for.
                let (a, b) = match (left.is_absent(), right.is_absent()) {
                    (false, false) => (self.value(left)?, self.value(right)?),
                    _ => (self.tested(left)?, self.tested(right)?),
                };
                Ok(truth_value(self.compared(op, (a, left), (b, right))?))
            }
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => {
                let (Some(a), Some(b)) = (self.value(left)?, self.value(right)?) else {
                    return Ok(None);
                };
                arithmetic::compute_binary(op, (&a, &left.ty), (&b, &right.ty), self.environment.zone()).map(computed)
            }
        }
    }

    /// A comparison. `absent` written out is a test; any other absent operand makes it false, `!=` true. With a claim that the
    /// caller does not have it is unknown: what is not known of a caller must not admit anybody.
    fn compared(
        &mut self,
        op: BinaryOp,
        (a, left): (Option<Cow<'a, Value>>, &'a Expr),
        (b, right): (Option<Cow<'a, Value>>, &'a Expr),
    ) -> Result<Option<bool>, EvaluateError> {
        if left.is_absent() || right.is_absent() {
            let both = a.is_none() && b.is_none();
            return Ok(Some(match op == BinaryOp::Ne {
                true => !both,
                false => op == BinaryOp::Eq && both,
            }));
        }
        // Before the values are compared: a claim that nobody has is neither equal nor different.
        if self.is_unknown(left, a.is_none())? || self.is_unknown(right, b.is_none())? {
            return Ok(None);
        }
        let in_unknown = op == BinaryOp::In && b.as_deref().is_some_and(has_unknown);
        let holds = match (a, b) {
            (Some(a), Some(b)) => compare::compare_values(op, (&a, &left.ty), (&b, &right.ty))?,
            // What is absent differs from every value, and compares with none.
            _ => op == BinaryOp::Ne,
        };
        // An element that is not known may be the one that is looked for.
        Ok((holds || !in_unknown).then_some(holds))
    }

    fn negate(&mut self, inner: &'a Expr) -> Borrowed<'a> {
        let Some(value) = self.value(inner)? else {
            return Ok(None);
        };
        arithmetic::negate_value(&value, &inner.ty).map(computed)
    }

    /// The elements of a list in the form of its type. Absent ones are left out; unknown ones are NULL, since a list of which
    /// one is not known must not pass for a shorter one.
    fn list(&mut self, exprs: &'a [Expr], whole: &Expr) -> Result<Vec<Value>, EvaluateError> {
        let element = whole.ty.element_type();
        let mut values = Vec::with_capacity(exprs.len());
        for expr in exprs {
            let value = self.value(expr)?;
            let is_unknown = self.is_unknown(expr, value.is_none())?;
            match value {
                // Kept in its place: without it the list would say that the element is not in it.
                _ if is_unknown => values.push(Value::Null),
                Some(value) => {
                    let value = convert::converted_borrowed(value, &expr.ty, element.unwrap_or(&expr.ty))?;
                    values.push(value.into_owned());
                }
                None => {}
            }
        }
        Ok(values)
    }

    fn record(&mut self, fields: &'a [(String, Expr)]) -> Result<Value, EvaluateError> {
        let mut map = BTreeMap::new();
        for (name, expr) in fields {
            let value = match self.binds {
                true => {
                    let value = self.value(expr)?;
                    let is_unknown = self.is_unknown(expr, value.is_none())?;
                    if is_unknown { computed(Value::Null) } else { value }
                }
                false => self.settled(expr)?,
            };
            map.extend(value.map(|value| (name.clone(), value.into_owned())));
        }
        Ok(Value::M(map))
    }

    fn each(&mut self, op: EachOp, list: &'a Expr, var: &'a str, body: &'a Expr) -> Evaluated {
        let Some(list) = self.value(list)? else {
            return Ok(None);
        };
        let mut results = Vec::new();
        for element in elements_of(list) {
            self.variables.push((var, element));
            let result = self.each_result(op, body);
            let element = self.variables.pop().map(|(_, element)| element);
            results.extend(element.zip(Some(result?)));
        }
        functions::fold_list(op, results)
    }

    /// What an element gives; where it is a condition, nothing stands for unknown.
    fn each_result(&mut self, op: EachOp, body: &'a Expr) -> Borrowed<'a> {
        match op {
            EachOp::Exists | EachOp::All | EachOp::Filter => Ok(truth_value(self.truth(body)?)),
            EachOp::Map | EachOp::Sum | EachOp::Group => self.settled(body),
        }
    }

    pub(super) fn environment(&self) -> &'a dyn Environment {
        self.environment
    }
}

/// The elements of a list or set.
pub(super) fn elements_of(value: Cow<'_, Value>) -> Vec<Cow<'_, Value>> {
    match value {
        Cow::Borrowed(Value::L(elements)) => elements.iter().map(Cow::Borrowed).collect(),
        // The members of a set are no values that lie anywhere.
        Cow::Borrowed(set) => list_elements(set.clone()).into_iter().map(Cow::Owned).collect(),
        Cow::Owned(list) => list_elements(list).into_iter().map(Cow::Owned).collect(),
    }
}

/// The elements of a list or set, taken out of it.
pub(super) fn list_elements(value: Value) -> Vec<Value> {
    match value {
        Value::L(elements) => elements,
        Value::Ss(words) => words.into_iter().map(Value::S).collect(),
        Value::Ns(numbers) => numbers.into_iter().map(Value::N).collect(),
        Value::Bs(bytes) => bytes.into_iter().map(Value::B).collect(),
        Value::S(_) | Value::N(_) | Value::B(_) | Value::Bool(_) | Value::Null | Value::M(_) => Vec::new(),
    }
}

/// Whether a list has an element that is not known, or something without one.
pub(super) fn has_unknown(value: &Value) -> bool {
    matches!(value, Value::L(elements) if elements.iter().any(Value::is_null))
}

/// A stored NULL reads as absent.
fn present(value: Option<Cow<'_, Value>>) -> Option<Cow<'_, Value>> {
    value.filter(|value| !value.is_null())
}

fn computed<'e>(value: Value) -> Option<Cow<'e, Value>> {
    Some(Cow::Owned(value))
}

fn truth_value<'e>(truth: Option<bool>) -> Option<Cow<'e, Value>> {
    truth.map(|truth| Cow::Owned(Value::Bool(truth)))
}

fn field<'e>(value: Cow<'e, Value>, name: &str) -> Option<Cow<'e, Value>> {
    match value {
        Cow::Borrowed(value) => value.as_map()?.get(name).map(Cow::Borrowed),
        Cow::Owned(Value::M(mut entries)) => entries.remove(name).map(Cow::Owned),
        Cow::Owned(_) => None,
    }
}

fn element_at(list: Cow<'_, Value>, at: usize) -> Option<Cow<'_, Value>> {
    match list {
        Cow::Borrowed(list) => list.as_list()?.get(at).map(Cow::Borrowed),
        Cow::Owned(Value::L(elements)) => elements.into_iter().nth(at).map(Cow::Owned),
        Cow::Owned(_) => None,
    }
}

fn literal_value(literal: &Literal) -> Option<Value> {
    match literal {
        Literal::Bool(truth) => Some(Value::Bool(*truth)),
        Literal::Number(number) => Some(Value::N(*number)),
        Literal::Text(text) => Some(Value::S(text.clone())),
        Literal::Absent => None,
    }
}
