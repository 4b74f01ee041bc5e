//! A model that a command works on: read, checked, without errors.

use std::path::Path;
use std::process::ExitCode;

use singlet_model::{Diagnostic, Model, Source};

use crate::report::{self, Report};
use crate::{commands, exit, source};

/// What becomes of a model with errors of design rules.
#[derive(Clone, Copy, clap::Args)]
pub(crate) struct ErrorArgs {
    /// Run the model even though design rules find errors in it. Callers will run into what they find.
    #[arg(long)]
    pub accept_errors: bool,
}

/// Reads and resolves a model, whatever design rules say of it. What is wrong with it is shown, and the exit code says so.
pub(crate) fn load_model(path: &Path) -> Result<Model, ExitCode> {
    let source = decode(path)?;
    let loaded = singlet_model::load_source(&source);
    match loaded.model.filter(|_| !loaded.diagnostics.has_errors()) {
        Some(model) => Ok(model),
        None => Err(refuse(source, loaded.diagnostics.into_sorted())),
    }
}

/// Reads a model to run it: one in which design rules find errors only if they are accepted.
pub(crate) fn load_sound(path: &Path, accept_errors: bool) -> Result<Model, ExitCode> {
    let model = load_model(path)?;
    let source = decode(path)?;
    let errors = design_errors(&source);
    match (errors.len(), accept_errors) {
        (0, _) => Ok(model),
        (_, false) => {
            let code = refuse(source, errors);
            eprintln!("{}", accepting_help());
            Err(code)
        }
        (count, true) => {
            eprintln!(
                "note: {} of design rules accepted",
                crate::table::counted_thing(count, "error")
            );
            Ok(model)
        }
    }
}

/// The errors that design rules find, of a model that has none of the language.
pub(crate) fn design_errors(source: &Source) -> Vec<Diagnostic> {
    let found = singlet_lint::check_design(singlet_model::load_source(source)).into_sorted();
    let errors = found
        .into_iter()
        .filter(|finding| singlet_lint::fails_check(finding.rule.severity, false));
    errors.collect()
}

/// The way out for a model that design rules find errors in.
pub(crate) fn accepting_help() -> &'static str {
    "help: correct the model; `--accept-errors` runs it all the same"
}

/// Reads and resolves a model, and keeps its text to show places in it.
pub(crate) fn load_with_source(path: &Path) -> Result<(Model, Source), ExitCode> {
    let model = load_model(path)?;
    Ok((model, decode(path)?))
}

fn decode(path: &Path) -> Result<Source, ExitCode> {
    let bytes = source::read_source(path).map_err(|reason| fail_command(&reason))?;
    singlet_model::decode_source(&path.display().to_string(), bytes)
        .map_err(|invalid| refuse(invalid.0, vec![invalid.1]))
}

/// Says why a command cannot be carried out.
pub(crate) fn fail_command(reason: &str) -> ExitCode {
    eprintln!("error: {reason}");
    ExitCode::from(exit::USAGE)
}

fn refuse(source: Source, findings: Vec<Diagnostic>) -> ExitCode {
    let mut report = Report::default();
    report.add_file((source, findings));
    commands::print_text(&report::text::render_text(&report, false, false));
    ExitCode::from(exit::FINDINGS)
}
