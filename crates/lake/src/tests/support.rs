//! A table in memory, a lake in a folder, and what both have.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use async_trait::async_trait;
use singlet_changes::{
    Beside, ChangeReader, ChangeSource, Followers, ItemsBeside, KeptPut, ScanItems, SnapshotReader, SnapshotRow, Told,
};
use singlet_item::{Item, Value};
use singlet_model::{Model, Source};
use singlet_runtime::table;
use singlet_store::{
    DeleteRequest, ErrorKind, PutRequest, Store, StoreError, StreamPage, StreamPosition, StreamRequest,
};
use singlet_store_embedded::EmbeddedStore;

use crate::cell::Cell;
use crate::layout::EntityTables;
use crate::personal::ValueHasher;
use crate::table_log::TableLog;
use crate::{LakeError, LakeFiles, LakeFollower, LocalFiles};

pub const MODEL: &str = r#"
singlet: 1
name: shop
table: {name: shop, key: {partition: PK, sort: SK}, type: kind, ttl: ttl, stream: both_images}
types:
  Address: {object: {street: string, lines: list(string), rooms: map(int 0..9)}}
entities:
  Task:
    attributes:
      taskId: string 1..20
      title: string ..200
      count: int 0..100
      big: int?
      price: number 0.00..999.99
      free: number?
      isDone: bool?
      due: date?
      at: time?
      seconds: seconds?
      tags: set(string)?
      address: Address?
      anything: json?
    key: {PK: "TASK#{taskId}", SK: "TASK"}
  Note:
    attributes: {noteId: string 1..20, text: string}
    key: {PK: "NOTE#{noteId}", SK: "NOTE"}
"#;

/// A model without errors.
pub fn model_of(text: &str) -> Arc<Model> {
    let loaded = singlet_model::load_source(&Source::new("model.yaml", text.to_owned()));
    assert!(!loaded.diagnostics.has_errors(), "{:?}", loaded.diagnostics);
    Arc::new(loaded.model.unwrap())
}

