//! The store against the simplest thing that could be it: a map, sorted anew for every question.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use singlet_item::{Item, Value, item_size_bytes};
use singlet_store::{
    Comparison, Condition, DeleteRequest, Direction, IndexKind, IndexProjection, IndexSpec, KeyRange, KeySchema,
    KeyType, Path, PutRequest, QueryRequest, ScanRequest, ScanSegment, Select, SortRange, Store, StreamEvent,
    StreamPosition, StreamRequest, StreamView, TableSpec, TransactWrite, TransactWriteRequest, Update, UpdateRequest,
};
use singlet_store_embedded::EmbeddedStore;

const TABLE: &str = "things";

fn spec() -> TableSpec {
    let key = KeySchema::partition("p", KeyType::String).sort("s", KeyType::Number);
    let mut spec = TableSpec::new(TABLE, key);
    let index = |name: &str, kind, key, projection| IndexSpec {
        name: name.to_owned(),
        kind,
        key,
        projection,
        units: None,
    };
    spec.indexes = vec![
        index(
            "by-g",
            IndexKind::Global,
            KeySchema::partition("g", KeyType::String).sort("h", KeyType::Number),
            IndexProjection::All,
        ),
        index(
            "by-h",
            IndexKind::Local,
            KeySchema::partition("p", KeyType::String).sort("h", KeyType::Number),
            IndexProjection::Include(vec!["x".to_owned()]),
        ),
        index(
            "by-many",
            IndexKind::Global,
            KeySchema::partition("g", KeyType::String)
                .and_partition("p", KeyType::String)
                .sort("x", KeyType::Binary)
                .sort("h", KeyType::Number),
            IndexProjection::KeysOnly,
        ),
    ];
    spec.stream = Some(StreamView::Both);
    spec
}

#[derive(Clone, Debug)]
enum Step {
    Put(Item, Option<Condition>),
    Update(Item, Update, Option<Condition>),
    Delete(Item, Option<Condition>),
    Together(Vec<Step>),
}

fn keys() -> impl Strategy<Value = Item> {
    ("[ab\0]{1,2}", -2_i64..4).prop_map(|(partition, sort)| {
        Item::from([("p".to_owned(), Value::S(partition)), ("s".to_owned(), sort.into())])
    })
}

fn attributes() -> impl Strategy<Value = Item> {
    let g = proptest::option::of("[xy]");
    let h = proptest::option::of(-1_i64..3);
    let x = proptest::option::of(vec(prop_oneof![Just(0), Just(1), Just(255)], 1..3));
    (g, h, x, proptest::option::of("[a-z]{0,300}")).prop_map(|(g, h, x, pad)| {
        let mut item = Item::new();
        item.extend(g.map(|g| ("g".to_owned(), Value::S(g))));
        item.extend(h.map(|h| ("h".to_owned(), Value::from(h))));
        item.extend(x.map(|x| ("x".to_owned(), Value::B(x))));
        item.extend(pad.map(|pad| ("pad".to_owned(), Value::S(pad))));
        item
    })
}

fn conditions() -> impl Strategy<Value = Option<Condition>> {
    prop_oneof![
        3 => Just(None),
        1 => Just(Some(Condition::exists("p"))),
        1 => Just(Some(Condition::not_exists("p"))),
        1 => (-1_i64..3).prop_map(|h| Some(Condition::compare(Path::from("h"), Comparison::Less, h))),
    ]
}

fn updates() -> impl Strategy<Value = Update> {
    prop_oneof![
        (-1_i64..3).prop_map(|h| Update::new().add("h", h)),
        "[xy]".prop_map(|g| Update::new().set("g", g.as_str())),
        Just(Update::new().remove("g")),
        Just(Update::new().remove("h").remove("x")),
        "[a-z]{0,9}".prop_map(|pad| Update::new().set("pad", pad.as_str()).remove("x")),
        Just(Update::new()),
    ]
}

fn single() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (keys(), attributes(), conditions()).prop_map(|(mut key, more, condition)| {
            key.extend(more);
            Step::Put(key, condition)
        }),
        2 => (keys(), updates(), conditions()).prop_map(|(key, update, condition)| Step::Update(key, update, condition)),
        1 => (keys(), conditions()).prop_map(|(key, condition)| Step::Delete(key, condition)),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => single(),
        1 => vec(single(), 1..4).prop_map(Step::Together),
    ];
    vec(step, 1..40)
}

type Rows = BTreeMap<(Value, Value), Item>;

fn key_of(item: &Item) -> (Value, Value) {
    (item["p"].clone(), item["s"].clone())
}

