//! The subcommands.

pub mod check;
pub mod completions;
pub mod explain;
pub mod plan;
pub mod schema;

use std::io::Write;
use std::process::ExitCode;

use crate::exit;

/// Writes to standard output. A reader that went away (`| head`) is no failure.
pub fn print(text: &str) -> ExitCode {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::from(exit::CLEAN),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::from(exit::CLEAN),
        Err(error) => {
            eprintln!("error: standard output cannot be written: {error}");
            ExitCode::from(exit::USAGE)
        }
    }
}
