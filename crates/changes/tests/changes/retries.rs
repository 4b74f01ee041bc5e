//! Refusals that are tried again: when, in which order, how often, and what becomes of them.

use std::sync::Arc;

use serde_json::json;
use singlet_changes::{FollowError, ParkedChanges, ParkedOrder, REFUSED_TRIES_MAX, TriggerFollower, Unobserved};
use singlet_item::Value;

use crate::dying::dying_engine;
use crate::support::{NOW, System, followers_of};
use crate::triggers::{number, of_kind, rows};

const BILLS: &str = r#"
singlet: 1
name: bills
table: {name: bills, key: {partition: PK, sort: SK}, type: kind, ttl: ttl, stream: both_images}
entities:
  Bill:
    attributes: {id: string 1..8, who: string 1..8, n: int 0..1000 = 0}
    key: {PK: "BILL#{id}", SK: "BILL"}
  Account:
    attributes: {who: string 1..8, seen: list(int) ..1000, open: bool = true}
    key: {PK: "WHO#{who}", SK: "ACCOUNT"}
writes:
  bill: {allow: true, do: [{create: Bill, take: [id, who]}]}
  count: {args: {id: string 1..8}, allow: true, do: [{update: Bill(args.id), add: {n: 1}}]}
  account: {args: {who: string 1..8}, allow: true, do: [{create: Account, set: {who: args.who, seen: "[]"}}]}
  charge:
    after: {update: Bill.n, else: retry}
    let: {account: Account(row.who)}
    do: [{update: account, append: {seen: row.n}}]
"#;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;

async fn start(system: &System) -> TriggerFollower {
    let engine = Arc::clone(&system.engine);
    TriggerFollower::start(engine, Arc::new(Unobserved), NOW).await.unwrap()
}

async fn rest(follower: &mut TriggerFollower, now: i64) -> usize {
    let mut later = 0;
    follower.follow_page(&|| now).await.unwrap();
    while !follower.is_at_head() {
        later += follower.follow_page(&|| now).await.unwrap().later;
    }
    later
}

async fn seen(system: &System, who: &str) -> Vec<i64> {
    let all = rows(&system.engine).await;
    let account = of_kind(&all, "Account")
        .into_iter()
        .find(|item| item["who"].as_str() == Some(who));
    let Some(Value::L(seen)) = account.map(|account| &account["seen"]) else {
        return Vec::new();
    };
    seen.iter().map(|n| n.as_number().unwrap().to_i64().unwrap()).collect()
}

async fn bill(system: &System, id: &str, who: &str, counts: usize) {
    system.write("bill", json!({"id": id, "who": who})).await;
    for _ in 0..counts {
        system.write("count", json!({"id": id})).await;
    }
}

