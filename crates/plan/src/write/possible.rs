//! The refusals that a write may answer, by status and name.

use std::collections::BTreeSet;

use singlet_item::Number;
use singlet_model::Model;
use singlet_model::expression::{EachOp, Expr, ExprKind, FunctionId, Literal};
use singlet_model::model::{Assignment, Entity, Guard, Let, LetValue, MoveTo, SelectionKind, Step, StepKind, Write};
use singlet_model::types::{EntityId, LengthLimits, Type};

use super::named_rows::{entities_named, step_expressions, write_expressions};
use super::refusals::{DefaultRefusal as Why, default_name, default_status, requirement_status, step_refusal};

/// Status and name of every refusal.
pub fn possible_refusals(model: &Model, write: &Write) -> BTreeSet<(u16, String)> {
    let mut found = Found {
        model,
        write,
        all: BTreeSet::new(),
    };
    for requirement in &write.requirements {
        found.add(requirement_status(requirement), &requirement.refusal.name);
    }
    for bound in &write.lets {
        found.unfound(bound);
    }
    // In bulk every step has a transaction of its own.
    let together = if write.bulk { 1 } else { write.steps.len().max(1) };
    for steps in write.steps.chunks(together) {
        let mut touched = Vec::new();
        count_rows(model, write, steps, 1, &mut touched);
        if touched.iter().any(|(_, times)| *times > 1) {
            found.add(409, "same_item");
        }
    }
    for step in write.all_steps() {
        found.step(step);
    }
    write_expressions(write)
        .into_iter()
        .for_each(|expr| found.named_rows(expr));
    found.all
}

/// How many rows of each entity steps may touch, as far as one of them may be another: what a set or a read gives, it gives once,
/// and a new row is no other.
fn count_rows(model: &Model, write: &Write, steps: &[Step], times: usize, touched: &mut Vec<(EntityId, usize)>) {
    for step in steps {
        let once = match &step.repeat {
            None | Some((_, LetValue::Read(_))) => true,
            Some((_, LetValue::Value(list))) => {
                matches!(list.ty, Type::Set(..)) || matches!(&list.kind, ExprKind::Each { op: EachOp::Group, .. })
            }
        };
        let times = if once { times } else { times.saturating_mul(2) };
        match &step.kind {
            StepKind::Group(inner) => count_rows(model, write, inner, times, touched),
            StepKind::Call { step: name, .. } => {
                let named = model.steps.iter().find(|known| known.name == *name);
                named
                    .iter()
                    .for_each(|named| count_rows(model, write, &named.steps, times, touched));
            }
            _ => {
                let entity = step.entity().and_then(|entity| model.entity(entity));
                let Some(entity) = entity.map(|entity| model.source_of(entity)) else {
                    continue;
                };
                if matches!(step.kind, StepKind::Create(_)) && has_new_key(write, entity, entity, step) {
                    continue;
                }
                match touched.iter_mut().find(|(known, _)| *known == entity.id) {
                    Some((_, count)) => *count += times,
                    None => touched.push((entity.id, times)),
                }
            }
        }
    }
}

struct Found<'a> {
    model: &'a Model,
    write: &'a Write,
    all: BTreeSet<(u16, String)>,
}

