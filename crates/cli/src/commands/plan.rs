//! `singlet plan`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use singlet_model::diagnostic::nearest;
use singlet_plan::read::{plan_read, plan_text};

use crate::report::{self, Report};
use crate::{exit, source};

/// Show what each read becomes: which key condition answers it, and what is left to filter.
#[derive(Args)]
pub struct Plan {
    /// The model file.
    model: PathBuf,
    /// One read; all of them without it.
    name: Option<String>,
    /// Also say why the other indexes do not answer it, or lose.
    #[arg(long)]
    why: bool,
}

impl Plan {
    /// Runs the command.
    pub fn run(self) -> ExitCode {
        let bytes = match source::read(&self.model) {
            Ok(bytes) => bytes,
            Err(reason) => return usage(&reason),
        };
        let source = match singlet_model::decode(&self.model.display().to_string(), bytes) {
            Ok(source) => source,
            Err(invalid) => return refused(invalid.0, vec![invalid.1]),
        };
        let loaded = singlet_model::load(&source);
        let Some(model) = loaded.model.filter(|_| !loaded.diagnostics.has_errors()) else {
            return refused(source, loaded.diagnostics.into_sorted());
        };
        let wanted = |name: &str| self.name.as_ref().is_none_or(|wanted| wanted == name);
        let texts: Vec<String> = model
            .reads
            .iter()
            .filter(|read| wanted(&read.name))
            .map(|read| plan_text(&model, &plan_read(&model, read), self.why))
            .collect();
        match (&self.name, texts.is_empty()) {
            (Some(name), true) => {
                let near = nearest(name, model.reads.iter().map(|read| read.name.as_str()));
                let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                usage(&format!("`{}` has no read `{name}`{hint}", model.name))
            }
            _ => super::print(&texts.concat()),
        }
    }
}

fn usage(reason: &str) -> ExitCode {
    eprintln!("error: {reason}");
    ExitCode::from(exit::USAGE)
}

/// A model with errors is not planned; what is wrong with it is shown instead.
fn refused(source: singlet_model::Source, findings: Vec<singlet_model::Diagnostic>) -> ExitCode {
    let mut report = Report::default();
    report.add((source, findings));
    super::print(&report::text::render(&report, false, false));
    ExitCode::from(exit::FINDINGS)
}
