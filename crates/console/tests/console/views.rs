//! The views of the five systems.

use fastrand::Rng;
use serde_json::{Value as Json, json};
use singlet_verify::generate;

use crate::running::{Options, SYSTEMS, block_on, known_system, start, start_with, system, text_of};

#[test]
fn every_view_of_the_five_systems_answers() {
    let systems = SYSTEMS.iter().map(|name| known_system(name)).collect();
    let texts = SYSTEMS
        .iter()
        .map(|name| ((*name).to_owned(), text_of(name, "model.yaml")))
        .collect();
    let running = start_with(systems, Options::default(), texts);
    let cookie = running.sign_in();
    let session = running.get(&cookie, "session");
    assert_eq!(session["systems"].as_array().unwrap().len(), 5);
    for system in SYSTEMS {
        let design = running.get(&cookie, &format!("{system}/design"));
        let places = design["places"].as_array().unwrap();
        assert_eq!(places.len(), 1 + design["table"]["indexes"].as_array().unwrap().len());
        // Every entity is somewhere on the map, and every read among the patterns.
        for entity in design["entities"].as_array().unwrap() {
            let is_there = places[0]["collections"].as_array().unwrap().iter().any(|collection| {
                let entries = collection["entries"].as_array().unwrap();
                entries.iter().any(|entry| entry["entity"] == entity["name"])
            });
            assert!(is_there, "{system}: {}", entity["name"]);
        }
        for drawing in design["drawings"].as_array().unwrap() {
            let path = format!(
                "/console/api/{system}/drawing/dark/{}",
                drawing["name"].as_str().unwrap()
            );
            let reply = running.ask("GET", &path, Some(&cookie), "");
            assert_eq!(
                (reply.status, reply.header("content-type")),
                (200, Some("image/svg+xml"))
            );
            assert!(!drawing["title"].as_str().unwrap().is_empty());
        }
        for view in ["operations", "cost"] {
            running.get(&cookie, &format!("{system}/{view}"));
        }
    }
}

/// The findings of a text as `check` has them.
fn checked(text: &str) -> Vec<(String, String, usize)> {
    let source = singlet_model::Source::new("made", text.to_owned());
    let found = singlet_lint::check_design(singlet_model::load_source(&source)).into_sorted();
    let told = found.iter().map(|finding| {
        let at = source.position_at(finding.span.start);
        (finding.rule.code.to_owned(), finding.message.clone(), at.line)
    });
    told.collect()
}

/// The findings that a console shows of a text, whatever system runs.
fn shown_findings(system: singlet_http::System, text: &str) -> Vec<(String, String, usize)> {
    let name = system.name.clone();
    let running = start_with(vec![system], Options::default(), vec![(name.clone(), text.to_owned())]);
    let cookie = running.sign_in();
    let design = running.get(&cookie, &format!("{name}/design"));
    let found = design["findings"]["list"].as_array().unwrap().iter().map(|one| {
        let text = |name: &str| one[name].as_str().unwrap().to_owned();
        let line = usize::try_from(one["line"].as_u64().unwrap()).unwrap();
        (text("code"), text("message"), line)
    });
    found.collect()
}

#[test]
fn findings_are_those_of_check() {
    for system in SYSTEMS {
        for file in ["model.yaml", "documented.yaml"] {
            let text = text_of(system, file);
            let found = shown_findings(known_system(system), &text);
            assert_eq!(found, checked(&text), "{system} {file}");
        }
    }
}

