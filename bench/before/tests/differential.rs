//! The store of today and the one of before answer drawn requests alike: items, counts, capacity, kinds of refusals and their words.
//!
//! `SINGLET_CASES` and `SINGLET_SEED` draw more, or others.

use std::collections::BTreeMap;

use fastrand::Rng;
use singlet_item::{Item, Number, Value};
use singlet_store::{
    AttributeType, BatchGetRequest, BatchGetTable, BatchWrite, BatchWriteRequest, Comparison, Condition, DeleteRequest,
    Direction, GetRequest, IndexKind, IndexProjection, IndexSpec, KeyRange, KeySchema, KeyType, Operand, Path, PutRequest,
    QueryRequest, Result, ScanRequest, Select, SetOperand, SortRange, Store, StoreError, StreamPosition, StreamRequest,
    StreamView, TableSpec, TransactGet, TransactGetRequest, TransactWrite, TransactWriteRequest, Update, UpdateRequest,
    UpdateReturn,
};

const TABLE: &str = "things";
const CASES_USUAL: u64 = 400;
const REQUESTS: usize = 60;

fn spec(rng: &mut Rng) -> TableSpec {
    let types = [KeyType::String, KeyType::Number, KeyType::Binary];
    let mut key = KeySchema::partition("p", KeyType::String);
    if rng.u8(..4) > 0 {
        key = key.sort("s", *rng.choice(&types).unwrap());
    }
    let has_sort = !key.sort.is_empty();
    let mut spec = TableSpec::new(TABLE, key);
    let projections = [
        IndexProjection::All,
        IndexProjection::KeysOnly,
        IndexProjection::Include(vec!["a".to_owned(), "m".to_owned()]),
    ];
    for number in 0..rng.usize(..3) {
        let name = format!("global-{number}");
        let mut key = KeySchema::partition("g", KeyType::String);
        if rng.bool() {
            key = key.sort("n", KeyType::Number);
        }
        spec.indexes.push(IndexSpec {
            name,
            kind: IndexKind::Global,
            key,
            projection: rng.choice(&projections).unwrap().clone(),
        });
    }
    if has_sort && rng.bool() {
        spec.indexes.push(IndexSpec {
            name: "local".to_owned(),
            kind: IndexKind::Local,
            key: KeySchema::partition("p", KeyType::String).sort("n", KeyType::Number),
            projection: rng.choice(&projections).unwrap().clone(),
        });
    }
    spec.stream = rng.bool().then_some(StreamView::Both);
    spec
}

/// What requests are drawn for.
struct Draw {
    rng: Rng,
    spec: TableSpec,
}

impl Draw {
    fn text(&mut self) -> String {
        let words = ["a", "b", "ab", "abc", "a\0", "é", "b#1", ""];
        let word = *self.rng.choice(&words).unwrap();
        if word.is_empty() && self.rng.u8(..8) > 0 { "z".to_owned() } else { word.to_owned() }
    }

    fn number(&mut self) -> Number {
        let texts = ["0", "1", "-1", "2", "10", "1.5", "-0.25", "1E20", "12345678901234567890123456789012345678"];
        self.rng.choice(&texts).unwrap().parse().unwrap()
    }

    fn scalar(&mut self, key_type: KeyType) -> Value {
        // Rarely another type, which is refused.
        let key_type = match self.rng.u8(..40) {
            0 => *self.rng.choice(&[KeyType::String, KeyType::Number, KeyType::Binary]).unwrap(),
            _ => key_type,
        };
        match key_type {
            KeyType::String => Value::S(self.text()),
            KeyType::Number => Value::N(self.number()),
            KeyType::Binary => Value::B(self.text().into_bytes()),
        }
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.rng.u8(..if depth > 2 { 8 } else { 12 }) {
            0 => Value::Null,
            1 => Value::Bool(self.rng.bool()),
            2 | 3 => Value::S(self.text()),
            4 | 5 => Value::N(self.number()),
            6 => Value::B(self.text().into_bytes()),
            7 => Value::Ss((0..self.rng.usize(1..3)).map(|_| self.text()).collect()),
            8 => Value::Ns((0..self.rng.usize(1..3)).map(|_| self.number()).collect()),
            9 => Value::L((0..self.rng.usize(..3)).map(|_| self.value(depth + 1)).collect()),
            _ => Value::M(
                ["x", "y", "z"]
                    .into_iter()
                    .filter(|_| self.rng.bool())
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
                    .into_iter()
                    .map(|name| (name, self.value(depth + 1)))
                    .collect(),
            ),
        }
    }

