//! Faults around who follows: clocks that jump and differ, processes that sleep, leases that are lost, models that change, and lateness.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::json;
use singlet_changes::{FollowError, LEASE_MILLIS, ParkedChanges, ParkedOrder, TriggerFollower, Unobserved};
use singlet_item::Value;
use singlet_model::Source;
use singlet_runtime::{Attributes, Engine};
use singlet_store::{Result, Store, StoreLayer, TransactWriteRequest, WriteAnswer};

use crate::support::{NOW, System, followers_of};
use crate::timers::AUCTIONS;
use crate::triggers::{SHOP, number, of_kind, rest, rows, start};

const DAY: i64 = 86_400_000;
const MINUTE: i64 = 60_000;

async fn orders(system: &System) -> i64 {
    number(of_kind(&rows(&system.engine).await, "Tally")[0], "orders")
}

/// A store on which something happens just before the first transaction.
struct Meanwhile {
    store: Arc<dyn Store>,
    happens: Mutex<Option<tokio::sync::oneshot::Sender<()>>>,
    happened: tokio::sync::Mutex<Option<tokio::sync::oneshot::Receiver<()>>>,
    has_waited: AtomicBool,
}

impl std::fmt::Debug for Meanwhile {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Meanwhile")
    }
}

#[async_trait]
impl StoreLayer for Meanwhile {
    fn beneath(&self) -> &dyn Store {
        &*self.store
    }

    async fn transact_write(&self, request: &TransactWriteRequest) -> Result<WriteAnswer> {
        let happens = self.happens.lock().unwrap().take();
        if let Some(happens) = happens {
            happens.send(()).unwrap();
            let happened = self.happened.lock().await.take();
            happened.unwrap().await.unwrap();
            self.has_waited.store(true, Ordering::SeqCst);
        }
        self.store.transact_write(request).await
    }
}

/// A process whose first transaction waits: its engine, when that is, and what lets it go on.
struct Waiting {
    store: Arc<Meanwhile>,
    engine: Arc<Engine>,
    is_begun: tokio::sync::oneshot::Receiver<()>,
    goes_on: tokio::sync::oneshot::Sender<()>,
}

fn waiting(system: &System) -> Waiting {
    let (begun, is_begun) = tokio::sync::oneshot::channel();
    let (goes_on, happened) = tokio::sync::oneshot::channel();
    let store = Arc::new(Meanwhile {
        store: Arc::clone(system.engine.store()),
        happens: Mutex::new(Some(begun)),
        happened: tokio::sync::Mutex::new(Some(happened)),
        has_waited: AtomicBool::new(false),
    });
    let model = Arc::clone(system.engine.model());
    Waiting {
        engine: Arc::new(Engine::open(model, store.clone(), Attributes::new(), [7; 32])),
        store,
        is_begun,
        goes_on,
    }
}

#[tokio::test]
async fn a_lease_that_is_lost_in_the_middle_of_a_transaction_does_nothing_twice() {
    let system = System::open(SHOP).await;
    start(&system.engine).await;
    system.write("open", json!({"who": "ada"})).await;
    system.write("order", json!({"id": "a"})).await;
    let Waiting {
        store,
        engine: slow,
        is_begun,
        goes_on,
    } = waiting(&system);
    let first = async {
        let follower = TriggerFollower::start(slow, Arc::new(Unobserved), NOW).await;
        let mut follower = follower.unwrap();
        assert!(follower.trigger_lease().hold_lease(NOW).await.unwrap());
        // Its transaction is on its way while the lease ends, another takes it, and does the same.
        follower.follow_page(&|| NOW).await
    };
    let second = async {
        is_begun.await.unwrap();
        let mut follower = start(&system.engine).await;
        assert!(
            follower
                .trigger_lease()
                .hold_lease(NOW + 2 * LEASE_MILLIS)
                .await
                .unwrap()
        );
        assert_eq!(rest(&mut follower).await.done, 1);
        goes_on.send(()).unwrap();
    };
    let (first, ()) = tokio::join!(first, second);
    assert!(store.has_waited.load(Ordering::SeqCst));
    assert!(matches!(first, Err(FollowError::Overtaken)), "{first:?}");
    assert_eq!(orders(&system).await, 1);
}

