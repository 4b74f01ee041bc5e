//! The refusals that a write is said to have are those that it can come to.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use singlet_model::Source;
use singlet_plan::write::possible_refusals;

const MODEL: &str = r#"
singlet: 1
name: moved
table: {name: moved, key: {partition: PK, sort: SK}, type: kind, recovery: point_in_time}
callers:
  jwt: {audience: moved, claims: {id: sub}}
entities:
  Doc:
    attributes: {id: string 1..20, owner: string 1..20, note: string? 1..20}
    key: {PK: "DOC#{id}", SK: "DOC"}
  ByOwner:
    mirrors: Doc
    carries: [note]
    key: {PK: "OWNER#{owner}", SK: "DOC"}
writes:
  renumber:
    args: {id: Doc.id, to: Doc.id}
    allow: true
    let: {doc: Doc(args.id)}
    do: [{update: doc, set: {id: args.to}, rekey: true, else: {exists: place_taken}}]
  give:
    args: {id: Doc.id, to: Doc.owner}
    allow: true
    do: [{update: Doc(args.id), set: {owner: args.to}}]
  note:
    args: {id: Doc.id}
    allow: true
    do: [{update: Doc(args.id), patch: [note]}]
"#;

fn refusals(write: &str) -> Vec<String> {
    let model = singlet_model::load_source(&Source::new("moved", MODEL)).model.unwrap();
    let write = model.writes.iter().find(|known| known.name == write).unwrap();
    possible_refusals(&model, write)
        .into_iter()
        .map(|(status, name)| format!("{status} {name}"))
        .collect()
}

#[test]
fn a_row_that_moves_may_find_its_place_taken() {
    assert_eq!(refusals("renumber"), ["404 doc_not_found", "409 place_taken"]);
}

#[test]
fn a_mirror_that_moves_may_find_its_place_taken() {
    assert_eq!(refusals("give"), ["404 doc_not_found", "409 by_owner_exists"]);
    assert_eq!(refusals("note"), ["404 doc_not_found"]);
}
