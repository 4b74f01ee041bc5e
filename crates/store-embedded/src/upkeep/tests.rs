#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use super::*;
use singlet_item::{Item, Value};
use singlet_keyspace::Keyspace;
use singlet_store::{
    IndexKind, IndexProjection, IndexSpec, KeyRange, KeySchema, KeyType, PutRequest, QueryRequest, Store,
    StreamPosition, StreamRequest, StreamView, TableChange, TableSpec, TableStatus,
};
use std::time::Duration;

use crate::layout::TABLE_AREAS;
use crate::tables;

const TABLE: &str = "things";
/// More than a few steps of a task.
const ROWS: i64 = 1500;

fn spec() -> TableSpec {
    let mut spec = TableSpec::new(TABLE, KeySchema::partition("id", KeyType::Number));
    spec.stream = Some(StreamView::Both);
    spec
}

fn by_group() -> IndexSpec {
    IndexSpec {
        name: "by-group".to_owned(),
        kind: IndexKind::Global,
        key: KeySchema::partition("group", KeyType::String),
        projection: IndexProjection::All,
        units: None,
    }
}

fn row(id: i64, group: &str) -> Item {
    Item::from([("id".to_owned(), id.into()), ("group".to_owned(), group.into())])
}

async fn put(store: &EmbeddedStore, item: Item) -> Result<()> {
    let request = PutRequest {
        table: TABLE.to_owned(),
        item,
        ..PutRequest::default()
    };
    store.put(&request).await.map(drop)
}

fn of_group(group: &str) -> QueryRequest {
    let mut request = QueryRequest::new(TABLE, KeyRange::partition("group", group));
    request.index = Some("by-group".to_owned());
    request
}

async fn change(store: &EmbeddedStore, change: TableChange) -> Result<()> {
    store
        .commit(0, move |catalogue, draft, _| {
            tables::change_table(catalogue, draft, TABLE, &change)
        })
        .await
}

#[tokio::test]
async fn an_index_is_filled_in_steps_and_goes_on_at_the_next_opening() {
    let space = Keyspace::in_memory();
    let store = EmbeddedStore::on(space.clone(), false).unwrap();
    store.create_table(&spec()).await.unwrap();
    for id in 0..ROWS {
        put(&store, row(id, "old")).await.unwrap();
    }
    change(&store, TableChange::AddIndex(by_group())).await.unwrap();
    assert_eq!(store.describe_table(TABLE).await.unwrap().status, TableStatus::Updating);
    let refused = store.query(&of_group("old")).await.unwrap_err();
    assert!(refused.message().contains("backfilling"), "{refused}");
    let second = change(&store, TableChange::AddIndex(by_group())).await.unwrap_err();
    assert!(second.is_in_use(), "{second}");
    store.step_tasks().await.unwrap();
    // Rows change before and behind the place where it is.
    for id in 0..ROWS / 3 {
        put(&store, row(id * 3, "new")).await.unwrap();
    }
    drop(store);
    let store = EmbeddedStore::on(space, false).unwrap();
    assert_eq!(store.describe_table(TABLE).await.unwrap().status, TableStatus::Active);
    for (group, count) in [("old", ROWS - ROWS / 3), ("new", ROWS / 3)] {
        let found = store.query(&of_group(group)).await.unwrap().count;
        assert_eq!(i64::try_from(found).unwrap(), count, "{group}");
    }
    store
        .update_table(TABLE, &TableChange::RemoveIndex("by-group".to_owned()))
        .await
        .unwrap();
    assert!(store.query(&of_group("old")).await.unwrap_err().is_not_found());
    let left = store
        .snapshot()
        .range(
            layout::all_of(Area::Entries).bounds(),
            singlet_keyspace::Direction::Forward,
        )
        .count();
    assert_eq!(left, 0);
    store
        .update_table(TABLE, &TableChange::AddIndex(by_group()))
        .await
        .unwrap();
    let found = store.query(&of_group("old")).await.unwrap().count;
    assert_eq!(i64::try_from(found).unwrap(), ROWS - ROWS / 3);
}