impl Found<'_> {
    fn add(&mut self, status: u16, name: &str) {
        self.all.insert((status, name.to_owned()));
    }

    /// A row that `let` names and that is not there.
    fn unfound(&mut self, bound: &Let) {
        // Rows that are found are as many as there are.
        if matches!(&bound.value, LetValue::Read(selection) if selection.kind == SelectionKind::Find) {
            return;
        }
        let named = |part: &Expr| matches!(&part.kind, ExprKind::Bound(name) if *name == bound.name);
        // One that may be missing is refused only by who may not see it.
        if bound.optional && !self.write.allow.any(named) {
            return;
        }
        let entity = match &bound.value {
            LetValue::Value(expr) => entity_of(expr),
            LetValue::Read(selection) => selection.entity(),
        };
        if let Some(entity) = entity.and_then(|entity| self.model.entity(entity)) {
            self.add(404, &default_name(&entity.name, &Why::Absent));
        }
    }

    /// Rows that an expression names by their keys and that are not there.
    fn named_rows(&mut self, expr: &Expr) {
        let entities = entities_named(expr).into_iter();
        for entity in entities.filter_map(|entity| self.model.entity(entity)) {
            self.add(404, &default_name(&entity.name, &Why::Absent));
        }
    }

    fn step(&mut self, step: &Step) {
        step_expressions(step)
            .into_iter()
            .for_each(|expr| self.named_rows(expr));
        if let StepKind::Call { step: name, .. } = &step.kind {
            let model = self.model;
            let named = model.steps.iter().find(|known| known.name == *name);
            named
                .iter()
                .flat_map(|named| &named.steps)
                .for_each(|inner| self.step(inner));
            return;
        }
        for requirement in &step.requirements {
            self.add(requirement_status(requirement), &requirement.refusal.name);
        }
        let Some(entity) = step.entity().and_then(|entity| self.model.entity(entity)) else {
            return;
        };
        let entity = self.model.source_of(entity);
        for why in causes(self.model, self.write, entity, step) {
            match step_refusal(step, &why) {
                Some(refusal) => self.add(refusal.status.unwrap_or(default_status(&why)), &refusal.name),
                None => self.add(default_status(&why), &default_name(&entity.name, &why)),
            }
        }
        for copy in entity.attributes.iter().filter_map(|attribute| attribute.copy.as_ref()) {
            if let Some(source) = self
                .model
                .entity(copy.entity)
                .filter(|_| step_refusal(step, &Why::Source).is_none())
            {
                self.add(404, &default_name(&source.name, &Why::Absent));
            }
        }
    }
}

fn entity_of(expr: &Expr) -> Option<EntityId> {
    match &expr.kind {
        ExprKind::Entity { entity, .. } => Some(*entity),
        _ => None,
    }
}

/// Why a step may fail.
fn causes(model: &Model, write: &Write, entity: &Entity, step: &Step) -> Vec<Why> {
    // What a bulk operation finds gone is what it wants.
    let found = write.bulk && matches!(step.repeat, Some((_, LetValue::Read(_))));
    let is_new = |row: &Entity| has_new_key(write, entity, row, step);
    let mut all = match &step.kind {
        StepKind::Create(_) if is_new(entity) => Vec::new(),
        StepKind::Create(_) => vec![Why::Exists],
        StepKind::Absent(_) => return vec![Why::Exists],
        StepKind::Delete(_) | StepKind::Update(_) if found => Vec::new(),
        StepKind::Delete(_) | StepKind::Present(_) | StepKind::Update(_) => vec![Why::Absent],
        _ => Vec::new(),
    };
    if matches!(step.kind, StepKind::Delete(_) | StepKind::Present(_)) {
        return all;
    }
    let creates = matches!(step.kind, StepKind::Create(_));
    if creates {
        all.extend(entity.excludes.is_some().then_some(Why::Excludes));
        let copied = entity.attributes.iter().any(|attribute| attribute.copy.is_some());
        all.extend(copied.then_some(Why::Source));
        let mirrors = model.mirrors_of(entity.id).filter(|mirror| !is_new(mirror));
        all.extend(mirrors.map(|mirror| Why::Mirror(mirror.name.clone())));
    }
    if matches!(step.kind, StepKind::Update(_)) {
        // Where the row moves to, or a mirror of it, another may be.
        all.extend(step.rekey.then_some(Why::Exists));
        let mirrors = model
            .mirrors_of(entity.id)
            .filter(|mirror| may_move(entity, mirror, step));
        all.extend(mirrors.map(|mirror| Why::Mirror(mirror.name.clone())));
    }
    let changes = |guard: &&Guard| {
        let upserts = matches!(step.kind, StepKind::Upsert(_));
        creates
            || upserts
            || guard
                .value
                .attributes()
                .iter()
                .any(|name| may_change(entity, step, name))
    };
    let guards = entity.unique.iter().filter(changes);
    all.extend(guards.map(|guard| Why::Taken(guard.name.clone())));
    let limits = |change: &&Assignment| entity.attribute(&change.attribute).map(|attribute| &attribute.ty);
    let set = step.set.iter().filter(|change| match (limits(change), &change.entry) {
        (Some(ty), Some(_)) => may_outgrow(ty, &change.value),
        (Some(ty), None) => may_leave(ty, &change.value),
        (None, _) => false,
    });
    let added = step
        .add
        .iter()
        .filter(|change| limits(change).is_some_and(|ty| may_overflow(ty, &change.value)));
    let appended = step
        .append
        .iter()
        .filter(|change| limits(change).is_some_and(|ty| may_outgrow(ty, &change.value)));
    let removed = step
        .remove
        .iter()
        .filter(|change| limits(change).is_some_and(may_run_short));
    let leaving = set.chain(added).chain(appended).chain(removed);
    all.extend(leaving.map(|change| Why::Limit(change.attribute.clone())));
    if let StepKind::Upsert(target) = &step.kind {
        let key = key_of(write, target).into_iter().flatten();
        let leaving = key.filter(|(name, value)| {
            let attribute = entity.attribute(name);
            attribute.is_some_and(|attribute| may_leave(&attribute.ty, value))
        });
        all.extend(leaving.map(|(name, _)| Why::Limit(name.clone())));
    }
    if let (Some(states), Some(to)) = (&entity.states, &step.moves) {
        let goals = states.moves.iter().filter(|known| match to {
            MoveTo::Named(name, _) => known.name == *name,
            MoveTo::To(_) => true,
        });
        all.extend(goals.map(|known| Why::State(known.from.clone())));
    }
    all
}

