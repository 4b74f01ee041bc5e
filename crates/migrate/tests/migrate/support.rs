//! Two models on one table, and what lies in it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use singlet_face::Company;
use singlet_item::Item;
use singlet_migrate::{MigrateError, MigrateOptions, Migrated, Migrator};
use singlet_model::{Severity, Source};
use singlet_runtime::{Attributes, AuditDepth, Engine, TableOpening, TableUse, audit_rows, load};
use singlet_store::{PutRequest, ScanRequest, Store};
use singlet_store_embedded::EmbeddedStore;

use super::pairs::{OLD, Pair, old_lines};
use super::place;

/// 2026-11-16T12:00:00Z.
pub const NOW: i64 = 1_794_830_400_000;

/// A table, by its name in a store.
#[derive(Clone)]
pub struct Table {
    pub store: Arc<dyn Store>,
    pub name: String,
}

impl Table {
    /// One that is not there yet.
    pub fn named(store: Arc<dyn Store>) -> Self {
        static TABLES: AtomicU64 = AtomicU64::new(0);
        let number = TABLES.fetch_add(1, Ordering::Relaxed);
        let name = format!("work-{}-{number}", std::process::id());
        Table { store, name }
    }

    /// A model on it.
    pub fn engine(&self, text: &str) -> Engine {
        let text = text.replace("TABLE", &self.name);
        let loaded = singlet_model::load_source(&Source::new("model.yaml", text));
        let errors = loaded.diagnostics.into_sorted();
        let model = loaded.model.unwrap_or_else(|| panic!("{errors:?}"));
        assert!(
            !errors.iter().any(|error| error.rule.severity == Severity::Error),
            "{errors:?}"
        );
        Engine::open(Arc::new(model), Arc::clone(&self.store), Attributes::new(), [1; 32])
    }

    /// Is there no more: what was tried on it is done.
    pub async fn remove(&self) {
        self.store.delete_table(&self.name).await.unwrap();
    }

    /// What lies in it, but for what it knows of its models.
    pub async fn contents(&self) -> BTreeMap<String, Item> {
        let mut all = BTreeMap::new();
        let mut request = ScanRequest {
            table: self.name.clone(),
            consistent: true,
            ..ScanRequest::default()
        };
        loop {
            let page = self.store.scan(&request).await.unwrap();
            for item in page.items {
                let is_of_processes = item["PK"].as_str().is_some_and(|key| key.ends_with(".processes"));
                if !is_of_processes
                    && !["$epoch", "$face", "$model"]
                        .iter()
                        .any(|name| item.contains_key(*name))
                {
                    all.insert(format!("{:?} {:?}", item["PK"], item["SK"]), item);
                }
            }
            request.start = page.last_key;
            if request.start.is_none() {
                return all;
            }
        }
    }
}

pub async fn open_to_write(engine: &Engine) -> Result<(), String> {
    let opening = TableOpening {
        makes_tables: true,
        company: Company::Alone,
        used_for: TableUse::Writing,
        now: NOW,
    };
    let opened = engine.open_table(&opening).await;
    opened.map(drop).map_err(|error| error.to_string())
}

/// The old model's table with its rows.
pub async fn old_table(tasks: usize) -> (Table, Engine) {
    let table = Table::named(place::store().await);
    let old = table.engine(OLD);
    open_to_write(&old).await.unwrap();
    load::load_text(&old, &old_lines(tasks), NOW).await.unwrap();
    (table, old)
}

/// What the new model would have written, in a table whose guards have the same key.
pub async fn expected(pair: &Pair, of: &Table, tasks: usize) -> BTreeMap<String, Item> {
    let table = Table {
        store: Arc::new(EmbeddedStore::memory().unwrap()),
        name: of.name.clone(),
    };
    let new = table.engine(&pair.new_model());
    let spec = singlet_runtime::table::table_spec(new.model());
    table.store.create_table(&spec).await.unwrap();
    let found = of.contents().await;
    let key = found.values().find(|item| item.contains_key("$guard_key")).unwrap();
    let request = PutRequest {
        table: table.name.clone(),
        item: key.clone(),
        ..PutRequest::default()
    };
    table.store.put(&request).await.unwrap();
    open_to_write(&new).await.unwrap();
    load::load_text(&new, &pair.new_lines(tasks), NOW).await.unwrap();
    let mut all = table.contents().await;
    all.retain(|_, item| !item.contains_key("$guard_key"));
    all
}

pub fn options(pair: &Pair) -> MigrateOptions {
    MigrateOptions {
        drops: pair.drops,
        page_items: 25,
        rows_at_once: 3,
        ..MigrateOptions::default()
    }
}

pub async fn migrated(old: &Engine, new: &Engine, options: MigrateOptions) -> Result<Migrated, MigrateError> {
    Migrator::new((old, new), options, &|| NOW, &|_| {}).run().await
}

pub async fn aborted(old: &Engine, new: &Engine, options: MigrateOptions) -> Result<Migrated, MigrateError> {
    Migrator::new((old, new), options, &|| NOW, &|_| {})
        .abort_migration()
        .await
}

/// The table is exactly what the new model would have written, knows it alone, and opens.
pub async fn assert_new(pair: &Pair, table: &Table, tasks: usize) {
    let new = table.engine(&pair.new_model());
    let mut is = table.contents().await;
    is.retain(|_, item| !item.contains_key("$guard_key"));
    let should = expected(pair, table, tasks).await;
    assert_same(pair.name, &is, &should);
    assert_eq!(new.table_control().await.unwrap().unwrap().faces().len(), 1);
    open_to_write(&new).await.unwrap();
    let audit = audit_rows(&new, NOW, AuditDepth::Whole).await.unwrap();
    assert_eq!(audit.misfit_count(), 0, "{}: {:?}", pair.name, audit.first);
}

pub fn assert_same(name: &str, is: &BTreeMap<String, Item>, should: &BTreeMap<String, Item>) {
    for (key, item) in should {
        assert_eq!(is.get(key), Some(item), "{name}: {key}");
    }
    let extra: Vec<&String> = is.keys().filter(|key| !should.contains_key(*key)).collect();
    assert!(extra.is_empty(), "{name}: {extra:?}");
}
