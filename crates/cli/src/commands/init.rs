//! `singlet init`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::serve::bundled::{self, SYSTEMS};
use crate::model::fail_command;

/// Start a model: a small one that runs at once, or one of the five systems.
///
/// Writes `model.yaml`, `sample.jsonl` and `scenarios.yaml`. Existing files are never overwritten.
#[derive(Args)]
pub(crate) struct Init {
    /// The folder; created if it does not exist.
    #[arg(default_value = ".", value_name = "FOLDER")]
    folder: PathBuf,
    /// One of the systems that come with the command: `todo`, `wardrobe`, `country`, `booking`, `ecobid`.
    #[arg(long, value_name = "SYSTEM")]
    from: Option<String>,
}

/// A file to write: its name, what is in it, and what it is for.
type NewFile = (&'static str, &'static str, &'static str);

const SMALL: [NewFile; 3] = [
    (
        "model.yaml",
        include_str!("init/model.yaml"),
        "the design: entities, keys, reads and writes",
    ),
    ("sample.jsonl", include_str!("init/sample.jsonl"), "rows to begin with"),
    (
        "scenarios.yaml",
        include_str!("init/scenarios.yaml"),
        "what the service must do",
    ),
];

impl Init {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        match self.write_files() {
            Ok(text) => super::print_text(&text),
            Err(reason) => fail_command(&reason),
        }
    }

    fn write_files(&self) -> Result<String, String> {
        let files = match &self.from {
            None => SMALL.to_vec(),
            Some(name) => {
                let system = bundled::bundled_system(name).ok_or_else(|| {
                    let known: Vec<&str> = SYSTEMS.iter().map(|system| system.name).collect();
                    format!(
                        "no system `{name}` comes with the command; there are `{}`",
                        known.join("`, `")
                    )
                })?;
                vec![
                    ("model.yaml", system.model, "the design of a real team"),
                    ("sample.jsonl", system.sample, "rows to begin with"),
                    ("scenarios.yaml", system.scenarios, "what the service must do"),
                ]
            }
        };
        fs::create_dir_all(&self.folder)
            .map_err(|error| format!("`{}` cannot be made: {error}", self.folder.display()))?;
        let there = files.iter().map(|(name, ..)| self.folder.join(name));
        if let Some(path) = there.into_iter().find(|path| path.exists()) {
            return Err(format!(
                "`{}` is there, and is not written over: name another folder, `singlet init FOLDER`",
                path.display()
            ));
        }
        for (name, text, _) in &files {
            write_new(&self.folder.join(name), text)?;
        }
        Ok(self.next_steps(&files))
    }

    /// What was written, and what to run next.
    fn next_steps(&self, files: &[NewFile]) -> String {
        let mut text = String::new();
        let width = self.shown("scenarios.yaml").chars().count();
        for (name, _, what) in files {
            text.push_str(&format!("{:<width$}  {what}\n", self.shown(name)));
        }
        let model = self.shown("model.yaml");
        for (command, what) in [
            (format!("singlet check {model}"), "what is wrong with the design"),
            (format!("singlet plan {model}"), "what each read and write becomes"),
            (
                format!("singlet serve {model} --sample"),
                "the service, with a call to try",
            ),
            (
                format!("singlet verify {model}"),
                "reads and writes held against what they mean",
            ),
        ] {
            text.push_str(&format!("\n  {command:<40}  # {what}"));
        }
        text.push('\n');
        text
    }

    fn shown(&self, name: &str) -> String {
        match self.folder == Path::new(".") {
            true => name.to_owned(),
            false => self.folder.join(name).display().to_string(),
        }
    }
}

/// Writes a file that is not there yet: another may have made it meanwhile.
fn write_new(path: &Path, text: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("`{}` cannot be written: {error}", path.display());
    let mut file = fs::File::create_new(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)
}
