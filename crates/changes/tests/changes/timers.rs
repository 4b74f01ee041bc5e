//! What time does to rows: stored at its instant, told, and run after.

use std::sync::Arc;

use serde_json::json;
use singlet_changes::{TriggerFollower, Unobserved};
use singlet_item::Value;
use singlet_runtime::Engine;
use singlet_store::ScanRequest;

use crate::dying::dying_engine;
use crate::support::{NOW, System};
use crate::triggers::{number, of_kind, rows, start};

pub const AUCTIONS: &str = r#"
singlet: 1
name: auctions
table: {name: auctions, key: {partition: PK, sort: SK}, type: kind, ttl: ttl, stream: both_images}
types: {AuctionState: {enum: [active, ended, closed]}}
entities:
  Auction:
    attributes: {id: string 1..8, state: AuctionState, endsAt: time}
    key: {PK: "AUCTION#{id}", SK: "AUCTION"}
    states: {of: state, start: active, moves: {close: ended -> closed}, lapse: {active: "ended at endsAt"}}
  Hold:
    attributes: {id: string 1..8, until: time}
    key: {PK: "HOLD#{id}", SK: "HOLD"}
    expires: until
  Gone:
    attributes: {id: string 1..8}
    key: {PK: "HOLD#{id}", SK: "GONE"}
writes:
  open: {args: {minutes: int 0..}, allow: true, do: [{create: Auction, set: {endsAt: now + minutes(args.minutes)}, take: [id]}]}
  extend:
    args: {id: string 1..8}
    allow: true
    let: {auction: Auction(args.id)}
    do: [{update: auction, set: {endsAt: auction.endsAt + minutes(10)}}]
  close:
    after: {enter: Auction.ended}
    let: {auction: Auction(row.id)}
    do: [{update: auction, move: close}]
  hold: {args: {minutes: int 0..}, allow: true, do: [{create: Hold, set: {until: now + minutes(args.minutes)}, take: [id]}]}
  tellGone:
    after: {expire: Hold}
    do: [{create: Gone, set: {id: row.id}}]
"#;

const MINUTE: i64 = 60_000;

/// Follows what there is at an instant, and fires what is due.
pub async fn at(follower: &mut TriggerFollower, now: i64) {
    loop {
        let page = follower.follow_page(&|| now).await.unwrap();
        let fired = follower.fire_due(now).await.unwrap();
        if page.records == 0 && fired == 0 {
            return;
        }
    }
}

