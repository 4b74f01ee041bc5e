//! Commands beside a service that has the folder open: they ask it, and say what they say alone.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::running::{Folder, singlet};
use crate::served::{Served, examined, wait_until};

const STORE: &str = "embedded:singlet-data";

fn model(system: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../systems/{system}/model.yaml"))
}

/// Runs a command of a system on the folder that is served.
fn run(folder: &Path, command: &str, system: &str, args: &[&str]) -> Output {
    singlet([command])
        .arg(model(system))
        .args(args)
        .args(["--store", STORE])
        .current_dir(folder)
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

fn said(output: &Output) -> String {
    assert!(!output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What every command that reads a folder says of what nobody changes, in the order of the list.
fn everything(folder: &Path) -> Vec<String> {
    let near = [
        "itemsNear",
        "at=52.2297,21.0122",
        "km=5",
        "--as",
        "kasia",
        "--limit",
        "5",
    ];
    let mut told = vec![
        text(&run(folder, "call", "ecobid", &near)),
        text(&run(
            folder,
            "call",
            "todo",
            &["tasksByStatus", "status=pending", "--as", "ada"],
        )),
        text(&run(
            folder,
            "call",
            "todo",
            &["tasks", "--as", "ada", "--format", "json", "--limit", "2"],
        )),
        // Found by words, which are read from all rows.
        text(&run(
            folder,
            "call",
            "todo",
            &["searchTasks", "text=report", "--as", "ada"],
        )),
        text(&run(
            folder,
            "call",
            "wardrobe",
            &["items", "userId=ines", "--as", "ines"],
        )),
    ];
    for system in ["booking", "country", "ecobid"] {
        told.push(text(&run(folder, "dump", system, &[])));
    }
    // Where a page ended is sealed anew each time.
    let is_kept = |line: &&str| !line.contains("--cursor ") && !line.contains("\"next\": ");
    let kept = |text: &String| text.lines().filter(is_kept).collect::<Vec<_>>().join("\n");
    told.iter().map(kept).collect()
}

#[test]
fn every_command_says_beside_a_service_that_writes_what_it_says_alone() {
    let folder = Folder::new("beside");
    let data = folder.path().join("singlet-data");
    let served = Served::with(folder.path(), {
        let mut command = singlet(["serve"]);
        // What runs by itself changes rows too, and would be seen beside it or not.
        command.args(["--rate", "off", "--no-follow"]);
        command
    })
    .unwrap_or_else(|log| panic!("{log}"));
    let mode = std::fs::metadata(data.join("singlet.sock"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let (ended, written) = (AtomicBool::new(false), AtomicU64::new(0));
    let (beside, made) = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                let body = json!({"Name": "coat", "Category": "Outerwear"}).to_string();
                let number = written.load(Ordering::Relaxed);
                let key = format!("Idempotency-Key: beside-{number}\r\n");
                let made = served.ask_with("POST", "/wardrobe/users/tomas/items", &key, &body);
                assert_eq!(made.unwrap().0, 201);
                written.fetch_add(1, Ordering::Relaxed);
            }
        });
        wait_until("the service writes", || written.load(Ordering::Relaxed) > 0);
        let beside = everything(folder.path());
        // A write too, whose row the service shows at once.
        let made = run(
            folder.path(),
            "call",
            "todo",
            &["createTask", "title=beside", "--as", "grace", "--format", "json"],
        );
        let made: Value = serde_json::from_str(&text(&made)).unwrap();
        let before = written.load(Ordering::Relaxed);
        let shown = run(folder.path(), "call", "todo", &["tasks", "--as", "grace"]);
        assert!(text(&shown).contains("beside"), "{shown:?}");
        // One that a rule refuses is refused by its name.
        let refused = run(
            folder.path(),
            "call",
            "todo",
            &["completeTask", "task_id=01ARZ3NDEKTSV4RRFFQ69G5FAV", "--as", "grace"],
        );
        assert!(!refused.status.success());
        let (code, report) = examined(&data);
        assert_eq!(code, 0, "{report:#}");
        // Rows are loaded beside it, and those that are there are passed over.
        let rows = model("country").with_file_name("sample.jsonl");
        let loaded = run(folder.path(), "load", "country", &[rows.to_str().unwrap()]);
        assert!(text(&loaded).contains("there already"), "{loaded:?}");
        let adopted = run(folder.path(), "load", "country", &[rows.to_str().unwrap(), "--adopt"]);
        assert!(said(&adopted).contains("end it first"), "{adopted:?}");
        wait_until("the service goes on", || written.load(Ordering::Relaxed) > before);
        ended.store(true, Ordering::Relaxed);
        (beside, made)
    });
    let left = std::fs::read_dir(&data).unwrap().flatten();
    let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("doctor-copy"));
    assert_eq!(left.count(), 0);
    assert!(served.end());
    for (alone, beside) in everything(folder.path()).iter().zip(&beside) {
        assert_eq!(alone, beside);
        assert!(alone.lines().count() > 1, "{alone}");
    }
    let id = made["value"]["task_id"].as_str().unwrap();
    let tasks = run(
        folder.path(),
        "call",
        "todo",
        &["task", &format!("task_id={id}"), "--as", "grace", "--format", "json"],
    );
    let task: Value = serde_json::from_str(&text(&tasks)).unwrap();
    assert_eq!(task["value"]["title"], "beside");
    let (code, report) = examined(&data);
    assert_eq!(code, 0, "{report:#}");
}

