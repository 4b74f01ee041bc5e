//! What a read means, by looking at every row.
//!
//! It knows no key, no index and no plan: only the evaluator of expressions, and what entities promise of time.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use singlet_item::{Number, Value};
use singlet_model::Model;
use singlet_model::evaluate::{EvaluateError, evaluate_as, holds, row_order};
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Entity, History, Read, Selection, SelectionKind};
use singlet_model::types::Type;
use singlet_runtime::{Attributes, Scope};

use crate::bench::Row;

/// What a read means.
#[derive(Debug, Default)]
pub struct Meant {
    /// The rows in their order; equal ones stand as they came. The limit is not applied, for it may fall among equal rows.
    pub rows: Vec<Attributes>,
    /// How many there are, in all or of each value of an attribute, where that is what is asked.
    pub counted: Option<Value>,
}

/// The rows that a read of one entity means.
///
/// # Errors
///
/// Where an expression leaves the range of its type.
pub fn meant(model: &Model, read: &Read, rows: &[Row], scope: Scope<'_>) -> Result<Meant, EvaluateError> {
    let Some((selection, entity)) = selected(model, read) else {
        return Ok(Meant::default());
    };
    let own = rows.iter().filter(|(name, _)| *name == entity.name);
    let own: Vec<&Attributes> = own.map(|(_, row)| row).collect();
    let mut meant = Vec::new();
    for row in versions(entity, read, own, scope)? {
        let Some(row) = seen(entity, row, scope)? else { continue };
        if means(read, selection, &row, scope)? {
            meant.push(row);
        }
    }
    let counted = (selection.kind == SelectionKind::Count).then(|| counted(selection, &meant));
    Ok(Meant {
        rows: sorted(model, read, meant)?,
        counted,
    })
}

impl Meant {
    /// How an answer differs from what is meant. Equal rows may come in any order, each once; of a limit, any of them.
    pub fn difference(&self, model: &Model, read: &Read, got: &[Value]) -> Option<String> {
        let selection = read.selection.as_ref()?;
        let most = match selection.kind {
            SelectionKind::Count => {
                return (got.first() != self.counted.as_ref()).then(|| "the count differs".to_owned());
            }
            SelectionKind::Get { .. } => 1,
            SelectionKind::Find => selection.limit.map_or(usize::MAX, |limit| limit as usize),
        };
        let wanted = self.rows.len().min(most);
        if got.len() != wanted {
            return Some(format!("{} rows came, {wanted} are meant", got.len()));
        }
        let got: Vec<&Attributes> = got.iter().filter_map(Value::as_map).collect();
        for (at, row) in got.iter().enumerate() {
            let times_meant = self.rows.iter().filter(|known| known == row).count();
            let times = got.iter().filter(|known| known == &row).count();
            if times_meant == 0 {
                return Some(format!("row {at} is not meant, or not so"));
            }
            if times > times_meant {
                return Some(format!("row {at} comes more than once"));
            }
        }
        let out_of_order = got
            .iter()
            .zip(&self.rows)
            .position(|(got, meant)| compare(model, read, got, meant).is_ok_and(Ordering::is_ne));
        out_of_order.map(|at| format!("row {at} is out of order"))
    }

    /// As values, to be shown.
    pub fn shown(&self) -> Vec<Value> {
        let counted = self.counted.iter().cloned();
        counted.chain(self.rows.iter().cloned().map(Value::M)).collect()
    }
}

/// How two rows stand in the order of a read; what is absent comes first.
fn compare(model: &Model, read: &Read, a: &Attributes, b: &Attributes) -> Result<Ordering, EvaluateError> {
    let Some((selection, entity)) = selected(model, read) else {
        return Ok(Ordering::Equal);
    };
    for order in &selection.order {
        let Some((ty, _)) = model.type_at(entity, &order.path) else {
            continue;
        };
        let compared = match (a.get(&order.path), b.get(&order.path)) {
            (Some(a), Some(b)) => row_order(a, b, &ty)?,
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

fn counted(selection: &Selection, rows: &[Attributes]) -> Value {
    let number = |count: usize| Value::N(Number::from(i64::try_from(count).unwrap_or(i64::MAX)));
    let Some(by) = selection.by.first() else {
        return number(rows.len());
    };
    let mut groups: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows {
        let group = match row.get(by) {
            Some(Value::S(text)) => text.clone(),
            Some(Value::N(number)) => number.to_string(),
            Some(Value::Bool(truth)) => truth.to_string(),
            _ => continue,
        };
        *groups.entry(group).or_default() += 1;
    }
    let groups = groups.into_iter().map(|(group, count)| (group, number(count)));
    Value::M(groups.collect())
}

/// Of an entity with history, the versions that a read sees: all, or of each identity the newest, or the newest at an instant,
/// unless it is a deletion.
fn versions<'r>(
    entity: &Entity,
    read: &Read,
    rows: Vec<&'r Attributes>,
    scope: Scope<'_>,
) -> Result<Vec<&'r Attributes>, EvaluateError> {
    let Some(history) = entity.history.as_ref().filter(|_| !read.all_versions) else {
        return Ok(rows);
    };
    let latest = match &read.at {
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

fn means(read: &Read, selection: &Selection, row: &Attributes, scope: Scope<'_>) -> Result<bool, EvaluateError> {
    let scope = scope.with_row(row);
    for conjunct in selection.filter.iter().flat_map(Expr::conjuncts) {
        if !is_left_out(read, conjunct, scope.args) && !holds(conjunct, &scope)? {
            return Ok(false);
        }
    }
    holds(&read.allow, &scope)
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
