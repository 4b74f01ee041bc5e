//! What is tried: an engine on a store, with everything that it sends written down.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use singlet_item::limits::BATCH_WRITE_ITEMS_MAX;
use singlet_item::{Item, Value};
use singlet_model::Model;
use singlet_runtime::{Attributes, Engine, RuntimeError, table};
use singlet_store::render::Renderer;
use singlet_store::{
    BatchGetAnswer, BatchGetRequest, BatchWrite, BatchWriteAnswer, BatchWriteRequest, Condition, DeleteRequest,
    Direction, GetAnswer, GetRequest, PageAnswer, PutRequest, QueryRequest, Result, ScanRequest, SortRange, Store,
    StoreLayer, TransactGetAnswer, TransactGetRequest, TransactWrite, TransactWriteRequest, UpdateRequest, WriteAnswer,
};
use singlet_values as values;

/// How often what a batch left open is sent again.
const BATCH_TRIES_MAX: usize = 50;

/// Seals cursors; they live for one case.
const CURSOR_KEY: [u8; 32] = [7; 32];

/// An engine that is tried, on a table of its own.
#[derive(Debug)]
pub struct Subject {
    /// The engine.
    pub engine: Arc<Engine>,
    watched: Arc<RecordingStore>,
}

impl Subject {
    /// Opens a model on a store, in which its table is made. The model need not be the one that judges.
    ///
    /// # Errors
    ///
    /// Where the table cannot be made.
    pub async fn open(model: Arc<Model>, store: Arc<dyn Store>, settings: Attributes) -> Result<Self> {
        Self::make_table(&model, store.as_ref()).await?;
        Ok(Self::on_table(model, store, settings))
    }

    /// Makes the table of a model. It has no stream: what is tried reads none, and the embedded engine looks through all of it
    /// with every write.
    ///
    /// # Errors
    ///
    /// Where the table cannot be made.
    pub async fn make_table(model: &Model, store: &dyn Store) -> Result<()> {
        let mut spec = table::table_spec(model);
        spec.stream = None;
        store.create_table(&spec).await
    }

    /// Opens a model on a store that has its table.
    pub fn on_table(model: Arc<Model>, store: Arc<dyn Store>, settings: Attributes) -> Self {
        Self::with_engine(store, |store| Engine::open(model, store, settings, CURSOR_KEY))
    }

    /// An engine that is made on the store it is given: the one below, with what is sent to it written down.
    pub fn with_engine(store: Arc<dyn Store>, make: impl FnOnce(Arc<dyn Store>) -> Engine) -> Self {
        let watched = Arc::new(RecordingStore {
            inner: store,
            sent: Mutex::new(None),
        });
        let engine = Arc::new(make(Arc::clone(&watched) as Arc<dyn Store>));
        Subject { engine, watched }
    }

    /// Empties the table and puts items there. Says whether nothing else was left: a store that does not delete cannot be
    /// used again.
    pub(super) async fn refill(&self, items: Vec<Item>) -> std::result::Result<bool, RuntimeError> {
        let (store, model) = (&self.watched.inner, self.engine.model());
        let key_of = |item: &Item| -> Item {
            let names = model.table.key.iter();
            names
                .filter_map(|key| Some((key.name.clone(), item.get(&key.name)?.clone())))
                .collect()
        };
        let table = &model.table.name;
        let there = all_items(store.as_ref(), table).await?;
        let deletes = there.iter().map(|item| BatchWrite::Delete {
            table: table.clone(),
            key: key_of(item),
        });
        write_all(store.as_ref(), deletes.collect()).await?;
        let left = match there.is_empty() {
            true => Vec::new(),
            false => all_items(store.as_ref(), table).await?,
        };
        let mut once: Vec<Item> = Vec::new();
        for item in items {
            if !once.contains(&item) {
                once.push(item);
            }
        }
        let puts = once.into_iter().map(|item| BatchWrite::Put {
            table: table.clone(),
            item,
        });
        write_all(store.as_ref(), puts.collect()).await?;
        Ok(left.is_empty())
    }

    /// Begins to write down what is sent.
    pub(super) fn watch(&self) {
        *self.watched.sent.lock().unwrap_or_else(PoisonError::into_inner) = Some(Vec::new());
    }