#[tokio::test]
async fn a_process_that_slept_wakes_behind_and_does_nothing_twice() {
    let system = System::open(SHOP).await;
    let mut sleeping = start(&system.engine).await;
    let mut lease = sleeping.trigger_lease();
    assert!(lease.hold_lease(NOW).await.unwrap());
    system.write("open", json!({"who": "ada"})).await;
    system.write("order", json!({"id": "a"})).await;
    // Asleep for a day, while another takes over; its own clock does not know of it.
    let mut other = start(&system.engine).await;
    assert!(other.trigger_lease().hold_lease(NOW + DAY).await.unwrap());
    while !other.is_at_head() {
        other.follow_page(&|| NOW + DAY).await.unwrap();
    }
    assert!(lease.hold_lease(NOW + 1).await.unwrap(), "it believes to hold it");
    let woken = sleeping.follow_page(&|| NOW + 1).await;
    assert!(matches!(woken, Err(FollowError::Overtaken)), "{woken:?}");
    assert!(!lease.hold_lease(NOW + DAY + 1).await.unwrap());
    assert_eq!(orders(&system).await, 1);
}

#[tokio::test]
async fn a_follower_three_days_late_runs_everything_once_and_in_order() {
    let system = System::open(SHOP).await;
    start(&system.engine).await;
    system.write("open", json!({"who": "ada"})).await;
    system.write("order", json!({"id": "a"})).await;
    for _ in 0..5 {
        system.write("count", json!({"id": "a"})).await;
    }
    let late = NOW + 3 * DAY;
    let (mut one, mut two) = (start(&system.engine).await, start(&system.engine).await);
    let mut done = 0;
    while !one.is_at_head() {
        done += one.follow_page(&|| late).await.unwrap().done;
    }
    assert_eq!((done, one.gap_count()), (6, 0));
    // One that is told the same four days after that: what ran is known for 8 days from when it ran.
    let again = two.follow_page(&|| late + 4 * DAY).await;
    assert!(matches!(again, Err(FollowError::Overtaken)), "{again:?}");
    assert_eq!(orders(&system).await, 1);
    let all = rows(&system.engine).await;
    let Value::L(seen) = &of_kind(&all, "Tally")[0]["seen"] else {
        panic!("no list")
    };
    let seen: Vec<i64> = seen.iter().map(|n| n.as_number().unwrap().to_i64().unwrap()).collect();
    assert_eq!(seen, [1, 2, 3, 4, 5]);
}

const SUMS: &str = r#"
singlet: 1
name: sums
table: {name: sums, key: {partition: PK, sort: SK}, type: kind, ttl: ttl, stream: both_images}
entities:
  Pay:
    attributes: {id: string 1..8, amount: number}
    key: {PK: "PAY#{id}", SK: "PAY"}
  Total:
    attributes: {what: string 1..8, sum: number}
    key: {PK: "TOTAL#{what}", SK: "TOTAL"}
writes:
  pay: {allow: true, do: [{create: Pay, take: [id, amount]}]}
  begin: {allow: true, do: [{create: Total, set: {what: '"all"', sum: 99999999999999999999999999999999999999}}]}
  reset: {allow: true, do: [{update: 'Total("all")', set: {sum: 0}}]}
  addUp:
    after: {create: Pay}
    let: {total: 'Total("all")'}
    do: [{update: total, set: {sum: total.sum + row.amount}}]
"#;