#[tokio::test]
async fn a_refusal_is_tried_again_and_later_changes_of_its_row_wait_behind_it() {
    let system = System::open(BILLS).await;
    let mut follower = start(&system).await;
    bill(&system, "a", "ada", 3).await;
    system.write("account", json!({"who": "bob"})).await;
    bill(&system, "b", "bob", 2).await;
    rest(&mut follower, NOW).await;
    // Other rows do not wait.
    assert_eq!(seen(&system, "bob").await, [1, 2]);
    let kept = follower.parked_changes();
    assert_eq!(kept.len(), 3);
    assert_eq!(kept[0].next_try(), Some(NOW / 1_000 + 1));
    assert!(kept[0].reason.contains("account_not_found"), "{kept:?}");
    assert!(kept.iter().all(|one| one.next_try().is_some()), "{kept:?}");
    assert_eq!(follower.next_instant(), Some(NOW + SECOND));
    // Not before its time; then once, and the others stay behind it.
    assert_eq!(follower.follow_orders(&|| NOW).await.unwrap(), 0);
    assert_eq!(follower.follow_orders(&|| NOW + SECOND).await.unwrap(), 1);
    assert_eq!(follower.parked_changes()[0].next_try(), Some(NOW / 1_000 + 11));
    // The rule holds by now. What comes meanwhile waits, too: its order is promised.
    system.write("account", json!({"who": "ada"})).await;
    system.write("count", json!({"id": "a"})).await;
    rest(&mut follower, NOW + 2 * SECOND).await;
    assert_eq!(seen(&system, "ada").await, Vec::<i64>::new());
    // Another process goes on with it.
    let mut other = start(&system).await;
    assert_eq!(other.follow_orders(&|| NOW + 11 * SECOND).await.unwrap(), 4);
    assert_eq!(seen(&system, "ada").await, [1, 2, 3, 4]);
    assert!(other.parked_changes().is_empty());
    assert_eq!(other.next_instant(), None);
    // And what comes next runs as ever.
    system.write("count", json!({"id": "a"})).await;
    rest(&mut start(&system).await, NOW + MINUTE).await;
    assert_eq!(seen(&system, "ada").await, [1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn after_its_last_try_a_refusal_waits_for_an_operator() {
    let system = System::open(BILLS).await;
    let mut follower = start(&system).await;
    bill(&system, "a", "ada", 2).await;
    rest(&mut follower, NOW).await;
    let (mut now, mut tries) = (NOW, 1);
    while let Some(next) = follower.next_instant() {
        assert!(next > now);
        now = next;
        tries += follower.follow_orders(&|| now).await.unwrap();
    }
    assert_eq!(tries, REFUSED_TRIES_MAX);
    assert!(now - NOW > 70 * 60 * MINUTE && now - NOW < 8 * 24 * 60 * MINUTE);
    let kept = follower.parked_changes();
    assert_eq!((kept.len(), kept[0].next_try()), (2, None));
    assert!(kept[0].reason.contains("refused 12 times"), "{kept:?}");
    // It is not tried by itself any more; whoever asks for it is told that it is still refused.
    assert_eq!(follower.follow_orders(&|| now + 60 * MINUTE).await.unwrap(), 0);
    let parked = ParkedChanges::new(followers_of(&system.engine));
    parked
        .order_parked(ParkedOrder::Retry, Some(&kept[0].change))
        .await
        .unwrap();
    assert_eq!(follower.follow_orders(&|| now + 60 * MINUTE).await.unwrap(), 1);
    assert_eq!(follower.parked_changes()[0].next_try(), None);
    // A week later, when records of then are gone, it is done once, and what waits behind it follows by itself.
    system.write("account", json!({"who": "ada"})).await;
    parked
        .order_parked(ParkedOrder::Retry, Some(&kept[0].change))
        .await
        .unwrap();
    let later = now + 9 * 24 * 60 * MINUTE;
    assert_eq!(follower.follow_orders(&|| later).await.unwrap(), 2);
    assert_eq!(seen(&system, "ada").await, [1, 2]);
    assert!(follower.parked_changes().is_empty());
}

#[tokio::test]
async fn what_is_left_out_makes_way_and_what_is_behind_is_not_tried_before_it() {
    let system = System::open(BILLS).await;
    let mut follower = start(&system).await;
    bill(&system, "a", "ada", 3).await;
    rest(&mut follower, NOW).await;
    system.write("account", json!({"who": "ada"})).await;
    let kept = follower.parked_changes();
    let parked = ParkedChanges::new(followers_of(&system.engine));
    // An operator who asks for a later one alone does not change the order.
    parked
        .order_parked(ParkedOrder::Retry, Some(&kept[1].change))
        .await
        .unwrap();
    assert_eq!(follower.follow_orders(&|| NOW).await.unwrap(), 1);
    assert_eq!(seen(&system, "ada").await, Vec::<i64>::new());
    parked
        .order_parked(ParkedOrder::Discard, Some(&kept[0].change))
        .await
        .unwrap();
    assert_eq!(follower.follow_orders(&|| NOW).await.unwrap(), 3);
    assert_eq!(seen(&system, "ada").await, [2, 3]);
}

#[tokio::test]
async fn a_zombie_that_ran_it_meanwhile_leaves_nothing_to_be_tried() {
    let system = System::open(BILLS).await;
    let (mut follower, mut other) = (start(&system).await, start(&system).await);
    bill(&system, "a", "ada", 1).await;
    rest(&mut follower, NOW).await;
    assert_eq!(follower.parked_changes().len(), 1);
    system.write("account", json!({"who": "ada"})).await;
    // One that is behind and believes to be the one: the change waits already.
    let overtaken = other.follow_page(&|| NOW).await.unwrap_err();
    assert!(matches!(overtaken, FollowError::Overtaken), "{overtaken}");
    assert_eq!(follower.follow_orders(&|| NOW + SECOND).await.unwrap(), 1);
    assert_eq!(other.follow_orders(&|| NOW + SECOND).await.unwrap(), 0);
    assert_eq!(seen(&system, "ada").await, [1]);
}

/// Ends at some call while refusals are kept and tried; whether it did.
async fn dies(system: &System, calls: usize, now: i64) -> bool {
    let (engine, ended) = dying_engine(&system.engine, calls);
    let gone = async {
        let Ok(mut follower) = TriggerFollower::start(engine, Arc::new(Unobserved), NOW).await else {
            return;
        };
        while !follower.is_at_head() {
            if follower.follow_page(&|| now).await.is_err() {
                return;
            }
        }
        _ = follower.follow_orders(&|| now).await;
    };
    tokio::select! {
        () = gone => false,
        () = ended.notified() => true,
    }
}

#[tokio::test]
async fn killed_while_refusals_are_tried_all_run_once_and_in_order() {
    let mut kills = 0;
    for seed in 0..8 {
        let mut random = fastrand::Rng::with_seed(seed);
        let system = System::open(BILLS).await;
        start(&system).await;
        let (mut now, mut counts) = (NOW, 0_i64);
        system.write("bill", json!({"id": "a", "who": "ada"})).await;
        for step in 0..6 {
            for _ in 0..random.usize(..3) {
                system.write("count", json!({"id": "a"})).await;
                counts += 1;
            }
            if step == 3 {
                system.write("account", json!({"who": "ada"})).await;
            }
            for _ in 0..4 {
                let (first, second) = (random.usize(1..30), random.usize(1..30));
                let both = tokio::join!(dies(&system, first, now), dies(&system, second, now + SECOND));
                kills += usize::from(both.0) + usize::from(both.1);
                now += random.i64(0..20 * MINUTE);
            }
        }
        let mut follower = start(&system).await;
        rest(&mut follower, now).await;
        while let Some(next) = follower.next_instant() {
            follower.follow_orders(&|| next).await.unwrap();
        }
        assert!(
            follower.parked_changes().is_empty(),
            "seed {seed}: {:?}",
            follower.parked_changes()
        );
        assert_eq!(
            seen(&system, "ada").await,
            (1..=counts).collect::<Vec<_>>(),
            "seed {seed}"
        );
        assert_eq!(number(of_kind(&rows(&system.engine).await, "Bill")[0], "n"), counts);
    }
    assert!(kills > 100, "{kills}");
}

#[tokio::test]
async fn a_clock_that_was_years_ahead_does_not_put_off_a_try() {
    let system = System::open(BILLS).await;
    let mut follower = start(&system).await;
    bill(&system, "a", "ada", 1).await;
    rest(&mut follower, NOW + 400 * 24 * 60 * MINUTE).await;
    system.write("account", json!({"who": "ada"})).await;
    assert_eq!(follower.follow_orders(&|| NOW).await.unwrap(), 1);
    assert_eq!(seen(&system, "ada").await, [1]);
}

#[tokio::test]
async fn so_many_are_tried_at_once_and_the_others_next() {
    let system = System::open(BILLS).await;
    let mut follower = start(&system).await;
    for at in 0..66 {
        bill(&system, &format!("b{at}"), "ada", 1).await;
    }
    rest(&mut follower, NOW).await;
    assert_eq!(follower.parked_changes().len(), 66);
    system.write("account", json!({"who": "ada"})).await;
    assert_eq!(follower.follow_orders(&|| NOW + SECOND).await.unwrap(), 64);
    assert_eq!(follower.follow_orders(&|| NOW + SECOND).await.unwrap(), 2);
    assert_eq!(follower.follow_orders(&|| NOW + SECOND).await.unwrap(), 0);
    assert_eq!(seen(&system, "ada").await.len(), 66);
}
