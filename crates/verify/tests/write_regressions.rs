//! What sequences of writes have found, each as the few operations that showed it. Every operation is held against the oracle
//! and every item against its row; what the last one comes to is said here.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, and says what it tried"
)]

use std::sync::Arc;

use singlet_store_embedded::EmbeddedStore;
use singlet_verify::bench::Given;
use singlet_verify::writes::{Outcome, Sequence, sequence};

const MODEL: &str = r#"
singlet: 1
name: made
table: {name: made, key: {partition: PK, sort: SK}, type: type, ttl: ttl}
types:
  State: {enum: [open, held]}
callers:
  jwt: {audience: made, claims: {id: sub}}
entities:
  Page:
    attributes:
      id: string 1..9
      at: time
      until: time?
      gone: bool = false
      name: string 1..9
      count: int 0..5 = 0
    key: {PK: "PAGE#{id}", SK: "{at}"}
    history: {at: at, until: until, tombstone: gone}
  Room:
    attributes:
      id: string 1..9
      name: string 1..9
      door: string 1..9
      count: int 0..5 = 0
      ends: time?
      version: version
    key: {PK: "ROOM#{id}", SK: "ROOM"}
    unique: {name: name}
    expires: 'ends == absent ? absent : ends'
  ByDoor:
    mirrors: Room
    carries: [id, door]
    key: {PK: "DOOR#{door}", SK: "DOOR"}
  Lease:
    attributes:
      id: string 1..9
      name: string 1..9
      state: State
      ends: time?
      count: int 0..5 = 0
      version: version
    key: {PK: "LEASE#{id}", SK: "LEASE"}
    unique: {name: name}
    expires: 'ends == absent ? absent : ends'
    states: {of: state, start: open, moves: {hold: open -> held}}
  Stay:
    attributes:
      id: string 1..9
      state: State
      heldUntil: time?
      ends: time?
    key: {PK: "STAY#{id}", SK: "STAY"}
    expires: 'ends == absent ? absent : ends'
    states:
      of: state
      start: open
      moves: {hold: open -> held}
      while: {held: {heldUntil: now + minutes(0)}}
      lapse: {held: "open at heldUntil"}
  Plain:
    attributes:
      id: string 1..9
      note: string? 1..9
      ends: time?
      version: version
    key: {PK: "PLAIN#{id}", SK: "PLAIN"}
    expires: 'ends == absent ? absent : ends'
writes:
  page: {allow: true, do: [{create: Page, take: [id, name]}]}
  noPage: {args: {id: string 1..9}, allow: true, do: [{delete: Page(args.id)}]}
  countPage: {args: {id: string 1..9, by: int}, allow: true, do: [{update: Page(args.id), add: {count: args.by}}]}
  pageTwice:
    args: {id: string 1..9, name: string 1..9}
    allow: true
    do:
      - update: Page(args.id)
        add: {count: 1}
      - update: Page(args.id)
        set: {name: args.name}
  room: {allow: true, do: [{create: Room, take: [id, name, door, ends]}]}
  moveRoom:
    args: {id: string 1..9, to: string 1..9}
    allow: true
    do:
      - update: Room(args.id)
        set: {id: args.to}
        rekey: true
        else: {exists: place_taken}
  door: {args: {id: string 1..9, door: string 1..9}, allow: true, do: [{update: Room(args.id), set: {door: args.door}}]}
  lease: {allow: true, do: [{create: Lease, take: [id, name]}]}
  endLease: {args: {id: string 1..9}, allow: true, do: [{update: Lease(args.id), patch: [ends]}]}
  holdLease: {args: {id: string 1..9}, allow: true, do: [{update: Lease(args.id), move: hold, else: skip}]}
  countLease:
    args: {id: string 1..9, by: int}
    allow: true
    do:
      - update: Lease(args.id)
        add: {count: args.by}
        else: skip
  bothNamed:
    args: {id: string 1..9, name: string 1..9, other: string 1..9}
    allow: true
    do:
      - create: Lease
        set: {id: args.id, name: args.name}
      - update: Page(args.other)
        set: {name: args.name}
  stay: {allow: true, do: [{create: Stay, take: [id]}]}
  holdStay: {args: {id: string 1..9}, allow: true, do: [{update: Stay(args.id), move: hold}]}
  endStay: {args: {id: string 1..9}, allow: true, do: [{update: Stay(args.id), patch: [ends]}]}
  plain: {allow: true, do: [{create: Plain, take: [id, note]}]}
  movePlain:
    args: {id: string 1..9, to: string 1..9}
    allow: true
    do:
      - update: Plain(args.id)
        set: {id: args.to}
        rekey: true
  patchPlain: {args: {id: string 1..9}, allow: true, do: [{update: Plain(args.id), patch: [note, ends]}]}
  fewPlain:
    args: {id: string 1..9, many: int}
    allow: true
    require:
      - args.many < 3 else too_many
    do:
      - update: Plain(args.id)
        set: {note: absent}
  safely:
    allow: caller.authenticated
    idempotency: required
    do: [{create: Plain, take: [id]}]
