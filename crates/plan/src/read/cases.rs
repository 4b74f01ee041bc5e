//! The meaning, taken apart by the values of attributes on which templates depend.
//!
//! An entity may have other templates for each state (`when: status == "open"`). A meaning that does not say the state, or names it
//! by a list, is answered by none of them alone; case by case each case has one.

use singlet_model::Model;
use singlet_model::expression::{BinaryOp, Expr, ExprKind, Literal};
use singlet_model::model::{Attribute, Entity};
use singlet_model::source::Span;
use singlet_model::types::Type;

use super::implied;
use crate::access;
use crate::bounds::Bounds;
use crate::literals;

/// The conjuncts of each case; none where no template depends on an attribute with few values, or there are too many cases.
/// Together the cases mean what the conjuncts do: those that contradict them are left out.
pub(super) fn by_value(model: &Model, entity: &Entity, conjuncts: &[&Expr]) -> Option<Vec<Vec<Expr>>> {
    let mut cases: Vec<Vec<Expr>> = vec![conjuncts.iter().map(|conjunct| (*conjunct).clone()).collect()];
    for attribute in deciding(model, entity) {
        let Some(values) = few_values(attribute) else { continue };
        if cases.len().saturating_mul(values.len()) > Bounds::USUAL.alternatives_max {
            continue;
        }
        cases = cases
            .iter()
            .flat_map(|case| values.iter().filter_map(|value| narrowed(case, attribute, value)))
            .collect();
    }
    (!cases.is_empty()).then_some(cases)
}

/// The attributes that decide which templates a row has, and that time does not change.
fn deciding<'a>(model: &'a Model, entity: &'a Entity) -> Vec<&'a Attribute> {
    let source = model.source_of(entity);
    let paths = access::paths(model, entity);
    let conditions = paths.iter().filter_map(|path| path.choice.when.as_ref());
    let mut names: Vec<&str> = conditions.flat_map(Expr::attributes).collect();
    names.sort_unstable();
    names.dedup();
    let lasting = names.into_iter().filter(|name| !implied::time_changes(source, name));
    lasting.filter_map(|name| source.attribute(name)).collect()
}

/// Every value of an attribute, its absence included, where there are few.
fn few_values(attribute: &Attribute) -> Option<Vec<Literal>> {
    let mut values: Vec<Literal> = match &attribute.ty {
        Type::Enum(words) => words.members.iter().cloned().map(Literal::Text).collect(),
        Type::Bool => vec![Literal::Bool(false), Literal::Bool(true)],
        _ => return None,
    };
    if attribute.optional {
        values.push(Literal::Absent);
    }
    Some(values)
}

/// The conjuncts where an attribute has a value; none where they contradict it.
fn narrowed(case: &[Expr], attribute: &Attribute, value: &Literal) -> Option<Vec<Expr>> {
    let mut narrow = Vec::with_capacity(case.len() + 1);
    for conjunct in case {
        if *value == Literal::Absent {
            // A comparison with an absent attribute is not one with `absent`, which would test what it is compared with.
            if implied::implies_present(&attribute.name, &[conjunct]) {
                return None;
            }
            narrow.push(conjunct.clone());
            continue;
        }
        let known = with_value(conjunct, attribute, value);
        match literals::decide(&known) {
            Some(true) => {}
            Some(false) => return None,
            None => narrow.push(known),
        }
    }
    narrow.push(is_value(attribute, value));
    Some(narrow)
}

/// `attribute == value`.
fn is_value(attribute: &Attribute, value: &Literal) -> Expr {
    let expr = |kind: ExprKind, ty: Type| Expr {
        kind,
        ty,
        optional: false,
        span: Span::default(),
    };
    let name = Expr {
        optional: attribute.optional,
        ..expr(ExprKind::Attribute(attribute.name.clone()), attribute.ty.clone())
    };
    let ty = match value {
        Literal::Absent => Type::Absent,
        _ => attribute.ty.clone(),
    };
    let value = expr(ExprKind::Literal(value.clone()), ty);
    expr(
        ExprKind::Binary(BinaryOp::Eq, Box::new(name), Box::new(value)),
        Type::Bool,
    )
}

/// The same expression with a value in the attribute's place.
fn with_value(expr: &Expr, attribute: &Attribute, value: &Literal) -> Expr {
    let again = |part: &Expr| Box::new(with_value(part, attribute, value));
    let kind = match &expr.kind {
        ExprKind::Attribute(name) if *name == attribute.name => {
            return Expr {
                kind: ExprKind::Literal(value.clone()),
                optional: false,
                ..expr.clone()
            };
        }
        ExprKind::Not(inner) => ExprKind::Not(again(inner)),
        ExprKind::Binary(op, left, right) => ExprKind::Binary(*op, again(left), again(right)),
        ExprKind::Conditional(test, then, otherwise) => {
            ExprKind::Conditional(again(test), again(then), again(otherwise))
        }
        // Elsewhere the attribute stays: that it has the value is said beside.
        other => other.clone(),
    };
    Expr { kind, ..expr.clone() }
}
