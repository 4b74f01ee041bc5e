//! The console lets nobody in who should not be in.

use std::time::Duration;

use serde_json::json;
use singlet_console::{IDLE_TIME_MAX, LINK_TIME_MAX};
use singlet_http::{ConsoleShown, Surfaces};

use crate::client::send;
use crate::running::{Options, Running, known_system, start, system};

fn todo(options: Options) -> Running {
    start(vec![known_system("todo")], options)
}

/// Every way to ask for something of a system.
const VIEWS: [(&str, &str); 13] = [
    ("GET", "session"),
    ("GET", "todo/design"),
    ("POST", "todo/rows"),
    ("POST", "todo/row"),
    ("GET", "todo/export?entity=Task"),
    ("GET", "todo/operations"),
    ("POST", "todo/read"),
    ("POST", "todo/dry-run"),
    ("POST", "todo/write"),
    ("POST", "todo/scenario"),
    ("POST", "todo/changes"),
    ("GET", "todo/followers"),
    ("GET", "todo/cost"),
];

fn body_of(method: &str) -> &'static str {
    if method == "POST" { "{}" } else { "" }
}

#[test]
fn without_a_session_nothing_is_shown() {
    let running = todo(Options::default());
    let others = ["", "singlet-console-1=x", "session=x"];
    for (method, view) in VIEWS {
        let path = format!("/console/api/{view}");
        assert_eq!(running.ask(method, &path, None, body_of(method)).status, 401, "{view}");
        for cookie in others {
            assert_eq!(
                running.ask(method, &path, Some(cookie), body_of(method)).status,
                401,
                "{view}"
            );
        }
        let forged = format!("singlet-console-{}=AAAA", running.address.port());
        assert_eq!(
            running.ask(method, &path, Some(&forged), body_of(method)).status,
            401,
            "{view}"
        );
    }
    let cookie = running.sign_in();
    for (method, view) in VIEWS {
        let path = format!("/console/api/{view}");
        let status = running.ask(method, &path, Some(&cookie), body_of(method)).status;
        assert!([200, 400].contains(&status), "{view}: {status}");
    }
}

#[test]
fn a_link_works_once_and_for_ten_minutes() {
    let running = todo(Options::default());
    let sign_in = |link: &str| {
        let body = json!({"link": link}).to_string();
        running.ask("POST", "/console/api/session", None, &body).status
    };
    let link = running.link();
    assert_eq!(sign_in(&link), 200);
    assert_eq!(sign_in(&link), 401, "it was used");
    for wrong in ["", "x", &link[..link.len() - 1]] {
        assert_eq!(sign_in(wrong), 401, "{wrong}");
    }
    for body in ["", "[]", "{}", "{\"link\": 1}", "{\"link\": null}", "nonsense"] {
        let reply = running.ask("POST", "/console/api/session", None, body);
        assert_eq!(reply.status, 401, "{body}");
    }
    let old = running.link();
    running.pass(LINK_TIME_MAX);
    assert_eq!(sign_in(&old), 401, "it is too old");
}

#[test]
fn a_session_ends_when_idle_and_when_signed_out_and_is_one_persons() {
    let running = todo(Options::default());
    let (one, other) = (running.sign_in(), running.sign_in());
    assert_ne!(one, other);
    let status = |cookie: &str| running.ask("GET", "/console/api/session", Some(cookie), "").status;
    running.pass(IDLE_TIME_MAX - Duration::from_secs(5));
    assert_eq!(status(&one), 200);
    running.pass(Duration::from_secs(10));
    assert_eq!((status(&one), status(&other)), (200, 401), "the other was idle");
    assert_eq!(
        running.ask("DELETE", "/console/api/session", Some(&one), "").status,
        200
    );
    assert_eq!(status(&one), 401);
    // What one reads, no other reads on.
    let (one, other) = (running.sign_in(), running.sign_in());
    let reader = running.post(&one, "todo/changes", &json!({}))["reader"].clone();
    let body = json!({"reader": reader}).to_string();
    let foreign = running.ask("POST", "/console/api/todo/changes", Some(&other), &body);
    assert_eq!(foreign.status, 404);
    // And no session is that of another service.
    let elsewhere = todo(Options::default());
    assert_eq!(elsewhere.ask("GET", "/console/api/session", Some(&one), "").status, 401);
}