"#;

/// Operations as `write version arguments`, a second apart, by a caller without credentials; what the last one comes to.
async fn last(lines: &[&str]) -> String {
    let store = Arc::new(EmbeddedStore::memory().unwrap());
    let mut all = Sequence::open(MODEL, store, Given::default()).await.unwrap();
    let mut outcome = Outcome::BadRequest;
    for (at, line) in lines.iter().enumerate() {
        let (write, rest) = line.split_once(' ').unwrap();
        let (version, args) = rest.split_once(' ').unwrap();
        let now = 1_794_830_400_500 + 1_000 * at as i64;
        let line = format!("{at} {now} {write} false - {version} {{}} {args}");
        let ops = sequence::parsed(all.model(), &line).unwrap();
        for op in ops {
            outcome = all.step(&op).await.unwrap_or_else(|what| panic!("{line}: {what}"));
        }
    }
    match outcome {
        Outcome::Done { status, .. } => status.to_string(),
        Outcome::Refused(any) => any.first().unwrap().name.clone(),
        other => format!("{other:?}"),
    }
}

const PAGE: &str = r#"page - {"id":"p","name":"one"}"#;
const ROOM: &str = r#"room - {"id":"a","name":"x","door":"1"}"#;
const LEASE: &str = r#"lease - {"id":"a","name":"x"}"#;
const PLAIN: &str = r#"plain - {"id":"a","note":"n"}"#;

#[tokio::test]
async fn a_row_that_ends_with_a_change_is_answered_in_the_state_that_time_gave_it() {
    let lines = [
        r#"stay - {"id":"a"}"#,
        r#"holdStay - {"id":"a"}"#,
        r#"plain - {"id":"a"}"#,
        // It was held until a second ago, and is over since this morning.
        r#"endStay - {"id":"a","ends":"2026-11-16T08:00:00.000Z"}"#,
    ];
    assert_eq!(last(&lines).await, "200");
}

