use serde_json::{Value as Json, json};
use singlet_item::Value;
use singlet_runtime::{Attributes, WriteRequest};

use super::support::{NOW, System, has, outcome, refused, user, word};

const COAT: &str = "2026-11-16T12:00:00.000Z";

fn coat() -> Json {
    json!({"userId": "ada", "Name": "Coat", "Category": "outer", "Season": "winter", "Color": "red"})
}

/// A wardrobe with one coat in it, and the coat's id.
async fn with_coat() -> (System, String) {
    let system = System::new("wardrobe").await;
    let item = system
        .write_once("createItem", &user("ada"), "k1", coat())
        .await
        .unwrap();
    (system, word(&item, "ItemId"))
}

#[tokio::test]
async fn a_new_item_comes_with_its_mirror_activity_and_record() {
    let (system, id) = with_coat().await;
    let activity = system.keys_under("USER#ada | ACTIVITY#").await;
    assert_eq!(activity.len(), 1);
    assert_eq!(
        system.keys().await,
        [
            format!("ITEM#{id} | METADATA"),
            activity[0].clone(),
            "USER#ada | IDEMPOTENCY#k1".to_owned(),
            format!("USER#ada | ITEM#{id}"),
        ]
    );
    has(
        &system.item(&format!("ITEM#{id} | METADATA")).await,
        &json!({
            "Name": "Coat", "UserId": "ada", "Category": "outer", "Season": "winter", "Color": "red", "SharedCount": 0,
            "IsPublic": false, "CreatedAt": COAT, "UpdatedAt": COAT, "IdempotencyKey": null, "EntityType": "Item",
            "Brand": null, "GSI1PK": null, "GSI1SK": null, "TTL": null,
        }),
    );
    has(
        &system.item(&format!("USER#ada | ITEM#{id}")).await,
        &json!({
            "Name": "Coat", "Category": "outer", "Season": "winter", "CreatedAt": COAT, "Color": null,
            "GSI1PK": "USER#ada#SEASON#winter", "GSI1SK": format!("ITEM#{COAT}"), "EntityType": "UserItem",
        }),
    );
    has(
        &system.item(&activity[0]).await,
        &json!({"ActivityType": "ItemCreated", "ItemId": id, "ItemName": "Coat", "Timestamp": COAT, "Metadata": null}),
    );
    has(
        &system.item("USER#ada | IDEMPOTENCY#k1").await,
        &json!({"ItemId": id, "ResponseStatus": 201, "CreatedAt": COAT, "TTL": NOW / 1000 + 86_400, "GSI1PK": null}),
    );
    system.check().await;
}

#[tokio::test]
async fn a_retried_create_answers_the_first_item_with_200() {
    let (system, id) = with_coat().await;
    system.pass(5_000);
    let request = WriteRequest {
        idempotency_key: Some("k1".to_owned()),
        ..system.request("createItem", &user("ada"), &coat())
    };
    let again = system.send("createItem", &request).await.unwrap();
    assert_eq!((again.status, again.replayed), (200, true));
    let record = system.item("USER#ada | IDEMPOTENCY#k1").await;
    let again = outcome(Ok(again)).unwrap();
    assert_eq!(again, record["ResponseBody"]);
    has(
        &again,
        &json!({"ItemId": id, "Name": "Coat", "CreatedAt": COAT, "SharedCount": 0, "IsPublic": false}),
    );
    assert_eq!(system.keys().await.len(), 4);
}

#[tokio::test]
async fn a_key_counts_for_one_caller_one_body_and_one_day() {
    let (system, id) = with_coat().await;
    let hat = json!({"userId": "ada", "Name": "Hat", "Category": "outer"});
    let other_body = system.write_once("createItem", &user("ada"), "k1", hat.clone()).await;
    assert_eq!(other_body, refused("key reused"));
    let other_write = system
        .write_once("shareItem", &user("ada"), "k1", json!({"itemId": id}))
        .await;
    assert_eq!(other_write, refused("key reused"));
    let bobs = json!({"userId": "bob", "Name": "Coat", "Category": "outer"});
    let bobs = system.write_once("createItem", &user("bob"), "k1", bobs).await.unwrap();
    assert_ne!(word(&bobs, "ItemId"), id);
    system.pass(86_400_000);
    let later = system.write_once("createItem", &user("ada"), "k1", hat).await.unwrap();
    assert_eq!(word(&later, "Name"), "Hat");
    system.check().await;
}

