//! Queries: ranges, order and pages.

use super::context::{attribute_texts, item_key, item_of, item_with, number_value};
use super::{Context, Difference};
use crate::{
    Comparison, Condition, Direction, ItemLookup, KeyRange, KeySchema, KeyType, Path, Paths, QueryRequest, Select,
    SortRange, WantedItem,
};
use singlet_item::{Item, Value};

async fn letters(context: &Context) -> String {
    let table = context.table().await;
    for sort in ["a", "b", "ba", "bb", "c", "d#1"] {
        context.put(&table, item_with("p", sort, "n", sort.len() as i64)).await;
    }
    context.put(&table, item_key("other", "b")).await;
    table
}

pub(super) async fn every_range_has_its_ends(context: &Context) {
    let table = letters(context).await;
    let expected: [(&str, SortRange, &[&str]); 11] = [
        ("equal", SortRange::equal("b"), &["b"]),
        ("equal to nothing", SortRange::equal("bc"), &[]),
        ("less", SortRange::less("b"), &["a"]),
        ("less or equal", SortRange::less_or_equal("b"), &["a", "b"]),
        ("greater", SortRange::greater("bb"), &["c", "d#1"]),
        (
            "greater or equal",
            SortRange::greater_or_equal("bb"),
            &["bb", "c", "d#1"],
        ),
        ("between", SortRange::between("b", "c"), &["b", "ba", "bb", "c"]),
        ("between one", SortRange::between("b", "b"), &["b"]),
        ("between nothing", SortRange::between("bc", "bz"), &[]),
        ("begins with", SortRange::begins_with("b"), &["b", "ba", "bb"]),
        ("begins with delimiter", SortRange::begins_with("d#"), &["d#1"]),
    ];
    for (what, range, keys) in expected {
        let found = context
            .sort_keys(&table, KeyRange::partition("PK", "p").sort("SK", range))
            .await;
        assert_eq!(found, keys, "{what}");
    }
    assert_eq!(context.sort_keys(&table, KeyRange::partition("PK", "p")).await.len(), 6);
    assert_eq!(
        context.sort_keys(&table, KeyRange::partition("PK", "absent")).await,
        Vec::<String>::new()
    );
}

pub(super) async fn a_range_upside_down_is_refused(context: &Context) {
    let table = letters(context).await;
    let range = KeyRange::partition("PK", "p").sort("SK", SortRange::between("c", "a"));
    let error = context
        .store()
        .query(&QueryRequest::new(&table, range))
        .await
        .unwrap_err();
    assert!(error.is_bad_request(), "{error}");
}

pub(super) async fn strings_sort_by_their_bytes(context: &Context) {
    let table = context.table().await;
    // Code units of UTF-16 would put the last before the one before it.
    let sorted = ["#", "A", "Z", "a", "é", "ſ", "中", "\u{ffff}", "😀"];
    for sort in sorted.iter().rev() {
        context.put(&table, item_key("p", sort)).await;
    }
    assert_eq!(context.sort_keys(&table, KeyRange::partition("PK", "p")).await, sorted);
}

pub(super) async fn numbers_sort_by_value(context: &Context) {
    let schema = KeySchema::partition("p", KeyType::String).sort("n", KeyType::Number);
    let table = context.create(schema).await;
    let sorted = [
        "-9.9e125",
        "-1000",
        "-10",
        "-9.5",
        "-9.49",
        "-0.001",
        "-1e-130",
        "0",
        "1e-130",
        "0.1",
        "0.11",
        "1",
        "2",
        "10",
        "12345678901234567890123456789012345678",
        "9.9e125",
    ]
    .map(number_value);
    for value in sorted.iter().rev() {
        context
            .put(&table, item_of([("p", "p".into()), ("n", value.clone())]))
            .await;
    }
    let numbers = |items: Vec<Item>| items.into_iter().map(|item| item["n"].clone()).collect::<Vec<_>>();
    let all = context
        .query(&QueryRequest::new(&table, KeyRange::partition("p", "p")))
        .await;
    assert_eq!(numbers(all.items), sorted);
    let range = KeyRange::partition("p", "p").sort("n", SortRange::between(number_value("-9.5"), number_value("0.1")));
    let some = context.query(&QueryRequest::new(&table, range)).await;
    assert_eq!(numbers(some.items), sorted[3..10]);
}