/// The key by which a step, or the `let` that it is about, names its row.
fn key_of<'a>(write: &'a Write, target: &'a Expr) -> Option<&'a [(String, Expr)]> {
    let named = match &target.kind {
        ExprKind::Bound(name) => {
            let bound = write.lets.iter().find(|bound| bound.name == *name)?;
            match &bound.value {
                LetValue::Value(expr) => expr,
                LetValue::Read(_) => return None,
            }
        }
        _ => target,
    };
    match &named.kind {
        ExprKind::Entity { key, .. } => Some(key),
        _ => None,
    }
}

/// Whether the key of a row that a step creates has a part that the service makes up, so that there is never one like it.
pub(super) fn has_new_key(write: &Write, entity: &Entity, row: &Entity, step: &Step) -> bool {
    let is_made = |expr: &Expr| {
        let made = [FunctionId::Ulid, FunctionId::Ksuid, FunctionId::Uuid];
        matches!(&expr.kind, ExprKind::Call(function, _) if made.contains(function))
    };
    let named = |expr: &Expr| match &expr.kind {
        ExprKind::Bound(name) => write
            .lets
            .iter()
            .any(|bound| bound.name == *name && matches!(&bound.value, LetValue::Value(value) if is_made(value))),
        _ => is_made(expr),
    };
    // One value for all turns is new only once.
    let once = step.repeat.is_none();
    entity.attributes.iter().any(|attribute| {
        let set = step.set.iter().find(|change| change.attribute == attribute.name);
        let taken = step.take.iter().any(|taken| taken.attribute == attribute.name);
        let made = match set {
            Some(change) => named(&change.value) && once,
            None => attribute.default.as_ref().is_some_and(is_made) && !taken,
        };
        made && row.is_key_attribute(&attribute.name)
    })
}

/// Whether an update may give a mirror another key.
fn may_move(entity: &Entity, mirror: &Entity, step: &Step) -> bool {
    let in_key = entity
        .attributes
        .iter()
        .filter(|attribute| mirror.is_key_attribute(&attribute.name));
    in_key.into_iter().any(|attribute| {
        let is_computed = attribute.is.is_some() || attribute.always.is_some();
        is_computed || is_assigned(step, &attribute.name)
    })
}

/// Whether a step itself says what becomes of an attribute.
fn is_assigned(step: &Step, name: &str) -> bool {
    let mut assigned = step.set.iter().chain(&step.add).chain(&step.remove).chain(&step.append);
    let mut taken = step.take.iter().chain(&step.patch);
    taken.any(|taken| taken.attribute == name) || assigned.any(|change| change.attribute == name)
}

/// Whether an update may give an attribute another value.
fn may_change(entity: &Entity, step: &Step, name: &str) -> bool {
    let attribute = entity.attribute(name);
    let follows = attribute.is_none_or(|attribute| {
        attribute.is.is_some()
            || attribute.always.is_some()
            || attribute.copy.is_some()
            || attribute.ty == Type::Version
    });
    let moved = step.moves.is_some() && entity.states.is_some();
    follows || moved || is_assigned(step, name)
}

