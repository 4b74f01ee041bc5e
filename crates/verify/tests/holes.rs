//! Holes that no rule finds, because the document says nothing against them: each is shown by using the design as its document
//! has it. `systems/*/holes.yaml` names them, and the scenario that shows the corrected design without the hole.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value as Json, json};
use singlet_model::node::{self, Node};
use singlet_model::{Diagnostics, Source};
use singlet_runtime::{Caller, Deployment, Engine, RuntimeError};
use singlet_store::ScanRequest;
use singlet_store_embedded::EmbeddedStore;

/// 2026-11-16T12:00:00Z.
const NOON: i64 = 1_794_830_400_000;
const HOUR: i64 = 3_600_000;

/// The runs, by the names that `holes.yaml` has for them.
const RUNS: [(&str, &str); 4] = [
    ("booking", "a half day inside a full day"),
    ("country", "a clock that steps back"),
    ("country", "a read by the old code between the two writes"),
    ("country", "an update after a delete"),
];

fn systems() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systems")
}

fn source(system: &str, file: &str) -> Source {
    let text = fs::read_to_string(systems().join(system).join(file)).unwrap();
    Source::new(format!("systems/{system}/{file}"), text)
}

/// The design as its document has it, on a table without rows.
async fn documented(system: &str) -> Engine {
    let store = Arc::new(EmbeddedStore::memory().unwrap());
    let engine = Engine::load_source(&source(system, "documented.yaml"), store, Deployment::default()).unwrap();
    engine.create_table().await.unwrap();
    engine
}

#[test]
fn every_run_that_the_tables_name_is_here() {
    let mut named = BTreeSet::new();
    for entry in fs::read_dir(systems()).unwrap().map(|entry| entry.unwrap()) {
        let system = entry.file_name().into_string().unwrap();
        if !entry.path().is_dir() {
            continue;
        }
        let mut wrong = Diagnostics::default();
        let holes = node::read_tree(&source(&system, "holes.yaml"), &mut wrong).expect("a list of holes");
        let shown = holes.elements().iter().filter_map(|hole| hole.get("shown_by"));
        let runs = shown.filter_map(|by| by.get("run").and_then(Node::str));
        named.extend(runs.map(|run| (system.clone(), run.to_owned())));
    }
    let here: BTreeSet<(String, String)> = RUNS.map(|(system, run)| (system.to_owned(), run.to_owned())).into();
    assert_eq!(named, here);
}

#[tokio::test]
async fn a_half_day_inside_a_full_day() {
    let engine = documented("booking").await;
    let admin = || Caller::with_id("elena").claim("role", "admin");
    for (booking, slot) in [("b1", "FULL_DAY"), ("b2", "MORNING")] {
        let asked = json!({"bookingId": booking, "date": "2026-11-20", "duration": slot,
            "eventDescription": "a party", "attendees": 20});
        let request = engine.call("requestBooking").args(asked).by(Caller::with_id("ada"));
        request.written().await.unwrap();
        let approval = json!({"bookingId": booking, "eventId": format!("e-{booking}")});
        engine
            .call("approveBooking")
            .args(approval)
            .by(admin())
            .written()
            .await
            .unwrap();
    }
    // No plan of the document's own reads finds both: one key has the slot, the other another word for it.
    let everything = ScanRequest {
        table: engine.model().table.name.clone(),
        ..ScanRequest::default()
    };
    let items = engine.store().scan(&everything).await.unwrap().items;
    let events = items.iter().filter(|item| item["entityType"].as_str() == Some("Event"));
    let sold: BTreeSet<(&str, &str)> = events
        .map(|event| (event["date"].as_str().unwrap(), event["timeSlot"].as_str().unwrap()))
        .collect();
    assert_eq!(
        sold,
        BTreeSet::from([("2026-11-20", "FULL_DAY"), ("2026-11-20", "MORNING")])
    );
}

fn country(alpha3: &str, name: &str) -> Json {
    json!({"alpha2Code": "IT", "alpha3Code": alpha3, "numericCode": "380", "name": name})
}

async fn write(engine: &Engine, name: &str, args: Json, at: i64) {
    let writer = Caller::with_id("office").claim("role", "writer");
    engine.call(name).args(args).by(writer).at(at).written().await.unwrap();
}

async fn read(engine: &Engine, name: &str, args: Json) -> Result<Json, RuntimeError> {
    engine
        .call(name)
        .args(args)
        .by(Caller::with_id("ada"))
        .at(NOON)
        .one()
        .await
}

#[tokio::test]
async fn a_clock_that_steps_back() {
    let engine = documented("country").await;
    write(&engine, "createCountry", country("ITA", "Italy"), NOON).await;
    write(
        &engine,
        "updateCountry",
        country("ITA", "Italian Republic"),
        NOON - HOUR,
    )
    .await;
    let history = read(&engine, "countryHistory", json!({"alpha2Code": "IT"}))
        .await
        .unwrap();
    let names: Vec<&Json> = history
        .as_array()
        .unwrap()
        .iter()
        .map(|version| &version["name"])
        .collect();
    assert_eq!(names, [&json!("Italy"), &json!("Italian Republic")], "newest first");
    assert_eq!(
        history[0]["expiryDate"],
        json!("2026-11-16T11:00:00.000Z"),
        "it ends before it begins"
    );
}

/// A create is the first of the two writes of an update: the same item, put in the same way.
#[tokio::test]
async fn a_read_by_the_old_code_between_the_two_writes() {
    let engine = documented("country").await;
    write(&engine, "createCountry", country("ITA", "Italy"), NOON - HOUR).await;
    write(&engine, "createCountry", country("ITX", "Italy"), NOON).await;
    for code in ["ITA", "ITX"] {
        let found = read(&engine, "countryByAlpha3", json!({"alpha3Code": code}))
            .await
            .unwrap();
        assert_eq!(found["alpha2Code"], json!("IT"), "{code}");
    }
}

#[tokio::test]
async fn an_update_after_a_delete() {
    let engine = documented("country").await;
    write(&engine, "createCountry", country("ITA", "Italy"), NOON - 3 * HOUR).await;
    write(&engine, "deleteCountry", json!({"alpha2Code": "IT"}), NOON - 2 * HOUR).await;
    let deleted = read(&engine, "countryByAlpha2", json!({"alpha2Code": "IT"})).await;
    assert!(matches!(deleted, Err(RuntimeError::NotFound)), "{deleted:?}");
    write(&engine, "updateCountry", country("ITA", "Italia"), NOON - HOUR).await;
    let found = read(&engine, "countryByAlpha2", json!({"alpha2Code": "IT"}))
        .await
        .unwrap();
    assert_eq!(found["name"], json!("Italia"), "nobody created it again");
}
