//! Writes that run when an instant of a row comes: once for each row and instant, and at the last one that was set.

use serde_json::json;
use singlet_changes::{ParkedChanges, ParkedOrder};
use singlet_item::Value;
use singlet_runtime::Engine;

use crate::support::{NOW, System, followers_of};
use crate::timers::{at, dies_following};
use crate::triggers::{rows, start};

const MINUTE: i64 = 60_000;

const TASKS: &str = r#"
singlet: 1
name: tasks
zone: Europe/Warsaw
table: {name: tasks, key: {partition: PK, sort: SK}, type: kind, ttl: ttl, stream: both_images}
entities:
  Task:
    attributes:
      id: string 1..8
      title: string 1..20 = "x"
      due: date?
      remindAt: time?
      morning: {is: 'due == absent ? absent : time(due, "07:00")'}
      until: time?
    key: {PK: "TASK#{id}", SK: "TASK"}
    expires: until
  Note:
    attributes: {id: string 1..8, of: time, title: string? 1..20, at: time?, times: int 0.. = 0}
    key: {PK: "TASK#{id}", SK: "NOTE#{of}"}
writes:
  add: {allow: true, do: [{create: Task, take: [id, due, remindAt, until]}]}
  edit: {args: {id: string 1..8}, allow: true, do: [{update: Task(args.id), patch: [title, due, remindAt, until]}]}
  drop: {args: {id: string 1..8}, allow: true, do: [{delete: Task(args.id)}]}
  remind:
    after: {reach: Task.remindAt}
    when: row.title != "quiet"
    do: [{upsert: 'Note(row.id, row.remindAt)', set: {title: row.title, at: now}, add: {times: 1}}]
  greet:
    after: {reach: Task.morning}
    do: [{upsert: 'Note(row.id, row.morning)', set: {title: row.title, at: now}, add: {times: 1}}]
"#;

/// An instant some minutes from the beginning.
fn instant(minutes: i64) -> String {
    singlet_model::evaluate::time::iso_millis(NOW + minutes * MINUTE).unwrap()
}

/// Each note: whose it is, of which title, and how many minutes after the beginning.
async fn notes(engine: &Engine) -> Vec<(String, String, i64)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut all: Vec<_> = rows(engine)
        .await
        .iter()
        .filter(|item| item["kind"] == Value::S("Note".to_owned()))
        .map(|item| {
            let at = singlet_model::evaluate::time::parse_iso(item["at"].as_str().unwrap()).unwrap();
            assert_eq!(item["times"].as_number().unwrap().to_i64(), Some(1));
            (text(&item["id"]), text(&item["title"]), (at - NOW) / MINUTE)
        })
        .collect();
    all.sort();
    all
}

fn note(id: &str, title: &str, minutes: i64) -> (String, String, i64) {
    (id.to_owned(), title.to_owned(), minutes)
}

#[tokio::test]
async fn it_runs_at_the_instant_with_the_row_as_it_is_then() {
    let system = System::open(TASKS).await;
    let mut follower = start(&system.engine).await;
    system.write("add", json!({"id": "a", "remindAt": instant(5)})).await;
    system.write("add", json!({"id": "b"})).await;
    at(&mut follower, NOW).await;
    system.write("edit", json!({"id": "a", "title": "later"})).await;
    at(&mut follower, NOW + 5 * MINUTE - 1).await;
    assert!(notes(&system.engine).await.is_empty());
    at(&mut follower, NOW + 5 * MINUTE).await;
    assert_eq!(notes(&system.engine).await, [note("a", "later", 5)]);
    // What changes afterwards, and is not the instant, sets nothing off.
    system.write("edit", json!({"id": "a", "title": "again"})).await;
    at(&mut follower, NOW + 6 * MINUTE).await;
    at(&mut start(&system.engine).await, NOW + 600 * MINUTE).await;
    assert_eq!(notes(&system.engine).await, [note("a", "later", 5)]);
}

#[tokio::test]
async fn a_deadline_that_moves_runs_at_the_new_one_alone() {
    let system = System::open(TASKS).await;
    let mut follower = start(&system.engine).await;
    for (id, first) in [
        ("later", 5),
        ("sooner", 50),
        ("gone", 5),
        ("dropped", 5),
        ("ended", 5),
        ("back", 5),
    ] {
        system.write("add", json!({"id": id, "remindAt": instant(first)})).await;
    }
    at(&mut follower, NOW).await;
    system
        .write("edit", json!({"id": "later", "remindAt": instant(9)}))
        .await;
    system
        .write("edit", json!({"id": "sooner", "remindAt": instant(2)}))
        .await;
    system.write("edit", json!({"id": "gone", "remindAt": null})).await;
    system.write("drop", json!({"id": "dropped"})).await;
    system.write("edit", json!({"id": "ended", "until": instant(4)})).await;
    system
        .write("edit", json!({"id": "back", "remindAt": instant(9)}))
        .await;
    at(&mut follower, NOW + MINUTE).await;
    system
        .write("edit", json!({"id": "back", "remindAt": instant(5)}))
        .await;
    for minute in 1..60 {
        at(&mut follower, NOW + minute * MINUTE).await;
    }
    assert_eq!(
        notes(&system.engine).await,
        [note("back", "x", 5), note("later", "x", 9), note("sooner", "x", 2)]
    );
}

