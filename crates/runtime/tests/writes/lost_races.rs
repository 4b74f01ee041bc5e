//! What an operation saw and did not change must still be so when it is done: somebody else is just a little faster.

use std::sync::Arc;

use serde_json::json;
use singlet_runtime::Caller;

use super::faulty_store::FaultyStore;
use super::support::{System, has, refused, user};

const MODEL: &str = r#"
singlet: 1
name: meanwhile
table:
  name: meanwhile
  key: {partition: PK, sort: SK}
  type: type
callers:
  jwt: {audience: meanwhile, claims: {id: sub}}
entities:
  Visit:
    attributes: {id: string 1..40}
    key: {PK: "VISIT#{id}", SK: "VISIT"}
  Badge:
    attributes:
      id: string 1..40
      name: string 1..40
    key: {PK: "BADGE#{id}", SK: "BADGE"}
    unique: {name: name}
  Room:
    attributes: {id: string 1..40}
    key: {PK: "ROOM#{id}", SK: "ROOM"}
    excludes: Visit(id)
  Rate:
    attributes:
      code: string 1..10
      from: time
      until: time?
      label: string 1..40
    key: {PK: "RATE#{code}", SK: "{from}"}
    history: {at: from, until: until, same: keep}
    unique: {label: label}
reads:
  badge:
    args: {id: string 1..40}
    get: Badge
    where: id == args.id
    allow: true
  rates:
    args: {code: string 1..10}
    find: Rate
    where: code == args.code
    versions: all
    order: from
    allow: true
writes:
  wear:
    allow: true
    do:
      - create: Badge
        take: [id, name]
  takeOff:
    args: {id: Badge.id}
    allow: true
    do:
      - delete: Badge(args.id)
  visit:
    args: {name: Badge.name}
    allow: true
    do:
      - create: Visit
        take: [id]
      - create: Badge
        set: {id: args.id, name: args.name}
        else: skip
  enter:
    args: {id: Visit.id}
    allow: true
    do:
      - create: Visit
        take: [id]
  leave:
    args: {id: Visit.id}
    allow: true
    do:
      - delete: Visit(args.id)
  open:
    args: {room: Room.id, badge: Badge.id}
    allow: true
    do:
      - create: Room
        set: {id: args.room}
        else: skip
      - create: Badge
        set: {id: args.badge, name: args.badge}
  setRate:
    allow: true
    do:
      - create: Rate
        take: [code, label]
  changeRate:
    args: {code: Rate.code}
    allow: true
    do:
      - update: Rate(args.code)
        take: [label]
  dropRate:
    args: {code: Rate.code}
    allow: true
    do:
      - delete: Rate(args.code)
"#;

async fn two() -> (Arc<FaultyStore>, System, System) {
    let store = FaultyStore::new(0, 1);
    let first = System::placed("meanwhile", MODEL, (store.clone(), false)).await;
    let second = System::placed("meanwhile", MODEL, (store.clone(), false)).await;
    (store, first, second)
}

fn anybody() -> Caller {
    user("ada")
}

#[tokio::test]
async fn a_step_that_a_taken_name_skips_is_taken_where_the_name_is_given_up_meanwhile() {
    let (store, system, other) = two().await;
    let gold = json!({"id": "bob", "name": "gold"});
    system.write("wear", &anybody(), gold).await.unwrap();
    store.meanwhile(async move {
        other.write("takeOff", &anybody(), json!({"id": "bob"})).await.unwrap();
    });
    let visit = json!({"id": "eve", "name": "gold"});
    system.write("visit", &anybody(), visit).await.unwrap();
    let badge = system.read("badge", &anybody(), json!({"id": "eve"})).await.unwrap();
    has(&badge, &json!({"id": "eve", "name": "gold"}));
    system.check().await;
}