/// What a step makes of the rows, if it is done.
fn expected(rows: &Rows, step: &Step) -> Option<Rows> {
    let mut after = rows.clone();
    let holds = |key: &Item, condition: &Option<Condition>| {
        condition
            .as_ref()
            .is_none_or(|condition| condition.holds_of(rows.get(&key_of(key))))
    };
    match step {
        Step::Put(item, condition) => {
            holds(item, condition).then_some(())?;
            after.insert(key_of(item), item.clone());
        }
        Step::Delete(key, condition) => {
            holds(key, condition).then_some(())?;
            after.remove(&key_of(key));
        }
        Step::Update(key, update, condition) => {
            holds(key, condition).then_some(())?;
            let item = after.entry(key_of(key)).or_insert_with(|| key.clone());
            for (path, value) in &update.set {
                let singlet_store::SetValue::Operand(singlet_store::SetOperand::Value(value)) = value else {
                    panic!("only values are drawn");
                };
                item.insert(path.name().to_owned(), value.clone());
            }
            for path in &update.remove {
                item.remove(path.name());
            }
            for (path, value) in &update.add {
                let old = item.get(path.name()).and_then(Value::as_number).unwrap_or_default();
                let sum = old.checked_add(value.as_number().unwrap()).unwrap();
                item.insert(path.name().to_owned(), Value::N(sum));
            }
        }
        Step::Together(steps) => {
            let mut keys: Vec<_> = steps.iter().map(|step| key_of(key(step))).collect();
            keys.sort();
            let distinct = keys.windows(2).all(|pair| pair[0] != pair[1]);
            let empty = |step: &Step| matches!(step, Step::Update(_, update, _) if update.is_empty());
            (distinct && !steps.iter().any(empty)).then_some(())?;
            for step in steps {
                // No two are of one item, so that each sees the rows before all.
                expected(rows, step)?;
                after = expected(&after, step)?;
            }
        }
    }
    Some(after)
}

fn key(step: &Step) -> &Item {
    match step {
        Step::Put(item, _) | Step::Update(item, _, _) | Step::Delete(item, _) => item,
        Step::Together(_) => panic!("transactions do not nest"),
    }
}

fn action(step: &Step) -> TransactWrite {
    match step.clone() {
        Step::Put(item, condition) => TransactWrite::Put(PutRequest {
            table: TABLE.to_owned(),
            item,
            condition,
            return_old: false,
        }),
        Step::Update(key, update, condition) => TransactWrite::Update(UpdateRequest {
            table: TABLE.to_owned(),
            key,
            update,
            condition,
            ..UpdateRequest::default()
        }),
        Step::Delete(key, condition) => TransactWrite::Delete(DeleteRequest {
            table: TABLE.to_owned(),
            key,
            condition,
            return_old: false,
        }),
        Step::Together(_) => panic!("transactions do not nest"),
    }
}

async fn done(store: &EmbeddedStore, step: &Step) -> bool {
    let answer = match step {
        Step::Together(steps) => {
            let request = TransactWriteRequest {
                actions: steps.iter().map(action).collect(),
                token: None,
            };
            store.transact_write(&request).await
        }
        single => match action(single) {
            TransactWrite::Put(put) => store.put(&put).await,
            TransactWrite::Update(update) => store.update(&update).await,
            TransactWrite::Delete(delete) => store.delete(&delete).await,
            TransactWrite::Check { .. } => panic!("none is drawn"),
        },
    };
    match answer {
        Ok(_) => true,
        Err(error) => {
            assert!(error.is_condition_failed() || error.is_bad_request(), "{error}");
            false
        }
    }
}

/// All pages of a query.
async fn pages(store: &EmbeddedStore, mut request: QueryRequest) -> Vec<Item> {
    let mut found = Vec::new();
    loop {
        let page = store.query(&request).await.unwrap();
        assert_eq!(page.count, page.items.len());
        assert!(request.limit.is_none_or(|limit| page.scanned <= limit as usize));
        found.extend(page.items);
        request.start = page.last_key;
        if request.start.is_none() {
            return found;
        }
    }
}

/// What an index has, in its order.
fn indexed(rows: &Rows, index: &IndexSpec) -> Vec<(Vec<Value>, Vec<Value>, Item)> {
    let values = |item: &Item, names: &[singlet_store::KeyAttribute]| {
        let found = names.iter().map(|attribute| item.get(&attribute.name).cloned());
        found.collect::<Option<Vec<Value>>>()
    };
    let mut found: Vec<_> = rows
        .values()
        .filter_map(|item| {
            let partition = values(item, &index.key.partition)?;
            let mut sort = values(item, &index.key.sort)?;
            let (p, s) = key_of(item);
            sort.extend([p, s]);
            let is_kept = |name: &String| match &index.projection {
                IndexProjection::All => true,
                IndexProjection::KeysOnly => false,
                IndexProjection::Include(names) => names.contains(name),
            };
            let is_key = |name: &String| {
                name == "p" || name == "s" || index.key.attributes().any(|attribute| attribute.name == *name)
            };
            let kept = item
                .clone()
                .into_iter()
                .filter(|(name, _)| is_kept(name) || is_key(name));
            Some((partition, sort, kept.collect()))
        })
        .collect();
    found.sort();
    found
}

