//! What a store is: the [`Store`] trait, its requests and answers as plain values, its errors, and (behind the feature
//! `conformance`) one suite that every store passes.
//!
//! # Terms
//!
//! - A *request* says what to do as structured values: key ranges ([`KeyRange`]), conditions ([`Condition`]), updates
//!   ([`Update`]) and projections (lists of [`Path`]). None of them is a string of DynamoDB's expression language.
//! - [`render`] is the one place that turns these values into such strings, for stores whose engine speaks them. A
//!   store that evaluates the values itself does not need it.
//! - An *answer* always carries what the request [`Consumed`], per table and per index, in exact units.
//! - A [`StoreError`] is classified by what a caller can do about it, not by the engine's name for it. A failed
//!   condition brings the item that it was evaluated on; a cancelled transaction brings one reason per action.
//!
//! # What it is not
//!
//! It plans nothing, retries nothing and merges no pages: a page, an unprocessed key and a throttled call reach the
//! caller as they are. It knows no engine and holds no connection. It depends on the item crate only.

#[macro_use]
mod from_values;

mod answer;
mod applied;
mod condition;
#[cfg(feature = "conformance")]
pub mod conformance;
mod consumed;
mod error;
mod holds;
mod key_range;
mod layer;
mod paths;
pub mod render;
mod request;
mod stream;
mod table;
mod update;
pub mod well_formed;

pub use answer::{BatchGetAnswer, BatchWriteAnswer, GetAnswer, PageAnswer, TransactGetAnswer, WriteAnswer};
pub use condition::{AttributeType, Comparison, Condition, Operand};
pub use consumed::{Consumed, TableConsumed, Units};
pub use error::{Cancellation, ErrorKind, StoreError};
pub use key_range::{KeyRange, SortRange};
pub use layer::StoreLayer;
pub use request::{
    BatchGetRequest, BatchGetTable, BatchWrite, BatchWriteRequest, DeleteRequest, Direction, GetRequest, ItemLookup,
    PutRequest, QueryRequest, ScanRequest, ScanSegment, Select, TransactGet, TransactGetRequest, TransactWrite,
    TransactWriteRequest, UpdateRequest, UpdateReturn, WantedItem,
};
pub use stream::{STREAM_PAGE_RECORDS_MAX, StreamEvent, StreamPage, StreamPosition, StreamRecord, StreamRequest};
pub use table::{
    Billing, IndexKind, IndexProjection, IndexSpec, IndexUnits, KeyAttribute, KeySchema, KeyType, StreamView,
    TableChange, TableDescription, TableSpec, TableStatus, TableUpkeep, TtlChange,
};
pub use update::{SetOperand, SetValue, Update};

pub use singlet_item::{Path, Paths, Segment};

use std::sync::Arc;

use async_trait::async_trait;

/// What every fallible call of a store returns.
pub type Result<T> = std::result::Result<T, StoreError>;

/// A place that holds tables and speaks DynamoDB's data model.
///
/// Requests are taken by reference, so that a caller may send the same one again. Every call is one request to the
/// engine, except where its own words say otherwise; none hides a page.
#[async_trait]
pub trait Store: Send + Sync + std::fmt::Debug {
    /// Reads one item by its key. An item that is not there is an answer, not an error.
    async fn get(&self, request: &GetRequest) -> Result<GetAnswer>;

    /// Whether [`Store::get_at_once`] may answer: who makes a request only to try it need not make one where it never does.
    fn gives_at_once(&self) -> bool {
        false
    }

    /// The same where nobody has to wait for it, as a plain call. None where the answer may take a while, or where what lies in front
    /// of a store must see every call: then [`Store::get`] answers.
    fn get_at_once(&self, lookup: ItemLookup<'_>) -> Option<Result<GetAnswer>> {
        let _ = lookup;
        None
    }

