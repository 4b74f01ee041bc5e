//! What an address shows beside operations, and what it tells browsers.

use singlet_http::Surfaces;

use crate::client::{Reply, send};
use crate::running::{Options, Running, SHARED, start};

fn get(running: &Running, path: &str) -> Reply {
    send(running.address, "GET", path, &[], b"")
}

fn explain(running: &Running) -> Reply {
    running.get("todo", "ada", "/api/v1/tasks?status=pending&explain")
}

const DESCRIBED: [&str; 5] = [
    "/todo",
    "/todo/docs",
    "/todo/docs/start.js",
    "/todo/docs/swagger-ui.css",
    "/todo/openapi.json",
];

#[test]
fn an_address_without_surfaces_answers_operations_alone() {
    let running = start(Options {
        surfaces: Surfaces::NONE,
        only: Some(&["todo"]),
        ..Options::default()
    });
    for path in DESCRIBED.iter().chain(&["/", "/metrics"]) {
        let reply = get(&running, path);
        assert_eq!(
            (reply.status, reply.problem()),
            (404, "no_such_route".to_owned()),
            "{path}"
        );
    }
    let reply = explain(&running);
    assert_eq!((reply.status, reply.problem()), (400, "invalid_input".to_owned()));
    assert_eq!(reply.json()["errors"][0]["parameter"], "explain");
    assert_eq!(get(&running, "/health").status, 200);
    assert_eq!(get(&running, "/ready").status, 200);
    assert_eq!(running.get("todo", "ada", "/api/v1/tasks?status=pending").status, 200);
}

#[test]
fn each_surface_is_shown_by_itself() {
    let shown = |surfaces: Surfaces| {
        let running = start(Options {
            surfaces,
            only: Some(&["todo"]),
            ..Options::default()
        });
        let home = get(&running, "/");
        // A page leads to nothing that is not there.
        let (page, is_home) = (home.text(), home.status == 200);
        assert_eq!(
            is_home && surfaces.metrics,
            is_home && page.contains("href=\"/metrics\"")
        );
        assert_eq!(is_home && surfaces.docs, is_home && page.contains("/todo/docs"));
        Surfaces {
            home: is_home,
            docs: DESCRIBED.iter().any(|path| get(&running, path).status < 400),
            metrics: get(&running, "/metrics").status == 200,
            explain: explain(&running).status == 200,
        }
    };
    let one = [
        Surfaces {
            home: true,
            ..Surfaces::NONE
        },
        Surfaces {
            docs: true,
            ..Surfaces::NONE
        },
        Surfaces {
            metrics: true,
            ..Surfaces::NONE
        },
        Surfaces {
            explain: true,
            ..Surfaces::NONE
        },
        Surfaces::ALL,
    ];
    for surfaces in one {
        assert_eq!(shown(surfaces), surfaces);
    }
}

/// Plans are told to who may ask, and to nobody else.
#[test]
fn a_plan_is_for_callers_whom_allow_admits() {
    let path = "/admin/bookings?status=pending&explain";
    assert_eq!(SHARED.get("booking", "elena/admin", path).status, 200);
    assert_eq!(SHARED.get("booking", "giulia/user", path).status, 403);
    assert_eq!(SHARED.get("booking", "-", path).status, 401);
}

#[test]
fn every_answer_tells_browsers_to_keep_to_it() {
    let wrong_body = SHARED.call("todo", "ada", "POST", "/api/v1/tasks", &[], "{}");
    let answers = [
        get(&SHARED, "/"),
        get(&SHARED, "/health"),
        get(&SHARED, "/metrics"),
        get(&SHARED, "/todo/docs"),
        get(&SHARED, "/todo/openapi.json"),
        get(&SHARED, "/nowhere"),
        get(&SHARED, "/todo/api/v1/tasks"),
        SHARED.get("todo", "ada", "/api/v1/tasks?limit=1"),
        wrong_body,
    ];
    for reply in answers {
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(reply.header(name), Some(value), "{reply:?}");
        }
        let policy = reply.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
        assert!(!policy.contains("http") && !policy.contains('*'), "{policy}");
        assert!(reply.header("content-type").unwrap().contains("html") || !policy.contains("'self'"));
        // Over a connection that is not encrypted it would mean nothing.
        assert_eq!(reply.header("strict-transport-security"), None);
    }
    // What comes with the binary is nobody's, and is kept.
    let script = get(&SHARED, "/todo/docs/start.js");
    assert_eq!(script.header("cache-control"), Some("public, max-age=3600"));
}
