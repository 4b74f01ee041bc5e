//! The systems, opened once each, and the comparison of a read's answer with rows that were filtered by hand.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use serde_json::{Map, Value as Json, json};
use singlet_item::capacity::ReadUnits;
use singlet_item::{Item, Value};
use singlet_model::types::Type;
use singlet_model::{Model, Source};
use singlet_plan::cost::sent_in_all;
use singlet_plan::read::Combination;
pub use singlet_runtime::values;
use singlet_runtime::{Answer, Attributes, Bounds, Caller, Engine, Request, RuntimeError, Scope, load, table};
use singlet_store::Store;
use tokio::sync::OnceCell;

use crate::place;
use crate::recorder::{Recorded, Recorder, recorded};

/// 2026-11-16T12:00:00Z.
pub const NOW: i64 = 1_794_830_400_000;

/// The day of [`NOW`], in UTC and in Rome.
pub const TODAY: &str = "2026-11-16";

const DAY_MILLIS: i64 = 86_400_000;

/// Attributes that the sample does not have: the model computes them.
const COMPUTED: [&str; 7] = [
    "geohash",
    "geohash4",
    "rating",
    "nextMin",
    "validFrom",
    "validTo",
    "remindAt",
];

/// A system and the rows of its sample file, with `now-3d` and the like resolved.
pub struct System {
    pub engine: Engine,
    recorder: Arc<Recorder>,
    rows: BTreeMap<String, Vec<Json>>,
}

macro_rules! systems {
    ($($name:ident),*) => { $(
        /// The system, opened once for all tests that do not change it.
        pub async fn $name() -> &'static System {
            static OPENED: OnceCell<System> = OnceCell::const_new();
            OPENED.get_or_init(|| System::open(stringify!($name))).await
        }
    )* };
}

systems!(todo, wardrobe, country, booking, ecobid);

impl System {
    /// A system of its own, for a test that changes its rows.
    pub async fn open(name: &str) -> System {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../systems/{name}"));
        let text = std::fs::read_to_string(folder.join("model.yaml")).unwrap();
        let sample = std::fs::read_to_string(folder.join("sample.jsonl")).unwrap();
        System::of(&text, &sample).await
    }

    /// A model on a table of its own, with rows.
    pub async fn of(model: &str, sample: &str) -> System {
        let model = model_of(model);
        let recorder = Arc::new(Recorder::new(place::store().await, table::table_spec(&model)));
        let store: Arc<dyn Store> = Arc::clone(&recorder) as Arc<dyn Store>;
        store.create_table(&table::table_spec(&model)).await.unwrap();
        let mut system = System {
            engine: Engine::open(model, store, Attributes::new(), [1; 32]),
            recorder,
            rows: BTreeMap::new(),
        };
        let mut items = Vec::new();
        for line in sample.lines() {
            items.extend(system.items(line));
            system.remember(line);
        }
        system.put_items(items).await;
        system
    }