#[tokio::test]
async fn an_item_is_created_only_with_a_key_for_oneself_and_whole() {
    let system = System::new("wardrobe").await;
    assert_eq!(
        system.write("createItem", &user("ada"), coat()).await,
        refused("bad request: `createItem` needs an idempotency key")
    );
    assert_eq!(
        system.write_once("createItem", &user("bob"), "k", coat()).await,
        refused("forbidden")
    );
    let nameless = json!({"userId": "ada", "Category": "outer"});
    assert_eq!(
        system.write_once("createItem", &user("ada"), "k", nameless).await,
        refused("bad request: `createItem` needs the argument `Name`")
    );
    // An id of one's own choice could be that of another's item.
    let mut args: Attributes = system.args("createItem", &coat());
    args.insert("ItemId".to_owned(), Value::S("01ARZ3NDEKTSV4RRFFQ69G5FAV".to_owned()));
    let request = WriteRequest {
        args,
        idempotency_key: Some("k".to_owned()),
        ..system.request("createItem", &user("ada"), &json!({}))
    };
    let own_id = outcome(system.send("createItem", &request).await).unwrap_err();
    assert!(
        own_id.starts_with("bad request:") && own_id.contains("`ItemId`"),
        "{own_id}"
    );
    assert_eq!(system.keys().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_rename_reaches_the_mirror_and_a_new_season_its_index_key() {
    let (system, id) = with_coat().await;
    system.pass(1_000);
    let args = json!({"itemId": id, "Name": "Parka", "Season": "all-season", "Color": null});
    let item = system.write("updateItem", &user("ada"), args).await.unwrap();
    has(
        &item,
        &json!({"Name": "Parka", "Season": "all-season", "Color": null, "CreatedAt": COAT}),
    );
    has(
        &system.item(&format!("ITEM#{id} | METADATA")).await,
        &json!({"Name": "Parka", "Color": null, "UpdatedAt": "2026-11-16T12:00:01.000Z"}),
    );
    has(
        &system.item(&format!("USER#ada | ITEM#{id}")).await,
        &json!({"Name": "Parka", "GSI1PK": "USER#ada#SEASON#all-season", "GSI1SK": format!("ITEM#{COAT}")}),
    );
    let args = json!({"itemId": id, "Season": null});
    system.write("updateItem", &user("ada"), args).await.unwrap();
    has(
        &system.item(&format!("USER#ada | ITEM#{id}")).await,
        &json!({"Name": "Parka", "Season": null, "GSI1PK": null}),
    );
    system.check().await;
    let season = json!({"userId": "ada", "season": "winter"});
    assert_eq!(
        system.read("itemsBySeason", &user("ada"), season).await.unwrap(),
        json!([])
    );
    let all = system
        .read("items", &user("ada"), json!({"userId": "ada"}))
        .await
        .unwrap();
    assert_eq!(all[0]["Name"], "Parka");
}

#[tokio::test]
async fn an_item_that_does_not_need_its_mirror_changed_leaves_it() {
    let (system, id) = with_coat().await;
    let args = json!({"itemId": id, "Brand": "Wool & Co"});
    system.write("updateItem", &user("ada"), args).await.unwrap();
    let item = system.item(&format!("ITEM#{id} | METADATA")).await;
    assert_eq!(item["Brand"], "Wool & Co");
    system.check().await;
}

#[tokio::test]
async fn sharing_counts_once_per_key_and_is_told() {
    let (system, id) = with_coat().await;
    let args = json!({"itemId": id, "Metadata": {"with": "bob"}});
    let keyless = system.write("shareItem", &user("ada"), args.clone()).await;
    assert_eq!(keyless, refused("bad request: `shareItem` needs an idempotency key"));
    system.pass(1);
    let first = system
        .write_once("shareItem", &user("ada"), "s1", args.clone())
        .await
        .unwrap();
    has(&first, &json!({"SharedCount": 1, "IsPublic": true}));
    let again = system
        .write_once("shareItem", &user("ada"), "s1", args.clone())
        .await
        .unwrap();
    assert_eq!(first, again);
    system.pass(1);
    let second = system.write_once("shareItem", &user("ada"), "s2", args).await.unwrap();
    has(&second, &json!({"SharedCount": 2}));
    let activities = system
        .read("activities", &user("ada"), json!({"userId": "ada"}))
        .await
        .unwrap();
    let kinds: Vec<&Json> = activities
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["ActivityType"])
        .collect();
    assert_eq!(kinds, ["ItemShared", "ItemShared", "ItemCreated"]);
    has(
        &activities[0],
        &json!({"ItemName": "Coat", "ItemId": id, "Metadata": {"with": "bob"}}),
    );
    assert_eq!(
        system.read("item", &user("bob"), json!({"itemId": id})).await.unwrap()["Name"],
        "Coat"
    );
    system.check().await;
}

#[tokio::test]
async fn a_deleted_item_takes_its_mirror_and_leaves_what_happened() {
    let (system, id) = with_coat().await;
    let args = json!({"itemId": id});
    assert_eq!(
        system.write("deleteItem", &user("ada"), args.clone()).await,
        Ok(Json::Null)
    );
    assert_eq!(system.keys_under("ITEM#").await, Vec::<String>::new());
    assert_eq!(system.keys_under("USER#ada | ITEM#").await, Vec::<String>::new());
    assert_eq!(system.keys_under("USER#ada | ACTIVITY#").await.len(), 1);
    assert_eq!(
        system.write("deleteItem", &user("ada"), args).await,
        refused("item_not_found 404")
    );
    system.check().await;
}

#[tokio::test]
async fn a_deletion_that_is_retried_with_its_key_is_done() {
    let (system, id) = with_coat().await;
    let args = json!({"itemId": id});
    for _ in 0..2 {
        assert_eq!(
            system.write_once("deleteItem", &user("ada"), "d", args.clone()).await,
            Ok(Json::Null)
        );
    }
}

#[tokio::test]
async fn nobody_changes_what_is_anothers() {
    let (system, id) = with_coat().await;
    let before = system.dump().await;
    let bob = user("bob");
    let rename = json!({"itemId": id, "Name": "Mine"});
    assert_eq!(
        system.write("updateItem", &bob, rename).await,
        refused("item_not_found 404")
    );
    let args = json!({"itemId": id});
    assert_eq!(
        system.write("deleteItem", &bob, args.clone()).await,
        refused("item_not_found 404")
    );
    assert_eq!(
        system.write_once("shareItem", &bob, "s", args).await,
        refused("item_not_found 404")
    );
    let nothing = json!({"itemId": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "Name": "x"});
    assert_eq!(
        system.write("updateItem", &user("ada"), nothing).await,
        refused("item_not_found 404")
    );
    assert_eq!(system.dump().await, before);
}