#[tokio::test]
async fn a_step_that_a_taken_name_skips_stays_skipped() {
    let (_, system, _) = two().await;
    system
        .write("wear", &anybody(), json!({"id": "bob", "name": "gold"}))
        .await
        .unwrap();
    system
        .write("visit", &anybody(), json!({"id": "eve", "name": "gold"}))
        .await
        .unwrap();
    assert_eq!(system.keys_under("BADGE#").await, ["BADGE#bob | BADGE"]);
    assert_eq!(system.keys_under("VISIT#").await, ["VISIT#eve | VISIT"]);
}

#[tokio::test]
async fn a_step_that_another_row_excludes_is_taken_where_that_goes_meanwhile() {
    let (store, system, other) = two().await;
    system.write("enter", &anybody(), json!({"id": "red"})).await.unwrap();
    store.meanwhile(async move {
        other.write("leave", &anybody(), json!({"id": "red"})).await.unwrap();
    });
    let open = json!({"room": "red", "badge": "b"});
    system.write("open", &anybody(), open).await.unwrap();
    assert_eq!(system.keys_under("ROOM#").await, ["ROOM#red | ROOM"]);
}

#[tokio::test]
async fn what_ended_without_a_tombstone_begins_again_and_gives_its_name_back() {
    let (_, system, _) = two().await;
    let rate = |label: &str| json!({"code": "eur", "label": label});
    system.write("setRate", &anybody(), rate("a")).await.unwrap();
    system
        .write("dropRate", &anybody(), json!({"code": "eur"}))
        .await
        .unwrap();
    assert_eq!(
        system.write("dropRate", &anybody(), json!({"code": "eur"})).await,
        refused("rate_not_found 404")
    );
    assert_eq!(
        system.write("changeRate", &anybody(), rate("b")).await,
        refused("rate_not_found 404")
    );
    // The name is free for another, and the code for a new beginning at the very same instant.
    let other = json!({"code": "usd", "label": "a"});
    system.write("setRate", &anybody(), other).await.unwrap();
    system.write("setRate", &anybody(), rate("c")).await.unwrap();
    system.write("changeRate", &anybody(), rate("d")).await.unwrap();
    assert_eq!(
        system.write("setRate", &anybody(), rate("e")).await,
        refused("rate_exists 409")
    );
    system
        .write("dropRate", &anybody(), json!({"code": "eur"}))
        .await
        .unwrap();
    system.pass(1_000);
    system.write("setRate", &anybody(), rate("f")).await.unwrap();
    let versions = system.read("rates", &anybody(), json!({"code": "eur"})).await.unwrap();
    let versions = versions.as_array().unwrap();
    let labels: Vec<_> = versions
        .iter()
        .map(|version| version["label"].as_str().unwrap())
        .collect();
    assert_eq!(labels, ["a", "c", "d", "f"]);
    for pair in versions.windows(2) {
        assert!(pair[0]["until"].as_str() <= pair[1]["from"].as_str(), "{pair:?}");
        assert!(pair[0]["from"].as_str() < pair[0]["until"].as_str(), "{pair:?}");
    }
    assert_eq!(versions[3]["until"].as_str(), None);
}

#[tokio::test]
async fn of_two_that_begin_again_one_is_first() {
    let (store, system, other) = two().await;
    let rate = |label: &str| json!({"code": "eur", "label": label});
    system.write("setRate", &anybody(), rate("a")).await.unwrap();
    system
        .write("dropRate", &anybody(), json!({"code": "eur"}))
        .await
        .unwrap();
    other.pass(5_000);
    let faster = rate("b");
    store.meanwhile(async move {
        other.write("setRate", &anybody(), faster).await.unwrap();
        other
            .write("dropRate", &anybody(), json!({"code": "eur"}))
            .await
            .unwrap();
    });
    system.write("setRate", &anybody(), rate("c")).await.unwrap();
    let versions = system.read("rates", &anybody(), json!({"code": "eur"})).await.unwrap();
    let versions = versions.as_array().unwrap();
    let labels: Vec<_> = versions
        .iter()
        .map(|version| version["label"].as_str().unwrap())
        .collect();
    assert_eq!(labels, ["a", "b", "c"], "no version may stand within another");
}
