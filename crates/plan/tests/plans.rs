//! The plans of the five systems, as text that a reviewer can read.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
use std::path::Path;

use singlet_model::Source;
use singlet_plan::cost::Sizes;
use singlet_plan::read::{plan_read, priced_plan_text};

fn plans(system: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../systems/{system}/model.yaml"));
    let source = Source::new(system, std::fs::read_to_string(path).unwrap());
    let model = singlet_model::load_source(&source).model.unwrap();
    let sizes = Sizes::of(&model);
    let plans = model
        .reads
        .iter()
        .map(|read| priced_plan_text(&model, &plan_read(&model, read), &sizes, false));
    plans.collect()
}

#[test]
fn todo() {
    insta::assert_snapshot!(plans("todo"));
}

#[test]
fn wardrobe() {
    insta::assert_snapshot!(plans("wardrobe"));
}

#[test]
fn country() {
    insta::assert_snapshot!(plans("country"));
}

#[test]
fn booking() {
    insta::assert_snapshot!(plans("booking"));
}

#[test]
fn ecobid() {
    insta::assert_snapshot!(plans("ecobid"));
}
