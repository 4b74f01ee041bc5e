//! What would have to be otherwise for an operation to go on: so that rows and requests can be made for which it does.
//!
//! Only proposals are made here. Whoever takes one looks at the whole operation again.

use std::cell::RefCell;

use singlet_item::{Number, Value};
use singlet_model::Model;
use singlet_model::evaluate::{Environment, evaluate, evaluate_as, holds_condition, time};
use singlet_model::expression::{BinaryOp, Expr, ExprKind};
use singlet_model::model::Entity;
use singlet_model::types::{EntityId, Type};
use singlet_runtime::Attributes;

use super::steps::OperationSteps;
use super::world::{self, Identity};

/// One row.
pub(crate) type Which = (EntityId, Identity);

/// A change of a table or a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Mend {
    /// A row with these values.
    Add(EntityId, Attributes),
    /// The row is gone.
    Remove(Which),
    /// An attribute of a row has this value, or none.
    Set(Which, String, Option<Value>),
    /// An attribute of a row has another value, whichever.
    Other(Which, String),
    /// An argument has this value.
    Argument(String, Value),
    /// A claim of the caller has this value.
    Claim(String, Value),
}

/// What an operation met on its way, where somebody wants to know.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    is_on: bool,
    mends: RefCell<Vec<Mend>>,
    skipped: RefCell<Vec<Mend>>,
    touched: RefCell<Vec<Which>>,
}

impl Trace {
    /// A trace that is kept.
    pub fn kept_trace() -> Self {
        Trace {
            is_on: true,
            ..Trace::default()
        }
    }

    /// What would help.
    pub(crate) fn possible_mends(&self) -> Vec<Mend> {
        self.mends.take()
    }

    /// What would have more of its steps taken.
    pub fn skipped_mends(&self) -> Vec<Mend> {
        self.skipped.take()
    }

    /// The rows that were looked at.
    pub fn touched_rows(&self) -> Vec<Which> {
        self.touched.take()
    }

    /// Takes note of a row.
    pub(super) fn touch(&self, row: impl FnOnce() -> Which) {
        if self.is_on {
            self.touched.borrow_mut().push(row());
        }
    }
}

impl OperationSteps<'_> {
    /// A condition does not hold that must.
    pub(super) fn note_obstacle(&self, condition: &Expr, own: Option<(EntityId, &Attributes)>) {
        if self.frame.trace.is_on {
            let mends = self.mends_of(condition, own);
            self.frame.trace.mends.borrow_mut().extend(mends);
        }
    }

    /// A step is not taken for its `when`.
    pub(super) fn note_skipped(&self, when: &Expr) {
        if self.frame.trace.is_on {
            let mends = self.mends_of(when, None);
            self.frame.trace.skipped.borrow_mut().extend(mends);
        }
    }

    /// There may be no row with these values, in which case one would help.
    pub(super) fn note_missing(&self, entity: EntityId, at: Option<usize>, known: Attributes) {
        let is_there = at.is_some_and(|at| self.touched.get(at).is_some_and(|touched| touched.was.is_some()));
        if !is_there {
            self.propose(Mend::Add(entity, known));
        }
    }

    /// A row stands where another should.
    pub(super) fn note_in_the_way(&self, entity: EntityId, row: &Attributes) {
        self.propose(Mend::Remove((
            entity,
            world::row_identity(self.frame.model, entity, row),
        )));
    }

    /// A row is in none of the states from which it can be moved.
    pub(super) fn note_state(&self, entity: &Entity, row: &Attributes, from: &[String]) {
        let which = (entity.id, world::row_identity(self.frame.model, entity.id, row));
        let of = entity.states.as_ref().map(|states| &states.of);
        for (state, of) in from.iter().zip(of.into_iter().cycle()) {
            self.propose(Mend::Set(which.clone(), of.clone(), Some(Value::S(state.clone()))));
        }
    }

    fn propose(&self, mend: Mend) {
        if self.frame.trace.is_on {
            self.frame.trace.mends.borrow_mut().push(mend);
        }
    }

    fn mends_of(&self, condition: &Expr, own: Option<(EntityId, &Attributes)>) -> Vec<Mend> {
        let making = self.making_scope(own.map(|(_, row)| row));
        let place = ConditionSite {
            model: self.frame.model,
            environment: &making,
            own,
        };
        place.condition_mends(condition, true)
    }
}

/// What a row must have for the equalities of a condition to hold.
pub(super) fn wanted_equalities(filter: &Expr, environment: &dyn Environment) -> Attributes {
    let mut known = Attributes::new();
    for conjunct in filter.conjuncts() {
        let ExprKind::Binary(BinaryOp::Eq, left, right) = &conjunct.kind else {
            continue;
        };
        for (side, other) in [(left, right), (right, left)] {
            let ExprKind::Attribute(name) = &side.kind else {
                continue;
            };
            if let Ok(Some(value)) = evaluate_as(other, &side.ty, environment) {
                known.insert(name.clone(), value);
            }
        }
    }
    known
}

/// Where a condition is asked.
pub(crate) struct ConditionSite<'a> {
    pub model: &'a Model,
    pub environment: &'a dyn Environment,
    /// The row whose attributes stand bare.
    pub own: Option<(EntityId, &'a Attributes)>,
}

/// What a side of a comparison can be changed by.
enum MendableSide {
    Row(Which, String, Type),
    Argument(String, Type),
    Claim(String),
}

