//! The command as its users meet it: transcripts under `cmd/` and in `docs/`, and what a transcript cannot show.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test fails by panicking"
)]

#[path = "cli/bridging.rs"]
mod bridging;
#[path = "cli/changes.rs"]
mod changes;
#[path = "cli/clients.rs"]
mod clients;
#[path = "cli/console.rs"]
mod console;
#[path = "cli/costing.rs"]
mod costing;
#[path = "cli/dynamodb.rs"]
mod dynamodb;
#[path = "cli/filling.rs"]
mod filling;
#[path = "cli/following.rs"]
mod following;
#[path = "cli/lakes.rs"]
mod lakes;
#[path = "cli/migrating.rs"]
mod migrating;
#[path = "cli/private.rs"]
mod private;
#[path = "cli/restoring.rs"]
mod restoring;
#[path = "cli/running.rs"]
mod running;
#[path = "cli/serving.rs"]
mod serving;
#[path = "cli/shell.rs"]
mod shell;
#[path = "cli/transcripts.rs"]
mod transcripts;
#[path = "cli/upkeep.rs"]
mod upkeep;
#[path = "cli/verify_dynamodb.rs"]
mod verify_dynamodb;
#[path = "cli/webhooks.rs"]
mod webhooks;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use running::{Folder, singlet};
use serde_json::Value;

/// How long a test waits for what must come.
const DEADLINE: Duration = Duration::from_secs(30);

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `SINGLET_UPDATE=1` writes what the commands print.
#[test]
fn every_transcript_is_what_the_command_prints() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.extend(
        [
            "docs/check.md",
            "docs/deploy.md",
            "docs/diff.md",
            "docs/dump.md",
            "docs/evolution.md",
            "docs/from-one-machine-to-dynamodb.md",
            "docs/tutorial.md",
            "docs/verify.md",
        ]
        .map(|name| repository().join(name)),
    );
    files.sort();
    let failures: Vec<String> = files.iter().filter_map(|file| transcripts::check(file)).collect();
    assert!(
        failures.is_empty(),
        "{}\nSINGLET_UPDATE=1 writes transcripts anew",
        failures.join("\n")
    );
}

