//! The holes that are known in the five documents, as a table: `systems/*/holes.yaml` says what finds each of them in
//! `systems/*/documented.yaml`: a rule, a plan that says it, or a run of the design (those are in the tests of `verify`). What
//! closes it in `model.yaml` are scenarios (they are played in the tests of `scenario`).
//!
//! A hole that only a `claim:` of the fixture shows has `claim`, the document's words that are taken for it; what is assumed beyond the
//! document stands under `assumes`; reads that answer wrongly when they are run as written stand under `shown_by: {verify: […]}`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use singlet_model::model::{DocumentedClaim, EntityClaims, TableClaims, Write};
use singlet_model::node::{self, Node};
use singlet_model::{Diagnostic, Diagnostics, Model, Source};
use singlet_plan::cost::Sizes;
use singlet_plan::read::{plan_read, priced_plan_text};

/// How many holes each system's page numbers.
const HOLES: [(&str, usize); 5] = [
    ("booking", 9),
    ("country", 9),
    ("ecobid", 10),
    ("todo", 12),
    ("wardrobe", 9),
];

#[test]
fn every_hole_is_found() {
    let mut failures = Vec::new();
    for (system, _) in HOLES {
        let document = Document::of(system);
        for hole in holes(system) {
            let problems = hole.problems(&document);
            failures.extend(
                problems
                    .into_iter()
                    .map(|problem| format!("{system}, hole {}: {problem}", hole.number)),
            );
        }
    }
    assert!(
        failures.is_empty(),
        "{} of the holes are not as stated:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn what_only_a_claim_shows_is_marked() {
    let mut failures = Vec::new();
    for (system, _) in HOLES {
        let unclaimed = Document::found_unclaimed(system);
        for hole in holes(system) {
            let by_rule = hole.found_by.iter().filter_map(|by| match &by.place {
                Found::At(at) => Some(by.missed(at, &unclaimed)),
                Found::With { .. } | Found::WithUsing { .. } => None,
            });
            let lost = by_rule.flatten().next();
            match (lost, hole.claim) {
                (Some(lost), None) => failures.push(format!("{system}, hole {}: without claims {lost}", hole.number)),
                (None, Some(_)) => failures.push(format!("{system}, hole {}: needs no claim", hole.number)),
                (Some(_), Some(_)) | (None, None) => {}
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_hole_stands_in_the_table_once() {
    for (system, count) in HOLES {
        let mut numbers: Vec<usize> = holes(system).iter().map(|hole| hole.number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=count).collect::<Vec<_>>(), "{system}");
    }
}

#[test]
fn every_system_has_its_table() {
    let listed: BTreeSet<String> = HOLES.iter().map(|(system, _)| (*system).to_owned()).collect();
    let entries = fs::read_dir(systems()).unwrap().map(|entry| entry.unwrap());
    let folders = entries.filter(|entry| entry.path().is_dir());
    let there: BTreeSet<String> = folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
    assert_eq!(there, listed);
}

/// A design as its document has it.
struct Document {
    text: String,
    model: Model,
    /// What `check` says of it.
    found: Vec<Diagnostic>,
}

/// One entry of a table.
struct Hole {
    number: usize,
    text: String,
    found_by: Vec<FoundBy>,
    shown_by: Option<ShownBy>,
    /// The document's words that are taken for a claim, without which nothing is found.
    claim: Option<String>,
}

/// What says it without a rule.
enum ShownBy {
    /// The plans of some reads.
    Plans { plans: Vec<String>, says: String },
    /// A run of the design; that there is one of this name is tested where it is.
    Run,
    /// Reads that answer wrongly when they are run as they are written.
    Verify { reads: Vec<String> },
}

/// A rule, and where it finds the hole.
struct FoundBy {
    rule: String,
    place: Found,
}

enum Found {
    /// What the findings are about.
    At(Vec<String>),
    /// Only when a sentence of the document is written down as a step of a write.
    With { write: String, step: String },
    /// Only when something is added to a read's condition.
    WithUsing { read: String, line: String },
}

impl Hole {
    fn of(node: &Node) -> Self {
        let word = |field: &str| node.get(field).and_then(Node::str).map(str::to_owned);
        let found_by = match node.get("found_by") {
            Some(Node::List(rules, _)) => rules.iter().map(FoundBy::of).collect(),
            Some(one) => vec![FoundBy::of(one)],
            None => Vec::new(),
        };
        Hole {
            number: word("hole")
                .and_then(|text| text.parse().ok())
                .expect("a hole has a number"),
            text: word("text").unwrap_or_default(),
            found_by,
            shown_by: node.get("shown_by").map(ShownBy::of),
            claim: word("claim"),
        }
    }

    fn problems(&self, document: &Document) -> Vec<String> {
        let mut problems = Vec::new();
        if self.text.trim().is_empty() {
            problems.push("has no text".to_owned());
        }
        if self.found_by.is_empty() && self.shown_by.is_none() {
            problems.push("has neither `found_by` nor `shown_by`".to_owned());
        }
        problems.extend(self.shown_by.iter().flat_map(|by| by.problems(&document.model)));
        problems.extend(self.found_by.iter().flat_map(|by| by.problems(document)));
        problems
    }
}

impl ShownBy {
    fn of(node: &Node) -> Self {
        if node.get("run").is_some() {
            return ShownBy::Run;
        }
        if let Some(reads) = node.get("verify") {
            let reads = reads.elements().iter().filter_map(Node::str).map(str::to_owned);
            return ShownBy::Verify { reads: reads.collect() };
        }
        let plans = node.get("plan").map_or(&[][..], Node::elements);
        ShownBy::Plans {
            plans: plans.iter().filter_map(Node::str).map(str::to_owned).collect(),
            says: node.get("says").and_then(Node::str).unwrap_or_default().to_owned(),
        }
    }

    fn problems(&self, model: &Model) -> Vec<String> {
        let (plans, says) = match self {
            ShownBy::Plans { plans, says } => (plans, says),
            ShownBy::Run => return Vec::new(),
            ShownBy::Verify { reads } => {
                let by_hand = |name: &str| {
                    let called = |write: &Write| write.all_steps().iter().any(|step| step.using.is_some());
                    model.reads.iter().any(|read| read.name == name && read.using.is_some())
                        || model.writes.iter().any(|write| write.name == name && called(write))
                };
                let strange = reads.iter().filter(|name| !by_hand(name));
                return strange
                    .map(|name| format!("`{name}` has no condition or call by hand"))
                    .collect();
            }
        };
        assert!(
            !plans.is_empty() && !says.is_empty(),
            "`shown_by` has `plan` and `says`, or `run`"
        );
        let sizes = Sizes::of(model);
        let silent = plans.iter().filter(|name| {
            let read = model.reads.iter().find(|read| read.name == **name).expect("a read");
            !priced_plan_text(model, &plan_read(model, read), &sizes, false).contains(says)
        });
        silent
            .map(|name| format!("the plan of `{name}` does not say `{says}`"))
            .collect()
    }
}

impl FoundBy {
    fn of(node: &Node) -> Self {
        let word = |field: &str| node.get(field).and_then(Node::str).map(str::to_owned);
        let at = node.get("at").map_or(&[][..], Node::elements);
        FoundBy {
            rule: word("rule").unwrap_or_default(),
            place: match (word("in"), word("with"), word("using")) {
                (Some(write), Some(step), None) => Found::With { write, step },
                (Some(read), None, Some(line)) => Found::WithUsing { read, line },
                _ => Found::At(at.iter().filter_map(Node::str).map(str::to_owned).collect()),
            },
        }
    }

    fn problems(&self, document: &Document) -> Vec<String> {
        if singlet_lint::find_rule(&self.rule).is_none() {
            return vec![format!("there is no rule `{}`", self.rule)];
        }
        match &self.place {
            Found::At(at) if at.is_empty() => vec![format!("does not say where `{}` finds it", self.rule)],
            Found::At(at) => self.missed(at, &document.found),
            Found::WithUsing { read, line } => {
                let source = Source::new("with a line more", document.with_using(read, line));
                let found = singlet_lint::check_design(singlet_model::load_source(&source)).into_sorted();
                self.missed(std::slice::from_ref(read), &found)
            }
            Found::With { write, step } => {
                let source = Source::new("with a step more", document.with_step(write, step));
                let found = singlet_model::load_source(&source).diagnostics.into_sorted();
                let said: Vec<&str> = found.iter().map(|finding| finding.rule.name).collect();
                match said.as_slice() {
                    [rule] if *rule == self.rule => Vec::new(),
                    _ => vec![format!(
                        "a step more is answered with {said:?}, not with `{}`",
                        self.rule
                    )],
                }
            }
        }
    }

    fn missed(&self, at: &[String], found: &[Diagnostic]) -> Vec<String> {
        let subjects: BTreeSet<&str> = found
            .iter()
            .filter(|finding| finding.rule.name == self.rule)
            .map(|finding| finding.subject.as_str())
            .collect();
        let missed = at.iter().filter(|at| !subjects.contains(at.as_str()));
        missed
            .map(|at| format!("`{}` finds nothing at `{at}`, only at {subjects:?}", self.rule))
            .collect()
    }
}

impl Document {
    fn of(system: &str) -> Self {
        let source = source(system, "documented.yaml");
        let loaded = singlet_model::load_source(&source);
        let said: Vec<&str> = loaded
            .diagnostics
            .iter()
            .map(|finding| finding.message.as_str())
            .collect();
        assert!(
            !loaded.diagnostics.has_errors(),
            "systems/{system}/documented.yaml is no valid model: {said:?}"
        );
        Document {
            text: source.text().to_owned(),
            model: singlet_model::load_source(&source).model.expect("a model"),
            found: singlet_lint::check_design(loaded).into_sorted(),
        }
    }

    /// The text with one line more in the condition of a read.
    fn with_using(&self, read: &str, line: &str) -> String {
        let (before, after) = self.text.split_once(&format!("\n  {read}:")).expect("a read");
        let (head, rest) = after.split_once("\n    using:\n").expect("a condition");
        format!("{before}\n  {read}:{head}\n    using:\n      {line}\n{rest}")
    }

    /// What `check` says of it without any claim.
    fn found_unclaimed(system: &str) -> Vec<Diagnostic> {
        let mut loaded = singlet_model::load_source(&source(system, "documented.yaml"));
        let model = loaded.model.as_mut().expect("a model");
        model.table.claims = TableClaims::default();
        for index in &mut model.table.indexes {
            index.claims_unique = None;
            index.claims_backfilled = None;
        }
        model
            .entities
            .iter_mut()
            .for_each(|entity| entity.claims = EntityClaims::default());
        model
            .reads
            .iter_mut()
            .for_each(|read| read.claim = DocumentedClaim::default());
        model
            .writes
            .iter_mut()
            .for_each(|write| write.claim = DocumentedClaim::default());
        singlet_lint::check_design(loaded).into_sorted()
    }

    /// The text with one step more at the beginning of a write.
    fn with_step(&self, write: &str, step: &str) -> String {
        let (before, after) = self.text.split_once(&format!("\n  {write}:")).expect("a write");
        let (head, steps) = after.split_once("\n    do:\n").expect("steps");
        let step: String = step.lines().map(|line| format!("      {line}\n")).collect();
        format!("{before}\n  {write}:{head}\n    do:\n{step}{steps}")
    }
}

fn systems() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systems")
}

fn source(system: &str, file: &str) -> Source {
    let path = systems().join(system).join(file);
    Source::new(path.display().to_string(), fs::read_to_string(path).unwrap())
}

fn holes(system: &str) -> Vec<Hole> {
    let mut diagnostics = Diagnostics::default();
    let root = node::read_tree(&source(system, "holes.yaml"), &mut diagnostics).expect("a list of holes");
    assert!(
        diagnostics.is_empty(),
        "systems/{system}/holes.yaml: {:?}",
        diagnostics.into_sorted()
    );
    let entries = root.elements();
    for entry in entries {
        let known = ["hole", "text", "found_by", "shown_by", "closed_by", "claim", "assumes"];
        let strange = entry
            .entries()
            .iter()
            .find(|field| !known.contains(&field.key.text.as_str()));
        assert!(
            strange.is_none(),
            "systems/{system}/holes.yaml has an unknown field {strange:?}"
        );
    }
    entries.iter().map(Hole::of).collect()
}
