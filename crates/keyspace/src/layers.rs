use crate::Result;
use crate::bytes::Value;
use crate::range::{Bounds, Direction, Range, Source};
use imbl::OrdMap;
use std::sync::Arc;

/// What is known of keys: a value, or that it was deleted.
pub(crate) type Changes = OrdMap<Arc<[u8]>, Option<Arc<[u8]>>>;

/// One state of a space: layers of changes, the newest first, in which the first that knows a key decides.
#[derive(Clone, Default)]
pub(crate) struct Layers {
    /// The last commit that it shows.
    pub(crate) number: u64,
    pub(crate) active: Changes,
}

impl Layers {
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Value>> {
        Ok(self.active.get(key).and_then(Option::as_ref).map(Value::from))
    }

    /// The rows within `bounds`, over which `above` decides where it is given.
    pub(crate) fn range<'a>(
        &'a self,
        bounds: Bounds<'_>,
        direction: Direction,
        above: Option<Source<'a>>,
    ) -> Range<'a> {
        let active = Source::Memory(self.active.range::<_, [u8]>(bounds));
        Range::new(direction, above.into_iter().chain([active]))
    }

    /// Whether a deleted key must be remembered, since something beneath may hold it.
    pub(crate) fn has_beneath(&self) -> bool {
        false
    }
}
