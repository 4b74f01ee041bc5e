//! The console as the command starts it: where it is shown, who the link lets in, and what is in the log.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::running::{Folder, singlet};
use crate::serving::terminate;

/// How long an answer is waited for.
const DEADLINE: Duration = Duration::from_secs(60);

/// A service of one system in memory.
struct Started {
    child: Child,
    greeting: String,
    port: u16,
    /// What is logged: read all the time, so that nobody waits for room.
    log: Option<JoinHandle<String>>,
}

impl Started {
    fn new(folder: &Folder, args: &[&str]) -> Self {
        let model = crate::repository().join("systems/todo/model.yaml");
        let mut child = singlet([
            "serve",
            "--store",
            "memory",
            "--log",
            "json",
            "--log-level",
            "trace",
            "--sample",
        ])
        .arg(&model)
        .args(args)
        .env("SINGLET_SECRET", "a secret of the tests alone")
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let log = std::thread::spawn(move || {
            let mut log = String::new();
            stderr.read_to_string(&mut log).unwrap();
            log
        });
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut greeting = String::new();
        let mut ended = false;
        while let Some(Ok(line)) = lines.next() {
            ended = line.is_empty() && greeting.contains("todo at");
            greeting.push_str(&line);
            greeting.push('\n');
            // The link comes in the same breath as the rest.
            if ended && (greeting.contains("console at") || !expects_link(args)) {
                break;
            }
        }
        if !ended {
            panic!("{greeting}{}", log.join().unwrap());
        }
        let first = greeting.lines().next().unwrap();
        let port = first.rsplit(':').next().unwrap().parse().unwrap();
        Started {
            child,
            greeting,
            port,
            log: Some(log),
        }
    }

    /// The token of the link.
    fn link(&self) -> Option<&str> {
        let line = self.greeting.lines().find_map(|line| line.strip_prefix("console at "));
        line.and_then(|link| link.split_once("/console#"))
            .map(|(_, token)| token)
    }

    /// Status, headers and body, as one text after the status.
    fn send(&self, method: &str, path: &str, cookie: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let host = format!("127.0.0.1:{}", self.port);
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\norigin: http://{host}\r\ncookie: {cookie}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (status, answer)
    }

    /// Ends it; what was logged.
    fn end(mut self) -> String {
        terminate(&self.child);
        self.child.wait().unwrap();
        self.log.take().unwrap().join().unwrap()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether these flags have a console shown, so that its link is waited for.
fn expects_link(args: &[&str]) -> bool {
    let is_public = args.contains(&"0.0.0.0:0");
    let is_off = args.contains(&"off") || args.contains(&"none") || args.contains(&"docs");
    !is_off && (!is_public || args.contains(&"--console"))
}

#[test]
fn the_link_lets_one_in_and_is_in_no_log() {
    let folder = Folder::new("console-link");
    let started = Started::new(&folder, &[]);
    let link = started.link().unwrap().to_owned();
    let sign_in = format!("{{\"link\": \"{link}\"}}");
    let (status, answer) = started.send("POST", "/console/api/session", "", &sign_in);
    assert_eq!(status, 200, "{answer}");
    let cookie = answer
        .lines()
        .find_map(|line| line.strip_prefix("set-cookie: "))
        .unwrap();
    let cookie = cookie.split(';').next().unwrap().to_owned();
    assert_eq!(
        started.send("POST", "/console/api/session", "", &sign_in).0,
        401,
        "it was used"
    );
    let read = r#"{"name": "me", "caller": {"authenticated": true, "claims": {"id": "ada"}}}"#;
    let (status, answer) = started.send("POST", "/console/api/todo/read", &cookie, read);
    assert_eq!(status, 200, "{answer}");
    assert!(answer.contains("Ada Lindqvist"), "{answer}");
    // Findings are those of the file.
    let (_, design) = started.send("GET", "/console/api/todo/design", &cookie, "");
    assert!(design.contains("systems/todo/model.yaml"), "{design}");
    let log = started.end();
    let done = log
        .lines()
        .find(|line| line.contains("\"message\":\"console\""))
        .unwrap_or_default();
    for part in [
        "\"operator\":1",
        "\"action\":\"read\"",
        "\"operation\":\"me\"",
        "\"system\":\"todo\"",
    ] {
        assert!(done.contains(part), "{done}");
    }
    let session = cookie.split_once('=').unwrap().1;
    for hidden in [link.as_str(), session] {
        assert!(!hidden.is_empty() && !log.contains(hidden), "`{hidden}` is in the log");
    }
}

#[test]
fn where_others_can_reach_it_the_console_needs_a_flag() {
    let folder = Folder::new("console-shown");
    for (args, is_shown) in [
        (&[][..], true),
        (&["--console", "read-only"], true),
        (&["--console", "off"], false),
        (&["--surfaces", "none"], false),
        (&["--surfaces", "docs"], false),
        (&["--listen", "0.0.0.0:0"], false),
        (&["--listen", "0.0.0.0:0", "--console"], true),
    ] {
        let started = Started::new(&folder, args);
        let status = started.send("GET", "/console", "", "").0;
        assert_eq!(
            (started.link().is_some(), status == 200),
            (is_shown, is_shown),
            "{args:?}"
        );
        assert!(is_shown || status == 404, "{args:?}");
    }
    let model = crate::repository().join("systems/todo/model.yaml");
    let refused = singlet(["serve", "--store", "memory", "--surfaces", "none"])
        .arg(model)
        .arg("--console")
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("`--surfaces` leaves them out"), "{said}");
}
