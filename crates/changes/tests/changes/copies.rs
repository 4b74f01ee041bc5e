//! Copies that follow their source through the stream.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::json;
use singlet_changes::{
    LOOK_AGAIN_MILLIS, ParkedChanges, TriggerFollower, Unobserved, ask_for_repair, entities_with_kept_copies,
    repair_answer, repair_as_asked, repair_copies,
};
use singlet_item::{Item, Value};
use singlet_runtime::{Attributes, Engine};
use singlet_store::{PageAnswer, QueryRequest, Result, Store, StoreLayer};

use crate::dying::dying_engine;
use crate::support::{NOW, System, followers_of};
use crate::triggers::{of_kind, rest, rows, start};

const FEED: &str = r#"
singlet: 1
name: feed
table:
  name: feed
  key: {partition: PK, sort: SK}
  indexes:
    GSI1: {partition: GSI1PK, sort: GSI1SK}
  type: kind
  ttl: ttl
  stream: both_images
entities:
  Item:
    attributes: {id: string 1..8, owner: string 1..8, name: string 1..20, nick: string? 1..20, n: int = 0}
    key: {PK: "ITEM#{id}", SK: "ITEM"}
  Event:
    attributes:
      owner: Item.owner
      no: int 1..999
      id: Item.id
      name: {copy: "Item(id).name", kept: stream, found: owner == source.owner}
      nick: {copy: "Item(id).nick", kept: stream, found: owner == source.owner}
    key: {PK: "OWNER#{owner}", SK: "EVENT#{no}"}
  Like:
    attributes:
      who: string 1..8
      id: Item.id
      name: {copy: "Item(id).name", kept: stream}
    key: {PK: "WHO#{who}", SK: "LIKE#{id}"}
    index:
      GSI1: {GSI1PK: "ITEM#{id}", GSI1SK: "LIKE#{name}#{who}"}
writes:
  add: {allow: true, do: [{create: Item, take: [id, owner, name, nick]}]}
  rename: {args: {id: string 1..8}, allow: true, do: [{update: Item(args.id), patch: [name, nick, n]}]}
  drop: {args: {id: string 1..8}, allow: true, do: [{delete: Item(args.id)}]}
  happen: {allow: true, do: [{create: Event, take: [owner, no, id]}]}
  like: {allow: true, do: [{create: Like, take: [who, id]}]}
"#;

fn names(items: &[Item], kind: &str) -> Vec<String> {
    let name = |item: &&Item| item.get("name").and_then(Value::as_str).unwrap_or("-").to_owned();
    of_kind(items, kind).iter().map(name).collect()
}

#[tokio::test]
async fn copies_follow_to_every_row_that_holds_one() {
    let system = System::open(FEED).await;
    let mut follower = start(&system.engine).await;
    system
        .write("add", json!({"id": "a", "owner": "ada", "name": "one"}))
        .await;
    system
        .write("add", json!({"id": "b", "owner": "ada", "name": "other", "nick": "o"}))
        .await;
    for no in 1..=150 {
        let id = if no % 10 == 0 { "b" } else { "a" };
        system
            .write("happen", json!({"owner": "ada", "no": no, "id": id}))
            .await;
    }
    system.write("like", json!({"who": "bob", "id": "a"})).await;
    rest(&mut follower).await;
    system.write("rename", json!({"id": "a", "name": "two"})).await;
    system.write("rename", json!({"id": "a", "n": 7})).await;
    follower.follow_page(&|| NOW).await.unwrap();
    rest(&mut follower).await;
    let parked = ParkedChanges::new(followers_of(&system.engine))
        .list_parked()
        .await
        .unwrap();
    assert!(parked.is_empty(), "{parked:?}");
    let all = rows(&system.engine).await;
    let events = names(&all, "Event");
    assert_eq!(events.iter().filter(|name| *name == "two").count(), 135, "{events:?}");
    assert_eq!(events.iter().filter(|name| *name == "other").count(), 15);
    assert_eq!(
        of_kind(&all, "Event")
            .iter()
            .filter(|event| event.contains_key("nick"))
            .count(),
        15
    );
    assert_eq!(names(&all, "Like"), ["two"]);
    // What is made of the copy follows, too.
    assert_eq!(of_kind(&all, "Like")[0]["GSI1SK"], Value::S("LIKE#two#bob".to_owned()));
    // A value that goes, goes in the copies; a source that goes leaves them.
    system.write("rename", json!({"id": "b", "nick": null})).await;
    system.write("rename", json!({"id": "a", "name": "three"})).await;
    system.write("drop", json!({"id": "a"})).await;
    follower.follow_page(&|| NOW).await.unwrap();
    rest(&mut follower).await;
    let all = rows(&system.engine).await;
    assert_eq!(
        names(&all, "Like"),
        ["two"],
        "the source was gone before anybody looked"
    );
    assert!(of_kind(&all, "Event").iter().all(|event| !event.contains_key("nick")));
    let parked = ParkedChanges::new(followers_of(&system.engine))
        .list_parked()
        .await
        .unwrap();
    assert!(parked.is_empty(), "{parked:?}");
}

