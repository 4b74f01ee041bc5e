use std::collections::HashMap;

use singlet_model::model::{Assignment, StepKind};

use crate::steps::{Placed, Rows, step_assignments, are_exclusive, placed_steps, step_taken, writes_row};
use crate::{Context, Findings, design_rule};

design_rule! {
    /// One operation changes the same row in two ways that do not go together.
    ///
    /// All steps happen at once, in one transaction, and a transaction takes each item once. Steps on one row that set different
    /// attributes become one update; a delete beside an update, or two values for one attribute, have no meaning.
    ///
    /// ```yaml
    /// do:
    ///   - update: Task(caller.id, args.id)
    ///     set: {status: archived}
    ///   - delete: Task(caller.id, args.id)
    /// ```
    ///
    /// Way out: keep one of the two, or give them conditions that exclude each other (`when: x == absent` and
    /// `when: x != absent`). What must happen in order is two writes, or `bulk: true`.
    "W018" "same-item-twice" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let placed = placed_steps(context.model);
    let mut rest = placed.as_slice();
    while let Some(first) = rest.first() {
        let same = |other: &&Placed<'_>| other.owner == first.owner && other.write.is_some() == first.write.is_some();
        let length = rest.iter().take_while(same).count();
        let (operation, after) = rest.split_at(length);
        // Each step of a bulk write is a transaction of its own.
        if !first.write.is_some_and(|write| write.bulk) {
            operation_twice(context, operation, findings);
        }
        rest = after;
    }
}

fn operation_twice<'a>(context: &Context<'a>, operation: &[Placed<'a>], findings: &mut Findings<'_>) {
    let write = operation.first().and_then(|placed| placed.write);
    let mut rows = Rows::new(context.model, write);
    let mut by_row: HashMap<String, Vec<&Placed<'_>>> = HashMap::new();
    for placed in operation {
        let Some(row) = rows.row(placed) else { continue };
        if !writes_row(placed.step) {
            continue;
        }
        let before = by_row.entry(row).or_default();
        let clash = before.iter().find_map(|other| Some((other.step, conflict(other, placed)?)));
        if let Some((other, how)) = clash {
            let entity = placed.step.entity().map_or("", |id| context.model.catalog.name(id));
            let message = format!("`{}` {how} of one `{entity}` row, and all steps happen at once", placed.owner);
            let help = "keep one of the two, or give them conditions that exclude each other";
            findings.push(
                findings
                    .at(placed.step.span, placed.owner, message)
                    .note(other.span, "the other step")
                    .help(help),
            );
        }
        before.push(placed);
    }
}

/// What two steps on one row do that cannot be done together.
fn conflict(one: &Placed<'_>, other: &Placed<'_>) -> Option<String> {
    if are_exclusive(&one.when, &other.when) {
        return None;
    }
    let word = |placed: &Placed<'_>| match placed.step.kind {
        StepKind::Create(_) => "create",
        StepKind::Delete(_) => "delete",
        StepKind::Upsert(_) => "upsert",
        _ => "update",
    };
    match (word(one), word(other)) {
        ("update", "update") => {
            let attribute = written_twice(one, other)?;
            Some(format!("has two values for `{attribute}`"))
        }
        (first, second) if first == second => Some(format!("has two {first}s")),
        (first, second) => Some(format!("has both the {first} and the {second}")),
    }
}

/// The attribute that two updates both write.
fn written_twice<'a>(one: &Placed<'a>, other: &Placed<'_>) -> Option<&'a str> {
    let moves = one.step.moves.is_some() && other.step.moves.is_some();
    if moves {
        return Some("the state");
    }
    let whole = |placed: &Placed<'a>| -> Vec<&'a str> {
        let assigned = step_assignments(placed.step).filter(|assignment| is_whole(assignment));
        assigned
            .map(|assignment| assignment.attribute.as_str())
            .chain(step_taken(placed.step).map(|taken| taken.attribute.as_str()))
            .collect()
    };
    let others: Vec<&str> = step_assignments(other.step)
        .filter(|assignment| is_whole(assignment))
        .map(|assignment| assignment.attribute.as_str())
        .chain(step_taken(other.step).map(|taken| taken.attribute.as_str()))
        .collect();
    whole(one).into_iter().find(|name| others.contains(name))
}

/// Two entries of one map may be different ones.
fn is_whole(assignment: &Assignment) -> bool {
    assignment.entry.is_none()
}
