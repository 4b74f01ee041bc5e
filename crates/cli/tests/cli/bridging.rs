//! Two models that one service serves on one folder.

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
  agents: {find: Agent, order: id, allow: true, http: GET /agents}
writes:
  hire: {allow: true, http: POST /agents, do: [{create: Agent, take: [id, name]}]}
"#;

fn run(folder: &Folder, args: &[&str]) -> Output {
    let output = singlet(args).current_dir(folder.path()).output();
    output.unwrap()
}

fn told(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

fn asked(served: &Served, method: &str, path: &str, body: &str) -> (u16, String) {
    ask(&served.address(), method, path, "content-type: application/json", body).unwrap()
}

/// Asks until the answer is as wanted: rows are made ready while it is served.
fn ask_until(served: &Served, path: &str, status: u16, text: &str) {
    let begun = Instant::now();
    loop {
        let answer = asked(served, "GET", path, "");
        if answer.0 == status && answer.1.contains(text) {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{answer:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Waits until the new model alone is left: a bridge that is left before goes on with the command that leads it, and with no other.
fn wait_for_the_end(folder: &Folder) {
    let begun = Instant::now();
    let call = ["call", "new.yaml", "agents", "--store", "embedded:data"];
    while told(&run(folder, &call)).contains("is being migrated") {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn two_models_are_served_at_once_and_one_is_left() {
    let folder = Folder::new("bridging");
    folder.write("old.yaml", OLD.as_bytes());
    folder.write("new.yaml", OLD.replace("int 0..9", "int 0..99").as_bytes());
    folder.write("rows.jsonl", b"{\"Agent\": {\"id\": 7, \"name\": \"Bond\"}}\n");
    let store = ["--store", "embedded:data"];
    let loaded = run(&folder, &["load", "old.yaml", "rows.jsonl", store[0], store[1]]);
    assert!(loaded.status.success(), "{}", told(&loaded));
    {
        let served = Served::start(&folder, &["new.yaml", "--also", "old.yaml", store[0], store[1]]);
        ask_until(&served, "/probe/agents", 200, "Bond");
        ask_until(&served, "/probe.next/agents", 200, "Bond");
        assert_eq!(
            asked(&served, "POST", "/probe/agents", r#"{"id": 3, "name": "Moneypenny"}"#).0,
            201
        );
        assert_eq!(
            asked(&served, "POST", "/probe.next/agents", r#"{"id": 4, "name": "Leiter"}"#).0,
            201
        );
        for path in ["/probe/agents", "/probe.next/agents"] {
            let (status, text) = asked(&served, "GET", path, "");
            assert_eq!(status, 200, "{text}");
            assert!(
                ["Bond", "Moneypenny", "Leiter"]
                    .iter()
                    .all(|name| text.matches(name).count() == 1),
                "{text}"
            );
        }
        let (status, text) = asked(&served, "POST", "/probe.next/agents", r#"{"id": 42, "name": "Q"}"#);
        assert!(status == 409 && text.contains("not_in_both_models"), "{status} {text}");
        let beneath = run(&folder, &["call", "old.yaml", "agents", store[0], store[1]]);
        assert!(told(&beneath).contains("is being migrated"), "{}", told(&beneath));
    }
    let alone = run(&folder, &["call", "new.yaml", "agents", store[0], store[1]]);
    assert!(told(&alone).contains("in the phase `switch`"), "{}", told(&alone));
    {
        let served = Served::start(
            &folder,
            &["new.yaml", "--also", "old.yaml", "--toward", "new", store[0], store[1]],
        );
        ask_until(&served, "/probe/agents", 200, "Leiter");
        let begun = Instant::now();
        while asked(&served, "POST", "/probe/agents", r#"{"id": 42, "name": "Q"}"#).0 != 201 {
            assert!(begun.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(50));
        }
        wait_for_the_end(&folder);
    }
    let rows = run(&folder, &["call", "new.yaml", "agents", store[0], store[1]]);
    assert!(told(&rows).contains("4 rows"), "{}", told(&rows));
}

#[test]
fn what_a_bridge_does_not_carry_is_named() {
    let folder = Folder::new("no-bridge");
    folder.write("old.yaml", OLD.as_bytes());
    folder.write(
        "new.yaml",
        OLD.replace("int 0..9", "int 0..99")
            .replace("type: kind", "type: kind, stream: both_images")
            .as_bytes(),
    );
    folder.write("rows.jsonl", b"{\"Agent\": {\"id\": 7, \"name\": \"Bond\"}}\n");
    let store = ["--store", "embedded:data"];
    run(&folder, &["load", "old.yaml", "rows.jsonl", store[0], store[1]]);
    for args in [
        &["migrate", "new.yaml", "--bridge"][..],
        &["serve", "new.yaml", "--also", "old.yaml"],
    ] {
        let refused = run(&folder, &[args, &store[..]].concat());
        assert_eq!(refused.status.code(), Some(1), "{}", told(&refused));
        assert!(
            told(&refused).contains("the table's stream is another one"),
            "{}",
            told(&refused)
        );
    }
    let differs = run(&folder, &["diff", "old.yaml", "new.yaml"]);
    assert!(
        told(&differs).contains("Both models cannot run at once"),
        "{}",
        told(&differs)
    );
    let shared = run(
        &folder,
        &["serve", "new.yaml", "--also", "old.yaml", "--store", "memory"],
    );
    assert!(told(&shared).contains("only from a folder"), "{}", told(&shared));
}

/// What follows changes goes along: words and lists of each model, figures, what runs by itself, and a lake.
#[test]
fn what_follows_changes_is_served_by_both_and_goes_over_to_the_new_one() {
    let folder = Folder::new("bridging-followed");
    let old = OLD
        .replace("type: kind}", "type: kind, stream: both_images}")
        .replace(
            "entities:\n",
            "search: {Agent: [name]}\ntallies: {agentsKept: {count: Agent}}\nentities:\n  Badge:\n    attributes: {id: int 0..999, name: string 1..20}\n    key: {PK: \"BADGE\", SK: \"B{id}\"}\n",
        )
        .replace(
            "reads:\n",
            "reads:\n  named: {find: Agent, matching: args.text, args: {text: string}, allow: true, http: \"GET /agents?q={text}\"}\n  kept: {tally: agentsKept, allow: true, http: GET /kept}\n  badges: {find: Badge, order: id, allow: true, http: GET /badges}\n",
        )
        .replace(
            "writes:\n",
            "writes:\n  badge: {after: {create: Agent}, do: [{create: Badge, set: {id: row.id, name: row.name}}]}\n",
        );
    folder.write("old.yaml", old.as_bytes());
    folder.write("new.yaml", old.replace("id: int 0..9\n", "id: int 0..99\n").as_bytes());
    let store = ["--store", "embedded:data", "--lake", "lakes"];
    let hire = |served: &Served, path: &str, id: u32, name: &str| {
        let body = format!(r#"{{"id": {id}, "name": "{name}"}}"#);
        let begun = Instant::now();
        loop {
            match asked(served, "POST", path, &body) {
                (201, _) => return,
                answer => assert!(
                    begun.elapsed() < Duration::from_secs(60) && answer.0 == 503,
                    "{answer:?}"
                ),
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    {
        let served = Served::start(&folder, &[&["old.yaml"][..], &store].concat());
        hire(&served, "/probe/agents", 7, "Bond");
        ask_until(&served, "/probe/badges", 200, "Bond");
    }
    {
        let served = Served::start(&folder, &[&["new.yaml", "--also", "old.yaml"][..], &store].concat());
        ask_until(&served, "/probe.next/agents", 200, "Bond");
        hire(&served, "/probe/agents", 3, "Moneypenny");
        hire(&served, "/probe.next/agents", 4, "Leiter");
        for prefix in ["/probe", "/probe.next"] {
            for name in ["Bond", "Moneypenny", "Leiter"] {
                ask_until(&served, &format!("{prefix}/agents?q={name}"), 200, name);
                ask_until(&served, &format!("{prefix}/badges"), 200, name);
            }
            ask_until(&served, &format!("{prefix}/kept"), 200, "3");
        }
    }
    {
        let toward = ["new.yaml", "--also", "old.yaml", "--toward", "new"];
        let served = Served::start(&folder, &[&toward[..], &store].concat());
        hire(&served, "/probe/agents", 5, "Q");
        ask_until(&served, "/probe/badges", 200, "\"Q\"");
        wait_for_the_end(&folder);
    }
    let served = Served::start(&folder, &[&["new.yaml"][..], &store].concat());
    hire(&served, "/probe/agents", 42, "M");
    ask_until(&served, "/probe/badges", 200, "\"M\"");
    ask_until(&served, "/probe/kept", 200, "5");
    let (_, badges) = asked(&served, "GET", "/probe/badges", "");
    for name in ["Bond", "Moneypenny", "Leiter", "Q", "M"] {
        ask_until(&served, &format!("/probe/agents?q={name}"), 200, name);
        assert_eq!(badges.matches(&format!("\"{name}\"")).count(), 1, "{badges}");
    }
    // The lake took all rows anew when the old model ended, and has each of them once.
    let lake = folder.path().join("lakes/probe");
    let begun = Instant::now();
    let is_whole = || {
        ["Agent", "Badge"]
            .iter()
            .all(|table| crate::lakes::rows_of_table(&lake, table) == 5)
    };
    while crate::lakes::snapshots(&lake).len() < 2 || !is_whole() {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "the lake has {} and {} rows after {:?}",
            crate::lakes::rows_of_table(&lake, "Agent"),
            crate::lakes::rows_of_table(&lake, "Badge"),
            crate::lakes::snapshots(&lake)
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}
