//! What a work sees and changes before its group is durable.

use crate::bytes::Value;
use crate::layers::{Known, Layers, WorkChanges};
use crate::limits::{COMMIT_BYTES_MAX, KEY_BYTES_MAX, VALUE_BYTES_MAX};
use crate::range::{self, Direction, LayerRows, Range};
use crate::{Error, Result};
use std::ops::RangeBounds;
use std::sync::Arc;

/// What a work reads and changes. It sees every commit before it, and its own changes.
pub struct Draft<'l> {
    layers: &'l Layers,
    changes: WorkChanges,
    bytes: usize,
    /// The first change that was refused: a work that overlooks it is not kept.
    refused: Option<Error>,
}

impl<'l> Draft<'l> {
    pub(crate) fn new(layers: &'l Layers) -> Self {
        Self {
            layers,
            changes: WorkChanges::new(),
            bytes: 0,
            refused: None,
        }
    }

    /// The number that this commit has if it changes anything.
    pub fn number(&self) -> u64 {
        self.layers.number + 1
    }

    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Result<Option<Value>> {
        match self.changes.get(key) {
            // Also where it was deleted here: what is beneath must not come through.
            Some(changed) => Ok(changed.as_ref().map(Value::from)),
            None => self.layers.get(key),
        }
    }

    /// The rows within bounds, in the order that is asked for. Bounds that are the wrong way around hold nothing.
    pub fn range(&self, bounds: impl RangeBounds<[u8]>, direction: Direction) -> Range<'_> {
        let bounds = (bounds.start_bound(), bounds.end_bound());
        if range::is_empty(bounds) {
            return Range::empty();
        }
        let own = LayerRows::Draft(self.changes.range::<[u8], _>(bounds));
        self.layers.range(bounds, direction, Some(own))
    }

    /// Gives a key a value.
    pub fn put_row(&mut self, key: impl Into<Arc<[u8]>>, value: impl Into<Arc<[u8]>>) -> Result<()> {
        self.change(key.into(), Some(value.into()))
    }

    /// Removes a key, if it is there.
    pub fn delete_row(&mut self, key: impl Into<Arc<[u8]>>) -> Result<()> {
        self.change(key.into(), None)
    }

    /// What the work changed, if it may be kept.
    pub(crate) fn into_changes(self) -> Result<WorkChanges> {
        match self.refused {
            Some(error) => Err(error),
            None => Ok(self.changes),
        }
    }

    fn change(&mut self, key: Arc<[u8]>, value: Known) -> Result<()> {
        // What a key was given before counts too: it is a bound of what a work holds, not of what is left in the end.
        let bytes = self.bytes + key.len() + value.as_ref().map_or(0, |value| value.len());
        if let Err(error) = within_limits(&key, value.as_deref(), bytes) {
            // Kept: a work that goes on after a refusal would otherwise be committed without that change.
            self.refused.get_or_insert_with(|| error.clone());
            return Err(error);
        }
        self.bytes = bytes;
        self.changes.insert(key, value);
        Ok(())
    }
}

fn within_limits(key: &[u8], value: Option<&[u8]>, commit_bytes: usize) -> Result<()> {
    let value_bytes = value.map_or(0, <[u8]>::len);
    let parts = [
        ("a key", key.len(), KEY_BYTES_MAX),
        ("a value", value_bytes, VALUE_BYTES_MAX),
        ("a commit", commit_bytes, COMMIT_BYTES_MAX),
    ];
    for (what, bytes, max) in parts {
        if bytes > max {
            return Err(Error::too_large(format!(
                "{what} has {bytes} bytes, and at most {max} are kept"
            )));
        }
    }
    Ok(())
}
