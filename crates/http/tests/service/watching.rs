//! Reads that are watched, by a client that keeps what it is told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value as Json;
use singlet_http::Proxies;

use crate::client::connect;
use crate::running::{Options, Running, now, start, system, token};

/// A client that keeps the rows it was told.
pub struct Watcher {
    stream: BufReader<TcpStream>,
    pub held: Vec<Json>,
    /// The id of the last event.
    last: Option<String>,
    names: Vec<String>,
}

impl Watcher {
    fn open(running: &Running, path: &str, credentials: &str, more: &str) -> Self {
        Self::open_with(running, path, &format!("authorization: {credentials}\r\n{more}"))
    }

    /// With these headers alone.
    pub fn open_with(running: &Running, path: &str, headers: &str) -> Self {
        let (head, stream) = Self::ask(running, path, headers);
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(head.contains("content-type: text/event-stream\r\n"), "{head}");
        assert!(!head.contains("content-encoding"), "{head}");
        Watcher {
            stream,
            held: Vec::new(),
            last: None,
            names: Vec::new(),
        }
    }

    /// The head of what is answered, and where the rest is to come from.
    fn ask(running: &Running, path: &str, headers: &str) -> (String, BufReader<TcpStream>) {
        let mut stream = connect(running.address);
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\naccept-encoding: gzip\r\n{headers}\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut stream = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(stream.read_line(&mut head).unwrap(), 0, "{head}");
        }
        (head, stream)
    }

    /// Takes the next chunk; whether there was one.
    pub fn next_chunk(&mut self) -> bool {
        let mut size = String::new();
        if self.stream.read_line(&mut size).unwrap_or(0) == 0 {
            return false;
        }
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        let mut chunk = vec![0; size + 2];
        self.stream.read_exact(&mut chunk).unwrap();
        let text = String::from_utf8(chunk[..size].to_vec()).unwrap();
        for event in text.split("\n\n").filter(|event| !event.is_empty() && *event != ":") {
            let line = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            let data: Json = serde_json::from_str(line("data: ")).unwrap();
            let at = || usize::try_from(data["at"].as_u64().unwrap()).unwrap();
            let name = line("event: ");
            match name {
                "page" => self.held = data["items"].as_array().unwrap().clone(),
                "removed" => drop(self.held.remove(at())),
                "added" => self.held.insert(at(), data["item"].clone()),
                "changed" => self.held[at()] = data["item"].clone(),
                other => panic!("{other}"),
            }
            self.names.push(name.to_owned());
            self.last = Some(line("id: ").to_owned());
        }
        size > 0
    }

    /// Takes chunks until it holds these rows.
    pub fn until(&mut self, rows: &[Json]) {
        while self.held != rows {
            assert!(self.next_chunk(), "it ended with {:?}", self.held);
        }
    }
}

fn only_todo() -> Running {
    start(Options {
        only: Some(&["todo", "country"]),
        ..Options::default()
    })
}