    fn key(&mut self) -> Item {
        let attributes: Vec<_> = self.spec.key.attributes().cloned().collect();
        attributes
            .into_iter()
            .filter(|_| self.rng.u8(..60) > 0)
            .collect::<Vec<_>>()
            .into_iter()
            .map(|attribute| (attribute.name, self.scalar(attribute.key_type)))
            .collect()
    }

    fn item(&mut self) -> Item {
        let mut item = self.key();
        if self.rng.bool() {
            item.insert("g".to_owned(), self.scalar(KeyType::String));
        }
        if self.rng.bool() {
            item.insert("n".to_owned(), self.scalar(KeyType::Number));
        }
        for name in ["a", "m", "l", "pad"] {
            if self.rng.bool() {
                let value = match name {
                    "pad" => Value::S("x".repeat(self.rng.usize(..3000))),
                    _ => self.value(0),
                };
                item.insert(name.to_owned(), value);
            }
        }
        item
    }

    fn path(&mut self) -> Path {
        let name = *self.rng.choice(&["a", "m", "l", "g", "n", "pad"]).unwrap();
        let mut path = Path::attribute(name);
        while self.rng.u8(..3) == 0 {
            path = match self.rng.bool() {
                true => path.index(self.rng.usize(..3)),
                false => path.key(*self.rng.choice(&["x", "y", "z"]).unwrap()),
            };
        }
        path
    }

    fn operand(&mut self) -> Operand {
        match self.rng.u8(..4) {
            0 => Operand::Path(self.path()),
            _ => Operand::Value(self.value(2)),
        }
    }

    fn condition(&mut self, depth: usize) -> Condition {
        use Comparison as Is;
        let comparisons = [Is::Equal, Is::NotEqual, Is::Less, Is::LessOrEqual, Is::Greater, Is::GreaterOrEqual];
        match self.rng.u8(..if depth > 2 { 8 } else { 11 }) {
            0 => Condition::Exists(self.path()),
            1 => Condition::NotExists(self.path()),
            2 => Condition::HasType(self.path(), AttributeType::Number),
            3 => Condition::begins_with(self.path(), Operand::Value(Value::S(self.text()))),
            4 => Condition::contains(self.path(), Operand::Value(self.value(3))),
            5 => Condition::compare(Operand::Size(self.path()), Is::Less, 3_i64),
            6 | 7 => {
                let comparison = *self.rng.choice(&comparisons).unwrap();
                Condition::compare(Operand::Path(self.path()), comparison, self.operand())
            }
            8 => self.condition(depth + 1).negate(),
            9 => self.condition(depth + 1).and(self.condition(depth + 1)),
            _ => self.condition(depth + 1).or(self.condition(depth + 1)),
        }
    }

    fn maybe_condition(&mut self) -> Option<Condition> {
        (self.rng.u8(..3) == 0).then(|| self.condition(0))
    }

    fn update(&mut self) -> Update {
        let mut update = Update::new();
        for _ in 0..self.rng.usize(1..4) {
            let path = self.path();
            update = match self.rng.u8(..7) {
                0 | 1 => update.set(path, self.value(1)),
                2 => update.remove(path),
                3 => update.add(path, Value::N(self.number())),
                4 => update.add(path, Value::Ss([self.text()].into())),
                5 => update.delete(path, Value::Ss([self.text()].into())),
                _ => match self.rng.u8(..3) {
                    0 => update.set(path.clone(), SetOperand::if_not_exists(path, 0_i64).plus(1_i64)),
                    1 => update.set(path, SetOperand::Path(self.path())),
                    _ => update.set(path.clone(), SetOperand::list_append(path, vec![self.value(2)])),
                },
            };
        }
        update
    }

    fn range(&mut self, schema: &KeySchema) -> KeyRange {
        let partition = schema.partition.clone();
        let mut range = KeyRange {
            partition: partition.into_iter().map(|key| (key.name, self.scalar(key.key_type))).collect(),
            sort: Vec::new(),
        };
        for key in schema.sort.clone() {
            if self.rng.bool() {
                break;
            }
            let mut value = || self.scalar(key.key_type);
            let (one, other) = (value(), value());
            let drawn = match self.rng.u8(..7) {
                0 => SortRange::Equal(one),
                1 => SortRange::Less(one),
                2 => SortRange::LessOrEqual(one),
                3 => SortRange::Greater(one),
                4 => SortRange::GreaterOrEqual(one),
                5 => SortRange::Between(one, other),
                _ => SortRange::BeginsWith(one),
            };
            range.sort.push((key.name, drawn));
        }
        range
    }