    /// Reads up to 100 items by their keys, in no order. What the engine left out comes back as unprocessed.
    async fn batch_get(&self, request: &BatchGetRequest) -> Result<BatchGetAnswer>;

    /// Reads one page of one item collection, of the table or of an index.
    async fn query(&self, request: &QueryRequest) -> Result<PageAnswer>;

    /// Whether [`Store::query_wanted`] looks itself at items where they lie: then what tells which are wanted need not be asked for.
    fn looks_at_items(&self) -> bool {
        false
    }

    /// [`Store::query`] of which only items are wanted that are something: others are counted and not given. A store that does not look at
    /// items itself gives them too.
    async fn query_wanted(&self, request: &QueryRequest, wanted: WantedItem<'_>) -> Result<PageAnswer> {
        let _ = wanted;
        self.query(request).await
    }

    /// Reads one page of a whole table, index or segment.
    async fn scan(&self, request: &ScanRequest) -> Result<PageAnswer>;

    /// Reads up to 100 items as of one moment, in the order asked.
    async fn transact_get(&self, request: &TransactGetRequest) -> Result<TransactGetAnswer>;

    /// Writes one whole item.
    async fn put(&self, request: &PutRequest) -> Result<WriteAnswer>;

    /// Changes attributes of one item, which is created if it is not there.
    async fn update(&self, request: &UpdateRequest) -> Result<WriteAnswer>;

    /// [`Store::update`] of a request that its owner shares: who keeps it until it is done takes no copy.
    async fn update_shared(&self, request: &Arc<UpdateRequest>) -> Result<WriteAnswer> {
        self.update(request).await
    }

    /// Deletes one item. Deleting what is not there succeeds.
    async fn delete(&self, request: &DeleteRequest) -> Result<WriteAnswer>;

    /// Puts and deletes up to 25 items, each for itself, without conditions. What the engine left out comes back as
    /// unprocessed.
    async fn batch_write(&self, request: &BatchWriteRequest) -> Result<BatchWriteAnswer>;

    /// Does up to 100 actions, all or none.
    async fn transact_write(&self, request: &TransactWriteRequest) -> Result<WriteAnswer>;

    /// [`Store::transact_write`] of a request that its owner shares, as [`Store::update_shared`].
    async fn transact_write_shared(&self, request: &Arc<TransactWriteRequest>) -> Result<WriteAnswer> {
        self.transact_write(request).await
    }

    /// Creates a table, waits (within a bound) until it can be used, and sets its TTL attribute.
    async fn create_table(&self, spec: &TableSpec) -> Result<()>;

    /// What a table is, so that it can be compared with what it should be.
    async fn describe_table(&self, table: &str) -> Result<TableDescription>;

    /// What is kept about a table besides. A store that keeps nothing of the kind says so.
    async fn describe_upkeep(&self, table: &str) -> Result<TableUpkeep> {
        let _ = table;
        Ok(TableUpkeep::default())
    }

    /// Changes a table that is there, and waits (within a bound) until the change is done. A store that cannot do it
    /// refuses.
    async fn update_table(&self, table: &str, change: &TableChange) -> Result<()> {
        let _ = change;
        Err(StoreError::bad_request(format!(
            "this store does not change table `{table}`"
        )))
    }

    /// Deletes a table with all its items, and waits (within a bound) until it is gone.
    async fn delete_table(&self, table: &str) -> Result<()>;

    /// The names of all tables, sorted.
    async fn list_tables(&self) -> Result<Vec<String>>;

    /// Sets the attribute whose time, in seconds since 1970, expires an item, or turns expiry off.
    async fn update_ttl(&self, table: &str, attribute: Option<&str>) -> Result<()>;

    /// Whether writes are possible, as far as that is known without one, and why not.
    async fn check_writes(&self) -> Result<()> {
        Ok(())
    }

    /// Reads changes of a table from a position on. Changes of one item come in the order they happened.
    async fn read_stream(&self, request: &StreamRequest) -> Result<StreamPage>;
}
