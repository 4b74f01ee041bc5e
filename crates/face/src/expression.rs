//! Expressions as text by the names under which values are stored: a renamed attribute that is stored as before changes none.

use singlet_model::Model;
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::Entity;

use crate::stored_attribute;

/// An expression of an entity as text. Two with one text give the same value for the same stored row.
pub(crate) fn expression_text(model: &Model, entity: &Entity, expr: &Expr) -> String {
    let mut expr = expr.clone();
    rename(entity, &mut expr);
    singlet_plan::show::expression_in(&model.catalog, &expr)
}

fn rename(entity: &Entity, expr: &mut Expr) {
    match &mut expr.kind {
        ExprKind::Attribute(name) => {
            let stored = stored_attribute(entity, name).to_owned();
            *name = stored;
        }
        ExprKind::Field(of, _) | ExprKind::Not(of) | ExprKind::Negate(of) => rename(entity, of),
        ExprKind::Index(left, right) | ExprKind::Binary(_, left, right) => {
            rename(entity, left);
            rename(entity, right);
        }
        ExprKind::Conditional(test, then, otherwise) => {
            rename(entity, test);
            rename(entity, then);
            rename(entity, otherwise);
        }
        ExprKind::List(parts) | ExprKind::Call(_, parts) => parts.iter_mut().for_each(|part| rename(entity, part)),
        ExprKind::Record(fields) | ExprKind::Entity { key: fields, .. } => {
            fields.iter_mut().for_each(|(_, part)| rename(entity, part));
        }
        ExprKind::Each { list, body, .. } => {
            rename(entity, list);
            rename(entity, body);
        }
        ExprKind::Literal(_)
        | ExprKind::Row
        | ExprKind::Arg(_)
        | ExprKind::Caller(_)
        | ExprKind::Now
        | ExprKind::Today
        | ExprKind::Setting(_)
        | ExprKind::Bound(_)
        | ExprKind::Word(_)
        | ExprKind::Invalid => {}
    }
}
