//! What is asked of a store.

use crate::{Condition, KeyRange, Paths, Update};
use serde::{Deserialize, Serialize};
use singlet_item::{Item, Value};

/// Read one item.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GetRequest {
    /// The table.
    pub table: String,
    /// The key attributes of the item.
    pub key: Item,
    /// Whether the read sees every write acknowledged before it.
    pub consistent: bool,
    /// The paths to return; all, if empty.
    #[serde(with = "crate::paths")]
    pub projection: Paths,
}

/// One item by its key, for a store that gives it at once: what is asked lies with who asks, so that nothing is copied to ask.
#[derive(Clone, Copy, Debug)]
pub struct ItemLookup<'a> {
    /// The table.
    pub table: &'a str,
    /// The key attributes of the item, each once.
    pub key: &'a [(&'a str, Value)],
    /// Whether the read sees every write acknowledged before it.
    pub consistent: bool,
    /// The paths to return; all, if empty.
    pub projection: &'a Paths,
    /// What the item must be; else there is none in the answer.
    pub wanted: WantedItem<'a>,
}

/// What an item must be for whoever asks for it: told to the store, so that what tells it need not be in the answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct WantedItem<'a> {
    /// An attribute, and the text that it has where it is a text.
    pub kind: Option<(&'a str, &'a str)>,
    /// The attribute that has the second in which an item is over, and the instant now in milliseconds.
    pub end: Option<(&'a str, i64)>,
}

impl WantedItem<'_> {
    /// Whether a time in seconds has passed.
    pub fn is_over(seconds: i64, now: i64) -> bool {
        seconds.saturating_mul(1_000) <= now
    }
}

impl ItemLookup<'_> {
    /// The value of a key attribute.
    pub fn key_value(&self, name: &str) -> Option<&Value> {
        let known = self.key.iter().find(|(known, _)| *known == name);
        known.map(|(_, value)| value)
    }
}

/// Read up to 100 items, of one or several tables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BatchGetRequest {
    /// What to read of each table; each table at most once.
    pub tables: Vec<BatchGetTable>,
}

/// What a batch reads of one table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BatchGetTable {
    /// The table.
    pub table: String,
    /// The keys of the items; none twice.
    pub keys: Vec<Item>,
    /// Whether the reads see every write acknowledged before them.
    pub consistent: bool,
    /// The paths to return; all, if empty.
    #[serde(with = "crate::paths")]
    pub projection: Paths,
}

/// Read one page of one item collection.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct QueryRequest {
    /// The table.
    pub table: String,
    /// The index, if it is not the table itself that is read.
    pub index: Option<String>,
    /// Which part of which collection.
    pub range: KeyRange,
    /// What an item must satisfy to be returned. It saves no capacity.
    pub filter: Option<Condition>,
    /// What is returned of each item.
    pub select: Select,
    /// Whether the read sees every write acknowledged before it. A global index cannot.
    pub consistent: bool,
    /// In which order.
    pub direction: Direction,
    /// How many items are evaluated at most, before the filter.
    pub limit: Option<u32>,
    /// The `last_key` of the page before.
    pub start: Option<Item>,
}

impl QueryRequest {
    /// All of a range of a table, in ascending order, eventually consistent.
    pub fn new(table: impl Into<String>, range: KeyRange) -> Self {
        Self {
            table: table.into(),
            index: None,
            range,
            filter: None,
            select: Select::All,
            consistent: false,
            direction: Direction::Ascending,
            limit: None,
            start: None,
        }
    }
}

/// Read one page of everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ScanRequest {
    /// The table.
    pub table: String,
    /// The index, if it is not the table itself that is read.
    pub index: Option<String>,
    /// What an item must satisfy to be returned. It saves no capacity.
    pub filter: Option<Condition>,
    /// What is returned of each item.
    pub select: Select,
    /// Whether the read sees every write acknowledged before it. A global index cannot.
    pub consistent: bool,
    /// How many items are evaluated at most, before the filter.
    pub limit: Option<u32>,
    /// The `last_key` of the page before.
    pub start: Option<Item>,
    /// The part of a parallel scan.
    pub segment: Option<ScanSegment>,
}

/// One part of a parallel scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ScanSegment {
    /// Which one, from zero.
    pub index: u32,
    /// Of how many.
    pub total: u32,
}

/// What a page returns of each item.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Select {
    /// All that the table or the index has of it.
    #[default]
    All,
    /// These paths, at least one.
    Paths(#[serde(with = "crate::paths")] Paths),
    /// Nothing: only the count.
    Count,
}

/// The order of a query, by sort key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Direction {
    /// Lowest first.
    #[default]
    Ascending,
    /// Highest first.
    Descending,
}

/// Read up to 100 items as of one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TransactGetRequest {
    /// The reads.
    pub gets: Vec<TransactGet>,
}

/// One read of a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TransactGet {
    /// The table.
    pub table: String,
    /// The key attributes of the item.
    pub key: Item,
    /// The paths to return; all, if empty.
    #[serde(with = "crate::paths")]
    pub projection: Paths,
}

/// Write one whole item.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PutRequest {
    /// The table.
    pub table: String,
    /// The item, its key attributes included.
    pub item: Item,
    /// What must hold of the item that is there now.
    pub condition: Option<Condition>,
    /// Whether the item that was there comes back. In a transaction it never does.
    pub return_old: bool,
}

/// Change attributes of one item.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct UpdateRequest {
    /// The table.
    pub table: String,
    /// The key attributes of the item.
    pub key: Item,
    /// What changes.
    pub update: Update,
    /// What must hold of the item that is there now.
    pub condition: Option<Condition>,
    /// What comes back. In a transaction nothing does.
    pub returns: UpdateReturn,
}

/// What an update returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum UpdateReturn {
    /// Nothing.
    #[default]
    Nothing,
    /// The whole item before.
    Old,
    /// The whole item after.
    New,
    /// The attributes named in the update, before.
    UpdatedOld,
    /// The attributes named in the update, after.
    UpdatedNew,
}

/// Delete one item.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DeleteRequest {
    /// The table.
    pub table: String,
    /// The key attributes of the item.
    pub key: Item,
    /// What must hold of the item that is there now.
    pub condition: Option<Condition>,
    /// Whether the item that was there comes back. In a transaction it never does.
    pub return_old: bool,
}

/// Put and delete up to 25 items, each for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BatchWriteRequest {
    /// The writes; no item twice.
    pub writes: Vec<BatchWrite>,
}

/// One write of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BatchWrite {
    /// Write a whole item.
    Put {
        /// The table.
        table: String,
        /// The item.
        item: Item,
    },
    /// Delete an item.
    Delete {
        /// The table.
        table: String,
        /// Its key attributes.
        key: Item,
    },
}

/// Up to 100 actions, all or none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TransactWriteRequest {
    /// The actions; no item twice.
    pub actions: Vec<TransactWrite>,
    /// A token of up to 36 characters: the same request with the same token, within ten minutes, is done once.
    pub token: Option<String>,
}

/// One action of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TransactWrite {
    /// Write a whole item.
    Put(PutRequest),
    /// Change attributes of an item.
    Update(UpdateRequest),
    /// Delete an item.
    Delete(DeleteRequest),
    /// Only check what holds of an item.
    Check {
        /// The table.
        table: String,
        /// The key attributes of the item.
        key: Item,
        /// What must hold of it.
        condition: Condition,
    },
}
