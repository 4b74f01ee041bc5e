//! `singlet cost` with what was kept, and with what a running service measured.

use std::fs;
use std::process::Output;

use crate::repository;
use crate::running::{Folder, singlet};
use crate::serving::{Served, ask};

fn model(system: &str) -> String {
    let path = repository().join(format!("systems/{system}/model.yaml"));
    path.to_string_lossy().into_owned()
}

fn cost(folder: &Folder, args: &[&str]) -> Output {
    singlet(["cost"])
        .args(args)
        .current_dir(folder.path())
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_kept_result_is_compared_with_the_model_of_today() {
    let folder = Folder::new("cost-kept");
    let (todo, model_text) = (model("todo"), fs::read_to_string(model("todo")).unwrap());
    let kept = cost(&folder, &[&todo, "--format", "json"]);
    assert!(kept.status.success(), "{}", text(&kept.stderr));
    folder.write("kept.json", &kept.stdout);
    let same = cost(&folder, &["kept.json", &todo, "--max-increase", "0"]);
    assert!(same.status.success(), "{}", text(&same.stdout));
    assert!(text(&same.stdout).contains("without what is new or gone: 0 % more"));
    // Tasks of more than a kilobyte: every write of one, and of its entries, is dearer.
    folder.write(
        "larger.yaml",
        model_text.replace("bytes: 600", "bytes: 1100").as_bytes(),
    );
    let dearer = cost(&folder, &["kept.json", "larger.yaml", "--max-increase", "0.1"]);
    assert_eq!(dearer.status.code(), Some(1), "{}", text(&dearer.stdout));
    assert!(text(&dearer.stdout).contains("createTask"));
    folder.write("kept.json", b"{\"model\": \"todo\"}");
    let broken = cost(&folder, &["kept.json", &todo]);
    assert_eq!(broken.status.code(), Some(2));
    assert!(
        text(&broken.stderr).contains("kept.json is no result of `singlet cost`"),
        "{}",
        text(&broken.stderr)
    );
}

#[test]
fn what_a_service_measured_takes_the_place_of_estimates() {
    let folder = Folder::new("cost-measured");
    let served = Served::start(&folder, &[]);
    let calls = served.calls();
    let get = |path: &str, header: &str| ask(&served.address(), "GET", path, header, "").unwrap();
    let scraped = |seconds: u64| format!("# scraped {seconds}\n{}", get("/metrics", "X-Nothing: 1").1);
    let before = scraped(0);
    let (header, path) = calls.iter().find(|(_, path)| path.starts_with("/todo/")).unwrap();
    for _ in 0..10 {
        let (status, body) = get(path, header);
        assert_eq!(status, 200, "{body}");
    }
    // As if an hour had passed: ten reads in it.
    let after = scraped(3600);
    folder.write("scrapes.txt", format!("{before}{after}").as_bytes());
    let measured = cost(
        &folder,
        &[&model("todo"), "--measured", "scrapes.txt", "--format", "json"],
    );
    assert!(measured.status.success(), "{}", text(&measured.stderr));
    let report: serde_json::Value = serde_json::from_slice(&measured.stdout).unwrap();
    let operations = report["months"][0]["operations"].as_array().unwrap();
    // What follows by itself is expected of these rates.
    let called: Vec<_> = operations
        .iter()
        .filter(|operation| operation["byItself"] != true && operation["runs"].as_f64().unwrap() > 0.0)
        .collect();
    let [called] = called.as_slice() else {
        panic!("{called:?}");
    };
    assert!((called["runs"].as_f64().unwrap() - 7200.0).abs() < 1e-6, "{called}"); // 720 hours of ten
    assert!(called["readUnits"].as_f64().unwrap() >= 0.5);
    let differences = report["differences"].as_array().unwrap();
    assert!(differences.iter().any(|difference| difference["what"] == "rate"));
    assert!(served.end());
}
