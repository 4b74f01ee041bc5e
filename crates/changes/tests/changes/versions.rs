//! Rows with versions.

use std::collections::BTreeMap;

use serde_json::json;
use singlet_item::Item;

use crate::support::{NOW, System};

/// Prices with versions, beside other rows of the same item collection.
fn model(sort: &str, tombstone: &str) -> String {
    format!(
        r#"
singlet: 1
name: prices
table: {{name: prices, key: {{partition: PK, sort: SK}}, type: kind, stream: both_images}}
entities:
  Price:
    attributes:
      sku: string 1..8
      since: time
      until: time?
      gone: bool = false
      cents: int 0..
    key: {{PK: "SKU#{{sku}}", SK: "{sort}"}}
    history: {{at: since, until: until{tombstone}, same: keep}}
  Label:
    attributes: {{sku: string 1..8, text: string 1..20}}
    key: {{PK: "SKU#{{sku}}", SK: "LABEL#{{text}}"}}
writes:
  first: {{allow: true, do: [{{create: Price, take: [sku, cents]}}]}}
  next: {{allow: true, args: {{sku: string 1..8, cents: int 0..}}, do: [{{update: Price(args.sku), set: {{cents: args.cents}}}}]}}
  drop: {{allow: true, args: {{sku: string 1..8}}, do: [{{delete: Price(args.sku)}}]}}
  label: {{allow: true, do: [{{create: Label, take: [sku, text]}}]}}
"#
    )
}

/// The life of a price: made, changed twice, removed, made again.
async fn lived(text: &str) -> System {
    let system = System::open(text).await;
    for at in 0..3 {
        let text = format!("l{at}");
        system.write("label", json!({"sku": "x", "text": text})).await;
    }
    system
        .write_at(NOW, "first", json!({"sku": "x", "cents": 1}))
        .await
        .unwrap();
    system
        .write_at(NOW + 1_000, "next", json!({"sku": "x", "cents": 2}))
        .await
        .unwrap();
    system
        .write_at(NOW + 2_000, "next", json!({"sku": "x", "cents": 3}))
        .await
        .unwrap();
    system.write_at(NOW + 3_000, "drop", json!({"sku": "x"})).await.unwrap();
    system
        .write_at(NOW + 4_000, "first", json!({"sku": "x", "cents": 4}))
        .await
        .unwrap();
    system
}

/// Each change of a price as `kind before -> after`, in cents.
async fn seen(system: &System) -> Vec<String> {
    let told = system.told().await;
    assert_eq!(told.misfits, []);
    let cents = |row: &Option<singlet_runtime::Attributes>| match row {
        Some(row) => {
            assert!(!row.contains_key("until"), "{row:?}");
            row["cents"].as_number().unwrap().to_string()
        }
        None => "-".to_owned(),
    };
    let prices = told.changes.iter().filter(|change| change.entity == "Price");
    prices
        .map(|change| {
            assert_eq!(change.key.len(), 1);
            format!(
                "{} {} -> {}",
                change.kind.word(),
                cents(&change.before),
                cents(&change.after)
            )
        })
        .collect()
}

#[tokio::test]
async fn a_version_is_the_change_and_the_one_before_it_is_what_was() {
    let expected = [
        "created - -> 1",
        "updated 1 -> 2",
        "updated 2 -> 3",
        "deleted 3 -> -",
        "created - -> 4",
    ];
    for sort in ["V#{since}", "V#{desc(since)}"] {
        for tombstone in [", tombstone: gone", ""] {
            let system = lived(&model(sort, tombstone)).await;
            assert_eq!(seen(&system).await, expected, "{sort}{tombstone}");
        }
    }
}

