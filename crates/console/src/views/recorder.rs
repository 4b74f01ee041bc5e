//! What was done by hand, as a scenario file that plays.
//!
//! The page keeps what was done; here it becomes text. The rows that the operations met stand under `given`, as they were before the
//! first of them, and each call has its instant: so the scenario finds what the person found.

use std::collections::{BTreeMap, HashSet};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use singlet_item::Value;
use singlet_model::Model;
use singlet_model::model::{Argument, ParamValue, Route};
use singlet_values::json_text;

use crate::answer::ConsoleError;
use crate::arguments::{CallerAsked, typed_arguments};
use crate::routes::Asking;

/// How many steps a scenario has at most.
const STEPS_MAX: usize = 200;

/// The name of a brace that is none of a name.
const BRACE: &str = "brace";

/// What stands in a path as it is.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// What was done.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recorded {
    /// What it shows.
    #[serde(default)]
    name: String,
    /// What was done, in order.
    steps: Vec<StepDone>,
}

/// One operation that was run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StepDone {
    name: String,
    #[serde(default)]
    args: BTreeMap<String, String>,
    #[serde(default)]
    json: BTreeMap<String, String>,
    #[serde(default)]
    caller: CallerAsked,
    #[serde(default)]
    key: Option<String>,
    #[serde(default)]
    version: Option<String>,
    now: i64,
    status: u16,
    #[serde(default)]
    problem: Option<String>,
    /// What came back, with types.
    #[serde(default)]
    value: Json,
    /// The rows that it met.
    #[serde(default)]
    met: Vec<Met>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Met {
    key: String,
    line: Option<String>,
    #[serde(default)]
    #[allow(dead_code, reason = "the page has it for itself")]
    there: bool,
}

/// `{text, left}`: the file, and what could not be written down.
pub(super) fn recorded_scenario(asking: &Asking<'_>, recorded: Recorded) -> Result<Json, ConsoleError> {
    let model = asking.system.model();
    if recorded.steps.len() > STEPS_MAX {
        return Err(ConsoleError::invalid_request(format!(
            "a scenario has at most {STEPS_MAX} steps"
        )));
    }
    let first = recorded
        .steps
        .first()
        .ok_or_else(|| ConsoleError::invalid_request("nothing was recorded"))?;
    let mut out = String::from("# Recorded in the console. `singlet verify MODEL --scenarios FILE` plays it.\n");
    out.push_str(&format!("now: {}\n\n", instant(first.now)?));
    out.push_str(&format!("names: {{{BRACE}: \"{{\"}}\n\n"));
    out.push_str(&given(&recorded.steps));
    let name = match recorded.name.trim() {
        "" => "what was done by hand",
        name => name,
    };
    out.push_str(&format!("scenarios:\n  - name: {}\n    steps:\n", quoted(name)));
    let mut left = Vec::new();
    let mut writer = Writer {
        model,
        kept: Vec::new(),
        clock: None,
    };
    for step in &recorded.steps {
        match writer.step(step) {
            Ok(text) => out.push_str(&text),
            Err(reason) => left.push(json!({"name": step.name, "reason": reason.detail})),
        }
    }
    asking.log_action("scenario", name);
    Ok(json!({"text": out, "left": left}))
}

