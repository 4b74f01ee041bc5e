//! Each word of a read that the five systems do not use, or not in every way.

use serde_json::{Value as Json, json};
use singlet_runtime::{Attributes, Bounds, Caller, Engine, Request, RuntimeError};

use crate::support::{NOW, System, listed, model_of, names, text, values};

const MODEL: &str = r#"
singlet: 1
name: words
table:
  name: words
  key: {partition: PK, sort: SK}
  indexes:
    GSI1: {partition: GSI1PK, sort: GSI1SK}
types:
  Colour: {enum: [red, green, blue]}
callers:
  jwt: {audience: words, claims: {id: sub}}
entities:
  Shelf:
    attributes:
      shelf: string 1..20
      room: string 1..20
    key: {PK: "SHELF#{shelf}", SK: "SHELF"}
  Box:
    attributes:
      shelf: string 1..20
      box: int 0..99999
      colour: Colour
      label: string?
      weight: number 0..1000000
      day: date?
    key: {PK: "SHELF#{shelf}", SK: "BOX#{box}"}
    index:
      GSI1: {GSI1PK: "ROOM#{shelf}", GSI1SK: "{colour}#{box}"}
reads:
  boxes:
    find: Box
    args: {shelf: Box.shelf, reverse: "bool = false"}
    where: shelf == args.shelf
    order: box
    reverse: args.reverse
    allow: true
  boxesAsTheyLie:
    find: Box
    args: {shelf: Box.shelf, reverse: bool}
    where: shelf == args.shelf
    reverse: args.reverse
    allow: true
  boxesOfShelves:
    find: Box
    args: {shelves: "list(Box.shelf) 1..10", reverse: bool}
    where: shelf in args.shelves
    order: box
    reverse: args.reverse
    allow: true
  byColour:
    find: Box
    args: {shelf: Box.shelf, reverse: bool}
    where: shelf == args.shelf
    order: colour, box
    reverse: args.reverse
    allow: true
  firstSeven:
    find: Box
    args: {shelf: Box.shelf}
    where: shelf == args.shelf
    order: box
    limit: 7
    page: 3
    allow: true
  orNone:
    find: Box
    args: {shelf: Box.shelf, label: string?}
    where: shelf == args.shelf && label == args.label
    empty: 404
    allow: true
  howMany:
    count: Box
    args: {shelf: Box.shelf}
    where: shelf == args.shelf
    allow: true
  weights:
    count: Box
    args: {shelf: Box.shelf}
    where: shelf == args.shelf
    sum: {total: weight, boxes: box}
    allow: true
  weightsByColour:
    count: Box
    args: {shelf: Box.shelf}
    where: shelf == args.shelf
    by: [colour, label]
    sum: {total: weight}
    allow: true
  eachShelf:
    args: {shelves: "list(Box.shelf) 1..10"}
    each: {one: args.shelves, at_most: 3}
    find: Box
    where: shelf == one
    return: {shelf: one, boxes: size(rows)}
    allow: true
  since:
    find: Box
    args: {shelf: Box.shelf, from: "date = today"}
    where: shelf == args.shelf && day >= args.from
    order: box
    allow: true
  neighbours:
    let: {s: Shelf(args.shelf)}
    find: Box
    args: {shelf: Shelf.shelf}
    where: shelf == s.room
    order: box
    allow: true
  maybe:
    get: "Shelf?"
    args: {shelf: Shelf.shelf}
    where: shelf == args.shelf
    allow: true
  labelled:
    find: Box
    args: {label: string}
    where: label == args.label
    scan: "labels are looked for once a year"
    allow: true
  allShelves:
    count: Shelf
    where: room == "cellar"
    scan: "once a year"
    allow: true
"#;

