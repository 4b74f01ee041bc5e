//! Items, keys and values as they are drawn: few of them, so that requests meet, and those at the limits.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use singlet_item::{Item, Number, Value};
use singlet_store::{IndexKind, IndexProjection, IndexSpec, KeySchema, KeyType, StreamView, TableSpec};

/// Numbers at the ends of what DynamoDB holds, and some between.
const NUMBERS: [&str; 14] = [
    "0",
    "1",
    "-1",
    "2",
    "10",
    "0.5",
    "-0.25",
    "1E+25",
    "9.9999999999999999999999999999999999999E+125",
    "-9.9999999999999999999999999999999999999E+125",
    "1E-130",
    "-1E-130",
    "99999999999999999999999999999999999999",
    "0.00000000000000000000000000000000000001",
];
const TEXTS: [&str; 9] = ["", "a", "ab", "b", "A", "é", "\u{10000}", "\0", "aa"];
const BYTES: [&[u8]; 6] = [b"", b"\0", b"\0\0", b"\xff", b"a", b"ab"];

/// Attributes that are neither keys of the table nor of an index.
pub const FREE: [&str; 5] = ["a", "b", "c", "list", "map"];

/// One of some.
pub fn pick<'a, T>(rng: &mut Rng, all: &'a [T]) -> &'a T {
    &all[rng.usize(..all.len())]
}

/// Whether something happens that happens once in so many times.
pub fn once_in(rng: &mut Rng, times: usize) -> bool {
    rng.usize(..times) == 0
}

/// A table with a stream and, beside what it has of its own, a global index over strings and numbers, one that holds keys, and a
/// local one where there is a sort key.
pub fn spec(name: String, rng: &mut Rng) -> TableSpec {
    let types = [KeyType::String, KeyType::Number, KeyType::Binary];
    let mut key = KeySchema::partition("p", *pick(rng, &types));
    let has_sort = !once_in(rng, 4);
    if has_sort {
        key = key.sort("s", *pick(rng, &types));
    }
    let partition = key.partition[0].key_type;
    let mut spec = TableSpec::new(name, key);
    let index = |name: &str, kind, key, projection| IndexSpec {
        name: name.to_owned(),
        kind,
        key,
        projection,
        units: None,
    };
    let by_g = KeySchema::partition("g", KeyType::String).sort("h", KeyType::Number);
    spec.indexes
        .push(index("by-g", IndexKind::Global, by_g, IndexProjection::All));
    let by_x = KeySchema::partition("x", KeyType::String);
    spec.indexes
        .push(index("by-x", IndexKind::Global, by_x, IndexProjection::KeysOnly));
    if has_sort {
        let by_h = KeySchema::partition("p", partition).sort("h", KeyType::Number);
        let projection = IndexProjection::Include(vec!["a".to_owned()]);
        spec.indexes.push(index("by-h", IndexKind::Local, by_h, projection));
    }
    spec.stream = Some(StreamView::Both);
    spec
}

pub fn number(rng: &mut Rng) -> Number {
    pick(rng, &NUMBERS).parse().unwrap()
}

/// A value of a key type, of which there are few.
pub fn of_type(rng: &mut Rng, key_type: KeyType) -> Value {
    match key_type {
        // Empty keys are refused: they come seldom.
        KeyType::String if once_in(rng, 40) => "".into(),
        KeyType::Binary if once_in(rng, 40) => Value::B(Vec::new()),
        KeyType::String => (*pick(rng, &TEXTS[1..])).into(),
        KeyType::Number => number(rng).into(),
        KeyType::Binary => Value::B(pick(rng, &BYTES[1..]).to_vec()),
    }
}

/// The key of an item; now and then not quite.
pub fn key(rng: &mut Rng, spec: &TableSpec) -> Item {
    let mut key: Item = spec
        .key
        .attributes()
        .map(|attribute| (attribute.name.clone(), of_type(rng, attribute.key_type)))
        .collect();
    match rng.usize(..120) {
        0 => drop(key.pop_last()),
        1 => drop(key.insert("p".to_owned(), value(rng, 1))),
        2 => drop(key.insert("more".to_owned(), 1_i64.into())),
        3 => drop(key.insert("p".to_owned(), Value::S("k".repeat(2048 + rng.usize(..2))))),
        4 => drop(key.insert("s".to_owned(), Value::S("k".repeat(1024 + rng.usize(..2))))),
        _ => {}
    }
    key
}

/// An item with its key.
pub fn item(rng: &mut Rng, spec: &TableSpec) -> Item {
    let mut item = key(rng, spec);
    for name in FREE {
        if rng.bool() {
            item.insert(name.to_owned(), value(rng, 2));
        }
    }
    for (name, key_type) in [("g", KeyType::String), ("h", KeyType::Number), ("x", KeyType::String)] {
        match rng.usize(..30) {
            0 => drop(item.insert(name.to_owned(), value(rng, 1))),
            1..18 => drop(item.insert(name.to_owned(), of_type(rng, key_type))),
            _ => {}
        }
    }
    if once_in(rng, 12) {
        item.insert("pad".to_owned(), "x".repeat(rng.usize(..9_000)).into());
    }
    if once_in(rng, 200) {
        // Somewhat less or more than an item may have. The limit itself is a case of the conformance suite: what a number counts for
        // is not the same for DynamoDB Local in every digit.
        let others = singlet_item::item_size_bytes(&item) - item.get("pad").map_or(0, |pad| 3 + pad.size_bytes());
        let wanted = if rng.bool() { 400 * 1024 - 200 } else { 400 * 1024 + 200 };
        item.insert("pad".to_owned(), "x".repeat(wanted - others - 3).into());
    }
    item
}

/// Any value, with lists and maps in it up to a depth.
pub fn value(rng: &mut Rng, depth: usize) -> Value {
    match rng.usize(..if depth > 0 { 14 } else { 9 }) {
        0 | 1 => (*pick(rng, &TEXTS)).into(),
        2 | 3 => number(rng).into(),
        4 => Value::B(pick(rng, &BYTES).to_vec()),
        5 => rng.bool().into(),
        6 => Value::Null,
        // Sets without elements, and with empty ones, are for DynamoDB to judge; they come seldom.
        7 if once_in(rng, 20) => Value::Ss(BTreeSet::new()),
        7 => Value::Ss((0..=rng.usize(..2)).map(|_| (*pick(rng, &TEXTS)).to_owned()).collect()),
        8 => Value::Ns((0..=rng.usize(..2)).map(|_| number(rng)).collect()),
        9 => Value::Bs((0..=rng.usize(..2)).map(|_| pick(rng, &BYTES).to_vec()).collect()),
        10 | 11 => Value::L((0..rng.usize(..4)).map(|_| value(rng, depth - 1)).collect()),
        _ => map(rng, depth - 1),
    }
}

/// A map, never an empty one: the stream of DynamoDB Local tells that as no value at all, which no SDK can read. An entry without a name
/// is refused, and comes seldom.
fn map(rng: &mut Rng, depth: usize) -> Value {
    let entries = (0..=rng.usize(..2)).map(|_| {
        let name = if once_in(rng, 60) { "" } else { *pick(rng, &["k", "l"]) };
        (name.to_owned(), value(rng, depth))
    });
    Value::M(entries.collect::<BTreeMap<_, _>>())
}
