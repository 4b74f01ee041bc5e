//! The design document of a model: the one that the team would have liked to write, as Markdown with drawings.
//!
//! Everything in it follows from the model and its plans, so it is never out of date. Text from a model is escaped for the
//! language that it lands in: [`escape`] has one function for each.
//!
//! No I/O: a document is text, and its drawings are texts with names.

mod cost;
mod data_flow;
mod drawing;
mod entities;
mod escape;
mod follows;
mod guarantees;
mod indexes;
mod reads;
mod relations;
mod states;
mod steps;
mod table;
mod text;
mod writes;

use std::fmt::Write as _;

use singlet_model::Model;
use singlet_model::types::Type;

use escape::{escape_markdown, inline_code};
use table::MarkdownTable;

/// A design document.
#[derive(Debug)]
pub struct Document {
    /// The text.
    pub markdown: String,
    /// The drawings that the text shows: path and SVG.
    pub drawings: Vec<(String, String)>,
}

/// Whether the text may point at drawings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Drawings {
    /// It stands alone: diagrams are Mermaid only.
    None,
    /// Drawings are files in a folder of that name beside it; Mermaid is folded away.
    In(String),
}

/// Writes the design document of a model without errors.
pub fn design_document(model: &Model, drawings: Drawings) -> Document {
    let mut writer = DocumentWriter {
        out: String::new(),
        folder: drawings,
        drawings: Vec::new(),
    };
    writer.opening(model);
    writer.section(
        "Entities",
        "What is stored, and under which keys.",
        &entities::key_chart(model),
    );
    for entity in &model.entities {
        let table = entities::attribute_table(model, entity);
        let _ = write!(writer.out, "### {}\n\n{table}", escape_markdown(&entity.name));
    }
    writer.heading("Relations");
    writer.diagram(
        "relations",
        &relations::relation_graph(model),
        &relations::relation_diagram(model),
    );
    writer.out.push_str(&relations::relation_table(model));
    writer.section("Indexes", "", &indexes::index_table(model));
    let patterns = "Each read is stated as what it means; the key condition follows from it.";
    writer.section("Access patterns", patterns, &reads::access_patterns(model));
    let operations = "Each write is one business operation and one transaction. Actions count the record of an idempotency key; \
                      write units do not where a key is optional, and are those of items up to 1 KB.";
    writer.section("Operations", operations, &writes::write_table(model));
    for write in &model.writes {
        writer.out.push_str(&writes::write_section(model, write));
    }
    writer.follows(model);
    writer.data_flow(model);
    writer.states(model);
    writer.section("Guarantees", "", &guarantees::guarantee_table(model));
    writer.cost(model);
    let accepted = "What `singlet check` finds and the team has decided to live with.";
    writer.section("Accepted findings", accepted, &guarantees::accepted_findings(model));
    let mut markdown = writer.out.trim_end().to_owned();
    markdown.push('\n');
    Document {
        markdown,
        drawings: writer.drawings,
    }
}

struct DocumentWriter {
    out: String,
    folder: Drawings,
    drawings: Vec<(String, String)>,
}

impl DocumentWriter {
    fn opening(&mut self, model: &Model) {
        let _ = write!(
            self.out,
            "# {}: design\n\nWritten by `singlet docs` from the model; change the model, not this file.\n\n{}",
            escape_markdown(&model.name),
            facts(model)
        );
    }

    fn heading(&mut self, title: &str) {
        let _ = write!(self.out, "## {title}\n\n");
    }

    /// A heading with a sentence and what follows it; nothing where nothing follows.
    fn section(&mut self, title: &str, sentence: &str, body: &str) {
        if body.is_empty() {
            return;
        }
        self.heading(title);
        if !sentence.is_empty() {
            let _ = write!(self.out, "{sentence}\n\n");
        }
        self.out.push_str(body);
    }

    fn follows(&mut self, model: &Model) {
        if !model.has_runs() {
            return;
        }
        let table = follows::follower_table(model);
        self.heading("What runs by itself");
        if !table.is_empty() {
            self.out
                .push_str("Each runs once for each change, in a transaction of its own, soon after it, or once for each tick of its clock.\n\n");
        }
        self.diagram(
            "changes",
            &follows::follower_graph(model),
            &follows::follower_diagram(model),
        );
        self.out.push_str(&table);
        let webhooks = follows::webhook_table(model);
        if !webhooks.is_empty() {
            self.out
                .push_str("Other systems are told by Standard Webhooks, at least once, in no order.\n\n");
            self.out.push_str(&webhooks);
        }
    }

    fn data_flow(&mut self, model: &Model) {
        let table = data_flow::flow_table(model);
        if table.is_empty() {
            return;
        }
        self.heading("Where data goes");
        self.out
            .push_str("Soon after each change, through the stream of the table. What is dashed is there where somebody deploys it.\n\n");
        self.diagram("data", &data_flow::flow_graph(model), &data_flow::flow_diagram(model));
        self.out.push_str(&table);
    }