pub(super) async fn binaries_sort_by_their_bytes(context: &Context) {
    let schema = KeySchema::partition("p", KeyType::Binary).sort("b", KeyType::Binary);
    let table = context.create(schema).await;
    let partition = || Value::B(vec![255, 0]);
    let sorted = [
        vec![0],
        vec![0, 0],
        vec![1],
        vec![127],
        vec![128],
        vec![128, 0],
        vec![255],
    ]
    .map(Value::B);
    for value in sorted.iter().rev() {
        context
            .put(&table, item_of([("p", partition()), ("b", value.clone())]))
            .await;
    }
    let found = context
        .query(&QueryRequest::new(&table, KeyRange::partition("p", partition())))
        .await;
    assert_eq!(
        found.items.iter().map(|item| item["b"].clone()).collect::<Vec<_>>(),
        sorted
    );
    let range = KeyRange::partition("p", partition()).sort("b", SortRange::begins_with(Value::B(vec![128])));
    assert_eq!(context.query(&QueryRequest::new(&table, range)).await.count, 2);
}

pub(super) async fn pages_go_both_ways(context: &Context) {
    let table = letters(context).await;
    for direction in [Direction::Ascending, Direction::Descending] {
        let mut request = QueryRequest::new(&table, KeyRange::partition("PK", "p"));
        request.direction = direction;
        request.limit = Some(4);
        let first = context.query(&request).await;
        assert_eq!((first.count, first.scanned), (4, 4));
        request.start = first.last_key;
        assert!(request.start.is_some());
        let second = context.query(&request).await;
        assert_eq!(second.last_key, None);
        let mut keys = attribute_texts(&first.items, "SK");
        keys.extend(attribute_texts(&second.items, "SK"));
        if direction == Direction::Descending {
            keys.reverse();
        }
        assert_eq!(keys, ["a", "b", "ba", "bb", "c", "d#1"], "{direction:?}");
    }
}

pub(super) async fn a_page_that_ends_exactly_may_have_a_next(context: &Context) {
    let table = letters(context).await;
    let mut request = QueryRequest::new(&table, KeyRange::partition("PK", "p"));
    request.limit = Some(6);
    let first = context.query(&request).await;
    assert_eq!(first.count, 6);
    if let Some(start) = first.last_key {
        request.start = Some(start);
        let second = context.query(&request).await;
        assert_eq!((second.count, second.last_key), (0, None));
    }
}

pub(super) async fn a_filter_comes_after_the_limit(context: &Context) {
    let table = letters(context).await;
    let mut request = QueryRequest::new(&table, KeyRange::partition("PK", "p"));
    request.filter = Some(Condition::compare(Path::from("n"), Comparison::Equal, 2_i64));
    request.limit = Some(2);
    let (mut keys, mut pages) = (Vec::new(), Vec::new());
    loop {
        let page = context.query(&request).await;
        assert_eq!(page.count, page.items.len());
        keys.extend(attribute_texts(&page.items, "SK"));
        pages.push((page.count, page.scanned));
        request.start = page.last_key;
        if request.start.is_none() {
            break;
        }
    }
    assert_eq!(keys, ["ba", "bb"]);
    assert_eq!(pages[..3], [(0, 2), (2, 2), (0, 2)]);
}

pub(super) async fn a_count_returns_no_items(context: &Context) {
    let table = letters(context).await;
    let mut request = QueryRequest::new(&table, KeyRange::partition("PK", "p"));
    request.filter = Some(Condition::compare(Path::from("n"), Comparison::Greater, 1_i64));
    request.select = Select::Count;
    let page = context.query(&request).await;
    assert_eq!((page.items.len(), page.count, page.scanned), (0, 3, 6));
}

pub(super) async fn a_projection_of_a_page(context: &Context) {
    let table = letters(context).await;
    let mut request = QueryRequest::new(&table, KeyRange::partition("PK", "p").sort("SK", SortRange::less("b")));
    request.select = Select::Paths([Path::from("n")].into());
    assert_eq!(context.query(&request).await.items, [item_of([("n", 1_i64.into())])]);
    request.select = Select::Paths([].into());
    assert!(context.store().query(&request).await.unwrap_err().is_bad_request());
}

