//! Single items: what goes in comes out.

use super::Context;
use super::context::{item_key, item_of, item_with, number_value};
use crate::{DeleteRequest, GetRequest, KeySchema, KeyType, Path, PutRequest};
use singlet_item::{Item, Value};
use std::collections::{BTreeMap, BTreeSet};

pub(super) async fn every_type_comes_back(context: &Context) {
    let table = context.table().await;
    let map = BTreeMap::from([
        ("inner".to_owned(), Value::from(1_i64)),
        (String::new() + "k.1", "v".into()),
    ]);
    let mut full = item_key("a", "b");
    full.extend(item_of([
        ("string", "straße 😀".into()),
        ("empty string", "".into()),
        ("number", number_value("-1.5")),
        ("binary", Value::B(vec![0, 255, 128])),
        ("empty binary", Value::B(vec![])),
        ("true", true.into()),
        ("null", Value::Null),
        ("list", vec![Value::from("x"), Value::Null, vec![].into()].into()),
        ("map", map.into()),
        ("strings", Value::Ss(BTreeSet::from(["b".to_owned(), "a".to_owned()]))),
        (
            "numbers",
            Value::Ns(BTreeSet::from([1_i64.into(), 10_i64.into(), (-2_i64).into()])),
        ),
        ("binaries", Value::Bs(BTreeSet::from([vec![1], vec![0, 1]]))),
    ]));
    context.put(&table, full.clone()).await;
    assert_eq!(context.get(&table, item_key("a", "b")).await, Some(full));
}

pub(super) async fn numbers_keep_38_digits(context: &Context) {
    let table = context.table().await;
    let digits = "12345678901234567890123456789012345678";
    let numbers = [
        digits.to_owned(),
        format!("-0.{digits}"),
        "9.9999999999999999999999999999999999999e125".to_owned(),
        "-9.9999999999999999999999999999999999999e125".to_owned(),
        "1e-130".to_owned(),
        "0".to_owned(),
        "100000000000000000000000000000000000000000".to_owned(),
    ];
    for (position, text) in numbers.iter().enumerate() {
        let sort = position.to_string();
        let written = item_with("a", &sort, "number", number_value(text));
        context.put(&table, written.clone()).await;
        assert_eq!(context.get(&table, item_key("a", &sort)).await, Some(written), "{text}");
    }
}

pub(super) async fn an_absent_item_is_an_answer(context: &Context) {
    let table = context.table().await;
    assert_eq!(context.get(&table, item_key("a", "b")).await, None);
    let delete = DeleteRequest {
        table,
        key: item_key("a", "b"),
        return_old: true,
        ..DeleteRequest::default()
    };
    assert_eq!(context.store().delete(&delete).await.unwrap().attributes, None);
}

pub(super) async fn a_put_replaces_and_returns_the_old(context: &Context) {
    let table = context.table().await;
    let mut put = PutRequest {
        table: table.clone(),
        item: item_with("a", "b", "one", 1_i64),
        return_old: true,
        ..PutRequest::default()
    };
    assert_eq!(context.store().put(&put).await.unwrap().attributes, None);
    let old = std::mem::replace(&mut put.item, item_with("a", "b", "two", 2_i64));
    assert_eq!(context.store().put(&put).await.unwrap().attributes, Some(old));
    assert_eq!(context.get(&table, item_key("a", "b")).await, Some(put.item));
}

pub(super) async fn a_delete_returns_the_old(context: &Context) {
    let table = context.table().await;
    let written = item_with("a", "b", "one", 1_i64);
    context.put(&table, written.clone()).await;
    let delete = DeleteRequest {
        table: table.clone(),
        key: item_key("a", "b"),
        return_old: true,
        ..DeleteRequest::default()
    };
    assert_eq!(context.store().delete(&delete).await.unwrap().attributes, Some(written));
    assert_eq!(context.get(&table, item_key("a", "b")).await, None);
}

pub(super) async fn number_and_binary_keys_find_their_item(context: &Context) {
    let schema = KeySchema::partition("number", KeyType::Number).sort("binary", KeyType::Binary);
    let table = context.create(schema).await;
    let written = item_of([
        ("number", number_value("1.50")),
        ("binary", Value::B(vec![0, 1])),
        ("x", "y".into()),
    ]);
    context.put(&table, written.clone()).await;
    let same = item_of([("number", number_value("15e-1")), ("binary", Value::B(vec![0, 1]))]);
    assert_eq!(context.get(&table, same).await, Some(written));
    let other = item_of([("number", number_value("1.5")), ("binary", Value::B(vec![0]))]);
    assert_eq!(context.get(&table, other).await, None);
}

pub(super) async fn a_table_may_have_no_sort_key(context: &Context) {
    let table = context.create(KeySchema::partition("id", KeyType::String)).await;
    let written = item_of([("id", "a".into()), ("x", 1_i64.into())]);
    context.put(&table, written.clone()).await;
    assert_eq!(context.get(&table, item_of([("id", "a".into())])).await, Some(written));
}

pub(super) async fn a_projection_returns_the_paths(context: &Context) {
    let table = context.table().await;
    let mut full = item_with(
        "a",
        "b",
        "list",
        vec![Value::from("x"), Value::from("y"), Value::from("z")],
    );
    let inner = BTreeMap::from([
        ("keep me".to_owned(), Value::from(1_i64)),
        ("drop".to_owned(), 2_i64.into()),
    ]);
    full.insert("map".to_owned(), inner.into());
    full.insert("a.b".to_owned(), "dotted".into());
    full.insert("size".to_owned(), "reserved".into());
    context.put(&table, full).await;
    let get = GetRequest {
        table,
        key: item_key("a", "b"),
        projection: [
            Path::attribute("map").key("keep me"),
            Path::attribute("list").list_element(1),
            Path::attribute("a.b"),
            Path::attribute("size"),
            Path::attribute("absent"),
        ]
        .into(),
        ..GetRequest::default()
    };
    let found = context.store().get(&get).await.unwrap().item;
    let expected = item_of([
        (
            "map",
            BTreeMap::from([("keep me".to_owned(), Value::from(1_i64))]).into(),
        ),
        ("list", vec![Value::from("y")].into()),
        ("a.b", "dotted".into()),
        ("size", "reserved".into()),
    ]);
    assert_eq!(found, Some(expected));
}

pub(super) async fn a_projection_of_nothing_is_an_empty_item(context: &Context) {
    let table = context.table().await;
    context.put(&table, item_key("a", "b")).await;
    let mut get = GetRequest {
        table,
        key: item_key("a", "b"),
        projection: [Path::attribute("absent")].into(),
        ..GetRequest::default()
    };
    assert_eq!(context.store().get(&get).await.unwrap().item, Some(Item::new()));
    get.key = item_key("a", "c");
    assert_eq!(context.store().get(&get).await.unwrap().item, None);
}

pub(super) async fn a_wrong_key_is_refused(context: &Context) {
    let table = context.table().await;
    let wrong = [
        item_of([("PK", "a".into())]),
        item_of([("PK", "a".into()), ("SK", 1_i64.into())]),
        item_of([("PK", "a".into()), ("SK", "b".into()), ("x", "c".into())]),
        Item::new(),
    ];
    for key in wrong {
        let get = GetRequest {
            table: table.clone(),
            key: key.clone(),
            ..GetRequest::default()
        };
        assert!(context.store().get(&get).await.unwrap_err().is_bad_request(), "{key:?}");
    }
    assert!(
        context
            .try_put(&table, item_of([("PK", "a".into())]))
            .await
            .unwrap_err()
            .is_bad_request()
    );
}
