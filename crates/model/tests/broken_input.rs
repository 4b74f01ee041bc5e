//! Files that are no models: cut off, binary, huge, deep. None may bring the checker down or make it wait; each has an answer with
//! a place in the file.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests fail as tests do"
)]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use singlet_model::{Diagnostic, Source};

/// Far more than any of these takes, even in a debug build on a busy machine; work that grows with the square would take hours.
const PATIENCE: Duration = Duration::from_secs(120);

const MEGABYTE: usize = 1024 * 1024;

fn model() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systems/todo/model.yaml");
    fs::read_to_string(path).unwrap()
}

/// What is found, after the checks that hold for every input: it is quick, and every finding has a place in the file.
fn findings(text: &str) -> Vec<Diagnostic> {
    let source = Source::new("broken.yaml", text);
    let begun = Instant::now();
    let found = singlet_model::load_source(&source).diagnostics.into_sorted();
    assert!(begun.elapsed() < PATIENCE, "took {:?}", begun.elapsed());
    for finding in &found {
        assert!(finding.span.start <= finding.span.end, "{finding:?}");
        assert!(finding.span.end as usize <= text.len(), "{finding:?}");
        let place = source.position_at(finding.span.start);
        assert!(place.line >= 1 && place.column >= 1, "{finding:?}");
        assert!(
            !finding.message.contains('\n') && finding.message.len() < 4_000,
            "{}",
            finding.message.len()
        );
    }
    found
}

fn refused(text: &str) -> Vec<Diagnostic> {
    let found = findings(text);
    assert!(
        !found.is_empty(),
        "accepted: {}",
        text.chars().take(80).collect::<String>()
    );
    found
}

#[test]
fn a_model_cut_off_anywhere_is_reported() {
    let model = model();
    for end in (0..model.len()).step_by(97).filter(|end| model.is_char_boundary(*end)) {
        let cut = model.get(..end).unwrap();
        // A cut between two reads leaves a shorter model that is whole.
        findings(cut);
        if end < 1_000 {
            refused(cut);
        }
    }
}

#[test]
fn an_empty_file_says_what_a_model_begins_with() {
    for text in ["", " ", "\n\n", "# only a comment\n", "---\n", "\u{feff}"] {
        let found = refused(text);
        assert_eq!(found.len(), 1, "{text:?}: {found:?}");
    }
}

#[test]
fn bytes_that_are_no_text_are_located() {
    let mut bytes = b"singlet: 1\nname: ".to_vec();
    let at = bytes.len();
    bytes.extend([0xff, 0xfe, b'\n']);
    let (source, finding) = *singlet_model::decode_source("broken.yaml", bytes).unwrap_err();
    assert_eq!(finding.span.start as usize, at);
    assert_eq!(source.position_at(finding.span.start).line, 2);
    let binary: Vec<u8> = (0..=u8::MAX).cycle().take(MEGABYTE).collect();
    assert!(singlet_model::decode_source("broken.yaml", binary).is_err());
}

#[test]
fn control_characters_are_refused() {
    refused("singlet: 1\nname: a\0b\n");
    refused("\0");
    refused(&"\0".repeat(MEGABYTE));
    refused(&model().replacen("todo", "to\u{1}do", 1));
    let binary: String = (0..MEGABYTE)
        .map(|at| char::from_u32((at % 0xd7ff) as u32).unwrap_or('x'))
        .collect();
    refused(&binary);
}

#[test]
fn ten_megabytes_of_anything_are_answered() {
    refused(&"a word a line\n".repeat(10 * MEGABYTE / 14));
    refused(&"x".repeat(10 * MEGABYTE));
    refused(&"- a\n".repeat(10 * MEGABYTE / 4));
    refused(&"#".repeat(10 * MEGABYTE));
    refused(&"\"".repeat(10 * MEGABYTE));
    for little in [
        "word ", "- \n", "- ", "? ", "&a ", "!a ", ": ", ", ", "'", "|\n", "%", "@", "\n", "\t", "---\n",
    ] {
        refused(&little.repeat(MEGABYTE / little.len()));
    }
}

