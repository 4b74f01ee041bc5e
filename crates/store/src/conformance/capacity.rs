//! What reads consume.

use super::context::{assert_reads, item_key, item_with, sized_item, string_index};
use super::{Context, Difference};
use crate::{
    BatchGetRequest, BatchGetTable, Condition, Consumed, GetRequest, IndexKind, IndexProjection, IndexSpec, KeyRange,
    KeySchema, KeyType, Path, QueryRequest, ScanRequest, Select, TransactGet, TransactGetRequest, Units,
};
use singlet_item::ReadUnits;
use singlet_item::capacity::{Consistency, page_units};
use singlet_item::item_size_bytes;

async fn get(context: &Context, table: &str, sort: &str, consistent: bool) -> Consumed {
    let request = GetRequest {
        table: table.to_owned(),
        key: item_key("a", sort),
        consistent,
        projection: [Path::from("PK")].into(),
    };
    context.store().get(&request).await.unwrap().consumed
}

pub(super) async fn a_get_rounds_up_to_four_kilobytes(context: &Context) {
    let table = context.table().await;
    for (sort, bytes) in [("small", 100), ("exact", 4096), ("over", 4097), ("large", 10_000)] {
        context.put(&table, sized_item("a", sort, bytes)).await;
    }
    for (sort, halves) in [("small", 1), ("exact", 1), ("over", 2), ("large", 3), ("absent", 1)] {
        assert_reads(&get(context, &table, sort, false).await, &table, halves);
        assert_reads(&get(context, &table, sort, true).await, &table, 2 * halves);
    }
}

pub(super) async fn a_batch_of_gets_rounds_each_item(context: &Context) {
    let table = context.table().await;
    for (sort, bytes) in [("1", 100), ("2", 4097), ("3", 8192)] {
        context.put(&table, sized_item("a", sort, bytes)).await;
    }
    let request = |consistent| BatchGetRequest {
        tables: vec![BatchGetTable {
            table: table.clone(),
            keys: ["1", "2", "3", "absent"].map(|sort| item_key("a", sort)).to_vec(),
            consistent,
            projection: Default::default(),
        }],
    };
    let eventual = context.store().batch_get(&request(false)).await.unwrap().consumed;
    let absent = if context.differs(Difference::AbsentItemInABatchIsFree) {
        0
    } else {
        1
    };
    assert_reads(&eventual, &table, 1 + 2 + 2 + absent);
    let strong = context.store().batch_get(&request(true)).await.unwrap().consumed;
    assert_reads(&strong, &table, 2 * (1 + 2 + 2 + absent));
}

pub(super) async fn a_transactional_read_costs_twice(context: &Context) {
    let table = context.table().await;
    context.put(&table, sized_item("a", "1", 100)).await;
    context.put(&table, sized_item("a", "2", 4097)).await;
    let gets = ["1", "2", "absent"].map(|sort| TransactGet {
        table: table.clone(),
        key: item_key("a", sort),
        projection: Default::default(),
    });
    let answer = context
        .store()
        .transact_get(&TransactGetRequest { gets: gets.to_vec() })
        .await
        .unwrap();
    assert_reads(&answer.consumed, &table, 4 + 8 + 4);
}

pub(super) async fn a_page_sums_before_it_rounds(context: &Context) {
    let table = context.table().await;
    let items: Vec<_> = (0..10)
        .map(|number| sized_item("a", &number.to_string(), 1000))
        .collect();
    for item in &items {
        context.put(&table, item.clone()).await;
    }
    let expected = |consistency| page_units(items.iter().map(item_size_bytes), consistency).half_count();
    assert_eq!(expected(Consistency::Eventual), 3);
    let mut query = QueryRequest::new(&table, KeyRange::partition("PK", "a"));
    assert_reads(
        &context.query(&query).await.consumed,
        &table,
        expected(Consistency::Eventual),
    );
    query.consistent = true;
    assert_reads(
        &context.query(&query).await.consumed,
        &table,
        expected(Consistency::Strong),
    );
    let mut scan = ScanRequest {
        table: table.clone(),
        ..ScanRequest::default()
    };
    assert_reads(
        &context.store().scan(&scan).await.unwrap().consumed,
        &table,
        expected(Consistency::Eventual),
    );
    scan.consistent = true;
    assert_reads(
        &context.store().scan(&scan).await.unwrap().consumed,
        &table,
        expected(Consistency::Strong),
    );
}

