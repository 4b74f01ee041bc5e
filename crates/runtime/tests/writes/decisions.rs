//! What administrators of booking decide: approvals, rejections, cancellations, events of the hall.

use serde_json::{Value as Json, json};
use singlet_runtime::Caller;

use super::booking::{PAID, ada, admin, approve, booking, register, with_ada};
use super::support::{NOW, System, has, refused, user, word};

async fn cancel(system: &System, caller: &Caller, id: &str) -> Result<Json, String> {
    system.write("cancelBooking", caller, json!({"bookingId": id})).await
}

#[tokio::test]
async fn an_approval_is_one_transaction_of_everything_it_means() {
    let system = with_ada().await;
    let id = booking(&system, &ada(), "2026-12-24", "MORNING").await;
    system.pass(1_000);
    let answer = approve(&system, &id).await.unwrap();
    has(
        &answer,
        &json!({"status": "approved", "decidedBy": "root", "version": 2, "bookingId": id}),
    );
    has(
        &system.item(&format!("BOOKING#{id} | METADATA")).await,
        &json!({
            "status": "approved", "GSI1PK": "STATUS#approved", "GSI1SK": "2026-11-16T12:00:00.000Z",
            "GSI2SK": format!("STATUS#approved#2026-12-24#{id}"),
        }),
    );
    assert_eq!(
        system.attribute(&format!("USER#ada | BOOKING#{id}"), "status").await,
        Some(json!("approved"))
    );
    has(
        &system.item("EVENT#2026-12-24 | MORNING").await,
        &json!({
            "bookingId": id, "eventType": "private_booking", "title": "Party", "createdBy": "ada", "version": 1,
        }),
    );
    // Eight and thirteen o'clock in Rome, in winter.
    has(
        &system.item("EVENT#2026-12-24 | LOCKCODE#MORNING").await,
        &json!({
            "bookingId": id, "userId": "ada", "validFrom": "2026-12-24T07:00:00.000Z",
            "validTo": "2026-12-24T12:00:00.000Z",
        }),
    );
    has(
        &system.item("USER#ada | METADATA").await,
        &json!({"bookingsRequested": 1, "bookingsApproved": 1, "version": 3}),
    );
    let notes = system.keys_under("USER#ada | NOTIFICATION#").await;
    has(
        &system.item(&notes[0]).await,
        &json!({
            "kind": "approved", "text": "your booking on 2026-12-24 is approved", "readAt": null,
            "ttl": NOW / 1000 + 1 + 30 * 86_400,
        }),
    );
    let audit = system.keys_under("AUDIT#2026-11-16 | 2026-11-16T12:00:01.000Z#").await;
    has(
        &system.item(&audit[0]).await,
        &json!({"actor": "root", "action": "approve", "target": id, "before": "pending", "after": "approved"}),
    );
    assert_eq!((notes.len(), audit.len()), (1, 1));
    system.check().await;
    assert_eq!(approve(&system, &id).await, refused("booking_not_pending 409"));
}

#[tokio::test]
async fn a_slot_is_sold_once() {
    let system = with_ada().await;
    let slots = ["MORNING", "AFTERNOON", "FULL_DAY"];
    for taken in slots {
        let date = format!("2026-12-0{}", 1 + slots.iter().position(|slot| *slot == taken).unwrap());
        let id = booking(&system, &ada(), &date, taken).await;
        approve(&system, &id).await.unwrap();
        for wanted in slots {
            let id = booking(&system, &ada(), &date, wanted).await;
            let before = system.dump().await;
            let free = wanted != taken && wanted != "FULL_DAY" && taken != "FULL_DAY";
            let answer = approve(&system, &id).await;
            match free {
                true => assert!(answer.is_ok(), "{wanted} beside {taken}: {answer:?}"),
                false => {
                    assert_eq!(answer, refused(&format!("slot_taken 409 slot={wanted}")));
                    assert_eq!(system.dump().await, before);
                }
            }
            if free {
                cancel(&system, &ada(), &id).await.unwrap();
            }
        }
    }
    system.check().await;
}

#[tokio::test]
async fn only_an_administrator_decides() {
    let system = with_ada().await;
    let id = booking(&system, &ada(), "2026-12-24", "MORNING").await;
    let args = json!({"bookingId": id});
    assert_eq!(
        system.write("approveBooking", &ada(), args.clone()).await,
        refused("forbidden")
    );
    let reason = json!({"bookingId": id, "reason": "no"});
    assert_eq!(
        system.write("rejectBooking", &ada(), reason).await,
        refused("forbidden")
    );
    assert_eq!(
        approve(&system, "01ARZ3NDEKTSV4RRFFQ69G5FAV").await,
        refused("booking_not_found 404")
    );
    for (name, args) in [
        (
            "createEvent",
            json!({"date": "2026-12-24", "timeSlot": "MORNING", "eventType": "public", "title": "x"}),
        ),
        ("deleteEvent", json!({"date": "2026-12-24", "timeSlot": "MORNING"})),
        (
            "recordPayment",
            json!({"bookingId": id, "amount": 1, "currency": "EUR", "method": "cash", "paidAt": PAID}),
        ),
        (
            "refundPayment",
            json!({"bookingId": id, "paymentId": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}),
        ),
    ] {
        assert_eq!(system.write(name, &ada(), args).await, refused("forbidden"), "{name}");
    }
}

