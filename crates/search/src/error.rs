//! What can go wrong.

use std::fmt;

use singlet_changes::FollowError;
use singlet_store::StoreError;
use tantivy::TantivyError;
use tantivy::directory::error::LockError;

/// Why the words of rows cannot be followed.
#[derive(Debug)]
pub enum SearchError {
    /// Another process has the index.
    Held,
    /// The table cannot be followed.
    Follow(FollowError),
    /// The index cannot be read or written.
    Index(String),
    /// The process ends.
    Ended,
}

impl fmt::Display for SearchError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SearchError::Held => out.write_str("another process has the index of words open"),
            SearchError::Follow(error) => error.fmt(out),
            SearchError::Index(reason) => write!(out, "the index of words: {reason}"),
            SearchError::Ended => out.write_str("the process ends"),
        }
    }
}

impl std::error::Error for SearchError {}

impl From<TantivyError> for SearchError {
    fn from(error: TantivyError) -> Self {
        match error {
            TantivyError::LockFailure(LockError::LockBusy, _) => SearchError::Held,
            error => SearchError::Index(error.to_string()),
        }
    }
}

impl From<std::io::Error> for SearchError {
    fn from(error: std::io::Error) -> Self {
        SearchError::Index(error.to_string())
    }
}

impl From<FollowError> for SearchError {
    fn from(error: FollowError) -> Self {
        SearchError::Follow(error)
    }
}

impl From<StoreError> for SearchError {
    fn from(error: StoreError) -> Self {
        SearchError::Follow(error.into())
    }
}
