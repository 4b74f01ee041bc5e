//! How many items there are and how large they are, kept with every change.

use singlet_item::limits::LOCAL_INDEX_COLLECTION_BYTES_MAX;
use singlet_keyspace::Draft;
use singlet_store::Result;

use crate::catalogue::Table;
use crate::codec::{Reader, damaged_data, put_varint};
use crate::layout::{self, Area};
use crate::view::{View, from_space};
use crate::words;

/// Of one table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) items: u64,
    pub(crate) bytes: u64,
    /// What the changes of its stream take.
    pub(crate) change_bytes: u64,
}

impl Totals {
    pub(crate) fn of(view: &impl View, table: &Table) -> Result<Self> {
        match view.value(&layout::of_table(Area::Totals, table.number))? {
            None => Ok(Self::default()),
            Some(bytes) => Self::decode(&bytes),
        }
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        let mut number = || u64::try_from(reader.read_varint()?).map_err(|_| damaged_data("a total"));
        Ok(Self {
            items: number()?,
            bytes: number()?,
            change_bytes: number()?,
        })
    }

    pub(crate) fn store(self, draft: &mut Draft<'_>, table: &Table) -> Result<()> {
        let mut out = Vec::with_capacity(16);
        for number in [self.items, self.bytes, self.change_bytes] {
            put_varint(&mut out, u128::from(number));
        }
        let key = layout::of_table(Area::Totals, table.number);
        draft.put_row(key, out).map_err(from_space)
    }
}

/// Counts an item that changed from one size to another, and what its change takes.
pub(crate) fn count_change(
    draft: &mut Draft<'_>,
    table: &Table,
    (before, after): (Option<usize>, Option<usize>),
    change_bytes: u64,
) -> Result<()> {
    // The row of totals is touched by every write of its table, so that it is left alone where nothing of it changes.
    if before == after && change_bytes == 0 {
        return Ok(());
    }
    let mut totals = Totals::of(draft, table)?;
    let one = |size: Option<usize>| u64::from(size.is_some());
    let bytes = |size: Option<usize>| size.unwrap_or(0) as u64;
    totals.items = (totals.items + one(after)).saturating_sub(one(before));
    totals.bytes = (totals.bytes + bytes(after)).saturating_sub(bytes(before));
    totals.change_bytes += change_bytes;
    totals.store(draft, table)
}

/// A size as what can be taken away; no item is anywhere near that large.
pub(crate) fn signed_size(size: Option<usize>) -> i64 {
    i64::try_from(size.unwrap_or(0)).unwrap_or(i64::MAX)
}

/// Counts what an item collection grew by; refused past the bound.
pub(crate) fn change_collection(draft: &mut Draft<'_>, key: &[u8], bytes: i64) -> Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    let before = match draft.value(key)? {
        None => 0,
        Some(bytes) => u64::try_from(Reader::new(&bytes).read_varint()?).map_err(|_| damaged_data("a total"))?,
    };
    let after = before.saturating_add_signed(bytes);
    // Only growth is refused: a collection that is too large must be able to shrink.
    if bytes > 0 && after > collection_bytes_max() {
        return Err(words::collection_too_large());
    }
    if after == 0 {
        return draft.delete_row(key).map_err(from_space);
    }
    let mut out = Vec::with_capacity(8);
    put_varint(&mut out, u128::from(after));
    draft.put_row(key, out).map_err(from_space)
}

#[cfg(not(test))]
fn collection_bytes_max() -> u64 {
    LOCAL_INDEX_COLLECTION_BYTES_MAX as u64
}

/// Small enough that a test gets there.
#[cfg(test)]
fn collection_bytes_max() -> u64 {
    LOCAL_INDEX_COLLECTION_BYTES_MAX as u64 / (1 << 14)
}
