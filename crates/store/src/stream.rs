//! Changes of a table, in the order they happened.

use serde::{Deserialize, Serialize};
use singlet_item::Item;

/// Read changes of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamRequest {
    /// The table, whose stream is on.
    pub table: String,
    /// From where.
    pub position: StreamPosition,
    /// How many records at most, 1 to 1000.
    pub limit: u32,
}

/// The most records of one page of a stream.
pub const STREAM_PAGE_RECORDS_MAX: u32 = 1000;

/// A place in a stream. What a page gives as `next` can be kept across restarts, for as long as the engine keeps the
/// changes (DynamoDB: 24 hours).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum StreamPosition {
    /// Before the oldest change that is kept.
    Start,
    /// Before all that happens from now on. What was there before may come too: DynamoDB has no number for it, and begins with
    /// the shards that are open.
    Latest,
    /// Where a page ended, in the words of its store.
    After(String),
}

/// Changes, and where to go on. A page without records is no end: a stream has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamPage {
    /// The changes. Those of one item are in the order they happened; those of different partitions need not be.
    pub records: Vec<StreamRecord>,
    /// Where to go on.
    pub next: StreamPosition,
    /// Where the reading began with [`StreamPosition::Latest`] and the engine gives changes from before that too: when it began, in seconds
    /// since 1970, by the clock of who read.
    pub began_at_seconds: Option<i64>,
}

/// One change of one item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamRecord {
    /// The engine's number of the change. Within one item it grows.
    pub sequence: String,
    /// What happened.
    pub event: StreamEvent,
    /// The key of the item.
    pub key: Item,
    /// The item before, if there was one and the stream carries it.
    pub old: Option<Item>,
    /// The item after, if there is one and the stream carries it.
    pub new: Option<Item>,
    /// When, in whole seconds since 1970, as the engine says it.
    pub at_seconds: i64,
    /// Whether the item was deleted because it had expired.
    pub expired: bool,
}

/// What happened to an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum StreamEvent {
    /// It was not there before.
    Insert,
    /// It changed.
    Modify,
    /// It is no longer there.
    Remove,
}
