//! Notes on desks: rows of which some have expired or lapsed, some share what they are ordered by, and some partitions are empty.

use serde_json::{Value as Json, json};
use singlet_runtime::{Answer, Bounds, Caller, Request, RuntimeError};

use crate::support::{NOW, System, listed, values};

pub const MODEL: &str = r#"
singlet: 1
name: bounds
table:
  name: bounds
  key: {partition: PK, sort: SK}
  indexes:
    GSI1: {partition: GSI1PK, sort: GSI1SK}
  type: kind
  ttl: ttl
entities:
  Desk:
    attributes: {desk: string 1..150, label: string?}
    key: {PK: "D#{desk}", SK: "D"}
  Note:
    attributes:
      desk: string 1..150
      id: int 0..9999
      level: int 0..9
      weight: int 0..1000
      state: {enum: [free, held]}
      heldUntil: time?
      until: time?
    key: {PK: "D#{desk}", SK: "N#{id}"}
    index:
      GSI1: {GSI1PK: "L#{desk}", GSI1SK: "{level}#{id}"}
    states:
      of: state
      start: free
      moves: {hold: free -> held, release: held -> free}
      while: {held: {heldUntil: now + hours(1)}}
      lapse: {held: "free at heldUntil"}
    expires: until
  Rate:
    attributes:
      code: string 1..5
      from: time
      until: time?
      gone: bool = false
      amount: int 0..100
    key: {PK: "R#{code}", SK: "{from}"}
    history: {at: from, until: until, tombstone: gone}
reads:
  rate:
    get: Rate
    args: {code: Rate.code}
    where: code == args.code
    allow: true
  rates:
    find: Rate
    args: {code: Rate.code}
    where: code == args.code
    versions: all
    order: from
    allow: true
  notes:
    find: Note
    args: {desk: Note.desk, reverse: "bool = false"}
    where: desk == args.desk
    order: id
    reverse: args.reverse
    allow: true
  heavy:
    find: Note
    args: {desk: Note.desk}
    where: desk == args.desk && weight > 500
    order: id
    allow: true
  free:
    find: Note
    args: {desk: Note.desk}
    where: desk == args.desk && state == "free"
    order: id
    allow: true
  ofDesks:
    find: Note
    args: {desks: "list(Note.desk) 1..150", reverse: bool}
    where: desk in args.desks
    order: level
    reverse: args.reverse
    allow: true
  freeOfDesks:
    find: Note
    args: {desks: "list(Note.desk) 1..10"}
    where: desk in args.desks && state == "free"
    order: -level, -id
    allow: true
  inAnyOrder:
    find: Note
    args: {desks: "list(Note.desk) 1..10"}
    where: desk in args.desks && weight > 500
    allow: true
  firstFive:
    find: Note
    args: {desks: "list(Note.desk) 1..10"}
    where: desk in args.desks
    order: level
    limit: 5
    allow: true
  stopped:
    find: Note
    args: {desk: Note.desk}
    where: desk == args.desk && weight > 500
    order: id
    requests: ..2
    allow: true
  orNone:
    find: Note
    args: {desk: Note.desk}
    where: desk == args.desk && weight > 500
    order: id
    empty: 404
    allow: true
  howMany:
    count: Note
    args: {desk: Note.desk}
    where: desk == args.desk && weight > 500
    allow: true
  weights:
    count: Note
    args: {desk: Note.desk}
    where: desk == args.desk
    sum: {total: weight}
    allow: true
  byLevel:
    count: Note
    args: {desk: Note.desk}
    where: desk == args.desk && state == "free"
    by: level
    allow: true
  eachDesk:
    args: {desks: "list(Note.desk) 1..10"}
    each: {one: args.desks, at_most: 10}
    find: Note
    where: desk == one
    order: id
    return: {desk: one, ids: "rows.map(r, r.id)"}
    allow: true
  desk:
    get: Desk
    args: {desk: Desk.desk}
    where: desk == args.desk
    with:
      notes: {find: Note, where: desk == row.desk, order: id}
    pages: notes
    allow: true
  wholeDesk:
    get: Desk
    args: {desk: Desk.desk}
    where: desk == args.desk
    with:
      all: {find: Note, where: desk == row.desk && weight > 500, order: id}
      three: {find: Note, where: desk == row.desk && state == "free", order: level, limit: 3}
      count: {count: Note, where: desk == row.desk && weight > 500}
    allow: true
  withDesks:
    find: Note
    args: {desk: Note.desk}
    where: desk == args.desk
    order: id
    with:
      at: {get: "Desk?", where: desk == row.desk}
      same: {find: Note, where: desk == row.desk && level == row.level, order: id, limit: 2}
    allow: true
  last:
    get: Note
    args: {desk: Note.desk}
    where: desk == args.desk
    order: -id
    allow: true
  only:
    get: Note
    args: {desk: Note.desk}
    where: desk == args.desk && weight > 500
    allow: true
  maybe:
    get: "Note?"
    args: {desk: Note.desk}
    where: desk == args.desk && weight > 500
    allow: true
  byLet:
    let: {n: {get: "Note?", where: desk == args.desk && weight > 500}}
    find: Note
    args: {desk: Note.desk}
    where: desk == n.desk && id == n.id
    allow: true
