//! Why a table was not carried to another store.

use std::fmt;

use singlet_changes::{FollowError, Lag};
use singlet_runtime::{Migration, OpenError, Relocation, RuntimeError};
use singlet_store::StoreError;

/// Why a table was not carried to another store.
#[derive(Debug)]
pub enum CopyError {
    /// The source knows no model.
    Unknown,
    /// The rows of the source are being changed from one model to another.
    Migrating(Migration),
    /// The source also belongs to another system, of this name.
    Shared(String),
    /// The source is carried to another place, or was.
    Elsewhere(Relocation),
    /// The source has moved: there is no way back.
    Moved(Relocation),
    /// Nothing is under way.
    NothingToAbort,
    /// Followers have not read all changes of the source: who, and what each has before it.
    Behind(Vec<(String, Lag)>),
    /// The target is not there.
    NoTarget,
    /// The source has moved, and the target is gone or knows nothing of it.
    LostTarget,
    /// The target is another table than the source: what differs.
    OtherTable(Vec<String>),
    /// Rows lie on the target.
    NotEmpty,
    /// On the target lies what a copy left behind that was aborted, or is another's.
    Unfinished,
    /// The two tables did not become the same: somebody writes to one of them.
    NotStill,
    /// Another process went on, or aborted it.
    Overtaken,
    /// A store failed.
    Failed(RuntimeError),
}

impl CopyError {
    /// Whether nothing was copied because something stands in the way, and not because a store failed.
    pub(crate) fn is_hindrance(&self) -> bool {
        !matches!(self, CopyError::Failed(_) | CopyError::Overtaken)
    }
}

impl fmt::Display for CopyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CopyError::Unknown => out.write_str("it knows no model"),
            CopyError::Migrating(migration) => {
                write!(out, "it is being migrated, in the phase `{}`", migration.phase.word())
            }
            CopyError::Shared(system) => write!(
                out,
                "it also belongs to the system `{system}`, which would have to move with it"
            ),
            CopyError::Elsewhere(relocation) | CopyError::Moved(relocation) => relocation.fmt(out),
            CopyError::NothingToAbort => out.write_str("it is not being copied"),
            CopyError::Behind(followers) => {
                out.write_str("who follows its changes has not read all of them; nothing was copied")?;
                let mut all = followers.iter();
                all.try_for_each(|(name, lag)| write!(out, "\n  {name}: {lag}"))
            }
            CopyError::NoTarget => out.write_str("there is no such table where it is to be copied to"),
            CopyError::LostTarget => {
                out.write_str("it has moved, and the table that it was copied to is not there, or knows no model")
            }
            CopyError::OtherTable(found) => {
                write!(
                    out,
                    "the table that it is to be copied to is another: {}",
                    found.join("; ")
                )
            }
            CopyError::NotEmpty => out.write_str("the table that it is to be copied to has rows"),
            CopyError::Unfinished => out.write_str(
                "the table that it is to be copied to holds a copy that was aborted, or that another process makes",
            ),
            CopyError::NotStill => out.write_str("somebody writes to one of the two tables meanwhile"),
            CopyError::Overtaken => out.write_str("another process went on with it, or aborted it"),
            CopyError::Failed(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for CopyError {}

impl From<RuntimeError> for CopyError {
    fn from(error: RuntimeError) -> Self {
        CopyError::Failed(error)
    }
}

impl From<StoreError> for CopyError {
    fn from(error: StoreError) -> Self {
        CopyError::Failed(error.into())
    }
}

impl From<FollowError> for CopyError {
    fn from(error: FollowError) -> Self {
        match error {
            FollowError::Store(error) => error.into(),
            FollowError::Runtime(error) => error.into(),
            // Nothing is noted here, so that neither comes up.
            FollowError::Overtaken | FollowError::Refused(_) | FollowError::Held(_) => CopyError::Overtaken,
        }
    }
}

impl From<OpenError> for CopyError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Failed(error) => CopyError::Failed(error),
            OpenError::Migrating(migration) => CopyError::Migrating(migration),
            OpenError::Relocated(relocation) => CopyError::Moved(relocation),
            OpenError::NoTable => CopyError::NoTarget,
            other @ (OpenError::Table(_) | OpenError::Model(_) | OpenError::Rows(..)) => {
                CopyError::OtherTable(vec![other.to_string()])
            }
        }
    }
}