#[tokio::test]
async fn a_removed_table_leaves_nothing_behind() {
    let store = EmbeddedStore::memory().unwrap();
    let mut spec = spec();
    spec.ttl = Some("ends".to_owned());
    spec.indexes = vec![by_group()];
    store.create_table(&spec).await.unwrap();
    for id in 0..ROWS {
        let mut row = row(id, "g");
        row.insert("ends".to_owned(), id.into());
        put(&store, row).await.unwrap();
    }
    store.delete_table(TABLE).await.unwrap();
    for area in TABLE_AREAS {
        let left = store
            .snapshot()
            .range(layout::all_of(area).bounds(), singlet_keyspace::Direction::Forward)
            .count();
        assert_eq!(left, 0, "{area:?}");
    }
    assert!(!tasks::is_any(&store.snapshot()).unwrap());
    // A new one of the same name has nothing of it.
    store.create_table(&spec).await.unwrap();
    assert_eq!(store.describe_table(TABLE).await.unwrap().item_count, 0);
    assert_eq!(store.query(&of_group("g")).await.unwrap().count, 0);
}

#[tokio::test]
async fn expiry_that_is_turned_on_later_finds_what_was_there() {
    let store = EmbeddedStore::memory().unwrap();
    store.create_table(&spec()).await.unwrap();
    for id in 0..ROWS {
        let mut row = row(id, "g");
        row.insert(
            "ends".to_owned(),
            Value::from(if id % 2 == 0 { 1000 } else { 90_000_000_000 }),
        );
        put(&store, row).await.unwrap();
    }
    assert_eq!(store.delete_expired().await.unwrap(), 0);
    store.update_ttl(TABLE, Some("ends")).await.unwrap();
    assert_eq!(i64::try_from(store.delete_expired().await.unwrap()).unwrap(), ROWS / 2);
    assert_eq!(store.delete_expired().await.unwrap(), 0);
    store.update_ttl(TABLE, None).await.unwrap();
    let left = store
        .snapshot()
        .range(
            layout::all_of(Area::Expiries).bounds(),
            singlet_keyspace::Direction::Forward,
        )
        .count();
    assert_eq!(left, 0);
}

async fn records(store: &EmbeddedStore, position: StreamPosition) -> Result<(usize, StreamPosition)> {
    let request = StreamRequest {
        table: TABLE.to_owned(),
        position,
        limit: 1000,
    };
    let page = store.read_stream(&request).await?;
    Ok((page.records.len(), page.next))
}

#[tokio::test]
async fn changes_go_by_age_by_follower_and_by_bytes() {
    let store = EmbeddedStore::memory().unwrap();
    store.create_table(&spec()).await.unwrap();
    for id in 0..10 {
        put(&store, row(id, "g")).await.unwrap();
    }
    let now = now_millis();
    let days = |days: u64| now + days * 24 * 60 * 60 * 1000 + 2000;
    let usual = Retention::default();
    let start = records(&store, StreamPosition::Start).await.unwrap();
    assert_eq!(start.0, 10);
    let request = StreamRequest {
        table: TABLE.to_owned(),
        position: StreamPosition::Start,
        limit: 4,
    };
    let StreamPosition::After(fourth) = store.read_stream(&request).await.unwrap().next else {
        unreachable!("a page with records ends after one")
    };
    assert_eq!(store.trim_changes_at(&usual, now).await.unwrap(), 0);
    let mut followed = usual.clone();
    followed.followers.insert(TABLE.to_owned(), fourth.clone());
    assert_eq!(store.trim_changes_at(&followed, days(1)).await.unwrap(), 4);
    // Who stands at the last that went has missed nothing.
    let at_fourth = StreamPosition::After(fourth);
    assert_eq!(records(&store, at_fourth.clone()).await.unwrap().0, 6);
    assert_eq!(records(&store, StreamPosition::Start).await.unwrap().0, 6);
    let small = Retention {
        bytes_max: 1,
        ..usual.clone()
    };
    assert_eq!(store.trim_changes_at(&small, now).await.unwrap(), 6);
    assert!(records(&store, at_fourth).await.unwrap_err().is_position_lost());
    assert_eq!(records(&store, start.1.clone()).await.unwrap().0, 0);
    put(&store, row(11, "g")).await.unwrap();
    assert_eq!(records(&store, start.1).await.unwrap().0, 1);
    // Nobody is waited for longer than a week.
    assert_eq!(store.trim_changes_at(&followed, days(6)).await.unwrap(), 0);
    assert_eq!(store.trim_changes_at(&followed, days(7)).await.unwrap(), 1);
    assert_eq!(usual.age_min, Duration::from_secs(86_400));
}

