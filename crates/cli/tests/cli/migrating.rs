//! A table that is migrated beside a service of the old model.

use std::process::Output;
use std::time::{Duration, Instant};

use crate::running::{Folder, singlet};
use crate::serving::{Served, ask};

const OLD: &str = r#"
singlet: 1
name: probe
table: {name: Probe, key: {partition: PK, sort: SK}, type: kind}
entities:
  Agent:
    attributes:
      id: int 0..9
      name: string 1..20
    key: {PK: "AGENT", SK: "{id}x"}
reads:
  agents:
    find: Agent
    order: id
    allow: true
    http: GET /agents
"#;

fn run(folder: &Folder, args: &[&str]) -> Output {
    singlet(args).current_dir(folder.path()).output().unwrap()
}

fn told(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

/// Asks until the answer has a status and a text, for a service takes a beat to see what its table says.
fn ask_until(served: &Served, status: u16, text: &str) {
    ask_path_until(served, "/agents", status, text);
}

fn ask_path_until(served: &Served, path: &str, status: u16, text: &str) {
    let begun = Instant::now();
    loop {
        let answer = ask(&served.address(), "GET", path, "accept: application/json", "").unwrap();
        if answer.0 == status && answer.1.contains(text) {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{answer:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_service_stops_while_its_table_is_migrated_and_one_of_the_new_model_goes_on() {
    let folder = Folder::new("migrating");
    folder.write("old.yaml", OLD.as_bytes());
    folder.write("new.yaml", OLD.replace("int 0..9", "int 0..99").as_bytes());
    folder.write("rows.jsonl", b"{\"Agent\": {\"id\": 7, \"name\": \"Bond\"}}\n");
    let store = ["--store", "embedded:data"];
    let loaded = run(&folder, &["load", "old.yaml", "rows.jsonl", store[0], store[1]]);
    assert!(loaded.status.success(), "{}", told(&loaded));
    let served = Served::start(&folder, &["old.yaml", "--at-root", store[0], store[1]]);
    ask_until(&served, 200, "Bond");
    let planned = run(&folder, &["migrate", "new.yaml", store[0], store[1]]);
    assert_eq!(planned.status.code(), Some(1), "{}", told(&planned));
    assert!(
        told(&planned).contains("1 to move to another key"),
        "{}",
        told(&planned)
    );
    let migrated = run(&folder, &["migrate", "new.yaml", store[0], store[1], "--yes"]);
    assert!(migrated.status.success(), "{}", told(&migrated));
    ask_until(&served, 503, "migrated to another model");
    assert!(served.end());
    let served = Served::start(&folder, &["new.yaml", "--at-root", store[0], store[1]]);
    ask_until(&served, 200, "Bond");
    assert!(served.end());
    let old = run(&folder, &["call", "old.yaml", "agents", store[0], store[1]]);
    assert_eq!(old.status.code(), Some(2));
    assert!(told(&old).contains("singlet migrate"), "{}", told(&old));
}

/// A service whose model adds an index answers at once, makes the index, and then answers by it, too.
#[test]
fn a_service_makes_the_index_that_its_model_adds() {
    let folder = Folder::new("indexing");
    let new = OLD
        .replace(
            "type: kind}",
            "type: kind, indexes: {GSI1: {partition: GSI1PK, sort: GSI1SK}}}",
        )
        .replace(
            "SK: \"{id}x\"}\n",
            "SK: \"{id}x\"}\n    index: {GSI1: {GSI1PK: \"NAME#{name}\", GSI1SK: \"{id}\"}}\n",
        )
        .replace(
            "reads:\n",
            "reads:\n  byName:\n    find: Agent\n    where: name == args.name\n    allow: true\n    http: GET /names/{name}\n",
        );
    folder.write("old.yaml", OLD.as_bytes());
    folder.write("new.yaml", new.as_bytes());
    let rows = "{\"Agent\": {\"id\": 7, \"name\": \"Bond\"}}\n{\"Agent\": {\"id\": 8, \"name\": \"Ascot\"}}\n";
    folder.write("rows.jsonl", rows.as_bytes());
    let store = ["--store", "embedded:data"];
    let loaded = run(&folder, &["load", "old.yaml", "rows.jsonl", store[0], store[1]]);
    assert!(loaded.status.success(), "{}", told(&loaded));
    let served = Served::start(&folder, &["new.yaml", "--at-root", store[0], store[1]]);
    let answer = ask(&served.address(), "GET", "/agents", "accept: application/json", "").unwrap();
    assert_eq!(answer.0, 200, "{answer:?}");
    ask_path_until(&served, "/names/Ascot", 200, "Ascot");
    assert!(served.end());
    let audited = run(&folder, &["audit", "new.yaml", store[0], store[1]]);
    assert!(audited.status.success(), "{}", told(&audited));
    let named = run(
        &folder,
        &["call", "new.yaml", "byName", "name=Bond", store[0], store[1]],
    );
    assert!(told(&named).contains("Bond"), "{}", told(&named));
}
