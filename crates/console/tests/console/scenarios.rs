//! What is recorded plays.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use singlet_model::{Diagnostics, Source};

use crate::running::{Options, Running, known_system, start, text_of};

/// Runs an operation as the page does, and notes it as the page does.
fn run(
    running: &Running,
    cookie: &str,
    system: &str,
    steps: &mut Vec<Json>,
    name: &str,
    args: Json,
    caller: Json,
) -> Json {
    let model = running.service.systems()[0].model().clone();
    let kind = if model.reads.iter().any(|read| read.name == name) {
        "read"
    } else {
        "write"
    };
    let asked = json!({"name": name, "args": args, "caller": caller, "record": true});
    let answer = running.post(cookie, &format!("{system}/{kind}"), &asked);
    let value = if answer["value"]["M"].is_object() {
        answer["value"].clone()
    } else {
        Json::Null
    };
    steps.push(json!({
        "name": name, "args": args, "caller": caller, "now": answer["now"], "status": answer["status"],
        "problem": answer["refusal"]["name"], "value": value, "met": answer["met"],
    }));
    answer
}

fn caller(claims: Json) -> Json {
    json!({"authenticated": true, "claims": claims})
}

/// Plays a file on a service of its own.
pub fn play(model: &str, text: &str) {
    let model = singlet_model::load_source(&Source::new("model.yaml", model))
        .model
        .unwrap();
    let source = Source::new("recorded.yaml", text);
    let mut found = Diagnostics::default();
    let file = singlet_scenario::read_scenarios(&source, &model, &mut found);
    let mistakes: Vec<String> = found.iter().map(|one| one.message.clone()).collect();
    assert!(mistakes.is_empty(), "{mistakes:?}\n{text}");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let outcome = runtime
        .block_on(singlet_scenario::play_scenarios(&file.unwrap(), Arc::new(model)))
        .unwrap();
    let failed: Vec<String> = outcome
        .played
        .iter()
        .flat_map(|played| played.differences.iter().map(|one| one.message.clone()))
        .collect();
    assert!(failed.is_empty(), "{failed:?}\n{text}");
}

#[test]
fn tasks_done_by_hand_play_again() {
    let running = start(vec![known_system("todo")], Options::default());
    let cookie = running.sign_in();
    let mut steps = Vec::new();
    let ada = caller(json!({"id": "ada"}));
    let mut step =
        |name: &str, args: Json, caller: &Json| run(&running, &cookie, "todo", &mut steps, name, args, caller.clone());
    step("me", json!({}), &ada);
    let made = step("createTask", json!({"title": "Write \"it\" down: {now} #1"}), &ada);
    let task = made["value"]["M"]["task_id"]["S"].as_str().unwrap().to_owned();
    step("task", json!({"task_id": task}), &ada);
    step("completeTask", json!({"task_id": task}), &ada);
    step("completeTask", json!({"task_id": task}), &ada);
    step("tasksByStatus", json!({"status": "pending"}), &ada);
    step("task", json!({"task_id": task}), &caller(json!({"id": "mei"})));
    step("me", json!({}), &json!({"authenticated": false, "claims": {}}));
    step(
        "createTask",
        json!({"title": "x", "due_date": "2027-01-31", "priority": "high"}),
        &ada,
    );
    let made = running.post(&cookie, "todo/scenario", &json!({"name": "by hand", "steps": steps}));
    assert_eq!(made["left"], json!([]), "{made}");
    play(&text_of("todo", "model.yaml"), made["text"].as_str().unwrap());
}

#[test]
fn countries_written_with_api_keys_play_again() {
    let running = start(vec![known_system("country")], Options::default());
    let cookie = running.sign_in();
    let model = running.service.systems()[0].model().clone();
    let mut steps = Vec::new();
    let role = |role: &str| caller(json!({"role": role, "id": role}));
    let list = model
        .reads
        .iter()
        .find(|read| read.args.iter().all(|argument| argument.optional))
        .unwrap();
    run(
        &running,
        &cookie,
        "country",
        &mut steps,
        &list.name,
        json!({}),
        role(&model.callers.roles[0]),
    );
    let made = running.post(&cookie, "country/scenario", &json!({"steps": steps}));
    assert_eq!(made["left"], json!([]), "{made}");
    play(&text_of("country", "model.yaml"), made["text"].as_str().unwrap());
}
