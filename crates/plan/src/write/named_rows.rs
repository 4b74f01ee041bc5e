//! Rows that a write only looks at: those that `let` and loops find or name, and those that expressions name by their keys.

use std::collections::BTreeMap;

use singlet_model::Model;
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Let, LetValue, MoveTo, Return, Selection, SelectionKind, Step, StepKind, Write};
use singlet_model::types::EntityId;

use crate::show::show_expression;

/// Rows that stand in the transaction as checks, if nothing else is done with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LookedAt {
    /// Whose rows.
    pub entity: EntityId,
    /// What they are called in the model.
    pub name: String,
    /// How many at least.
    pub least: u64,
    /// How many at most; nothing where nothing limits them.
    pub most: Option<u64>,
}

/// Every expression of a step but the row that it is about, and of the steps inside it none.
pub(super) fn step_expressions(step: &Step) -> Vec<&Expr> {
    let mut all: Vec<&Expr> = Vec::new();
    all.extend(&step.when);
    if let Some((_, LetValue::Value(list))) = &step.repeat {
        all.push(list);
    }
    match &step.kind {
        StepKind::Update(target)
        | StepKind::Delete(target)
        | StepKind::Upsert(target)
        | StepKind::Present(target)
        | StepKind::Absent(target) => target.for_each_part(&mut |part| all.push(part)),
        StepKind::Call { args, .. } => all.extend(args.iter().map(|(_, value)| value)),
        StepKind::Create(_) | StepKind::Group(_) => {}
    }
    let assigned = step.set.iter().chain(&step.add).chain(&step.remove).chain(&step.append);
    for assignment in assigned {
        all.push(&assignment.value);
        all.extend(&assignment.entry);
    }
    all.extend(&step.from);
    if let Some(MoveTo::To(state)) = &step.moves {
        all.push(state);
    }
    all.extend(step.requirements.iter().map(|requirement| &requirement.condition));
    all
}

/// What the write says outside its steps.
pub(super) fn write_expressions(write: &Write) -> Vec<&Expr> {
    let mut all: Vec<&Expr> = vec![&write.allow];
    for bound in &write.lets {
        match &bound.value {
            LetValue::Value(expr) if matches!(expr.kind, ExprKind::Entity { .. }) => {
                expr.for_each_part(&mut |part| all.push(part));
            }
            LetValue::Value(expr) => all.push(expr),
            LetValue::Read(_) => {}
        }
    }
    all.extend(write.requirements.iter().map(|requirement| &requirement.condition));
    match &write.returns {
        Return::Usual | Return::Nothing => {}
        Return::Value(expr) => all.push(expr),
        Return::Fields(fields) => all.extend(fields.iter().map(|(_, expr)| expr)),
    }
    all
}

/// The entities whose rows an expression names by their keys.
pub(super) fn entities_named(expr: &Expr) -> Vec<EntityId> {
    let mut found = Vec::new();
    expr.walk(&mut |part| {
        if let ExprKind::Entity { entity, .. } = &part.kind {
            found.push(*entity);
        }
    });
    found
}

/// The rows that a write looks at before and after its steps: of `let`, and of what stands outside steps.
pub(super) fn of_write(model: &Model, write: &Write) -> Vec<LookedAt> {
    let targets = target_texts(model, write);
    let mut found: BTreeMap<String, LookedAt> = BTreeMap::new();
    for bound in &write.lets {
        if let Some((text, looked)) = of_let(write, bound)
            && !targets.contains(&text)
            && !is_gone_through(&write.steps, &bound.name)
        {
            found.entry(text).or_insert(looked);
        }
    }
    for expr in write_expressions(write) {
        of_expression(expr, Some(1), &mut found);
    }
    found.retain(|text, _| !targets.contains(text));
    found.into_values().collect()
}

/// The rows that one turn of a step looks at beside its own, without those of the steps inside it; and those that its loop finds.
pub(super) fn of_step(write: &Write, step: &Step, known: &[LookedAt]) -> (Vec<LookedAt>, Option<LookedAt>) {
    let mut found = BTreeMap::new();
    for expr in step_expressions(step) {
        of_expression(expr, Some(1), &mut found);
    }
    // A row that the write names outside its steps too is the same one, wherever no loop changes what the text means.
    let variable = |text: &str| {
        let mut loops = Vec::new();
        loop_names(&write.steps, &mut loops);
        loops.iter().any(|name| text.contains(*name))
    };
    found.retain(|text, looked: &mut LookedAt| variable(text) || !known.iter().any(|known| known.name == looked.name));
    let loop_rows = step.repeat.as_ref().and_then(|(name, list)| match list {
        LetValue::Read(selection) if !targets_name(step, name) => Some(LookedAt {
            entity: selection.entity()?,
            name: name.clone(),
            least: 0,
            most: selection.limit,
        }),
        _ => None,
    });
    (found.into_values().collect(), loop_rows)
}

