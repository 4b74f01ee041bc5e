//! What is stored of a state that ends by itself: nobody writes the row at that instant, so that a computed attribute or the guard of a
//! unique value would go on saying what was.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::expression::{BinaryOp, Expr, ExprKind, Literal};
use crate::model::{Entity, States};
use crate::rules;

/// Reports computed attributes and unique values that another state would change, where a state lapses.
pub(super) fn check_lapses(entities: &[Entity], out: &mut Diagnostics) {
    for entity in entities.iter().filter(|entity| entity.mirror.is_none()) {
        let Some(lapsing) = entity.states.as_ref().and_then(LapsingState::of) else {
            continue;
        };
        for attribute in entity.attributes.iter().filter(|attribute| attribute.alias.is_none()) {
            let help = "compute it where it is read, under `return` or in `where`; an instant can be set under `while`";
            let is = attribute.is.iter();
            is.for_each(|is| lapsing.refuse(&attribute.name, is, help, out));
        }
        for guard in &entity.unique {
            let help = "make the unique value a row of its own, which `expires` when the state lapses";
            lapsing.refuse(&guard.name, &guard.value, help, out);
        }
    }
}

/// A state that lapses, and what holds only until then.
struct LapsingState<'a> {
    states: &'a States,
    held: Vec<&'a str>,
}

impl<'a> LapsingState<'a> {
    fn of(states: &'a States) -> Option<Self> {
        let held = states.held_until_lapse();
        (!states.lapses.is_empty()).then_some(LapsingState { states, held })
    }

    fn refuse(&self, name: &str, expr: &Expr, help: &str, out: &mut Diagnostics) {
        if let Some(part) = self.changed_part(expr) {
            let what = part.path().unwrap_or_default();
            let message = format!("`{name}` follows from `{what}`, which time changes without a write");
            out.push(Diagnostic::new(&rules::FOLLOWS_A_LAPSE, part.span, message).help(help));
        }
    }

    /// The first part that has another value once a state has lapsed.
    fn changed_part<'e>(&self, expr: &'e Expr) -> Option<&'e Expr> {
        match &expr.kind {
            ExprKind::Attribute(name) if self.states.of == *name || self.held.contains(&name.as_str()) => Some(expr),
            ExprKind::Binary(BinaryOp::Eq | BinaryOp::Ne | BinaryOp::In, a, b)
                if self.is_state(a) && self.is_other_state(b) || self.is_state(b) && self.is_other_state(a) =>
            {
                None
            }
            _ => {
                let mut found = None;
                expr.for_each_part(&mut |part| found = found.or_else(|| self.changed_part(part)));
                found
            }
        }
    }

    fn is_state(&self, expr: &Expr) -> bool {
        matches!(&expr.kind, ExprKind::Attribute(name) if *name == self.states.of)
    }

    /// Whether it is a state, or some, that no state lapses from or to.
    fn is_other_state(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Literal(Literal::Text(state)) => {
                let mut lapses = self.states.lapses.iter();
                !lapses.any(|lapse| lapse.from == *state || lapse.to == *state)
            }
            ExprKind::List(states) => states.iter().all(|state| self.is_other_state(state)),
            _ => false,
        }
    }
}
