use serde_json::{Value as Json, json};

use super::support::{NOW, Outcome, System, has, refused, user, word};

const HOUR: i64 = 3_600_000;
pub const DAY: i64 = 24 * HOUR;
pub const NOBODY: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

async fn register(system: &System, id: &str) {
    let profile = json!({"username": format!("user {id}"), "email": format!("{id}@x.org")});
    system.write("register", &user(id), profile).await.unwrap();
}

/// Sam gives things away to Bea and Cem.
pub async fn with_users() -> System {
    let system = System::new("ecobid").await;
    for id in ["sam", "bea", "cem"] {
        register(&system, id).await;
    }
    system
}

fn chair(mode: &str) -> Json {
    json!({
        "title": "Chair", "description": "wood", "category": "furniture", "mode": mode,
        "location": {"lat": 52.2297, "lon": 21.0122, "city": "Warsaw", "country": "PL"},
    })
}

pub async fn item(system: &System, mode: &str) -> String {
    let item = system.write("createItem", &user("sam"), chair(mode)).await.unwrap();
    word(&item, "itemId")
}

pub async fn on_item(system: &System, name: &str, caller: &str, id: &str) -> Outcome {
    system.write(name, &user(caller), json!({"itemId": id})).await
}

async fn reserve(system: &System, caller: &str, id: &str) -> Outcome {
    on_item(system, "reserveItem", caller, id).await
}

async fn reserved(system: &System, caller: &str, id: &str) -> String {
    word(&reserve(system, caller, id).await.unwrap(), "resId")
}

async fn confirm(system: &System, caller: &str, id: &str) -> Outcome {
    let args = json!({"resId": id, "pickupTime": "2026-11-18T10:00:00.000Z"});
    system.write("confirmReservation", &user(caller), args).await
}

async fn on_reservation(system: &System, name: &str, caller: &str, id: &str) -> Outcome {
    system.write(name, &user(caller), json!({"resId": id})).await
}

/// A deal between Sam and Bea that is done.
async fn completed(system: &System) -> (String, String) {
    let item = item(system, "free").await;
    let reservation = reserved(system, "bea", &item).await;
    confirm(system, "sam", &reservation).await.unwrap();
    on_reservation(system, "completeReservation", "sam", &reservation)
        .await
        .unwrap();
    (item, reservation)
}

#[tokio::test]
async fn a_profile_is_made_once_and_changed() {
    let system = with_users().await;
    has(
        &system.item("USER#sam | PROFILE").await,
        &json!({"username": "user sam", "rating": 0, "ratingSum": 0, "ratingCount": 0, "itemsGiven": 0, "city": null}),
    );
    let again = json!({"username": "sam", "email": "s@x.org"});
    assert_eq!(
        system.write("register", &user("sam"), again).await,
        refused("already_registered 409")
    );
    let change = json!({"city": "Warsaw", "country": "PL"});
    let answer = system.write("updateProfile", &user("sam"), change).await.unwrap();
    has(
        &answer,
        &json!({"city": "Warsaw", "country": "PL", "username": "user sam"}),
    );
    let answer = system
        .write("updateProfile", &user("sam"), json!({"city": null}))
        .await
        .unwrap();
    has(&answer, &json!({"city": null, "country": "PL"}));
    assert_eq!(
        system.write("updateProfile", &user("eve"), json!({"city": "x"})).await,
        refused("user_not_found 404")
    );
    system.check().await;
}

#[tokio::test]
async fn a_new_item_is_where_it_lies() {
    let system = with_users().await;
    let id = item(&system, "free").await;
    has(
        &system.item(&format!("ITEM#{id} | METADATA")).await,
        &json!({
            "status": "available", "userId": "sam", "geohash": "u3qcn", "geohash4": "u3qc", "category": "furniture",
            "timestamp": "2026-11-16T12:00:00.000Z", "GSI4PK": "STATUS#available",
            "GSI4SK": format!("2026-11-16T12:00:00.000Z#{id}"), "reservedUntil": null, "ttl": null,
        }),
    );
    has(
        &system.item(&format!("USER#sam | ITEM#{id}")).await,
        &json!({"title": "Chair", "status": "available", "geohash": null, "category": null, "timestamp": null}),
    );
    assert_eq!(
        system.write("createItem", &user("eve"), chair("free")).await,
        refused("not_registered 404")
    );
    system.check().await;
}

