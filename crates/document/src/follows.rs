//! Which writes run after which and by the clock, and who is told of what they do: a drawing, and the same as Mermaid.

use std::fmt::Write as _;

use singlet_model::Model;
use singlet_model::model::{Trigger, Write};
use singlet_plan::write::{following_webhooks, following_writes, trigger_text};

use crate::drawing::{ArrowEnd, BoxForm, DrawnArrow, DrawnBox, Graph};
use crate::escape::{escape_mermaid, escape_prose, inline_code};
use crate::table::MarkdownTable;
use crate::text;

/// A write, what follows it by name, and the change between them.
struct FollowedWrite<'m> {
    write: &'m Write,
    next: &'m str,
    trigger: &'m Trigger,
}

fn all(model: &Model) -> Vec<FollowedWrite<'_>> {
    let mut found = Vec::new();
    for write in &model.writes {
        let writes = following_writes(model, write).into_iter();
        let writes = writes.map(|(next, trigger)| (next.name.as_str(), trigger));
        let told = following_webhooks(model, write).into_iter();
        let told = told.map(|webhook| (webhook.name.as_str(), &webhook.after));
        let next = writes.chain(told);
        found.extend(next.map(|(next, trigger)| FollowedWrite { write, next, trigger }));
    }
    found
}

/// What has a part in it.
struct FlowParticipant<'m> {
    name: &'m str,
    is_webhook: bool,
    runs_by_itself: bool,
}

/// The writes that have a part in it, in the order of the model, and all webhooks.
fn parts<'m>(model: &'m Model, follows: &[FollowedWrite<'m>]) -> Vec<FlowParticipant<'m>> {
    let has_part = |write: &&Write| {
        let is = |name: &str| name == write.name;
        write.runs_by_itself() || follows.iter().any(|one| is(&one.write.name) || is(one.next))
    };
    let writes = model.writes.iter().filter(has_part).map(|write| FlowParticipant {
        name: &write.name,
        is_webhook: false,
        runs_by_itself: write.runs_by_itself(),
    });
    let webhooks = model.webhooks.iter().map(|webhook| FlowParticipant {
        name: &webhook.name,
        is_webhook: true,
        runs_by_itself: true,
    });
    writes.chain(webhooks).collect()
}

/// The drawing.
pub(crate) fn follower_graph(model: &Model) -> Graph {
    let follows = all(model);
    let parts = parts(model, &follows);
    let number = |name: &str| parts.iter().position(|known| known.name == name);
    let nodes = parts.iter().map(|part| DrawnBox {
        title: part.name.to_owned(),
        lines: part.is_webhook.then(|| "webhook".to_owned()).into_iter().collect(),
        form: if part.runs_by_itself {
            BoxForm::Round
        } else {
            BoxForm::Box
        },
    });
    let edges = follows.iter().filter_map(|one| {
        Some(DrawnArrow {
            from: number(&one.write.name)?,
            to: number(one.next)?,
            label: vec![one.trigger.shown(model.catalog.name(one.trigger.entity))],
            dashed: false,
            tail: ArrowEnd::Plain,
            head: ArrowEnd::Arrow,
        })
    });
    Graph {
        title: "What runs by itself".to_owned(),
        nodes: nodes.collect(),
        edges: edges.collect(),
    }
}

/// What writes run after which, as Mermaid.
pub(crate) fn follower_diagram(model: &Model) -> String {
    let follows = all(model);
    let parts = parts(model, &follows);
    let mut out = String::from("flowchart TD\n");
    for (number, part) in parts.iter().enumerate() {
        let name = escape_mermaid(part.name);
        let _ = match (part.is_webhook, part.runs_by_itself) {
            (true, _) => writeln!(out, "  w{number}>\"{name}\"]"),
            (false, true) => writeln!(out, "  w{number}([\"{name}\"])"),
            (false, false) => writeln!(out, "  w{number}[\"{name}\"]"),
        };
    }
    let number = |name: &str| parts.iter().position(|known| known.name == name);
    for one in &follows {
        if let (Some(from), Some(to)) = (number(&one.write.name), number(one.next)) {
            let label = escape_mermaid(&one.trigger.shown(model.catalog.name(one.trigger.entity)));
            let _ = writeln!(out, "  w{from} -->|\"{label}\"| w{to}");
        }
    }
    out
}

/// The writes after which something comes.
fn makers(model: &Model, name: &str) -> String {
    let follows = all(model).into_iter().filter(|one| one.next == name);
    let makers: Vec<String> = follows.map(|one| inline_code(&one.write.name)).collect();
    makers.join(", ")
}

/// Each write that runs by itself; nothing where there is none.
pub(crate) fn follower_table(model: &Model) -> String {
    let mut table = MarkdownTable::new(["Write", "Runs after", "Which these make"]);
    for (write, trigger) in model.triggered_writes() {
        table.row(vec![
            inline_code(&write.name),
            inline_code(&trigger_text(model, trigger)),
            makers(model, &write.name),
        ]);
    }
    for (write, schedule) in model.scheduled_writes() {
        let clock = format!("every {schedule}, by the clock of {}", model.zone);
        table.row(vec![inline_code(&write.name), escape_prose(&clock), String::new()]);
    }
    table.text()
}

/// Each webhook; nothing where there is none.
pub(crate) fn webhook_table(model: &Model) -> String {
    let mut table = MarkdownTable::new(["Webhook", "Told after", "Which these make", "To", "What is told"]);
    for webhook in &model.webhooks {
        let sent: Vec<String> = webhook
            .sent_values()
            .iter()
            .map(|(name, _)| inline_code(name))
            .collect();
        table.row(vec![
            inline_code(&webhook.name),
            inline_code(&trigger_text(model, &webhook.after)),
            makers(model, &webhook.name),
            inline_code(&text::expression_text(model, &webhook.to)),
            sent.join(", "),
        ]);
    }
    table.text()
}
