//! What follows changes while two models run: writes that run by themselves, figures, copies, webhooks. Each change is told once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use singlet_changes::{
    FollowError, Followers, PostWebhook, Posted, TallyFollower, TriggerFollower, Unobserved, WebhookPost, WebhookSender,
};
use singlet_item::{Item, Value};
use singlet_migrate::{Bridge, BridgeGoal, BridgeSide, MigrateError};
use singlet_runtime::{Engine, RuntimeError};
use singlet_store::Store;
use singlet_testing::DyingStore;

use super::super::place;
use super::super::support::{Table, open_to_write};
use super::clients::is_shut;
use super::kills::kills;
use super::models::{clock, number, options, read, rows, tasks, text, write};
use super::processes::{PATIENT, Process};

/// Tasks of which sums are kept by writes that run by themselves and by a tally, copies and webhooks.
pub const FOLLOWED: &str = r#"
singlet: 1
name: desk
table: {name: TABLE, key: {partition: PK, sort: SK}, type: kind, ttl: ends, stream: both_images}
settings: {url: 'string = "https://receiver.example/hook"'}
entities:
  Task:
    attributes: {owner: string 1..20, number: int 0..99, title: string 1..40, points: int 0..99999 = 0}
    key: {PK: "USER#{owner}", SK: "TASK#{number}"}
    unique: {title: lower(title)}
  Pin:
    attributes:
      owner: Task.owner
      number: Task.number
      title: {copy: "Task(owner, number).title", kept: stream}
    key: {PK: "PINS#{owner}", SK: "PIN#{number}"}
  Sum:
    attributes: {owner: string 1..20, made: int = 0, gone: int = 0, points: int = 0}
    key: {PK: "SUM#{owner}", SK: "SUM"}
tallies:
  byOwner: {count: Task, by: [owner], sum: {points: points}}
reads:
  tasks: {find: Task, where: owner == args.owner, args: {owner: string}, order: number, allow: true}
  pins: {find: Pin, where: owner == args.owner, args: {owner: string}, order: number, allow: true}
  sums: {get: Sum, where: owner == args.owner, args: {owner: string}, allow: true}
  figures: {tally: byOwner, allow: true}
writes:
  begin: {args: {owner: string}, allow: true, do: [{create: Sum, set: {owner: args.owner}}]}
  add: {allow: true, do: [{create: Task, take: [owner, number, title, points]}]}
  pin: {args: {owner: string, number: int}, allow: true, do: [{create: Pin, set: {owner: args.owner, number: args.number}}]}
  retitle: {args: {owner: string, number: int, title: string}, allow: true, do: [{update: "Task(args.owner, args.number)", set: {title: args.title}}]}
  score: {args: {owner: string, number: int, points: int}, allow: true, do: [{update: "Task(args.owner, args.number)", add: {points: args.points}}]}
  remove: {args: {owner: string, number: int}, allow: true, do: [{delete: "Task(args.owner, args.number)"}]}
  counted: {after: {create: Task}, do: [{update: Sum(row.owner), add: {made: 1, points: row.points}}]}
  scored: {after: {update: Task.points}, do: [{update: Sum(row.owner), add: {points: row.points - before.points}}]}
  dropped: {after: {delete: Task}, do: [{update: Sum(row.owner), add: {gone: 1, points: 0 - row.points}}]}
webhooks:
  created: {after: {create: Task}, to: settings.url, send: {owner: row.owner, number: row.number}}
  changed: {after: {update: Task.points}, to: settings.url, send: {owner: row.owner, points: row.points}}
"#;

/// Keys move.
pub fn moved() -> String {
    FOLLOWED.replace("number: int 0..99,", "number: int 0..9999,")
}

/// Nothing moves: tasks get a size.
pub fn sized() -> String {
    FOLLOWED
        .replace(
            "points: int 0..99999 = 0}",
            "points: int 0..99999 = 0, size: {type: Size = \"small\", fill: 'points > 5 ? \"large\" : \"small\"'}}",
        )
        .replace("entities:\n", "types: {Size: {enum: [small, large]}}\nentities:\n")
}

const OWNERS: [&str; 3] = ["ada", "bob", "eve"];

/// What was told, by the delivery's id.
#[derive(Default)]
pub struct Receiver(Mutex<BTreeMap<String, String>>);

#[async_trait]
impl PostWebhook for Receiver {
    async fn post(&self, post: &WebhookPost<'_>) -> Posted {
        let mut told = self.0.lock().unwrap();
        let known = told.entry(post.id.to_owned()).or_insert_with(|| post.body.to_owned());
        assert_eq!(known, post.body, "one id has one body");
        Posted::Taken
    }
}

