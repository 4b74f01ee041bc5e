//! What conditions over values that are written out say of one another.

use singlet_model::expression::{BinaryOp, Expr, ExprKind, Literal};
use singlet_model::types::Type;

/// Whether a condition without anything unknown holds; none where it has something unknown.
pub(crate) fn decide_literally(expr: &Expr) -> Option<bool> {
    match &expr.kind {
        ExprKind::Literal(Literal::Bool(truth)) => Some(*truth),
        ExprKind::Not(inner) => decide_literally(inner).map(|truth| !truth),
        ExprKind::Binary(BinaryOp::And, left, right) => match (decide_literally(left), decide_literally(right)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        },
        ExprKind::Binary(BinaryOp::Or, left, right) => match (decide_literally(left), decide_literally(right)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        },
        ExprKind::Binary(BinaryOp::In, left, right) => {
            let (value, ExprKind::List(options)) = (left.as_literal()?, &right.kind) else {
                return None;
            };
            let options: Option<Vec<&Literal>> = options.iter().map(Expr::as_literal).collect();
            Some(options?.contains(&value))
        }
        ExprKind::Binary(op, left, right) if op.is_comparison() => {
            let (value, other) = (left.as_literal()?, right.as_literal()?);
            if *value == Literal::Absent {
                return None;
            }
            compare(*op, value, other, &left.ty)
        }
        _ => None,
    }
}

/// Whether `value OP other` holds, for values of a type.
fn compare(op: BinaryOp, value: &Literal, other: &Literal, ty: &Type) -> Option<bool> {
    match op {
        BinaryOp::Eq => return Some(value == other),
        BinaryOp::Ne => return Some(value != other),
        _ => {}
    }
    let ordering = match (value, other) {
        (Literal::Number(value), Literal::Number(other)) => value.cmp(other),
        (Literal::Text(value), Literal::Text(other)) => {
            let members = ty.enum_members()?;
            let rank = |word: &str| members.iter().position(|member| member == word);
            rank(value)?.cmp(&rank(other)?)
        }
        _ => return None,
    };
    Some(match op {
        BinaryOp::Lt => ordering.is_lt(),
        BinaryOp::Le => ordering.is_le(),
        BinaryOp::Gt => ordering.is_gt(),
        BinaryOp::Ge => ordering.is_ge(),
        _ => return None,
    })
}

/// The values that a condition leaves a path, where it names them all: `a == 1`, `a in [1, 2]`, `a == 1 || a == 2`, `a` alone.
fn values_left<'e>(condition: &'e Expr, path: &str) -> Option<Vec<&'e Literal>> {
    const TRUE: &Literal = &Literal::Bool(true);
    let is_path = |expr: &Expr| !expr.attributes().is_empty() && expr.path().is_some_and(|known| known == path);
    match &condition.kind {
        ExprKind::Binary(BinaryOp::Or, ..) => {
            let branches = condition
                .disjuncts()
                .into_iter()
                .map(|branch| values_left(branch, path));
            let values: Option<Vec<Vec<&Literal>>> = branches.collect();
            Some(values?.into_iter().flatten().collect())
        }
        ExprKind::Binary(BinaryOp::Eq, left, right) => {
            if is_path(left) {
                return Some(vec![right.as_literal()?]);
            }
            is_path(right)
                .then(|| left.as_literal())
                .flatten()
                .map(|value| vec![value])
        }
        ExprKind::Binary(BinaryOp::In, left, right) if is_path(left) => match &right.kind {
            ExprKind::List(options) => options.iter().map(Expr::as_literal).collect(),
            _ => None,
        },
        ExprKind::Attribute(_) if condition.ty == Type::Bool && is_path(condition) => Some(vec![TRUE]),
        _ => None,
    }
}

/// What `path` is compared with in a condition, the operator as if it stood left.
fn compared(condition: &Expr) -> Option<(String, BinaryOp, &Expr, &Type)> {
    let ExprKind::Binary(op, left, right) = &condition.kind else {
        return None;
    };
    let (op, side, value) = match (left.attributes().is_empty(), right.attributes().is_empty()) {
        (false, true) => (*op, left, right),
        (true, false) if *op != BinaryOp::In => (op.swapped(), right, left),
        _ => return None,
    };
    Some((side.path()?, op, value, &side.ty))
}

/// Whether a condition on one path holds of every row of which another does (`Some(true)`), of none (`Some(false)`), or whether
/// that cannot be told.
pub(crate) fn follows_from(condition: &Expr, known: &Expr) -> Option<bool> {
    if let ExprKind::Attribute(name) = &condition.kind {
        let values = values_left(known, name)?;
        let truths: Vec<bool> = values.iter().map(|value| **value == Literal::Bool(true)).collect();
        return agreed(&truths);
    }
    let (path, op, value, ty) = compared(condition)?;
    if let Some(values) = values_left(known, &path) {
        let truths = values.into_iter().map(|left| holds_of(left, op, value, ty));
        let truths: Option<Vec<bool>> = truths.collect();
        return agreed(&truths?);
    }
    let (other_path, other_op, other, _) = compared(known)?;
    if other_path != path {
        return None;
    }
    let (wanted, said) = (value.as_literal()?, other.as_literal()?);
    if other_op == BinaryOp::Ne && op == BinaryOp::Eq && wanted == said {
        return Some(false);
    }
    let (Literal::Number(wanted), Literal::Number(said)) = (wanted, said) else {
        return None;
    };
    let narrower = match (op, other_op) {
        (BinaryOp::Gt, BinaryOp::Ge) => said > wanted,
        (BinaryOp::Gt | BinaryOp::Ge, BinaryOp::Gt | BinaryOp::Ge) => said >= wanted,
        (BinaryOp::Lt, BinaryOp::Le) => said < wanted,
        (BinaryOp::Lt | BinaryOp::Le, BinaryOp::Lt | BinaryOp::Le) => said <= wanted,
        _ => false,
    };
    narrower.then_some(true)
}

/// Whether `left OP value` holds; a value that is absent is only tested for.
fn holds_of(left: &Literal, op: BinaryOp, value: &Expr, ty: &Type) -> Option<bool> {
    if op == BinaryOp::In {
        let ExprKind::List(options) = &value.kind else {
            return None;
        };
        let options: Option<Vec<&Literal>> = options.iter().map(Expr::as_literal).collect();
        return Some(options?.contains(&left));
    }
    let other = value.as_literal()?;
    if *left == Literal::Absent && op.is_ordering() {
        return Some(false);
    }
    compare(op, left, other, ty)
}

fn agreed(truths: &[bool]) -> Option<bool> {
    let (first, rest) = truths.split_first()?;
    rest.iter().all(|truth| truth == first).then_some(*first)
}