writes:
  makeRate:
    args: {code: Rate.code, amount: Rate.amount}
    allow: true
    do:
      - create: Rate
        set: {code: args.code, amount: args.amount}
  setRate:
    args: {code: Rate.code, amount: Rate.amount}
    allow: true
    do:
      - update: Rate(args.code)
        set: {amount: args.amount}
  claim:
    args: {desk: Desk.desk}
    let: {n: {get: "Note?", where: desk == args.desk && weight > 500}}
    require:
      - n == absent else note_there
    allow: true
    do:
      - create: Desk
        set: {desk: args.desk}
  lighten:
    args: {desk: Desk.desk}
    allow: true
    do:
      - for: {n: {find: Note, where: desk == args.desk && weight > 500, order: id, limit: 3}}
        update: n
        set: {weight: 1}
    return: nothing
  clear:
    args: {desk: Desk.desk}
    bulk: true
    allow: true
    do:
      - for: {n: {find: Note, where: desk == args.desk && weight > 500}}
        delete: n
"#;

pub const PAST: &str = "2026-11-15T00:00:00.000Z";
pub const FUTURE: &str = "2026-12-24T00:00:00.000Z";

pub fn note(desk: &str, id: u64, level: u64, weight: u64) -> Json {
    json!({"desk": desk, "id": id, "level": level, "weight": weight, "state": "free"})
}

pub fn expired(mut note: Json) -> Json {
    note["until"] = json!(PAST);
    note
}

pub fn lines(entity: &str, rows: &[Json]) -> String {
    rows.iter()
        .map(|row| json!({ entity: row }).to_string() + "\n")
        .collect()
}

pub async fn system(rows: &[Json], bounds: Bounds) -> System {
    let mut system = System::of(MODEL, &lines("Note", rows)).await;
    system.engine = system.engine.bounded(bounds);
    system
}

/// Steps from 1 to `most`, drawn.
pub fn steps(rng: &mut fastrand::Rng, most: usize) -> Bounds {
    Bounds::USUAL.with_steps(|_, _| rng.usize(1..=most))
}

pub async fn read(
    system: &System,
    name: &str,
    args: &[(&str, &str)],
    limit: usize,
    cursor: Option<String>,
) -> Result<Answer, RuntimeError> {
    let request = Request {
        args: system.args(name, args),
        caller: Caller::anonymous(),
        limit: Some(limit),
        cursor,
        now: NOW,
    };
    system.engine.read(name, &request).await
}

/// Every page of a list; short ones are fine, long ones are not.
pub async fn walked(system: &System, name: &str, args: &[(&str, &str)], limit: usize) -> Vec<Json> {
    let (mut rows, mut cursor) = (Vec::new(), None);
    for _ in 0..2_000 {
        let answer = read(system, name, args, limit, cursor).await.unwrap();
        let page = listed(&answer);
        assert!(page.len() <= limit, "{name}: a page of {}", page.len());
        rows.extend(page);
        cursor = answer.next;
        if cursor.is_none() {
            return rows;
        }
    }
    panic!("{name} does not end");
}

pub async fn one(system: &System, name: &str, args: &[(&str, &str)]) -> Option<Json> {
    match read(system, name, args, 3, None).await {
        Ok(answer) => answer.value.as_ref().map(values::to_json),
        Err(RuntimeError::NotFound) => None,
        Err(error) => panic!("{name}: {error}"),
    }
}

pub fn id(row: &Json) -> (String, u64) {
    (row["desk"].as_str().unwrap().to_owned(), row["id"].as_u64().unwrap())
}

pub fn ids(rows: &[Json]) -> Vec<(String, u64)> {
    rows.iter().map(id).collect()
}

pub fn sorted(rows: &[Json]) -> Vec<(String, u64)> {
    let mut all = ids(rows);
    all.sort();
    all
}

pub fn levels(rows: &[Json]) -> Vec<u64> {
    rows.iter().map(|row| row["level"].as_u64().unwrap()).collect()
}

pub fn is_free(row: &Json) -> bool {
    row["state"] == "free" || row["heldUntil"] == PAST
}

pub fn is_heavy(row: &Json) -> bool {
    row["weight"].as_u64().unwrap() > 500
}

pub fn drawn_rows(rng: &mut fastrand::Rng) -> Vec<Json> {
    let mut rows = Vec::new();
    for desk in ["a", "b", "c"] {
        for at in 0..rng.u64(0..14) {
            let mut row = note(desk, at, rng.u64(0..3), rng.u64(0..1000));
            if rng.u8(0..3) == 0 {
                row["state"] = json!("held");
                row["heldUntil"] = json!(if rng.bool() { PAST } else { FUTURE });
            }
            if rng.u8(0..3) == 0 {
                row["until"] = json!(if rng.u8(0..4) > 0 { PAST } else { FUTURE });
            }
            rows.push(row);
        }
    }
    rows
}

pub const DESKS: &str = r#"["c", "z", "a", "b"]"#;