#[test]
fn findings_of_made_up_models_are_those_of_check() {
    let mut findings = 0;
    for number in 0..3 {
        let mut rng = Rng::with_seed(3_000_003 + number);
        for text in [
            generate::generate_model(&mut rng).text(),
            generate::writes::generate_writes(&mut rng).text(),
        ] {
            let loaded = singlet_model::load_source(&singlet_model::Source::new("made", text.clone()));
            if loaded.model.is_none() {
                continue;
            }
            // Half typed, it is no model any more, and the console goes on with the one that runs.
            let half: String = text
                .lines()
                .take(text.lines().count() / 2)
                .map(|line| format!("{line}\n"))
                .collect();
            for shown in [&text, &half] {
                let found = shown_findings(system("made", &text, "", 0), shown);
                assert_eq!(found, checked(shown), "{shown}");
                findings += found.len();
            }
        }
    }
    assert!(findings > 5, "{findings}");
}

#[test]
fn an_export_loads_again() {
    let running = start(vec![known_system("ecobid")], Options::default());
    let cookie = running.sign_in();
    let exported = running.ask("GET", "/console/api/ecobid/export", Some(&cookie), "");
    assert_eq!(exported.status, 200);
    let engine = running.service.systems()[0].engine.clone();
    let mut dumped = Vec::new();
    block_on(singlet_runtime::load::dump_rows(
        &engine,
        crate::running::now(),
        &mut dumped,
    ))
    .unwrap();
    let sorted = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    // Rows that have expired are rows to who looks, and nothing to who loads.
    let (exported, dumped) = (sorted(&exported.body), sorted(&dumped));
    assert!(!dumped.is_empty());
    assert!(dumped.iter().all(|line| exported.contains(line)));
    let one = running.ask(
        "GET",
        "/console/api/ecobid/export?entity=Item&filter=category%3Dbooks",
        Some(&cookie),
        "",
    );
    assert!(
        sorted(&one.body)
            .iter()
            .all(|line| line.starts_with("{\"Item\":") && line.contains("books"))
    );
}

#[test]
fn references_lead_to_the_rows_that_they_name() {
    let running = start(vec![known_system("ecobid")], Options::default());
    let cookie = running.sign_in();
    let page = running.post(&cookie, "ecobid/rows", &json!({"entity": "Reservation", "limit": 1000}));
    let mut followed = 0;
    for row in page["rows"].as_array().unwrap() {
        let detail = running.post(&cookie, "ecobid/row", &json!({"key": row["key"]}));
        for reference in detail["references"].as_array().unwrap() {
            if reference["key"].is_null() {
                continue;
            }
            let reply = running.ask(
                "POST",
                "/console/api/ecobid/row",
                Some(&cookie),
                &json!({"key": reference["key"]}).to_string(),
            );
            if reply.status == 404 {
                continue;
            }
            let target = reply.json();
            assert_eq!(target["entity"], reference["entity"]);
            followed += 1;
        }
    }
    assert!(followed > 10, "{followed}");
}

#[test]
fn changes_come_as_they_happen() {
    let running = start(vec![known_system("todo")], Options::default());
    let cookie = running.sign_in();
    let reader = running.post(&cookie, "todo/changes", &json!({"fromStart": false}))["reader"].clone();
    let register = json!({
        "name": "registerUser",
        "args": {"email": "live@example.com", "name": "Live <script>alert(1)</script>"},
        "caller": {"authenticated": true, "claims": {"id": "live"}},
    });
    assert_eq!(running.post(&cookie, "todo/write", &register)["status"], 201);
    let mut changes: Vec<Json> = Vec::new();
    for _ in 0..10 {
        let page = running.post(&cookie, "todo/changes", &json!({"reader": reader}));
        changes.extend(page["changes"].as_array().unwrap().iter().cloned());
        if !changes.is_empty() {
            break;
        }
    }
    let created = changes.iter().find(|change| change["entity"] == "User").unwrap();
    assert_eq!(created["kind"], "created");
    assert_eq!(created["after"]["name"]["S"], "Live <script>alert(1)</script>");
    // What was consumed is told too.
    let consumed = running.get(&cookie, "todo/cost")["consumed"].clone();
    let own = consumed
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["name"] == "registerUser");
    assert!(own.unwrap()["write"].as_f64().unwrap() > 0.0);
}
