//! What a read means, by looking at every row.

use std::cmp::Ordering;

use singlet_item::{Number, Value};
use singlet_model::Model;
use singlet_model::evaluate::{EvaluateError, evaluate_as, holds, order as value_order};
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Entity, Read, Selection};
use singlet_model::types::Type;
use singlet_runtime::{Attributes, Scope};

/// The rows that a read of one entity means, in its order; equal rows stand as they came. The limit is not applied, for it
/// may fall among equal rows.
///
/// # Errors
///
/// Where an expression leaves the range of its type.
pub fn meant(model: &Model, read: &Read, rows: &[Attributes], scope: Scope<'_>) -> Result<Vec<Attributes>, EvaluateError> {
    let Some((selection, entity)) = selected(model, read) else {
        return Ok(Vec::new());
    };
    let mut meant = Vec::new();
    for row in rows {
        let Some(row) = seen(entity, row, scope)? else { continue };
        if means(read, selection, &row, scope)? {
            meant.push(row);
        }
    }
    sorted(model, read, meant)
}

/// How two rows stand in the order of a read.
///
/// # Errors
///
/// Where a value is out of the range of its type.
pub fn compare(model: &Model, read: &Read, a: &Attributes, b: &Attributes) -> Result<Ordering, EvaluateError> {
    let Some((selection, entity)) = selected(model, read) else {
        return Ok(Ordering::Equal);
    };
    for order in &selection.order {
        let Some((ty, _)) = model.type_at(entity, &order.path) else {
            continue;
        };
        let compared = match (a.get(&order.path), b.get(&order.path)) {
            (Some(a), Some(b)) => by_type(a, b, &ty)?,
            (a, b) => a.is_some().cmp(&b.is_some()),
        };
        if compared != Ordering::Equal {
            return Ok(if order.descending { compared.reverse() } else { compared });
        }
    }
    Ok(Ordering::Equal)
}

fn selected<'a>(model: &'a Model, read: &'a Read) -> Option<(&'a Selection, &'a Entity)> {
    let selection = read.selection.as_ref()?;
    Some((selection, model.entity(selection.entity()?)?))
}

fn by_type(a: &Value, b: &Value, ty: &Type) -> Result<Ordering, EvaluateError> {
    if let (Some(a), Some(b)) = (a.as_bool(), b.as_bool()) {
        return Ok(a.cmp(&b));
    }
    Ok(value_order((a, ty), (b, ty))?.unwrap_or(Ordering::Equal))
}

/// A row as it is at the scope's instant; none where it has expired.
fn seen(entity: &Entity, row: &Attributes, scope: Scope<'_>) -> Result<Option<Attributes>, EvaluateError> {
    let passed = |expr: &Expr, row: &Attributes| -> Result<bool, EvaluateError> {
        let at = evaluate_as(expr, &Type::Millis, &scope.with_row(row))?;
        let millis = at.and_then(|value| value.as_number()).and_then(Number::to_i64);
        Ok(millis.is_some_and(|millis| millis <= scope.now))
    };
    if let Some(expires) = &entity.expires
        && passed(expires, row)?
    {
        return Ok(None);
    }
    let mut row = row.clone();
    let lapses = entity.states.iter().flat_map(|states| states.lapses.iter().map(move |lapse| (states, lapse)));
    for (states, lapse) in lapses {
        let is_there = row.get(&states.of).and_then(Value::as_str) == Some(lapse.from.as_str());
        if !is_there || !passed(&lapse.at, &row)? {
            continue;
        }
        row.insert(states.of.clone(), Value::S(lapse.to.clone()));
        for (during, held) in &states.holding {
            if during.contains(&lapse.from) && !during.contains(&lapse.to) {
                held.iter().for_each(|(name, _)| {
                    row.remove(name);
                });
            }
        }
    }
    Ok(Some(row))
}

fn means(read: &Read, selection: &Selection, row: &Attributes, scope: Scope<'_>) -> Result<bool, EvaluateError> {
    let scope = scope.with_row(row);
    for conjunct in selection.filter.iter().flat_map(Expr::conjuncts) {
        if !is_left_out(read, conjunct, scope.args) && !holds(conjunct, &scope)? {
            return Ok(false);
        }
    }
    holds(&read.allow, &scope)
}

/// `attribute OP args.x` is left out where the optional `x` was not sent.
fn is_left_out(read: &Read, conjunct: &Expr, args: &Attributes) -> bool {
    let unsent = |expr: &Expr| match &expr.kind {
        ExprKind::Arg(name) => !args.contains_key(name) && read.arg(name).is_some_and(|arg| arg.optional),
        _ => false,
    };
    match &conjunct.kind {
        ExprKind::Binary(op, left, right) if op.is_comparison() => {
            (unsent(left) && !right.is_absent()) || (unsent(right) && !left.is_absent())
        }
        ExprKind::Call(_, args) => args.iter().any(unsent),
        _ => false,
    }
}

fn sorted(model: &Model, read: &Read, rows: Vec<Attributes>) -> Result<Vec<Attributes>, EvaluateError> {
    let mut failed = None;
    let mut sorted = rows;
    sorted.sort_by(|a, b| {
        compare(model, read, a, b).unwrap_or_else(|error| {
            failed = Some(error);
            Ordering::Equal
        })
    });
    failed.map_or(Ok(sorted), Err)
}
