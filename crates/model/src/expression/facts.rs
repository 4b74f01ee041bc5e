//! What a condition proves: the values that are present where it holds, or where it does not.

use super::functions::FunctionId;
use super::tree::{BinaryOp, Expr, ExprKind, Literal};

/// Values known to be present, by their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PresenceFacts {
    present: Vec<String>,
}

impl PresenceFacts {
    /// What is known where `condition` came out as `truth`.
    pub fn of(condition: &Expr, truth: bool) -> PresenceFacts {
        proven(condition, truth).unwrap_or_default()
    }

    /// Whether the value of that path is known to be present.
    pub fn is_present(&self, path: &str) -> bool {
        self.present.iter().any(|known| known == path)
    }

    /// Adds a value that is present.
    pub fn add_path(&mut self, path: String) {
        if !self.is_present(&path) {
            self.present.push(path);
        }
    }

    /// Adds all that `other` knows.
    pub fn extend(&mut self, other: PresenceFacts) {
        other.present.into_iter().for_each(|path| self.add_path(path));
    }

    /// The paths, in the order in which they were proven.
    pub fn proven_paths(&self) -> impl Iterator<Item = &str> {
        self.present.iter().map(String::as_str)
    }

    pub(super) fn mark(&self) -> usize {
        self.present.len()
    }

    pub(super) fn back_to(&mut self, mark: usize) {
        self.present.truncate(mark);
    }
}

/// Nothing where the outcome is impossible: of two ways to an outcome, the other one then decides alone.
fn proven(condition: &Expr, truth: bool) -> Option<PresenceFacts> {
    match &condition.kind {
        ExprKind::Literal(Literal::Bool(value)) => (*value == truth).then(PresenceFacts::default),
        ExprKind::Not(inner) => proven(inner, !truth),
        ExprKind::Binary(BinaryOp::And, left, right) => join(left, right, truth, true),
        ExprKind::Binary(BinaryOp::Or, left, right) => join(left, right, truth, false),
        ExprKind::Binary(op, left, right) if op.is_comparison() => Some(compared(*op, left, right, truth)),
        ExprKind::Conditional(test, then, otherwise) => either(
            both(proven(test, true), proven(then, truth)),
            both(proven(test, false), proven(otherwise, truth)),
        ),
        ExprKind::Call(FunctionId::StartsWith | FunctionId::Contains, parts) if truth => Some(present(parts.iter())),
        _ => Some(PresenceFacts::default()),
    }
}

/// `&&` is true where both are, and false where one is; `||` the other way round.
fn join(left: &Expr, right: &Expr, truth: bool, both_needed_for: bool) -> Option<PresenceFacts> {
    let (left, right) = (proven(left, truth), proven(right, truth));
    if truth == both_needed_for {
        both(left, right)
    } else {
        either(left, right)
    }
}

fn both(left: Option<PresenceFacts>, right: Option<PresenceFacts>) -> Option<PresenceFacts> {
    let mut facts = left?;
    facts.extend(right?);
    Some(facts)
}

fn either(left: Option<PresenceFacts>, right: Option<PresenceFacts>) -> Option<PresenceFacts> {
    match (left, right) {
        (Some(mut left), Some(right)) => {
            left.present.retain(|path| right.is_present(path));
            Some(left)
        }
        (one, other) => one.or(other),
    }
}

/// A comparison with an absent operand is false, `!=` true: the opposite outcome proves both operands.
fn compared(op: BinaryOp, left: &Expr, right: &Expr, truth: bool) -> PresenceFacts {
    let equal = (op != BinaryOp::Ne) == truth;
    match (left.is_absent(), right.is_absent()) {
        (true, true) => PresenceFacts::default(),
        (false, true) if !equal => present([left]),
        (true, false) if !equal => present([right]),
        (false, false) if equal => present([left, right]),
        _ => PresenceFacts::default(),
    }
}

/// An optional argument that was not tested may have taken its whole conjunct away, which then proves nothing.
fn present<'a>(operands: impl IntoIterator<Item = &'a Expr> + Clone) -> PresenceFacts {
    let mut facts = PresenceFacts::default();
    let several = operands.clone().into_iter().count() > 1;
    let left_out = |operand: &Expr| several && operand.optional && matches!(operand.kind, ExprKind::Arg(_));
    if operands.clone().into_iter().any(left_out) {
        return facts;
    }
    for operand in operands {
        add_with_owners(operand, &mut facts);
    }
    facts
}

/// A field that is present proves what it is a field of.
fn add_with_owners(operand: &Expr, facts: &mut PresenceFacts) {
    if let ExprKind::Field(of, _) | ExprKind::Index(of, _) = &operand.kind {
        add_with_owners(of, facts);
    }
    if let Some(path) = operand.path() {
        facts.add_path(path);
    }
}
