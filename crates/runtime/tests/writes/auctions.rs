//! Auctions of ecobid.

use serde_json::json;
use singlet_item::Value;
use singlet_runtime::WriteRequest;

use super::ecobid::{DAY, NOBODY, item, on_item, with_users};
use super::support::{Outcome, System, has, number, outcome, refused, user, word};

async fn auction(system: &System, caller: &str, item: &str) -> Outcome {
    let args = json!({"itemId": item, "hours": 24, "minBid": 7});
    system.write("createAuction", &user(caller), args).await
}

async fn bid(system: &System, caller: &str, auction: &str, amount: i64) -> Outcome {
    let args = json!({"auctionId": auction, "amount": amount});
    system.write("placeBid", &user(caller), args).await
}

async fn on_auction(system: &System, name: &str, caller: &str, id: &str) -> Outcome {
    system.write(name, &user(caller), json!({"auctionId": id})).await
}

#[tokio::test]
async fn an_item_has_one_auction_at_a_time() {
    let system = with_users().await;
    let (free, id) = (item(&system, "free").await, item(&system, "auction").await);
    assert_eq!(auction(&system, "sam", &free).await, refused("not_for_auction 409"));
    assert_eq!(auction(&system, "bea", &id).await, refused("item_not_found 404"));
    let answer = auction(&system, "sam", &id).await.unwrap();
    let first = word(&answer, "auctionId");
    let expected = json!({
        "itemId": id, "sellerId": "sam", "minBid": 7, "nextMin": 7, "bidCount": 0, "status": "active",
        "endsAt": "2026-11-17T12:00:00.000Z", "currentBid": null, "leaderId": null,
    });
    has(&system.item(&format!("AUCTION#{first} | METADATA")).await, &expected);
    has(&system.item(&format!("ITEM#{id} | AUCTION#{first}")).await, &expected);
    assert_eq!(
        system.attribute(&format!("ITEM#{id} | METADATA"), "auctionId").await,
        Some(json!(first))
    );
    system.check().await;
    assert_eq!(auction(&system, "sam", &id).await, refused("auction_running 409"));
    assert_eq!(
        on_item(&system, "withdrawItem", "sam", &id).await,
        refused("auction_running 409")
    );
    assert_eq!(
        on_item(&system, "deleteItem", "sam", &id).await,
        refused("auction_running 409")
    );
    assert_eq!(
        on_auction(&system, "cancelAuction", "bea", &first).await,
        refused("auction_not_found 404")
    );
    on_auction(&system, "cancelAuction", "sam", &first).await.unwrap();
    assert_eq!(
        system
            .attribute(&format!("ITEM#{id} | AUCTION#{first}"), "status")
            .await,
        Some(json!("cancelled"))
    );
    assert_eq!(
        on_auction(&system, "cancelAuction", "sam", &first).await,
        refused("auction_not_active 409")
    );
    auction(&system, "sam", &id).await.unwrap();
    system.check().await;
    on_item(&system, "withdrawItem", "sam", &free).await.unwrap();
    let odd = WriteRequest {
        args: [("hours", Value::N(number(25))), ("minBid", Value::N(number(7)))]
            .map(|(name, value)| (name.to_owned(), value))
            .into_iter()
            .chain([("itemId".to_owned(), Value::S(id))])
            .collect(),
        ..system.request("createAuction", &user("sam"), &json!({}))
    };
    let odd = outcome(system.send("createAuction", &odd).await).unwrap_err();
    assert!(odd.starts_with("bad request: the argument `hours` is wrong"), "{odd}");
}

#[tokio::test]
async fn each_bid_is_higher_than_the_last() {
    let system = with_users().await;
    let id = item(&system, "auction").await;
    let sale = word(&auction(&system, "sam", &id).await.unwrap(), "auctionId");
    assert_eq!(bid(&system, "bea", &sale, 6).await, refused("bid_too_low 409 least=7"));
    assert_eq!(bid(&system, "sam", &sale, 9).await, refused("own_auction 409"));
    assert_eq!(bid(&system, "eve", &sale, 9).await, refused("not_registered 404"));
    assert_eq!(bid(&system, "bea", NOBODY, 9).await, refused("auction_not_found 404"));
    let args = json!({"auctionId": sale, "amount": 7});
    let request = system.request("placeBid", &user("bea"), &args);
    let written = system.send("placeBid", &request).await.unwrap();
    assert_eq!(written.status, 201);
    has(
        &outcome(Ok(written)).unwrap(),
        &json!({"amount": 7, "userId": "bea", "auctionId": sale}),
    );
    assert_eq!(bid(&system, "cem", &sale, 7).await, refused("bid_too_low 409 least=8"));
    bid(&system, "cem", &sale, 12).await.unwrap();
    let expected = json!({
        "currentBid": 12, "nextMin": 13, "bidCount": 2, "leaderId": "cem", "endsAt": "2026-11-17T12:00:00.000Z",
    });
    has(&system.item(&format!("AUCTION#{sale} | METADATA")).await, &expected);
    has(&system.item(&format!("ITEM#{id} | AUCTION#{sale}")).await, &expected);
    assert_eq!(
        system.keys_under(&format!("AUCTION#{sale} | BID#")).await,
        [
            format!("AUCTION#{sale} | BID#000007"),
            format!("AUCTION#{sale} | BID#000012")
        ]
    );
    system.check().await;
    assert_eq!(
        on_auction(&system, "cancelAuction", "sam", &sale).await,
        refused("has_bids 409")
    );
}