    fn select(&mut self, index: Option<&IndexSpec>) -> Select {
        match self.rng.u8(..3) {
            0 => Select::Count,
            // Of an index only what it projects: the one of before answers what is not there as absent.
            1 if index.is_none_or(|index| index.projection == IndexProjection::All) => Select::Paths(vec![self.path()]),
            _ => Select::All,
        }
    }

    fn query(&mut self) -> QueryRequest {
        let index = self.rng.choice(&self.spec.indexes).cloned().filter(|_| self.rng.bool());
        let schema = index.as_ref().map_or(self.spec.key.clone(), |index| index.key.clone());
        let mut request = QueryRequest::new(TABLE, self.range(&schema));
        request.select = self.select(index.as_ref());
        request.index = index.map(|index| index.name);
        request.filter = self.maybe_condition();
        request.consistent = self.rng.u8(..4) == 0;
        request.direction = *self.rng.choice(&[Direction::Ascending, Direction::Descending]).unwrap();
        request.limit = self.rng.bool().then(|| self.rng.u32(1..5));
        request
    }

    fn action(&mut self) -> TransactWrite {
        let table = TABLE.to_owned();
        match self.rng.u8(..4) {
            0 => TransactWrite::Put(PutRequest {
                table,
                item: self.item(),
                condition: self.maybe_condition(),
                return_old: false,
            }),
            1 => TransactWrite::Update(UpdateRequest {
                table,
                key: self.key(),
                update: self.update(),
                condition: self.maybe_condition(),
                returns: UpdateReturn::Nothing,
            }),
            2 => TransactWrite::Delete(DeleteRequest {
                table,
                key: self.key(),
                condition: self.maybe_condition(),
                return_old: false,
            }),
            _ => TransactWrite::Check {
                table,
                key: self.key(),
                condition: self.condition(0),
            },
        }
    }
}

#[derive(Debug)]
enum Request {
    Get(GetRequest),
    Put(PutRequest),
    Update(UpdateRequest),
    Delete(DeleteRequest),
    Query(QueryRequest),
    Scan(ScanRequest),
    BatchGet(BatchGetRequest),
    BatchWrite(BatchWriteRequest),
    TransactGet(TransactGetRequest),
    TransactWrite(TransactWriteRequest),
}

impl Draw {
    fn request(&mut self) -> Request {
        let table = TABLE.to_owned();
        let returns = [
            UpdateReturn::Nothing,
            UpdateReturn::Old,
            UpdateReturn::New,
            UpdateReturn::UpdatedOld,
            UpdateReturn::UpdatedNew,
        ];
        match self.rng.u8(..24) {
            0..=5 => Request::Put(PutRequest {
                table,
                item: self.item(),
                condition: self.maybe_condition(),
                return_old: self.rng.bool(),
            }),
            6..=9 => Request::Update(UpdateRequest {
                table,
                key: self.key(),
                update: self.update(),
                condition: self.maybe_condition(),
                returns: *self.rng.choice(&returns).unwrap(),
            }),
            10 | 11 => Request::Delete(DeleteRequest {
                table,
                key: self.key(),
                condition: self.maybe_condition(),
                return_old: self.rng.bool(),
            }),
            12 | 13 => Request::Get(GetRequest {
                table,
                key: self.key(),
                consistent: self.rng.bool(),
                projection: if self.rng.bool() { vec![self.path()] } else { Vec::new() },
            }),
            14..=18 => Request::Query(self.query()),
            19 => Request::Scan(ScanRequest {
                table,
                filter: self.maybe_condition(),
                select: self.select(None),
                ..ScanRequest::default()
            }),
            20 => Request::BatchGet(BatchGetRequest {
                tables: vec![BatchGetTable {
                    table,
                    keys: (0..self.rng.usize(1..4)).map(|_| self.key()).collect(),
                    consistent: self.rng.bool(),
                    projection: Vec::new(),
                }],
            }),
            21 => Request::BatchWrite(BatchWriteRequest {
                writes: (0..self.rng.usize(1..4))
                    .map(|_| match self.rng.bool() {
                        true => BatchWrite::Put {
                            table: TABLE.to_owned(),
                            item: self.item(),
                        },
                        false => BatchWrite::Delete {
                            table: TABLE.to_owned(),
                            key: self.key(),
                        },
                    })
                    .collect(),
            }),
            22 => Request::TransactGet(TransactGetRequest {
                gets: (0..self.rng.usize(1..4))
                    .map(|_| TransactGet {
                        table: TABLE.to_owned(),
                        key: self.key(),
                        projection: Vec::new(),
                    })
                    .collect(),
            }),
            _ => Request::TransactWrite(TransactWriteRequest {
                actions: (0..self.rng.usize(1..4)).map(|_| self.action()).collect(),
                token: None,
            }),
        }
    }
}

