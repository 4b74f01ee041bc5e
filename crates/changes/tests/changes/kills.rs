//! All that follows a write at once, under kills: writes after changes, refusals that are tried again, copies, tallies and webhooks. Processes end at any
//! call of their store, alone and beside others that believe to hold the lease too.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::json;
use singlet_changes::{
    FollowError, LEASE_MILLIS, PostWebhook, Posted, TallyFollower, TriggerFollower, Unobserved, WebhookPost,
    WebhookSender,
};
use singlet_item::{Item, Value};
use singlet_runtime::{Engine, Request};
use singlet_store::ErrorKind;

use crate::dying::dying_engine;
use crate::support::{NOW, System};
use crate::triggers::{of_kind, rows};

const ALL: &str = r#"
singlet: 1
name: all
table: {name: all, key: {partition: PK, sort: SK}, type: kind, ttl: ttl, stream: both_images}
settings: {url: 'string = "https://receiver.example/hook"'}
entities:
  Item:
    attributes: {id: string 1..8, owner: string 1..8, name: string 1..20, n: int 0.. = 0}
    key: {PK: "ITEM#{id}", SK: "ITEM"}
  Event:
    attributes:
      owner: Item.owner
      no: int 1..999
      id: Item.id
      name: {copy: "Item(id).name", kept: stream, found: owner == source.owner}
    key: {PK: "OWNER#{owner}", SK: "EVENT#{no}"}
  Log:
    attributes: {id: string 1..8, seen: list(int) ..1000}
    key: {PK: "ITEM#{id}", SK: "LOG"}
  Late:
    attributes: {id: string 1..8, seen: list(int) ..1000}
    key: {PK: "ITEM#{id}", SK: "LATE"}
tallies:
  byItem: {count: Event, by: [id], sum: {numbers: no}}
reads:
  figures: {tally: byItem, allow: true}
writes:
  add: {args: {id: string 1..8, name: string 1..20}, allow: true, do: [{create: Item, set: {id: args.id, owner: '"ada"', name: args.name}}, {create: Log, set: {id: args.id, seen: "[]"}}]}
  rename: {args: {id: string 1..8, name: string 1..20}, allow: true, do: [{update: Item(args.id), set: {name: args.name}}]}
  count: {args: {id: string 1..8}, allow: true, do: [{update: Item(args.id), add: {n: 1}}]}
  happen: {allow: true, do: [{create: Event, take: [owner, no, id]}]}
  drop: {args: {no: int 1..999}, allow: true, do: [{delete: 'Event("ada", args.no)'}]}
  late: {args: {id: string 1..8}, allow: true, do: [{create: Late, set: {id: args.id, seen: "[]"}}]}
  log:
    after: {update: Item.n}
    do: [{update: Log(row.id), append: {seen: row.n}}]
  logLate:
    after: {update: Item.n, else: retry}
    do: [{update: Late(row.id), append: {seen: row.n}}]
webhooks:
  happened: {after: {create: Event}, to: settings.url, send: {no: row.no}}
  counted: {after: {update: Item.n}, to: settings.url, send: {id: row.id, n: row.n}}
"#;

/// What came, by id: the body, and how often.
#[derive(Default)]
struct Receiver(Mutex<BTreeMap<String, (String, usize)>>);

