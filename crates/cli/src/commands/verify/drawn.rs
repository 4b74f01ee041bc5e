//! What came of cases that were drawn, as text and as JSON.

use indicatif::ProgressBar;
use serde_json::{Map, Value as Json, json};
use singlet_item::Value;
use singlet_model::Model;
use singlet_values as values;
use singlet_verify::probe::{Call, Finding, Kind, OperationReport, Report, names_a_call};

use super::counted;
use crate::progress;

/// The command that shows a finding again.
pub(super) type Again<'a> = dyn Fn(&Finding) -> String + 'a;

/// A bar over all cases.
pub(super) fn case_bar(model: &Model, only: &[String], cases: usize) -> ProgressBar {
    let wanted = |name: &String| only.is_empty() || only.contains(name);
    let reads = model.reads.iter().filter(|read| wanted(&read.name));
    let by_hand = reads.clone().filter(|read| read.using.is_some()).count();
    let writes = model.writes.iter().filter(|write| wanted(&write.name));
    let called = writes.clone().filter(|write| names_a_call(model, write)).count();
    let all = reads.count() + by_hand + writes.count() + called;
    progress::count_bar((all * cases) as u64, "cases")
}

/// A line for each operation, what differs, and the sum.
pub(super) fn as_text(name: &str, report: &Report, seed: u64, again: &Again<'_>) -> String {
    let mut shown = String::new();
    let titles: Vec<String> = report.operations.iter().map(title).collect();
    let width = titles
        .iter()
        .map(|title| title.chars().count())
        .max()
        .unwrap_or_default();
    for (operation, title) in report.operations.iter().zip(&titles) {
        let (word, said) = match (&operation.finding, &operation.skipped) {
            (Some(_), _) => ("FAIL", counted(operation.cases, "case")),
            (None, Some(reason)) => ("skip", reason.clone()),
            (None, None) => ("ok  ", tally(operation)),
        };
        shown.push_str(&format!("{word}  {title:width$}  {said}\n"));
    }
    shown.push('\n');
    for finding in report.all_findings() {
        shown.push_str(&format!("{finding}  again\n    {}\n\n", again(finding)));
    }
    let found = report.all_findings().count();
    let verdict = match found {
        0 => "nothing found".to_owned(),
        count => format!("{count} found"),
    };
    let operations = counted(report.operations.len(), "operation");
    shown.push_str(&format!(
        "{name}: {} of {operations}, seed {seed}: {verdict}\n",
        counted(report.case_count(), "case")
    ));
    shown
}

fn title(operation: &OperationReport) -> String {
    match operation.kind {
        Kind::Using | Kind::Calls => format!("{} (using)", operation.name),
        Kind::Read | Kind::Write => operation.name.clone(),
    }
}

fn tally(operation: &OperationReport) -> String {
    let word = match operation.kind {
        Kind::Write | Kind::Calls => "done",
        Kind::Read | Kind::Using => "rows",
    };
    let count = operation.outcomes.get(word).copied().unwrap_or_default();
    let said = match operation.kind {
        Kind::Write | Kind::Calls => format!("{count} done"),
        Kind::Read | Kind::Using => format!("{count} with rows"),
    };
    format!("{}, {said}", counted(operation.cases, "case"))
}

/// `{seed, cases, passed, operations}`.
pub(super) fn as_json(report: &Report, seed: u64, again: &Again<'_>) -> Json {
    let operations = report.operations.iter().map(|operation| {
        json!({
            "name": operation.name,
            "kind": operation.kind.as_str(),
            "cases": operation.cases,
            "outcomes": operation.outcomes,
            "skipped": operation.skipped,
            "finding": operation.finding.as_ref().map(|finding| finding_json(finding, again)),
        })
    });
    json!({
        "seed": seed,
        "cases": report.case_count(),
        "passed": report.all_findings().next().is_none(),
        "operations": operations.collect::<Vec<_>>(),
    })
}

fn finding_json(finding: &Finding, again: &Again<'_>) -> Json {
    let row = |(entity, row): &(String, singlet_runtime::Attributes)| {
        let row = values::to_json(&Value::M(row.clone()));
        Json::Object(Map::from_iter([(entity.clone(), row)]))
    };
    let call = |call: &Call| {
        json!({
            "operation": call.operation,
            "args": values::to_json(&Value::M(call.args.clone())),
            "claims": values::to_json(&Value::M(call.caller.claims.clone())),
            "authenticated": call.caller.authenticated,
            "limit": call.page,
            "key": call.request_key,
            "version": call.version,
            "now": call.now,
            "command": call.as_command(),
        })
    };
    json!({
        "operation": finding.operation,
        "what": finding.what,
        "given": finding.given.iter().map(row).collect::<Vec<_>>(),
        "calls": finding.calls.iter().map(call).collect::<Vec<_>>(),
        "expected": finding.expected,
        "got": finding.got,
        "sent": finding.sent,
        "keys": finding.keys,
        "again": again(finding),
    })
}
