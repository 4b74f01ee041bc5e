//! A store that remembers what each test asks of it, and says from its own copy of the items what a request had to read.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use singlet_item::capacity::{Consistency, ReadUnits};
use singlet_item::limits::PAGE_SIZE_BYTES_MAX;
use singlet_item::{Item, Value, item_size_bytes};
use singlet_model::Model;
use singlet_plan::cost::{Call, RequestCost};
use singlet_plan::read::Combination;
use singlet_store::*;

tokio::task_local! {
    static CALLS: RefCell<Vec<Recorded>>;
}

/// A request, and what the engine says it consumed.
#[derive(Debug)]
pub struct Recorded {
    pub asked: Asked,
    pub consumed: ReadUnits,
    /// How many items there were before any filter.
    read: usize,
}

impl Recorded {
    /// Whether nothing was there.
    pub fn is_empty(&self) -> bool {
        self.read == 0
    }
}

#[derive(Debug)]
pub enum Asked {
    Get(GetRequest),
    BatchGet(BatchGetRequest),
    TransactGet(TransactGetRequest),
    Query(QueryRequest),
    Scan(ScanRequest),
}

/// Runs something and tells what it asked of the store; tests that share a system do not see one another's requests.
pub async fn recorded<T>(running: impl Future<Output = T>) -> (T, Vec<Recorded>) {
    CALLS
        .scope(RefCell::default(), async {
            let output = running.await;
            (output, CALLS.with(RefCell::take))
        })
        .await
}

fn record(asked: Asked, read: usize, consumed: &Consumed) {
    let consumed = consumed.total_units().read;
    // What loads the sample is not of interest.
    let _ = CALLS.try_with(|calls| calls.borrow_mut().push(Recorded { asked, consumed, read }));
}

#[derive(Debug)]
pub struct Recorder {
    store: Arc<dyn Store>,
    spec: TableSpec,
    items: Mutex<BTreeMap<Vec<String>, Item>>,
}

impl Recorder {
    pub fn new(store: Arc<dyn Store>, spec: TableSpec) -> Self {
        let items = Mutex::default();
        Recorder { store, spec, items }
    }

    /// Whether a request is of the kind that a cost is for.
    pub fn is_of(&self, model: &Model, combination: &Combination, cost: &RequestCost, call: &Recorded) -> bool {
        let name = |index| model.index(index).unwrap().name.clone();
        let strong = |strong| match strong {
            true => Consistency::Strong,
            false => Consistency::Eventual,
        };
        let (index, consistency, kind) = match &call.asked {
            Asked::Get(get) => (None, strong(get.consistent), Call::Get),
            Asked::BatchGet(batch) => (None, strong(batch.tables[0].consistent), Call::BatchGet),
            Asked::TransactGet(_) => (None, Consistency::Transactional, Call::TransactGet),
            Asked::Query(query) => (query.index.clone(), strong(query.consistent), Call::Query),
            Asked::Scan(scan) => (scan.index.clone(), strong(scan.consistent), Call::Scan),
        };
        // A circle has several covers, each on an index of its own: the request decides.
        let covers = combination.parts.iter().flat_map(|part| &part.plan.covers);
        let mut places = covers.map(|query| query.index).chain([cost.index]);
        let place = places.any(|place| place.map(name) == index);
        // Of rows by their keys one alone is got.
        let alone = cost.call == Call::BatchGet && kind == Call::Get;
        place && consistency == cost.consistency && (kind == cost.call || alone)
    }

    /// The sizes of the items that a request reads, from the copy: those that the key condition covers, after the start, up to
    /// the limit or the page's. A scan gives rows in an order of its own: only of the whole table are they known.
    pub fn read_bytes(&self, call: &Recorded) -> Option<Vec<usize>> {
        Some(match &call.asked {
            Asked::Get(get) => vec![self.size_of(&get.key)],
            Asked::BatchGet(batch) => batch.tables[0].keys.iter().map(|key| self.size_of(key)).collect(),
            Asked::TransactGet(transaction) => transaction.gets.iter().map(|get| self.size_of(&get.key)).collect(),
            Asked::Query(query) => self.page_bytes(query),
            Asked::Scan(_) => {
                let items = self.items.lock().unwrap();
                let whole = call.read == items.len();
                return whole.then(|| items.values().map(item_size_bytes).collect());
            }
        })
    }

    fn size_of(&self, key: &Item) -> usize {
        let items = self.items.lock().unwrap();
        items.get(&self.key_of(key)).map_or(0, item_size_bytes)
    }

    fn key_of(&self, item: &Item) -> Vec<String> {
        let key = self.spec.key.partition.iter().chain(&self.spec.key.sort);
        key.map(|key| format!("{:?}", item[&key.name])).collect()
    }

