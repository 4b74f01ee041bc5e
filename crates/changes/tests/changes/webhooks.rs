//! Webhooks: one delivery for each webhook and change, at least once under one id, and what becomes of those that are not taken.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Value as Json, json};
use singlet_changes::{
    ATTEMPTS_MAX, Deliveries, Followed, ParkedChanges, ParkedOrder, PostWebhook, Posted, TriggerFollower, Unobserved,
    WebhookOrder, WebhookPost, WebhookSender, forget_unneeded,
};
use singlet_item::Value;
use singlet_runtime::{Attributes, Engine};

use crate::dying::dying_engine;
use crate::support::{NOW, System, followers_of};
use crate::triggers::start;

const URL: &str = "https://receiver.example/hook";

pub const SHOP: &str = r#"
singlet: 1
name: shop
table: {name: shop, key: {partition: PK, sort: SK}, type: kind, ttl: ttl, stream: both_images}
settings:
  ordersUrl: 'string = "https://receiver.example/hook"'
  nobodyUrl: string?
types:
  OrderState: {enum: [open, paid]}
entities:
  Order:
    attributes:
      id: string 1..8
      n: int 0..1000 = 0
      text: string ..30000 = ""
      remindAt: millis?
      until: seconds?
      state: OrderState
    key: {PK: "ORDER#{id}", SK: "ORDER"}
    expires: until
    states: {of: state, start: open, moves: {pay: open -> paid}}
writes:
  order: {allow: true, do: [{create: Order, take: [id, text, remindAt, until]}]}
  count: {args: {id: string 1..8}, allow: true, do: [{update: Order(args.id), add: {n: 1}}]}
  pay: {args: {id: string 1..8}, allow: true, do: [{update: Order(args.id), move: pay}]}
  drop: {args: {id: string 1..8}, allow: true, do: [{delete: Order(args.id)}]}
webhooks:
  ordered: {after: {create: Order}, to: settings.ordersUrl, send: {order: row.id, text: row.text, until: row.until}}
  also: {after: {create: Order}, when: row.n == 0 && row.text == "", to: settings.ordersUrl, send: {whole: row}}
  counted: {after: {update: Order.n}, to: settings.ordersUrl, send: {from: before.n, to: row.n}}
  paid: {after: {enter: Order.paid}, to: settings.ordersUrl, send: {order: row.id}}
  dropped: {after: {delete: Order}, to: settings.ordersUrl, send: {order: row.id}}
  over: {after: {expire: Order}, to: settings.ordersUrl, send: {order: row.id}}
  reminded: {after: {reach: Order.remindAt}, to: settings.ordersUrl, send: {order: row.id}}
  unheard: {after: {create: Order}, to: settings.nobodyUrl, send: {order: row.id}}
"#;

/// What came to a receiver: webhook, id, body.
pub type Came = (String, String, String);

/// A receiver that answers what it is told to, and takes everything else.
#[derive(Default)]
pub struct Receiver {
    came: Mutex<Vec<Came>>,
    answers: Mutex<VecDeque<Posted>>,
    always: Mutex<Option<Posted>>,
}

#[async_trait]
impl PostWebhook for Receiver {
    async fn post(&self, post: &WebhookPost<'_>) -> Posted {
        assert_eq!(post.address, URL);
        let came = (post.webhook.to_owned(), post.id.to_owned(), post.body.to_owned());
        self.came.lock().unwrap().push(came);
        let next = self.answers.lock().unwrap().pop_front();
        next.or_else(|| self.always.lock().unwrap().clone())
            .unwrap_or(Posted::Taken)
    }
}

impl Receiver {
    fn answering(always: Posted) -> Arc<Self> {
        let receiver = Receiver::default();
        *receiver.always.lock().unwrap() = Some(always);
        Arc::new(receiver)
    }

    pub fn take(&self) -> Vec<Came> {
        std::mem::take(&mut *self.came.lock().unwrap())
    }
}

fn failed(retry_after: Option<&str>) -> Posted {
    Posted::Failed {
        reason: "500".to_owned(),
        retry_after: retry_after.map(str::to_owned),
    }
}

