//! A store that fails: every write ends right or says that it does not know, and nothing is done twice.

use std::sync::{Arc, Mutex};

use serde_json::json;
use singlet_item::Item;
use singlet_runtime::load;

use super::clients::{Client, SYSTEMS, Sent, counted, rows_after};
use super::faulty_store::{Fault, FaultyStore};
use super::support::{Outcome, System, refused, user, word};

const CLIENTS: u32 = 4;
const TURNS: u32 = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_fifth_of_all_calls_fails_and_every_write_with_a_key_is_done_once() {
    let systems = (1..)
        .zip(SYSTEMS)
        .map(|(seed, name)| tokio::spawn(with_faults(name, seed)));
    for system in systems.collect::<Vec<_>>() {
        system.await.unwrap();
    }
}

async fn with_faults(name: &'static str, seed: u64) {
    let store = FaultyStore::new(20, seed);
    let system = System::on(name, store.clone()).await;
    let done: Mutex<Vec<(Sent, Outcome)>> = Mutex::new(Vec::new());
    let log = |sent: &Sent, outcome: Option<&Outcome>| {
        if let Some(outcome) = outcome {
            done.lock().unwrap().push((sent.clone(), outcome.clone()));
        }
    };
    let clients: Vec<Client> = (0..CLIENTS).map(|number| Client::new(&system, number, &log)).collect();
    futures_util::future::join_all(clients.iter().map(|client| client.run(TURNS))).await;
    let seen = store.calm();
    for fault in [Fault::Throttled, Fault::Conflict, Fault::LostBefore, Fault::LostAfter] {
        assert!(seen.get(&fault).is_some_and(|count| *count > 3), "{name}: {seen:?}");
    }
    let rows = system.promises().await;
    let done = done.into_inner().unwrap();
    for (sent, outcome) in &done {
        let said = outcome.as_ref().err().map_or("", String::as_str);
        assert!(
            !said.starts_with("error") && !said.starts_with("conflict"),
            "{sent:?}: {said}"
        );
    }
    for entity in counted(name) {
        let there = rows.of(entity).len() as i64;
        assert_eq!(there, rows_after(&done, entity), "{name}: {entity}");
    }
    // Every answer that was given is given again, and that changes nothing.
    for (sent, outcome) in done.iter().filter(|(_, outcome)| outcome.is_ok()) {
        assert_eq!(&sent.send(&system).await, outcome, "{sent:?}");
    }
    let again = system.promises().await;
    for entity in counted(name) {
        assert_eq!(again.of(entity).len(), rows.of(entity).len(), "{name}: {entity}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_write_without_a_key_is_done_once_or_says_that_nobody_knows() {
    let store = FaultyStore::new(20, 7);
    let system = System::on("todo", store.clone()).await;
    let ada = user("ada");
    while system
        .write("registerUser", &ada, json!({"email": "a@x.org", "name": "A"}))
        .await
        .is_err_and(|said| said != "already_registered 409")
    {}
    let (mut done, mut unknown) = (Vec::new(), 0);
    for at in 0..150 {
        match system
            .write("createTask", &ada, json!({"title": format!("t{at}")}))
            .await
        {
            Ok(task) => done.push(word(&task, "task_id")),
            Err(said) => {
                assert!(said.contains("unavailable") || said.contains("throttled"), "{said}");
                unknown += 1;
            }
        }
    }
    let mut completed = 0;
    for id in &done {
        match system.write("completeTask", &ada, json!({"task_id": id})).await {
            Ok(task) => {
                assert_eq!(task["version"], 2);
                completed += 1;
            }
            Err(said) => assert!(said.contains("unavailable") || said.contains("throttled"), "{said}"),
        }
    }
    store.calm();
    let rows = system.promises().await;
    let there = rows.of("Task").len();
    assert!(
        there >= done.len() && there <= done.len() + unknown,
        "{there} of {} and {unknown}",
        done.len()
    );
    for id in &done {
        assert_eq!(rows.count("Task", &[("task_id", &json!(id))]), 1);
    }
    let is_completed = rows.count("Task", &[("status", &json!("completed"))]);
    assert!(is_completed >= completed, "{is_completed} of {completed}");
    let changed_twice = rows
        .of("Task")
        .iter()
        .filter(|task| task["version"].as_i64() > Some(2))
        .count();
    assert_eq!(changed_twice, 0);
}

/// Two sendings of one write may meet: what is in its way is then itself.
#[tokio::test]
async fn what_may_have_arrived_is_not_made_up_anew() {
    let store = FaultyStore::new(0, 1);
    let system = System::on("ecobid", store.clone()).await;
    let sam = user("sam");
    let profile = json!({"username": "Sam", "email": "s@x.org"});
    store.expect(&[Fault::LostAfter, Fault::Conflict]);
    system.write("register", &sam, profile).await.unwrap();
    let chair = json!({
        "title": "Chair", "description": "", "category": "home", "mode": "free",
        "location": {"lat": 52.2, "lon": 21, "city": "Warsaw", "country": "PL"},
    });
    store.expect(&[Fault::LostAfter, Fault::Conflict, Fault::Throttled, Fault::LostBefore]);
    let item = system.write("createItem", &sam, chair.clone()).await.unwrap();
    let of_item = ["METADATA", "PLACE"].map(|sort| format!("ITEM#{} | {sort}", word(&item, "itemId")));
    assert_eq!(system.keys_under("ITEM#").await, of_item);
    store.expect(&[Fault::LostBefore, Fault::Conflict]);
    system.write("createItem", &sam, chair.clone()).await.unwrap();
    assert_eq!(system.keys_under("ITEM#").await.len(), 4);
    store.expect(&[Fault::LostAfter; 20]);
    let lost = system.write("createItem", &sam, chair).await.unwrap_err();
    assert!(lost.starts_with("error: unavailable"), "{lost}");
    store.calm();
    assert_eq!(system.keys_under("ITEM#").await.len(), 6);
    system.check().await;
}

#[tokio::test]
async fn a_refusal_is_one_though_its_first_sending_was_lost() {
    let store = FaultyStore::new(0, 1);
    let system = System::on("todo", store.clone()).await;
    let profile = |email: &str| json!({"email": email, "name": "A"});
    system
        .write("registerUser", &user("ada"), profile("a@x.org"))
        .await
        .unwrap();
    for fault in [Fault::LostBefore, Fault::LostAfter, Fault::Throttled] {
        store.expect(&[fault]);
        assert_eq!(
            system.write("registerUser", &user("bob"), profile("A@x.org")).await,
            refused("email_taken 409"),
            "{fault:?}"
        );
    }
    system.check().await;
}

#[tokio::test]
async fn rows_are_loaded_though_batches_are_done_by_half() {
    let store = FaultyStore::new(30, 3);
    let system = System::on("todo", store.clone()).await;
    let items: Vec<Item> = (0..200)
        .map(|at| {
            let text = |text: String| singlet_item::Value::S(text);
            Item::from([
                ("PK".to_owned(), text("TASK#ada".to_owned())),
                ("SK".to_owned(), text(format!("TASK#{at:03}"))),
            ])
        })
        .collect();
    let shared: Arc<dyn singlet_store::Store> = store.clone();
    let mut put = 0;
    load::put_all(&shared, "todo-app-data", items, |count| put = count)
        .await
        .unwrap();
    let seen = store.calm();
    assert!(seen.get(&Fault::Partial).is_some_and(|count| *count > 0), "{seen:?}");
    assert_eq!((put, system.keys().await.len()), (200, 200));
}
