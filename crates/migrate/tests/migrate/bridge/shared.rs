//! Several processes on one store, each with an engine and a part in the bridge of its own, and one that leads them.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use singlet_migrate::{BridgeGoal, BridgeSide, MigrateError, ProcessTimes, TableMember};
use singlet_runtime::{Engine, MigrationPhase, OpenError, Request, RuntimeError};
use singlet_store::{
    DeleteRequest, GetAnswer, GetRequest, Result as StoreResult, Store, StoreError, StoreLayer, WriteAnswer,
};

use super::super::place;
use super::super::support::{NOW, assert_same, open_to_write};
use super::abort::set_phase;
use super::clients::Client;
use super::models::*;
use super::processes::*;
use super::races::{Held, Racing};
use super::whole::is_refused;

async fn page(engine: &Engine, cursor: Option<String>) -> Result<singlet_runtime::Answer, RuntimeError> {
    let request = Request {
        args: [("owner".to_owned(), text("eve"))].into(),
        limit: Some(2),
        cursor,
        now: NOW,
        ..Request::default()
    };
    engine.read("tasks", &request).await
}

fn numbers_of(answer: &singlet_runtime::Answer) -> Vec<i64> {
    let Some(singlet_item::Value::L(rows)) = &answer.value else {
        panic!("no rows");
    };
    let number = |row: &singlet_item::Value| row.as_map().unwrap()["number"].as_number().unwrap().to_i64().unwrap();
    rows.iter().map(number).collect()
}

