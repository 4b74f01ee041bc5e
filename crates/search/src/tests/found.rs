//! What a search gives is what going through all rows gives.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use fastrand::Rng;
use singlet_item::Value;
use singlet_model::words::words_of;
use singlet_runtime::{Attributes, Caller, Request, RuntimeError};

use super::support::{Bench, HOUR_MILLIS, MODEL, caller, folder, model_in, text};
use crate::IndexPlace;

const PIECES: [&str; 42] = [
    "milk",
    "Milk",
    "milkshake",
    "MIL",
    "żółw",
    "Zolw",
    "e\u{301}te\u{301}",
    "été",
    "straße",
    "STRASSE",
    "ΣΊΣΥΦΟΣ",
    "σίσυφος",
    "İstanbul",
    "買牛乳",
    "牛",
    "が",
    "か",
    "한국어",
    "한국",
    "हिन्दी",
    "ﬁne",
    "fine",
    "２４",
    "24",
    "…",
    "!?",
    "<b>",
    "don't",
    "e-mail",
    "👩‍👩‍👧",
    "",
    "\u{301}",
    "x\u{0}y",
    "a_b",
    "rent",
    "rents",
    "Renting",
    "parents",
    "Haus",
    "Häuser",
    "hauses",
    "Häuschen",
];

fn drawn_text(rng: &mut Rng, chars_max: usize) -> String {
    let mut drawn = String::new();
    for _ in 0..rng.usize(0..6) {
        match rng.u8(0..12) {
            0 => drawn.push_str(&"w".repeat(rng.usize(60..70))),
            1 => drawn.push(rng.char(..)),
            _ => drawn.push_str(PIECES[rng.usize(0..PIECES.len())]),
        }
        drawn.push_str([" ", ", ", "", "\n", " - "][rng.usize(0..5)]);
    }
    drawn.chars().take(chars_max).collect()
}

fn drawn_row(rng: &mut Rng) -> Attributes {
    let mut row = Attributes::from([("title".to_owned(), text(&drawn_text(rng, 400)))]);
    if rng.bool() {
        row.insert("body".to_owned(), text(&drawn_text(rng, 4_000)));
    }
    let tags: BTreeSet<String> = (0..rng.usize(0..3))
        .map(|_| drawn_text(rng, 30))
        .filter(|tag| !tag.is_empty())
        .collect();
    if !tags.is_empty() {
        row.insert("tags".to_owned(), Value::Ss(tags));
    }
    row
}

/// A query near what is there: a text, a part of one, or some words of rows in another order.
fn drawn_query(rng: &mut Rng, bench: &Bench) -> String {
    let known: Vec<_> = bench.notes.values().collect();
    let drawn = match (rng.u8(0..4), known.is_empty()) {
        (0, _) | (_, true) => drawn_text(rng, 40),
        _ => {
            let row = &known[rng.usize(0..known.len())].row;
            let title = row.get("title").and_then(Value::as_str).unwrap_or_default();
            let mut words: Vec<String> = words_of(title, None).into_iter().map(|word| word.text).collect();
            rng.shuffle(&mut words);
            words.truncate(rng.usize(1..4));
            let mut query = words.join(" ");
            if rng.bool() {
                query = query.chars().take(rng.usize(1..12)).collect();
            }
            query
        }
    };
    let drawn: String = drawn.chars().take(400).collect();
    match words_of(&drawn, None).len() > 32 {
        true => String::new(),
        false => drawn,
    }
}

async fn change_something(rng: &mut Rng, bench: &mut Bench) {
    let owner = ["ada", "bob", "eve"][rng.usize(0..3)];
    let mine: Vec<String> = bench
        .notes
        .keys()
        .filter(|(of, _)| of == owner)
        .map(|(_, id)| id.clone())
        .collect();
    let picked = (!mine.is_empty()).then(|| mine[rng.usize(0..mine.len())].clone());
    let is_there = |bench: &Bench, id: &str| {
        let note = &bench.notes[&(owner.to_owned(), id.to_owned())];
        note.until.is_none_or(|until| until > bench.millis())
    };
    match (rng.u8(0..10), picked) {
        (0, Some(id)) if is_there(bench, &id) => bench.remove(owner, &id).await,
        (1..=3, Some(id)) if is_there(bench, &id) => bench.put(owner, &id, drawn_row(rng), None).await,
        (4, Some(id)) if is_there(bench, &id) => {
            let note = &bench.notes[&(owner.to_owned(), id.clone())];
            if note.shared_until.is_none_or(|until| until <= bench.millis()) {
                bench.share(owner, &id).await;
            }
        }
        _ => {
            let id = format!("n{}", rng.u32(..));
            let until = (rng.u8(0..5) == 0).then(|| bench.millis() + i64::from(rng.u8(1..4)) * HOUR_MILLIS);
            bench.put(owner, &id, drawn_row(rng), until).await;
        }
    }
}

