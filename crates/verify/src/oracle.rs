//! What a read means, by looking at every row.
//!
//! It knows no key, no index and no plan: only the evaluator of expressions, and what entities promise of time.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use singlet_item::{Number, Value};
use singlet_model::Model;
use singlet_model::evaluate::{EvaluateError, evaluate_as, holds, row_order};
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Entity, History, Read, Selection};
use singlet_model::types::Type;
use singlet_runtime::{Attributes, Scope};

use crate::bench::Row;

/// Which rows are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The read, for its arguments and versions.
    pub read: &'a Read,
    /// Its own selection, or one that comes with it.
    pub selection: &'a Selection,
    /// Who may see a row.
    pub allow: Option<&'a Expr>,
}

/// The rows that are meant, in their order; equal ones stand as they came. The limit is not applied, for it may fall among equal
/// rows.
///
/// # Errors
///
/// Where an expression leaves the range of its type.
pub fn rows(
    model: &Model,
    question: Question<'_>,
    rows: &[Row],
    scope: Scope<'_>,
) -> Result<Vec<Attributes>, EvaluateError> {
    let Some(entity) = question.selection.entity().and_then(|id| model.entity(id)) else {
        return Ok(Vec::new());
    };
    let own = rows.iter().filter(|(name, _)| *name == entity.name);
    let own: Vec<&Attributes> = own.map(|(_, row)| row).collect();
    let mut meant = Vec::new();
    for row in versions(entity, question, own, scope)? {
        let Some(row) = seen(entity, row, scope)? else { continue };
        if means(question, &row, scope)? {
            meant.push(row);
        }
    }
    sorted(model, question.selection, meant)
}

/// How two rows stand in the order of a selection; what is absent comes first.
///
/// # Errors
///
/// Where a value is out of the range of its type.
pub fn compare(
    model: &Model,
    selection: &Selection,
    a: &Attributes,
    b: &Attributes,
) -> Result<Ordering, EvaluateError> {
    let Some(entity) = selection.entity().and_then(|id| model.entity(id)) else {
        return Ok(Ordering::Equal);
    };
    for order in &selection.order {
        let Some((ty, _)) = model.type_at(entity, &order.path) else {
            continue;
        };
        let compared = match (at_path(a, &order.path), at_path(b, &order.path)) {
            (Some(a), Some(b)) => row_order(a, b, &ty)?,
            (a, b) => a.is_some().cmp(&b.is_some()),
        };
        if compared != Ordering::Equal {
            return Ok(if order.descending { compared.reverse() } else { compared });
        }
    }
    Ok(Ordering::Equal)
}

fn at_path<'r>(row: &'r Attributes, path: &str) -> Option<&'r Value> {
    let mut names = path.split('.');
    let first = row.get(names.next()?)?;
    names.try_fold(first, |value, name| value.as_map()?.get(name))
}

/// Of an entity with history, the versions that a read sees: all, or of each identity the newest, or the newest at an instant,
/// unless it is a deletion.
fn versions<'r>(
    entity: &Entity,
    question: Question<'_>,
    rows: Vec<&'r Attributes>,
    scope: Scope<'_>,
) -> Result<Vec<&'r Attributes>, EvaluateError> {
    // What comes with a read is current.
    let own = question.read.selection.as_ref();
    let is_own = own.is_some_and(|own| std::ptr::eq(own, question.selection));
    let read = Some(question.read).filter(|_| is_own);
    let all = read.is_some_and(|read| read.all_versions);
    let Some(history) = entity.history.as_ref().filter(|_| !all) else {
        return Ok(rows);
    };
    let latest = match read.and_then(|read| read.at.as_ref()) {
        Some(at) => match evaluate_as(at, &Type::Time, &scope)? {
            Some(at) => Some(at),
            None => return Ok(Vec::new()),
        },
        None => None,
    };
    let mut newest: BTreeMap<String, &Attributes> = BTreeMap::new();
    for row in rows {
        let begun = row.get(&history.at).and_then(Value::as_str);
        let is_later = latest.as_ref().is_some_and(|latest| begun > latest.as_str());
        let known = newest.get(&identity(entity, history, row));
        let is_older = known.is_some_and(|known| known.get(&history.at).and_then(Value::as_str) > begun);
        if !is_later && !is_older {
            newest.insert(identity(entity, history, row), row);
        }
    }
    let deleted = |row: &Attributes| {
        let tombstone = history.tombstone.as_ref().and_then(|name| row.get(name));
        tombstone == Some(&Value::Bool(true))
    };
    Ok(newest.into_values().filter(|row| !deleted(row)).collect())
}

/// What all versions of a thing share: the attributes of its key, without the instant of the version.
fn identity(entity: &Entity, history: &History, row: &Attributes) -> String {
    let names = entity.attributes.iter().map(|attribute| &attribute.name);
    let shared = names.filter(|name| entity.is_key_attribute(name) && **name != history.at);
    format!("{:?}", shared.map(|name| row.get(name)).collect::<Vec<_>>())
}

/// A row as it is at the scope's instant; none where it has expired.
fn seen(entity: &Entity, row: &Attributes, scope: Scope<'_>) -> Result<Option<Attributes>, EvaluateError> {
    let passed = |expr: &Expr, row: &Attributes| -> Result<bool, EvaluateError> {
        let at = evaluate_as(expr, &Type::Millis, &scope.with_row(row))?;
        let millis = at.and_then(|value| value.as_number()).and_then(Number::to_i64);
        Ok(millis.is_some_and(|millis| millis <= scope.now))
    };
    let mut row = row.clone();
    for attribute in &entity.attributes {
        if let Some(is) = &attribute.is {
            let value = evaluate_as(is, &attribute.ty, &scope.with_row(&row))?;
            row.extend(value.map(|value| (attribute.name.clone(), value)));
        }
    }
    if let Some(expires) = &entity.expires
        && passed(expires, &row)?
    {
        return Ok(None);
    }
    let lapses = entity
        .states
        .iter()
        .flat_map(|states| states.lapses.iter().map(move |lapse| (states, lapse)));
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

fn means(question: Question<'_>, row: &Attributes, scope: Scope<'_>) -> Result<bool, EvaluateError> {
    let scope = scope.with_row(row);
    for conjunct in question.selection.filter.iter().flat_map(Expr::conjuncts) {
        if !is_left_out(question.read, conjunct, scope.args) && !holds(conjunct, &scope)? {
            return Ok(false);
        }
    }
    question.allow.map_or(Ok(true), |allow| holds(allow, &scope))
}

/// `attribute OP args.x` is left out where the optional `x` was not sent; a test of `x` itself is not.
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

fn sorted(model: &Model, selection: &Selection, rows: Vec<Attributes>) -> Result<Vec<Attributes>, EvaluateError> {
    let mut failed = None;
    let mut sorted = rows;
    sorted.sort_by(|a, b| {
        compare(model, selection, a, b).unwrap_or_else(|error| {
            failed = Some(error);
            Ordering::Equal
        })
    });
    failed.map_or(Ok(sorted), Err)
}
