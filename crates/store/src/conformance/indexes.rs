//! Indexes: who is in them, and with what.

use super::context::{attribute_texts, item_key, item_of, item_with, number_value, string_index};
use super::{Context, Difference};
use crate::{
    Direction, IndexKind, IndexProjection, IndexSpec, KeyRange, KeySchema, KeyType, Path, QueryRequest, ScanRequest,
    Select, SortRange, Update, UpdateRequest,
};
use singlet_item::{Item, Value};

fn entry(partition: &str, sort: &str, index_key: [(&str, Value); 2]) -> Item {
    let mut entry = item_key(partition, sort);
    entry.extend(item_of(index_key));
    entry
}

fn query(table: &str, index: &str, range: KeyRange) -> QueryRequest {
    let mut request = QueryRequest::new(table, range);
    request.index = Some(index.to_owned());
    request
}

pub(super) async fn an_item_is_in_an_index_with_all_its_keys_only(context: &Context) {
    let table = context
        .indexed(vec![string_index("GSI", "G", Some("H"), IndexProjection::All)])
        .await;
    context
        .put(&table, entry("1", "x", [("G", "g".into()), ("H", "b".into())]))
        .await;
    context
        .put(&table, entry("2", "x", [("G", "g".into()), ("H", "a".into())]))
        .await;
    context.put(&table, item_with("3", "x", "G", "g")).await;
    context.put(&table, item_with("4", "x", "H", "h")).await;
    let page = context
        .query(&query(&table, "GSI", KeyRange::partition("G", "g")))
        .await;
    assert_eq!(attribute_texts(&page.items, "PK"), ["2", "1"]);
    let scan = ScanRequest {
        table,
        index: Some("GSI".to_owned()),
        ..ScanRequest::default()
    };
    assert_eq!(context.store().scan(&scan).await.unwrap().count, 2);
}

pub(super) async fn an_index_follows_its_keys(context: &Context) {
    let table = context
        .indexed(vec![string_index("GSI", "G", None, IndexProjection::All)])
        .await;
    context.put(&table, item_with("1", "x", "G", "old")).await;
    let found = async |value: &str| {
        context
            .query(&query(&table, "GSI", KeyRange::partition("G", value)))
            .await
            .count
    };
    let change = async |update: Update| {
        let request = UpdateRequest {
            table: table.clone(),
            key: item_key("1", "x"),
            update,
            ..UpdateRequest::default()
        };
        context.store().update(&request).await.unwrap();
    };
    assert_eq!((found("old").await, found("new").await), (1, 0));
    change(Update::new().set("G", "new")).await;
    assert_eq!((found("old").await, found("new").await), (0, 1));
    change(Update::new().remove("G")).await;
    assert_eq!((found("old").await, found("new").await), (0, 0));
    change(Update::new().set("G", "old")).await;
    assert_eq!((found("old").await, found("new").await), (1, 0));
    context.put(&table, item_key("1", "x")).await;
    assert_eq!((found("old").await, found("new").await), (0, 0));
}

pub(super) async fn an_index_key_of_another_type_is_refused(context: &Context) {
    let table = context
        .indexed(vec![string_index("GSI", "G", None, IndexProjection::All)])
        .await;
    for wrong in [Value::from(1_i64), Value::Null, Value::from("")] {
        let error = context
            .try_put(&table, item_with("1", "x", "G", wrong.clone()))
            .await
            .unwrap_err();
        assert!(error.is_bad_request(), "{wrong:?}: {error}");
    }
}

pub(super) async fn an_index_holds_what_it_projects(context: &Context) {
    let include = IndexProjection::Include(vec!["kept".to_owned()]);
    let indexes = vec![
        string_index("GSI-all", "G", None, IndexProjection::All),
        string_index("GSI-keys", "G", None, IndexProjection::KeysOnly),
        string_index("GSI-some", "G", None, include),
    ];
    let table = context.indexed(indexes).await;
    let mut full = entry("1", "x", [("G", "g".into()), ("kept", "k".into())]);
    full.insert("dropped".to_owned(), "d".into());
    context.put(&table, full.clone()).await;
    let found = async |index: &str| {
        context
            .query(&query(&table, index, KeyRange::partition("G", "g")))
            .await
            .items
    };
    assert_eq!(found("GSI-all").await, [full]);
    assert_eq!(found("GSI-keys").await, [item_with("1", "x", "G", "g")]);
    assert_eq!(
        found("GSI-some").await,
        [entry("1", "x", [("G", "g".into()), ("kept", "k".into())])]
    );
    let mut beyond = query(&table, "GSI-keys", KeyRange::partition("G", "g"));
    beyond.select = Select::Paths([Path::from("dropped")].into());
    let answer = context.store().query(&beyond).await;
    if context.differs(Difference::UnprojectedPathIsAbsent) {
        assert_eq!(answer.unwrap().items, [Item::new()]);
    } else {
        assert!(answer.unwrap_err().is_bad_request());
    }
}

pub(super) async fn an_index_pages_over_equal_keys(context: &Context) {
    let table = context
        .indexed(vec![string_index("GSI", "G", Some("H"), IndexProjection::All)])
        .await;
    for number in 0..7 {
        context
            .put(
                &table,
                entry(&number.to_string(), "x", [("G", "g".into()), ("H", "same".into())]),
            )
            .await;
    }
    for direction in [Direction::Ascending, Direction::Descending] {
        let mut request = query(&table, "GSI", KeyRange::partition("G", "g"));
        request.limit = Some(3);
        request.direction = direction;
        let mut found = Vec::new();
        loop {
            let page = context.query(&request).await;
            found.extend(attribute_texts(&page.items, "PK"));
            request.start = page.last_key;
            let Some(start) = &request.start else { break };
            assert_eq!(
                start.keys().map(String::as_str).collect::<Vec<_>>(),
                ["G", "H", "PK", "SK"]
            );
        }
        found.sort_unstable();
        assert_eq!(found, ["0", "1", "2", "3", "4", "5", "6"], "{direction:?}");
    }
}

