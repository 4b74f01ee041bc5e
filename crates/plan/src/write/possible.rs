//! The refusals that a write may answer, by status and name.

use std::collections::BTreeSet;

use singlet_model::Model;
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Assignment, Entity, Let, LetValue, MoveTo, Step, StepKind, Write};
use singlet_model::types::{EntityId, Type};

use super::refusals::{Default as Why, default_name, default_status, requirement_status, step_refusal};

/// Status and name of every refusal.
pub fn possible_refusals(model: &Model, write: &Write) -> BTreeSet<(u16, String)> {
    let mut found = Found {
        model,
        all: BTreeSet::new(),
    };
    for requirement in &write.requirements {
        found.add(requirement_status(requirement), &requirement.refusal.name);
    }
    for bound in &write.lets {
        found.unfound(bound);
    }
    let steps = write.all_steps();
    if steps.len() > 1 || steps.iter().any(|step| step.repeat.is_some()) {
        found.add(409, "same_item");
    }
    for step in steps {
        found.step(step);
    }
    found.all
}

struct Found<'a> {
    model: &'a Model,
    all: BTreeSet<(u16, String)>,
}

impl Found<'_> {
    fn add(&mut self, status: u16, name: &str) {
        self.all.insert((status, name.to_owned()));
    }

    /// A row that `let` names and that is not there.
    fn unfound(&mut self, bound: &Let) {
        let entity = match &bound.value {
            LetValue::Value(expr) => entity_of(expr),
            LetValue::Read(selection) => selection.entity(),
        };
        if let Some(entity) = entity.and_then(|entity| self.model.entity(entity)) {
            self.add(404, &default_name(&entity.name, &Why::Absent));
        }
    }

    fn step(&mut self, step: &Step) {
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
        for why in causes(self.model, entity, step) {
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
fn causes(model: &Model, entity: &Entity, step: &Step) -> Vec<Why> {
    let mut all = match &step.kind {
        StepKind::Create(_) => vec![Why::Exists],
        StepKind::Absent(_) => return vec![Why::Exists],
        StepKind::Delete(_) | StepKind::Present(_) => return vec![Why::Absent],
        StepKind::Update(_) => vec![Why::Absent],
        _ => Vec::new(),
    };
    if matches!(step.kind, StepKind::Create(_)) {
        all.extend(entity.excludes.is_some().then_some(Why::Excludes));
        let copied = entity.attributes.iter().any(|attribute| attribute.copy.is_some());
        all.extend(copied.then_some(Why::Source));
        all.extend(
            model
                .mirrors_of(entity.id)
                .map(|mirror| Why::Mirror(mirror.name.clone())),
        );
    }
    all.extend(entity.unique.iter().map(|guard| Why::Taken(guard.name.clone())));
    let may_leave = |change: &&Assignment| {
        let attribute = entity.attribute(&change.attribute);
        attribute.is_some_and(|attribute| attribute.ty != change.value.ty && is_bounded(&attribute.ty))
    };
    let changed = step.set.iter().chain(&step.add).filter(may_leave);
    all.extend(changed.map(|change| Why::Limit(change.attribute.clone())));
    if let (Some(states), Some(to)) = (&entity.states, &step.moves) {
        let goals = states.moves.iter().filter(|known| match to {
            MoveTo::Named(name, _) => known.name == *name,
            MoveTo::To(_) => true,
        });
        all.extend(goals.map(|known| Why::State(known.from.clone())));
    }
    all
}

fn is_bounded(ty: &Type) -> bool {
    match ty {
        Type::Int(limits) | Type::Number(limits) => limits.min.is_some() || limits.max.is_some(),
        Type::Text(limits) => limits.length.min.is_some() || limits.length.max.is_some() || limits.pattern.is_some(),
        _ => false,
    }
}
