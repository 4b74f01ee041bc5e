//! Plays scenarios.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Value as Json;
use singlet_model::node::Node;
use singlet_model::text::Text;
use singlet_model::{Diagnostic, Model, Span};
use singlet_runtime::{Attributes, AuditDepth, audit_rows};
use singlet_values as values;

use crate::client::{self, ClientRequest, Reply};
use crate::compare::{compare_answer, other_answer, quoted_value};
use crate::coverage::Coverage;
use crate::error::ScenarioError;
use crate::file::{File, Scenario, ScenarioStep, StepTime};
use crate::names::NamedValues;
use crate::service::Running;
use crate::{given, rules};

/// The milliseconds between two calls of which nothing else is said: ids made in order stay in order.
const BETWEEN_CALLS_MILLIS: i64 = 1;

/// What came of all scenarios.
#[derive(Debug)]
pub struct Outcome {
    /// Each scenario, in the order written.
    pub played: Vec<Played>,
    /// What of the model they reached.
    pub coverage: Coverage,
    /// What is wrong with `unreachable`.
    pub findings: Vec<Diagnostic>,
}

/// The name of a call's number, where a step makes several.
const NUMBER: &str = "n";

/// What came of one scenario.
#[derive(Debug)]
pub struct Played {
    /// Its name.
    pub name: String,
    /// Where its name stands.
    pub span: Span,
    /// How many calls were made.
    pub calls: usize,
    /// Where the answers differ from what it says. The steps after the first difference are not played.
    pub differences: Vec<Diagnostic>,
}

/// Plays every scenario, each on a service of its own.
///
/// # Errors
///
/// Where no service can be started.
pub async fn play_scenarios(file: &File, model: Arc<Model>) -> Result<Outcome, ScenarioError> {
    let mut coverage = Coverage::of(&model);
    let mut played = Vec::new();
    for scenario in &file.scenarios {
        played.push(play(file, scenario, &model, &mut coverage).await?);
    }
    let findings = coverage.excuse_unreachable(&file.unreachable);
    Ok(Outcome {
        played,
        coverage,
        findings,
    })
}

async fn play(
    file: &File,
    scenario: &Scenario,
    model: &Arc<Model>,
    coverage: &mut Coverage,
) -> Result<Played, ScenarioError> {
    let mut played = Played {
        name: scenario.name.text.clone(),
        span: scenario.name.span,
        calls: 0,
        differences: Vec::new(),
    };
    let settings = match settings(model, &scenario.settings) {
        Ok(settings) => settings,
        Err(wrong) => {
            played.differences.push(*wrong);
            return Ok(played);
        }
    };
    let mut stage = ScenarioStage {
        service: Running::start(model, settings, scenario.read_only).await?,
        names: NamedValues::default(),
        now: scenario.now,
        begun: false,
        coverage,
    };
    if let Err(wrong) = stage.set(file, scenario).await {
        played.differences.push(*wrong);
        return Ok(played);
    }
    for step in &scenario.steps {
        played.calls += step.times;
        played.differences = stage.step(step).await;
        if !played.differences.is_empty() {
            break;
        }
    }
    if played.differences.is_empty() {
        played.differences = stage.look_at_table(scenario.name.span).await?;
    }
    Ok(played)
}

fn settings(model: &Model, given: &[(Text, Text)]) -> Result<Attributes, Box<Diagnostic>> {
    let mut settings = Attributes::new();
    for (name, text) in given {
        let Some(known) = model.settings.iter().find(|known| known.name == name.text) else {
            let message = format!("the model has no setting `{}`", name.text);
            let known = model.settings.iter().map(|known| known.name.as_str());
            let wrong = Diagnostic::new(&rules::MISTAKE, name.span, message).did_you_mean(&name.text, known);
            return Err(Box::new(wrong));
        };
        let value = values::from_text(&text.text, &known.ty).map_err(|invalid| {
            let message = format!("this is no value of `{}`: {invalid}", name.text);
            Box::new(Diagnostic::new(&rules::MISTAKE, text.span, message))
        })?;
        settings.insert(name.text.clone(), value);
    }
    Ok(settings)
}

