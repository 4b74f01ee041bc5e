//! A change of a row.

use std::fmt;

use sha2::{Digest, Sha256};
use singlet_item::Item;
use singlet_runtime::{Attributes, Value};
use singlet_values::json_text;

/// How many bytes of a key's hash stand in an id.
const KEY_HASH_BYTES: usize = 16;

/// What happened to a row of an entity.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The same at every delivery, and no other change's.
    pub id: ChangeId,
    /// The entity's name.
    pub entity: String,
    /// What happened.
    pub kind: ChangeKind,
    /// What identifies the row: the attributes in its key, without the instants of versions.
    pub key: Attributes,
    /// The row before, where there was one and the stream carries it.
    pub before: Option<Attributes>,
    /// The row after, where there is one and the stream carries it.
    pub after: Option<Attributes>,
    /// When, in whole seconds since 1970, as the store says it. It orders nothing.
    pub at_seconds: i64,
    /// What made it in place of a write, such as a loading: nothing runs after it.
    pub by: Option<String>,
}

/// What happened to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeKind {
    /// It was not there before.
    Created,
    /// It is another than before.
    Updated,
    /// A write removed it.
    Deleted,
    /// It was removed after its time.
    Expired,
}

impl ChangeKind {
    /// Every kind.
    pub const ALL: [ChangeKind; 4] = [
        ChangeKind::Created,
        ChangeKind::Updated,
        ChangeKind::Deleted,
        ChangeKind::Expired,
    ];

    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            ChangeKind::Created => "created",
            ChangeKind::Updated => "updated",
            ChangeKind::Deleted => "deleted",
            ChangeKind::Expired => "expired",
        }
    }
}

/// What names a change: the store's number of its record, and the key of its item. Numbers grow within an item, and two items may
/// have the same one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChangeId(String);

impl ChangeId {
    /// The id of a record. The key is hashed, so that an id has a bounded length and stands anywhere.
    pub(crate) fn of_record(sequence: &str, key: &Item) -> Self {
        let mut text = Vec::new();
        // Of all key attributes by name: equal keys must have equal ids at every delivery, whatever made them.
        json_text::write_object(&mut text, key.iter().map(|(name, value)| (name.as_str(), value)));
        let mut id = String::with_capacity(sequence.len() + 1 + 2 * KEY_HASH_BYTES);
        id.push_str(sequence);
        id.push('-');
        // Bounded, since an id stands in keys of the table.
        for byte in Sha256::digest(&text).iter().take(KEY_HASH_BYTES) {
            let digits = [byte >> 4, byte & 0xf];
            id.extend(
                digits
                    .iter()
                    .filter_map(|digit| char::from_digit(u32::from(*digit), 16)),
            );
        }
        ChangeId(id)
    }

    /// The id of the first of two changes that one record means: the end of a row whose place another took.
    pub(crate) fn of_the_end(&self) -> Self {
        ChangeId(format!("{}-end", self.0))
    }

    /// What tells the item of the record from others: the hash of its key.
    pub(crate) fn item_mark(&self) -> &str {
        // The hash and not the number: it is the same for all changes of one item.
        self.0.split('-').nth(1).unwrap_or(&self.0)
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ChangeId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl Change {
    /// When, as text: `2026-11-17T09:30:00Z`.
    pub fn at_text(&self) -> String {
        at_text(self.at_seconds)
    }

    /// As one JSON object: `id`, `entity`, `kind`, `key`, `before`, `after`, `at`. An image that is not there is left out.
    pub fn to_json(&self) -> String {
        let mut out = Vec::new();
        let word = |text: &str| Value::S(text.to_owned());
        let mut fields = vec![
            ("id", word(self.id.as_str())),
            ("entity", word(&self.entity)),
            ("kind", word(self.kind.word())),
            ("key", Value::M(self.key.clone())),
        ];
        fields.extend(self.before.clone().map(|row| ("before", Value::M(row))));
        fields.extend(self.after.clone().map(|row| ("after", Value::M(row))));
        fields.push(("at", Value::S(self.at_text())));
        fields.extend(self.by.as_ref().map(|by| ("by", word(by))));
        json_text::write_object(&mut out, fields.iter().map(|(name, value)| (*name, value)));
        String::from_utf8(out).unwrap_or_default()
    }

    /// The attributes that differ between before and after, by name.
    pub fn differing_attributes(&self) -> Vec<&str> {
        let (Some(before), Some(after)) = (&self.before, &self.after) else {
            return Vec::new();
        };
        let mut names: Vec<&str> = before.keys().chain(after.keys()).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        // What is absent on one side differs too.
        names.retain(|name| before.get(*name) != after.get(*name));
        names
    }
}

/// Seconds since 1970 as text: `2026-11-17T09:30:00Z`.
pub fn at_text(seconds: i64) -> String {
    match jiff::Timestamp::from_second(seconds) {
        Ok(instant) => instant.to_string(),
        Err(_) => seconds.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_the_number_and_a_hash_of_the_key_as_json() {
        let key = Item::from([
            ("SK".to_owned(), Value::N(1.into())),
            ("PK".to_owned(), Value::S("a".to_owned())),
        ]);
        let id = ChangeId::of_record("0007", &key);
        assert_eq!(id.as_str(), "0007-b6bec9a806424efadececfe77675cbe2");
        assert_eq!(id.item_mark(), "b6bec9a806424efadececfe77675cbe2");
    }
}