    fn items(&self, line: &str) -> Vec<Item> {
        let nothing = Attributes::new();
        let nobody = Caller::anonymous();
        let scope = Scope {
            setting: self.engine.setting(),
            now: NOW,
            args: &nothing,
            caller: &nobody,
            attributes: None,
            row: None,
            bound: &nothing,
        };
        load::line_items(self.engine.model(), line, scope).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    pub async fn put_items(&self, items: Vec<Item>) {
        let name = &self.engine.model().table.name;
        load::put_all(self.engine.store(), name, items, |_| {}).await.unwrap();
    }

    /// Puts a row and its mirrors.
    pub async fn put(&self, entity: &str, row: &Json) {
        let items = self.items(&json!({ entity: row }).to_string());
        self.put_items(items).await;
    }

    /// Puts rows, given as lines, in one transaction.
    pub async fn put_together(&self, lines: &[String]) {
        let items = lines.iter().flat_map(|line| self.items(line));
        let actions = items.map(|item| {
            singlet_store::TransactWrite::Put(singlet_store::PutRequest {
                table: self.engine.model().table.name.clone(),
                item,
                ..singlet_store::PutRequest::default()
            })
        });
        let request = singlet_store::TransactWriteRequest {
            actions: actions.collect(),
            token: None,
        };
        while let Err(error) = self.engine.store().transact_write(&request).await {
            assert!(error.is_conflict(), "{error}");
        }
    }

    /// Removes a row and its mirrors.
    pub async fn remove(&self, entity: &str, row: &Json) {
        let table = &self.engine.model().table;
        for item in self.items(&json!({ entity: row }).to_string()) {
            let key: Item = table
                .key
                .iter()
                .map(|key| (key.name.clone(), item[&key.name].clone()))
                .collect();
            let write = singlet_store::BatchWrite::Delete {
                table: table.name.clone(),
                key,
            };
            let request = singlet_store::BatchWriteRequest { writes: vec![write] };
            assert!(
                self.engine
                    .store()
                    .batch_write(&request)
                    .await
                    .unwrap()
                    .unprocessed
                    .is_empty()
            );
        }
    }

    fn remember(&mut self, line: &str) {
        let parsed: Map<String, Json> = serde_json::from_str(line).unwrap();
        for (name, fields) in parsed {
            let entity = self.engine.model().entity_named(&name).unwrap();
            let zone = &self.engine.setting().zone;
            let fields = fields.as_object().unwrap().iter().map(|(field, value)| {
                let ty = &entity.attribute(field).unwrap().ty;
                (field.clone(), resolved(value, ty, zone))
            });
            let row = Json::Object(fields.collect());
            self.rows.entry(name).or_default().push(row);
        }
    }

    /// The rows of an entity of which a condition is true.
    pub fn rows(&self, entity: &str, keep: impl Fn(&Json) -> bool) -> Vec<Json> {
        self.rows[entity].iter().filter(|row| keep(row)).cloned().collect()
    }

    /// The one row of an entity with such an attribute.
    pub fn row(&self, entity: &str, name: &str, value: &str) -> Json {
        let rows = self.rows(entity, |row| text(row, name) == value);
        assert_eq!(rows.len(), 1, "{entity} {name}={value}");
        rows[0].clone()
    }

    /// The arguments, as the types of the read's arguments have them.
    pub fn args(&self, read: &str, args: &[(&str, &str)]) -> Attributes {
        let declared = self
            .engine
            .model()
            .reads
            .iter()
            .find(|known| known.name == read)
            .unwrap();
        let value = |(name, text): &(&str, &str)| {
            let ty = &declared
                .argument_named(name)
                .unwrap_or_else(|| panic!("{read} has no {name}"))
                .ty;
            ((*name).to_owned(), values::from_text(text, ty).unwrap())
        };
        args.iter().map(value).collect()
    }

    /// One page.
    pub async fn page(
        &self,
        read: &str,
        args: &[(&str, &str)],
        caller: &Caller,
        limit: usize,
        cursor: Option<String>,
    ) -> Result<Answer, RuntimeError> {
        let request = Request {
            args: self.args(read, args),
            caller: caller.clone(),
            limit: Some(limit),
            cursor,
            now: NOW,
        };
        let (answer, calls) = recorded(self.engine.read(read, &request)).await;
        if let Ok(answer) = &answer {
            self.check_capacity(read, &request, answer, &calls);
        }
        answer
    }

    /// What one page asks of the store.
    #[allow(dead_code, reason = "requests are counted on the embedded engine only")]
    pub async fn requests(&self, read: &str, args: &[(&str, &str)], caller: &Caller) -> (Answer, Vec<Recorded>) {
        let request = Request {
            args: self.args(read, args),
            caller: caller.clone(),
            now: NOW,
            ..Request::default()
        };
        let (answer, calls) = recorded(self.engine.read(read, &request)).await;
        let answer = answer.unwrap();
        self.check_capacity(read, &request, &answer, &calls);
        (answer, calls)
    }

    /// Checks that every request is one that the plan knows, and that the plan's formula, over the sizes of the items that it
    /// read, gives what the engine says it consumed.
    fn check_capacity(&self, read: &str, request: &Request, answer: &Answer, calls: &[Recorded]) {
        let plan = self.engine.plan(read).unwrap();
        let combination = plan
            .combinations
            .iter()
            .find(|known| {
                known.sent.iter().all(|name| request.args.contains_key(name)) && {
                    let declared = self
                        .engine
                        .model()
                        .reads
                        .iter()
                        .find(|known| known.name == read)
                        .unwrap();
                    let optional = declared.args.iter().filter(|arg| arg.optional && arg.default.is_none());
                    optional.filter(|arg| request.args.contains_key(&arg.name)).count() == known.sent.len()
                }
            })
            .unwrap();
        let mut predicted = ReadUnits::ZERO;
        for call in calls {
            let mut known = combination.requests.iter().chain(&combination.apart);
            let cost = known.find(|cost| self.recorder.is_of(self.engine.model(), combination, cost, call));
            let cost = cost.unwrap_or_else(|| panic!("{read}: the plan does not know of {call:?}"));
            let Some(bytes) = self.recorder.read_bytes(call) else {
                predicted += call.consumed;
                continue;
            };
            let units = cost.request_units(bytes);
            let free = place::EMPTY_PAGES_MAY_BE_FREE && call.consumed == ReadUnits::ZERO && call.is_empty();
            assert!(units == call.consumed || free, "{read}: {units} predicted, {call:?}");
            predicted += if free { ReadUnits::ZERO } else { units };
        }
        assert_eq!(
            predicted,
            answer.consumed.total_units().read,
            "{read}: predicted, and measured"
        );
        self.check_count(read, request, combination, calls.len() as u64);
    }

    /// Checks how many requests there were, where the plan says.
    fn check_count(&self, read: &str, request: &Request, combination: &Combination, sent: u64) {
        let usual = request.limit == Some(Bounds::USUAL.page_rows_usual) && request.cursor.is_none();
        let known = combination.requests.iter().all(|cost| !cost.reads_on) && combination.apart.is_empty();
        let (least, most) = sent_in_all(&combination.requests);
        if usual && known {
            assert!(sent >= least, "{read}: {sent} requests, the plan has at least {least}");
            let listed = combination.requests.iter().all(|cost| cost.rows.is_some());
            if let Some(most) = most.filter(|_| listed) {
                assert!(sent <= most, "{read}: {sent} requests, the plan has at most {most}");
            }
        }
    }

    /// All pages of a list, and what they cost.
    pub async fn all(
        &self,
        read: &str,
        args: &[(&str, &str)],
        caller: &Caller,
        limit: usize,
    ) -> (Vec<Json>, ReadUnits) {
        let mut rows = Vec::new();
        let mut cost = ReadUnits::ZERO;
        let mut cursor = None;
        loop {
            let answer = self.page(read, args, caller, limit, cursor).await.unwrap();
            let page = listed(&answer);
            assert!(page.len() <= limit, "{read}: {} rows in a page of {limit}", page.len());
            assert!(
                page.len() == limit || answer.next.is_none(),
                "{read}: a short page of {} before the end",
                page.len()
            );
            rows.extend(page);
            cost += answer.consumed.total_units().read;
            cursor = answer.next;
            if cursor.is_none() {
                return (rows, cost);
            }
        }
    }

    /// The answer of a `get`; it must have cost something.
    pub async fn one(&self, read: &str, args: &[(&str, &str)], caller: &Caller) -> Json {
        let answer = self.page(read, args, caller, 20, None).await.unwrap();
        let cost = answer.consumed.total_units().read;
        assert!(cost > ReadUnits::ZERO, "{read} cost nothing");
        println!("{read} {args:?}: {cost} read units");
        assert_eq!(answer.next, None);
        values::to_json(&answer.value.unwrap())
    }

    /// How a request is refused.
    pub async fn refused(&self, read: &str, args: &[(&str, &str)], caller: &Caller) -> RuntimeError {
        match self.page(read, args, caller, 20, None).await {
            Err(error) => error,
            Ok(answer) => panic!("{read} {args:?} answers {:?}", answer.value),
        }
    }

    /// Checks that a list has exactly the rows, in order (equal rows in any), whatever the size of a page.
    pub async fn check(&self, read: &str, args: &[(&str, &str)], caller: &Caller, expected: Vec<Json>, order: Order) {
        let mut expected: Vec<Json> = expected.iter().map(comparable).collect();
        expected.sort_by(|a, b| order.compare(a, b));
        let mut first: Option<Vec<Json>> = None;
        for &limit in place::PAGES {
            let (got, cost) = self.all(read, args, caller, limit).await;
            let got: Vec<Json> = got.iter().map(comparable).collect();
            let may_be_free = place::EMPTY_PAGES_MAY_BE_FREE && got.is_empty();
            assert!(cost > ReadUnits::ZERO || may_be_free, "{read} {args:?} cost nothing");
            println!("{read} {args:?} by {limit}: {} rows, {cost} read units", got.len());
            let (ours, theirs) = (order.keys(&got), order.keys(&expected));
            assert_eq!(ours, theirs, "{read} {args:?} by {limit}: the order");
            assert_eq!(
                in_any_order(&got),
                in_any_order(&expected),
                "{read} {args:?} by {limit}: the rows"
            );
            let first = first.get_or_insert_with(|| got.clone());
            assert!(
                *first == got,
                "{read} {args:?} by {limit}: pages of another size give equal rows in another order"
            );
        }
    }
}

/// A model whose table has a name that no other test's has.
pub fn model_of(text: &str) -> Arc<Model> {
    static TABLES: AtomicUsize = AtomicUsize::new(0);
    let loaded = singlet_model::load_source(&Source::new("model.yaml", text));
    assert!(!loaded.diagnostics.has_errors(), "{:?}", loaded.diagnostics);
    let mut model = loaded.model.unwrap();
    let at = TABLES.fetch_add(1, Ordering::Relaxed);
    model.table.name = format!("{}-{}-{at}", model.table.name, std::process::id());
    Arc::new(model)
}

/// The order of a list: what rows are sorted by, and whether it descends.
#[derive(Clone, Copy)]
pub enum Order {
    Up(fn(&Json) -> Vec<String>),
    Down(fn(&Json) -> Vec<String>),
}

impl Order {
    fn key(self, row: &Json) -> Vec<String> {
        let (Order::Up(key) | Order::Down(key)) = self;
        key(row)
    }

