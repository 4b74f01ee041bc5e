//! Where models come from: files, or the binary itself.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use singlet_model::Model;

use super::bundled::{Bundled, SYSTEMS};
use crate::report::{self, Report};
use crate::{model, source};

/// A model to serve.
pub(crate) enum Source {
    /// A file.
    File {
        /// Where it is.
        path: PathBuf,
        /// Whether a new table is filled from `sample.jsonl` beside it.
        fills: bool,
        /// Whether it is served though design rules find errors in it.
        accepts_errors: bool,
    },
    /// One of the five.
    Bundled(&'static Bundled),
}

impl Source {
    /// The files, or the five systems where there are none.
    pub(crate) fn all(paths: &[PathBuf], fills: bool, accepts_errors: bool) -> Vec<Source> {
        let file = |path: &PathBuf| Source::File {
            path: path.clone(),
            fills,
            accepts_errors,
        };
        match paths.is_empty() {
            true => SYSTEMS.iter().map(Source::Bundled).collect(),
            false => paths.iter().map(file).collect(),
        }
    }

    /// The model at the start. What is wrong with it is shown.
    pub(crate) fn load_first(&self) -> Result<Model, ExitCode> {
        match self {
            Source::File {
                path, accepts_errors, ..
            } => model::load_sound(path, *accepts_errors),
            // What comes with the command was checked when it was built.
            Source::Bundled(system) => {
                let source = singlet_model::Source::new(system.name, system.model);
                singlet_model::load_source(&source)
                    .model
                    .ok_or_else(|| model::fail_command("this is no model"))
            }
        }
    }

    /// The model, if it has no errors, of design rules only such as are accepted; else what `check` would show.
    pub(crate) fn checked_model(&self) -> Result<Model, String> {
        let (name, bytes, accepts_errors) = match self {
            Source::File {
                path, accepts_errors, ..
            } => (path.display().to_string(), source::read_source(path)?, *accepts_errors),
            Source::Bundled(system) => (system.name.to_owned(), system.model.as_bytes().to_vec(), false),
        };
        let source = match singlet_model::decode_source(&name, bytes) {
            Ok(source) => source,
            Err(invalid) => return Err(shown(invalid.0, vec![invalid.1])),
        };
        let loaded = singlet_model::load_source(&source);
        let Some(model) = loaded.model.filter(|_| !loaded.diagnostics.has_errors()) else {
            return Err(shown(source, loaded.diagnostics.into_sorted()));
        };
        let errors = model::design_errors(&source);
        match errors.is_empty() || accepts_errors {
            true => Ok(model),
            false => Err(shown(source, errors)),
        }
    }

    /// Rows to take examples from, and to fill a new table with.
    pub(crate) fn sample_rows(&self) -> Result<Option<String>, String> {
        match self {
            Source::Bundled(system) => Ok(Some(system.sample.to_owned())),
            Source::File { path, fills, .. } => {
                let rows = path.with_file_name("sample.jsonl");
                if !rows.exists() && !fills {
                    return Ok(None);
                }
                let bytes = source::read_source(&rows)?;
                String::from_utf8(bytes)
                    .map(Some)
                    .map_err(|_| format!("`{}` is not UTF-8", rows.display()))
            }
        }
    }

    /// Whether a new table is filled.
    pub(crate) fn fills_tables(&self) -> bool {
        match self {
            Source::File { fills, .. } => *fills,
            Source::Bundled(_) => true,
        }
    }

    /// What the file says now, where it is a file and there.
    pub(crate) fn bytes(&self) -> Option<Vec<u8>> {
        std::fs::read(self.path()?).ok()
    }

    /// The file.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Source::File { path, .. } => Some(path),
            Source::Bundled(_) => None,
        }
    }
}

fn shown(source: singlet_model::Source, findings: Vec<singlet_model::Diagnostic>) -> String {
    let mut report = Report::default();
    report.add_file((source, findings));
    report::text::render_text(&report, false, false)
}
