//! Rows whose primary key depends on a condition. They are created and read; but whoever names one by its key does not say which
//! of its keys is meant, and a change may move it from one to the other. Until that is built it is refused.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::expression::{Expr, ExprKind};
use crate::model::{Entity, LetValue, NamedStep, Read, Step, StepKind, Write};
use crate::rules;
use crate::source::Span;
use crate::types::EntityId;

const HELP: &str = "give the entity one key, with the condition in an index";

/// Reports rows that are changed or named though their key depends on a condition.
pub(super) fn check_chosen_keys(
    (entities, steps): (&[Entity], &[NamedStep]),
    (reads, writes): (&[Read], &[Write]),
    out: &mut Diagnostics,
) {
    let chosen: Vec<EntityId> = entities
        .iter()
        .filter(|entity| entity.key.len() > 1)
        .map(|entity| entity.id)
        .collect();
    if chosen.is_empty() {
        return;
    }
    let mut refuse = |id: EntityId, span: Span, what: &str| {
        let name = super::entity_of(entities, id).map_or("", |entity| entity.name.as_str());
        if chosen.contains(&id) {
            let message = format!("{what} of `{name}`, whose primary key depends on a condition, is not built yet");
            out.push(Diagnostic::new(&rules::NOT_YET, span, message).help(HELP));
        }
    };
    for entity in entities.iter().filter(|entity| entity.mirror.is_none()) {
        entity.excludes.iter().for_each(|expr| in_expression(expr, &mut refuse));
        let copies = entity.attributes.iter().filter_map(|attribute| attribute.copy.as_ref());
        copies.for_each(|copy| in_expression(&copy.source, &mut refuse));
    }
    for read in reads {
        read.lets.iter().for_each(|bound| in_value(&bound.value, &mut refuse));
    }
    for write in writes {
        write.lets.iter().for_each(|bound| in_value(&bound.value, &mut refuse));
        in_expression(&write.allow, &mut refuse);
        let required = write.requirements.iter().map(|required| &required.condition);
        required.for_each(|expr| in_expression(expr, &mut refuse));
        in_steps(&write.steps, &mut refuse);
    }
    steps.iter().for_each(|named| in_steps(&named.steps, &mut refuse));
}

type Refuse<'r> = &'r mut dyn FnMut(EntityId, Span, &str);

fn in_steps(steps: &[Step], refuse: Refuse<'_>) {
    for step in steps {
        let looked_at = step
            .when
            .iter()
            .chain(step.requirements.iter().map(|required| &required.condition));
        looked_at.for_each(|expr| in_expression(expr, refuse));
        let assigned = [&step.set, &step.add, &step.remove, &step.append].into_iter().flatten();
        assigned.for_each(|assignment| in_expression(&assignment.value, refuse));
        if let Some((_, list)) = &step.repeat {
            in_value(list, refuse);
        }
        match &step.kind {
            StepKind::Group(inner) => in_steps(inner, refuse),
            StepKind::Call { args, .. } => args.iter().for_each(|(_, value)| in_expression(value, refuse)),
            StepKind::Create(_) => {}
            StepKind::Update(_)
            | StepKind::Delete(_)
            | StepKind::Upsert(_)
            | StepKind::Present(_)
            | StepKind::Absent(_) => {
                if let Some(entity) = step.entity() {
                    refuse(entity, step.span, "changing or insisting on a row");
                }
            }
        }
    }
}

fn in_value(value: &LetValue, refuse: Refuse<'_>) {
    match value {
        LetValue::Value(expr) => in_expression(expr, refuse),
        // Found rows are named by what is known of them.
        LetValue::Read(_) => {}
    }
}

fn in_expression(expr: &Expr, refuse: Refuse<'_>) {
    expr.walk(&mut |part| {
        if let ExprKind::Entity { entity, .. } = &part.kind {
            refuse(*entity, part.span, "naming a row");
        }
    });
}