    pub fn keys(self, rows: &[Json]) -> Vec<Vec<String>> {
        rows.iter().map(|row| self.key(row)).collect()
    }

    fn compare(self, a: &Json, b: &Json) -> std::cmp::Ordering {
        let ascending = self.key(a).cmp(&self.key(b));
        if matches!(self, Order::Up(_)) {
            ascending
        } else {
            ascending.reverse()
        }
    }
}

/// The rows of a page.
pub fn listed(answer: &Answer) -> Vec<Json> {
    match &answer.value {
        Some(Value::L(rows)) => rows.iter().map(values::to_json).collect(),
        other => panic!("this is no list: {other:?}"),
    }
}

/// An attribute as text; empty where it is absent.
pub fn text<'a>(row: &'a Json, name: &str) -> &'a str {
    row[name].as_str().unwrap_or("")
}

/// The rows with some attributes only, as a mirror carries them.
pub fn only(rows: &[Json], names: &[&str]) -> Vec<Json> {
    let carried = |row: &Json| {
        let fields = row.as_object().unwrap().iter();
        Json::Object(
            fields
                .filter(|(name, _)| names.contains(&name.as_str()))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        )
    };
    rows.iter().map(carried).collect()
}

/// Checks one row, apart from what the model computes.
pub fn same(got: &Json, expected: &Json) {
    assert_eq!(comparable(got), comparable(expected));
}

