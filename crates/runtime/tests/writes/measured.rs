//! A store that holds what every write costs against the rules: the items before and after it, and the entries of every index,
//! say how many units it takes, and the engine must report exactly those.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use singlet_item::capacity::{IndexWrite, WriteMode, condition_check_units, write_units};
use singlet_item::{Item, WriteUnits, item_size_bytes};
use singlet_store::{
    Consumed, DeleteRequest, GetRequest, IndexProjection, IndexSpec, KeySchema, PutRequest, Result, Store, StoreLayer,
    TableSpec, TransactWrite, TransactWriteRequest, UpdateRequest, WriteAnswer,
};

/// A store that checks what writes cost.
#[derive(Debug)]
pub struct Measured {
    inner: Arc<dyn Store>,
    spec: Mutex<Option<TableSpec>>,
}

impl Measured {
    pub fn new(inner: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Measured {
            inner,
            spec: Mutex::new(None),
        })
    }

    fn spec(&self) -> TableSpec {
        self.spec.lock().unwrap().clone().expect("a table is made first")
    }

    async fn item(&self, key: &Item) -> Option<Item> {
        let request = GetRequest {
            table: self.spec().name,
            key: key.clone(),
            consistent: true,
            projection: Default::default(),
        };
        self.inner.get(&request).await.unwrap().item
    }

    async fn items(&self, keys: &[(Item, bool)]) -> Vec<Option<Item>> {
        let mut found = Vec::new();
        for (key, _) in keys {
            found.push(self.item(key).await);
        }
        found
    }

    /// Sends a write, and compares what it consumed with what its items say. Keys come with whether they are only checked.
    async fn checked<F>(&self, keys: Vec<(Item, bool)>, mode: WriteMode, send: F) -> Result<WriteAnswer>
    where
        F: Future<Output = Result<WriteAnswer>> + Send,
    {
        let before = self.items(&keys).await;
        let answer = send.await?;
        let after = self.items(&keys).await;
        let spec = self.spec();
        for index in &spec.indexes {
            let mut units = WriteUnits::ZERO;
            for (before, after) in before.iter().zip(&after) {
                units += index_units(&spec, index, before.as_ref(), after.as_ref());
            }
            let reported = answer.consumed.index_units(&spec.name, &index.name).write;
            assert_eq!(units, reported, "{} of {keys:?}", index.name);
        }
        let mut units = WriteUnits::ZERO;
        for ((_, check), (before, after)) in keys.iter().zip(before.iter().zip(&after)) {
            let size = |item: &Option<Item>| item.as_ref().map(item_size_bytes);
            units += match check {
                true => condition_check_units(size(before)),
                false => write_units(size(before), size(after), mode),
            };
        }
        assert_eq!(units, table_units(&answer.consumed, &spec.name), "{keys:?}");
        Ok(answer)
    }

    fn key(&self, item: &Item) -> Item {
        key_in(&self.spec().key, item)
    }
}

fn table_units(consumed: &Consumed, table: &str) -> WriteUnits {
    consumed.table(table).write
}

fn names(key: &KeySchema) -> impl Iterator<Item = &str> {
    key.partition
        .iter()
        .chain(&key.sort)
        .map(|attribute| attribute.name.as_str())
}

fn key_in(key: &KeySchema, item: &Item) -> Item {
    names(key).map(|name| (name.to_owned(), item[name].clone())).collect()
}

/// What a change does to one index, on the entries as they are projected.
fn index_units(spec: &TableSpec, index: &IndexSpec, before: Option<&Item>, after: Option<&Item>) -> WriteUnits {
    let entry = |item: Option<&Item>| {
        item.map(|item| {
            let kept = |name: &str| match &index.projection {
                IndexProjection::All => true,
                IndexProjection::KeysOnly => false,
                IndexProjection::Include(included) => included.iter().any(|known| known == name),
            };
            let key = |name: &str| names(&spec.key).chain(names(&index.key)).any(|known| known == name);
            let entry = item.iter().filter(|(name, _)| kept(name) || key(name));
            entry
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect::<Item>()
        })
    };
    let keys: Vec<&str> = names(&index.key).collect();
    let (before, after) = (entry(before), entry(after));
    IndexWrite::between_items(before.as_ref(), after.as_ref(), &keys).write_units()
}

#[async_trait]
impl StoreLayer for Measured {
    fn beneath(&self) -> &dyn Store {
        &*self.inner
    }

    async fn put(&self, request: &PutRequest) -> Result<WriteAnswer> {
        let keys = vec![(self.key(&request.item), false)];
        self.checked(keys, WriteMode::Single, self.inner.put(request)).await
    }

    async fn update(&self, request: &UpdateRequest) -> Result<WriteAnswer> {
        let keys = vec![(request.key.clone(), false)];
        self.checked(keys, WriteMode::Single, self.inner.update(request)).await
    }

    async fn delete(&self, request: &DeleteRequest) -> Result<WriteAnswer> {
        let keys = vec![(request.key.clone(), false)];
        self.checked(keys, WriteMode::Single, self.inner.delete(request)).await
    }

    async fn transact_write(&self, request: &TransactWriteRequest) -> Result<WriteAnswer> {
        let keys = request.actions.iter().map(|action| match action {
            TransactWrite::Put(put) => (self.key(&put.item), false),
            TransactWrite::Update(update) => (update.key.clone(), false),
            TransactWrite::Delete(delete) => (delete.key.clone(), false),
            TransactWrite::Check { key, .. } => (key.clone(), true),
        });
        self.checked(
            keys.collect(),
            WriteMode::Transaction,
            self.inner.transact_write(request),
        )
        .await
    }

    async fn create_table(&self, spec: &TableSpec) -> Result<()> {
        *self.spec.lock().unwrap() = Some(spec.clone());
        self.inner.create_table(spec).await
    }
}
