//! The language reference is checked against the language: its tables are generated, its samples are one model.

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

use singlet_item::key::PATTERN_BYTES_MAX;
use singlet_model::counts::{
    CARRIED_ATTRIBUTES_MAX, ENTITY_ATTRIBUTES_MAX, ENTITY_MIRRORS_MAX, KEY_CHOICES_MAX, MODEL_TRIES_MAX,
    OPERATION_NAMES_MAX, READ_TRIES_USUAL, READ_WITH_MAX, TALLIES_MAX, TALLY_GROUPS_MAX, TALLY_SUMS_MAX,
    WRITE_STEPS_MAX,
};
use singlet_model::diagnostic::DIAGNOSTICS_MAX;
use singlet_model::expression::{EXPRESSION_BYTES_MAX, FUNCTIONS, NESTING_MAX, TOKENS_MAX};
use singlet_model::grammar::{Record, Shape, words};
use singlet_model::model::TEMPLATE_PARTS_MAX;
use singlet_model::node::NESTING_DEPTH_MAX;
use singlet_model::source::SOURCE_BYTES_MAX;
use singlet_model::text_forms::TEXT_FORMS;
use singlet_model::types::{MODEL_TYPE_PARTS_MAX, TYPE_LEVELS_MAX, TYPE_PARTS_MAX};
use singlet_model::{Diagnostic, Severity, Source};

/// What the wrong samples stand beside.
const BASE: &str = r##"singlet: 1
name: base
table:
  name: base-data
  key: {partition: PK, sort: SK}
callers:
  jwt: {audience: base, claims: {id: sub}}
types:
  Status: {enum: [open, done]}
entities:
  Task:
    attributes:
      user_id: string 1..64
      task_id: ulid = ulid()
      title: string 1..200
    key: {PK: "USER#{user_id}", SK: "TASK#{task_id}"}
"##;

/// `SINGLET_UPDATE=1` writes the tables anew.
#[test]
fn the_tables_are_current() {
    let path = reference();
    let text = fs::read_to_string(&path).unwrap();
    let mut used = BTreeSet::new();
    let current = regenerated(&text, &mut used);
    if std::env::var_os("SINGLET_UPDATE").is_some() {
        fs::write(&path, &current).unwrap();
    } else {
        assert_eq!(
            text, current,
            "docs/language.md is stale: run the tests with SINGLET_UPDATE=1"
        );
    }
    let unused: Vec<&str> = words::RECORDS
        .iter()
        .map(|record| record.name)
        .filter(|name| !used.contains(*name))
        .collect();
    assert!(unused.is_empty(), "docs/language.md has no table of {unused:?}");
}

#[test]
fn the_samples_are_one_model_without_errors() {
    let samples = samples();
    let right = samples.iter().filter(|sample| sample.code.is_none());
    let mut model = Merged::default();
    right.for_each(|sample| model.add(&sample.text));
    let (source, findings) = load(&model.text());
    let errors: Vec<String> = findings
        .iter()
        .filter(|finding| finding.rule.severity == Severity::Error)
        .map(|finding| shown(&source, finding))
        .collect();
    assert!(
        errors.is_empty(),
        "the samples of docs/language.md:\n{}\n\n{}",
        errors.join("\n"),
        numbered(&source)
    );
}

#[test]
fn each_wrong_sample_has_the_finding_that_it_is_named_after() {
    let samples = samples();
    let wrong: Vec<&Sample> = samples.iter().filter(|sample| sample.code.is_some()).collect();
    assert!(!wrong.is_empty(), "docs/language.md has no wrong samples");
    for sample in wrong {
        let mut model = Merged::default();
        model.add(BASE);
        model.add(&sample.text);
        let (source, findings) = load(&model.text());
        let codes: BTreeSet<&str> = findings.iter().map(|finding| finding.rule.code).collect();
        let shown: Vec<String> = findings.iter().map(|finding| shown(&source, finding)).collect();
        let wanted = sample.code.as_deref().unwrap_or_default();
        let (line, text) = (sample.line, &sample.text);
        assert!(
            codes.contains(wanted),
            "docs/language.md:{line} lacks {wanted}:\n{text}\n{}",
            shown.join("\n")
        );
    }
}

