//! What stands in the tables.

use std::sync::Arc;

use serde_json::json;
use singlet_item::Value;

use super::support::{
    Folder, ForgetfulSource, MODEL, Shop, assert_alike, change_rows, current_rows, item, lake_ids, model_of, replayed,
    table_rows,
};
use crate::cell::{Cell, ColumnType};
use crate::table_log::TableLog;
use crate::{Lake, LakeFollower};

fn task(id: &str, title: &str) -> singlet_item::Item {
    item(
        "Task",
        id,
        json!({"title": {"S": title}, "count": {"N": "7"}, "price": {"N": "1.5"}}),
    )
}

#[tokio::test]
async fn every_type_has_its_column_and_every_value_its_place() {
    let (shop, folder) = (Shop::open(MODEL).await, Folder::new());
    let attributes = json!({
        "title": {"S": "a"}, "count": {"N": "100"}, "price": {"N": "999.99"},
        "big": {"N": "12345678901234567890"}, "free": {"N": "0.000000000000000000000000000000000000001"},
        "isDone": {"BOOL": true}, "due": {"S": "2026-02-28"}, "at": {"S": "2026-02-28T10:00:00.123Z"},
        "seconds": {"N": "1"}, "tags": {"SS": ["x", "y"]}, "anything": {"L": [{"NULL": true}, {"N": "1.50"}]},
        "address": {"M": {"street": {"S": "s"}, "lines": {"L": []}, "rooms": {"M": {"a": {"N": "1"}}}}},
    });
    shop.put(item("Task", "1", attributes)).await;
    let files = folder.files();
    shop.follow(&mut shop.follower(files.clone())).await.unwrap();
    let table = TableLog::load_log(files.as_ref(), "Task").unwrap();
    let types: Vec<(&str, &ColumnType)> = table
        .columns
        .iter()
        .map(|column| (column.name.as_str(), &column.ty))
        .collect();
    let plain = |name: &str| {
        types
            .iter()
            .find(|(of, _)| *of == name)
            .map(|(_, ty)| (*ty).clone())
            .unwrap()
    };
    assert_eq!(plain("_key"), ColumnType::Text);
    assert_eq!(plain("count"), ColumnType::Long);
    assert_eq!(plain("big"), ColumnType::Decimal(0));
    assert_eq!(plain("price"), ColumnType::Decimal(2));
    assert_eq!(plain("free"), ColumnType::Text);
    assert_eq!(plain("due"), ColumnType::Date);
    assert_eq!(
        (plain("at"), plain("seconds")),
        (ColumnType::Timestamp, ColumnType::Timestamp)
    );
    assert_eq!(plain("tags"), ColumnType::List(Box::new(ColumnType::Text)));
    let rows = current_rows(files.as_ref(), "Task");
    let row = &rows[r#"{"taskId":"1"}"#];
    let cell = |name: &str| &row[types.iter().position(|(of, _)| *of == name).unwrap()];
    assert_eq!(cell("price"), &Cell::Bytes(99_999_i128.to_be_bytes().to_vec()));
    assert_eq!(
        cell("big"),
        &Cell::Bytes(12_345_678_901_234_567_890_i128.to_be_bytes().to_vec())
    );
    assert_eq!(cell("free"), &Cell::text("0.000000000000000000000000000000000000001"));
    assert_eq!(cell("seconds"), &Cell::Long(1_000_000));
    assert_eq!(cell("anything"), &Cell::text("[null,1.5]"));
    let rooms = Cell::Map(vec![(b"a".to_vec(), Cell::Long(1))]);
    assert_eq!(
        cell("address"),
        &Cell::Struct(vec![Cell::text("s"), Cell::List(Vec::new()), rooms])
    );
}

#[tokio::test]
async fn a_lake_begins_with_the_rows_that_are_there_and_then_follows() {
    let (shop, folder) = (Shop::open(MODEL).await, Folder::new());
    shop.put(task("1", "a")).await;
    let files = folder.files();
    let mut follower = shop.follower(files.clone());
    shop.follow(&mut follower).await.unwrap();
    shop.put(task("1", "b")).await;
    shop.put(task("2", "c")).await;
    shop.delete("Task", "1").await;
    shop.follow(&mut follower).await.unwrap();
    let rows = change_rows(files.as_ref(), "Task");
    let kinds: Vec<&str> = rows.iter().map(|row| row[2].as_text().unwrap()).collect();
    assert_eq!(kinds, ["snapshot", "updated", "created", "deleted"]);
    assert_eq!(
        current_rows(files.as_ref(), "Task"),
        shop.scanned("Task", files.as_ref()).await
    );
    assert_eq!(replayed(files.as_ref(), "Task").len(), 1);
    // Another process goes on where this one was.
    shop.put(task("3", "d")).await;
    shop.follow(&mut shop.follower(files.clone())).await.unwrap();
    assert_eq!(change_rows(files.as_ref(), "Task").len(), 5);
    assert_eq!(lake_ids(files.as_ref(), "Task").len(), 4);
}

#[tokio::test]
async fn what_does_not_fit_is_kept_apart_and_is_no_row() {
    let (shop, folder) = (Shop::open(MODEL).await, Folder::new());
    let misfit = |id: &str| item("Task", id, json!({"title": {"N": "1"}}));
    shop.put(misfit("0")).await;
    let files = folder.files();
    let mut follower = shop.follower(files.clone());
    shop.follow(&mut follower).await.unwrap();
    shop.put(task("1", "a")).await;
    shop.put(task("2", "a")).await;
    shop.follow(&mut follower).await.unwrap();
    shop.put(misfit("1")).await;
    // It fits the model, but no column: an `int` without limits may be larger than 38 digits.
    let mut large = task("2", "b");
    large.insert("big".to_owned(), Value::N("1e50".parse().unwrap()));
    shop.put(large).await;
    shop.follow(&mut follower).await.unwrap();
    assert!(current_rows(files.as_ref(), "Task").is_empty());
    let misfits = TableLog::load_log(files.as_ref(), "_misfits").unwrap();
    let mut reasons: Vec<String> = table_rows(files.as_ref(), &misfits)
        .iter()
        .map(|row| row[3].as_text().unwrap().to_owned())
        .collect();
    reasons.sort();
    assert_eq!(reasons.len(), 3, "{reasons:?}");
    assert!(reasons[0].contains("more digits than a decimal"), "{reasons:?}");
    shop.put(task("2", "c")).await;
    shop.follow(&mut follower).await.unwrap();
    assert_eq!(
        current_rows(files.as_ref(), "Task"),
        shop.scanned("Task", files.as_ref()).await
    );
}

#[tokio::test]
async fn a_new_attribute_or_another_type_is_a_new_column() {
    let (mut shop, folder) = (Shop::open(MODEL).await, Folder::new());
    let files = folder.files();
    shop.put(task("1", "a")).await;
    shop.follow(&mut shop.follower(files.clone())).await.unwrap();
    let mut fuller = task("2", "b");
    fuller.insert("color".to_owned(), Value::S("red".to_owned()));
    shop.put(fuller).await;
    let other = MODEL
        .replace("count: int 0..100", "count: number 0.0..100.0")
        .replace("big: int?", "color: string?\n      Title: string?")
        .replace("{street: string,", "{street: string, city: string?,");
    shop.model = model_of(&other);
    let mut follower = LakeFollower::new(files.clone(), Arc::clone(&shop.model), shop.source(), 0);
    shop.follow(&mut follower).await.unwrap();
    let table = TableLog::load_log(files.as_ref(), "Task").unwrap();
    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    for name in ["count", "count_2", "big", "color", "title", "Title_2"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    let address = table.columns.iter().find(|column| column.name == "address").unwrap();
    let ColumnType::Struct(fields) = &address.ty else {
        panic!("{address:?}")
    };
    assert_eq!(fields.last().unwrap().name, "city");
    assert_eq!(
        current_rows(files.as_ref(), "Task"),
        shop.scanned("Task", files.as_ref()).await
    );
    let colors = names.iter().position(|name| *name == "color").unwrap();
    assert_eq!(
        current_rows(files.as_ref(), "Task")[r#"{"taskId":"2"}"#][colors],
        Cell::text("red")
    );
    // The model of before goes on with its own columns.
    shop.model = model_of(MODEL);
    shop.follow(&mut shop.follower(files.clone())).await.unwrap();
    assert_eq!(
        TableLog::load_log(files.as_ref(), "Task").unwrap().columns,
        table.columns
    );
}

#[tokio::test]
async fn checkpoints_and_compaction_change_nothing_that_is_read() {
    let (shop, folder) = (Shop::open(MODEL).await, Folder::new());
    let files = folder.files();
    let mut follower = shop.follower(files.clone());
    shop.follow(&mut follower).await.unwrap();
    for round in 0..70 {
        shop.put(task(&format!("{}", round % 9), &format!("{round}"))).await;
        shop.follow(&mut follower).await.unwrap();
    }
    let before = change_rows(files.as_ref(), "Task");
    let tidied = follower.tidy(shop.now()).await.unwrap();
    let table = TableLog::load_log(files.as_ref(), "Task_changes").unwrap();
    assert!(table.files.len() < 20, "{} files, {tidied:?}", table.files.len());
    assert!(!table.checkpoint_versions(files.as_ref()).unwrap().is_empty());
    assert_eq!(change_rows(files.as_ref(), "Task"), before);
    assert_alike(&shop, files.as_ref(), "Task").await;
    // Nothing of before is kept: what is there is all there is to read.
    let mut lake = Lake::open(files.clone(), Arc::clone(&shop.model), &[], shop.now()).unwrap();
    let removed = lake.vacuum(i64::MAX).unwrap().removed_files;
    assert!(removed > 60, "{removed}");
    assert_alike(&shop, files.as_ref(), "Task").await;
    shop.put(task("1", "last")).await;
    shop.follow(&mut follower).await.unwrap();
    assert_alike(&shop, files.as_ref(), "Task").await;
}

#[tokio::test]
async fn another_table_is_not_taken_for_the_one_of_before() {
    let (shop, folder) = (Shop::open(MODEL).await, Folder::new());
    let files = folder.files();
    for id in ["1", "2"] {
        shop.put(task(id, "a")).await;
    }
    shop.follow(&mut shop.follower(files.clone())).await.unwrap();
    // Its stream has the same places, and other changes there.
    let other = Shop::open(MODEL).await;
    other.put(task("2", "b")).await;
    other.put(task("3", "c")).await;
    for _ in 0..2 {
        other.follow(&mut other.follower(files.clone())).await.unwrap();
        assert_eq!(
            current_rows(files.as_ref(), "Task"),
            other.scanned("Task", files.as_ref()).await
        );
    }
    assert_eq!(change_rows(files.as_ref(), "Task").len(), 5);
    assert_eq!(replayed(files.as_ref(), "Task").len(), 2);
}

#[tokio::test]
async fn changes_that_are_gone_are_made_up_for_by_a_snapshot() {
    let (shop, folder) = (Shop::open(MODEL).await, Folder::new());
    let files = folder.files();
    for id in ["1", "2"] {
        shop.put(task(id, "a")).await;
    }
    let source = ForgetfulSource::new(shop.source());
    let mut follower = LakeFollower::new(files.clone(), Arc::clone(&shop.model), source.clone(), 0);
    shop.follow(&mut follower).await.unwrap();
    shop.delete("Task", "1").await;
    shop.put(task("2", "b")).await;
    shop.put(task("3", "c")).await;
    source.forget();
    shop.follow(&mut follower).await.unwrap();
    assert_eq!(
        current_rows(files.as_ref(), "Task"),
        shop.scanned("Task", files.as_ref()).await
    );
    let rows = change_rows(files.as_ref(), "Task");
    let mut kinds: Vec<&str> = rows.iter().skip(2).map(|row| row[2].as_text().unwrap()).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["deleted", "snapshot", "snapshot"]);
    assert_eq!(replayed(files.as_ref(), "Task").len(), 2);
    // From there on it follows again.
    shop.put(task("1", "d")).await;
    shop.follow(&mut follower).await.unwrap();
    assert_eq!(lake_ids(files.as_ref(), "Task").len(), 1);
    assert_eq!(
        current_rows(files.as_ref(), "Task"),
        shop.scanned("Task", files.as_ref()).await
    );
}

/// A row whose versions are items of their own.
const PRICES: &str = r#"
singlet: 1
name: prices
table: {name: prices, key: {partition: PK, sort: SK}, type: kind, stream: both_images}
entities:
  Price:
    attributes: {sku: string 1..8, since: time, until: time?, cents: int 0..}
    key: {PK: "SKU#{sku}", SK: "{since}"}
    history: {at: since, until: until}
"#;

#[tokio::test]
async fn a_version_that_does_not_fit_takes_the_place_of_the_one_before() {
    let (shop, folder) = (Shop::open(PRICES).await, Folder::new());
    let files = folder.files();
    let version = |second: u8, cents: Value| {
        let since = format!("2026-01-01T00:00:{second:02}.000Z");
        singlet_item::Item::from([
            ("PK".to_owned(), Value::S("SKU#x".to_owned())),
            ("SK".to_owned(), Value::S(since.clone())),
            ("kind".to_owned(), Value::S("Price".to_owned())),
            ("sku".to_owned(), Value::S("x".to_owned())),
            ("since".to_owned(), Value::S(since)),
            ("cents".to_owned(), cents),
        ])
    };
    let mut follower = shop.follower(files.clone());
    shop.follow(&mut follower).await.unwrap();
    shop.put(version(1, Value::N(1.into()))).await;
    shop.follow(&mut follower).await.unwrap();
    assert_eq!(current_rows(files.as_ref(), "Price").len(), 1);
    let mut closed = version(1, Value::N(1.into()));
    closed.insert("until".to_owned(), Value::S("2026-01-01T00:00:02.000Z".to_owned()));
    shop.put(version(2, Value::S("dear".to_owned()))).await;
    shop.put(closed).await;
    shop.follow(&mut follower).await.unwrap();
    assert!(current_rows(files.as_ref(), "Price").is_empty());
    assert!(replayed(files.as_ref(), "Price").is_empty());
}