#[test]
fn the_systems_have_neither_errors_nor_warnings() {
    let folders = fs::read_dir(repository().join("systems"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    for folder in folders.filter(|path| path.is_dir()) {
        let model = folder.join("model.yaml");
        let output = singlet(["check", "--deny", "warnings"]).arg(&model).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

/// `SINGLET_UPDATE=1` writes the schema.
#[test]
fn the_schema_in_the_repository_is_current() {
    let output = singlet(["schema"]).output().unwrap();
    assert!(output.status.success());
    let printed = String::from_utf8(output.stdout).unwrap();
    let path = repository().join("schema/singlet.schema.json");
    if std::env::var_os("SINGLET_UPDATE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &printed).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        stored, printed,
        "schema/singlet.schema.json is stale: run the tests with SINGLET_UPDATE=1"
    );
    let schema: Value = serde_json::from_str(&printed).unwrap();
    let definitions = schema["$defs"].as_object().unwrap();
    let mut references = Vec::new();
    collect_references(&schema, &mut references);
    for reference in references {
        let name = reference.strip_prefix("#/$defs/").unwrap();
        assert!(definitions.contains_key(name), "the schema has no `{name}`");
    }
}

fn collect_references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            found.extend(map.get("$ref").and_then(Value::as_str).map(str::to_owned));
            map.values().for_each(|value| collect_references(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| collect_references(value, found)),
        _ => {}
    }
}

#[test]
fn sarif_has_what_code_scanning_needs() {
    let folder = Folder::new("sarif");
    folder.write("model.yaml", b"singlet: 1\nname: broken\n");
    let output = singlet(["check", "--format", "sarif", "model.yaml"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let log: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(log["version"], "2.1.0");
    assert!(log["$schema"].is_string());
    let run = &log["runs"][0];
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "singlet");
    let rules = driver["rules"].as_array().unwrap();
    assert!(rules.iter().all(|rule| {
        let level = rule["defaultConfiguration"]["level"].as_str().unwrap_or_default();
        rule["id"].is_string()
            && rule["shortDescription"]["text"].is_string()
            && ["error", "warning", "note"].contains(&level)
    }));
    let results = run["results"].as_array().unwrap();
    assert!(!results.is_empty());
    for result in results {
        let id = result["ruleId"].as_str().unwrap();
        assert!(rules.iter().any(|rule| rule["id"] == id), "`{id}` is not described");
        assert_eq!(result["level"], "error");
        assert!(result["message"]["text"].is_string());
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "model.yaml");
        let numbers = ["startLine", "startColumn", "endLine", "endColumn"];
        assert!(
            numbers
                .iter()
                .all(|number| place["region"][number].as_u64().is_some_and(|number| number >= 1))
        );
    }
}

#[test]
fn json_findings_have_exactly_the_documented_fields() {
    let folder = Folder::new("json");
    folder.write("model.yaml", b"singlet: 1\nname: broken\n");
    let output = singlet(["check", "--format", "json", "model.yaml"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let findings: Value = serde_json::from_slice(&output.stdout).unwrap();
    let documented = fs::read_to_string(repository().join("docs/check.md")).unwrap();
    for finding in findings.as_array().unwrap() {
        let fields: Vec<&String> = finding.as_object().unwrap().keys().collect();
        let wanted = [
            "code",
            "name",
            "severity",
            "message",
            "help",
            "subject",
            "file",
            "line",
            "column",
            "end_line",
            "end_column",
        ];
        assert_eq!(fields, wanted);
        assert!(wanted.iter().all(|field| documented.contains(&format!("`{field}`"))));
    }
}

#[test]
fn each_shell_has_completions() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = singlet(["completions", shell]).output().unwrap();
        assert!(output.status.success(), "{shell}");
        let script = String::from_utf8(output.stdout).unwrap();
        for word in ["check", "explain", "schema", "completions", "format", "watch"] {
            assert!(script.contains(word), "the completions for {shell} lack `{word}`");
        }
    }
}

#[test]
fn bytes_that_are_not_utf8_are_a_finding() {
    let folder = Folder::new("utf8");
    folder.write("model.yaml", b"singlet: 1\nname: caf\xe9\n");
    let output = singlet(["check", "model.yaml"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("error[S016]: byte 21 of the file is not UTF-8"), "{text}");
    assert!(text.contains("model.yaml:2:10"), "{text}");
}

#[test]
fn a_byte_order_mark_is_no_finding() {
    let folder = Folder::new("bom");
    let model = fs::read(repository().join("systems/todo/model.yaml")).unwrap();
    folder.write("model.yaml", &[b"\xef\xbb\xbf".as_slice(), &model].concat());
    let output = singlet(["check", "model.yaml"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn the_help_of_every_subcommand_is_in_a_transcript() {
    let output = singlet(["--help"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let listed = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty());
    let commands = listed
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next());
    let transcript = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd/help.md")).unwrap();
    for command in commands.filter(|command| *command != "help") {
        let wanted = format!("\n$ singlet {command} --help\n");
        assert!(
            transcript.contains(&wanted),
            "tests/cmd/help.md lacks `singlet {command} --help`"
        );
    }
}

/// `singlet explain | head -1`.
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = singlet(["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut complaint = String::new();
    child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
    assert!(child.wait().unwrap().success(), "{complaint}");
    assert_eq!(complaint, "");
}

#[test]
fn watching_picks_up_a_change() {
    let folder = Folder::new("watch");
    folder.write("model.yaml", b"singlet: 2\n");
    let mut child = singlet(["check", "--watch", "model.yaml"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = lines_of(child.stdout.take().unwrap());
    let seen = until(&lines, "watching 1 file");
    let model = fs::read(repository().join("systems/todo/model.yaml")).unwrap();
    folder.write("model.yaml", &model);
    // A change may be seen while the file is half written: then the next look sees the rest.
    let after = until(&lines, "no errors, no warnings");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(seen.contains("error[S018]"), "{seen}");
    assert!(after.contains("1 file checked"), "{after}");
}

/// The lines of an output, as they come.
fn lines_of(output: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    receive
}

/// What comes up to a line that has `wanted`.
fn until(lines: &mpsc::Receiver<String>, wanted: &str) -> String {
    let mut seen = String::new();
    while let Ok(line) = lines.recv_timeout(DEADLINE) {
        seen.push_str(&line);
        seen.push('\n');
        if line.contains(wanted) {
            return seen;
        }
    }
    panic!("`{wanted}` did not come:\n{seen}");
}

#[test]
fn a_file_that_may_not_be_read_is_named() {
    let folder = Folder::new("unreadable");
    let output = Command::new(env!("CARGO_BIN_EXE_singlet"))
        .args(["check", "."])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("`.`"));
}

/// What the README shows is what the command prints, and its figures are counted.
#[test]
fn the_readme_says_what_is_so() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let run = |args: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_singlet"))
            .args(args)
            .current_dir(&root)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let blocks = readme
        .split("```text\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next());
    let printed =
        run(&["check", "systems/todo/documented.yaml"]) + &run(&["plan", "systems/todo/model.yaml", "overdueTasks"]);
    for block in blocks {
        assert!(
            printed.contains(block.trim_end()),
            "the README shows what is not printed:\n{block}"
        );
    }
    let rules = run(&["explain"]);
    let design = rules
        .lines()
        .filter(|line| line.starts_with(['K', 'I', 'R', 'W', 'C', 'E']))
        .count();
    let stores = rules.lines().filter(|line| line.starts_with('P')).count();
    let language = rules.lines().count() - design - stores;
    assert!(
        readme.contains(&format!("{stores} rules of stores")),
        "there are {stores} rules of stores"
    );
    assert!(
        readme.contains(&format!("{design} design rules")),
        "there are {design} design rules"
    );
    assert!(
        readme.contains(&format!("{language} rules of the language")),
        "there are {language} rules of the language"
    );
}
