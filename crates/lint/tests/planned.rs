//! One opinion: in every model of the repository, each combination of optional arguments of each read has a plan that answers every
//! request, or the checker says which has none; and what it says has none, has none. What is drawn is held to the same by
//! `answerable` of `singlet-verify`, which also runs it.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use singlet_lint::check_design;
use singlet_model::{Model, Source, load_source};
use singlet_plan::read::{plan_read, plan_reversed};
use singlet_plan::write::plan_write;

/// Rules that say that some request has no plan, or one that makes too many ranges.
const UNPLANNED: [&str; 6] = ["R006", "R011", "R015", "R017", "R018", "I006"];

/// Those of them that speak of no key at all.
const NO_KEY: &str = "R011";

fn models(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            models(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            found.push(path);
        }
    }
}

/// The names of reads and writes of which some request has no plan.
fn unplanned(model: &Model) -> HashSet<&str> {
    let mut names = HashSet::new();
    for read in &model.reads {
        let mut plans = vec![plan_read(model, read)];
        if read.reverse.is_some() {
            plans.push(plan_reversed(model, read).1);
        }
        let mut parts = plans
            .iter()
            .flat_map(|plan| &plan.combinations)
            .flat_map(|combination| &combination.parts);
        if parts.any(|part| !part.plan.is_answer()) {
            names.insert(read.name.as_str());
        }
    }
    for write in &model.writes {
        let plan = plan_write(model, write);
        let mut found = plan.rows.values().filter_map(|row| row.found.as_ref());
        if found.any(|found| !found.is_answer()) {
            names.insert(write.name.as_str());
        }
    }
    names
}

#[test]
fn every_combination_has_a_plan_or_is_a_finding() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in [
        "systems",
        "crates/lint/src/rules",
        "crates/verify/tests",
        "crates/http/tests",
    ] {
        models(&root.join(folder), &mut files);
    }
    files.sort();
    let (mut wrong, mut reads, mut without) = (Vec::new(), 0, 0);
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let source = Source::new("model.yaml", text);
        let loaded = load_source(&source);
        if loaded.diagnostics.has_errors() || loaded.model.is_none() {
            continue;
        }
        let findings = check_design(loaded).into_sorted();
        let model = load_source(&source).model.unwrap();
        let said = |codes: &[&str]| -> HashSet<&str> {
            let spoken = findings.iter().filter(|finding| codes.contains(&finding.rule.code));
            spoken.map(|finding| finding.subject.as_str()).collect()
        };
        let accepted = |name: &str| model.accepted.iter().any(|accepted| accepted.at == name);
        let (reported, unplanned) = (said(&UNPLANNED), unplanned(&model));
        reads += model.reads.len();
        without += unplanned.len();
        for name in &unplanned {
            if !reported.contains(name) && !accepted(name) {
                wrong.push(format!("{}: `{name}` has no plan, and nothing says so", path.display()));
            }
        }
        for name in said(&[NO_KEY]) {
            let is_step = model.steps.iter().any(|step| step.name == name);
            if !unplanned.contains(name) && !is_step {
                wrong.push(format!(
                    "{}: `{name}` has a plan, and is said to have none",
                    path.display()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(reads > 300 && without > 20, "{reads} reads, {without} without a plan");
}
