//! `singlet serve` and `singlet token` as processes: what they say, what they keep, and how they end.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::running::{Folder, singlet};

/// How long a test waits for what must come.
const DEADLINE: Duration = Duration::from_secs(60);

/// A service that is killed with it.
pub struct Served {
    child: Child,
    greeting: String,
}

impl Served {
    pub fn start(folder: &Folder, args: &[&str]) -> Self {
        let mut child = singlet(["serve", "--listen", "127.0.0.1:0", "--log-level", "warn"])
            .args(args)
            .env_remove("SINGLET_SECRET")
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut greeting = String::new();
        // An empty line after a call ends the greeting of one system; the last one ends all.
        while let Some(Ok(line)) = lines.next() {
            greeting.push_str(&line);
            greeting.push('\n');
            let has_call = line.starts_with("  curl");
            if (has_call || line.is_empty()) && greeting.contains("\necobid at") {
                break;
            }
            if line.is_empty() && args.iter().any(|arg| arg.ends_with(".yaml")) && greeting.contains("  curl") {
                break;
            }
        }
        if !greeting.contains("  curl") {
            let mut complaint = String::new();
            child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
            panic!("{greeting}{complaint}");
        }
        Served { child, greeting }
    }

    /// What it said when it was ready.
    pub fn greeting(&self) -> &str {
        &self.greeting
    }

    pub fn address(&self) -> String {
        let first = self.greeting.lines().next().unwrap();
        first.rsplit("http://").next().unwrap().to_owned()
    }

    /// The calls that the greeting shows: headers and path.
    pub fn calls(&self) -> Vec<(String, String)> {
        let lines = self.greeting.lines().filter_map(|line| line.strip_prefix("  curl "));
        let of = |line: &str| {
            let quoted: Vec<&str> = line.split('\'').collect();
            let path = quoted[3].split_once(&self.address()).unwrap().1;
            (quoted[1].to_owned(), path.to_owned())
        };
        lines.map(of).collect()
    }

