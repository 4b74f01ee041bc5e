//! What goes wrong on a bridge where one of its rules does not hold: each fault is planted with the rule, and once more without it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use singlet_item::Item;
use singlet_migrate::{BridgeGoal, BridgeSide, MigrateError, ProcessTimes};
use singlet_runtime::Engine;
use singlet_store::{
    GetAnswer, GetRequest, Result as StoreResult, Store, StoreError, StoreLayer, TransactWrite, TransactWriteRequest,
    WriteAnswer,
};

use super::super::support::Table;
use super::models::*;
use super::processes::*;
use super::races::{Held, Racing};

/// What is taken away from a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lacks {
    Nothing,
    /// Rows are written whatever they are by now.
    Pins,
    /// It sees nobody else at work.
    Roll,
}

/// A store for a process that does not keep a rule.
#[derive(Debug)]
struct Unruly {
    store: Arc<dyn Store>,
    lacks: Lacks,
}

fn unruly(table: &Table, lacks: Lacks) -> Arc<dyn Store> {
    Arc::new(Unruly {
        store: Arc::clone(&table.store),
        lacks,
    })
}

fn is_row(key: &Item) -> bool {
    key["PK"].as_str().is_some_and(|key| !key.starts_with('$'))
}

#[async_trait]
impl StoreLayer for Unruly {
    fn beneath(&self) -> &dyn Store {
        &*self.store
    }

    async fn get(&self, request: &GetRequest) -> StoreResult<GetAnswer> {
        let is_roll = request.key["PK"]
            .as_str()
            .is_some_and(|key| key.ends_with(".processes"));
        match is_roll && self.lacks == Lacks::Roll {
            true => Ok(GetAnswer::default()),
            false => self.store.get(request).await,
        }
    }

    async fn transact_write(&self, request: &TransactWriteRequest) -> StoreResult<WriteAnswer> {
        let mut request = request.clone();
        if self.lacks == Lacks::Pins {
            request
                .actions
                .retain(|action| !matches!(action, TransactWrite::Check { .. }));
            for action in &mut request.actions {
                match action {
                    TransactWrite::Put(put) if is_row(&put.item) => put.condition = None,
                    TransactWrite::Update(update) if is_row(&update.key) => update.condition = None,
                    TransactWrite::Delete(delete) if is_row(&delete.key) => delete.condition = None,
                    _ => {}
                }
            }
        }
        self.store.transact_write(&request).await
    }
}

/// Whether both models have the same tasks of `ada`.
async fn agree(old: &Engine, new: &Engine) -> bool {
    shared(tasks(new, "ada").await) == tasks(old, "ada").await
}

async fn agree_in_table(table: &Table) -> bool {
    let old = Process::start(table, OLD, PATIENT).await;
    let new = Process::start(table, &new_model(), PATIENT).await;
    agree(&old.engine, &new.engine).await
}

/// Asleep through two phases and more, it sends what it was about to send.
async fn what_was_slept_on_does_no_harm(lacks: Lacks) -> bool {
    let table = old_table(4).await;
    let held = Held::new(&unruly(&table, lacks), "TASK#03");
    let store: Arc<dyn Store> = held.clone();
    let (_member, asleep) = joined(&table, &store, OLD, PATIENT).await;
    let [owner, three] = task(3);
    let writing = tokio::spawn(async move { write(&asleep, "score", [owner, three, ("points", number(7))]).await });
    held.entered.notified().await;
    lead_awake(&table, &new_model()).await;
    held.released.notify_one();
    let _ = writing.await.unwrap();
    agree_in_table(&table).await
}

#[tokio::test]
async fn a_process_that_slept_writes_nothing_because_of_the_stamps() {
    assert!(what_was_slept_on_does_no_harm(Lacks::Nothing).await);
    assert!(!what_was_slept_on_does_no_harm(Lacks::Pins).await);
}

/// A store whose control row cannot be read once somebody says so.
#[derive(Debug)]
struct Deaf {
    store: Arc<dyn Store>,
    is_deaf: std::sync::atomic::AtomicBool,
}

#[async_trait]
impl StoreLayer for Deaf {
    fn beneath(&self) -> &dyn Store {
        &*self.store
    }

    async fn get(&self, request: &GetRequest) -> StoreResult<GetAnswer> {
        let is_control = request.key["PK"]
            .as_str()
            .is_some_and(|key| key.starts_with("$singlet."));
        match is_control && self.is_deaf.load(std::sync::atomic::Ordering::SeqCst) {
            true => Err(StoreError::bad_request("nothing is heard")),
            false => self.store.get(request).await,
        }
    }
}

