//! The end of a service under load.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::client::{connect, parse, send};
use crate::running::{Options, start};

/// Every request whose bytes the service has taken is answered whole; then nobody is let in.
#[test]
fn what_has_begun_is_answered_and_nothing_else_is_taken() {
    let mut running = start(Options {
        only: Some(&["todo"]),
        ..Options::default()
    });
    let address = running.address;
    let (name, value) = running.credentials("todo", "ada");
    let request =
        format!("GET /todo/api/v1/tasks?limit=20 HTTP/1.1\r\nhost: x\r\n{name}: {value}\r\nconnection: close\r\n\r\n");
    let (answered, cut, ended) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                loop {
                    let Ok(mut stream) = TcpStream::connect(address) else {
                        return;
                    };
                    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
                    let sent = stream.write_all(request.as_bytes()).is_ok();
                    let mut answer = Vec::new();
                    let whole = stream.read_to_end(&mut answer).is_ok()
                        && parse(&answer).is_some_and(|reply| reply.status == 200);
                    match (whole, sent && !answer.is_empty()) {
                        (true, _) => answered.fetch_add(1, Ordering::Relaxed),
                        (false, true) => cut.fetch_add(1, Ordering::Relaxed),
                        // Connected to a socket that was closing: nothing was promised.
                        (false, false) if ended.load(Ordering::Relaxed) => return,
                        (false, false) => cut.fetch_add(1, Ordering::Relaxed),
                    };
                }
            });
        }
        let patience = Instant::now();
        while answered.load(Ordering::Relaxed) < 50 && patience.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(20));
        }
        ended.store(true, Ordering::Relaxed);
        running.ask_to_end();
    });
    assert!(running.wait(), "requests were left over");
    assert!(answered.load(Ordering::Relaxed) >= 50);
    assert_eq!(cut.load(Ordering::Relaxed), 0);
}

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let patience = Instant::now();
    while !holds() {
        assert!(patience.elapsed() < Duration::from_secs(20), "not yet: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A request that is half sent when the end is asked for is still taken.
#[test]
fn a_body_on_its_way_is_waited_for() {
    let mut running = start(Options {
        only: Some(&["todo"]),
        ..Options::default()
    });
    let (name, value) = running.credentials("todo", "ada");
    let body = "{\"titel\": \"x\"}";
    let mut stream = connect(running.address);
    let head = format!(
        "POST /todo/api/v1/tasks HTTP/1.1\r\nhost: x\r\n{name}: {value}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let address = running.address;
    // The request for the figures is under way itself.
    let is_begun = || {
        let figures = send(address, "GET", "/metrics", &[], b"").text();
        figures.lines().any(|line| line == "singlet_requests_in_flight 2")
    };
    wait_until("the request is begun", is_begun);
    running.ask_to_end();
    wait_until("nobody is let in", || TcpStream::connect(address).is_err());
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert_eq!(parse(&answer).unwrap().status, 400);
    assert!(running.wait());
}
