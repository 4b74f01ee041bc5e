use serde_json::{Value as Json, json};
use singlet_runtime::{Caller, WriteRequest};

use super::support::{System, has, number, outcome, refused, role, user, word};

pub const PAID: &str = "2026-11-15T09:00:00.000Z";

pub fn admin() -> Caller {
    role("root", "admin")
}

pub fn ada() -> Caller {
    role("ada", "user")
}

pub async fn register(system: &System, id: &str) {
    let profile = json!({"email": format!("{id}@X.org"), "name": id, "phone": "12345"});
    system.write("register", &user(id), profile).await.unwrap();
}

pub async fn with_ada() -> System {
    let system = System::new("booking").await;
    register(&system, "ada").await;
    system
}

/// A request for a slot, and its id.
pub async fn booking(system: &System, caller: &Caller, date: &str, slot: &str) -> String {
    let args = json!({"date": date, "duration": slot, "eventDescription": "Party", "attendees": 20});
    let booking = system.write("requestBooking", caller, args).await.unwrap();
    word(&booking, "bookingId")
}

pub async fn approve(system: &System, id: &str) -> Result<Json, String> {
    system.write("approveBooking", &admin(), json!({"bookingId": id})).await
}

#[tokio::test]
async fn an_email_belongs_to_one_account() {
    let system = with_ada().await;
    assert_eq!(
        system.keys().await,
        ["$unique#User#email#ada@x.org | $", "USER#ada | METADATA"]
    );
    has(
        &system.item("USER#ada | METADATA").await,
        &json!({
            "email": "ada@X.org", "GSI1PK": "EMAIL#ada@x.org", "GSI1SK": "USER", "role": "user", "version": 1,
            "bookingsRequested": 0, "bookingsApproved": 0, "createdAt": "2026-11-16T12:00:00.000Z",
        }),
    );
    let profile = |email: &str| json!({"email": email, "name": "B", "phone": "12345"});
    assert_eq!(
        system.write("register", &user("bob"), profile("ADA@x.org")).await,
        refused("email_taken 409")
    );
    assert_eq!(
        system.write("register", &ada(), profile("b@x.org")).await,
        refused("already_registered 409")
    );
    register(&system, "bob").await;
    assert_eq!(
        system
            .write("updateProfile", &user("bob"), json!({"email": "Ada@x.org"}))
            .await,
        refused("email_taken 409")
    );
    let moved = json!({"email": "ada@y.org"});
    has(
        &system.write("updateProfile", &ada(), moved).await.unwrap(),
        &json!({"email": "ada@y.org", "version": 2, "name": "ada"}),
    );
    system
        .write(
            "updateProfile",
            &user("bob"),
            json!({"email": "ada@x.org", "phone": "99999"}),
        )
        .await
        .unwrap();
    assert_eq!(
        system.attribute("USER#ada | METADATA", "GSI1PK").await,
        Some(json!("EMAIL#ada@y.org"))
    );
    system.check().await;
    assert_eq!(
        system.write("updateProfile", &user("eve"), json!({"name": "E"})).await,
        refused("user_not_found 404")
    );
}

#[tokio::test]
async fn a_profile_changes_only_in_the_version_that_was_seen() {
    let system = with_ada().await;
    let request = |version, name: &str| WriteRequest {
        precondition: Some(number(version)).into(),
        ..system.request("updateProfile", &ada(), &json!({"name": name}))
    };
    assert_eq!(
        outcome(system.send("updateProfile", &request(2, "A")).await),
        refused("version mismatch")
    );
    let written = system.send("updateProfile", &request(1, "A")).await.unwrap();
    assert_eq!(written.version, Some(number(2)));
    assert_eq!(
        outcome(system.send("updateProfile", &request(1, "B")).await),
        refused("version mismatch")
    );
}

#[tokio::test]
async fn a_request_is_counted_mirrored_and_indexed() {
    let system = with_ada().await;
    let args = json!({"date": "2026-12-24", "duration": "MORNING", "eventDescription": "Party", "attendees": 20});
    let request = system.request("requestBooking", &ada(), &args);
    let written = system.send("requestBooking", &request).await.unwrap();
    assert_eq!(written.status, 201);
    let answer = outcome(Ok(written)).unwrap();
    let id = word(&answer, "bookingId");
    has(
        &answer,
        &json!({"status": "pending", "userId": "ada", "version": 1, "decidedBy": null}),
    );
    assert_eq!(word(&answer, "confirmationCode").len(), 8);
    has(
        &system.item(&format!("BOOKING#{id} | METADATA")).await,
        &json!({
            "GSI1PK": "STATUS#pending", "GSI1SK": "2026-11-16T12:00:00.000Z", "GSI2PK": "MONTH#2026-12",
            "GSI2SK": format!("STATUS#pending#2026-12-24#{id}"), "attendees": 20,
        }),
    );
    has(
        &system.item(&format!("USER#ada | BOOKING#{id}")).await,
        &json!({"date": "2026-12-24", "duration": "MORNING", "status": "pending", "GSI1PK": null, "attendees": null}),
    );
    has(
        &system.item("USER#ada | METADATA").await,
        &json!({"bookingsRequested": 1, "bookingsApproved": 0, "version": 2}),
    );
    assert_eq!(
        system.write("requestBooking", &user("eve"), args.clone()).await,
        refused("not_registered 404")
    );
    system.check().await;
    let crowd = system.args("requestBooking", &args);
    let request = WriteRequest {
        args: crowd
            .into_iter()
            .map(|(name, value)| match name.as_str() {
                "attendees" => (name, singlet_item::Value::N(number(501))),
                _ => (name, value),
            })
            .collect(),
        ..request
    };
    let crowd = outcome(system.send("requestBooking", &request).await).unwrap_err();
    assert!(
        crowd.starts_with("bad request: the argument `attendees` is wrong"),
        "{crowd}"
    );
}

