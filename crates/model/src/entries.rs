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
    /// Where each name is, once there are more than are looked at one by one.
    by_name: Option<Box<HashMap<String, usize>>>,
}

impl Entries {
    /// Adds an entry whose name is not there yet.
    pub(crate) fn push(&mut self, entry: Entry) {
        let at = self.list.len();
        if let Some(by_name) = &mut self.by_name {
            by_name.insert(entry.key.text.clone(), at);
        }
        self.list.push(entry);
        if self.by_name.is_none() && self.list.len() > ENTRIES_LOOKED_AT_MAX {
            self.find_anew();
        }
    }

    /// The entry of that name.
    pub fn named(&self, name: &str) -> Option<&Entry> {
        match &self.by_name {
            Some(by_name) => self.list.get(*by_name.get(name)?),
            None => self.list.iter().find(|entry| entry.key.text == name),
        }
    }

    /// Drops entries.
    pub(crate) fn retain(&mut self, keep: impl Fn(&Entry) -> bool) {
        self.list.retain(keep);
        self.find_anew();
    }

    /// The values, to change them.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut crate::node::Node> {
        self.list.iter_mut().map(|entry| &mut entry.value)
    }

    fn find_anew(&mut self) {
        let named = |(at, entry): (usize, &Entry)| (entry.key.text.clone(), at);
        self.by_name = (self.list.len() > ENTRIES_LOOKED_AT_MAX)
            .then(|| Box::new(self.list.iter().enumerate().map(named).collect()));
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