async fn states(engine: &Engine) -> Vec<String> {
    let all = rows(engine).await;
    let mut auctions = of_kind(&all, "Auction");
    auctions.sort_by_key(|item| item["PK"].as_str().map(str::to_owned));
    auctions
        .iter()
        .map(|item| item["state"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn what_time_does_is_stored_at_its_instant_and_told() {
    let system = System::open(AUCTIONS).await;
    let mut follower = start(&system.engine).await;
    system.write("open", json!({"id": "a", "minutes": 5})).await;
    system.write("hold", json!({"id": "h", "minutes": 5})).await;
    at(&mut follower, NOW).await;
    system
        .write_at(NOW + MINUTE, "extend", json!({"id": "a"}))
        .await
        .unwrap();
    at(&mut follower, NOW + 5 * MINUTE - 1).await;
    assert_eq!(of_kind(&rows(&system.engine).await, "Gone").len(), 0);
    // The first deadline of the auction has moved; the hold has ended.
    at(&mut follower, NOW + 5 * MINUTE).await;
    assert_eq!(states(&system.engine).await, ["active"]);
    let all = rows(&system.engine).await;
    assert_eq!((of_kind(&all, "Hold").len(), of_kind(&all, "Gone").len()), (0, 1));
    at(&mut follower, NOW + 15 * MINUTE - 1).await;
    assert_eq!(states(&system.engine).await, ["active"]);
    at(&mut follower, NOW + 15 * MINUTE).await;
    assert_eq!(states(&system.engine).await, ["closed"]);
}

/// The store tells changes by its own clock, and that is behind: what was removed because its time had come has expired all the same.
#[tokio::test]
async fn a_row_that_ends_by_a_clock_ahead_of_the_stores_has_expired() {
    let system = System::open(AUCTIONS).await;
    let mut follower = start(&system.engine).await;
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let today = i64::try_from(since.unwrap().as_millis()).unwrap();
    for id in ["h", "i"] {
        let held = json!({"id": id, "minutes": 5});
        system.write_at(today, "hold", held).await.unwrap();
    }
    // Killed between the mark and the removal, it is removed by the next.
    at(&mut follower, today).await;
    for calls in 1..8 {
        dies_firing(&system, calls, today + 5 * MINUTE).await;
    }
    at(&mut follower, today + 5 * MINUTE + 1_000).await;
    let all = rows(&system.engine).await;
    assert_eq!((of_kind(&all, "Hold").len(), of_kind(&all, "Gone").len()), (0, 2));
}

/// Follows and fires what is due until there is no more, or the store is gone for this process.
pub async fn dies_following(system: &System, calls: usize, now: i64) {
    let gone = |engine: Arc<Engine>| async move {
        let started = TriggerFollower::start(engine, Arc::new(Unobserved), now).await;
        let Ok(mut follower) = started else { return };
        while follower.follow_page(&|| now).await.is_ok_and(|page| page.records > 0)
            || follower.fire_due(now).await.is_ok_and(|fired| fired > 0)
        {}
    };
    dies(system, calls, gone).await;
}

/// Fires what is due until the store is gone for this process.
async fn dies_firing(system: &System, calls: usize, now: i64) {
    let gone = |engine: Arc<Engine>| async move {
        if let Ok(mut follower) = TriggerFollower::start(engine, Arc::new(Unobserved), now).await {
            _ = follower.fire_due(now).await;
        }
    };
    dies(system, calls, gone).await;
}

/// Works until it is done, or until a call of its store, after which there is none.
async fn dies<F: Future<Output = ()>>(system: &System, calls: usize, work: impl FnOnce(Arc<Engine>) -> F) {
    let (engine, ended) = dying_engine(&system.engine, calls);
    tokio::select! {
        () = work(engine) => {}
        () = ended.notified() => {}
    }
}

/// One state lapsed to another, and that to a third, before anybody came: who waits for the second is told of it.
#[tokio::test]
async fn a_state_between_two_lapses_is_entered_however_late() {
    let text = AUCTIONS.replace(
        r#"lapse: {active: "ended at endsAt"}"#,
        r#"lapse: {active: "ended at endsAt", ended: "closed at endsAt + minutes(5)"}"#,
    );
    let text = text.replace(
        "    let: {auction: Auction(row.id)}\n    do: [{update: auction, move: close}]",
        "    do: [{create: Gone, set: {id: row.id}}]",
    );
    for late in [10, 5_000] {
        let system = System::open(&text).await;
        let mut follower = start(&system.engine).await;
        system.write("open", json!({"id": "a", "minutes": 1})).await;
        system.write("open", json!({"id": "b", "minutes": 1})).await;
        at(&mut follower, NOW).await;
        // A write that meets both stores both.
        let extended = system.write_at(NOW + late * MINUTE, "extend", json!({"id": "b"})).await;
        extended.unwrap();
        at(&mut start(&system.engine).await, NOW + late * MINUTE).await;
        let all = rows(&system.engine).await;
        assert_eq!(of_kind(&all, "Gone").len(), 2, "{late}");
        assert_eq!(states(&system.engine).await, ["closed", "closed"]);
    }
}

const HOLDS: &str = r#"
singlet: 1
name: holds
table: {name: holds, key: {partition: PK, sort: SK}, type: kind, stream: both_images}
types: {SeatState: {enum: [free, held]}}
entities:
  Seat:
    attributes: {id: string 1..8, state: SeatState, until: time?}
    key: {PK: "SEAT#{id}", SK: "SEAT"}
    states:
      of: state
      start: free
      moves: {hold: free -> held}
      while: {held: {until: now + minutes(5)}}
      lapse: {held: "free at until"}
  Log:
    attributes: {id: string 1..8, n: int 0.. = 0}
    key: {PK: "SEAT#{id}", SK: "LOG"}
writes:
  hold: {args: {id: string 1..8}, allow: true, do: [{upsert: Seat(args.id)}]}
  keep: {args: {id: string 1..8}, allow: true, do: [{update: Seat(args.id), move: hold}]}
  log:
    after: {update: Seat.ATTRIBUTE}
    do: [{upsert: Log(row.id), add: {n: 1}}]
"#;

#[tokio::test]
async fn an_attribute_that_goes_with_a_state_changes_when_time_ends_it() {
    for attribute in ["until", "state"] {
        let system = System::open(&HOLDS.replace("ATTRIBUTE", attribute)).await;
        let mut follower = start(&system.engine).await;
        system.write("hold", json!({"id": "a"})).await;
        system.write("keep", json!({"id": "a"})).await;
        at(&mut follower, NOW).await;
        assert_eq!(number(of_kind(&rows(&system.engine).await, "Log")[0], "n"), 1);
        at(&mut follower, NOW + 5 * MINUTE).await;
        let all = rows(&system.engine).await;
        assert_eq!(number(of_kind(&all, "Log")[0], "n"), 2, "{attribute}");
    }
}

#[tokio::test]
async fn a_process_that_comes_days_later_does_what_was_due() {
    let system = System::open(AUCTIONS).await;
    let mut follower = start(&system.engine).await;
    system.write("open", json!({"id": "a", "minutes": 5})).await;
    system.write("open", json!({"id": "b", "minutes": 3000})).await;
    at(&mut follower, NOW).await;
    drop(follower);
    // One that nobody was told of before its time.
    system.write("open", json!({"id": "c", "minutes": 1})).await;
    at(&mut start(&system.engine).await, NOW + 2_000 * MINUTE).await;
    assert_eq!(states(&system.engine).await, ["closed", "active", "closed"]);
    at(&mut start(&system.engine).await, NOW + 3_000 * MINUTE).await;
    assert_eq!(states(&system.engine).await, ["closed", "closed", "closed"]);
    // No timer is left.
    let request = ScanRequest {
        table: "auctions".to_owned(),
        consistent: true,
        ..ScanRequest::default()
    };
    let left = system.engine.store().scan(&request).await.unwrap().items;
    assert!(left.iter().all(|item| item["kind"] != Value::S("$timers".to_owned())));
}

#[tokio::test]
async fn killed_while_timers_are_set_and_fired_every_auction_closes_once() {
    let system = System::open(AUCTIONS).await;
    start(&system.engine).await;
    for number in 0..4 {
        let id = format!("a{number}");
        system.write("open", json!({"id": id, "minutes": number})).await;
        system.write("hold", json!({"id": id, "minutes": number})).await;
    }
    for calls in 1..60 {
        let now = NOW + i64::from(calls) * 4_000;
        dies_following(&system, usize::try_from(calls).unwrap(), now).await;
    }
    at(&mut start(&system.engine).await, NOW + 5 * MINUTE).await;
    assert_eq!(states(&system.engine).await, ["closed"; 4]);
    let all = rows(&system.engine).await;
    assert_eq!((of_kind(&all, "Hold").len(), of_kind(&all, "Gone").len()), (0, 4));
}