    fn cost(&mut self, model: &Model) {
        let Some(report) = cost::model_cost(model) else { return };
        self.heading("What it costs");
        let _ = write!(self.out, "{}\n\n", cost::cost_sentence(&report));
        if let (Drawings::In(folder), Some(svg)) = (self.folder.clone(), cost::cost_drawing(&report)) {
            let path = self.free_path(&folder, "cost");
            let _ = write!(self.out, "![What a month costs]({path})\n\n");
            self.drawings.push((path, svg));
        }
        self.out.push_str(&cost::cost_tables(&report));
    }

    fn states(&mut self, model: &Model) {
        let with_states = model.entities.iter().filter(|entity| entity.mirror.is_none());
        let with_states: Vec<_> = with_states
            .filter_map(|entity| Some((entity, entity.states.as_ref()?)))
            .collect();
        if with_states.is_empty() {
            return;
        }
        self.heading("States");
        for (entity, states) in with_states {
            let _ = write!(self.out, "### States of {}\n\n", escape_markdown(&entity.name));
            let name = format!("states-{}", entity.name);
            self.diagram(
                &name,
                &states::state_graph(model, entity, states),
                &states::state_diagram(model, entity, states),
            );
            self.out.push_str(&states::state_tables(model, entity, states));
        }
    }

    /// A drawing, where files are possible, and the same as Mermaid.
    fn diagram(&mut self, name: &str, graph: &drawing::Graph, mermaid: &str) {
        let fenced = format!("```mermaid\n{mermaid}```\n\n");
        let drawn = match &self.folder {
            Drawings::None => None,
            Drawings::In(folder) => drawing::draw_graph(graph).map(|svg| (folder.clone(), svg)),
        };
        let Some((folder, svg)) = drawn else {
            self.out.push_str(&fenced);
            return;
        };
        let path = self.free_path(&folder, name);
        let _ = write!(
            self.out,
            "![{}]({path})\n\n<details><summary>The same as Mermaid</summary>\n\n{fenced}</details>\n\n",
            escape_markdown(&graph.title)
        );
        self.drawings.push((path, svg));
    }

    /// A path that no other drawing has, though names may differ only in what file names do not keep.
    fn free_path(&self, folder: &str, name: &str) -> String {
        let stem = escape::file_name(name);
        let path = |number: usize| match number {
            1 => format!("{folder}/{stem}.svg"),
            _ => format!("{folder}/{stem}-{number}.svg"),
        };
        let taken = |path: &String| self.drawings.iter().any(|(known, _)| known == path);
        let mut number = 1;
        while taken(&path(number)) {
            number += 1;
        }
        path(number)
    }
}

/// The table and who calls, in a few rows.
fn facts(model: &Model) -> String {
    let key: Vec<String> = model.table.key.iter().map(|key| inline_code(&key.name)).collect();
    let delimiter = model.table.delimiter.to_string();
    let mut table = MarkdownTable::new(["", ""]);
    let mut row = |name: &str, value: String| {
        if !value.is_empty() {
            table.row(vec![name.to_owned(), value]);
        }
    };
    row("Table", inline_code(&model.table.name));
    row("Key", key.join(", "));
    row("Between the parts of keys", inline_code(&delimiter));
    row(
        "Entity's name in",
        model
            .table
            .type_attribute
            .as_deref()
            .map(inline_code)
            .unwrap_or_default(),
    );
    row(
        "Expiry in",
        model.table.ttl.as_deref().map(inline_code).unwrap_or_default(),
    );
    row(
        "Change stream",
        model.table.stream.as_deref().map(inline_code).unwrap_or_default(),
    );
    row("Capacity", text::billing_text(&model.table));
    row(
        "Recovery",
        if model.table.recovery { "to any instant" } else { "" }.to_owned(),
    );
    row("Time zone", escape_markdown(&model.zone));
    row("Callers", callers(model));
    row(
        "Rate",
        model
            .callers
            .rate
            .map(|rate| format!("{} for each caller", text::rate_text(rate)))
            .unwrap_or_default(),
    );
    row(
        "Size",
        [
            counted(model.entities.len(), "entity", "entities"),
            counted(model.table.indexes.len(), "index", "indexes"),
            counted(model.reads.len(), "read", "reads"),
            counted(model.writes.len(), "write", "writes"),
        ]
        .join(", "),
    );
    table.text()
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn callers(model: &Model) -> String {
    let callers = &model.callers;
    let mut all = Vec::new();
    if !callers.claims.is_empty() || callers.audience.is_some() {
        let claims: Vec<String> = callers
            .claims
            .iter()
            .map(|claim| {
                let name = inline_code(&format!("caller.{}", claim.name));
                match &claim.ty {
                    Type::Text(_) => format!("{name} from {}", inline_code(&claim.claim_place())),
                    ty => format!(
                        "{name} from {}, {}",
                        inline_code(&claim.claim_place()),
                        inline_code(&ty.to_string())
                    ),
                }
            })
            .collect();
        let audience = callers
            .audience
            .as_deref()
            .map(|audience| format!(" for {}", inline_code(audience)));
        all.push(format!(
            "signed tokens{}: {}",
            audience.unwrap_or_default(),
            claims.join(", ")
        ));
    }
    if let Some(header) = &callers.api_key_header {
        let roles: Vec<String> = callers.roles.iter().map(|role| inline_code(role)).collect();
        all.push(format!("API keys in {}: {}", inline_code(header), roles.join(", ")));
    }
    table::cell_lines(all)
}
