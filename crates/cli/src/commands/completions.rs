//! `singlet completions`.

use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

/// Print a completion script for a shell.
#[derive(Args)]
pub(crate) struct Completions {
    /// The shell.
    shell: Shell,
}

impl Completions {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut crate::Cli::command(), "singlet", &mut script);
        super::print_text(&String::from_utf8_lossy(&script))
    }
}