#[test]
fn the_cookie_is_for_the_page_alone() {
    let running = todo(Options::default());
    let body = json!({"link": running.link()}).to_string();
    let reply = running.ask("POST", "/console/api/session", None, &body);
    let cookie = reply.header("set-cookie").unwrap();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/console"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Max-Age") && !cookie.contains("Expires"), "{cookie}");
}

#[test]
fn another_host_is_refused() {
    let running = todo(Options::default());
    let cookie = running.sign_in();
    let port = running.address.port();
    let status = |hosts: &[&str]| {
        let mut headers: Vec<(&str, &str)> = hosts.iter().map(|host| ("host", *host)).collect();
        headers.push(("cookie", &cookie));
        let reply = send(running.local(), "GET", "/console/api/session", &headers, "");
        (reply.status, reply.error())
    };
    let own = format!("127.0.0.1:{port}");
    assert_eq!(status(&[&own]).0, 200);
    assert_eq!(status(&[&format!("localhost:{port}")]).0, 200);
    for wrong in [
        "rebound.example".to_owned(),
        format!("rebound.example:{port}"),
        format!("127.0.0.1.rebound.example:{port}"),
        format!("192.0.2.1:{port}"),
        "127.0.0.1:1".to_owned(),
    ] {
        assert_eq!(status(&[&wrong]), (403, "wrong_host".to_owned()), "{wrong}");
    }
    assert_ne!(status(&[&own, "rebound.example"]).0, 200);
    let page = send(running.local(), "GET", "/console", &[("host", "rebound.example")], "");
    assert_eq!(page.status, 403);
}

#[test]
fn a_page_elsewhere_is_refused() {
    let running = todo(Options::default());
    let cookie = running.sign_in();
    let host = running.host();
    let ask = |method: &str, more: &[(&str, &str)]| {
        let mut headers = vec![
            ("host", host.as_str()),
            ("cookie", cookie.as_str()),
            ("content-type", "application/json"),
        ];
        headers.extend(more);
        let (view, body) = if method == "POST" {
            ("rows", "{}")
        } else {
            ("design", "")
        };
        send(
            running.local(),
            method,
            &format!("/console/api/todo/{view}"),
            &headers,
            body,
        )
        .status
    };
    let own = format!("http://{host}");
    assert_eq!(ask("POST", &[("origin", &own)]), 200);
    assert_eq!(ask("POST", &[]), 403, "who writes says where they are");
    let port = running.address.port();
    for wrong in [
        "null",
        "http://evil.example",
        "https://evil.example",
        "",
        &format!("https://{host}"),
        &format!("http://localhost:{port}"),
        &format!("http://{host}.evil.example"),
        &format!("http://127.0.0.1:{}", port.wrapping_add(1)),
        "file://",
    ] {
        for method in ["GET", "POST"] {
            assert_eq!(ask(method, &[("origin", wrong)]), 403, "{method} {wrong}");
        }
    }
    for site in ["cross-site", "same-site"] {
        assert_eq!(ask("POST", &[("origin", &own), ("sec-fetch-site", site)]), 403);
        assert_eq!(ask("GET", &[("sec-fetch-site", site)]), 403);
    }
    // A form of another page sends no JSON.
    for media in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let headers = [
            ("host", host.as_str()),
            ("cookie", &cookie),
            ("origin", &own),
            ("content-type", media),
        ];
        let reply = send(running.local(), "POST", "/console/api/todo/rows", &headers, "{}");
        assert_eq!(reply.status, 415, "{media}");
    }
}

