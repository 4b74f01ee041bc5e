//! What only the table shows: loading stops at that line, overwrites nothing, and can be done again.

use singlet_runtime::Value;
use singlet_runtime::load::{self, LoadError};

use crate::probe::{NOW, items, kind, load, of_kind, probe};

const ADA: &str = r#"{"Agent": {"id": "ada", "name": "Ada", "email": "a@x.org"}}"#;

#[tokio::test]
async fn rows_that_are_there_are_passed_over_and_made_up_values_stay() {
    let engine = probe().await;
    let lines = format!(
        "{ADA}\n{}",
        r#"{"Ticket": {"agent": "ada", "no": 1, "title": "x", "createdAt": "now-3d"}}"#
    );
    load(&engine, &lines).await.unwrap();
    let before = items(&engine).await;
    // Later, so that relative times and defaults would be others.
    let again = load::load_text(&engine, &lines, NOW + 1_000_000).await.unwrap();
    assert_eq!((again.rows, again.items, again.there), (0, 0, 2));
    assert_eq!(items(&engine).await, before);
}

#[tokio::test]
async fn another_row_with_the_key_or_a_unique_value_stops_it_there() {
    let engine = probe().await;
    load(&engine, ADA).await.unwrap();
    let cases = [
        (
            r#"{"Agent": {"id": "ada", "name": "Eve", "email": "a@x.org"}}"#,
            "line 2: `Agent`: the table has another row with this key",
        ),
        (
            r#"{"Agent": {"id": "eve", "name": "Eve", "email": "A@X.ORG"}}"#,
            "line 2: `Agent`: the table has another row with this `email`, which is unique",
        ),
    ];
    for (at, (line, words)) in cases.into_iter().enumerate() {
        let before = format!(r#"{{"Agent": {{"id": "b{at}", "name": "B", "email": "b{at}@x"}}}}"#);
        let lines = format!("{before}\n{line}");
        let error = load(&engine, &lines).await.unwrap_err();
        assert!(matches!(error, LoadError::Table { rows: 1, .. }), "{error:?}");
        assert_eq!(error.to_string(), words);
        // Once more: the first line is there, the second still stops it.
        let error = load(&engine, &lines).await.unwrap_err();
        assert!(matches!(error, LoadError::Table { rows: 0, .. }), "{error:?}");
    }
    let names: Vec<Value> = of_kind(&engine, "Agent")
        .await
        .iter()
        .map(|item| item["name"].clone())
        .collect();
    assert!(
        names.contains(&Value::from("Ada")) && !names.contains(&Value::from("Eve")),
        "{names:?}"
    );
}

#[tokio::test]
async fn copies_are_taken_from_rows_of_the_file_wherever_they_stand_or_of_the_table() {
    let engine = probe().await;
    let ticket = |no: u8, more: &str| format!(r#"{{"Ticket": {{"agent": "ada", "no": {no}, "title": "x"{more}}}}}"#);
    let missing = load(&engine, &ticket(1, "")).await.unwrap_err();
    assert_eq!(
        missing.to_string(),
        "line 1: `Ticket` /by: there is no `Agent` to copy this from"
    );
    assert_eq!(items(&engine).await, []);
    // The source comes after.
    load(&engine, &format!("{}\n{ADA}", ticket(1, ""))).await.unwrap();
    // From the table.
    load(&engine, &ticket(2, r#", "first": "Augusta""#)).await.unwrap();
    let tickets = of_kind(&engine, "Ticket").await;
    assert!(
        tickets.iter().all(|item| item["by"] == Value::from("Ada")),
        "{tickets:?}"
    );
    assert!(
        tickets.iter().any(|item| item["first"] == Value::from("Augusta")),
        "a snapshot is taken as stated"
    );
    let unlike = load(&engine, &ticket(3, r#", "by": "Eve""#)).await.unwrap_err();
    assert_eq!(
        unlike.to_string(),
        "line 1: `Ticket` /by: this copies `name` of `Agent`, which is \"Ada\", not \"Eve\""
    );
}

/// Rows of one kind that copy from one another: a row waits for the one that it copies from, and no longer.
#[tokio::test]
async fn rows_that_copy_from_their_own_kind_are_loaded_in_any_order() {
    let engine = probe().await;
    let node = |id: u8, parent: u8, more: &str| {
        format!(r#"{{"Node": {{"id": "n{id}", "parent": "n{parent}", "name": "N{id}"{more}}}}}"#)
    };
    let chain = [node(3, 2, ""), node(2, 1, ""), node(1, 1, r#", "above": "none""#)].join("\n");
    let loaded = load(&engine, &chain).await.unwrap();
    assert_eq!((loaded.rows, loaded.there), (3, 0));
    let nodes = of_kind(&engine, "Node").await;
    assert!(
        nodes
            .iter()
            .any(|item| item["id"] == Value::from("n3") && item["above"] == Value::from("N2"))
    );
    let circle = [node(5, 6, ""), node(6, 5, "")].join("\n");
    let error = load(&engine, &circle).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 1: `Node` /above: there is no `Node` to copy this from"
    );
}

#[tokio::test]
async fn a_row_that_must_not_be_beside_one_of_the_table_is_refused() {
    let engine = probe().await;
    load(&engine, r#"{"Slot": {"day": "2026-01-01", "part": "am"}}"#)
        .await
        .unwrap();
    let error = load(&engine, r#"{"Slot": {"day": "2026-01-01", "part": "all"}}"#)
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 1: `Slot`: the table has a `Slot` that must not be beside it"
    );
}

#[tokio::test]
async fn what_is_dumped_can_be_loaded_and_is_the_same_table() {
    let engine = probe().await;
    let lines = [
        ADA,
        r#"{"Ticket": {"agent": "ada", "no": 1, "title": "x", "state": "held", "due": "2026-02-03"}}"#,
        r#"{"Rate": {"code": "A", "from": "2026-01-01T00:00:00.000Z", "amount": 1.50}}"#,
        r#"{"Blob": {"id": "b", "data": {"n": 12345678901234567890123456789012345678, "l": [1, "x", null]}}}"#,
        r#"{"Slot": {"day": "2026-01-01", "part": "am"}}"#,
    ];
    load(&engine, &lines.join("\n")).await.unwrap();
    let mut out = Vec::new();
    let dumped = load::dump_rows(&engine, NOW, &mut out).await.unwrap();
    assert_eq!(
        (dumped.rows, dumped.expired, dumped.unknown, dumped.dropped.len()),
        (5, 0, 0, 0)
    );
    let other = probe().await;
    load(&other, &String::from_utf8(out).unwrap()).await.unwrap();
    // Unique values stand under the key of each table, and their guards say whose they are.
    let sorted = |mut items: Vec<singlet_runtime::Item>| {
        for item in items.iter_mut().filter(|item| kind(item) == "$unique") {
            item.remove("PK");
        }
        items.sort();
        items
    };
    assert_eq!(sorted(items(&other).await), sorted(items(&engine).await));
}

/// A file of many rows, at a bound that has it read many times: memory is bounded by what is compared at a time.
#[tokio::test]
async fn many_rows_are_loaded_side_by_side_and_each_is_there_once() {
    let engine = probe().await;
    let line = |at: usize| format!(r#"{{"Agent": {{"id": "{at}", "name": "A", "email": "{at}@x"}}}}"#);
    let lines: Vec<String> = (0..300).map(line).collect();
    let mut last = 0;
    let mut seen = |progress: load::LoadProgress| last = progress.rows.max(last);
    let rows = lines.join("\n");
    let loaded = load::load_rows(&engine, &load::TextRows(&rows), &load::LoadOptions::at(NOW), &mut seen).await;
    assert_eq!((loaded.unwrap().rows, last), (300, 300));
    assert_eq!(items(&engine).await.len(), 600);
}
