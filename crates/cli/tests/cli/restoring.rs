//! Whole tables in the format of DynamoDB's export: written, restored, killed, and refused.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use singlet_archive::archives_in;

use crate::running::{Folder, singlet};
use crate::serving::Served;

const SYSTEMS: [&str; 5] = ["todo", "wardrobe", "country", "booking", "ecobid"];

fn run(folder: &Folder, args: &[&str]) -> Output {
    singlet(args).current_dir(folder.path()).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn done(folder: &Folder, args: &[&str]) -> String {
    let output = run(folder, args);
    assert!(output.status.success(), "{args:?}: {}", text(&output));
    text(&output)
}

fn refused(folder: &Folder, args: &[&str]) -> String {
    let output = run(folder, args);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {}", text(&output));
    text(&output)
}

/// What is noted while a service follows.
const NOTED: [&str; 5] = ["$position", "$names", "$holder", "$group", "$definition"];

/// The items of an export, but for the rows by which a table tells of itself.
fn items(export: &Path) -> BTreeSet<String> {
    let archives = archives_in(export).unwrap();
    assert_eq!(archives.len(), 1);
    let items = archives[0].items().map(|item| item.unwrap().item);
    let of_itself = ["$epoch", "$held"].iter().chain(&NOTED);
    let of_itself: Vec<&str> = of_itself.copied().collect();
    let told = items.filter(|item| !of_itself.iter().any(|name| item.contains_key(*name)));
    told.map(|item| format!("{item:?}")).collect()
}

#[test]
fn the_tables_of_the_five_systems_are_restored_item_for_item() {
    let folder = Folder::new("restoring");
    for name in SYSTEMS {
        let system = crate::repository().join("systems").join(name);
        let (model, rows) = (system.join("model.yaml"), system.join("sample.jsonl"));
        let (model, rows) = (model.to_str().unwrap(), rows.to_str().unwrap());
        let (data, export) = (format!("embedded:{name}"), format!("{name}-export"));
        done(&folder, &["load", model, rows, "--store", &data]);
        let dump = ["dump", model, "--format", "dynamodb-export", "--store"];
        done(&folder, &[&dump[..], &[&data, "--out", &export]].concat());
        let wanted = items(&folder.path().join(&export));
        assert!(wanted.len() > 20, "{name}");
        let (other, again) = (format!("embedded:{name}-restored"), format!("{name}-again"));
        let restore = ["restore", &export, "--model", model, "--store", &other];
        let planned = run(&folder, &restore);
        assert_eq!(planned.status.code(), Some(1), "{}", text(&planned));
        assert!(text(&planned).contains("nothing was changed"), "{}", text(&planned));
        assert!(
            !folder.path().join(format!("{name}-restored")).exists(),
            "looking made a folder"
        );
        let said = done(&folder, &[&restore[..], &["--yes"]].concat());
        assert!(
            said.contains("is restored in ") && said.contains("singlet changes MODEL release"),
            "{said}"
        );
        assert!(done(&folder, &[&restore[..], &["--yes"]].concat()).contains("was restored already"));
        done(&folder, &[&dump[..], &[&other, "--out", &again]].concat());
        assert_eq!(items(&folder.path().join(&again)), wanted, "{name}");
        // Its rows are those of the first, and a table that is released is one as any.
        let lines = |store: &str| -> BTreeSet<String> {
            done(&folder, &["dump", model, "--store", store])
                .lines()
                .map(str::to_owned)
                .collect()
        };
        assert_eq!(lines(&other), lines(&data), "{name}");
        assert!(done(&folder, &["changes", model, "--store", &other, "release"]).contains("is released"));
        assert!(done(&folder, &["audit", model, "--store", &other]).contains("nothing"));
    }
}

/// A copy of one moment is read, and removed.
#[test]
fn a_table_is_dumped_while_it_is_served() {
    let folder = Folder::new("restoring-served");
    let served = Served::start(&folder, &[]);
    let model = crate::repository().join("systems/todo/model.yaml");
    let model = model.to_str().unwrap();
    let dump = [
        "dump",
        model,
        "--store",
        "embedded:singlet-data",
        "--format",
        "dynamodb-export",
        "--out",
    ];
    done(&folder, &[&dump[..], &["served"]].concat());
    let left = fs::read_dir(folder.path().join("singlet-data")).unwrap();
    let left: Vec<String> = left
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(!left.iter().any(|name| name.contains("copy")), "{left:?}");
    // The service has the table, and it has rows.
    let said = refused(
        &folder,
        &[
            "restore",
            "served",
            "--model",
            model,
            "--store",
            "embedded:singlet-data",
            "--yes",
        ],
    );
    assert!(said.contains("only an empty table is restored"), "{said}");
    assert!(served.end());
    done(&folder, &[&dump[..], &["alone"]].concat());
    assert_eq!(
        items(&folder.path().join("served")),
        items(&folder.path().join("alone"))
    );
}

#[test]
fn a_process_that_is_killed_leaves_a_table_that_nobody_opens() {
    let folder = Folder::new("restoring-killed");
    let model = crate::repository().join("systems/todo/model.yaml");
    let sample = crate::repository().join("systems/todo/sample.jsonl");
    let (model, sample) = (model.to_str().unwrap(), sample.to_str().unwrap());
    done(&folder, &["load", model, sample, "--store", "embedded:data"]);
    done(
        &folder,
        &[
            "dump",
            model,
            "--store",
            "embedded:data",
            "--format",
            "dynamodb-export",
            "--out",
            "export",
        ],
    );
    let wanted = items(&folder.path().join("export"));
    let restore = [
        "restore",
        "export",
        "--model",
        model,
        "--store",
        "embedded:restored",
        "--yes",
    ];
    // So slow that it is in the midst of it, and later each time: how soon it begins, and how far each time goes, depends on the machine.
    let (mut killed_midway, mut ended) = (0, false);
    for millis in [50, 120, 300, 700, 1_500, 3_000, 6_000, 12_000] {
        let mut child = singlet(restore)
            .args(["--rate", "1"])
            .current_dir(folder.path())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(millis));
        ended = child.try_wait().unwrap().is_some();
        if ended {
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let call = [
            "call",
            model,
            "overdueTasks",
            "--as",
            "ada",
            "--store",
            "embedded:restored",
        ];
        let opened = text(&run(&folder, &call));
        let is_begun = opened.contains("it is being restored from ") && opened.contains("`singlet restore`");
        killed_midway += usize::from(is_begun);
        if killed_midway == 2 {
            break;
        }
    }
    assert!(killed_midway > 0, "it was never killed in the midst of it");
    if !ended {
        done(&folder, &restore);
    }
    done(
        &folder,
        &[
            "dump",
            model,
            "--store",
            "embedded:restored",
            "--format",
            "dynamodb-export",
            "--out",
            "again",
        ],
    );
    assert_eq!(items(&folder.path().join("again")), wanted);
}

#[test]
fn what_cannot_be_restored_is_said_with_its_place() {
    let folder = Folder::new("restoring-refused");
    let model = crate::repository().join("systems/todo/model.yaml");
    let sample = crate::repository().join("systems/todo/sample.jsonl");
    let (model, sample) = (model.to_str().unwrap(), sample.to_str().unwrap());
    done(&folder, &["load", model, sample, "--store", "embedded:data"]);
    let dump = ["dump", model, "--store", "embedded:data", "--format", "dynamodb-export"];
    assert!(refused(&folder, &dump).contains("name it with `--out`"));
    let rates = refused(&folder, &[&dump[..], &["--out", "x", "--rate", "0"]].concat());
    assert!(rates.contains("above zero"), "{rates}");
    assert!(
        refused(&folder, &["dump", model, "--store", "embedded:data", "--rate", "5"])
            .contains("--format dynamodb-export")
    );
    done(&folder, &[&dump[..], &["--out", "export"]].concat());
    let restore = ["restore", "export", "--model", model, "--store", "embedded:restored"];
    assert!(refused(&folder, &["restore", "export", "--model", model]).contains("gone with its process"));
    assert!(
        refused(
            &folder,
            &["restore", "missing", "--model", model, "--store", "embedded:x"]
        )
        .contains("`missing`: it is not there")
    );
    assert!(
        refused(&folder, &["restore", "data", "--model", model, "--store", "embedded:x"])
            .contains("there is no table in it")
    );
    // A byte of a data file.
    let own = archives_in(&folder.path().join("export")).unwrap()[0]
        .folder()
        .to_owned();
    let data = fs::read_dir(own.join("data")).unwrap().next().unwrap().unwrap().path();
    let whole = fs::read(&data).unwrap();
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    fs::write(&data, &changed).unwrap();
    for yes in [&[][..], &["--yes"]] {
        let said = refused(&folder, &[&restore[..], yes].concat());
        assert!(
            said.contains(".json.gz`: its MD5 is `") && said.contains("not copied whole"),
            "{said}"
        );
    }
    fs::write(&data, &whole).unwrap();
    // In ION.
    let summary = own.join("manifest-summary.json");
    let before = fs::read_to_string(&summary).unwrap();
    fs::write(&summary, before.replace("DYNAMODB_JSON", "ION")).unwrap();
    let said = refused(&folder, &restore);
    assert!(said.contains("manifest-summary.json`: its MD5 is"), "{said}");
    fs::write(&summary, &before).unwrap();
    assert!(!folder.path().join("restored").join("main.log").exists());
    done(&folder, &[&restore[..], &["--yes"]].concat());
}
