//! Requests of every kind, most of which can be done.

use fastrand::Rng;
use singlet_item::{Item, Value};
use singlet_store::{
    AttributeType, BatchGetRequest, BatchGetTable, BatchWrite, BatchWriteRequest, Comparison, Condition, DeleteRequest,
    Direction, GetRequest, IndexProjection, IndexSpec, KeyAttribute, KeyRange, KeyType, Operand, Path, PutRequest,
    QueryRequest, ScanRequest, ScanSegment, Select, SetOperand, SetValue, SortRange, TableSpec, TransactGet,
    TransactGetRequest, TransactWrite, TransactWriteRequest, Update, UpdateRequest, UpdateReturn,
};

use crate::values::{self, FREE, item, key, number, of_type, once_in, pick, value};

/// Something that is asked of a store.
#[derive(Clone, Debug)]
pub enum Request {
    Get(GetRequest),
    BatchGet(BatchGetRequest),
    TransactGet(TransactGetRequest),
    /// All pages of it.
    Query(QueryRequest),
    /// All pages of it, of every segment.
    Scan(ScanRequest),
    Put(PutRequest),
    Update(UpdateRequest),
    Delete(DeleteRequest),
    BatchWrite(BatchWriteRequest),
    TransactWrite(TransactWriteRequest),
}

/// The next request to a table.
pub fn request(rng: &mut Rng, spec: &TableSpec) -> Request {
    match rng.usize(..24) {
        0..5 => Request::Put(put(rng, spec)),
        5..11 => Request::Update(update(rng, spec)),
        11 => Request::Delete(delete(rng, spec)),
        12 => Request::Get(get(rng, spec)),
        13 => Request::BatchGet(batch_get(rng, spec)),
        14 => Request::TransactGet(transact_get(rng, spec)),
        15..18 => Request::Query(query(rng, spec)),
        18 => Request::Scan(scan(rng, spec)),
        19 => Request::BatchWrite(batch_write(rng, spec)),
        _ => Request::TransactWrite(transact_write(rng, spec)),
    }
}

fn put(rng: &mut Rng, spec: &TableSpec) -> PutRequest {
    PutRequest {
        table: spec.name.clone(),
        item: item(rng, spec),
        condition: condition(rng),
        return_old: rng.bool(),
    }
}

fn delete(rng: &mut Rng, spec: &TableSpec) -> DeleteRequest {
    DeleteRequest {
        table: spec.name.clone(),
        key: key(rng, spec),
        condition: condition(rng),
        return_old: rng.bool(),
    }
}

fn update(rng: &mut Rng, spec: &TableSpec) -> UpdateRequest {
    let returns = [
        UpdateReturn::Nothing,
        UpdateReturn::Old,
        UpdateReturn::New,
        UpdateReturn::UpdatedOld,
        UpdateReturn::UpdatedNew,
    ];
    let mut update = Update::new();
    for _ in 0..rng.usize(..4) {
        update = change(rng, update);
    }
    UpdateRequest {
        table: spec.name.clone(),
        key: key(rng, spec),
        update,
        condition: condition(rng),
        returns: *pick(rng, &returns),
    }
}

/// One more change of an item. Two of the same place are refused, as is one of a key.
fn change(rng: &mut Rng, update: Update) -> Update {
    let index_key = [("g", KeyType::String), ("h", KeyType::Number), ("x", KeyType::String)];
    match rng.usize(..12) {
        0 => update.set(path(rng), value(rng, 2)),
        1 => {
            let (name, key_type) = *pick(rng, &index_key);
            update.set(name, of_type(rng, key_type))
        }
        2 => update.set(path(rng), SetValue::Operand(operand(rng, 2))),
        3 => update.set(path(rng), summand(rng).plus(summand(rng))),
        4 => update.set(path(rng), summand(rng).minus(summand(rng))),
        5 => {
            let tail = SetOperand::Value(Value::L(vec![value(rng, 1)]));
            let empty = SetOperand::Value(Value::L(Vec::new()));
            let head = SetOperand::if_not_exists("list", empty);
            update.set("list", SetOperand::list_append(head, tail))
        }
        6 | 7 => update.remove(path(rng)),
        8 => update.add(path(rng), value(rng, 0)),
        9 => update.add("h", number(rng)),
        10 => update.delete(path(rng), value(rng, 0)),
        _ if once_in(rng, 8) => update.set("p", value(rng, 0)),
        _ => update.remove(*pick(rng, &["g", "h", "x"])),
    }
}

/// What may be added. A default that is no number is refused at once by ours, and by DynamoDB Local when it is needed.
fn summand(rng: &mut Rng) -> SetOperand {
    match once_in(rng, 3) {
        true => SetOperand::if_not_exists(path(rng), number(rng)),
        false => operand(rng, 0),
    }
}