/// What the wrong samples stand beside has itself no finding.
#[test]
fn the_base_of_wrong_samples_is_right() {
    let (source, findings) = load(BASE);
    let shown: Vec<String> = findings.iter().map(|finding| shown(&source, finding)).collect();
    assert!(shown.is_empty(), "{}", shown.join("\n"));
}

fn reference() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/language.md")
}

fn load(text: &str) -> (Source, Vec<Diagnostic>) {
    let source = Source::new("language.md", text);
    let findings = singlet_model::load_source(&source).diagnostics.into_sorted();
    (source, findings)
}

fn shown(source: &Source, finding: &Diagnostic) -> String {
    let at = source.position_at(finding.span.start);
    format!("{}:{}: {} {}", at.line, at.column, finding.rule.code, finding.message)
}

fn numbered(source: &Source) -> String {
    let lines = source.text().lines().enumerate();
    lines.map(|(at, line)| format!("{:4} {line}\n", at + 1)).collect()
}

/// A `yaml` block of the document.
struct Sample {
    /// The code that it must produce, where it is wrong.
    code: Option<String>,
    /// Where it begins.
    line: usize,
    text: String,
}

fn samples() -> Vec<Sample> {
    let text = fs::read_to_string(reference()).unwrap();
    let mut samples = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let Some(language) = line.strip_prefix("```") else {
            continue;
        };
        let body: Vec<&str> = lines
            .by_ref()
            .map(|(_, line)| line)
            .take_while(|line| *line != "```")
            .collect();
        let code = match language.split_whitespace().collect::<Vec<_>>().as_slice() {
            ["yaml"] => None,
            ["yaml", "wrong", code] => Some((*code).to_owned()),
            _ => panic!(
                "docs/language.md:{}: a block is `yaml` or `yaml wrong CODE`, so that it is checked",
                at + 1
            ),
        };
        samples.push(Sample {
            code,
            line: at + 1,
            text: body.join("\n") + "\n",
        });
    }
    samples
}

/// Fragments of a model, put together: bodies of equal top-level keys follow one another.
#[derive(Default)]
struct Merged {
    keys: Vec<(String, String)>,
}

impl Merged {
    fn add(&mut self, fragment: &str) {
        let mut current = None;
        for line in fragment.lines() {
            let top = !line.starts_with([' ', '#']) && !line.is_empty();
            if top {
                let (key, rest) = line.split_once(':').unwrap_or((line, ""));
                let at = self.place_of(key);
                current = Some(at);
                if !rest.trim().is_empty() {
                    self.keys[at].1.push_str(rest);
                }
            } else if let Some(at) = current {
                self.keys[at].1.push('\n');
                self.keys[at].1.push_str(line);
            }
        }
    }

    fn place_of(&mut self, key: &str) -> usize {
        let known = self.keys.iter().position(|(known, _)| known == key);
        known.unwrap_or_else(|| {
            self.keys.push((key.to_owned(), String::new()));
            self.keys.len() - 1
        })
    }

    fn text(&self) -> String {
        self.keys.iter().map(|(key, body)| format!("{key}:{body}\n")).collect()
    }
}

/// The document with what stands between its markers written anew.
fn regenerated(text: &str, used: &mut BTreeSet<String>) -> String {
    let mut current = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        current.push_str(line);
        current.push('\n');
        let name = line
            .strip_prefix("<!-- generated: ")
            .and_then(|rest| rest.strip_suffix(" -->"));
        let Some(name) = name else { continue };
        assert!(
            used.insert(name.to_owned()),
            "docs/language.md has two tables of `{name}`"
        );
        assert!(
            lines.by_ref().any(|line| line == "<!-- end -->"),
            "the table of `{name}` has no `<!-- end -->`"
        );
        current.push_str(&table(name));
        current.push_str("<!-- end -->\n");
    }
    current
}

fn table(name: &str) -> String {
    match name {
        "functions" => functions(),
        "limits" => limits(),
        "text forms" => text_forms(),
        _ => match words::RECORDS.iter().find(|record| record.name == name) {
            Some(record) => fields(record),
            None => panic!("nothing generates `{name}`"),
        },
    }
}

fn fields(record: &Record) -> String {
    let mut table = format!(
        "\n**{}**: {}\n\n| field | holds | |\n|---|---|---|\n",
        record.name, record.doc
    );
    for field in record.fields {
        let required = if field.required { "**required.** " } else { "" };
        let row = format!(
            "| `{}` | {} | {required}{} |\n",
            field.name,
            cell(&holds(&field.shape)),
            cell(field.doc)
        );
        table.push_str(&row);
    }
    if let Some((what, shape)) = record.others {
        table.push_str(&format!("| *any {what}* | {} | |\n", cell(&holds(shape))));
    }
    table + "\n"
}