#[test]
fn a_service_that_ends_halfway_is_said_and_what_it_leaves_is_no_obstacle() {
    let folder = Folder::new("halfway");
    let served = Served::start(folder.path());
    let mut tail = singlet(["changes"])
        .arg(model("todo"))
        .args(["tail", "--store", STORE])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    let (told, hears) = std::sync::mpsc::channel();
    let reading = std::thread::spawn(move || {
        while let Some(Ok(line)) = lines.next() {
            let _ = told.send(line);
        }
    });
    // Until it hears of something it may not have begun.
    wait_until("the command hears of a change", || {
        served
            .ask("POST", "/todo/api/v1/tasks", r#"{"title": "heard"}"#)
            .unwrap();
        hears.try_recv().is_ok()
    });
    served.kill();
    let output = tail.wait_with_output().unwrap();
    reading.join().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("service that has") || said.contains("no service has"),
        "{said}"
    );
    // Killed, it left its socket. Nobody listens there.
    assert!(folder.path().join("singlet-data/singlet.sock").exists());
    let pending = ["tasksByStatus", "status=pending", "--as", "ada", "--limit", "1"];
    assert!(text(&run(folder.path(), "call", "todo", &pending)).contains("heard"));
    // The next service takes its place.
    let served = Served::start(folder.path());
    assert!(text(&run(folder.path(), "call", "todo", &pending)).contains("heard"));
    assert!(served.end());
}

#[test]
fn a_path_that_is_too_long_for_a_socket_is_no_obstacle() {
    let folder = Folder::new("long");
    let deep = folder.path().join("deep-".repeat(20)).join("deeper-".repeat(20));
    std::fs::create_dir_all(&deep).unwrap();
    let served = Served::start(&deep);
    // Named by its whole path, and by one that is short from where one stands.
    let whole = format!("embedded:{}", deep.join("singlet-data").display());
    for store in [whole.as_str(), STORE] {
        let output = singlet(["call"])
            .arg(model("todo"))
            .args(["tasksByStatus", "status=pending", "--as", "ada", "--store", store])
            .current_dir(&deep)
            .output()
            .unwrap();
        assert!(text(&output).contains("read units"), "{output:?}");
    }
    let (code, report) = examined(&deep.join("singlet-data"));
    assert_eq!(code, 0, "{report:#}");
    assert!(served.end());
    assert!(!deep.join("singlet-data/singlet.sock").exists());
}

/// Only root can be somebody else for a while; elsewhere there is nobody to try it as.
#[test]
fn another_user_is_not_answered_even_where_the_socket_lets_them() {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0);
    let can_change = Command::new("setpriv").arg("--version").output().is_ok();
    if !is_root || !can_change {
        eprintln!("SKIPPED: only root can ask as another user, with `setpriv`");
        return;
    }
    let folder = Folder::new("another");
    let served = Served::start(folder.path());
    let data = folder.path().join("singlet-data");
    for (path, mode) in [(data.as_path(), 0o777), (&data.join("singlet.sock"), 0o777)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let mut stranger = Command::new("setpriv");
    stranger.args([
        "--reuid",
        "65534",
        "--regid",
        "65534",
        "--clear-groups",
        "python3",
        "-c",
    ]);
    stranger.arg(
        "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.settimeout(60)\ns.connect(sys.argv[1])\ns.sendall(b'{\"store\":\"list_tables\"}\\n')\nprint(s.makefile().readline())",
    );
    stranger.arg("singlet-data/singlet.sock").current_dir(folder.path());
    let output = stranger.output().unwrap();
    let answer = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => assert!(answer.contains("belongs to another user"), "{answer}"),
        // A folder above may keep them out already, or there is no Python: then nothing was tried.
        false => eprintln!("SKIPPED: {}", String::from_utf8_lossy(&output.stderr)),
    }
    assert!(!answer.contains("todo-app-data"), "{answer}");
    assert!(served.end());
}
