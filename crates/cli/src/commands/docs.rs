//! `singlet docs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use singlet_document::{Document, Drawings, design_document};

use crate::{exit, model};

/// The names of what is written.
const DOCUMENT: &str = "design.md";
const DRAWINGS: &str = "design";

/// Write the design document: entity chart, access patterns, operations, states and relations.
///
/// Without `--out` the document is printed, with diagrams as Mermaid. With it, the document and its drawings are written as
/// `design.md` and `design/*.svg`.
#[derive(Args)]
pub(crate) struct Docs {
    /// The model file.
    model: PathBuf,
    /// The folder to write to.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Docs {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        let model = match model::load_model(&self.model) {
            Ok(model) => model,
            Err(code) => return code,
        };
        let Some(folder) = &self.out else {
            return super::print_text(&design_document(&model, Drawings::None).markdown);
        };
        let written = write(folder, &design_document(&model, Drawings::In(DRAWINGS.to_owned())));
        match written {
            Ok(count) => {
                let drawings = if count == 1 { "drawing" } else { "drawings" };
                let path = folder.join(DOCUMENT);
                super::print_text(&format!("{} written, with {count} {drawings}\n", path.display()))
            }
            Err((path, error)) => {
                eprintln!("error: `{}` cannot be written: {}", path.display(), error.kind());
                ExitCode::from(exit::USAGE)
            }
        }
    }
}

/// Writes the files; how many drawings there are.
fn write(folder: &Path, document: &Document) -> Result<usize, (PathBuf, std::io::Error)> {
    let drawings = folder.join(DRAWINGS);
    fs::create_dir_all(&drawings).map_err(|error| (drawings.clone(), error))?;
    let files = document.drawings.iter().map(|(path, svg)| (path.as_str(), svg));
    for (name, text) in files.chain([(DOCUMENT, &document.markdown)]) {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| (path, error))?;
    }
    Ok(document.drawings.len())
}