/// One scenario while it is played.
struct ScenarioStage<'a> {
    service: Running,
    names: NamedValues,
    now: i64,
    begun: bool,
    coverage: &'a mut Coverage,
}

impl ScenarioStage<'_> {
    /// What lies in the table afterwards that the model would not have written so.
    async fn look_at_table(&mut self, span: Span) -> Result<Vec<Diagnostic>, ScenarioError> {
        let audit = audit_rows(&self.service.engine, self.now, AuditDepth::Whole).await?;
        let found = audit.first.iter();
        let found = found.map(|finding| other_answer(span, format!("the table is not sound afterwards: {finding}")));
        Ok(found.collect())
    }

    /// Names and rows before the first call.
    async fn set(&mut self, file: &File, scenario: &Scenario) -> Result<(), Box<Diagnostic>> {
        for (name, value) in &file.names {
            let value = self.names.node_json(value)?;
            self.names.put_named(&name.text, value);
        }
        let rows = file.given.iter().chain(&scenario.given);
        let engine = &self.service.engine;
        given::load_rows(engine, rows, &self.names, scenario.now, scenario.name.span).await
    }

    async fn step(&mut self, step: &ScenarioStep) -> Vec<Diagnostic> {
        let calls = match self.calls(step) {
            Ok(calls) => calls,
            Err(wrong) => return vec![*wrong],
        };
        let replies = match step.at_once {
            true => self.together(step, &calls).await,
            false => self.in_turn(step, &calls).await,
        };
        let replies = match replies {
            Ok(replies) => replies,
            Err(error) => return vec![other_answer(step.when.span, error.to_string())],
        };
        if let Err(error) = self.service.follow_to_rest().await {
            return vec![other_answer(step.when.span, error.to_string())];
        }
        let told = match self.service.take_told().await {
            Ok(told) => told,
            Err(error) => return vec![other_answer(step.when.span, error.to_string())],
        };
        let mut out = Vec::new();
        for (call, reply) in calls.iter().zip(&replies) {
            if let Some(undocumented) = self.coverage.see_answer(call, reply, &step.by) {
                out.push(other_answer(step.when.span, undocumented));
                break;
            }
        }
        counts(step, &replies, &mut out);
        if let Some(wanted) = &step.then.told {
            compare_answer(wanted, Some(&told), "told", &self.names, &mut out);
        }
        if let Some(last) = replies.last() {
            self.answer(step, last, &mut out);
            if out.is_empty() {
                self.keep(step, last, &mut out);
            }
        }
        out
    }

    /// The calls of a step; where it is made several times, `{n}` is the number of each, from 1.
    fn calls(&self, step: &ScenarioStep) -> Result<Vec<ClientRequest>, Box<Diagnostic>> {
        if step.times == 1 && !step.at_once {
            return Ok(vec![self.call(step, &self.names)?]);
        }
        let mut names = self.names.clone();
        let numbers = 1..=step.times;
        let calls = numbers.map(|number| {
            names.put_named(NUMBER, Json::from(number));
            self.call(step, &names)
        });
        calls.collect()
    }

    fn call(&self, step: &ScenarioStep, names: &NamedValues) -> Result<ClientRequest, Box<Diagnostic>> {
        let wrong = |reason: String| Box::new(Diagnostic::new(&rules::MISTAKE, step.when.span, reason));
        let when = names.fill_text(&step.when)?;
        let (method, target) = when.split_once(' ').unwrap_or((when.as_str(), "/"));
        if target.contains(|char: char| char.is_whitespace() || char.is_control()) {
            return Err(wrong(format!("`{target}` is no path: write other characters as `%20`")));
        }
        let mut headers = vec![("singlet-debug".to_owned(), "capacity".to_owned())];
        let credentials = self.service.caller_credentials(&step.by);
        headers.extend(credentials.map_err(|error| wrong(error.to_string()))?);
        for (name, value) in &step.headers {
            let value = match names.node_json(value)? {
                Json::String(text) => text,
                other => other.to_string(),
            };
            headers.push((name.text.clone(), value));
        }
        let mut body = match &step.send {
            Some(send) => Some(names.node_json(send)?.to_string()),
            None => step.bytes.map(|_| "{}".to_owned()),
        };
        if let (Some(body), Some(bytes)) = (&mut body, step.bytes) {
            // White space means nothing in JSON: only the length is wrong.
            body.push_str(&" ".repeat(bytes.saturating_sub(body.len())));
        }
        let has_type = headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if body.is_some() && !has_type {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        Ok(ClientRequest {
            method: method.to_owned(),
            target: target.to_owned(),
            headers,
            body,
        })
    }

    async fn in_turn(&mut self, step: &ScenarioStep, calls: &[ClientRequest]) -> Result<Vec<Reply>, ScenarioError> {
        let mut replies = Vec::new();
        for (at, call) in calls.iter().enumerate() {
            self.tick(if at == 0 { step.time } else { StepTime::Next }).await?;
            replies.push(self.send(call).await?);
        }
        Ok(replies)
    }

    async fn together(&mut self, step: &ScenarioStep, calls: &[ClientRequest]) -> Result<Vec<Reply>, ScenarioError> {
        self.tick(step.time).await?;
        let to = self.service.address;
        let calls: Vec<_> = calls
            .iter()
            .map(|call| {
                let call = call.clone();
                tokio::task::spawn_blocking(move || client::send_request(to, &call))
            })
            .collect();
        let mut replies = Vec::new();
        for call in calls {
            replies.push(call.await??);
        }
        Ok(replies)
    }

    async fn send(&self, call: &ClientRequest) -> Result<Reply, ScenarioError> {
        let (to, call) = (self.service.address, call.clone());
        let sending = tokio::task::spawn_blocking(move || client::send_request(to, &call));
        sending.await?
    }

    async fn tick(&mut self, time: StepTime) -> Result<(), ScenarioError> {
        self.now = match time {
            StepTime::Next if !self.begun => self.now,
            StepTime::Next => self.now + BETWEEN_CALLS_MILLIS,
            StepTime::After(millis) => self.now + millis,
            StepTime::At(instant) => instant,
        };
        if !self.begun {
            self.service.clock.store(self.now, Ordering::SeqCst);
        }
        self.begun = true;
        self.service.move_clock(self.now).await
    }

    /// Compares the last answer with what is said of it.
    fn answer(&self, step: &ScenarioStep, reply: &Reply, out: &mut Vec<Diagnostic>) {
        let then = &step.then;
        let problem = reply.problem();
        if let Some((status, span)) = then.status {
            let named = then
                .problem
                .as_ref()
                .is_none_or(|wanted| problem.as_deref() == Some(&wanted.text));
            if reply.status != status || !named {
                let shown = |status: u16, problem: Option<&str>| match problem {
                    Some(problem) => format!("{status} `{problem}`"),
                    None => status.to_string(),
                };
                let wanted = shown(status, then.problem.as_ref().map(|wanted| wanted.text.as_str()));
                let got = shown(reply.status, problem.as_deref());
                let message = format!("`{}` answers {got}, expected {wanted}", step.when.text);
                let said = quoted_value(reply.json().as_ref().and_then(|body| body.get("detail")));
                let help = match problem.is_some() {
                    true => format!("it says {said}"),
                    false => format!("it says {}", quoted_value(reply.json().as_ref())),
                };
                return out.push(other_answer(span, message).help(help));
            }
        }
        let body = reply.json();
        if let Some(wanted) = &then.body {
            compare_answer(wanted, body.as_ref(), "body", &self.names, out);
        }
        if let Some(wanted) = &then.rows {
            let items = body.as_ref().and_then(|body| body.get("items"));
            compare_answer(wanted, items.or(body.as_ref()), "rows", &self.names, out);
        }
        for (name, wanted) in &then.headers {
            let got = reply.header(&name.text).map(Json::from);
            self.header(name, wanted, got.as_ref(), out);
        }
        capacity(step, reply, out);
    }

    /// A header is text, whatever it looks like.
    fn header(&self, name: &Text, wanted: &Node, got: Option<&Json>, out: &mut Vec<Diagnostic>) {
        let path = format!("headers.{}", name.text);
        let as_text = wanted
            .text()
            .filter(|text| !matches!(text.text.as_str(), "any" | "absent"));
        match as_text.map(|text| self.names.fill_text(text)) {
            Some(Ok(text)) if got.and_then(Json::as_str) == Some(&text) => {}
            Some(Ok(text)) => {
                let message = format!(
                    "`{path}` is {}, expected {}",
                    quoted_value(got),
                    quoted_value(Some(&Json::from(text)))
                );
                out.push(other_answer(wanted.span(), message));
            }
            Some(Err(wrong)) => out.push(*wrong),
            None => compare_answer(wanted, got, &path, &self.names, out),
        }
    }

    fn keep(&mut self, step: &ScenarioStep, reply: &Reply, out: &mut Vec<Diagnostic>) {
        let body = reply.json();
        for (name, from) in &step.keep {
            let value = match from.text.split_once('.') {
                Some(("body", path)) => body.as_ref().and_then(|body| at(body, path)).cloned(),
                Some(("header", name)) => reply.header(name).map(Json::from),
                _ => None,
            };
            match value {
                Some(value) => self.names.put_named(&name.text, value),
                None => {
                    let message = format!("the answer has no `{}` to keep", from.text);
                    let missing = other_answer(from.span, message);
                    out.push(missing.help("what is kept is named such as `body.id` or `header.ETag`"));
                }
            }
        }
    }
}