/// The rows that were there before the first operation that met them.
fn given(steps: &[StepDone]) -> String {
    let mut met = HashSet::new();
    let mut lines = Vec::new();
    for row in steps.iter().flat_map(|step| &step.met) {
        if met.insert(row.key.as_str()) {
            lines.extend(row.line.as_deref());
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    // A line of JSON is a line of YAML.
    let lines = lines.iter().map(|line| format!("  - {}\n", with_braces(line.trim())));
    let lines: Vec<String> = lines.collect();
    format!("given:\n{}\n", lines.concat())
}

struct Writer<'m> {
    model: &'m Model,
    /// Values that came back, under the names that later steps have for them.
    kept: Vec<(String, String)>,
    clock: Option<i64>,
}

impl Writer<'_> {
    fn step(&mut self, step: &StepDone) -> Result<String, ConsoleError> {
        let read = self.model.reads.iter().find(|read| read.name == step.name);
        let write = self.model.writes.iter().find(|write| write.name == step.name);
        let (known, route, writes): (&[Argument], Option<&Route>, bool) = match (read, write) {
            (Some(read), _) => (&read.args, read.http.as_ref(), false),
            (None, Some(write)) => (&write.args, write.http.as_ref(), true),
            (None, None) => return Err(ConsoleError::not_there("the model has it no longer")),
        };
        let route =
            route.ok_or_else(|| ConsoleError::invalid_request("it has no route, and scenarios play over HTTP"))?;
        let args = typed_arguments(&step.name, known, &step.args, &step.json)?;
        let (when, in_address) = self.address(route, step)?;
        // What stands in braces here are names.
        let mut text = format!("      - when: {}\n", json_text::json_of(&Value::S(when)));
        text.push_str(&format!("        by: {}\n", self.caller(&step.caller)));
        // The first call is at the instant with which the scenario begins.
        if self.clock.is_some_and(|clock| clock < step.now) {
            text.push_str(&format!("        at: {}\n", instant(step.now)?));
        }
        self.clock = Some(self.clock.map_or(step.now, |clock| clock.max(step.now)));
        if writes && route.method != "GET" && route.method != "DELETE" || args.len() > in_address.len() {
            let body = args.iter().filter(|(name, _)| !in_address.contains(*name));
            let body: Vec<String> = body
                .map(|(name, value)| format!("{}: {}", quoted(name), self.sent(value)))
                .collect();
            text.push_str(&format!("        send: {{{}}}\n", body.join(", ")));
        }
        let mut headers = Vec::new();
        headers.extend(
            step.key
                .as_ref()
                .filter(|key| !key.is_empty())
                .map(|key| format!("Idempotency-Key: {}", quoted(key))),
        );
        let version = step.version.as_ref().filter(|version| !version.is_empty());
        headers.extend(version.map(|version| format!("If-Match: {}", quoted(&format!("\"{version}\"")))));
        if !headers.is_empty() {
            text.push_str(&format!("        headers: {{{}}}\n", headers.join(", ")));
        }
        match &step.problem {
            Some(problem) => text.push_str(&format!("        then: {} {problem}\n", step.status)),
            None => text.push_str(&format!("        then: {}\n", step.status)),
        }
        if writes && step.problem.is_none() {
            text.push_str(&self.keep(&step.value));
        }
        Ok(text)
    }

    /// Method, path and query, and the arguments that stand in them.
    fn address(&self, route: &Route, step: &StepDone) -> Result<(String, HashSet<String>), ConsoleError> {
        let mut path = route.path.clone();
        let mut used = HashSet::new();
        for name in &route.path_variables {
            let value = step.args.get(name);
            let value = value.ok_or_else(|| {
                ConsoleError::invalid_request(format!("`{name}` stands in its path and was not said"))
            })?;
            path = path.replace(&format!("{{{name}}}"), &self.in_path(value));
            used.insert(name.clone());
        }
        let mut query = Vec::new();
        for (name, value) in &route.query {
            match value {
                ParamValue::Fixed(text) => query.push(format!("{name}={}", utf8_percent_encode(text, PATH))),
                ParamValue::Arg(arg) => {
                    used.insert(arg.clone());
                    if let Some(value) = step.args.get(arg) {
                        query.push(format!("{name}={}", self.in_path(value)));
                    }
                }
            }
        }
        // What a read takes beyond its route stands in the query too.
        if route.method == "GET" {
            for (name, value) in step.args.iter().filter(|(name, _)| !used.contains(*name)) {
                query.push(format!("{name}={}", self.in_path(value)));
            }
            used.extend(step.args.keys().cloned());
        }
        let query = match query.is_empty() {
            true => String::new(),
            false => format!("?{}", query.join("&")),
        };
        Ok((format!("{} {path}{query}", route.method), used))
    }

    fn in_path(&self, value: &str) -> String {
        match self.name_of(value) {
            Some(name) => format!("{{{name}}}"),
            None => utf8_percent_encode(value, PATH).to_string(),
        }
    }

    fn sent(&self, value: &Value) -> String {
        match value {
            Value::S(text) => match self.name_of(text) {
                Some(name) => format!("\"{{{name}}}\""),
                None => quoted(text),
            },
            other => with_braces(&json_text::json_of(other)),
        }
    }

    fn name_of(&self, value: &str) -> Option<&str> {
        let known = self.kept.iter().rev().find(|(_, known)| known == value);
        known.map(|(name, _)| name.as_str())
    }

    fn caller(&self, caller: &CallerAsked) -> String {
        if !caller.authenticated {
            return "nobody".to_owned();
        }
        let claims = caller.claims.iter().filter(|(_, value)| !value.is_empty());
        if self.model.callers.api_key_header.is_some() {
            let role = caller.claims.get("role").map_or("", String::as_str);
            return quoted(role);
        }
        let made = caller.asked_caller(&self.model.callers).unwrap_or_default();
        let claims: Vec<String> = claims
            .map(|(name, text)| {
                // A list stays one.
                let value = made.claims.get(name).filter(|value| value.as_list().is_some());
                let value = value.map_or_else(|| quoted(text), |list| with_braces(&json_text::json_of(list)));
                format!("{}: {value}", quoted(name))
            })
            .collect();
        format!("{{{}}}", claims.join(", "))
    }

    /// Names for the texts of an answer: ids that the write made up are other ones when it is played.
    fn keep(&mut self, value: &Json) -> String {
        let Some(fields) = value.get("M").and_then(Json::as_object) else {
            return String::new();
        };
        let number = self.kept.len();
        let mut kept = Vec::new();
        for (name, value) in fields {
            let Some(text) = value.get("S").and_then(Json::as_str) else {
                continue;
            };
            let is_word = !name.is_empty() && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
            let is_made_up = text.len() >= 20 && text.chars().all(|char| char.is_ascii_alphanumeric() || char == '-');
            if is_word && is_made_up && self.name_of(text).is_none() {
                let word = format!("{name}_{}", number + kept.len() + 1);
                kept.push(format!("{word}: body.{name}"));
                self.kept.push((word, text.to_owned()));
            }
        }
        match kept.is_empty() {
            true => String::new(),
            false => format!("        keep: {{{}}}\n", kept.join(", ")),
        }
    }
}

fn quoted(text: &str) -> String {
    with_braces(&json_text::json_of(&Value::S(text.to_owned())))
}

/// JSON in whose texts a brace is the name of one: else what follows it would be taken for a name.
fn with_braces(json: &str) -> String {
    let (mut out, mut in_text, mut is_escaped) = (String::new(), false, false);
    for char in json.chars() {
        match char {
            '{' if in_text => out.push_str(&format!("{{{BRACE}}}")),
            other => out.push(other),
        }
        in_text ^= char == '"' && !is_escaped;
        is_escaped = char == '\\' && !is_escaped;
    }
    out
}

fn instant(millis: i64) -> Result<String, ConsoleError> {
    let instant = jiff::Timestamp::from_millisecond(millis);
    let instant = instant.map_err(|_| ConsoleError::invalid_request("the instant is out of range"))?;
    Ok(quoted(&instant.to_string()))
}
