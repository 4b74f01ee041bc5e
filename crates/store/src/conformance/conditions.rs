//! Conditions: what holds of what, and what a failure brings.

use super::Context;
use super::context::{item_key, item_of, item_with, number_value};
use crate::KeyRange;
use crate::{
    AttributeType, Comparison, Condition, DeleteRequest, Operand, Path, PutRequest, QueryRequest, Update, UpdateRequest,
};
use singlet_item::{Item, Value};
use std::collections::BTreeSet;

/// Whether a condition holds of the item, tried as a condition and as a filter, which must agree.
async fn holds(context: &Context, table: &str, condition: &Condition) -> bool {
    let update = UpdateRequest {
        table: table.to_owned(),
        key: item_key("a", "b"),
        update: Update::new().set("touched", true),
        condition: Some(condition.clone()),
        ..UpdateRequest::default()
    };
    let as_condition = match context.store().update(&update).await {
        Ok(_) => true,
        Err(error) if error.is_condition_failed() => false,
        Err(error) => panic!("{condition:?} is refused: {error}"),
    };
    let mut query = QueryRequest::new(table, KeyRange::partition("PK", "a"));
    query.filter = Some(condition.clone());
    let as_filter = context.query(&query).await.count == 1;
    assert_eq!(as_condition, as_filter, "as condition and as filter: {condition:?}");
    as_condition
}

async fn sample(context: &Context) -> String {
    let table = context.table().await;
    let mut full = item_key("a", "b");
    full.extend(item_of([
        ("n", 5_i64.into()),
        ("same", number_value("5.0")),
        ("s", "hello".into()),
        ("bin", Value::B(vec![1, 2, 3])),
        ("null", Value::Null),
        ("list", vec![Value::from(1_i64), Value::from("x")].into()),
        ("set", Value::Ss(BTreeSet::from(["x".to_owned(), "y".to_owned()]))),
    ]));
    context.put(&table, full).await;
    table
}

pub(super) async fn comparisons_compare_values(context: &Context) {
    let table = sample(context).await;
    let compare = |name: &str, comparison, right: Operand| Condition::compare(Path::from(name), comparison, right);
    let expected = [
        (compare("n", Comparison::Equal, 5_i64.into()), true),
        (compare("n", Comparison::Equal, Path::from("same").into()), true),
        (compare("n", Comparison::NotEqual, 6_i64.into()), true),
        (compare("n", Comparison::Less, 10_i64.into()), true),
        (compare("n", Comparison::Less, 5_i64.into()), false),
        (compare("n", Comparison::LessOrEqual, 5_i64.into()), true),
        (compare("n", Comparison::Greater, number_value("4.99").into()), true),
        (compare("n", Comparison::GreaterOrEqual, 6_i64.into()), false),
        (compare("s", Comparison::Greater, "hell".into()), true),
        (compare("s", Comparison::Less, "hello!".into()), true),
        (compare("bin", Comparison::Less, Value::B(vec![1, 2, 255]).into()), true),
        (compare("null", Comparison::Equal, Value::Null.into()), true),
        (
            compare(
                "set",
                Comparison::Equal,
                Value::Ss(BTreeSet::from(["y".to_owned(), "x".to_owned()])).into(),
            ),
            true,
        ),
    ];
    for (condition, truth) in expected {
        assert_eq!(holds(context, &table, &condition).await, truth, "{condition:?}");
    }
}

pub(super) async fn different_types_are_unequal_and_unordered(context: &Context) {
    let table = sample(context).await;
    for (comparison, truth) in [
        (Comparison::Equal, false),
        (Comparison::NotEqual, true),
        (Comparison::Less, false),
        (Comparison::GreaterOrEqual, false),
    ] {
        let condition = Condition::compare(Path::from("n"), comparison, "5");
        assert_eq!(holds(context, &table, &condition).await, truth, "{comparison:?}");
    }
}

pub(super) async fn nothing_but_not_equal_holds_of_what_is_absent(context: &Context) {
    let table = sample(context).await;
    let absent = || Path::from("absent");
    let expected = [
        (Condition::compare(absent(), Comparison::NotEqual, 1_i64), true),
        (Condition::compare(absent(), Comparison::Equal, 1_i64), false),
        (Condition::compare(absent(), Comparison::Less, 1_i64), false),
        (
            Condition::compare(absent(), Comparison::Equal, Path::from("missing too")),
            false,
        ),
        (Condition::compare(absent(), Comparison::Equal, 1_i64).negate(), true),
        (
            Condition::compare(Operand::Size(absent()), Comparison::GreaterOrEqual, 0_i64),
            false,
        ),
        (between(absent(), 0, 9), false),
        (Condition::contains(absent(), "x"), false),
        (Condition::begins_with(absent(), "x"), false),
        (Condition::HasType(absent(), AttributeType::Null), false),
        (Condition::exists("absent"), false),
        (Condition::not_exists("absent"), true),
    ];
    for (condition, truth) in expected {
        assert_eq!(holds(context, &table, &condition).await, truth, "{condition:?}");
    }
}

fn between(path: Path, low: i64, high: i64) -> Condition {
    Condition::Between {
        operand: path.into(),
        low: low.into(),
        high: high.into(),
    }
}

