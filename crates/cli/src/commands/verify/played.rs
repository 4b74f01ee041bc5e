//! What came of scenarios, as text and as JSON.

use serde_json::{Value as Json, json};
use singlet_model::{Diagnostic, Source};
use singlet_scenario::{Outcome, Played, Target};

use super::counted;
use crate::report::{finding_place, text};

/// As text, without what differs elsewhere.
pub(super) fn as_text(name: &str, source: &Source, outcome: &Outcome) -> String {
    let mut shown = String::new();
    let longest = outcome.played.iter().map(|played| played.name.chars().count()).max();
    for played in &outcome.played {
        let word = if played.differences.is_empty() { "ok  " } else { "FAIL" };
        let width = longest.unwrap_or_default();
        shown.push_str(&format!(
            "{word}  {:width$}  {}\n",
            played.name,
            counted(played.calls, "call")
        ));
    }
    shown.push('\n');
    let differences = outcome.played.iter().flat_map(|played| &played.differences);
    for finding in differences.chain(&outcome.findings) {
        shown.push_str(&finding_snippet(source, finding));
    }
    let missing: Vec<String> = outcome
        .coverage
        .missing_targets()
        .map(|target| format!("  {target}\n"))
        .collect();
    if !missing.is_empty() {
        shown.push_str(&format!("not reached:\n{}\n", missing.concat()));
    }
    let failed = outcome
        .played
        .iter()
        .filter(|played| !played.differences.is_empty())
        .count();
    let calls = outcome.played.iter().map(|played| played.calls).sum();
    let scenarios = counted(outcome.played.len(), "scenario");
    let verdict = if failed == 0 {
        "all as written".to_owned()
    } else {
        format!("{failed} not as written")
    };
    shown.push_str(&format!("{name}: {scenarios}, {}: {verdict}\n", counted(calls, "call")));
    let parts: Vec<String> = kinds(outcome)
        .into_iter()
        .filter(|(_, (_, there))| *there > 0)
        .map(|(kind, (reached, there))| format!("{reached} of {there} {kind}"))
        .collect();
    let excused = outcome.coverage.excused_count();
    let excused = if excused == 0 {
        String::new()
    } else {
        format!(" ({excused} more are said to be unreachable)")
    };
    shown.push_str(&format!("reached: {}{excused}\n", parts.join(", ")));
    shown
}

fn kinds(outcome: &Outcome) -> [(&'static str, (usize, usize)); 4] {
    let count = |kind: fn(&Target) -> bool| outcome.coverage.target_counts(kind);
    [
        ("operations", count(|target| matches!(target, Target::Operation(_)))),
        ("statuses", count(|target| matches!(target, Target::Status { .. }))),
        ("refusals", count(|target| matches!(target, Target::Refusal { .. }))),
        ("roles", count(|target| matches!(target, Target::Role(_)))),
    ]
}

/// The fields of a JSON report: `scenarios`, `findings` and `coverage`.
pub(super) fn as_json(source: &Source, outcome: &Outcome) -> Vec<(&'static str, Json)> {
    let played = |played: &Played| {
        let differences: Vec<Json> = played
            .differences
            .iter()
            .map(|finding| located_finding(source, finding))
            .collect();
        json!({
            "name": played.name,
            "line": source.position_at(played.span.start).line,
            "passed": played.differences.is_empty(),
            "calls": played.calls,
            "differences": differences,
        })
    };
    let scenarios: Vec<Json> = outcome.played.iter().map(played).collect();
    let findings: Vec<Json> = outcome
        .findings
        .iter()
        .map(|finding| located_finding(source, finding))
        .collect();
    let missing: Vec<String> = outcome.coverage.missing_targets().map(Target::to_string).collect();
    let mut coverage = serde_json::Map::new();
    for (kind, (reached, there)) in kinds(outcome) {
        coverage.insert(kind.to_owned(), json!({"reached": reached, "of": there}));
    }
    coverage.insert("unreachable".to_owned(), json!(outcome.coverage.excused_count()));
    coverage.insert("missing".to_owned(), json!(missing));
    vec![
        ("scenarios", json!(scenarios)),
        ("findings", json!(findings)),
        ("coverage", Json::Object(coverage)),
    ]
}

/// Whether every answer is as written.
pub(super) fn is_passed(outcome: &Outcome) -> bool {
    outcome.findings.is_empty() && outcome.played.iter().all(|played| played.differences.is_empty())
}

/// A finding with its place.
pub(super) fn located_finding(source: &Source, finding: &Diagnostic) -> Json {
    let (start, _) = finding_place(source, finding);
    json!({
        "code": finding.rule.code,
        "message": finding.message,
        "help": finding.help,
        "file": source.name(),
        "line": start.line,
        "column": start.column,
    })
}

/// A finding with the lines that it is about.
pub(super) fn finding_snippet(source: &Source, finding: &Diagnostic) -> String {
    let mut shown = text::finding_text(source, finding);
    shown.push_str("\n\n");
    shown
}
