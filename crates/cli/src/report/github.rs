//! Workflow commands that GitHub turns into annotations of a change.

use singlet_model::Severity;

use super::{Report, finding_place};

/// One line for each finding.
pub(crate) fn render_github(report: &Report) -> String {
    report
        .located_findings()
        .map(|(source, finding)| {
            let (start, end) = finding_place(source, finding);
            let command = match finding.rule.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Hint => "notice",
            };
            let mut message = finding.message.clone();
            if let Some(help) = &finding.help {
                message.push_str("\nhelp: ");
                message.push_str(help);
            }
            format!(
                "::{command} file={},line={},col={},endLine={},endColumn={},title={}::{}\n",
                property(source.name()),
                start.line,
                start.column,
                end.line,
                end.column,
                property(&format!("{} {}", finding.rule.code, finding.rule.name)),
                data(&message),
            )
        })
        .collect()
}

/// Escapes what would end a message.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes what would end a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
