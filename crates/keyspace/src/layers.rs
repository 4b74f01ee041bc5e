//! One state of a space: layers of changes over the base.
//!
//! **Invariant: at most one layer is frozen, and it lies over a base.** Whoever freezes another waits until the first is in the base: what
//! would take its place had not been written yet, and the log that has it goes with the next checkpoint.

use crate::Result;
use crate::base::Base;
use crate::bytes::Value;
use crate::limits::ROW_OVERHEAD_BYTES;
use crate::range::{Bounds, Direction, LayerRows, Range};
use imbl::OrdMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is known of a key: its value, or that it was deleted.
pub(crate) type Known = Option<Arc<[u8]>>;
/// Changes of many commits, cheap to keep as they were while others are added.
pub(crate) type Changes = OrdMap<Arc<[u8]>, Known>;
/// Changes of one work.
pub(crate) type WorkChanges = BTreeMap<Arc<[u8]>, Known>;

/// One state of a space: layers of changes, the newest first, in which the first that knows a key decides.
#[derive(Clone, Default)]
pub(crate) struct Layers {
    /// The last commit that it shows.
    pub(crate) number: u64,
    /// What changed since the layer beneath was frozen.
    pub(crate) active: Changes,
    /// What [`Layers::active`] takes in memory, about.
    pub(crate) active_bytes: usize,
    /// What is being written to the base.
    pub(crate) frozen: Option<Arc<Frozen>>,
    /// What is in a file. In memory there is none.
    pub(crate) base: Option<Arc<Base>>,
}

/// What a change takes in memory, about.
pub(crate) fn row_bytes(key_bytes: usize, value: &Known) -> usize {
    key_bytes + ROW_OVERHEAD_BYTES + value.as_ref().map_or(0, |value| value.len())
}

/// Changes that no longer change.
pub(crate) struct Frozen {
    pub(crate) changes: Changes,
    pub(crate) bytes: usize,
    /// The last commit among them.
    pub(crate) number: u64,
}

impl Layers {
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Value>> {
        let frozen = self.frozen.as_ref().map(|frozen| &frozen.changes);
        // The newest first: the first that knows the key decides, also that it was deleted.
        for changes in std::iter::once(&self.active).chain(frozen) {
            if let Some(known) = changes.get(key) {
                return Ok(known.as_ref().map(Value::from));
            }
        }
        match &self.base {
            Some(base) => base.get(key),
            None => Ok(None),
        }
    }

    /// The rows within `bounds`, over which `above` decides where it is given.
    pub(crate) fn range<'a>(
        &'a self,
        bounds: Bounds<'_>,
        direction: Direction,
        above: Option<LayerRows<'a>>,
    ) -> Range<'a> {
        let frozen = self.frozen.as_ref().map(|frozen| &frozen.changes);
        let memory = std::iter::once(&self.active).chain(frozen);
        let memory = memory.map(|changes| LayerRows::Memory(changes.range::<_, [u8]>(bounds)));
        let base = self.base.as_ref().map(|base| base.range_rows(bounds));
        match base.transpose() {
            Ok(base) => Range::new(
                direction,
                // In this order, which is how `Range` knows which of two rows of one key is the newer.
                above.into_iter().chain(memory).chain(base.map(LayerRows::Base)),
            ),
            Err(error) => Range::failed(error),
        }
    }

    /// Changes a key. That it was deleted is remembered where something beneath may hold it.
    pub(crate) fn change_key(&mut self, key: Arc<[u8]>, value: Known) {
        let key_bytes = key.len();
        // Without a base nothing lies beneath that a deletion would have to hide. A frozen layer exists only over one.
        let before = if value.is_some() || self.base.is_some() {
            self.active_bytes += row_bytes(key_bytes, &value);
            self.active.insert(key, value)
        } else {
            self.active.remove(&*key)
        };
        if let Some(before) = before {
            self.active_bytes = self.active_bytes.saturating_sub(row_bytes(key_bytes, &before));
        }
    }

    /// Begins a new layer of changes over those so far.
    pub(crate) fn freeze_changes(&mut self) {
        // The layer before it must be in the base by now: it would be dropped here, and its log with it.
        self.frozen = Some(Arc::new(Frozen {
            changes: std::mem::take(&mut self.active),
            bytes: std::mem::take(&mut self.active_bytes),
            number: self.number,
        }));
    }
}
