//! A system with its sample rows, audited.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::Value as Json;
use singlet_audit::{AuditKeeper, AuditOptions, AuditReport, KeepNothing, RepairMode, audit_table};
use singlet_face::Company;
use singlet_item::Item;
use singlet_model::{Model, Source};
use singlet_runtime::{Attributes, Engine, ItemChange, TableOpening, TableUse, load};
use singlet_store::{DeleteRequest, PutRequest, ScanRequest, Store};

/// 2026-11-16T12:00:00Z.
pub const NOW: i64 = 1_794_830_400_000;

pub const SYSTEMS: [&str; 5] = ["todo", "wardrobe", "country", "booking", "ecobid"];

fn text_of(system: &str, file: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../systems/{system}"));
    std::fs::read_to_string(folder.join(file)).unwrap()
}

/// A model of the five; its table has a name of its own where the store is shared.
pub fn model_of(system: &str, suffix: &str) -> Arc<Model> {
    let loaded = singlet_model::load_source(&Source::new(system, text_of(system, "model.yaml")));
    let mut model = loaded.model.unwrap();
    model.table.name.push_str(suffix);
    Arc::new(model)
}

/// A system with its sample rows.
pub async fn sampled(system: &str, store: Arc<dyn Store>) -> Engine {
    let engine = empty(system, store).await;
    load::load_text(&engine, &text_of(system, "sample.jsonl"), NOW)
        .await
        .unwrap();
    engine
}

/// The same with a few rows of each kind.
pub async fn sampled_briefly(system: &str, store: Arc<dyn Store>) -> Engine {
    let engine = empty(system, store).await;
    let text = text_of(system, "sample.jsonl");
    let rows = text
        .lines()
        .map(|line| (line, serde_json::from_str::<Json>(line).unwrap()));
    let rows: Vec<(&str, Json)> = rows.collect();
    let code = |row: &Json| row["Country"]["alpha2Code"].as_str().map(str::to_owned);
    // All versions of a row, where it has some.
    let versioned = rows.iter().filter(|(_, row)| !row["Country"]["expiryDate"].is_null());
    let versioned: BTreeSet<String> = versioned.filter_map(|(_, row)| code(row)).collect();
    let mut counts = BTreeMap::<String, usize>::new();
    let few = rows.iter().filter(|(_, row)| {
        let (entity, row_of) = row.as_object().unwrap().iter().next().unwrap();
        let is_source = ["User", "Item", "Booking"].contains(&entity.as_str());
        let group = format!(
            "{entity} {} {} {}",
            row_of["status"],
            row_of["timeSlot"],
            row_of["due_date"].is_null()
        );
        let count = counts.entry(group).or_default();
        *count += 1;
        *count <= 6 || is_source || code(row).is_some_and(|code| versioned.contains(&code))
    });
    let few: Vec<&str> = few.map(|(line, _)| *line).collect();
    load::load_text(&engine, &few.join("\n"), NOW).await.unwrap();
    engine
}

/// A system without rows.
pub async fn empty(system: &str, store: Arc<dyn Store>) -> Engine {
    static TABLES: AtomicI64 = AtomicI64::new(0);
    let number = TABLES.fetch_add(1, Ordering::Relaxed);
    let model = model_of(system, &format!("-audit-{number}"));
    let engine = Engine::open(model, store, Attributes::new(), [1; 32]);
    let opening = TableOpening {
        makes_tables: true,
        company: Company::Alone,
        used_for: TableUse::Writing,
        now: NOW,
    };
    engine.open_table(&opening).await.unwrap();
    engine
}

pub async fn audited(engine: &Engine) -> AuditReport {
    audited_at(engine, NOW).await
}

pub async fn audited_at(engine: &Engine, now: i64) -> AuditReport {
    let options = AuditOptions {
        shown_max: 100,
        ..AuditOptions::default()
    };
    audit_table(engine, "", &options, None, &KeepNothing, &move || now)
        .await
        .unwrap()
}

/// Keeps old images where a test sees them.
#[derive(Default)]
pub struct KeptImages(pub std::sync::Mutex<Vec<ItemChange>>);

impl AuditKeeper for KeptImages {
    fn keep_progress(&self, _: &singlet_audit::AuditProgress) -> std::io::Result<()> {
        Ok(())
    }

    fn keep_images(&self, changes: &[ItemChange]) -> std::io::Result<()> {
        self.0.lock().unwrap().extend_from_slice(changes);
        Ok(())
    }
}

pub async fn repaired(engine: &Engine, repair: RepairMode) -> (AuditReport, Vec<ItemChange>) {
    let options = AuditOptions {
        shown_max: 100,
        repair,
        ..AuditOptions::default()
    };
    let kept = KeptImages::default();
    let report = audit_table(engine, "", &options, None, &kept, &|| NOW).await.unwrap();
    (report, kept.0.into_inner().unwrap())
}

/// Every item of the table, by its key.
pub async fn items_of(engine: &Engine) -> Vec<Item> {
    let mut request = ScanRequest {
        table: engine.model().table.name.clone(),
        consistent: true,
        ..ScanRequest::default()
    };
    let mut items = Vec::new();
    loop {
        let page = engine.store().scan(&request).await.unwrap();
        items.extend(page.items);
        request.start = page.last_key;
        if request.start.is_none() {
            items.sort();
            return items;
        }
    }
}

pub fn key_of(model: &Model, item: &Item) -> Item {
    let names = model.table.key.iter().map(|key| key.name.as_str());
    names.map(|name| (name.to_owned(), item[name].clone())).collect()
}

pub async fn put_item(engine: &Engine, item: &Item) {
    let request = PutRequest {
        table: engine.model().table.name.clone(),
        item: item.clone(),
        ..PutRequest::default()
    };
    engine.store().put(&request).await.unwrap();
}

pub async fn delete_item(engine: &Engine, item: &Item) {
    let request = DeleteRequest {
        table: engine.model().table.name.clone(),
        key: key_of(engine.model(), item),
        ..DeleteRequest::default()
    };
    engine.store().delete(&request).await.unwrap();
}