#[tokio::test]
async fn a_stream_that_begins_again_is_another() {
    let store = EmbeddedStore::memory().unwrap();
    store.create_table(&spec()).await.unwrap();
    put(&store, row(1, "g")).await.unwrap();
    let (_, before) = records(&store, StreamPosition::Start).await.unwrap();
    let twice = store
        .update_table(TABLE, &TableChange::Stream(Some(StreamView::New)))
        .await;
    assert!(twice.unwrap_err().is_bad_request());
    store.update_table(TABLE, &TableChange::Stream(None)).await.unwrap();
    assert!(records(&store, StreamPosition::Start).await.unwrap_err().is_not_found());
    put(&store, row(2, "g")).await.unwrap();
    store
        .update_table(TABLE, &TableChange::Stream(Some(StreamView::New)))
        .await
        .unwrap();
    assert!(records(&store, before).await.unwrap_err().is_position_lost());
    put(&store, row(3, "g")).await.unwrap();
    assert_eq!(records(&store, StreamPosition::Start).await.unwrap().0, 1);
}

#[tokio::test]
async fn an_item_collection_with_a_local_index_has_a_bound() {
    let store = EmbeddedStore::memory().unwrap();
    let key = KeySchema::partition("p", KeyType::String).sort("s", KeyType::Number);
    let mut spec = TableSpec::new(TABLE, key);
    spec.indexes = vec![IndexSpec {
        name: "local".to_owned(),
        kind: IndexKind::Local,
        key: KeySchema::partition("p", KeyType::String).sort("r", KeyType::Number),
        projection: IndexProjection::All,
        units: None,
    }];
    store.create_table(&spec).await.unwrap();
    // In tests the bound is 640 KB, of which each of these takes 200 with its entry.
    let row = |p: &str, s: i64| {
        Item::from([
            ("p".to_owned(), p.into()),
            ("s".to_owned(), s.into()),
            ("r".to_owned(), s.into()),
            ("pad".to_owned(), "x".repeat(100 << 10).into()),
        ])
    };
    for s in 0..3 {
        put(&store, row("a", s)).await.unwrap();
    }
    let error = put(&store, row("a", 3)).await.unwrap_err();
    assert!(error.is_too_large(), "{error}");
    put(&store, row("b", 3)).await.unwrap();
    // What is there can change and go, and then there is room.
    put(&store, row("a", 2)).await.unwrap();
    let delete = singlet_store::DeleteRequest {
        table: TABLE.to_owned(),
        key: Item::from([("p".to_owned(), "a".into()), ("s".to_owned(), 1.into())]),
        ..singlet_store::DeleteRequest::default()
    };
    store.delete(&delete).await.unwrap();
    put(&store, row("a", 3)).await.unwrap();
}

#[tokio::test]
async fn another_format_is_refused() {
    let space = Keyspace::in_memory();
    let key = layout::named_key(Area::Format, "format");
    let newer =
        move |draft: &mut singlet_keyspace::Draft<'_>| draft.put_row(key, vec![2]).map_err(crate::view::NotDone::from);
    space.commit(newer).await.unwrap();
    let error = EmbeddedStore::on(space, false).unwrap_err();
    assert!(error.message().contains("format 2"), "{error}");
}

