//! Writes that run after changes: which, once, in order, and what becomes of those that cannot.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use singlet_changes::{
    FollowError, Followed, LEASE_MILLIS, ParkedChanges, ParkedOrder, RunEnd, TriggerFollower, TriggerObserver,
    Unobserved,
};
use singlet_item::{Item, Value};
use singlet_runtime::{Engine, load};
use singlet_store::ScanRequest;

use crate::dying::dying_engine;
use crate::support::{NOW, System, followers_of};

pub const SHOP: &str = r#"
singlet: 1
name: shop
table: {name: shop, key: {partition: PK, sort: SK}, type: kind, ttl: ttl, stream: both_images}
types:
  OrderState: {enum: [open, paid, sent]}
entities:
  Order:
    attributes:
      id: string 1..8
      buyer: string 1..8
      n: int 0..1000 = 0
      state: OrderState
    key: {PK: "ORDER#{id}", SK: "ORDER"}
    states: {of: state, start: open, moves: {pay: open -> paid, send: paid -> sent}}
  Note:
    attributes: {who: string 1..8, at: string 1..60, text: string 1..20}
    key: {PK: "WHO#{who}", SK: "NOTE#{at}"}
  Tally:
    attributes: {who: string 1..8, orders: int 0.. = 0, seen: list(int) ..1000}
    key: {PK: "WHO#{who}", SK: "TALLY"}
  Line:
    attributes: {id: string 1..8, no: int 1..9}
    key: {PK: "ORDER#{id}", SK: "LINE#{no}"}
writes:
  order: {args: {id: string 1..8}, allow: true, do: [{create: Order, set: {id: args.id, buyer: '"ada"'}}]}
  orderOf: {allow: true, do: [{create: Order, take: [id, buyer]}]}
  count: {args: {id: string 1..8}, allow: true, do: [{update: Order(args.id), add: {n: 1}}]}
  pay: {args: {id: string 1..8}, allow: true, do: [{update: Order(args.id), move: pay}]}
  drop: {args: {id: string 1..8}, allow: true, do: [{delete: Order(args.id)}]}
  line: {allow: true, do: [{create: Line, take: [id, no]}]}
  open: {args: {who: string 1..8}, allow: true, do: [{create: Tally, set: {who: args.who, seen: "[]"}}]}
  tallyUp:
    after: {create: Order}
    do: [{update: Tally(row.buyer), add: {orders: 1}}]
  keepOrder:
    after: {update: Order.n}
    when: row.n > before.n
    do: [{update: Tally(row.buyer), append: {seen: row.n}}]
  tellPaid:
    after: {enter: Order.paid}
    do: [{create: Note, set: {who: row.buyer, at: row.id + " paid", text: '"paid " + row.id'}}]
  tellGone:
    after: {delete: Order}
    do: [{create: Note, set: {who: row.buyer, at: row.id + " gone", text: '"gone " + row.id'}}]
  forgetLines:
    after: {delete: Order}
    bulk: true
    do: [{for: {l: {find: Line, where: id == row.id}}, delete: l}]
  ship:
    http: POST /orders/{id}/ship
    allow: true
    after: {enter: Order.paid, args: {id: row.id}}
    do: [{update: Order(args.id), move: send}]
"#;

/// Every row of the model as it is, without what Singlet keeps.
pub async fn rows(engine: &Engine) -> Vec<Item> {
    let request = ScanRequest {
        table: engine.model().table.name.clone(),
        consistent: true,
        ..ScanRequest::default()
    };
    let mut items = engine.store().scan(&request).await.unwrap().items;
    items.retain(|item| !load::is_of_singlet(engine.model(), item));
    items
}

pub async fn start(engine: &Arc<Engine>) -> TriggerFollower {
    TriggerFollower::start(Arc::clone(engine), Arc::new(Unobserved), NOW)
        .await
        .unwrap()
}

/// Follows until nothing comes any more; what all pages came to.
pub async fn rest(follower: &mut TriggerFollower) -> Followed {
    let mut all = Followed::default();
    while !follower.is_at_head() {
        let page = follower.follow_page(&|| NOW).await.unwrap();
        all.done += page.done;
        all.refused += page.refused;
        all.parked += page.parked;
    }
    all
}

