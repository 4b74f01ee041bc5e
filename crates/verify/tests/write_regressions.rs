//! What sequences of writes have found, each as the few operations that showed it. Every operation is held against the oracle
//! and every item against its row; what the last one comes to is said here.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, and says what it tried"
)]

use std::sync::Arc;

use singlet_store_embedded::EmbeddedStore;
use singlet_verify::bench::BenchGiven;
use singlet_verify::writes::{ExpectedOutcome, WriteSequence, sequence};

/// How every model here begins.
const HEAD: &str = "singlet: 1
name: made
table: {name: made, key: {partition: PK, sort: SK}, type: type, ttl: ttl}
callers: {jwt: {audience: made, claims: {id: sub}}}
";

const MODEL: &str = r#"
types:
  State: {enum: [open, held]}
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
  Big: {attributes: {id: string 1..9, n: number}, key: {PK: "BIG#{id}", SK: "BIG"}}
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
  countAndName:
    args: {id: string 1..9}
    allow: true
    do:
      - update: Lease(args.id)
        add: {count: 1}
      - update: Lease(args.id)
        patch: [name]
        else: skip
  nameAndCount:
    args: {id: string 1..9, name: string 1..9}
    allow: true
    do:
      - upsert: Lease(args.id)
        set: {name: args.name}
      - update: Lease(args.id)
        add: {count: 1}
        else: skip
  nameShown:
    args: {id: string 1..9, name: string 1..9}
    let: {lease: Lease(args.id)}
    allow: true
    do: [{update: lease, set: {name: args.name}, else: skip}]
    return: {lease: lease}
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
  besidePlain:
    args: {id: string 1..9, other: string 1..9}
    let: {plain: Plain(args.id), other: Plain(args.other)}
    allow: true
    do:
      - update: plain
        set: {note: 'plain.note == absent ? "x" : "y"'}
      - update: other
        set: {note: absent}
  plainAndLease:
    args: {id: string 1..9, lease: string 1..9}
    allow: true
    do:
      - update: Plain(args.id)
        patch: [note]
      - update: Lease(args.lease)
        add: {count: 1}
  big: {allow: true, do: [{create: Big, take: [id, n]}]}
  addBig: {args: {id: string 1..9, x: number}, allow: true, do: [{update: Big(args.id), add: {n: args.x}}]}
  addBoth:
    args: {id: string 1..9, other: string 1..9, x: number}
    allow: true
    do:
      - update: Big(args.id)
        add: {n: args.x}
      - update: Plain(args.other)
        set: {note: absent}
  twicePlain:
    args: {id: string 1..9, note: string 1..9}
    allow: true
    do:
      - upsert: Plain(args.id)
        set: {note: args.note}
      - upsert: Plain(args.id)
        set: {note: args.note}
  safely:
    allow: caller.authenticated
    idempotency: required
    do: [{create: Plain, take: [id]}]
"#;

/// An empty table of a model that begins as all do.
async fn opened(model: &str) -> WriteSequence {
    let store = Arc::new(EmbeddedStore::memory().unwrap());
    let model = format!("{HEAD}{model}");
    WriteSequence::open(&model, store, BenchGiven::default()).await.unwrap()
}

