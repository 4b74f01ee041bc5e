//! What can be looked at: a snapshot, or the draft of a commit.

use std::ops::Bound;

use singlet_keyspace::{Bytes, Direction, Draft, Range, Snapshot};
use singlet_store::{ErrorKind, Result, StoreError};

use crate::layout::Span;

/// A state of the key space.
pub(crate) trait View {
    fn value(&self, key: &[u8]) -> Result<Option<Bytes>>;
    /// The last commit whose changes it shows. A draft shows its own besides.
    fn last_commit(&self) -> u64;
    fn rows(&self, bounds: (Bound<&[u8]>, Bound<&[u8]>), direction: Direction) -> Range<'_>;

    /// The first row of a span.
    fn first(&self, span: &Span, direction: Direction) -> Result<Option<(Bytes, Bytes)>> {
        self.rows(span.bounds(), direction)
            .next()
            .transpose()
            .map_err(from_space)
    }
}

impl View for Snapshot {
    fn value(&self, key: &[u8]) -> Result<Option<Bytes>> {
        self.get(key).map_err(from_space)
    }

    fn last_commit(&self) -> u64 {
        self.number()
    }

    fn rows(&self, bounds: (Bound<&[u8]>, Bound<&[u8]>), direction: Direction) -> Range<'_> {
        self.range(bounds, direction)
    }
}

impl View for Draft<'_> {
    fn value(&self, key: &[u8]) -> Result<Option<Bytes>> {
        self.get(key).map_err(from_space)
    }

    fn last_commit(&self) -> u64 {
        self.number().saturating_sub(1)
    }

    fn rows(&self, bounds: (Bound<&[u8]>, Bound<&[u8]>), direction: Direction) -> Range<'_> {
        self.range(bounds, direction)
    }
}

/// An error of the key space as one of a store.
pub(crate) fn from_space(error: singlet_keyspace::Error) -> StoreError {
    let message = match error.help() {
        Some(help) => format!("{error}; {help}"),
        None => error.to_string(),
    };
    let kind = if error.is_busy() {
        ErrorKind::Throttled
    } else if error.is_too_large() {
        ErrorKind::TooLarge
    } else {
        ErrorKind::Unavailable
    };
    StoreError::new(kind, message).with_told(error.told_publicly())
}

/// Why a work was not done. The key space makes one of its own errors; the store's are made here.
#[derive(Debug)]
pub(crate) struct NotDone(pub(crate) StoreError);

impl From<singlet_keyspace::Error> for NotDone {
    fn from(error: singlet_keyspace::Error) -> Self {
        Self(from_space(error))
    }
}

impl From<StoreError> for NotDone {
    fn from(error: StoreError) -> Self {
        Self(error)
    }
}
