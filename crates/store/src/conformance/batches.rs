//! Batches: many items, each for itself.

use super::Context;
use super::context::{item_key, item_with, sized_item};
use crate::{BatchGetRequest, BatchGetTable, BatchWrite, BatchWriteRequest, Path};
use singlet_item::Item;
use singlet_item::limits::{BATCH_GET_ITEMS_MAX, BATCH_WRITE_ITEMS_MAX};

fn gets(table: &str, keys: Vec<Item>) -> BatchGetTable {
    BatchGetTable {
        table: table.to_owned(),
        keys,
        consistent: true,
        projection: Default::default(),
    }
}

fn put(table: &str, item: Item) -> BatchWrite {
    BatchWrite::Put {
        table: table.to_owned(),
        item,
    }
}

fn delete(table: &str, key: Item) -> BatchWrite {
    BatchWrite::Delete {
        table: table.to_owned(),
        key,
    }
}

pub(super) async fn a_batch_reads_what_is_there_of_several_tables(context: &Context) {
    let (one, other) = (context.table().await, context.table().await);
    for sort in ["1", "2", "3"] {
        context.put(&one, item_with("a", sort, "n", 1_i64)).await;
        context.put(&other, item_with("a", sort, "n", 2_i64)).await;
    }
    let mut second = gets(&other, vec![item_key("a", "3")]);
    second.projection = [Path::from("n")].into();
    let request = BatchGetRequest {
        tables: vec![
            gets(
                &one,
                vec![item_key("a", "2"), item_key("a", "absent"), item_key("a", "1")],
            ),
            second,
        ],
    };
    let answer = context.store().batch_get(&request).await.unwrap();
    assert_eq!(answer.unprocessed, []);
    let mut found = answer.items[&one].clone();
    found.sort_unstable();
    assert_eq!(
        found,
        [item_with("a", "1", "n", 1_i64), item_with("a", "2", "n", 1_i64)]
    );
    assert_eq!(answer.items[&other], [Item::from([("n".to_owned(), 2_i64.into())])]);
}

pub(super) async fn a_batch_of_gets_has_bounds(context: &Context) {
    let table = context.table().await;
    let store = context.store();
    let keys = |count: usize| {
        (0..count)
            .map(|number| item_key("a", &number.to_string()))
            .collect::<Vec<_>>()
    };
    let request = |keys| BatchGetRequest {
        tables: vec![gets(&table, keys)],
    };
    store.batch_get(&request(keys(BATCH_GET_ITEMS_MAX))).await.unwrap();
    assert!(
        store
            .batch_get(&request(keys(BATCH_GET_ITEMS_MAX + 1)))
            .await
            .unwrap_err()
            .is_too_large()
    );
    assert!(store.batch_get(&request(vec![])).await.unwrap_err().is_bad_request());
    assert!(
        store
            .batch_get(&request(vec![item_key("a", "1"), item_key("a", "1")]))
            .await
            .unwrap_err()
            .is_bad_request()
    );
    let twice = BatchGetRequest {
        tables: vec![gets(&table, keys(1)), gets(&table, keys(1))],
    };
    assert!(store.batch_get(&twice).await.unwrap_err().is_bad_request());
}

pub(super) async fn what_a_batch_does_not_hold_is_unprocessed(context: &Context) {
    let table = context.table().await;
    let count = 45;
    let large = |number: usize| sized_item("a", &number.to_string(), 400_000);
    for numbers in (0..count).collect::<Vec<_>>().chunks(15) {
        let writes = numbers.iter().map(|number| put(&table, large(*number))).collect();
        let answer = context
            .store()
            .batch_write(&BatchWriteRequest { writes })
            .await
            .unwrap();
        assert_eq!(answer.unprocessed, []);
    }
    let keys = (0..count).map(|number| item_key("a", &number.to_string())).collect();
    let mut request = BatchGetRequest {
        tables: vec![gets(&table, keys)],
    };
    let first = context.store().batch_get(&request).await.unwrap();
    let read = first.items[&table].len();
    assert!(read < count, "16 MB hold fewer than {count} items of 400 kB");
    assert_eq!(first.unprocessed.len(), 1);
    assert_eq!(first.unprocessed[0].keys.len(), count - read);
    assert!(first.unprocessed[0].consistent);
    request.tables = first.unprocessed;
    let second = context.store().batch_get(&request).await.unwrap();
    assert_eq!(second.items[&table].len(), count - read);
    assert_eq!(second.unprocessed, []);
}

pub(super) async fn a_batch_puts_and_deletes_in_several_tables(context: &Context) {
    let (one, other) = (context.table().await, context.table().await);
    context.put(&one, item_key("a", "old")).await;
    let writes = vec![
        put(&one, item_with("a", "new", "n", 1_i64)),
        delete(&one, item_key("a", "old")),
        delete(&one, item_key("a", "absent")),
        put(&other, item_key("a", "new")),
    ];
    let answer = context
        .store()
        .batch_write(&BatchWriteRequest { writes })
        .await
        .unwrap();
    assert_eq!(answer.unprocessed, []);
    assert_eq!(
        context.get(&one, item_key("a", "new")).await,
        Some(item_with("a", "new", "n", 1_i64))
    );
    assert_eq!(context.get(&one, item_key("a", "old")).await, None);
    assert_eq!(
        context.get(&other, item_key("a", "new")).await,
        Some(item_key("a", "new"))
    );
}

pub(super) async fn a_batch_of_writes_has_bounds(context: &Context) {
    let table = context.table().await;
    let store = context.store();
    let request = |count: usize| BatchWriteRequest {
        writes: (0..count)
            .map(|number| put(&table, item_key("a", &number.to_string())))
            .collect(),
    };
    store.batch_write(&request(BATCH_WRITE_ITEMS_MAX)).await.unwrap();
    assert!(
        store
            .batch_write(&request(BATCH_WRITE_ITEMS_MAX + 1))
            .await
            .unwrap_err()
            .is_too_large()
    );
    assert!(store.batch_write(&request(0)).await.unwrap_err().is_bad_request());
    let twice = BatchWriteRequest {
        writes: vec![put(&table, item_key("b", "1")), delete(&table, item_key("b", "1"))],
    };
    assert!(store.batch_write(&twice).await.unwrap_err().is_bad_request());
    assert_eq!(context.get(&table, item_key("b", "1")).await, None);
}