#[async_trait]
impl PostWebhook for Receiver {
    async fn post(&self, post: &WebhookPost<'_>) -> Posted {
        let mut came = self.0.lock().unwrap();
        let known = came
            .entry(post.id.to_owned())
            .or_insert_with(|| (post.body.to_owned(), 0));
        assert_eq!(known.0, post.body, "one id has one body");
        known.1 += 1;
        Posted::Taken
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Kills {
    all: usize,
    beside_another: usize,
    told_again: usize,
}

/// Takes every lease, or believes to have it, and does all there is to do until nothing is left or its store is gone: whether it was killed.
async fn dies(system: &System, receiver: &Arc<Receiver>, calls: usize, now: i64) -> bool {
    let (engine, ended) = dying_engine(&system.engine, calls);
    let work = async {
        // In any order, as the tasks of a service run.
        let (ran, told, counted) = tokio::join!(run(&engine, now), tell(&engine, receiver, now), tally(&engine, now));
        ran.and(told).and(counted)
    };
    tokio::select! {
        ended = work => {
            ended.unwrap();
            false
        }
        () = ended.notified() => true,
    }
}

async fn run(engine: &Arc<Engine>, now: i64) -> Result<(), FollowError> {
    loop {
        let mut follower = TriggerFollower::start(Arc::clone(engine), Arc::new(Unobserved), now).await?;
        // Whether it got the lease or not, it goes on.
        follower.trigger_lease().hold_lease(now).await?;
        loop {
            let followed = async {
                let page = follower.follow_page(&|| now).await?;
                Ok::<_, FollowError>(page.records + follower.follow_orders(&|| now).await?)
            };
            match followed.await {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(FollowError::Overtaken) => break,
                Err(error) => return Err(error),
            }
        }
    }
}

async fn tell(engine: &Arc<Engine>, receiver: &Arc<Receiver>, now: i64) -> Result<(), FollowError> {
    WebhookSender::sender_lease(engine).hold_lease(now).await?;
    let sender = WebhookSender::new(Arc::clone(engine), receiver.clone(), Arc::new(Unobserved));
    for webhook in &engine.model().webhooks {
        while sender.send_due(webhook, &|| now).await? > 0 {}
    }
    Ok(())
}

async fn tally(engine: &Arc<Engine>, now: i64) -> Result<(), FollowError> {
    loop {
        let followed = async {
            TallyFollower::tally_lease(engine).hold_lease(now).await?;
            let mut tallies = TallyFollower::start(Arc::clone(engine), 0, now).await?;
            while !tallies.is_at_rest() {
                tallies.follow_page(&|| now).await?;
            }
            Ok(())
        };
        match followed.await {
            Err(FollowError::Overtaken) => {}
            // The head of a tally was written by another.
            Err(FollowError::Store(error)) if matches!(error.kind(), ErrorKind::Cancelled(_)) => {}
            ended => return ended,
        }
    }
}

/// What was asked for, so that it is known what must follow.
#[derive(Default)]
struct Asked {
    /// By item, how often it was counted.
    counts: [i64; 2],
    /// The items that have a place for what came late.
    late: [bool; 2],
    events: BTreeMap<i64, usize>,
    made: usize,
}

impl Asked {
    async fn one(&mut self, system: &System, random: &mut fastrand::Rng) {
        let of = random.usize(..2);
        let id = ["a", "b"][of];
        match random.u8(..8) {
            0 | 1 => {
                self.made += 1;
                let no = i64::try_from(self.made).unwrap();
                system
                    .write("happen", json!({"owner": "ada", "no": no, "id": id}))
                    .await;
                self.events.insert(no, of);
            }
            2 => {
                let name = format!("name{}", random.u16(..));
                system.write("rename", json!({"id": id, "name": name})).await;
            }
            3 if !self.events.is_empty() => {
                let no = *self.events.keys().next().unwrap();
                system.write("drop", json!({"no": no})).await;
                self.events.remove(&no);
            }
            4 if !self.late[of] => {
                system.write("late", json!({"id": id})).await;
                self.late[of] = true;
            }
            _ => {
                system.write("count", json!({"id": id})).await;
                self.counts[of] += 1;
            }
        }
    }
}

fn seen_of(all: &[Item], kind: &str, id: &str) -> Vec<i64> {
    let found = of_kind(all, kind)
        .into_iter()
        .find(|item| item["id"].as_str() == Some(id));
    let Some(Value::L(seen)) = found.map(|item| &item["seen"]) else {
        return Vec::new();
    };
    seen.iter().map(|n| n.as_number().unwrap().to_i64().unwrap()).collect()
}

async fn killed(seed: u64, kills_max: usize) -> Kills {
    let mut random = fastrand::Rng::with_seed(seed);
    let system = System::open(ALL).await;
    let receiver = Arc::new(Receiver::default());
    let clock = AtomicI64::new(NOW);
    assert!(!dies(&system, &receiver, usize::MAX, NOW).await);
    for id in ["a", "b"] {
        system.write("add", json!({"id": id, "name": "begin"})).await;
    }
    let (mut asked, mut kills) = (Asked::default(), Kills::default());
    for _ in 0..16 {
        for _ in 0..random.usize(..4) {
            asked.one(&system, &mut random).await;
        }
        for _ in 0..random.usize(..4) {
            if kills.all >= kills_max {
                break;
            }
            let now = clock.fetch_add(random.i64(0..30_000), Ordering::SeqCst);
            let (first, second) = (random.usize(1..90), random.usize(1..90));
            match random.bool() {
                true => {
                    // By the clock of one who is so far ahead every lease is over.
                    let ahead = now + 2 * LEASE_MILLIS;
                    let both = tokio::join!(
                        dies(&system, &receiver, first, now),
                        dies(&system, &receiver, second, ahead)
                    );
                    let killed = usize::from(both.0) + usize::from(both.1);
                    kills.all += killed;
                    kills.beside_another += killed;
                }
                false => kills.all += usize::from(dies(&system, &receiver, first, now).await),
            }
        }
    }
    for (of, id) in ["a", "b"].into_iter().enumerate() {
        if !asked.late[of] {
            system.write("late", json!({"id": id})).await;
        }
    }
    // By then whatever was refused for now is due.
    for _ in 0..3 {
        let now = clock.fetch_add(86_400_000, Ordering::SeqCst) + 10 * LEASE_MILLIS;
        assert!(!dies(&system, &receiver, usize::MAX, now).await, "seed {seed}");
    }
    hold(&system, &asked, &receiver, seed).await;
    kills.told_again = receiver.0.lock().unwrap().values().map(|(_, times)| times - 1).sum();
    kills
}

/// Everything that must be true when all who follow are at rest.
async fn hold(system: &System, asked: &Asked, receiver: &Receiver, seed: u64) {
    let all = rows(&system.engine).await;
    for (of, id) in ["a", "b"].into_iter().enumerate() {
        // Each change once, those of a row in order, also where they were refused at first.
        let meant: Vec<i64> = (1..=asked.counts[of]).collect();
        assert_eq!(seen_of(&all, "Log", id), meant, "seed {seed}");
        assert_eq!(seen_of(&all, "Late", id), meant, "seed {seed}");
    }
    let sources = of_kind(&all, "Item");
    for event in of_kind(&all, "Event") {
        let source = sources.iter().find(|item| item["id"] == event["id"]).unwrap();
        assert_eq!(source["name"], event["name"], "seed {seed}");
    }
    // Tallies are what counting comes to.
    let answer = system.engine.read("figures", &Request::default()).await.unwrap();
    let Some(Value::M(groups)) = answer.value else {
        panic!("no figures")
    };
    for (of, id) in ["a", "b"].into_iter().enumerate() {
        let events: Vec<i64> = asked
            .events
            .iter()
            .filter(|(_, at)| **at == of)
            .map(|(no, _)| *no)
            .collect();
        let figure = |name: &str| match groups.get(id) {
            Some(Value::M(figures)) => figures[name].as_number().unwrap().to_i64().unwrap(),
            _ => 0,
        };
        let meant = (i64::try_from(events.len()).unwrap(), events.iter().sum::<i64>());
        assert_eq!((figure("count"), figure("numbers")), meant, "seed {seed}");
    }
    // Every change was told, each under one id.
    let told = receiver.0.lock().unwrap().len();
    let counts = asked.counts.iter().sum::<i64>();
    assert_eq!(told, asked.made + usize::try_from(counts).unwrap(), "seed {seed}");
    let follower = TriggerFollower::start(Arc::clone(&system.engine), Arc::new(Unobserved), NOW).await;
    let parked = follower.unwrap().parked_changes();
    assert!(parked.is_empty(), "seed {seed}: {parked:?}");
}

#[tokio::test]
async fn killed_at_any_call_all_that_follows_is_right_at_rest() {
    let mut kills = Kills::default();
    for seed in 0..5 {
        let more = killed(seed, 20).await;
        kills.all += more.all;
        kills.beside_another += more.beside_another;
    }
    assert!(kills.all > 40 && kills.beside_another > 10, "{kills:?}");
}

/// `cargo test -p singlet-changes --test changes -- --ignored --nocapture kills`; `SINGLET_KILLS` says how many.
#[tokio::test]
#[ignore = "takes minutes"]
async fn many_kills_of_all_that_follows() {
    let wanted = std::env::var("SINGLET_KILLS").ok().and_then(|text| text.parse().ok());
    let wanted: usize = wanted.unwrap_or(600);
    let (mut kills, mut seed) = (Kills::default(), 5_000);
    while kills.all < wanted {
        let more = killed(seed, wanted).await;
        kills.all += more.all;
        kills.beside_another += more.beside_another;
        kills.told_again += more.told_again;
        seed += 1;
    }
    println!("{kills:?} in {} tables", seed - 5_000);
    assert!(
        kills.beside_another * 4 > kills.all && kills.told_again > 0,
        "{kills:?}"
    );
}