pub(super) async fn a_megabyte_ends_a_page(context: &Context) {
    let table = context.table().await;
    for position in 0..6 {
        context
            .put(
                &table,
                item_with("p", &position.to_string(), "pad", "x".repeat(300_000)),
            )
            .await;
    }
    let mut request = QueryRequest::new(&table, KeyRange::partition("PK", "p"));
    let first = context.query(&request).await;
    let count = if context.differs(Difference::PageEndsBeforeAMegabyte) {
        3
    } else {
        4
    };
    assert_eq!(first.count, count);
    request.start = first.last_key;
    let second = context.query(&request).await;
    assert_eq!((second.count, second.last_key), (6 - count, None));
}

pub(super) async fn a_wrong_query_is_refused(context: &Context) {
    let table = letters(context).await;
    let wrong = [
        ("not the partition key", KeyRange::partition("SK", "a")),
        (
            "not the sort key",
            KeyRange::partition("PK", "p").sort("n", SortRange::equal(1_i64)),
        ),
        ("another type", KeyRange::partition("PK", 1_i64)),
        (
            "begins with a number",
            KeyRange::partition("PK", "p").sort("SK", SortRange::begins_with(1_i64)),
        ),
    ];
    for (what, range) in wrong {
        let error = context
            .store()
            .query(&QueryRequest::new(&table, range))
            .await
            .expect_err(what);
        assert!(error.is_bad_request(), "{what}: {error}");
    }
    let mut key_in_filter = QueryRequest::new(&table, KeyRange::partition("PK", "p"));
    key_in_filter.filter = Some(Condition::equal("SK", "a"));
    assert!(
        context
            .store()
            .query(&key_in_filter)
            .await
            .unwrap_err()
            .is_bad_request(),
        "a key in the filter"
    );
}

/// An item of a kind, or of none, which is over in a second, or never.
fn of_kind(sort: &str, kind: Option<Value>, end: Option<Value>) -> Item {
    let mut item = item_with("p", sort, "n", 1);
    item.extend(kind.map(|kind| ("kind".to_owned(), kind)));
    item.extend(end.map(|end| ("ttl".to_owned(), end)));
    item
}

pub(super) async fn who_looks_at_items_gives_only_those_that_are_wanted(context: &Context) {
    let table = context.table().await;
    let (task, user) = (Some(Value::from("Task")), Some(Value::from("User")));
    let items = [
        ("a", of_kind("a", task.clone(), None), true),
        ("b", of_kind("b", user.clone(), None), false),
        ("c", of_kind("c", None, Some(number_value("2"))), true),
        ("d", of_kind("d", task.clone(), Some(number_value("1"))), false),
        ("e", of_kind("e", task.clone(), Some(number_value("1.5"))), true),
        // What is no text says nothing of a kind, and what is no number nothing of an end.
        ("f", of_kind("f", Some(number_value("7")), Some(Value::from("1"))), true),
        ("g", of_kind("g", user, Some(number_value("2"))), false),
    ];
    for (_, item, _) in &items {
        context.put(&table, item.clone()).await;
    }
    let wanted = WantedItem {
        kind: Some(("kind", "Task")),
        end: Some(("ttl", 1_999)),
    };
    for paths in [Paths::default(), [Path::attribute("SK")].into_iter().collect()] {
        let mut request = QueryRequest::new(&table, KeyRange::partition("PK", "p"));
        if !paths.is_empty() {
            request.select = Select::Paths(paths.clone());
        }
        let all = context.query(&request).await;
        let page = context.store().query_wanted(&request, wanted).await.unwrap();
        assert_eq!((page.scanned, &page.consumed), (all.scanned, &all.consumed));
        let given: Vec<&str> = items
            .iter()
            .filter(|(_, _, is)| *is)
            .map(|(sort, _, _)| *sort)
            .collect();
        if context.store().looks_at_items() {
            assert_eq!(attribute_texts(&page.items, "SK"), given);
        }
        for (sort, _, is_wanted) in &items {
            let key = [("PK", Value::from("p")), ("SK", Value::from(*sort))];
            let lookup = ItemLookup {
                table: &table,
                key: &key,
                consistent: true,
                projection: &paths,
                wanted,
            };
            if let Some(answer) = context.store().get_at_once(lookup) {
                assert_eq!(answer.unwrap().item.is_some(), *is_wanted, "{sort}");
            }
        }
    }
}