    /// What was sent since.
    pub(super) fn sent(&self) -> Vec<SentRequest> {
        let mut sent = self.watched.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.take().unwrap_or_default()
    }
}

async fn all_items(store: &dyn Store, table: &str) -> Result<Vec<Item>> {
    let (mut items, mut start) = (Vec::new(), None);
    loop {
        let request = ScanRequest {
            table: table.to_owned(),
            consistent: true,
            start,
            ..ScanRequest::default()
        };
        let page = store.scan(&request).await?;
        items.extend(page.items);
        start = page.last_key;
        if start.is_none() {
            return Ok(items);
        }
    }
}

async fn write_all(store: &dyn Store, writes: Vec<BatchWrite>) -> std::result::Result<(), RuntimeError> {
    for chunk in writes.chunks(BATCH_WRITE_ITEMS_MAX) {
        let mut writes = chunk.to_vec();
        for attempt in 0u32.. {
            if writes.is_empty() {
                break;
            }
            if attempt as usize >= BATCH_TRIES_MAX {
                return Err(RuntimeError::Conflict);
            }
            if attempt > 0 {
                tokio::time::sleep(std::time::Duration::from_millis(20 * u64::from(attempt))).await;
            }
            writes = store.batch_write(&BatchWriteRequest { writes }).await?.unprocessed;
        }
    }
    Ok(())
}

/// A request, in words, and the index that it reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SentRequest {
    pub text: String,
    pub index: Option<String>,
}

/// A store that writes down what it is asked.
#[derive(Debug)]
struct RecordingStore {
    inner: Arc<dyn Store>,
    /// What was asked, while somebody wants to know.
    sent: Mutex<Option<Vec<SentRequest>>>,
}

impl RecordingStore {
    fn note(&self, text: impl FnOnce() -> String, index: Option<&String>) {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sent) = sent.as_mut() {
            sent.push(SentRequest {
                text: text(),
                index: index.cloned(),
            });
        }
    }
}

#[async_trait]
impl StoreLayer for RecordingStore {
    fn beneath(&self) -> &dyn Store {
        &*self.inner
    }

    async fn get(&self, request: &GetRequest) -> Result<GetAnswer> {
        self.note(|| format!("get {}", item_text(&request.key)), None);
        self.inner.get(request).await
    }

    async fn batch_get(&self, request: &BatchGetRequest) -> Result<BatchGetAnswer> {
        let keys = request.tables.iter().flat_map(|table| &table.keys);
        self.note(
            || format!("batch get {}", keys.map(item_text).collect::<Vec<_>>().join("; ")),
            None,
        );
        self.inner.batch_get(request).await
    }

    async fn query(&self, request: &QueryRequest) -> Result<PageAnswer> {
        self.note(|| query_text(request), request.index.as_ref());
        self.inner.query(request).await
    }

    async fn scan(&self, request: &ScanRequest) -> Result<PageAnswer> {
        let text = || {
            format!(
                "scan{}{}",
                place(request.index.as_ref()),
                filter_text(request.filter.as_ref())
            )
        };
        self.note(text, request.index.as_ref());
        self.inner.scan(request).await
    }

    async fn transact_get(&self, request: &TransactGetRequest) -> Result<TransactGetAnswer> {
        let keys = request.gets.iter().map(|get| item_text(&get.key));
        self.note(|| format!("transact get {}", keys.collect::<Vec<_>>().join("; ")), None);
        self.inner.transact_get(request).await
    }

    async fn put(&self, request: &PutRequest) -> Result<WriteAnswer> {
        self.note(|| put_text(request), None);
        self.inner.put(request).await
    }

    async fn update(&self, request: &UpdateRequest) -> Result<WriteAnswer> {
        self.note(|| update_text(request), None);
        self.inner.update(request).await
    }

    async fn delete(&self, request: &DeleteRequest) -> Result<WriteAnswer> {
        self.note(|| delete_text(request), None);
        self.inner.delete(request).await
    }

    async fn batch_write(&self, request: &BatchWriteRequest) -> Result<BatchWriteAnswer> {
        self.note(|| format!("batch write of {}", request.writes.len()), None);
        self.inner.batch_write(request).await
    }

    async fn transact_write(&self, request: &TransactWriteRequest) -> Result<WriteAnswer> {
        for action in &request.actions {
            self.note(|| action_text(action), None);
        }
        self.inner.transact_write(request).await
    }
}

