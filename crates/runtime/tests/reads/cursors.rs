//! Cursors: whose they are, and what they hold to while rows come and go between pages.

use serde_json::{Value as Json, json};
use singlet_runtime::{Caller, Request, RuntimeError};

use crate::support::{NOW, System, booking, ecobid, instant, listed, text, todo, wardrobe};

type Args<'a> = &'a [(&'a str, &'a str)];

/// The cursor after the first page of two rows.
async fn first(system: &System, read: &str, args: Args<'_>, caller: &Caller) -> String {
    system.page(read, args, caller, 2, None).await.unwrap().next.unwrap()
}

async fn is_refused(system: &System, read: &str, args: Args<'_>, caller: &Caller, cursor: &str) {
    match system.page(read, args, caller, 2, Some(cursor.to_owned())).await {
        Err(RuntimeError::Cursor) => {}
        other => panic!("{read} {args:?} {cursor}: {other:?}"),
    }
}

#[tokio::test]
async fn a_forged_or_cut_cursor_is_refused() {
    let system = todo().await;
    let ada = Caller::with_id("ada");
    let cursor = first(system, "tasks", &[], &ada).await;
    for at in 0..cursor.len() {
        let other = if &cursor[at..=at] == "A" { "B" } else { "A" };
        let forged = format!("{}{other}{}", &cursor[..at], &cursor[at + 1..]);
        // The last character of base64 may have bits that no byte has.
        if at + 1 < cursor.len() {
            is_refused(system, "tasks", &[], &ada, &forged).await;
        }
        is_refused(system, "tasks", &[], &ada, &cursor[..at]).await;
    }
    for text in [
        "",
        " ",
        "x",
        "null",
        "é",
        &format!("{cursor}A"),
        &format!("{cursor}="),
        &"A".repeat(100_000),
    ] {
        is_refused(system, "tasks", &[], &ada, text).await;
    }
}

#[tokio::test]
async fn a_cursor_of_another_read_other_arguments_or_another_caller_is_refused() {
    let system = todo().await;
    let (ada, grace) = (Caller::with_id("ada"), Caller::with_id("grace"));
    let home = [("category", "home")];
    let cursor = first(system, "tasksByCategory", &home, &ada).await;
    assert!(
        system
            .page("tasksByCategory", &home, &ada, 7, Some(cursor.clone()))
            .await
            .is_ok(),
        "another size of page is no other request"
    );
    is_refused(system, "tasksByCategory", &home, &grace, &cursor).await;
    is_refused(system, "tasksByCategory", &[("category", "home#office")], &ada, &cursor).await;
    is_refused(system, "tasks", &[], &ada, &cursor).await;
    is_refused(
        system,
        "tasksByCategory",
        &home,
        &ada.clone().claim("role", "admin"),
        &cursor,
    )
    .await;
    let all = first(system, "tasksInDueDateOrder", &[], &ada).await;
    is_refused(system, "tasksInDueDateOrder", &[("from", "2020-01-01")], &ada, &all).await;
}

#[tokio::test]
async fn cursors_of_fan_out_and_of_a_with_list_are_the_callers_too() {
    let (ines, giulia, kasia) = (
        Caller::with_id("ines"),
        Caller::with_id("giulia"),
        Caller::with_id("kasia"),
    );
    let winter = [("userId", "ines"), ("season", "winter")];
    let cursor = first(wardrobe().await, "itemsBySeason", &winter, &ines).await;
    is_refused(
        wardrobe().await,
        "itemsBySeason",
        &[("userId", "ines"), ("season", "summer")],
        &ines,
        &cursor,
    )
    .await;
    let cursor = first(booking().await, "myBookings", &[], &giulia).await;
    is_refused(booking().await, "myBookings", &[], &Caller::with_id("paolo"), &cursor).await;
    let cursor = first(
        ecobid().await,
        "itemsNear",
        &[("at", "52.2297,21.0122"), ("km", "5")],
        &kasia,
    )
    .await;
    is_refused(
        ecobid().await,
        "itemsNear",
        &[("at", "52.2297,21.0122"), ("km", "10")],
        &kasia,
        &cursor,
    )
    .await;
    is_refused(
        ecobid().await,
        "itemsNear",
        &[("at", "52.2298,21.0122"), ("km", "5")],
        &kasia,
        &cursor,
    )
    .await;
}