/// An answer, in words that compare.
async fn answer(store: &dyn Store, request: &Request) -> std::result::Result<String, StoreError> {
    fn said<T: std::fmt::Debug>(answer: Result<T>) -> Result<String> {
        answer.map(|answer| format!("{answer:?}"))
    }
    match request {
        Request::Get(request) => said(store.get(request).await),
        Request::Put(request) => said(store.put(request).await),
        Request::Update(request) => said(store.update(request).await),
        Request::Delete(request) => said(store.delete(request).await),
        Request::Query(request) => pages(store, request.clone()).await,
        Request::Scan(request) => {
            let mut page = store.scan(request).await?;
            // In the order of a hash, which is another.
            page.items.sort_unstable();
            said(Ok(page))
        }
        Request::BatchGet(request) => {
            let mut answer = store.batch_get(request).await?;
            answer.items.values_mut().for_each(|items| items.sort_unstable());
            said(Ok(answer))
        }
        Request::BatchWrite(request) => said(store.batch_write(request).await),
        Request::TransactGet(request) => said(store.transact_get(request).await),
        Request::TransactWrite(request) => said(store.transact_write(request).await),
    }
}

async fn pages(store: &dyn Store, mut request: QueryRequest) -> Result<String> {
    let mut said = Vec::new();
    loop {
        let page = store.query(&request).await?;
        request.start = page.last_key.clone();
        said.push(page);
        if request.start.is_none() {
            return Ok(format!("{said:?}"));
        }
    }
}

async fn changes(store: &dyn Store) -> Vec<String> {
    let mut position = StreamPosition::Start;
    let mut told = Vec::new();
    loop {
        let request = StreamRequest {
            table: TABLE.to_owned(),
            position: position.clone(),
            limit: 1000,
        };
        let page = store.read_stream(&request).await.unwrap();
        told.extend(
            page.records
                .into_iter()
                .map(|record| format!("{:?} {:?} {:?} {:?}", record.event, record.key, record.old, record.new)),
        );
        if page.next == position {
            return told;
        }
        position = page.next;
    }
}

#[tokio::test]
async fn both_stores_answer_alike() {
    let from = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (cases, seed) = (from("SINGLET_CASES").unwrap_or(CASES_USUAL), from("SINGLET_SEED").unwrap_or(1));
    let mut other_words: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut differences = Vec::new();
    for case in 0..cases {
        let mut rng = Rng::with_seed(seed + case);
        let spec = spec(&mut rng);
        let mut draw = Draw { rng, spec };
        let before = singlet_store_before::EmbeddedStore::memory().unwrap();
        let today = singlet_store_embedded::EmbeddedStore::memory().unwrap();
        before.create_table(&draw.spec).await.unwrap();
        today.create_table(&draw.spec).await.unwrap();
        for _ in 0..REQUESTS {
            let request = draw.request();
            let (old, new) = (answer(&before, &request).await, answer(&today, &request).await);
            match (old, new) {
                (Ok(old), Ok(new)) if old == new => {}
                (Err(old), Err(new)) if old.kind() == new.kind() => {
                    if old.message() != new.message() {
                        *other_words.entry((old.message().to_owned(), new.message().to_owned())).or_default() += 1;
                    }
                }
                (old, new) => {
                    differences.push(format!(
                        "seed {}: {request:?}\n  of {:?}\n  before {old:?}\n  today  {new:?}",
                        seed + case,
                        draw.spec
                    ));
                    // What follows may differ because of it.
                    break;
                }
            }
        }
        if draw.spec.stream.is_some() && differences.is_empty() {
            assert_eq!(changes(&before).await, changes(&today).await, "seed {}", seed + case);
        }
    }
    for ((old, new), count) in &other_words {
        println!("{count} × before `{old}`\n       today  `{new}`");
    }
    differences.sort_by_key(String::len);
    let shown: Vec<&String> = differences.iter().take(12).collect();
    assert!(differences.is_empty(), "{} of {cases} cases differ:\n{shown:#?}", differences.len());
}
