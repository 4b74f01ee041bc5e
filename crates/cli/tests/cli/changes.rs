//! `singlet changes`: what happens to rows, while a service runs on the folder and without one.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::running::{Folder, singlet};
use crate::serving::{Served, ask, terminate};

fn tail(folder: &Folder, args: &[&str]) -> Command {
    let model: PathBuf = crate::repository().join("systems/todo/model.yaml");
    let mut command = singlet(["changes"]);
    command
        .arg(model)
        .args(["--store", "embedded:singlet-data", "tail"])
        .args(args)
        .current_dir(folder.path());
    command
}

fn lines(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The position that is said at the end.
fn position(stderr: &str) -> String {
    let line = stderr.lines().find_map(|line| line.strip_prefix("position: "));
    line.unwrap_or_else(|| panic!("{stderr}")).to_owned()
}

fn create_task(served: &Served, header: &str, title: &str) {
    let body = format!(r#"{{"title": "{title}"}}"#);
    let posted = ask(&served.address(), "POST", "/todo/api/v1/tasks", header, &body);
    assert_eq!(posted.unwrap().0, 201);
}

#[test]
fn changes_are_told_while_it_serves_and_reading_goes_on_where_it_ended() {
    let folder = Folder::new("changes-told");
    let served = Served::start(&folder, &[]);
    let mut following = tail(&folder, &["--from", "start", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (header, _) = served.calls()[0].clone();
    create_task(&served, &header, "told");
    let mut told = BufReader::new(following.stdout.take().unwrap()).lines();
    let change = loop {
        let line = told.next().unwrap().unwrap();
        let change: Value = serde_json::from_str(&line).unwrap();
        if change["after"]["title"] == "told" {
            break change;
        }
        // The sample rows come first.
        assert_eq!(change["kind"], "created", "{change}");
    };
    assert_eq!(
        (&change["entity"], &change["kind"]),
        (&"Task".into(), &"created".into())
    );
    assert_eq!(change["before"], Value::Null);
    assert_eq!(change["key"]["taskId"], change["after"]["taskId"]);
    terminate(&following);
    let mut said = String::new();
    following.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(following.wait().unwrap().success(), "{said}");
    let position = position(&said);
    create_task(&served, &header, "later");
    let on = ["--from", &position, "--once", "--format", "json", "--entity", "Task"];
    let later = lines(&tail(&folder, &on).output().unwrap());
    let titles: Vec<&Value> = later.iter().map(|change| &change["after"]["title"]).collect();
    assert_eq!(titles, ["later"], "{later:?}");
    // The service and the folder tell the same.
    let all = ["--from", "start", "--once", "--format", "json"];
    let by_service = lines(&tail(&folder, &all).output().unwrap());
    let snapshot = ["--snapshot", "--once", "--format", "json"];
    let rows_by_service = lines(&tail(&folder, &snapshot).output().unwrap());
    assert!(served.end());
    let by_folder = lines(&tail(&folder, &all).output().unwrap());
    assert!(by_service.len() > 10, "{by_service:?}");
    assert_eq!(by_service, by_folder);
    // Every row as it is, by the folder itself.
    let rows = lines(&tail(&folder, &["--snapshot", "--format", "json"]).output().unwrap());
    assert!(rows.iter().all(|row| row["kind"] == "snapshot"), "{rows:?}");
    assert!(rows.iter().any(|row| row["after"]["title"] == "told"), "{rows:?}");
    let dumped = singlet(["dump"])
        .arg(crate::repository().join("systems/todo/model.yaml"))
        .args(["--store", "embedded:singlet-data"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(dumped.stdout).unwrap().lines().count(), rows.len());
    assert_eq!(rows_by_service, rows);
    let text = tail(&folder, &["--from", "start"]).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert_eq!(text.lines().count(), by_folder.len());
    assert!(text.lines().all(|line| line.contains("Z created ")), "{text}");
}

/// `| head -1`: what nobody takes is not noted.
#[test]
fn an_output_that_is_closed_ends_it_and_what_was_not_taken_comes_again() {
    let folder = Folder::new("changes-closed");
    let served = Served::start(&folder, &[]);
    let (header, _) = served.calls()[0].clone();
    let follow = ["--follower", "mail", "--format", "json"];
    let once = [&follow[..], &["--once"]].concat();
    assert_eq!(lines(&tail(&folder, &once).output().unwrap()), [Value::Null; 0]);
    let mut child = tail(&folder, &follow)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    create_task(&served, &header, "untaken");
    assert!(child.wait().unwrap().success());
    let again = lines(&tail(&folder, &once).output().unwrap());
    assert!(
        again.iter().any(|change| change["after"]["title"] == "untaken"),
        "{again:?}"
    );
}

/// Killed at any moment, whoever comes next under the same name goes on: every change is printed, some twice.
#[test]
fn a_follower_that_is_killed_again_and_again_leaves_nothing_out() {
    let folder = Folder::new("changes-killed");
    let served = Served::start(&folder, &[]);
    let (header, _) = served.calls()[0].clone();
    let follow = ["--follower", "mail", "--format", "json", "--entity", "Task"];
    let once = [&follow[..], &["--once"]].concat();
    // It begins now: the sample rows are not its business.
    assert_eq!(lines(&tail(&folder, &once).output().unwrap()), [Value::Null; 0]);
    let mut printed: Vec<String> = Vec::new();
    let mut posted = 0;
    for turn in 0..12_usize {
        for _ in 0..3 {
            let body = format!(r#"{{"title": "t{posted}"}}"#);
            let answer = ask(&served.address(), "POST", "/todo/api/v1/tasks", &header, &body);
            assert_eq!(answer.unwrap().0, 201);
            posted += 1;
        }
        let mut child = tail(&folder, &follow).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        // Before it prints, after the first line, after the second: its note may be written or not.
        for _ in 0..turn % 3 {
            let mut line = String::new();
            out.read_line(&mut line).unwrap();
            printed.push(line);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        // What a killed process had not ended is no line.
        let whole = rest.rfind('\n').map_or("", |end| &rest[..end]);
        printed.extend(whole.lines().map(str::to_owned));
    }
    let last = tail(&folder, &once).output().unwrap();
    printed.extend(String::from_utf8(last.stdout).unwrap().lines().map(str::to_owned));
    let mut titles: Vec<String> = Vec::new();
    for line in printed {
        let change: Value = serde_json::from_str(&line).unwrap();
        let title = change["after"]["title"].as_str().unwrap().to_owned();
        if !titles.contains(&title) {
            titles.push(title);
        }
    }
    let expected: Vec<String> = (0..posted).map(|at| format!("t{at}")).collect();
    assert_eq!(titles, expected);
    // Its changes are waited for by nobody now.
    assert_eq!(lines(&tail(&folder, &once).output().unwrap()), [Value::Null; 0]);
    let said = |args: &[&str]| {
        let model: PathBuf = crate::repository().join("systems/todo/model.yaml");
        let output = singlet(["changes"])
            .arg(model)
            .args(["--store", "embedded:singlet-data"])
            .args(args)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        // The service follows too, for its reminders, its tallies and its search.
        let is_own = |line: &str| line.starts_with('$') || line.starts_with("search-");
        let others = text.lines().filter(|line| !is_own(line));
        others.map(|line| format!("{line}\n")).collect::<String>()
    };
    let lag = said(&["lag"]);
    assert!(
        lag.starts_with("mail noted ") && lag.ends_with(", at the head\n"),
        "{lag}"
    );
    assert_eq!(
        ask(
            &served.address(),
            "POST",
            "/todo/api/v1/tasks",
            &header,
            r#"{"title": "x"}"#
        )
        .unwrap()
        .0,
        201
    );
    let lag = said(&["lag"]);
    assert!(lag.contains("change behind") || lag.contains("changes behind"), "{lag}");
    assert_eq!(said(&["acknowledge", "mail"]), "mail: 0 gaps acknowledged\n");
    assert_eq!(said(&["forget", "mail"]), "mail: forgotten\n");
    assert_eq!(said(&["lag"]), "");
}
