//! More than the service takes on at once: refused at once, and nothing is left behind.

use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use singlet_http::Limits;

use crate::client::{connect, next_answer, parse, send};
use crate::running::{Options, Running, start};

/// Bytes that one large request or answer of these tests has; two do not fit.
const LARGE_BYTES: usize = 200_000;

fn notes(limits: Limits) -> Running {
    start(Options {
        limits,
        only: Some(&["notes"]),
        ..Options::default()
    })
}

fn figure(running: &Running, name: &str) -> u64 {
    let text = send(running.address, "GET", "/metrics", &[], b"").text();
    let lines = text.lines().filter(|line| line.starts_with(name));
    lines
        .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
        .sum()
}

/// Waits until the bytes that are held are as they should be.
fn wait_for_held(running: &Running, fits: impl Fn(u64) -> bool) {
    let began = Instant::now();
    while !fits(figure(running, "singlet_held_bytes")) {
        assert!(began.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn large_note(id: &str) -> String {
    format!(r#"{{"id": "{id}", "payload": {{"t": "{}"}}}}"#, "x".repeat(LARGE_BYTES))
}

/// Head and body of a request that makes a note.
fn making(running: &Running, body: &str) -> (String, String) {
    let (name, value) = running.credentials("notes", "ada");
    let head = format!(
        "POST /notes/notes HTTP/1.1\r\nhost: x\r\n{name}: {value}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    (head, body.to_owned())
}

#[test]
fn a_body_that_does_not_fit_beside_others_is_refused_and_small_ones_are_not() {
    let running = notes(Limits {
        held_bytes_max: LARGE_BYTES + 1,
        ..Limits::default()
    });
    let (head, body) = making(&running, &large_note("first"));
    let mut first = connect(running.address);
    first.write_all(head.as_bytes()).unwrap();
    first.write_all(&body.as_bytes()[..LARGE_BYTES / 2]).unwrap();
    wait_for_held(&running, |held| held > 0);

    let (head, second_body) = making(&running, &large_note("second"));
    let mut second = connect(running.address);
    second.write_all(head.as_bytes()).unwrap();
    // Refused before any of it was sent; the rest of it is thrown away, and the connection goes on.
    let refused = next_answer(&mut second);
    assert_eq!((refused.status, refused.problem().as_str()), (503, "overloaded"));
    assert_eq!(refused.header("retry-after"), Some("1"));
    second.write_all(second_body.as_bytes()).unwrap();
    let (head, small) = making(&running, r#"{"id": "small"}"#);
    second.write_all((head + &small).as_bytes()).unwrap();
    assert_eq!(next_answer(&mut second).status, 201);
    let (head, _) = making(&running, &large_note("third"));
    let mut waiting = connect(running.address);
    let head = head.replace("host: x", "host: x\r\nexpect: 100-continue");
    waiting.write_all(head.as_bytes()).unwrap();
    assert_eq!(next_answer(&mut waiting).status, 503);
    // Nothing of the body was sent, and what comes next is no part of it.
    let (head, small) = making(&running, r#"{"id": "lost"}"#);
    let _ = waiting.write_all((head + &small).as_bytes());
    let ended = waiting.read(&mut [0; 1]);
    assert!(
        ended
            .as_ref()
            .map_or_else(|error| error.kind() == ErrorKind::ConnectionReset, |bytes| *bytes == 0),
        "{ended:?}"
    );
    let refusals = send(running.address, "GET", "/metrics", &[], b"").text();
    let counted = refusals.lines().find(|line| line.contains("problem=\"overloaded\""));
    assert!(counted.is_some_and(|line| line.ends_with(" 2")), "{refusals}");

    first.write_all(&body.as_bytes()[LARGE_BYTES / 2..]).unwrap();
    assert_eq!(next_answer(&mut first).status, 201);
    wait_for_held(&running, |held| held == 0);
    let (head, body) = making(&running, &large_note("second"));
    second.write_all((head + &body).as_bytes()).unwrap();
    assert_eq!(next_answer(&mut second).status, 201);
}

/// What a client that leaves had in its hands is given back.
#[test]
fn a_client_that_leaves_holds_nothing() {
    let running = notes(Limits {
        held_bytes_max: 1,
        ..Limits::default()
    });
    for _ in 0..3 {
        let (head, body) = making(&running, &large_note("n"));
        let mut leaving = connect(running.address);
        leaving.write_all(head.as_bytes()).unwrap();
        leaving.write_all(&body.as_bytes()[..LARGE_BYTES / 2]).unwrap();
        wait_for_held(&running, |held| held > 0);
        drop(leaving);
        wait_for_held(&running, |held| held == 0);
    }
    // Who is alone is done, though it is more than all may hold together.
    let made = running.call("notes", "ada", "POST", "/notes", &[], &large_note("n"));
    assert_eq!(made.status, 201, "{}", made.text());
}

/// An answer that is longer than what the sockets hold is held while nobody reads it, and comes whole when somebody does.
#[test]
fn a_long_answer_is_sent_in_pieces_and_held_until_it_is_read() {
    let running = notes(Limits {
        held_bytes_max: 1,
        ..Limits::default()
    });
    for at in 0..60 {
        let made = running.call("notes", "ada", "POST", "/notes", &[], &large_note(&format!("n{at:03}")));
        assert_eq!(made.status, 201, "{}", made.text());
    }
    let (name, value) = running.credentials("notes", "ada");
    let asking =
        format!("GET /notes/notes?limit=100 HTTP/1.1\r\nhost: x\r\n{name}: {value}\r\nconnection: close\r\n\r\n");
    let mut first = connect(running.address);
    first.write_all(asking.as_bytes()).unwrap();
    wait_for_held(&running, |held| held > 0);
    let refused = running.get("notes", "ada", "/notes?limit=100");
    assert_eq!((refused.status, refused.problem().as_str()), (503, "overloaded"));
    let small = running.get("notes", "ada", "/notes/none");
    assert_eq!(small.status, 404, "{}", small.text());

    let mut bytes = Vec::new();
    first.read_to_end(&mut bytes).unwrap();
    let whole = parse(&bytes).unwrap();
    let rows = whole.json();
    let ids: Vec<&str> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["id"].as_str().unwrap())
        .collect();
    assert_eq!((whole.status, ids.len()), (200, 60));
    assert!(rows[59]["payload"]["t"].as_str().unwrap().len() == LARGE_BYTES);
    wait_for_held(&running, |held| held == 0);
    assert_eq!(running.get("notes", "ada", "/notes?limit=2").status, 200);
}

/// With one place everybody is still answered: at once with what was asked for, or at once with a refusal.
#[test]
fn one_place_is_given_to_one_after_the_other() {
    for requests_max in [1, 2] {
        let running = notes(Limits {
            requests_max,
            ..Limits::default()
        });
        std::thread::scope(|scope| {
            for caller in 0..8 {
                let running = &running;
                scope.spawn(move || {
                    for at in 0..20 {
                        let body = format!(r#"{{"id": "n{caller}-{at}"}}"#);
                        let made = running.call("notes", "ada", "POST", "/notes", &[], &body);
                        let refused = made.status == 503 && made.problem() == "overloaded";
                        assert!(made.status == 201 || refused, "{}", made.text());
                        let read = running.get("notes", "ada", &format!("/notes/n{caller}-{at}"));
                        assert!([200, 404, 503].contains(&read.status), "{}", read.text());
                        // What was refused was not done.
                        assert!(!(refused && read.status == 200));
                    }
                });
            }
        });
        let made = running.call("notes", "ada", "POST", "/notes", &[], r#"{"id": "last"}"#);
        assert_eq!(made.status, 201, "{}", made.text());
    }
}
