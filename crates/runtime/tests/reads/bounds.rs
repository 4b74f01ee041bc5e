//! What lies behind many rows that expired, and requests at a bound, one past it and over many pages.

use serde_json::{Value as Json, json};
use singlet_runtime::{Attributes, Bounds, Caller, RuntimeError, Value, WriteRequest};

use crate::desks::{DESKS, expired, id, ids, levels, note, one, read, sorted, steps, system, walked};
use crate::support::{NOW, System, listed};

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

/// What has no cursor is refused once it has looked at more rows than it may, those included that nobody gets to see.
#[tokio::test]
async fn an_answer_without_pages_that_looks_at_too_many_rows_is_refused() {
    let gone = (0..3).map(|at| expired(note("a", at, 0, 900)));
    let rows: Vec<Json> = gone.chain([note("a", 3, 0, 900)]).collect();
    for name in ["howMany", "weights", "only", "maybe"] {
        for read_rows_max in [4, 3, 1] {
            let bounds = Bounds {
                read_rows_max,
                ..Bounds::USUAL
            };
            let system = system(&rows, bounds).await;
            let said = match read(&system, name, &[("desk", "a")], 1, None).await {
                Ok(_) => None,
                Err(error @ RuntimeError::TooManyRows { .. }) => Some(error.to_string()),
                Err(error) => panic!("{error}"),
            };
            let message = format!("`{name}` would look at more than {read_rows_max} rows");
            assert_eq!(said, (read_rows_max < 4).then_some(message), "{name}");
        }
    }
}

/// A list is cut where a page has looked at enough rows: the page is short, and its cursor goes on.
#[tokio::test]
async fn a_page_that_has_looked_at_enough_rows_is_given_short() {
    let gone = (0..60).map(|at| expired(note("a", at, 0, 900)));
    let rows: Vec<Json> = gone.chain((60..63).map(|at| note("a", at, 0, 900))).collect();
    for rows_per_page in [1, 2, 21, 1_000] {
        let bounds = Bounds {
            rows_per_page,
            ..Bounds::USUAL
        };
        let system = system(&rows, bounds).await;
        let first = read(&system, "notes", &[("desk", "a")], 3, None).await.unwrap();
        let is_whole = listed(&first).len() == 3;
        assert_eq!(is_whole, rows_per_page == 1_000, "{rows_per_page}");
        assert!(is_whole || first.next.is_some());
        let got = walked(&system, "notes", &[("desk", "a")], 3).await;
        assert_eq!(ids(&got), ids(&rows[60..]), "{rows_per_page}");
    }
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
