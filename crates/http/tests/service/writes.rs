//! Writes as clients send them: what is answered, what is refused and by which name, and what a retry gets.

use serde_json::{Value as Json, json};

use crate::client::Reply;
use crate::running::{Options, Running, SYSTEMS, model, start};

/// A service of a test's own, because its rows change.
fn fresh(only: &'static [&'static str]) -> Running {
    start(Options {
        only: Some(only),
        ..Options::default()
    })
}

fn text<'a>(json: &'a Json, name: &str) -> &'a str {
    json[name].as_str().unwrap_or_else(|| panic!("no `{name}` in {json}"))
}

fn refused(reply: &Reply) -> (u16, String) {
    (reply.status, reply.problem())
}

#[test]
fn a_task_lives_and_is_told_why_it_cannot_move() {
    let todo = fresh(&["todo"]);
    let call =
        |method, path: &str, more: &[(&str, &str)], body: &str| todo.call("todo", "ada", method, path, more, body);
    let created = call(
        "POST",
        "/api/v1/tasks",
        &[],
        r#"{"title": "write", "priority": "high", "due_date": "2030-01-31"}"#,
    );
    assert_eq!(created.status, 201, "{}", created.text());
    let task = created.json();
    assert_eq!(
        (text(&task, "status"), created.header("etag")),
        ("pending", Some("\"1\""))
    );
    let path = format!("/api/v1/tasks/{}", text(&task, "task_id"));
    let changed = call(
        "PATCH",
        &path,
        &[("if-match", "\"1\"")],
        r#"{"title": "rewrite", "due_date": null}"#,
    );
    assert_eq!(changed.status, 200, "{}", changed.text());
    assert!(changed.json()["title"] == "rewrite" && changed.json()["due_date"].is_null());
    assert_eq!(changed.header("etag"), Some("\"2\""));
    assert_eq!(
        refused(&call("PATCH", &path, &[("if-match", "\"1\"")], r#"{"title": "late"}"#)),
        (412, "version_differs".to_owned())
    );
    assert_eq!(
        refused(&call("PATCH", &path, &[("if-match", "W/\"2\"")], "{}")),
        (412, "version_differs".to_owned())
    );
    assert_eq!(
        refused(&call("PATCH", &path, &[], r#"{"title": null}"#)),
        (400, "invalid_input".to_owned())
    );
    assert_eq!(
        refused(&call("PATCH", &path, &[], r#"{"status": "completed"}"#)),
        (400, "invalid_input".to_owned())
    );
    assert_eq!(
        call("POST", &format!("{path}/complete"), &[], "").json()["status"],
        "completed"
    );
    let again = call("POST", &format!("{path}/start"), &[], "");
    assert_eq!(refused(&again), (409, "task_not_pending".to_owned()));
    assert_eq!(again.json()["type"], "urn:problem-type:todo:task_not_pending");
    assert_eq!(call("DELETE", &path, &[], "").status, 204);
    assert_eq!(
        refused(&call("DELETE", &path, &[], "")),
        (404, "task_not_found".to_owned())
    );
    assert_eq!(call("GET", &path, &[], "").status, 404);
}

#[test]
fn a_retry_gets_the_first_answer_and_another_request_is_refused() {
    let todo = fresh(&["todo", "wardrobe"]);
    let post = |caller: &str, key: &str, body: &str| {
        todo.call(
            "todo",
            caller,
            "POST",
            "/api/v1/tasks",
            &[("idempotency-key", key)],
            body,
        )
    };
    let first = post("ada", "k1", r#"{"title": "once"}"#);
    let again = post("ada", "\"k1\"", r#"{"title": "once"}"#);
    assert_eq!(
        (first.status, first.header("idempotent-replay")),
        (201, None),
        "{}",
        first.text()
    );
    assert_eq!(
        (again.status, again.header("idempotent-replay")),
        (201, Some("true")),
        "{}",
        again.text()
    );
    assert_eq!(first.json(), again.json());
    assert_eq!(
        refused(&post("ada", "k1", r#"{"title": "twice"}"#)),
        (422, "idempotency_key_reused".to_owned())
    );
    let other = post("linus", "k1", r#"{"title": "once"}"#);
    assert_eq!((other.status, other.header("idempotent-replay")), (201, None));
    let item = r#"{"Name": "Hat", "Category": "Hats"}"#;
    let needed = todo.call("wardrobe", "tomas", "POST", "/users/tomas/items", &[], item);
    assert_eq!(refused(&needed), (400, "idempotency_key_required".to_owned()));
    let with_key = || {
        todo.call(
            "wardrobe",
            "tomas",
            "POST",
            "/users/tomas/items",
            &[("idempotency-key", "h")],
            item,
        )
    };
    assert_eq!((with_key().status, with_key().status), (201, 200));
    let long = "k".repeat(256);
    assert_eq!(
        refused(&post("ada", &long, r#"{"title": "x"}"#)),
        (400, "invalid_input".to_owned())
    );
}

#[test]
fn a_refusal_shows_what_the_model_shows_and_only_to_whom_it_may() {
    let service = fresh(&["ecobid", "booking"]);
    let bid = |caller, amount| {
        let body = json!({"amount": amount}).to_string();
        service.call(
            "ecobid",
            caller,
            "POST",
            "/auctions/01KH828H20HHSA5N9DRJ41D1XT/bids",
            &[],
            &body,
        )
    };
    let low = bid("kasia", 1);
    assert_eq!(refused(&low), (409, "bid_too_low".to_owned()));
    let least = low.json()["least"].as_i64().unwrap();
    assert_eq!(bid("kasia", least).status, 201);
    assert_eq!(bid("kasia", least).json()["least"], least + 1);
    let not_mine = service.call(
        "ecobid",
        "kasia",
        "DELETE",
        "/items/01JNNBD2K67TGT44JS1G928FN0",
        &[],
        "",
    );
    assert_eq!(refused(&not_mine), (404, "item_not_found".to_owned()));
    let body = r#"{"date": "2040-05-01", "duration": "MORNING", "eventDescription": "Choir", "attendees": 12}"#;
    let ask = || {
        service
            .call("booking", "paolo/user", "POST", "/bookings", &[], body)
            .json()
    };
    let (one, other) = (ask(), ask());
    let approve = |caller, booking: &Json| {
        let path = format!("/bookings/{}/approve", text(booking, "bookingId"));
        service.call("booking", caller, "POST", &path, &[], "")
    };
    assert_eq!(refused(&approve("paolo/user", &one)), (403, "forbidden".to_owned()));
    assert_eq!(approve("elena/admin", &one).status, 200);
    let taken = approve("elena/admin", &other);
    assert_eq!(refused(&taken), (409, "slot_taken".to_owned()));
    assert_eq!(taken.json()["slot"], "MORNING");
}

#[test]
fn a_country_has_its_history() {
    let country = fresh(&["country"]);
    let call = |method, path: &str, body: &str| country.call("country", "writer", method, path, &[], body);
    let body =
        |name: &str| json!({"alpha2Code": "ZZ", "alpha3Code": "ZZZ", "numericCode": "999", "name": name}).to_string();
    assert_eq!(call("POST", "/api/v1/countries", &body("First")).status, 201);
    assert_eq!(
        refused(&call("POST", "/api/v1/countries", &body("First"))),
        (409, "alpha2_in_use".to_owned())
    );
    let path = "/api/v1/countries/code/ZZ";
    assert_eq!(call("PUT", path, &body("Second")).json()["name"], "Second");
    let elsewhere = call("PUT", "/api/v1/countries/code/NO", &body("Third"));
    assert_eq!(refused(&elsewhere), (400, "alpha2_differs_from_path".to_owned()));
    assert_eq!(call("DELETE", path, "").status, 204);
    assert_eq!(call("GET", path, "").status, 404);
    assert_eq!(
        call("GET", &format!("{path}/history"), "").json()["items"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    assert_eq!(call("POST", "/api/v1/countries", &body("Again")).status, 201);
}

/// Every write that has a route does what it says once, or is refused by a rule: none is only described.
#[test]
fn every_write_with_a_route_reaches_its_operation() {
    let service = fresh(&SYSTEMS);
    for system in SYSTEMS {
        let document = service.get(system, "-", "/openapi.json").json();
        for write in model(system).writes.iter().filter(|write| write.http.is_some()) {
            let route = write.http.as_ref().unwrap();
            let operation = &document["paths"][&route.path][route.method.to_lowercase()];
            assert_eq!(operation["operationId"], write.name);
            let mut path = route.path.clone();
            for parameter in operation["parameters"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|known| known["in"] == "path")
            {
                let example = parameter["example"].as_str().unwrap_or("01KGA3C4D5E6F7G8H9J0KMNPQR");
                path = path.replace(&format!("{{{}}}", text(parameter, "name")), example);
            }
            let path = path.replace("/users/01", "/users/tomas01");
            let body = operation["requestBody"]["content"]["application/json"]["example"].clone();
            let body = if body.is_null() {
                String::new()
            } else {
                body.to_string()
            };
            let caller = match system {
                "country" => "writer",
                "booking" => "elena/admin",
                _ => "somebody",
            };
            let reply = service.call(
                system,
                caller,
                &route.method,
                &path,
                &[("idempotency-key", "one")],
                &body,
            );
            assert!(reply.status < 500, "{system} {}: {}", write.name, reply.text());
            let documented = &operation["responses"][reply.status.to_string()];
            assert!(
                documented.is_object(),
                "{system} {}: {} {}",
                write.name,
                reply.status,
                reply.text()
            );
        }
    }
}
