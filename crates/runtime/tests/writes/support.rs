//! A system on a store of its own, called as its users would.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::{Map, Value as Json, json};
use singlet_item::{Item, Number, Value};
use singlet_model::{Model, Source};
use singlet_runtime::{
    Attributes, Caller, Engine, Precondition, Request, RuntimeError, WriteRequest, Written, table, values,
};
use singlet_store::{PageAnswer, ScanRequest, Store};

use super::place;

/// 2026-11-16T12:00:00Z.
pub const NOW: i64 = 1_794_830_400_000;

/// How often a page is asked for, where connections are closed meanwhile.
const SCANS_MAX: usize = 5;

/// A system without rows.
pub struct System {
    pub engine: Engine,
    now: AtomicI64,
    /// Whether what writes take is held against their plans: not where answers are lost.
    held: bool,
    /// What each write costs, as its plan says.
    costs: Vec<singlet_plan::write::WriteCost>,
}

/// A refusal as `name status`, with what it shows.
pub type Outcome = Result<Json, String>;

pub fn user(id: &str) -> Caller {
    Caller::with_id(id)
}

pub fn role(id: &str, role: &str) -> Caller {
    Caller::with_id(id).claim("role", role)
}

/// The model of one of the five systems.
fn model_of(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../systems/{name}"));
    std::fs::read_to_string(folder.join("model.yaml")).unwrap()
}

impl System {
    pub async fn new(name: &str) -> System {
        System::placed(name, &model_of(name), place::store().await).await
    }

    /// A system for a race.
    pub async fn busy(name: &str, seed: u64) -> System {
        System::placed(name, &model_of(name), place::busy(seed).await).await
    }

    /// A model on a store that it may share with other tests: then its table has a name of its own.
    pub async fn placed(name: &str, text: &str, (store, shared): (Arc<dyn Store>, bool)) -> System {
        static TABLES: AtomicI64 = AtomicI64::new(0);
        let number = TABLES.fetch_add(1, Ordering::Relaxed);
        let suffix = shared.then(|| format!("-writes-{number}"));
        let system = System::open(name, text, store, &suffix.unwrap_or_default()).await;
        System {
            held: place::PREDICTED,
            ..system
        }
    }

    #[allow(dead_code, reason = "only the embedded engine has faults and crashes")]
    pub async fn on(name: &str, store: Arc<dyn Store>) -> System {
        System::open(name, &model_of(name), store, "").await
    }

    async fn open(name: &str, text: &str, store: Arc<dyn Store>, suffix: &str) -> System {
        let loaded = singlet_model::load_source(&Source::new(name, text.to_owned()));
        assert!(!loaded.diagnostics.has_errors(), "{:?}", loaded.diagnostics);
        let mut model = loaded.model.unwrap();
        model.table.name.push_str(suffix);
        let model = Arc::new(model);
        if let Err(error) = store.create_table(&table::table_spec(&model)).await {
            assert!(error.is_in_use(), "{error}");
        }
        System {
            held: false,
            costs: singlet_plan::write::write_costs(&model),
            engine: Engine::open(model, store, Attributes::new(), [1; 32]),
            now: AtomicI64::new(NOW),
        }
    }

    /// Moves the clock.
    pub fn pass(&self, millis: i64) {
        self.now.fetch_add(millis, Ordering::Relaxed);
    }

    pub fn now(&self) -> i64 {
        self.now.load(Ordering::Relaxed)
    }

    /// Arguments as a request's JSON has them.
    pub fn args(&self, name: &str, json: &Json) -> Attributes {
        let model = self.engine.model();
        let write = model.writes.iter().find(|write| write.name == name);
        let read = model.reads.iter().find(|read| read.name == name);
        let args = write.map(|write| &write.args).or(read.map(|read| &read.args)).unwrap();
        let mut found = Attributes::new();
        for (key, value) in json.as_object().unwrap_or(&Map::new()) {
            let arg = args
                .iter()
                .find(|arg| arg.name == *key)
                .unwrap_or_else(|| panic!("{name} has no {key}"));
            let value = match value {
                Json::Null => Value::Null,
                json => values::from_json(json, &arg.ty).unwrap_or_else(|invalid| panic!("{name} {key}: {invalid}")),
            };
            found.insert(key.clone(), value);
        }
        found
    }

    pub fn request(&self, name: &str, caller: &Caller, args: &Json) -> WriteRequest {
        WriteRequest {
            args: self.args(name, args),
            caller: caller.clone(),
            now: self.now(),
            idempotency_key: None,
            precondition: Precondition::Unsaid,
        }
    }

    pub async fn send(&self, name: &str, request: &WriteRequest) -> Result<Written, RuntimeError> {
        let written = self.engine.write(name, request).await?;
        if self.held && request.idempotency_key.is_none() && !written.replayed {
            self.check_predicted(name, &written);
        }
        Ok(written)
    }

    /// What a write took lies within what its plan says of small rows.
    fn check_predicted(&self, name: &str, written: &Written) {
        let at = self.engine.model().writes.iter().position(|write| write.name == name);
        let at = at.unwrap();
        let cost = &self.costs[at];
        let bulk = self.engine.model().writes[at].bulk;
        let units = written.consumed.total_units().write.get();
        // What a bulk operation does at least depends on how many rows there are.
        let least = if bulk { 0 } else { cost.least };
        assert!(
            units >= least && cost.most.is_none_or(|most| units <= most),
            "{name} took {units} write units, not {} to {:?}: {:?}",
            cost.least,
            cost.most,
            cost.terms
        );
    }