    fn page_bytes(&self, query: &QueryRequest) -> Vec<usize> {
        let index = query.index.as_ref();
        let index = index.map(|name| self.spec.indexes.iter().find(|index| index.name == *name).unwrap());
        let schema = index.map_or(&self.spec.key, |index| &index.key);
        let attributes = schema.partition.iter().chain(&schema.sort).map(|key| key.name.clone());
        let table = self.spec.key.partition.iter().chain(&self.spec.key.sort);
        let attributes: Vec<String> = attributes.chain(table.map(|key| key.name.clone())).collect();
        let items = self.items.lock().unwrap();
        let mut there: Vec<&Item> = items
            .values()
            .filter(|item| attributes.iter().all(|name| item.contains_key(name)))
            .filter(|item| in_range(&query.range, item))
            .collect();
        there.sort_by(|a, b| by_key(&attributes, a, b));
        if query.direction == Direction::Descending {
            there.reverse();
        }
        if let Some(start) = &query.start {
            let wanted = match query.direction {
                Direction::Ascending => Ordering::Greater,
                Direction::Descending => Ordering::Less,
            };
            there.retain(|item| by_key(&attributes, item, start) == wanted);
        }
        let sizes = there
            .iter()
            .map(|item| item_size_bytes(&projected(item, index, &attributes)));
        let mut all = 0;
        let within_page = sizes.take_while(|bytes| {
            let first = all;
            all += bytes;
            first < PAGE_SIZE_BYTES_MAX
        });
        within_page.take(query.limit.unwrap_or(u32::MAX) as usize).collect()
    }
}

fn projected(item: &Item, index: Option<&IndexSpec>, keys: &[String]) -> Item {
    let carried: &[String] = match index.map(|index| &index.projection) {
        None | Some(IndexProjection::All) => return item.clone(),
        Some(IndexProjection::KeysOnly) => &[],
        Some(IndexProjection::Include(names)) => names,
    };
    let kept = item
        .iter()
        .filter(|(name, _)| keys.contains(name) || carried.contains(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn by_key(attributes: &[String], a: &Item, b: &Item) -> Ordering {
    let mut orders = attributes.iter().map(|name| compare(&a[name], &b[name]));
    orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::S(a), Value::S(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Value::N(a), Value::N(b)) => a.cmp(b),
        (Value::B(a), Value::B(b)) => a.cmp(b),
        _ => panic!("a key is of one type: {a:?}, {b:?}"),
    }
}

fn in_range(range: &KeyRange, item: &Item) -> bool {
    let partition = range
        .partition
        .iter()
        .all(|(name, value)| item.get(name) == Some(value));
    partition && range.sort.iter().all(|(name, range)| in_sort(range, &item[name]))
}

fn in_sort(range: &SortRange, key: &Value) -> bool {
    match range {
        SortRange::Equal(value) => compare(key, value).is_eq(),
        SortRange::Less(value) => compare(key, value).is_lt(),
        SortRange::LessOrEqual(value) => compare(key, value).is_le(),
        SortRange::Greater(value) => compare(key, value).is_gt(),
        SortRange::GreaterOrEqual(value) => compare(key, value).is_ge(),
        SortRange::Between(low, high) => compare(key, low).is_ge() && compare(key, high).is_le(),
        SortRange::BeginsWith(Value::S(prefix)) => key.as_str().unwrap().starts_with(prefix),
        SortRange::BeginsWith(prefix) => panic!("no key of the systems begins with {prefix:?}"),
    }
}

#[async_trait]
impl StoreLayer for Recorder {
    fn beneath(&self) -> &dyn Store {
        &*self.store
    }

    async fn get(&self, request: &GetRequest) -> Result<GetAnswer> {
        let answer = self.store.get(request).await?;
        record(
            Asked::Get(request.clone()),
            usize::from(answer.item.is_some()),
            &answer.consumed,
        );
        Ok(answer)
    }

    async fn batch_get(&self, request: &BatchGetRequest) -> Result<BatchGetAnswer> {
        let answer = self.store.batch_get(request).await?;
        record(
            Asked::BatchGet(request.clone()),
            answer.items.values().map(Vec::len).sum(),
            &answer.consumed,
        );
        Ok(answer)
    }

    async fn query(&self, request: &QueryRequest) -> Result<PageAnswer> {
        let answer = self.store.query(request).await?;
        record(Asked::Query(request.clone()), answer.scanned, &answer.consumed);
        Ok(answer)
    }

    async fn scan(&self, request: &ScanRequest) -> Result<PageAnswer> {
        let answer = self.store.scan(request).await?;
        record(Asked::Scan(request.clone()), answer.scanned, &answer.consumed);
        Ok(answer)
    }

    async fn transact_get(&self, request: &TransactGetRequest) -> Result<TransactGetAnswer> {
        let answer = self.store.transact_get(request).await?;
        let read = answer.items.iter().flatten().count();
        record(Asked::TransactGet(request.clone()), read, &answer.consumed);
        Ok(answer)
    }

    async fn batch_write(&self, request: &BatchWriteRequest) -> Result<BatchWriteAnswer> {
        let answer = self.store.batch_write(request).await?;
        assert!(answer.unprocessed.is_empty());
        let mut items = self.items.lock().unwrap();
        for write in &request.writes {
            match write {
                BatchWrite::Put { item, .. } => items.insert(self.key_of(item), item.clone()),
                BatchWrite::Delete { key, .. } => items.remove(&self.key_of(key)),
            };
        }
        Ok(answer)
    }
}
