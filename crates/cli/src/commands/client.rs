//! `singlet client`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use singlet_http::typescript_client;

use crate::model::{self, fail_command};

/// Write a typed client of a model's service.
///
/// It has no dependencies and is one file: a function for each read and write, ids as types of their own, pages as asynchronous
/// iterators, refusals by name, and idempotency keys that it makes itself.
#[derive(Args)]
pub(crate) struct Client {
    /// The language.
    language: Language,
    /// The model file.
    model: PathBuf,
    /// Where to write it; to standard output unless given.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Language {
    Typescript,
}

impl Client {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        let loaded = match model::load_model(&self.model) {
            Ok(loaded) => loaded,
            Err(code) => return code,
        };
        let text = match self.language {
            Language::Typescript => typescript_client(&loaded),
        };
        match &self.out {
            None => super::print_text(&text),
            Some(path) => match std::fs::write(path, text) {
                Ok(()) => super::print_text(&format!("{} written\n", path.display())),
                Err(error) => fail_command(&format!("`{}` cannot be written: {error}", path.display())),
            },
        }
    }
}