    /// The answer's JSON, or the refusal.
    pub async fn write(&self, name: &str, caller: &Caller, args: Json) -> Outcome {
        outcome(self.send(name, &self.request(name, caller, &args)).await)
    }

    pub async fn write_once(&self, name: &str, caller: &Caller, key: &str, args: Json) -> Outcome {
        let request = WriteRequest {
            idempotency_key: Some(key.to_owned()),
            ..self.request(name, caller, &args)
        };
        outcome(self.send(name, &request).await)
    }

    /// The answer of a read: rows, or one row.
    pub async fn read(&self, name: &str, caller: &Caller, args: Json) -> Outcome {
        let request = Request {
            args: self.args(name, &args),
            caller: caller.clone(),
            now: self.now(),
            limit: Some(100),
            cursor: None,
        };
        match self.engine.read(name, &request).await {
            Ok(answer) => Ok(answer.value.as_ref().map_or(Json::Null, values::to_json)),
            Err(error) => Err(text_of(&error)),
        }
    }

    /// Every item of the table, by its key.
    pub async fn dump(&self) -> BTreeMap<String, Item> {
        let model = self.engine.model();
        let mut items = BTreeMap::new();
        let mut start = None;
        loop {
            let request = ScanRequest {
                table: model.table.name.clone(),
                consistent: true,
                start,
                ..ScanRequest::default()
            };
            let page = self.scanned(&request).await;
            for item in page.items {
                items.insert(key_text(model, &item), item);
            }
            start = page.last_key;
            if start.is_none() {
                return items;
            }
        }
    }

    /// A page of items. An endpoint may close a connection that was idle in the moment in which it is used; reading again is safe.
    async fn scanned(&self, request: &ScanRequest) -> PageAnswer {
        for _ in 0..SCANS_MAX {
            match self.engine.store().scan(request).await {
                Err(error) if error.is_unavailable() => {}
                page => return page.unwrap(),
            }
        }
        panic!("the store does not answer")
    }

    /// The keys of all items, in order.
    pub async fn keys(&self) -> Vec<String> {
        self.dump().await.into_keys().collect()
    }

    /// The keys that begin so, in order.
    pub async fn keys_under(&self, start: &str) -> Vec<String> {
        let keys = self.keys().await.into_iter();
        keys.filter(|key| key.starts_with(start)).collect()
    }

    /// The item with that key.
    pub async fn item(&self, key: &str) -> Json {
        let items = self.dump().await;
        let item = items
            .get(key)
            .unwrap_or_else(|| panic!("no item {key} in {:?}", items.keys()));
        values::to_json(&Value::M(item.clone()))
    }

    /// An attribute of the item with that key.
    pub async fn attribute(&self, key: &str, name: &str) -> Option<Json> {
        let items = self.dump().await;
        let item = items
            .get(key)
            .unwrap_or_else(|| panic!("no item {key} in {:?}", items.keys()));
        item.get(name).map(values::to_json)
    }
}

/// The key of an item, for people.
pub fn key_text(model: &Model, item: &Item) -> String {
    let parts: Vec<String> = model.table.key.iter().map(|key| text(&item[&key.name])).collect();
    parts.join(" | ")
}

/// Whether a row has these values, whatever else it has.
pub fn has(row: &Json, expected: &Json) {
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(row.get(name).unwrap_or(&Json::Null), value, "{name} of {row}");
    }
}

/// The text under a name.
pub fn word(row: &Json, name: &str) -> String {
    let text = row[name].as_str();
    text.unwrap_or_else(|| panic!("no {name} in {row}")).to_owned()
}

/// The name of a refusal.
pub fn refused(name: &str) -> Outcome {
    Err(name.to_owned())
}

pub fn text(value: &Value) -> String {
    match value {
        Value::S(text) => text.clone(),
        other => values::to_json(other).to_string(),
    }
}

pub fn outcome(written: Result<Written, RuntimeError>) -> Outcome {
    match written {
        Ok(written) => Ok(written.value.as_ref().map_or(json!(null), values::to_json)),
        Err(error) => Err(text_of(&error)),
    }
}

pub fn text_of(error: &RuntimeError) -> String {
    match error {
        RuntimeError::Refused(refused) => {
            let shown: Vec<String> = refused
                .shown
                .iter()
                .map(|(name, value)| format!(" {name}={}", text(value)))
                .collect();
            format!("{} {}{}", refused.name, refused.status, shown.concat())
        }
        RuntimeError::Forbidden => "forbidden".to_owned(),
        RuntimeError::Unauthenticated => "unauthenticated".to_owned(),
        RuntimeError::NotFound => "not found".to_owned(),
        RuntimeError::VersionMismatch => "version mismatch".to_owned(),
        RuntimeError::IdempotencyKeyReused => "key reused".to_owned(),
        RuntimeError::AlreadyDone => "already done".to_owned(),
        RuntimeError::Conflict => "conflict".to_owned(),
        RuntimeError::Request(reason) => format!("bad request: {reason}"),
        other => format!("error: {other}"),
    }
}

pub fn number(value: i64) -> Number {
    Number::from(value)
}