/// Follows until its process ends, or nothing is left.
async fn dies(system: &System, calls: usize) -> bool {
    let (engine, ended) = dying_engine(&system.engine, calls);
    let follows = async {
        let started = TriggerFollower::start(engine, Arc::new(Unobserved), NOW).await;
        let Ok(mut follower) = started else { return };
        while !follower.is_at_head() {
            if follower.follow_page(&|| NOW).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = follows => false,
        () = ended.notified() => true,
    }
}

#[tokio::test]
async fn killed_at_any_call_and_beside_others_copies_are_what_their_source_is() {
    let mut kills = 0;
    for seed in 0..10 {
        let mut random = fastrand::Rng::with_seed(seed);
        let system = System::open(FEED).await;
        start(&system.engine).await;
        for id in ["a", "b"] {
            system
                .write("add", json!({"id": id, "owner": "ada", "name": "begin"}))
                .await;
            system.write("like", json!({"who": "bob", "id": id})).await;
        }
        for no in 1..=12 {
            let id = ["a", "b"][random.usize(..2)];
            system
                .write("happen", json!({"owner": "ada", "no": no, "id": id}))
                .await;
            for _ in 0..random.usize(..3) {
                let id = ["a", "b"][random.usize(..2)];
                let name = format!("name{}", random.u16(..));
                system.write("rename", json!({"id": id, "name": name})).await;
            }
            let (first, second) = (random.usize(1..50), random.usize(1..50));
            let both = tokio::join!(dies(&system, first), dies(&system, second));
            kills += usize::from(both.0) + usize::from(both.1);
        }
        rest(&mut start(&system.engine).await).await;
        let all = rows(&system.engine).await;
        for holder in of_kind(&all, "Event").into_iter().chain(of_kind(&all, "Like")) {
            let source = of_kind(&all, "Item")
                .into_iter()
                .find(|item| item["id"] == holder["id"]);
            assert_eq!(source.unwrap().get("name"), holder.get("name"), "seed {seed}");
        }
    }
    assert!(kills > 60, "{kills}");
}

#[tokio::test]
async fn what_did_not_follow_is_mended() {
    let system = System::open(FEED).await;
    let mut follower = start(&system.engine).await;
    for id in ["a", "b", "c"] {
        system
            .write("add", json!({"id": id, "owner": "ada", "name": "one", "nick": "n"}))
            .await;
        system.write("like", json!({"who": "bob", "id": id})).await;
    }
    for no in 1..=9 {
        let id = ["a", "b", "c"][no % 3];
        system
            .write("happen", json!({"owner": "ada", "no": no, "id": id}))
            .await;
    }
    rest(&mut follower).await;
    // Somebody writes past the service, and one source goes.
    let all = rows(&system.engine).await;
    for event in of_kind(&all, "Event") {
        let mut wrong = event.clone();
        wrong.insert("name".to_owned(), "wrong".into());
        wrong.remove("nick");
        system.put(wrong).await;
    }
    system.write("drop", json!({"id": "c"})).await;
    let model = Arc::clone(system.engine.model());
    let likes: Vec<_> = entities_with_kept_copies(&model)
        .filter(|entity| entity.name == "Like")
        .collect();
    let none = repair_copies(&system.engine, &likes, &|| NOW).await.unwrap();
    assert_eq!((none.rows, none.stale, none.sources, none.left), (3, 0, 0, 0));
    let entities: Vec<_> = entities_with_kept_copies(&model).collect();
    let repaired = repair_copies(&system.engine, &entities, &|| NOW).await.unwrap();
    assert_eq!(repaired.rows, 12);
    // Two attributes of two sources; the first row of each has all rows of its source follow.
    assert_eq!((repaired.sources, repaired.left), (4, 0), "{repaired:?}");
    let again = repair_copies(&system.engine, &entities, &|| NOW).await.unwrap();
    assert_eq!((again.rows, again.stale), (12, 0));
    let all = rows(&system.engine).await;
    let wrong = names(&all, "Event").into_iter().filter(|name| name == "wrong").count();
    assert_eq!(wrong, 3, "those whose source is gone");
}

/// A store whose indexes do not have some rows yet.
#[derive(Debug)]
struct LateIndex {
    store: Arc<dyn Store>,
    /// What tells rows that no index has.
    missing: Mutex<Vec<Value>>,
}

#[async_trait]
impl StoreLayer for LateIndex {
    fn beneath(&self) -> &dyn Store {
        &*self.store
    }

    async fn query(&self, request: &QueryRequest) -> Result<PageAnswer> {
        let mut page = self.store.query(request).await?;
        if request.index.is_some() {
            let missing = self.missing.lock().unwrap();
            page.items
                .retain(|item| !item.values().any(|value| missing.contains(value)));
        }
        Ok(page)
    }
}

async fn sorted_likes(engine: &Engine) -> Vec<String> {
    let mut names = names(&rows(engine).await, "Like");
    names.sort();
    names
}

#[tokio::test]
async fn rows_that_an_index_did_not_have_yet_are_looked_for_again() {
    let system = System::open(FEED).await;
    let late = Arc::new(LateIndex {
        store: Arc::clone(system.engine.store()),
        missing: Mutex::default(),
    });
    let store: Arc<dyn Store> = late.clone();
    let engine = Arc::new(Engine::open(
        Arc::clone(system.engine.model()),
        store,
        Attributes::new(),
        [7; 32],
    ));
    let started = TriggerFollower::start(Arc::clone(&engine), Arc::new(Unobserved), NOW).await;
    let mut follower = started.unwrap().with_late_indexes();
    system
        .write("add", json!({"id": "a", "owner": "ada", "name": "one"}))
        .await;
    system.write("like", json!({"who": "bob", "id": "a"})).await;
    system.write("like", json!({"who": "cat", "id": "a"})).await;
    late.missing.lock().unwrap().push("cat".into());
    system.write("rename", json!({"id": "a", "name": "two"})).await;
    rest(&mut follower).await;
    assert_eq!(sorted_likes(&engine).await, ["one", "two"]);
    // The index has it by now. A process that takes over does what was due, and the source may be another by then.
    late.missing.lock().unwrap().clear();
    assert_eq!(follower.next_instant(), Some(NOW + LOOK_AGAIN_MILLIS));
    let started = TriggerFollower::start(Arc::clone(&engine), Arc::new(Unobserved), NOW).await;
    let mut follower = started.unwrap().with_late_indexes();
    assert_eq!(follower.fire_due(NOW + LOOK_AGAIN_MILLIS - 1).await.unwrap(), 0);
    assert_eq!(sorted_likes(&engine).await, ["one", "two"]);
    assert_eq!(follower.fire_due(NOW + LOOK_AGAIN_MILLIS).await.unwrap(), 1);
    assert_eq!(sorted_likes(&engine).await, ["two", "two"]);
    // A look has no look.
    rest(&mut follower).await;
    assert_eq!(follower.fire_due(NOW + 2 * LOOK_AGAIN_MILLIS).await.unwrap(), 0);
    // Where a source is gone, its copies stay.
    system.write("rename", json!({"id": "a", "name": "three"})).await;
    follower.follow_page(&|| NOW).await.unwrap();
    rest(&mut follower).await;
    system.write("drop", json!({"id": "a"})).await;
    follower.follow_page(&|| NOW).await.unwrap();
    rest(&mut follower).await;
    assert_eq!(follower.fire_due(NOW + LOOK_AGAIN_MILLIS).await.unwrap(), 1);
    assert_eq!(sorted_likes(&engine).await, ["three", "three"]);
}

#[tokio::test]
async fn where_indexes_are_as_the_table_nothing_is_looked_for_again() {
    let system = System::open(FEED).await;
    let mut follower = start(&system.engine).await;
    system
        .write("add", json!({"id": "a", "owner": "ada", "name": "one"}))
        .await;
    system.write("rename", json!({"id": "a", "name": "two"})).await;
    rest(&mut follower).await;
    assert_eq!(follower.next_instant(), None);
}

#[tokio::test]
async fn what_is_mended_runs_nothing_and_is_marked() {
    let text = FEED.to_owned()
        + r#"  countEvents: {after: {update: Event}, let: {i: Item(row.id)}, do: [{update: i, add: {n: 1}}]}
"#;
    let system = System::open(&text).await;
    let mut follower = start(&system.engine).await;
    system
        .write("add", json!({"id": "a", "owner": "ada", "name": "one"}))
        .await;
    system
        .write("happen", json!({"owner": "ada", "no": 1, "id": "a"}))
        .await;
    system.write("rename", json!({"id": "a", "name": "two"})).await;
    rest(&mut follower).await;
    // The copy followed, and the write ran after that.
    let all = rows(&system.engine).await;
    assert_eq!(of_kind(&all, "Item")[0]["n"], Value::from(1));
    let mut wrong = of_kind(&all, "Event")[0].clone();
    wrong.insert("name".to_owned(), "wrong".into());
    system.put(wrong).await;
    follower.follow_page(&|| NOW).await.unwrap();
    rest(&mut follower).await;
    assert_eq!(of_kind(&rows(&system.engine).await, "Item")[0]["n"], Value::from(2));
    system.told().await;
    // Somebody asks for it; whoever follows does it once.
    let followers = followers_of(&system.engine);
    let asked = ask_for_repair(&followers, None).await.unwrap();
    assert!(repair_answer(&followers, &asked).await.unwrap().is_none());
    assert!(repair_as_asked(&system.engine, &|| NOW).await.unwrap());
    assert!(!repair_as_asked(&system.engine, &|| NOW).await.unwrap());
    let answer = repair_answer(&followers, &asked).await.unwrap().unwrap();
    assert_eq!((answer.rows, answer.stale, answer.sources, answer.left), (1, 1, 1, 0));
    let told = system.told().await;
    assert_eq!(told.changes.len(), 1, "{:?}", told.lines());
    assert!(told.changes[0].by.as_deref().unwrap().starts_with("repair"));
    follower.follow_page(&|| NOW).await.unwrap();
    rest(&mut follower).await;
    let all = rows(&system.engine).await;
    assert_eq!(names(&all, "Event"), ["two"]);
    assert_eq!(of_kind(&all, "Item")[0]["n"], Value::from(2));
    // What is written next is a change as any other.
    system.write("rename", json!({"id": "a", "name": "three"})).await;
    follower.follow_page(&|| NOW).await.unwrap();
    rest(&mut follower).await;
    assert_eq!(of_kind(&rows(&system.engine).await, "Item")[0]["n"], Value::from(3));
}

#[tokio::test]
async fn of_two_who_ask_both_are_answered() {
    let system = System::open(FEED).await;
    let followers = followers_of(&system.engine);
    let first = ask_for_repair(&followers, Some("Like")).await.unwrap();
    let second = ask_for_repair(&followers, None).await.unwrap();
    while repair_as_asked(&system.engine, &|| NOW).await.unwrap() {}
    for asked in [&first, &second] {
        assert!(repair_answer(&followers, asked).await.unwrap().is_some(), "{asked}");
    }
    let unknown = ask_for_repair(&followers, Some("Item")).await.unwrap_err();
    assert!(unknown.to_string().contains("`Item`"), "{unknown}");
}
