//! Where changes are read from: a store, or a process that has it open.

use std::sync::Arc;

use async_trait::async_trait;
use singlet_item::Item;
use singlet_store::{Direction, KeyRange, QueryRequest, Result, Store, StoreError, StreamPage, StreamRequest};

/// What reading changes asks of a store.
#[async_trait]
pub trait ChangeSource: Send + Sync {
    /// Reads records of a stream.
    async fn read_records(&self, request: &StreamRequest) -> Result<StreamPage>;

    /// Reads items that lie beside one in its item collection, strongly.
    async fn items_beside(&self, beside: &Beside) -> Result<ItemsBeside>;
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