/// All in one instant: the version that is made again begins after the last was closed, so that it is not taken for the next one.
#[tokio::test]
async fn what_is_deleted_and_made_again_in_one_instant_is_no_update() {
    for tombstone in [", tombstone: gone", ""] {
        let system = System::open(&model("V#{since}", tombstone)).await;
        for (after, write) in [(0, "first"), (0, "drop"), (1, "first"), (1, "drop"), (2, "first")] {
            let args = match write {
                "first" => json!({"sku": "x", "cents": after}),
                _ => json!({"sku": "x"}),
            };
            system.write_at(NOW + after, write, args).await.unwrap();
        }
        let expected = [
            "created - -> 0",
            "deleted 0 -> -",
            "created - -> 1",
            "deleted 1 -> -",
            "created - -> 2",
        ];
        assert_eq!(seen(&system).await, expected, "{tombstone}");
    }
}

#[tokio::test]
async fn versions_told_one_by_one_are_told_alike() {
    let system = System::open(&model("V#{since}", ", tombstone: gone")).await;
    system
        .write_at(NOW, "first", json!({"sku": "x", "cents": 1}))
        .await
        .unwrap();
    assert_eq!(seen(&system).await, ["created - -> 1"]);
    system
        .write_at(NOW + 1_000, "next", json!({"sku": "x", "cents": 2}))
        .await
        .unwrap();
    assert_eq!(seen(&system).await, ["updated 1 -> 2"]);
    // The same again is no version, and no change.
    system
        .write_at(NOW + 2_000, "next", json!({"sku": "x", "cents": 2}))
        .await
        .unwrap();
    assert_eq!(seen(&system).await, [""; 0]);
    system.write_at(NOW + 3_000, "drop", json!({"sku": "x"})).await.unwrap();
    assert_eq!(seen(&system).await, ["deleted 2 -> -"]);
}

#[tokio::test]
async fn prices_of_others_in_the_same_partition_are_not_taken_for_it() {
    let text = model("V#{since}", ", tombstone: gone").replace(
        "Label:\n    attributes: {sku: string 1..8, text: string 1..20}",
        "Label:\n    attributes: {sku: string 1..8, text: string 1..20, note: string? 1..9}",
    );
    let text = text.replace(
        r#"PK: "SKU#{sku}", SK: "V#{since}""#,
        r#"PK: "SKUS", SK: "V#{since}#{sku}""#,
    );
    let system = System::open(&text).await;
    for sku in ["x", "y", "z"] {
        system
            .write_at(NOW, "first", json!({"sku": sku, "cents": 1}))
            .await
            .unwrap();
    }
    for sku in ["z", "y", "x"] {
        system
            .write_at(NOW + 1_000, "next", json!({"sku": sku, "cents": 2}))
            .await
            .unwrap();
    }
    assert_eq!(
        seen(&system).await,
        [["created - -> 1"; 3], ["updated 1 -> 2"; 3]].concat()
    );
}

/// The items of a table, as its stream told them last.
async fn items_of(system: &System) -> Vec<Item> {
    let mut items = BTreeMap::new();
    for record in system.records().await {
        items.insert(format!("{:?}", record.key), record.new);
    }
    items.into_values().flatten().collect()
}

/// The past is loaded in any order: the row is what its open version says, whichever comes last.
#[tokio::test]
async fn versions_that_are_past_when_they_are_written_are_no_changes() {
    for sort in ["V#{since}", "V#{desc(since)}"] {
        for tombstone in [", tombstone: gone", ""] {
            let text = model(sort, tombstone);
            let items = items_of(&lived(&text).await).await;
            let versions = items.iter().filter(|item| item.contains_key("since")).count();
            assert_eq!(versions, if tombstone.is_empty() { 4 } else { 5 });
            let mut orders = [items.clone(), items.clone(), items];
            orders[1].reverse();
            orders[2].rotate_left(5);
            for items in orders {
                let system = System::open(&text).await;
                for item in items {
                    system.put(item).await;
                }
                assert_eq!(seen(&system).await, ["created - -> 4"], "{sort}{tombstone}");
            }
        }
    }
}
