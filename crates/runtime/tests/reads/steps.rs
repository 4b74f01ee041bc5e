//! No answer depends on a bound being large: every word of a read with steps of one to four, compared with plain filtering.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use singlet_runtime::RuntimeError;

use crate::desks::{
    DESKS, PAST, drawn_rows, id, ids, is_free, is_heavy, levels, one, read, sorted, steps, system, walked,
};
use crate::support::{System, values};

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
