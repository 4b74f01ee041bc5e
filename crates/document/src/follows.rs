//! Which writes run after which, and by the clock: a drawing, and the same as Mermaid.

use std::fmt::Write as _;

use singlet_model::Model;
use singlet_model::model::{Trigger, Write};
use singlet_plan::write::{following_writes, trigger_text};

use crate::drawing::{Edge, End, Form, Graph, Node};
use crate::escape::{code, mermaid, prose};
use crate::table::Table;

/// A write, one that runs after it, and the change between them.
type Follows<'m> = (&'m Write, &'m Write, &'m Trigger);

fn all(model: &Model) -> Vec<Follows<'_>> {
    let follow = |write| {
        let next = following_writes(model, write).into_iter();
        next.map(move |(next, trigger)| (write, next, trigger))
    };
    model.writes.iter().flat_map(follow).collect()
}

/// The writes that have a part in it, in the order of the model.
fn writes<'m>(model: &'m Model, follows: &[Follows<'m>]) -> Vec<&'m Write> {
    let has_part = |write: &&Write| {
        let is = |other: &Write| other.name == write.name;
        write.runs_by_itself() || follows.iter().any(|(from, to, _)| is(from) || is(to))
    };
    model.writes.iter().filter(has_part).collect()
}

/// The drawing.
pub fn graph(model: &Model) -> Graph {
    let follows = all(model);
    let writes = writes(model, &follows);
    let number = |write: &Write| writes.iter().position(|known| known.name == write.name);
    let nodes = writes.iter().map(|write| Node {
        title: write.name.clone(),
        lines: Vec::new(),
        form: if write.runs_by_itself() { Form::Round } else { Form::Box },
    });
    let edges = follows.iter().filter_map(|(from, to, trigger)| {
        Some(Edge {
            from: number(from)?,
            to: number(to)?,
            label: vec![trigger.shown(model.catalog.name(trigger.entity))],
            dashed: false,
            tail: End::Plain,
            head: End::Arrow,
        })
    });
    Graph {
        title: "What runs by itself".to_owned(),
        nodes: nodes.collect(),
        edges: edges.collect(),
    }
}

/// The same as Mermaid.
pub fn diagram(model: &Model) -> String {
    let follows = all(model);
    let writes = writes(model, &follows);
    let mut out = String::from("flowchart TD\n");
    for (number, write) in writes.iter().enumerate() {
        let name = mermaid(&write.name);
        let _ = match write.runs_by_itself() {
            true => writeln!(out, "  w{number}([\"{name}\"])"),
            false => writeln!(out, "  w{number}[\"{name}\"]"),
        };
    }
    let number = |write: &Write| writes.iter().position(|known| known.name == write.name);
    for (from, to, trigger) in &follows {
        if let (Some(from), Some(to)) = (number(from), number(to)) {
            let label = mermaid(&trigger.shown(model.catalog.name(trigger.entity)));
            let _ = writeln!(out, "  w{from} -->|\"{label}\"| w{to}");
        }
    }
    out
}

/// Each write that runs by itself; nothing where there is none.
pub fn table(model: &Model) -> String {
    let mut table = Table::new(["Write", "Runs after", "Which these make"]);
    for (write, trigger) in model.triggers() {
        let follows = all(model).into_iter().filter(|(_, next, _)| next.name == write.name);
        let makers: Vec<String> = follows.map(|(from, ..)| code(&from.name)).collect();
        table.row(vec![
            code(&write.name),
            code(&trigger_text(model, trigger)),
            makers.join(", "),
        ]);
    }
    for (write, schedule) in model.scheduled() {
        let clock = format!("every {schedule}, by the clock of {}", model.zone);
        table.row(vec![code(&write.name), prose(&clock), String::new()]);
    }
    table.text()
}
