//! Writes that run after changes, and what time does, over the stream of a foreign endpoint: as on the embedded store.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use singlet_changes::{FollowError, TriggerFollower, Unobserved};
use singlet_item::Item;
use singlet_model::Source;
use singlet_runtime::{Attributes, Caller, Engine, Value, WriteRequest, table};
use singlet_store::{ScanRequest, Store};

use crate::place;

const MODEL: &str = r#"
singlet: 1
name: triggers
table: {name: triggers, key: {partition: PK, sort: SK}, type: kind, ttl: ttl, stream: both_images}
types: {SeatState: {enum: [free, held]}}
entities:
  Seat:
    attributes: {id: string 1..8, n: int 0.. = 0, state: SeatState, until: time?}
    key: {PK: "SEAT#{id}", SK: "SEAT"}
    states:
      of: state
      start: free
      moves: {hold: free -> held}
      while: {held: {until: now + minutes(1)}}
      lapse: {held: "free at until"}
  Hold:
    attributes: {id: string 1..8, until: time}
    key: {PK: "HOLD#{id}", SK: "HOLD"}
    expires: until
  Trace:
    attributes: {id: string 1..8, seen: list(string 1..20)? ..99}
    key: {PK: "TRACE#{id}", SK: "TRACE"}
writes:
  make: {allow: true, do: [{create: Seat, take: [id]}]}
  raise: {args: {id: string 1..8}, allow: true, do: [{update: Seat(args.id), add: {n: 1}}]}
  hold: {args: {id: string 1..8}, allow: true, do: [{update: Seat(args.id), move: hold}]}
  drop: {args: {id: string 1..8}, allow: true, do: [{delete: Seat(args.id)}]}
  lend: {args: {id: string 1..8}, allow: true, do: [{create: Hold, set: {id: args.id, until: now - minutes(1)}}]}
  made: {after: {create: Seat}, do: [{upsert: Trace(row.id), append: {seen: '"made"'}}]}
  raised: {after: {update: Seat.n}, do: [{upsert: Trace(row.id), append: {seen: string(row.n)}}]}
  freed: {after: {enter: Seat.free}, when: before != absent, do: [{upsert: Trace(row.id), append: {seen: '"freed"'}}]}
  dropped: {after: {delete: Seat}, do: [{upsert: Trace(row.id), append: {seen: '"dropped"'}}]}
  ended: {after: {expire: Hold}, do: [{upsert: Trace(row.id), append: {seen: '"ended"'}}]}
"#;

fn now_millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

async fn write(engine: &Engine, now: i64, name: &str, id: &str) {
    let request = WriteRequest {
        args: Attributes::from([("id".to_owned(), Value::S(id.to_owned()))]),
        caller: Caller::with_id("ada"),
        now,
        ..WriteRequest::default()
    };
    engine.write(name, &request).await.unwrap();
}

/// Follows to the head and fires what is due; whoever finds another further begins again.
async fn rest(engine: &Arc<Engine>, now: i64) -> TriggerFollower {
    let start = || TriggerFollower::start(Arc::clone(engine), Arc::new(Unobserved), now);
    let mut follower = start().await.unwrap();
    let mut fired = 1;
    while !follower.is_at_head() || fired > 0 {
        match follower.follow_page(&|| now).await {
            Ok(_) => fired = follower.fire_due(now).await.unwrap(),
            Err(FollowError::Overtaken) => follower = start().await.unwrap(),
            Err(error) => panic!("{error}"),
        }
    }
    follower
}

async fn traced(engine: &Engine, id: &str) -> Vec<String> {
    let request = ScanRequest {
        table: engine.model().table.name.clone(),
        consistent: true,
        ..ScanRequest::default()
    };
    let all = engine.store().scan(&request).await.unwrap().items;
    let is_it = |item: &&Item| item["kind"] == "Trace".into() && item["id"] == id.into();
    let seen = all.iter().find(is_it).and_then(|trace| trace["seen"].as_list());
    let seen = seen.unwrap_or_default().iter().filter_map(Value::as_str);
    seen.map(str::to_owned).collect()
}

#[tokio::test]
async fn what_runs_after_changes_runs_once_and_in_order() {
    let store: Arc<dyn Store> = place::streamed_store().await;
    let loaded = singlet_model::load_source(&Source::new("model.yaml", MODEL));
    assert!(!loaded.diagnostics.has_errors(), "{:?}", loaded.diagnostics);
    let model = Arc::new(loaded.model.unwrap());
    store.create_table(&table::table_spec(&model)).await.unwrap();
    let engine = || {
        let (model, store) = (Arc::clone(&model), Arc::clone(&store));
        Arc::new(Engine::open(model, store, Attributes::new(), [7; 32]))
    };
    let writer = engine();
    let now = now_millis();
    let started = TriggerFollower::start(engine(), Arc::new(Unobserved), now).await;
    drop(started.unwrap());
    for id in ["a", "b"] {
        write(&writer, now, "make", id).await;
        for _ in 0..3 {
            write(&writer, now, "raise", id).await;
        }
    }
    // Two follow at once, and one comes to it when all is done.
    let (one, other) = (engine(), engine());
    let both = tokio::time::timeout(Duration::from_secs(120), async {
        tokio::join!(rest(&one, now), rest(&other, now))
    });
    both.await.unwrap();
    write(&writer, now, "hold", "a").await;
    write(&writer, now, "lend", "c").await;
    write(&writer, now, "drop", "b").await;
    rest(&engine(), now).await;
    let follower = rest(&engine(), now + 60_000).await;
    assert_eq!((follower.gap_count(), follower.parked_changes().len()), (0, 0));
    assert_eq!(traced(&writer, "a").await, ["made", "1", "2", "3", "freed"]);
    assert_eq!(traced(&writer, "b").await, ["made", "1", "2", "3", "dropped"]);
    assert_eq!(traced(&writer, "c").await, ["ended"]);
}