async fn hold_against_all_rows(model: &str, rounds: usize, seed: u64) {
    let mut bench = Bench::of_model(model).await;
    let mut rng = Rng::with_seed(seed);
    let mut follower = bench.follower(IndexPlace::Memory);
    bench.engine.search_by(follower.served_index());
    let callers = [
        caller("ada", "user"),
        caller("bob", "user"),
        caller("eve", "admin"),
        caller("zoe", "user"),
    ];
    for round in 0..rounds {
        for _ in 0..8 {
            change_something(&mut rng, &mut bench).await;
        }
        bench.follow(&mut follower).await;
        for _ in 0..12 {
            let query = drawn_query(&mut rng, &bench);
            let caller = &callers[rng.usize(0..callers.len())];
            let read = ["mine", "seen", "shared"][rng.usize(0..3)];
            bench
                .assert_same(read, caller, &query, [1, 2, 7, 50][rng.usize(0..4)])
                .await;
        }
        if round % 7 == 3 {
            // Time alone: shared notes lapse, others expire; the index is told nothing.
            bench.now.fetch_add(HOUR_MILLIS / 2, Ordering::SeqCst);
        }
    }
}

#[tokio::test]
async fn what_is_found_is_what_going_through_all_rows_gives() {
    hold_against_all_rows(MODEL, 30, 11).await;
}

#[tokio::test]
async fn forms_of_words_are_found_as_going_through_all_rows_gives() {
    hold_against_all_rows(&model_in("english"), 12, 12).await;
    hold_against_all_rows(&model_in("german"), 12, 13).await;
}

#[tokio::test]
async fn an_index_that_is_behind_shows_nothing_that_is_not_so() {
    let mut bench = Bench::new().await;
    let mut rng = Rng::with_seed(5);
    let mut follower = bench.follower(IndexPlace::Memory);
    bench.engine.search_by(follower.served_index());
    let callers = [
        caller("ada", "user"),
        caller("bob", "user"),
        caller("eve", "admin"),
        caller("zoe", "user"),
    ];
    for _ in 0..20 {
        for _ in 0..6 {
            change_something(&mut rng, &mut bench).await;
        }
        bench.follow(&mut follower).await;
        for _ in 0..6 {
            change_something(&mut rng, &mut bench).await;
        }
        for _ in 0..12 {
            let query = drawn_query(&mut rng, &bench);
            let caller = &callers[rng.usize(0..callers.len())];
            let read = ["mine", "seen", "shared"][rng.usize(0..3)];
            let found = bench.found(read, caller, &query, 3).await;
            let meant = bench.meant(read, caller, &query);
            assert!(
                found.iter().all(|row| meant.contains(row)),
                "{read} {query:?}: {found:?}"
            );
            let once: BTreeSet<_> = found.iter().collect();
            assert_eq!(once.len(), found.len());
        }
    }
}

fn titled(title: &str) -> Attributes {
    Attributes::from([("title".to_owned(), text(title))])
}

#[tokio::test]
async fn the_best_match_comes_first_and_ties_by_key() {
    let mut bench = Bench::new().await;
    for (id, title) in [
        ("a", "Buy some bread at the market today"),
        ("b", "Bread"),
        ("c", "Bread"),
        ("d", "Bread and butter, bread and jam"),
        ("e", "A cat"),
    ] {
        bench.put("ada", id, titled(title), None).await;
    }
    let mut follower = bench.follower(IndexPlace::Memory);
    bench.engine.search_by(follower.served_index());
    bench.follow(&mut follower).await;
    let ada = Caller::with_id("ada");
    let ids = |found: Vec<(String, String)>| found.into_iter().map(|(_, id)| id).collect::<Vec<_>>();
    assert_eq!(ids(bench.found("mine", &ada, "bread ", 10).await), ["d", "b", "c", "a"]);
    assert_eq!(ids(bench.found("mine", &ada, "bre", 2).await), ["d", "b", "c", "a"]);
    // Who has the word as it is matches better than who has one that begins with it.
    bench.put("ada", "f", titled("Rental"), None).await;
    bench
        .put(
            "ada",
            "g",
            titled("Pay the rent for all of the year in which we live here"),
            None,
        )
        .await;
    bench.follow(&mut follower).await;
    assert_eq!(ids(bench.found("mine", &ada, "rent", 5).await), ["g", "f"]);
}

