//! From the YAML tree to scenarios. Every mistake is reported at its place, and reading goes on.

mod callers;
mod nodes;

use std::collections::BTreeMap;

use singlet_model::diagnostic::Diagnostics;
use singlet_model::node::{self, Entry, Node};
use singlet_model::text::Text;
use singlet_model::{Diagnostic, Model, Source, Span};

use crate::file::{File, InitialRow, Scenario, ScenarioCaller, ScenarioStep, StepTime, Then, Unreachable};
use crate::{clocks, rules};

/// How often one step may be repeated.
const TIMES_MAX: usize = 1_000;

/// The longest body that a step can ask for, in bytes.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

const FILE_WORDS: [&str; 7] = [
    "now",
    "names",
    "callers",
    "given",
    "settings",
    "unreachable",
    "scenarios",
];
const SCENARIO_WORDS: [&str; 7] = ["name", "now", "given", "by", "settings", "read_only", "steps"];
const STEP_WORDS: [&str; 11] = [
    "when", "by", "send", "bytes", "headers", "after", "at", "times", "at_once", "then", "keep",
];
const THEN_WORDS: [&str; 8] = [
    "status", "problem", "body", "rows", "headers", "capacity", "each", "told",
];
const UNREACHABLE_WORDS: [&str; 4] = ["status", "refusal", "at", "why"];

/// Reads the scenarios of a model. With errors among the findings the file is not whole.
pub fn read_scenarios(source: &Source, model: &Model, out: &mut Diagnostics) -> Option<File> {
    let root = node::read_tree(source, out)?;
    let mut reader = ScenarioReader {
        model,
        callers: BTreeMap::new(),
        now: 0,
        settings: Vec::new(),
        out,
    };
    Some(reader.file(&root))
}

struct ScenarioReader<'a> {
    model: &'a Model,
    callers: BTreeMap<String, ScenarioCaller>,
    now: i64,
    settings: Vec<(Text, Text)>,
    out: &'a mut Diagnostics,
}