#[tokio::test]
async fn an_instant_in_the_past_runs_at_once_and_when_decides() {
    let system = System::open(TASKS).await;
    let mut follower = start(&system.engine).await;
    system.write("add", json!({"id": "a", "remindAt": instant(-500)})).await;
    system.write("add", json!({"id": "q", "remindAt": instant(3)})).await;
    system.write("edit", json!({"id": "q", "title": "quiet"})).await;
    follower.follow_page(&|| NOW).await.unwrap();
    assert_eq!(notes(&system.engine).await, [note("a", "x", 0)]);
    at(&mut follower, NOW + 5 * MINUTE).await;
    assert_eq!(notes(&system.engine).await.len(), 1);
}

#[tokio::test]
async fn a_computed_instant_is_reached_in_the_zone_of_the_model() {
    let system = System::open(TASKS).await;
    let mut follower = start(&system.engine).await;
    system.write("add", json!({"id": "a", "due": "2026-11-17"})).await;
    at(&mut follower, NOW).await;
    // 07:00 in Warsaw is 06:00 of UTC, eighteen hours after noon.
    at(&mut follower, NOW + 18 * 60 * MINUTE - 1).await;
    assert!(notes(&system.engine).await.is_empty());
    at(&mut follower, NOW + 18 * 60 * MINUTE).await;
    assert_eq!(notes(&system.engine).await, [note("a", "x", 18 * 60)]);
}

#[tokio::test]
async fn whoever_comes_days_later_runs_what_was_reached_meanwhile() {
    let system = System::open(TASKS).await;
    let mut follower = start(&system.engine).await;
    system.write("add", json!({"id": "a", "remindAt": instant(5)})).await;
    at(&mut follower, NOW).await;
    drop(follower);
    system.write("add", json!({"id": "b", "remindAt": instant(7)})).await;
    let late = 3 * 24 * 60;
    at(&mut start(&system.engine).await, NOW + late * MINUTE).await;
    assert_eq!(
        notes(&system.engine).await,
        [note("a", "x", late), note("b", "x", late)]
    );
}

#[tokio::test]
async fn killed_at_any_call_and_by_two_at_once_each_instant_runs_once() {
    for calls in 1..70 {
        let system = System::open(TASKS).await;
        start(&system.engine).await;
        for number in 0..3 {
            let id = format!("a{number}");
            system
                .write("add", json!({"id": id, "remindAt": instant(number)}))
                .await;
        }
        let now = NOW + MINUTE;
        dies_following(&system, calls, now).await;
        let (mut one, mut two) = (start(&system.engine).await, start(&system.engine).await);
        for minute in 1..4 {
            let now = NOW + minute * MINUTE;
            let clock = || now;
            let (first, second) = tokio::join!(one.follow_page(&clock), two.follow_page(&clock));
            let (third, fourth) = tokio::join!(one.fire_due(now), two.fire_due(now));
            assert!(first.is_ok() || second.is_ok(), "{calls}");
            third.unwrap();
            fourth.unwrap();
        }
        let found = notes(&system.engine).await;
        let whose: Vec<&str> = found.iter().map(|(id, ..)| id.as_str()).collect();
        assert_eq!(whose, ["a0", "a1", "a2"], "{calls}");
        let parked = ParkedChanges::new(followers_of(&system.engine))
            .list_parked()
            .await
            .unwrap();
        assert!(parked.is_empty(), "{calls}: {parked:?}");
    }
}

/// A lapse whose instant is out of range for a large number.
const HOLDS: &str = r#"
singlet: 1
name: holds
table: {name: holds, key: {partition: PK, sort: SK}, type: kind, ttl: ttl, stream: both_images}
types: {HoldState: {enum: [held, free]}}
entities:
  Hold:
    attributes: {id: string 1..8, state: HoldState, since: time = now, days: int 0..9000000}
    key: {PK: "HOLD#{id}", SK: "HOLD"}
    states: {of: state, start: held, moves: {release: held -> free}, lapse: {held: "free at since + days(days)"}}
  Freed:
    attributes: {id: string 1..8}
    key: {PK: "HOLD#{id}", SK: "FREED"}
writes:
  hold: {allow: true, do: [{create: Hold, take: [id, days]}]}
  tellFreed:
    after: {enter: Hold.free}
    do: [{create: Freed, set: {id: row.id}}]
"#;

#[tokio::test]
async fn a_deadline_that_cannot_be_computed_parks_its_change_and_holds_up_nothing() {
    let system = System::open(HOLDS).await;
    let mut follower = start(&system.engine).await;
    system.write("hold", json!({"id": "a", "days": 9_000_000})).await;
    system.write("hold", json!({"id": "b", "days": 1})).await;
    at(&mut follower, NOW + 25 * 60 * MINUTE).await;
    let freed = |items: Vec<singlet_item::Item>| {
        let is_freed = |item: &&singlet_item::Item| item["kind"] == Value::S("Freed".to_owned());
        items.iter().filter(is_freed).count()
    };
    assert_eq!(freed(rows(&system.engine).await), 1);
    let parked = ParkedChanges::new(followers_of(&system.engine));
    let listed = parked.list_parked().await.unwrap();
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert!(listed[0].reason.contains("deadline"), "{}", listed[0].reason);
    // It stays as long as it cannot be computed.
    parked.order_parked(ParkedOrder::Retry, None).await.unwrap();
    follower.follow_orders(&|| NOW).await.unwrap();
    assert_eq!(parked.list_parked().await.unwrap().len(), 1);
    parked.order_parked(ParkedOrder::Discard, None).await.unwrap();
    follower.follow_orders(&|| NOW).await.unwrap();
    assert!(parked.list_parked().await.unwrap().is_empty());
}
