//! Changes of a folder that a service has open: what is asked of it through the folder's socket, and how it is told.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use singlet_changes::{
    Beside, ChangeSource, ItemsBeside, KeptPut, ScanItems, get_row_in, items_beside_in, put_row_in, scan_items_in,
};
use singlet_item::Item;
use singlet_store::{
    ErrorKind, Result, Store, StoreError, StreamEvent, StreamPage, StreamPosition, StreamRecord, StreamRequest,
};
use singlet_store_embedded::EmbeddedStore;

use crate::operator::told_by_service;

/// What is asked of a table's changes and of who follows them.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum FolderRead {
    /// Records from a position on.
    Records {
        table: String,
        position: Position,
        limit: u32,
    },
    /// Items that lie beside one.
    Beside {
        table: String,
        partition: String,
        key: Item,
        after: bool,
        limit: u32,
    },
    /// Items of a table.
    Scan {
        table: String,
        start: Option<Item>,
        limit: u32,
    },
    /// A row that is kept about followers.
    Row { table: String, key: Item },
    /// Such a row is written.
    Put {
        table: String,
        partition: String,
        item: Item,
        turn_before: Option<u64>,
    },
}

/// What is told.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum FolderTold {
    Records { records: Vec<Record>, next: Position },
    Items { items: Vec<Item>, last_key: Option<Item> },
    Row(Option<Item>),
    Put(bool),
    Failed { kind: FailedKind, message: String },
}

/// A place in a stream.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Position {
    Start,
    Latest,
    After(String),
}

/// Which kind of error it was; what nobody tells apart is unavailable.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum FailedKind {
    PositionLost,
    NotFound,
    BadRequest,
    Unavailable,
}

/// A record.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Record {
    sequence: String,
    event: Event,
    key: Item,
    old: Option<Item>,
    new: Option<Item>,
    at_seconds: i64,
    expired: bool,
}

/// What happened to an item.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Event {
    Insert,
    Modify,
    Remove,
}

impl FolderRead {
    /// Reads it from a store.
    pub async fn told_by(&self, store: &EmbeddedStore) -> FolderTold {
        let told = match self.clone() {
            FolderRead::Records { table, position, limit } => {
                let request = StreamRequest {
                    table,
                    position: position.into(),
                    limit,
                };
                store.read_stream(&request).await.map(|page| FolderTold::Records {
                    records: page.records.into_iter().map(Record::from).collect(),
                    next: page.next.into(),
                })
            }
            FolderRead::Beside {
                table,
                partition,
                key,
                after,
                limit,
            } => {
                let beside = Beside {
                    table,
                    partition,
                    key,
                    after,
                    limit,
                };
                items_beside_in(store, &beside).await.map(|found| FolderTold::Items {
                    items: found.items,
                    last_key: found.last_key,
                })
            }
            FolderRead::Scan { table, start, limit } => {
                let request = ScanItems { table, start, limit };
                scan_items_in(store, &request).await.map(|found| FolderTold::Items {
                    items: found.items,
                    last_key: found.last_key,
                })
            }
            FolderRead::Row { table, key } => get_row_in(store, &table, &key).await.map(FolderTold::Row),
            FolderRead::Put {
                table,
                partition,
                item,
                turn_before,
            } => {
                let put = KeptPut {
                    table,
                    partition,
                    item,
                    turn_before,
                };
                put_row_in(store, &put).await.map(FolderTold::Put)
            }
        };
        told.unwrap_or_else(|error| FolderTold::Failed {
            kind: FailedKind::of(&error),
            message: error.message().to_owned(),
        })
    }
}

impl FailedKind {
    fn of(error: &StoreError) -> Self {
        match error.kind() {
            ErrorKind::PositionLost => FailedKind::PositionLost,
            ErrorKind::NotFound => FailedKind::NotFound,
            ErrorKind::BadRequest => FailedKind::BadRequest,
            _ => FailedKind::Unavailable,
        }
    }

    fn error(self, message: String) -> StoreError {
        let kind = match self {
            FailedKind::PositionLost => ErrorKind::PositionLost,
            FailedKind::NotFound => ErrorKind::NotFound,
            FailedKind::BadRequest => ErrorKind::BadRequest,
            FailedKind::Unavailable => ErrorKind::Unavailable,
        };
        StoreError::new(kind, message)
    }
}

/// The changes of a folder, told by the process that has it open.
#[derive(Clone, Debug)]
pub struct FolderChanges {
    folder: PathBuf,
}

