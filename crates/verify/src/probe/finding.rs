//! What differs, with all that is needed to see why.

use std::fmt;

use singlet_item::Value;
use singlet_model::Model;
use singlet_runtime::{Attributes, Caller};

use super::subject::{SentRequest, value_text};
use super::table::{Judge, ProbeTable};

/// The most rows of an answer that are shown.
const ROWS_SHOWN_MAX: usize = 12;

/// The most requests that are shown.
const SENT_SHOWN_MAX: usize = 12;

/// How an operation is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A read, by its plan.
    Read,
    /// A read, by the condition that is written under `using:`.
    Using,
    /// A write.
    Write,
    /// A write, by the calls that are written under `using:` of its steps.
    Calls,
}

impl Kind {
    /// In a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Read => "read",
            Kind::Using | Kind::Calls => "using",
            Kind::Write => "write",
        }
    }
}

/// One call of what was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The read or write.
    pub operation: String,
    /// The arguments.
    pub args: Attributes,
    /// Who calls.
    pub caller: Caller,
    /// Rows in a page, where that was said.
    pub page: Option<usize>,
    /// The key by which a retry is told from a new request.
    pub request_key: Option<String>,
    /// The version that the row must have.
    pub version: Option<String>,
    /// The instant, in epoch milliseconds.
    pub now: i64,
}

/// A difference, made as small as it gets.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The operation that differs.
    pub operation: String,
    /// The operation that was tried: among writes of others, one of those may differ.
    pub drawn_for: String,
    /// How it was run.
    pub kind: Kind,
    /// In which of its cases.
    pub case: usize,
    /// What differs, in a line.
    pub what: String,
    /// The rows of the table: entity and attributes.
    pub given: Vec<(String, Attributes)>,
    /// The calls; the last one is not as it must be.
    pub calls: Vec<Call>,
    /// What the last one means.
    pub expected: Vec<String>,
    /// What came.
    pub got: Vec<String>,
    /// What was sent to the store.
    pub sent: Vec<String>,
    /// The keys of the rows, where they were looked for.
    pub keys: Vec<String>,
}

/// The rows of a table, by the names of their entities.
pub(super) fn given_rows(model: &Model, table: &ProbeTable) -> Vec<(String, Attributes)> {
    let named = table
        .rows
        .iter()
        .filter_map(|(id, row)| Some((model.entity(*id)?, row)));
    let named = named.map(|(entity, row)| {
        // What is computed follows from the rest.
        let own = row.iter().filter(|(name, _)| {
            let attribute = entity.attribute(name);
            attribute.is_some_and(|attribute| attribute.is.is_none() && attribute.alias.is_none())
        });
        let own = own.map(|(name, value)| (name.clone(), value.clone())).collect();
        (entity.name.clone(), own)
    });
    named.collect()
}

/// An answer in lines: a row each.
pub(super) fn answer_lines(value: Option<&Value>) -> Vec<String> {
    match value {
        None | Some(Value::Null) => vec!["nothing".to_owned()],
        Some(Value::L(rows)) if rows.is_empty() => vec!["no rows".to_owned()],
        Some(Value::L(rows)) => {
            let mut lines: Vec<String> = rows.iter().take(ROWS_SHOWN_MAX).map(value_text).collect();
            if rows.len() > ROWS_SHOWN_MAX {
                lines.push(format!("and {} more", rows.len() - ROWS_SHOWN_MAX));
            }
            lines
        }
        Some(value) => vec![value_text(value)],
    }
}

/// What was sent, in lines, each once.
pub(super) fn sent_lines(sent: &[SentRequest]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for sent in sent {
        if !lines.contains(&sent.text) {
            lines.push(sent.text.clone());
        }
    }
    if lines.len() > SENT_SHOWN_MAX {
        let more = lines.len() - SENT_SHOWN_MAX;
        lines.truncate(SENT_SHOWN_MAX);
        lines.push(format!("and {more} more"));
    }
    lines
}

