//! What a read means, by looking at every row.
//!
//! It knows no key, no index and no plan: only the evaluator of expressions, and what entities promise of time.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use singlet_item::Value;
use singlet_model::Model;
use singlet_model::evaluate::{EvaluateError, evaluate_as, holds_condition, row_order};
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Entity, History, Read, Selection};
use singlet_model::types::Type;
use singlet_runtime::{Attributes, Scope};

use crate::bench::Row;
use crate::writes::world;

/// Which rows are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The read, for its arguments and versions.
    pub read: &'a Read,
    /// Its own selection, or one that comes with it.
    pub selection: &'a Selection,
    /// Who may see a row.
    pub allow: Option<&'a Expr>,
    /// Whether it is the read's own selection: what is named, or comes with it, is current.
    pub is_own: bool,
}

/// The rows that are meant, in their order; equal ones stand as they came. The limit is not applied, for it may fall among equal
/// rows.
///
/// # Errors
///
/// Where an expression leaves the range of its type.
pub(crate) fn meant_rows(
    model: &Model,
    question: Question<'_>,
    rows: &[Row],
    scope: Scope<'_>,
) -> Result<Vec<Attributes>, EvaluateError> {
    let Some(entity) = question.selection.entity().and_then(|id| model.entity(id)) else {
        return Ok(Vec::new());
    };
    // A mirror's rows are its source's, as far as it carries them.
    let source = model.source_of(entity);
    let own = rows.iter().filter(|(name, _)| *name == source.name);
    let own: Vec<&Attributes> = own.map(|(_, row)| row).collect();
    let mut meant = Vec::new();
    for row in versions(source, question, own, scope)? {
        let Some(mut row) = seen(source, row, scope)? else {
            continue;
        };
        if entity.mirror.is_some() {
            let mut key = world::key_variables(model, entity.id).iter();
            if !key.all(|name| row.contains_key(name)) {
                continue;
            }
            row.retain(|name, _| entity.attribute(name).is_some());
        }
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
pub(crate) fn compare_rows(
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

/// The rows of an entity as they are now.
///
/// # Errors
///
/// Where an expression leaves the range of its type.
pub fn current_rows(entity: &Entity, rows: &[Row], scope: Scope<'_>) -> Result<Vec<Attributes>, EvaluateError> {
    let own = rows.iter().filter(|(name, _)| *name == entity.name);
    let mut current = Vec::new();
    for row in newest(entity, own.map(|(_, row)| row).collect(), None) {
        current.extend(seen(entity, row, scope)?);
    }
    Ok(current)
}

/// Of an entity with history, the versions that a read sees: all, or of each identity the newest, or the newest at an instant,
/// unless it is a deletion.
fn versions<'r>(
    entity: &Entity,
    question: Question<'_>,
    rows: Vec<&'r Attributes>,
    scope: Scope<'_>,
) -> Result<Vec<&'r Attributes>, EvaluateError> {
    let read = Some(question.read).filter(|_| question.is_own);
    if read.is_some_and(|read| read.all_versions) {
        return Ok(rows);
    }
    let latest = match read.and_then(|read| read.at.as_ref()) {
        Some(at) => match evaluate_as(at, &Type::Time, &scope)? {
            Some(at) => Some(at),
            None => return Ok(Vec::new()),
        },
        None => None,
    };
    Ok(newest(entity, rows, latest.as_ref().and_then(Value::as_str)))
}

/// Of each identity the newest version, at an instant or at all, unless it is a deletion.
fn newest<'r>(entity: &Entity, rows: Vec<&'r Attributes>, latest: Option<&str>) -> Vec<&'r Attributes> {
    let Some(history) = &entity.history else { return rows };
    let mut newest: BTreeMap<String, &Attributes> = BTreeMap::new();
    for row in rows {
        let begun = row.get(&history.at).and_then(Value::as_str);
        let is_later = latest.is_some_and(|latest| begun > Some(latest));
        let known = newest.get(&identity(entity, history, row));
        let is_older = known.is_some_and(|known| known.get(&history.at).and_then(Value::as_str) > begun);
        if !is_later && !is_older {
            newest.insert(identity(entity, history, row), row);
        }
    }
    newest
        .into_values()
        .filter(|row| !world::is_deleted(history, row))
        .collect()
}

/// What all versions of a thing share: what its key keeps of it, without the instant of the version.
fn identity(entity: &Entity, history: &History, row: &Attributes) -> String {
    let names = entity.attributes.iter().map(|attribute| attribute.name.as_str());
    let shared = names.filter(|name| entity.is_key_attribute(name) && *name != history.at);
    format!("{:?}", world::kept_by_key(entity, shared, row))
}

/// A row as it is at the scope's instant, with what is computed; none where it has expired.
fn seen(entity: &Entity, row: &Attributes, scope: Scope<'_>) -> Result<Option<Attributes>, EvaluateError> {
    let row = world::compute_row(entity, row.clone(), scope)?;
    world::live_row(entity, &row, scope)
}

fn means(question: Question<'_>, row: &Attributes, scope: Scope<'_>) -> Result<bool, EvaluateError> {
    let scope = scope.with_row(row);
    for conjunct in question.selection.filter.iter().flat_map(Expr::conjuncts) {
        if !is_left_out(question.read, conjunct, scope.args) && !holds_condition(conjunct, &scope)? {
            return Ok(false);
        }
    }
    question.allow.map_or(Ok(true), |allow| holds_condition(allow, &scope))
}

/// `attribute OP args.x` is left out where the optional `x` was not sent; a test of `x` itself is not.
fn is_left_out(read: &Read, conjunct: &Expr, args: &Attributes) -> bool {
    let unsent = |expr: &Expr| match &expr.kind {
        ExprKind::Arg(name) => !args.contains_key(name) && read.argument_named(name).is_some_and(|arg| arg.optional),
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
        compare_rows(model, selection, a, b).unwrap_or_else(|error| {
            failed = Some(error);
            Ordering::Equal
        })
    });
    failed.map_or(Ok(sorted), Err)
}
