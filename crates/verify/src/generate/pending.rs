//! What is drawn only once the engine does it: each switch is taken away with the defect that it waits for.

/// Steps of the engine at 1 to 4: pages do not end at some.
pub(crate) const SMALL_STEPS: bool = true;

/// `requests: ..2`: pages do not end where ranges are merged.
pub(crate) const REQUEST_STOPS: bool = true;

/// `let` with `find` in a write: it is not read.
pub(crate) const LISTS_IN_WRITES: bool = false;

/// `let: {e: E(…)}` in a read, of an entity with versions: the row is never found.
pub(crate) const ROWS_WITH_VERSIONS: bool = false;

/// Groups without a root, of an entity with an attribute that stands only in its key: one query for both loses it.
pub(crate) const KEY_ONLY_BESIDE: bool = false;

/// Scans of a table without a sort key: rows are lost on small pages.
pub(crate) const SCANS_WITHOUT_SORT_KEY: bool = false;