/// All that follows changes, once round.
async fn follow_once(engine: &Arc<Engine>, receiver: &Arc<Receiver>) -> Result<usize, FollowError> {
    let mut triggers = TriggerFollower::start(Arc::clone(engine), Arc::new(Unobserved), clock()).await?;
    let mut read = 0;
    while !triggers.is_at_head() {
        read += triggers.follow_page(&clock).await?.done;
    }
    let sender = WebhookSender::new(Arc::clone(engine), receiver.clone(), Arc::new(Unobserved));
    for webhook in &engine.model().webhooks {
        while sender.send_due(webhook, &clock).await? > 0 {}
    }
    let mut tallies = TallyFollower::start(Arc::clone(engine), 0, clock()).await?;
    while !tallies.is_at_rest() {
        read += tallies.follow_page(&clock).await?.groups;
    }
    Ok(read)
}

/// Follows as a service does: what fails is tried again.
async fn follow(engine: Engine, receiver: Arc<Receiver>, is_over: Arc<AtomicBool>) {
    let engine = Arc::new(engine).follower();
    while !is_over.load(Ordering::SeqCst) {
        let _ = follow_once(&engine, &receiver).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// What clients have done.
#[derive(Clone, Debug, Default, PartialEq)]
struct Asked {
    made: i64,
    gone: i64,
    scored: i64,
}

/// One call of a client; whether it was answered.
async fn ask(engine: &Engine, owner: &str, asked: &mut Asked) -> bool {
    let at = || [("owner", text(owner)), ("number", number(fastrand::i64(0..12)))];
    let title = ("title", text(&format!("{owner} {}", fastrand::u64(..))));
    let ([of, mut id], kind) = (at(), fastrand::u32(0..7));
    // What a row was of which there are copies, and another one in its place, is not what this is about.
    match kind {
        5 => id.1 = number(fastrand::i64(0..4)),
        6 => id.1 = number(fastrand::i64(4..12)),
        _ => {}
    }
    let done = match kind {
        0 | 1 => write(engine, "add", [of, id, title, ("points", number(fastrand::i64(0..9)))]).await,
        2 | 3 => write(engine, "score", [of, id, ("points", number(fastrand::i64(1..5)))]).await,
        4 => write(engine, "retitle", [of, id, title]).await,
        5 => write(engine, "pin", [of, id]).await,
        _ => write(engine, "remove", [of, id]).await,
    };
    match done {
        Ok(()) => {
            asked.made += i64::from(kind < 2);
            asked.scored += i64::from(kind == 2 || kind == 3);
            asked.gone += i64::from(kind == 6);
            true
        }
        Err(error) if is_shut(&error) => false,
        Err(RuntimeError::Store(error)) if error.is_unavailable() => false,
        Err(RuntimeError::Refused(_)) => true,
        Err(error) => panic!("{error}"),
    }
}

/// A table with some tasks, what follows them begun.
async fn followed_table(store: Arc<dyn Store>) -> (Table, Arc<Receiver>, BTreeMap<String, Asked>) {
    let table = Table::named(store);
    let engine = Arc::new(table.engine(FOLLOWED));
    open_to_write(&engine).await.unwrap();
    let receiver = Arc::new(Receiver::default());
    follow_once(&engine, &receiver).await.unwrap();
    let mut all = BTreeMap::new();
    for owner in OWNERS {
        write(&engine, "begin", [("owner", text(owner))]).await.unwrap();
        let mut asked = Asked::default();
        for at in 0..6 {
            let row = [
                ("owner", text(owner)),
                ("number", number(at)),
                ("title", text(&format!("{owner} {at}"))),
                ("points", number(at)),
            ];
            write(&engine, "add", row).await.unwrap();
            asked.made += 1;
        }
        all.insert(owner.to_owned(), asked);
    }
    (table, receiver, all)
}

async fn bridge_on(table: &Table, store: &Arc<dyn Store>, new: &str) -> Result<Bridge, MigrateError> {
    let on = |text: &str| table.engine(text).on_store(Arc::clone(store));
    Bridge::open(on(FOLLOWED), on(new), options(), clock).await
}

fn field(row: &Item, name: &str) -> i64 {
    row[name].as_number().unwrap().to_i64().unwrap()
}

/// Rows and points of each owner, as they are kept.
async fn figures(engine: &Engine) -> BTreeMap<String, (i64, i64)> {
    let Value::M(all) = read(engine, "figures", []).await.unwrap() else {
        panic!("no figures");
    };
    let of = |(owner, row): (String, Value)| {
        let row = row.as_map().unwrap();
        (owner, (field(row, "count"), field(row, "points")))
    };
    all.into_iter().map(of).filter(|(_, (count, _))| *count > 0).collect()
}

/// Effects were once each, figures are what is counted, copies are what they are of.
async fn assert_followed(engine: &Engine, receiver: &Arc<Receiver>, asked: &BTreeMap<String, Asked>) {
    let engine = Arc::new(engine.on_store(Arc::clone(engine.store())));
    loop {
        // What one of them did may be for another one.
        match follow_once(&engine, receiver).await {
            Ok(0) => break,
            Ok(_) | Err(FollowError::Overtaken) => {}
            Err(error) => panic!("{error}"),
        }
    }
    let behind = Followers::new(Arc::clone(engine.model()), Arc::new(Arc::clone(engine.store())));
    assert_eq!(behind.followers_behind().await.unwrap(), []);
    let (mut counted, mut told) = (BTreeMap::new(), 0);
    for (owner, asked) in asked {
        let of = || [("owner", text(owner))];
        let found = tasks(&engine, owner).await;
        let points: i64 = found.values().map(|row| field(row, "points")).sum();
        let Value::M(sum) = read(&engine, "sums", of()).await.unwrap() else {
            panic!("no sum");
        };
        let is = (field(&sum, "made"), field(&sum, "gone"), field(&sum, "points"));
        assert_eq!(is, (asked.made, asked.gone, points), "{owner}");
        told += asked.made + asked.scored;
        if !found.is_empty() {
            counted.insert(owner.clone(), (i64::try_from(found.len()).unwrap(), points));
        }
        for pin in rows(&engine, "pins", of()).await {
            if let Some(task) = found.get(&field(&pin, "number")) {
                assert_eq!(pin["title"], task["title"], "{owner}");
            }
        }
    }
    assert_eq!(figures(&engine).await, counted);
    let bodies = receiver.0.lock().unwrap().len();
    assert_eq!(i64::try_from(bodies).unwrap(), told, "what was told to others");
}

/// One process, clients of both models, what follows both.
async fn followed(new: &str, goal: BridgeGoal) {
    let (table, receiver, mut asked) = followed_table(place::store().await).await;
    let bridge = Arc::new(bridge_on(&table, &table.store, new).await.unwrap());
    let (is_over, is_done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let mut following = Vec::new();
    for side in [BridgeSide::Old, BridgeSide::New] {
        let work = follow(bridge.engine(side), Arc::clone(&receiver), Arc::clone(&is_over));
        following.push(tokio::spawn(work));
    }
    let mut working = Vec::new();
    for owner in OWNERS {
        let (bridge, is_done) = (Arc::clone(&bridge), Arc::clone(&is_done));
        let mut asked = asked.remove(owner).unwrap();
        working.push(tokio::spawn(async move {
            let (mut answered, mut left) = (0, 20);
            while left > 0 {
                left -= usize::from(is_done.load(Ordering::SeqCst));
                for side in [BridgeSide::Old, BridgeSide::New] {
                    answered += usize::from(ask(&bridge.engine(side), owner, &mut asked).await);
                }
                tokio::task::yield_now().await;
            }
            (owner, asked, answered)
        }));
    }
    let reach = |goal| {
        let bridge = Arc::clone(&bridge);
        async move { bridge.reach(goal, &|_| {}).await.unwrap() }
    };
    reach(BridgeGoal::Both).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    reach(goal).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    is_done.store(true, Ordering::SeqCst);
    for client in working {
        let (owner, of_client, answered) = client.await.unwrap();
        assert!(answered > 4, "{answered}");
        asked.insert(owner.to_owned(), of_client);
    }
    is_over.store(true, Ordering::SeqCst);
    for follows in following {
        follows.await.unwrap();
    }
    let left = match goal {
        BridgeGoal::OldAlone => table.engine(FOLLOWED),
        _ => table.engine(new),
    };
    open_to_write(&left).await.unwrap();
    assert_followed(&left, &receiver, &asked).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_change_is_told_once_under_load() {
    followed(&moved(), BridgeGoal::NewAlone).await;
    followed(&sized(), BridgeGoal::NewAlone).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_change_is_told_once_where_a_bridge_is_given_up() {
    followed(&moved(), BridgeGoal::OldAlone).await;
    followed(&sized(), BridgeGoal::OldAlone).await;
}

/// Nothing is told where nobody writes: neither copying rows nor removing them is a change.
#[tokio::test]
async fn a_bridge_itself_is_no_change() {
    for (new, goal) in [
        (moved(), BridgeGoal::NewAlone),
        (sized(), BridgeGoal::NewAlone),
        (moved(), BridgeGoal::OldAlone),
    ] {
        let (table, receiver, asked) = followed_table(place::store().await).await;
        let old = Arc::new(table.engine(FOLLOWED));
        while follow_once(&old, &receiver).await.unwrap() > 0 {}
        let told = receiver.0.lock().unwrap().clone();
        let bridge = bridge_on(&table, &table.store, &new).await.unwrap();
        bridge.reach(BridgeGoal::Both, &|_| {}).await.unwrap();
        let following = Arc::new(bridge.engine(BridgeSide::Old)).follower();
        assert_eq!(follow_once(&following, &receiver).await.unwrap(), 0);
        bridge.reach(goal, &|_| {}).await.unwrap();
        let left = table.engine(if goal == BridgeGoal::OldAlone { FOLLOWED } else { &new });
        assert_eq!(
            follow_once(&Arc::new(left.on_store(Arc::clone(left.store()))), &receiver)
                .await
                .unwrap(),
            0
        );
        assert_eq!(*receiver.0.lock().unwrap(), told);
        assert_followed(&left, &receiver, &asked).await;
    }
}

/// One process that writes, follows and goes to a goal, until it ends at some call. What clients were told is counted; what they were
/// not told may have been done, so that only what the table says counts then.
async fn dying(
    table: &Table,
    new: &str,
    goal: BridgeGoal,
    receiver: &Arc<Receiver>,
) -> Option<Result<(), MigrateError>> {
    let dying = DyingStore::after_calls(Arc::clone(&table.store), fastrand::usize(1..900));
    let ended = dying.ended();
    let store: Arc<dyn Store> = Arc::new(dying);
    let is_over = Arc::new(AtomicBool::new(false));
    let work = async {
        let bridge = bridge_on(table, &store, new).await?;
        let writing = async {
            for _ in 0..10 {
                let side = if fastrand::bool() {
                    BridgeSide::Old
                } else {
                    BridgeSide::New
                };
                let owner = OWNERS[fastrand::usize(0..3)];
                ask(&bridge.engine(side), owner, &mut Asked::default()).await;
            }
        };
        let following = |side| follow(bridge.engine(side), Arc::clone(receiver), Arc::clone(&is_over));
        let reaching = async {
            let done = bridge.reach(goal, &|_| {}).await.map(drop);
            is_over.store(true, Ordering::SeqCst);
            done
        };
        let (done, (), (), ()) = tokio::join!(
            reaching,
            writing,
            following(BridgeSide::Old),
            following(BridgeSide::New)
        );
        done
    };
    tokio::select! {
        done = work => Some(done),
        () = ended.notified() => None,
    }
}

/// What the table says was done: rows that are there, and those that are gone, by the sums of what ran by itself and by figures that are
/// counted anew. Of a change that was told twice or not at all the points are others than those of the rows.
async fn assert_sums(table: &Table, text_of: &str, receiver: &Arc<Receiver>) {
    let left = Arc::new(table.engine(text_of));
    open_to_write(&left).await.unwrap();
    while follow_once(&left, receiver).await.unwrap() > 0 {}
    let (mut made, mut counted) = (0, BTreeMap::new());
    for owner in OWNERS {
        let found = tasks(&left, owner).await;
        let points: i64 = found.values().map(|row| field(row, "points")).sum();
        let Value::M(sum) = read(&left, "sums", [("owner", text(owner))]).await.unwrap() else {
            panic!("no sum");
        };
        let count = i64::try_from(found.len()).unwrap();
        assert_eq!(field(&sum, "points"), points, "{owner}");
        assert_eq!(field(&sum, "made") - field(&sum, "gone"), count, "{owner}");
        made += field(&sum, "made");
        if count > 0 {
            counted.insert(owner.to_owned(), (count, points));
        }
    }
    assert_eq!(figures(&left).await, counted);
    let told = receiver.0.lock().unwrap();
    let created = told.values().filter(|body| body.contains("\"number\"")).count();
    assert_eq!(i64::try_from(created).unwrap(), made, "what was told to others");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_change_is_told_once_though_processes_are_killed() {
    let mut killed = 0;
    while killed < kills() {
        for (new, goal) in [
            (moved(), BridgeGoal::NewAlone),
            (sized(), BridgeGoal::NewAlone),
            (moved(), BridgeGoal::OldAlone),
        ] {
            let (table, receiver, _) = followed_table(place::store().await).await;
            for goal in [BridgeGoal::Both, goal] {
                loop {
                    match dying(&table, &new, goal, &receiver).await {
                        Some(done) => {
                            done.unwrap();
                            break;
                        }
                        None => killed += 1,
                    }
                }
            }
            assert_sums(
                &table,
                if goal == BridgeGoal::OldAlone { FOLLOWED } else { &new },
                &receiver,
            )
            .await;
        }
    }
    println!("{killed} kills");
}

/// Several processes, each of one model and with what follows its changes; clients of all of them.
async fn followed_by_processes(new: &str, goal: BridgeGoal) {
    let (table, receiver, mut asked) = followed_table(place::store().await).await;
    let mut old = vec![
        Process::start(&table, FOLLOWED, PATIENT).await,
        Process::start(&table, FOLLOWED, PATIENT).await,
    ];
    let (is_over, is_done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let old_is_over = Arc::new(AtomicBool::new(false));
    let copied = |process: &Process| {
        let engine = process.engine.on_store(Arc::clone(process.engine.store()));
        engine.followed_on(Arc::clone(process.engine.following_store().unwrap()))
    };
    let mut following = Vec::new();
    for process in &old {
        following.push(tokio::spawn(follow(
            copied(process),
            Arc::clone(&receiver),
            Arc::clone(&old_is_over),
        )));
    }
    let engines: Arc<Mutex<Vec<Engine>>> = Arc::new(Mutex::new(old.iter().map(copied).collect()));
    let mut working = Vec::new();
    for owner in OWNERS {
        let (engines, is_done) = (Arc::clone(&engines), Arc::clone(&is_done));
        let mut asked = asked.remove(owner).unwrap();
        working.push(tokio::spawn(async move {
            let mut left = 20;
            while left > 0 {
                left -= usize::from(is_done.load(Ordering::SeqCst));
                let all: Vec<Engine> = {
                    let engines = engines.lock().unwrap();
                    engines
                        .iter()
                        .map(|engine| engine.on_store(Arc::clone(engine.store())))
                        .collect()
                };
                for engine in all {
                    ask(&engine, owner, &mut asked).await;
                }
                tokio::task::yield_now().await;
            }
            (owner, asked)
        }));
    }
    let leading = |goal| {
        let on = |text: &str| table.engine(text);
        let (of_old, of_new) = (on(FOLLOWED), on(new));
        async move {
            let leader = Bridge::lead(of_old, of_new, options(), (PATIENT, clock)).await?;
            leader.reach(goal, &|_| {}).await.map(drop)
        }
    };
    leading(BridgeGoal::Both).await.unwrap();
    let fresh = Process::start(&table, new, PATIENT).await;
    following.push(tokio::spawn(follow(
        copied(&fresh),
        Arc::clone(&receiver),
        Arc::clone(&is_over),
    )));
    engines.lock().unwrap().push(copied(&fresh));
    tokio::time::sleep(Duration::from_millis(200)).await;
    if goal == BridgeGoal::NewAlone {
        engines.lock().unwrap().drain(..2);
        old_is_over.store(true, Ordering::SeqCst);
        for process in old.drain(..) {
            process.end().await;
        }
    }
    leading(goal).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    is_done.store(true, Ordering::SeqCst);
    for client in working {
        let (owner, of_client) = client.await.unwrap();
        asked.insert(owner.to_owned(), of_client);
    }
    is_over.store(true, Ordering::SeqCst);
    old_is_over.store(true, Ordering::SeqCst);
    for follows in following {
        follows.await.unwrap();
    }
    engines.lock().unwrap().clear();
    for process in old.into_iter().chain([fresh]) {
        process.end().await;
    }
    let left = if goal == BridgeGoal::OldAlone { FOLLOWED } else { new };
    let left = table.engine(left);
    open_to_write(&left).await.unwrap();
    assert_followed(&left, &receiver, &asked).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_change_is_told_once_among_processes() {
    followed_by_processes(&moved(), BridgeGoal::NewAlone).await;
    followed_by_processes(&sized(), BridgeGoal::NewAlone).await;
    followed_by_processes(&moved(), BridgeGoal::OldAlone).await;
}