/// It cannot read what the table says while others go on without it, and creates a row.
async fn what_is_not_heard_does_no_harm(stale: Duration) -> bool {
    let table = old_table(3).await;
    let deaf = Arc::new(Deaf {
        store: Arc::clone(&table.store),
        is_deaf: false.into(),
    });
    let store: Arc<dyn Store> = deaf.clone();
    let (member, engine) = joined(&table, &store, OLD, ProcessTimes { stale, ..SHORT }).await;
    let looking = tokio::spawn(Arc::new(member).keep_looking());
    deaf.is_deaf.store(true, std::sync::atomic::Ordering::SeqCst);
    lead_awake(&table, &new_model()).await;
    let _ = add(&engine, 50, "not heard").await;
    looking.abort();
    agree_in_table(&table).await
}

#[tokio::test]
async fn a_process_that_hears_nothing_writes_nothing_because_it_goes_stale() {
    assert!(what_is_not_heard_does_no_harm(SHORT.stale).await);
    assert!(!what_is_not_heard_does_no_harm(PATIENT.stale).await);
}

/// A process of the old model is at work when its rows are to go. Whether it can still answer its clients.
async fn who_is_at_work_is_not_cut_off(lacks: Lacks) -> bool {
    let table = old_table(3).await;
    lead(&table, &new_model(), BridgeGoal::Both, PATIENT).await.unwrap();
    let old = Process::start(&table, OLD, PATIENT).await;
    let led = leader(&table, &unruly(&table, lacks), &new_model(), PATIENT)
        .await
        .unwrap();
    let led = reach(&led, BridgeGoal::NewAlone).await;
    assert_eq!(
        matches!(led, Err(MigrateError::Serving(_))),
        lacks == Lacks::Nothing,
        "{led:?}"
    );
    tokio::time::sleep(PATIENT.reads * 20).await;
    read(&old.engine, "tasks", [("owner", text("ada"))]).await.is_ok()
}

#[tokio::test]
async fn an_old_process_at_contract_is_named_because_of_the_roll() {
    assert!(who_is_at_work_is_not_cut_off(Lacks::Nothing).await);
    assert!(!who_is_at_work_is_not_cut_off(Lacks::Roll).await);
}

/// A process that has not reached the phase creates a row for the old model alone, where the scan has been.
async fn what_comes_late_is_copied(lacks: Lacks) -> bool {
    let table = old_table(4).await;
    let (member, late) = joined(&table, &table.store, OLD, PATIENT).await;
    let (led, of) = (unruly(&table, lacks), table.clone());
    let mut leading = tokio::spawn(async move {
        let led = leader(&of, &led, &new_model(), PATIENT).await.unwrap();
        reach(&led, BridgeGoal::Both).await.unwrap();
    });
    let is_over = tokio::time::timeout(Duration::from_secs(3), &mut leading).await.is_ok();
    assert_eq!(is_over, lacks == Lacks::Roll, "nobody is waited for");
    add(&late, 77, "late").await.unwrap();
    let looking = tokio::spawn(Arc::new(member).keep_looking());
    if !is_over {
        leading.await.unwrap();
    }
    let holds = agree_in_table(&table).await;
    drop(late);
    looking.await.unwrap();
    holds
}

#[tokio::test]
async fn a_row_that_comes_where_the_scan_has_been_is_copied_because_all_are_waited_for() {
    assert!(what_comes_late_is_copied(Lacks::Nothing).await);
    assert!(!what_comes_late_is_copied(Lacks::Roll).await);
}

/// Somebody writes a row between its being read and its being copied.
async fn what_races_the_copy_holds(lacks: Lacks, name: &'static str) -> bool {
    let table = old_table(5).await;
    let process = Process::start(&table, OLD, PATIENT).await;
    let racing = Arc::new(Racing {
        store: unruly(&table, lacks),
        meanwhile: Mutex::new(None),
        sort: "TASK#0003",
    });
    let client = process.engine.on_store(Arc::clone(process.engine.store()));
    *racing.meanwhile.lock().unwrap() = Some(Box::pin(async move {
        let [owner, three] = task(3);
        match name {
            "remove" => write(&client, name, [owner, three]).await.unwrap(),
            _ => write(&client, name, [owner, three, ("points", number(40))])
                .await
                .unwrap(),
        }
    }));
    let store: Arc<dyn Store> = racing.clone();
    let leader = leader(&table, &store, &new_model(), PATIENT).await.unwrap();
    reach(&leader, BridgeGoal::Both).await.unwrap();
    assert!(racing.meanwhile.lock().unwrap().is_none(), "nothing raced");
    let kept = tasks(&process.engine, "ada")
        .await
        .remove(&3)
        .map(|row| row["points"].clone());
    let should = (name != "remove").then(|| number(43));
    agree_in_table(&table).await && kept == should
}

#[tokio::test]
async fn what_races_the_copy_holds_because_of_the_pins() {
    for name in ["remove", "score"] {
        assert!(what_races_the_copy_holds(Lacks::Nothing, name).await, "{name}");
        assert!(!what_races_the_copy_holds(Lacks::Pins, name).await, "{name}");
    }
}

