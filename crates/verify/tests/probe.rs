//! `probe` on the five systems, on models of other designs, and on conditions written by hand that are wrong.
//!
//! `SINGLET_CASES` tries more than usual, `SINGLET_SEED` begins elsewhere, `SINGLET_ONLY` takes one system or operation.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it tried"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use singlet_model::types::Type;
use singlet_model::{Model, Source};
use singlet_runtime::{Attributes, values};
use singlet_store::Store;
use singlet_store_embedded::EmbeddedStore;
use singlet_verify::probe::{self, Options, Report, Subject};

fn memory() -> Arc<dyn Store> {
    Arc::new(EmbeddedStore::memory().unwrap())
}

fn setting(name: &str, usual: usize) -> usize {
    std::env::var(name)
        .ok()
        .and_then(|value| value.parse().ok())
        .unwrap_or(usual)
}

fn load(text: &str) -> Arc<Model> {
    let loaded = singlet_model::load(&Source::new("model.yaml", text));
    let findings: Vec<String> = loaded
        .diagnostics
        .iter()
        .map(|finding| finding.message.clone())
        .collect();
    Arc::new(loaded.model.unwrap_or_else(|| panic!("{findings:#?}")))
}

fn settings(model: &Model) -> Attributes {
    let month = values::from_text("30d", &Type::Duration).unwrap();
    let durations = model.settings.iter().filter(|known| known.ty == Type::Duration);
    durations.map(|known| (known.name.clone(), month.clone())).collect()
}

/// A model judged by itself.
fn probe(text: &str, cases: usize, only: &[String]) -> Report {
    let model = load(text);
    let settings = settings(&model);
    let options = Options {
        only,
        ..Options::new(setting("SINGLET_SEED", 1) as u64, setting("SINGLET_CASES", cases))
    };
    let make = || -> std::pin::Pin<Box<dyn Future<Output = Result<Subject, String>>>> {
        let (model, settings) = (Arc::clone(&model), settings.clone());
        Box::pin(async move {
            Subject::open(model, memory(), settings)
                .await
                .map_err(|error| error.to_string())
        })
    };
    probe::run(&model, &settings, &make, &options)
}

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systems").join(name);
    std::fs::read_to_string(path).unwrap()
}

fn system(name: &str) {
    let began = Instant::now();
    let only: Vec<String> = std::env::var("SINGLET_ONLY").ok().into_iter().collect();
    let report = probe(&file(&format!("{name}/model.yaml")), 30, &only);
    for operation in &report.operations {
        println!("{name} {operation:?}");
    }
    let found: Vec<String> = report.findings().map(ToString::to_string).collect();
    println!("{name}: {} cases, {:?}", report.cases(), began.elapsed());
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn todo_means_what_it_does() {
    system("todo");
}

#[test]
fn booking_means_what_it_does() {
    system("booking");
}

#[test]
fn country_means_what_it_does() {
    system("country");
}

#[test]
fn ecobid_means_what_it_does() {
    system("ecobid");
}

#[test]
fn wardrobe_means_what_it_does() {
    system("wardrobe");
}