    /// Asks it to end, and whether it ended well.
    pub fn end(mut self) -> bool {
        terminate(&self.child);
        self.child.wait().unwrap().success()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `kill -TERM`.
pub fn terminate(child: &Child) {
    let killed = std::process::Command::new("kill")
        .arg("-TERM")
        .arg(child.id().to_string())
        .status()
        .unwrap();
    assert!(killed.success());
}

/// Status and body; none where the service would not take the request.
pub fn ask(address: &str, method: &str, path: &str, header: &str, body: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\n{header}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let status = answer.split(' ').nth(1)?.parse().ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    match head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        true => Some((status, joined_chunks(body)?)),
        false => Some((status, body.to_owned())),
    }
}

/// The answer of a service that may have just begun: it says 503 and when to come again while its index of words is read.
fn ask_until_ready(address: &str, path: &str, header: &str) -> (u16, String) {
    let began = Instant::now();
    loop {
        let (status, body) = ask(address, "GET", path, header, "").unwrap();
        if status != 503 || began.elapsed() > DEADLINE {
            return (status, body);
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// What was sent in pieces, each after its length in hexadecimal digits.
fn joined_chunks(mut body: &str) -> Option<String> {
    let mut whole = String::new();
    loop {
        let (length, rest) = body.split_once("\r\n")?;
        let length = usize::from_str_radix(length, 16).ok()?;
        if length == 0 {
            return Some(whole);
        }
        whole.push_str(rest.get(..length)?);
        body = rest.get(length..)?.strip_prefix("\r\n")?;
    }
}

#[test]
fn in_an_empty_folder_every_call_that_is_shown_works_and_rows_stay() {
    let folder = Folder::new("serve-empty");
    let served = Served::start(&folder, &[]);
    assert!(
        served.greeting.starts_with("5 systems at http://127.0.0.1:"),
        "{}",
        served.greeting
    );
    assert!(
        served.greeting.contains("\ndata in singlet-data\n"),
        "{}",
        served.greeting
    );
    let calls = served.calls();
    assert_eq!(calls.len(), 5);
    for (header, path) in &calls {
        let (status, body) = ask(&served.address(), "GET", path, header, "").unwrap();
        assert_eq!(status, 200, "{path}: {body}");
    }
    let (header, _) = &calls[0];
    let (status, task) = ask(
        &served.address(),
        "POST",
        "/todo/api/v1/tasks",
        header,
        r#"{"title": "stay"}"#,
    )
    .unwrap();
    assert_eq!(status, 201, "{task}");
    assert!(served.end());
    secret_is_private(&folder.path().join("singlet-data/secret"));
    // The same secret, so the same tokens; the same rows, and no sample row twice.
    let again = Served::start(&folder, &[]);
    let (status, tasks) = ask_until_ready(&again.address(), "/todo/api/v1/tasks?q=stay", header);
    assert_eq!(status, 200, "{tasks}");
    assert_eq!(tasks.matches("\"title\":\"stay\"").count(), 1, "{tasks}");
    let token = singlet(["token", "booking", "--as", "elena", "--claim", "role=admin"])
        .env_remove("SINGLET_SECRET")
        .current_dir(folder.path())
        .output()
        .unwrap();
    let bearer = format!(
        "Authorization: Bearer {}",
        String::from_utf8(token.stdout).unwrap().trim()
    );
    let (status, _) = ask(
        &again.address(),
        "GET",
        "/booking/admin/bookings?status=pending",
        &bearer,
        "",
    )
    .unwrap();
    assert_eq!(status, 200);
}

/// Claims that decide which rows are found are those of a row that is there, beside what `allow` asks for.
#[test]
fn the_call_that_is_shown_for_a_model_of_ones_own_is_of_somebody_who_has_rows() {
    const MODEL: &str = r#"singlet: 1
name: desk
table: {name: desk, key: {partition: PK, sort: SK}, type: kind}
types: {Status: {enum: [open, closed]}}
callers: {jwt: {audience: desk, claims: {id: sub, tenant: org.tenant, groups: {claim: groups, type: list(string)}}}}
entities:
  Ticket:
    attributes: {tenant: string 1..40, ticket: string 1..40, agent: string 1..64, status: Status}
    key: {PK: "TENANT#{tenant}", SK: "{ticket}"}
reads:
  queue:
    find: Ticket
    where: tenant == caller.tenant && agent == caller.id && status == "open"
    allow: '"agent" in caller.groups'
    http: GET /queue
"#;
    let folder = Folder::new("serve-first-call");
    folder.write("model.yaml", MODEL.as_bytes());
    let row = |ticket: &str, agent: &str, status: &str| {
        format!(
            "{{\"Ticket\": {{\"tenant\": \"acme\", \"ticket\": \"{ticket}\", \"agent\": \"{agent}\", \"status\": \"{status}\"}}}}\n"
        )
    };
    let rows = row("a", "bob", "closed") + &row("b", "ada", "open");
    folder.write("sample.jsonl", rows.as_bytes());
    let served = Served::start(&folder, &["model.yaml", "--sample"]);
    let calls = served.calls();
    let [(header, path)] = calls.as_slice() else {
        panic!("{}", served.greeting)
    };
    let (status, body) = ask(&served.address(), "GET", path, header, "").unwrap();
    assert_eq!(status, 200, "{body}");
    assert!(
        body.contains("\"ticket\":\"b\"") && !body.contains("\"ticket\":\"a\""),
        "{body}"
    );
}

/// The calls of the page are real ones, made by `curl`.
#[test]
fn what_the_page_on_serving_shows_is_what_curl_gets() {
    let curl = std::process::Command::new("curl").arg("--version").output();
    if curl.is_err() {
        eprintln!("SKIPPED: there is no curl here");
        return;
    }
    let folder = Folder::new("serve-page");
    let served = Served::start(&folder, &[]);
    let token = |args: &[&str]| {
        let output = singlet(["token"])
            .args(args)
            .env_remove("SINGLET_SECRET")
            .current_dir(folder.path())
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/serve.md")).unwrap();
    let blocks = page
        .split("```curl\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap());
    let mut count = 0;
    for block in blocks {
        let lines: Vec<&str> = block.lines().collect();
        for pair in lines.chunks(2) {
            let [call, wanted] = pair else { panic!("{block}") };
            let output = std::process::Command::new("sh")
                .args(["-c", &call.replacen("curl ", "curl -s -w '\n%{http_code}' ", 1)])
                .env("BASE", format!("http://{}", served.address()))
                .env("TODO", token(&["todo", "--as", "ada"]))
                .env("COUNTRY", token(&["country", "--claim", "role=writer"]))
                .output()
                .unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let (body, status) = text.rsplit_once('\n').unwrap();
            let shown = format!("# {status} {body}");
            assert!(shown.starts_with(wanted), "{call}\n{shown}");
            count += 1;
        }
    }
    assert!(count >= 8);
}

#[cfg(unix)]
fn secret_is_private(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[cfg(not(unix))]
fn secret_is_private(path: &Path) {
    assert!(path.exists());
}

/// `kill -TERM` under load: whatever was acknowledged is there afterwards, and nobody's answer is cut.
#[test]
fn the_end_under_load_loses_no_write_and_cuts_no_answer() {
    let folder = Folder::new("serve-end");
    let served = Served::start(&folder, &[]);
    let address = served.address();
    let (header, _) = served.calls().remove(0);
    let acknowledged = Mutex::new(Vec::new());
    let cut = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let (address, header, acknowledged, cut) = (&address, &header, &acknowledged, &cut);
            scope.spawn(move || {
                for turn in 0.. {
                    let title = format!("load {worker}-{turn}");
                    let Ok(mut stream) = TcpStream::connect(address) else { return };
                    let body = format!("{{\"title\": \"{title}\"}}");
                    let request = format!(
                        "POST /todo/api/v1/tasks HTTP/1.1\r\nhost: x\r\n{header}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                        body.len()
                    );
                    let mut answer = String::new();
                    let sent = stream.write_all(request.as_bytes()).is_ok();
                    let read = stream.read_to_string(&mut answer).is_ok();
                    match answer.starts_with("HTTP/1.1 201") && answer.ends_with('}') {
                        true => acknowledged.lock().unwrap().push(title),
                        // The socket was closed before it took anything.
                        false if answer.is_empty() || !sent || !read => return,
                        false => cut.lock().unwrap().push(answer),
                    }
                }
            });
        }
        let started = Instant::now();
        while acknowledged.lock().unwrap().len() < 40 && started.elapsed() < DEADLINE {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(served.end(), "the service did not end well");
    });
    let acknowledged = acknowledged.into_inner().unwrap();
    assert!(acknowledged.len() >= 40, "only {} writes", acknowledged.len());
    assert_eq!(cut.into_inner().unwrap(), Vec::<String>::new());
    let again = Served::start(&folder, &[]);
    let mut seen = String::new();
    let mut path = "/todo/api/v1/tasks?limit=100".to_owned();
    loop {
        let (status, page) = ask(&again.address(), "GET", &path, &header, "").unwrap();
        assert_eq!(status, 200, "{page}");
        seen.push_str(&page);
        let page: serde_json::Value = serde_json::from_str(&page).unwrap();
        match page["next"].as_str() {
            Some(next) => path = format!("/todo/api/v1/tasks?limit=100&cursor={next}"),
            None => break,
        }
    }
    for title in acknowledged {
        assert!(seen.contains(&format!("\"{title}\"")), "`{title}` is lost");
    }
}

#[test]
fn a_changed_model_is_taken_when_it_checks_clean_and_only_then() {
    let folder = Folder::new("serve-watch");
    let systems = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systems/todo");
    let model = fs::read_to_string(systems.join("model.yaml")).unwrap();
    folder.write("model.yaml", model.as_bytes());
    let served = Served::start(&folder, &["model.yaml", "--store", "memory", "--watch"]);
    let (header, _) = served.calls().remove(0);
    let status = |path: &str| ask(&served.address(), "GET", path, &header, "").unwrap().0;
    assert_eq!((status("/todo/api/v1/tasks"), status("/todo/api/v2/tasks")), (200, 404));
    let until = |path: &str, wanted: u16| {
        let started = Instant::now();
        while status(path) != wanted {
            assert!(started.elapsed() < DEADLINE, "{path} is not {wanted}");
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    // A change is seen by what the file says: its time may not move where writes follow each other closely.
    let file = || {
        fs::File::options()
            .write(true)
            .open(folder.path().join("model.yaml"))
            .unwrap()
    };
    let written = file().metadata().unwrap().modified().unwrap();
    folder.write("model.yaml", model.replace("/api/v1/", "/api/v2/").as_bytes());
    file().set_modified(written).unwrap();
    until("/todo/api/v2/tasks", 200);
    assert_eq!(status("/todo/api/v1/tasks"), 404);
    folder.write("model.yaml", model.replace("find: Task", "find: Tusk").as_bytes());
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(status("/todo/api/v2/tasks"), 200);
    // Another key would not fit the table that is there.
    folder.write("model.yaml", model.replace("GSI4PK", "GSI9PK").as_bytes());
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(status("/todo/api/v2/tasks"), 200);
}

#[test]
fn flags_go_before_the_environment_and_that_before_the_file() {
    let folder = Folder::new("serve-config");
    folder.write("singlet.toml", b"store = \"embedded:from-file\"\nread_only = true\n");
    let outcome = |args: &[&str], environment: Option<&str>| {
        let mut command = singlet(["serve", "--config", "singlet.toml", "--listen", "nowhere"]);
        command
            .args(args)
            .env_remove("SINGLET_SECRET")
            .current_dir(folder.path());
        if let Some(store) = environment {
            command.env("SINGLET_STORE", store);
        }
        // It ends where it would listen: by then the data has a place.
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let of = |name: &str| folder.path().join(name).exists();
        (of("from-file"), of("from-environment"), of("from-flag"))
    };
    assert_eq!(
        outcome(&["--store", "embedded:from-flag"], Some("embedded:from-environment")),
        (false, false, true)
    );
    assert_eq!(outcome(&[], Some("embedded:from-environment")), (false, true, true));
    assert_eq!(outcome(&[], None), (true, true, true));
}

#[test]
fn no_secret_is_in_the_log_or_in_a_message() {
    let folder = Folder::new("serve-secret");
    let secret = "a-secret-nobody-may-see-0123456789";
    let mut child = singlet([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--store",
        "memory",
        "--log",
        "json",
        "--log-level",
        "trace",
    ])
    .env("SINGLET_SECRET", secret)
    .current_dir(folder.path())
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let address = first.rsplit("http://").next().unwrap().to_owned();
    let mut token = String::new();
    for line in lines.map_while(Result::ok) {
        if let Some(bearer) = line.split("Bearer ").nth(1) {
            token = bearer.split('\'').next().unwrap().to_owned();
        }
        if line.starts_with("ecobid") {
            break;
        }
    }
    ask(
        &address,
        "GET",
        "/todo/api/v1/tasks?q=private-words",
        &format!("Authorization: Bearer {token}"),
        "",
    )
    .unwrap();
    terminate(&child);
    let mut log = String::new();
    child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    child.wait().unwrap();
    assert!(log.contains("\"path\":\"/todo/api/v1/tasks\""), "{log}");
    for hidden in [secret, token.as_str(), "private-words"] {
        assert!(!hidden.is_empty() && !log.contains(hidden), "`{hidden}` is in the log");
    }
}

/// Somebody may be serving on the usual port while the tests run.
#[test]
fn no_test_needs_the_usual_port() {
    let _taken = std::net::TcpListener::bind("127.0.0.1:8080");
    let output = singlet(["serve", "--store", "memory", "--set", "todo.speed=1"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("`todo` has no setting `speed`"), "{said}");
}

/// From an empty folder to the first answer: what is printed works as it stands, also where a list needs more than an id.
#[test]
fn the_call_that_is_shown_for_a_model_of_ones_own_is_answered() {
    let folder = Folder::new("first-call");
    let done = singlet(["init"]).current_dir(folder.path()).status().unwrap();
    assert!(done.success());
    let served = Served::start(&folder, &["model.yaml", "--sample", "--store", "embedded:own"]);
    let (header, path) = served.calls().remove(0);
    let (status, body) = ask(&served.address(), "GET", &path, &header, "").unwrap();
    assert!(status == 200 && body.contains("printer"), "{status} {body}");
    // The token of a folder that is not the usual one.
    let token = singlet(["token", "model.yaml", "--as", "ada", "--store", "embedded:own"])
        .current_dir(folder.path())
        .env_remove("SINGLET_SECRET")
        .output()
        .unwrap();
    let token = String::from_utf8(token.stdout).unwrap();
    let header = format!("Authorization: Bearer {}", token.trim());
    let (status, body) = ask(&served.address(), "GET", "/desk/tickets", &header, "").unwrap();
    assert!(status == 200 && body.contains("engine"), "{status} {body}");
    drop(served);
    for allow in [
        "caller.role == \\\"desk\\\"",
        "caller.role in [\\\"boss\\\", \\\"desk\\\"]",
        "\\\"night\\\" in caller.groups && caller.authenticated",
    ] {
        let model = format!(
            "singlet: 1\nname: own\ntable: {{name: own, key: {{partition: PK, sort: SK}}, type: kind, recovery: point_in_time}}\n\
             callers: {{jwt: {{audience: own, claims: {{id: user_id, role: role, groups: {{claim: realm.groups, type: list(string)}}}}}}}}\n\
             entities:\n  Note:\n    attributes: {{who: string 1..9, at: date}}\n    key: {{PK: \"WHO#{{who}}\", SK: \"{{at}}\"}}\n\
             reads:\n  notes: {{find: Note, where: who == caller.id, allow: \"{allow}\", http: GET /notes}}\n"
        );
        fs::write(folder.path().join("own.yaml"), model).unwrap();
        let served = Served::start(&folder, &["own.yaml", "--store", "memory"]);
        let (header, path) = served.calls().remove(0);
        let answered = ask(&served.address(), "GET", &path, &header, "").unwrap();
        assert_eq!(answered.0, 200, "{allow}: {}", answered.1);
    }
}
