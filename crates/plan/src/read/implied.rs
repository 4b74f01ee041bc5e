//! What a meaning implies without saying: rows that end, versions that are not current, attributes that must be there.

use singlet_model::expression::{BinaryOp, Expr, ExprKind, Facts, Literal};
use singlet_model::model::{Entity, KeyChoice, Read};
use singlet_model::source::Span;
use singlet_model::types::Type;

use crate::show;

/// The conditions that history adds: the current, undeleted version, the one at an instant, or none for all versions.
pub(super) fn history(entity: &Entity, read: Option<&Read>) -> Vec<Expr> {
    let Some(history) = &entity.history else {
        return Vec::new();
    };
    if read.is_some_and(|read| read.all_versions) {
        return Vec::new();
    }
    let until = || attribute(&history.until, Type::Time, true);
    let open = binary(BinaryOp::Eq, until(), literal(Literal::Absent, Type::Absent));
    let mut conditions = match read.and_then(|read| read.at.as_ref()) {
        Some(at) => {
            let begun = binary(BinaryOp::Le, attribute(&history.at, Type::Time, false), at.clone());
            let later = binary(BinaryOp::Gt, until(), at.clone());
            vec![begun, binary(BinaryOp::Or, open, later)]
        }
        None => vec![open],
    };
    if let Some(tombstone) = &history.tombstone {
        let deleted = attribute(tombstone, Type::Bool, false);
        conditions.push(expr(ExprKind::Not(Box::new(deleted)), Type::Bool));
    }
    conditions
}

/// Whether the conjuncts imply the condition under which templates hold.
pub(super) fn implies_when(choice: &KeyChoice, conjuncts: &[&Expr]) -> bool {
    let Some(when) = &choice.when else {
        return true;
    };
    let said: Vec<String> = conjuncts.iter().map(|conjunct| show::expression(conjunct)).collect();
    when.conjuncts()
        .iter()
        .all(|needed| said.contains(&show::expression(needed)))
}

/// Whether every row of the path satisfies a conjunct: its own condition says it, or it says that a key part is there.
pub(super) fn settled_by(choice: &KeyChoice, conjunct: &Expr) -> bool {
    let text = show::expression(conjunct);
    let by_condition = choice
        .when
        .as_ref()
        .is_some_and(|when| when.conjuncts().iter().any(|known| show::expression(known) == text));
    let mut parts = choice.keys.iter().flat_map(|key| &key.parts);
    by_condition || parts.any(|part| text == format!("{} != absent", part.path))
}

/// Whether the conjuncts say that an attribute is there.
pub(super) fn implies_present(path: &str, conjuncts: &[&Expr]) -> bool {
    conjuncts
        .iter()
        .any(|conjunct| Facts::of(conjunct, true).is_present(path))
}

fn attribute(name: &str, ty: Type, optional: bool) -> Expr {
    Expr {
        optional,
        ..expr(ExprKind::Attribute(name.to_owned()), ty)
    }
}

fn literal(literal: Literal, ty: Type) -> Expr {
    expr(ExprKind::Literal(literal), ty)
}

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    expr(ExprKind::Binary(op, Box::new(left), Box::new(right)), Type::Bool)
}

fn expr(kind: ExprKind, ty: Type) -> Expr {
    Expr {
        kind,
        ty,
        optional: false,
        span: Span::default(),
    }
}