#[tokio::test]
async fn what_was_deleted_can_be_created_again_with_other_values() {
    let again = r#"page - {"id":"p","name":"two"}"#;
    assert_eq!(last(&[PAGE, r#"noPage - {"id":"p"}"#, again]).await, "201");
    assert_eq!(last(&[PAGE, again]).await, "page_exists");
}

#[tokio::test]
async fn two_steps_on_a_row_with_versions_make_one_version() {
    assert_eq!(last(&[PAGE, r#"pageTwice - {"id":"p","name":"two"}"#]).await, "200");
}

#[tokio::test]
async fn limits_hold_for_rows_with_versions() {
    assert_eq!(
        last(&[PAGE, r#"countPage - {"id":"p","by":6}"#]).await,
        "count_out_of_range"
    );
    assert_eq!(last(&[PAGE, r#"countPage - {"id":"p","by":5}"#]).await, "200");
}

#[tokio::test]
async fn a_row_that_moves_owns_its_guards_at_its_new_key() {
    let moved = r#"moveRoom - {"id":"a","to":"b"}"#;
    assert_eq!(last(&[ROOM, moved]).await, "200");
    assert_eq!(
        last(&[ROOM, moved, r#"room - {"id":"a","name":"x","door":"2"}"#]).await,
        "name_taken"
    );
}

#[tokio::test]
async fn a_row_that_nothing_else_reads_moves_all_the_same() {
    assert_eq!(last(&[PLAIN, r#"movePlain - {"id":"a","to":"b"}"#]).await, "200");
}

#[tokio::test]
async fn a_move_to_a_taken_place_is_refused_by_the_name_that_the_step_gives() {
    let other = r#"room - {"id":"b","name":"y","door":"2"}"#;
    assert_eq!(
        last(&[ROOM, other, r#"moveRoom - {"id":"a","to":"b"}"#]).await,
        "place_taken"
    );
}

#[tokio::test]
async fn an_update_does_not_overwrite_the_mirror_of_another_row() {
    let other = r#"room - {"id":"b","name":"y","door":"2"}"#;
    assert_eq!(
        last(&[ROOM, other, r#"door - {"id":"b","door":"1"}"#]).await,
        "by_door_exists"
    );
    assert_eq!(last(&[ROOM, other, r#"door - {"id":"b","door":"3"}"#]).await, "200");
}

#[tokio::test]
async fn guards_expire_with_a_row_whose_end_is_patched() {
    let end = r#"endLease - {"id":"a","ends":"2026-11-16T12:00:02.000Z"}"#;
    let again = r#"lease - {"id":"b","name":"x"}"#;
    assert_eq!(last(&[LEASE, end, again]).await, "201");
    assert_eq!(last(&[LEASE, again]).await, "name_taken");
}

#[tokio::test]
async fn a_step_that_may_be_skipped_is_skipped_for_any_reason() {
    let hold = r#"holdLease - {"id":"a"}"#;
    assert_eq!(last(&[LEASE, hold]).await, "200");
    assert_eq!(last(&[LEASE, hold, hold]).await, "204");
    assert_eq!(last(&[LEASE, r#"countLease - {"id":"a","by":6}"#]).await, "204");
    assert_eq!(last(&[hold]).await, "204");
}

#[tokio::test]
async fn the_first_step_that_cannot_be_done_speaks_though_a_later_one_is_decided_earlier() {
    let taken = r#"bothNamed - {"id":"b","name":"x","other":"none"}"#;
    assert_eq!(last(&[LEASE, taken]).await, "name_taken");
    assert_eq!(last(&[taken]).await, "page_not_found");
}

#[tokio::test]
async fn a_row_that_ends_with_a_change_is_answered_whole() {
    let end = r#"patchPlain - {"id":"a","ends":"2026-11-16T11:00:00.000Z"}"#;
    assert_eq!(last(&[PLAIN, end]).await, "200");
}

#[tokio::test]
async fn another_version_speaks_before_requirements_and_after_a_missing_row() {
    assert_eq!(
        last(&[PLAIN, r#"fewPlain 7 {"id":"a","many":5}"#]).await,
        "VersionMismatch"
    );
    assert_eq!(last(&[PLAIN, r#"fewPlain 1 {"id":"a","many":5}"#]).await, "too_many");
    assert_eq!(last(&[r#"fewPlain 7 {"id":"a","many":1}"#]).await, "plain_not_found");
}

#[tokio::test]
async fn a_missing_idempotency_key_is_said_before_who_may_ask() {
    assert_eq!(last(&[r#"safely - {"id":"a"}"#]).await, "BadRequest");
}

#[tokio::test]
async fn an_argument_of_a_named_step_has_its_default() {
    let model = r#"
singlet: 1
name: made
table: {name: made, key: {partition: PK, sort: SK}, type: type}
entities:
  Line: {attributes: {id: string 1..9, amount: int}, key: {PK: "LINE#{id}", SK: "LINE"}}
steps:
  line:
    args: {id: string 1..9, amount: int = 2}
    do:
      - upsert: Line(args.id)
        set: {amount: args.amount}
writes:
  write: {args: {id: string 1..9}, allow: "true", do: [{line: {id: args.id}}]}
"#;
    let store = Arc::new(EmbeddedStore::memory().unwrap());
    let mut sequence = Sequence::open(model, store, Given::default()).await.unwrap();
    let ops = sequence::parsed(sequence.model(), "1 1794830400500 write true - - {} {\"id\": \"a\"}").unwrap();
    let outcome = sequence.step(ops.first().unwrap()).await.unwrap();
    assert!(matches!(outcome, Outcome::Done { .. }), "{outcome:?}");
}
