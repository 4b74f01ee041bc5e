//! `singlet load`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::store::{StoreArgs, load_rows, now};
use crate::{model, progress, source};

/// Load rows into a model's table, such as its sample data.
///
/// A line of the file is `{"Entity": {"attribute": value, …}}`. Keys, mirrors and computed attributes are made from the model.
/// Times may be relative: `now-3d`, `today+7d`. Nothing is written unless every line is right.
#[derive(Args)]
pub struct Load {
    /// The model file.
    model: PathBuf,
    /// The rows; `sample.jsonl` beside the model unless said.
    rows: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

impl Load {
    /// Runs the command.
    pub fn run(self) -> ExitCode {
        super::block_on(self.load()).unwrap_or_else(|code| code)
    }

    async fn load(self) -> Result<ExitCode, ExitCode> {
        let loaded = model::load(&self.model)?;
        let rows = self.rows.unwrap_or_else(|| self.model.with_file_name("sample.jsonl"));
        let text = text_of(&rows)?;
        let engine = self.store.open(loaded).await.map_err(|reason| model::fail(&reason))?;
        let bar = progress::bar("items");
        let outcome = load_rows(&engine, &text, now(), &bar).await;
        bar.finish_and_clear();
        let (rows_count, items) = outcome.map_err(|reason| model::fail(&format!("`{}` {reason}", rows.display())))?;
        Ok(super::print(&format!("{rows_count} rows, {items} items\n")))
    }
}

/// A file of rows as text.
pub fn text_of(path: &std::path::Path) -> Result<String, ExitCode> {
    let bytes = source::read(path).map_err(|reason| model::fail(&reason))?;
    String::from_utf8(bytes).map_err(|_| model::fail(&format!("`{}` is not UTF-8", path.display())))
}
