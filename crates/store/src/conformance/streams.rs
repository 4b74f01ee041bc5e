//! Streams: what happened, in order.

use super::context::{item_key, item_with};
use super::{Context, Difference};
use crate::{
    DeleteRequest, KeySchema, KeyType, PutRequest, StreamEvent, StreamPage, StreamPosition, StreamRecord,
    StreamRequest, StreamView, TableSpec, TransactWrite, TransactWriteRequest, Update, UpdateRequest,
};

async fn streamed(context: &Context, view: StreamView) -> String {
    let key = KeySchema::partition("PK", KeyType::String).sort("SK", KeyType::String);
    let mut spec = TableSpec::new(context.table_name(), key);
    spec.stream = Some(view);
    context.create_from(&spec).await
}

async fn page(context: &Context, table: &str, position: StreamPosition, limit: u32) -> StreamPage {
    let request = StreamRequest {
        table: table.to_owned(),
        position,
        limit,
    };
    context.store().read_stream(&request).await.unwrap()
}

/// Reads until as many records are there as are expected, or several pages were empty.
async fn records(
    context: &Context,
    table: &str,
    mut position: StreamPosition,
    limit: u32,
    expected: usize,
) -> (Vec<StreamRecord>, StreamPosition) {
    let (mut found, mut empty_pages) = (Vec::new(), 0);
    while found.len() < expected && empty_pages < 10 {
        let page = page(context, table, position, limit).await;
        assert!(page.records.len() <= limit as usize);
        empty_pages = if page.records.is_empty() { empty_pages + 1 } else { 0 };
        found.extend(page.records);
        position = page.next;
    }
    assert_eq!(found.len(), expected, "{found:?}");
    (found, position)
}

async fn change(context: &Context, table: &str) {
    context.put(table, item_with("a", "1", "n", 1_i64)).await;
    let update = UpdateRequest {
        table: table.to_owned(),
        key: item_key("a", "1"),
        update: Update::new().set("n", 2_i64),
        ..UpdateRequest::default()
    };
    context.store().update(&update).await.unwrap();
    let delete = DeleteRequest {
        table: table.to_owned(),
        key: item_key("a", "1"),
        ..DeleteRequest::default()
    };
    context.store().delete(&delete).await.unwrap();
}

pub(super) async fn changes_come_in_order_with_both_images(context: &Context) {
    let table = streamed(context, StreamView::Both).await;
    change(context, &table).await;
    let (found, _) = records(context, &table, StreamPosition::Start, 100, 3).await;
    let seen: Vec<_> = found
        .iter()
        .map(|record| (record.event, record.old.clone(), record.new.clone()))
        .collect();
    let (one, two) = (item_with("a", "1", "n", 1_i64), item_with("a", "1", "n", 2_i64));
    let expected = [
        (StreamEvent::Insert, None, Some(one.clone())),
        (StreamEvent::Modify, Some(one), Some(two.clone())),
        (StreamEvent::Remove, Some(two), None),
    ];
    assert_eq!(seen, expected);
    for record in &found {
        assert_eq!(record.key, item_key("a", "1"));
        assert!(record.at_seconds > 1_700_000_000, "{}", record.at_seconds);
        assert!(!record.expired);
    }
    assert!(found.is_sorted_by(|one, next| one.sequence < next.sequence));
}

pub(super) async fn a_stream_of_keys_has_no_images(context: &Context) {
    let table = streamed(context, StreamView::KeysOnly).await;
    change(context, &table).await;
    let (found, _) = records(context, &table, StreamPosition::Start, 100, 3).await;
    assert!(
        found
            .iter()
            .all(|record| record.key == item_key("a", "1") && record.old.is_none() && record.new.is_none())
    );
}

pub(super) async fn reading_goes_on_where_a_page_ended(context: &Context) {
    let table = streamed(context, StreamView::New).await;
    for number in 0..7_i64 {
        context
            .put(&table, item_with("a", &number.to_string(), "n", number))
            .await;
    }
    let (found, position) = records(context, &table, StreamPosition::Start, 2, 7).await;
    let numbers: Vec<_> = found
        .iter()
        .map(|record| record.new.as_ref().unwrap()["n"].clone())
        .collect();
    assert_eq!(numbers, (0..7_i64).map(Into::into).collect::<Vec<_>>());
    let end = page(context, &table, position.clone(), 100).await;
    assert_eq!(end.records, []);
    context.put(&table, item_with("a", "later", "n", 7_i64)).await;
    let (from_old, _) = records(context, &table, position, 100, 1).await;
    let (from_end, _) = records(context, &table, end.next, 100, 1).await;
    assert_eq!(from_old, from_end);
    assert_eq!(from_old[0].key, item_key("a", "later"));
}