/// Boxes 0 to `count` on a shelf, of three colours in turn; every fifth has a label.
fn boxes(shelf: &str, count: usize) -> Vec<Json> {
    let colours = ["red", "green", "blue"];
    let one = |at: usize| {
        let mut row = json!({"shelf": shelf, "box": at, "colour": colours[at % 3], "weight": 0.5});
        if at.is_multiple_of(5) {
            row["label"] = json!("fragile");
        }
        row
    };
    (0..count).map(one).collect()
}

fn lines(entity: &str, rows: &[Json]) -> String {
    rows.iter()
        .map(|row| json!({ entity: row }).to_string() + "\n")
        .collect()
}

async fn system(shelves: &[(&str, usize)]) -> System {
    let rows: String = shelves
        .iter()
        .map(|(shelf, count)| lines("Box", &boxes(shelf, *count)))
        .collect();
    System::of(MODEL, &rows).await
}

fn numbers(rows: &[Json]) -> Vec<i64> {
    rows.iter().map(|row| row["box"].as_i64().unwrap()).collect()
}

async fn list(system: &System, read: &str, args: &[(&str, &str)], limit: usize) -> Vec<Json> {
    system.all(read, args, &Caller::anonymous(), limit).await.0
}

#[tokio::test]
async fn an_order_turns_round_on_request() {
    let system = system(&[("a", 30), ("b", 20)]).await;
    let up: Vec<i64> = (0..30).collect();
    let down: Vec<i64> = (0..30).rev().collect();
    for limit in [100, 7, 4] {
        for read in ["boxes", "boxesAsTheyLie"] {
            let turned = [("shelf", "a"), ("reverse", "true")];
            assert_eq!(numbers(&list(&system, read, &turned, limit).await), down, "{read}");
            let straight = [("shelf", "a"), ("reverse", "false")];
            assert_eq!(numbers(&list(&system, read, &straight, limit).await), up, "{read}");
        }
        assert_eq!(numbers(&list(&system, "boxes", &[("shelf", "a")], limit).await), up);
        let both = r#"["a", "b"]"#;
        let merged = list(
            &system,
            "boxesOfShelves",
            &[("shelves", both), ("reverse", "true")],
            limit,
        )
        .await;
        let mut expected: Vec<i64> = (0..30).chain(0..20).collect();
        expected.sort_by_key(|number| -number);
        assert_eq!(numbers(&merged), expected);
        let coloured =
            async |reverse: &str| list(&system, "byColour", &[("shelf", "a"), ("reverse", reverse)], limit).await;
        let colours = |rows: Vec<Json>| -> Vec<(String, i64)> {
            let pair = |row: &Json| (text(row, "colour").to_owned(), row["box"].as_i64().unwrap());
            rows.iter().map(pair).collect()
        };
        let mut turned = colours(coloured("true").await);
        turned.reverse();
        assert_eq!(turned, colours(coloured("false").await));
        assert_eq!(turned[0], ("red".to_owned(), 0));
        assert_eq!(turned[29], ("blue".to_owned(), 29));
    }
}

#[tokio::test]
async fn a_limit_is_of_all_pages_and_a_page_of_its_own_size() {
    let system = system(&[("a", 30)]).await;
    let anybody = Caller::anonymous();
    let mut request = Request {
        args: system.args("firstSeven", &[("shelf", "a")]),
        caller: anybody.clone(),
        now: NOW,
        ..Request::default()
    };
    let mut sizes = Vec::new();
    loop {
        let answer = system.engine.read("firstSeven", &request).await.unwrap();
        sizes.push(listed(&answer).len());
        request.cursor = answer.next;
        if request.cursor.is_none() {
            break;
        }
    }
    assert_eq!(sizes, [3, 3, 1]);
    for limit in [100, 7, 2, 1] {
        assert_eq!(
            numbers(&list(&system, "firstSeven", &[("shelf", "a")], limit).await),
            (0..7).collect::<Vec<i64>>()
        );
    }
    for limit in [0, 101] {
        let refused = system
            .page("firstSeven", &[("shelf", "a")], &anybody, limit, None)
            .await;
        names(&refused.unwrap_err(), "limit");
    }
}