pub fn of_kind<'i>(items: &'i [Item], kind: &str) -> Vec<&'i Item> {
    let is_of = |item: &&Item| item.get("kind").and_then(Value::as_str) == Some(kind);
    items.iter().filter(is_of).collect()
}

pub fn number(item: &Item, name: &str) -> i64 {
    item[name].as_number().unwrap().to_i64().unwrap()
}

#[tokio::test]
async fn each_kind_of_change_runs_its_writes_once() {
    let system = System::open(SHOP).await;
    let mut follower = start(&system.engine).await;
    system.write("open", json!({"who": "ada"})).await;
    system.write("order", json!({"id": "a"})).await;
    system.write("count", json!({"id": "a"})).await;
    system.write("line", json!({"id": "a", "no": 1})).await;
    system.write("line", json!({"id": "a", "no": 2})).await;
    system.write("pay", json!({"id": "a"})).await;
    let came = rest(&mut follower).await;
    // The tally, the count, the notice, and the shipping, which is a write that others may call too.
    assert_eq!((came.done, came.refused, came.parked), (4, 0, 0));
    let all = rows(&system.engine).await;
    assert_eq!(number(of_kind(&all, "Tally")[0], "orders"), 1);
    assert_eq!(of_kind(&all, "Order")[0]["state"], Value::S("sent".to_owned()));
    assert_eq!(of_kind(&all, "Note")[0]["text"], Value::S("paid a".to_owned()));
    system.write("drop", json!({"id": "a"})).await;
    rest(&mut follower).await;
    rest(&mut start(&system.engine).await).await;
    let all = rows(&system.engine).await;
    assert_eq!(of_kind(&all, "Note").len(), 2);
    assert_eq!(of_kind(&all, "Line").len(), 0);
}

