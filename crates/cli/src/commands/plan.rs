//! `singlet plan`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use singlet_model::diagnostic::nearest;
use singlet_plan::cost::Sizes;
use singlet_plan::read::{plan_read, priced_plan_text};

use crate::model;

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
        let model = match model::load(&self.model) {
            Ok(model) => model,
            Err(code) => return code,
        };
        let sizes = Sizes::of(&model);
        let wanted = |name: &str| self.name.as_ref().is_none_or(|wanted| wanted == name);
        let texts: Vec<String> = model
            .reads
            .iter()
            .filter(|read| wanted(&read.name))
            .map(|read| priced_plan_text(&model, &plan_read(&model, read), &sizes, self.why))
            .collect();
        match (&self.name, texts.is_empty()) {
            (Some(name), true) => {
                let near = nearest(name, model.reads.iter().map(|read| read.name.as_str()));
                let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                model::fail(&format!("`{}` has no read `{name}`{hint}", model.name))
            }
            _ => super::print(&texts.concat()),
        }
    }
}