#[tokio::test]
async fn an_empty_list_is_refused_where_it_says_so() {
    let system = system(&[("a", 6)]).await;
    let anybody = Caller::anonymous();
    assert_eq!(
        list(&system, "orNone", &[("shelf", "a"), ("label", "fragile")], 1)
            .await
            .len(),
        2
    );
    for args in [&[("shelf", "a"), ("label", "other")][..], &[("shelf", "z")]] {
        assert!(matches!(
            system.refused("orNone", args, &anybody).await,
            RuntimeError::NotFound
        ));
    }
    assert!(list(&system, "boxes", &[("shelf", "z")], 5).await.is_empty());
    let maybe = system
        .page("maybe", &[("shelf", "z")], &anybody, 5, None)
        .await
        .unwrap();
    assert_eq!((maybe.value, maybe.next), (None, None));
}

#[tokio::test]
async fn a_count_has_every_row_and_sums_beside_it() {
    let many = 10_500;
    let system = system(&[("a", many), ("b", 10)]).await;
    let counted = async |read: &str, shelf: &str| system.one(read, &[("shelf", shelf)], &Caller::anonymous()).await;
    assert_eq!(counted("howMany", "a").await, json!(many));
    assert_eq!(
        counted("weights", "a").await,
        json!({"count": many, "total": many / 2, "boxes": many * (many - 1) / 2})
    );
    assert_eq!(
        counted("weightsByColour", "b").await,
        json!({"red": {"fragile": {"count": 1, "total": 0.5}}, "blue": {"fragile": {"count": 1, "total": 0.5}}})
    );
}

