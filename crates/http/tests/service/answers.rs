//! What every answer has, and what is said of wrong input.

use crate::client::send;
use crate::running::{Options, SHARED, start};

#[test]
fn wrong_parameters_are_named() {
    let get = |path| SHARED.get("todo", "ada", path);
    let wrong = get("/api/v1/tasks?status=done");
    assert_eq!((wrong.status, wrong.problem().as_str()), (400, "invalid_input"));
    assert_eq!(wrong.json()["errors"][0]["parameter"], "status");
    let together = get("/api/v1/tasks?status=pending&priority=high");
    assert_eq!(
        (together.status, together.problem().as_str()),
        (400, "unknown_combination")
    );
    let combinations = together.json()["combinations"].clone();
    assert!(
        combinations
            .as_array()
            .unwrap()
            .iter()
            .any(|known| known == "sort=due_date&[due_from]&[due_to]")
    );
    let unknown = get("/api/v1/tasks?statos=pending");
    assert_eq!(
        unknown.json()["errors"][0]["detail"],
        "there is no such parameter; did you mean `status`?"
    );
    let twice = get("/api/v1/tasks?status=pending&status=pending");
    assert_eq!(twice.problem(), "invalid_input");
    let limit = get("/api/v1/tasks?limit=101");
    assert_eq!(limit.json()["errors"][0]["parameter"], "limit");
    let cursor = get("/api/v1/tasks?cursor=abc");
    assert_eq!((cursor.status, cursor.problem().as_str()), (400, "invalid_cursor"));
    let id = get("/api/v1/tasks/not-an-id");
    assert_eq!((id.status, id.json()["errors"][0]["in"].as_str()), (400, Some("path")));
    let unpaged = SHARED.get("todo", "ada", "/api/v1/users?limit=3");
    assert_eq!(unpaged.problem(), "invalid_input");
    let missing = SHARED.get("booking", "-", "/availability?from=2025-06-01");
    assert_eq!(missing.json()["errors"][0]["detail"], "this is missing");
    assert_eq!(missing.json()["detail"], "`to`: this is missing");
}

