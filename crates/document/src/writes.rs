//! The operations: what each does, what can refuse it, and what it costs.

use std::fmt::Write as _;

use singlet_model::Model;
use singlet_model::model::{Assignment, IdempotencyNeed, LetValue, MoveTo, Step, StepKind, Write};
use singlet_plan::read::describe;
use singlet_plan::write::{
    Clause, MonthCost, Place, RowPlan, StepPlan, WriteCost, WritePlan, plan_write, possible_refusals,
    requirement_status, transaction_actions, trigger_text, write_costs,
};

use crate::escape::{escape_markdown, escape_prose, inline_code};
use crate::reads::{allow_text, route_text};
use crate::table::MarkdownTable;
use crate::text;

/// A line for each operation.
pub(crate) fn write_table(model: &Model) -> String {
    let mut table = MarkdownTable::new(["Write", "Route", "Who may", "Actions", "Write units", "Of which"]);
    for (write, cost) in model.writes.iter().zip(write_costs(model)) {
        let actions = match write.bulk {
            true => "in chunks".to_owned(),
            false => format!("{} at most", transaction_actions(model, write)),
        };
        table.row(vec![
            format!("**{}**", escape_markdown(&write.name)),
            write
                .http
                .as_ref()
                .map(|http| inline_code(&route_text(http)))
                .unwrap_or_default(),
            match write.is_uncalled() {
                true => "nobody: it runs by itself".to_owned(),
                false => allow_text(model, &write.allow),
            },
            actions,
            units(&cost),
            escape_prose(&cost.terms.join(", ")),
        ]);
    }
    table.text()
}

fn units(cost: &WriteCost) -> String {
    match cost.most {
        Some(most) if most == cost.least => most.to_string(),
        Some(most) => format!("{} to {most}", cost.least),
        None => format!("{} or more", cost.least),
    }
}

/// One operation in full.
pub(crate) fn write_section(model: &Model, write: &Write) -> String {
    let plan = plan_write(model, write);
    let mut out = format!("### {}\n\n", escape_markdown(&write.name));
    if let Some(http) = &write.http {
        let _ = writeln!(out, "{}\n", inline_code(&route_text(http)));
    }
    if let Some(trigger) = &write.after {
        let _ = writeln!(out, "Runs after {}.\n", inline_code(&trigger_text(model, trigger)));
    }
    if let Some(schedule) = &write.every {
        let mut costs = model.writes.iter().zip(write_costs(model));
        let cost = costs.find(|(known, _)| known.name == write.name);
        let month = cost.and_then(|(_, cost)| MonthCost::of(write, &cost));
        let month = month.map_or_else(String::new, |month| format!(": {month}"));
        let _ = writeln!(out, "Runs every {}{month}.\n", inline_code(&schedule.to_string()));
    }
    out.push_str(&read_first(model, &plan));
    out.push_str(&conditions(model, write, &plan));
    let _ = write!(
        out,
        "Steps, {}:

",
        together(write)
    );
    steps(model, &write.steps, &plan.steps, 0, &mut out);
    out.push('\n');
    out.push_str(&refusals(model, write));
    out
}

fn together(write: &Write) -> &'static str {
    match write.bulk {
        true => "one transaction after the other, resumable",
        false => "all or none of them",
    }
}