#[tokio::test]
async fn what_others_have_does_not_change_the_order_of_a_callers_rows() {
    let orders = |others: &'static [&'static str]| async move {
        let mut bench = Bench::new().await;
        bench.put("ada", "1", titled("apple apple pear"), None).await;
        bench.put("ada", "2", titled("apple pear pear"), None).await;
        for (at, title) in others.iter().enumerate() {
            bench.put("bob", &at.to_string(), titled(title), None).await;
        }
        let mut follower = bench.follower(IndexPlace::Memory);
        bench.engine.search_by(follower.served_index());
        bench.follow(&mut follower).await;
        bench.found("mine", &Caller::with_id("ada"), "apple pear ", 5).await
    };
    let alone = orders(&[]).await;
    assert_eq!(orders(&["apple", "apple", "apple", "apple"]).await, alone);
    assert_eq!(orders(&["pear", "pear", "pear", "pear"]).await, alone);
}

#[tokio::test]
async fn pages_hold_while_rows_come_and_go() {
    let mut bench = Bench::new().await;
    let mut rng = Rng::with_seed(3);
    for at in 0..40 {
        let title = format!("milk {}", "bread ".repeat(at % 5));
        bench.put("ada", &format!("n{at:02}"), titled(&title), None).await;
    }
    let mut follower = bench.follower(IndexPlace::Memory);
    bench.engine.search_by(follower.served_index());
    bench.follow(&mut follower).await;
    let stays: BTreeSet<String> = (0..40).map(|at| format!("n{at:02}")).collect();
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let request = Request {
            args: Attributes::from([("q".to_owned(), text("milk b"))]),
            caller: Caller::with_id("ada"),
            limit: Some(3),
            cursor,
            now: bench.millis(),
        };
        let answer = bench.engine.read("mine", &request).await.unwrap();
        let Some(Value::L(rows)) = answer.value else { panic!() };
        for row in &rows {
            let Value::M(row) = row else { panic!() };
            seen.push(row.get("id").and_then(Value::as_str).unwrap().to_owned());
        }
        cursor = answer.next;
        if cursor.is_none() {
            break;
        }
        // Others change what words are rare, and the index is written anew.
        bench
            .put("ada", &format!("x{}", rng.u32(..)), titled("milk bread bread"), None)
            .await;
        bench
            .put("ada", &format!("y{}", rng.u32(..)), titled("milk"), None)
            .await;
        bench.follow(&mut follower).await;
        follower.erase_gone(bench.millis()).await.unwrap();
    }
    let of_before: Vec<&String> = seen.iter().filter(|id| stays.contains(*id)).collect();
    let once: BTreeSet<&String> = of_before.iter().copied().collect();
    assert_eq!(of_before.len(), once.len());
    let meant: BTreeSet<String> = bench
        .meant("mine", &Caller::with_id("ada"), "milk b")
        .into_iter()
        .map(|(_, id)| id)
        .collect();
    assert!(meant.intersection(&stays).all(|id| once.contains(id)), "{once:?}");
}

#[tokio::test]
async fn a_word_is_found_in_any_form_and_the_form_that_is_typed_may_be_whole() {
    let mut bench = Bench::of_model(&model_in("english")).await;
    for (id, title) in [
        ("a", "He rents boats"),
        ("b", "Rent"),
        ("c", "Parents"),
        ("d", "renting a rented boat"),
    ] {
        bench.put("ada", id, titled(title), None).await;
    }
    let mut follower = bench.follower(IndexPlace::Memory);
    bench.engine.search_by(follower.served_index());
    bench.follow(&mut follower).await;
    let ada = Caller::with_id("ada");
    let ids = |found: Vec<(String, String)>| found.into_iter().map(|(_, id)| id).collect::<BTreeSet<_>>();
    for query in ["rents ", "rented", "rent", "RENTING "] {
        let found = ids(bench.found("mine", &ada, query, 2).await);
        assert_eq!(found, ["a", "b", "d"].map(str::to_owned).into(), "{query}");
    }
    let found = ids(bench.found("mine", &ada, "boat rent", 5).await);
    assert_eq!(found, ["a", "d"].map(str::to_owned).into());
    assert_eq!(ids(bench.found("mine", &ada, "par", 5).await), ["c".to_owned()].into());
}

