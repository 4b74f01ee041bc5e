//! Every rule is tested by the two models beside it: `name.yaml`, where each finding of the rule is marked with `#~ CODE` at
//! the end of its line, and `name.ok.yaml`, a near miss without any.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use singlet_lint::{DESIGN_RULES, all_rules, rule_page};
use singlet_model::{Rule, Severity, Source};

#[test]
fn each_rule_reports_its_model_and_nothing_else() {
    let mut failures = Vec::new();
    for design in DESIGN_RULES {
        let Some(path) = fixture(&design.rule, "yaml") else {
            failures.push(format!("{} has no model beside it", design.rule.name));
            continue;
        };
        let (source, found) = findings(&path, &design.rule);
        let marked = marks(source.text(), design.rule.code);
        if marked.is_empty() {
            failures.push(format!(
                "{} marks nothing with `#~ {}`",
                path.display(),
                design.rule.code
            ));
        }
        if found != marked {
            failures.push(format!("{}: marked {marked:?}, found {found:?}", path.display()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn each_rule_keeps_silent_about_its_near_miss() {
    let mut failures = Vec::new();
    for design in DESIGN_RULES {
        let Some(path) = fixture(&design.rule, "ok.yaml") else {
            failures.push(format!("{} has no near miss beside it", design.rule.name));
            continue;
        };
        let (_, found) = findings(&path, &design.rule);
        if !found.is_empty() {
            failures.push(format!("{}: found in lines {found:?}", path.display()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn codes_and_names_are_unique_and_every_page_explains() {
    let mut seen = BTreeSet::new();
    for rule in all_rules() {
        assert!(seen.insert(rule.code), "{} is used twice", rule.code);
        assert!(seen.insert(rule.name), "{} is used twice", rule.name);
        assert!(!rule.page_summary().is_empty(), "{} has no summary", rule.code);
        assert!(
            rule_page(rule).contains("Way out") || rule_page(rule).lines().count() > 3,
            "{} says no way out",
            rule.code
        );
    }
}

/// The pages under `docs/rules` are the doc comments. `SINGLET_UPDATE=1` writes them anew.
#[test]
fn the_pages_in_the_docs_are_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules");
    let mut pages: Vec<(String, String)> = Vec::new();
    let mut index = String::from("# Rules\n\nOne page for each rule; `singlet explain CODE` shows the same.\n\n");
    index.push_str("| code | name | severity | what it finds |\n|---|---|---|---|\n");
    for rule in all_rules() {
        let file = format!("{}.md", rule.name);
        index.push_str(&format!(
            "| {} | [{}]({file}) | {} | {} |\n",
            rule.code,
            rule.name,
            rule.severity.word(),
            rule.page_summary()
        ));
        pages.push((
            file,
            format!(
                "# {} {}\n\n*{}*\n\n{}\n",
                rule.code,
                rule.name,
                rule.severity.word(),
                rule_page(rule)
            ),
        ));
    }
    pages.push(("README.md".to_owned(), index));
    let update = std::env::var_os("SINGLET_UPDATE").is_some();
    for (file, text) in &pages {
        let path = folder.join(file);
        if update {
            fs::write(&path, text).unwrap();
        }
        let current = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(
            current,
            *text,
            "{} is stale: run the tests with SINGLET_UPDATE=1",
            path.display()
        );
    }
    for entry in fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            pages.iter().any(|(file, _)| *file == name),
            "docs/rules/{name} belongs to no rule"
        );
    }
}

fn findings(path: &Path, rule: &Rule) -> (Source, BTreeSet<usize>) {
    let source = Source::new(path.display().to_string(), fs::read_to_string(path).unwrap());
    let loaded = singlet_model::load_source(&source);
    let mistakes: Vec<String> = loaded
        .diagnostics
        .iter()
        .filter(|finding| finding.rule.severity == Severity::Error)
        .map(|finding| {
            format!(
                "line {}: {} {}",
                source.position_at(finding.span.start).line,
                finding.rule.code,
                finding.message
            )
        })
        .collect();
    assert!(
        mistakes.is_empty(),
        "{} is no valid model:\n{}",
        path.display(),
        mistakes.join("\n")
    );
    let found = singlet_lint::check_design(loaded).into_sorted();
    let lines = found
        .iter()
        .filter(|finding| finding.rule == rule)
        .map(|finding| source.position_at(finding.span.start).line)
        .collect();
    (source, lines)
}

fn marks(text: &str, code: &str) -> BTreeSet<usize> {
    let marked = |line: &str| {
        line.split_once("#~")
            .is_some_and(|(_, codes)| codes.split_whitespace().any(|word| word == code))
    };
    let lines = text.lines().enumerate().filter(|(_, line)| marked(line));
    lines.map(|(at, _)| at + 1).collect()
}

/// The model beside a rule's file: in whichever group folder it stands.
fn fixture(rule: &Rule, ending: &str) -> Option<PathBuf> {
    let file = format!("{}.{ending}", rule.name.replace('-', "_"));
    let groups = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/rules");
    fs::read_dir(groups)
        .unwrap()
        .map(|group| group.unwrap().path().join(&file))
        .find(|path| path.exists())
}
