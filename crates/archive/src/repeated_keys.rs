//! Two lines of an archive that are one item's: the second would be put over the first, and nobody could say which is right.
//!
//! An archive of any size is looked at in bounded memory: the hashes of as many keys as fit are compared in one going through, the others
//! in further ones. Where two hashes are the same, the keys themselves are compared.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use singlet_item::Item;

use crate::archive::Archive;
use crate::error::ArchiveError;

/// How many hashes are held at a time, eight bytes each.
const KEYS_HELD_MAX: u64 = 8 * 1024 * 1024;

/// A key that two lines have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepeatedKey {
    /// The key.
    pub key: Item,
    /// The file and line of the second.
    pub second: (PathBuf, u64),
    /// The file and line of the first.
    pub first: (PathBuf, u64),
}

/// A key that two lines of an archive have; the key of an item is what `key_of` says.
///
/// # Errors
///
/// Where the archive cannot be read.
pub fn repeated_key(archive: &Archive, key_of: impl Fn(&Item) -> Item) -> Result<Option<RepeatedKey>, ArchiveError> {
    repeated_key_within(archive, key_of, KEYS_HELD_MAX)
}

/// The same, with so many hashes at a time.
pub(crate) fn repeated_key_within(
    archive: &Archive,
    key_of: impl Fn(&Item) -> Item,
    held_max: u64,
) -> Result<Option<RepeatedKey>, ArchiveError> {
    let parts = archive.item_count().div_ceil(held_max.max(1)).max(1);
    for part in 0..parts {
        let mut hashes = Vec::new();
        for archived in archive.items() {
            let hash = hash_of(&key_of(&archived?.item));
            if hash % parts == part {
                hashes.push(hash);
            }
        }
        hashes.sort_unstable();
        let alike: BTreeSet<u64> = hashes
            .iter()
            .zip(hashes.iter().skip(1))
            .filter_map(|(one, next)| (one == next).then_some(*one))
            .collect();
        drop(hashes);
        if let Some(found) = first_repeated(archive, &key_of, &alike)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Of the keys with some hashes, the first that comes again.
fn first_repeated(
    archive: &Archive,
    key_of: impl Fn(&Item) -> Item,
    hashes: &BTreeSet<u64>,
) -> Result<Option<RepeatedKey>, ArchiveError> {
    if hashes.is_empty() {
        return Ok(None);
    }
    let mut seen: BTreeMap<Item, (PathBuf, u64)> = BTreeMap::new();
    let mut items = archive.items();
    while let Some(archived) = items.next() {
        let archived = archived?;
        let key = key_of(&archived.item);
        if !hashes.contains(&hash_of(&key)) {
            continue;
        }
        let place = (items.path().to_owned(), archived.line);
        if let Some(first) = seen.get(&key) {
            return Ok(Some(RepeatedKey {
                key,
                second: place,
                first: first.clone(),
            }));
        }
        seen.insert(key, place);
    }
    Ok(None)
}

fn hash_of(key: &Item) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::archives_in;
    use crate::writer::ArchiveWriter;
    use singlet_item::Value;

    #[test]
    fn it_is_found_however_few_hashes_are_held() {
        let folder = std::env::temp_dir().join(format!("singlet-repeated-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let mut writer = ArchiveWriter::begin(&folder, "T", 1).unwrap().with_file_bytes(100);
        let item = |at: i64| {
            Item::from([
                ("PK".to_owned(), Value::from(at % 40)),
                ("at".to_owned(), Value::from(at)),
            ])
        };
        for at in 0..40 {
            writer.put_item(&item(at)).unwrap();
        }
        writer.put_item(&item(57)).unwrap();
        writer.finish(2).unwrap();
        let archive = archives_in(&folder).unwrap().remove(0);
        let key_of = |item: &Item| Item::from([("PK".to_owned(), item["PK"].clone())]);
        for held in [0, 1, 2, 3, 40, 41, 42, u64::MAX] {
            let found = repeated_key_within(&archive, key_of, held).unwrap().unwrap();
            assert_eq!(found.key["PK"], Value::from(17), "{held} held");
            assert_eq!(repeated_key_within(&archive, Item::clone, held).unwrap(), None);
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