/// Whether a value may be outside the limits of the attribute that it is set to.
fn may_leave(ty: &Type, value: &Expr) -> bool {
    match (&value.kind, ty) {
        // What is not there has no limits; whether it may be missing is another question.
        (ExprKind::Literal(Literal::Absent), _) => false,
        (ExprKind::Conditional(_, then, otherwise), _) => may_leave(ty, then) || may_leave(ty, otherwise),
        (ExprKind::Literal(Literal::Text(text)), Type::Text(limits)) => {
            !is_within(limits.length, text.chars().count())
                || limits
                    .pattern
                    .as_ref()
                    .is_some_and(|pattern| !pattern.matches_whole(text))
        }
        (ExprKind::List(elements), Type::List(element, limits)) => {
            !is_within(*limits, elements.len()) || elements.iter().any(|value| may_leave(element, value))
        }
        (_, Type::Int(limits) | Type::Number(limits)) if *ty != value.ty => {
            let (least, most) = range(value);
            limits.min.is_some_and(|min| least.is_none_or(|least| least < min))
                || limits.max.is_some_and(|max| most.is_none_or(|most| most > max))
        }
        _ => is_narrower(ty, &value.ty),
    }
}

/// Whether some value of the second type is outside the limits of the first.
fn is_narrower(ty: &Type, of: &Type) -> bool {
    if ty == of {
        return false;
    }
    let limited = |limits: &LengthLimits| limits.min.is_some() || limits.max.is_some();
    match (ty, of) {
        (Type::Text(limits), _) => limited(&limits.length) || limits.pattern.is_some(),
        (Type::Bytes(limits), _) => limited(limits),
        (Type::Int(limits) | Type::Number(limits), _) => limits.min.is_some() || limits.max.is_some(),
        (Type::List(element, limits), Type::List(given, known))
        | (Type::Set(element, limits), Type::Set(given, known))
        | (Type::Map(element, limits), Type::Map(given, known)) => {
            limited(limits) && limits != known || is_narrower(element, given)
        }
        _ => false,
    }
}

fn is_within(limits: LengthLimits, length: usize) -> bool {
    let length = length as u64;
    limits.min.is_none_or(|min| length >= min) && limits.max.is_none_or(|max| length <= max)
}

/// Whether a collection may leave its limits when a value is added to it, or what it holds may.
fn may_outgrow(ty: &Type, value: &Expr) -> bool {
    match ty {
        Type::List(element, limits) | Type::Set(element, limits) => {
            let leaves = match value.ty.element_type() {
                Some(given) => is_narrower(element, given),
                None => may_leave(element, value),
            };
            limits.max.is_some() || may_run_short(ty) || leaves
        }
        Type::Map(element, limits) => limits.max.is_some() || may_run_short(ty) || may_overflow(element, value),
        _ => false,
    }
}

/// Whether a collection may have too few elements when some are taken out, or the first comes. What has none any more is absent.
fn may_run_short(ty: &Type) -> bool {
    matches!(ty, Type::List(_, limits) | Type::Set(_, limits) | Type::Map(_, limits) if limits.min.is_some_and(|min| min > 1))
}

/// Whether a number may leave its limits when a value is added to it.
fn may_overflow(ty: &Type, value: &Expr) -> bool {
    let (least, most) = range(value);
    match ty {
        Type::Int(limits) | Type::Number(limits) => {
            limits.min.is_some() && least.is_none_or(|least| least < Number::ZERO)
                || limits.max.is_some() && most.is_none_or(|most| most > Number::ZERO)
        }
        _ => may_outgrow(ty, value),
    }
}

/// The least and the most that a number may be, as far as it is known.
fn range(value: &Expr) -> (Option<Number>, Option<Number>) {
    match (&value.kind, &value.ty) {
        (ExprKind::Literal(Literal::Number(number)), _) => (Some(*number), Some(*number)),
        // What is computed is bound by no limit of what it was computed from.
        (ExprKind::Arg(_) | ExprKind::Attribute(_) | ExprKind::Field(..), Type::Int(limits) | Type::Number(limits)) => {
            (limits.min, limits.max)
        }
        _ => (None, None),
    }
}
