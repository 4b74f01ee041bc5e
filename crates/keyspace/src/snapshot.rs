//! One durable state of a space, as a reader holds it.

use crate::Result;
use crate::bytes::Value;
use crate::layers::Layers;
use crate::range::{self, Direction, Range};
use std::fmt;
use std::ops::RangeBounds;
use std::sync::Arc;

/// One state of a space, which does not change. What it shows is durable.
#[derive(Clone)]
pub struct Snapshot {
    layers: Arc<Layers>,
}

impl Snapshot {
    pub(crate) fn new(layers: Arc<Layers>) -> Self {
        Self { layers }
    }

    /// The last commit that it shows: 0 where there is none.
    pub fn number(&self) -> u64 {
        self.layers.number
    }

    /// The value of a key.
    pub fn get(&self, key: &[u8]) -> Result<Option<Value>> {
        self.layers.get(key)
    }

    /// The rows within bounds, in the order that is asked for. Bounds that are the wrong way around hold nothing.
    pub fn range(&self, bounds: impl RangeBounds<[u8]>, direction: Direction) -> Range<'_> {
        let bounds = (bounds.start_bound(), bounds.end_bound());
        if range::is_empty(bounds) {
            return Range::empty();
        }
        self.layers.range(bounds, direction, None)
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("number", &self.number())
            .finish_non_exhaustive()
    }
}
