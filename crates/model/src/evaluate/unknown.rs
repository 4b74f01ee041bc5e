//! What hangs on a claim that the caller does not have: neither true nor false.
//!
//! An absent attribute is something that a row says, and `!=` holds of it. A missing claim is something that nobody said: if
//! `owner != caller.id` were true or false for a caller without an id, then it or its `!` would admit everybody without one.
//! So there is a third truth, as in SQL: `!unknown` is unknown, `unknown || true` true, `unknown && false` false, and only what
//! is certainly true passes.

use std::borrow::Cow;

use singlet_item::Value;

use super::{Borrowed, EvaluateError, Evaluator, field, has_unknown, truth_value};
use crate::expression::{Expr, ExprKind};
use crate::types::Type;

impl<'a> Evaluator<'a> {
    /// Whether a condition holds; nothing where that is unknown. An absent attribute is false.
    pub(super) fn truth(&mut self, expr: &'a Expr) -> Result<Option<bool>, EvaluateError> {
        let value = self.value(expr)?;
        Ok(match self.is_unknown(expr, value.is_none())? {
            true => None,
            // Absent is false, where unknown is neither.
            false => Some(value.and_then(|value| value.as_bool()).unwrap_or(false)),
        })
    }

    /// A value for whoever shows or stores it: there, a condition that is unknown does not hold.
    pub(super) fn settled(&mut self, expr: &'a Expr) -> Borrowed<'a> {
        let value = self.value(expr)?;
        let computed = !matches!(expr.kind, ExprKind::Caller(_) | ExprKind::Bound(_));
        match value.is_none() && computed && expr.ty == Type::Bool && self.is_unknown(expr, value.is_none())? {
            true => Ok(Some(Cow::Owned(Value::Bool(false)))),
            false => Ok(value.map(known_elements)),
        }
    }

    /// Whether there is no value for want of a claim, or another value only because of it.
    pub(super) fn is_unknown(&mut self, expr: &'a Expr, is_absent: bool) -> Result<bool, EvaluateError> {
        if let ExprKind::Conditional(test, then, otherwise) = &expr.kind
            && expr.ty != Type::Bool
        {
            return match self.truth(test)? {
                Some(true) => self.is_unknown(then, is_absent),
                Some(false) => self.is_unknown(otherwise, is_absent),
                None => Ok(true),
            };
        }
        // A value that is there was not decided by what is missing.
        Ok(is_absent && self.lacks_claim(expr))
    }

    /// Whether an expression mentions a claim that the caller does not have, or a name that hangs on one.
    fn lacks_claim(&self, expr: &Expr) -> bool {
        let mut lacks = false;
        expr.walk(&mut |part| {
            lacks |= match &part.kind {
                ExprKind::Caller(claim) => self.environment.caller(claim).is_none_or(|value| value.is_null()),
                ExprKind::Bound(name) => self
                    .bound(name)
                    .is_some_and(|value| value.is_null() || has_unknown(&value)),
                ExprKind::Field(..) => self.bound_field(part).is_some_and(|value| value.is_null()),
                ExprKind::Literal(_)
                | ExprKind::Attribute(_)
                | ExprKind::Row
                | ExprKind::Arg(_)
                | ExprKind::Now
                | ExprKind::Today
                | ExprKind::Setting(_)
                | ExprKind::Word(_)
                | ExprKind::Index(..)
                | ExprKind::Not(_)
                | ExprKind::Negate(_)
                | ExprKind::Binary(..)
                | ExprKind::Conditional(..)
                | ExprKind::List(_)
                | ExprKind::Record(_)
                | ExprKind::Call(..)
                | ExprKind::Each { .. }
                | ExprKind::Entity { .. }
                | ExprKind::Invalid => false,
            };
        });
        lacks
    }

    /// What stands in a field of a bound name, NULL where it is not known.
    fn bound_field(&self, expr: &Expr) -> Option<Cow<'_, Value>> {
        if let ExprKind::Bound(name) = &expr.kind {
            return self.bound(name);
        }
        let ExprKind::Field(of, name) = &expr.kind else {
            return None;
        };
        field(self.bound_field(of)?, name)
    }

    /// `&&` and `||`: one side alone may decide, by being `decisive`.
    pub(super) fn joined(
        &mut self,
        left: &'a Expr,
        right: &'a Expr,
        decisive: bool,
    ) -> Result<Option<bool>, EvaluateError> {
        let left = self.truth(left)?;
        // The other side is not looked at: it may fail, or need a row.
        if left == Some(decisive) {
            return Ok(left);
        }
        let right = self.truth(right)?;
        Ok(match (left, right) {
            (_, Some(truth)) if truth == decisive => right,
            (None, _) | (_, None) => None,
            _ => Some(!decisive),
        })
    }

    /// A condition that holds whichever way an unknown test goes, or does not whichever way.
    pub(super) fn either_way(&mut self, then: &'a Expr, otherwise: &'a Expr) -> Borrowed<'a> {
        let (then, otherwise) = (self.truth(then)?, self.truth(otherwise)?);
        // Whichever way the claim would have decided.
        Ok(truth_value(then.filter(|_| then == otherwise)))
    }

    /// Whether any of these is unknown.
    pub(super) fn any_unknown(&mut self, exprs: &'a [Expr]) -> Result<bool, EvaluateError> {
        for expr in exprs {
            let value = self.value(expr)?;
            if self.is_unknown(expr, value.is_none())? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// A list without what is not known, for whoever shows or stores it.
fn known_elements(value: Cow<'_, Value>) -> Cow<'_, Value> {
    match hides_elements(&value) {
        true => Cow::Owned(without_unknown(value.into_owned())),
        false => value,
    }
}

/// Whether a list, or one within it, has an element that is not known.
fn hides_elements(value: &Value) -> bool {
    matches!(value, Value::L(elements) if elements.iter().any(|element| element.is_null() || hides_elements(element)))
}

fn without_unknown(value: Value) -> Value {
    let Value::L(elements) = value else { return value };
    let known = elements.into_iter().filter(|element| !element.is_null());
    Value::L(known.map(without_unknown).collect())
}
