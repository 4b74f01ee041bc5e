//! Tallies: what they count, once, under kills and beside others, and how their figures are built anew.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};
use singlet_changes::{FollowError, TALLIES_FOLLOWER, TallyFollower, ask_for_figures, forget_unneeded, tally_states};
use singlet_item::{Item, Value};
use singlet_model::Source;
use singlet_runtime::{Attributes, Caller, Engine, Request, RuntimeError};
use singlet_store::{ErrorKind, ScanRequest, Store};
use singlet_store_embedded::Retention;
use singlet_testing::DyingStore;
use singlet_values::json_text;

use crate::lost_answers::LostAnswers;
use crate::support::{NOW, System, followers_of, item};

pub const TASKS: &str = r#"
singlet: 1
name: tasks
table: {name: tasks, key: {partition: PK, sort: SK}, type: kind, ttl: ttl, stream: both_images}
callers:
  jwt: {audience: tasks, claims: {id: sub}}
types:
  State: {enum: [open, done]}
entities:
  Task:
    attributes:
      who: string 1..8
      id: string 1..8
      state: State
      label: string? 1..200
      hours: number? 0..
      at: seconds = now
    key: {PK: "WHO#{who}", SK: "TASK#{id}"}
  Other:
    attributes: {id: string 1..8, state: State}
    key: {PK: "OTHER#{id}", SK: "OTHER"}
tallies:
  byState: {count: Task, by: state}
  byWho: {count: Task, by: [who, label], sum: {hours: hours}}
  open: {count: Task, where: state == "open"}
  byDay: {count: Task, by: [day(at)]}
reads:
  states: {tally: byState, allow: true}
  doneOnes: {tally: byState, where: state == "done", allow: true}
  own: {tally: byWho, where: who == caller.id, allow: caller.authenticated}
  labelled: {args: {label: string 1..200}, tally: byWho, where: label == args.label, allow: true}
  labels: {tally: byWho, allow: true}
  opened: {tally: open, allow: true}
  days: {tally: byDay, allow: true}
  both:
    with:
      states: {tally: byState}
      mine: {tally: byWho, where: who == caller.id}
    allow: true
writes:
  add: {allow: true, do: [{create: Task, take: [who, id, state, label, hours]}]}
  other: {allow: true, do: [{create: Other, take: [id, state]}]}
  change: {args: {who: string 1..8, id: string 1..8}, allow: true, do: [{update: "Task(args.who, args.id)", patch: [state, label, hours]}]}
  drop: {args: {who: string 1..8, id: string 1..8}, allow: true, do: [{delete: "Task(args.who, args.id)"}]}
"#;

pub async fn start(engine: &Arc<Engine>) -> TallyFollower {
    TallyFollower::start(Arc::clone(engine), 0, NOW).await.unwrap()
}

/// Follows until nothing comes any more and nothing is being built.
pub async fn rest(follower: &mut TallyFollower) {
    while !follower.is_at_rest() {
        follower.follow_page(&|| NOW).await.unwrap();
    }
}

async fn try_read(engine: &Engine, name: &str, args: &[(&str, &str)]) -> Result<String, RuntimeError> {
    let request = Request {
        args: item(args),
        caller: Caller::with_id("ada"),
        now: NOW,
        ..Request::default()
    };
    let answer = engine.read(name, &request).await?;
    let told = json_text::json_of(&answer.value.unwrap());
    // Which figures count, and a page of them: each is half a unit, as plans say of up to 4 KB.
    if told.len() < 200 {
        let tallies = if name == "both" { 2 } else { 1 };
        assert_eq!(answer.consumed.total_units().read.half_count(), 2 * tallies, "{name}");
    }
    Ok(told)
}

async fn read(engine: &Engine, name: &str) -> String {
    try_read(engine, name, &[]).await.unwrap()
}

fn task(who: &str, id: &str, state: &str) -> Json {
    json!({"who": who, "id": id, "state": state})
}

/// Another model on the same store.
fn reopened(system: &System, text: &str) -> Arc<Engine> {
    let loaded = singlet_model::load_source(&Source::new("model.yaml", text.to_owned()));
    assert!(!loaded.diagnostics.has_errors(), "{:?}", loaded.diagnostics);
    let store: Arc<dyn Store> = Arc::new(system.embedded.clone());
    let model = Arc::new(loaded.model.unwrap());
    Arc::new(Engine::open(model, store, Attributes::new(), [7; 32]))
}