pub(super) async fn filter_projection_and_count_save_nothing(context: &Context) {
    let table = context.table().await;
    for number in 0..10 {
        context.put(&table, sized_item("a", &number.to_string(), 1000)).await;
    }
    let mut query = QueryRequest::new(&table, KeyRange::partition("PK", "a"));
    query.filter = Some(Condition::exists("absent"));
    assert_reads(&context.query(&query).await.consumed, &table, 3);
    query.filter = None;
    query.select = Select::Paths([Path::from("PK")].into());
    assert_reads(&context.query(&query).await.consumed, &table, 3);
    query.select = Select::Count;
    assert_reads(&context.query(&query).await.consumed, &table, 3);
    query.limit = Some(5);
    assert_reads(&context.query(&query).await.consumed, &table, 2);
}

pub(super) async fn an_empty_page_costs_the_minimum(context: &Context) {
    let table = context.table().await;
    let minimum = if context.differs(Difference::EmptyPageIsFree) {
        0
    } else {
        1
    };
    let mut query = QueryRequest::new(&table, KeyRange::partition("PK", "a"));
    assert_reads(&context.query(&query).await.consumed, &table, minimum);
    query.consistent = true;
    assert_reads(&context.query(&query).await.consumed, &table, 2 * minimum);
    let scan = ScanRequest {
        table: table.clone(),
        ..ScanRequest::default()
    };
    assert_reads(&context.store().scan(&scan).await.unwrap().consumed, &table, minimum);
}

/// That a page consumed so many halves of a read unit on an index and nothing on the table.
#[track_caller]
fn assert_index_reads(consumed: &Consumed, table: &str, index: &str, halves: u64) {
    let expected = Units::read(ReadUnits::from_halves(halves));
    assert_eq!(
        consumed.index_units(table, index),
        expected,
        "on index {index}, of {consumed:?}"
    );
    assert_eq!(consumed.total_units(), expected, "on anything else, of {consumed:?}");
}

pub(super) async fn an_index_is_read_by_its_entries(context: &Context) {
    let indexes = vec![
        string_index("GSI-all", "G", None, IndexProjection::All),
        string_index("GSI-keys", "G", None, IndexProjection::KeysOnly),
    ];
    let table = context.indexed(indexes).await;
    for number in 0..10 {
        let mut item = item_with("a", &number.to_string(), "G", "g");
        item.insert("pad".to_owned(), "x".repeat(2000).into());
        context.put(&table, item).await;
    }
    let whole_items = context.differs(Difference::IndexScansCountWholeItems);
    for (index, halves) in [("GSI-all", 5), ("GSI-keys", 1)] {
        let mut query = QueryRequest::new(&table, KeyRange::partition("G", "g"));
        query.index = Some(index.to_owned());
        assert_index_reads(&context.query(&query).await.consumed, &table, index, halves);
        let scan = ScanRequest {
            table: table.clone(),
            index: Some(index.to_owned()),
            ..ScanRequest::default()
        };
        assert_index_reads(
            &context.store().scan(&scan).await.unwrap().consumed,
            &table,
            index,
            if whole_items { 5 } else { halves },
        );
    }
}

pub(super) async fn a_local_index_is_read_by_its_entries(context: &Context) {
    let local = IndexSpec {
        name: "LSI".to_owned(),
        kind: IndexKind::Local,
        key: KeySchema::partition("PK", KeyType::String).sort("rank", KeyType::String),
        projection: IndexProjection::KeysOnly,
        units: None,
    };
    let table = context.indexed(vec![local]).await;
    let mut item = item_with("a", "b", "rank", "1");
    item.insert("pad".to_owned(), "x".repeat(9000).into());
    context.put(&table, item).await;
    let mut query = QueryRequest::new(&table, KeyRange::partition("PK", "a"));
    query.index = Some("LSI".to_owned());
    query.consistent = true;
    assert_index_reads(&context.query(&query).await.consumed, &table, "LSI", 2);
}
