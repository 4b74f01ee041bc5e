//! `singlet schema`.

use std::process::ExitCode;

use clap::Args;

/// Print the JSON Schema of a model file, for editors.
///
/// A line `# yaml-language-server: $schema=PATH` at the top of a model points most editors at it.
#[derive(Args)]
pub(crate) struct Schema {}

impl Schema {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        super::print_text(&format!("{:#}\n", singlet_model::grammar::json_schema()))
    }
}
