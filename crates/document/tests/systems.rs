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

use singlet_document::{Document, Drawings, document};
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
    singlet_model::load(&source).model.unwrap()
}

fn with_drawings(folder: &Path) -> Document {
    document(&model(&folder.join("model.yaml")), Drawings::In("design".to_owned()))
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