pub fn sender(engine: &Arc<Engine>, receiver: &Arc<Receiver>) -> WebhookSender {
    WebhookSender::new(Arc::clone(engine), receiver.clone(), Arc::new(Unobserved))
}

/// Sends what is due of every webhook until nothing is.
async fn send(sender: &WebhookSender, engine: &Engine, now: i64) {
    for webhook in &engine.model().webhooks {
        while sender.send_due(webhook, &|| now).await.unwrap() > 0 {}
    }
}

async fn look(sender: &WebhookSender, engine: &Engine, name: &str, now: i64) -> usize {
    let webhook = engine
        .model()
        .webhooks
        .iter()
        .find(|webhook| webhook.name == name)
        .unwrap();
    sender.send_due(webhook, &|| now).await.unwrap()
}

/// Follows until a page is empty: what was done and parked.
async fn rest(follower: &mut TriggerFollower) -> Followed {
    let mut all = Followed::default();
    loop {
        let page = follower.follow_page(&|| NOW).await.unwrap();
        all.done += page.done;
        all.parked += page.parked;
        if page.records == 0 {
            return all;
        }
    }
}

fn deliveries(engine: &Engine) -> Deliveries {
    Deliveries::new(followers_of(engine))
}

async fn ordered(system: &System, id: &str) {
    system.write("order", json!({"id": id, "text": "x"})).await;
}

#[tokio::test]
async fn each_kind_of_change_is_told_once_to_each_webhook_that_means_it() {
    let system = System::open(SHOP).await;
    let mut follower = start(&system.engine).await;
    let receiver = Arc::new(Receiver::default());
    let sender = sender(&system.engine, &receiver);
    let until = NOW / 1_000 + 60;
    let row = json!({"id": "a", "text": "", "remindAt": NOW + 30_000, "until": until});
    system.write("order", row).await;
    system.write("count", json!({"id": "a"})).await;
    system.write("pay", json!({"id": "a"})).await;
    ordered(&system, "b").await;
    system.write("drop", json!({"id": "b"})).await;
    let came = rest(&mut follower).await;
    assert_eq!((came.done, came.parked), (6, 0));
    follower.fire_due(NOW + 30_000).await.unwrap();
    follower.fire_due(NOW + 61_000).await.unwrap();
    rest(&mut follower).await;
    send(&sender, &system.engine, NOW + 61_000).await;
    let mut told: Vec<(String, Json)> = Vec::new();
    for (webhook, id, body) in receiver.take() {
        let body: Json = serde_json::from_str(&body).unwrap();
        assert_eq!(body["type"], json!(webhook));
        assert!(body["timestamp"].as_str().unwrap().ends_with('Z'));
        let is_safe = |char: char| char.is_ascii_alphanumeric() || char == '_';
        assert!(id.starts_with("msg_") && id.chars().all(is_safe), "{id}");
        told.push((webhook, body["data"].clone()));
    }
    told.sort_by(|one, two| (&one.0, one.1.to_string()).cmp(&(&two.0, two.1.to_string())));
    let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "also", "counted", "dropped", "ordered", "ordered", "over", "paid", "reminded"
        ]
    );
    assert_eq!(told[0].1["whole"]["id"], json!("a"));
    assert_eq!(told[1].1, json!({"from": 0, "to": 1}));
    // What is absent is left out.
    assert_eq!(told[3].1, json!({"order": "a", "text": "", "until": until}));
    assert_eq!(told[4].1, json!({"order": "b", "text": "x"}));
    send(&sender, &system.engine, NOW + 10_000_000).await;
    assert_eq!(receiver.take().len(), 0);
}