/// Old processes from before the bridge, new ones that come when they are served, clients of all of them, until the old ones are ended.
async fn processes_and_clients(new: &str) {
    let table = old_table(place::TASKS.min(6)).await;
    let mut old = Vec::new();
    for _ in 0..2 {
        old.push(Process::start(&table, OLD, PATIENT).await);
    }
    let first = page(&old[0].engine, None).await.unwrap();
    let engines: Arc<Mutex<Vec<(BridgeSide, Engine)>>> = Arc::default();
    let known = |process: &Process, side| {
        engines
            .lock()
            .unwrap()
            .push((side, process.engine.on_store(Arc::clone(process.engine.store()))))
    };
    old.iter().for_each(|process| known(process, BridgeSide::Old));
    let is_over = Arc::new(AtomicBool::new(false));
    let mut working = Vec::new();
    for owner in ["c1", "c2"] {
        let (engines, is_over) = (Arc::clone(&engines), Arc::clone(&is_over));
        working.push(tokio::spawn(async move {
            let mut client = Client::new(owner);
            while !is_over.load(Ordering::SeqCst) {
                let all: Vec<(BridgeSide, Engine)> = {
                    let engines = engines.lock().unwrap();
                    let copy =
                        |(side, engine): &(BridgeSide, Engine)| (*side, engine.on_store(Arc::clone(engine.store())));
                    engines.iter().map(copy).collect()
                };
                for (side, engine) in all {
                    client.act(&engine, side).await;
                }
                tokio::task::yield_now().await;
            }
            client
        }));
    }
    lead(&table, new, BridgeGoal::Both, PATIENT).await.unwrap();
    let mut fresh = Vec::new();
    for _ in 0..2 {
        fresh.push(Process::start(&table, new, PATIENT).await);
    }
    fresh.iter().for_each(|process| known(process, BridgeSide::New));
    // What was begun before with one old process goes on with the other.
    let (mut walked, mut cursor) = (numbers_of(&first), first.next.clone());
    let strange = page(&fresh[0].engine, cursor.clone()).await;
    assert!(
        !new.contains("number: int 0..9999") || matches!(strange, Err(RuntimeError::Cursor)),
        "{strange:?}"
    );
    while let Some(at) = cursor {
        let answer = page(&old[1].engine, Some(at)).await.unwrap();
        walked.extend(numbers_of(&answer));
        cursor = answer.next;
    }
    let count = i64::try_from(place::TASKS.min(6)).unwrap();
    assert_eq!(walked, (0..count).collect::<Vec<i64>>());
    assert_eq!(
        shared(tasks(&fresh[1].engine, "eve").await),
        tasks(&old[0].engine, "eve").await
    );
    if new.contains("number: int 0..9999") {
        let wide = add(&fresh[0].engine, 100, "wide").await.unwrap_err();
        assert!(is_refused(&wide), "{wide}");
    }
    // No old process is left behind.
    let alive = lead(&table, new, BridgeGoal::NewAlone, PATIENT).await;
    assert!(
        matches!(&alive, Err(MigrateError::Serving(who)) if !who.is_empty()),
        "{alive:?}"
    );
    assert_eq!(phase(&table).await, Some(MigrationPhase::Switch));
    engines.lock().unwrap().retain(|(side, _)| *side == BridgeSide::New);
    // Clients have engines in their hands until they come round again; a process ends when nobody has one.
    for process in old {
        process.end().await;
    }
    lead(&table, new, BridgeGoal::NewAlone, PATIENT).await.unwrap();
    is_over.store(true, Ordering::SeqCst);
    let mut writes = 0;
    for client in working {
        let mut client = client.await.unwrap();
        assert!(client.check(&fresh[0].engine, BridgeSide::New).await);
        writes += client.writes;
    }
    assert!(writes > 0);
    engines.lock().unwrap().clear();
    if new.contains("number: int 0..9999") {
        // The last phase may still be what it knows of.
        while add(&fresh[1].engine, 100, "wide").await.is_err() {
            tokio::task::yield_now().await;
        }
    }
    for process in fresh {
        process.end().await;
    }
    assert_new(&table, new).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_of_several_processes_are_answered_by_their_own_models() {
    processes_and_clients(&new_model()).await;
    processes_and_clients(&filled_model()).await;
}

/// A process has begun a write and sleeps: others wait for it, give it up, and go on. What it sends then is refused, or written for both.
#[tokio::test]
async fn what_was_sent_by_a_process_that_slept_is_refused() {
    for (new, wakes) in [(new_model(), false), (filled_model(), false), (new_model(), true)] {
        let table = old_table(4).await;
        let held = Held::new(&table.store, "TASK#03");
        let store: Arc<dyn Store> = held.clone();
        let (member, asleep) = joined(&table, &store, OLD, PATIENT).await;
        let [owner, three] = task(3);
        let writing = tokio::spawn(async move {
            let scored = write(&asleep, "score", [owner, three, ("points", number(7))]).await;
            (scored, asleep)
        });
        held.entered.notified().await;
        lead_awake(&table, &new).await;
        let looking = wakes.then(|| tokio::spawn(Arc::new(member).keep_looking()));
        held.released.notify_one();
        let (scored, asleep) = writing.await.unwrap();
        let served = Process::start(&table, &new, PATIENT).await;
        let row = tasks(&served.engine, "ada").await.remove(&3).unwrap();
        match wakes {
            true => scored.unwrap(),
            false => {
                let told = scored.unwrap_err().to_string();
                assert!(told.contains("later stage"), "{told}");
            }
        }
        assert_eq!(row["points"], number(if wakes { 10 } else { 3 }));
        let of_old = Process::start(&table, OLD, PATIENT).await;
        assert_eq!(
            shared(tasks(&served.engine, "ada").await),
            tasks(&of_old.engine, "ada").await
        );
        drop(asleep);
        if let Some(looking) = looking {
            looking.await.unwrap();
        }
    }
}

/// The next phase waits for a process that has not reached this one, so that what it creates for the old model alone is still copied.
#[tokio::test]
async fn nobody_goes_on_before_all_have_come() {
    let table = old_table(4).await;
    let (member, late) = joined(&table, &table.store, OLD, PATIENT).await;
    let leading = {
        let table = table.clone();
        tokio::spawn(async move { lead(&table, &new_model(), BridgeGoal::Both, PATIENT).await })
    };
    while phase(&table).await.is_none() {
        tokio::task::yield_now().await;
    }
    tokio::time::sleep(PATIENT.beats * 4).await;
    assert_eq!(phase(&table).await, Some(MigrationPhase::Announce));
    add(&late, 77, "late").await.unwrap();
    // In the next one it writes both; the one after that has to wait again.
    assert!(member.look().await.unwrap());
    while phase(&table).await != Some(MigrationPhase::Expand) {
        tokio::task::yield_now().await;
    }
    tokio::time::sleep(PATIENT.beats * 4).await;
    assert_eq!(phase(&table).await, Some(MigrationPhase::Expand));
    add(&late, 78, "later").await.unwrap();
    assert!(!leading.is_finished());
    let looking = tokio::spawn(Arc::new(member).keep_looking());
    leading.await.unwrap().unwrap();
    let served = Process::start(&table, &new_model(), PATIENT).await;
    let found = tasks(&served.engine, "ada").await;
    assert!(found.contains_key(&77) && found.contains_key(&78));
    assert_eq!(shared(found), tasks(&late, "ada").await);
    drop(late);
    looking.await.unwrap();
}

/// A store whose control row cannot be read at times.
#[derive(Debug)]
struct Deaf {
    store: Arc<dyn Store>,
    is_deaf: AtomicBool,
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
        match is_control && self.is_deaf.load(Ordering::SeqCst) {
            true => Err(StoreError::bad_request("nothing is heard")),
            false => self.store.get(request).await,
        }
    }
}

