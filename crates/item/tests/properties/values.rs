//! DynamoDB JSON there and back.

use super::cases;
use proptest::prelude::*;
use singlet_item::{Item, Number, Value};

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<String>().prop_map(Value::S),
        any::<i64>().prop_map(Value::from),
        prop::collection::vec(any::<u8>(), 0..6).prop_map(Value::B),
        any::<bool>().prop_map(Value::Bool),
        Just(Value::Null),
        prop::collection::btree_set("[a-c]{0,2}", 1..4).prop_map(Value::Ss),
        prop::collection::btree_set(any::<i64>().prop_map(Number::from), 1..4).prop_map(Value::Ns),
        prop::collection::btree_set(prop::collection::vec(any::<u8>(), 0..4), 1..4).prop_map(Value::Bs),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::L),
            prop::collection::btree_map("[a-d]{1,2}", inner, 0..4).prop_map(Value::M),
        ]
    })
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn items_come_back_from_their_json(item in prop::collection::btree_map("[a-z]{1,3}", value(), 0..4)) {
        let json = serde_json::to_string(&item).unwrap();
        prop_assert_eq!(serde_json::from_str::<Item>(&json).unwrap(), item);
    }
}
