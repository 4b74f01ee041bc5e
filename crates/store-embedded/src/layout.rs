//! Where everything lies in the key space.
//!
//! A key begins with what it is about, then the number of the table, then what tells it apart. Numbers of tables are never
//! given twice, so what a removed table left behind is in nobody's way. Items and index entries of one partition lie
//! together, partitions by a hash of their key: a part of a parallel scan is one span.

use std::ops::Bound;

use singlet_item::{Item, Value};
use singlet_store::KeyAttribute;

use crate::order::{after_prefix, put_key_value};

/// What a key is about: its first byte. What is kept under a number is never used for something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Area {
    /// The format of all that follows, and the next number of a table.
    Format = 1,
    /// Tables by name.
    Tables = 2,
    /// What is being built or removed.
    Tasks = 3,
    /// Items.
    Items = 4,
    /// Index entries.
    Entries = 5,
    /// Changes, for streams.
    Changes = 6,
    /// Items by the time when they expire.
    Expiries = 7,
    /// How many items a table has, and how large they are.
    Totals = 8,
    /// How large an item collection is, of tables with local indexes.
    Collections = 9,
    /// How far the changes of a table were trimmed.
    Trimmed = 10,
    /// Transactions that were done, by token.
    Tokens = 11,
    /// The same by time.
    TokenTimes = 12,
}

/// What is kept of a table under its number, beside its name.
pub(crate) const TABLE_AREAS: [Area; 7] = [
    Area::Items,
    Area::Entries,
    Area::Changes,
    Area::Expiries,
    Area::Totals,
    Area::Collections,
    Area::Trimmed,
];

pub(crate) type TableNumber = u32;
pub(crate) type IndexNumber = u32;

/// All keys that begin alike, or a part of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) from: Vec<u8>,
    /// The first key that is no longer in it; none, where all are.
    pub(crate) to: Option<Vec<u8>>,
}

impl Span {
    /// All keys that begin so.
    pub(crate) fn with_prefix(prefix: Vec<u8>) -> Self {
        Self {
            to: after_prefix(prefix.clone()),
            from: prefix,
        }
    }

    pub(crate) fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        let to = self.to.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        (Bound::Included(self.from.as_slice()), to)
    }

    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        key >= self.from.as_slice() && self.to.as_deref().is_none_or(|to| key < to)
    }

    /// What comes after a key.
    pub(crate) fn after_key(&self, key: &[u8]) -> Self {
        let mut from = key.to_vec();
        // The least key that is greater: nothing lies between a key and itself with a zero byte.
        from.push(0);
        Self {
            from: from.max(self.from.clone()),
            to: self.to.clone(),
        }
    }

    /// What comes before a key.
    pub(crate) fn before_key(&self, key: &[u8]) -> Self {
        let to = match &self.to {
            Some(to) if to.as_slice() < key => to.clone(),
            _ => key.to_vec(),
        };
        Self {
            from: self.from.clone(),
            to: Some(to),
        }
    }
}

/// The bytes that everything of a table in an area begins with.
pub(crate) fn of_table(area: Area, table: TableNumber) -> Vec<u8> {
    let mut key = Vec::with_capacity(64);
    key.push(area as u8);
    // Numbers in keys have their highest byte first, so that they sort as bytes.
    key.extend_from_slice(&table.to_be_bytes());
    key
}

pub(crate) fn of_index(table: TableNumber, index: IndexNumber) -> Vec<u8> {
    let mut key = of_table(Area::Entries, table);
    key.extend_from_slice(&index.to_be_bytes());
    key
}

pub(crate) fn named_key(area: Area, name: &str) -> Vec<u8> {
    let mut key = vec![area as u8];
    key.extend_from_slice(name.as_bytes());
    key
}

/// Everything in an area.
pub(crate) fn all_of(area: Area) -> Span {
    Span::with_prefix(vec![area as u8])
}