fn holds(shape: &Shape) -> String {
    match shape {
        Shape::Expr => "expression".to_owned(),
        Shape::Template => "template".to_owned(),
        Shape::Name => "name".to_owned(),
        Shape::Text => "text".to_owned(),
        Shape::Whole => "whole number".to_owned(),
        Shape::Flag => "`true` or `false`".to_owned(),
        Shape::Words(known) => {
            let words: Vec<String> = known.iter().map(|word| format!("`{word}`")).collect();
            words.join(" or ")
        }
        Shape::Type => "type".to_owned(),
        Shape::List(inner) => format!("list of {}", holds(inner)),
        Shape::Names(what, inner) => format!("{what} names, each with {}", holds(inner)),
        Shape::Record(record) => format!("*{}*", record.name),
        Shape::Either(shapes) => shapes.iter().map(holds).collect::<Vec<_>>().join(", or "),
    }
}

fn functions() -> String {
    let mut table = String::from("\n| function | | decided by DynamoDB |\n|---|---|---|\n");
    for function in FUNCTIONS {
        let only = if function.key_only {
            " Only in key templates."
        } else {
            ""
        };
        let lowers = if function.lowers { "yes" } else { "" };
        let row = format!(
            "| `{}` | {}{only} | {lowers} |\n",
            cell(function.signature),
            cell(function.doc)
        );
        table.push_str(&row);
    }
    table + "\n"
}

fn text_forms() -> String {
    let mut table = "\n| type | holds | characters |\n|---|---|---|\n".to_owned();
    for form in TEXT_FORMS {
        let (name, holds) = (form.name, cell(form.holds));
        let row = format!("| `{name}` | {holds} | {} to {} |\n", form.chars_min, form.chars_max);
        table.push_str(&row);
    }
    table + "\n"
}

fn limits() -> String {
    let limits = [
        ("the file", format!("{} MiB", SOURCE_BYTES_MAX / 1_024 / 1_024)),
        ("lists and maps within one another", format!("{NESTING_DEPTH_MAX} deep")),
        (
            "an expression",
            format!("{EXPRESSION_BYTES_MAX} bytes, {TOKENS_MAX} words and signs"),
        ),
        ("brackets in an expression, and its `? :`", format!("{NESTING_MAX}")),
        (
            "a type, the fields of its fields included",
            format!(
                "{TYPE_PARTS_MAX} parts, {TYPE_LEVELS_MAX} levels; all types together {MODEL_TYPE_PARTS_MAX} parts"
            ),
        ),
        ("a pattern", format!("{PATTERN_BYTES_MAX} bytes")),
        ("a key template", format!("{TEMPLATE_PARTS_MAX} parts")),
        (
            "an entity",
            format!("{ENTITY_ATTRIBUTES_MAX} attributes, {ENTITY_MIRRORS_MAX} mirrors"),
        ),
        ("all mirrors together", format!("{CARRIED_ATTRIBUTES_MAX} attributes")),
        (
            "a key or an entry in an index",
            format!("{KEY_CHOICES_MAX} templates by condition"),
        ),
        (
            "arguments of an operation, and names that it binds",
            format!("{OPERATION_NAMES_MAX} each"),
        ),
        (
            "ways to try for reads: paths, combinations of arguments, alternatives, conditions in fours",
            format!("{READ_TRIES_USUAL} for each read, and {MODEL_TRIES_MAX} more"),
        ),
        ("selections `with` a read", format!("{READ_WITH_MAX}")),
        (
            "a write, the steps of its groups included",
            format!("{WRITE_STEPS_MAX} steps"),
        ),
        (
            "tallies",
            format!("{TALLIES_MAX}, each by {TALLY_GROUPS_MAX} values and with {TALLY_SUMS_MAX} sums"),
        ),
        ("findings of one file, of each severity", format!("{DIAGNOSTICS_MAX}")),
    ];
    let rows: String = limits
        .iter()
        .map(|(what, limit)| format!("| {what} | {limit} |\n"))
        .collect();
    format!("\n| what | at most |\n|---|---|\n{rows}\n")
}

/// A `|` within a cell would end it.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