/// `items.0.task_id` in a body.
fn at<'a>(body: &'a Json, path: &str) -> Option<&'a Json> {
    path.split('.').try_fold(body, |value, name| match value {
        Json::Array(all) => all.get(name.parse::<usize>().ok()?),
        value => value.get(name),
    })
}

/// How many of several calls answered with which status.
fn counts(step: &ScenarioStep, replies: &[Reply], out: &mut Vec<Diagnostic>) {
    if step.then.each.is_empty() {
        return;
    }
    let mut seen: BTreeMap<u16, usize> = BTreeMap::new();
    for reply in replies {
        *seen.entry(reply.status).or_default() += 1;
    }
    let shown: Vec<String> = seen
        .iter()
        .map(|(status, count)| format!("{status}: {count}"))
        .collect();
    let wanted: BTreeMap<u16, usize> = step
        .then
        .each
        .iter()
        .map(|(status, count, _)| (*status, *count))
        .collect();
    let place = step.then.each.first().map(|(_, _, span)| *span);
    if let Some(span) = place.filter(|_| seen != wanted) {
        out.push(other_answer(
            span,
            format!("the answers by status are {{{}}}", shown.join(", ")),
        ));
    }
}

/// Compares what the answer says it consumed.
fn capacity(step: &ScenarioStep, reply: &Reply, out: &mut Vec<Diagnostic>) {
    let consumed = reply.header("singlet-capacity").unwrap_or_default();
    let units = |name: &str| {
        let found = consumed
            .split(' ')
            .find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
        found.and_then(|text| text.parse::<f64>().ok()).unwrap_or_default()
    };
    for (name, most) in [("read", step.then.read_max), ("write", step.then.write_max)] {
        if let Some((most, span)) = most.filter(|(most, _)| units(name) > *most) {
            let message = format!(
                "the call consumes {} {name} units, expected at most {most}",
                units(name)
            );
            out.push(other_answer(span, message));
        }
    }
}
