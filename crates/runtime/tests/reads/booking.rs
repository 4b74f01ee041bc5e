//! Venue booking: bookings, events, availability, lock codes.

use serde_json::{Value as Json, json};
use singlet_runtime::{Caller, RuntimeError, Value};

use crate::refuses;
use crate::support::{NOW, Order, TODAY, booking, comparable, day, instant, names, only, same, text, values};

const USERS: [&str; 4] = ["giulia", "paolo", "chiara", "elena"];

fn admin() -> Caller {
    Caller::with_id("elena").claim("role", "admin")
}

fn user(id: &str) -> Caller {
    Caller::with_id(id).claim("role", "user")
}

#[tokio::test]
async fn a_profile_is_the_callers() {
    let system = booking().await;
    for id in USERS {
        same(
            &system.one("profile", &[], &user(id)).await,
            &system.row("User", "userId", id),
        );
    }
    refuses!(system.refused("profile", &[], &Caller::anonymous()), Unauthenticated);
    refuses!(system.refused("profile", &[], &user("nobody")), NotFound);
}

#[tokio::test]
async fn users_by_id_and_by_email_whatever_its_case() {
    let system = booking().await;
    for row in system.rows("User", |_| true) {
        let email = text(&row, "email");
        same(
            &system
                .one("userById", &[("userId", text(&row, "userId"))], &admin())
                .await,
            &row,
        );
        for spelled in [email.to_owned(), email.to_lowercase(), email.to_uppercase()] {
            same(&system.one("userByEmail", &[("email", &spelled)], &admin()).await, &row);
        }
    }
    refuses!(
        system.refused("userByEmail", &[("email", "nobody@example.it")], &admin()),
        NotFound
    );
    refuses!(system.refused("userById", &[("userId", "nobody")], &admin()), NotFound);
}

#[tokio::test]
async fn what_is_the_administrators_is_refused_to_others() {
    let system = booking().await;
    let reads: [(&str, &[(&str, &str)]); 5] = [
        ("userById", &[("userId", "giulia")]),
        ("userByEmail", &[("email", "giulia.ferri@example.it")]),
        ("bookingsByStatus", &[("status", "pending")]),
        ("bookingsOfMonth", &[("status", "approved"), ("month", "2025-06")]),
        ("auditLog", &[("date", TODAY)]),
    ];
    for (read, args) in reads {
        refuses!(system.refused(read, args, &Caller::anonymous()), Unauthenticated);
        refuses!(system.refused(read, args, &user("giulia")), Forbidden);
        refuses!(system.refused(read, args, &Caller::with_id("giulia")), Forbidden);
    }
}

#[tokio::test]
async fn a_booking_is_seen_by_its_booker_and_administrators() {
    let system = booking().await;
    for row in system.rows("Booking", |_| true) {
        let args = [("bookingId", text(&row, "bookingId"))];
        same(&system.one("booking", &args, &admin()).await, &row);
        same(&system.one("booking", &args, &user(text(&row, "userId"))).await, &row);
        refuses!(system.refused("booking", &args, &user("nobody")), NotFound);
        refuses!(system.refused("booking", &args, &Caller::anonymous()), NotFound);
    }
    refuses!(
        system.refused("booking", &[("bookingId", "01JHB1ARBWP2A99TVMKB6025WZ")], &admin()),
        NotFound
    );
}

