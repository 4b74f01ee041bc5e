use serde_json::json;
use singlet_runtime::{Caller, WriteRequest};

use super::support::{NOW, System, number, outcome, user};

async fn with_ada() -> System {
    let system = System::new("todo").await;
    let ada = json!({"email": "Ada@x.org", "name": "Ada"});
    system.write("registerUser", &user("ada"), ada).await.unwrap();
    system
}

async fn task(system: &System, args: serde_json::Value) -> String {
    let task = system.write("createTask", &user("ada"), args).await.unwrap();
    task["task_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn registering_claims_the_email_once() {
    let system = with_ada().await;
    assert_eq!(
        system.keys().await,
        ["$unique#User#email#ada@x.org | $", "USER#ada | METADATA"]
    );
    let again = json!({"email": "b@x.org", "name": "Ada"});
    assert_eq!(
        system.write("registerUser", &user("ada"), again).await,
        Err("already_registered 409".into())
    );
    let taken = json!({"email": "ADA@X.ORG", "name": "Bob"});
    assert_eq!(
        system.write("registerUser", &user("bob"), taken).await,
        Err("email_taken 409".into())
    );
    let anonymous = json!({"email": "c@x.org", "name": "C"});
    assert_eq!(
        system.write("registerUser", &Caller::anonymous(), anonymous).await,
        Err("unauthenticated".into())
    );
    assert_eq!(system.keys().await.len(), 2);
}

#[tokio::test]
async fn an_email_moves_with_its_guard() {
    let system = with_ada().await;
    system
        .write("updateUser", &user("ada"), json!({"email": "new@x.org", "name": "A"}))
        .await
        .unwrap();
    assert_eq!(
        system.keys().await,
        ["$unique#User#email#new@x.org | $", "USER#ada | METADATA"]
    );
    // The old one is free again, and only the case of the new one may change without a claim.
    system
        .write("registerUser", &user("bob"), json!({"email": "ada@x.org", "name": "B"}))
        .await
        .unwrap();
    system
        .write("updateUser", &user("ada"), json!({"email": "NEW@x.org", "name": "A"}))
        .await
        .unwrap();
    let taken = system
        .write("updateUser", &user("ada"), json!({"email": "ada@x.org", "name": "A"}))
        .await;
    assert_eq!(taken, Err("email_taken 409".into()));
    let nobody = system
        .write("updateUser", &user("eve"), json!({"email": "e@x.org", "name": "E"}))
        .await;
    assert_eq!(nobody, Err("user_not_found 404".into()));
}

#[tokio::test]
async fn a_new_task_is_in_every_index_that_it_has_a_key_for() {
    let system = with_ada().await;
    let args = json!({"title": "Paint", "priority": "urgent", "category": "home#1", "due_date": "2026-12-01"});
    let id = task(&system, args).await;
    let key = format!("TASK#ada | TASK#{id}");
    assert_eq!(
        system.attribute(&key, "GSI1SK").await,
        Some(json!(format!("STATUS#pending#{id}")))
    );
    assert_eq!(
        system.attribute(&key, "GSI2SK").await,
        Some(json!(format!("DUEDATE#2026-12-01#{id}")))
    );
    assert_eq!(
        system.attribute(&key, "GSI3SK").await,
        Some(json!(format!("PRIORITY#0#{id}")))
    );
    assert_eq!(system.attribute(&key, "version").await, Some(json!(1)));
    let bare = task(&system, json!({"title": "Rest"})).await;
    let key = format!("TASK#ada | TASK#{bare}");
    for name in ["GSI2SK", "GSI3SK", "GSI4SK", "due_date", "completed_at"] {
        assert_eq!(system.attribute(&key, name).await, None, "{name}");
    }
}

#[tokio::test]
async fn a_task_needs_its_user() {
    let system = with_ada().await;
    assert_eq!(
        system.write("createTask", &user("eve"), json!({"title": "x"})).await,
        Err("user_not_found 404".into())
    );
    assert_eq!(
        system.write("createTask", &user("ada"), json!({})).await,
        Err("bad request: `createTask` needs the argument `title`".into())
    );
}

#[tokio::test]
async fn a_patch_keeps_clears_and_moves_index_keys_without_reading() {
    let system = with_ada().await;
    let args = json!({"title": "Paint", "priority": "urgent", "category": "home", "due_date": "2026-12-01"});
    let id = task(&system, args).await;
    let key = format!("TASK#ada | TASK#{id}");
    let request = system.request(
        "updateTask",
        &user("ada"),
        &json!({"task_id": id, "due_date": null, "priority": "low"}),
    );
    let written = system.send("updateTask", &request).await.unwrap();
    assert_eq!(written.status, 200);
    assert_eq!(written.version, Some(number(2)));
    let read = written.consumed.total_units().read;
    assert_eq!(read.half_count(), 0, "nothing is read");
    assert_eq!(system.attribute(&key, "GSI2SK").await, None);
    assert_eq!(system.attribute(&key, "due_date").await, None);
    assert_eq!(
        system.attribute(&key, "GSI3SK").await,
        Some(json!(format!("PRIORITY#3#{id}")))
    );
    assert_eq!(system.attribute(&key, "category").await, Some(json!("home")));
    let title = system
        .write("updateTask", &user("ada"), json!({"task_id": id, "title": null}))
        .await;
    assert_eq!(title, Err("bad request: `title` cannot be cleared".into()));
    let other = system
        .write("updateTask", &user("bob"), json!({"task_id": id, "title": "mine"}))
        .await;
    assert_eq!(other, Err("task_not_found 404".into()));
}

#[tokio::test]
async fn states_move_only_as_they_may() {
    let system = with_ada().await;
    let id = task(&system, json!({"title": "Paint"})).await;
    let key = format!("TASK#ada | TASK#{id}");
    let arg = json!({"task_id": id});
    let done = system.write("completeTask", &user("ada"), arg.clone()).await.unwrap();
    assert_eq!(done["status"], "completed");
    assert_eq!(done["completed_at"], json!(NOW / 1000));
    assert_eq!(
        system.attribute(&key, "GSI1SK").await,
        Some(json!(format!("STATUS#completed#{id}")))
    );
    let again = system.write("completeTask", &user("ada"), arg.clone()).await;
    assert_eq!(again, Err("task_not_pending_or_in_progress 409".into()));
    assert_eq!(
        system.write("startTask", &user("ada"), arg.clone()).await,
        Err("task_not_pending 409".into())
    );
    let open = system.write("reopenTask", &user("ada"), arg.clone()).await.unwrap();
    assert_eq!(open["status"], "pending");
    assert_eq!(open.get("completed_at"), None);
    assert_eq!(
        system
            .write(
                "cancelTask",
                &user("ada"),
                json!({"task_id": "01ARZ3NDEKTSV4RRFFQ69G5FAV"})
            )
            .await,
        Err("task_not_found 404".into())
    );
}

#[tokio::test]
async fn a_version_is_asked_for_and_rises() {
    let system = with_ada().await;
    let id = task(&system, json!({"title": "Paint"})).await;
    let request = |version, title: &str| WriteRequest {
        precondition: Some(number(version)).into(),
        ..system.request("updateTask", &user("ada"), &json!({"task_id": id, "title": title}))
    };
    assert_eq!(
        outcome(system.send("updateTask", &request(7, "a")).await),
        Err("version mismatch".into())
    );
    assert_eq!(
        outcome(system.send("updateTask", &request(1, "b")).await).unwrap()["version"],
        json!(2)
    );
    assert_eq!(
        outcome(system.send("updateTask", &request(1, "c")).await),
        Err("version mismatch".into())
    );
}

#[tokio::test]
async fn one_key_makes_one_task() {
    let system = with_ada().await;
    let args = json!({"title": "Paint"});
    let first = system
        .write_once("createTask", &user("ada"), "k1", args.clone())
        .await
        .unwrap();
    system.pass(1_000);
    let second = system
        .write_once("createTask", &user("ada"), "k1", args.clone())
        .await
        .unwrap();
    assert_eq!(first, second);
    let other = system
        .write_once("createTask", &user("ada"), "k1", json!({"title": "Other"}))
        .await;
    assert_eq!(other, Err("key reused".into()));
    let tasks = system
        .keys()
        .await
        .iter()
        .filter(|key| key.starts_with("TASK#"))
        .count();
    assert_eq!(tasks, 1);
    // A day later the key counts no more, though the record is still there.
    system.pass(86_400_000);
    let later = system.write_once("createTask", &user("ada"), "k1", args).await.unwrap();
    assert_ne!(first["task_id"], later["task_id"]);
    let record = "IDEMPOTENCY#ada#k1 | METADATA";
    let pk = system.attribute(record, "target_task_sk").await;
    assert_eq!(pk, Some(json!(format!("TASK#{}", later["task_id"].as_str().unwrap()))));
}

#[tokio::test]
async fn one_key_moves_a_state_once() {
    let system = with_ada().await;
    let id = task(&system, json!({"title": "Paint"})).await;
    let arg = json!({"task_id": id});
    let first = system
        .write_once("completeTask", &user("ada"), "k", arg.clone())
        .await
        .unwrap();
    let second = system
        .write_once("completeTask", &user("ada"), "k", arg.clone())
        .await
        .unwrap();
    assert_eq!(first, second);
    assert_eq!(first["version"], json!(2));
}

#[tokio::test]
async fn several_tasks_change_together_or_not_at_all() {
    let system = with_ada().await;
    let (a, b) = (
        task(&system, json!({"title": "a"})).await,
        task(&system, json!({"title": "b"})).await,
    );
    system
        .write("completeTask", &user("ada"), json!({"task_id": b}))
        .await
        .unwrap();
    let refused = system
        .write(
            "setStatusOfTasks",
            &user("ada"),
            json!({"task_ids": [a, b], "status": "in_progress"}),
        )
        .await;
    assert_eq!(refused, Err(format!("status_cannot_change 409 task_id={b}")));
    assert_eq!(
        system.attribute(&format!("TASK#ada | TASK#{a}"), "status").await,
        Some(json!("pending"))
    );
    let missing = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let refused = system
        .write(
            "setStatusOfTasks",
            &user("ada"),
            json!({"task_ids": [a, missing], "status": "completed"}),
        )
        .await;
    assert_eq!(refused, Err(format!("task_not_found 404 task_id={missing}")));
    system
        .write(
            "setStatusOfTasks",
            &user("ada"),
            json!({"task_ids": [a], "status": "completed"}),
        )
        .await
        .unwrap();
}

#[tokio::test]
async fn completed_tasks_go_and_are_counted() {
    let system = with_ada().await;
    for at in 0..7 {
        let id = task(&system, json!({"title": format!("t{at}")})).await;
        if at % 2 == 0 {
            system
                .write("completeTask", &user("ada"), json!({"task_id": id}))
                .await
                .unwrap();
        }
    }
    let answer = system
        .write("deleteCompletedTasks", &user("ada"), json!({}))
        .await
        .unwrap();
    assert_eq!(answer, json!({"deleted": 4}));
    let answer = system
        .write("deleteCompletedTasks", &user("ada"), json!({}))
        .await
        .unwrap();
    assert_eq!(answer, json!({"deleted": 0}));
    let keys = system.keys().await;
    assert_eq!(keys.iter().filter(|key| key.starts_with("TASK#")).count(), 3);
    assert!(!keys.iter().any(|key| key.starts_with("$progress")));
}

#[tokio::test]
async fn a_deleted_user_leaves_nothing() {
    let system = with_ada().await;
    for at in 0..30 {
        task(&system, json!({"title": format!("t{at}")})).await;
    }
    assert_eq!(
        system.write("deleteUser", &user("ada"), json!({})).await,
        Ok(json!(null))
    );
    assert_eq!(system.keys().await, Vec::<String>::new());
    assert_eq!(
        system.write("deleteUser", &user("ada"), json!({})).await,
        Err("user_not_found 404".into())
    );
}
