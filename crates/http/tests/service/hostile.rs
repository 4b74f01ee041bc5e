//! Requests that mean harm, or come from a broken client.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use singlet_http::Limits;

use crate::client::{connect, next_answer, parse, raw, send};
use crate::running::{Options, SHARED, start};

#[test]
fn a_body_that_is_too_large_is_refused_before_it_is_read() {
    let (name, value) = SHARED.credentials("todo", "ada");
    let head = format!(
        "POST /todo/api/v1/tasks HTTP/1.1\r\nhost: x\r\n{name}: {value}\r\ncontent-type: application/json\r\nconnection: close\r\n"
    );
    let announced = raw(
        SHARED.address,
        format!("{head}content-length: 99999999999\r\n\r\n{{").as_bytes(),
    );
    assert_eq!((announced.status, announced.problem().as_str()), (413, "too_large"));
    // Nothing is announced in chunks: it is counted as it comes.
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let body = chunk.repeat(20);
    let chunked = raw(
        SHARED.address,
        format!("{head}transfer-encoding: chunked\r\n\r\n{body}0\r\n\r\n").as_bytes(),
    );
    assert_eq!((chunked.status, chunked.problem().as_str()), (413, "too_large"));
}

#[test]
fn a_body_or_a_head_that_never_ends_is_given_up() {
    let running = start(Options {
        limits: Limits {
            body_time_max: Duration::from_millis(300),
            header_time_max: Duration::from_millis(300),
            ..Limits::default()
        },
        only: Some(&["todo"]),
        ..Options::default()
    });
    let (name, value) = running.credentials("todo", "ada");
    let started = Instant::now();
    let head = format!(
        "POST /todo/api/v1/tasks HTTP/1.1\r\nhost: x\r\n{name}: {value}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{{"
    );
    let slow = raw(running.address, head.as_bytes());
    assert_eq!((slow.status, slow.problem().as_str()), (408, "body_too_slow"));
    let mut stream = connect(running.address);
    stream
        .write_all(b"GET /todo/api/v1/tasks HTTP/1.1\r\nhost: x\r\nx-slow: ")
        .unwrap();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert!(started.elapsed() < Duration::from_secs(10));
}

/// Requests one after the other, and nobody reads what they are answered.
#[test]
fn a_peer_that_does_not_read_is_cut() {
    let running = start(Options {
        limits: Limits {
            answer_time_max: Duration::from_millis(500),
            connections_max: 2,
            ..Limits::default()
        },
        only: Some(&["todo"]),
        ..Options::default()
    });
    let asking = "GET /todo/openapi.json HTTP/1.1\r\nhost: x\r\n\r\n".repeat(2000);
    let deaf: Vec<_> = (0..2)
        .map(|_| {
            let mut stream = connect(running.address);
            stream.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
            let _ = stream.write_all(asking.as_bytes());
            stream
        })
        .collect();
    // Both places are taken; they come free although nobody closes anything.
    assert_eq!(running.get("todo", "ada", "/api/v1/tasks?limit=1").status, 200);
    drop(deaf);
}

#[test]
fn one_address_leaves_places_to_others() {
    let running = start(Options {
        limits: Limits {
            connections_per_address_max: 2,
            ..Limits::default()
        },
        only: Some(&["todo"]),
        ..Options::default()
    });
    let mut held: Vec<_> = (0..2).map(|_| connect(running.address)).collect();
    for stream in &mut held {
        stream.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        assert!(stream.read(&mut [0; 1]).unwrap() > 0);
    }
    let mut third = connect(running.address);
    let _ = third.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    let mut answer = Vec::new();
    let _ = third.read_to_end(&mut answer);
    assert!(answer.is_empty(), "{}", String::from_utf8_lossy(&answer));
    drop(held.pop());
    let again = Instant::now();
    while again.elapsed() < Duration::from_secs(10) {
        let mut stream = connect(running.address);
        let _ = stream.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        let _ = stream.read_to_end(&mut answer);
        if !answer.is_empty() {
            return;
        }
    }
    panic!("a place that came free is not given again");
}

