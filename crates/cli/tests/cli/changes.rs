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
    let posted = ask(
        &served.address(),
        "POST",
        "/todo/api/v1/tasks",
        &header,
        r#"{"title": "told"}"#,
    );
    assert_eq!(posted.unwrap().0, 201);
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
    let posted = ask(
        &served.address(),
        "POST",
        "/todo/api/v1/tasks",
        &header,
        r#"{"title": "later"}"#,
    );
    assert_eq!(posted.unwrap().0, 201);
    let on = ["--from", &position, "--once", "--format", "json", "--entity", "Task"];
    let later = lines(&tail(&folder, &on).output().unwrap());
    let titles: Vec<&Value> = later.iter().map(|change| &change["after"]["title"]).collect();
    assert_eq!(titles, ["later"], "{later:?}");
    // The service and the folder tell the same.
    let all = ["--from", "start", "--once", "--format", "json"];
    let by_service = lines(&tail(&folder, &all).output().unwrap());
    assert!(served.end());
    let by_folder = lines(&tail(&folder, &all).output().unwrap());
    assert!(by_service.len() > 10, "{by_service:?}");
    assert_eq!(by_service, by_folder);
    let text = tail(&folder, &["--from", "start"]).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert_eq!(text.lines().count(), by_folder.len());
    assert!(text.lines().all(|line| line.contains("Z created ")), "{text}");
}