#[test]
fn what_a_proxy_forwards_is_refused_unless_the_proxy_is_named() {
    const FORWARDED: [(&str, &str); 5] = [
        ("forwarded", "for=192.0.2.1"),
        ("x-forwarded-for", "192.0.2.1"),
        ("x-forwarded-host", "console.example"),
        ("x-real-ip", "192.0.2.1"),
        ("via", "1.1 tunnel"),
    ];
    let running = todo(Options::default());
    let cookie = running.sign_in();
    let host = running.host();
    for (name, value) in FORWARDED {
        let headers = [("host", host.as_str()), ("cookie", &cookie), (name, value)];
        let reply = send(running.local(), "GET", "/console/api/session", &headers, "");
        assert_eq!((reply.status, reply.error()), (403, "forwarded".to_owned()), "{name}");
        let page = send(running.local(), "GET", "/console", &headers, "");
        assert_eq!(page.status, 403, "{name}");
    }
    let named = todo(Options {
        proxies: vec!["127.0.0.1"],
        hosts: vec!["console.example"],
        shown: ConsoleShown::Anywhere,
        ..Options::default()
    });
    let sign_in = |host: &str| {
        let body = json!({"link": named.link()}).to_string();
        let origin = format!("https://{host}");
        let headers = [
            ("host", host),
            ("origin", origin.as_str()),
            ("content-type", "application/json"),
            ("x-forwarded-for", "192.0.2.1"),
        ];
        send(named.local(), "POST", "/console/api/session", &headers, &body).status
    };
    assert_eq!(sign_in("console.example"), 200);
    assert_eq!(sign_in("other.example"), 403);
}

#[test]
fn it_is_shown_on_this_machine_alone_unless_said() {
    let page = |options: Options| {
        let running = todo(options);
        let host = running.host();
        send(running.local(), "GET", "/console", &[("host", &host)], "").status
    };
    let options = |shown, listen, surfaces| Options {
        shown,
        listen,
        surfaces,
        ..Options::default()
    };
    let docs = Surfaces {
        docs: true,
        ..Surfaces::NONE
    };
    let (loopback, public) = ("127.0.0.1:0", "0.0.0.0:0");
    assert_eq!(page(options(ConsoleShown::Loopback, loopback, Surfaces::ALL)), 200);
    assert_eq!(page(options(ConsoleShown::Loopback, public, Surfaces::ALL)), 404);
    assert_eq!(page(options(ConsoleShown::Anywhere, public, Surfaces::ALL)), 200);
    assert_eq!(page(options(ConsoleShown::Nowhere, loopback, Surfaces::ALL)), 404);
    assert_eq!(page(options(ConsoleShown::Loopback, loopback, Surfaces::NONE)), 404);
    assert_eq!(page(options(ConsoleShown::Anywhere, loopback, docs)), 404);
}

#[test]
fn a_read_only_console_has_no_writes() {
    let running = todo(Options {
        read_only: true,
        ..Options::default()
    });
    let cookie = running.sign_in();
    let register = json!({
        "name": "registerUser",
        "args": {"email": "new@example.com", "name": "New"},
        "caller": {"authenticated": true, "claims": {"id": "new"}},
    });
    let refused = running.ask("POST", "/console/api/todo/write", Some(&cookie), &register.to_string());
    assert_eq!((refused.status, refused.error()), (403, "read_only".to_owned()));
    let order = json!({"order": "retry", "change": "x"}).to_string();
    let refused = running.ask("POST", "/console/api/todo/parked", Some(&cookie), &order);
    assert_eq!((refused.status, refused.error()), (403, "read_only".to_owned()));
    let tried = running.post(&cookie, "todo/dry-run", &register);
    assert_eq!(tried["status"], 201);
    assert_eq!(running.get(&cookie, "todo/operations")["readOnly"], true);
    let users = running.post(
        &cookie,
        "todo/rows",
        &json!({"entity": "User", "filter": "new@example.com"}),
    );
    assert_eq!(users["rows"].as_array().unwrap().len(), 0);
}