/// Pages are of the bookings; the user comes with each.
#[tokio::test]
async fn a_users_bookings_come_with_the_user_newest_first() {
    let system = booking().await;
    for id in USERS {
        let mut expected = system.rows("Booking", |row| text(row, "userId") == id);
        expected.sort_by(|a, b| text(b, "bookingId").cmp(text(a, "bookingId")));
        let expected = only(&expected, &["userId", "bookingId", "date", "duration", "status"]);
        for limit in [1, 3, 7, 100] {
            let mut got = Vec::new();
            let mut cursor = None;
            loop {
                let answer = system.page("myBookings", &[], &user(id), limit, cursor).await.unwrap();
                let mut page = values::to_json(&answer.value.unwrap());
                let bookings = page.as_object_mut().unwrap().remove("bookings").unwrap();
                let bookings = bookings.as_array().unwrap().clone();
                assert!(
                    bookings.len() == limit || answer.next.is_none() && bookings.len() < limit,
                    "{limit}: {}",
                    bookings.len()
                );
                got.extend(bookings);
                same(&page, &system.row("User", "userId", id));
                cursor = answer.next;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!(got, expected, "{id} by {limit}");
        }
    }
    refuses!(system.refused("myBookings", &[], &Caller::anonymous()), Unauthenticated);
    refuses!(system.refused("myBookings", &[], &user("nobody")), NotFound);
}

#[tokio::test]
async fn bookings_of_a_status_oldest_first() {
    let system = booking().await;
    for status in ["pending", "approved", "rejected", "cancelled"] {
        let expected = system.rows("Booking", |row| text(row, "status") == status);
        let order = Order::Up(|row| vec![text(row, "requestedAt").to_owned()]);
        system
            .check("bookingsByStatus", &[("status", status)], &admin(), expected, order)
            .await;
    }
}

#[tokio::test]
async fn bookings_of_a_month_have_its_first_and_last_day() {
    let system = booking().await;
    for month in [
        "2025-02", "2025-06", "2025-12", "2026-01", "2026-11", "2026-12", "2031-01",
    ] {
        for status in ["pending", "approved", "rejected", "cancelled"] {
            let expected = system.rows("Booking", |row| {
                text(row, "status") == status && text(row, "date").starts_with(month)
            });
            let order = Order::Up(|row| vec![text(row, "date").to_owned(), text(row, "bookingId").to_owned()]);
            system
                .check(
                    "bookingsOfMonth",
                    &[("status", status), ("month", month)],
                    &admin(),
                    expected,
                    order,
                )
                .await;
        }
    }
    let args = [("status", "approved"), ("month", "2025-12")];
    let (rows, _) = system.all("bookingsOfMonth", &args, &admin(), 100).await;
    assert!(
        rows.iter()
            .any(|row| text(row, "bookingId") == "01KCM9QV3CD1039N53XH5P9H98"),
        "the last day of the year"
    );
}

#[tokio::test]
async fn events_of_a_day_without_its_lock_codes() {
    let system = booking().await;
    let days = [
        TODAY.to_owned(),
        day("+3d"),
        day("+6d"),
        day("+13d"),
        "2025-06-14".to_owned(),
        "2025-03-30".to_owned(),
        "2031-01-01".to_owned(),
    ];
    let mut hidden = 0;
    for date in &days {
        for caller in [user("giulia"), user("nobody"), admin()] {
            let is_whole = |row: &Json| {
                let says = |claim: &str, value: &str| caller.claims.get(claim).and_then(Value::as_str) == Some(value);
                text(row, "eventType") != "private_booking"
                    || says("id", text(row, "createdBy"))
                    || says("role", "admin")
            };
            let mut expected = system.rows("Event", |row| text(row, "date") == date);
            for row in expected.iter_mut().filter(|row| !is_whole(row)) {
                *row = only(std::slice::from_ref(row), &["date", "timeSlot", "eventType"]).remove(0);
                hidden += 1;
            }
            let order = Order::Up(|row| vec![text(row, "timeSlot").to_owned()]);
            system
                .check("eventsOfDay", &[("date", date)], &caller, expected, order)
                .await;
        }
    }
    assert!(hidden > 3, "{hidden}");
    refuses!(
        system.refused("eventsOfDay", &[("date", TODAY)], &Caller::anonymous()),
        Unauthenticated
    );
}

#[tokio::test]
async fn availability_says_each_day_and_a_full_day_takes_both_halves() {
    let system = booking().await;
    let ranges = [
        (TODAY.to_owned(), day("+91d")),
        ("2025-06-01".to_owned(), "2025-06-30".to_owned()),
        ("2025-03-29".to_owned(), "2025-03-31".to_owned()),
        ("2025-12-31".to_owned(), "2026-01-01".to_owned()),
        (TODAY.to_owned(), TODAY.to_owned()),
    ];
    for (from, to) in &ranges {
        let mut expected = Vec::new();
        let mut date: jiff::civil::Date = from.parse().unwrap();
        while date.to_string() <= *to {
            let on = date.to_string();
            let taken = |half: &str| {
                !system
                    .rows("Event", |row| {
                        text(row, "date") == on && [half, "FULL_DAY"].contains(&text(row, "timeSlot"))
                    })
                    .is_empty()
            };
            expected.push(json!({"date": on, "morning": !taken("MORNING"), "afternoon": !taken("AFTERNOON")}));
            date = date.tomorrow().unwrap();
        }
        let answer = system
            .one("availability", &[("from", from), ("to", to)], &Caller::anonymous())
            .await;
        assert_eq!(answer, Json::Array(expected));
    }
}

#[tokio::test]
async fn availability_of_a_full_day_event_and_of_both_halves() {
    let system = booking().await;
    let both = |morning: bool, afternoon: bool| (json!(morning), json!(afternoon));
    for (date, expected) in [
        (day("+3d"), both(false, false)),
        (day("+6d"), both(false, false)),
        (day("+13d"), both(false, false)),
        (day("+1d"), both(true, false)),
    ] {
        let answer = system
            .one("availability", &[("from", &date), ("to", &date)], &Caller::anonymous())
            .await;
        assert_eq!(
            (answer[0]["morning"].clone(), answer[0]["afternoon"].clone()),
            expected,
            "{date}"
        );
    }
}

#[tokio::test]
async fn availability_is_of_at_most_92_days() {
    let system = booking().await;
    let anyone = Caller::anonymous();
    for to in [day("+92d"), day("+9000d")] {
        names(
            &system
                .refused("availability", &[("from", TODAY), ("to", &to)], &anyone)
                .await,
            "availability",
        );
    }
    let (from, to) = (day("+1d"), TODAY);
    let answer = system
        .page("availability", &[("from", &from), ("to", to)], &anyone, 20, None)
        .await
        .unwrap();
    assert_eq!(
        values::to_json(&answer.value.unwrap()),
        json!([]),
        "a range with its ends swapped is empty"
    );
}

#[tokio::test]
async fn payments_are_for_the_booker_and_administrators() {
    let system = booking().await;
    let order = Order::Up(|row| vec![text(row, "paymentId").to_owned()]);
    for booked in system.rows("Booking", |_| true) {
        let id = text(&booked, "bookingId");
        let args = [("bookingId", id)];
        let expected = system.rows("Payment", |row| text(row, "bookingId") == id);
        system.check("payments", &args, &admin(), expected.clone(), order).await;
        system
            .check("payments", &args, &user(text(&booked, "userId")), expected, order)
            .await;
        refuses!(system.refused("payments", &args, &user("nobody")), NotFound);
    }
    let two = [("bookingId", "01JQZSPKQQRKHR9ZHYAE2FC9S3")];
    assert_eq!(system.all("payments", &two, &admin(), 1).await.0.len(), 2);
    refuses!(system.refused("payments", &two, &Caller::anonymous()), NotFound);
    refuses!(
        system.refused("payments", &[("bookingId", "01JHB1ARBWP2A99TVMKB6025WZ")], &admin()),
        NotFound
    );
}

#[tokio::test]
async fn a_lock_code_is_seen_from_the_day_before() {
    let system = booking().await;
    for code in system.rows("LockCode", |_| true) {
        let args = [("bookingId", text(&code, "bookingId"))];
        same(&system.one("lockCode", &args, &admin()).await, &code);
        let booker = user(text(&code, "userId"));
        match text(&code, "date") <= day("+1d").as_str() {
            true => same(&system.one("lockCode", &args, &booker).await, &code),
            false => refuses!(system.refused("lockCode", &args, &booker), NotFound),
        }
        refuses!(system.refused("lockCode", &args, &user("nobody")), NotFound);
        refuses!(system.refused("lockCode", &args, &Caller::anonymous()), NotFound);
    }
    let tomorrow = system.row("Booking", "bookingId", "01KGS3V2Q0S5VX2627RJC38VPE");
    system
        .one(
            "lockCode",
            &[("bookingId", text(&tomorrow, "bookingId"))],
            &user(text(&tomorrow, "userId")),
        )
        .await;
    for without in system.rows("Booking", |row| text(row, "status") != "approved") {
        refuses!(
            system.refused("lockCode", &[("bookingId", text(&without, "bookingId"))], &admin()),
            NotFound
        );
    }
}

#[tokio::test]
async fn lock_codes_hold_on_the_clock_of_the_hall() {
    let system = booking().await;
    for (id, from, to) in [
        ("01JPEZS7FTYSFE37ZAVTV5YCNM", "2025-03-30T06:00:00.000Z", ""),
        (
            "01K5NVBFRMRRB1XGC05N9KJPHY",
            "2025-10-26T07:00:00.000Z",
            "2025-10-26T17:00:00.000Z",
        ),
    ] {
        let code = system.one("lockCode", &[("bookingId", id)], &admin()).await;
        assert_eq!(text(&code, "validFrom"), from);
        assert!(to.is_empty() || text(&code, "validTo") == to, "{code}");
    }
}

#[tokio::test]
async fn notifications_end_after_30_days() {
    let system = booking().await;
    let order = Order::Down(|row| vec![text(row, "notificationId").to_owned()]);
    let oldest = instant("-30d");
    for id in ["giulia", "chiara", "paolo", "elena"] {
        let expected = system.rows("Notification", |row| {
            text(row, "userId") == id && text(row, "createdAt") > oldest.as_str()
        });
        system.check("notifications", &[], &user(id), expected, order).await;
    }
    let (rows, _) = system.all("notifications", &[], &user("giulia"), 100).await;
    assert!(
        rows.iter()
            .all(|row| text(row, "notificationId") != "01JPMA2EPNR1X9HH14XD7HGR0C")
    );
    assert!(
        rows.iter()
            .any(|row| text(row, "notificationId") == "01KH3PRDG0JS3TGMD5BZM8XT4H")
    );
    refuses!(
        system.refused("notifications", &[], &Caller::anonymous()),
        Unauthenticated
    );
}

#[tokio::test]
async fn the_audit_log_of_a_day_in_time_order() {
    let system = booking().await;
    let days = [
        TODAY.to_owned(),
        day("-5d"),
        day("-9d"),
        day("-2d"),
        "2024-12-10".to_owned(),
        "2031-01-01".to_owned(),
    ];
    for date in &days {
        let expected = system.rows("AuditLog", |row| text(row, "date") == date);
        let order = Order::Up(|row| vec![text(row, "at").to_owned(), text(row, "auditId").to_owned()]);
        system
            .check("auditLog", &[("date", date)], &admin(), expected, order)
            .await;
    }
}

#[tokio::test]
async fn today_is_the_halls_day() {
    let system = booking().await;
    let booked = system.row("Booking", "bookingId", "01KGVKND009MGBW9C0Z706RWMD");
    let args = system.args("lockCode", &[("bookingId", text(&booked, "bookingId"))]);
    let ask = async |now: i64| {
        let request = singlet_runtime::Request {
            args: args.clone(),
            caller: user(text(&booked, "userId")),
            now,
            ..Default::default()
        };
        system.engine.read("lockCode", &request).await.is_ok()
    };
    // Five days later it is the day before; in Rome that day begins an hour before it does in UTC.
    let begins = NOW + 5 * 86_400_000 - 13 * 3_600_000;
    assert!(!ask(begins - 1).await);
    assert!(ask(begins).await);
    assert_eq!(comparable(&json!(text(&booked, "date"))), json!(day("+6d")));
}