impl ConditionSite<'_> {
    /// Changes after which a condition may hold, or may not.
    pub(crate) fn condition_mends(&self, expr: &Expr, wanted: bool) -> Vec<Mend> {
        let mut mends = Vec::new();
        self.collect(expr, wanted, &mut mends);
        mends
    }

    fn is_so(&self, expr: &Expr, wanted: bool) -> bool {
        holds_condition(expr, self.environment).is_ok_and(|holds| holds == wanted)
    }

    fn collect(&self, expr: &Expr, wanted: bool, mends: &mut Vec<Mend>) {
        if self.is_so(expr, wanted) {
            return;
        }
        match &expr.kind {
            ExprKind::Binary(BinaryOp::And | BinaryOp::Or, left, right) => {
                self.collect(left, wanted, mends);
                self.collect(right, wanted, mends);
            }
            ExprKind::Not(inner) => self.collect(inner, !wanted, mends),
            ExprKind::Binary(op, left, right) if op.is_comparison() => {
                self.compared(*op, left, right, wanted, mends);
                let swapped = if *op == BinaryOp::In { return } else { op.swapped() };
                self.compared(swapped, right, left, wanted, mends);
            }
            ExprKind::Call(_, args) => {
                let sides = args.iter().filter_map(|arg| self.side(arg));
                mends.extend(sides.filter_map(|side| match side {
                    MendableSide::Row(which, name, _) => Some(Mend::Other(which, name)),
                    MendableSide::Argument(..) | MendableSide::Claim(_) => None,
                }));
            }
            _ => {
                if let Some(side) = self.side(expr) {
                    mends.extend(changed(side, Some(Value::Bool(wanted))));
                }
            }
        }
    }

    /// The left side takes a value that makes the comparison come out as wanted.
    fn compared(&self, op: BinaryOp, left: &Expr, right: &Expr, wanted: bool, mends: &mut Vec<Mend>) {
        let Some(side) = self.side(left) else { return };
        let ty = match &side {
            MendableSide::Row(_, _, ty) | MendableSide::Argument(_, ty) => ty.clone(),
            MendableSide::Claim(_) => Type::text(),
        };
        if op == BinaryOp::In {
            let Ok(Some(Value::L(all))) = evaluate(right, self.environment) else {
                return;
            };
            match wanted {
                true => all
                    .into_iter()
                    .for_each(|value| mends.extend(changed(self.again(&side), Some(value)))),
                false => mends.extend(otherwise(side)),
            }
            return;
        }
        let other = match right.is_absent() {
            true => None,
            false => match evaluate_as(right, &ty, self.environment) {
                Ok(other) => other,
                Err(_) => return,
            },
        };
        let equal = (op == BinaryOp::Eq) == wanted;
        match op {
            BinaryOp::Eq | BinaryOp::Ne if equal => mends.extend(changed(side, other)),
            BinaryOp::Eq | BinaryOp::Ne => mends.extend(otherwise(side)),
            _ => {
                let Some(other) = other else { return };
                for value in around(&other, &ty) {
                    mends.extend(changed(self.again(&side), Some(value)));
                }
            }
        }
    }

    fn again(&self, side: &MendableSide) -> MendableSide {
        match side {
            MendableSide::Row(which, name, ty) => MendableSide::Row(which.clone(), name.clone(), ty.clone()),
            MendableSide::Argument(name, ty) => MendableSide::Argument(name.clone(), ty.clone()),
            MendableSide::Claim(name) => MendableSide::Claim(name.clone()),
        }
    }

    fn side(&self, expr: &Expr) -> Option<MendableSide> {
        match &expr.kind {
            ExprKind::Arg(name) => Some(MendableSide::Argument(name.clone(), expr.ty.clone())),
            ExprKind::Caller(name) => Some(MendableSide::Claim(name.clone())),
            ExprKind::Attribute(name) => {
                let (entity, row) = self.own?;
                let which = (entity, world::row_identity(self.model, entity, row));
                Some(MendableSide::Row(which, name.clone(), expr.ty.clone()))
            }
            ExprKind::Field(base, name) => {
                let Type::Row(entity) = base.ty else { return None };
                let row = evaluate(base, self.environment).ok()??;
                let which = (entity, world::row_identity(self.model, entity, row.as_map()?));
                Some(MendableSide::Row(which, name.clone(), expr.ty.clone()))
            }
            _ => None,
        }
    }
}

fn changed(side: MendableSide, value: Option<Value>) -> Option<Mend> {
    Some(match side {
        MendableSide::Row(which, name, _) => Mend::Set(which, name, value),
        MendableSide::Argument(name, _) => Mend::Argument(name, value?),
        MendableSide::Claim(name) => Mend::Claim(name, value?),
    })
}

fn otherwise(side: MendableSide) -> Option<Mend> {
    match side {
        MendableSide::Row(which, name, _) => Some(Mend::Other(which, name)),
        MendableSide::Argument(..) | MendableSide::Claim(_) => None,
    }
}

/// A value with those right before and after it.
fn around(value: &Value, ty: &Type) -> Vec<Value> {
    let mut all = vec![value.clone()];
    match value {
        _ if ty.is_instant() => {
            let millis = time::millis_of(value, ty).ok().flatten();
            let near = [-1_000, 1_000].map(|shift| millis.and_then(|millis| time::instant_as(millis + shift, ty).ok()));
            all.extend(near.into_iter().flatten());
        }
        Value::N(number) => {
            let one = Number::from(1);
            let near = [number.checked_sub(one), number.checked_add(one)];
            all.extend(near.into_iter().flatten().map(Value::N));
        }
        Value::S(text) if *ty == Type::Date => {
            let day: Option<jiff::civil::Date> = text.parse().ok();
            let near = [
                day.and_then(|day| day.yesterday().ok()),
                day.and_then(|day| day.tomorrow().ok()),
            ];
            all.extend(near.into_iter().flatten().map(|day| Value::S(day.to_string())));
        }
        _ => {}
    }
    all
}
