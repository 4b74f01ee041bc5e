//! The files of a table of what is, by key: each holds the rows whose hashed keys begin with some bits. A file that gets too large is two,
//! with one bit more.
//!
//! **Invariant:** no bits of a file are the beginning of another's, so that a row has one place.

use std::collections::BTreeMap;
use std::ops::Range;

use sha2::{Digest, Sha256};

/// The tag of a file that has its bits, as `0` and `1`.
pub(crate) const BUCKET_TAG: &str = "bucket";

/// The most rows of a file: it is written anew whenever one of them changes.
pub(crate) const BUCKET_ROWS_MAX: usize = 20_000;

/// How many bits tell files apart.
const BITS_MAX: usize = 64;

/// The hash of a row's key.
pub(crate) fn key_hash(key: &str) -> u64 {
    let digest = Sha256::digest(key.as_bytes());
    digest.iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte))
}

/// The keys whose hashes begin with some bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyGroup {
    bits: u32,
    number: u64,
}

impl KeyGroup {
    /// All keys, in groups by so many bits.
    pub(crate) fn by_bits(bits: u32) -> impl Iterator<Item = KeyGroup> {
        (0..1_u64 << bits).map(move |number| KeyGroup { bits, number })
    }

    pub(crate) fn has_hash(self, hash: u64) -> bool {
        hash.checked_shr(u64::BITS - self.bits).unwrap_or_default() == self.number
    }

    /// The numbers of its groups by more bits.
    pub(crate) fn part_numbers(self, part_bits: u32) -> Range<u64> {
        let more = part_bits.saturating_sub(self.bits);
        self.number << more..(self.number + 1) << more
    }

    /// Whether keys of the group may lie in a file with these bits.
    pub(crate) fn meets_bits(self, bits: &str) -> bool {
        let own = bits_of(
            self.number.checked_shl(u64::BITS - self.bits).unwrap_or_default(),
            self.bits as usize,
        );
        own.starts_with(bits) || bits.starts_with(&own)
    }
}

/// By how many bits keys are to be grouped, so that groups have no more rows than can be held.
pub(crate) fn group_bits(rows: usize, held_rows_max: usize, bits_max: u32) -> u32 {
    let is_enough = |bits: &u32| rows >> *bits <= held_rows_max;
    (0..bits_max).find(is_enough).unwrap_or(bits_max)
}

fn bits_of(hash: u64, count: usize) -> String {
    format!("{hash:064b}").chars().take(count).collect()
}

/// The bits of the file that has a key's place: one of those that are there, or else the fewest that are the beginning of none, and not fewer than
/// some.
pub(crate) fn bucket_of<T>(hash: u64, there: &BTreeMap<String, T>, bits_min: usize) -> String {
    let bits = bits_of(hash, BITS_MAX);
    // None is the beginning of another: the one that is the beginning of these stands right before them.
    let known = there.range(..=bits.clone()).next_back().map(|(known, _)| known);
    if let Some(known) = known.filter(|known| bits.starts_with(known.as_str())) {
        return known.clone();
    }
    let is_free = |count: &usize| {
        let begun = bits.get(..*count).unwrap_or(&bits);
        // As short as may be, but never the beginning of another's bits: a row has one place.
        let next = there.range(begun.to_owned()..).next();
        next.is_none_or(|(known, _)| !known.starts_with(begun))
    };
    let count = (bits_min..BITS_MAX).find(is_free).unwrap_or(BITS_MAX);
    bits_of(hash, count)
}

/// The rows of a bucket in as many as they need.
pub(crate) fn split_bucket<R>(
    bits: String,
    rows: Vec<R>,
    rows_max: usize,
    hash_of: impl Fn(&R) -> u64,
) -> Vec<(String, Vec<R>)> {
    match rows.len() {
        0 => Vec::new(),
        // Hashes take longer than all else, and say nothing where no row goes elsewhere.
        count if count <= rows_max => vec![(bits, rows)],
        _ => split_hashed(
            bits,
            rows.into_iter().map(|row| (hash_of(&row), row)).collect(),
            rows_max,
        ),
    }
}

fn split_hashed<R>(bits: String, rows: Vec<(u64, R)>, rows_max: usize) -> Vec<(String, Vec<R>)> {
    if rows.is_empty() {
        return Vec::new();
    }
    // Rows with one hash cannot be told apart by more bits.
    if rows.len() <= rows_max.max(1) || bits.len() >= BITS_MAX {
        return vec![(bits, rows.into_iter().map(|(_, row)| row).collect())];
    }
    let mask = 1_u64 << (BITS_MAX - 1 - bits.len());
    let (ones, zeros): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(hash, _)| hash & mask != 0);
    let mut split = split_hashed(format!("{bits}0"), zeros, rows_max);
    split.extend(split_hashed(format!("{bits}1"), ones, rows_max));
    split
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows by their hashes alone.
    type HashedRows = Vec<(u64, ())>;

    #[test]
    fn every_key_has_one_place_whatever_splits_and_empties() {
        let mut files: BTreeMap<String, HashedRows> = BTreeMap::new();
        let mut random = fastrand::Rng::with_seed(3);
        let mut known = BTreeMap::new();
        for round in 0..2_000_u64 {
            let hash = random.u64(..);
            known.insert(hash, round);
            let bits = bucket_of(hash, &files, 0);
            let mut rows = files.remove(&bits).unwrap_or_default();
            rows.push((hash, ()));
            if random.u8(0..20) == 0 {
                rows.iter().for_each(|(hash, _)| {
                    known.remove(hash);
                });
                rows.clear();
            }
            let hashes: Vec<u64> = rows.iter().map(|(hash, _)| *hash).collect();
            for (bits, rows) in split_hashed(bits, rows, 4) {
                let of_bits = hashes
                    .iter()
                    .filter(|hash| bits_of(**hash, BITS_MAX).starts_with(&bits));
                let of_bits: HashedRows = of_bits.map(|hash| (*hash, ())).collect();
                assert_eq!(of_bits.len(), rows.len());
                assert!(files.insert(bits, of_bits).is_none());
            }
            let looked_at = if round.is_multiple_of(100) { usize::MAX } else { 0 };
            for a in files.keys().take(looked_at) {
                assert!(files.keys().all(|b| a == b || !b.starts_with(a.as_str())), "{a}");
            }
        }
        assert!(files.len() > 50, "it splits");
        for hash in known.keys() {
            let rows = &files[&bucket_of(*hash, &files, 0)];
            assert!(rows.iter().any(|(there, _)| there == hash));
        }
    }

    #[test]
    fn every_key_is_of_one_group() {
        let mut random = fastrand::Rng::with_seed(4);
        for bits in 0..=8 {
            for _ in 0..50 {
                let hash = random.u64(..);
                let of: Vec<KeyGroup> = KeyGroup::by_bits(bits).filter(|group| group.has_hash(hash)).collect();
                let [group] = of[..] else { panic!("{of:?}") };
                assert!(group.part_numbers(8).contains(&(hash >> 56)));
                for count in 0..12 {
                    assert!(group.meets_bits(&bits_of(hash, count)), "{group:?} {count}");
                }
                let others = KeyGroup::by_bits(bits).filter(|other| *other != group);
                assert!(others.into_iter().all(|other| !other.meets_bits(&bits_of(hash, 8))));
            }
        }
        assert_eq!(group_bits(10, 10, 8), 0);
        assert_eq!(group_bits(11, 10, 8), 1);
        assert_eq!(group_bits(80, 10, 8), 3);
        assert_eq!(group_bits(usize::MAX, 10, 8), 8);
    }
}