/// A client of the new model writes what the old one cannot hold, and the bridge is given up. Whether all that was taken is still there.
async fn what_was_taken_is_kept(through_the_layer: bool) -> bool {
    let table = old_table(3).await;
    let bridge = bridge(&table).await;
    reach(&bridge, BridgeGoal::Both).await.unwrap();
    let new = match through_the_layer {
        true => bridge.engine(BridgeSide::New),
        false => table.engine(&new_model()),
    };
    let is_taken = add(&new, 100, "wide").await.is_ok();
    let gone = reach(&bridge, BridgeGoal::OldAlone).await;
    let is_there = table
        .contents()
        .await
        .values()
        .any(|item| item["kind"] == text("Task") && item["title"] == text("wide"));
    !is_taken || (gone.is_ok() && is_there && tasks(&table.engine(OLD), "ada").await.contains_key(&100))
}

#[tokio::test]
async fn a_value_that_only_the_new_model_holds_is_refused_because_it_would_be_lost() {
    assert!(what_was_taken_is_kept(true).await);
    assert!(!what_was_taken_is_kept(false).await);
}

/// A write of so many tasks at once, with their mirrors and guards.
fn adding(count: usize) -> [String; 2] {
    let write = format!(
        "writes:\n  addAll: {{args: {{numbers: set(int) 1..{count}}}, allow: true, do: [{{for: {{one: args.numbers}}, create: Task, set: {{owner: '\"zoe\"', number: one, title: 'string(one)'}}}}]}}\n"
    );
    [OLD.to_owned(), new_model()].map(|model| model.replace("writes:\n", &write))
}

fn is_named(table: &Table, count: usize) -> bool {
    let [old, new] = adding(count).map(|model| table.engine(&model));
    let of = |engine: &Engine| (Arc::clone(engine.model()), engine.setting().settings.clone());
    let (old, new) = (of(&old), of(&new));
    let whys = singlet_evolve::bridge_hindrances((&old.0, &old.1), (&new.0, &new.1));
    whys.iter().any(|why| why.contains("addAll"))
}

/// The largest write that `diff` lets pass is one that a bridge takes, and the next one is named: it would be more than a transaction holds.
#[tokio::test]
async fn a_write_is_named_from_the_row_on_that_is_one_too_many() {
    let table = old_table(2).await;
    let most = (1..40).find(|count| is_named(&table, count + 1)).unwrap();
    assert!((1..=most).all(|count| !is_named(&table, count)) && (most + 1..40).all(|count| is_named(&table, count)));
    let [old, new] = adding(most);
    let on = |text: &str| table.engine(text);
    super::super::support::open_to_write(&on(&old)).await.unwrap();
    let bridge = singlet_migrate::Bridge::open(on(&old), on(&new), options(), clock)
        .await
        .unwrap();
    reach(&bridge, BridgeGoal::Both).await.unwrap();
    let numbers: std::collections::BTreeSet<singlet_item::Number> = (0..most)
        .map(|at| singlet_item::Number::from(i64::try_from(at).unwrap()))
        .collect();
    let (of_old, of_new) = sides(&bridge);
    write(&of_old, "addAll", [("numbers", singlet_item::Value::Ns(numbers))])
        .await
        .unwrap();
    assert_eq!(shared(tasks(&of_new, "zoe").await), tasks(&of_old, "zoe").await);
    assert_eq!(tasks(&of_new, "zoe").await.len(), most);
}

/// What a process of the old model sends that slept through the whole bridge is no row of the new one, and the audit names it.
#[tokio::test]
async fn what_slept_through_a_whole_bridge_is_found() {
    for (new, sort) in [(new_model(), "TASK#70"), (filled_model(), "TASK#70")] {
        let table = old_table(3).await;
        lead(&table, &new, BridgeGoal::NewAlone, PATIENT).await.unwrap();
        let asleep = table.engine(OLD);
        add(&asleep, 70, "late").await.unwrap();
        let [owner, two] = task(2);
        let in_place = write(&asleep, "score", [owner, two, ("points", number(9))])
            .await
            .is_ok();
        assert_eq!(in_place, new == filled_model());
        let fresh = table.engine(&new);
        let audit = singlet_runtime::audit_rows(&fresh, clock(), singlet_runtime::AuditDepth::Whole);
        let audit = audit.await.unwrap();
        let is_named = |finding: &singlet_runtime::Finding| format!("{finding}").contains(sort);
        assert!(audit.first.iter().any(is_named), "{:?}", audit.first);
        let is_updated = |finding: &singlet_runtime::Finding| format!("{finding}").contains("TASK#02");
        assert_eq!(audit.first.iter().any(is_updated), in_place, "{:?}", audit.first);
    }
}