async fn check_table(store: &EmbeddedStore, rows: &Rows, limit: u32) {
    let partitions: std::collections::BTreeSet<&Value> = rows.keys().map(|(p, _)| p).collect();
    for partition in partitions {
        for (range, is_in) in [
            (None, None),
            (Some(SortRange::greater(0_i64)), Some(1..=i64::MAX)),
            (Some(SortRange::less_or_equal(1_i64)), Some(i64::MIN..=1)),
            (Some(SortRange::between(-1_i64, 2_i64)), Some(-1..=2)),
        ] {
            let mut request = QueryRequest::new(TABLE, KeyRange::partition("p", partition.clone()));
            request.range.sort.extend(range.map(|range| ("s".to_owned(), range)));
            request.limit = Some(limit);
            let mut wanted: Vec<Item> = rows
                .iter()
                .filter(|((p, _), _)| p == partition)
                .filter(|((_, s), _)| {
                    let s = s.as_number().unwrap().to_i64().unwrap();
                    is_in
                        .as_ref()
                        .is_none_or(|range: &std::ops::RangeInclusive<i64>| range.contains(&s))
                })
                .map(|(_, item)| item.clone())
                .collect();
            assert_eq!(pages(store, request.clone()).await, wanted);
            request.direction = Direction::Descending;
            wanted.reverse();
            assert_eq!(pages(store, request).await, wanted);
        }
    }
    let mut scanned = Vec::new();
    for index in 0..3 {
        let mut request = ScanRequest {
            table: TABLE.to_owned(),
            limit: Some(limit),
            segment: Some(ScanSegment { index, total: 3 }),
            ..ScanRequest::default()
        };
        loop {
            let page = store.scan(&request).await.unwrap();
            scanned.extend(page.items);
            request.start = page.last_key;
            if request.start.is_none() {
                break;
            }
        }
    }
    scanned.sort_by_key(key_of);
    assert_eq!(scanned, rows.values().cloned().collect::<Vec<_>>());
    let described = store.describe_table(TABLE).await.unwrap();
    assert_eq!(described.item_count, rows.len() as u64);
    assert_eq!(
        described.size_bytes,
        rows.values().map(item_size_bytes).sum::<usize>() as u64
    );
}

async fn check_indexes(store: &EmbeddedStore, rows: &Rows, limit: u32) {
    for index in spec().indexes {
        let entries = indexed(rows, &index);
        let scan = ScanRequest {
            table: TABLE.to_owned(),
            index: Some(index.name.clone()),
            select: Select::Count,
            ..ScanRequest::default()
        };
        assert_eq!(store.scan(&scan).await.unwrap().count, entries.len());
        let partitions: std::collections::BTreeSet<_> = entries.iter().map(|(partition, _, _)| partition).collect();
        for partition in partitions {
            let names = index.key.partition.iter().map(|attribute| attribute.name.clone());
            let mut request = QueryRequest::new(
                TABLE,
                KeyRange {
                    partition: names.zip(partition.iter().cloned()).collect(),
                    sort: Vec::new(),
                },
            );
            request.index = Some(index.name.clone());
            request.limit = Some(limit);
            let of_partition = entries.iter().filter(|(found, _, _)| found == partition);
            let mut wanted: Vec<Item> = of_partition.map(|(_, _, item)| item.clone()).collect();
            assert_eq!(pages(store, request.clone()).await, wanted, "{}", index.name);
            request.direction = Direction::Descending;
            wanted.reverse();
            assert_eq!(pages(store, request).await, wanted, "{}", index.name);
        }
    }
}

/// The stream told again gives the rows.
async fn check_stream(store: &EmbeddedStore, rows: &Rows, limit: u32) {
    let mut told = Rows::new();
    let mut position = StreamPosition::Start;
    let mut last = String::new();
    loop {
        let request = StreamRequest {
            table: TABLE.to_owned(),
            position,
            limit,
        };
        let page = store.read_stream(&request).await.unwrap();
        if page.records.is_empty() {
            break;
        }
        for record in page.records {
            assert!(record.sequence > last);
            last = record.sequence;
            let key = key_of(&record.key);
            assert_eq!(told.get(&key), record.old.as_ref());
            assert_ne!(record.old, record.new);
            match (record.event, record.new) {
                (StreamEvent::Insert | StreamEvent::Modify, Some(new)) => told.insert(key, new),
                (StreamEvent::Remove, None) => told.remove(&key),
                other => panic!("{other:?}"),
            };
        }
        position = page.next;
    }
    assert_eq!(&told, rows);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_store_is_a_sorted_map(steps in steps(), limit in 1_u32..5) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = EmbeddedStore::memory().unwrap();
            store.create_table(&spec()).await.unwrap();
            let mut rows = Rows::new();
            for step in &steps {
                let after = expected(&rows, step);
                assert_eq!(done(&store, step).await, after.is_some(), "{step:?}");
                rows = after.unwrap_or(rows);
            }
            check_table(&store, &rows, limit).await;
            check_indexes(&store, &rows, limit).await;
            check_stream(&store, &rows, limit).await;
        });
    }
}