/// Operations as `write version arguments`, a second apart, by a caller without credentials; what the last one comes to.
async fn last(lines: &[&str]) -> String {
    let mut all = opened(MODEL).await;
    let mut outcome = ExpectedOutcome::BadRequest;
    for (at, line) in lines.iter().enumerate() {
        let (write, rest) = line.split_once(' ').unwrap();
        let (version, args) = rest.split_once(' ').unwrap();
        let now = 1_794_830_400_500 + 1_000 * at as i64;
        let line = format!("{at} {now} {write} false - {version} {{}} {args}");
        let ops = sequence::parse_operations(all.model(), &line).unwrap();
        for op in ops {
            outcome = all.step(&op).await.unwrap_or_else(|what| panic!("{line}: {what}"));
        }
    }
    match outcome {
        ExpectedOutcome::Done { status, .. } => status.to_string(),
        ExpectedOutcome::Refused(any) => any.first().unwrap().name.clone(),
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
    // An earlier step on the same row is done all the same.
    let other = r#"lease - {"id":"b","name":"y"}"#;
    assert_eq!(
        last(&[LEASE, other, r#"countAndName - {"id":"b","name":"x"}"#]).await,
        "200"
    );
    assert_eq!(
        last(&[LEASE, other, r#"countAndName - {"id":"b","name":"z"}"#]).await,
        "200"
    );
}

/// Only the step that says so is passed over: what an earlier one on the same row breaks is refused.
#[tokio::test]
async fn a_step_that_may_be_skipped_does_not_excuse_another() {
    let other = r#"lease - {"id":"b","name":"y"}"#;
    let named = |name: &str| format!(r#"nameAndCount - {{"id":"b","name":"{name}"}}"#);
    assert_eq!(last(&[LEASE, other, &named("x")]).await, "name_taken");
    assert_eq!(last(&[LEASE, other, &named("z")]).await, "200");
}

#[tokio::test]
async fn a_row_whose_step_was_passed_over_is_answered_whole() {
    let other = r#"lease - {"id":"b","name":"y"}"#;
    assert_eq!(
        last(&[LEASE, other, r#"nameShown - {"id":"b","name":"x"}"#]).await,
        "200"
    );
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
    assert_eq!(
        last(&[PLAIN, r#"twicePlain 7 {"id":"a","note":"z"}"#]).await,
        "VersionMismatch"
    );
    assert_eq!(
        last(&[PLAIN, r#"besidePlain 7 {"id":"a","other":"b"}"#]).await,
        "plain_not_found"
    );
}

#[tokio::test]
async fn a_change_that_changes_nothing_stands_beside_another() {
    let both = |id: &str| format!(r#"plainAndLease - {{"id":"{id}","lease":"a"}}"#);
    assert_eq!(last(&[PLAIN, LEASE, &both("a")]).await, "200");
    assert_eq!(last(&[PLAIN, LEASE, &both("b")]).await, "plain_not_found");
}

#[tokio::test]
async fn a_sum_of_too_many_digits_is_a_wrong_request() {
    let big = r#"big - {"id":"a","n":12345678901234567890123456789012345678}"#;
    assert_eq!(last(&[big, r#"addBig - {"id":"a","x":0.5}"#]).await, "BadRequest");
    assert_eq!(
        last(&[big, PLAIN, r#"addBoth - {"id":"a","other":"a","x":0.5}"#]).await,
        "BadRequest"
    );
    assert_eq!(last(&[big, r#"addBig - {"id":"a","x":1}"#]).await, "200");
}

#[tokio::test]
async fn a_missing_idempotency_key_is_said_before_who_may_ask() {
    assert_eq!(last(&[r#"safely - {"id":"a"}"#]).await, "BadRequest");
}

#[tokio::test]
async fn an_argument_of_a_named_step_has_its_default() {
    let model = r#"
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
    let mut sequence = opened(model).await;
    let ops =
        sequence::parse_operations(sequence.model(), "1 1794830400500 write true - - {} {\"id\": \"a\"}").unwrap();
    let outcome = sequence.step(ops.first().unwrap()).await.unwrap();
    assert!(matches!(outcome, ExpectedOutcome::Done { .. }), "{outcome:?}");
}

/// A model of a test's own, and operations as `at seconds, write, arguments`, by somebody; the rows in the end.
async fn rows_after(model: &str, lines: &[(i64, &str, &str, &str)]) -> WriteSequence {
    let mut all = opened(model).await;
    for (at, (seconds, write, args, meant)) in lines.iter().enumerate() {
        let now = 1_794_830_400_500 + 1_000 * seconds;
        let line = format!("{at} {now} {write} true - - {{\"id\":\"ada\"}} {args}");
        for op in sequence::parse_operations(all.model(), &line).unwrap() {
            let outcome = all.step(&op).await.unwrap_or_else(|what| panic!("{line}: {what}"));
            assert_eq!(outcome.word(), *meant, "{line}");
        }
    }
    all
}

const COPIES: &str = r#"
entities:
  Item:
    attributes: {id: string 1..9, name: string 1..9, count: int 0..5 = 0}
    key: {PK: "ITEM#{id}", SK: "ITEM"}
  Card:
    attributes: {id: string 1..9, seen: {copy: "Item(id).count", kept: transaction}}
    key: {PK: "CARD#{id}", SK: "CARD"}
writes:
  item: {allow: caller.authenticated, do: [{create: Item, take: [id, name]}]}
  card: {args: {id: string 1..9}, allow: caller.authenticated, do: [{create: Card, set: {id: args.id}}]}
  countAndName:
    args: {id: string 1..9, other: string 1..9, name: string 1..9}
    allow: caller.authenticated
    do:
      - update: Item(args.id)
        add: {count: 1}
      - update: Item(args.other)
        set: {name: args.name}
  thereAndBack:
    args: {id: string 1..9, other: string 1..9}
    allow: caller.authenticated
    do:
      - update: Item(args.id)
        add: {count: 1}
      - update: Item(args.other)
        add: {count: -1}
"#;

#[tokio::test]
async fn a_copy_follows_what_two_steps_make_of_its_source() {
    let lines = [
        (0, "item", r#"{"id":"a","name":"x"}"#, "done"),
        (1, "card", r#"{"id":"a"}"#, "done"),
        (2, "countAndName", r#"{"id":"a","other":"a","name":"y"}"#, "done"),
        (3, "thereAndBack", r#"{"id":"a","other":"a"}"#, "done"),
    ];
    rows_after(COPIES, &lines).await;
}

const VERSIONED: &str = r#"
entities:
  Item:
    attributes: {id: string 1..9, count: int 0..5 = 0, kind: string?, version: version}
    key: {PK: "ITEM#{id}", SK: "ITEM"}
writes:
  raise:
    args: {id: string 1..9}
    let: {item: Item(args.id)}
    allow: caller.authenticated
    require: [item.count < 3 else enough(count = item.count)]
    do: [{update: item, add: {count: 1}}]
    if_match: required
  put:
    args: {id: string 1..9, kind: string 1..9}
    let: {item: Item(args.id)}
    allow: caller.authenticated
    require: ['(item.kind == absent || item.kind != "blue") else blue']
    do:
      - upsert: Item(args.id)
        set: {kind: args.kind}
    if_match: required
"#;

#[tokio::test]
async fn a_row_that_is_missing_is_said_before_its_version_and_what_is_required_of_it() {
    let lines = [
        (0, "raise", r#"{"id":"a"}"#, "item_not_found"),
        (1, "put", r#"{"id":"a","kind":"red"}"#, "item_not_found"),
    ];
    rows_after(VERSIONED, &lines).await;
}

const HISTORY: &str = r#"
entities:
  Page:
    attributes: {id: string 1..9, at: time, until: time?, name: string 1..9, note: string?, touched: {type: millis, always: now}}
    key: {PK: "PAGE#{id}", SK: "AT#{at}"}
    history: {at: at, until: until}
writes:
  page: {allow: caller.authenticated, do: [{create: Page, take: [id, name]}]}
  again:
    args: {id: string 1..9, same: string 1..9, name: string 1..9}
    let: {page: Page(args.id)}
    allow: caller.authenticated
    do:
      - update: page
        set: {note: page.note}
      - upsert: Page(args.same)
        set: {name: args.name}
"#;

/// What every write sets does not clash with itself, though the first step leaves the row as it is.
#[tokio::test]
async fn a_step_that_changes_nothing_clashes_with_no_other() {
    let lines = [
        (0, "page", r#"{"id":"a","name":"x"}"#, "done"),
        (1, "again", r#"{"id":"a","same":"a","name":"y"}"#, "done"),
        (2, "again", r#"{"id":"a","same":"b","name":"y"}"#, "done"),
    ];
    rows_after(HISTORY, &lines).await;
}

const BULK: &str = r#"
entities:
  Count:
    attributes: {id: string 1..9, n: int 0..5 = 0}
    key: {PK: "COUNT#{id}", SK: "COUNT"}
writes:
  count: {allow: caller.authenticated, do: [{create: Count, take: [id, n]}]}
  empty: {args: {id: string 1..9}, allow: caller.authenticated, do: [{update: Count(args.id), set: {n: 0}}]}
  each:
    args: {ids: list(string 1..9) 1..9}
    allow: caller.authenticated
    bulk: true
    do:
      - for: {one: args.ids}
        update: Count(one)
        add: {n: 1}
    return: {n: done}
"#;

/// How far a bulk operation came counts for a day after its last turn; then it begins anew.
#[tokio::test]
async fn a_bulk_operation_goes_on_for_a_day_and_then_begins_anew() {
    let day = 86_400;
    for (later, counted) in [(60, 1), (day - 2, 1), (day + 60, 2)] {
        let each = r#"{"ids":["a","b"]}"#;
        let lines = [
            (0, "count", r#"{"id":"a","n":0}"#, "done"),
            (0, "count", r#"{"id":"b","n":5}"#, "done"),
            (1, "each", each, "n_out_of_range"),
            (2, "empty", r#"{"id":"b"}"#, "done"),
            (later, "each", each, "done"),
        ];
        let all = rows_after(BULK, &lines).await;
        let first = all.rows().iter().map(|(_, row)| row);
        let mut first = first.filter(|row| row.get("id").and_then(singlet_item::Value::as_str) == Some("a"));
        let n = first.next().and_then(|row| row.get("n").cloned());
        assert_eq!(n, Some(singlet_item::Value::from(counted)), "{later} s later");
    }
}

const SKIPPED: &str = r#"
types:
  Kind: {enum: [green]}
  LineIn: {object: {no: int 0..9, amount: int -9..9}}
entities:
  Item:
    attributes: {id: string 1..9, kind: Kind?, list: 'list(int 0..9)? ..3'}
    key: {PK: "ITEM#{id}", SK: "ITEM"}
  ItemByKind: {mirrors: Item, key: {PK: "KIND#{kind}", SK: "ITEM"}}
  Line:
    attributes: {id: string 1..9, no: int 0..9, amount: int -9..9}
    key: {PK: "LINE#{id}", SK: "N#{no}"}
writes:
  make: {allow: caller.authenticated, do: [{create: Item, take: [id, kind]}]}
  mark:
    args: {id: string 1..9, n: int 0..9}
    allow: caller.authenticated
    do:
      - update: Item(args.id)
        append: {list: args.n}
        else: skip
      - update: Item(args.id)
        set: {kind: green}
  lines:
    args: {id: string 1..9, given: list(LineIn) ..3, wide: int 0..9}
    allow: caller.authenticated
    do:
      - for: {e: args.given}
        create: Line
        set: {id: args.id}
        take: [no, amount]
        from: e
      - upsert: Line(args.id, args.wide)
        add: {amount: 1}
        else: skip
"#;

/// The first step could be passed over, and was not; the second then speaks for the row.
#[tokio::test]
async fn a_place_that_is_taken_is_said_of_the_step_that_would_take_it() {
    let lines = [
        (1, "make", r#"{"id":"a","kind":"green"}"#, "done"),
        (2, "make", r#"{"id":"b"}"#, "done"),
        (3, "mark", r#"{"id":"b","n":5}"#, "item_by_kind_exists"),
    ];
    rows_after(SKIPPED, &lines).await;
}

#[tokio::test]
async fn a_row_that_a_loop_has_made_is_not_made_again_by_a_step_that_may_be_skipped() {
    let lines = [(
        1,
        "lines",
        r#"{"id":"a","given":[{"no":1,"amount":2},{"no":4,"amount":9}],"wide":4}"#,
        "same_item",
    )];
    rows_after(SKIPPED, &lines).await;
}

const SEEN_BY_OTHERS: &str = r#"
entities:
  Item:
    attributes: {id: string 1..9, note: string?, version: version}
    key: {PK: "ITEM#{id}", SK: "ITEM"}
writes:
  make: {allow: caller.authenticated, do: [{create: Item, take: [id, note]}]}
  rename:
    args: {id: string 1..9}
    let: {item: Item(args.id)}
    allow: item.note != caller.id
    do:
      - upsert: Item(args.id)
        set: {note: '"x"'}
    if_match: required
"#;

#[tokio::test]
async fn who_may_not_is_told_so_before_that_a_version_is_wanted() {
    let lines = [
        (1, "make", r#"{"id":"a","note":"ada"}"#, "done"),
        (2, "rename", r#"{"id":"a"}"#, "item_not_found"),
    ];
    rows_after(SEEN_BY_OTHERS, &lines).await;
}
