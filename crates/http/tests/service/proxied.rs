//! Clients behind proxies: whose word about them counts, and what is counted of each.

use std::io::{Read, Write};

use singlet_http::{Limits, Proxies};

use crate::client::{connect, parse, send};
use crate::running::{Options, Running, start};

/// A service that takes twenty requests a minute of who shows no credentials, and believes these proxies.
fn behind(proxies: &[&str]) -> Running {
    start(Options {
        proxies: Proxies::from_networks(proxies).unwrap(),
        rates: true,
        only: Some(&["notes"]),
        ..Options::default()
    })
}

/// Three times what one client may ask in a minute.
const REQUESTS: usize = 60;

/// Whether all of some requests were let through, each with headers of its own.
fn all_admitted(running: &Running, headers: impl Fn(usize) -> Vec<(&'static str, String)>) -> bool {
    (0..REQUESTS).all(|at| {
        let headers = headers(at);
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let status = send(running.address, "GET", "/notes/count/ada", &headers, b"").status;
        assert!([200, 429].contains(&status), "{status}");
        status == 200
    })
}

#[test]
fn forged_headers_of_strangers_are_ignored() {
    let running = behind(&["192.0.2.0/24"]);
    assert!(!all_admitted(&running, |at| vec![(
        "x-forwarded-for",
        format!("198.51.100.{at}")
    )]));
    assert!(!all_admitted(&running, |at| vec![(
        "forwarded",
        format!("for=198.51.100.{at}")
    )]));
}

#[test]
fn clients_behind_a_named_proxy_are_counted_each_for_itself() {
    let running = behind(&["127.0.0.0/8"]);
    assert!(all_admitted(&running, |at| vec![(
        "x-forwarded-for",
        format!("198.51.100.{at}")
    )]));
    assert!(all_admitted(&running, |at| vec![(
        "forwarded",
        format!("for=198.51.101.{at}")
    )]));
    assert!(!all_admitted(&running, |_| vec![(
        "forwarded",
        "for=203.0.113.1".to_owned()
    )]));
    // What the client itself wrote stands before what the proxy appended.
    assert!(!all_admitted(&running, |at| {
        vec![("x-forwarded-for", format!("198.51.102.{at}, 203.0.113.2"))]
    }));
    // A header that the proxy lets through beside its own makes nobody another.
    assert!(!all_admitted(&running, |at| {
        vec![
            ("forwarded", format!("for=198.51.103.{at}")),
            ("x-forwarded-for", "203.0.113.3".to_owned()),
        ]
    }));
    // A host has a whole network of IPv6.
    assert!(!all_admitted(&running, |at| vec![(
        "x-forwarded-for",
        format!("2001:db8:1:2::{at:x}")
    )]));
    assert!(all_admitted(&running, |at| vec![(
        "x-forwarded-for",
        format!("2001:db8:2:{at:x}::1")
    )]));
}

/// A client may have too many requests at once where proxies tell clients apart, and else only where callers have a rate.
#[test]
fn the_document_says_whether_a_request_may_be_one_too_many() {
    let statuses = |proxies: &[&str], rates: bool| {
        let running = start(Options {
            proxies: Proxies::from_networks(proxies).unwrap(),
            rates,
            only: Some(&["notes"]),
            ..Options::default()
        });
        let document = running.get("notes", "-", "/openapi.json").json();
        let operations = document["paths"].as_object().unwrap().values();
        let operations = operations.flat_map(|item| item.as_object().unwrap().values());
        let listed: Vec<bool> = operations
            .map(|operation| operation["responses"].get("429").is_some())
            .collect();
        let all = listed.iter().all(|listed| *listed);
        assert!(all || listed.iter().all(|listed| !listed), "{document:#}");
        let told = document.pointer("/components/responses/problem-429-1/headers/RateLimit");
        (all, told.is_some())
    };
    assert_eq!(statuses(&[], false), (false, false));
    assert_eq!(statuses(&[], true), (true, true));
    assert_eq!(statuses(&["127.0.0.1"], false), (true, false));
    assert_eq!(statuses(&["127.0.0.1"], true), (true, true));
}

/// One proxy has one address: what a client has at once is what it asks at once.
#[test]
fn connections_of_a_proxy_are_not_one_clients() {
    let limits = Limits {
        connections_per_address_max: 2,
        ..Limits::default()
    };
    let running = start(Options {
        limits,
        proxies: Proxies::from_networks(&["127.0.0.1"]).unwrap(),
        only: Some(&["todo"]),
        ..Options::default()
    });
    let (name, value) = running.credentials("todo", "ada");
    // A body that has not come whole keeps a request on its way.
    let begun = |client: &str| {
        let mut stream = connect(running.address);
        let head = format!(
            "POST /todo/api/v1/tasks HTTP/1.1\r\nhost: x\r\n{name}: {value}\r\nx-forwarded-for: {client}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: 20\r\n\r\n{{\"title\": "
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    let status = |client: &str| {
        let headers = [(name, value.as_str()), ("x-forwarded-for", client)];
        send(running.address, "GET", "/todo/api/v1/tasks?limit=1", &headers, b"").status
    };
    let mut held = vec![begun("198.51.100.1"), begun("198.51.100.1")];
    until(|| {
        let is_full = status("198.51.100.1") == 429;
        if !is_full {
            // Asking may have taken the place of one of them, which was refused then.
            held.push(begun("198.51.100.1"));
        }
        is_full
    });
    assert_eq!(status("198.51.100.2"), 200);
    let mut held = held.into_iter();
    let ended = held.by_ref().find(|stream| {
        let mut stream = stream;
        let mut answer = Vec::new();
        let _ = stream.write_all(b"\"on time\"}");
        let _ = stream.read_to_end(&mut answer);
        parse(&answer).is_some_and(|answer| answer.status == 201)
    });
    assert!(ended.is_some());
    until(|| status("198.51.100.1") == 200);
    drop(held);
}

fn until(mut so: impl FnMut() -> bool) {
    let started = std::time::Instant::now();
    while !so() {
        assert!(
            started.elapsed() < std::time::Duration::from_secs(30),
            "it never was so"
        );
        std::thread::yield_now();
    }
}
