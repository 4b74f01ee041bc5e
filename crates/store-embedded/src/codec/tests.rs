#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;
use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;
use singlet_item::limits::NESTING_LEVELS_MAX;

use crate::select::with_first;

fn numbers() -> impl Strategy<Value = Number> {
    let digits = prop_oneof![
        any::<i64>().prop_map(i128::from),
        -10_i128.pow(38) + 1..10_i128.pow(38),
        Just(0)
    ];
    (digits, -130_i16..88).prop_filter_map("a number", |(digits, power)| Number::from_parts(digits, power).ok())
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        ".{0,8}".prop_map(Value::S),
        numbers().prop_map(Value::N),
        vec(any::<u8>(), 0..8).prop_map(Value::B),
        btree_set(".{0,4}", 1..4).prop_map(Value::Ss),
        btree_set(numbers(), 1..4).prop_map(Value::Ns),
        btree_set(vec(any::<u8>(), 0..4), 1..4).prop_map(Value::Bs),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::L),
            btree_map(".{0,4}", inner, 0..4).prop_map(Value::M),
        ]
    })
}

/// Short names, and those that begin alike in as many bytes as are looked at first, and go on or do not.
const NAMES: &str = "[a-f]{0,2}|a{6,10}|a{7}[b\\x00]{0,2}";

fn items() -> impl Strategy<Value = Item> {
    btree_map(NAMES, values(), 0..8)
}

proptest! {
    #[test]
    fn an_item_comes_back_with_its_size(item in items()) {
        let bytes = encode_item(&item);
        let raw = RawItem::new(&bytes).unwrap();
        prop_assert_eq!(raw.size_bytes(), item_size_bytes(&item));
        prop_assert_eq!(raw.decode_item().unwrap(), item);
    }

    #[test]
    fn a_part_of_an_item_is_what_it_would_be(item in items(), names in btree_set(NAMES, 0..5)) {
        let bytes = encode_item(&item);
        let raw = RawItem::new(&bytes).unwrap();
        let part: Item = item.clone().into_iter().filter(|(name, _)| names.contains(name)).collect();
        let sorted: Vec<&str> = names.iter().map(String::as_str).collect();
        prop_assert_eq!(&raw.decode_only(with_first(sorted.iter().copied())).unwrap(), &part);
        prop_assert_eq!(raw.project_bytes(|name| names.contains(name)).unwrap(), encode_item(&part));
        for name in &names {
            let found = raw.get(name).unwrap().map(|value| value.decode_value().unwrap());
            prop_assert_eq!(found.as_ref(), item.get(name));
        }
    }

    #[test]
    fn damage_is_an_error_and_never_a_panic(item in items(), cut in 0_usize..200, flip in any::<(usize, u8)>()) {
        let mut bytes = encode_item(&item);
        bytes.truncate(cut);
        let length = bytes.len().max(1);
        if let Some(byte) = bytes.get_mut(flip.0 % length) {
            *byte ^= flip.1;
        }
        let _ = RawItem::new(&bytes).and_then(|raw| raw.decode_item());
        let _ = RawItem::new(&bytes).and_then(|raw| raw.project_bytes(|_| true));
    }

    #[test]
    fn any_bytes_are_an_error_or_an_item(bytes in vec(any::<u8>(), 0..64)) {
        let _ = RawItem::new(&bytes).and_then(|raw| raw.decode_item());
    }

    #[test]
    fn keys_sort_as_their_values(one in keys(), other in keys()) {
        let encoded = |values: &[Value]| {
            let mut out = Vec::new();
            values.iter().for_each(|value| crate::order::put_key_value(&mut out, value));
            out
        };
        prop_assert_eq!(encoded(&one).cmp(&encoded(&other)), one.cmp(&other));
    }
}

/// Keys of a number, a text and a binary.
fn keys() -> impl Strategy<Value = Vec<Value>> {
    let small = prop_oneof![numbers(), (-20_i64..20).prop_map(Number::from)];
    (
        small,
        "[\0\u{1}ab\u{7f}é]{0,3}",
        vec(prop_oneof![Just(0), Just(1), Just(255)], 0..4),
    )
        .prop_map(|(number, text, bytes)| vec![Value::N(number), Value::S(text), Value::B(bytes)])
}

#[test]
fn what_nests_too_deep_in_the_file_is_damage() {
    let deep = (0..NESTING_LEVELS_MAX + 2).fold(Value::Null, |inner, _| Value::L(vec![inner]));
    let bytes = encode_item(&Item::from([("a".to_owned(), deep)]));
    assert!(
        RawItem::new(&bytes)
            .unwrap()
            .decode_item()
            .unwrap_err()
            .is_unavailable()
    );
}

#[test]
fn small_values_take_few_bytes() {
    let item = Item::from([
        ("n".to_owned(), Value::from(42)),
        ("s".to_owned(), Value::from("ab")),
        ("t".to_owned(), Value::from(true)),
    ]);
    assert_eq!(encode_item(&item).len(), 2 + (2 + 4) + (2 + 4) + (2 + 1));
}
