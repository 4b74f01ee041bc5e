//! Reads of the five systems on their sample data: the lists that fan out, merge, lapse, expire or look back in time.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::path::Path;
use std::sync::Arc;

use singlet_item::Value;
use singlet_model::Source;
use singlet_runtime::{Attributes, Caller, Engine, Request, RuntimeError, Scope, load, table, values};
use singlet_store::Store;
use singlet_store_embedded::EmbeddedStore;

/// 2026-11-16T12:00:00Z.
const NOW: i64 = 1_794_830_400_000;

async fn open(system: &str) -> Engine {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../systems/{system}"));
    let source = Source::new(system, std::fs::read_to_string(folder.join("model.yaml")).unwrap());
    let loaded = singlet_model::load(&source);
    assert!(!loaded.diagnostics.has_errors(), "{:?}", loaded.diagnostics);
    let model = Arc::new(loaded.model.unwrap());
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::memory().unwrap());
    store.create_table(&table::spec(&model)).await.unwrap();
    let engine = Engine::open(model, store, Attributes::new(), [1; 32]);
    let sample = std::fs::read_to_string(folder.join("sample.jsonl")).unwrap();
    let nothing = Attributes::new();
    let nobody = Caller::anonymous();
    let scope = Scope {
        setting: engine.setting(),
        now: NOW,
        args: &nothing,
        caller: &nobody,
        attributes: None,
        row: None,
        bound: &nothing,
    };
    let mut items = Vec::new();
    for (at, line) in sample.lines().enumerate() {
        match load::items(engine.model(), line, scope) {
            Ok(more) => items.extend(more),
            Err(error) => panic!("{system} line {}: {error}", at + 1),
        }
    }
    load::put_all(engine.store(), &engine.model().table.name, items, |_| {})
        .await
        .unwrap();
    engine
}

async fn all(engine: &Engine, read: &str, args: &[(&str, &str)], caller: &Caller, page: usize) -> Vec<Value> {
    let declared = engine.model().reads.iter().find(|known| known.name == read).unwrap();
    let args: Attributes = args
        .iter()
        .map(|(name, text)| {
            let ty = &declared.arg(name).unwrap().ty;
            ((*name).to_owned(), values::from_text(text, ty).unwrap())
        })
        .collect();
    let mut rows = Vec::new();
    let mut cursor = None;
    loop {
        let request = Request {
            args: args.clone(),
            caller: caller.clone(),
            limit: Some(page),
            cursor: cursor.take(),
            now: NOW,
        };
        let answer = engine.read(read, &request).await.unwrap();
        match answer.value {
            Some(Value::L(page)) => rows.extend(page),
            Some(other) => rows.push(other),
            None => {}
        }
        cursor = answer.next;
        if cursor.is_none() {
            return rows;
        }
    }
}

fn field<'a>(row: &'a Value, name: &str) -> &'a str {
    row.as_map().unwrap().get(name).and_then(Value::as_str).unwrap_or("")
}

#[tokio::test]
async fn todo_lists_come_whole_and_in_order() {
    let engine = open("todo").await;
    let ada = Caller::with_id("ada");
    for page in [1, 7, 100] {
        assert_eq!(all(&engine, "tasks", &[], &ada, page).await.len(), 102);
        assert_eq!(all(&engine, "overdueTasks", &[], &ada, page).await.len(), 15);
        let found = all(&engine, "searchTasks", &[("text", "quokka")], &ada, page).await;
        assert_eq!(found.len(), 3);
        let due = all(&engine, "tasksDueOn", &[("day", "2025-11-30")], &ada, page).await;
        assert_eq!(due.len(), 6);
        let both = all(
            &engine,
            "tasksInDueDateOrder",
            &[("from", "2025-11-30"), ("to", "2025-12-01")],
            &ada,
            page,
        )
        .await;
        assert_eq!(both.len(), 8);
        assert_eq!(
            all(&engine, "tasksByCategory", &[("category", "home")], &ada, page)
                .await
                .len(),
            15
        );
        assert_eq!(
            all(&engine, "tasksByCategory", &[("category", "home#office")], &ada, page)
                .await
                .len(),
            2
        );
    }
    let by_priority = all(&engine, "tasksInPriorityOrder", &[], &ada, 9).await;
    let ranks = ["urgent", "high", "medium", "low"];
    let seen: Vec<usize> = by_priority
        .iter()
        .map(|row| ranks.iter().position(|rank| *rank == field(row, "priority")).unwrap())
        .collect();
    assert!(seen.is_sorted() && seen.len() > 20, "{seen:?}");
    let counts = all(&engine, "taskCounts", &[], &ada, 20).await;
    let by_status = counts[0].as_map().unwrap()["by_status"].as_map().unwrap();
    let total: i64 = by_status
        .values()
        .filter_map(Value::as_number)
        .filter_map(|number| number.to_i64())
        .sum();
    assert_eq!(total, 102);
}

#[tokio::test]
async fn ecobid_finds_what_is_near() {
    let engine = open("ecobid").await;
    let kasia = Caller::with_id("kasia");
    for (km, expected) in [("1", 19), ("5", 50), ("10", 67), ("25", 77)] {
        let found = all(
            &engine,
            "itemsNear",
            &[("at", "52.2297,21.0122"), ("km", km)],
            &kasia,
            13,
        )
        .await;
        assert_eq!(found.len(), expected, "{km} km");
        let times: Vec<&str> = found
            .iter()
            .map(|row| field(&row.as_map().unwrap()["item"], "timestamp"))
            .collect();
        assert!(times.iter().rev().is_sorted());
    }
    assert_eq!(
        all(&engine, "itemsByStatus", &[("status", "available")], &kasia, 50)
            .await
            .len(),
        121
    );
}

