//! Limits: what just fits, and what no longer does.

use super::Context;
use super::context::{item_key, item_of, item_with, sized_item};
use crate::{Comparison, Condition, GetRequest, Path, ScanRequest, Update, UpdateRequest};
use singlet_item::Value;
use singlet_item::limits::{ITEM_SIZE_BYTES_MAX, NESTING_LEVELS_MAX, PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};

pub(super) async fn an_item_holds_400_kilobytes(context: &Context) {
    let table = context.table().await;
    context.put(&table, sized_item("a", "fits", ITEM_SIZE_BYTES_MAX)).await;
    let error = context
        .try_put(&table, sized_item("a", "too large", ITEM_SIZE_BYTES_MAX + 1))
        .await
        .unwrap_err();
    assert!(error.is_too_large() && !error.is_retryable(), "{error}");
    let grow = UpdateRequest {
        table: table.clone(),
        key: item_key("a", "fits"),
        update: Update::new().set("x", "y"),
        ..UpdateRequest::default()
    };
    let error = context.store().update(&grow).await.unwrap_err();
    assert!(error.is_too_large(), "{error}");
}

pub(super) async fn keys_have_a_longest(context: &Context) {
    let table = context.table().await;
    let longest = item_key(&"p".repeat(PARTITION_KEY_BYTES_MAX), &"s".repeat(SORT_KEY_BYTES_MAX));
    context.put(&table, longest.clone()).await;
    assert_eq!(context.get(&table, longest.clone()).await, Some(longest));
    let too_long = [
        item_key(&"p".repeat(PARTITION_KEY_BYTES_MAX + 1), "s"),
        item_key("p", &"s".repeat(SORT_KEY_BYTES_MAX + 1)),
    ];
    for key in too_long {
        let error = context.try_put(&table, key.clone()).await.unwrap_err();
        assert!(error.is_too_large(), "{error}");
        let get = GetRequest {
            table: table.clone(),
            key,
            ..GetRequest::default()
        };
        let error = context.store().get(&get).await.unwrap_err();
        assert!(error.is_too_large(), "{error}");
    }
}

pub(super) async fn keys_are_not_empty(context: &Context) {
    let table = context.table().await;
    for empty in [item_key("", "s"), item_key("p", "")] {
        assert!(
            context
                .try_put(&table, empty.clone())
                .await
                .unwrap_err()
                .is_bad_request()
        );
        let get = GetRequest {
            table: table.clone(),
            key: empty,
            ..GetRequest::default()
        };
        assert!(context.store().get(&get).await.unwrap_err().is_bad_request());
    }
}

pub(super) async fn values_nest_32_levels(context: &Context) {
    let table = context.table().await;
    let nested = |levels: usize| (0..levels).fold(Value::from("x"), |inner, _| vec![inner].into());
    let fits = item_with("a", "b", "x", nested(NESTING_LEVELS_MAX - 1));
    context.put(&table, fits.clone()).await;
    assert_eq!(context.get(&table, item_key("a", "b")).await, Some(fits));
    let deep = item_with("a", "c", "x", nested(NESTING_LEVELS_MAX + 1));
    assert!(context.try_put(&table, deep).await.unwrap_err().is_bad_request());
}

pub(super) async fn empty_sets_are_refused(context: &Context) {
    let table = context.table().await;
    let error = context
        .try_put(&table, item_with("a", "b", "x", Value::Ss([].into())))
        .await
        .unwrap_err();
    assert!(error.is_bad_request(), "{error}");
}

pub(super) async fn an_expression_has_a_longest(context: &Context) {
    let table = context.table().await;
    context.put(&table, item_key("a", "b")).await;
    let any_of = |count: i64| {
        let options = (0..count).map(|number| Condition::compare(Path::from("n"), Comparison::Equal, number));
        ScanRequest {
            table: table.clone(),
            filter: Some(Condition::Or(options.collect())),
            ..ScanRequest::default()
        }
    };
    context.store().scan(&any_of(150)).await.unwrap();
    assert!(context.store().scan(&any_of(151)).await.unwrap_err().is_too_large());
    let projection = (0..2000)
        .map(|number| Path::attribute(format!("attribute {number}")))
        .collect();
    let get = GetRequest {
        table,
        key: item_of([("PK", "a".into()), ("SK", "b".into())]),
        projection,
        ..GetRequest::default()
    };
    assert!(context.store().get(&get).await.unwrap_err().is_too_large());
}