#[tokio::test]
async fn a_cursor_of_another_key_is_refused() {
    let one = System::open("todo").await;
    let other = singlet_runtime::Engine::open(
        one.engine.model().clone(),
        one.engine.store().clone(),
        Default::default(),
        [2; 32],
    );
    let ada = Caller::with_id("ada");
    let request = Request {
        caller: ada.clone(),
        cursor: Some(first(&one, "tasks", &[], &ada).await),
        now: NOW,
        ..Default::default()
    };
    assert!(matches!(other.read("tasks", &request).await, Err(RuntimeError::Cursor)));
    assert!(one.engine.read("tasks", &request).await.is_ok());
}

/// All pages are of the instant of the first: what was overdue stays so, what lapses meanwhile does not move.
#[tokio::test]
async fn a_cursor_keeps_its_instant() {
    let system = todo().await;
    let ada = Caller::with_id("ada");
    let (whole, _) = system.all("overdueTasks", &[], &ada, 100).await;
    let mut rows = Vec::new();
    let mut request = Request {
        caller: ada,
        limit: Some(4),
        now: NOW,
        ..Default::default()
    };
    loop {
        let answer = system.engine.read("overdueTasks", &request).await.unwrap();
        rows.extend(listed(&answer));
        request.now += 400 * 86_400_000;
        request.cursor = answer.next;
        if request.cursor.is_none() {
            break;
        }
    }
    assert_eq!(rows, whole);
}

/// Reads a list page by page; after each page something happens to the table.
async fn walked(
    system: &System,
    read: &str,
    args: Args<'_>,
    caller: &Caller,
    limit: usize,
    mut between: impl AsyncFnMut(usize, &[Json]),
) -> Vec<Json> {
    let mut rows = Vec::new();
    let mut cursor = None;
    for page in 0.. {
        let answer = system.page(read, args, caller, limit, cursor).await.unwrap();
        rows.extend(listed(&answer));
        cursor = answer.next;
        if cursor.is_none() {
            break;
        }
        between(page, &rows).await;
    }
    rows
}

/// Each row that was there all the time comes exactly once, in the order of before.
fn nothing_lost(before: &[Json], removed: &[String], got: &[Json], id: fn(&Json) -> String) {
    let ids: Vec<String> = got.iter().map(id).collect();
    let mut once = ids.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), ids.len(), "a row came twice");
    let stayed: Vec<String> = before.iter().map(id).filter(|id| !removed.contains(id)).collect();
    let seen: Vec<String> = ids.into_iter().filter(|id| stayed.contains(id)).collect();
    assert_eq!(seen, stayed);
}

#[tokio::test]
async fn tasks_come_and_go_between_pages() {
    let system = System::open("todo").await;
    let ada = Caller::with_id("ada");
    let id = |row: &Json| text(row, "task_id").to_owned();
    for (read, args) in [
        ("tasks", vec![]),
        ("tasksInStatusOrder", vec![]),
        ("tasksInPriorityOrder", vec![]),
    ] {
        let (before, _) = system.all(read, &args, &ada, 100).await;
        let mut removed = Vec::new();
        let got = walked(&system, read, &args, &ada, 5, async |page, rows| {
            // The row at the position itself goes, one that was not given yet goes, and rows appear at both ends.
            let last = rows.last().unwrap().clone();
            system.remove("Task", &last).await;
            let ahead = before.iter().rev().nth(page).filter(|row| !rows.contains(row));
            if let Some(row) = ahead {
                system.remove("Task", row).await;
                removed.push(text(row, "task_id").to_owned());
            }
            for at in ["01AAAAAAAAAAAAAAAAAAAAAA", "7ZZZZZZZZZZZZZZZZZZZZZZZ"] {
                let fresh = json!({
                    "user_id": "ada", "task_id": format!("{at}{page:02}"), "title": "new here", "status": "pending", "priority": "urgent",
                    "created_at": 1, "updated_at": 1, "version": 1,
                });
                system.put("Task", &fresh).await;
            }
        })
        .await;
        nothing_lost(&before, &removed, &got, id);
    }
}