#[tokio::test]
async fn a_receiver_that_fails_is_tried_on_schedule_and_what_failed_is_kept_until_it_is_resumed() {
    let system = System::open(SHOP).await;
    let mut follower = start(&system.engine).await;
    let receiver = Receiver::answering(failed(None));
    let sender = sender(&system.engine, &receiver);
    ordered(&system, "a").await;
    rest(&mut follower).await;
    let kept = deliveries(&system.engine);
    let (mut now, mut attempts) = (NOW, Vec::new());
    loop {
        send(&sender, &system.engine, now).await;
        let [delivery] = &kept.list_deliveries("ordered", 10).await.unwrap()[..] else {
            panic!("one delivery");
        };
        attempts.push(now - NOW);
        assert_eq!(delivery.attempts as usize, attempts.len());
        assert_eq!(delivery.reason.as_deref(), Some("500"));
        let Some(due) = delivery.due else { break };
        // Not before its time.
        send(&sender, &system.engine, due - 1).await;
        assert_eq!(
            kept.list_deliveries("ordered", 10).await.unwrap()[0].attempts,
            delivery.attempts
        );
        now = due;
    }
    assert_eq!(attempts.len(), ATTEMPTS_MAX as usize);
    let planned = [5, 305, 2_105, 9_305, 27_305, 63_305, 113_705, 185_705, 272_105].map(|seconds| seconds * 1_000);
    for (at, planned) in attempts[1..].iter().zip(planned) {
        assert!((planned..=planned + planned / 10 + 1).contains(at), "{attempts:?}");
    }
    let came = receiver.take();
    assert_eq!(came.len(), ATTEMPTS_MAX as usize);
    assert!(
        came.iter().all(|one| *one == came[0]),
        "one id and one body at every attempt"
    );

    *receiver.always.lock().unwrap() = None;
    kept.order_webhook("ordered", WebhookOrder::Resume).await.unwrap();
    send(&sender, &system.engine, now).await;
    // What is asked for is done in some looks.
    for _ in 0..3 {
        look(&sender, &system.engine, "ordered", now + 1).await;
    }
    assert_eq!(receiver.take(), came[..1]);
    assert_eq!(kept.list_deliveries("ordered", 10).await.unwrap(), []);
    assert_eq!(kept.webhook_state("ordered").await.unwrap().order, None);
}

#[tokio::test]
async fn what_failed_is_discarded_when_an_operator_says_so_and_nothing_else_is() {
    let system = System::open(SHOP).await;
    let mut follower = start(&system.engine).await;
    let receiver = Receiver::answering(failed(None));
    let sender = sender(&system.engine, &receiver);
    ordered(&system, "a").await;
    rest(&mut follower).await;
    let mut now = NOW;
    for _ in 0..ATTEMPTS_MAX {
        now += 27 * 3_600_000;
        send(&sender, &system.engine, now).await;
    }
    let kept = deliveries(&system.engine);
    assert_eq!(kept.list_deliveries("ordered", 10).await.unwrap()[0].due, None);
    ordered(&system, "b").await;
    rest(&mut follower).await;
    kept.order_webhook("ordered", WebhookOrder::Discard).await.unwrap();
    let webhook = &system.engine.model().webhooks[0];
    kept.follow_orders(&system.engine, webhook, now).await.unwrap();
    let left = kept.list_deliveries("ordered", 10).await.unwrap();
    assert!(left.len() == 1 && left[0].body.contains("\"b\""), "{left:?}");
}

