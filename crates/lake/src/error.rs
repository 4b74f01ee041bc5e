//! Why a lake cannot go on.

use std::fmt;

use parquet::errors::ParquetError;
use singlet_changes::FollowError;
use singlet_store::StoreError;

/// Why a lake cannot go on.
#[derive(Debug)]
pub enum LakeError {
    /// A file cannot be read or written: which, and why.
    File {
        /// The path within the lake.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// A file is not what it should be: which, and why.
    Unreadable {
        /// The path within the lake.
        path: String,
        /// Why.
        reason: String,
    },
    /// A row does not have the shape of its table; the lake has made a mistake.
    Shape,
    /// A data file cannot be made.
    Parquet(ParquetError),
    /// What was done in the lake ended in its midst.
    Ended,
    /// Another process writes to the same lake, and is further.
    Overtaken,
    /// The model or its table cannot be brought into a lake: why.
    Refused(String),
    /// Changes cannot be followed.
    Follow(FollowError),
}

impl LakeError {
    /// Whether another process writes to the same lake: whoever opens it again goes on.
    pub fn is_overtaken(&self) -> bool {
        matches!(self, LakeError::Overtaken)
    }

    /// Whether it may go on later by itself.
    pub fn is_temporary(&self) -> bool {
        match self {
            LakeError::Follow(FollowError::Store(error)) => {
                error.is_throttled() || error.is_conflict() || error.is_unavailable()
            }
            _ => false,
        }
    }

    pub(crate) fn file(path: &str) -> impl FnOnce(std::io::Error) -> LakeError {
        move |error| LakeError::File {
            path: path.to_owned(),
            error,
        }
    }

    pub(crate) fn unreadable(path: &str, reason: impl fmt::Display) -> LakeError {
        LakeError::Unreadable {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }
}

impl fmt::Display for LakeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LakeError::File { path, error } => {
                write!(out, "the lake cannot be read or written there: ")?;
                match error.raw_os_error() {
                    Some(_) => write!(out, "{} at its file `{path}`", error.kind()),
                    None => write!(out, "{error}, at its file `{path}`"),
                }
            }
            LakeError::Unreadable { path, reason } => write!(out, "`{path}`: {reason}"),
            LakeError::Shape => out.write_str("a row does not have the shape of its table"),
            LakeError::Parquet(error) => write!(out, "a data file cannot be made: {error}"),
            LakeError::Ended => out.write_str("what was done in the lake ended in its midst"),
            LakeError::Overtaken => out.write_str("another process writes to the same lake"),
            LakeError::Refused(reason) => out.write_str(reason),
            LakeError::Follow(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for LakeError {}

impl From<ParquetError> for LakeError {
    fn from(error: ParquetError) -> Self {
        LakeError::Parquet(error)
    }
}

impl From<FollowError> for LakeError {
    fn from(error: FollowError) -> Self {
        LakeError::Follow(error)
    }
}

impl From<StoreError> for LakeError {
    fn from(error: StoreError) -> Self {
        LakeError::Follow(FollowError::Store(error))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use crate::files::{LakeFiles, LocalFiles};

    #[test]
    fn a_place_that_cannot_be_is_said_in_words() {
        let file = std::env::temp_dir().join(format!("singlet-lake-place-{}", std::process::id()));
        std::fs::write(&file, "").unwrap();
        let path = "_batches/00000000000000000001.json";
        let put = LocalFiles::new(file.join("lake")).put_new(path, b"{}");
        std::fs::remove_file(&file).unwrap();
        let said = put.map_err(LakeError::file(path)).unwrap_err().to_string();
        let words = "the lake cannot be read or written there: not a directory";
        assert_eq!(said, format!("{words} at its file `{path}`"));
    }
}
