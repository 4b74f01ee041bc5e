//! Why a table was not restored from files.

use std::fmt;
use std::path::PathBuf;

use singlet_archive::{ArchiveError, RepeatedKey};
use singlet_item::Item;
use singlet_runtime::{OpenError, Relocation, RuntimeError};
use singlet_store::StoreError;

/// Why a table was not restored from files.
#[derive(Debug)]
pub enum RestoreError {
    /// The files are not whole, or cannot be read.
    Archive(ArchiveError),
    /// Among several tables there is not the model's: those there are.
    OtherTables(Vec<String>),
    /// The model's table was exported more than once: where.
    Several(Vec<PathBuf>),
    /// An item that the table cannot hold: its file and line, and why.
    Item((PathBuf, u64), String),
    /// Two lines have the same key.
    Repeated(Box<RepeatedKey>),
    /// The items also belong to another system, of this name.
    Shared(String),
    /// The items were exported while the table was on its way between two models or two places.
    OnTheWay(String),
    /// There is no table to restore to.
    NoTarget,
    /// The table is another than the model's: what differs.
    OtherTarget(Vec<String>),
    /// Rows lie in it.
    NotEmpty,
    /// It knows a model, and the items do not.
    KnowsModel,
    /// It is restored from elsewhere, or copied.
    Elsewhere(Relocation),
    /// Nothing is being restored.
    NothingToAbort,
    /// What lies in it is not what the files have: somebody else writes to it.
    NotStill,
    /// Another process went on with it.
    Overtaken,
    /// The store failed.
    Failed(RuntimeError),
}

impl fmt::Display for RestoreError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RestoreError::Archive(error) => error.fmt(out),
            RestoreError::OtherTables(tables) => {
                write!(out, "the files are of other tables: `{}`", tables.join("`, `"))
            }
            RestoreError::Several(folders) => {
                out.write_str("it was exported more than once; name the folder of one")?;
                folders
                    .iter()
                    .try_for_each(|folder| write!(out, "\n  {}", folder.display()))
            }
            RestoreError::Item((file, line), reason) => write!(out, "`{}`, line {line}: {reason}", file.display()),
            RestoreError::Repeated(found) => write!(
                out,
                "`{}`, line {}: it has the key of `{}`, line {}: {}",
                found.second.0.display(),
                found.second.1,
                found.first.0.display(),
                found.first.1,
                key_text(&found.key)
            ),
            RestoreError::Shared(system) => write!(
                out,
                "the items also belong to the system `{system}`, whose model would have to be restored with them"
            ),
            RestoreError::OnTheWay(how) => write!(out, "when it was exported, {how}"),
            RestoreError::NoTarget => out.write_str("there is no such table to restore to"),
            RestoreError::OtherTarget(found) => {
                write!(out, "the table that is to be restored is another: {}", found.join("; "))
            }
            RestoreError::NotEmpty => out.write_str("it has rows, and only an empty table is restored"),
            RestoreError::KnowsModel => {
                out.write_str("it knows a model already, and the files do not say which models wrote their items")
            }
            RestoreError::Elsewhere(relocation) => relocation.fmt(out),
            RestoreError::NothingToAbort => out.write_str("it is not being restored"),
            RestoreError::NotStill => out.write_str(
                "what lies in it is not what the files have: somebody else writes to it, or removes from it",
            ),
            RestoreError::Overtaken => out.write_str("another process went on with it"),
            RestoreError::Failed(error) => error.fmt(out),
        }
    }
}

/// A key as it stands in a file.
fn key_text(key: &Item) -> String {
    let parts = key.iter().map(|(name, value)| {
        let shown = value.as_str().map(str::to_owned);
        let number = value.as_number().map(|number| number.to_string());
        format!("{name}={}", shown.or(number).unwrap_or_else(|| "…".to_owned()))
    });
    parts.collect::<Vec<_>>().join(" ")
}

impl std::error::Error for RestoreError {}

impl From<ArchiveError> for RestoreError {
    fn from(error: ArchiveError) -> Self {
        RestoreError::Archive(error)
    }
}

impl From<RuntimeError> for RestoreError {
    fn from(error: RuntimeError) -> Self {
        RestoreError::Failed(error)
    }
}

impl From<StoreError> for RestoreError {
    fn from(error: StoreError) -> Self {
        RestoreError::Failed(error.into())
    }
}

impl From<OpenError> for RestoreError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Failed(error) => RestoreError::Failed(error),
            other => RestoreError::Failed(RuntimeError::Stored(other.to_string())),
        }
    }
}
