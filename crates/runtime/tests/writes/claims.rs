//! A caller who lacks a claim is admitted by nothing that hangs on it, however it is negated, and wherever it is decided: before any
//! I/O, in the store's condition, on a row that was read, in a filter.

use serde_json::{Value as Json, json};
use singlet_runtime::Caller;

use super::place;
use super::support::{System, refused, user};

/// Clauses over a row whose owner is ada and that has no editor, with whom they admit: ada, bob, and a caller without an id.
const CLAUSES: &[(&str, [bool; 3])] = &[
    ("doc.owner == caller.id", [true, false, false]),
    ("doc.owner != caller.id", [false, true, false]),
    ("!(doc.owner == caller.id)", [false, true, false]),
    ("!(doc.owner != caller.id)", [true, false, false]),
    ("!(doc.owner != caller.id && doc.open)", [true, false, false]),
    ("!(doc.owner == caller.id || doc.open)", [false, false, false]),
    ("!(doc.owner != caller.id && !doc.open)", [true, true, true]),
    ("doc.owner == caller.id || doc.open", [true, true, true]),
    ("!(doc.owner in [caller.id, \"bob\"])", [false, true, false]),
    ("doc.owner in [caller.id, \"ada\"]", [true, true, true]),
    ("!doc.owner.startsWith(caller.id)", [false, true, false]),
    ("!(doc.editor == caller.id)", [true, true, false]),
    ("!(lower(caller.id) != doc.owner)", [true, false, false]),
    ("caller.id == absent || doc.owner == caller.id", [true, false, true]),
    ("!(caller.id != absent) || doc.open", [true, true, true]),
    ("mine", [true, false, false]),
    ("!mine", [false, true, false]),
];

/// The clauses as requirements of writes: of a row that only gets conditions, and of one that is read.
fn model() -> String {
    let mut text = String::from(
        r#"
singlet: 1
name: claims
table:
  name: claims
  key: {partition: PK, sort: SK}
  type: type
callers:
  jwt: {audience: claims, claims: {id: sub, role: role}}
entities:
  Doc:
    attributes:
      id: string 1..40
      owner: string 1..40
      editor: string? 1..40
      open: bool = true
      seen: int = 0
      last: int = 0
    key: {PK: "DOC#{id}", SK: "DOC"}
reads:
"#,
    );
    let bare = |clause: &str| clause.replace("doc.", "").replace("mine", "(owner == caller.id)");
    for (at, (clause, _)) in CLAUSES.iter().enumerate() {
        let clause = bare(clause);
        text.push_str(&format!(
            "  r{at}:\n    find: Doc\n    where: 'id == \"d\" && ({clause})'\n    order: id\n    allow: true\n"
        ));
    }
    text.push_str("writes:\n  make:\n    allow: true\n    do:\n      - create: Doc\n        take: [id, owner]\n");
    for (at, (clause, _)) in CLAUSES.iter().enumerate() {
        let mine = match clause.contains("mine") {
            true => ", mine: doc.owner == caller.id",
            false => "",
        };
        let add = "add: {seen: 1}";
        for (name, change) in [("p", add), ("q", "set: {seen: doc.seen + 1, last: doc.seen}")] {
            text.push_str(&format!(
                "  {name}{at}:\n    let: {{doc: Doc(\"d\"){mine}}}\n    allow: true\n    require:\n      - '({clause}) else no'\n    \
                 do:\n      - update: doc\n        {change}\n"
            ));
        }
    }
    text
}

#[tokio::test]
async fn what_a_caller_lacks_admits_nobody_wherever_it_is_decided() {
    let system = System::placed("claims", &model(), place::store().await).await;
    let doc = json!({"id": "d", "owner": "ada"});
    system.write("make", &user("ada"), doc).await.unwrap();
    let nobody = Caller {
        authenticated: true,
        ..Caller::anonymous().claim("role", "guest")
    };
    let callers = [user("ada"), user("bob"), nobody];
    let admitted = |outcome: &Result<Json, String>| match outcome {
        Ok(_) => true,
        other => {
            assert_eq!(other, &refused("no 409"));
            false
        }
    };
    for (at, (clause, expected)) in CLAUSES.iter().enumerate() {
        for (caller, expected) in callers.iter().zip(expected) {
            for name in ["p", "q"] {
                let outcome = system.write(&format!("{name}{at}"), caller, json!({})).await;
                assert_eq!(admitted(&outcome), *expected, "{name}: {clause} of {caller:?}");
            }
            let rows = system.read(&format!("r{at}"), caller, json!({})).await.unwrap();
            let found = !rows.as_array().unwrap().is_empty();
            assert_eq!(found, *expected, "a filter: {clause} of {caller:?}");
        }
    }
}