#[tokio::test]
async fn a_process_that_cannot_read_what_the_table_says_lets_nothing_through() {
    let table = old_table(2).await;
    let deaf = Arc::new(Deaf {
        store: Arc::clone(&table.store),
        is_deaf: AtomicBool::new(false),
    });
    let store: Arc<dyn Store> = deaf.clone();
    let times = ProcessTimes {
        stale: Duration::from_millis(1_500),
        ..PATIENT
    };
    let (member, engine) = joined(&table, &store, OLD, times).await;
    let looking = tokio::spawn(Arc::new(member).keep_looking());
    add(&engine, 50, "heard").await.unwrap();
    deaf.is_deaf.store(true, Ordering::SeqCst);
    tokio::time::sleep(times.stale * 2).await;
    for refused in [
        add(&engine, 51, "not heard").await,
        read(&engine, "tasks", [("owner", text("ada"))]).await.map(drop),
    ] {
        let told = refused.unwrap_err().to_string();
        assert!(told.contains("could not be read for a while"), "{told}");
    }
    deaf.is_deaf.store(false, Ordering::SeqCst);
    while add(&engine, 52, "heard again").await.is_err() {
        tokio::task::yield_now().await;
    }
    assert!(!tasks(&engine, "ada").await.contains_key(&51));
    drop(engine);
    looking.await.unwrap();
}

/// The machine slept: one clock has not counted it, the other has.
#[tokio::test]
async fn a_process_whose_machine_slept_lets_nothing_through_until_it_has_looked() {
    static WALL: AtomicI64 = AtomicI64::new(NOW);
    fn wall() -> i64 {
        WALL.load(Ordering::SeqCst)
    }
    let table = old_table(2).await;
    let (member, engine) = TableMember::join(table.engine(OLD), PATIENT, wall).await.unwrap();
    let before = add(&engine, 50, "too soon").await.unwrap_err().to_string();
    assert!(before.contains("not read yet"), "{before}");
    member.look().await.unwrap();
    add(&engine, 50, "awake").await.unwrap();
    let stale = i64::try_from(PATIENT.stale.as_millis()).unwrap();
    WALL.fetch_add(stale, Ordering::SeqCst);
    add(&engine, 51, "still awake").await.unwrap();
    WALL.fetch_add(1, Ordering::SeqCst);
    let told = add(&engine, 52, "asleep").await.unwrap_err().to_string();
    assert!(told.contains("could not be read for a while"), "{told}");
    member.look().await.unwrap();
    add(&engine, 52, "awake again").await.unwrap();
}