#[tokio::test]
async fn marks_are_pieces_of_the_text() {
    let mut bench = Bench::new().await;
    bench.put("ada", "1", titled("<b>Żółw</b> & milk"), None).await;
    let mut follower = bench.follower(IndexPlace::Memory);
    bench.engine.search_by(follower.served_index());
    bench.follow(&mut follower).await;
    let request = Request {
        args: Attributes::from([("q".to_owned(), text("mil zolw"))]),
        caller: Caller::with_id("ada"),
        now: bench.millis(),
        ..Request::default()
    };
    let none = bench.engine.read("mine", &request).await.unwrap();
    assert_eq!(none.value, Some(Value::L(Vec::new())), "`mil` is not the last word");
    let args = Attributes::from([("q".to_owned(), text("zolw mil"))]);
    let answer = bench.engine.read("mine", &Request { args, ..request }).await.unwrap();
    let Some(Value::L(rows)) = answer.value else { panic!() };
    let highlights = rows[0].as_map().unwrap().get("highlights").unwrap().as_map().unwrap();
    let pieces = ["<b>", "Żółw", "</b> & ", "milk", ""].map(text).to_vec();
    assert_eq!(highlights.get("title"), Some(&Value::L(pieces)));
    assert!(!highlights.contains_key("body"));
}

#[tokio::test]
async fn without_an_index_a_search_says_so() {
    let bench = Bench::new().await;
    let request = Request {
        args: Attributes::from([("q".to_owned(), text("milk"))]),
        caller: Caller::with_id("ada"),
        now: bench.millis(),
        ..Request::default()
    };
    let refused = bench.engine.read("mine", &request).await;
    assert!(matches!(refused, Err(RuntimeError::SearchNotFollowed)));
    let args = Attributes::from([("q".to_owned(), text(&"a ".repeat(33)))]);
    let refused = bench.engine.read("mine", &Request { args, ..request }).await;
    assert!(matches!(refused, Err(RuntimeError::Request(_))));
}

#[tokio::test]
async fn another_model_or_another_table_makes_the_index_anew() {
    let place = folder();
    let mut bench = Bench::new().await;
    bench.put("ada", "1", titled("milk"), None).await;
    let mut follower = bench.follower(IndexPlace::Folder(place.clone()));
    bench.follow(&mut follower).await;
    drop(follower);
    // Other attributes.
    let other = MODEL.replace("search: {Note: [title, body, tags]}", "search: {Note: [body]}");
    let model = super::support::model_of(&other);
    let mut follower = crate::SearchFollower::new(IndexPlace::Folder(place.clone()), model, bench.source(), 0);
    let step = follower.follow_page(&|| bench.millis()).await.unwrap();
    assert!(step.is_snapshot);
    drop(follower);
    // Words in other forms.
    let model = super::support::model_of(&model_in("english"));
    let mut follower = crate::SearchFollower::new(IndexPlace::Folder(place.clone()), model, bench.source(), 0);
    assert!(follower.follow_page(&|| bench.millis()).await.unwrap().is_snapshot);
    drop(follower);
    // Back again, and then the same with nothing changed.
    let mut follower = bench.follower(IndexPlace::Folder(place.clone()));
    assert!(follower.follow_page(&|| bench.millis()).await.unwrap().is_snapshot);
    drop(follower);
    let mut follower = bench.follower(IndexPlace::Folder(place.clone()));
    assert!(!follower.follow_page(&|| bench.millis()).await.unwrap().is_snapshot);
    // One process has it.
    let mut second = bench.follower(IndexPlace::Folder(place.clone()));
    let held = second.follow_page(&|| bench.millis()).await;
    assert!(matches!(held, Err(crate::SearchError::Held)), "{held:?}");
    drop(follower);
    // Another table: an index of the first says nothing about it.
    let mut other = Bench::new().await;
    other.put("ada", "2", titled("bread"), None).await;
    let mut follower = other.follower(IndexPlace::Folder(place.clone()));
    other.engine.search_by(follower.served_index());
    other.follow(&mut follower).await;
    let ada = Caller::with_id("ada");
    assert_eq!(other.found("mine", &ada, "bread", 5).await.len(), 1);
    assert_eq!(other.found("mine", &ada, "milk", 5).await.len(), 0);
    drop(follower);
    // What cannot be read is made anew.
    for entry in std::fs::read_dir(&place).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().is_some_and(|name| name == "meta.json") {
            std::fs::write(path, "not json").unwrap();
        }
    }
    let mut follower = other.follower(IndexPlace::Folder(place.clone()));
    assert!(follower.follow_page(&|| other.millis()).await.unwrap().is_snapshot);
    drop(Arc::clone(&other.engine));
    std::fs::remove_dir_all(place).unwrap();
}
