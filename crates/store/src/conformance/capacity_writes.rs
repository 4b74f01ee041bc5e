//! What writes consume.

use super::context::{assert_index_writes, assert_writes, item_key, item_of, item_with, sized_item, string_index};
use super::{Context, Difference};
use crate::{
    BatchWrite, BatchWriteRequest, Condition, Consumed, DeleteRequest, IndexProjection, PutRequest, TransactWrite,
    TransactWriteRequest, Update, UpdateRequest,
};
use singlet_item::Item;

async fn put(context: &Context, table: &str, item: Item) -> Consumed {
    context.put(table, item).await.consumed
}

async fn update(context: &Context, table: &str, key: Item, update: Update) -> Consumed {
    let request = UpdateRequest {
        table: table.to_owned(),
        key,
        update,
        ..UpdateRequest::default()
    };
    context.store().update(&request).await.unwrap().consumed
}

async fn delete(context: &Context, table: &str, key: Item) -> Consumed {
    let request = DeleteRequest {
        table: table.to_owned(),
        key,
        ..DeleteRequest::default()
    };
    context.store().delete(&request).await.unwrap().consumed
}

pub(super) async fn a_write_costs_the_larger_side(context: &Context) {
    let table = context.table().await;
    assert_writes(&put(context, &table, sized_item("a", "1", 100)).await, &table, 1);
    assert_writes(&put(context, &table, sized_item("a", "1", 1024)).await, &table, 1);
    assert_writes(&put(context, &table, sized_item("a", "1", 1025)).await, &table, 2);
    assert_writes(&put(context, &table, sized_item("a", "1", 5000)).await, &table, 5);
    assert_writes(&put(context, &table, sized_item("a", "1", 100)).await, &table, 5);
    let grow = Update::new().set("more", "x".repeat(3000));
    assert_writes(&update(context, &table, item_key("a", "1"), grow).await, &table, 4);
    let shrink = Update::new().remove("more").set("n", 1_i64);
    assert_writes(&update(context, &table, item_key("a", "1"), shrink).await, &table, 4);
    assert_writes(
        &update(context, &table, item_key("a", "new"), Update::new().set("n", 1_i64)).await,
        &table,
        1,
    );
}

pub(super) async fn a_delete_costs_the_old_item(context: &Context) {
    let table = context.table().await;
    put(context, &table, sized_item("a", "1", 3000)).await;
    assert_writes(&delete(context, &table, item_key("a", "1")).await, &table, 3);
    assert_writes(&delete(context, &table, item_key("a", "1")).await, &table, 1);
}

pub(super) async fn a_batch_of_writes_costs_each_item(context: &Context) {
    let (table, other) = (context.table().await, context.table().await);
    put(context, &table, sized_item("a", "old", 3000)).await;
    let entry = |table: &str, item: Item| BatchWrite::Put {
        table: table.to_owned(),
        item,
    };
    let writes = vec![
        entry(&table, sized_item("a", "1", 100)),
        entry(&table, sized_item("a", "2", 1025)),
        BatchWrite::Delete {
            table: table.clone(),
            key: item_key("a", "old"),
        },
        entry(&other, sized_item("a", "1", 5000)),
    ];
    let consumed = context
        .store()
        .batch_write(&BatchWriteRequest { writes })
        .await
        .unwrap()
        .consumed;
    assert_writes(&consumed, &table, 1 + 2 + 3);
    assert_writes(&consumed, &other, 5);
}