#[tokio::test]
async fn booking_says_what_is_free() {
    let engine = open("booking").await;
    let anyone = Caller::anonymous();
    let days = all(
        &engine,
        "availability",
        &[("from", "2026-11-16"), ("to", "2026-12-16")],
        &anyone,
        20,
    )
    .await;
    assert_eq!(days.len(), 31);
    let today = days[0].as_map().unwrap();
    assert_eq!(today["morning"], Value::Bool(false));
    assert_eq!(today["afternoon"], Value::Bool(false));
    assert_eq!(days[20].as_map().unwrap()["morning"], Value::Bool(true));
}

#[tokio::test]
async fn countries_have_one_current_version() {
    let engine = open("country").await;
    let reader = Caller::with_id("key").claim("role", "reader");
    assert_eq!(all(&engine, "activeCountries", &[], &reader, 100).await.len(), 249);
    let turkey = all(&engine, "countryByAlpha2", &[("alpha2", "TR")], &reader, 20).await;
    assert_eq!(field(&turkey[0], "name"), "Türkiye");
    assert_eq!(
        all(&engine, "countryHistory", &[("alpha2", "TR")], &reader, 20)
            .await
            .len(),
        2
    );
    let gone = Request {
        args: Attributes::from([("alpha2".to_owned(), Value::S("AN".to_owned()))]),
        caller: reader.clone(),
        limit: None,
        cursor: None,
        now: NOW,
    };
    assert!(matches!(
        engine.read("countryByAlpha2", &gone).await,
        Err(RuntimeError::NotFound)
    ));
    let then = all(
        &engine,
        "countryAt",
        &[("alpha2", "AN"), ("instant", "2005-01-01T00:00:00Z")],
        &reader,
        20,
    )
    .await;
    assert_eq!(then.len(), 1);
}

#[tokio::test]
async fn wardrobe_seasons_hold_all_season_items() {
    let engine = open("wardrobe").await;
    let ines = Caller::with_id("ines");
    for page in [3, 50] {
        let winter = all(
            &engine,
            "itemsBySeason",
            &[("userId", "ines"), ("season", "winter")],
            &ines,
            page,
        )
        .await;
        assert_eq!(winter.len(), 27);
        assert!(
            winter
                .iter()
                .map(|row| field(row, "CreatedAt"))
                .rev()
                .collect::<Vec<_>>()
                .is_sorted()
        );
    }
}

#[tokio::test]
async fn callers_see_only_what_they_may() {
    let engine = open("booking").await;
    let request = |caller: Caller, booking: &str| Request {
        args: Attributes::from([("bookingId".to_owned(), Value::S(booking.to_owned()))]),
        caller,
        limit: None,
        cursor: None,
        now: NOW,
    };
    let of_giulia = "01KGBREY00T1HJ8SDV94YZ1VA1";
    let read = |caller: Caller| {
        let request = request(caller, of_giulia);
        let engine = &engine;
        async move { engine.read("booking", &request).await }
    };
    assert!(read(Caller::with_id("giulia")).await.is_ok());
    assert!(read(Caller::with_id("elena").claim("role", "admin")).await.is_ok());
    assert!(matches!(
        read(Caller::with_id("marco")).await,
        Err(RuntimeError::NotFound)
    ));
    let payments = engine
        .read("payments", &request(Caller::with_id("marco"), of_giulia))
        .await;
    assert!(matches!(payments, Err(RuntimeError::NotFound)));
    let nobody = Request {
        caller: Caller::anonymous(),
        ..Request::default()
    };
    assert!(matches!(
        engine.read("profile", &nobody).await,
        Err(RuntimeError::Unauthenticated)
    ));
    let audit = Request {
        args: Attributes::from([("date".to_owned(), Value::S("2026-11-16".to_owned()))]),
        caller: Caller::with_id("marco").claim("role", "user"),
        ..Request::default()
    };
    assert!(matches!(
        engine.read("auditLog", &audit).await,
        Err(RuntimeError::Forbidden)
    ));
}

#[tokio::test]
async fn a_cursor_is_of_one_read_one_caller_and_its_arguments() {
    let engine = open("todo").await;
    let page = |cursor: Option<String>, caller: &str| Request {
        caller: Caller::with_id(caller),
        limit: Some(5),
        cursor,
        now: NOW,
        ..Request::default()
    };
    let next = engine.read("tasks", &page(None, "ada")).await.unwrap().next;
    assert!(engine.read("tasks", &page(next.clone(), "ada")).await.is_ok());
    for (read, cursor, caller) in [
        ("tasks", next.clone(), "grace"),
        ("tasksInStatusOrder", next.clone(), "ada"),
        ("tasks", Some("forged".to_owned()), "ada"),
        (
            "tasks",
            next.clone().map(|cursor| cursor[..cursor.len() - 3].to_owned()),
            "ada",
        ),
    ] {
        let refused = engine.read(read, &page(cursor, caller)).await;
        assert!(matches!(refused, Err(RuntimeError::Cursor)), "{read} {caller}");
    }
}
