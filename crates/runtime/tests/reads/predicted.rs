//! Predicted capacity is measured capacity, for every read of the five systems. The comparison itself is made for every page
//! that any test of this folder asks for; here it is made sure that no read is left out.

use std::collections::BTreeSet;

use singlet_item::capacity::ReadUnits;
use singlet_runtime::Caller;

use crate::support::{self, System, TODAY, text};

type Args<'a> = &'a [(&'a str, &'a str)];

/// Calls reads with a usual page; every read of the model must be among them.
async fn every_read(system: &System, caller: &Caller, calls: &[(&str, Args<'_>)]) {
    for (read, args) in calls {
        let answer = system.page(read, args, caller, 20, None).await;
        let answer = answer.unwrap_or_else(|error| panic!("{read} {args:?}: {error}"));
        assert!(
            answer.consumed.total_units().read > ReadUnits::ZERO,
            "{read} cost nothing"
        );
    }
    let called: BTreeSet<&str> = calls.iter().map(|(read, _)| *read).collect();
    let reads = system.engine.model().reads.iter();
    // The sample has no record of a request and no reminder, and nobody keeps tallies or words here; the tests that make them measure them.
    let not_there = [
        "idempotencyRecord",
        "reminders",
        "taskStatistics",
        "searchTasks",
        "searchItems",
        "itemsMatching",
    ];
    let called: BTreeSet<&str> = called.into_iter().chain(not_there).collect();
    let left_out: Vec<&str> = reads
        .map(|read| read.name.as_str())
        .filter(|name| !called.contains(name))
        .collect();
    assert!(left_out.is_empty(), "{left_out:?}");
}

#[tokio::test]
async fn todo() {
    let system = support::todo().await;
    let task = &system.rows("Task", |_| true)[0];
    let user = Caller::with_id(text(task, "user_id"));
    every_read(
        system,
        &user,
        &[
            ("me", &[]),
            ("task", &[("task_id", text(task, "task_id"))]),
            ("tasks", &[]),
            ("tasksByStatus", &[("status", "pending")]),
            ("tasksInStatusOrder", &[]),
            ("tasksDueOn", &[("day", TODAY)]),
            ("tasksInDueDateOrder", &[]),
            ("tasksInDueDateOrder", &[("from", "2026-01-01"), ("to", TODAY)]),
            ("overdueTasks", &[]),
            ("tasksByPriority", &[("priority", "high")]),
            ("tasksInPriorityOrder", &[]),
            ("tasksByCategory", &[("category", "work")]),
            ("tasksInCategoryOrder", &[]),
            ("taskCounts", &[]),
        ],
    )
    .await;
}

#[tokio::test]
async fn wardrobe() {
    let system = support::wardrobe().await;
    let item = &system.rows("Item", |item| text(item, "UserId") == "ines")[0];
    every_read(
        system,
        &Caller::with_id("ines"),
        &[
            ("item", &[("itemId", text(item, "ItemId"))]),
            ("items", &[("userId", "ines")]),
            ("itemsBySeason", &[("userId", "ines"), ("season", "winter")]),
            ("activities", &[("userId", "ines")]),
        ],
    )
    .await;
}

#[tokio::test]
async fn country() {
    let system = support::country().await;
    let reader = Caller::anonymous().claim("role", "reader");
    every_read(
        system,
        &Caller {
            authenticated: true,
            ..reader
        },
        &[
            ("countryByAlpha2", &[("alpha2", "IT")]),
            (
                "countryAt",
                &[("alpha2", "IT"), ("instant", "2026-11-01T00:00:00.000Z")],
            ),
            ("countryHistory", &[("alpha2", "IT")]),
            ("countryByAlpha3", &[("alpha3", "ITA")]),
            ("countryByNumeric", &[("numeric", "380")]),
            ("activeCountries", &[]),
        ],
    )
    .await;
}

#[tokio::test]
async fn booking() {
    let system = support::booking().await;
    let booking = &system.rows("Booking", |booking| text(booking, "status") == "approved")[0];
    let user = system.row("User", "userId", text(booking, "userId"));
    let id = text(booking, "bookingId");
    let caller = Caller::with_id(text(booking, "userId")).claim("role", "admin");
    every_read(
        system,
        &caller,
        &[
            ("profile", &[]),
            ("userById", &[("userId", text(booking, "userId"))]),
            ("userByEmail", &[("email", text(&user, "email"))]),
            ("booking", &[("bookingId", id)]),
            ("myBookings", &[]),
            ("bookingsByStatus", &[("status", "pending")]),
            (
                "bookingsOfMonth",
                &[("status", "approved"), ("month", &text(booking, "date")[..7])],
            ),
            ("eventsOfDay", &[("date", text(booking, "date"))]),
            ("availability", &[("from", TODAY), ("to", "2026-12-16")]),
            ("payments", &[("bookingId", id)]),
            ("lockCode", &[("bookingId", id)]),
            ("notifications", &[]),
            ("auditLog", &[("date", TODAY)]),
        ],
    )
    .await;
}

#[tokio::test]
async fn ecobid() {
    let system = support::ecobid().await;
    let reservation = &system.rows("Reservation", |row| text(row, "status") == "confirmed")[0];
    let auction = &system.rows("Bid", |_| true)[0];
    let item = system.row("Item", "itemId", text(reservation, "itemId"));
    let at = format!("{},{}", item["location"]["lat"], item["location"]["lon"]);
    every_read(
        system,
        &Caller::with_id(text(reservation, "buyerId")),
        &[
            ("profile", &[]),
            ("itemsOfUser", &[("userId", text(reservation, "sellerId"))]),
            ("itemsNear", &[("at", &at), ("km", "5")]),
            ("itemsNear", &[("at", &at), ("km", "25"), ("category", "books")]),
            ("itemsOfCategory", &[("category", "books")]),
            ("itemsByStatus", &[("status", "available")]),
            ("item", &[("itemId", text(reservation, "itemId"))]),
            ("itemPage", &[("itemId", text(reservation, "itemId"))]),
            ("myReservations", &[]),
            ("reservation", &[("resId", text(reservation, "resId"))]),
            ("auction", &[("auctionId", text(auction, "auctionId"))]),
            ("bids", &[("auctionId", text(auction, "auctionId"))]),
            ("ratings", &[("userId", text(reservation, "sellerId"))]),
            ("notifications", &[]),
        ],
    )
    .await;
}