async fn items(engine: &Engine) -> Vec<Item> {
    let request = ScanRequest {
        table: engine.model().table.name.clone(),
        consistent: true,
        ..ScanRequest::default()
    };
    engine.store().scan(&request).await.unwrap().items
}

fn text(item: &Item, name: &str) -> String {
    item.get(name).and_then(Value::as_str).unwrap_or("-").to_owned()
}

/// What the tallies must say, counted from the rows.
async fn counted(engine: &Engine) -> (BTreeMap<String, u64>, BTreeMap<String, (u64, String)>) {
    let mut states: BTreeMap<String, u64> = BTreeMap::new();
    let mut labels: BTreeMap<String, (u64, f64)> = BTreeMap::new();
    for task in items(engine).await.iter().filter(|item| text(item, "kind") == "Task") {
        *states.entry(text(task, "state")).or_default() += 1;
        if task.contains_key("label") {
            let group = labels
                .entry(format!("{} {}", text(task, "who"), text(task, "label")))
                .or_default();
            group.0 += 1;
            let hours = task.get("hours").and_then(Value::as_number);
            group.1 += hours.map_or(0.0, |hours| hours.to_string().parse::<f64>().unwrap());
        }
    }
    let labels = labels.into_iter();
    (
        states,
        labels
            .map(|(name, (count, sum))| (name, (count, sum.to_string())))
            .collect(),
    )
}

/// The same as the tallies say it.
async fn kept(engine: &Engine) -> (BTreeMap<String, u64>, BTreeMap<String, (u64, String)>) {
    let states: Json = serde_json::from_str(&read(engine, "states").await).unwrap();
    let states = states.as_object().unwrap().iter();
    let states = states
        .map(|(name, count)| (name.clone(), count.as_u64().unwrap()))
        .collect();
    let all: Json = serde_json::from_str(&read(engine, "labels").await).unwrap();
    let mut labels = BTreeMap::new();
    for (who, of) in all.as_object().unwrap() {
        for (label, figures) in of.as_object().unwrap() {
            let sum = figures["hours"].as_f64().unwrap().to_string();
            labels.insert(format!("{who} {label}"), (figures["count"].as_u64().unwrap(), sum));
        }
    }
    (states, labels)
}

async fn assert_true(engine: &Engine, why: &str) {
    assert_eq!(kept(engine).await, counted(engine).await, "{why}");
}