/// The rows that are read before anything is written.
fn read_first(model: &Model, plan: &WritePlan) -> String {
    let mut out = String::new();
    for (name, row) in plan.rows.iter().filter(|(_, row)| row.is_read()) {
        let _ = write!(
            out,
            "- {} is read first: {}",
            inline_code(name),
            escape_prose(why_read(row))
        );
        if let Some(found) = &row.found {
            let queries: Vec<String> = found
                .queries
                .iter()
                .map(|query| inline_code(&describe(model, query)))
                .collect();
            let _ = write!(out, " ({})", queries.join(", "));
        }
        out.push('\n');
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// The reason that says most: which clauses the store cannot decide stands in their table.
fn why_read(row: &RowPlan) -> &str {
    let of_clause = |why: &&String| why.starts_with("the store cannot decide");
    let telling = row.read.iter().find(|why| !of_clause(why));
    telling.or(row.read.first()).map_or("", String::as_str)
}

/// What must hold, where it is decided, and what is said when it does not.
fn conditions(model: &Model, write: &Write, plan: &WritePlan) -> String {
    let mut table = MarkdownTable::new(["Must hold", "Decided", "Else"]);
    for clause in plan.allow.iter().filter(|_| !write.is_uncalled()) {
        let refused = match clause.place {
            Place::Request => "401 or 403",
            _ => "404, as if it were not there",
        };
        table.row(vec![
            clause_text(model, clause),
            place(&clause.place),
            refused.to_owned(),
        ]);
    }
    for (requirement, clauses) in write.requirements.iter().zip(&plan.requirements) {
        let refusal = refusal(model, requirement_status(requirement), &requirement.refusal);
        for clause in clauses {
            table.row(vec![clause_text(model, clause), place(&clause.place), refusal.clone()]);
        }
    }
    table.text()
}

fn refusal(model: &Model, status: u16, refusal: &singlet_model::model::Refusal) -> String {
    let shown: Vec<String> = refusal
        .shown
        .iter()
        .map(|(name, value)| {
            format!(
                "{} = {}",
                escape_markdown(name),
                inline_code(&text::expression_text(model, value))
            )
        })
        .collect();
    let shows = if shown.is_empty() {
        String::new()
    } else {
        format!(", shows {}", shown.join(", "))
    };
    format!("{status} {}{shows}", inline_code(&refusal.name))
}

fn clause_text(model: &Model, clause: &Clause) -> String {
    inline_code(&text::expression_text(model, &clause.expr))
}

fn place(place: &Place) -> String {
    match place {
        Place::Request => "before any I/O".to_owned(),
        Place::Pushed(Some(row)) => format!("in the condition of {}", inline_code(row)),
        Place::Pushed(None) => "in the step's condition".to_owned(),
        Place::Pinned => "in the process; what it read is pinned".to_owned(),
    }
}

fn steps(model: &Model, steps_of: &[Step], plans: &[StepPlan], depth: usize, out: &mut String) {
    for (step, plan) in steps_of.iter().zip(plans) {
        let indent = "   ".repeat(depth);
        match &step.kind {
            StepKind::Group(inner) => {
                let _ = writeln!(out, "{indent}1. {}:", around(model, step, plan));
                steps(model, inner, &plan.inner, depth + 1, out);
            }
            StepKind::Call { step: name, args } => {
                let args: Vec<String> = args
                    .iter()
                    .map(|(name, value)| format!("{name}: {}", text::expression_text(model, value)))
                    .collect();
                let call = format!("{name}({})", args.join(", "));
                let _ = writeln!(out, "{indent}1. {}{}:", prefix(model, step, plan), inline_code(&call));
                let named = model.steps.iter().find(|named| named.name == *name);
                steps(
                    model,
                    named.map_or(&[][..], |named| &named.steps),
                    &plan.inner,
                    depth + 1,
                    out,
                );
            }
            _ => {
                let _ = writeln!(
                    out,
                    "{indent}1. {}{}",
                    prefix(model, step, plan),
                    one(model, step, plan)
                );
            }
        }
    }
}

/// `for each … when …` as the head of a group.
fn around(model: &Model, step: &Step, plan: &StepPlan) -> String {
    let text = prefix(model, step, plan);
    match text.trim_end().trim_end_matches(',') {
        "" => "together".to_owned(),
        text => text.to_owned(),
    }
}

fn prefix(model: &Model, step: &Step, plan: &StepPlan) -> String {
    let mut text = String::new();
    if let Some((name, list)) = &step.repeat {
        let of = match list {
            LetValue::Value(list) => inline_code(&text::expression_text(model, list)),
            LetValue::Read(selection) => {
                let found = plan.rows.iter().flat_map(|rows| &rows.queries);
                let queries: Vec<String> = found.map(|query| inline_code(&describe(model, query))).collect();
                let entity = selection.entity().map_or("", |id| model.catalog.name(id));
                format!("{} ({})", inline_code(entity), queries.join(", "))
            }
        };
        let _ = write!(text, "for each {} of {of}, ", inline_code(name));
    }
    if let Some(when) = &step.when {
        let _ = write!(text, "when {}, ", inline_code(&text::expression_text(model, when)));
    }
    text
}

/// A step in a line.
fn one(model: &Model, step: &Step, plan: &StepPlan) -> String {
    let (verb, target) = match &step.kind {
        StepKind::Create(entity) => ("create", model.catalog.name(*entity).to_owned()),
        StepKind::Update(target) => ("update", text::expression_text(model, target)),
        StepKind::Delete(target) => ("delete", text::expression_text(model, target)),
        StepKind::Upsert(target) => ("create or update", text::expression_text(model, target)),
        StepKind::Present(target) => ("insist on", text::expression_text(model, target)),
        StepKind::Absent(target) => ("insist that there is no", text::expression_text(model, target)),
        StepKind::Call { .. } | StepKind::Group(_) => return String::new(),
    };
    let mut parts = vec![format!("{verb} {}", inline_code(&target))];
    match &step.moves {
        Some(MoveTo::Named(name, _)) => parts.push(format!("move {}", inline_code(name))),
        Some(MoveTo::To(goal)) => parts.push(format!("move to {}", inline_code(&text::expression_text(model, goal)))),
        None => {}
    }
    let taken = |taken: &[singlet_model::model::Taken]| {
        let names: Vec<String> = taken.iter().map(|taken| inline_code(&taken.attribute)).collect();
        names.join(", ")
    };
    if !step.take.is_empty() {
        parts.push(format!("{} from the request", taken(&step.take)));
    }
    if !step.patch.is_empty() {
        parts.push(format!("any of {} from the request", taken(&step.patch)));
    }
    let all = [
        ("=", &step.set),
        ("+=", &step.add),
        ("-=", &step.remove),
        ("append", &step.append),
    ];
    for (sign, assignments) in all {
        parts.extend(assignments.iter().map(|assignment| assigned(model, assignment, sign)));
    }
    let mut text = parts.join("; ");
    if let Some(why) = plan.own.read.first() {
        let _ = write!(text, " (read first: {})", escape_prose(why));
    }
    for (requirement, clauses) in step.requirements.iter().zip(&plan.requirements) {
        for clause in clauses {
            let must = clause_text(model, clause);
            let else_ = refusal(model, requirement_status(requirement), &requirement.refusal);
            let _ = write!(text, "; requires {must} {}, else {else_}", place(&clause.place));
        }
    }
    text
}

fn assigned(model: &Model, assignment: &Assignment, sign: &str) -> String {
    let entry = assignment
        .entry
        .as_ref()
        .map(|entry| format!("[{}]", text::expression_text(model, entry)));
    let target = format!("{}{}", assignment.attribute, entry.unwrap_or_default());
    inline_code(&format!(
        "{target} {sign} {}",
        text::expression_text(model, &assignment.value)
    ))
}

/// Everything that may refuse it, by name.
fn refusals(model: &Model, write: &Write) -> String {
    let names: Vec<String> = possible_refusals(model, write)
        .iter()
        .map(|(status, name)| format!("{status} {}", inline_code(name)))
        .collect();
    let mut out = String::new();
    if !names.is_empty() {
        let _ = writeln!(out, "May be refused as {}.\n", names.join(", "));
    }
    if write.idempotency.need == IdempotencyNeed::Required {
        out.push_str("Needs an idempotency key.\n\n");
    }
    out
}
