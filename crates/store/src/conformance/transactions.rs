//! Transactions: all or none, and why none.

use super::context::{item_key, item_with, sized_item};
use super::{Context, Difference};
use crate::{
    Cancellation, Condition, DeleteRequest, ErrorKind, Path, PutRequest, SetOperand, StoreError, TransactGet,
    TransactGetRequest, TransactWrite, TransactWriteRequest, Update, UpdateRequest, WriteAnswer,
};
use singlet_item::Item;
use singlet_item::limits::TRANSACTION_ITEMS_MAX;
use std::sync::Arc;

fn put(table: &str, item: Item, condition: Option<Condition>) -> TransactWrite {
    TransactWrite::Put(PutRequest {
        table: table.to_owned(),
        item,
        condition,
        return_old: false,
    })
}

fn update(table: &str, key: Item, update: Update, condition: Option<Condition>) -> TransactWrite {
    TransactWrite::Update(UpdateRequest {
        table: table.to_owned(),
        key,
        update,
        condition,
        ..UpdateRequest::default()
    })
}

fn delete(table: &str, key: Item, condition: Option<Condition>) -> TransactWrite {
    TransactWrite::Delete(DeleteRequest {
        table: table.to_owned(),
        key,
        condition,
        return_old: false,
    })
}

fn check(table: &str, key: Item, condition: Condition) -> TransactWrite {
    TransactWrite::Check {
        table: table.to_owned(),
        key,
        condition,
    }
}

async fn write(context: &Context, actions: Vec<TransactWrite>) -> Result<WriteAnswer, StoreError> {
    let request = TransactWriteRequest { actions, token: None };
    context.store().transact_write(&request).await
}

fn increment() -> Update {
    Update::new().set("n", SetOperand::from(Path::from("n")).plus(1_i64))
}

pub(super) async fn all_actions_are_done(context: &Context) {
    let (table, other) = (context.table().await, context.table().await);
    context.put(&table, item_with("a", "1", "n", 1_i64)).await;
    context.put(&table, item_key("a", "2")).await;
    context.put(&other, item_key("a", "3")).await;
    let actions = vec![
        update(
            &table,
            item_key("a", "1"),
            increment(),
            Some(Condition::equal("n", 1_i64)),
        ),
        delete(&table, item_key("a", "2"), Some(Condition::exists("PK"))),
        check(&other, item_key("a", "3"), Condition::exists("PK")),
        put(
            &other,
            item_with("a", "4", "n", 4_i64),
            Some(Condition::not_exists("PK")),
        ),
    ];
    write(context, actions).await.unwrap();
    assert_eq!(
        context.get(&table, item_key("a", "1")).await,
        Some(item_with("a", "1", "n", 2_i64))
    );
    assert_eq!(context.get(&table, item_key("a", "2")).await, None);
    assert_eq!(
        context.get(&other, item_key("a", "4")).await,
        Some(item_with("a", "4", "n", 4_i64))
    );
}

pub(super) async fn a_cancelled_transaction_gives_a_reason_per_action(context: &Context) {
    let table = context.table().await;
    let old = item_with("a", "1", "n", 1_i64);
    context.put(&table, old.clone()).await;
    context.put(&table, item_with("a", "2", "n", 2_i64)).await;
    let actions = vec![
        put(&table, item_key("a", "new"), Some(Condition::not_exists("PK"))),
        update(
            &table,
            item_key("a", "1"),
            increment(),
            Some(Condition::equal("n", 9_i64)),
        ),
        check(&table, item_key("a", "absent"), Condition::exists("PK")),
        delete(&table, item_key("a", "2"), None),
    ];
    let error = write(context, actions).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Cancelled(_)), "{error}");
    assert!(error.is_condition_failed() && !error.is_conflict() && !error.is_retryable());
    let expected = [
        Cancellation::Nothing,
        Cancellation::ConditionFailed { old: Some(old.clone()) },
        Cancellation::ConditionFailed { old: None },
        Cancellation::Nothing,
    ];
    assert_eq!(error.cancellations(), expected);
    assert_eq!(context.get(&table, item_key("a", "new")).await, None);
    assert_eq!(context.get(&table, item_key("a", "1")).await, Some(old));
    assert_eq!(
        context.get(&table, item_key("a", "2")).await,
        Some(item_with("a", "2", "n", 2_i64))
    );
}

