//! The states of entities: a drawing, the same as Mermaid, and which operation makes which move.

use std::fmt::Write as _;

use singlet_model::Model;
use singlet_model::model::{Entity, MoveTo, States};
use singlet_model::types::Type;

use crate::drawing::{ArrowEnd, BoxForm, DrawnArrow, DrawnBox, Graph};
use crate::escape::{escape_markdown, escape_mermaid, inline_code};
use crate::steps;
use crate::table::{MarkdownTable, cell_lines};
use crate::text;

/// The states that an entity's attribute can have, in the order of their type.
pub fn state_members<'a>(entity: &'a Entity, states: &'a States) -> Vec<&'a str> {
    let known = entity
        .attribute(&states.of)
        .and_then(|attribute| attribute.ty.enum_members());
    match known {
        Some(known) => known.iter().map(String::as_str).collect(),
        None => named(states),
    }
}

/// Where the type lists no states, those that the moves name.
fn named(states: &States) -> Vec<&str> {
    let mut all = vec![states.start.as_str()];
    let moves = states
        .moves
        .iter()
        .flat_map(|known| known.from.iter().chain([&known.to]));
    let lapses = states.lapses.iter().flat_map(|lapse| [&lapse.from, &lapse.to]);
    for name in moves.chain(lapses) {
        if !all.contains(&name.as_str()) {
            all.push(name);
        }
    }
    all
}

/// The drawing of an entity's states.
pub(crate) fn state_graph(model: &Model, entity: &Entity, states: &States) -> Graph {
    let members = state_members(entity, states);
    let leaves = |name: &str| {
        let moved = states
            .moves
            .iter()
            .any(|known| known.from.iter().any(|from| from == name));
        moved || states.lapses.iter().any(|lapse| lapse.from == name)
    };
    let mut nodes = vec![DrawnBox {
        title: String::new(),
        lines: Vec::new(),
        form: BoxForm::Dot,
    }];
    nodes.extend(members.iter().map(|name| DrawnBox {
        title: (*name).to_owned(),
        lines: Vec::new(),
        form: if leaves(name) { BoxForm::Round } else { BoxForm::Last },
    }));
    let number = |name: &str| members.iter().position(|known| *known == name).map(|at| at + 1);
    let edge = |from: usize, to: usize, label: Option<String>, dashed: bool| DrawnArrow {
        from,
        to,
        label: label.into_iter().collect(),
        dashed,
        tail: ArrowEnd::Plain,
        head: ArrowEnd::Arrow,
    };
    let mut edges: Vec<DrawnArrow> = number(&states.start)
        .map(|to| edge(0, to, None, false))
        .into_iter()
        .collect();
    for known in &states.moves {
        for from in &known.from {
            if let (Some(from), Some(to)) = (number(from), number(&known.to)) {
                edges.push(edge(from, to, Some(known.name.clone()), false));
            }
        }
    }
    for lapse in &states.lapses {
        if let (Some(from), Some(to)) = (number(&lapse.from), number(&lapse.to)) {
            let label = format!("at {}", text::expression_text(model, &lapse.at));
            edges.push(edge(from, to, Some(label), true));
        }
    }
    Graph {
        title: format!("States of {}", entity.name),
        nodes,
        edges,
    }
}

/// An entity's states and moves, as Mermaid.
pub(crate) fn state_diagram(model: &Model, entity: &Entity, states: &States) -> String {
    let members = state_members(entity, states);
    let mut out = String::from("stateDiagram-v2\n");
    for (number, name) in members.iter().enumerate() {
        let _ = writeln!(out, "  state \"{}\" as s{number}", escape_mermaid(name));
    }
    let id = |name: &str| {
        let number = members.iter().position(|known| *known == name);
        number.map_or_else(|| "[*]".to_owned(), |number| format!("s{number}"))
    };
    let _ = writeln!(out, "  [*] --> {}", id(&states.start));
    for known in &states.moves {
        for from in &known.from {
            let _ = writeln!(
                out,
                "  {} --> {} : {}",
                id(from),
                id(&known.to),
                escape_mermaid(&known.name)
            );
        }
    }
    for lapse in &states.lapses {
        let at = escape_mermaid(&text::expression_text(model, &lapse.at));
        let _ = writeln!(out, "  {} --> {} : at {at}", id(&lapse.from), id(&lapse.to));
    }
    out
}

/// What the moves are, who makes them, and what holds in each state.
pub(crate) fn state_tables(model: &Model, entity: &Entity, states: &States) -> String {
    let mut moves = MarkdownTable::new(["Move", "From", "To", "Made by"]);
    for known in &states.moves {
        moves.row(vec![
            inline_code(&known.name),
            escape_markdown(&known.from.join(", ")),
            escape_markdown(&known.to),
            makers(model, entity, &known.name, &known.to),
        ]);
    }
    for lapse in &states.lapses {
        moves.row(vec![
            "time".to_owned(),
            escape_markdown(&lapse.from),
            escape_markdown(&lapse.to),
            format!(
                "the clock, at {}",
                inline_code(&text::expression_text(model, &lapse.at))
            ),
        ]);
    }
    let mut held = MarkdownTable::new(["While", "Holds"]);
    for (names, values) in &states.holding {
        let values = values
            .iter()
            .map(|(name, value)| inline_code(&format!("{name} = {}", text::expression_text(model, value))));
        held.row(vec![escape_markdown(&names.join(", ")), cell_lines(values)]);
    }
    moves.text() + &held.text()
}

/// The writes that make a move.
fn makers(model: &Model, entity: &Entity, name: &str, to: &str) -> String {
    let mut makers: Vec<String> = Vec::new();
    for write in &model.writes {
        let moves = steps::all_steps(model, write).iter().any(|step| {
            step.entity() == Some(entity.id)
                && match &step.moves {
                    Some(MoveTo::Named(known, _)) => known == name,
                    Some(MoveTo::To(goal)) => may_be(goal, to),
                    None => false,
                }
        });
        makers.extend(moves.then(|| inline_code(&write.name)));
    }
    makers.join(", ")
}

/// Whether a goal may turn out to be a state.
fn may_be(goal: &singlet_model::expression::Expr, state: &str) -> bool {
    match (goal.as_literal(), &goal.ty) {
        (Some(singlet_model::expression::Literal::Text(word)), _) => word == state,
        (None, Type::Enum(words)) => words.members.iter().any(|word| word == state),
        _ => true,
    }
}
