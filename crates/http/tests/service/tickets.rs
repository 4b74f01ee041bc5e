//! Watching by a ticket: by a client that sends no headers.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::client::{Reply, send};
use crate::running::{Options, Running, now, start, token};
use crate::watching::{PENDING, Watcher, answered, create};

/// The service, and its clock.
fn running() -> (Running, Arc<AtomicI64>) {
    let clock = Arc::new(AtomicI64::new(now() * 1_000));
    let running = start(Options {
        only: Some(&["todo", "country"]),
        clock: Some(Arc::clone(&clock)),
        ..Options::default()
    });
    (running, clock)
}

fn ticket(running: &Running, caller: &str, path: &str) -> String {
    let separator = if path.contains('?') { '&' } else { '?' };
    let answer = running.get("todo", caller, &format!("{path}{separator}ticket=new"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    // The answer is that of the read.
    assert!(answer.json()["items"].is_array());
    answer.header("singlet-ticket").unwrap().to_owned()
}

/// What comes to who asks for events with no header but that.
fn ask(running: &Running, path: &str) -> Reply {
    send(running.address, "GET", path, &[("accept", "text/event-stream")], b"")
}

#[test]
fn who_sends_no_headers_watches_by_a_ticket() {
    let (running, clock) = running();
    let ticket = ticket(&running, "ada", PENDING);
    // The order of parameters, and how they are written, makes no difference.
    for query in [
        format!("status=pending&limit=5&ticket={ticket}"),
        format!("ticket={ticket}&limit=5&status=p%65nding"),
    ] {
        let mut watcher = Watcher::open_with(&running, &format!("/todo/api/v1/tasks?{query}"), "");
        watcher.until(&answered(&running, "ada", PENDING));
        create(&running, "linus", "nobody else's business");
        create(&running, "ada", "watched");
        watcher.until(&answered(&running, "ada", PENDING));
        assert!(watcher.held.iter().all(|row| row["user_id"] == "ada"));
    }
    // Good to begin with for a minute; what has begun goes on.
    clock.fetch_add(60_000, Ordering::SeqCst);
    let path = format!("/todo{PENDING}&ticket={ticket}");
    let mut watcher = Watcher::open_with(&running, &path, "");
    assert!(watcher.next_chunk());
    clock.fetch_add(1, Ordering::SeqCst);
    assert_eq!(ask(&running, &path).problem(), "invalid_credentials");
    create(&running, "ada", "after its minute");
    watcher.until(&answered(&running, "ada", PENDING));
    // A clock that was put back makes it no better.
    clock.fetch_sub(120_002, Ordering::SeqCst);
    assert_eq!(ask(&running, &path).status, 401);
}

#[test]
fn a_ticket_is_good_for_its_path_query_and_caller_alone() {
    let (running, _) = running();
    let ticket = ticket(&running, "ada", PENDING);
    let path = format!("/todo{PENDING}&ticket={ticket}");
    // One of the two is not what the ticket begins with.
    let first = if ticket.starts_with('A') { 'B' } else { 'A' };
    for other in [
        format!("/todo/api/v1/tasks?status=pending&limit=6&ticket={ticket}"),
        format!("/todo/api/v1/tasks?status=pending&ticket={ticket}"),
        format!("/todo/api/v1/tasks?status=completed&limit=5&ticket={ticket}"),
        format!("/country/api/v1/countries?ticket={ticket}"),
        format!("/todo{PENDING}&ticket={}", &ticket[..ticket.len() - 1]),
        format!("/todo{PENDING}&ticket={first}{}", &ticket[1..]),
        format!("/todo{PENDING}&ticket="),
        format!("/todo{PENDING}&ticket=guessed"),
        format!("/todo{PENDING}&ticket={}", "A".repeat(5_000)),
    ] {
        let answer = ask(&running, &other);
        assert_eq!(
            (answer.status, answer.problem().as_str()),
            (401, "invalid_credentials"),
            "{other}"
        );
        assert!(answer.header("www-authenticate").is_some());
    }
    // Not beside other credentials, whosever they are.
    for caller in ["ada", "linus"] {
        let (name, value) = running.credentials("todo", caller);
        let headers = [("accept", "text/event-stream"), (name, value.as_str())];
        assert_eq!(
            send(running.address, "GET", &path, &headers, b"").status,
            401,
            "{caller}"
        );
    }
    // Not for anything but watching.
    for headers in [&[][..], &[("accept", "application/json")]] {
        let answer = send(running.address, "GET", &path, headers, b"");
        assert_eq!(answer.status, 401, "{}", answer.text());
    }
    let answer = running.get("todo", "ada", &format!("{PENDING}&ticket={ticket}"));
    assert_eq!(
        (answer.status, answer.json()["errors"][0]["parameter"].as_str()),
        (400, Some("ticket"))
    );
    let (name, value) = running.credentials("todo", "ada");
    let posted = send(
        running.address,
        "POST",
        &format!("/todo/api/v1/tasks?ticket={ticket}"),
        &[
            ("accept", "text/event-stream"),
            ("content-type", "application/json"),
            (name, &value),
        ],
        br#"{"title": "x"}"#,
    );
    assert_eq!(posted.status, 400);
    // It tells nobody what it holds.
    let token = value.trim_start_matches("Bearer ");
    assert!(!ticket.contains(token) && ticket.len() > token.len());
}

/// Guessing is counted as any other request of who is not known.
#[test]
fn guesses_are_counted() {
    let running = start(Options {
        only: Some(&["ecobid"]),
        rates: true,
        ..Options::default()
    });
    let answer = ask(&running, "/ecobid/users/kasia/items?ticket=guessed");
    assert_eq!(answer.status, 401);
    assert!(answer.header("ratelimit").is_some());
}

#[test]
fn there_are_tickets_for_who_may_ask_and_for_what_can_be_watched() {
    let (running, _) = running();
    let nobody = running.call("todo", "-", "GET", &format!("{PENDING}&ticket=new"), &[], "");
    assert_eq!((nobody.status, nobody.header("singlet-ticket")), (401, None));
    let id = create(&running, "ada", "one");
    let one = running.get("todo", "ada", &format!("/api/v1/tasks/{id}?ticket=new"));
    assert_eq!(
        (one.status, one.json()["errors"][0]["parameter"].as_str()),
        (400, Some("ticket"))
    );
    let events = [("accept", "text/event-stream")];
    let both = running.call("todo", "ada", "GET", &format!("{PENDING}&ticket=new"), &events, "");
    assert_eq!(both.status, 400, "{}", both.text());
    // By an API key.
    let answer = running.get("country", "reader", "/api/v1/countries?limit=1&ticket=new");
    let ticket = answer.header("singlet-ticket").unwrap();
    let next = answer.header("link").unwrap();
    assert!(next.contains("limit=1&cursor=") && !next.contains("ticket"), "{next}");
    let path = format!("/country/api/v1/countries?limit=1&ticket={ticket}");
    let mut watcher = Watcher::open_with(&running, &path, "");
    assert!(watcher.next_chunk() && watcher.held.len() == 1);
}

#[test]
fn a_ticket_ends_with_the_token_that_it_holds() {
    let (running, _) = running();
    let mut claims = token("todo", &[("sub", "ada")]);
    // Clocks may differ by half a minute.
    claims.expires = now() - 27;
    let credentials = format!("Bearer {}", claims.sign_token(&running.secret).unwrap());
    let path = format!("/todo{PENDING}");
    let answer = send(
        running.address,
        "GET",
        &format!("{path}&ticket=new"),
        &[("authorization", &credentials)],
        b"",
    );
    let ticket = answer.header("singlet-ticket").unwrap();
    let path = format!("{path}&ticket={ticket}");
    let mut watcher = Watcher::open_with(&running, &path, "");
    let mut told = 0;
    while watcher.next_chunk() {
        create(&running, "ada", "again");
        told += 1;
        assert!(told < 1_000, "it goes on and on");
    }
    assert_eq!(ask(&running, &path).status, 401);
}
