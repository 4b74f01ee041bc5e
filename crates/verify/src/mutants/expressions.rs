//! Small changes of expressions that mistakes are made of.

use singlet_model::expression::{BinaryOp, Expr, ExprKind, Literal};
use singlet_model::types::Type;

use super::Sites;

/// `true`, in place of what was asked.
pub(super) fn always_true(like: &Expr) -> Expr {
    Expr {
        kind: ExprKind::Literal(Literal::Bool(true)),
        ty: Type::Bool,
        optional: false,
        span: like.span,
    }
}

/// Calls `f` on each conjunct, to be changed.
pub(super) fn for_each_conjunct(expr: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
    match &mut expr.kind {
        ExprKind::Binary(BinaryOp::And, left, right) => {
            for_each_conjunct(left, f);
            for_each_conjunct(right, f);
        }
        _ => f(expr),
    }
}

/// Calls `f` on each comparison that stands under `&&`, `||` and `!` alone.
pub(super) fn for_each_comparison(expr: &mut Expr, f: &mut dyn FnMut(&mut BinaryOp, String)) {
    let shown = singlet_plan::show::show_expression(expr);
    match &mut expr.kind {
        ExprKind::Binary(BinaryOp::And | BinaryOp::Or, left, right) => {
            for_each_comparison(left, f);
            for_each_comparison(right, f);
        }
        ExprKind::Not(inner) => for_each_comparison(inner, f),
        ExprKind::Binary(op, ..) if op.is_comparison() && *op != BinaryOp::In => f(op, shown),
        _ => {}
    }
}

/// Leaves out a conjunct that `fits`, at the wanted site.
pub(super) fn drop_conjunct(expr: &mut Expr, at: &str, sites: &mut Sites, fits: &dyn Fn(&Expr) -> bool) {
    for_each_conjunct(expr, &mut |conjunct| {
        if !fits(conjunct) || conjunct.as_literal().is_some() {
            return;
        }
        if sites.here(format!("{at}: {}", singlet_plan::show::show_expression(conjunct))) {
            *conjunct = always_true(conjunct);
        }
    });
}

/// Whether it looks at who calls.
pub(super) fn is_of_caller(expr: &Expr) -> bool {
    expr.any(|part| matches!(&part.kind, ExprKind::Caller(_)))
}
