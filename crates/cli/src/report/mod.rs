//! How findings are shown.

pub(crate) mod github;
pub(crate) mod json;
pub(crate) mod sarif;
pub(crate) mod text;

use singlet_model::{Diagnostic, Position, Severity, Source};

/// The findings of several files.
#[derive(Default)]
pub(crate) struct Report {
    files: Vec<(Source, Vec<Diagnostic>)>,
}

impl Report {
    /// Adds a file and its findings.
    pub(crate) fn add_file(&mut self, file: (Source, Vec<Diagnostic>)) {
        self.files.push(file);
    }

    /// How many files were checked.
    pub(crate) fn file_count(&self) -> usize {
        self.files.len()
    }

    /// Every finding with its file.
    pub(crate) fn located_findings(&self) -> impl Iterator<Item = (&Source, &Diagnostic)> {
        self.files
            .iter()
            .flat_map(|(source, findings)| findings.iter().map(move |finding| (source, finding)))
    }

    /// How many findings have that weight.
    pub(crate) fn count(&self, severity: Severity) -> usize {
        self.located_findings()
            .filter(|(_, finding)| finding.rule.severity == severity)
            .count()
    }
}

/// Where a finding begins and ends, as people count.
pub(crate) fn finding_place(source: &Source, finding: &Diagnostic) -> (Position, Position) {
    (
        source.position_at(finding.span.start),
        source.position_at(finding.span.end),
    )
}