#[tokio::test]
async fn writes_trim_what_is_not_kept() {
    let store = EmbeddedStore::memory().unwrap();
    store.create_table(&spec()).await.unwrap();
    store.keep_changes(Retention {
        bytes_max: 1,
        ..Retention::default()
    });
    for id in 0..300 {
        put(&store, row(id, "g")).await.unwrap();
    }
    let (kept, _) = records(&store, StreamPosition::Start).await.unwrap();
    assert!(kept <= 64, "{kept} changes are kept");
}

fn rows_in(store: &EmbeddedStore, area: Area) -> usize {
    let span = layout::all_of(area);
    store
        .snapshot()
        .range(span.bounds(), singlet_keyspace::Direction::Forward)
        .count()
}

#[tokio::test]
async fn a_table_without_a_stream_writes_no_changes() {
    let store = EmbeddedStore::memory().unwrap();
    store.create_table(&TableSpec { stream: None, ..spec() }).await.unwrap();
    for id in 0..10 {
        put(&store, row(id, "a")).await.unwrap();
        put(&store, row(id, "b")).await.unwrap();
    }
    assert_eq!(rows_in(&store, Area::Changes), 0);
    assert!(store.inspect_rows().unwrap().flaws.is_empty());
}

/// However much was written before, there is no more to go through: what the changes of a table take is bounded, in memory too,
/// and nothing else grows with the number of writes.
#[tokio::test]
async fn what_is_there_does_not_grow_with_the_number_of_writes() {
    let store = EmbeddedStore::memory().unwrap();
    store.create_table(&spec()).await.unwrap();
    store.keep_changes(Retention {
        bytes_max: 20_000,
        ..Retention::default()
    });
    let mut most = [0, 0];
    for turn in 0..6_000_i64 {
        put(&store, row(turn % 3, &format!("group {turn}"))).await.unwrap();
        let all = store.snapshot().range(.., singlet_keyspace::Direction::Forward).count();
        let half = usize::from(turn >= 3_000);
        most[half] = most[half].max(all);
    }
    assert!(most[1] <= most[0], "{most:?} rows");
    assert!(most[1] < 400, "{most:?} rows");
    assert!(store.inspect_rows().unwrap().flaws.is_empty());
}

/// The room of what is swept and trimmed is used again: a folder that is written to for long stays as large as it was.
#[tokio::test]
async fn freed_room_is_used_again() {
    let disk = singlet_keyspace::simulated::SimulatedDisk::default();
    let mut options = singlet_keyspace::Options::default();
    options.memory_bytes = 100_000;
    let space = Keyspace::open_on(Arc::new(disk), options).unwrap();
    let store = EmbeddedStore::on(space.clone(), true).unwrap();
    store
        .create_table(&TableSpec {
            ttl: Some("ends".to_owned()),
            ..spec()
        })
        .await
        .unwrap();
    store.keep_changes(Retention {
        bytes_max: 50_000,
        ..Retention::default()
    });
    let mut sizes = Vec::new();
    for round in 0..12_i64 {
        for id in 0..500 {
            let mut item = row(round * 500 + id, &"x".repeat(200));
            item.insert("ends".to_owned(), Value::from(1000));
            put(&store, item).await.unwrap();
        }
        assert_eq!(store.delete_expired().await.unwrap(), 500);
        store.trim_old_changes().await.unwrap();
        space.checkpoint().unwrap();
        sizes.push(space.size().unwrap().base_bytes);
    }
    assert_eq!(rows_in(&store, Area::Items), 0);
    // Without it they would be four times as large. How much one checkpoint takes is a matter of when it begins.
    let (first, last) = sizes.split_at(3);
    assert!(
        last.iter().max() < first.iter().max().map(|most| most * 2).as_ref(),
        "{sizes:?}"
    );
}