#[test]
fn all_problems_of_a_body_come_at_once() {
    let body = r#"{"title": "ab", "category": "toys", "mode": "gift", "location": {"lat": 99, "city": "", "x": 1}, "typo": true}"#;
    let reply = SHARED.call("ecobid", "kasia", "POST", "/items", &[], body);
    assert_eq!((reply.status, reply.problem().as_str()), (400, "invalid_input"));
    let problem = reply.json();
    let mut pointers: Vec<&str> = problem["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| error["pointer"].as_str().unwrap())
        .collect();
    pointers.sort_unstable();
    let wanted = [
        "#/category",
        "#/description",
        "#/location/city",
        "#/location/country",
        "#/location/lat",
        "#/location/lon",
        "#/location/x",
        "#/mode",
        "#/title",
        "#/typo",
    ];
    assert_eq!(pointers, wanted);
}

#[test]
fn a_body_that_is_no_json_object_is_refused() {
    let post = |headers: &[(&str, &str)], body| {
        let reply = SHARED.call("todo", "ada", "POST", "/api/v1/tasks", headers, body);
        (reply.status, reply.problem())
    };
    assert_eq!(post(&[], "{"), (400, "invalid_json".to_owned()));
    let twice = r#"{"title": "milk", "title": "bread"}"#;
    assert_eq!(post(&[], twice), (400, "invalid_json".to_owned()));
    assert_eq!(post(&[], "[]"), (400, "invalid_input".to_owned()));
    assert_eq!(post(&[], ""), (400, "invalid_input".to_owned()));
    assert_eq!(
        post(&[("content-type", "text/plain")], "{}"),
        (415, "unsupported_media_type".to_owned())
    );
    let packed = [("content-type", "application/json"), ("content-encoding", "gzip")];
    assert_eq!(post(&packed, "{}"), (415, "unsupported_media_type".to_owned()));
    let deep = format!("{{\"title\": {}1{}}}", "[".repeat(50_000), "]".repeat(50_000));
    assert_eq!(post(&[], &deep), (400, "invalid_json".to_owned()));
}

#[test]
fn other_methods_and_other_paths_are_told_apart() {
    let reply = SHARED.call("todo", "ada", "PUT", "/api/v1/tasks", &[], "");
    assert_eq!((reply.status, reply.problem().as_str()), (405, "method_not_allowed"));
    assert_eq!(reply.header("allow"), Some("GET, POST, HEAD, OPTIONS"));
    assert_eq!(
        SHARED.call("todo", "ada", "OPTIONS", "/api/v1/tasks", &[], "").status,
        204
    );
    for path in [
        "/api/v1/task",
        "/api/v1/tasks/",
        "/api/v1/tasks/a/b/c",
        "//api/v1/tasks",
        "/api/v1/tasks/%FF",
    ] {
        let reply = SHARED.get("todo", "ada", path);
        assert_eq!(
            (reply.status, reply.problem().as_str()),
            (404, "no_such_route"),
            "{path}"
        );
    }
    let nowhere = send(SHARED.address, "GET", "/nowhere", &[], b"");
    assert_eq!((nowhere.status, nowhere.problem().as_str()), (404, "no_such_route"));
    let head = SHARED.call("todo", "ada", "HEAD", "/api/v1/tasks?limit=1", &[], "");
    assert_eq!((head.status, head.body.len()), (200, 0));
}

#[test]
fn an_answer_to_head_says_how_long_the_one_to_get_is() {
    for path in ["/api/v1/tasks/01JQX8MNM83M51DFW44W3RPXTV", "/api/v1/tasks?limit=5"] {
        let whole = SHARED.get("todo", "ada", path);
        let head = SHARED.call("todo", "ada", "HEAD", path, &[], "");
        let length = whole.body.len().to_string();
        assert_eq!(whole.header("content-length"), Some(length.as_str()), "{path}");
        // A page has a cursor of its own each time, always as long.
        assert_eq!(head.header("content-length"), Some(length.as_str()), "{path}");
        assert_eq!((head.status, head.body.len()), (200, 0), "{path}");
    }
}

#[test]
fn a_row_with_a_version_has_a_tag_that_saves_sending_it_again() {
    let path = "/api/v1/tasks/01JQX8MNM83M51DFW44W3RPXTV";
    let first = SHARED.get("todo", "ada", path);
    assert_eq!(first.header("etag"), Some("\"1\""));
    let again = SHARED.call("todo", "ada", "GET", path, &[("if-none-match", "\"1\"")], "");
    assert_eq!((again.status, again.body.len()), (304, 0));
    let other = SHARED.call("todo", "ada", "GET", path, &[("if-none-match", "\"2\"")], "");
    assert_eq!(other.status, 200);
}

#[test]
fn ids_of_requests_and_traces_come_back() {
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let headers = [("x-request-id", "order-7"), ("traceparent", trace)];
    let reply = SHARED.call("todo", "ada", "GET", "/api/v1/tasks?limit=1", &headers, "");
    assert_eq!(reply.header("x-request-id"), Some("order-7"));
    let own = reply.header("traceparent").unwrap();
    assert!(own.starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-") && own != trace);
    let made = SHARED.call(
        "todo",
        "ada",
        "GET",
        "/api/v1/tasks?limit=1",
        &[("x-request-id", "a b\"c")],
        "",
    );
    assert_eq!(made.header("x-request-id").unwrap().len(), 32);
}

#[test]
fn the_cost_and_the_plan_are_told_on_request() {
    let asked = [("singlet-debug", "capacity")];
    let reply = SHARED.call(
        "todo",
        "ada",
        "GET",
        "/api/v1/tasks/01JQX8MNM83M51DFW44W3RPXTV",
        &asked,
        "",
    );
    assert_eq!(reply.header("singlet-capacity"), Some("read=0.5 write=0"));
    let plan = SHARED.get("todo", "ada", "/api/v1/tasks?status=pending&explain").json();
    assert_eq!(plan["read"], "tasksByStatus");
    assert!(plan["plan"][0].as_str().unwrap().contains("GSI1"), "{plan}");
}

#[test]
fn long_answers_are_compressed_for_who_asks() {
    let asked = [("accept-encoding", "gzip")];
    let reply = SHARED.call("country", "reader", "GET", "/api/v1/countries?limit=100", &asked, "");
    assert_eq!(reply.header("content-encoding"), Some("gzip"));
    let short = SHARED.call("country", "reader", "GET", "/api/v1/countries/code/NO", &asked, "");
    assert_eq!(short.header("content-encoding"), None);
}

#[test]
fn the_service_describes_itself() {
    let get = |path: &str| send(SHARED.address, "GET", path, &[], b"");
    let home = get("/").text();
    for system in crate::running::SYSTEMS {
        assert!(home.contains(&format!("href=\"/{system}/docs\"")), "{system}");
        let docs = get(&format!("/{system}/docs"));
        assert!(docs.status == 200 && docs.header("content-security-policy").is_some());
    }
    assert!(home.contains("/todo/api/v1/tasks?sort=due_date&amp;[due_from]&amp;[due_to]"));
    assert!(get("/todo/docs/swagger-ui-bundle.js").body.len() > 1_000_000);
    let packed = send(
        SHARED.address,
        "GET",
        "/todo/docs/swagger-ui.css",
        &[("accept-encoding", "gzip")],
        b"",
    );
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert_eq!((get("/health").status, get("/ready").status), (200, 200));
}

#[test]
fn only_configured_origins_may_call_from_pages() {
    let running = start(Options {
        cors: vec!["https://app.example".to_owned()],
        only: Some(&["todo"]),
        ..Options::default()
    });
    let ask = |origin| {
        let headers = [("origin", origin), ("access-control-request-method", "PATCH")];
        let reply = send(running.address, "OPTIONS", "/todo/api/v1/tasks", &headers, b"");
        reply.header("access-control-allow-origin").map(str::to_owned)
    };
    assert_eq!(ask("https://app.example").as_deref(), Some("https://app.example"));
    let wanted = [
        ("origin", "https://app.example"),
        ("access-control-request-method", "PATCH"),
        ("access-control-request-headers", "authorization,if-match"),
    ];
    let preflight = send(running.address, "OPTIONS", "/todo/api/v1/tasks", &wanted, b"");
    assert_eq!(
        preflight.header("access-control-allow-headers"),
        Some("authorization,if-match")
    );
    let called = running.call("todo", "ada", "GET", "/api/v1/tasks?limit=1", &wanted[..1], "");
    let exposed = called.header("access-control-expose-headers").unwrap();
    assert!(exposed.contains("etag") && exposed.contains("link"), "{exposed}");
    assert_eq!(ask("https://evil.example"), None);
    let without = send(
        SHARED.address,
        "GET",
        "/health",
        &[("origin", "https://app.example")],
        b"",
    );
    assert_eq!(without.header("access-control-allow-origin"), None);
}

#[test]
fn a_service_that_only_reads_refuses_writes() {
    let running = start(Options {
        read_only: true,
        only: Some(&["todo"]),
        ..Options::default()
    });
    let write = running.call("todo", "ada", "POST", "/api/v1/tasks", &[], "{\"title\": \"a\"}");
    assert_eq!((write.status, write.problem().as_str()), (403, "read_only"));
    assert_eq!(running.get("todo", "ada", "/api/v1/tasks?limit=1").status, 200);
}

#[test]
fn a_caller_past_the_rate_is_told_when_to_come_back() {
    let running = start(Options {
        rates: true,
        only: Some(&["ecobid"]),
        ..Options::default()
    });
    let first = running.get("ecobid", "kasia", "/users/me");
    assert_eq!(first.header("ratelimit-policy"), Some("\"caller\";q=100;w=60"));
    assert_eq!(first.header("ratelimit"), Some("\"caller\";r=99;t=0"));
    let all: Vec<_> = (0..110).map(|_| running.get("ecobid", "kasia", "/users/me")).collect();
    let last = all.last().unwrap();
    assert_eq!((last.status, last.problem().as_str()), (429, "too_many_requests"));
    assert_eq!(last.header("retry-after"), Some("1"));
    assert_eq!(running.get("ecobid", "tomek", "/users/me").status, 200);
}
