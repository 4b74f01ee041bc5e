//! A model on a store of its own, and what its stream tells.

use std::sync::Arc;

use serde_json::Value as Json;
use singlet_changes::{Change, ChangeDecoder, ChangeSource, Decoded, Followers, Misfit};
use singlet_item::Item;
use singlet_model::Source;
use singlet_runtime::{Attributes, Caller, Engine, RuntimeError, WriteRequest, Written, table};
use singlet_store::{DeleteRequest, PutRequest, Store, StreamPosition, StreamRecord, StreamRequest};
use singlet_store_embedded::EmbeddedStore;
use singlet_values as values;
use singlet_values::Tree;

/// 2026-11-16T12:00:00Z, long ago for the store: what expires by it has expired.
pub const NOW: i64 = 1_794_830_400_000;

/// A model with its table.
pub struct System {
    pub engine: Arc<Engine>,
    pub embedded: EmbeddedStore,
    position: std::sync::Mutex<StreamPosition>,
}

/// What some records mean.
#[derive(Debug, Default)]
pub struct Told {
    pub changes: Vec<Change>,
    pub misfits: Vec<Misfit>,
    pub nothing: usize,
    pub unknown: usize,
}

impl Told {
    /// Each change as `kind Entity key before -> after`, in JSON without ids and times.
    pub fn lines(&self) -> Vec<String> {
        let shown = |row: &Option<Attributes>| match row {
            Some(row) => values::json_text::json_of(&singlet_item::Value::M(row.clone())),
            None => "-".to_owned(),
        };
        let line = |change: &Change| {
            format!(
                "{} {} {} {} -> {}",
                change.kind.word(),
                change.entity,
                shown(&Some(change.key.clone())),
                shown(&change.before),
                shown(&change.after)
            )
        };
        self.changes.iter().map(line).collect()
    }
}

impl System {
    pub async fn open(text: &str) -> System {
        let loaded = singlet_model::load_source(&Source::new("model.yaml", text.to_owned()));
        assert!(!loaded.diagnostics.has_errors(), "{:?}", loaded.diagnostics);
        let model = Arc::new(loaded.model.unwrap());
        let embedded = EmbeddedStore::memory().unwrap();
        let store: Arc<dyn Store> = Arc::new(embedded.clone());
        store.create_table(&table::table_spec(&model)).await.unwrap();
        System {
            engine: Arc::new(Engine::open(model, store, Attributes::new(), [7; 32])),
            embedded,
            position: std::sync::Mutex::new(StreamPosition::Start),
        }
    }

    /// Does a write at an instant.
    pub async fn write_at(&self, now: i64, name: &str, args: Json) -> Result<Written, RuntimeError> {
        let write = self.engine.model().writes.iter().find(|write| write.name == name);
        let write = write.unwrap();
        let mut sent = Attributes::new();
        for (name, value) in args.as_object().unwrap() {
            let arg = write.args.iter().find(|arg| arg.name == *name).unwrap();
            if value.is_null() {
                sent.insert(name.clone(), singlet_item::Value::Null);
                continue;
            }
            let text = value.to_string();
            let tree = Tree::parse(&text).unwrap();
            sent.insert(name.clone(), values::from_tree(&tree, &arg.ty).unwrap());
        }
        let request = WriteRequest {
            args: sent,
            caller: Caller::with_id("ada"),
            now,
            ..WriteRequest::default()
        };
        self.engine.write(name, &request).await
    }

    pub async fn write(&self, name: &str, args: Json) {
        self.write_at(NOW, name, args).await.unwrap();
    }

    pub async fn put(&self, item: Item) {
        let request = PutRequest {
            table: self.engine.model().table.name.clone(),
            item,
            ..PutRequest::default()
        };
        self.engine.store().put(&request).await.unwrap();
    }

    pub async fn delete(&self, key: Item) {
        let request = DeleteRequest {
            table: self.engine.model().table.name.clone(),
            key,
            ..DeleteRequest::default()
        };
        self.engine.store().delete(&request).await.unwrap();
    }

    /// The records since it was last asked.
    pub async fn records(&self) -> Vec<StreamRecord> {
        let mut all = Vec::new();
        loop {
            let request = StreamRequest {
                table: self.engine.model().table.name.clone(),
                position: self.position.lock().unwrap().clone(),
                limit: 100,
            };
            let page = self.engine.store().read_stream(&request).await.unwrap();
            *self.position.lock().unwrap() = page.next;
            match page.records.is_empty() {
                true => return all,
                false => all.extend(page.records),
            }
        }
    }

    /// What the records mean since it was last asked.
    pub async fn told(&self) -> Told {
        let records = self.records().await;
        self.meaning(records).await
    }

    pub async fn meaning(&self, records: Vec<StreamRecord>) -> Told {
        let decoder = ChangeDecoder::new(Arc::clone(self.engine.model()));
        let mut told = Told::default();
        for record in records {
            match decoder.decode_change(self.engine.store(), record).await.unwrap() {
                Decoded::Changes(changes) => told.changes.extend(changes),
                Decoded::Nothing => told.nothing += 1,
                Decoded::Unknown => told.unknown += 1,
                Decoded::Misfit(misfit) => told.misfits.push(*misfit),
            }
        }
        told
    }
}

/// Who follows the changes of an engine's table.
pub fn followers_of(engine: &Engine) -> Followers {
    let source: Arc<dyn ChangeSource> = Arc::new(Arc::clone(engine.store()));
    Followers::new(Arc::clone(engine.model()), source)
}

/// An item of texts.
pub fn item(entries: &[(&str, &str)]) -> Item {
    let entry = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).into());
    entries.iter().map(entry).collect()
}
