//! What the five systems do not use: a model of its own.

use serde_json::{Value as Json, json};

use crate::client::{Reply, send};
use crate::running::{Options, Running, start};

fn notes() -> Running {
    start(Options {
        only: Some(&["notes"]),
        ..Options::default()
    })
}

fn refused(reply: &Reply) -> (u16, String) {
    (reply.status, reply.problem())
}

/// The note `n`, made by somebody.
fn made(running: &Running, body: &str) -> Reply {
    running.call("notes", "ada", "POST", "/notes", &[], body)
}

fn pointers(reply: &Reply) -> Vec<String> {
    let problem = reply.json();
    let errors = problem["errors"].as_array().unwrap_or_else(|| panic!("{problem}"));
    let pointer = |error: &Json| error["pointer"].as_str().unwrap().to_owned();
    errors.iter().map(pointer).collect()
}

#[test]
fn a_number_keeps_every_digit_from_the_body_to_the_answer() {
    let running = notes();
    let digits = "123456789012345678901234567890.12345678";
    let body = format!(r#"{{"id": "n", "amount": {digits}, "payload": {{"a": [-0.10000000000000000000000000001]}}}}"#);
    let created = made(&running, &body);
    assert_eq!(created.status, 201, "{}", created.text());
    for text in [created.text(), running.get("notes", "ada", "/notes/n").text()] {
        assert!(text.contains(&format!("\"amount\":{digits}")), "{text}");
        assert!(text.contains("[-0.10000000000000000000000000001]"), "{text}");
    }
    // The last digit alone differs: another request, for the same key.
    let keyed = |digits: &str| {
        let body = format!(r#"{{"id": "k{}", "amount": {digits}}}"#, 1);
        running.call("notes", "ada", "POST", "/notes", &[("idempotency-key", "one")], &body)
    };
    assert_eq!(keyed("123456789012345678901234567890").status, 201);
    assert_eq!(
        refused(&keyed("123456789012345678901234567891")),
        (422, "idempotency_key_reused".to_owned())
    );
}

#[test]
fn a_number_that_cannot_be_kept_is_refused_where_it_stands() {
    let running = notes();
    let long = "9".repeat(39);
    let body = format!(r#"{{"id": "n", "amount": {long}, "payload": {{"a": [1, {long}]}}, "count": 1e400}}"#);
    let reply = made(&running, &body);
    assert_eq!(refused(&reply), (400, "invalid_input".to_owned()));
    assert_eq!(pointers(&reply), ["#/amount", "#/count", "#/payload/a/1"]);
    assert!(reply.text().contains("38 significant digits"), "{}", reply.text());
    let endless = format!(r#"{{"id": "n", "amount": {}}}"#, "9".repeat(500_000));
    let reply = made(&running, &endless);
    assert_eq!((reply.status, reply.text().len() < 1_000), (400, true));
}

#[test]
fn a_value_has_the_form_that_json_has_for_it() {
    let running = notes();
    let whole = r#"{"id": "n", "seal": "AAEC", "tags": ["b", "a"], "lines": ["x", "x"], "at": {"lat": 1, "lon": 2.5}, "done": true, "count": 3}"#;
    let created = made(&running, whole);
    assert_eq!(created.status, 201, "{}", created.text());
    let row = running.get("notes", "ada", "/notes/n").json();
    assert_eq!((&row["seal"], &row["tags"]), (&json!("AAEC"), &json!(["a", "b"])));
    let wrong = r##"{"id": 7, "amount": "7", "count": true, "seal": "*", "tags": "[\"a\"]", "lines": {}, "at": "1,2", "done": "true"}"##;
    let reply = made(&running, wrong);
    let mut found = pointers(&reply);
    found.sort();
    assert_eq!(
        found,
        [
            "#/amount", "#/at", "#/count", "#/done", "#/id", "#/lines", "#/seal", "#/tags"
        ]
    );
}

#[test]
fn what_is_made_says_where_it_is_read() {
    let running = notes();
    let created = made(&running, r#"{"id": "a b/ü"}"#);
    let location = created.header("location").unwrap();
    assert_eq!(location, "/notes/notes/a%20b%2F%C3%BC");
    let (name, value) = running.credentials("notes", "ada");
    let read = send(running.address, "GET", location, &[(name, &value)], b"");
    assert_eq!((read.status, read.json()["id"].as_str()), (200, Some("a b/ü")));
    assert_eq!(read.header("etag"), created.header("etag"));
    // No read finds a pin by its path.
    let pin = running.call("notes", "ada", "POST", "/pins", &[], r#"{"id": "p"}"#);
    assert_eq!((pin.status, pin.header("location")), (201, None));
}

#[test]
fn a_list_may_be_a_bare_array_with_its_next_page_in_the_link() {
    let running = notes();
    for id in ["a", "b", "c"] {
        assert_eq!(made(&running, &format!(r#"{{"id": "{id}"}}"#)).status, 201);
    }
    let ids = |reply: &Reply| -> Vec<String> {
        let rows = reply.json();
        let rows = rows.as_array().unwrap().iter();
        rows.map(|row| row["id"].as_str().unwrap().to_owned()).collect()
    };
    let first = running.get("notes", "ada", "/notes?limit=2");
    assert_eq!(ids(&first), ["a", "b"]);
    let link = first.header("link").unwrap();
    let next = link
        .strip_prefix("</notes")
        .and_then(|link| link.strip_suffix(">; rel=\"next\""));
    let second = running.get("notes", "ada", next.unwrap());
    assert_eq!((ids(&second), second.header("link")), (vec!["c".to_owned()], None));
    assert_eq!(running.get("notes", "linus", "/notes").text(), "[]");
}

#[test]
fn a_write_that_needs_a_version_says_so() {
    let running = notes();
    let patch = |more: &[(&str, &str)], body: &str| running.call("notes", "ada", "PATCH", "/notes/n", more, body);
    let missing = patch(&[], r#"{"amount": 1}"#);
    assert_eq!(refused(&missing), (404, "note_not_found".to_owned()));
    made(&running, r#"{"id": "n"}"#);
    let unsaid = patch(&[], r#"{"amount": 1}"#);
    assert_eq!(refused(&unsaid), (428, "version_required".to_owned()));
    assert_eq!(unsaid.json()["errors"][0]["parameter"], "If-Match");
    assert_eq!(
        refused(&patch(&[], r#"{"amuont": 1}"#)),
        (400, "invalid_input".to_owned())
    );
    let other = running.call("notes", "linus", "PATCH", "/notes/n", &[], "{}");
    assert_eq!(refused(&other), (404, "note_not_found".to_owned()));
    let one_of = patch(&[("if-match", "\"7\", \"1\"")], r#"{"amount": 2}"#);
    assert_eq!((one_of.status, one_of.header("etag")), (200, Some("\"2\"")));
    let two_lines = [("if-match", "\"1\""), ("if-match", "\"2\"")];
    assert_eq!(patch(&two_lines, r#"{"amount": 3}"#).status, 200);
    assert_eq!(
        refused(&patch(&[("if-match", "\"1\", \"2\"")], r#"{"amount": 4}"#)),
        (412, "version_differs".to_owned())
    );
    assert_eq!(patch(&[("if-match", "*")], r#"{"amount": 5}"#).status, 200);
    assert_eq!(patch(&[("if-match", "5")], "{}").status, 400);
}

/// A retry carries the header of its first attempt, and gets its answer though the version has moved on.
#[test]
fn a_retry_is_answered_before_its_version_is_looked_at() {
    let running = notes();
    made(&running, r#"{"id": "n"}"#);
    let headers = [("if-match", "\"1\""), ("idempotency-key", "k")];
    let patch = || running.call("notes", "ada", "PATCH", "/notes/n", &headers, r#"{"amount": 1}"#);
    let (first, again) = (patch(), patch());
    assert_eq!((first.status, again.status), (200, 200));
    assert_eq!(again.header("idempotent-replay"), Some("true"));
    assert_eq!(first.json(), again.json());
    assert_eq!(
        (first.header("etag"), again.header("etag")),
        (Some("\"2\""), Some("\"2\""))
    );
}

#[test]
fn if_none_match_lets_nobody_change_what_is_there() {
    let running = notes();
    let star = [("if-none-match", "*")];
    let put = |more: &[(&str, &str)]| running.call("notes", "ada", "PUT", "/notes/n", more, r#"{"amount": 1}"#);
    assert_eq!(put(&star).status, 201);
    assert_eq!(refused(&put(&star)), (412, "version_differs".to_owned()));
    assert_eq!(put(&[]).status, 200);
    let create = |more: &[(&str, &str)]| running.call("notes", "ada", "POST", "/notes", more, r#"{"id": "m"}"#);
    assert_eq!(create(&star).status, 201);
    assert_eq!(refused(&create(&star)), (409, "note_exists".to_owned()));
    assert_eq!(
        refused(&create(&[("if-match", "*")])),
        (412, "version_differs".to_owned())
    );
    let delete = |more: &[(&str, &str)]| running.call("notes", "ada", "DELETE", "/notes/m", more, "");
    assert_eq!(refused(&delete(&star)), (412, "version_differs".to_owned()));
    assert_eq!(
        refused(&delete(&[("if-match", "\"9\"")])),
        (412, "version_differs".to_owned())
    );
    assert_eq!(delete(&[("if-match", "\"1\"")]).status, 204);
    assert_eq!(
        refused(&delete(&[("if-match", "\"1\"")])),
        (404, "note_not_found".to_owned())
    );
}

#[test]
fn no_tag_is_the_tag_of_a_row_without_a_version() {
    let running = notes();
    let patch = |more: &[(&str, &str)]| running.call("notes", "ada", "PATCH", "/pins/p", more, r#"{"text": "x"}"#);
    assert_eq!(
        refused(&patch(&[("if-match", "\"1\"")])),
        (404, "pin_not_found".to_owned())
    );
    running.call("notes", "ada", "POST", "/pins", &[], r#"{"id": "p"}"#);
    assert_eq!(
        refused(&patch(&[("if-match", "\"1\"")])),
        (412, "version_differs".to_owned())
    );
    assert_eq!(patch(&[("if-match", "*")]).status, 200);
    assert_eq!(patch(&[]).status, 200);
}

#[test]
fn who_shows_no_credentials_is_counted_by_address() {
    let running = start(Options {
        rates: true,
        only: Some(&["notes"]),
        ..Options::default()
    });
    let count = || running.get("notes", "-", "/count/ada");
    let first = count();
    assert_eq!(
        (first.status, first.header("ratelimit")),
        (200, Some("\"caller\";r=19;t=0"))
    );
    let replies: Vec<Reply> = (0..25).map(|_| count()).collect();
    let last = replies.last().unwrap();
    assert_eq!(refused(last), (429, "too_many_requests".to_owned()));
    assert_eq!(last.header("retry-after"), Some("3"));
    // Bad credentials are nobody's either; good ones are somebody else's.
    let bad = [("authorization", "Bearer nonsense")];
    let reply = send(running.address, "GET", "/notes/count/ada", &bad, b"");
    assert_eq!(reply.status, 429);
    assert_eq!(running.get("notes", "ada", "/count/ada").status, 200);
}

/// What no table holds is the client's to mend, and is told in words; it is no failure of the service.
#[test]
fn what_the_store_would_not_take_is_wrong_input() {
    let running = notes();
    let text = |length: usize| "x".repeat(length);
    let nested = format!("{}1{}", "[".repeat(40), "]".repeat(40));
    let bodies = [
        format!(r#"{{"id": "{}"}}"#, text(2000)),
        format!(r#"{{"id": "{}"}}"#, "#".repeat(400)),
        format!(r#"{{"id": "n", "payload": {nested}}}"#),
        r#"{"id": "n", "tags": ["a", "a"]}"#.to_owned(),
        r#"{"id": "\u0000"}"#.to_owned(),
        r#"{"id": "n\u0000", "payload": {"": 1}}"#.to_owned(),
        r#"{"id": "empty", "tags": [], "lines": [], "payload": {}, "seal": ""}"#.to_owned(),
        r#"{"id": "n2", "payload": null}"#.to_owned(),
        r#"{"id": "n3", "payload": [null, "", {"a": null}]}"#.to_owned(),
        format!(r#"{{"id": "n4", "payload": "{}"}}"#, text(399_900)),
        format!(r#"{{"id": "n5", "payload": "{}"}}"#, text(500_000)),
        format!(r#"{{"id": "n6", "payload": [{}1]}}"#, "1,".repeat(200_000)),
        r#"{"id": "n7", "amount": 1e-131}"#.to_owned(),
        r#"{"id": "n8", "amount": -0.0}"#.to_owned(),
    ];
    for body in &bodies {
        let reply = made(&running, body);
        let shown = body.chars().take(80).collect::<String>();
        match reply.status {
            201 => {
                let id = reply.json()["id"].clone();
                let path = reply
                    .header("location")
                    .unwrap()
                    .strip_prefix("/notes")
                    .unwrap()
                    .to_owned();
                let read = running.get("notes", "ada", &path);
                assert_eq!((read.status, &read.json()["id"]), (200, &id), "{shown}");
            }
            400 => assert!(
                !reply.json()["detail"].as_str().unwrap().contains("store"),
                "{}",
                reply.text()
            ),
            413 => assert_eq!(reply.problem(), "too_large", "{shown}"),
            other => panic!("{other} {shown}: {}", reply.text()),
        }
    }
    let long = format!("/notes/{}", text(1500));
    for (method, path) in [
        ("GET", long.as_str()),
        ("DELETE", long.as_str()),
        ("GET", "/due?by=0000-00-00"),
    ] {
        let reply = running.call("notes", "ada", method, path, &[], "");
        assert!(
            [400, 404, 413].contains(&reply.status),
            "{method} {}: {}",
            &path[..20.min(path.len())],
            reply.text()
        );
    }
    let huge = running.get("notes", &text(3000), "/notes");
    assert!(huge.status < 500, "{}", huge.text());
    let add = |count: &str| {
        let body = format!("{{\"count\": {count}}}");
        running.call("notes", "ada", "POST", "/notes/n9/add", &[], &body)
    };
    made(&running, r#"{"id": "n9", "count": 1000}"#);
    for count in ["1000", "99999999999999999999999999999999999999", "-5000"] {
        assert!((400..500).contains(&add(count).status), "{}", add(count).text());
    }
}

/// The schema of a read's answer in the document, and the statuses that it names.
fn described(running: &Running, path: &str) -> (Json, Vec<String>) {
    let document = running.get("notes", "-", "/openapi.json").json();
    let paths = document["paths"].as_object().unwrap();
    let (_, item) = paths.iter().find(|(known, _)| known.ends_with(path)).unwrap();
    let responses = item["get"]["responses"].as_object().unwrap();
    let schema = responses["200"]["content"]["application/json"]["schema"].clone();
    (schema, responses.keys().cloned().collect())
}

#[test]
fn one_row_that_may_be_missing_is_null() {
    let running = notes();
    let missing = running.get("notes", "ada", "/maybe/n");
    assert_eq!((missing.status, missing.text().as_str()), (200, "null"));
    assert_eq!(running.get("notes", "ada", "/notes/n").status, 404);
    made(&running, r#"{"id": "n"}"#);
    assert_eq!(running.get("notes", "ada", "/maybe/n").json()["id"], "n");
    let (schema, statuses) = described(&running, "/maybe/{id}");
    assert_eq!(schema["anyOf"][1], json!({"type": "null"}), "{schema}");
    assert!(!statuses.contains(&"404".to_owned()), "{statuses:?}");
    let (_, statuses) = described(&running, "/notes/{id}");
    assert!(statuses.contains(&"404".to_owned()), "{statuses:?}");
}

#[test]
fn a_second_row_is_refused_where_one_is_expected() {
    let running = notes();
    assert_eq!(running.get("notes", "ada", "/only").status, 404);
    made(&running, r#"{"id": "a"}"#);
    assert_eq!(running.get("notes", "ada", "/only").json()["id"], "a");
    made(&running, r#"{"id": "b"}"#);
    let several = running.get("notes", "ada", "/only");
    assert_eq!(refused(&several), (409, "several_rows".to_owned()));
    let (_, statuses) = described(&running, "/only");
    assert!(statuses.contains(&"409".to_owned()), "{statuses:?}");
    let (_, statuses) = described(&running, "/notes/{id}");
    assert!(
        !statuses.contains(&"409".to_owned()),
        "a whole key has one row: {statuses:?}"
    );
}

#[test]
fn a_list_that_one_row_returns_is_no_page() {
    let running = notes();
    made(&running, r#"{"id": "n", "tags": ["b", "a"]}"#);
    assert_eq!(running.get("notes", "ada", "/tags/n").json(), json!(["a", "b"]));
}

/// Who shows no credentials cannot be told from another: what they ask is done once, and no answer is given twice.
#[test]
fn who_has_no_id_is_never_given_the_answer_of_another() {
    let running = notes();
    let sign = |caller: &str, key: &str, name: &str| {
        let body = format!(r#"{{"name": "{name}"}}"#);
        running.call("notes", caller, "POST", "/guests", &[("idempotency-key", key)], &body)
    };
    let first = sign("-", "1", "Eve");
    assert_eq!(first.status, 201, "{}", first.text());
    let code = first.json()["code"].as_str().unwrap().to_owned();
    let again = sign("-", "1", "Eve");
    assert_eq!(refused(&again), (409, "already_done".to_owned()));
    assert!(!again.text().contains(&code) && again.header("idempotent-replay").is_none());
    // Neither does anybody learn that a key is in use.
    assert_eq!(sign("-", "1", "Mallory").status, 201);
    // Who has an id has keys of their own, whatever the id is, and is answered again.
    for caller in ["ada", "linus", "nobody"] {
        let own = sign(caller, "1", "Eve");
        assert_eq!(
            (own.status, own.header("idempotent-replay")),
            (201, None),
            "{}",
            own.text()
        );
        let again = sign(caller, "1", "Eve");
        assert_eq!((again.status, again.header("idempotent-replay")), (201, Some("true")));
        assert_eq!(again.text(), own.text());
    }
    let named_so = crate::running::token("notes", &[("sub", "-")])
        .sign_token(&running.secret)
        .unwrap();
    let bearer = format!("Bearer {named_so}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("idempotency-key", "1"),
        ("content-type", "application/json"),
    ];
    let dashed = send(
        running.address,
        "POST",
        "/notes/guests",
        &headers,
        br#"{"name": "Eve"}"#,
    );
    assert_eq!(dashed.status, 201, "{}", dashed.text());
}

#[test]
fn of_many_at_once_without_an_id_one_is_done() {
    let running = notes();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let sign = || {
            running.call(
                "notes",
                "-",
                "POST",
                "/guests",
                &[("idempotency-key", "k")],
                r#"{"name": "Eve"}"#,
            )
        };
        let asked: Vec<_> = (0..16).map(|_| scope.spawn(sign)).collect();
        asked.into_iter().map(|one| one.join().unwrap().status).collect()
    });
    assert_eq!(
        statuses.iter().filter(|status| **status == 201).count(),
        1,
        "{statuses:?}"
    );
    assert!(
        statuses.iter().all(|status| [201, 409].contains(status)),
        "{statuses:?}"
    );
}

/// What a caller says of a row that changes is never passed over because none does.
#[test]
fn a_version_that_no_changed_row_has_is_refused_before_anything_is_made() {
    let running = notes();
    made(&running, r#"{"id": "n"}"#);
    let pin = |tag: &str, finish: bool| {
        let body = format!(r#"{{"finish": {finish}}}"#);
        running.call("notes", "ada", "POST", "/notes/n/pin", &[("if-match", tag)], &body)
    };
    for tag in ["\"1\"", "\"7\"", "*"] {
        assert_eq!(refused(&pin(tag, false)), (412, "version_differs".to_owned()), "{tag}");
    }
    assert_eq!(refused(&pin("\"7\"", true)), (412, "version_differs".to_owned()));
    assert_eq!(pin("\"1\"", true).status, 201);
}