fn place(index: Option<&String>) -> String {
    index.map(|index| format!(" {index}")).unwrap_or_default()
}

/// A value as it stands in a condition.
pub(super) fn value_text(value: &Value) -> String {
    values::json_text::json_of(value)
}

fn item_text(key: &Item) -> String {
    let parts = key
        .iter()
        .map(|(name, value)| format!("{name} = {}", value_text(value)));
    parts.collect::<Vec<_>>().join(" and ")
}

fn query_text(request: &QueryRequest) -> String {
    let partition = request.range.partition.iter();
    let partition = partition.map(|(name, value)| format!("{name} = {}", value_text(value)));
    let sort = request.range.sort.iter().map(|(name, range)| sort_text(name, range));
    let keys: Vec<String> = partition.chain(sort).collect();
    let mut text = format!("query{} {}", place(request.index.as_ref()), keys.join(" and "));
    text.push_str(&filter_text(request.filter.as_ref()));
    if request.direction == Direction::Descending {
        text.push_str(", descending");
    }
    if let Some(limit) = request.limit {
        let _ = write!(text, ", limit {limit}");
    }
    if request.start.is_some() {
        text.push_str(", going on");
    }
    text
}

fn sort_text(name: &str, range: &SortRange) -> String {
    match range {
        SortRange::Equal(value) => format!("{name} = {}", value_text(value)),
        SortRange::Less(value) => format!("{name} < {}", value_text(value)),
        SortRange::LessOrEqual(value) => format!("{name} <= {}", value_text(value)),
        SortRange::Greater(value) => format!("{name} > {}", value_text(value)),
        SortRange::GreaterOrEqual(value) => format!("{name} >= {}", value_text(value)),
        SortRange::Between(low, high) => format!("{name} between {} and {}", value_text(low), value_text(high)),
        SortRange::BeginsWith(value) => format!("begins_with({name}, {})", value_text(value)),
    }
}

fn filter_text(filter: Option<&Condition>) -> String {
    filter
        .map(|filter| format!(" where {}", condition_text(filter)))
        .unwrap_or_default()
}

/// A condition as DynamoDB writes it, with names and values in place.
fn condition_text(condition: &Condition) -> String {
    let mut renderer = Renderer::new();
    let Ok(text) = renderer.condition_text(condition) else {
        return "…".to_owned();
    };
    let known = renderer.finish();
    let mut shown = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find(['#', ':']) {
        let (before, from) = rest.split_at(at);
        let digits = from.chars().skip(1).take_while(char::is_ascii_digit).count();
        let (placeholder, after) = from.split_at(1 + digits);
        shown.push_str(before);
        match (known.names.get(placeholder), known.values.get(placeholder)) {
            (Some(name), _) => shown.push_str(name),
            (_, Some(value)) => shown.push_str(&value_text(value)),
            _ => shown.push_str(placeholder),
        }
        rest = after;
    }
    shown + rest
}

fn condition_suffix(condition: Option<&Condition>) -> String {
    condition
        .map(|condition| format!(" if {}", condition_text(condition)))
        .unwrap_or_default()
}

fn put_text(request: &PutRequest) -> String {
    let item = value_text(&Value::M(request.item.clone()));
    format!("put {item}{}", condition_suffix(request.condition.as_ref()))
}

fn update_text(request: &UpdateRequest) -> String {
    let changes = &request.update;
    let names = changes.set.iter().map(|(path, _)| path.name());
    let names = names.chain(changes.add.iter().map(|(path, _)| path.name()));
    let names: Vec<&str> = names.chain(changes.remove.iter().map(|path| path.name())).collect();
    format!(
        "update {} of {}{}",
        names.join(", "),
        item_text(&request.key),
        condition_suffix(request.condition.as_ref())
    )
}

fn delete_text(request: &DeleteRequest) -> String {
    format!(
        "delete {}{}",
        item_text(&request.key),
        condition_suffix(request.condition.as_ref())
    )
}

fn action_text(action: &TransactWrite) -> String {
    match action {
        TransactWrite::Put(request) => put_text(request),
        TransactWrite::Update(request) => update_text(request),
        TransactWrite::Delete(request) => delete_text(request),
        TransactWrite::Check { key, condition, .. } => {
            format!("check {}{}", item_text(key), condition_suffix(Some(condition)))
        }
    }
}
