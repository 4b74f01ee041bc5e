//! The entries of a map, in the order written, and found by their names.

use std::collections::HashMap;
use std::ops::Deref;

use crate::node::Entry;

/// The most entries among which a name is looked for one by one: most maps are small, and that is quicker than a table.
const ENTRIES_LOOKED_AT_MAX: usize = 16;

/// The entries of a map; names are found quickly however many there are.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    list: Vec<Entry>,
    /// Where each name is, once there are more than are looked at one by one; empty before.
    by_name: HashMap<String, usize>,
}

impl Entries {
    /// Adds an entry whose name is not there yet.
    pub(crate) fn push(&mut self, entry: Entry) {
        if !self.by_name.is_empty() {
            self.by_name.insert(entry.key.text.clone(), self.list.len());
        }
        self.list.push(entry);
        if self.by_name.is_empty() {
            self.find_anew();
        }
    }

    /// The entry of that name.
    pub fn entry_named(&self, name: &str) -> Option<&Entry> {
        match self.by_name.is_empty() {
            true => self.list.iter().find(|entry| entry.key.text == name),
            false => self.list.get(*self.by_name.get(name)?),
        }
    }

    /// Drops entries.
    pub(crate) fn retain_entries(&mut self, keep: impl Fn(&Entry) -> bool) {
        self.list.retain(keep);
        self.find_anew();
    }

    /// The values, to change them.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut crate::node::Node> {
        self.list.iter_mut().map(|entry| &mut entry.value)
    }

    fn find_anew(&mut self) {
        self.by_name.clear();
        if self.list.len() > ENTRIES_LOOKED_AT_MAX {
            let named = |(at, entry): (usize, &Entry)| (entry.key.text.clone(), at);
            self.by_name.extend(self.list.iter().enumerate().map(named));
        }
    }
}

impl Deref for Entries {
    type Target = [Entry];

    fn deref(&self) -> &[Entry] {
        &self.list
    }
}

impl<'a> IntoIterator for &'a Entries {
    type Item = &'a Entry;
    type IntoIter = std::slice::Iter<'a, Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}
