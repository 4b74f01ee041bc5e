//! Conditions of which one at most holds.

use singlet_model::expression::{BinaryOp, Expr, ExprKind, Literal};

/// Whether two sets of conditions can never hold together, as far as their form shows it.
pub fn are_exclusive(left: &[&Expr], right: &[&Expr]) -> bool {
    // Without a condition both may happen.
    if left.is_empty() || right.is_empty() {
        return false;
    }
    let left = tests(left);
    tests(right)
        .iter()
        .any(|right| left.iter().any(|left| left.excludes(right)))
}

/// What one conjunct says of one value.
struct Test {
    subject: String,
    says: Says,
}

enum Says {
    Absent,
    Present,
    Is(Literal),
    IsNot(Literal),
    NotTrue,
    Compares(BinaryOp),
}

impl Test {
    fn excludes(&self, other: &Test) -> bool {
        self.subject == other.subject && (self.says.excludes(&other.says) || other.says.excludes(&self.says))
    }
}

impl Says {
    fn excludes(&self, other: &Says) -> bool {
        match (self, other) {
            (Says::Absent, Says::Present | Says::Is(_)) => true,
            (Says::Is(one), Says::Is(other)) => one != other,
            (Says::Is(one), Says::IsNot(other)) => one == other,
            (Says::Is(one), Says::NotTrue) => *one == Literal::Bool(true),
            (Says::Compares(one), Says::Compares(other)) => matches!(
                (one, other),
                (BinaryOp::Eq, BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Gt)
                    | (BinaryOp::Lt, BinaryOp::Ge | BinaryOp::Gt)
                    | (BinaryOp::Le, BinaryOp::Gt)
            ),
            // Not known to exclude each other counts as both.
            _ => false,
        }
    }
}

fn tests(conditions: &[&Expr]) -> Vec<Test> {
    let conjuncts = conditions.iter().flat_map(|condition| condition.conjuncts());
    conjuncts.filter_map(test).collect()
}

fn test(conjunct: &Expr) -> Option<Test> {
    let (subject, says) = match &conjunct.kind {
        ExprKind::Binary(op, left, right) if op.is_comparison() => {
            let subject = left.path()?;
            match (op, right.as_literal()) {
                (BinaryOp::Eq, Some(Literal::Absent)) => (subject, Says::Absent),
                (BinaryOp::Ne, Some(Literal::Absent)) => (subject, Says::Present),
                (BinaryOp::Eq, Some(literal)) => (subject, Says::Is(literal.clone())),
                (BinaryOp::Ne, Some(literal)) => (subject, Says::IsNot(literal.clone())),
                (op, Some(literal)) => (format!("{subject} against {literal:?}"), Says::Compares(*op)),
                (op, None) => (format!("{subject} against {}", right.path()?), Says::Compares(*op)),
            }
        }
        ExprKind::Not(inner) => (inner.path()?, Says::NotTrue),
        _ => (conjunct.path()?, Says::Is(Literal::Bool(true))),
    };
    Some(Test { subject, says })
}