#[tokio::test]
async fn a_rejection_says_why() {
    let system = with_ada().await;
    let id = booking(&system, &ada(), "2026-12-24", "MORNING").await;
    assert_eq!(
        system.write("rejectBooking", &admin(), json!({"bookingId": id})).await,
        refused("bad request: `rejectBooking` needs the argument `reason`")
    );
    let args = json!({"bookingId": id, "reason": "closed"});
    let answer = system.write("rejectBooking", &admin(), args.clone()).await.unwrap();
    has(
        &answer,
        &json!({"status": "rejected", "reason": "closed", "decidedBy": "root"}),
    );
    assert_eq!(
        system.attribute(&format!("USER#ada | BOOKING#{id}"), "status").await,
        Some(json!("rejected"))
    );
    let notes = system.keys_under("USER#ada | NOTIFICATION#").await;
    has(&system.item(&notes[0]).await, &json!({"kind": "rejected"}));
    assert_eq!(system.keys_under("EVENT#").await, Vec::<String>::new());
    system.check().await;
    assert_eq!(
        system.write("rejectBooking", &admin(), args).await,
        refused("booking_not_pending 409")
    );
    assert_eq!(
        cancel(&system, &ada(), &id).await,
        refused("booking_not_pending_or_approved 409")
    );
}

#[tokio::test]
async fn a_cancelled_booking_frees_its_own_slot_only() {
    let system = with_ada().await;
    register(&system, "bob").await;
    let first = booking(&system, &ada(), "2026-12-24", "MORNING").await;
    let second = booking(&system, &user("bob"), "2026-12-24", "MORNING").await;
    approve(&system, &first).await.unwrap();
    assert_eq!(cancel(&system, &ada(), &second).await, refused("booking_not_found 404"));
    // A pending request in the same slot has no event to free.
    cancel(&system, &user("bob"), &second).await.unwrap();
    assert_eq!(
        system.attribute("EVENT#2026-12-24 | MORNING", "bookingId").await,
        Some(json!(first))
    );
    assert_eq!(system.keys_under("EVENT#").await.len(), 2);
    let answer = cancel(&system, &ada(), &first).await.unwrap();
    has(&answer, &json!({"status": "cancelled", "version": 3}));
    assert_eq!(system.keys_under("EVENT#").await, Vec::<String>::new());
    assert_eq!(
        system.attribute(&format!("USER#ada | BOOKING#{first}"), "status").await,
        Some(json!("cancelled"))
    );
    assert_eq!(
        system.keys_under("USER#bob | NOTIFICATION#").await,
        Vec::<String>::new()
    );
    system.check().await;
    let third = booking(&system, &ada(), "2026-12-24", "FULL_DAY").await;
    approve(&system, &third).await.unwrap();
    cancel(&system, &admin(), &third).await.unwrap();
    let notes = system.keys_under("USER#ada | NOTIFICATION#").await;
    let mut kinds = Vec::new();
    for note in notes {
        kinds.push(word(&system.item(&note).await, "kind"));
    }
    kinds.sort();
    assert_eq!(kinds, ["approved", "approved", "cancelled"]);
    system.check().await;
}

#[tokio::test]
async fn events_of_the_hall_exclude_bookings_and_one_another() {
    let system = with_ada().await;
    let event = |slot: &str| json!({"date": "2026-12-24", "timeSlot": slot, "eventType": "public", "title": "Fair"});
    let answer = system.write("createEvent", &admin(), event("AFTERNOON")).await.unwrap();
    has(
        &answer,
        &json!({"createdBy": "root", "bookingId": null, "version": 1, "timeSlot": "AFTERNOON"}),
    );
    for slot in ["AFTERNOON", "FULL_DAY"] {
        assert_eq!(
            system.write("createEvent", &admin(), event(slot)).await,
            refused(&format!("slot_taken 409 slot={slot}"))
        );
    }
    let id = booking(&system, &ada(), "2026-12-24", "FULL_DAY").await;
    assert_eq!(approve(&system, &id).await, refused("slot_taken 409 slot=FULL_DAY"));
    let slot = |slot: &str| json!({"date": "2026-12-24", "timeSlot": slot});
    assert_eq!(
        system.write("deleteEvent", &admin(), slot("MORNING")).await,
        refused("event_not_found 404")
    );
    assert_eq!(
        system.write("deleteEvent", &admin(), slot("AFTERNOON")).await,
        Ok(Json::Null)
    );
    approve(&system, &id).await.unwrap();
    assert_eq!(
        system.write("deleteEvent", &admin(), slot("FULL_DAY")).await,
        refused(&format!("belongs_to_booking 409 bookingId={id}"))
    );
    let mut audit = Vec::new();
    for key in system.keys_under("AUDIT#").await {
        audit.push(word(&system.item(&key).await, "action"));
    }
    audit.sort();
    assert_eq!(audit, ["approve", "create_event", "delete_event"]);
    system.check().await;
    let day = json!({"from": "2026-12-23", "to": "2026-12-24"});
    assert_eq!(
        system.read("availability", &ada(), day).await.unwrap(),
        json!([
            {"date": "2026-12-23", "morning": true, "afternoon": true},
            {"date": "2026-12-24", "morning": false, "afternoon": false},
        ])
    );
}