#[test]
fn nothing_frames_it_and_no_text_is_markup() {
    let running = todo(Options::default());
    let cookie = running.sign_in();
    for path in [
        "/console",
        "/console/todo/rows",
        "/console/app.js",
        "/console/api/session",
        "/console/api/todo/design",
    ] {
        let reply = running.ask("GET", path, Some(&cookie), "");
        assert_eq!(reply.status, 200, "{path}");
        let policy = reply.header("content-security-policy").unwrap();
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        ] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(reply.header("x-frame-options"), Some("DENY"), "{path}");
        assert_eq!(reply.header("referrer-policy"), Some("no-referrer"), "{path}");
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(reply.header("cache-control"), Some("no-store"), "{path}");
    }
}

#[test]
fn a_new_link_is_said_in_the_terminal_and_not_to_who_asks() {
    let running = todo(Options::default());
    let reply = running.ask("POST", "/console/api/link", None, "{}");
    assert_eq!(reply.status, 200);
    let said = running.announced.lock().unwrap().clone();
    let [link] = said.as_slice() else { panic!("{said:?}") };
    let token = link.strip_prefix("/console#").unwrap();
    assert!(!reply.text().contains(token));
    assert_eq!(running.ask("POST", "/console/api/link", None, "{}").status, 429);
    let body = json!({"link": token}).to_string();
    assert_eq!(running.ask("POST", "/console/api/session", None, &body).status, 200);
}

#[test]
fn bad_input_is_answered_and_nothing_panics() {
    let running = start(
        vec![system("todo", &crate::running::text_of("todo", "model.yaml"), "", 0)],
        Options::default(),
    );
    let cookie = running.sign_in();
    let bodies = [
        "",
        "null",
        "[]",
        "{",
        "{\"x\": 1}",
        "{\"start\": 7}",
        "{\"start\": {\"PK\": {\"S\": 1}}}",
        "{\"index\": \"none\"}",
        "{\"entity\": \"None\"}",
        "{\"partition\": {\"PK\": {\"N\": \"x\"}}}",
        "{\"partition\": {}}",
        "{\"key\": {}}",
        "{\"key\": {\"PK\": {\"S\": \"a\"}}}",
        "{\"key\": {\"PK\": {\"N\": \"1\"}, \"SK\": {\"S\": \"\"}}}",
        "{\"name\": \"none\"}",
        "{\"name\": \"task\", \"args\": {\"none\": \"1\"}}",
        "{\"name\": \"task\"}",
        "{\"name\": \"createTask\", \"args\": {\"due_date\": \"never\"}}",
        "{\"name\": \"createTask\", \"version\": \"x\"}",
        "{\"name\": \"tasks\", \"limit\": 0}",
        "{\"name\": \"tasks\", \"cursor\": \"x\"}",
        "{\"steps\": []}",
        "{\"steps\": [{\"name\": \"none\", \"now\": 1, \"status\": 1}]}",
        "{\"steps\": [{\"name\": \"tasks\", \"now\": 9223372036854775807, \"status\": 1}]}",
        "{\"reader\": 99}",
        "{\"order\": \"x\", \"change\": \"\"}",
    ];
    let views = [
        "rows", "row", "read", "dry-run", "write", "scenario", "changes", "parked", "none", "",
    ];
    for view in views {
        for body in bodies {
            let reply = running.ask("POST", &format!("/console/api/todo/{view}"), Some(&cookie), body);
            assert!(reply.status < 500, "{view} {body}: {} {}", reply.status, reply.text());
        }
    }
    for path in [
        "none/design",
        "todo/drawing/light/none",
        "todo/drawing/none/states-task",
        "todo/export?x=1",
        "x",
        "todo/",
    ] {
        let reply = running.ask("GET", &format!("/console/api/{path}"), Some(&cookie), "");
        assert!((400..500).contains(&reply.status), "{path}: {}", reply.status);
    }
    let long = format!("{{\"filter\": \"{}\"}}", "x".repeat(3 * 1024 * 1024));
    assert_eq!(
        running
            .ask("POST", "/console/api/todo/rows", Some(&cookie), &long)
            .status,
        413
    );
}