#[tokio::test]
async fn a_process_of_a_third_model_is_named_before_anything_begins() {
    let table = old_table(2).await;
    let third = OLD.replace(
        "  Sent:\n",
        "  Tag:\n    attributes: {id: string 1..20}\n    key: {PK: \"TAG#{id}\", SK: \"TAG\"}\n  Sent:\n",
    );
    open_to_write(&table.engine(&third)).await.unwrap();
    let process = Process::start(&table, &third, PATIENT).await;
    let begun = lead(&table, &new_model(), BridgeGoal::Both, PATIENT).await;
    assert!(
        matches!(&begun, Err(MigrateError::Serving(who)) if who.len() == 1),
        "{begun:?}"
    );
    assert_eq!(phase(&table).await, None);
    process.end().await;
    lead(&table, &new_model(), BridgeGoal::Both, PATIENT).await.unwrap();
}

/// From the phase in which its model ceases to serve no process of it is begun.
#[tokio::test]
async fn a_process_begins_only_while_its_model_serves() {
    use MigrationPhase as Phase;
    let table = old_table(2).await;
    let new = new_model();
    let early = TableMember::join(table.engine(&new), PATIENT, clock).await;
    assert!(matches!(early, Err(OpenError::Model(_))));
    lead(&table, &new, BridgeGoal::Both, PATIENT).await.unwrap();
    for (phase, of_old, of_new) in [
        (Phase::Announce, true, true),
        (Phase::Switch, true, true),
        (Phase::Settle, false, true),
        (Phase::Contract, false, true),
        (Phase::Withdraw, true, false),
        (Phase::Retreat, true, false),
    ] {
        set_phase(&table, phase).await;
        for (text, may) in [(OLD, of_old), (&new, of_new)] {
            let joined = TableMember::join(table.engine(text), PATIENT, clock).await;
            match may {
                true => drop(joined.unwrap()),
                false => assert!(matches!(joined, Err(OpenError::Migrating(_))), "{phase:?}"),
            }
        }
    }
}

/// Another process writes a row between its being read and its being copied.
async fn raced(name: &'static str, args: Vec<(&'static str, singlet_item::Value)>) -> Option<singlet_item::Item> {
    let table = old_table(5).await;
    let process = Process::start(&table, OLD, PATIENT).await;
    let racing = Arc::new(Racing {
        store: Arc::clone(&table.store),
        meanwhile: Mutex::new(None),
        sort: "TASK#0003",
    });
    let client = process.engine.on_store(Arc::clone(process.engine.store()));
    *racing.meanwhile.lock().unwrap() = Some(Box::pin(async move {
        let request = singlet_runtime::WriteRequest {
            args: args.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            now: clock(),
            ..Default::default()
        };
        client.write(name, &request).await.unwrap();
    }));
    let store: Arc<dyn Store> = racing.clone();
    let leader = leader(&table, &store, &new_model(), PATIENT).await.unwrap();
    reach(&leader, BridgeGoal::Both).await.unwrap();
    assert!(racing.meanwhile.lock().unwrap().is_none(), "nothing raced");
    let served = Process::start(&table, &new_model(), PATIENT).await;
    let mut of_new = tasks(&served.engine, "ada").await;
    assert_eq!(shared(of_new.clone()), tasks(&process.engine, "ada").await);
    of_new.remove(&3)
}

#[tokio::test]
async fn what_another_process_does_to_a_row_while_it_is_copied_holds() {
    assert_eq!(raced("remove", task(3).to_vec()).await, None);
    let mut args = task(3).to_vec();
    args.push(("points", number(40)));
    assert_eq!(raced("score", args).await.unwrap()["points"], number(43));
}

/// A store in which somebody makes a row just before it is deleted blindly.
struct MadeBefore {
    store: Arc<dyn Store>,
    meanwhile: Mutex<Option<super::races::Meanwhile>>,
}

impl std::fmt::Debug for MadeBefore {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("MadeBefore")
    }
}

#[async_trait]
impl StoreLayer for MadeBefore {
    fn beneath(&self) -> &dyn Store {
        &*self.store
    }

    async fn delete(&self, request: &DeleteRequest) -> StoreResult<WriteAnswer> {
        let meanwhile = self.meanwhile.lock().unwrap().take();
        if let Some(meanwhile) = meanwhile {
            meanwhile.await;
        }
        self.store.delete(request).await
    }
}