/// Where the newest change is, no number of DynamoDB's says: what was there before may come too, but nothing is missing.
pub(super) async fn latest_has_all_that_comes(context: &Context) {
    let table = streamed(context, StreamView::New).await;
    context.put(&table, item_key("a", "before")).await;
    let start = page(context, &table, StreamPosition::Latest, 100).await;
    assert_eq!(start.records, []);
    context.put(&table, item_key("a", "after")).await;
    let mut position = start.next;
    let mut found = Vec::new();
    for _ in 0..10 {
        let page = page(context, &table, position, 100).await;
        found.extend(page.records.into_iter().map(|record| record.key));
        position = page.next;
    }
    found.retain(|found| *found != item_key("a", "before"));
    assert_eq!(found, [item_key("a", "after")]);
}

pub(super) async fn latest_of_an_empty_stream_misses_nothing(context: &Context) {
    let table = streamed(context, StreamView::New).await;
    let start = page(context, &table, StreamPosition::Latest, 100).await;
    context.put(&table, item_key("a", "first")).await;
    let (found, _) = records(context, &table, start.next, 100, 1).await;
    assert_eq!(found[0].key, item_key("a", "first"));
}

pub(super) async fn a_transaction_is_on_the_stream(context: &Context) {
    let table = streamed(context, StreamView::Both).await;
    let put = |sort: &str| {
        TransactWrite::Put(PutRequest {
            table: table.clone(),
            item: item_key("a", sort),
            ..PutRequest::default()
        })
    };
    let request = TransactWriteRequest {
        actions: vec![put("1"), put("2"), put("3")],
        token: None,
    };
    context.store().transact_write(&request).await.unwrap();
    let (found, _) = records(context, &table, StreamPosition::Start, 100, 3).await;
    let mut keys: Vec<_> = found.iter().map(|record| record.key["SK"].clone()).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["1", "2", "3"].map(Into::into));
}

pub(super) async fn what_changes_nothing_is_not_on_the_stream(context: &Context) {
    for view in [StreamView::Both, StreamView::New] {
        let table = streamed(context, view).await;
        context.put(&table, item_with("a", "1", "n", 1_i64)).await;
        context.put(&table, item_with("a", "1", "n", 1_i64)).await;
        let delete = DeleteRequest {
            table: table.clone(),
            key: item_key("a", "absent"),
            ..DeleteRequest::default()
        };
        context.store().delete(&delete).await.unwrap();
        context.put(&table, item_with("a", "2", "n", 2_i64)).await;
        let told = view == StreamView::New && context.differs(Difference::UnchangedItemIsStreamed);
        let expected = if told { 3 } else { 2 };
        let (found, position) = records(context, &table, StreamPosition::Start, 100, expected).await;
        assert_eq!(found.last().unwrap().key, item_key("a", "2"));
        assert_eq!(page(context, &table, position, 100).await.records, []);
    }
}

pub(super) async fn a_table_without_a_stream_has_none(context: &Context) {
    let table = context.table().await;
    for (table, limit) in [(table, 10), (context.table_name(), 10)] {
        let request = StreamRequest {
            table,
            position: StreamPosition::Start,
            limit,
        };
        assert!(context.store().read_stream(&request).await.unwrap_err().is_not_found());
    }
}

pub(super) async fn a_page_of_a_stream_has_bounds(context: &Context) {
    let table = streamed(context, StreamView::Both).await;
    for limit in [0, 1001] {
        let request = StreamRequest {
            table: table.clone(),
            position: StreamPosition::Start,
            limit,
        };
        assert!(
            context
                .store()
                .read_stream(&request)
                .await
                .unwrap_err()
                .is_bad_request()
        );
    }
    let nonsense = StreamRequest {
        table,
        position: StreamPosition::After("nonsense".to_owned()),
        limit: 10,
    };
    assert!(
        context
            .store()
            .read_stream(&nonsense)
            .await
            .unwrap_err()
            .is_bad_request()
    );
}