#[tokio::test]
async fn a_season_merges_two_lists_while_both_change() {
    for limit in [1, 2, 5] {
        let system = System::open("wardrobe").await;
        let (args, ines) = ([("userId", "ines"), ("season", "winter")], Caller::with_id("ines"));
        let id = |row: &Json| text(row, "ItemId").to_owned();
        let (before, _) = system.all("itemsBySeason", &args, &ines, 100).await;
        let mut removed = Vec::new();
        let got = walked(&system, "itemsBySeason", &args, &ines, limit, async |page, rows| {
            let stored = |id: &str| system.row("Item", "ItemId", id);
            if page % 2 == 0 && rows.len() > limit {
                let last = text(rows.last().unwrap(), "ItemId").to_owned();
                if !last.starts_with("7Z") && !last.starts_with("01A") {
                    system.remove("Item", &stored(&last)).await;
                }
            }
            let ahead = before.iter().rev().nth(page).filter(|row| page < 3 && !rows.contains(row));
            if let Some(row) = ahead {
                system.remove("Item", &stored(text(row, "ItemId"))).await;
                removed.push(text(row, "ItemId").to_owned());
            }
            for (at, when) in [("01AAAAAAAAAAAAAAAAAAAAAA", "2020-01-01T00:00:00.000Z".to_owned()), ("7ZZZZZZZZZZZZZZZZZZZZZZZ", instant(""))] {
                let season = if page % 2 == 0 { "winter" } else { "all-season" };
                let fresh = json!({
                    "ItemId": format!("{at}{:02}", page % 10), "UserId": "ines", "Name": "new here", "Category": "Tops", "Season": season,
                    "SharedCount": 0, "IsPublic": false, "CreatedAt": when, "UpdatedAt": when,
                });
                system.put("Item", &fresh).await;
            }
        })
        .await;
        nothing_lost(&before, &removed, &got, id);
    }
}

#[tokio::test]
async fn cells_of_a_circle_merge_while_they_change() {
    for (radius, limit) in [("5", 1), ("5", 6), ("25", 4)] {
        let system = System::open("ecobid").await;
        let (args, kasia) = ([("at", "52.2297,21.0122"), ("km", radius)], Caller::with_id("kasia"));
        let id = |row: &Json| text(&row["item"], "itemId").to_owned();
        let (before, _) = system.all("itemsNear", &args, &kasia, 100).await;
        let mut removed = Vec::new();
        let got = walked(&system, "itemsNear", &args, &kasia, limit, async |page, rows| {
            let gone = rows.last().map(id).unwrap();
            if page % 2 == 0 && !gone.starts_with("7Z") && !gone.starts_with("01A") {
                system.remove("Item", &system.row("Item", "itemId", &gone)).await;
            }
            let ahead = before.iter().rev().nth(page).filter(|row| page < 4 && !rows.contains(row));
            if let Some(row) = ahead {
                system.remove("Item", &system.row("Item", "itemId", &id(row))).await;
                removed.push(id(row));
            }
            for (at, when) in [("01AAAAAAAAAAAAAAAAAAAAAA", "2020-01-01T00:00:00.000Z".to_owned()), ("7ZZZZZZZZZZZZZZZZZZZZZZZ", instant(""))] {
                let fresh = json!({
                    "itemId": format!("{at}{:02}", page % 10), "userId": "ola", "title": "new here", "description": "", "category": "books",
                    "mode": "free", "status": "available", "timestamp": when, "updatedAt": when,
                    "location": {"lat": 52.2297, "lon": 21.0122, "city": "Warszawa", "country": "PL"},
                });
                system.put("Item", &fresh).await;
            }
        })
        .await;
        nothing_lost(&before, &removed, &got, id);
    }
}

/// A filter that leaves little still fills pages, and says so when it is done.
#[tokio::test]
async fn pages_behind_a_filter_are_filled() {
    let system = System::open("wardrobe").await;
    for at in 0..300 {
        let category = if at % 50 == 7 { "Rare" } else { "Usual" };
        let item = json!({
            "ItemId": format!("01JZZZZZZZZZZZZZZZZZZZZ{at:03}"), "UserId": "many", "Name": "thing", "Category": category, "Season": "winter",
            "SharedCount": 0, "IsPublic": false, "CreatedAt": format!("2025-01-01T00:00:00.{at:03}Z"), "UpdatedAt": "2025-01-01T00:00:00.000Z",
        });
        system.put("Item", &item).await;
    }
    let many = Caller::with_id("many");
    for limit in [1, 2, 3, 5] {
        let args = [("userId", "many"), ("category", "Rare")];
        assert_eq!(system.all("items", &args, &many, limit).await.0.len(), 6);
        let args = [("userId", "many"), ("category", "Rare"), ("season", "winter")];
        assert_eq!(system.all("itemsBySeason", &args, &many, limit).await.0.len(), 6);
    }
}