#[tokio::test]
async fn changes_of_one_row_run_in_order() {
    let system = System::open(SHOP).await;
    let mut follower = start(&system.engine).await;
    system.write("open", json!({"who": "ada"})).await;
    system.write("order", json!({"id": "a"})).await;
    for _ in 0..50 {
        system.write("count", json!({"id": "a"})).await;
    }
    rest(&mut follower).await;
    let all = rows(&system.engine).await;
    let Value::L(seen) = &of_kind(&all, "Tally")[0]["seen"] else {
        panic!("no list");
    };
    let seen: Vec<i64> = seen.iter().map(|n| n.as_number().unwrap().to_i64().unwrap()).collect();
    assert_eq!(seen, (1..=50).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_refusal_is_an_outcome_and_stays_one() {
    let system = System::open(SHOP).await;
    let (mut follower, mut other) = (start(&system.engine).await, start(&system.engine).await);
    // There is no tally to count in.
    system.write("order", json!({"id": "a"})).await;
    assert_eq!(rest(&mut follower).await.refused, 1);
    system.write("open", json!({"who": "ada"})).await;
    // Another who believes to be the one is told the same: what became of it is recorded.
    let overtaken = other.follow_page(&|| NOW).await.unwrap_err();
    assert!(matches!(overtaken, FollowError::Overtaken), "{overtaken}");
    assert_eq!(number(of_kind(&rows(&system.engine).await, "Tally")[0], "orders"), 0);
}

#[tokio::test]
async fn what_cannot_be_done_is_parked_and_its_row_queues_behind() {
    let system = System::open(SHOP).await;
    let mut follower = start(&system.engine).await;
    system.write("open", json!({"who": "ada"})).await;
    system.write("order", json!({"id": "a"})).await;
    system.write("order", json!({"id": "b"})).await;
    rest(&mut follower).await;
    // A row that the model does not make: the write cannot be computed for it.
    let mut broken = rows(&system.engine).await.into_iter();
    let mut broken = broken
        .find(|item| item["PK"] == Value::S("ORDER#a".to_owned()))
        .unwrap();
    let whole = broken.clone();
    broken.insert("n".to_owned(), Value::S("many".to_owned()));
    system.put(broken).await;
    system.put(whole).await;
    system.write("count", json!({"id": "a"})).await;
    system.write("count", json!({"id": "b"})).await;
    let mut follower = start(&system.engine).await;
    let came = rest(&mut follower).await;
    // Both records of the broken row do not fit, for each of the six writes after changes of orders; the count waits behind.
    assert_eq!((came.done, came.parked), (1, 13));
    let parked = ParkedChanges::new(followers_of(&system.engine));
    let listed = parked.list_parked().await.unwrap();
    assert_eq!(listed.len(), 13);
    assert!(listed.iter().any(|one| one.reason.contains("`n`")), "{listed:?}");
    assert!(
        listed.iter().any(|one| one.reason.contains("an earlier change")),
        "{listed:?}"
    );
    // Somebody leaves the broken ones out, and the count runs after all.
    let broken = listed.iter().filter(|one| !one.reason.contains("an earlier change"));
    for one in broken
        .map(|one| one.change.clone())
        .collect::<std::collections::BTreeSet<_>>()
    {
        parked.order_parked(ParkedOrder::Discard, Some(&one)).await.unwrap();
    }
    assert_eq!(follower.follow_orders(&|| NOW).await.unwrap(), 12);
    assert_eq!(parked.order_parked(ParkedOrder::Retry, None).await.unwrap(), 1);
    assert_eq!(follower.follow_orders(&|| NOW).await.unwrap(), 1);
    assert_eq!(parked.list_parked().await.unwrap().len(), 0);
    let all = rows(&system.engine).await;
    let Value::L(seen) = &of_kind(&all, "Tally")[0]["seen"] else {
        panic!("no list");
    };
    assert_eq!(seen.len(), 2);
}

#[tokio::test]
async fn what_is_loaded_runs_nothing_and_what_is_written_later_does() {
    let system = System::open(SHOP).await;
    let mut follower = start(&system.engine).await;
    let text = "{\"Tally\": {\"who\": \"ada\", \"seen\": []}}\n{\"Order\": {\"id\": \"a\", \"buyer\": \"ada\"}}\n";
    load::load_text(&system.engine, text, NOW).await.unwrap();
    assert_eq!(rest(&mut follower).await, Followed::default());
    system.write("count", json!({"id": "a"})).await;
    let mut follower = start(&system.engine).await;
    assert_eq!(rest(&mut follower).await.done, 1);
    assert_eq!(number(of_kind(&rows(&system.engine).await, "Tally")[0], "orders"), 0);
}

#[tokio::test]
async fn nobody_calls_what_only_a_change_calls() {
    let system = System::open(SHOP).await;
    let refused = system.write_at(NOW, "tallyUp", json!({})).await.unwrap_err();
    assert!(matches!(refused, singlet_runtime::RuntimeError::Forbidden), "{refused}");
}

/// Counts what is parked for running too often.
#[derive(Default)]
struct Loops(AtomicUsize);

impl TriggerObserver for Loops {
    fn ran(&self, _: &str, _: &str, ended: &RunEnd) {
        if matches!(ended, RunEnd::Parked(reason) if reason.contains("in a minute")) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[tokio::test]
async fn a_loop_ends_in_the_parking_place() {
    let system = System::open(
        r#"
singlet: 1
name: loops
table: {name: loops, key: {partition: PK, sort: SK}, type: kind, stream: both_images}
entities:
  Ball: {attributes: {id: string 1..8, n: int 0.. = 0}, key: {PK: "BALL#{id}", SK: "BALL"}}
writes:
  serve: {allow: true, do: [{create: Ball, take: [id]}]}
  hit:
    after: {create: Ball}
    let: {ball: Ball(row.id)}
    do: [{update: ball, add: {n: 1}}]
  hitBack:
    after: {update: Ball}
    let: {ball: Ball(row.id)}
    do: [{update: ball, add: {n: 1}}]
"#,
    )
    .await;
    let loops = Arc::new(Loops::default());
    let mut follower = TriggerFollower::start(Arc::clone(&system.engine), loops.clone(), NOW)
        .await
        .unwrap();
    system.write("serve", json!({"id": "a"})).await;
    rest(&mut follower).await;
    assert_eq!(loops.0.load(Ordering::Relaxed), 1);
    assert_eq!(follower.parked_changes().len(), 1);
    assert_eq!(number(&rows(&system.engine).await[0], "n"), 101);
}

#[tokio::test]
async fn a_state_that_time_has_ended_is_stored_before_the_row_is_written() {
    let system = System::open(
        r#"
singlet: 1
name: holds
table: {name: holds, key: {partition: PK, sort: SK}, type: kind, stream: both_images}
types: {HoldState: {enum: [free, held]}}
entities:
  Seat:
    attributes: {id: string 1..8, state: HoldState, until: time?, changes: int 0.. = 0}
    key: {PK: "SEAT#{id}", SK: "SEAT"}
    states:
      of: state
      start: free
      moves: {hold: free -> held}
      while: {held: {until: now + hours(1)}}
      lapse: {held: "free at until"}
  Log:
    attributes: {id: string 1..8, no: int 0.., was: HoldState, is: HoldState}
    key: {PK: "SEAT#{id}", SK: "LOG#{no}"}
  Counter:
    attributes: {id: string 1..8, n: int 0.. = 0}
    key: {PK: "SEAT#{id}", SK: "COUNTER"}
writes:
  make: {args: {id: string 1..8}, allow: true, do: [{create: Seat, set: {id: args.id}}, {create: Counter, set: {id: args.id}}]}
  hold: {args: {id: string 1..8}, allow: true, do: [{update: Seat(args.id), move: hold}]}
  log:
    after: {update: Seat.state}
    let: {counter: Counter(row.id)}
    do:
      - update: counter
        add: {n: 1}
      - create: Log
        set: {id: row.id, no: counter.n, was: before.state, is: row.state}
"#,
    )
    .await;
    let mut follower = start(&system.engine).await;
    system.write("make", json!({"id": "a"})).await;
    system.write("hold", json!({"id": "a"})).await;
    // Two hours later it is free again, though nothing stored that.
    system
        .write_at(NOW + 7_200_000, "hold", json!({"id": "a"}))
        .await
        .unwrap();
    rest(&mut follower).await;
    let all = rows(&system.engine).await;
    let logged: Vec<(String, String)> = of_kind(&all, "Log")
        .iter()
        .map(|log| {
            (
                log["was"].as_str().unwrap().to_owned(),
                log["is"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    let pair = |was: &str, is: &str| (was.to_owned(), is.to_owned());
    assert_eq!(
        logged,
        [pair("free", "held"), pair("held", "free"), pair("free", "held")]
    );
}

/// How many processes were killed, and how many of them while another believed to hold the lease too.
#[derive(Clone, Copy, Debug, Default)]
struct Kills {
    all: usize,
    beside_another: usize,
}

impl Kills {
    fn add(&mut self, other: Kills) {
        self.all += other.all;
        self.beside_another += other.beside_another;
    }
}

/// A process ends at some call of its store, again and again; others go on, and sometimes two believe to be the one who holds the lease: the clock
/// of one is far ahead, so that it takes the lease while the other still follows.
async fn killed(seed: u64, kills_max: usize) -> Kills {
    let mut random = fastrand::Rng::with_seed(seed);
    let system = System::open(SHOP).await;
    start(&system.engine).await;
    system.write("open", json!({"who": "ada"})).await;
    let mut orders = 0;
    let mut kills = Kills::default();
    let mut counted = [0_usize; 3];
    for _ in 0..12 {
        match random.usize(..3) {
            0 if orders < 3 => {
                system.write("order", json!({"id": format!("o{orders}")})).await;
                orders += 1;
            }
            1 if orders > 0 => {
                let of = random.usize(..orders);
                _ = system.write_at(NOW, "pay", json!({"id": format!("o{of}")})).await;
            }
            _ if orders > 0 => {
                let of = random.usize(..orders);
                system.write("count", json!({"id": format!("o{of}")})).await;
                counted[of] += 1;
            }
            _ => {}
        }
        for _ in 0..random.usize(..4) {
            if kills.all >= kills_max {
                break;
            }
            let (first, second) = (random.usize(1..40), random.usize(1..40));
            match random.bool() {
                true => {
                    let both = tokio::join!(dies(&system, first, NOW), dies(&system, second, LEASE_IS_OVER));
                    let killed = [both.0, both.1].iter().filter(|killed| **killed).count();
                    kills.all += killed;
                    kills.beside_another += killed;
                }
                false => kills.all += usize::from(dies(&system, first, NOW).await),
            }
        }
    }
    rest(&mut start(&system.engine).await).await;
    let all = rows(&system.engine).await;
    let tally = of_kind(&all, "Tally")[0];
    assert_eq!(number(tally, "orders"), i64::try_from(orders).unwrap(), "seed {seed}");
    let Value::L(seen) = &tally["seen"] else {
        panic!("no list")
    };
    assert_eq!(seen.len(), counted.iter().sum::<usize>(), "seed {seed}");
    let paid = of_kind(&all, "Order");
    let paid = paid
        .iter()
        .filter(|order| order["state"] == Value::S("sent".to_owned()))
        .count();
    assert_eq!(of_kind(&all, "Note").len(), paid, "seed {seed}");
    assert!(
        of_kind(&all, "Order")
            .iter()
            .all(|order| order["state"] != Value::S("paid".to_owned()))
    );
    let parked = ParkedChanges::new(followers_of(&system.engine))
        .list_parked()
        .await
        .unwrap();
    assert!(parked.is_empty(), "seed {seed}: {parked:?}");
    kills
}

/// By the clock of one who is so far ahead every lease is over.
const LEASE_IS_OVER: i64 = NOW + 10 * LEASE_MILLIS;

/// Takes the lease and follows until the store is gone for this process, or all is done: whether it was killed.
async fn dies(system: &System, calls: usize, now: i64) -> bool {
    let (engine, ended) = dying_engine(&system.engine, calls);
    let gone = async {
        let Ok(mut follower) = TriggerFollower::start(engine, Arc::new(Unobserved), now).await else {
            return;
        };
        // Whether it got the lease or somebody took it since: it believes to hold it, and goes on.
        _ = follower.trigger_lease().hold_lease(now).await;
        while !follower.is_at_head() {
            if follower.follow_page(&|| now).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = gone => false,
        () = ended.notified() => true,
    }
}

#[tokio::test]
async fn killed_at_any_call_every_effect_is_there_once() {
    let mut kills = Kills::default();
    for seed in 0..12 {
        kills.add(killed(seed, 20).await);
    }
    assert!(kills.all > 80 && kills.beside_another > 30, "{kills:?}");
}

/// `cargo test -p singlet-changes --test changes -- --ignored kills`
#[tokio::test]
#[ignore = "takes half a minute"]
async fn many_kills() {
    let mut kills = Kills::default();
    for seed in 1_000..1_300 {
        kills.add(killed(seed, 60).await);
    }
    assert!(kills.all > 2_000 && kills.beside_another > 1_000, "{kills:?}");
}

#[tokio::test]
async fn a_lease_is_held_by_one_and_ends() {
    let system = System::open(SHOP).await;
    let (one, two) = (start(&system.engine).await, start(&system.engine).await);
    let (mut one, mut two) = (one.trigger_lease(), two.trigger_lease());
    assert!(one.hold_lease(NOW).await.unwrap());
    assert!(!two.hold_lease(NOW).await.unwrap());
    assert!(one.hold_lease(NOW + 15_000).await.unwrap());
    assert!(!two.hold_lease(NOW + 30_000).await.unwrap());
    // Silent for longer than it is held.
    assert!(two.hold_lease(NOW + 45_001).await.unwrap());
    assert!(!one.hold_lease(NOW + 45_002).await.unwrap());
    two.give_back(NOW + 45_003).await.unwrap();
    assert!(one.hold_lease(NOW + 45_004).await.unwrap());
    // A clock that was far ahead keeps nobody out.
    assert!(two.hold_lease(NOW - 3_600_000).await.unwrap());
}
