//! The scenarios of the five systems, over real HTTP.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::path::Path;
use std::sync::Arc;

use singlet_model::node::{self, Node};
use singlet_model::{Diagnostic, Diagnostics, Model, Source};
use singlet_scenario::{Outcome, play_scenarios, read_scenarios};

fn text_of(system: &str, file: &str) -> Source {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../systems")
        .join(system)
        .join(file);
    Source::new(
        format!("systems/{system}/{file}"),
        std::fs::read_to_string(path).unwrap(),
    )
}

fn model(system: &str) -> Model {
    singlet_model::load_source(&text_of(system, "model.yaml"))
        .model
        .unwrap()
}

fn shown(source: &Source, finding: &Diagnostic) -> String {
    let place = source.position_at(finding.span.start);
    let help = finding.help.as_deref().unwrap_or_default();
    format!(
        "{}:{}:{}: {}\n    {help}",
        source.name(),
        place.line,
        place.column,
        finding.message
    )
}

fn play(source: &Source, model: Model) -> Result<Outcome, String> {
    let mut found = Diagnostics::default();
    let file = read_scenarios(source, &model, &mut found);
    let mistakes: Vec<String> = found.iter().map(|finding| shown(source, finding)).collect();
    let file = file
        .filter(|_| mistakes.is_empty())
        .ok_or_else(|| mistakes.join("\n"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let outcome = runtime.block_on(play_scenarios(&file, Arc::new(model)));
    outcome.map_err(|error| error.to_string())
}

/// Every scenario plays as it is written, and together they reach all that can be reached.
fn all_as_written(system: &str) {
    let source = text_of(system, "scenarios.yaml");
    let outcome = play(&source, model(system)).unwrap_or_else(|reason| panic!("{reason}"));
    let differences = outcome.played.iter().flat_map(|played| &played.differences);
    let mut wrong: Vec<String> = differences
        .chain(&outcome.findings)
        .map(|finding| shown(&source, finding))
        .collect();
    wrong.extend(
        outcome
            .coverage
            .missing_targets()
            .map(|target| format!("not reached: {target}")),
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn todo() {
    all_as_written("todo");
}

#[test]
fn wardrobe() {
    all_as_written("wardrobe");
}

#[test]
fn country() {
    all_as_written("country");
}

#[test]
fn booking() {
    all_as_written("booking");
}

#[test]
fn ecobid() {
    all_as_written("ecobid");
}

/// What is said to close a hole of a document is a scenario of the corrected model; the tests above play all of them.
#[test]
fn what_closes_a_hole_is_played() {
    for system in ["todo", "wardrobe", "country", "booking", "ecobid"] {
        let mut found = Diagnostics::default();
        let file = read_scenarios(&text_of(system, "scenarios.yaml"), &model(system), &mut found).unwrap();
        let played: Vec<&str> = file
            .scenarios
            .iter()
            .map(|scenario| scenario.name.text.as_str())
            .collect();
        let holes = node::read_tree(&text_of(system, "holes.yaml"), &mut found).unwrap();
        let closing = holes.elements().iter().filter_map(|hole| hole.get("closed_by"));
        for name in closing.flat_map(Node::elements).filter_map(Node::str) {
            assert!(played.contains(&name), "systems/{system} has no scenario `{name}`");
        }
    }
}

/// The lines of a file with mistakes, each marked with what is said of it.
#[test]
fn mistakes_are_reported_where_they_stand() {
    let text = include_str!("mistakes.yaml");
    let source = Source::new("mistakes.yaml", text);
    let mut found = Diagnostics::default();
    read_scenarios(&source, &model("todo"), &mut found);
    let said: Vec<(usize, String)> = found
        .into_sorted()
        .iter()
        .map(|finding| (source.position_at(finding.span.start).line, finding.message.clone()))
        .collect();
    let wanted: Vec<(usize, String)> = (1..)
        .zip(text.lines())
        .filter_map(|(line, text)| Some((line, text.split_once("#~ ")?.1.to_owned())))
        .collect();
    assert_eq!(said, wanted);
}

/// What a scenario says wrongly of an answer is told, located, with what the answer is.
#[test]
fn differences_are_reported_where_they_stand() {
    let text = include_str!("differences.yaml");
    let source = Source::new("differences.yaml", text);
    let outcome = play(&source, model("todo")).unwrap();
    let said: Vec<(usize, String)> = outcome
        .played
        .iter()
        .flat_map(|played| &played.differences)
        .chain(&outcome.findings)
        .map(|finding| (source.position_at(finding.span.start).line, finding.message.clone()))
        .collect();
    let wanted: Vec<(usize, String)> = (1..)
        .zip(text.lines())
        .filter_map(|(line, text)| Some((line, text.split_once("#~ ")?.1.to_owned())))
        .collect();
    let mut sorted = said.clone();
    sorted.sort();
    assert_eq!(sorted, wanted);
}

/// Each of several calls has a number, in its path, its body and its headers: without it, one of three users would be made.
#[test]
fn calls_of_one_step_are_numbered() {
    let text = "\
now: 2026-03-10T09:00:00Z
unreachable: []
scenarios:
  - name: three requests with keys of their own, at the same time
    by: ada
    steps:
      - {when: POST /api/v1/users, send: {email: ada@example.org, name: Ada}, then: 201}
      - when: POST /api/v1/tasks
        at_once: 3
        send: {title: \"task {n}\"}
        headers: {Idempotency-Key: \"key-{n}\"}
        then: {status: 201, each: {201: 3}}
      - when: POST /api/v1/tasks
        times: 2
        send: {title: \"task {n}\"}
        headers: {Idempotency-Key: \"key-{n}\"}
        then: {status: 201, body: {title: task 2}}
";
    let source = Source::new("numbered.yaml", text);
    let outcome = play(&source, model("todo")).unwrap_or_else(|reason| panic!("{reason}"));
    let differences = outcome.played.iter().flat_map(|played| &played.differences);
    let wrong: Vec<String> = differences.map(|finding| shown(&source, finding)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
