//! SARIF 2.1.0, which code scanning services read.

use serde_json::{Value, json};
use singlet_model::{Diagnostic, Severity, Source};

use super::{Report, finding_place};

/// A whole SARIF log.
pub(crate) fn render_sarif(report: &Report) -> String {
    let rules: Vec<Value> = singlet_lint::all_rules()
        .map(|rule| {
            json!({
                "id": rule.code,
                "name": rule.name,
                "shortDescription": {"text": rule.page_summary()},
                "help": {"text": singlet_lint::rule_page(rule), "markdown": singlet_lint::rule_page(rule)},
                "defaultConfiguration": {"level": level(rule.severity)},
            })
        })
        .collect();
    let results: Vec<Value> = report
        .located_findings()
        .map(|(source, finding)| result(source, finding))
        .collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "singlet", "version": env!("CARGO_PKG_VERSION"), "rules": rules}},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

fn result(source: &Source, finding: &Diagnostic) -> Value {
    let (start, end) = finding_place(source, finding);
    let text = match &finding.help {
        Some(help) => format!("{}\nhelp: {help}", finding.message),
        None => finding.message.clone(),
    };
    json!({
        "ruleId": finding.rule.code,
        "level": level(finding.rule.severity),
        "message": {"text": text},
        "locations": [{
            "physicalLocation": {
                "artifactLocation": {"uri": source.name()},
                "region": {
                    "startLine": start.line,
                    "startColumn": start.column,
                    "endLine": end.line,
                    "endColumn": end.column,
                },
            },
        }],
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Hint => "note",
    }
}