/// A row without computed attributes, its names in order and its numbers in one form.
pub fn comparable(row: &Json) -> Json {
    match row {
        Json::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| !COMPUTED.contains(&name.as_str()));
            let sorted: BTreeMap<String, Json> = kept.map(|(name, value)| (name.clone(), comparable(value))).collect();
            Json::Object(sorted.into_iter().collect())
        }
        Json::Array(elements) => elements.iter().map(comparable).collect(),
        Json::Number(number) => json!(number.as_f64()),
        other => other.clone(),
    }
}

fn in_any_order(rows: &[Json]) -> Vec<String> {
    let mut texts: Vec<String> = rows.iter().map(Json::to_string).collect();
    texts.sort();
    texts
}

/// `now-2d51m` and `today+10d`, as the type stores them.
fn resolved(value: &Json, ty: &Type, zone: &TimeZone) -> Json {
    let Some(text) = value.as_str() else {
        return value.clone();
    };
    let at = |shift: &str| Timestamp::from_millisecond(NOW).unwrap() + SignedDuration::from_millis(shifted(shift));
    match (ty, text.strip_prefix("now"), text.strip_prefix("today")) {
        (Type::Time, Some(shift), _) => json!(iso(at(shift))),
        (Type::Seconds, Some(shift), _) => json!(at(shift).as_second()),
        (Type::Date, _, Some(shift)) => json!(at(shift).to_zoned(zone.clone()).date().to_string()),
        _ => value.clone(),
    }
}

fn iso(at: Timestamp) -> String {
    format!("{at:.3}")
}

/// `-2d51m` in milliseconds.
fn shifted(text: &str) -> i64 {
    let (mut total, mut number) = (0, 0);
    for char in text.chars() {
        match char {
            '0'..='9' => number = number * 10 + i64::from(char.to_digit(10).unwrap()),
            'd' | 'h' | 'm' | 's' => {
                let unit = match char {
                    'd' => DAY_MILLIS,
                    'h' => 3_600_000,
                    'm' => 60_000,
                    _ => 1_000,
                };
                total += number * unit;
                number = 0;
            }
            _ => {}
        }
    }
    if text.starts_with('-') { -total } else { total }
}

/// An instant some time from [`NOW`], as ISO text.
pub fn instant(shift: &str) -> String {
    iso(Timestamp::from_millisecond(NOW + shifted(shift)).unwrap())
}

/// A day some time from [`TODAY`].
pub fn day(shift: &str) -> String {
    instant(shift)[..10].to_owned()
}

/// Whether text names the argument in the error of a wrong request.
#[track_caller]
pub fn names(error: &RuntimeError, argument: &str) {
    match error {
        RuntimeError::Request(message) => assert!(message.contains(&format!("`{argument}`")), "{message}"),
        other => panic!("{other:?}"),
    }
}

/// Checks the kind of a refusal.
#[macro_export]
macro_rules! refuses {
    ($call:expr, $kind:ident) => {
        match $call.await {
            RuntimeError::$kind => {}
            other => panic!("{other:?} in place of {}", stringify!($kind)),
        }
    };
}
