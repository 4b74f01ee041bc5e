//! Where changes are read from: a store, or a process that has it open.

use std::sync::Arc;

use async_trait::async_trait;
use singlet_item::{Item, Number, Value};
use singlet_store::{
    Condition, Direction, GetRequest, KeyRange, Path, PutRequest, QueryRequest, Result, ScanRequest, Store, StoreError,
    StreamPage, StreamRequest,
};

/// What reading changes asks of a store.
#[async_trait]
pub trait ChangeSource: Send + Sync {
    /// Reads records of a stream.
    async fn read_records(&self, request: &StreamRequest) -> Result<StreamPage>;

    /// Reads items that lie beside one in its item collection, strongly.
    async fn items_beside(&self, beside: &Beside) -> Result<ItemsBeside>;

    /// Reads items of a table, strongly, wherever they lie.
    async fn scan_items(&self, request: &ScanItems) -> Result<ItemsBeside>;

    /// Reads one of the rows that are kept about followers, strongly.
    async fn get_row(&self, table: &str, key: &Item) -> Result<Option<Item>>;

    /// Writes one of them over the one that was read; whether nobody was faster.
    async fn put_row(&self, put: &KeptPut) -> Result<bool>;
}

/// The attribute that is raised whenever such a row is written.
pub(crate) const TURN: &str = "$turn";

/// A row that is kept about followers, and what is there now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptPut {
    /// The table.
    pub table: String,
    /// The attribute of its partition key.
    pub partition: String,
    /// The row.
    pub item: Item,
    /// The turn of the row that is there; none where there is no row.
    pub turn_before: Option<u64>,
}

impl KeptPut {
    /// As a request, on condition of what is there now.
    pub(crate) fn put_request(&self) -> PutRequest {
        let condition = match self.turn_before {
            None => Condition::not_exists(Path::attribute(&self.partition)),
            Some(turn) => {
                let turn = Number::from(i64::try_from(turn).unwrap_or(i64::MAX));
                // On the turn that was read and not on the content: content may come again, a turn does not.
                Condition::equal(Path::attribute(TURN), Value::N(turn))
            }
        };
        PutRequest {
            table: self.table.clone(),
            item: self.item.clone(),
            condition: Some(condition),
            return_old: false,
        }
    }
}

/// Items that lie beside one in its item collection, nearest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    /// The table.
    pub table: String,
    /// The attribute of its partition key.
    pub partition: String,
    /// The key of the item, which is not among them.
    pub key: Item,
    /// Whether those after it are meant; else those before.
    pub after: bool,
    /// How many at most.
    pub limit: u32,
}

/// Items of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanItems {
    /// The table.
    pub table: String,
    /// The key after which to go on; none at the start.
    pub start: Option<Item>,
    /// How many at most.
    pub limit: u32,
}

/// Some of these items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemsBeside {
    /// The items.
    pub items: Vec<Item>,
    /// The key from which to go on; none at the end.
    pub last_key: Option<Item>,
}

#[async_trait]
impl ChangeSource for Arc<dyn Store> {
    async fn read_records(&self, request: &StreamRequest) -> Result<StreamPage> {
        self.read_stream(request).await
    }

    async fn items_beside(&self, beside: &Beside) -> Result<ItemsBeside> {
        items_beside_in(self.as_ref(), beside).await
    }

    async fn scan_items(&self, request: &ScanItems) -> Result<ItemsBeside> {
        scan_items_in(self.as_ref(), request).await
    }

    async fn get_row(&self, table: &str, key: &Item) -> Result<Option<Item>> {
        get_row_in(self.as_ref(), table, key).await
    }

    async fn put_row(&self, put: &KeptPut) -> Result<bool> {
        put_row_in(self.as_ref(), put).await
    }
}

/// Scans a table of a store.
///
/// # Errors
///
/// Where the store fails.
pub async fn scan_items_in(store: &dyn Store, request: &ScanItems) -> Result<ItemsBeside> {
    let request = ScanRequest {
        table: request.table.clone(),
        // A row that an old copy lacks, and that no later change tells, would never be seen.
        consistent: true,
        limit: Some(request.limit),
        start: request.start.clone(),
        ..ScanRequest::default()
    };
    let page = store.scan(&request).await?;
    Ok(ItemsBeside {
        items: page.items,
        last_key: page.last_key,
    })
}

/// Reads it from a store.
///
/// # Errors
///
/// Where the store fails.
pub async fn get_row_in(store: &dyn Store, table: &str, key: &Item) -> Result<Option<Item>> {
    let request = GetRequest {
        table: table.to_owned(),
        key: key.clone(),
        consistent: true,
        projection: Default::default(),
    };
    Ok(store.get(&request).await?.item)
}

/// Writes it in a store.
///
/// # Errors
///
/// Where the store fails; whether it was written is then not known.
pub async fn put_row_in(store: &dyn Store, put: &KeptPut) -> Result<bool> {
    match store.put(&put.put_request()).await {
        Ok(_) => Ok(true),
        Err(error) if error.is_condition_failed() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Reads them from a store.
///
/// # Errors
///
/// Where the store fails, or the key has no partition.
pub async fn items_beside_in(store: &dyn Store, beside: &Beside) -> Result<ItemsBeside> {
    let value = beside.key.get(&beside.partition).cloned();
    let value = value.ok_or_else(|| StoreError::bad_request(format!("a key has no `{}`", beside.partition)))?;
    let mut request = QueryRequest::new(
        beside.table.clone(),
        KeyRange::partition(beside.partition.clone(), value),
    );
    request.consistent = true;
    request.direction = match beside.after {
        true => Direction::Ascending,
        false => Direction::Descending,
    };
    request.limit = Some(beside.limit);
    request.start = Some(beside.key.clone());
    let page = store.query(&request).await?;
    Ok(ItemsBeside {
        items: page.items,
        last_key: page.last_key,
    })
}
