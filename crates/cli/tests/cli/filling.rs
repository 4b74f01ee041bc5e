//! A service that is killed while it fills its tables for the first time.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::running::{Folder, singlet};

/// How long a service may take to fill its tables.
const FILL_MAX: Duration = Duration::from_secs(120);

/// The files that say that a table is being filled.
fn fillings(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder.join("singlet-data")).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.ends_with(".filling")).collect()
}

/// Starts the service and kills it a while after it has begun to fill a table; whether it was still filling.
fn killed_while_filling(folder: &Folder, after: Duration) -> bool {
    let mut child = singlet(["serve", "--listen", "127.0.0.1:0", "--log-level", "warn"])
        .env_remove("SINGLET_SECRET")
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while fillings(folder.path()).is_empty() && started.elapsed() < FILL_MAX && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    !fillings(folder.path()).is_empty()
}

/// An attribute of every row that a read finds.
fn all(folder: &Folder, system: &str, read: &str, args: &[&str], attribute: &str) -> Vec<String> {
    let model = super::repository().join("systems").join(system).join("model.yaml");
    let mut found = Vec::new();
    let mut cursor: Vec<String> = Vec::new();
    loop {
        let output = singlet(["call"])
            .arg(&model)
            .arg(read)
            .args(args)
            .args(["--store", "embedded:singlet-data", "--limit", "100", "--format", "json"])
            .args(&cursor)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let page: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let rows = page["value"].as_array().unwrap_or_else(|| panic!("{page}")).iter();
        found.extend(rows.map(|row| row[attribute].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => cursor = vec!["--cursor".to_owned(), next.to_owned()],
            None => return found,
        }
    }
}

#[test]
fn what_was_half_filled_is_filled_at_the_next_start() {
    let folder = Folder::new("filling");
    let mut interrupted = 0;
    for millis in [0, 5, 20, 60, 120] {
        interrupted += usize::from(killed_while_filling(&folder, Duration::from_millis(millis)));
    }
    assert!(interrupted > 0, "no filling was interrupted");
    assert!(crate::serving::Served::start(&folder, &[]).end());
    assert_eq!(fillings(folder.path()), Vec::<String>::new());
    let whole = Folder::new("filled");
    assert!(crate::serving::Served::start(&whole, &[]).end());
    let asked: [(&str, &str, &[&str], &str, usize); 3] = [
        (
            "country",
            "activeCountries",
            &["--as", "x", "--claim", "role=reader"],
            "alpha2Code",
            240,
        ),
        ("todo", "tasks", &["--as", "ada"], "task_id", 20),
        ("wardrobe", "items", &["userId=tomas", "--as", "tomas"], "ItemId", 20),
    ];
    for (system, read, args, attribute, least) in asked {
        let of = |folder| all(folder, system, read, args, attribute);
        let wanted = of(&whole);
        assert!(wanted.len() >= least, "{system}: {wanted:?}");
        assert_eq!(of(&folder), wanted, "{system}");
    }
}