pub(super) async fn every_kind_of_action_brings_its_old_image(context: &Context) {
    let table = context.table().await;
    let old = |sort: &str| item_with("a", sort, "n", 1_i64);
    for sort in ["1", "2", "3", "4"] {
        context.put(&table, old(sort)).await;
    }
    let wrong = || Condition::equal("n", 2_i64);
    let actions = vec![
        put(&table, item_key("a", "1"), Some(wrong())),
        update(&table, item_key("a", "2"), increment(), Some(wrong())),
        delete(&table, item_key("a", "3"), Some(wrong())),
        check(&table, item_key("a", "4"), wrong()),
    ];
    let error = write(context, actions).await.unwrap_err();
    let expected = ["1", "2", "3", "4"].map(|sort| Cancellation::ConditionFailed { old: Some(old(sort)) });
    assert_eq!(error.cancellations(), expected);
}

pub(super) async fn a_wrong_action_is_named(context: &Context) {
    let table = context.table().await;
    context.put(&table, item_with("a", "1", "n", "text")).await;
    let actions = vec![
        put(&table, item_key("a", "2"), None),
        update(&table, item_key("a", "1"), increment(), None),
    ];
    let error = write(context, actions).await.unwrap_err();
    assert!(error.is_bad_request() && !error.is_retryable(), "{error}");
    if context.differs(Difference::WrongActionIsNotNamed) {
        assert_eq!(error.cancellations(), []);
    } else {
        assert!(
            matches!(error.cancellations(), [Cancellation::Nothing, Cancellation::Invalid(_)]),
            "{error:?}"
        );
    }
    assert_eq!(context.get(&table, item_key("a", "2")).await, None);
}

pub(super) async fn an_item_is_named_once(context: &Context) {
    let table = context.table().await;
    let twice = vec![
        check(&table, item_key("a", "1"), Condition::not_exists("PK")),
        put(&table, item_with("a", "1", "n", 1_i64), None),
    ];
    let error = write(context, twice).await.unwrap_err();
    assert!(error.is_bad_request(), "{error}");
    assert_eq!(context.get(&table, item_key("a", "1")).await, None);
}

pub(super) async fn a_transaction_has_bounds(context: &Context) {
    let table = context.table().await;
    let puts = |count: usize| {
        (0..count)
            .map(|number| put(&table, item_key("a", &number.to_string()), None))
            .collect()
    };
    write(context, puts(TRANSACTION_ITEMS_MAX)).await.unwrap();
    assert!(
        write(context, puts(TRANSACTION_ITEMS_MAX + 1))
            .await
            .unwrap_err()
            .is_too_large()
    );
    assert!(write(context, vec![]).await.unwrap_err().is_bad_request());
    let nothing = vec![update(&table, item_key("a", "1"), Update::new(), None)];
    assert!(write(context, nothing).await.unwrap_err().is_bad_request());
}

pub(super) async fn four_megabytes_are_too_large(context: &Context) {
    let table = context.table().await;
    let puts = (0..11)
        .map(|number| put(&table, sized_item("a", &number.to_string(), 390_000), None))
        .collect();
    let error = write(context, puts).await.unwrap_err();
    assert!(error.is_too_large() || error.is_bad_request(), "{error}");
    assert_eq!(context.get(&table, item_key("a", "0")).await, None);
}

pub(super) async fn an_item_that_grows_too_large_is_named(context: &Context) {
    let table = context.table().await;
    context.put(&table, sized_item("a", "1", 400_000)).await;
    let grow = Update::new().set("more", "x".repeat(20_000));
    let actions = vec![
        put(&table, item_key("a", "2"), None),
        update(&table, item_key("a", "1"), grow, None),
    ];
    let error = write(context, actions).await.unwrap_err();
    assert!(error.is_too_large(), "{error}");
    assert_eq!(error.cancellations(), [Cancellation::Nothing, Cancellation::TooLarge]);
}

