//! How findings are shown.

pub mod github;
pub mod json;
pub mod sarif;
pub mod text;

use singlet_model::{Diagnostic, Position, Severity, Source};

/// The findings of several files.
#[derive(Default)]
pub struct Report {
    files: Vec<(Source, Vec<Diagnostic>)>,
}

impl Report {
    /// Adds a file and its findings.
    pub fn add(&mut self, file: (Source, Vec<Diagnostic>)) {
        self.files.push(file);
    }

    /// How many files were checked.
    pub fn file_count(&self) -> usize {
        self.files.len()
    }

    /// Every finding with its file.
    pub fn findings(&self) -> impl Iterator<Item = (&Source, &Diagnostic)> {
        self.files
            .iter()
            .flat_map(|(source, findings)| findings.iter().map(move |finding| (source, finding)))
    }

    /// How many findings have that weight.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings()
            .filter(|(_, finding)| finding.rule.severity == severity)
            .count()
    }
}

/// Where a finding begins and ends, as people count.
pub fn place(source: &Source, finding: &Diagnostic) -> (Position, Position) {
    (source.position(finding.span.start), source.position(finding.span.end))
}