pub(super) async fn ranges_options_and_functions(context: &Context) {
    let table = sample(context).await;
    let one_of = |options: Vec<Operand>| Condition::In {
        operand: Path::from("n").into(),
        options,
    };
    let size = |name: &str, size: i64| Condition::compare(Operand::Size(name.into()), Comparison::Equal, size);
    let expected = [
        (between("n".into(), 5, 5), true),
        (between("n".into(), 6, 9), false),
        (one_of(vec![1_i64.into(), 5_i64.into()]), true),
        (one_of(vec!["5".into()]), false),
        (Condition::exists("null"), true),
        (Condition::not_exists("null"), false),
        (Condition::exists(Path::attribute("list").list_element(1)), true),
        (Condition::exists(Path::attribute("list").list_element(2)), false),
        (Condition::HasType("set".into(), AttributeType::StringSet), true),
        (Condition::HasType("n".into(), AttributeType::String), false),
        (Condition::begins_with("s", "hel"), true),
        (Condition::begins_with("s", "el"), false),
        (Condition::contains("s", "ell"), true),
        (Condition::contains("set", "x"), true),
        (Condition::contains("set", "z"), false),
        (Condition::contains("list", 1_i64), true),
        (Condition::contains("n", "5"), false),
        (size("s", 5), true),
        (size("bin", 3), true),
        (size("set", 2), true),
        (size("list", 2), true),
    ];
    for (condition, truth) in expected {
        assert_eq!(holds(context, &table, &condition).await, truth, "{condition:?}");
    }
}

pub(super) async fn conditions_combine(context: &Context) {
    let table = sample(context).await;
    let (yes, no) = (|| Condition::exists("n"), || Condition::exists("absent"));
    let expected = [
        (yes().and(no()), false),
        (no().or(yes()), true),
        (no().or(yes()).and(no().negate()), true),
        (yes().or(yes()).and(no()), false),
        (yes().or(yes().and(no())), true),
        (yes().and(yes()).negate().or(no()), false),
        (
            Condition::And(vec![yes(), yes(), Condition::Or(vec![no(), no(), yes()])]),
            true,
        ),
    ];
    for (condition, truth) in expected {
        assert_eq!(holds(context, &table, &condition).await, truth, "{condition:?}");
    }
}

pub(super) async fn a_failed_condition_brings_the_old_image(context: &Context) {
    let table = context.table().await;
    let store = context.store();
    let old = item_with("a", "b", "n", 1_i64);
    context.put(&table, old.clone()).await;
    let condition = Some(Condition::equal("n", 2_i64));
    let put = PutRequest {
        table: table.clone(),
        item: item_key("a", "b"),
        condition: condition.clone(),
        ..PutRequest::default()
    };
    let update = UpdateRequest {
        table: table.clone(),
        key: item_key("a", "b"),
        update: Update::new().set("n", 3_i64),
        condition: condition.clone(),
        ..UpdateRequest::default()
    };
    let delete = DeleteRequest {
        table: table.clone(),
        key: item_key("a", "b"),
        condition,
        ..DeleteRequest::default()
    };
    let errors = [
        store.put(&put).await.unwrap_err(),
        store.update(&update).await.unwrap_err(),
        store.delete(&delete).await.unwrap_err(),
    ];
    for error in errors {
        assert!(error.is_condition_failed() && !error.is_retryable(), "{error}");
        assert_eq!(error.old_image(), Some(&old));
    }
    assert_eq!(context.get(&table, item_key("a", "b")).await, Some(old));
}

pub(super) async fn a_failed_condition_on_nothing_brings_nothing(context: &Context) {
    let table = context.table().await;
    let update = UpdateRequest {
        table: table.clone(),
        key: item_key("a", "b"),
        update: Update::new().set("n", 3_i64),
        condition: Some(Condition::exists("PK")),
        ..UpdateRequest::default()
    };
    let error = context.store().update(&update).await.unwrap_err();
    assert!(error.is_condition_failed());
    assert_eq!(error.old_image(), None);
    assert_eq!(context.get(&table, item_key("a", "b")).await, None);
}

pub(super) async fn create_only_where_nothing_is(context: &Context) {
    let table = context.table().await;
    let mut put = PutRequest {
        table: table.clone(),
        item: item_with("a", "b", "n", 1_i64),
        condition: Some(Condition::not_exists("PK")),
        ..PutRequest::default()
    };
    context.store().put(&put).await.unwrap();
    let first: Item = put.item.clone();
    put.item = item_with("a", "b", "n", 2_i64);
    let error = context.store().put(&put).await.unwrap_err();
    assert_eq!(error.old_image(), Some(&first));
    assert_eq!(context.get(&table, item_key("a", "b")).await, Some(first));
}

pub(super) async fn names_may_hold_any_character(context: &Context) {
    let table = context.table().await;
    let name = "State#Date :x \"quoted\" [0] é";
    context.put(&table, item_with("a", "b", name, 1_i64)).await;
    let update = UpdateRequest {
        table: table.clone(),
        key: item_key("a", "b"),
        update: Update::new().set(name, 2_i64),
        condition: Some(Condition::equal(name, 1_i64)),
        ..UpdateRequest::default()
    };
    context.store().update(&update).await.unwrap();
    assert_eq!(
        context.get(&table, item_key("a", "b")).await,
        Some(item_with("a", "b", name, 2_i64))
    );
}
