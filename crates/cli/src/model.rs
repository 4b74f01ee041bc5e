//! A model that a command works on: read, checked, without errors.

use std::path::Path;
use std::process::ExitCode;

use singlet_model::{Diagnostic, Model, Source};

use crate::report::{self, Report};
use crate::{commands, exit, source};

/// Reads and resolves a model. What is wrong with it is shown, and the exit code says so.
pub fn load(path: &Path) -> Result<Model, ExitCode> {
    let bytes = source::read(path).map_err(|reason| fail(&reason))?;
    let source = singlet_model::decode(&path.display().to_string(), bytes)
        .map_err(|invalid| refuse(invalid.0, vec![invalid.1]))?;
    let loaded = singlet_model::load(&source);
    match loaded.model.filter(|_| !loaded.diagnostics.has_errors()) {
        Some(model) => Ok(model),
        None => Err(refuse(source, loaded.diagnostics.into_sorted())),
    }
}

/// Says why a command cannot be carried out.
pub fn fail(reason: &str) -> ExitCode {
    eprintln!("error: {reason}");
    ExitCode::from(exit::USAGE)
}

fn refuse(source: Source, findings: Vec<Diagnostic>) -> ExitCode {
    let mut report = Report::default();
    report.add((source, findings));
    commands::print(&report::text::render(&report, false, false));
    ExitCode::from(exit::FINDINGS)
}
