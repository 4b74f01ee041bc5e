//! No answer depends on a bound being large: every word of a read with steps of one to four, over rows of which some have expired
//! or lapsed, some share what they are ordered by, and some partitions are empty; compared with plain filtering.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use singlet_runtime::{Answer, Attributes, Bounds, Caller, Request, RuntimeError, Value, WriteRequest};

use crate::support::{NOW, System, listed, values};

const MODEL: &str = r#"
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

const PAST: &str = "2026-11-15T00:00:00.000Z";
const FUTURE: &str = "2026-12-24T00:00:00.000Z";

fn note(desk: &str, id: u64, level: u64, weight: u64) -> Json {
    json!({"desk": desk, "id": id, "level": level, "weight": weight, "state": "free"})
}

fn expired(mut note: Json) -> Json {
    note["until"] = json!(PAST);
    note
}

fn lines(entity: &str, rows: &[Json]) -> String {
    rows.iter()
        .map(|row| json!({ entity: row }).to_string() + "\n")
        .collect()
}

async fn system(rows: &[Json], bounds: Bounds) -> System {
    let mut system = System::of(MODEL, &lines("Note", rows)).await;
    system.engine = system.engine.bounded(bounds);
    system
}

/// Steps from 1 to `most`, drawn.
fn steps(rng: &mut fastrand::Rng, most: usize) -> Bounds {
    Bounds::USUAL.with_steps(|_, _| rng.usize(1..=most))
}

