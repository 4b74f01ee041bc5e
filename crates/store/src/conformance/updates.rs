//! Updates: what each clause does.

use super::Context;
use super::context::{item_key, item_of, item_with, number_value};
use crate::{Condition, Path, Result, SetOperand, Update, UpdateRequest, UpdateReturn, WriteAnswer};
use singlet_item::{Item, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

async fn update(context: &Context, table: &str, update: Update, returns: UpdateReturn) -> Result<WriteAnswer> {
    let request = UpdateRequest {
        table: table.to_owned(),
        key: item_key("a", "b"),
        update,
        returns,
        ..UpdateRequest::default()
    };
    context.store().update(&request).await
}

async fn updated(context: &Context, table: &str, change: Update) -> Item {
    update(context, table, change, UpdateReturn::New)
        .await
        .unwrap()
        .attributes
        .unwrap()
}

fn strings<const N: usize>(texts: [&str; N]) -> Value {
    Value::Ss(texts.into_iter().map(str::to_owned).collect())
}

pub(super) async fn an_update_creates_what_is_not_there(context: &Context) {
    let table = context.table().await;
    let change = Update::new().set("x", "y").remove("absent");
    assert_eq!(updated(context, &table, change).await, item_with("a", "b", "x", "y"));
    let empty = context.table().await;
    update(context, &empty, Update::new(), UpdateReturn::Nothing)
        .await
        .unwrap();
    assert_eq!(context.get(&empty, item_key("a", "b")).await, Some(item_key("a", "b")));
}

pub(super) async fn set_computes_from_the_old_item(context: &Context) {
    let table = context.table().await;
    let mut old = item_with("a", "b", "n", 5_i64);
    old.insert("log".to_owned(), vec![Value::from("first")].into());
    context.put(&table, old).await;
    let change = Update::new()
        .set("n", SetOperand::from(Path::from("n")).plus(number_value("0.5")))
        .set("was", SetOperand::from(Path::from("n")))
        .set("less", SetOperand::from(Path::from("n")).minus(7_i64))
        .set("hits", SetOperand::if_not_exists("hits", 0_i64).plus(1_i64))
        .set(
            "log",
            SetOperand::list_append(Path::from("log"), vec![Value::from("second")]),
        )
        .set(
            "fresh",
            SetOperand::list_append(
                SetOperand::if_not_exists("fresh", Vec::<Value>::new()),
                vec![Value::Null],
            ),
        );
    let new = updated(context, &table, change).await;
    assert_eq!(new["n"], number_value("5.5"));
    assert_eq!(new["was"], number_value("5"));
    assert_eq!(new["less"], number_value("-2"));
    assert_eq!(new["hits"], number_value("1"));
    assert_eq!(new["log"], vec![Value::from("first"), Value::from("second")].into());
    assert_eq!(new["fresh"], vec![Value::Null].into());
}

pub(super) async fn numbers_are_added_exactly(context: &Context) {
    let table = context.table().await;
    context.put(&table, item_with("a", "b", "n", number_value("0.1"))).await;
    assert_eq!(
        updated(context, &table, Update::new().add("n", number_value("0.2"))).await["n"],
        number_value("0.3")
    );
    let large = "99999999999999999999999999999999999998";
    context.put(&table, item_with("a", "b", "n", number_value(large))).await;
    let sum = updated(context, &table, Update::new().add("n", 1_i64)).await;
    assert_eq!(sum["n"], number_value("99999999999999999999999999999999999999"));
}

pub(super) async fn add_and_delete_work_on_sets(context: &Context) {
    let table = context.table().await;
    assert_eq!(
        updated(context, &table, Update::new().add("tags", strings(["x", "y"]))).await["tags"],
        strings(["x", "y"])
    );
    let change = Update::new().add("tags", strings(["y", "z"])).add("count", 2_i64);
    let new = updated(context, &table, change).await;
    assert_eq!(new["tags"], strings(["x", "y", "z"]));
    assert_eq!(new["count"], number_value("2"));
    assert_eq!(
        updated(context, &table, Update::new().delete("tags", strings(["x", "q"]))).await["tags"],
        strings(["y", "z"])
    );
    let emptied = updated(context, &table, Update::new().delete("tags", strings(["y", "z"]))).await;
    assert!(!emptied.contains_key("tags"), "a set that becomes empty is gone");
    let numbers = Value::Ns(BTreeSet::from([1_i64.into(), 2_i64.into()]));
    assert_eq!(
        updated(context, &table, Update::new().add("ids", numbers.clone())).await["ids"],
        numbers
    );
}

pub(super) async fn paths_reach_into_maps_and_lists(context: &Context) {
    let table = context.table().await;
    let inner = BTreeMap::from([("a.b".to_owned(), Value::from(1_i64)), ("gone".to_owned(), Value::Null)]);
    let list = vec![Value::from(inner), Value::from("second"), Value::from("third")];
    context.put(&table, item_with("a", "b", "list", list)).await;
    let change = Update::new()
        .set(Path::attribute("list").list_element(0).key("a.b"), 2_i64)
        .set(Path::attribute("list").list_element(7), "at the end")
        .remove(Path::attribute("list").list_element(0).key("gone"))
        .remove(Path::attribute("list").list_element(1));
    let new = updated(context, &table, change).await;
    let inner = BTreeMap::from([("a.b".to_owned(), Value::from(2_i64))]);
    assert_eq!(
        new["list"],
        vec![inner.into(), Value::from("third"), Value::from("at the end")].into()
    );
}

pub(super) async fn what_cannot_be_done_is_refused(context: &Context) {
    let table = context.table().await;
    let old = item_with("a", "b", "s", "text");
    context.put(&table, old.clone()).await;
    let wrong = [
        (
            "a path through what is absent",
            Update::new().set(Path::attribute("m").key("x"), 1_i64),
        ),
        (
            "a sum with what is absent",
            Update::new().set("n", SetOperand::from(Path::from("n")).plus(1_i64)),
        ),
        (
            "a copy of what is absent",
            Update::new().set("n", SetOperand::from(Path::from("absent"))),
        ),
        ("a number added to a string", Update::new().add("s", 1_i64)),
        ("a path twice", Update::new().set("x", 1_i64).remove("x")),
        (
            "a path inside another",
            Update::new().set("x", 1_i64).set(Path::attribute("x").key("y"), 1_i64),
        ),
        ("a key attribute", Update::new().set("PK", "other")),
    ];
    for (what, change) in wrong {
        let error = update(context, &table, change, UpdateReturn::Nothing)
            .await
            .expect_err(what);
        assert!(error.is_bad_request(), "{what}: {error}");
    }
    assert_eq!(context.get(&table, item_key("a", "b")).await, Some(old));
}

pub(super) async fn an_update_returns_what_is_asked(context: &Context) {
    let table = context.table().await;
    let mut old = item_with("a", "b", "n", 1_i64);
    old.insert("other".to_owned(), "x".into());
    for (returns, expected) in [
        (UpdateReturn::Nothing, None),
        (UpdateReturn::Old, Some(old.clone())),
        (UpdateReturn::UpdatedOld, Some(item_of([("n", 1_i64.into())]))),
        (
            UpdateReturn::UpdatedNew,
            Some(item_of([("n", 2_i64.into()), ("new", "y".into())])),
        ),
    ] {
        context.put(&table, old.clone()).await;
        let change = Update::new().set("n", 2_i64).set("new", "y");
        let answer = update(context, &table, change, returns).await.unwrap();
        assert_eq!(answer.attributes, expected, "{returns:?}");
    }
}

pub(super) async fn an_update_that_is_shared_is_done_as_any_other(context: &Context) {
    let mut told = Vec::new();
    for is_shared in [false, true] {
        let table = context.table().await;
        context.put(&table, item_with("a", "b", "n", 1_i64)).await;
        let mut answers = Vec::new();
        // The second finds what the first has left, and the third has no key.
        for (key, expected) in [
            (item_key("a", "b"), 1_i64),
            (item_key("a", "b"), 1_i64),
            (Item::new(), 1_i64),
        ] {
            let request = Arc::new(UpdateRequest {
                table: table.clone(),
                key,
                update: Update::new().set("n", 2_i64).add("m", 5_i64),
                condition: Some(Condition::equal("n", expected)),
                returns: UpdateReturn::New,
            });
            let answer = match is_shared {
                true => context.store().update_shared(&request).await,
                false => context.store().update(&request).await,
            };
            answers.push(format!("{answer:?}").replace(&table, "the table"));
        }
        answers.push(format!("{:?}", context.get(&table, item_key("a", "b")).await));
        told.push(answers);
    }
    assert_eq!(told[0], told[1]);
}
