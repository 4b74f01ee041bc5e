//! The corpus of mistakes: each model in `mistakes/` holds one, and the text beside it is what the checker answers. The answers
//! are read as a user reads them: place, mistake, way out, and nothing about what only follows from the mistake.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests fail as tests do"
)]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use singlet_model::{Diagnostic, Source};

/// Models in which the mistake is made in two places.
const TWO_FINDINGS: [&str; 1] = ["015-field-of-another-tool"];

#[test]
fn every_mistake_has_the_answer_beside_it() {
    let update = std::env::var_os("SINGLET_UPDATE").is_some();
    let mut wrong = Vec::new();
    for path in models() {
        let answer = answer(&path);
        let beside = path.with_extension("txt");
        if update {
            fs::write(&beside, &answer).unwrap();
        }
        let expected = fs::read_to_string(&beside).unwrap_or_default();
        if expected != answer {
            wrong.push(format!(
                "{}\n--- expected\n{expected}--- found\n{answer}",
                path.display()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn one_mistake_has_one_finding_with_a_way_out() {
    let mut wrong = Vec::new();
    for path in models() {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let (_, findings) = findings(&path);
        let expected = if TWO_FINDINGS.contains(&name.as_str()) { 2 } else { 1 };
        if findings.len() != expected {
            wrong.push(format!("{name}: {} findings", findings.len()));
        }
        let helpless = findings.iter().any(|finding| finding.help.is_none());
        if helpless {
            wrong.push(format!("{name}: no way out"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_list_names_every_model() {
    let list = fs::read_to_string(folder().join("README.md")).unwrap();
    for path in models() {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(list.contains(&format!("`{name}`")), "README.md does not name {name}");
    }
}

/// Messages are one line in lower case without a full stop, and say nothing of Rust.
#[test]
fn messages_keep_their_form() {
    for path in models() {
        for finding in findings(&path).1 {
            let message = &finding.message;
            let text = format!("{}: {message}", path.display());
            assert!(!message.contains('\n') && !message.ends_with('.'), "{text}");
            let first = message.chars().next().unwrap();
            assert!(!first.is_uppercase() || message.starts_with("YAML"), "{text}");
            assert!(
                !message.contains("Some(") && !message.contains("::") && !message.contains("unwrap"),
                "{text}"
            );
        }
    }
}

fn answer(path: &Path) -> String {
    let (source, findings) = findings(path);
    let mut text = String::new();
    for finding in findings {
        let place = source.position_at(finding.span.start);
        writeln!(
            text,
            "{} {}:{} {}",
            finding.rule.code, place.line, place.column, finding.message
        )
        .unwrap();
        let shown = source
            .slice_text(finding.span)
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned();
        writeln!(text, "  at: {shown}").unwrap();
        for note in &finding.notes {
            let place = source.position_at(note.span.start);
            writeln!(text, "  note {}:{} {}", place.line, place.column, note.text).unwrap();
        }
        if let Some(help) = &finding.help {
            writeln!(text, "  help: {help}").unwrap();
        }
    }
    text
}

fn findings(path: &Path) -> (Source, Vec<Diagnostic>) {
    let source = Source::new(path.display().to_string(), fs::read_to_string(path).unwrap());
    let findings = singlet_model::load_source(&source).diagnostics.into_sorted();
    (source, findings)
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes")
}

fn models() -> Vec<PathBuf> {
    let mut models: Vec<PathBuf> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "yaml"))
        .collect();
    models.sort();
    models
}