#[tokio::test]
async fn an_item_is_withdrawn_and_deleted_by_its_owner() {
    let system = with_users().await;
    let id = item(&system, "free").await;
    for name in ["withdrawItem", "deleteItem"] {
        let gone = refused("item_not_found 404");
        assert_eq!(on_item(&system, name, "bea", &id).await, gone, "{name}");
        assert_eq!(on_item(&system, name, "sam", NOBODY).await, gone, "{name}");
    }
    has(
        &on_item(&system, "withdrawItem", "sam", &id).await.unwrap(),
        &json!({"status": "cancelled"}),
    );
    assert_eq!(
        system.attribute(&format!("ITEM#{id} | METADATA"), "GSI4PK").await,
        Some(json!("STATUS#cancelled"))
    );
    assert_eq!(
        system.attribute(&format!("USER#sam | ITEM#{id}"), "status").await,
        Some(json!("cancelled"))
    );
    assert_eq!(
        on_item(&system, "withdrawItem", "sam", &id).await,
        refused("item_not_available 409")
    );
    assert_eq!(reserve(&system, "bea", &id).await, refused("not_available 409"));
    system.check().await;
    assert_eq!(on_item(&system, "deleteItem", "sam", &id).await, Ok(Json::Null));
    assert_eq!(system.keys_under("ITEM#").await, Vec::<String>::new());
    assert_eq!(system.keys_under("USER#sam | ITEM#").await, Vec::<String>::new());
}

#[tokio::test]
async fn a_reservation_holds_its_item() {
    let system = with_users().await;
    let id = item(&system, "free").await;
    let answer = system
        .write("reserveItem", &user("bea"), json!({"itemId": id, "message": "please"}))
        .await
        .unwrap();
    let reservation = word(&answer, "resId");
    let expected = json!({
        "itemId": id, "buyerId": "bea", "sellerId": "sam", "status": "pending", "message": "please",
        "expiresAt": "2026-11-17T12:00:00.000Z", "ttl": NOW / 1000 + 31 * 86_400,
    });
    has(
        &system.item(&format!("ITEM#{id} | RESERVATION#{reservation}")).await,
        &expected,
    );
    has(
        &system.item(&format!("RESERVATION#{reservation} | METADATA")).await,
        &expected,
    );
    has(
        &system.item(&format!("ITEM#{id} | RESERVATION#{reservation}")).await,
        &json!({"GSI3PK": "USER#bea", "GSI3SK": "RES#pending#2026-11-16T12:00:00.000Z"}),
    );
    assert_eq!(
        system
            .attribute(&format!("RESERVATION#{reservation} | METADATA"), "GSI3PK")
            .await,
        None,
        "a buyer's reservation would be listed twice"
    );
    has(
        &system.item(&format!("ITEM#{id} | METADATA")).await,
        &json!({
            "status": "reserved", "reservedUntil": "2026-11-17T12:00:00.000Z", "reservationId": reservation,
            "GSI4PK": "STATUS#reserved",
        }),
    );
    has(
        &system.item(&format!("USER#sam | ITEM#{id}")).await,
        &json!({"status": "reserved", "reservedUntil": "2026-11-17T12:00:00.000Z"}),
    );
    let notes = system.keys_under("USER#sam | NOTIFICATION#").await;
    has(
        &system.item(&notes[0]).await,
        &json!({"kind": "reserved", "text": "somebody wants Chair"}),
    );
    system.check().await;
    assert_eq!(reserve(&system, "cem", &id).await, refused("not_available 409"));
    assert_eq!(
        on_item(&system, "deleteItem", "sam", &id).await,
        refused("item_in_use 409")
    );
    assert_eq!(
        on_item(&system, "withdrawItem", "sam", &id).await,
        refused("item_not_available 409")
    );
}

#[tokio::test]
async fn not_everybody_may_reserve_everything() {
    let system = with_users().await;
    let (free, for_sale) = (item(&system, "free").await, item(&system, "auction").await);
    assert_eq!(reserve(&system, "sam", &free).await, refused("own_item 409"));
    assert_eq!(reserve(&system, "bea", &for_sale).await, refused("only_by_auction 409"));
    assert_eq!(reserve(&system, "eve", &free).await, refused("not_registered 404"));
    assert_eq!(reserve(&system, "bea", NOBODY).await, refused("item_not_found 404"));
}