#[tokio::test]
async fn an_address_that_is_gone_is_left_alone_until_it_is_resumed_and_nothing_is_lost() {
    let system = System::open(SHOP).await;
    let mut follower = start(&system.engine).await;
    let receiver = Receiver::answering(Posted::Gone);
    let sender = sender(&system.engine, &receiver);
    for id in ["a", "b"] {
        ordered(&system, id).await;
    }
    rest(&mut follower).await;
    look(&sender, &system.engine, "ordered", NOW).await;
    let kept = deliveries(&system.engine);
    assert_eq!(kept.webhook_state("ordered").await.unwrap().gone.as_deref(), Some(URL));
    receiver.take();
    ordered(&system, "c").await;
    rest(&mut follower).await;
    for hours in 1..200 {
        look(&sender, &system.engine, "ordered", NOW + hours * 3_600_000).await;
    }
    assert_eq!(receiver.take().len(), 0);
    let waiting = kept.list_deliveries("ordered", 10).await.unwrap();
    assert!(waiting.len() == 3 && waiting.iter().all(|one| one.attempts == 0));
    // Another webhook at the same address has a state of its own.
    system.write("count", json!({"id": "a"})).await;
    rest(&mut follower).await;
    *receiver.always.lock().unwrap() = None;
    send(&sender, &system.engine, NOW + 800_000_000).await;
    let came = receiver.take();
    assert_eq!(came.iter().map(|one| one.0.as_str()).collect::<Vec<_>>(), ["counted"]);

    kept.order_webhook("ordered", WebhookOrder::Resume).await.unwrap();
    for _ in 0..3 {
        look(&sender, &system.engine, "ordered", NOW + 900_000_000).await;
    }
    assert_eq!(receiver.take().len(), 3);
    assert_eq!(kept.webhook_state("ordered").await.unwrap().gone, None);

    // What waits for an address that is gone can be discarded too.
    *receiver.always.lock().unwrap() = Some(Posted::Gone);
    ordered(&system, "d").await;
    rest(&mut follower).await;
    look(&sender, &system.engine, "ordered", NOW + 1_000_000_000).await;
    kept.order_webhook("ordered", WebhookOrder::Discard).await.unwrap();
    for _ in 0..3 {
        look(&sender, &system.engine, "ordered", NOW + 1_000_000_000).await;
    }
    assert_eq!(kept.list_deliveries("ordered", 10).await.unwrap(), []);
    assert!(kept.webhook_state("ordered").await.unwrap().gone.is_some());
}

#[tokio::test]
async fn retry_after_is_honoured_by_the_whole_webhook_within_bounds() {
    let system = System::open(SHOP).await;
    let mut follower = start(&system.engine).await;
    let receiver = Arc::new(Receiver::default());
    receiver.answers.lock().unwrap().push_back(failed(Some("600")));
    let sender = sender(&system.engine, &receiver);
    ordered(&system, "a").await;
    rest(&mut follower).await;
    assert_eq!(look(&sender, &system.engine, "ordered", NOW).await, 1);
    ordered(&system, "b").await;
    rest(&mut follower).await;
    assert_eq!(look(&sender, &system.engine, "ordered", NOW + 599_999).await, 0);
    assert_eq!(look(&sender, &system.engine, "ordered", NOW + 600_000).await, 2);
    assert_eq!(receiver.take().len(), 3);

    // A day is believed of the delivery, and an hour of the webhook.
    receiver.answers.lock().unwrap().push_back(failed(Some("999999999")));
    ordered(&system, "c").await;
    rest(&mut follower).await;
    let now = NOW + 700_000;
    assert_eq!(look(&sender, &system.engine, "ordered", now).await, 1);
    ordered(&system, "d").await;
    rest(&mut follower).await;
    assert_eq!(look(&sender, &system.engine, "ordered", now + 3_599_999).await, 0);
    assert_eq!(look(&sender, &system.engine, "ordered", now + 3_600_000).await, 1);
    assert_eq!(look(&sender, &system.engine, "ordered", now + 86_399_999).await, 0);
    assert_eq!(look(&sender, &system.engine, "ordered", now + 86_400_000).await, 1);
}

#[tokio::test]
async fn a_body_that_is_too_large_is_parked_and_holds_up_nothing() {
    let system = System::open(SHOP).await;
    let mut follower = start(&system.engine).await;
    let empty = r#"{"type":"ordered","timestamp":"2026-11-16T12:00:00Z","data":{"order":"a","text":""}}"#.len();
    for (id, bytes) in [("a", 20_000 - empty), ("b", 20_001 - empty)] {
        system
            .write("order", json!({"id": id, "text": "x".repeat(bytes)}))
            .await;
    }
    let came = rest(&mut follower).await;
    assert_eq!((came.done, came.parked), (1, 1));
    let parked = follower.parked_changes();
    assert_eq!(parked[0].write, "ordered");
    assert!(parked[0].reason.contains("20001 bytes"), "{}", parked[0].reason);
    // Later changes of the row do not wait behind it: what is told is told in no order.
    system.write("drop", json!({"id": "b"})).await;
    ordered(&system, "b").await;
    assert_eq!(rest(&mut follower).await.done, 2);
    let orders = ParkedChanges::new(followers_of(&system.engine));
    orders.order_parked(ParkedOrder::Retry, Some("ordered")).await.unwrap();
    follower.follow_orders(&|| NOW).await.unwrap();
    assert_eq!(follower.parked_changes().len(), 1);
    orders
        .order_parked(ParkedOrder::Discard, Some("ordered"))
        .await
        .unwrap();
    follower.follow_orders(&|| NOW).await.unwrap();
    assert_eq!(follower.parked_changes().len(), 0);
}