pub fn create(running: &Running, caller: &str, title: &str) -> String {
    let body = format!(r#"{{"title": "{title}"}}"#);
    let created = running.call("todo", caller, "POST", "/api/v1/tasks", &[], &body);
    assert_eq!(created.status, 201, "{}", created.text());
    created.json()["task_id"].as_str().unwrap().to_owned()
}

pub fn answered(running: &Running, caller: &str, path: &str) -> Vec<Json> {
    running.get("todo", caller, path).json()["items"]
        .as_array()
        .unwrap()
        .clone()
}

pub const PENDING: &str = "/api/v1/tasks?status=pending&limit=5";

#[test]
fn what_comes_changes_and_goes_is_told_and_nothing_of_others() {
    let running = only_todo();
    let (_, ada) = running.credentials("todo", "ada");
    let mut watcher = Watcher::open(&running, &format!("/todo{PENDING}"), &ada, "");
    watcher.until(&answered(&running, "ada", PENDING));
    assert_eq!(watcher.names, ["page"]);
    create(&running, "linus", "nobody else's business");
    let id = create(&running, "ada", "watched");
    watcher.until(&answered(&running, "ada", PENDING));
    assert_eq!(watcher.held[0]["title"], "watched");
    let task = format!("/api/v1/tasks/{id}");
    assert_eq!(
        running
            .call(
                "todo",
                "ada",
                "PATCH",
                &task,
                &[("if-match", "\"1\"")],
                r#"{"title": "renamed"}"#
            )
            .status,
        200
    );
    watcher.until(&answered(&running, "ada", PENDING));
    assert_eq!(watcher.held[0]["title"], "renamed");
    let done = running.call(
        "todo",
        "ada",
        "POST",
        &format!("{task}/complete"),
        &[("if-match", "\"2\"")],
        "",
    );
    assert_eq!(done.status, 200, "{}", done.text());
    watcher.until(&answered(&running, "ada", PENDING));
    assert!(
        watcher
            .held
            .iter()
            .all(|row| row["user_id"] == "ada" && row["status"] == "pending")
    );
    assert!(!watcher.names[1..].contains(&"page".to_owned()), "{:?}", watcher.names);
}

#[test]
fn who_returns_is_told_what_is_new_and_nothing_else() {
    let running = only_todo();
    let (_, ada) = running.credentials("todo", "ada");
    let path = format!("/todo{PENDING}");
    let mut watcher = Watcher::open(&running, &path, &ada, "");
    watcher.until(&answered(&running, "ada", PENDING));
    let (held, last) = (watcher.held.clone(), watcher.last.clone().unwrap());
    drop(watcher);
    let mut again = Watcher::open(&running, &path, &ada, &format!("last-event-id: {last}\r\n"));
    again.held = held;
    create(&running, "ada", "after it returned");
    again.until(&answered(&running, "ada", PENDING));
    assert!(!again.names.contains(&"page".to_owned()), "{:?}", again.names);
    drop(again);
    create(&running, "ada", "while it was gone");
    let mut late = Watcher::open(&running, &path, &ada, &format!("last-event-id: {last}\r\n"));
    late.until(&answered(&running, "ada", PENDING));
    assert_eq!(late.names, ["page"]);
}

#[test]
fn whatever_is_written_each_watcher_ends_with_what_its_read_answers() {
    let running = only_todo();
    let callers = ["ada", "linus"];
    let paths = [
        PENDING,
        "/api/v1/tasks?limit=3",
        "/api/v1/tasks?sort=status&limit=7",
        "/api/v1/tasks?priority=high",
    ];
    let mut watchers: Vec<(&str, &str, Watcher)> = Vec::new();
    for caller in callers {
        let (_, credentials) = running.credentials("todo", caller);
        for path in paths {
            watchers.push((
                caller,
                path,
                Watcher::open(&running, &format!("/todo{path}"), &credentials, ""),
            ));
        }
    }
    let mut random = fastrand::Rng::with_seed(11);
    let mut tasks: Vec<(&str, String)> = Vec::new();
    for step in 0..60 {
        let caller = callers[random.usize(..2)];
        match random.u8(..4) {
            0 if !tasks.is_empty() => {
                let (owner, id) = tasks.swap_remove(random.usize(..tasks.len()));
                running.call(
                    "todo",
                    owner,
                    "DELETE",
                    &format!("/api/v1/tasks/{id}"),
                    &[("if-match", "*")],
                    "",
                );
            }
            1 if !tasks.is_empty() => {
                let (owner, id) = &tasks[random.usize(..tasks.len())];
                let body = [r#"{"priority": "high"}"#, r#"{"priority": "low"}"#][random.usize(..2)];
                running.call(
                    "todo",
                    owner,
                    "PATCH",
                    &format!("/api/v1/tasks/{id}"),
                    &[("if-match", "*")],
                    body,
                );
            }
            2 if !tasks.is_empty() => {
                let (owner, id) = &tasks[random.usize(..tasks.len())];
                running.call(
                    "todo",
                    owner,
                    "POST",
                    &format!("/api/v1/tasks/{id}/complete"),
                    &[("if-match", "*")],
                    "",
                );
            }
            _ => tasks.push((caller, create(&running, caller, &format!("task {step}")))),
        }
    }
    for (caller, path, watcher) in &mut watchers {
        watcher.until(&answered(&running, caller, path));
        assert!(watcher.held.iter().all(|row| row["user_id"] == *caller));
    }
}

#[test]
fn what_cannot_be_watched_says_so() {
    let running = only_todo();
    let only = [("accept", "text/event-stream")];
    let one = format!("/api/v1/tasks/{}", create(&running, "ada", "one"));
    assert_eq!(
        running.call("todo", "ada", "GET", &one, &only, "").problem(),
        "not_watchable"
    );
    let either = [("accept", "text/event-stream, application/json;q=0.5")];
    assert_eq!(running.call("todo", "ada", "GET", &one, &either, "").status, 200);
    // A quality of zero says what is not wanted.
    for refused in [
        "text/event-stream;q=0, */*",
        "text/event-stream ; Q=0.000, application/json",
    ] {
        let answer = running.call("todo", "ada", "GET", PENDING, &[("accept", refused)], "");
        assert!(answer.json()["items"].is_array(), "{refused}: {}", answer.text());
    }
    // Versions of the past do not change.
    let countries = running.call(
        "country",
        "reader",
        "GET",
        "/api/v1/countries/code/PL/history",
        &only,
        "",
    );
    assert_eq!((countries.status, countries.problem().as_str()), (406, "not_watchable"));
    let refused = running.call("todo", "ada", "GET", "/api/v1/tasks?cursor=abc", &only, "");
    assert_eq!(refused.status, 400, "{}", refused.text());
    assert_eq!(running.call("todo", "-", "GET", "/api/v1/tasks", &only, "").status, 401);
}

#[test]
fn watching_ends_with_the_token() {
    let running = only_todo();
    let mut claims = token("todo", &[("sub", "ada")]);
    // Clocks may differ by half a minute.
    claims.expires = now() - 27;
    let credentials = format!("Bearer {}", claims.sign_token(&running.secret).unwrap());
    let mut watcher = Watcher::open(&running, "/todo/api/v1/tasks?limit=2", &credentials, "");
    assert!(watcher.next_chunk());
    let mut told = 0;
    loop {
        create(&running, "ada", "again");
        if !watcher.next_chunk() {
            break;
        }
        told += 1;
        assert!(told < 1_000, "it goes on and on");
    }
    assert_eq!(running.call("todo", "ada", "GET", "/api/v1/tasks", &[], "").status, 200);
}

#[test]
fn watching_ends_with_the_service() {
    let mut running = only_todo();
    let (_, ada) = running.credentials("todo", "ada");
    let mut watcher = Watcher::open(&running, "/todo/api/v1/tasks", &ada, "");
    assert!(watcher.next_chunk());
    running.ask_to_end();
    while watcher.next_chunk() {}
    assert!(running.wait());
}

/// What another model shows, and to whom, is for that one to say.
#[test]
fn watching_ends_with_the_model() {
    let running = only_todo();
    let (_, ada) = running.credentials("todo", "ada");
    let mut watcher = Watcher::open(&running, "/todo/api/v1/tasks", &ada, "");
    assert!(watcher.next_chunk());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let next = runtime.block_on(system("todo", &Options::default()));
    running.service.replace_system(next);
    while watcher.next_chunk() {}
    let mut again = Watcher::open(&running, "/todo/api/v1/tasks", &ada, "");
    assert!(again.next_chunk());
}

/// However many connections a proxy has, each client behind it has its own bound.
#[test]
fn one_client_does_not_take_the_places_of_all() {
    let running = start(Options {
        proxies: Proxies::from_networks(&["127.0.0.0/8"]).unwrap(),
        only: Some(&["todo"]),
        ..Options::default()
    });
    let (_, ada) = running.credentials("todo", "ada");
    let ask = |client: &str| {
        let client = format!("x-forwarded-for: {client}\r\n");
        let (head, stream) = Watcher::ask(
            &running,
            "/todo/api/v1/tasks?limit=1",
            &format!("authorization: {ada}\r\n{client}"),
        );
        (head["HTTP/1.1 ".len()..][..3].to_owned(), stream)
    };
    let held: Vec<_> = (0..200).map(|_| ask("198.51.100.1")).collect();
    assert!(held.iter().all(|(status, _)| status == "200"));
    assert_eq!(ask("198.51.100.1").0, "429");
    assert_eq!(ask("198.51.100.2").0, "200");
    // Who leaves makes room.
    drop(held);
    while ask("198.51.100.1").0 != "200" {}
}
