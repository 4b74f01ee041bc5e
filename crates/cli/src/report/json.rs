//! The stable list: `docs/check.md` documents it.

use serde::Serialize;

use super::{Report, finding_place};

#[derive(Serialize)]
struct Finding<'a> {
    code: &'a str,
    name: &'a str,
    severity: &'a str,
    message: &'a str,
    help: Option<&'a str>,
    subject: Option<&'a str>,
    file: &'a str,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
}

/// The findings as a JSON list.
pub(crate) fn render_json(report: &Report) -> String {
    let findings: Vec<Finding<'_>> = report
        .located_findings()
        .map(|(source, finding)| {
            let (start, end) = finding_place(source, finding);
            Finding {
                code: finding.rule.code,
                name: finding.rule.name,
                severity: finding.rule.severity.word(),
                message: &finding.message,
                help: finding.help.as_deref(),
                subject: Some(finding.subject.as_str()).filter(|subject| !subject.is_empty()),
                file: source.name(),
                line: start.line,
                column: start.column,
                end_line: end.line,
                end_column: end.column,
            }
        })
        .collect();
    let mut text = serde_json::to_string_pretty(&findings).unwrap_or_default();
    text.push('\n');
    text
}