#[tokio::test]
async fn each_element_is_answered_whole_or_not_at_all() {
    let many = 2_345;
    let system = system(&[("a", many), ("b", 3), ("c", Bounds::USUAL.element_rows_max + 1)]).await;
    let anybody = Caller::anonymous();
    let answers = system
        .one("eachShelf", &[("shelves", r#"["a", "z", "b"]"#)], &anybody)
        .await;
    assert_eq!(
        answers,
        json!([{"shelf": "a", "boxes": many}, {"shelf": "z", "boxes": 0}, {"shelf": "b", "boxes": 3}])
    );
    let refused = async |shelves: &str| {
        system
            .refused("eachShelf", &[("shelves", shelves)], &anybody)
            .await
            .to_string()
    };
    assert_eq!(refused(r#"["c"]"#).await, "`eachShelf` would read more than 10000 rows");
    assert_eq!(
        refused(r#"["a", "b", "c", "d"]"#).await,
        "`eachShelf` answers at most 3 at once"
    );
}

#[tokio::test]
async fn a_default_is_of_the_first_pages_instant() {
    let mut rows = boxes("a", 10);
    for (at, row) in rows.iter_mut().enumerate() {
        row["day"] = json!(if at < 3 { "2026-11-15" } else { "2026-11-16" });
    }
    let system = System::of(MODEL, &lines("Box", &rows)).await;
    let mut request = Request {
        args: system.args("since", &[("shelf", "a")]),
        limit: Some(3),
        now: NOW,
        ..Request::default()
    };
    let mut got = Vec::new();
    loop {
        let answer = system.engine.read("since", &request).await.unwrap();
        got.extend(numbers(&listed(&answer)));
        request.cursor = answer.next;
        request.now += 3 * 86_400_000;
        if request.cursor.is_none() {
            break;
        }
    }
    assert_eq!(got, [3, 4, 5, 6, 7, 8, 9]);
}

#[tokio::test]
async fn a_scan_finds_what_no_key_does_and_nothing_else() {
    let system = system(&[("a", 50), ("b", 50)]).await;
    for (shelf, room) in [("a", "cellar"), ("b", "attic")] {
        system.put("Shelf", &json!({"shelf": shelf, "room": room})).await;
    }
    for limit in [100, 7, 3] {
        let rows = list(&system, "labelled", &[("label", "fragile")], limit).await;
        let mut found: Vec<(String, i64)> = rows
            .iter()
            .map(|row| (text(row, "shelf").to_owned(), row["box"].as_i64().unwrap()))
            .collect();
        found.sort();
        let expected = ["a", "b"]
            .iter()
            .flat_map(|shelf| (0..10).map(|at| ((*shelf).to_owned(), at * 5)));
        assert_eq!(found, expected.collect::<Vec<_>>());
    }
    assert_eq!(system.one("allShelves", &[], &Caller::anonymous()).await, json!(1));
}

/// The same table under a model that reads it another way.
async fn reopened(system: &System, model: &str) -> Engine {
    let mut model = model_of(model);
    std::sync::Arc::get_mut(&mut model).unwrap().table.name = system.engine.model().table.name.clone();
    Engine::open(model, system.engine.store().clone(), Attributes::new(), [1; 32])
}

#[tokio::test]
async fn a_cursor_of_another_version_of_the_model_is_refused() {
    let system = system(&[("a", 30)]).await;
    let first = system
        .page("boxes", &[("shelf", "a")], &Caller::anonymous(), 5, None)
        .await
        .unwrap();
    let request = Request {
        args: system.args("boxes", &[("shelf", "a")]),
        cursor: first.next,
        now: NOW,
        ..Request::default()
    };
    let same = reopened(&system, &MODEL.replace("labels are looked for", "labels are sought")).await;
    assert!(
        same.read("boxes", &request).await.is_ok(),
        "other reads are nothing to it"
    );
    for (from, to) in [
        (
            "    where: shelf == args.shelf\n    order: box\n",
            "    where: shelf == args.shelf\n    order: -box\n",
        ),
        (
            "    where: shelf == args.shelf\n    order: box\n",
            "    where: shelf == args.shelf && weight > 0\n    order: box\n",
        ),
        ("BOX#{box}", "B#{box}"),
    ] {
        let other = MODEL.replace(from, to);
        assert_ne!(other, MODEL);
        let other = reopened(&system, &other).await;
        let answer = other.read("boxes", &request).await;
        assert!(matches!(answer, Err(RuntimeError::Cursor)), "{to}: {answer:?}");
    }
}

#[tokio::test]
async fn a_cursor_in_ranges_that_moved_is_refused() {
    let system = system(&[("a", 30), ("b", 30)]).await;
    let (args, anybody) = ([("shelf", "x")], Caller::anonymous());
    system.put("Shelf", &json!({"shelf": "x", "room": "a"})).await;
    let first = system.page("neighbours", &args, &anybody, 5, None).await.unwrap();
    let again = async || system.page("neighbours", &args, &anybody, 5, first.next.clone()).await;
    assert_eq!(numbers(&listed(&again().await.unwrap())), [5, 6, 7, 8, 9]);
    system.put("Shelf", &json!({"shelf": "x", "room": "b"})).await;
    assert!(matches!(again().await, Err(RuntimeError::Cursor)));
    system.remove("Shelf", &json!({"shelf": "x", "room": "b"})).await;
    assert!(matches!(again().await, Err(RuntimeError::NotFound)));
}

#[tokio::test]
async fn numbers_of_a_count_are_exact() {
    let heavy = json!({"shelf": "a", "box": 1, "colour": "red", "weight": 0.1});
    let other = json!({"shelf": "a", "box": 2, "colour": "red", "weight": 0.2});
    let system = System::of(MODEL, &lines("Box", &[heavy, other])).await;
    let answer = system
        .page("weights", &[("shelf", "a")], &Caller::anonymous(), 5, None)
        .await
        .unwrap();
    let total = answer.value.unwrap().as_map().unwrap()["total"].clone();
    assert_eq!(total.as_number().unwrap().to_string(), "0.3");
    assert_eq!(values::to_json(&total), json!(0.3));
}
