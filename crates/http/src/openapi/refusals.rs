//! The refusals that a write may answer, by name and status.

use std::collections::BTreeSet;

use singlet_model::Model;
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Cause, Entity, Let, LetValue, MoveTo, Refusal, Requirement, Step, StepKind, Write};
use singlet_model::types::Type;

/// Name and status of every refusal.
pub fn of_write(model: &Model, write: &Write) -> BTreeSet<(u16, String)> {
    let mut found = BTreeSet::new();
    for requirement in &write.requirements {
        found.insert(required(requirement));
    }
    for bound in &write.lets {
        found.extend(unfound(model, bound));
    }
    for step in write.all_steps() {
        of_step(model, step, &mut found);
    }
    found
}

fn of_step(model: &Model, step: &Step, found: &mut BTreeSet<(u16, String)>) {
    if let StepKind::Call { step: name, .. } = &step.kind {
        let named = model.steps.iter().find(|known| known.name == *name);
        for inner in named.iter().flat_map(|named| &named.steps) {
            of_step(model, inner, found);
        }
        return;
    }
    found.extend(step.requirements.iter().map(required));
    let Some(entity) = step.entity().and_then(|entity| model.entity(entity)) else {
        return;
    };
    let entity = model.source_of(entity);
    for (cause, status, name) in causes(model, entity, step) {
        let named = step.refusals.iter().find(|(known, _)| *known == cause);
        let any = step.refusals.iter().find(|(known, _)| *known == Cause::Any);
        found.insert(match named.or(any) {
            Some((_, refusal)) => (refusal.status.unwrap_or(status), refusal.name.clone()),
            None => (status, name),
        });
    }
}

/// Why a step may fail, with the status and the name that it has by itself.
fn causes(model: &Model, entity: &Entity, step: &Step) -> Vec<(Cause, u16, String)> {
    let name = snake(&entity.name);
    let absent = (Cause::Absent, 404, format!("{name}_not_found"));
    let exists = (Cause::Exists, 409, format!("{name}_exists"));
    let mut all = match &step.kind {
        StepKind::Create(_) => vec![exists],
        StepKind::Absent(_) => return vec![exists],
        StepKind::Delete(_) | StepKind::Present(_) => return vec![absent],
        StepKind::Update(_) => vec![absent],
        _ => Vec::new(),
    };
    if matches!(step.kind, StepKind::Create(_)) && entity.excludes.is_some() {
        all.push((Cause::Excludes, 409, format!("{name}_excluded")));
    }
    if matches!(step.kind, StepKind::Create(_)) {
        for mirror in model.mirrors_of(entity.id) {
            all.push((
                Cause::Named(mirror.name.clone()),
                409,
                format!("{}_exists", snake(&mirror.name)),
            ));
        }
        if entity.attributes.iter().any(|attribute| attribute.copy.is_some()) {
            all.push((Cause::Source, 409, format!("{name}_source_changed")));
        }
    }
    for guard in &entity.unique {
        all.push((
            Cause::Named(guard.name.clone()),
            409,
            format!("{}_taken", snake(&guard.name)),
        ));
    }
    for added in &step.add {
        if entity
            .attribute(&added.attribute)
            .is_some_and(|attribute| is_bounded(&attribute.ty))
        {
            let out = format!("{}_out_of_range", snake(&added.attribute));
            all.push((Cause::Named(added.attribute.clone()), 409, out));
        }
    }
    if let (Some(states), Some(to)) = (&entity.states, &step.moves) {
        let asked = states.moves.iter().filter(|known| match to {
            MoveTo::Named(name, _) => known.name == *name,
            MoveTo::To(_) => true,
        });
        for known in asked {
            let from = known.from.join("_or_").replace('-', "_");
            all.push((Cause::State, 409, format!("{name}_not_{from}")));
        }
    }
    all
}

fn is_bounded(ty: &Type) -> bool {
    match ty {
        Type::Int(limits) | Type::Number(limits) => limits.min.is_some() || limits.max.is_some(),
        _ => false,
    }
}

fn required(requirement: &Requirement) -> (u16, String) {
    let Refusal { name, status, .. } = &requirement.refusal;
    let usual = if of_request_alone(&requirement.condition) {
        400
    } else {
        409
    };
    (status.unwrap_or(usual), name.clone())
}

/// Whether the request decides it, whenever it comes.
fn of_request_alone(condition: &Expr) -> bool {
    condition.attributes().is_empty()
        && !condition.any(|part| matches!(part.kind, ExprKind::Bound(_) | ExprKind::Now | ExprKind::Today))
}

/// The refusal of a row that `let` names and that is not there.
fn unfound(model: &Model, bound: &Let) -> Option<(u16, String)> {
    let entity = match &bound.value {
        LetValue::Value(expr) => match &expr.kind {
            ExprKind::Entity { entity, .. } => *entity,
            _ => return None,
        },
        LetValue::Read(selection) => selection.entity()?,
    };
    let entity = model.entity(entity).filter(|_| !bound.optional)?;
    Some((404, format!("{}_not_found", snake(&entity.name))))
}

/// `UserItem` as `user_item`.
fn snake(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 4);
    let mut before_lower = false;
    for char in name.chars() {
        if char.is_uppercase() && before_lower {
            text.push('_');
        }
        before_lower = char.is_lowercase() || char.is_ascii_digit();
        if char.is_alphanumeric() {
            text.extend(char.to_lowercase());
        } else {
            text.push('_');
        }
    }
    text
}