/// Whatever is wrong and however much of it, the refusal is short and says how much there was.
#[test]
fn a_refusal_is_short_whatever_was_sent() {
    let unknown: Vec<String> = (0..60_000).map(|at| format!("\"x{at}\":1")).collect();
    let long = format!("{{\"{}\":1,\"title\":7}}", "\\u0001".repeat(100_000));
    let bodies = [
        (format!("{{{}}}", unknown.join(",")), 60_001),
        (long, 2),
        (
            format!("{{\"title\":\"a\",\"tags\":[{}]}}", vec!["7"; 200_000].join(",")),
            0,
        ),
    ];
    for (body, found) in bodies {
        let reply = SHARED.call(
            "todo",
            "ada",
            "POST",
            "/api/v1/tasks",
            &[("content-type", "application/json"), ("idempotency-key", "k")],
            &body,
        );
        assert_eq!(reply.status, 400, "{}", reply.text());
        assert!(reply.text().len() <= 64 * 1024, "{}", reply.text().len());
        let said = reply.json();
        if found > 100 {
            assert_eq!(said["errors_found"], found, "{}", said["detail"]);
            assert_eq!(said["errors"].as_array().map(Vec::len), Some(100));
        }
    }
    let many: Vec<String> = (0..2000).map(|at| format!("x{at}=1")).collect();
    let reply = SHARED.get("todo", "ada", &format!("/api/v1/tasks?{}", many.join("&")));
    assert_eq!((reply.status, reply.problem().as_str()), (400, "invalid_input"));
}

/// A body that is as wrong as can be is not looked at for somebody who may not ask.
#[test]
fn who_may_not_ask_is_told_so_before_the_body_is_looked_at() {
    let body = "[".repeat(500_000);
    let anonymous = send(
        SHARED.address,
        "POST",
        "/todo/api/v1/tasks",
        &[("content-type", "application/json")],
        body.as_bytes(),
    );
    assert_eq!(anonymous.status, 401, "{}", anonymous.text());
    let (name, value) = SHARED.credentials("booking", "paolo");
    let not_an_admin = send(
        SHARED.address,
        "POST",
        "/booking/bookings/x/approve",
        &[("content-type", "application/json"), (name, &value)],
        body.as_bytes(),
    );
    assert_eq!(not_an_admin.status, 403, "{}", not_an_admin.text());
}

