//! What a case works with.

use super::Difference;
use crate::{
    Consumed, GetRequest, IndexKind, IndexProjection, IndexSpec, ItemLookup, KeyRange, KeySchema, KeyType, PageAnswer,
    PutRequest, QueryRequest, Store, StoreError, TableSpec, Units, WantedItem, WriteAnswer,
};
use singlet_item::{Item, Number, ReadUnits, Value, WriteUnits};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

/// What a case works with: a store, tables of its own, and what the engine is known to do otherwise.
#[derive(Debug)]
pub struct Context {
    store: Arc<dyn Store>,
    differences: Vec<Difference>,
    tables: Mutex<Vec<String>>,
}

impl Context {
    pub(super) fn new(store: Arc<dyn Store>, differences: Vec<Difference>) -> Self {
        Self {
            store,
            differences,
            tables: Mutex::default(),
        }
    }

    pub(super) fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }

    pub(super) fn differs(&self, difference: Difference) -> bool {
        self.differences.contains(&difference)
    }

    /// A name that no other case, process or day uses. The table of that name is deleted at the end.
    pub(super) fn table_name(&self) -> String {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let nanoseconds = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_nanos();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("conformance-{}-{nanoseconds}-{count}", std::process::id());
        self.tables.lock().unwrap().push(name.clone());
        name
    }

    /// A table of strings `PK` and `SK`, with nothing else.
    pub(super) async fn table(&self) -> String {
        self.create(KeySchema::partition("PK", KeyType::String).sort("SK", KeyType::String))
            .await
    }

    /// A table of that key, with nothing else.
    pub(super) async fn create(&self, key: KeySchema) -> String {
        let spec = TableSpec::new(self.table_name(), key);
        self.create_from(&spec).await
    }

    pub(super) async fn create_from(&self, spec: &TableSpec) -> String {
        self.store.create_table(spec).await.unwrap();
        spec.name.clone()
    }

    /// A table of strings `PK` and `SK` with these indexes.
    pub(super) async fn indexed(&self, indexes: Vec<IndexSpec>) -> String {
        let mut spec = TableSpec::new(
            self.table_name(),
            KeySchema::partition("PK", KeyType::String).sort("SK", KeyType::String),
        );
        spec.indexes = indexes;
        self.create_from(&spec).await
    }

    pub(super) async fn put(&self, table: &str, item: Item) -> WriteAnswer {
        self.try_put(table, item).await.unwrap()
    }

    pub(super) async fn try_put(&self, table: &str, item: Item) -> Result<WriteAnswer, StoreError> {
        let request = PutRequest {
            table: table.to_owned(),
            item,
            ..PutRequest::default()
        };
        self.store.put(&request).await
    }

    /// The item, read consistently.
    pub(super) async fn get(&self, table: &str, key: Item) -> Option<Item> {
        let request = GetRequest {
            table: table.to_owned(),
            key,
            consistent: true,
            ..GetRequest::default()
        };
        let answer = self.store.get(&request).await.unwrap();
        // What gives it at once gives the same.
        let key: Vec<(&str, Value)> = request
            .key
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone()))
            .collect();
        let lookup = ItemLookup {
            table,
            key: &key,
            consistent: true,
            projection: &request.projection,
            wanted: WantedItem::default(),
        };
        if let Some(at_once) = self.store.get_at_once(lookup) {
            assert_eq!(at_once.unwrap(), answer);
        }
        answer.item
    }

    pub(super) async fn query(&self, request: &QueryRequest) -> PageAnswer {
        self.store.query(request).await.unwrap()
    }

    /// The `SK` of all items of a range, in order.
    pub(super) async fn sort_keys(&self, table: &str, range: KeyRange) -> Vec<String> {
        let page = self.query(&QueryRequest::new(table, range)).await;
        attribute_texts(&page.items, "SK")
    }

    pub(super) async fn clean_up(&self) {
        let tables = std::mem::take(&mut *self.tables.lock().unwrap());
        for table in tables {
            // A case may have deleted its table, or never made it.
            let _ = self.store.delete_table(&table).await;
        }
    }
}

/// An item of these attributes.
pub(super) fn item_of<const N: usize>(attributes: [(&str, Value); N]) -> Item {
    attributes
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// The key `PK`, `SK`.
pub(super) fn item_key(partition: &str, sort: &str) -> Item {
    item_of([("PK", partition.into()), ("SK", sort.into())])
}

/// An item of that key and one more attribute.
pub(super) fn item_with(partition: &str, sort: &str, name: &str, value: impl Into<Value>) -> Item {
    let mut item = item_key(partition, sort);
    item.insert(name.to_owned(), value.into());
    item
}

/// An item of exactly that many bytes, under the key `PK`, `SK`.
pub(super) fn sized_item(partition: &str, sort: &str, bytes: usize) -> Item {
    let empty = item_with(partition, sort, "pad", "");
    let pad = bytes
        .checked_sub(singlet_item::item_size_bytes(&empty))
        .expect("the key alone is larger");
    item_with(partition, sort, "pad", "x".repeat(pad))
}

/// One attribute of each item, as text.
pub(super) fn attribute_texts(items: &[Item], name: &str) -> Vec<String> {
    items
        .iter()
        .map(|item| item[name].as_str().unwrap().to_owned())
        .collect()
}

pub(super) fn number_value(text: &str) -> Value {
    Value::N(text.parse::<Number>().unwrap())
}

pub(super) fn string_index(name: &str, partition: &str, sort: Option<&str>, projection: IndexProjection) -> IndexSpec {
    let mut key = KeySchema::partition(partition, KeyType::String);
    if let Some(sort) = sort {
        key = key.sort(sort, KeyType::String);
    }
    IndexSpec {
        name: name.to_owned(),
        kind: IndexKind::Global,
        key,
        projection,
        units: None,
    }
}

/// That a request consumed so many halves of a read unit on the table and nothing else.
#[track_caller]
pub(super) fn assert_reads(consumed: &Consumed, table: &str, halves: u64) {
    assert_eq!(
        consumed.table(table),
        Units::read(ReadUnits::from_halves(halves)),
        "on the table, of {consumed:?}"
    );
    assert_eq!(
        consumed.total_units(),
        consumed.table(table),
        "on anything else, of {consumed:?}"
    );
}

/// That a request consumed so many write units on the table.
#[track_caller]
pub(super) fn assert_writes(consumed: &Consumed, table: &str, units: u64) {
    assert_eq!(
        consumed.table(table),
        Units::write(WriteUnits::new(units)),
        "on the table, of {consumed:?}"
    );
}

/// That a request consumed so many write units on an index.
#[track_caller]
pub(super) fn assert_index_writes(consumed: &Consumed, table: &str, index: &str, units: u64) {
    assert_eq!(
        consumed.index_units(table, index),
        Units::write(WriteUnits::new(units)),
        "on index {index}, of {consumed:?}"
    );
}
