//! Copies of a folder and room given back, while a service runs on it and without one.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::running::{Folder, singlet};
use crate::serving::Served;

fn run(folder: &Folder, args: &[&str]) -> Output {
    singlet(args).current_dir(folder.path()).output().unwrap()
}

fn succeeded(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// All rows of the to-do list in a folder, as lines.
fn rows(folder: &Folder, data: &str) -> Vec<String> {
    let model = crate::repository().join("systems/todo/model.yaml");
    let store = format!("embedded:{data}");
    let output = singlet(["dump"])
        .arg(&model)
        .args(["--store", &store])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let mut lines: Vec<String> = succeeded(&output).lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn a_copy_is_made_while_it_serves_and_becomes_the_data_of_another_folder() {
    let folder = Folder::new("upkeep");
    let served = Served::start(&folder, &[]);
    assert!(folder.path().join("singlet-data/singlet.sock").exists());
    assert!(succeeded(&run(&folder, &["backup", "singlet-data", "copy"])).starts_with("copy: "));
    assert!(succeeded(&run(&folder, &["compact", "singlet-data"])).contains(" MB now"));
    // What is there is never written over.
    let again = refused(&run(&folder, &["backup", "singlet-data", "copy"]));
    assert!(again.contains("already"), "{again}");
    assert!(served.end());
    assert!(!folder.path().join("singlet-data/singlet.sock").exists());
    succeeded(&run(&folder, &["restore", "copy", "restored"]));
    let wanted = rows(&folder, "singlet-data");
    assert!(wanted.len() > 10, "{wanted:?}");
    assert_eq!(rows(&folder, "restored"), wanted);
    assert_eq!(rows(&folder, "copy"), wanted);
    // Without a service, and with the socket of one that was killed.
    fs::write(folder.path().join("singlet-data/singlet.sock"), "").unwrap();
    succeeded(&run(&folder, &["compact", "singlet-data"]));
    succeeded(&run(&folder, &["backup", "singlet-data", "third"]));
    assert_eq!(rows(&folder, "third"), wanted);
}

#[test]
fn a_folder_without_data_is_named_and_nothing_is_made_of_it() {
    let folder = Folder::new("no-data");
    fs::create_dir(folder.path().join("empty")).unwrap();
    for (args, made) in [
        (vec!["compact", "missing"], "missing"),
        (vec!["backup", "missing", "to"], "to"),
        (vec!["restore", "missing", "to"], "to"),
        (vec!["backup", "empty", "to"], "to"),
        (vec!["compact", "empty"], "empty/keyspace"),
    ] {
        let said = refused(&run(&folder, &args));
        assert!(said.contains("there is no"), "{args:?}: {said}");
        assert!(!folder.path().join(made).exists(), "{args:?}");
    }
    assert_eq!(fs::read_dir(folder.path().join("empty")).unwrap().count(), 0);
    assert!(Path::new(folder.path()).exists());
}