#[tokio::test]
async fn rows_are_counted_as_they_come_move_and_go() {
    let system = System::open(TASKS).await;
    let engine = &system.engine;
    let mut follower = start(engine).await;
    rest(&mut follower).await;
    assert_eq!(read(engine, "states").await, "{}");
    system.write("add", task("ada", "a", "open")).await;
    system
        .write(
            "add",
            json!({"who": "ada", "id": "b", "state": "open", "label": "x#y", "hours": 1.5}),
        )
        .await;
    system
        .write(
            "add",
            json!({"who": "bob", "id": "c", "state": "done", "label": "x#y", "hours": 2}),
        )
        .await;
    system.write("other", json!({"id": "o", "state": "open"})).await;
    follower.follow_page(&|| NOW).await.unwrap();
    assert_eq!(read(engine, "states").await, r#"{"done":1,"open":2}"#);
    assert_eq!(read(engine, "doneOnes").await, "1");
    assert_eq!(read(engine, "opened").await, "2");
    assert_eq!(read(engine, "days").await, r#"{"2026-11-16":3}"#);
    // What has no label is in no group by it.
    assert_eq!(read(engine, "own").await, r#"{"x#y":{"count":1,"hours":1.5}}"#);
    let labelled = try_read(engine, "labelled", &[("label", "x#y")]).await.unwrap();
    assert_eq!(
        labelled,
        r#"{"ada":{"count":1,"hours":1.5},"bob":{"count":1,"hours":2}}"#
    );
    assert_eq!(
        read(engine, "both").await,
        r#"{"mine":{"x#y":{"count":1,"hours":1.5}},"states":{"done":1,"open":2}}"#
    );
    system
        .write(
            "change",
            json!({"who": "ada", "id": "a", "state": "done", "label": "x#y"}),
        )
        .await;
    system
        .write("change", json!({"who": "ada", "id": "b", "hours": null}))
        .await;
    follower.follow_page(&|| NOW).await.unwrap();
    assert_eq!(read(engine, "own").await, r#"{"x#y":{"count":2,"hours":0}}"#);
    system.write("drop", json!({"who": "ada", "id": "b"})).await;
    system.write("drop", json!({"who": "bob", "id": "c"})).await;
    system.write("drop", json!({"who": "ada", "id": "a"})).await;
    follower.follow_page(&|| NOW).await.unwrap();
    assert_eq!(
        read(engine, "states").await,
        "{}",
        "groups whose rows have gone are none"
    );
    assert_eq!(read(engine, "opened").await, "0");
}

#[tokio::test]
async fn what_a_tally_keeps_is_no_change_and_no_row() {
    let system = System::open(TASKS).await;
    rest(&mut start(&system.engine).await).await;
    system.write("add", task("ada", "a", "open")).await;
    rest(&mut start(&system.engine).await).await;
    let told = system.told().await;
    assert_eq!(told.changes.len(), 1, "{:?}", told.lines());
    assert_eq!((told.misfits.len(), told.unknown), (0, 0));
}

#[tokio::test]
async fn a_tally_that_is_new_begins_with_what_is_there() {
    let system = System::open(TASKS).await;
    for id in ["a", "b", "c"] {
        system
            .write(
                "add",
                json!({"who": "ada", "id": id, "state": "open", "label": "l", "hours": 1}),
            )
            .await;
    }
    let before = try_read(&system.engine, "states", &[]).await.unwrap_err();
    assert!(
        matches!(before, RuntimeError::TallyNotKept { reason: None, .. }),
        "{before}"
    );
    let mut follower = start(&system.engine).await;
    let before = try_read(&system.engine, "states", &[]).await.unwrap_err();
    assert!(before.is_temporary());
    rest(&mut follower).await;
    assert_true(&system.engine, "what was there").await;
    assert_eq!(read(&system.engine, "states").await, r#"{"open":3}"#);
}

#[tokio::test]
async fn figures_of_another_definition_do_not_count() {
    let system = System::open(TASKS).await;
    system
        .write("add", json!({"who": "ada", "id": "a", "state": "open", "label": "l"}))
        .await;
    rest(&mut start(&system.engine).await).await;
    let other = reopened(
        &system,
        &TASKS.replace(
            "{count: Task, by: state}",
            "{count: Task, by: state, where: label == absent}",
        ),
    );
    assert!(try_read(&other, "states", &[]).await.is_err());
    assert_eq!(read(&other, "opened").await, "1", "the others are as they were");
    rest(&mut start(&other).await).await;
    assert_eq!(read(&other, "states").await, "{}");
}

#[tokio::test]
async fn a_tally_that_the_model_has_no_more_is_removed_and_begins_anew_if_it_comes_back() {
    let system = System::open(TASKS).await;
    system.write("add", task("ada", "a", "open")).await;
    rest(&mut start(&system.engine).await).await;
    let cut = TASKS.replace("  byState: {count: Task, by: state}\n", "");
    let cut = cut.replace("  states: {tally: byState, allow: true}\n", "");
    let cut = cut.replace(
        "  doneOnes: {tally: byState, where: state == \"done\", allow: true}\n",
        "",
    );
    let without = reopened(&system, &cut.replace("      states: {tally: byState}\n", ""));
    rest(&mut start(&without).await).await;
    let of_tally = |item: &&Item| text(item, "PK").contains("byState");
    assert_eq!(items(&without).await.iter().filter(of_tally).count(), 0);
    system.write("add", task("ada", "b", "open")).await;
    rest(&mut start(&without).await).await;
    rest(&mut start(&system.engine).await).await;
    assert_eq!(read(&system.engine, "states").await, r#"{"open":2}"#);
    let none = cut.split("tallies:").next().unwrap().to_owned()
        + "writes:\n  other: {allow: true, do: [{create: Other, take: [id, state]}]}\n";
    let none = reopened(&system, &none);
    forget_unneeded(&none).await.unwrap();
    let kept = items(&none).await;
    assert_eq!(
        kept.iter()
            .filter(|item| text(item, "PK").starts_with("$tally#"))
            .count(),
        0
    );
    assert!(
        !followers_of(&none)
            .names()
            .await
            .unwrap()
            .contains(&TALLIES_FOLLOWER.to_owned())
    );
}

#[tokio::test]
async fn figures_are_built_anew_when_somebody_asks() {
    let system = System::open(TASKS).await;
    let engine = &system.engine;
    let mut follower = start(engine).await;
    system.write("add", task("ada", "a", "open")).await;
    rest(&mut follower).await;
    // Somebody writes into the figures.
    let mut wrong = items(engine)
        .await
        .into_iter()
        .find(|item| item.contains_key("$group") && text(item, "PK").contains("byState"))
        .unwrap();
    wrong.insert("$count".to_owned(), Value::N(7.into()));
    system.put(wrong).await;
    assert_eq!(read(engine, "states").await, r#"{"open":7}"#);
    ask_for_figures(&followers_of(engine), "byState").await.unwrap();
    assert!(ask_for_figures(&followers_of(engine), "nothing").await.is_err());
    follower.look_at_heads(NOW).await.unwrap();
    rest(&mut follower).await;
    assert_true(engine, "built anew").await;
    // What counted before is left to who reads it, and then removed.
    let of_tally = |item: &&Item| item.contains_key("$group") && text(item, "PK").contains("byState");
    assert_eq!(items(engine).await.iter().filter(of_tally).count(), 2);
    follower.look_at_heads(NOW + 61_000).await.unwrap();
    assert_eq!(items(engine).await.iter().filter(of_tally).count(), 1);
    assert_true(engine, "what was past is gone").await;
}

/// The scan takes several pages, and between any two rows come, move and go, those that were scanned and those that were not.
#[tokio::test]
async fn figures_that_are_built_while_others_write_are_true() {
    for seed in 0..6 {
        let mut random = fastrand::Rng::with_seed(seed);
        let system = System::open(TASKS).await;
        let mut ids: Vec<String> = (0..1_100).map(|at| at.to_string()).collect();
        for id in &ids {
            let who = ["ada", "bob", "eve"][random.usize(..3)];
            let row = [("PK", format!("WHO#{who}")), ("SK", format!("TASK#{id}"))];
            let row = row.iter().map(|(name, text)| (*name, text.as_str()));
            let rest = [
                ("kind", "Task"),
                ("who", who),
                ("id", id.as_str()),
                ("state", "open"),
                ("label", "l"),
            ];
            let mut row = item(&row.chain(rest).collect::<Vec<_>>());
            row.insert("at".to_owned(), Value::N((NOW / 1_000).into()));
            system.put(row).await;
        }
        let mut follower = start(&system.engine).await;
        let mut pages = 0;
        while !follower.is_at_rest() {
            follower.follow_page(&|| NOW).await.unwrap();
            pages += 1;
            if pages > 12 {
                continue;
            }
            for _ in 0..20 {
                let id = ids[random.usize(..ids.len())].clone();
                for who in ["ada", "bob", "eve"] {
                    let change =
                        json!({"who": who, "id": id, "state": "done", "label": format!("m{}", random.u8(..3))});
                    if random.bool() {
                        // Only one of them has it.
                        _ = system.write_at(NOW, "change", change).await;
                    } else if random.bool() {
                        _ = system.write_at(NOW, "drop", json!({"who": who, "id": id})).await;
                    }
                }
                let new = format!("n{}", ids.len());
                system
                    .write("add", json!({"who": "eve", "id": new, "state": "open", "label": "n"}))
                    .await;
                ids.push(new);
            }
        }
        assert!(pages > 12, "{pages}");
        assert_true(&system.engine, &format!("seed {seed}")).await;
    }
}

#[tokio::test]
async fn a_sum_of_too_many_digits_breaks_its_tally_and_no_other() {
    let text = TASKS.replace("hours: number? 0..", "hours: number?");
    let system = System::open(&text).await;
    let engine = &system.engine;
    let mut follower = start(engine).await;
    rest(&mut follower).await;
    let large = json!(1e30);
    system
        .write("add", json!({"who": "ada", "id": "a", "state": "open", "hours": large}))
        .await;
    rest(&mut follower).await;
    follower.follow_page(&|| NOW).await.unwrap();
    system
        .write("add", json!({"who": "ada", "id": "b", "state": "open", "hours": 1e-20}))
        .await;
    follower.follow_page(&|| NOW).await.unwrap();
    let broken = try_read(engine, "own", &[]).await.unwrap_err();
    assert!(
        matches!(broken, RuntimeError::TallyNotKept { reason: Some(_), .. }),
        "{broken}"
    );
    assert!(!broken.is_temporary());
    assert_eq!(read(engine, "states").await, r#"{"open":2}"#);
    // Asked for while it is so, it is still so.
    ask_for_figures(&followers_of(engine), "byWho").await.unwrap();
    follower.look_at_heads(NOW).await.unwrap();
    rest(&mut follower).await;
    assert!(try_read(engine, "own", &[]).await.is_err());
    let states = tally_states(&followers_of(engine)).await.unwrap();
    assert!(
        states
            .iter()
            .any(|state| state.name == "byWho" && state.broken.is_some() && !state.is_asked)
    );
    system.write("drop", json!({"who": "ada", "id": "b"})).await;
    ask_for_figures(&followers_of(engine), "byWho").await.unwrap();
    follower.look_at_heads(NOW).await.unwrap();
    rest(&mut follower).await;
    assert_eq!(read(engine, "own").await, "{}");
    assert_eq!(read(engine, "states").await, r#"{"open":1}"#);
}

#[tokio::test]
async fn a_page_of_more_groups_than_a_transaction_has_is_counted_in_parts() {
    let system = System::open(TASKS).await;
    let mut follower = start(&system.engine).await;
    rest(&mut follower).await;
    for at in 0..150 {
        let label = format!("{}{at}", "l".repeat(190));
        let row = json!({"who": "ada", "id": at.to_string(), "state": "open", "label": label, "hours": 1});
        system.write("add", row).await;
    }
    follower.follow_page(&|| NOW).await.unwrap();
    rest(&mut start(&system.engine).await).await;
    assert_true(&system.engine, "a start in between").await;
    let mut follower = start(&system.engine).await;
    for at in 0..150 {
        system
            .write(
                "change",
                json!({"who": "ada", "id": at.to_string(), "label": format!("m{at}")}),
            )
            .await;
    }
    // The head is left when something comes: it is not at rest before it has looked.
    follower.follow_page(&|| NOW).await.unwrap();
    rest(&mut follower).await;
    assert_true(&system.engine, "150 groups, and 150 others").await;
}

#[tokio::test]
async fn changes_that_were_gone_have_the_figures_built_anew() {
    let system = System::open(TASKS).await;
    let mut follower = start(&system.engine).await;
    system.write("add", task("ada", "a", "open")).await;
    rest(&mut follower).await;
    system.write("add", task("ada", "b", "open")).await;
    system.write("add", task("ada", "c", "done")).await;
    let nothing = Retention {
        age_min: Duration::ZERO,
        age_max: Duration::ZERO,
        bytes_max: 0,
        followers: Default::default(),
    };
    system.embedded.trim_changes(&nothing).await.unwrap();
    let mut follower = start(&system.engine).await;
    follower.follow_page(&|| NOW).await.unwrap();
    assert!(
        try_read(&system.engine, "states", &[]).await.is_err(),
        "they are known to be wrong"
    );
    rest(&mut follower).await;
    assert_true(&system.engine, "after the gap").await;
    rest(&mut start(&system.engine).await).await;
    assert_true(&system.engine, "and after another start").await;
}

#[tokio::test]
async fn an_answer_that_is_lost_counts_nothing_twice() {
    let system = System::open(TASKS).await;
    rest(&mut start(&system.engine).await).await;
    let losing: Arc<dyn Store> = Arc::new(LostAnswers::of(Arc::new(system.embedded.clone())));
    let engine = Arc::new(Engine::open(
        Arc::clone(system.engine.model()),
        losing,
        Attributes::new(),
        [7; 32],
    ));
    for at in 0..12 {
        system.write("add", task("ada", &at.to_string(), "open")).await;
        let mut follower = start(&engine).await;
        while !follower.is_at_rest() {
            if follower.follow_page(&|| NOW).await.is_err() {
                follower = start(&engine).await;
            }
        }
    }
    assert_true(&system.engine, "every second answer was lost").await;
}

/// Follows until its process ends; whether it ended by a kill.
async fn dies(system: &System, calls: usize) -> bool {
    let dying = DyingStore::after_calls(Arc::new(system.embedded.clone()), calls);
    let ended = dying.ended();
    let engine = Engine::open(
        Arc::clone(system.engine.model()),
        Arc::new(dying),
        Attributes::new(),
        [7; 32],
    );
    let engine = Arc::new(engine);
    let follows = async {
        loop {
            let Ok(mut follower) = TallyFollower::start(Arc::clone(&engine), 0, NOW).await else {
                continue;
            };
            loop {
                match follower.follow_page(&|| NOW).await {
                    Ok(_) if follower.is_at_rest() => return,
                    Ok(_) => tokio::task::yield_now().await,
                    Err(FollowError::Overtaken) => break,
                    // The head of a tally was written by another.
                    Err(FollowError::Store(error)) if matches!(error.kind(), ErrorKind::Cancelled(_)) => break,
                    Err(error) => panic!("{error}"),
                }
            }
        }
    };
    tokio::select! {
        () = ended.notified() => true,
        () = follows => false,
    }
}

/// Processes are killed at some call, alone and beside others, while rows come, move and go and figures are built anew.
async fn killed(seed: u64, kills_max: usize) -> usize {
    let mut random = fastrand::Rng::with_seed(seed);
    let system = System::open(TASKS).await;
    let mut kills = 0;
    let mut tasks: Vec<usize> = Vec::new();
    for at in 0..16 {
        for _ in 0..random.usize(..6) {
            let state = ["open", "done"][random.usize(..2)];
            let label = format!("l{}", random.usize(..3));
            let hours = random.u8(..4);
            match random.usize(..3) {
                1 if !tasks.is_empty() => {
                    let id = tasks[random.usize(..tasks.len())].to_string();
                    let change = json!({"who": "ada", "id": id, "state": state, "label": label, "hours": hours});
                    system.write("change", change).await;
                }
                2 if !tasks.is_empty() => {
                    let id = tasks.swap_remove(random.usize(..tasks.len())).to_string();
                    system.write("drop", json!({"who": "ada", "id": id})).await;
                }
                _ => {
                    let id = at * 10 + tasks.len();
                    if !tasks.contains(&id) {
                        let row =
                            json!({"who": "ada", "id": id.to_string(), "state": state, "label": label, "hours": hours});
                        if system.write_at(NOW, "add", row).await.is_ok() {
                            tasks.push(id);
                        }
                    }
                }
            }
        }
        if random.usize(..4) == 0 {
            let tally = ["byState", "byWho"][random.usize(..2)];
            // Who follows may be faster.
            _ = ask_for_figures(&followers_of(&system.engine), tally).await;
        }
        for _ in 0..random.usize(..4) {
            if kills >= kills_max {
                break;
            }
            let (first, second) = (random.usize(1..60), random.usize(1..60));
            match random.bool() {
                true => {
                    let both = tokio::join!(dies(&system, first), dies(&system, second));
                    kills += usize::from(both.0) + usize::from(both.1);
                }
                false => kills += usize::from(dies(&system, first).await),
            }
        }
    }
    rest(&mut start(&system.engine).await).await;
    assert_true(&system.engine, &format!("seed {seed}")).await;
    kills
}

#[tokio::test]
async fn killed_at_any_call_and_beside_others_every_row_counts_once() {
    let mut kills = 0;
    for seed in 0..12 {
        kills += tokio::time::timeout(Duration::from_secs(120), killed(seed, 40))
            .await
            .unwrap();
    }
    assert!(kills >= 100, "{kills}");
}

/// For a long run: `SINGLET_KILLS=2000 cargo test -p singlet-changes -- --ignored tallies`.
#[tokio::test]
#[ignore = "takes minutes"]
async fn killed_many_times_every_row_counts_once() {
    let wanted = std::env::var("SINGLET_KILLS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(600);
    let (mut kills, mut seed) = (0, 1_000);
    while kills < wanted {
        kills += killed(seed, wanted).await;
        seed += 1;
    }
    assert!(kills >= wanted && seed > 1_000);
}