#[tokio::test]
async fn a_day_is_past_on_the_clock_of_the_hall() {
    let system = with_ada().await;
    let today = json!({"date": "2026-11-16", "duration": "FULL_DAY", "eventDescription": "x", "attendees": 1});
    system.write("requestBooking", &ada(), today.clone()).await.unwrap();
    // 23:30 in London is the next day in Rome.
    system.pass(11 * 3_600_000 + 1_800_000);
    assert_eq!(
        system.write("requestBooking", &ada(), today).await,
        refused("date_in_past 400")
    );
}

#[tokio::test]
async fn a_payment_is_refunded_once() {
    let system = with_ada().await;
    let id = booking(&system, &ada(), "2026-12-24", "MORNING").await;
    let args = json!({"bookingId": id, "amount": 120.5, "currency": "EUR", "method": "card", "paidAt": PAID});
    let answer = system.write("recordPayment", &admin(), args).await.unwrap();
    has(
        &answer,
        &json!({"amount": 120.5, "status": "paid", "recordedBy": "root", "bookingId": id}),
    );
    let payment = word(&answer, "paymentId");
    assert!(
        system
            .keys()
            .await
            .contains(&format!("BOOKING#{id} | PAYMENT#{payment}"))
    );
    let refund = json!({"bookingId": id, "paymentId": payment});
    let answer = system.write("refundPayment", &admin(), refund.clone()).await.unwrap();
    has(&answer, &json!({"status": "refunded", "amount": 120.5}));
    assert_eq!(
        system.write("refundPayment", &admin(), refund).await,
        refused("payment_not_paid 409")
    );
    let missing = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    assert_eq!(
        system
            .write(
                "refundPayment",
                &admin(),
                json!({"bookingId": id, "paymentId": missing})
            )
            .await,
        refused("payment_not_found 404")
    );
    let nowhere = json!({"bookingId": missing, "amount": 1, "currency": "EUR", "method": "cash", "paidAt": PAID});
    assert_eq!(
        system.write("recordPayment", &admin(), nowhere).await,
        refused("booking_not_found 404")
    );
    assert_eq!(system.keys_under("AUDIT#").await.len(), 2);
    system.check().await;
}

#[tokio::test]
async fn a_notification_is_read_by_its_user_within_its_time() {
    let system = with_ada().await;
    let id = booking(&system, &ada(), "2026-12-24", "MORNING").await;
    approve(&system, &id).await.unwrap();
    let key = system.keys_under("USER#ada | NOTIFICATION#").await.remove(0);
    let note = key.rsplit('#').next().unwrap().to_owned();
    let args = json!({"notificationId": note});
    assert_eq!(
        system.write("markNotificationRead", &user("bob"), args.clone()).await,
        refused("notification_not_found 404")
    );
    system.pass(1_000);
    let answer = system
        .write("markNotificationRead", &ada(), args.clone())
        .await
        .unwrap();
    has(
        &answer,
        &json!({"readAt": "2026-11-16T12:00:01.000Z", "kind": "approved"}),
    );
    system.check().await;
    // Expired, though nobody has swept it yet.
    system.pass(30 * 86_400_000);
    assert_eq!(
        system.write("markNotificationRead", &ada(), args).await,
        refused("notification_not_found 404")
    );
    assert!(system.keys().await.contains(&key));
}

#[tokio::test]
async fn a_key_makes_every_decision_once() {
    let system = with_ada().await;
    let args = json!({"date": "2026-12-24", "duration": "MORNING", "eventDescription": "Party", "attendees": 20});
    let first = system
        .write_once("requestBooking", &ada(), "r", args.clone())
        .await
        .unwrap();
    let again = system.write_once("requestBooking", &ada(), "r", args).await.unwrap();
    assert_eq!(first, again);
    let id = word(&first, "bookingId");
    for name in ["approveBooking", "cancelBooking"] {
        let args = json!({"bookingId": id});
        let first = system.write_once(name, &admin(), name, args.clone()).await.unwrap();
        let before = system.dump().await;
        let again = system.write_once(name, &admin(), name, args).await.unwrap();
        assert_eq!(first, again, "{name}");
        assert_eq!(system.dump().await, before, "{name}");
    }
    has(
        &system.item("USER#ada | METADATA").await,
        &json!({"bookingsRequested": 1, "bookingsApproved": 1}),
    );
    system.check().await;
}

#[tokio::test]
async fn a_key_is_the_callers_own_whatever_is_in_it() {
    let system = System::new("booking").await;
    for (id, email) in [("a", "a@x.org"), ("a#b", "b#c@x.org")] {
        let profile = json!({"email": email, "name": "x", "phone": "12345"});
        system.write("register", &user(id), profile).await.unwrap();
    }
    let args = json!({"date": "2026-12-24", "duration": "MORNING", "eventDescription": "x", "attendees": 1});
    let first = system
        .write_once("requestBooking", &user("a"), "b#c", args.clone())
        .await
        .unwrap();
    let second = system
        .write_once("requestBooking", &user("a#b"), "c", args)
        .await
        .unwrap();
    assert_eq!(
        (word(&first, "userId"), word(&second, "userId")),
        ("a".into(), "a#b".into())
    );
    assert!(
        system
            .keys()
            .await
            .contains(&"$unique#User#email#b$23c@x.org | $".to_owned())
    );
    system.check().await;
}
