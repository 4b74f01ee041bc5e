//! What is done by whoever follows, against figures worked out by hand from `docs/changes.md` and the systems' estimates.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

use singlet_cost::{
    Operation, OperationKind, capacity_needed, cost_report, expected_operations, region_prices, stored_bytes,
};
use singlet_model::{Model, Source};

/// A second in parts of a day.
const DAY: f64 = 86_400.0;

fn model(system: &str) -> Model {
    let path = format!("{}/../../systems/{system}/model.yaml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    singlet_model::load_source(&Source::new(system, text)).model.unwrap()
}

fn followed(model: &Model) -> Vec<Operation> {
    let mut all = expected_operations(model);
    all.retain(|operation| operation.kind == OperationKind::Following);
    all
}

/// Each by its name, how often a day, and the read and the write units of each time.
fn check(model: &Model, by_hand: &[(&str, f64, f64, f64)]) {
    let found = followed(model);
    let names: Vec<&str> = found.iter().map(|operation| operation.name.as_str()).collect();
    let known: Vec<&str> = by_hand.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names, known);
    for (operation, (name, a_day, read, write)) in found.iter().zip(by_hand) {
        let near = |found: f64, by_hand: f64, what: &str| {
            let apart = (found - by_hand).abs();
            assert!(
                apart <= by_hand.abs() * 1e-6,
                "{what} of {name}: {found} is found, {by_hand} by hand"
            );
        };
        near(operation.rate.unwrap() * DAY, *a_day, "times a day");
        near(operation.read_units(), *read, "read units");
        near(operation.write_units(), *write, "write units");
    }
}

#[test]
fn a_hall_looks_for_timers_and_deliveries_all_day() {
    let model = model("booking");
    // Of 60 pending requests those before today are half; each is rejected, and its user told.
    let closed = 30.0;
    // A booking may have a reminder whenever its state is another: half of them.
    let states = 4.0 + 3.0 + 0.5 + closed + 0.5;
    let changes = 1.0 // register
        + 1.0 // updateProfile
        + 4.0 * 2.0 // requestBooking
        + 3.0 * 6.0 // approveBooking: booking, event, code, user, notification, audit
        + 3.0 // remindOfBooking
        + 0.5 * 3.0 // rejectBooking
        + closed * 2.0 // closePastRequests
        + 0.5 * (1.0 + 0.5 * 3.0 + 1.0) // cancelBooking: event, code and notification half the time
        + 2.0 // createEvent
        + 0.2 * 2.0 // deleteEvent
        + 3.0 * 2.0 // recordPayment
        + 0.2 * 2.0 // refundPayment
        + 10.0; // markNotificationRead
    check(
        &model,
        &[
            // Three leases every ten seconds; three minutes of timers and a note each minute; two webhooks.
            (
                "(looking for what is due)",
                DAY,
                0.3 + 3.0 + 1.0 / 60.0 + 2.0,
                0.3 + 1.0 / 60.0,
            ),
            ("(positions in the stream)", changes, 0.0, 1.0),
            ("(timers)", 0.5 * states, 1.0, 2.0),
            // A delivery and its record in a transaction, and its going.
            ("(webhook lock_code_issued)", 3.0, 0.0, 5.0),
            ("(webhook lock_code_revoked)", 0.5 * 0.5, 0.0, 5.0),
        ],
    );
}

#[test]
fn a_tally_writes_each_group_that_changes() {
    let model = model("todo");
    let removed = 2_000.0 + 50.0 * 110.0 + 5.0 * 200.0; // deleteTask, deleteCompletedTasks, deleteUser
    let moved = 8_000.0 + 15_000.0 + 1_000.0 + 500.0 + 500.0 * 10.0; // to another state, by ten in a list
    let tasks = 20_000.0 + 10_000.0 + removed + moved;
    let changes = tasks
        + 50.0 + 50.0 // users
        + 5.0 * (2.0 + 6.0) // deleteUser: the user, twice, and six reminders
        + 2_000.0; // remindOfTask
    check(
        &model,
        &[
            // Two leases, timers, and three tallies every fifteen seconds.
            (
                "(looking for what is due)",
                DAY,
                0.2 + 3.0 + 1.0 / 60.0 + 3.0 / 15.0,
                0.2 + 1.0 / 60.0,
            ),
            // For triggers and for words, and with the figures where tasks are among the changes.
            (
                "(positions in the stream)",
                changes,
                0.0,
                1.0 + 1.0 + 1.0 + tasks / changes,
            ),
            // A tenth of the new tasks has a reminder, and as many of those that may get another.
            ("(timers)", 0.1 * (20_000.0 + 10_000.0), 1.0, 2.0),
            ("(tally tasksByStatus)", 20_000.0 + removed + 2.0 * moved, 0.0, 2.0),
            // Half of the patches change a priority: from one group to another.
            ("(tally tasksByPriority)", 20_000.0 + removed + 10_000.0, 0.0, 2.0),
            ("(tally tasksByDay)", 20_000.0 + removed, 0.0, 2.0),
        ],
    );
}

#[test]
fn what_is_done_by_the_clock_does_not_grow_and_pages_fill() {
    let model = model("todo");
    let prices = region_prices("us-east-1").unwrap();
    let operations = expected_operations(&model);
    let report = cost_report(&model, &operations, &stored_bytes(&model), &prices);
    let runs = |name: &str, month: usize| {
        let bill = report.months[month]
            .operations
            .iter()
            .find(|operation| operation.name == name);
        bill.unwrap().runs.unwrap()
    };
    for month in 0..3 {
        assert_eq!(runs("(looking for what is due)", month), 30.0 * DAY);
    }
    // Four pages a second are all that a reader asks for, and a page writes a group once: there are four states.
    let month = 30.0 * DAY;
    let (once, hundred) = (runs("(tally tasksByStatus)", 0), runs("(tally tasksByStatus)", 2));
    assert!(once > month * 0.9 && once < month * 1.1, "{once}");
    assert!(hundred > month * 15.0 && hundred <= month * 16.0, "{hundred}");
    assert!(runs("(positions in the stream)", 2) <= month * 4.0);
    // What the peak needs is provisioned for these, too.
    let table = &capacity_needed(&model, &operations, 1.0).places[0];
    let (name, looked) = table
        .operations
        .iter()
        .find(|(name, _)| name == "(looking for what is due)")
        .unwrap();
    assert!((looked.read - 3.4166).abs() < 0.001, "{name} {looked:?}");
}

#[test]
fn a_model_that_nothing_follows_has_none() {
    let model = model("country");
    assert!(!followed(&model).is_empty(), "caches are told");
    let text = "singlet: 1\nname: plain\ntable: {name: plain, key: {partition: PK, sort: SK}, type: none}\nentities:\n  Note: {attributes: {id: string 1..9}, key: {PK: \"N#{id}\", SK: \"N\"}}\n";
    let plain = singlet_model::load_source(&Source::new("plain", text)).model.unwrap();
    assert!(followed(&plain).is_empty());
}