pub(super) async fn a_global_index_is_not_read_consistently(context: &Context) {
    let table = context
        .indexed(vec![string_index("GSI", "G", None, IndexProjection::All)])
        .await;
    let mut request = query(&table, "GSI", KeyRange::partition("G", "g"));
    request.consistent = true;
    assert!(context.store().query(&request).await.unwrap_err().is_bad_request());
}

pub(super) async fn a_local_index_is_read_consistently(context: &Context) {
    let local = IndexSpec {
        name: "LSI".to_owned(),
        kind: IndexKind::Local,
        key: KeySchema::partition("PK", KeyType::String).sort("rank", KeyType::Number),
        projection: IndexProjection::All,
        units: None,
    };
    let table = context.indexed(vec![local]).await;
    for (sort, rank) in [("a", 10_i64), ("b", 9), ("c", -1)] {
        context.put(&table, item_with("p", sort, "rank", rank)).await;
    }
    context.put(&table, item_key("p", "unranked")).await;
    let mut request = query(&table, "LSI", KeyRange::partition("PK", "p"));
    request.consistent = true;
    assert_eq!(
        attribute_texts(&context.query(&request).await.items, "SK"),
        ["c", "b", "a"]
    );
    request.range = request.range.sort("rank", SortRange::greater(0_i64));
    assert_eq!(attribute_texts(&context.query(&request).await.items, "SK"), ["b", "a"]);
}

pub(super) async fn an_index_key_may_have_several_attributes(context: &Context) {
    let many = IndexSpec {
        name: "GSI".to_owned(),
        kind: IndexKind::Global,
        key: KeySchema::partition("tenant", KeyType::String)
            .and_partition("year", KeyType::Number)
            .sort("month", KeyType::Number)
            .sort("name", KeyType::String),
        projection: IndexProjection::All,
        units: None,
    };
    let table = context.indexed(vec![many]).await;
    let rows = [
        ("1", 2026, 2, "b"),
        ("2", 2026, 2, "a"),
        ("3", 2026, 10, "c"),
        ("4", 2025, 1, "d"),
    ];
    for (id, year, month, name) in rows {
        let mut row = entry(id, "x", [("tenant", "t".into()), ("year", i64::from(year).into())]);
        row.insert("month".to_owned(), i64::from(month).into());
        row.insert("name".to_owned(), name.into());
        context.put(&table, row).await;
    }
    let mut incomplete = entry("5", "x", [("tenant", "t".into()), ("year", 2026_i64.into())]);
    incomplete.insert("month".to_owned(), 1_i64.into());
    context.put(&table, incomplete).await;

    let year = || KeyRange::partition("tenant", "t").and_partition("year", 2026_i64);
    let found = async |range: KeyRange| attribute_texts(&context.query(&query(&table, "GSI", range)).await.items, "PK");
    assert_eq!(found(year()).await, ["2", "1", "3"]);
    assert_eq!(found(year().sort("month", SortRange::equal(2_i64))).await, ["2", "1"]);
    assert_eq!(found(year().sort("month", SortRange::greater(2_i64))).await, ["3"]);
    let named = |range| {
        year()
            .sort("month", SortRange::equal(number_value("2.0")))
            .sort("name", range)
    };
    assert_eq!(found(named(SortRange::begins_with("b"))).await, ["1"]);
    assert_eq!(found(named(SortRange::between("a", "b"))).await, ["2", "1"]);
    let half = query(&table, "GSI", KeyRange::partition("tenant", "t"));
    assert!(
        context.store().query(&half).await.unwrap_err().is_bad_request(),
        "half of the partition key"
    );
    let skipping = query(&table, "GSI", year().sort("name", SortRange::equal("a")));
    assert!(
        context.store().query(&skipping).await.unwrap_err().is_bad_request(),
        "a sort attribute skipped"
    );
}

pub(super) async fn an_index_of_several_attributes_pages(context: &Context) {
    let many = IndexSpec {
        name: "GSI".to_owned(),
        kind: IndexKind::Global,
        key: KeySchema::partition("a", KeyType::String)
            .and_partition("b", KeyType::String)
            .sort("c", KeyType::String)
            .sort("d", KeyType::Number),
        projection: IndexProjection::KeysOnly,
        units: None,
    };
    let table = context.indexed(vec![many]).await;
    for count in 0..5_i64 {
        let mut row = entry(&count.to_string(), "x", [("a", "a".into()), ("b", "b".into())]);
        row.insert("c".to_owned(), "same".into());
        row.insert("d".to_owned(), (10 - count).into());
        context.put(&table, row).await;
    }
    let mut request = query(&table, "GSI", KeyRange::partition("a", "a").and_partition("b", "b"));
    request.limit = Some(2);
    let mut found = Vec::new();
    loop {
        let page = context.query(&request).await;
        found.extend(attribute_texts(&page.items, "PK"));
        request.start = page.last_key;
        if request.start.is_none() {
            break;
        }
    }
    assert_eq!(found, ["4", "3", "2", "1", "0"]);
}