#[tokio::test]
async fn a_parked_change_that_two_try_again_after_a_week_is_done_once() {
    let system = System::open(SUMS).await;
    let mut follower = start(&system.engine).await;
    system.write("begin", json!({})).await;
    // A sum of more digits than a number has.
    system.write("pay", json!({"id": "a", "amount": 0.5})).await;
    assert_eq!(rest(&mut follower).await.parked, 1);
    system.write("reset", json!({})).await;
    let parked = ParkedChanges::new(followers_of(&system.engine));
    parked.order_parked(ParkedOrder::Retry, None).await.unwrap();
    // By then no record of these days counts any more: that it is parked no longer is what the second finds.
    let slow = waiting(&system);
    let (mut one, mut two) = (start(&slow.engine).await, start(&system.engine).await);
    let clock = || NOW + 9 * DAY;
    let second = async {
        slow.is_begun.await.unwrap();
        assert_eq!(two.follow_orders(&clock).await.unwrap(), 1);
        slow.goes_on.send(()).unwrap();
    };
    let (first, ()) = tokio::join!(one.follow_orders(&clock), second);
    assert_eq!(first.unwrap(), 1);
    assert!(parked.list_parked().await.unwrap().is_empty());
    let all = rows(&system.engine).await;
    assert_eq!(of_kind(&all, "Total")[0]["sum"].as_number().unwrap().to_string(), "0.5");
}

#[tokio::test]
async fn a_model_that_changes_while_followers_lag_goes_on_with_what_was_not_read() {
    let system = System::open(SHOP).await;
    let mut before = start(&system.engine).await;
    system.write("open", json!({"who": "ada"})).await;
    system.write("order", json!({"id": "a"})).await;
    system.write("count", json!({"id": "a"})).await;
    // Nobody has followed yet. One write goes, another comes, and rows have an attribute more.
    let text = SHOP
        .replace(
            "      n: int 0..1000 = 0\n",
            "      n: int 0..1000 = 0\n      size: int? 0..9\n",
        )
        .replace("  keepOrder:\n", "  tellCounted:\n")
        .replace(
            "do: [{update: Tally(row.buyer), append: {seen: row.n}}]",
            "do: [{create: Note, set: {who: row.buyer, at: 'row.id + \" counted\"', text: '\"counted\"'}}]",
        );
    let loaded = singlet_model::load_source(&Source::new("model.yaml", text));
    assert!(!loaded.diagnostics.has_errors(), "{:?}", loaded.diagnostics);
    let model = Arc::new(loaded.model.unwrap());
    let store = Arc::clone(system.engine.store());
    let engine = Arc::new(Engine::open(model, store, Attributes::new(), [7; 32]));
    let came = rest(&mut start(&engine).await).await;
    assert_eq!((came.done, came.refused, came.parked), (2, 0, 0));
    // One with the model of before that still follows is behind, and does nothing of it again, whatever it calls it.
    let overtaken = before.follow_page(&|| NOW).await;
    assert!(matches!(overtaken, Err(FollowError::Overtaken)), "{overtaken:?}");
    assert_eq!(orders(&system).await, 1);
    assert_eq!(of_kind(&rows(&system.engine).await, "Note").len(), 1);
}

#[tokio::test]
async fn a_timer_that_a_clock_behind_has_set_in_a_minute_that_was_read_is_fired() {
    let system = System::open(AUCTIONS).await;
    let (mut behind, mut ahead) = (start(&system.engine).await, start(&system.engine).await);
    // The clock of one is a minute and a half ahead, and it has read the minutes up to there.
    ahead.fire_due(NOW + MINUTE + MINUTE / 2).await.unwrap();
    system
        .write_at(NOW, "hold", json!({"id": "a", "minutes": 0}))
        .await
        .unwrap();
    let open = json!({"id": "b", "minutes": 1});
    system.write_at(NOW - MINUTE / 2, "open", open).await.unwrap();
    let early = || NOW - MINUTE / 2;
    behind.follow_page(&early).await.unwrap();
    while !behind.is_at_head() {
        behind.follow_page(&early).await.unwrap();
    }
    // It set the timers by its own clock; the other takes over by its own.
    assert!(ahead.fire_due(NOW + 2 * MINUTE).await.unwrap() > 0);
    let all = rows(&system.engine).await;
    assert_eq!(of_kind(&all, "Auction")[0]["state"], Value::S("ended".to_owned()));
}
