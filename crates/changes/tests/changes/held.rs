//! A table that was restored: nothing runs by itself on it until it is released.

use std::sync::Arc;

use serde_json::json;
use singlet_changes::{FollowError, Followers, Ticker, TriggerFollower, TriggerObserver, Unobserved};
use singlet_runtime::HeldTable;

use crate::support::{NOW, System, followers_of};
use crate::triggers::start;
use crate::webhooks::{Receiver, SHOP, sender};

const CLOCK: &str = r#"
singlet: 1
name: clock
table: {name: clock, key: {partition: PK, sort: SK}, type: kind}
entities:
  Note:
    attributes: {id: string 1..8, n: int 0..1000 = 0}
    key: {PK: "NOTE#{id}", SK: "NOTE"}
writes:
  note: {allow: true, do: [{create: Note, take: [id]}]}
  strike:
    every: 1h
    do: [{update: Note("a"), add: {n: 1}}]
"#;

fn held() -> HeldTable {
    HeldTable {
        archive: "0123".to_owned(),
        from: "exports/1".to_owned(),
        since_millis: NOW,
    }
}

fn is_held<T>(ended: Result<T, FollowError>) -> bool {
    matches!(ended.map(drop), Err(FollowError::Held(known)) if known == held())
}

#[tokio::test]
async fn deliveries_and_timers_wait_until_it_is_released() {
    let system = System::open(SHOP).await;
    let engine = &system.engine;
    let receiver = Arc::new(Receiver::default());
    let mut follower = start(engine).await;
    // A delivery and a timer are there, as a restored table has them.
    system
        .write("order", json!({"id": "a", "text": "x", "remindAt": NOW + 30_000}))
        .await;
    while follower.follow_page(&|| NOW).await.unwrap().records > 0 {}
    drop(follower);
    engine.hold_table(&held()).await.unwrap();
    assert_eq!(engine.held_table().await.unwrap(), Some(held()));
    let later = NOW + 60_000;
    let sender = sender(engine, &receiver);
    for webhook in &engine.model().webhooks {
        assert!(is_held(sender.send_due(webhook, &|| later).await), "{}", webhook.name);
    }
    assert!(is_held(
        TriggerFollower::start(Arc::clone(engine), Arc::new(Unobserved), later).await
    ));
    // What callers write meanwhile waits, too.
    system.write("count", json!({"id": "a"})).await;
    assert_eq!(receiver.take().len(), 0);
    assert!(engine.release_table().await.unwrap());
    let mut follower = start(engine).await;
    while follower.follow_page(&|| later).await.unwrap().records > 0 {}
    follower.fire_due(later).await.unwrap();
    for webhook in &engine.model().webhooks {
        while sender.send_due(webhook, &|| later).await.unwrap() > 0 {}
    }
    let mut told: Vec<String> = receiver.take().into_iter().map(|(webhook, ..)| webhook).collect();
    told.sort();
    assert_eq!(told, ["counted", "ordered", "reminded"]);
}

#[tokio::test]
async fn clocks_wait_until_it_is_released() {
    let system = System::open(CLOCK).await;
    let engine = &system.engine;
    system.write("note", json!({"id": "a"})).await;
    let observer: Arc<dyn TriggerObserver> = Arc::new(Unobserved);
    engine.hold_table(&held()).await.unwrap();
    assert!(is_held(Ticker::start_all(engine, &observer, NOW).await));
    assert!(is_held(Ticker::start_all(engine, &observer, NOW + 7_200_000).await));
    engine.release_table().await.unwrap();
    let mut all = Ticker::start_all(engine, &observer, NOW + 7_200_000).await.unwrap();
    // It was entered while it was held, so that a tick was missed.
    assert!(all[0].run_due(NOW + 7_200_000).await.unwrap().is_some());
}

/// A follower with a name of its own acts for who asked for it, and is no business of the table's.
#[tokio::test]
async fn who_reads_changes_by_hand_may() {
    let system = System::open(SHOP).await;
    system.engine.hold_table(&held()).await.unwrap();
    let followers: Followers = followers_of(&system.engine);
    assert!(followers.names().await.unwrap().is_empty());
    // The row is of no entity, and no change.
    assert_eq!(system.told().await.changes.len(), 0);
}