impl FolderChanges {
    /// Of a folder.
    pub fn new(folder: PathBuf) -> Self {
        FolderChanges { folder }
    }

    /// Asks for something; an error that is temporary where nobody listens any more.
    async fn ask(&self, read: FolderRead) -> Result<FolderTold> {
        let folder = self.folder.clone();
        let asked = tokio::task::spawn_blocking(move || told_by_service(&folder, &read)).await;
        let told = asked.map_err(|error| StoreError::unavailable(error.to_string()))?;
        let shown = self.folder.display();
        let gone = || StoreError::unavailable(format!("no service has `{shown}` open any more"));
        match told.ok_or_else(gone)?.map_err(StoreError::unavailable)? {
            FolderTold::Failed { kind, message } => Err(kind.error(message)),
            told => Ok(told),
        }
    }
}

fn other_answer() -> StoreError {
    StoreError::unavailable("the service answers something else than was asked")
}

#[async_trait::async_trait]
impl ChangeSource for FolderChanges {
    async fn read_records(&self, request: &StreamRequest) -> Result<StreamPage> {
        let read = FolderRead::Records {
            table: request.table.clone(),
            position: request.position.clone().into(),
            limit: request.limit,
        };
        match self.ask(read).await? {
            FolderTold::Records { records, next } => Ok(StreamPage {
                records: records.into_iter().map(StreamRecord::from).collect(),
                next: next.into(),
                began_at_seconds: None,
            }),
            _ => Err(other_answer()),
        }
    }

    async fn items_beside(&self, beside: &Beside) -> Result<ItemsBeside> {
        let beside = beside.clone();
        let read = FolderRead::Beside {
            table: beside.table,
            partition: beside.partition,
            key: beside.key,
            after: beside.after,
            limit: beside.limit,
        };
        match self.ask(read).await? {
            FolderTold::Items { items, last_key } => Ok(ItemsBeside { items, last_key }),
            _ => Err(other_answer()),
        }
    }

    async fn scan_items(&self, request: &ScanItems) -> Result<ItemsBeside> {
        let request = request.clone();
        let read = FolderRead::Scan {
            table: request.table,
            start: request.start,
            limit: request.limit,
        };
        match self.ask(read).await? {
            FolderTold::Items { items, last_key } => Ok(ItemsBeside { items, last_key }),
            _ => Err(other_answer()),
        }
    }

    async fn get_row(&self, table: &str, key: &Item) -> Result<Option<Item>> {
        let read = FolderRead::Row {
            table: table.to_owned(),
            key: key.clone(),
        };
        match self.ask(read).await? {
            FolderTold::Row(item) => Ok(item),
            _ => Err(other_answer()),
        }
    }

    async fn put_row(&self, put: &KeptPut) -> Result<bool> {
        let put = put.clone();
        let read = FolderRead::Put {
            table: put.table,
            partition: put.partition,
            item: put.item,
            turn_before: put.turn_before,
        };
        match self.ask(read).await? {
            FolderTold::Put(done) => Ok(done),
            _ => Err(other_answer()),
        }
    }
}

impl From<StreamPosition> for Position {
    fn from(position: StreamPosition) -> Self {
        match position {
            StreamPosition::Start => Position::Start,
            StreamPosition::Latest => Position::Latest,
            StreamPosition::After(text) => Position::After(text),
        }
    }
}

impl From<Position> for StreamPosition {
    fn from(position: Position) -> Self {
        match position {
            Position::Start => StreamPosition::Start,
            Position::Latest => StreamPosition::Latest,
            Position::After(text) => StreamPosition::After(text),
        }
    }
}

impl From<StreamRecord> for Record {
    fn from(record: StreamRecord) -> Self {
        Record {
            sequence: record.sequence,
            event: match record.event {
                StreamEvent::Insert => Event::Insert,
                StreamEvent::Modify => Event::Modify,
                StreamEvent::Remove => Event::Remove,
            },
            key: record.key,
            old: record.old,
            new: record.new,
            at_seconds: record.at_seconds,
            expired: record.expired,
        }
    }
}

impl From<Record> for StreamRecord {
    fn from(record: Record) -> Self {
        StreamRecord {
            sequence: record.sequence,
            event: match record.event {
                Event::Insert => StreamEvent::Insert,
                Event::Modify => StreamEvent::Modify,
                Event::Remove => StreamEvent::Remove,
            },
            key: record.key,
            old: record.old,
            new: record.new,
            at_seconds: record.at_seconds,
            expired: record.expired,
        }
    }
}
