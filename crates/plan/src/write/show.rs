//! A write's plan as text.

use std::fmt::Write as _;

use singlet_model::Model;
use singlet_model::model::{MoveTo, Step, StepKind, Trigger, Write};

use super::{Clause, Place, StepPlan, WritePlan};
use crate::show::{expression_in, show_expression};

/// What a write becomes, for people to read.
pub fn write_text(model: &Model, write: &Write, plan: &WritePlan) -> String {
    let mut out = format!("{}\n", plan.name);
    if let Some(trigger) = &write.after {
        line(&mut out, 1, &format!("after    {}", trigger_text(model, trigger)));
    }
    if let Some(schedule) = &write.every {
        line(&mut out, 1, &format!("every    {schedule}"));
    }
    for clause in plan.allow.iter().filter(|_| !write.is_uncalled()) {
        line(&mut out, 1, &format!("allow    {}", clause_text(clause)));
    }
    for (name, row) in &plan.rows {
        match row.read.first() {
            Some(why) => line(&mut out, 1, &format!("read     {name}: {why}")),
            None => line(&mut out, 1, &format!("no read  {name}: its condition says all")),
        }
    }
    for (requirement, clauses) in write.requirements.iter().zip(&plan.requirements) {
        for clause in clauses {
            let text = format!("require  {} else {}", clause_text(clause), requirement.refusal.name);
            line(&mut out, 1, &text);
        }
    }
    steps(model, &mut out, &write.steps, &plan.steps, 1);
    out
}

/// `update: Auction.leaderId, when before.leaderId != absent`.
pub fn trigger_text(model: &Model, trigger: &Trigger) -> String {
    let mut text = trigger.shown(model.catalog.name(trigger.entity));
    if let Some(when) = &trigger.when {
        let _ = write!(text, ", when {}", expression_in(&model.catalog, when));
    }
    if trigger.retries_refusals {
        text.push_str(", else retry");
    }
    text
}

fn line(out: &mut String, depth: usize, text: &str) {
    let _ = writeln!(out, "{}{text}", "  ".repeat(depth));
}

fn clause_text(clause: &Clause) -> String {
    let text = show_expression(&clause.expr);
    match &clause.place {
        Place::Request => format!("{text}  [before any I/O]"),
        Place::Pushed(Some(row)) => format!("{text}  [condition of {row}]"),
        Place::Pushed(None) => format!("{text}  [condition]"),
        Place::Pinned => format!("{text}  [read, then pinned]"),
    }
}

fn steps(model: &Model, out: &mut String, steps_of: &[Step], plans: &[StepPlan], depth: usize) {
    for (step, plan) in steps_of.iter().zip(plans) {
        let mut depth = depth;
        if let Some((name, _)) = &step.repeat {
            line(out, depth, &format!("for each {name}"));
            depth += 1;
        }
        if let Some(when) = &step.when {
            line(out, depth, &format!("when     {}", expression_in(&model.catalog, when)));
            depth += 1;
        }
        match &step.kind {
            StepKind::Group(inner) => steps(model, out, inner, &plan.inner, depth),
            StepKind::Call { step: name, .. } => {
                let named = model.steps.iter().find(|named| named.name == *name);
                steps(
                    model,
                    out,
                    named.map_or(&[][..], |named| &named.steps),
                    &plan.inner,
                    depth,
                );
            }
            _ => one(model, out, step, plan, depth),
        }
    }
}

fn one(model: &Model, out: &mut String, step: &Step, plan: &StepPlan, depth: usize) {
    let Some(entity) = step.entity().and_then(|id| model.entity(id)) else {
        return;
    };
    let (verb, target) = match &step.kind {
        StepKind::Create(_) => ("put", entity.name.clone()),
        StepKind::Update(target) => ("update", expression_in(&model.catalog, target)),
        StepKind::Delete(target) => ("delete", expression_in(&model.catalog, target)),
        StepKind::Upsert(target) => ("upsert", expression_in(&model.catalog, target)),
        StepKind::Present(target) | StepKind::Absent(target) => ("check", expression_in(&model.catalog, target)),
        StepKind::Call { .. } | StepKind::Group(_) => return,
    };
    let mut text = format!("{verb:<8} {target}");
    if let Some(MoveTo::Named(name, _)) = &step.moves {
        let _ = write!(text, " move {name}");
    }
    let changed: Vec<&str> = step
        .set
        .iter()
        .chain(&step.add)
        .chain(&step.remove)
        .chain(&step.append)
        .map(|assignment| assignment.attribute.as_str())
        .chain(
            step.take
                .iter()
                .chain(&step.patch)
                .map(|taken| taken.attribute.as_str()),
        )
        .collect();
    if !changed.is_empty() {
        let _ = write!(text, " ({})", changed.join(", "));
    }
    line(out, depth, &text);
    if let Some(why) = plan.own.read.first() {
        line(out, depth + 1, &format!("read first: {why}"));
    } else if let Some(why) = &plan.own.needed {
        let when = if step.patch.is_empty() {
            ""
        } else {
            ", where that is sent"
        };
        line(out, depth + 1, &format!("read first{when}: {why}"));
    }
    for mirror in model.mirrors_of(entity.id) {
        line(out, depth + 1, &format!("with its mirror {}", mirror.name));
    }
    for guard in &entity.unique {
        line(out, depth + 1, &format!("with the guard of {}", guard.name));
    }
    if entity.excludes.is_some() && matches!(step.kind, StepKind::Create(_) | StepKind::Upsert(_)) {
        line(out, depth + 1, "with checks of the rows that it excludes");
    }
}
