//! Units and prices of the five systems, against tables worked out by hand from the rules of capacity and price and the sizes,
//! shares and rates of the systems' estimates. Nothing here asks the planner.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

use singlet_cost::{
    Bill, GB_BYTES, Operation, OperationKind, Storage, expected_operations, month_bill, region_prices, stored_bytes,
};
use singlet_model::{Model, Source};

/// An operation, the read units of a run, and the write units.
type Row = (&'static str, f64, f64);

/// Blocks of a read that is eventually consistent, in units.
fn half(bytes: f64) -> f64 {
    (bytes / 4096.0).ceil().max(1.0) / 2.0
}

/// A strong get.
const GET: f64 = 1.0;
/// A small row, in a transaction.
const ROW: f64 = 2.0;
/// A check of a small row.
const CHECK: f64 = 2.0;
/// A small guard, in a transaction.
const GUARD: f64 = 2.0;
/// A record of a request, a change or a tick, in a transaction.
const RECORD: f64 = 2.0;
/// An index entry that is made, removed or changed.
const ENTRY: f64 = 1.0;
/// An index entry that moves to another key.
const MOVED: f64 = 2.0;
/// What may be as well as not.
const MAYBE: f64 = 0.5;

fn model(system: &str) -> Model {
    let path = format!("{}/../../systems/{system}/model.yaml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    singlet_model::load_source(&Source::new(system, text)).model.unwrap()
}

fn near(found: f64, by_hand: f64, what: &str) {
    let apart = (found - by_hand).abs();
    assert!(
        apart <= by_hand.abs() * 1e-9 + 1e-12,
        "{what}: {found} is found, {by_hand} by hand"
    );
}

/// Every operation of the model stands in the table, and has these units. What follows them by itself stands in `following.rs`.
fn check_operations(operations: &[Operation], table: &[Row]) {
    let names: Vec<&str> = operations.iter().map(|operation| operation.name.as_str()).collect();
    let by_hand: Vec<&str> = table.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names, by_hand);
    for (operation, (name, read, write)) in operations.iter().zip(table) {
        near(operation.read_units(), *read, &format!("read units of {name}"));
        near(operation.write_units(), *write, &format!("write units of {name}"));
    }
}

struct Month {
    table_bytes: f64,
    index_bytes: Vec<f64>,
    read_units: f64,
    write_units: f64,
    stream_reads: f64,
    is_recovered: bool,
}

fn check_month(stored: &Storage, bill: &Bill, by_hand: &Month) {
    near(stored.table_bytes, by_hand.table_bytes, "bytes of rows");
    assert_eq!(stored.index_bytes.len(), by_hand.index_bytes.len());
    for (found, by_hand) in stored.index_bytes.iter().zip(&by_hand.index_bytes) {
        near(*found, *by_hand, "bytes of entries");
    }
    let table_gb = by_hand.table_bytes / GB_BYTES;
    let all_gb = table_gb + by_hand.index_bytes.iter().sum::<f64>() / GB_BYTES;
    near(bill.reads, by_hand.read_units * 0.125 / 1e6, "reads");
    near(bill.writes, by_hand.write_units * 0.625 / 1e6, "writes");
    near(bill.storage, all_gb * 0.25, "storage");
    near(bill.free.storage, all_gb.min(25.0) * 0.25, "free storage");
    near(bill.stream, by_hand.stream_reads / 1e5 * 0.02, "stream");
    near(
        bill.free.stream,
        by_hand.stream_reads.min(2_500_000.0) / 1e5 * 0.02,
        "free stream",
    );
    let recovery = if by_hand.is_recovered { table_gb * 0.20 } else { 0.0 };
    near(bill.recovery, recovery, "recovery");
    near(bill.backup, table_gb * 0.10, "backup");
    near(bill.restore, table_gb * 0.15, "restore");
    let provisioned = bill.provision.read as f64 * 0.00013 * 720.0 + bill.provision.write as f64 * 0.00065 * 720.0;
    near(bill.provision.dollars, provisioned, "provisioned");
    let free =
        bill.provision.read.min(25) as f64 * 0.00013 * 720.0 + bill.provision.write.min(25) as f64 * 0.00065 * 720.0;
    near(bill.provision.free, free, "free units");
}

/// Units of a month: runs and units of each.
fn month_of(rows: &[(f64, f64)]) -> f64 {
    rows.iter().map(|(runs, units)| runs * units).sum()
}

fn billed(model: &Model) -> (Vec<Operation>, Storage, Bill) {
    let mut operations = expected_operations(model);
    operations.retain(|operation| operation.kind != OperationKind::Following);
    let stored = stored_bytes(model);
    let prices = region_prices("us-east-1").unwrap();
    let bill = month_bill(model, &operations, &stored, &prices, 1.0);
    (operations, stored, bill)
}

/// Reads of the stream in a month by one reader that asks one shard four times a second.
const FOLLOWED: f64 = 4.0 * 30.0 * 86_400.0;

#[test]
fn wardrobe() {
    let (operations, stored, bill) = billed(&model("wardrobe"));
    let in_index = 0.85 * ENTRY; // items with a season
    let create = ROW + ROW + ROW + RECORD + in_index; // Item, UserItem, Activity, the record
    let share = ROW + ROW + RECORD;
    check_operations(
        &operations,
        &[
            ("item", half(400.0), 0.0),
            // 20 rows of 300 bytes; with a category 40 are asked for.
            ("items", (half(20.0 * 300.0) + half(40.0 * 300.0)) / 2.0, 0.0),
            ("searchItems", 20.0 * 0.5, 0.0), // a page of rows, each by its key
            ("itemsBySeason", 2.0 * half(8.0 * 300.0), 0.0), // the season and `all-season`, a fifth of 40 each
            ("activities", half(20.0 * 280.0), 0.0),
            ("idempotencyRecord", GET, 0.0),
            ("createItem", 0.0, create),
            ("updateItem", GET, 1.5 + MAYBE * ROW + MAYBE * MOVED), // alone or with its mirror
            ("deleteItem", GET, ROW + ROW + in_index),
            ("shareItem", GET, share),
            // The item, and strongly the 48 activities of its user, of which one holds the name: that, the check of the item, progress
            // that is made and goes, and the record.
            (
                "Activity.ItemName",
                GET + 2.0 * half(48.0 * 280.0),
                ROW + ROW + 2.0 * ROW + RECORD,
            ),
        ],
    );
    check_month(
        &stored,
        &bill,
        &Month {
            table_bytes: 2e6 * 500.0 + 2e6 * 400.0 + 2.4e6 * 380.0 + 2e4 * 800.0,
            index_bytes: vec![2e6 * 0.85 * 400.0],
            read_units: month_of(&[(300_000.0, 1.25), (100_000.0, 1.0), (100_000.0, GET)]),
            write_units: month_of(&[(500_000.0, create), (100_000.0, share)]),
            stream_reads: 2.0 * FOLLOWED, // names follow by it, and words
            is_recovered: true,
        },
    );
    // What the document says is $5 to 10: 0.07 for reads, 3.14 for writes, 0.79 for storage, 4.15 for the stream, 0.51 for recovery.
    assert!((bill.on_demand() - 8.66).abs() < 0.01, "{}", bill.on_demand());
}

#[test]
fn booking() {
    let (operations, stored, bill) = billed(&model("booking"));
    let booking = ROW + MOVED + MOVED + ROW; // with both entries and its mirror
    let user = ROW + ENTRY;
    let pending = 3000.0 * 0.02;
    let closed = pending * 0.5; // an end of a range keeps half
    // For each a turn of 2 for the progress; begin and end of it, two notes, the record of the tick.
    let close = closed * (booking + ROW + 2.0) + 2.0 + 2.0 + RECORD;
    let table: [Row; 26] = [
        ("profile", half(330.0), 0.0),
        ("userById", half(330.0), 0.0),
        ("userByEmail", half(330.0), 0.0),
        ("booking", half(520.0), 0.0),
        ("myBookings", half(330.0 + 6.0 * 200.0), 0.0), // in one query
        ("bookingsByStatus", half(20.0 * 520.0), 0.0),
        // Two on each of thirty days, of which a quarter are in a state: less than a page.
        ("bookingsOfMonth", half(2.0 * 30.0 / 4.0 * 520.0), 0.0),
        ("eventsOfDay", half(2.0 * 250.0), 0.0),
        ("availability", 30.0 * half(2.0 * 250.0), 0.0), // 30 days, one query each
        ("payments", GET + half(260.0), 0.0),
        ("lockCode", GET + half(260.0), 0.0),
        ("notifications", half(3.0 * 250.0), 0.0),
        ("auditLog", half(12.0 * 260.0), 0.0),
        ("register", 0.0, ROW + ENTRY + GUARD),
        ("updateProfile", GET, 1.5 + 1.5 + MAYBE * 2.0 * GUARD), // alone, or with another e-mail
        ("requestBooking", 0.0, user + ROW + ENTRY + ENTRY + ROW),
        // Event, what must not be beside it (one or two), LockCode, User, Notification, AuditLog.
        (
            "approveBooking",
            GET,
            booking + ROW + 1.5 * CHECK + ROW + user + ROW + ROW,
        ),
        ("remindOfBooking", 0.0, ROW + RECORD),
        ("rejectBooking", GET, booking + ROW + ROW),
        ("closePastRequests", half(pending * 520.0), close),
        // Event and LockCode where the event is the booking's, else a check; a notification where another cancels.
        (
            "cancelBooking",
            GET + GET,
            booking + MAYBE * (ROW + ROW) + MAYBE * CHECK + MAYBE * ROW + ROW,
        ),
        ("createEvent", 0.0, ROW + 1.5 * CHECK + ROW),
        ("deleteEvent", GET, ROW + ROW),
        ("recordPayment", 0.0, ROW + ROW + CHECK), // the booking is there
        ("refundPayment", GET, ROW + ROW),         // the payment is answered
        ("markNotificationRead", 0.0, 1.0),
    ];
    check_operations(&operations, &table);
    let runs = [
        100.0, 10.0, 10.0, 60.0, 100.0, 20.0, 20.0, 200.0, 300.0, 20.0, 5.0, 100.0, 5.0, 1.0, 1.0, 4.0, 3.0, 3.0, 0.5,
        1.0, 0.5, 1.0, 0.2, 3.0, 0.2, 10.0,
    ];
    let all = |of: fn(&Row) -> f64| {
        month_of(
            &table
                .iter()
                .zip(runs)
                .map(|(row, day)| (day * 30.0, of(row)))
                .collect::<Vec<_>>(),
        )
    };
    check_month(
        &stored,
        &bill,
        &Month {
            table_bytes: 500.0 * 430.0 + 500.0 * 250.0 // users and the guards of their e-mails
                + 3000.0 * 620.0 + 3000.0 * 300.0
                + 2500.0 * 350.0 + 2100.0 * 360.0 + 2000.0 * 360.0 + 400.0 * 350.0 + 12_000.0 * 360.0,
            index_bytes: vec![500.0 * 430.0 + 3000.0 * 620.0, 3000.0 * 620.0],
            read_units: all(|(_, read, _)| *read),
            write_units: all(|(.., write)| *write),
            stream_reads: FOLLOWED,
            is_recovered: false,
        },
    );
    // The document says $0: units cost 3 cents, and what follows the stream $2.07, of which 50 cents are free.
    assert!((bill.reads + bill.writes - 0.03).abs() < 0.005);
    assert!(bill.on_demand_net() > 1.5);
}

#[test]
fn country() {
    let (operations, stored, bill) = billed(&model("country"));
    let active = 0.25 * 0.99 * ENTRY; // current versions that are not deleted
    // Any change that may be of none: the next version, the end of the last, its entries, the guards of two codes.
    let update = MAYBE * ROW + 2.0 * MAYBE * ENTRY + active + ROW + 2.0 * MAYBE * ENTRY + active + MAYBE * 4.0 * GUARD;
    let create = ROW + 2.0 * ENTRY + active + ROW + 2.0 * MAYBE * ENTRY + active + 2.0 * GUARD;
    let delete = ROW + 2.0 * ENTRY + active + ROW + 2.0 * ENTRY + active + 2.0 * GUARD;
    let load = 10.0 * (update + 2.0) + 2.0; // a list of ten is usual; each turn writes the progress
    check_operations(
        &operations,
        &[
            ("countryByAlpha2", GET, 0.0),
            ("countryAt", GET, 0.0),
            ("countryHistory", 2.0 * half(4.0 * 170.0), 0.0), // strongly
            ("countryByAlpha3", half(170.0), 0.0),
            ("countryByNumeric", half(170.0), 0.0),
            ("activeCountries", half(20.0 * 170.0), 0.0),
            ("createCountry", GET, create),
            ("updateCountry", GET, update),
            ("deleteCountry", GET, delete),
            ("loadCountries", 10.0 * GET, load),
        ],
    );
    near(
        stored.table_bytes,
        1000.0 * 270.0 + 2.0 * 1000.0 * 250.0 + 10.0 * 600.0,
        "rows, guards, records",
    );
    near(
        stored.index_bytes[2],
        1000.0 * 0.25 * 0.99 * 270.0,
        "entries of active countries",
    );
    // 12,960,000 by alpha2 at 1, 60,000 at 1, and 5,702,400 at a half.
    near(
        (bill.reads * 1e6 / 0.125).round(),
        12_960_000.0 + 60_000.0 + 5_702_400.0 / 2.0 + 1.0 + 10.0 + 1.0 + 10.0,
        "read units",
    );
}

#[test]
fn todo() {
    let (operations, stored, bill) = billed(&model("todo"));
    let page = half(20.0 * 600.0);
    let (due, ranked, sorted) = (0.55 * ENTRY, 0.8 * ENTRY, 0.6 * ENTRY); // tasks with a date, a priority, a category
    let optional = due + ranked + sorted;
    let moved = 1.0 + MOVED; // alone: the row and the entry of its state
    let deleted = ROW + ENTRY + optional;
    let table: [Row; 29] = [
        ("me", half(200.0), 0.0),
        ("task", half(600.0), 0.0),
        ("tasks", page, 0.0),
        ("tasksByStatus", page, 0.0),
        ("tasksInStatusOrder", page, 0.0),
        ("tasksDueOn", half(600.0), 0.0),
        ("tasksInDueDateOrder", page, 0.0),
        // Read until 20 are neither completed (0.55) nor cancelled (0.05).
        ("overdueTasks", half(20.0 / (0.45 * 0.95) * 600.0), 0.0),
        ("tasksByPriority", page, 0.0),
        ("tasksInPriorityOrder", page, 0.0),
        ("tasksByCategory", half(600.0), 0.0),
        ("tasksInCategoryOrder", page, 0.0),
        ("searchTasks", 20.0 * 0.5, 0.0), // a page of rows, each by its key
        ("taskCounts", half(200.0 * 600.0) + half(160.0 * 600.0), 0.0), // all 200 by state, and by priority those that have one
        ("taskStatistics", 3.0 * (0.5 + 0.5), 0.0), // of each tally which figures count, and the figures
        ("reminders", half(6.0 * 250.0), 0.0),
        ("registerUser", 0.0, ROW + GUARD),
        ("updateUser", GET, 1.5 + MAYBE * 2.0 * GUARD),
        // The tasks and reminders, strongly; each turn writes the progress, and so do the two steps beside the loops.
        (
            "deleteUser",
            2.0 * half(200.0 * 600.0) + 2.0 * half(6.0 * 250.0) + GET,
            ROW + ROW + GUARD + 200.0 * (deleted + 2.0) + 6.0 * (ROW + 2.0) + 2.0 * 2.0 + 2.0,
        ),
        ("createTask", 0.0, ROW + CHECK + ENTRY + optional),
        ("updateTask", 0.0, 1.0 + ENTRY + 3.0 * MAYBE * MOVED),
        ("deleteTask", 0.0, 1.0 + ENTRY + optional),
        ("startTask", 0.0, moved + optional),
        ("completeTask", 0.0, moved + optional),
        ("cancelTask", 0.0, moved + optional),
        ("reopenTask", 0.0, moved + optional),
        ("setStatusOfTasks", GET, 10.0 * (ROW + MOVED + optional)), // a list of ten is usual; the first is answered
        // 110 of 200 are completed.
        (
            "deleteCompletedTasks",
            half(110.0 * 600.0),
            110.0 * (deleted + 2.0) + 2.0,
        ),
        ("remindOfTask", 0.0, ROW + RECORD),
    ];
    check_operations(&operations, &table);
    let runs = [
        20_000.0, 50_000.0, 50_000.0, 50_000.0, 5_000.0, 20_000.0, 10_000.0, 20_000.0, 5_000.0, 5_000.0, 5_000.0,
        2_000.0, 2_000.0, 20_000.0, 100.0, 10_000.0, 50.0, 50.0, 5.0, 20_000.0, 10_000.0, 2_000.0, 8_000.0, 15_000.0,
        1_000.0, 500.0, 500.0, 50.0, 2_000.0,
    ];
    let all = |of: fn(&Row) -> f64| {
        month_of(
            &table
                .iter()
                .zip(runs)
                .map(|(row, day)| (day * 30.0, of(row)))
                .collect::<Vec<_>>(),
        )
    };
    check_month(
        &stored,
        &bill,
        &Month {
            table_bytes: 1e4 * 300.0 + 1e4 * 250.0 + 2e6 * 700.0 + 6e4 * 350.0 + 5e4 * 1000.0,
            index_bytes: vec![2e6 * 700.0, 2e6 * 0.55 * 700.0, 2e6 * 0.8 * 700.0, 2e6 * 0.6 * 700.0],
            read_units: all(|(_, read, _)| *read),
            write_units: all(|(.., write)| *write),
            stream_reads: 3.0 * FOLLOWED, // for triggers, for tallies, and for words
            is_recovered: true,
        },
    );
}

#[test]
fn ecobid() {
    let (operations, stored, bill) = billed(&model("ecobid"));
    let touched = ROW + 2.0 * ENTRY + ENTRY + 1.5; // an item in four indexes, that of its state perhaps moved
    let moved = ROW + 2.0 * ENTRY + ENTRY + MOVED + ROW; // with its mirror
    let reservation = ROW + MOVED + ROW; // its entry, and the row by its id
    let mirrored = MAYBE * ROW;
    let found = GET + GET; // by its id, then by its key
    let table: [Row; 30] = [
        ("profile", half(190.0), 0.0),
        ("itemsOfUser", half(5.0 * 200.0), 0.0),
        ("itemsNear", 9.0 * half(5.0 * 640.0), 0.0), // nine cells of five items
        ("itemsMatching", 20.0 * 0.5, 0.0),          // a page of rows, each by its key
        ("itemsOfCategory", half(20.0 * 640.0), 0.0),
        ("itemsByStatus", half(20.0 * 5.0 * 640.0), 0.0), // a state that may have lapsed is one of five
        ("item", half(640.0), 0.0),
        ("itemPage", half(640.0 + 380.0 + 250.0 + 190.0), 0.0), // side by side
        ("myReservations", 3.0 * half(380.0), 0.0),             // two states, and what lapses to one
        ("reservation", half(380.0), 0.0),
        ("auction", half(250.0 + 10.0 * 170.0), 0.0),
        ("bids", half(10.0 * 170.0), 0.0),
        ("ratings", half(3.0 * 240.0), 0.0),
        ("notifications", half(12.0 * 230.0), 0.0),
        ("register", 0.0, 1.0),
        ("updateProfile", 0.0, 1.0),
        ("createItem", 0.0, CHECK + ROW + 4.0 * ENTRY + ROW + ROW),
        ("withdrawItem", GET, moved),
        ("deleteItem", GET + GET, ROW + 4.0 * ENTRY + ROW + ROW),
        ("reserveItem", GET, CHECK + ROW + ENTRY + ROW + moved + ROW),
        ("confirmReservation", found + GET + GET, reservation + moved + ROW + ROW),
        (
            "completeReservation",
            found + GET + GET,
            reservation + moved + ROW + ROW,
        ),
        // Half the time the item is still held by it.
        (
            "cancelReservation",
            found + GET + MAYBE * GET,
            reservation + MAYBE * (moved + ROW) + ROW + MAYBE * CHECK,
        ),
        (
            "freeItem",
            GET,
            MAYBE * (touched + mirrored) + ROW + ROW + MAYBE * CHECK + RECORD,
        ),
        ("createAuction", GET, ROW + ROW + touched + mirrored),
        ("placeBid", GET, CHECK + ROW + mirrored + ROW),
        ("tellOutbid", GET, ROW + CHECK + RECORD),
        // Without a bid the item is touched; else it is reserved, and both are told. Rows are 1 or 2, alone or together.
        (
            "closeAuction",
            2.0 * GET,
            ROW + ROW
                + MAYBE * (touched - 0.5 + mirrored)
                + MAYBE * (1.5 + ENTRY + 1.5 + moved + 1.5 + 1.5)
                + MAYBE * CHECK,
        ),
        ("cancelAuction", GET + GET, ROW + ROW + touched + mirrored),
        ("rateUser", found + GET, ROW + ROW + CHECK),
    ];
    check_operations(&operations, &table);
    let runs = [
        1000.0, 500.0, 3000.0, 0.0, 1000.0, 20.0, 500.0, 5000.0, 500.0, 500.0, 1000.0, 300.0, 500.0, 1000.0, 10.0,
        10.0, 100.0, 5.0, 5.0, 130.0, 100.0, 90.0, 20.0, 15.0, 20.0, 200.0, 180.0, 20.0, 1.0, 80.0,
    ];
    let all = |of: fn(&Row) -> f64| {
        month_of(
            &table
                .iter()
                .zip(runs)
                .map(|(row, day)| (day * 30.0, of(row)))
                .collect::<Vec<_>>(),
        )
    };
    check_month(
        &stored,
        &bill,
        &Month {
            table_bytes: 1000.0 * 290.0 + 5000.0 * 740.0 + 5000.0 * 300.0 + 3000.0 * 290.0
                + 2.0 * 4000.0 * 480.0 // and by their ids
                + 2.0 * 500.0 * 350.0 // and beside their items
                + 5000.0 * 270.0 + 3000.0 * 340.0 + 12_000.0 * 330.0,
            index_bytes: vec![
                5000.0 * 740.0,
                5000.0 * 740.0,
                4000.0 * 480.0,
                5000.0 * 740.0,
                5000.0 * 740.0,
            ],
            read_units: all(|(_, read, _)| *read),
            write_units: all(|(.., write)| *write),
            stream_reads: 2.0 * FOLLOWED, // for triggers, and for words
            is_recovered: false,
        },
    );
    // The free tier is for the table and its indexes together: what the model provisions is exactly that.
    let declared = bill.declared.unwrap();
    assert_eq!((declared.read, declared.write), (25, 25));
    near(declared.dollars, 25.0 * (0.00013 + 0.00065) * 720.0, "as provisioned");
    near(declared.free, declared.dollars, "all of it free");
}
