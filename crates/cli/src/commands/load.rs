//! `singlet load`.

use std::fmt::Write as _;
use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;

use clap::Args;
use singlet_runtime::TableUse;
use singlet_runtime::load::{self, LoadError, LoadOptions, LoadProgress, LoadedRows, RowSource};

use crate::model::ErrorArgs;
use crate::store::{StoreArgs, now_millis};
use crate::table::counted_thing;
use crate::{exit, model, progress, source};

/// Load rows into a model's table, such as its sample data.
///
/// Each line of the file is `{"Entity": {"attribute": value, …}}`. Rows are checked as a create would be: defaults, first
/// states, versions and computed attributes are filled in; required attributes, limits, keys and unique values are checked, and
/// mistakes are reported with their line. Times may be relative: `now-3d`, `today+7d`.
///
/// Nothing is written unless every line is right. If the table already has a different row with the same key or unique value,
/// loading stops at that line and overwrites nothing; rows that are already there are skipped, so that a file can be loaded again.
#[derive(Args)]
pub(crate) struct Load {
    /// The model file.
    model: PathBuf,
    /// The rows; `sample.jsonl` beside the model unless said.
    rows: Option<PathBuf>,
    /// Take rows of another program as they are: fill nothing in, refuse nothing but rows without a key or with one that is
    /// taken, and say what does not fit.
    #[arg(long)]
    as_is: bool,
    /// Take the table over: look at every row that is there, and have the table know this model alone.
    #[arg(long)]
    adopt: bool,
    #[command(flatten)]
    errors: ErrorArgs,
    #[command(flatten)]
    store: StoreArgs,
}

impl Load {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        super::block_on(self.load()).unwrap_or_else(|code| code)
    }

    async fn load(self) -> Result<ExitCode, ExitCode> {
        let loaded = model::load_sound(&self.model, self.errors.accept_errors)?;
        let rows = self.rows.unwrap_or_else(|| self.model.with_file_name("sample.jsonl"));
        let file = FileRows::new(&rows).map_err(|reason| model::fail_command(&reason))?;
        let used_for = if self.adopt {
            TableUse::Adopting
        } else {
            TableUse::Writing
        };
        let engine = self
            .store
            .open(loaded, used_for)
            .await
            .map_err(|reason| model::fail_command(&reason))?;
        let options = LoadOptions {
            as_is: self.as_is,
            ..LoadOptions::at(now_millis())
        };
        let bar = progress::bytes_bar(file.length());
        let mut show = |progress: LoadProgress| {
            bar.set_position(progress.bytes);
            bar.set_message(match progress.writing {
                true => format!("{} rows written", progress.rows),
                false => "checked".to_owned(),
            });
        };
        let outcome = load::load_rows(&engine, &file, &options, &mut show).await;
        bar.finish_and_clear();
        match outcome {
            Ok(loaded) => Ok(said(&loaded)),
            Err(error) => Err(refused(&rows, &error)),
        }
    }
}

fn said(loaded: &LoadedRows) -> ExitCode {
    let mut text = format!("{} rows, {} items", loaded.rows, loaded.items);
    if loaded.there > 0 {
        text.push_str(&format!("; {} there already", counted_u64(loaded.there)));
    }
    if loaded.left_out > 0 {
        text.push_str(&format!("; {} left out", counted_u64(loaded.left_out)));
    }
    text.push('\n');
    for found in &loaded.misfits {
        let _ = writeln!(text, "{} {}", found.count, found.kind.words());
        for misfit in &found.first {
            let _ = writeln!(text, "  {misfit}");
        }
    }
    let code = super::print_text(&text);
    match loaded.left_out {
        0 => code,
        _ => ExitCode::from(exit::FINDINGS),
    }
}

fn counted_u64(count: u64) -> String {
    counted_thing(usize::try_from(count).unwrap_or(usize::MAX), "row")
}

fn refused(rows: &Path, error: &LoadError) -> ExitCode {
    let shown = rows.display();
    match error {
        LoadError::File { misfits, more } => {
            for misfit in misfits {
                eprintln!("error: `{shown}` {misfit}");
            }
            if *more {
                eprintln!("there are more");
            }
            eprintln!("nothing was written");
            ExitCode::from(exit::USAGE)
        }
        LoadError::Table { misfit, rows } => {
            eprintln!("error: `{shown}` {misfit}");
            eprintln!(
                "{} written before it stopped; rows that are there are passed over when it is loaded again",
                counted_u64(*rows)
            );
            ExitCode::from(exit::USAGE)
        }
        LoadError::Read(_) | LoadError::Failed(_) => model::fail_command(&format!("`{shown}`: {error}")),
    }
}

/// A file of rows, read more than once.
struct FileRows {
    path: PathBuf,
    length: u64,
    /// What the file was when it was read first.
    seen: Mutex<Option<(u64, Option<std::time::SystemTime>)>>,
}

impl FileRows {
    fn new(path: &Path) -> Result<Self, String> {
        let failed = |error: io::Error| format!("`{}` cannot be read: {}", path.display(), source::io_reason(&error));
        let metadata = File::open(path).and_then(|file| file.metadata()).map_err(failed)?;
        if !metadata.is_file() {
            return Err(format!(
                "`{}` must be a file: it is read more than once",
                path.display()
            ));
        }
        Ok(FileRows {
            path: path.to_owned(),
            length: metadata.len(),
            seen: Mutex::new(None),
        })
    }

    fn length(&self) -> u64 {
        self.length
    }

    /// What was looked at must be what is written.
    fn is_same(&self, metadata: &Metadata) -> bool {
        let now = (metadata.len(), metadata.modified().ok());
        let mut seen = self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *seen.get_or_insert(now) == now
    }
}

impl RowSource for FileRows {
    fn open(&self) -> io::Result<Box<dyn BufRead + Send + '_>> {
        let file = File::open(&self.path)?;
        if !self.is_same(&file.metadata()?) {
            return Err(io::Error::other("the file was changed while it was loaded"));
        }
        Ok(Box::new(BufReader::with_capacity(1 << 16, file)))
    }
}

/// A file of rows as text.
pub(crate) fn text_of(path: &std::path::Path) -> Result<String, ExitCode> {
    let bytes = source::read_source(path).map_err(|reason| model::fail_command(&reason))?;
    String::from_utf8(bytes).map_err(|_| model::fail_command(&format!("`{}` is not UTF-8", path.display())))
}