pub(super) async fn a_token_makes_a_transaction_happen_once(context: &Context) {
    let table = context.table().await;
    context.put(&table, item_with("a", "1", "n", 0_i64)).await;
    let request = TransactWriteRequest {
        actions: vec![update(&table, item_key("a", "1"), increment(), None)],
        token: Some(context.table_name().chars().rev().take(36).collect()),
    };
    for _ in 0..3 {
        context.store().transact_write(&request).await.unwrap();
    }
    assert_eq!(
        context.get(&table, item_key("a", "1")).await,
        Some(item_with("a", "1", "n", 1_i64))
    );
    let other = TransactWriteRequest {
        actions: vec![delete(&table, item_key("a", "1"), None)],
        ..request
    };
    let error = context.store().transact_write(&other).await.unwrap_err();
    assert!(error.is_token_reused(), "{error}");
    for token in [String::new(), "x".repeat(37)] {
        let request = TransactWriteRequest {
            token: Some(token),
            ..other.clone()
        };
        let error = context.store().transact_write(&request).await.unwrap_err();
        assert!(error.is_bad_request(), "{error}");
    }
}

pub(super) async fn a_missing_table_is_not_found(context: &Context) {
    let (table, missing) = (context.table().await, context.table_name());
    let actions = vec![
        put(&table, item_key("a", "1"), None),
        put(&missing, item_key("a", "1"), None),
    ];
    assert!(write(context, actions).await.unwrap_err().is_not_found());
    assert_eq!(context.get(&table, item_key("a", "1")).await, None);
}

fn get(table: &str, key: Item, projection: Vec<Path>) -> TransactGet {
    TransactGet {
        table: table.to_owned(),
        key,
        projection: projection.into(),
    }
}

pub(super) async fn a_transactional_read_keeps_the_order(context: &Context) {
    let (table, other) = (context.table().await, context.table().await);
    context.put(&table, item_with("a", "1", "n", 1_i64)).await;
    context.put(&other, item_with("a", "2", "n", 2_i64)).await;
    let request = TransactGetRequest {
        gets: vec![
            get(&other, item_key("a", "2"), vec![Path::from("n")]),
            get(&table, item_key("a", "absent"), vec![]),
            get(&table, item_key("a", "1"), vec![]),
        ],
    };
    let answer = context.store().transact_get(&request).await.unwrap();
    let projected = Item::from([("n".to_owned(), 2_i64.into())]);
    assert_eq!(
        answer.items,
        [Some(projected), None, Some(item_with("a", "1", "n", 1_i64))]
    );
}

pub(super) async fn a_transactional_read_has_bounds(context: &Context) {
    let table = context.table().await;
    let request = |count: usize| TransactGetRequest {
        gets: (0..count)
            .map(|number| get(&table, item_key("a", &number.to_string()), vec![]))
            .collect(),
    };
    let store = context.store();
    assert_eq!(
        store.transact_get(&request(TRANSACTION_ITEMS_MAX)).await.unwrap().items,
        vec![None; 100]
    );
    assert!(
        store
            .transact_get(&request(TRANSACTION_ITEMS_MAX + 1))
            .await
            .unwrap_err()
            .is_too_large()
    );
    assert!(store.transact_get(&request(0)).await.unwrap_err().is_bad_request());
    let mut twice = request(1);
    twice.gets.extend(request(1).gets);
    assert!(store.transact_get(&twice).await.unwrap_err().is_bad_request());
}

pub(super) async fn a_transaction_that_is_shared_is_done_as_any_other(context: &Context) {
    let mut told = Vec::new();
    for is_shared in [false, true] {
        let table = context.table().await;
        for sort in ["1", "2", "3"] {
            context.put(&table, item_with("a", sort, "n", 1_i64)).await;
        }
        let mut answers = Vec::new();
        // What is done first is what stands in the way of the second, in each of its actions.
        for is_there in [Condition::equal("n", 1_i64), Condition::equal("n", 1_i64)] {
            let absent = Some(Condition::not_exists("PK"));
            let request = Arc::new(TransactWriteRequest {
                actions: vec![
                    put(&table, item_with("a", "0", "n", 0_i64), absent),
                    update(&table, item_key("a", "1"), increment(), Some(is_there.clone())),
                    delete(&table, item_key("a", "2"), Some(is_there.clone())),
                    check(&table, item_key("a", "3"), is_there),
                ],
                token: None,
            });
            let answer = match is_shared {
                true => context.store().transact_write_shared(&request).await,
                false => context.store().transact_write(&request).await,
            };
            answers.push(format!("{answer:?}").replace(&table, "the table"));
        }
        for sort in ["0", "1", "2", "3"] {
            answers.push(format!("{:?}", context.get(&table, item_key("a", sort)).await));
        }
        told.push(answers);
    }
    assert_eq!(told[0], told[1]);
}
