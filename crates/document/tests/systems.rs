//! The documents of the five systems, kept current.

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

use singlet_document::{Document, Drawings, design_document};
use singlet_model::{Model, Source};

fn systems() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systems");
    let mut folders: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}

fn model(path: &Path) -> Model {
    let source = Source::new(path.display().to_string(), fs::read_to_string(path).unwrap());
    singlet_model::load_source(&source).model.unwrap()
}

/// The cells of each table's rows are as many as its head's, bars in names notwithstanding.
fn assert_tables_are_whole(markdown: &str) {
    let mut columns = None;
    for line in markdown.lines() {
        if !line.starts_with('|') {
            columns = None;
            continue;
        }
        let bars = line.replace("\\\\", "").replace("\\|", "").matches('|').count();
        assert_eq!(*columns.get_or_insert(bars), bars, "{line}");
    }
}

/// Elements are closed in the order in which they were opened, and nothing of the model looks like one.
fn assert_well_formed(svg: &str) {
    let mut open: Vec<&str> = Vec::new();
    for tag in svg.split('<').skip(1) {
        let (tag, text) = tag.split_once('>').unwrap();
        assert!(!text.contains('>'), "{text}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(tag.split(' ').next().unwrap());
        }
    }
    assert!(open.is_empty());
}

#[test]
fn names_with_anything_in_them_break_no_language() {
    let text = r#"
singlet: 1
name: "a|b <script>alert(1)</script>"
table:
  name: "t"
  key: {partition: "P|K", sort: "S<K>"}
  indexes:
    "G|1": {partition: "G'1", sort: "G\"1"}
  type: kind
types:
  State: {enum: ["open|shut", "<b>", "`tick`"]}
callers:
  jwt: {audience: x, claims: {id: sub}}
entities:
  Thing:
    attributes:
      id: string /[^|<`]{1,9}/
      "na|me<b>": {type: "string? 1..9"}
      state: State
    key: {"P|K": "A|<{id}", "S<K>": "`B`"}
    index:
      "G|1": {"G'1": "X|{id}", "G\"1": "{state}"}
    states:
      of: state
      start: "open|shut"
      moves: {go: "open|shut -> <b>"}
reads:
  thing:
    get: Thing
    where: id == args.id || id == "|<`>"
    allow: true
    scan: "a|b"
writes: {}
accept:
  - {rule: no-recovery, at: "a|b", why: "because | <b>`x`</b>\nand more"}
"#;
    let loaded = singlet_model::load_source(&Source::new("hostile.yaml", text));
    let model = loaded.model.unwrap();
    assert_eq!(model.entities.len(), 1);
    let written = design_document(&model, Drawings::In("design".to_owned()));
    assert_tables_are_whole(&written.markdown);
    assert!(!written.markdown.contains("<script>"), "{}", written.markdown);
    assert!(!written.markdown.contains("<b>`x`"), "{}", written.markdown);
    assert!(!written.drawings.is_empty());
    for (_, svg) in &written.drawings {
        assert_well_formed(svg);
        assert!(!svg.contains("<script>") && !svg.contains("<b>"));
    }
}

#[test]
fn the_systems_have_whole_tables_and_drawings() {
    for folder in systems() {
        let written = with_drawings(&folder);
        assert_tables_are_whole(&written.markdown);
        written.drawings.iter().for_each(|(_, svg)| assert_well_formed(svg));
    }
}

fn with_drawings(folder: &Path) -> Document {
    design_document(&model(&folder.join("model.yaml")), Drawings::In("design".to_owned()))
}

/// `SINGLET_UPDATE=1` writes the documents.
#[test]
fn the_documents_of_the_systems_are_current() {
    assert_eq!(systems().len(), 5);
    let mut stale = Vec::new();
    for folder in systems() {
        let written = with_drawings(&folder);
        let files: Vec<(String, String)> = written
            .drawings
            .into_iter()
            .chain([("design.md".to_owned(), written.markdown)])
            .collect();
        if std::env::var_os("SINGLET_UPDATE").is_some() {
            let _ = fs::remove_dir_all(folder.join("design"));
            fs::create_dir_all(folder.join("design")).unwrap();
            for (name, text) in &files {
                fs::write(folder.join(name), text).unwrap();
            }
        }
        let there: BTreeSet<String> = fs::read_dir(folder.join("design"))
            .unwrap()
            .map(|entry| format!("design/{}", entry.unwrap().file_name().to_string_lossy()))
            .chain(["design.md".to_owned()])
            .collect();
        let wanted: BTreeSet<String> = files.iter().map(|(name, _)| name.clone()).collect();
        assert_eq!(there, wanted, "{}", folder.display());
        for (name, text) in files {
            let path = folder.join(name);
            if fs::read_to_string(&path).unwrap_or_default() != text {
                stale.push(path.display().to_string());
            }
        }
    }
    assert!(stale.is_empty(), "stale, SINGLET_UPDATE=1 writes them anew: {stale:#?}");
}
