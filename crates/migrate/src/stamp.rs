//! What an item that was changed remembers of what it was.
//!
//! `$was` is a map: `set` has the values that were others or are gone, `gone` the names that were not there. An item that was made
//! beside a row has an empty one. With it the old item comes back exactly, whether or not the change could be computed backwards.

use std::collections::BTreeMap;

use singlet_item::{Item, Value};

pub use singlet_runtime::MIGRATED as STAMP;

const SET: &str = "set";
const GONE: &str = "gone";
const MOVED: &str = "moved";

/// The kind of what a row leaves behind.
const MOVED_KIND: &str = "$moved";

/// Whether an item was changed or made by a migration that is under way.
pub(crate) fn is_stamped(item: &Item) -> bool {
    item.contains_key(STAMP)
}

/// An item as it will be, which remembers what it was.
pub(crate) fn stamped_item(old: &Item, new: &Item) -> Item {
    let set = old.iter().filter(|(name, value)| new.get(*name) != Some(*value));
    let set: BTreeMap<String, Value> = set.map(|(name, value)| (name.clone(), value.clone())).collect();
    let gone = new.keys().filter(|name| !old.contains_key(*name));
    let gone: Vec<Value> = gone.map(|name| Value::S(name.clone())).collect();
    let was = BTreeMap::from([(SET.to_owned(), Value::M(set)), (GONE.to_owned(), Value::L(gone))]);
    let mut item = new.clone();
    item.insert(STAMP.to_owned(), Value::M(was));
    item
}

/// An item that is made beside a row.
pub(crate) fn stamped_as_made(new: &Item) -> Item {
    let mut item = new.clone();
    item.insert(STAMP.to_owned(), Value::M(BTreeMap::new()));
    item
}

/// What a row leaves behind at its old key, where somebody follows the table's changes: its deletion there would be told as that of the row.
pub(crate) fn left_behind(key: &Item, type_attributes: &[&String]) -> Item {
    let mut item = key.clone();
    for name in type_attributes {
        item.insert((*name).clone(), Value::from(MOVED_KIND));
    }
    let was = BTreeMap::from([(MOVED.to_owned(), Value::Bool(true))]);
    item.insert(STAMP.to_owned(), Value::M(was));
    item
}

/// Whether an item is what a row has left behind.
pub(crate) fn is_left_behind(item: &Item) -> bool {
    let was = item.get(STAMP).and_then(Value::as_map);
    was.is_some_and(|was| was.contains_key(MOVED))
}

/// The item without what it remembers.
pub(crate) fn unstamped_item(item: &Item) -> Item {
    let mut item = item.clone();
    item.remove(STAMP);
    item
}

/// What an item was; none where it was made, or does not say.
pub(crate) fn restored_item(item: &Item) -> Option<Item> {
    let was = item.get(STAMP)?.as_map()?;
    let set = was.get(SET)?.as_map()?;
    let Value::L(gone) = was.get(GONE)? else { return None };
    let mut old = unstamped_item(item);
    for name in gone.iter().filter_map(Value::as_str) {
        old.remove(name);
    }
    old.extend(set.iter().map(|(name, value)| (name.clone(), value.clone())));
    Some(old)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn item(pairs: &[(&str, &str)]) -> Item {
        let pairs = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Value::from(*value)));
        pairs.collect()
    }

    #[test]
    fn what_was_changed_gone_and_new_comes_back() {
        let old = item(&[("PK", "a"), ("same", "s"), ("changed", "1"), ("dropped", "d")]);
        let new = item(&[("PK", "b"), ("same", "s"), ("changed", "2"), ("added", "n")]);
        let stamped = stamped_item(&old, &new);
        assert!(is_stamped(&stamped));
        assert_eq!(unstamped_item(&stamped), new);
        assert_eq!(restored_item(&stamped).unwrap(), old);
    }

    #[test]
    fn what_was_made_was_nothing() {
        let made = stamped_as_made(&item(&[("PK", "a")]));
        assert!(is_stamped(&made));
        assert_eq!(restored_item(&made), None);
    }
}