/// A folder that goes with the test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Where there is one in memory: what is put must reach the disk, and a disk that others use too takes its time.
        let memory = PathBuf::from("/dev/shm");
        let place = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let path = place.join(format!("singlet-lake-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn files(&self) -> Arc<LocalFiles> {
        Arc::new(LocalFiles::new(self.0.clone()))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A model's table, with a clock that moves on by itself.
pub struct Shop {
    pub model: Arc<Model>,
    pub store: Arc<dyn Store>,
    clock: AtomicI64,
}

impl Shop {
    pub async fn open(text: &str) -> Self {
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::memory().unwrap());
        Self::open_on(store, text, 1_794_830_400_000).await
    }

    /// On a store that has no such table yet, from an instant on.
    pub async fn open_on(store: Arc<dyn Store>, text: &str, begin_millis: i64) -> Self {
        let model = model_of(text);
        store.create_table(&table::table_spec(&model)).await.unwrap();
        Shop {
            model,
            store,
            clock: AtomicI64::new(begin_millis),
        }
    }

    /// The next instant: three seconds later, so that nothing waits for others.
    pub fn now(&self) -> i64 {
        self.clock.fetch_add(3_000, Ordering::Relaxed)
    }

    pub fn source(&self) -> Arc<dyn ChangeSource> {
        Arc::new(Arc::clone(&self.store))
    }

    pub async fn put(&self, item: Item) {
        let request = PutRequest {
            table: self.model.table.name.clone(),
            item,
            ..PutRequest::default()
        };
        self.store.put(&request).await.unwrap();
    }

    pub async fn delete(&self, entity: &str, id: &str) {
        let request = DeleteRequest {
            table: self.model.table.name.clone(),
            key: key_item(entity, id),
            ..DeleteRequest::default()
        };
        self.store.delete(&request).await.unwrap();
    }

    pub fn follower(&self, files: Arc<dyn LakeFiles>) -> LakeFollower {
        LakeFollower::new(files, Arc::clone(&self.model), self.source(), 0)
    }

    /// Has a lake follow to the head, and write what it read.
    pub async fn follow(&self, follower: &mut LakeFollower) -> Result<(), LakeError> {
        loop {
            follower.follow_page(&|| self.now()).await?;
            if follower.is_at_head() {
                follower.flush_waiting(self.now()).await?;
                return Ok(());
            }
        }
    }

    /// The rows of an entity as a scan has them, as cells of its table.
    pub async fn scanned(&self, entity: &str, files: &dyn LakeFiles) -> BTreeMap<String, Vec<Cell>> {
        let current = TableLog::load_log(files, entity).unwrap().columns;
        let known = self.model.entity_named(entity).unwrap();
        let tables = EntityTables::new(known, &[], &current, &ValueHasher::new(&self.secret().await));
        let mut rows = BTreeMap::new();
        let mut scan = SnapshotReader::new(Arc::clone(&self.model), self.source());
        while let Some(page) = scan.next_page(0).await.unwrap() {
            for row in page {
                if let SnapshotRow::Row { entity: of, key, row } = row
                    && of == entity
                {
                    let key = tables.persons.key_text(&key);
                    rows.insert(key.clone(), tables.current_row(&key, &row).unwrap());
                }
            }
        }
        rows
    }

    /// The key under which values are hashed.
    pub async fn secret(&self) -> Vec<u8> {
        let followers = Followers::new(Arc::clone(&self.model), self.source());
        followers.value_secret().await.unwrap()
    }

    /// The ids of all changes of an entity that the store has.
    pub async fn change_ids(&self, entity: &str) -> BTreeSet<String> {
        let mut reader = ChangeReader::new(Arc::clone(&self.model), self.source(), StreamPosition::Start);
        let mut ids = BTreeSet::new();
        while !reader.is_at_head() {
            for told in reader.next_page().await.unwrap().told {
                if let Told::Change(change) = told
                    && change.entity == entity
                {
                    ids.insert(change.id.as_str().to_owned());
                }
            }
        }
        ids
    }
}

/// A source whose stream has lost what was before, once.
pub struct ForgetfulSource {
    source: Arc<dyn ChangeSource>,
    forgets: AtomicBool,
}

impl ForgetfulSource {
    pub fn new(source: Arc<dyn ChangeSource>) -> Arc<Self> {
        Arc::new(ForgetfulSource {
            source,
            forgets: AtomicBool::new(false),
        })
    }

    pub fn forget(&self) {
        self.forgets.store(true, Ordering::Relaxed);
    }
}

#[async_trait]
impl ChangeSource for ForgetfulSource {
    async fn read_records(&self, request: &StreamRequest) -> singlet_store::Result<StreamPage> {
        // Whoever begins with what is still to come has lost nothing.
        let forgets = self.forgets.swap(false, Ordering::Relaxed);
        if forgets && request.position != StreamPosition::Latest {
            return Err(StoreError::new(ErrorKind::PositionLost, "forgotten"));
        }
        self.source.read_records(request).await
    }

    async fn items_beside(&self, beside: &Beside) -> singlet_store::Result<ItemsBeside> {
        self.source.items_beside(beside).await
    }

    async fn scan_items(&self, request: &ScanItems) -> singlet_store::Result<ItemsBeside> {
        self.source.scan_items(request).await
    }

    async fn get_row(&self, table: &str, key: &Item) -> singlet_store::Result<Option<Item>> {
        self.source.get_row(table, key).await
    }

    async fn put_row(&self, put: &KeptPut) -> singlet_store::Result<bool> {
        self.source.put_row(put).await
    }
}

pub fn key_item(entity: &str, id: &str) -> Item {
    let upper = entity.to_uppercase();
    Item::from([
        ("PK".to_owned(), Value::S(format!("{upper}#{id}"))),
        ("SK".to_owned(), Value::S(upper)),
    ])
}

/// An item from its attributes, in DynamoDB's JSON.
pub fn item(entity: &str, id: &str, attributes: serde_json::Value) -> Item {
    let mut item = key_item(entity, id);
    item.insert("kind".to_owned(), Value::S(entity.to_owned()));
    let own = format!("{}Id", entity.to_lowercase());
    item.insert(own, Value::S(id.to_owned()));
    let attributes: Item = serde_json::from_value(attributes).unwrap();
    item.extend(attributes);
    item
}

/// All rows of a table of the lake.
pub fn table_rows(files: &dyn LakeFiles, table: &TableLog) -> Vec<Vec<Cell>> {
    let mut rows = Vec::new();
    for path in table.files.keys() {
        let path = format!("{}/{path}", table.name);
        let bytes = files.get(&path).unwrap().unwrap_or_else(|| panic!("{path} is gone"));
        rows.extend(crate::data_file::rows_of_file(&table.columns, bytes).unwrap());
    }
    rows
}

/// The rows of a table of what is, by key; a key that is there twice is a mistake.
pub fn current_rows(files: &dyn LakeFiles, entity: &str) -> BTreeMap<String, Vec<Cell>> {
    let table = TableLog::load_log(files, entity).unwrap();
    let mut rows = BTreeMap::new();
    for row in table_rows(files, &table) {
        let key = row[0].as_text().unwrap().to_owned();
        assert!(rows.insert(key.clone(), row).is_none(), "{key} is there twice");
    }
    rows
}

/// The changes of an entity, in their order.
pub fn change_rows(files: &dyn LakeFiles, entity: &str) -> Vec<Vec<Cell>> {
    let table = TableLog::load_log(files, &format!("{entity}_changes")).unwrap();
    let mut rows = table_rows(files, &table);
    let number = |row: &Vec<Cell>| match row[0] {
        Cell::Long(number) => number,
        _ => panic!("a change has no number"),
    };
    rows.sort_by_key(number);
    assert!(
        rows.windows(2).all(|two| number(&two[0]) < number(&two[1])),
        "a number is there twice"
    );
    rows
}

/// What the changes of an entity come to, from the first to the last.
pub fn replayed(files: &dyn LakeFiles, entity: &str) -> BTreeMap<String, Cell> {
    let mut rows = BTreeMap::new();
    for row in change_rows(files, entity) {
        let key = row[5].as_text().unwrap().to_owned();
        match &row[7] {
            Cell::Null => rows.remove(&key),
            after => rows.insert(key, after.clone()),
        };
    }
    rows
}

/// The ids of the changes of an entity; one that is there twice is a mistake.
pub fn lake_ids(files: &dyn LakeFiles, entity: &str) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    for row in change_rows(files, entity) {
        if let Some(id) = row[1].as_text() {
            assert!(ids.insert(id.to_owned()), "{id} is there twice");
        }
    }
    ids
}

/// Holds a lake against its table: what is, and what the changes come to.
pub async fn assert_same_rows(shop: &Shop, files: &dyn LakeFiles, entity: &str) {
    let scanned = shop.scanned(entity, files).await;
    let current = current_rows(files, entity);
    assert_eq!(current, scanned, "{entity}");
    let images: BTreeMap<String, Cell> = scanned
        .into_iter()
        .map(|(key, row)| (key, Cell::Struct(row[1..].to_vec())))
        .collect();
    assert_eq!(replayed(files, entity), images, "{entity} replayed");
}

/// The same, and which changes there are, where the lake saw all of them.
pub async fn assert_alike(shop: &Shop, files: &dyn LakeFiles, entity: &str) {
    assert_same_rows(shop, files, entity).await;
    assert_eq!(
        lake_ids(files, entity),
        shop.change_ids(entity).await,
        "changes of {entity}"
    );
}