pub(super) async fn index_writes_follow_the_entry(context: &Context) {
    let indexes = vec![
        string_index("GSI-all", "G", None, IndexProjection::All),
        string_index("GSI-keys", "G", None, IndexProjection::KeysOnly),
    ];
    let table = context.indexed(indexes).await;
    let assert = |what: &str, consumed: &Consumed, units: [u64; 3]| {
        let found = [
            consumed.table(&table),
            consumed.index_units(&table, "GSI-all"),
            consumed.index_units(&table, "GSI-keys"),
        ];
        assert_eq!(found.map(|units| units.write.get()), units, "{what}: {consumed:?}");
    };
    let padded = |pad: usize| {
        let mut item = item_with("a", "1", "G", "g");
        item.insert("pad".to_owned(), "x".repeat(pad).into());
        item
    };
    let absent = item_with("a", "1", "n", 1_i64);
    assert(
        "absent to absent",
        &put(context, &table, absent.clone()).await,
        [1, 0, 0],
    );
    assert(
        "absent to present",
        &put(context, &table, padded(2000)).await,
        [2, 2, 1],
    );
    assert("unchanged", &put(context, &table, padded(2000)).await, [2, 0, 0]);
    assert(
        "same key, changed",
        &put(context, &table, padded(3000)).await,
        [3, 3, 0],
    );
    assert("same key, shrunk", &put(context, &table, padded(10)).await, [3, 3, 0]);
    put(context, &table, padded(2000)).await;
    let moving = Update::new().set("G", "other");
    assert(
        "key changed",
        &update(context, &table, item_key("a", "1"), moving).await,
        [2, 4, 2],
    );
    assert("present to absent", &put(context, &table, absent).await, [2, 2, 1]);
    put(context, &table, padded(2000)).await;
    assert("deleted", &delete(context, &table, item_key("a", "1")).await, [2, 2, 1]);
}

async fn transact(context: &Context, action: TransactWrite) -> Consumed {
    let request = TransactWriteRequest {
        actions: vec![action],
        token: None,
    };
    context.store().transact_write(&request).await.unwrap().consumed
}

fn transact_put(table: &str, item: Item) -> TransactWrite {
    TransactWrite::Put(PutRequest {
        table: table.to_owned(),
        item,
        ..PutRequest::default()
    })
}

pub(super) async fn a_transaction_costs_twice(context: &Context) {
    let table = context.table().await;
    let consumed = transact(context, transact_put(&table, sized_item("a", "1", 1500))).await;
    assert_writes(&consumed, &table, 2 * 2);
    let grow = TransactWrite::Update(UpdateRequest {
        table: table.clone(),
        key: item_key("a", "1"),
        update: Update::new().set("more", "x".repeat(3000)),
        ..UpdateRequest::default()
    });
    assert_writes(&transact(context, grow).await, &table, 2 * 5);
    let consumed = transact(context, transact_put(&table, sized_item("a", "1", 100))).await;
    assert_writes(&consumed, &table, 2 * 5);
    put(context, &table, sized_item("a", "1", 2500)).await;
    let delete = || {
        TransactWrite::Delete(DeleteRequest {
            table: table.clone(),
            key: item_key("a", "1"),
            ..DeleteRequest::default()
        })
    };
    assert_writes(&transact(context, delete()).await, &table, 2 * 3);
    let nothing = if context.differs(Difference::DeletingNothingInATransactionCostsOne) {
        1
    } else {
        2
    };
    assert_writes(&transact(context, delete()).await, &table, nothing);
}

pub(super) async fn a_condition_check_costs_what_it_reads(context: &Context) {
    let table = context.table().await;
    put(context, &table, sized_item("a", "1", 5000)).await;
    let check = |sort: &str, condition: Condition| TransactWrite::Check {
        table: table.clone(),
        key: item_key("a", sort),
        condition,
    };
    let present = transact(context, check("1", Condition::exists("PK"))).await;
    let blocks = if context.differs(Difference::ConditionCheckRoundsAsARead) {
        2
    } else {
        5
    };
    assert_writes(&present, &table, 2 * blocks);
    let absent = transact(context, check("2", Condition::not_exists("PK"))).await;
    assert_writes(&absent, &table, 2);
}

pub(super) async fn a_transaction_doubles_no_index_write(context: &Context) {
    let table = context
        .indexed(vec![string_index("GSI", "G", None, IndexProjection::All)])
        .await;
    let mut indexed = sized_item("a", "new", 1500);
    indexed.extend(item_of([("G", "g".into())]));
    let consumed = transact(context, transact_put(&table, indexed)).await;
    assert_writes(&consumed, &table, 2 * 2);
    let factor = if context.differs(Difference::TransactionDoublesIndexWrites) {
        2
    } else {
        1
    };
    assert_index_writes(&consumed, &table, "GSI", factor * 2);
}
