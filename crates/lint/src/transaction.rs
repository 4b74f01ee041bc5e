//! How many actions the transaction of a write can have. Condition checks of rows that are only read are left out, so the count
//! errs on the low side; only steps on one row that merge are counted apart.

use singlet_model::Model;
use singlet_model::expression::{Expr, ExprKind, FunctionId};
use singlet_model::model::{Entity, IdempotencyNeed, LetValue, Step, StepKind, Write};
use singlet_model::types::Type;

use crate::steps::{changed, exclusive};

/// How many conditional steps are looked through for one that excludes another.
const EXCLUSIVE_LOOKED_AT_MAX: usize = 16;

/// The most actions that a write's transaction can have: its steps with the rows that follow them, and the record of the request.
pub fn actions(model: &Model, write: &Write) -> u64 {
    let record = u64::from(write.idempotency.need != IdempotencyNeed::None);
    all(model, &write.steps).saturating_add(record)
}

/// Steps whose conditions exclude one another count as the largest of them.
fn all(model: &Model, steps: &[Step]) -> u64 {
    let mut total = 0_u64;
    let mut alternatives: Vec<(Vec<&Expr>, u64)> = Vec::new();
    for step in steps {
        let count = repeated(model, step);
        let Some(when) = &step.when else {
            total = total.saturating_add(count);
            continue;
        };
        let recent = alternatives.iter_mut().rev().take(EXCLUSIVE_LOOKED_AT_MAX);
        let mut fitting = recent.filter(|(whens, _)| whens.iter().all(|other| exclusive(&[other], &[when])));
        match fitting.next() {
            Some((whens, most)) => {
                whens.push(when);
                *most = count.max(*most);
            }
            None => alternatives.push((vec![when], count)),
        }
    }
    alternatives
        .iter()
        .fold(total, |total, (_, most)| total.saturating_add(*most))
}

fn repeated(model: &Model, step: &Step) -> u64 {
    let times = step
        .repeat
        .as_ref()
        .map_or(1, |(_, list)| most_elements(list).unwrap_or(1));
    let once = match &step.kind {
        StepKind::Group(inner) => all(model, inner),
        StepKind::Call { step: name, .. } => {
            let named = model.steps.iter().find(|named| named.name == *name);
            named.map_or(0, |named| all(model, &named.steps))
        }
        _ => step_actions(model, step),
    };
    once.saturating_mul(times)
}

/// The actions of one turn of one step: its row, mirrors, guards, and the rows that it excludes.
pub fn step_actions(model: &Model, step: &Step) -> u64 {
    let Some(entity) = step.entity().and_then(|id| model.entity(id)) else {
        return 0;
    };
    let guards = entity.unique.len() as u64;
    let mirrors = model.mirrors_of(entity.id).count() as u64;
    match &step.kind {
        StepKind::Create(_) => {
            // The first version claims its identity, a later one closes what was before it.
            let version = u64::from(entity.history.is_some());
            1 + version + guards + mirrors + entity.excludes.as_ref().map_or(0, excluded)
        }
        StepKind::Delete(_) => 1 + u64::from(entity.history.is_some()) + guards + mirrors,
        StepKind::Update(_) | StepKind::Upsert(_) => {
            let moved = u64::from(step.rekey) * (1 + guards + mirrors);
            1 + u64::from(entity.history.is_some()) + moved.max(followers(model, entity, step))
        }
        _ => 1,
    }
}

/// Guards that are released and claimed anew, and mirrors that carry what changes.
fn followers(model: &Model, entity: &Entity, step: &Step) -> u64 {
    let state = step
        .moves
        .as_ref()
        .and(entity.states.as_ref())
        .map(|states| states.of.as_str());
    let touched: Vec<&str> = changed(step).chain(state).collect();
    let guards = entity
        .unique
        .iter()
        .filter(|guard| touched.iter().any(|name| guard.value.mentions_attribute(name)));
    let mirrors = model
        .mirrors_of(entity.id)
        .filter(|mirror| touched.iter().any(|name| mirror.attribute(name).is_some()));
    2 * guards.count() as u64 + mirrors.count() as u64
}

pub(crate) fn excluded(excludes: &Expr) -> u64 {
    match &excludes.kind {
        ExprKind::List(rows) => rows.len() as u64,
        ExprKind::Conditional(_, then, otherwise) => excluded(then).max(excluded(otherwise)),
        ExprKind::Entity { .. } => 1,
        _ => 0,
    }
}

/// The upper bound of a list, from its limits.
fn most_elements(list: &LetValue) -> Option<u64> {
    match list {
        LetValue::Read(selection) => selection.limit,
        LetValue::Value(expr) => bound(expr),
    }
}

fn bound(expr: &Expr) -> Option<u64> {
    let limited = match &expr.ty {
        Type::List(_, limits) | Type::Set(_, limits) | Type::Map(_, limits) => limits.max,
        _ => None,
    };
    limited.or_else(|| match &expr.kind {
        ExprKind::List(elements) => Some(elements.len() as u64),
        ExprKind::Each { list, .. } => bound(list),
        ExprKind::Call(FunctionId::Numbered, args) => args.first().and_then(bound),
        _ => None,
    })
}