async fn read(
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
async fn walked(system: &System, name: &str, args: &[(&str, &str)], limit: usize) -> Vec<Json> {
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

async fn one(system: &System, name: &str, args: &[(&str, &str)]) -> Option<Json> {
    match read(system, name, args, 3, None).await {
        Ok(answer) => answer.value.as_ref().map(values::to_json),
        Err(RuntimeError::NotFound) => None,
        Err(error) => panic!("{name}: {error}"),
    }
}

fn id(row: &Json) -> (String, u64) {
    (row["desk"].as_str().unwrap().to_owned(), row["id"].as_u64().unwrap())
}

fn ids(rows: &[Json]) -> Vec<(String, u64)> {
    rows.iter().map(id).collect()
}

fn sorted(rows: &[Json]) -> Vec<(String, u64)> {
    let mut all = ids(rows);
    all.sort();
    all
}

fn levels(rows: &[Json]) -> Vec<u64> {
    rows.iter().map(|row| row["level"].as_u64().unwrap()).collect()
}

fn is_free(row: &Json) -> bool {
    row["state"] == "free" || row["heldUntil"] == PAST
}

fn is_heavy(row: &Json) -> bool {
    row["weight"].as_u64().unwrap() > 500
}

fn drawn_rows(rng: &mut fastrand::Rng) -> Vec<Json> {
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

const DESKS: &str = r#"["c", "z", "a", "b"]"#;

async fn check_lists(system: &System, live: &[Json], limit: usize) {
    let of = |desk: &str| {
        live.iter()
            .filter(|row| row["desk"] == desk)
            .cloned()
            .collect::<Vec<_>>()
    };
    for desk in ["a", "b", "c", "z"] {
        let (args, rows) = ([("desk", desk)], of(desk));
        assert_eq!(ids(&walked(system, "notes", &args, limit).await), ids(&rows), "notes");
        let turned = [("desk", desk), ("reverse", "true")];
        let backwards: Vec<Json> = rows.iter().rev().cloned().collect();
        assert_eq!(
            ids(&walked(system, "notes", &turned, limit).await),
            ids(&backwards),
            "notes, reversed"
        );
        let heavy: Vec<Json> = rows.iter().filter(|row| is_heavy(row)).cloned().collect();
        for name in ["heavy", "stopped"] {
            assert_eq!(ids(&walked(system, name, &args, limit).await), ids(&heavy), "{name}");
        }
        match heavy.is_empty() {
            true => assert_eq!(one(system, "orNone", &args).await, None),
            false => assert_eq!(
                ids(&walked(system, "orNone", &args, limit).await),
                ids(&heavy),
                "orNone"
            ),
        }
        let free: Vec<Json> = rows.iter().filter(|row| is_free(row)).cloned().collect();
        assert_eq!(ids(&walked(system, "free", &args, limit).await), ids(&free), "free");
    }
}

async fn check_merged(system: &System, live: &[Json], limit: usize) {
    for reverse in ["false", "true"] {
        let got = walked(system, "ofDesks", &[("desks", DESKS), ("reverse", reverse)], limit).await;
        assert_eq!(sorted(&got), sorted(live), "ofDesks");
        let mut expected = levels(live);
        expected.sort_by(|a, b| if reverse == "true" { b.cmp(a) } else { a.cmp(b) });
        assert_eq!(levels(&got), expected, "ofDesks");
    }
    let args = [("desks", DESKS)];
    let mut free: Vec<Json> = live.iter().filter(|row| is_free(row)).cloned().collect();
    free.sort_by_key(|row| {
        (
            std::cmp::Reverse(row["level"].as_u64()),
            std::cmp::Reverse(row["id"].as_u64()),
        )
    });
    let got = walked(system, "freeOfDesks", &args, limit).await;
    assert_eq!(sorted(&got), sorted(&free), "freeOfDesks");
    assert_eq!(levels(&got), levels(&free), "freeOfDesks");
    let heavy: Vec<Json> = live.iter().filter(|row| is_heavy(row)).cloned().collect();
    let got = walked(system, "inAnyOrder", &args, limit).await;
    assert_eq!(sorted(&got), sorted(&heavy), "inAnyOrder");
    let got = walked(system, "firstFive", &args, limit).await;
    let mut expected = levels(live);
    expected.sort();
    expected.truncate(5);
    assert_eq!(levels(&got), expected, "firstFive");
}

async fn check_whole(system: &System, live: &[Json]) {
    for desk in ["a", "b", "c", "z"] {
        let args = [("desk", desk)];
        let rows: Vec<Json> = live.iter().filter(|row| row["desk"] == desk).cloned().collect();
        let heavy: Vec<Json> = rows.iter().filter(|row| is_heavy(row)).cloned().collect();
        assert_eq!(one(system, "howMany", &args).await, Some(json!(heavy.len())), "howMany");
        let total: u64 = rows.iter().map(|row| row["weight"].as_u64().unwrap()).sum();
        let weights = json!({"count": rows.len(), "total": total});
        assert_eq!(one(system, "weights", &args).await, Some(weights), "weights");
        let mut by_level: BTreeMap<String, u64> = BTreeMap::new();
        for row in rows.iter().filter(|row| is_free(row)) {
            *by_level.entry(row["level"].to_string()).or_default() += 1;
        }
        assert_eq!(one(system, "byLevel", &args).await, Some(json!(by_level)), "byLevel");
        let last = one(system, "last", &args).await;
        assert_eq!(last.as_ref().map(id), rows.last().map(id), "last");
        for name in ["only", "maybe"] {
            match read(system, name, &args, 3, None).await {
                Err(RuntimeError::Several(_)) => assert!(heavy.len() > 1, "{name}"),
                Err(RuntimeError::NotFound) => assert!(name == "only" && heavy.is_empty(), "{name}"),
                Err(error) => panic!("{name}: {error}"),
                Ok(answer) => {
                    assert!(heavy.len() < 2, "{name}");
                    let got = answer.value.as_ref().map(values::to_json);
                    assert_eq!(got.as_ref().map(id), heavy.first().map(id), "{name}");
                }
            }
        }
        if heavy.len() == 1 {
            assert_eq!(ids(&walked(system, "byLet", &args, 3).await), ids(&heavy), "byLet");
        }
    }
    let each = one(system, "eachDesk", &[("desks", DESKS)]).await.unwrap();
    for answer in each.as_array().unwrap() {
        let rows: Vec<&Json> = live.iter().filter(|row| row["desk"] == answer["desk"]).collect();
        let expected: Vec<&Json> = rows.iter().map(|row| &row["id"]).collect();
        assert_eq!(answer["ids"], json!(expected), "eachDesk");
    }
}

async fn check_with(system: &System, live: &[Json], limit: usize) {
    for desk in ["a", "b", "c"] {
        system.put("Desk", &json!({"desk": desk})).await;
        let args = [("desk", desk)];
        let rows: Vec<Json> = live.iter().filter(|row| row["desk"] == desk).cloned().collect();
        let (mut got, mut cursor) = (Vec::new(), None);
        loop {
            let answer = read(system, "desk", &args, limit, cursor).await.unwrap();
            let value = values::to_json(&answer.value.unwrap());
            let page = value["notes"].as_array().unwrap().clone();
            assert!(page.len() <= limit);
            got.extend(page);
            cursor = answer.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(ids(&got), ids(&rows), "desk");
        let whole = one(system, "wholeDesk", &args).await.unwrap();
        let heavy: Vec<Json> = rows.iter().filter(|row| is_heavy(row)).cloned().collect();
        assert_eq!(ids(whole["all"].as_array().unwrap()), ids(&heavy), "wholeDesk");
        assert_eq!(whole["count"], json!(heavy.len()), "wholeDesk");
        let mut free: Vec<Json> = rows.iter().filter(|row| is_free(row)).cloned().collect();
        free.sort_by_key(|row| row["level"].as_u64());
        free.truncate(3);
        assert_eq!(levels(whole["three"].as_array().unwrap()), levels(&free), "wholeDesk");
        let got = walked(system, "withDesks", &args, limit).await;
        assert_eq!(ids(&got), ids(&rows), "withDesks");
        for row in &got {
            assert_eq!(row["at"]["desk"], desk, "withDesks");
            let same: Vec<Json> = rows
                .iter()
                .filter(|other| other["level"] == row["level"])
                .take(2)
                .cloned()
                .collect();
            assert_eq!(ids(row["same"].as_array().unwrap()), ids(&same), "withDesks");
        }
    }
}

/// Every list and every count, on drawn rows, with drawn steps and pages of one to three rows.
#[tokio::test]
async fn answers_do_not_depend_on_steps() {
    for seed in 0..16 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let rows = drawn_rows(&mut rng);
        let bounds = steps(&mut rng, 4);
        println!("seed {seed}: {} rows, {bounds:?}", rows.len());
        let system = system(&rows, bounds).await;
        let live: Vec<Json> = rows.iter().filter(|row| row["until"] != PAST).cloned().collect();
        let limit = rng.usize(1..=3);
        check_lists(&system, &live, limit).await;
        check_merged(&system, &live, limit).await;
        check_whole(&system, &live).await;
        check_with(&system, &live, limit).await;
    }
}

/// The row that fills the last round of a page is on that page, with the usual bounds.
#[tokio::test]
async fn a_row_behind_many_that_expired_is_on_a_page() {
    for before in [62, 63, 64, 127] {
        let gone = (0..before).map(|at| expired(note("a", at, 0, 900)));
        let rows: Vec<Json> = gone
            .chain((before..before + 7).map(|at| note("a", at, 0, 900)))
            .collect();
        let system = system(&rows, Bounds::USUAL).await;
        for limit in [1, 2, 100] {
            let got = walked(&system, "notes", &[("desk", "a")], limit).await;
            assert_eq!(ids(&got), ids(&rows[before as usize..]), "{before} by {limit}");
        }
    }
}

#[tokio::test]
async fn one_row_behind_many_that_expired_is_got() {
    for before in [1, 63, 64, 200] {
        let gone = (0..before).map(|at| expired(note("a", at, 0, 900)));
        let rows: Vec<Json> = gone.chain([note("a", before, 0, 900)]).collect();
        for bounds in [Bounds::USUAL, Bounds::USUAL.with_steps(|_, _| 1)] {
            let system = system(&rows, bounds).await;
            for name in ["only", "maybe"] {
                let got = one(&system, name, &[("desk", "a")]).await.unwrap();
                assert_eq!(id(&got), id(rows.last().unwrap()), "{name} behind {before}");
            }
            assert_eq!(walked(&system, "byLet", &[("desk", "a")], 1).await.len(), 1, "{before}");
        }
    }
}

/// Each limit at its end and one past it.
#[tokio::test]
async fn limits_refuse_what_is_one_past_them() {
    let rows: Vec<Json> = (0..4).map(|at| note("a", at, at, 900)).collect();
    let refused = async |bounds: Bounds, name: &str, args: &[(&str, &str)]| {
        let system = system(&rows, bounds).await;
        system.put("Desk", &json!({"desk": "a"})).await;
        match read(&system, name, args, 1, None).await {
            Ok(_) => None,
            Err(error) => Some(error.to_string()),
        }
    };
    let (desk, desks) = ([("desk", "a")], [("desks", r#"["a", "b", "c", "d"]"#)]);
    let at = |set: fn(&mut Bounds, usize), most: usize| {
        let mut bounds = Bounds::USUAL;
        set(&mut bounds, most);
        bounds
    };
    for (name, args, set) in [
        (
            "howMany",
            &desk[..],
            (|bounds, most| bounds.counted_rows_max = most) as fn(&mut Bounds, usize),
        ),
        ("weights", &desk[..], |bounds, most| bounds.counted_rows_max = most),
        ("eachDesk", &desks[..], |bounds, most| bounds.element_rows_max = most),
        ("wholeDesk", &desk[..], |bounds, most| {
            bounds.beside_rows_max = most;
            bounds.rows_per_call = 1;
        }),
    ] {
        assert_eq!(refused(at(set, 4), name, args).await, None, "{name}");
        let message = format!("`{name}` would read more than 3 rows");
        assert_eq!(refused(at(set, 3), name, args).await, Some(message));
    }
    assert_eq!(
        refused(at(|bounds, most| bounds.ranges_max = most, 4), "inAnyOrder", &desks).await,
        None
    );
    let message = "this asks for more than 3 item collections at once".to_owned();
    assert_eq!(
        refused(at(|bounds, most| bounds.ranges_max = most, 3), "inAnyOrder", &desks).await,
        Some(message)
    );
    let slow = |rounds_max| Bounds {
        rows_per_call: 1,
        filtered_rows_min: 1,
        rounds_max,
        ..Bounds::USUAL
    };
    assert_eq!(refused(slow(6), "weights", &desk).await, None);
    let message = "`weights` would read on more than 2 times".to_owned();
    assert_eq!(refused(slow(2), "weights", &desk).await, Some(message));
}

/// A cursor that was given is always taken, however many ranges were begun and however long their keys are.
#[tokio::test]
async fn a_cursor_over_many_long_ranges_goes_on() {
    let desks: Vec<String> = (0..120).map(|at| format!("{at:0>130}")).collect();
    let rows: Vec<Json> = desks
        .iter()
        .flat_map(|desk| (0..3).map(|at| note(desk, at, at, 1)))
        .collect();
    let system = system(&rows, Bounds::USUAL).await;
    let sent = json!(desks).to_string();
    let args = [("desks", sent.as_str()), ("reverse", "false")];
    let (mut got, mut cursor) = (Vec::new(), None);
    loop {
        let answer = read(&system, "ofDesks", &args, 100, cursor).await.unwrap();
        got.extend(listed(&answer));
        cursor = answer.next;
        let Some(next) = &cursor else { break };
        assert!(next.len() < 32 * 1024, "a cursor of {} bytes", next.len());
    }
    assert_eq!(sorted(&got), sorted(&rows));
    assert!(levels(&got).is_sorted());
}

/// Rows come, go and move before and behind the cursor: each that is there all the time comes exactly once.
#[tokio::test]
async fn rows_that_change_between_pages_disturb_no_others() {
    for seed in 0..24 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let rows: Vec<Json> = ["a", "b", "c"]
            .into_iter()
            .flat_map(|desk| (0..12).map(move |at| note(desk, at * 10, at % 4, 900)))
            .collect();
        let bounds = if seed % 3 == 0 {
            Bounds::USUAL
        } else {
            steps(&mut rng, 4)
        };
        let system = system(&rows, bounds).await;
        let (name, args) = match seed % 4 {
            0 => ("ofDesks", vec![("desks", DESKS), ("reverse", "false")]),
            1 => ("ofDesks", vec![("desks", DESKS), ("reverse", "true")]),
            2 => ("inAnyOrder", vec![("desks", DESKS)]),
            _ => ("notes", vec![("desk", "b")]),
        };
        let mut stay: Vec<Json> = rows.clone();
        let (mut got, mut cursor) = (Vec::new(), None);
        loop {
            let answer = read(&system, name, &args, 2, cursor).await.unwrap();
            got.extend(listed(&answer));
            cursor = answer.next;
            if cursor.is_none() {
                break;
            }
            let Some(row) = rng.choice(&stay).cloned() else {
                continue;
            };
            match rng.u8(0..4) {
                0 => {
                    system.remove("Note", &row).await;
                    stay.retain(|known| id(known) != id(&row));
                }
                1 => {
                    let mut moved = row.clone();
                    moved["level"] = json!(rng.u64(0..10));
                    system.put("Note", &moved).await;
                    stay.retain(|known| id(known) != id(&row));
                }
                _ => {
                    let desk = ["a", "b", "c"][rng.usize(0..3)];
                    system
                        .put(
                            "Note",
                            &note(desk, rng.u64(0..12) * 10 + rng.u64(1..10), rng.u64(0..5), 900),
                        )
                        .await;
                }
            }
        }
        let given = ids(&got);
        for row in stay.iter().filter(|row| name != "notes" || row["desk"] == "b") {
            let times = given.iter().filter(|known| **known == id(row)).count();
            assert_eq!(times, 1, "seed {seed}: {name} gives {row} {times} times");
        }
    }
}

async fn write(system: &System, name: &str, desk: &str) -> Result<(), RuntimeError> {
    let request = WriteRequest {
        args: Attributes::from([("desk".to_owned(), Value::S(desk.to_owned()))]),
        caller: Caller::anonymous(),
        now: NOW,
        idempotency_key: None,
        precondition: Default::default(),
    };
    system.engine.write(name, &request).await.map(|_| ())
}

/// A write decides on the row behind those that expired, loops over as many as it says, and clears all of them.
#[tokio::test]
async fn a_write_sees_rows_behind_many_that_expired() {
    for bounds in [
        Bounds::USUAL,
        Bounds::USUAL.with_steps(|_, _| 1),
        Bounds::USUAL.with_steps(|_, _| 3),
    ] {
        let gone = (0..130).map(|at| expired(note("a", at, 0, 900)));
        let rows: Vec<Json> = gone.chain([note("a", 130, 0, 900)]).collect();
        let system = system(&rows, bounds).await;
        let refused = write(&system, "claim", "a").await.unwrap_err();
        assert_eq!(refused.to_string(), "refused: note_there");
        write(&system, "claim", "b").await.unwrap();
        for at in 0..5 {
            system.put("Note", &note("a", 200 + at, 0, 900)).await;
        }
        let refused = write(&system, "claim", "a").await.unwrap_err();
        assert!(matches!(refused, RuntimeError::Several(_)), "{refused}");
        write(&system, "lighten", "a").await.unwrap();
        let heavy = walked(&system, "heavy", &[("desk", "a")], 10).await;
        assert_eq!(heavy.iter().map(|row| id(row).1).collect::<Vec<_>>(), [202, 203, 204]);
        write(&system, "clear", "a").await.unwrap();
        assert_eq!(walked(&system, "heavy", &[("desk", "a")], 10).await.len(), 0);
        assert_eq!(walked(&system, "notes", &[("desk", "a")], 10).await.len(), 3);
    }
}

/// The last version is found, and got, however few of them one call reads.
#[tokio::test]
async fn the_last_of_many_versions_is_found_in_small_steps() {
    for most in [1, 2, 1_000] {
        let system = system(&[], Bounds::USUAL.with_steps(|_, usual| usual.min(most))).await;
        for at in 0..7_u64 {
            let request = WriteRequest {
                args: Attributes::from([
                    ("code".to_owned(), Value::S("x".to_owned())),
                    ("amount".to_owned(), Value::N(at.into())),
                ]),
                caller: Caller::anonymous(),
                now: NOW + at as i64,
                idempotency_key: None,
                precondition: Default::default(),
            };
            let name = if at == 0 { "makeRate" } else { "setRate" };
            system.engine.write(name, &request).await.unwrap();
            let rate = one(&system, "rate", &[("code", "x")]).await.unwrap();
            assert_eq!(rate["amount"], json!(at), "steps of {most}");
        }
        let all = walked(&system, "rates", &[("code", "x")], 2).await;
        let amounts: Vec<u64> = all.iter().map(|rate| rate["amount"].as_u64().unwrap()).collect();
        assert_eq!(amounts, [0, 1, 2, 3, 4, 5, 6], "steps of {most}");
    }
}