fn of_let(write: &Write, bound: &Let) -> Option<(String, LookedAt)> {
    let looked = |entity: EntityId, least: u64, most: Option<u64>| LookedAt {
        entity,
        name: bound.name.clone(),
        least,
        most,
    };
    match &bound.value {
        LetValue::Value(expr) => match &expr.kind {
            ExprKind::Entity { entity, .. } => {
                let changed = write.all_steps().iter().any(|step| targets_name(step, &bound.name));
                // A step that changes it only sometimes leaves a check of it otherwise.
                let least = u64::from(!bound.optional && !changed);
                let certain = write.steps.iter().any(|step| {
                    step.when.is_none() && step.repeat.is_none() && !step.or_skip && targets_name(step, &bound.name)
                });
                match certain && !write.bulk {
                    true => None,
                    false => Some((show_expression(expr), looked(*entity, least, Some(1)))),
                }
            }
            _ => None,
        },
        LetValue::Read(selection) => found_by(write, bound, selection).map(|(least, most)| {
            let text = format!("found {}", bound.name);
            selection.entity().map(|entity| (text, looked(entity, least, most)))
        })?,
    }
}

fn found_by(write: &Write, bound: &Let, selection: &Selection) -> Option<(u64, Option<u64>)> {
    match selection.kind {
        SelectionKind::Get { optional } => {
            let certain = write.steps.iter().any(|step| {
                step.when.is_none() && step.repeat.is_none() && !step.or_skip && targets_name(step, &bound.name)
            });
            let changed = write.all_steps().iter().any(|step| targets_name(step, &bound.name));
            match certain && !write.bulk {
                true => None,
                false => Some((u64::from(!optional && !changed), Some(1))),
            }
        }
        SelectionKind::Find => Some((0, selection.limit)),
        SelectionKind::Count => None,
    }
}

/// Each row that an expression names, by its text; elements of lists name as many.
fn of_expression(expr: &Expr, times: Option<u64>, found: &mut BTreeMap<String, LookedAt>) {
    match &expr.kind {
        ExprKind::Entity { entity, key } => {
            let text = show_expression(expr);
            let looked = found.entry(text.clone()).or_insert(LookedAt {
                entity: *entity,
                name: text,
                least: 0,
                most: Some(0),
            });
            looked.most = looked.most.zip(times).map(|(known, times)| known.max(times));
            key.iter().for_each(|(_, part)| of_expression(part, times, found));
        }
        ExprKind::Each { list, body, .. } => {
            of_expression(list, times, found);
            let each = list.ty.length_max();
            let times = times.zip(each).map(|(times, each)| times.saturating_mul(each));
            of_expression(body, times, found);
        }
        _ => expr.for_each_part(&mut |part| of_expression(part, times, found)),
    }
}

/// Whether a step is about the row of that name, or holds one that is.
fn targets_name(step: &Step, name: &str) -> bool {
    match &step.kind {
        StepKind::Update(target) | StepKind::Delete(target) | StepKind::Upsert(target) => {
            matches!(&target.kind, ExprKind::Bound(bound) if bound == name)
        }
        StepKind::Group(inner) => inner.iter().any(|step| targets_name(step, name)),
        _ => false,
    }
}

/// Whether a loop goes through the rows of a list and is about each.
fn is_gone_through(steps: &[Step], list: &str) -> bool {
    steps.iter().any(|step| {
        let inside = match &step.kind {
            StepKind::Group(inner) => is_gone_through(inner, list),
            _ => false,
        };
        let through = step.repeat.as_ref().is_some_and(|(name, value)| {
            matches!(value, LetValue::Value(expr) if matches!(&expr.kind, ExprKind::Bound(known) if known == list))
                && targets_name(step, name)
        });
        inside || through
    })
}

/// The rows, by their texts, that a step outside all loops changes for certain.
fn target_texts(model: &Model, write: &Write) -> Vec<String> {
    let certain = write
        .steps
        .iter()
        .filter(|step| step.when.is_none() && step.repeat.is_none() && !step.or_skip && !write.bulk);
    let texts = certain.filter_map(|step| match &step.kind {
        StepKind::Update(target) | StepKind::Delete(target) | StepKind::Upsert(target) => match &target.kind {
            ExprKind::Entity { .. } => Some(show_expression(target)),
            ExprKind::Bound(name) => {
                let bound = write.lets.iter().find(|bound| bound.name == *name)?;
                match &bound.value {
                    LetValue::Value(expr) => Some(show_expression(expr)),
                    LetValue::Read(_) => None,
                }
            }
            _ => None,
        },
        StepKind::Create(id) => created_text(model, *id, step),
        _ => None,
    });
    texts.collect()
}

/// The text of the row that a create makes, where what it sets says its whole key.
fn created_text(model: &Model, id: EntityId, step: &Step) -> Option<String> {
    let variables = &model.catalog.names(id)?.key_variables;
    let key: Option<Vec<(String, Expr)>> = variables
        .iter()
        .map(|variable| {
            let set = step.set.iter().find(|set| set.attribute == *variable)?;
            Some((variable.clone(), set.value.clone()))
        })
        .collect();
    let mut row = Expr::invalid_at(step.span);
    row.kind = ExprKind::Entity { entity: id, key: key? };
    Some(show_expression(&row))
}

fn loop_names<'a>(steps: &'a [Step], names: &mut Vec<&'a str>) {
    for step in steps {
        names.extend(step.repeat.as_ref().map(|(name, _)| name.as_str()));
        if let StepKind::Group(inner) = &step.kind {
            loop_names(inner, names);
        }
    }
}
