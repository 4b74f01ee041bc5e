//! `singlet audit` as a process: beside a service that is written to, and killed halfway.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value as Json;
use singlet_runtime::{Item, Store};
use singlet_store::{PutRequest, ScanRequest};
use singlet_store_embedded::EmbeddedStore;

use crate::running::{Folder, singlet};
use crate::served::Served;

fn model_of(system: &str) -> PathBuf {
    let systems = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systems");
    systems.join(system).join("model.yaml")
}

fn audited(folder: &Path, system: &str, args: &[&str]) -> Output {
    singlet(["audit"])
        .arg(model_of(system))
        .args(["--store", "embedded:singlet-data", "--format", "json"])
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn report_of(output: &Output) -> Json {
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"))
}

/// All five systems beside the service that has their folder open, while it is written to: nothing is wrong. Then, when it has
/// ended, what is damaged is found, mended once for every kill, and what it was can be put back.
#[test]
fn an_audit_runs_beside_a_service_and_goes_on_after_a_kill() {
    let folder = Folder::new("audited");
    let served = Served::start(folder.path());
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for turn in 0.. {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                let email = format!(r#"{{"email": "elena{turn}@moved.example"}}"#);
                let (status, _) = served.ask("PATCH", "/booking/users/me", &email).unwrap();
                assert_eq!(status, 200);
            }
        });
        for system in ["todo", "wardrobe", "country", "booking", "ecobid"] {
            let output = audited(folder.path(), system, &[]);
            let report = report_of(&output);
            assert_eq!(output.status.code(), Some(0), "{system}: {report:#}");
            assert!(report["rows"].as_u64().unwrap() > 100, "{system}: {report:#}");
        }
        ended.store(true, Ordering::Relaxed);
    });
    assert!(served.end());
    let damaged = damage(&folder.path().join("singlet-data"));
    assert!(damaged > 100);
    let repair = [
        "--repair",
        "--yes",
        "--images",
        "before.jsonl",
        "--progress",
        "audit.json",
        "--rate",
        "40",
    ];
    let mut kills = 0;
    loop {
        let mut child = singlet(["audit"])
            .arg(model_of("todo"))
            .args(["--store", "embedded:singlet-data"])
            .args(repair)
            .current_dir(folder.path())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // As soon as it has changed something more, it is killed; five times, then it may end.
        let before = lines_of(&folder.path().join("before.jsonl"));
        while kills < 5 && child.try_wait().unwrap().is_none() {
            if lines_of(&folder.path().join("before.jsonl")) > before {
                child.kill().unwrap();
                kills += 1;
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let status = child.wait().unwrap();
        if status.code() == Some(0) {
            break;
        }
        assert_eq!(status.code(), None, "it ended by itself, with damage left");
    }
    let output = audited(folder.path(), "todo", &[]);
    assert_eq!(output.status.code(), Some(0), "{:#}", report_of(&output));
    assert!(kills > 0);
    assert!(lines_of(&folder.path().join("before.jsonl")) >= damaged);
    assert!(!folder.path().join("audit.json").exists());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(folder.path().join("before.jsonl"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

fn lines_of(path: &Path) -> usize {
    fs::read_to_string(path).map_or(0, |text| text.lines().count())
}

/// Takes an index key from every task; how many there are.
fn damage(data: &Path) -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = EmbeddedStore::open_existing(data).unwrap();
        let mut request = ScanRequest {
            table: "todo-app-data".to_owned(),
            ..ScanRequest::default()
        };
        let mut items: Vec<Item> = Vec::new();
        loop {
            let page = store.scan(&request).await.unwrap();
            items.extend(page.items);
            request.start = page.last_key;
            if request.start.is_none() {
                break;
            }
        }
        items.retain(|item| item.contains_key("GSI1SK"));
        for item in &items {
            let mut item = item.clone();
            item.remove("GSI1SK");
            let request = PutRequest {
                table: "todo-app-data".to_owned(),
                item,
                ..PutRequest::default()
            };
            store.put(&request).await.unwrap();
        }
        items.len()
    })
}