impl ScenarioReader<'_> {
    fn file(&mut self, root: &Node) -> File {
        self.words(root, &[&FILE_WORDS], "a file of scenarios");
        for entry in self.entries(root.get("callers"), "callers") {
            let caller = self.caller(&entry.value);
            self.callers.insert(entry.key.text.clone(), caller);
        }
        match root.get("now") {
            Some(now) => self.now = self.instant(now),
            None => self.mistake(
                root.span(),
                "a file of scenarios says at which instant they begin: `now`",
            ),
        }
        self.settings = self.texts(root.get("settings"), "settings");
        let mut file = File {
            names: self.pairs(root.get("names"), "names"),
            given: self.rows(root.get("given")),
            unreachable: Vec::new(),
            scenarios: Vec::new(),
        };
        for node in self.elements(root.get("unreachable"), "unreachable") {
            file.unreachable.extend(self.unreachable(node));
        }
        for node in self.elements(root.get("scenarios"), "scenarios") {
            let Some(scenario) = self.scenario(node) else { continue };
            let same = file
                .scenarios
                .iter()
                .find(|known| known.name.text == scenario.name.text);
            if let Some(first) = same.map(|known| known.name.span) {
                let message = format!("two scenarios are named `{}`", scenario.name.text);
                let twice = Diagnostic::new(&rules::MISTAKE, scenario.name.span, message);
                self.out.push(twice.note(first, "the first one"));
            }
            file.scenarios.push(scenario);
        }
        if file.scenarios.is_empty() {
            self.mistake(root.span(), "the file has no scenario");
        }
        file
    }

    fn unreachable(&mut self, node: &Node) -> Option<Unreachable> {
        self.words(node, &[&UNREACHABLE_WORDS], "an unreachable target");
        if node.get("why").and_then(Node::str).is_none_or(str::is_empty) {
            self.mistake(node.span(), "say why no scenario reaches this: `why`");
        }
        let status = node.get("status").and_then(|status| self.number(status));
        let refusal = node.get("refusal").and_then(Node::str).map(str::to_owned);
        if status.is_none() == refusal.is_none() {
            self.mistake(node.span(), "one of `status` and `refusal` is unreachable");
            return None;
        }
        Some(Unreachable {
            span: node.span(),
            status,
            refusal,
            at: node.get("at").and_then(Node::str).map(str::to_owned),
        })
    }

    fn scenario(&mut self, node: &Node) -> Option<Scenario> {
        let Some(name) = node.get("name").and_then(Node::text) else {
            self.mistake(node.span(), "a scenario has a `name` that says what it shows");
            return None;
        };
        let by = match node.get("by") {
            Some(by) => self.caller(by),
            None => ScenarioCaller::Nobody,
        };
        let steps = match node.get("steps") {
            Some(steps) => {
                self.words(node, &[&SCENARIO_WORDS], "a scenario with steps");
                let steps = self.elements(Some(steps), "steps");
                steps.iter().filter_map(|step| self.step(step, &by, true)).collect()
            }
            None => {
                self.words(node, &[&SCENARIO_WORDS, &STEP_WORDS], "a scenario");
                self.step(node, &by, false).into_iter().collect()
            }
        };
        let mut settings = self.settings.clone();
        settings.extend(self.texts(node.get("settings"), "settings"));
        Some(Scenario {
            name: name.clone(),
            now: node.get("now").map_or(self.now, |now| self.instant(now)),
            given: self.rows(node.get("given")),
            settings,
            read_only: self.truth(node.get("read_only")),
            steps,
        })
    }

    fn step(&mut self, node: &Node, usual: &ScenarioCaller, alone: bool) -> Option<ScenarioStep> {
        if alone {
            self.words(node, &[&STEP_WORDS], "a step");
        }
        let Some(when) = node.get("when").and_then(Node::text) else {
            self.mistake(node.span(), "a step says what is called: `when: GET /path`");
            return None;
        };
        if !is_call(&when.text) {
            self.mistake(when.span, "a call is a method and a path, such as `GET /items`");
        }
        let Some(then) = node.get("then") else {
            self.mistake(when.span, "a step says what must come back: `then: 200`");
            return None;
        };
        let times = node.get("times").and_then(|times| self.number(times));
        let at_once: Option<usize> = node.get("at_once").and_then(|times| self.number(times));
        let count = at_once.or(times).unwrap_or(1);
        if count == 0 || count > TIMES_MAX || (times.is_some() && at_once.is_some()) {
            let message = format!("a step is done 1 to {TIMES_MAX} times, in turn (`times`) or together (`at_once`)");
            self.mistake(node.span(), &message);
            return None;
        }
        if then.is_map() && then.get("status").or(then.get("each")).is_none() {
            self.mistake(then.span(), "`then` names the status of the answer");
        }
        let then = self.then(then);
        let bytes: Option<usize> = node.get("bytes").and_then(|bytes| self.number(bytes));
        if bytes.is_some_and(|bytes| bytes > BODY_BYTES_MAX) {
            self.mistake(
                node.span(),
                &format!("a body of at most {BODY_BYTES_MAX} bytes is sent"),
            );
            return None;
        }
        Some(ScenarioStep {
            when: when.clone(),
            by: match node.get("by").filter(|_| alone) {
                Some(by) => self.caller(by),
                None => usual.clone(),
            },
            send: node.get("send").cloned(),
            bytes,
            headers: self.pairs(node.get("headers"), "headers"),
            time: self.time(node),
            times: count,
            at_once: at_once.is_some(),
            then,
            keep: self.texts(node.get("keep"), "keep"),
        })
    }

    fn time(&mut self, node: &Node) -> StepTime {
        match (node.get("after"), node.get("at")) {
            (Some(after), None) => match after.str().and_then(clocks::span_millis) {
                Some(millis) => StepTime::After(millis),
                None => {
                    self.mistake(after.span(), "this is no length of time, such as `25h` or `5m`");
                    StepTime::Next
                }
            },
            (None, Some(at)) => StepTime::At(self.instant(at)),
            (None, None) => StepTime::Next,
            (Some(_), Some(at)) => {
                self.mistake(at.span(), "a call is made `at` an instant or `after` a time, not both");
                StepTime::Next
            }
        }
    }

    fn then(&mut self, node: &Node) -> Then {
        let mut then = Then::default();
        if let Node::Scalar(text) = node {
            self.status(text, &mut then);
            return then;
        }
        self.words(node, &[&THEN_WORDS], "`then`");
        if let Some(status) = node.get("status").and_then(Node::text) {
            self.status(status, &mut then);
        }
        if let Some(problem) = node.get("problem").and_then(Node::text) {
            then.problem = Some(problem.clone());
        }
        then.body = node.get("body").cloned();
        then.rows = node.get("rows").cloned();
        then.told = node.get("told").cloned();
        then.headers = self.pairs(node.get("headers"), "headers");
        if let Some(capacity) = node.get("capacity") {
            self.words(capacity, &[&["read", "write"]], "`capacity`");
            then.read_max = capacity.get("read").and_then(|most| self.most(most));
            then.write_max = capacity.get("write").and_then(|most| self.most(most));
        }
        for entry in self.entries(node.get("each"), "each") {
            let status = self.parsed(&entry.key);
            if let (Some(status), Some(count)) = (status, self.number(&entry.value)) {
                then.each.push((status, count, entry.key.span));
            }
        }
        then
    }

    /// `409`, or `409 task_not_pending`.
    fn status(&mut self, text: &Text, then: &mut Then) {
        let (status, problem) = match text.text.split_once(' ') {
            Some((status, problem)) => (status, Some(problem.trim())),
            None => (text.text.as_str(), None),
        };
        match status.parse::<u16>().ok().filter(|status| (100..600).contains(status)) {
            Some(status) => then.status = Some((status, text.span)),
            None => self.mistake(text.span, "this is no status, such as `200` or `409 task_not_pending`"),
        }
        if let Some(problem) = problem {
            let start = text.text.len() - problem.len();
            then.problem = Some(text.part_text(start, text.text.len()));
        }
    }

    /// `..0.5`: at most so many units.
    fn most(&mut self, node: &Node) -> Option<(f64, Span)> {
        let most = node.str().and_then(|text| text.strip_prefix("..")?.parse().ok());
        if most.is_none() {
            self.mistake(node.span(), "capacity is bounded from above, such as `..0.5`");
        }
        most.map(|most| (most, node.span()))
    }

    fn rows(&mut self, node: Option<&Node>) -> Vec<InitialRow> {
        let mut rows = Vec::new();
        for element in self.elements(node, "given") {
            let [Entry { key, value }] = element.entries() else {
                self.mistake(
                    element.span(),
                    "a row is its entity and its attributes: `User: {name: Ada}`",
                );
                continue;
            };
            let names = || {
                let entities = self.model.entities.iter();
                entities
                    .filter(|entity| entity.mirror.is_none())
                    .map(|entity| entity.name.as_str())
            };
            let Some(entity) = self
                .model
                .entity_named(&key.text)
                .filter(|entity| entity.mirror.is_none())
            else {
                let message = format!("the model has no entity `{}` of its own rows", key.text);
                let wrong = Diagnostic::new(&rules::MISTAKE, key.span, message).did_you_mean(&key.text, names());
                self.out.push(wrong);
                continue;
            };
            for attribute in value.entries() {
                if entity.attribute(&attribute.key.text).is_none() {
                    let message = format!("`{}` has no attribute `{}`", entity.name, attribute.key.text);
                    let known = entity.attributes.iter().map(|known| known.name.as_str());
                    let wrong = Diagnostic::new(&rules::MISTAKE, attribute.key.span, message);
                    self.out.push(wrong.did_you_mean(&attribute.key.text, known));
                }
            }
            rows.push(InitialRow {
                entity: key.clone(),
                attributes: value.clone(),
            });
        }
        rows
    }
}

fn is_call(text: &str) -> bool {
    let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    text.split_once(' ')
        .is_some_and(|(method, path)| methods.contains(&method) && path.starts_with('/') && !path.contains(' '))
}