#[tokio::test]
async fn a_hold_lapses_to_the_millisecond_and_the_next_write_stores_it() {
    let system = with_users().await;
    let id = item(&system, "free").await;
    let first = reserved(&system, "bea", &id).await;
    system.pass(DAY - 1);
    assert_eq!(reserve(&system, "cem", &id).await, refused("not_available 409"));
    system.pass(1);
    let read = system.read("item", &user("cem"), json!({"itemId": id})).await.unwrap();
    has(&read, &json!({"status": "available", "reservedUntil": null}));
    assert_eq!(
        on_reservation(&system, "cancelReservation", "bea", &first).await,
        refused("reservation_not_pending_or_confirmed 409")
    );
    assert_eq!(
        confirm(&system, "sam", &first).await,
        refused("reservation_not_pending 409")
    );
    let second = reserved(&system, "cem", &id).await;
    has(
        &system.item(&format!("ITEM#{id} | METADATA")).await,
        &json!({
            "status": "reserved", "reservationId": second, "reservedUntil": "2026-11-18T12:00:00.000Z",
        }),
    );
    system.check().await;
    assert_eq!(confirm(&system, "sam", &first).await, refused("no_longer_held 409"));
    let seen = system
        .read("reservation", &user("bea"), json!({"resId": first}))
        .await
        .unwrap();
    assert_eq!(seen["status"], "expired");
    // Thirty days after its end it is gone for everybody.
    system.pass(30 * DAY);
    assert_eq!(
        confirm(&system, "sam", &first).await,
        refused("reservation_not_found 404")
    );
}

#[tokio::test]
async fn a_lapsed_hold_does_not_keep_its_item_from_being_withdrawn_or_deleted() {
    let system = with_users().await;
    let (a, b) = (item(&system, "free").await, item(&system, "free").await);
    reserved(&system, "bea", &a).await;
    reserved(&system, "bea", &b).await;
    system.pass(DAY);
    let answer = on_item(&system, "withdrawItem", "sam", &a).await.unwrap();
    has(&answer, &json!({"status": "cancelled", "reservedUntil": null}));
    has(
        &system.item(&format!("USER#sam | ITEM#{a}")).await,
        &json!({"status": "cancelled", "reservedUntil": null}),
    );
    assert_eq!(on_item(&system, "deleteItem", "sam", &b).await, Ok(Json::Null));
    assert_eq!(
        system.keys_under(&format!("USER#sam | ITEM#{b}")).await,
        Vec::<String>::new()
    );
    system.check().await;
}

#[tokio::test]
async fn a_seller_confirms_with_a_time() {
    let system = with_users().await;
    let id = item(&system, "free").await;
    let reservation = reserved(&system, "bea", &id).await;
    assert_eq!(
        confirm(&system, "bea", &reservation).await,
        refused("reservation_not_found 404")
    );
    assert_eq!(
        on_reservation(&system, "confirmReservation", "sam", &reservation).await,
        refused("bad request: `confirmReservation` needs the argument `pickupTime`")
    );
    let answer = confirm(&system, "sam", &reservation).await.unwrap();
    has(
        &answer,
        &json!({"status": "confirmed", "pickupTime": "2026-11-18T10:00:00.000Z"}),
    );
    for key in [
        format!("ITEM#{id} | RESERVATION#{reservation}"),
        format!("RESERVATION#{reservation} | METADATA"),
    ] {
        has(&system.item(&key).await, &json!({"status": "confirmed", "ttl": null}));
    }
    has(
        &system.item(&format!("ITEM#{id} | METADATA")).await,
        &json!({"status": "confirmed", "reservedUntil": null, "reservationId": reservation}),
    );
    let notes = system.keys_under("USER#bea | NOTIFICATION#").await;
    has(
        &system.item(&notes[0]).await,
        &json!({"kind": "confirmed", "text": "pick up Chair at 2026-11-18T10:00:00.000Z"}),
    );
    system.check().await;
    assert_eq!(
        confirm(&system, "sam", &reservation).await,
        refused("reservation_not_pending 409")
    );
    // Confirmed, it holds for as long as it takes.
    system.pass(3 * DAY);
    assert_eq!(reserve(&system, "cem", &id).await, refused("not_available 409"));
}