#[tokio::test]
async fn what_is_loaded_is_not_told() {
    let system = System::open(SHOP).await;
    let mut follower = start(&system.engine).await;
    let rows = r#"{"Order": {"id": "a", "state": "open"}}"#;
    singlet_runtime::load::load_text(&system.engine, rows, NOW)
        .await
        .unwrap();
    assert_eq!(rest(&mut follower).await.done, 0);
}

/// A table without TTL has the record all the same.
#[tokio::test]
async fn a_change_that_is_told_again_makes_no_second_delivery() {
    for model in [
        SHOP.to_owned(),
        SHOP.replace(" ttl: ttl,", "")
            .replace("    expires: until\n", "")
            .replace(
                "  over: {after: {expire: Order}, to: settings.ordersUrl, send: {order: row.id}}\n",
                "",
            ),
    ] {
        let system = System::open(&model).await;
        let mut one = start(&system.engine).await;
        let mut two = start(&system.engine).await;
        let receiver = Arc::new(Receiver::default());
        let sender = sender(&system.engine, &receiver);
        ordered(&system, "a").await;
        assert_eq!(one.follow_page(&|| NOW).await.unwrap().done, 1);
        send(&sender, &system.engine, NOW).await;
        // It believes to be the one who follows, and is told the change after it was delivered.
        let again = two.follow_page(&|| NOW).await;
        assert!(again.is_err(), "another noted it before");
        send(&sender, &system.engine, NOW).await;
        assert_eq!(receiver.take().len(), 1);
    }
}

/// Follows and sends until the store is gone for this process, or all is done: whether it was killed.
async fn dies(system: &System, receiver: &Arc<Receiver>, calls: usize, clock: &AtomicI64) -> bool {
    let (engine, ended) = dying_engine(&system.engine, calls);
    let now = || clock.load(Ordering::SeqCst);
    let work = async {
        let mut follower = TriggerFollower::start(Arc::clone(&engine), Arc::new(Unobserved), now())
            .await
            .unwrap();
        while !follower.is_at_head() {
            follower.follow_page(&now).await.unwrap();
        }
        let sender = sender(&engine, receiver);
        for webhook in &engine.model().webhooks {
            while sender.send_due(webhook, &now).await.unwrap() > 0 {}
        }
    };
    tokio::select! {
        () = work => false,
        () = ended.notified() => true,
    }
}

#[tokio::test]
async fn killed_at_any_call_everything_is_told_under_one_id() {
    let (mut kills, mut repeated) = (0, 0);
    for calls in 1.. {
        let system = System::open(SHOP).await;
        drop(start(&system.engine).await);
        let receiver = Arc::new(Receiver::default());
        // Some are not taken at first.
        receiver
            .answers
            .lock()
            .unwrap()
            .extend([failed(None), Posted::Taken, failed(Some("7"))]);
        for id in ["a", "b", "c"] {
            ordered(&system, id).await;
        }
        system.write("count", json!({"id": "a"})).await;
        system.write("drop", json!({"id": "b"})).await;
        let clock = AtomicI64::new(NOW);
        let killed = dies(&system, &receiver, calls, &clock).await;
        kills += usize::from(killed);
        for _ in 0..3 {
            clock.fetch_add(10_000, Ordering::SeqCst);
            assert!(!dies(&system, &receiver, usize::MAX, &clock).await);
        }
        let mut told: BTreeMap<String, (String, String)> = BTreeMap::new();
        let came = receiver.take();
        let attempts = came.len();
        for (webhook, id, body) in came {
            let known = told.entry(id).or_insert_with(|| (webhook.clone(), body.clone()));
            assert_eq!(*known, (webhook, body));
        }
        // Beside the two that were not taken.
        repeated += attempts - told.len() - 2;
        let mut names: Vec<&str> = told.values().map(|(webhook, _)| webhook.as_str()).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            ["counted", "dropped", "ordered", "ordered", "ordered"],
            "killed at call {calls}"
        );
        for webhook in &system.engine.model().webhooks {
            let left = deliveries(&system.engine)
                .list_deliveries(&webhook.name, 10)
                .await
                .unwrap();
            assert_eq!(left, [], "killed at call {calls}");
        }
        if !killed {
            break;
        }
    }
    assert!(kills > 30 && repeated > 0, "{kills} kills, {repeated} told again");
}