/// The keys of rows on the table or the indexes that were read.
pub(super) fn key_lines(judge: &Judge<'_>, table: &ProbeTable, sent: &[SentRequest]) -> Vec<String> {
    let model = judge.model;
    let mut places: Vec<Option<&str>> = Vec::new();
    for sent in sent {
        let index = sent.index.as_deref();
        if !places.contains(&index) {
            places.push(index);
        }
    }
    let mut lines = Vec::new();
    for place in places {
        let index = place.and_then(|name| model.table.indexes.iter().find(|index| index.name == name));
        let names: Vec<&str> = match index {
            Some(index) => index.key().map(|key| key.name.as_str()).collect(),
            None => model.table.key.iter().map(|key| key.name.as_str()).collect(),
        };
        for (id, row) in &table.rows {
            for item in judge.items_of(*id, row, table.now).into_iter().flatten() {
                let entity = model.entity(*id).map_or("", |entity| entity.name.as_str());
                let parts = names.iter().map(|name| match item.get(*name) {
                    Some(value) => format!("{name} {}", value_text(value)),
                    None => format!("no {name}"),
                });
                let line = format!("{entity}  {}", parts.collect::<Vec<_>>().join("  "));
                if !lines.contains(&line) {
                    lines.push(line);
                }
            }
        }
    }
    lines
}

impl Call {
    /// As `singlet call` takes it, without the model.
    pub fn as_command(&self) -> String {
        let mut text = self.operation.clone();
        for (name, value) in &self.args {
            let given = match value {
                Value::S(text) => format!("{name}={text}"),
                Value::N(_) | Value::Bool(_) => format!("{name}={}", value_text(value)),
                value => format!("{name}:={}", value_text(value)),
            };
            text.push_str(&format!(" {}", quoted(&given)));
        }
        if let Some(id) = self.caller.claims.get("id").and_then(Value::as_str) {
            text.push_str(&format!(" --as {}", quoted(id)));
        }
        for (name, value) in self.caller.claims.iter().filter(|(name, _)| *name != "id") {
            let said = value.as_str().map_or_else(|| value_text(value), str::to_owned);
            text.push_str(&format!(" --claim {}", quoted(&format!("{name}={said}"))));
        }
        if let Some(page) = self.page {
            text.push_str(&format!(" --limit {page}"));
        }
        if let Some(key) = &self.request_key {
            text.push_str(&format!(" --key {}", quoted(key)));
        }
        if let Some(version) = &self.version {
            text.push_str(&format!(" --if-version {version}"));
        }
        text
    }
}

/// A word as a shell takes it.
fn quoted(text: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "-_=.,:/@+".contains(char);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// As a person would write it down.
impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = match self.kind {
            Kind::Using | Kind::Calls => " as its `using:` says",
            Kind::Read | Kind::Write => "",
        };
        writeln!(out, "`{}`{by}: {}", self.operation, self.what)?;
        writeln!(out, "  given")?;
        if self.given.is_empty() {
            writeln!(out, "    no rows")?;
        }
        for (entity, row) in &self.given {
            writeln!(out, "    {{\"{entity}\": {}}}", value_text(&Value::M(row.clone())))?;
        }
        let mut instant = None;
        for call in &self.calls {
            if instant != Some(call.now) {
                let at = singlet_model::evaluate::time::iso_millis(call.now).unwrap_or_default();
                writeln!(out, "  at {at}")?;
                instant = Some(call.now);
            }
            writeln!(out, "    {}", call.as_command())?;
        }
        let parts = [
            ("expected", &self.expected),
            ("got", &self.got),
            ("sent", &self.sent),
            ("keys", &self.keys),
        ];
        for (title, lines) in parts {
            if lines.is_empty() {
                continue;
            }
            writeln!(out, "  {title}")?;
            for line in lines {
                writeln!(out, "    {line}")?;
            }
        }
        Ok(())
    }
}