#[tokio::test]
async fn a_late_bid_extends_the_end_and_none_comes_after_it() {
    let system = with_users().await;
    let id = item(&system, "auction").await;
    let sale = word(&auction(&system, "sam", &id).await.unwrap(), "auctionId");
    let ends = async || word(&system.item(&format!("AUCTION#{sale} | METADATA")).await, "endsAt");
    system.pass(DAY - 300_000);
    bid(&system, "bea", &sale, 7).await.unwrap();
    assert_eq!(ends().await, "2026-11-17T12:00:00.000Z", "five minutes before the end");
    system.pass(1);
    bid(&system, "cem", &sale, 8).await.unwrap();
    assert_eq!(ends().await, "2026-11-17T12:10:00.000Z");
    assert_eq!(
        on_auction(&system, "closeAuction", "eve", &sale).await,
        refused("auction_not_ended 409")
    );
    system.pass(300_000 - 2 + 600_000);
    bid(&system, "bea", &sale, 9).await.unwrap();
    assert_eq!(ends().await, "2026-11-17T12:20:00.000Z");
    system.pass(600_001);
    assert_eq!(bid(&system, "cem", &sale, 10).await, refused("auction_over 409"));
    assert_eq!(
        on_auction(&system, "cancelAuction", "sam", &sale).await,
        refused("has_bids 409")
    );
    system.check().await;
}

#[tokio::test]
async fn a_closed_auction_reserves_its_item_for_the_winner() {
    let system = with_users().await;
    let id = item(&system, "auction").await;
    let sale = word(&auction(&system, "sam", &id).await.unwrap(), "auctionId");
    bid(&system, "bea", &sale, 7).await.unwrap();
    system.pass(DAY);
    let answer = on_auction(&system, "closeAuction", "eve", &sale).await.unwrap();
    has(&answer, &json!({"status": "completed", "winnerId": "bea"}));
    let reservations = system.keys_under("RESERVATION#").await;
    assert_eq!(reservations.len(), 1);
    let reservation = system.item(&reservations[0]).await;
    has(
        &reservation,
        &json!({"buyerId": "bea", "sellerId": "sam", "status": "pending", "expiresAt": "2026-11-18T12:00:00.000Z"}),
    );
    has(
        &system.item(&format!("ITEM#{id} | METADATA")).await,
        &json!({
            "status": "reserved", "auctionId": null, "reservationId": reservation["resId"],
            "reservedUntil": "2026-11-18T12:00:00.000Z",
        }),
    );
    assert_eq!(
        system
            .attribute(&format!("ITEM#{id} | AUCTION#{sale}"), "winnerId")
            .await,
        Some(json!("bea"))
    );
    assert_eq!(system.keys_under("USER#bea | NOTIFICATION#").await.len(), 1);
    assert_eq!(system.keys_under("USER#sam | NOTIFICATION#").await.len(), 1);
    system.check().await;
    assert_eq!(
        on_auction(&system, "closeAuction", "eve", &sale).await,
        refused("auction_not_ended 409")
    );
    // The winner who does not come loses the hold, and the item can be auctioned again.
    system.pass(DAY);
    auction(&system, "sam", &id).await.unwrap();
    system.check().await;
}

#[tokio::test]
async fn an_auction_without_bids_frees_its_item() {
    let system = with_users().await;
    let id = item(&system, "auction").await;
    let sale = word(&auction(&system, "sam", &id).await.unwrap(), "auctionId");
    system.pass(DAY);
    assert_eq!(
        on_item(&system, "withdrawItem", "sam", &id).await,
        refused("auction_running 409"),
        "until somebody closes it"
    );
    let answer = on_auction(&system, "closeAuction", "eve", &sale).await.unwrap();
    has(&answer, &json!({"status": "completed", "winnerId": null}));
    has(
        &system.item(&format!("ITEM#{id} | METADATA")).await,
        &json!({"status": "available", "auctionId": null}),
    );
    assert_eq!(system.keys_under("RESERVATION#").await, Vec::<String>::new());
    system.check().await;
    on_item(&system, "withdrawItem", "sam", &id).await.unwrap();
}

#[tokio::test]
async fn a_key_reserves_bids_and_closes_once() {
    let system = with_users().await;
    let (free, sold) = (item(&system, "free").await, item(&system, "auction").await);
    let sale = word(&auction(&system, "sam", &sold).await.unwrap(), "auctionId");
    let steps = [
        ("reserveItem", "bea", json!({"itemId": free}), 0),
        ("placeBid", "bea", json!({"auctionId": sale, "amount": 7}), DAY),
        ("closeAuction", "bea", json!({"auctionId": sale}), 0),
    ];
    for (name, caller, args, after) in steps {
        let first = system
            .write_once(name, &user(caller), name, args.clone())
            .await
            .unwrap();
        let before = system.dump().await;
        let again = system.write_once(name, &user(caller), name, args).await;
        assert_eq!(again, Ok(first), "{name}");
        assert_eq!(system.dump().await, before, "{name}");
        system.pass(after);
    }
    system.check().await;
}