#[tokio::test]
async fn a_completed_deal_counts_and_expires() {
    let system = with_users().await;
    let id = item(&system, "free").await;
    let reservation = reserved(&system, "bea", &id).await;
    assert_eq!(
        on_reservation(&system, "completeReservation", "sam", &reservation).await,
        refused("reservation_not_confirmed 409")
    );
    confirm(&system, "sam", &reservation).await.unwrap();
    assert_eq!(
        on_reservation(&system, "completeReservation", "bea", &reservation).await,
        refused("reservation_not_found 404")
    );
    on_reservation(&system, "completeReservation", "sam", &reservation)
        .await
        .unwrap();
    let gone = NOW / 1000 + 90 * 86_400;
    has(
        &system.item(&format!("ITEM#{id} | METADATA")).await,
        &json!({"status": "completed", "completedAt": "2026-11-16T12:00:00.000Z", "ttl": gone}),
    );
    assert_eq!(
        system.attribute(&format!("USER#sam | ITEM#{id}"), "ttl").await,
        Some(json!(gone))
    );
    has(
        &system.item(&format!("RESERVATION#{reservation} | METADATA")).await,
        &json!({
            "status": "completed", "endedAt": "2026-11-16T12:00:00.000Z", "ttl": NOW / 1000 + 30 * 86_400,
        }),
    );
    assert_eq!(
        system.attribute("USER#sam | PROFILE", "itemsGiven").await,
        Some(json!(1))
    );
    system.check().await;
    assert_eq!(
        on_reservation(&system, "completeReservation", "sam", &reservation).await,
        refused("reservation_not_confirmed 409")
    );
    system.pass(90 * DAY);
    assert_eq!(
        on_item(&system, "deleteItem", "sam", &id).await,
        refused("item_not_found 404")
    );
}

#[tokio::test]
async fn a_cancelled_reservation_gives_its_item_back() {
    let system = with_users().await;
    let id = item(&system, "free").await;
    for (caller, told) in [("bea", "sam"), ("sam", "bea")] {
        let reservation = reserved(&system, "bea", &id).await;
        if caller == "sam" {
            confirm(&system, "sam", &reservation).await.unwrap();
        }
        assert_eq!(
            on_reservation(&system, "cancelReservation", "cem", &reservation).await,
            refused("reservation_not_found 404")
        );
        let answer = on_reservation(&system, "cancelReservation", caller, &reservation)
            .await
            .unwrap();
        has(
            &answer,
            &json!({"status": "cancelled", "endedAt": "2026-11-16T12:00:00.000Z"}),
        );
        has(
            &system.item(&format!("ITEM#{id} | METADATA")).await,
            &json!({"status": "available", "reservationId": null, "reservedUntil": null}),
        );
        let mut kinds = Vec::new();
        for key in system.keys_under(&format!("USER#{told} | NOTIFICATION#")).await {
            kinds.push(word(&system.item(&key).await, "kind"));
        }
        assert!(kinds.contains(&"cancelled".to_owned()), "{told}: {kinds:?}");
        assert_eq!(
            on_reservation(&system, "cancelReservation", caller, &reservation).await,
            refused("reservation_not_pending_or_confirmed 409")
        );
        system.check().await;
    }
}

#[tokio::test]
async fn two_who_dealt_rate_each_other_once() {
    let system = with_users().await;
    let (_, deal) = completed(&system).await;
    let rate = async |caller: &str, whom: &str, deal: &str, stars: i64| {
        let args = json!({"userId": whom, "transactionId": deal, "stars": stars});
        system.write("rateUser", &user(caller), args).await
    };
    has(
        &rate("bea", "sam", &deal, 5).await.unwrap(),
        &json!({"userId": "sam", "raterId": "bea", "stars": 5}),
    );
    assert_eq!(rate("bea", "sam", &deal, 1).await, refused("already_rated 409"));
    rate("sam", "bea", &deal, 3).await.unwrap();
    let unseen = refused("reservation_not_found 404");
    assert_eq!(rate("cem", "sam", &deal, 1).await, unseen);
    assert_eq!(rate("bea", "cem", &deal, 1).await, unseen);
    assert_eq!(rate("bea", "bea", &deal, 5).await, unseen);
    assert_eq!(rate("bea", "sam", NOBODY, 5).await, unseen);
    let (_, second) = completed(&system).await;
    rate("bea", "sam", &second, 4).await.unwrap();
    let (_, third) = completed(&system).await;
    rate("bea", "sam", &third, 4).await.unwrap();
    has(
        &system.item("USER#sam | PROFILE").await,
        &json!({"rating": 4.33, "ratingSum": 13, "ratingCount": 3, "itemsGiven": 3}),
    );
    has(
        &system.item("USER#bea | PROFILE").await,
        &json!({"rating": 3, "ratingCount": 1}),
    );
    let id = item(&system, "free").await;
    let open = reserved(&system, "bea", &id).await;
    assert_eq!(rate("bea", "sam", &open, 5).await, refused("not_completed 409"));
    assert_eq!(system.keys_under("USER#sam | RATING#").await.len(), 3);
    system.check().await;
}