/// Two senders that both believe to be the only one.
#[tokio::test]
async fn two_senders_tell_it_at_least_once_and_leave_nothing() {
    let system = System::open(SHOP).await;
    let mut follower = start(&system.engine).await;
    let receiver = Arc::new(Receiver::default());
    receiver
        .answers
        .lock()
        .unwrap()
        .extend(std::iter::repeat_n(failed(None), 5));
    for at in 0..20 {
        ordered(&system, &format!("o{at}")).await;
    }
    rest(&mut follower).await;
    let (one, two) = (sender(&system.engine, &receiver), sender(&system.engine, &receiver));
    for now in [NOW, NOW + 10_000, NOW + 400_000] {
        tokio::join!(send(&one, &system.engine, now), send(&two, &system.engine, now));
    }
    let mut ids: Vec<String> = receiver.take().into_iter().map(|(_, id, _)| id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 20);
    assert_eq!(
        deliveries(&system.engine).list_deliveries("ordered", 10).await.unwrap(),
        []
    );
}

#[tokio::test]
async fn a_delivery_goes_by_itself_after_thirty_days() {
    let system = System::open(SHOP).await;
    let mut follower = start(&system.engine).await;
    ordered(&system, "a").await;
    rest(&mut follower).await;
    let request = singlet_store::ScanRequest {
        table: "shop".to_owned(),
        consistent: true,
        ..singlet_store::ScanRequest::default()
    };
    let items = system.engine.store().scan(&request).await.unwrap().items;
    let delivery = items.iter().find(|item| item.contains_key("$body")).unwrap();
    let until = delivery["ttl"].as_number().unwrap().to_i64();
    assert_eq!(until, Some(NOW / 1_000 + 30 * 86_400));
    assert_eq!(delivery["kind"], Value::S("$webhook".to_owned()));
}

#[tokio::test]
async fn a_webhook_that_goes_from_the_model_takes_its_rows_with_it() {
    let system = System::open(SHOP).await;
    assert_eq!(forget_unneeded(&system.engine).await.unwrap(), 0);
    let mut follower = start(&system.engine).await;
    for at in 0..3 {
        system.write("order", json!({"id": format!("o{at}")})).await;
    }
    while !follower.is_at_head() {
        follower.follow_page(&|| NOW).await.unwrap();
    }
    let kept = |text: &str| {
        text.lines()
            .filter(|line| !line.starts_with("  also:"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let source = singlet_model::Source::new("model.yaml", kept(SHOP));
    let model = Arc::new(singlet_model::load_source(&source).model.unwrap());
    let store = Arc::clone(system.engine.store());
    let other = Arc::new(Engine::open(model, store, Attributes::new(), [7; 32]));
    // What another model still has stays, and what is gone goes once.
    assert_eq!(forget_unneeded(&other).await.unwrap(), 3);
    assert_eq!(forget_unneeded(&other).await.unwrap(), 0);
    let deliveries = Deliveries::new(followers_of(&system.engine));
    let also = deliveries.list_deliveries("also", 9).await.unwrap();
    assert!(also.is_empty(), "{also:?}");
    assert!(!deliveries.webhook_state("also").await.unwrap().is_known());
    assert_eq!(deliveries.list_deliveries("ordered", 9).await.unwrap().len(), 3);
}
