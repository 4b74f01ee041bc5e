//! What came of a run as JUnit's XML, which every build service shows.

use singlet_model::{Diagnostic, Source};
use singlet_verify::probe::Report;

use super::Scenarios;
use super::drawn::Again;
use super::played::finding_snippet;

/// One suite of scenarios, one of drawn cases.
pub(super) fn junit_suites(
    name: &str,
    scenarios: Option<&Scenarios>,
    report: Option<&Report>,
    again: &Again<'_>,
) -> String {
    let mut suites = Vec::new();
    if let Some((source, outcome)) = scenarios {
        let mut cases: Vec<Case> = Vec::new();
        for played in &outcome.played {
            let differences = played
                .differences
                .iter()
                .map(|finding| finding_snippet(source, finding));
            cases.push(Case::new(&played.name, differences.collect::<String>()));
        }
        for finding in &outcome.findings {
            cases.push(Case::new("unreachable", finding_snippet(source, finding)));
        }
        suites.push(suite(&format!("{name} scenarios"), &cases));
    }
    if let Some(report) = report {
        let cases = report.operations.iter().map(|operation| {
            let failed = operation.finding.as_ref();
            let failed = failed.map(|finding| format!("{finding}  again\n    {}\n", again(finding)));
            Case {
                name: format!("{} {}", operation.kind.as_str(), operation.name),
                failed: failed.unwrap_or_default(),
                skipped: operation.skipped.clone(),
            }
        });
        suites.push(suite(&format!("{name} drawn"), &cases.collect::<Vec<_>>()));
    }
    document(&suites)
}

/// A file of scenarios that cannot be played.
pub(super) fn junit_mistakes(source: &Source, findings: &[Diagnostic]) -> String {
    let cases: Vec<Case> = findings
        .iter()
        .map(|finding| Case::new(source.name(), finding_snippet(source, finding)))
        .collect();
    document(&[suite(source.name(), &cases)])
}

struct Case {
    name: String,
    /// What differs; nothing where it passed.
    failed: String,
    skipped: Option<String>,
}

impl Case {
    fn new(name: &str, failed: String) -> Self {
        Case {
            name: name.to_owned(),
            failed,
            skipped: None,
        }
    }
}

fn document(suites: &[String]) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n{}</testsuites>\n",
        suites.concat()
    )
}

fn suite(name: &str, cases: &[Case]) -> String {
    let failures = cases.iter().filter(|case| !case.failed.is_empty()).count();
    let skipped = cases
        .iter()
        .filter(|case| case.failed.is_empty() && case.skipped.is_some())
        .count();
    let name = escaped(name);
    let mut text = format!(
        "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{failures}\" skipped=\"{skipped}\">\n",
        cases.len()
    );
    for case in cases {
        let own = format!("    <testcase classname=\"{name}\" name=\"{}\"", escaped(&case.name));
        let inner = match (&case.failed, &case.skipped) {
            (failed, _) if !failed.is_empty() => {
                let first = escaped(failed.lines().next().unwrap_or_default());
                format!(
                    ">\n      <failure message=\"{first}\">{}</failure>\n    </testcase>\n",
                    escaped(failed)
                )
            }
            (_, Some(reason)) => format!(">\n      <skipped message=\"{}\"/>\n    </testcase>\n", escaped(reason)),
            _ => "/>\n".to_owned(),
        };
        text.push_str(&own);
        text.push_str(&inner);
    }
    text.push_str("  </testsuite>\n");
    text
}

/// Text as XML has it; characters that XML cannot have are left out.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(char),
            char if char.is_control() || matches!(char, '\u{FFFE}' | '\u{FFFF}') => escaped.push('\u{FFFD}'),
            char => escaped.push(char),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_is_no_markup() {
        assert_eq!(escaped("a < \"b\" & \u{1}"), "a &lt; &quot;b&quot; &amp; \u{FFFD}");
        let text = suite(
            "s",
            &[Case::new("one", "x <y>".to_owned()), Case::new("two", String::new())],
        );
        assert!(text.contains("tests=\"2\" failures=\"1\" skipped=\"0\""), "{text}");
        assert!(text.contains("<failure message=\"x &lt;y&gt;\">"), "{text}");
    }
}
