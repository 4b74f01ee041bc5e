//! Where the changes of rows go: a drawing, and the same as Mermaid and as a table.

use std::fmt::Write as _;

use singlet_model::Model;
use singlet_model::model::{Entity, Kept, Personal};

use crate::drawing::{ArrowEnd, BoxForm, DrawnArrow, DrawnBox, Graph};
use crate::escape::{escape_mermaid, escape_prose, inline_code};
use crate::table::MarkdownTable;

/// One way that changes of an entity's rows go.
struct ChangeFlow<'m> {
    /// The entity.
    from: &'m str,
    /// Where they go.
    to: String,
    /// What of a row goes there, in words.
    what: String,
    /// Whether it is there only where somebody runs it.
    is_outside: bool,
}

const WORDS: &str = "index of words";
const LAKE: &str = "lake";
const BOTH_IMAGES: &str = "both_images";

/// All of them; none where the table has no stream.
fn flows(model: &Model) -> Vec<ChangeFlow<'_>> {
    if model.table.stream.is_none() {
        return Vec::new();
    }
    let mut all = Vec::new();
    for entity in model.entities.iter().filter(|entity| entity.mirror.is_none()) {
        let from = entity.name.as_str();
        let within = |to: String, what: String| ChangeFlow {
            from,
            to,
            what,
            is_outside: false,
        };
        let searches = model.searches.iter().filter(|search| search.entity == entity.id);
        all.extend(searches.map(|search| within(WORDS.to_owned(), search.attributes.join(", "))));
        let tallies = model.tallies.iter().filter(|tally| tally.entity == entity.id);
        all.extend(tallies.map(|tally| {
            let groups = tally.by.iter().map(|group| group.text.as_str());
            let sums = tally.sums.iter().map(|(name, _)| name.as_str());
            let shown: Vec<&str> = groups.chain(sums).collect();
            within(format!("tally {}", tally.name), shown.join(", "))
        }));
        all.extend(
            copies_of(model, entity)
                .map(|(holder, attribute, source)| within(format!("copy {holder}.{attribute}"), source.to_owned())),
        );
        let triggers = model
            .triggered_writes()
            .filter(|(_, trigger)| trigger.entity == entity.id);
        all.extend(triggers.map(|(write, trigger)| within(format!("write {}", write.name), trigger.shown(from))));
        let webhooks = model
            .webhooks
            .iter()
            .filter(|webhook| webhook.after.entity == entity.id);
        all.extend(webhooks.map(|webhook| ChangeFlow {
            is_outside: true,
            ..within(format!("webhook {}", webhook.name), webhook.after.shown(from))
        }));
        // A lake is made of both images; what Singlet keeps for itself is nobody's row.
        if entity.role.is_none() && model.table.stream.as_deref() == Some(BOTH_IMAGES) {
            all.push(ChangeFlow {
                is_outside: true,
                ..within(LAKE.to_owned(), in_lake(entity))
            });
        }
    }
    all
}

/// The copies of an entity's attributes that follow its changes: the holder, its attribute, the one that is copied.
fn copies_of<'m>(model: &'m Model, source: &'m Entity) -> impl Iterator<Item = (&'m str, &'m str, &'m str)> {
    model.entities.iter().flat_map(move |holder| {
        holder.attributes.iter().filter_map(move |attribute| {
            let copy = attribute.copy.as_ref()?;
            let is_kept = copy.kept == Kept::Stream && copy.entity == source.id;
            is_kept.then_some((holder.name.as_str(), attribute.name.as_str(), copy.attribute.as_str()))
        })
    })
}

/// What a lake has of an entity's rows.
fn in_lake(entity: &Entity) -> String {
    let named = |wanted: Personal| -> Vec<&str> {
        let of_that = entity.attributes.iter().filter(|own| own.personal == Some(wanted));
        of_that.map(|own| own.name.as_str()).collect()
    };
    let mut what = "every change".to_owned();
    for (personal, word) in [
        (Personal::Omitted, "without"),
        (Personal::Hashed, "hashed:"),
        (Personal::Readable, "readable until the row is gone:"),
    ] {
        let names = named(personal);
        if !names.is_empty() {
            let _ = write!(what, "; {word} {}", names.join(", "));
        }
    }
    what
}

/// The places, each once.
fn places<'f>(flows: &'f [ChangeFlow<'_>]) -> Vec<&'f str> {
    let mut all: Vec<&str> = Vec::new();
    for name in flows
        .iter()
        .map(|flow| flow.from)
        .chain(flows.iter().map(|flow| flow.to.as_str()))
    {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

/// The drawing. What depends on who runs it is dashed.
pub(crate) fn flow_graph(model: &Model) -> Graph {
    let flows = flows(model);
    let places = places(&flows);
    let is_entity = |name: &str| flows.iter().any(|flow| flow.from == name);
    let number = |name: &str| places.iter().position(|known| *known == name);
    Graph {
        title: "Where data goes".to_owned(),
        nodes: places
            .iter()
            .map(|name| DrawnBox {
                title: (*name).to_owned(),
                lines: Vec::new(),
                form: if is_entity(name) { BoxForm::Box } else { BoxForm::Round },
            })
            .collect(),
        edges: flows
            .iter()
            .filter_map(|flow| {
                Some(DrawnArrow {
                    from: number(flow.from)?,
                    to: number(&flow.to)?,
                    label: Vec::new(),
                    dashed: flow.is_outside,
                    tail: ArrowEnd::Plain,
                    head: ArrowEnd::Arrow,
                })
            })
            .collect(),
    }
}

/// Where changes go, as Mermaid.
pub(crate) fn flow_diagram(model: &Model) -> String {
    let flows = flows(model);
    let places = places(&flows);
    let mut out = String::from("flowchart LR\n");
    for (number, name) in places.iter().enumerate() {
        let title = escape_mermaid(name);
        let _ = match flows.iter().any(|flow| flow.from == *name) {
            true => writeln!(out, "  p{number}[\"{title}\"]"),
            false => writeln!(out, "  p{number}([\"{title}\"])"),
        };
    }
    let number = |name: &str| places.iter().position(|known| *known == name);
    for flow in &flows {
        if let (Some(from), Some(to)) = (number(flow.from), number(&flow.to)) {
            let arrow = if flow.is_outside { "-.->" } else { "-->" };
            let _ = writeln!(out, "  p{from} {arrow} p{to}");
        }
    }
    out
}

/// Where changes go, as a table; nothing where no change goes anywhere.
pub(crate) fn flow_table(model: &Model) -> String {
    let mut table = MarkdownTable::new(["Rows of", "Go to", "What of them"]);
    for flow in flows(model) {
        table.row(vec![
            inline_code(flow.from),
            escape_prose(&flow.to),
            escape_prose(&flow.what),
        ]);
    }
    table.text()
}
