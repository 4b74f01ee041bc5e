//! Who follows changes has read all of the old model's before rows are changed; and what is dropped late goes, too.

use std::sync::Arc;

use singlet_changes::{Follower, Followers};
use singlet_migrate::{MigrateError, MigrateOptions};
use singlet_runtime::{Engine, load};

use super::place;
use super::support::{NOW, Table, assert_same, migrated, open_to_write};

const STREAMED: &str = r#"
singlet: 1
name: work
table: {name: TABLE, key: {partition: PK, sort: SK}, type: kind, stream: both_images}
entities:
  Step:
    attributes: {a: string 1..9, b: string 1..9}
    key: {PK: "STEP", SK: "{a}"}
  Note:
    attributes: {id: string 1..9}
    key: {PK: "NOTE", SK: "{id}"}
    unique: {id: id}
"#;

const LINES: &str = r#"{"Step": {"a": "1", "b": "2"}}
{"Step": {"a": "2", "b": "3"}}
{"Note": {"id": "n"}}"#;

async fn opened() -> (Table, Engine) {
    let table = Table::named(place::store().await);
    let old = table.engine(STREAMED);
    open_to_write(&old).await.unwrap();
    (table, old)
}

fn followers(engine: &Engine) -> Followers {
    Followers::new(Arc::clone(engine.model()), Arc::new(Arc::clone(engine.store())))
}

#[tokio::test]
async fn followers_catch_up_first() {
    let (table, old) = opened().await;
    let mut first = Follower::start(followers(&old), "audit-log", NOW / 1000).await.unwrap();
    let mut second = Follower::start(followers(&old), "mail", NOW / 1000).await.unwrap();
    load::load_text(&old, LINES, NOW).await.unwrap();
    while !first.is_at_head() {
        first.next_page(NOW / 1000).await.unwrap();
    }
    first.note_progress(NOW / 1000).await.unwrap();
    let before = table.contents().await;
    let new = table.engine(&STREAMED.replace("SK: \"{a}\"", "SK: \"{b}\""));
    let error = migrated(&old, &new, MigrateOptions::default()).await.unwrap_err();
    assert!(matches!(error, MigrateError::Behind(_)), "{error}");
    let said = error.to_string();
    assert!(
        said.contains("mail: 3 changes behind") && !said.contains("audit-log"),
        "{said}"
    );
    assert_same("behind", &table.contents().await, &before);
    open_to_write(&old).await.unwrap();
    while !second.is_at_head() {
        second.next_page(NOW / 1000).await.unwrap();
    }
    second.note_progress(NOW / 1000).await.unwrap();
    migrated(&old, &new, MigrateOptions::default()).await.unwrap();
    open_to_write(&new).await.unwrap();
}

#[tokio::test]
async fn one_who_is_given_up_keeps_nobody() {
    let (table, old) = opened().await;
    let _ = Follower::start(followers(&old), "mail", NOW / 1000).await.unwrap();
    load::load_text(&old, LINES, NOW).await.unwrap();
    followers(&old).forget_follower("mail").await.unwrap();
    let new = table.engine(&STREAMED.replace("SK: \"{a}\"", "SK: \"{b}\""));
    migrated(&old, &new, MigrateOptions::default()).await.unwrap();
}

/// The rows of an entity that is gone are dropped, though the new model was open on the table before, or is all that it knows.
#[tokio::test]
async fn what_is_gone_is_dropped_late() {
    let drops = MigrateOptions {
        drops: true,
        ..MigrateOptions::default()
    };
    for forgets in [false, true] {
        let (table, old) = opened().await;
        load::load_text(&old, LINES, NOW).await.unwrap();
        let note = STREAMED.find("  Note:").unwrap();
        let new = table.engine(&STREAMED[..note]);
        open_to_write(&new).await.unwrap();
        if forgets {
            migrated(&old, &new, MigrateOptions::default()).await.unwrap();
            assert_eq!(new.table_control().await.unwrap().unwrap().faces().len(), 1);
        }
        let is_note = |key: &String| key.contains("NOTE");
        assert!(table.contents().await.keys().any(is_note));
        let ended = migrated(&old, &new, drops).await.unwrap();
        assert!(!ended.was_done);
        let left = table.contents().await;
        assert!(!left.keys().any(is_note), "{:?}", left.keys());
        assert_eq!(
            left.values().filter(|item| item.contains_key("$of")).count(),
            0,
            "{left:?}"
        );
        assert!(migrated(&old, &new, drops).await.unwrap().was_done);
        open_to_write(&new).await.unwrap();
    }
}
