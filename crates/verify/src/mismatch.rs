//! A case whose answers differ, with all that is needed to see it again.

use std::fmt;

use serde_json::Value as Json;
use singlet_item::Value;
use singlet_runtime::{Attributes, Bounds};
use singlet_values as values;

use crate::bench::{BenchGiven, Case, Row};

/// The most rows that are shown of an answer.
const ANSWERS_SHOWN_MAX: usize = 30;

/// A case whose answers differ.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// What is wrong.
    pub what: String,
    /// The model.
    pub model: String,
    /// The rows of the table.
    pub rows: Vec<Row>,
    /// The case.
    pub case: Case,
    /// Settings and bounds.
    pub given: BenchGiven,
    /// The plan.
    pub plan: String,
    /// The keys that are asked for, a line for each range.
    pub asked: String,
    /// What is meant.
    pub expected: Vec<Value>,
    /// What was answered.
    pub got: Vec<Value>,
}

/// A model file, a sample file beside it, the call, and both answers.
impl fmt::Display for Mismatch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}\n\n# model.yaml\n{}\n# sample.jsonl", self.what, self.model)?;
        for (name, row) in &self.rows {
            writeln!(out, "{{\"{name}\": {}}}", json(row))?;
        }
        let case = &self.case;
        write!(
            out,
            "\n# at {} ms\nsinglet call model.yaml {} --sample",
            case.now, case.read
        )?;
        if let Some(id) = case.caller.claims.get("id").and_then(Value::as_str) {
            write!(out, " --as {}", quoted(id))?;
        }
        for (name, value) in case.caller.claims.iter().filter(|(name, _)| *name != "id") {
            let said = value
                .as_str()
                .map_or_else(|| values::to_json(value).to_string(), str::to_owned);
            write!(out, " --claim {}", quoted(&format!("{name}={said}")))?;
        }
        write!(out, " --limit {}", case.page)?;
        for (name, value) in &case.args {
            let text = match values::to_json(value) {
                Json::String(text) => text,
                other => other.to_string(),
            };
            write!(out, " {}", quoted(&format!("{name}={text}")))?;
        }
        for (name, value) in &self.given.settings {
            write!(out, " # settings.{name} is {}", values::to_json(value))?;
        }
        let usual = Bounds::USUAL.bound_lines();
        for line in self
            .given
            .bounds
            .bound_lines()
            .iter()
            .filter(|line| !usual.contains(line))
        {
            write!(out, " # {} is {}", line.name, line.value)?;
        }
        writeln!(out, "\n\n# plan\n{}\n# keys\n{}\n", self.plan, self.asked)?;
        for (title, answers) in [("meant", &self.expected), ("answered", &self.got)] {
            writeln!(out, "# {title}")?;
            for answer in answers.iter().take(ANSWERS_SHOWN_MAX) {
                writeln!(out, "{}", values::to_json(answer))?;
            }
        }
        Ok(())
    }
}

fn json(row: &Attributes) -> Json {
    values::to_json(&Value::M(row.clone()))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
