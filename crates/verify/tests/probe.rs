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
use singlet_runtime::Attributes;
use singlet_store::Store;
use singlet_store_embedded::EmbeddedStore;
use singlet_values as values;
use singlet_verify::VerifyError;
use singlet_verify::probe::{self, Kind, Options, Report, Subject};

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
    let loaded = singlet_model::load_source(&Source::new("model.yaml", text));
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
    let make = || -> std::pin::Pin<Box<dyn Future<Output = Result<Subject, VerifyError>>>> {
        let (model, settings) = (Arc::clone(&model), settings.clone());
        Box::pin(async move { Ok(Subject::open(model, memory(), settings).await?) })
    };
    probe::run_probe(&model, &settings, &make, &options)
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
    let found: Vec<String> = report.all_findings().map(ToString::to_string).collect();
    println!("{name}: {} cases, {:?}", report.case_count(), began.elapsed());
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

fn model_file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// A design of another team, without scenarios, samples or anything but its model.
fn other_design(name: &str) {
    let report = probe(&model_file(name), 40, &[]);
    let found: Vec<String> = report.all_findings().map(ToString::to_string).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
    for operation in &report.operations {
        let word = if operation.kind == Kind::Write { "done" } else { "rows" };
        assert_eq!(operation.skipped, None, "{}", operation.name);
        assert!(operation.outcomes.contains_key(word), "{operation:?}");
    }
}

#[test]
fn a_tracker_of_many_tenants_means_what_it_does() {
    other_design("tracker.yaml");
}

#[test]
fn a_forge_whose_keys_fold_names_means_what_it_does() {
    other_design("forge.yaml");
}

#[test]
fn rooms_of_numbered_messages_mean_what_they_do() {
    other_design("chat.yaml");
}

#[test]
fn meters_without_a_type_mean_what_they_do() {
    other_design("meters.yaml");
}

#[test]
fn a_library_with_versions_and_copies_means_what_it_does() {
    other_design("loans.yaml");
}

#[test]
fn a_raffle_that_leaves_much_open_means_what_it_does() {
    other_design("raffle.yaml");
}

/// `SINGLET_UPDATE=1` writes what is found anew.
#[test]
fn every_wrong_condition_is_found_with_few_rows() {
    let report = probe(&model_file("wrong.yaml"), 400, &[]);
    let mut shown = String::new();
    for operation in report
        .operations
        .iter()
        .filter(|operation| operation.kind == Kind::Using)
    {
        match &operation.finding {
            Some(finding) => {
                assert!(finding.given.len() <= 2, "{finding}");
                shown.push_str(&format!("{finding}\n"));
            }
            None => assert_eq!(operation.name, "right", "nothing is found in `{}`", operation.name),
        }
    }
    let planned = report
        .operations
        .iter()
        .filter(|operation| operation.kind == Kind::Read);
    for operation in planned {
        assert_eq!(operation.finding, None, "{:?}", operation.finding);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/wrong.txt");
    if std::env::var_os("SINGLET_UPDATE").is_some() {
        std::fs::write(&path, &shown).unwrap();
    }
    assert_eq!(shown, std::fs::read_to_string(path).unwrap_or_default());
}

/// `SINGLET_UPDATE=1` writes what is found anew.
#[test]
fn every_wrong_call_is_found_with_few_rows() {
    let report = probe(&model_file("calls.yaml"), 300, &[]);
    let mut shown = String::new();
    for operation in &report.operations {
        let is_wrong = operation.kind == Kind::Calls && !operation.name.starts_with("right");
        assert_eq!(operation.skipped, None, "{}", operation.name);
        assert_eq!(operation.finding.is_some(), is_wrong, "{operation:?}");
        if operation.name.starts_with("right") {
            assert!(operation.outcomes.contains_key("done"), "{operation:?}");
            assert!(operation.outcomes.len() > 1, "it is refused too: {operation:?}");
        }
        if let Some(finding) = &operation.finding {
            assert!(finding.given.len() <= 2 && finding.calls.len() <= 2, "{finding}");
            shown.push_str(&format!("{finding}\n"));
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/calls.txt");
    if std::env::var_os("SINGLET_UPDATE").is_some() {
        std::fs::write(&path, &shown).unwrap();
    }
    assert_eq!(shown, std::fs::read_to_string(path).unwrap_or_default());
}

/// What a table of holes says `verify` shows: the reads of a `shown_by: {verify: […]}`.
fn shown_by_verify(system: &str) -> Vec<String> {
    let table = file(&format!("{system}/holes.yaml"));
    let marked = table
        .lines()
        .filter_map(|line| line.trim().strip_prefix("shown_by: {verify: ["));
    let names = marked.flat_map(|line| line.split(']').next().unwrap_or_default().split(','));
    names.map(|name| name.trim().to_owned()).collect()
}

#[test]
fn holes_of_documents_are_found_with_few_rows() {
    let mut count = 0;
    for system in ["todo", "booking", "country", "ecobid", "wardrobe"] {
        let names = shown_by_verify(system);
        if names.is_empty() {
            continue;
        }
        let report = probe(&file(&format!("{system}/documented.yaml")), 400, &names);
        for name in names {
            let mut by_hand = report
                .operations
                .iter()
                .filter(|operation| matches!(operation.kind, Kind::Using | Kind::Calls));
            let operation = by_hand.find(|operation| operation.name == name).unwrap();
            let finding = operation
                .finding
                .as_ref()
                .unwrap_or_else(|| panic!("{system}: {operation:?}"));
            assert!(finding.given.len() <= 5, "{finding}");
            count += 1;
        }
    }
    assert!(count > 10, "{count} holes are marked");
}

/// The command that is printed below a finding shows the same one, though it tries fewer cases.
#[test]
fn a_finding_comes_again_by_its_seed_and_case() {
    let only = ["insideAValue".to_owned()];
    let first = probe(&model_file("wrong.yaml"), 400, &only);
    let finding = first.all_findings().next().unwrap();
    let again = probe(&model_file("wrong.yaml"), finding.case, &only);
    assert_eq!(again.all_findings().next(), Some(finding));
}
