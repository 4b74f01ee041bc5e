//! Who may ask at all: what `allow` says of the caller alone, before a request is read.
//!
//! A claim that the caller does not have is unknown, and so is what hangs on it, `!=` and `!` included. Only what is certainly true
//! admits: a caller that leaves out a claim gains nothing by it.

use singlet_model::evaluate::holds_condition;
use singlet_model::expression::{Expr, ExprKind};
use singlet_plan::write::Place;

use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::scope::{Attributes, Caller, Scope};

impl Engine {
    /// Whether a caller may ask for a read or a write, as far as its `allow` says that of the caller alone. Whoever is refused
    /// here is refused whatever else the request holds, so nothing of it needs to be looked at. An operation that is not
    /// there, and a clause that needs more than the caller, refuse nobody.
    ///
    /// # Errors
    ///
    /// Where the caller may not, or a clause cannot be evaluated.
    pub fn admits_caller(&self, name: &str, caller: &Caller, now: i64) -> Result<(), RuntimeError> {
        let nothing = Attributes::new();
        let scope = Scope {
            setting: self.setting(),
            now,
            args: &nothing,
            caller,
            attributes: None,
            row: None,
            bound: &nothing,
        };
        let of_writes = self.write_plan(name).into_iter().flat_map(|plan| &plan.allow);
        let of_writes = of_writes
            .filter(|clause| clause.place == Place::Request)
            .map(|clause| &clause.expr);
        for condition in of_writes
            .chain(self.allowed_callers(name))
            // Only what the caller alone decides: nothing of the request was read yet.
            .filter(|expr| is_of_the_caller(expr))
        {
            // Unknown counts as false here: who says nothing of itself is not admitted.
            if !holds_condition(condition, &scope)? {
                return Err(RuntimeError::not_admitted(caller));
            }
        }
        Ok(())
    }
}

/// Whether a condition needs nothing but the caller, the time and the settings. Every kind of expression is named, without a
/// wildcard: a new one that needs a row would otherwise be evaluated here, where there is none.
pub(crate) fn is_of_the_caller(condition: &Expr) -> bool {
    !condition.any(|part| match &part.kind {
        ExprKind::Arg(_)
        | ExprKind::Attribute(_)
        | ExprKind::Row
        | ExprKind::Bound(_)
        | ExprKind::Word(_)
        | ExprKind::Entity { .. }
        | ExprKind::Invalid => true,
        ExprKind::Literal(_)
        | ExprKind::Caller(_)
        | ExprKind::Now
        | ExprKind::Today
        | ExprKind::Setting(_)
        | ExprKind::Field(..)
        | ExprKind::Index(..)
        | ExprKind::Not(_)
        | ExprKind::Negate(_)
        | ExprKind::Binary(..)
        | ExprKind::Conditional(..)
        | ExprKind::List(_)
        | ExprKind::Record(_)
        | ExprKind::Call(..)
        | ExprKind::Each { .. } => false,
    })
}