/// Whatever is refused before its body is read: the body may come later, and the next request is answered on the same connection.
#[test]
fn a_body_that_comes_after_its_refusal_is_no_request() {
    let body = "GET /nothing HTTP/1.1\r\nhost: x\r\n\r\n".repeat(1_000);
    let (name, value) = SHARED.credentials("booking", "paolo");
    for (request, refused) in [
        ("POST /todo/api/v1/tasks", 401),
        ("POST /booking/bookings/x/approve", 403),
        ("POST /nothing", 404),
        ("PUT /todo/api/v1/tasks", 405),
        ("GET /health", 200),
    ] {
        let mut stream = connect(SHARED.address);
        let head = format!(
            "{request} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
            body.len()
        );
        let head = match refused {
            403 => format!("{head}{name}: {value}\r\n\r\n"),
            _ => format!("{head}\r\n"),
        };
        stream.write_all(head.as_bytes()).unwrap();
        assert_eq!(next_answer(&mut stream).status, refused, "{request}");
        stream.write_all(body.as_bytes()).unwrap();
        stream.write_all(b"GET /ready HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        assert_eq!(next_answer(&mut stream).status, 200, "{request}");
    }
}

/// Who waits to be told to go on, and is refused, sends no body: its next request is one, or its connection ends.
#[test]
fn the_next_request_of_who_waited_to_go_on_is_not_taken_for_its_body() {
    let next = "POST /todo/api/v1/tasks HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n";
    for (request, refused) in [("POST /todo/api/v1/tasks", 401), ("POST /nothing", 404)] {
        let mut stream = connect(SHARED.address);
        let head = format!("{request} HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 100000\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        assert_eq!(next_answer(&mut stream).status, refused, "{request}");
        // The connection may have ended by now.
        let _ = stream.write_all(next.as_bytes());
        let mut rest = Vec::new();
        let ended = stream.read_to_end(&mut rest);
        assert!(ended.is_ok() || is_reset(&ended), "{request}: {ended:?}");
    }
}

fn is_reset(ended: &std::io::Result<usize>) -> bool {
    ended
        .as_ref()
        .is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset)
}

/// A request whose client leaves ends like every other: it is counted, and no longer under way.
#[test]
fn a_request_whose_client_leaves_is_counted_once() {
    let running = start(Options {
        only: Some(&["todo"]),
        ..Options::default()
    });
    let (name, value) = running.credentials("todo", "ada");
    for _ in 0..20 {
        let mut stream = connect(running.address);
        let head = format!(
            "POST /todo/api/v1/tasks HTTP/1.1\r\nhost: x\r\n{name}: {value}\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{{"
        );
        stream.write_all(head.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    let again = Instant::now();
    loop {
        let text = send(running.address, "GET", "/metrics", &[], b"").text();
        let figure = |name: &str| -> u64 {
            let lines = text.lines().filter(|line| line.starts_with(name));
            lines
                .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
                .sum()
        };
        // The request for the figures is under way itself.
        let counted = figure("singlet_requests_total{system=\"todo\",operation=\"createTask\"");
        if counted == 20 && figure("singlet_requests_in_flight") == 1 {
            return;
        }
        assert!(again.elapsed() < Duration::from_secs(10), "{text}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_client_that_goes_away_harms_nobody() {
    let (name, value) = SHARED.credentials("todo", "ada");
    for _ in 0..20 {
        let mut stream = connect(SHARED.address);
        stream
            .write_all(
                format!(
                    "POST /todo/api/v1/tasks HTTP/1.1\r\nhost: x\r\n{name}: {value}\r\ncontent-length: 50\r\n\r\n{{"
                )
                .as_bytes(),
            )
            .unwrap();
    }
    assert_eq!(SHARED.get("todo", "ada", "/api/v1/tasks?limit=1").status, 200);
}

#[test]
fn nothing_that_was_sent_becomes_a_header() {
    for path in [
        "/api/v1/tasks?limit=2%0d%0aset-cookie:%20a=b",
        "/api/v1/tasks?limit=2&cursor=%0d%0aset-cookie:a",
        "/api/v1/tasks/%0d%0aset-cookie:a",
        "/%0d%0aset-cookie:a",
    ] {
        let reply = SHARED.get("todo", "ada", path);
        assert!((400..500).contains(&reply.status), "{path}: {}", reply.status);
        assert_eq!(reply.header("set-cookie"), None, "{path}");
    }
    let split = SHARED.call(
        "todo",
        "ada",
        "GET",
        "/api/v1/tasks?limit=1",
        &[("x-request-id", "a\nset-cookie: b")],
        "",
    );
    assert_eq!(split.header("set-cookie"), None);
}

/// Whatever is sent, an answer comes that is not the service's fault, or the connection ends.
#[test]
fn garbage_is_no_fault_of_the_service() {
    let many_headers: String = (0..500).map(|at| format!("x-{at}: y\r\n")).collect();
    let long = "a".repeat(100_000);
    for bytes in [
        "GET\r\n\r\n".to_owned(),
        "\0\0\0\0".to_owned(),
        "GET / HTTP/9.9\r\n\r\n".to_owned(),
        format!("GET / HTTP/1.1\r\nhost: x\r\n{many_headers}\r\n"),
        format!("GET /{long} HTTP/1.1\r\nhost: x\r\n\r\n"),
        format!("GET /todo/api/v1/tasks?q={} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", "b".repeat(20_000)),
        "POST /todo/api/v1/tasks HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\ncontent-type: application/json\r\n\r\nzz\r\n".to_owned(),
        "POST /todo/api/v1/tasks HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n".to_owned(),
        "GET /todo/api/v1/tasks HTTP/1.1\r\nhost: x\r\nif-match: \r\nidempotency-key: \r\nconnection: close\r\n\r\n".to_owned(),
    ] {
        let mut stream = connect(SHARED.address);
        stream.set_read_timeout(Some(Duration::from_secs(12))).unwrap();
        let _ = stream.write_all(bytes.as_bytes());
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        if let Some(reply) = parse(&answer) {
            assert!(reply.status < 500, "{}: {}", reply.status, &bytes[..bytes.len().min(60)]);
        }
    }
    assert_eq!(SHARED.get("todo", "ada", "/api/v1/tasks?limit=1").status, 200);
}