fn operand(rng: &mut Rng, depth: usize) -> SetOperand {
    match rng.usize(..if depth > 0 { 5 } else { 3 }) {
        0 => SetOperand::Value(value(rng, 1)),
        1 => SetOperand::Value(number(rng).into()),
        2 => SetOperand::Path(path(rng)),
        3 => SetOperand::if_not_exists(path(rng), operand(rng, depth - 1)),
        _ => SetOperand::list_append(operand(rng, depth - 1), operand(rng, depth - 1)),
    }
}

/// A place in an item, which need not be there.
fn path(rng: &mut Rng) -> Path {
    let mut path = Path::attribute(*pick(rng, &FREE));
    while once_in(rng, 3) {
        path = match rng.bool() {
            true => path.key(*pick(rng, &["k", "l"])),
            false => path.list_element(rng.usize(..3)),
        };
    }
    path
}

fn any_path(rng: &mut Rng) -> Path {
    match rng.usize(..4) {
        0 => Path::attribute(*pick(rng, &["p", "s", "g", "h", "x"])),
        _ => path(rng),
    }
}

/// A condition, or none.
fn condition(rng: &mut Rng) -> Option<Condition> {
    (!once_in(rng, 2)).then(|| tree(rng, 2))
}

fn tree(rng: &mut Rng, depth: usize) -> Condition {
    let side = |rng: &mut Rng| match rng.usize(..5) {
        0 | 1 => Operand::Path(any_path(rng)),
        2 => Operand::Size(any_path(rng)),
        _ => Operand::Value(value(rng, 1)),
    };
    let comparisons = [
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ];
    match rng.usize(..if depth > 0 { 12 } else { 9 }) {
        0 => Condition::Exists(any_path(rng)),
        1 => Condition::NotExists(any_path(rng)),
        2 => Condition::HasType(any_path(rng), *pick(rng, &AttributeType::ALL)),
        3 => Condition::BeginsWith(side(rng), side(rng)),
        // DynamoDB Local takes any given value as that in which `contains` looks, ours only what can contain something. The public suite
        // does not say what DynamoDB does.
        4 => Condition::Contains(Operand::Path(any_path(rng)), side(rng)),
        5 => Condition::Between {
            operand: side(rng),
            low: side(rng),
            high: side(rng),
        },
        6 => Condition::In {
            operand: side(rng),
            options: (0..=rng.usize(..3)).map(|_| side(rng)).collect(),
        },
        7 | 8 => Condition::compare(side(rng), *pick(rng, &comparisons), side(rng)),
        9 => Condition::And(vec![tree(rng, depth - 1), tree(rng, depth - 1)]),
        10 => Condition::Or(vec![tree(rng, depth - 1), tree(rng, depth - 1)]),
        _ => tree(rng, depth - 1).negate(),
    }
}

fn projection(rng: &mut Rng) -> Vec<Path> {
    match rng.bool() {
        true => Vec::new(),
        false => (0..=rng.usize(..3)).map(|_| any_path(rng)).collect(),
    }
}

fn get(rng: &mut Rng, spec: &TableSpec) -> GetRequest {
    GetRequest {
        table: spec.name.clone(),
        key: key(rng, spec),
        consistent: rng.bool(),
        projection: projection(rng).into(),
    }
}

fn batch_get(rng: &mut Rng, spec: &TableSpec) -> BatchGetRequest {
    BatchGetRequest {
        tables: vec![BatchGetTable {
            table: spec.name.clone(),
            keys: distinct(rng, 4, |rng| key(rng, spec)),
            consistent: rng.bool(),
            projection: projection(rng).into(),
        }],
    }
}

fn transact_get(rng: &mut Rng, spec: &TableSpec) -> TransactGetRequest {
    let keys = distinct(rng, 4, |rng| key(rng, spec));
    TransactGetRequest {
        gets: keys
            .into_iter()
            .map(|key| TransactGet {
                table: spec.name.clone(),
                key,
                projection: projection(rng).into(),
            })
            .collect(),
    }
}

fn batch_write(rng: &mut Rng, spec: &TableSpec) -> BatchWriteRequest {
    let keys = distinct(rng, 5, |rng| key(rng, spec));
    let write = |key: Item, rng: &mut Rng| match rng.usize(..3) {
        0 => BatchWrite::Delete {
            table: spec.name.clone(),
            key,
        },
        _ => BatchWrite::Put {
            table: spec.name.clone(),
            item: with_key(item(rng, spec), key),
        },
    };
    BatchWriteRequest {
        writes: keys.into_iter().map(|key| write(key, rng)).collect(),
    }
}