#[test]
fn a_file_larger_than_any_model_is_refused_unread() {
    let found = refused(&" ".repeat(33 * MEGABYTE));
    assert_eq!(found[0].rule.name, "file-too-large");
}

#[test]
fn deep_nesting_is_bounded() {
    for deep in [100, 10_000, 5 * MEGABYTE] {
        for text in [
            "[".repeat(deep),
            "{a: ".repeat(deep),
            "- ".repeat(deep),
            "[{a: ".repeat(deep / 2),
        ] {
            assert_eq!(refused(&text).len(), 1);
        }
    }
    let block: String = (0..10_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    assert_eq!(refused(&block).len(), 1);
    let inside = format!("{}reads:\n  r:\n    where: {}\n", model(), "(".repeat(100_000));
    refused(&inside);
    refused(&model().replacen("ulid = ulid()", &format!("{}ulid", "list(".repeat(10_000)), 1));
}

#[test]
fn aliases_do_not_multiply() {
    let mut bomb = String::from("a: &a [x, x, x, x, x, x, x, x, x]\n");
    for (before, name) in ('a'..='y').zip('b'..='z') {
        let list = vec![format!("*{before}"); 9].join(", ");
        bomb.push_str(&format!("{name}: &{name} [{list}]\n"));
    }
    assert!(refused(&bomb).iter().any(|finding| finding.rule.name == "yaml-feature"));
    let merge = "a: &a {<<: *a, b: *a}\n".repeat(10_000);
    refused(&merge);
}

#[test]
fn a_huge_scalar_is_answered_in_brief() {
    let huge = "x".repeat(5 * MEGABYTE);
    refused(&model().replacen("name: todo", &format!("name: todo\nzone: {huge}"), 1));
    refused(&model().replacen("caller.authenticated", &huge, 1));
    refused(&model().replacen("string 1..100", &huge, 1));
    refused(&model().replacen("\"METADATA\"", &format!("\"{{{huge}}}\""), 1));
    refused(&model().replacen("GET /api/v1/users", &huge, 1));
    refused(&model().replacen("    key:", &format!("    {huge}:"), 1));
    refused(&model().replacen("/[^@", &format!("/{}[^@", "(a|".repeat(100_000)), 1));
}

#[test]
fn a_hundred_thousand_unknown_fields_are_answered() {
    let fields: String = (0..100_000).map(|at| format!("field{at}: x\n")).collect();
    assert!(refused(&fields).len() <= 1_000);
    let entities: String = (0..100_000).map(|at| format!("  E{at}: {{nothing: x}}\n")).collect();
    refused(&format!(
        "singlet: 1\nname: x\ntable: {{name: x, key: {{partition: PK}}}}\nentities:\n{entities}"
    ));
    let same: String = "a: x\n".repeat(100_000);
    refused(&same);
}

#[test]
fn line_ends_of_windows_mean_the_same() {
    let clean = model();
    assert!(findings(&clean).is_empty(), "{:?}", findings(&clean));
    assert!(findings(&clean.replace('\n', "\r\n")).is_empty());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes");
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "yaml") {
            let text = fs::read_to_string(&path).unwrap();
            assert_eq!(places(&text), places(&text.replace('\n', "\r\n")), "{}", path.display());
        }
    }
}

#[test]
fn a_byte_order_mark_changes_nothing() {
    let clean = model();
    assert!(findings(&format!("\u{feff}{clean}")).is_empty());
    let source = singlet_model::decode_source("m.yaml", format!("\u{feff}{clean}").into_bytes()).unwrap();
    assert!(singlet_model::load_source(&source).diagnostics.is_empty());
    let broken = clean.replacen("email: string", "email: strin", 1);
    assert_eq!(places(&broken), places(&format!("\u{feff}{broken}")));
}

/// Code, line, column and message of each finding.
fn places(text: &str) -> Vec<(&'static str, usize, usize, String)> {
    let source = Source::new("m.yaml", text);
    let found = singlet_model::load_source(&source).diagnostics.into_sorted();
    found
        .iter()
        .map(|finding| {
            let place = source.position_at(finding.span.start);
            (finding.rule.code, place.line, place.column, finding.message.clone())
        })
        .collect()
}