/// A change: the number of its commit and its place within.
pub(crate) fn change_key(table: TableNumber, commit: u64, place: u32) -> Vec<u8> {
    let mut key = of_table(Area::Changes, table);
    // Commit, then place: the order of the bytes is the order in which things happened.
    key.extend_from_slice(&commit.to_be_bytes());
    key.extend_from_slice(&place.to_be_bytes());
    key
}

/// An item that expires: its time, and the key of the item without its first bytes.
pub(crate) fn expiry_key(table: TableNumber, at_seconds: u64, item_key: &[u8]) -> Vec<u8> {
    let mut key = of_table(Area::Expiries, table);
    // The time first: what expires is found from the front.
    key.extend_from_slice(&at_seconds.to_be_bytes());
    key.extend_from_slice(within_table(item_key));
    key
}

/// A key of an item or a change without what tells table and area.
pub(crate) fn within_table(key: &[u8]) -> &[u8] {
    key.get(TABLE_PREFIX_BYTES..).unwrap_or_default()
}

/// How many bytes tell area and table.
pub(crate) const TABLE_PREFIX_BYTES: usize = 5;

/// Adds the values of a key's attributes; whether all are there.
pub(crate) fn put_values(out: &mut Vec<u8>, attributes: &[KeyAttribute], item: &Item) -> bool {
    attributes.iter().all(|attribute| {
        let value = item.get(&attribute.name);
        if let Some(value) = value {
            put_key_value(out, value);
        }
        value.is_some()
    })
}

/// Adds the hash of a partition and its values.
pub(crate) fn put_partition<'v>(out: &mut Vec<u8>, values: impl IntoIterator<Item = &'v Value>) {
    let start = out.len();
    out.extend_from_slice(&[0; HASH_BYTES]);
    for value in values {
        put_key_value(out, value);
    }
    // Of the bytes and not of the values, so that it is the same wherever it is computed.
    let hash = partition_hash(out.get(start + HASH_BYTES..).unwrap_or_default());
    if let Some(place) = out.get_mut(start..start + HASH_BYTES) {
        place.copy_from_slice(&hash.to_be_bytes());
    }
}

const HASH_BYTES: usize = 4;

/// Where a partition lies among the others. It is kept in the file, so it never changes: FNV-1a, whose bits are then mixed.
fn partition_hash(bytes: &[u8]) -> u32 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in bytes {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (hash >> 32) as u32
}

/// The partitions of one part of a scan, under a prefix.
pub(crate) fn segment_span(prefix: &[u8], index: u32, total: u32) -> Span {
    let edge = |part: u64| {
        // Each part begins where the one before ends, so that together they have every hash exactly once.
        let hash = (part << 32).div_ceil(u64::from(total.max(1)));
        u32::try_from(hash).ok().map(|hash| {
            let mut key = prefix.to_vec();
            key.extend_from_slice(&hash.to_be_bytes());
            key
        })
    };
    let whole = Span::with_prefix(prefix.to_vec());
    Span {
        from: edge(u64::from(index)).unwrap_or(whole.from),
        to: edge(u64::from(index) + 1).or(whole.to),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_meet_and_cover_everything() {
        for total in [1, 2, 3, 7, 1000] {
            let whole = Span::with_prefix(vec![4, 0]);
            let mut end = Some(vec![4, 0, 0, 0, 0, 0]);
            for index in 0..total {
                let span = segment_span(&[4, 0], index, total);
                assert_eq!(Some(&span.from), end.as_ref(), "{index} of {total}");
                end = span.to;
            }
            assert_eq!(end, whole.to, "{total}");
        }
    }

    #[test]
    fn spans_are_cut_at_a_key() {
        let span = Span::with_prefix(vec![1]);
        assert!(span.contains(&[1]) && span.contains(&[1, 255]) && !span.contains(&[2]));
        assert!(!span.after_key(&[1, 5]).contains(&[1, 5]) && span.after_key(&[1, 5]).contains(&[1, 5, 0]));
        assert!(!span.before_key(&[1, 5]).contains(&[1, 5]) && span.before_key(&[1, 5]).contains(&[1, 4, 9]));
        assert_eq!(span.after_key(&[0]), span);
        assert_eq!(span.before_key(&[9]), span);
    }
}
