//! What `singlet diff` says of clients, held against a service: where it says that nothing of a contract breaks, calls that the old model's
//! clients make succeed as before, with answers that the old document describes; where it says that something does, one of them does not.

use serde_json::Value as Json;
use singlet_evolve::compare_contracts;
use singlet_http::openapi::{Deployed, openapi_document};
use singlet_http::routing::Routes;
use singlet_model::{Model, Source};

use crate::client::Reply;
use crate::documented::answer_misfits;
use crate::running::start_text;

const OLD: &str = r#"
singlet: 1
name: own
table: {name: own, key: {partition: PK, sort: SK}, type: kind}
types:
  Status: {enum: [open, done]}
entities:
  Task:
    attributes:
      owner: string 1..20
      number: int 0..99
      title: string 1..20
      status: Status = "open"
      note: string? ..20
      points: int? 0..9
    key: {PK: "USER#{owner}", SK: "TASK#{number}"}
reads:
  task:
    get: Task
    args: {owner: string 1..20, number: int 0..99}
    where: owner == args.owner && number == args.number
    allow: true
    http: GET /tasks/{owner}/{number}
  tasks:
    find: Task
    args: {owner: string 1..20, status: Status?}
    where: owner == args.owner && status == args.status
    allow: true
    http: GET /tasks?owner&status
writes:
  addTask:
    http: POST /tasks
    allow: true
    do:
      - create: Task
        take: [owner, number, title, status, note, points]
  changeTask:
    http: PATCH /tasks/{owner}/{number}
    allow: true
    do:
      - update: Task(args.owner, args.number)
        patch: [title, status, note, points]
  dropTask:
    http: DELETE /tasks/{owner}/{number}
    allow: true
    do:
      - delete: Task(args.owner, args.number)
"#;