/// Where nothing was there is nothing to delete; a row that came meanwhile goes with its twin.
#[tokio::test]
async fn a_row_that_comes_while_nothing_is_deleted_goes_whole() {
    let table = old_table(2).await;
    lead(&table, &new_model(), BridgeGoal::Both, PATIENT).await.unwrap();
    let made = Process::start(&table, OLD, PATIENT).await;
    let before = Arc::new(MadeBefore {
        store: Arc::clone(&table.store),
        meanwhile: Mutex::new(None),
    });
    let store: Arc<dyn Store> = before.clone();
    let (_member, blind) = joined(&table, &store, OLD, PATIENT).await;
    let other = made.engine.on_store(Arc::clone(made.engine.store()));
    *before.meanwhile.lock().unwrap() = Some(Box::pin(async move { add(&other, 60, "between").await.unwrap() }));
    let request = DeleteRequest {
        table: table.name.clone(),
        key: [("PK".to_owned(), text("USER#ada")), ("SK".to_owned(), text("TASK#60"))].into(),
        ..DeleteRequest::default()
    };
    // Nobody deletes a row with a guard so, and what is left of it may be refused: but not half of it is gone.
    let _ = blind.store().delete(&request).await;
    assert!(before.meanwhile.lock().unwrap().is_none());
    let served = Process::start(&table, &new_model(), PATIENT).await;
    assert_eq!(
        shared(tasks(&served.engine, "ada").await),
        tasks(&made.engine, "ada").await
    );
}

/// Given up in each phase with processes of both models at work, and begun again.
#[tokio::test]
async fn what_is_given_up_among_processes_leaves_what_was() {
    use MigrationPhase as Phase;
    let phases = [
        Phase::Announce,
        Phase::Expand,
        Phase::Backfill,
        Phase::Verify,
        Phase::Switch,
        Phase::Settle,
        Phase::Withdraw,
        Phase::Retreat,
    ];
    for phase in phases {
        let new = new_model();
        let table = old_table(3).await;
        let before = table.contents().await;
        let old = Process::start(&table, OLD, PATIENT).await;
        lead(&table, &new, BridgeGoal::Both, PATIENT).await.unwrap();
        let fresh = Process::start(&table, &new, PATIENT).await;
        set_phase(&table, phase).await;
        lead(&table, &new, BridgeGoal::OldAlone, PATIENT).await.unwrap();
        assert_same(phase.word(), &table.contents().await, &before);
        // Who had read that before is at it again by now.
        while add(&old.engine, 40, "after").await.is_err() {
            tokio::task::yield_now().await;
        }
        while read(&fresh.engine, "tasks", [("owner", text("ada"))]).await.is_ok() {
            tokio::task::yield_now().await;
        }
        fresh.end().await;
        lead(&table, &new, BridgeGoal::Both, PATIENT).await.unwrap();
        old.end().await;
        lead(&table, &new, BridgeGoal::NewAlone, PATIENT).await.unwrap();
        assert_new(&table, &new).await;
    }
}

/// Who ends is known no more at once, lets nothing through from then on, and is waited for by nobody, though its engine is still there.
#[tokio::test]
async fn who_has_left_is_not_waited_for() {
    let table = old_table(2).await;
    let (member, engine) = joined(&table, &table.store, OLD, PATIENT).await;
    let member = Arc::new(member);
    let looking = tokio::spawn(Arc::clone(&member).keep_looking());
    add(&engine, 50, "before").await.unwrap();
    member.leave().await;
    let told = add(&engine, 51, "after").await.unwrap_err().to_string();
    assert!(told.contains("serves no more"), "{told}");
    looking.await.unwrap();
    let control = engine
        .on_store(Arc::clone(&table.store))
        .table_control()
        .await
        .unwrap()
        .unwrap();
    let left = table.engine(OLD).table_processes(&control).await.unwrap();
    assert_eq!(left, []);
    lead(&table, &new_model(), BridgeGoal::NewAlone, PATIENT).await.unwrap();
    assert_new(&table, &new_model()).await;
}