fn transact_write(rng: &mut Rng, spec: &TableSpec) -> TransactWriteRequest {
    let keys = distinct(rng, 5, |rng| key(rng, spec));
    let action = |key: Item, rng: &mut Rng| match rng.usize(..7) {
        0..3 => {
            let mut put = put(rng, spec);
            put.item = with_key(put.item, key);
            TransactWrite::Put(PutRequest {
                return_old: false,
                ..put
            })
        }
        3 | 4 => TransactWrite::Update(UpdateRequest {
            key,
            returns: UpdateReturn::Nothing,
            ..update(rng, spec)
        }),
        5 => TransactWrite::Delete(DeleteRequest {
            key,
            return_old: false,
            ..delete(rng, spec)
        }),
        _ => TransactWrite::Check {
            table: spec.name.clone(),
            key,
            condition: tree(rng, 2),
        },
    };
    TransactWriteRequest {
        actions: keys.into_iter().map(|key| action(key, rng)).collect(),
        token: None,
    }
}

/// An item under another key.
fn with_key(mut item: Item, key: Item) -> Item {
    item.retain(|name, _| name != "p" && name != "s");
    item.extend(key);
    item
}

/// Up to so many, as a rule none twice.
fn distinct(rng: &mut Rng, most: usize, draw: impl Fn(&mut Rng) -> Item) -> Vec<Item> {
    let mut found: Vec<Item> = (0..=rng.usize(..most)).map(|_| draw(rng)).collect();
    if !once_in(rng, 20) {
        found.sort();
        found.dedup();
    }
    found
}

fn scan(rng: &mut Rng, spec: &TableSpec) -> ScanRequest {
    let index = index(rng, spec);
    // DynamoDB Local filters by whole items what an index has only parts of.
    let is_whole = index.is_none_or(|index| index.projection == IndexProjection::All);
    ScanRequest {
        table: spec.name.clone(),
        index: index.map(|index| index.name.clone()),
        filter: condition(rng).filter(|_| is_whole),
        select: select(rng),
        consistent: once_in(rng, 4),
        limit: limit(rng),
        start: None,
        segment: once_in(rng, 3).then_some(ScanSegment { index: 0, total: 3 }),
    }
}

fn limit(rng: &mut Rng) -> Option<u32> {
    rng.bool().then(|| rng.u32(1..5))
}

fn select(rng: &mut Rng) -> Select {
    match rng.usize(..4) {
        0 => Select::Count,
        1 => Select::Paths((0..=rng.usize(..3)).map(|_| any_path(rng)).collect()),
        _ => Select::All,
    }
}

fn index<'s>(rng: &mut Rng, spec: &'s TableSpec) -> Option<&'s IndexSpec> {
    rng.bool().then(|| pick(rng, &spec.indexes))
}

fn query(rng: &mut Rng, spec: &TableSpec) -> QueryRequest {
    let index = index(rng, spec);
    let schema = index.map_or(&spec.key, |index| &index.key);
    let partition = &schema.partition[0];
    let mut range = KeyRange::partition(partition.name.clone(), mostly_of_type(rng, partition));
    if let (Some(sort), true) = (schema.sort.first(), rng.usize(..4) > 0) {
        range = range.sort(sort.name.clone(), sort_range(rng, sort));
    }
    // A filter may not name a key of what is read; that it does is refused, which comes now and then.
    let filter = condition(rng);
    QueryRequest {
        table: spec.name.clone(),
        index: index.map(|index| index.name.clone()),
        range,
        filter,
        select: select(rng),
        consistent: once_in(rng, 4),
        direction: if rng.bool() {
            Direction::Ascending
        } else {
            Direction::Descending
        },
        limit: limit(rng),
        start: None,
    }
}

fn mostly_of_type(rng: &mut Rng, attribute: &KeyAttribute) -> Value {
    match once_in(rng, 40) {
        true => values::value(rng, 1),
        false => of_type(rng, attribute.key_type),
    }
}

fn sort_range(rng: &mut Rng, sort: &KeyAttribute) -> SortRange {
    let first = mostly_of_type(rng, sort);
    match rng.usize(..7) {
        0 => SortRange::Equal(first),
        1 => SortRange::Less(first),
        2 => SortRange::LessOrEqual(first),
        3 => SortRange::Greater(first),
        4 => SortRange::GreaterOrEqual(first),
        5 => {
            let mut ends = [first, mostly_of_type(rng, sort)];
            // The wrong way around they are refused.
            if !once_in(rng, 8) {
                ends.sort();
            }
            let [low, high] = ends;
            SortRange::Between(low, high)
        }
        _ => SortRange::BeginsWith(first),
    }
}