/// What a client of the old model does, one after the other; the last column is what it gets.
const CALLS: [(&str, &str, &str, u16); 14] = [
    (
        "POST",
        "/tasks",
        r#"{"owner": "ada", "number": 1, "title": "Water"}"#,
        201,
    ),
    (
        "POST",
        "/tasks",
        r#"{"owner": "ada", "number": 99, "title": "12345678901234567890", "status": "done", "note": "", "points": 9}"#,
        201,
    ),
    (
        "POST",
        "/tasks",
        r#"{"owner": "ada", "number": 1, "title": "Again"}"#,
        409,
    ),
    ("GET", "/tasks/ada/1", "", 200),
    ("GET", "/tasks/ada/99", "", 200),
    ("GET", "/tasks/ada/2", "", 404),
    ("GET", "/reads/task?owner=ada&number=99", "", 200),
    ("GET", "/tasks?owner=ada", "", 200),
    ("GET", "/tasks?owner=ada&status=done", "", 200),
    ("PATCH", "/tasks/ada/1", r#"{"title": "Water all", "points": 0}"#, 200),
    ("PATCH", "/tasks/ada/1", r#"{"note": null}"#, 200),
    ("GET", "/tasks/ada/1", "", 200),
    ("DELETE", "/tasks/ada/1", "", 204),
    ("GET", "/tasks/ada/1", "", 404),
];

struct Pair {
    name: &'static str,
    edits: &'static [(&'static str, &'static str)],
    breaks: bool,
}

const fn kept(name: &'static str, edits: &'static [(&'static str, &'static str)]) -> Pair {
    Pair {
        name,
        edits,
        breaks: false,
    }
}

const fn broken(name: &'static str, edits: &'static [(&'static str, &'static str)]) -> Pair {
    Pair {
        name,
        edits,
        breaks: true,
    }
}

const PAIRS: &[Pair] = &[
    kept("nothing", &[]),
    kept("another key", &[("TASK#{number}", "T#{number}")]),
    kept(
        "a stored name",
        &[("note: string? ..20", "note: {type: string? ..20, stored: n}")],
    ),
    kept(
        "an optional argument",
        &[
            ("status: Status?}", "status: Status?, note: string? ..20}"),
            ("tasks?owner&status", "tasks?owner&status&note"),
            ("== args.status", "== args.status && note == args.note"),
        ],
    ),
    kept(
        "longer texts are taken where none is answered",
        &[(
            "args: {owner: string 1..20, number",
            "args: {owner: string 1..40, number",
        )],
    ),
    kept(
        "a route of its own",
        &[(
            "reads:\n",
            "reads:\n  all:\n    count: Task\n    args: {owner: string 1..20}\n    where: owner == args.owner\n    allow: true\n    http: GET /all/{owner}\n",
        )],
    ),
    kept(
        "an index",
        &[
            (
                "type: kind}",
                "type: kind, indexes: {GSI1: {partition: GSI1PK, sort: GSI1SK}}}",
            ),
            (
                "SK: \"TASK#{number}\"}",
                "SK: \"TASK#{number}\"}\n    index: {GSI1: {GSI1PK: \"STATUS#{status}\", GSI1SK: \"{number}\"}}",
            ),
        ],
    ),
    broken(
        "an argument by another name, at the read's own address",
        &[
            ("GET /tasks/{owner}/{number}", "GET /tasks/{owner}/{nr}"),
            (
                "number: int 0..99}\n    where: owner == args.owner && number == args.number",
                "nr: int 0..99}\n    where: owner == args.owner && number == args.nr",
            ),
        ],
    ),
    broken(
        "a route that is gone",
        &[("GET /tasks?owner&status", "GET /list?owner&status")],
    ),
    broken("a shorter title", &[("title: string 1..20", "title: string 1..10")]),
    broken(
        "a number that is less",
        &[("number: int 0..99\n", "number: int 0..9\n")],
    ),
    broken("a member that is gone", &[("[open, done]", "[open, finished]")]),
    broken("what must be sent", &[("points: int? 0..9", "points: int 0..9")]),
    broken(
        "what is taken no more",
        &[(
            "take: [owner, number, title, status, note, points]",
            "take: [owner, number, title, status, note]",
        )],
    ),
    broken(
        "another name",
        &[
            ("      title: string", "      name: string"),
            ("title, status, note, points]", "name, status, note, points]"),
        ],
    ),
    broken(
        "what is optional was sure",
        &[("status: Status = \"open\"", "status: Status?")],
    ),
    broken(
        "another type in the answer",
        &[("points: int? 0..9", "points: string? ..9")],
    ),
];

fn changed(edits: &[(&str, &str)]) -> String {
    edits.iter().fold(OLD.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    })
}

fn document_of(text: &str) -> Json {
    let loaded = singlet_model::load_source(&Source::new("own", text));
    let errors: Vec<String> = loaded.diagnostics.iter().map(|found| found.message.clone()).collect();
    let model: Model = loaded.model.unwrap_or_else(|| panic!("{errors:?}"));
    openapi_document(&model, &Routes::of(&model), Deployed::as_modelled(&model))
}

/// What an old client does not get as it did.
fn lost(promised: &Json, text: &str) -> Vec<String> {
    let running = start_text(Box::leak(text.to_owned().into_boxed_str()));
    let mut lost = Vec::new();
    for (method, path, body, status) in CALLS {
        let reply: Reply = running.call("own", "-", method, path, &[], body);
        let place = format!("{method} {path} {body}");
        if reply.status != status {
            lost.push(format!("{place}: {} and not {status}: {}", reply.status, reply.text()));
            continue;
        }
        let misfits = answer_misfits(promised, method, path, &reply);
        lost.extend(misfits.into_iter().map(|misfit| format!("{place}: {misfit}")));
    }
    lost
}

#[test]
fn what_breaks_nothing_keeps_the_calls_of_old_clients() {
    let promised = document_of(OLD);
    for pair in PAIRS {
        let text = changed(pair.edits);
        let said: Vec<String> = compare_contracts(&promised, &document_of(&text))
            .into_iter()
            .filter(|change| change.breaking)
            .map(|change| format!("{}: {}", change.at, change.what))
            .collect();
        let lost = lost(&promised, &text);
        assert_eq!(!said.is_empty(), pair.breaks, "{}: {said:?}", pair.name);
        assert_eq!(!lost.is_empty(), pair.breaks, "{}: {lost:#?}", pair.name);
    }
}
