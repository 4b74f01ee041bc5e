//! EcoBid: things near a point, holds that lapse, bids by amount.

use serde_json::{Value as Json, json};
use singlet_runtime::{Caller, RuntimeError};

use crate::refuses;
use crate::support::{NOW, Order, System, comparable, ecobid, instant, names, only, same, text, values};

const USERS: [&str; 6] = ["kasia", "piotr", "tomek", "zofia", "michal", "marek"];
const CENTER: &str = "52.2297,21.0122";
const INSIDE_5_KM: &str = "01JXCMGK800XM7NXZR5KZDVG24";
const OUTSIDE_5_KM: &str = "01JXCMGK81QGC6G8G95C5AQ48G";
const LAPSED_ITEM: &str = "01KGS09HX0ECQ7AG30QYN9QBGM";
const LAPSED_RESERVATION: &str = "01KH86YNR03J7TB2JTXWV8ZE9B";

const NEWEST: Order = Order::Down(|row| vec![text(row, "timestamp").to_owned()]);

fn kasia() -> Caller {
    Caller::with_id("kasia")
}

/// The rows of an entity as they are now: lapsed states are the later ones, expired rows are gone.
fn alive(system: &System, entity: &str, keep: impl Fn(&Json) -> bool) -> Vec<Json> {
    let (now, old) = (instant(""), instant("-30d"));
    let mut rows = system.rows(entity, |row| match entity {
        "Item" => text(row, "completedAt").is_empty() || text(row, "completedAt") > instant("-90d").as_str(),
        "Notification" => text(row, "createdAt") > old.as_str(),
        "Reservation" => {
            let ended = if text(row, "endedAt").is_empty() {
                text(row, "expiresAt")
            } else {
                text(row, "endedAt")
            };
            text(row, "status") == "confirmed" || ended > old.as_str()
        }
        _ => true,
    });
    for row in &mut rows {
        let fields = row.as_object_mut().unwrap();
        let (from, to, at) = match entity {
            "Item" => ("reserved", "available", "reservedUntil"),
            "Reservation" => ("pending", "expired", "expiresAt"),
            "Auction" => ("active", "ended", "endsAt"),
            _ => continue,
        };
        let past = fields
            .get(at)
            .and_then(Json::as_str)
            .is_some_and(|at| at <= now.as_str());
        if fields["status"] == from && past {
            fields.insert("status".to_owned(), json!(to));
            fields.remove("reservedUntil");
        }
    }
    rows.retain(keep);
    rows
}

/// The distance on a sphere, by the law of cosines with a fallback for what is close.
fn km(row: &Json, (lat, lon): (f64, f64)) -> f64 {
    let place = &row["location"];
    let (a, b) = (place["lat"].as_f64().unwrap().to_radians(), lat.to_radians());
    let east = (place["lon"].as_f64().unwrap() - lon).to_radians();
    let half = ((a - b) / 2.0).sin().powi(2) + a.cos() * b.cos() * (east / 2.0).sin().powi(2);
    2.0 * 6_371.008_8 * half.sqrt().asin()
}

#[tokio::test]
async fn a_profile_is_the_callers_and_has_a_rating() {
    let system = ecobid().await;
    for id in USERS {
        let row = system.row("User", "userId", id);
        let got = system.one("profile", &[], &Caller::with_id(id)).await;
        same(&got, &row);
        let (sum, count) = (row["ratingSum"].as_f64().unwrap(), row["ratingCount"].as_f64().unwrap());
        let mean = if count == 0.0 { 0.0 } else { sum / count };
        assert!((got["rating"].as_f64().unwrap() - mean).abs() <= 0.005, "{got}");
    }
    refuses!(system.refused("profile", &[], &Caller::with_id("nobody")), NotFound);
}

#[tokio::test]
async fn items_of_a_user_with_their_status_now() {
    let system = ecobid().await;
    for id in ["kasia", "ola", "zofia", "nobody"] {
        let expected = alive(system, "Item", |row| text(row, "userId") == id);
        let expected = only(&expected, &["userId", "itemId", "title", "status", "reservedUntil"]);
        let order = Order::Down(|row| vec![text(row, "itemId").to_owned()]);
        system
            .check("itemsOfUser", &[("userId", id)], &kasia(), expected, order)
            .await;
    }
}

async fn near(at: &str, center: (f64, f64), radius: u32, category: Option<&str>, mode: Option<&str>) -> Vec<Json> {
    let system = ecobid().await;
    let radius_text = radius.to_string();
    let mut args = vec![("at", at), ("km", &*radius_text)];
    args.extend(category.map(|category| ("category", category)));
    args.extend(mode.map(|mode| ("mode", mode)));
    let mut expected = alive(system, "Item", |row| {
        let is = |name: &str, wanted: Option<&str>| wanted.is_none_or(|wanted| text(row, name) == wanted);
        text(row, "status") == "available"
            && km(row, center) <= f64::from(radius)
            && is("category", category)
            && is("mode", mode)
    });
    expected.sort_by(|a, b| text(b, "timestamp").cmp(text(a, "timestamp")));
    let mut first: Option<Vec<Json>> = None;
    for limit in [100, 7, 3, 1] {
        let (got, cost) = system.all("itemsNear", &args, &kasia(), limit).await;
        println!("itemsNear {args:?} by {limit}: {} rows, {cost} read units", got.len());
        let items: Vec<Json> = got.iter().map(|row| comparable(&row["item"])).collect();
        assert_eq!(NEWEST.keys(&items), NEWEST.keys(&expected), "{args:?}");
        let ids = |rows: &[Json]| {
            let mut ids: Vec<String> = rows.iter().map(|row| comparable(row).to_string()).collect();
            ids.sort();
            ids
        };
        assert_eq!(ids(&items), ids(&expected), "{args:?}");
        for row in &got {
            assert!(
                (row["km"].as_f64().unwrap() - km(&row["item"], center)).abs() < 0.001,
                "{row}"
            );
        }
        assert_eq!(*first.get_or_insert_with(|| got.clone()), got, "{args:?} by {limit}");
    }
    first.unwrap_or_default()
}

#[tokio::test]
async fn items_near_a_point_within_each_radius() {
    for radius in [1, 5, 10, 25] {
        assert!(near(CENTER, (52.2297, 21.0122), radius, None, None).await.len() > 10);
        near("52.52,13.405", (52.52, 13.405), radius, None, None).await;
        assert!(near("0,0", (0.0, 0.0), radius, None, None).await.is_empty());
        assert!(
            near("-17,179.999", (-17.0, 179.999), radius, None, None)
                .await
                .is_empty()
        );
    }
}

#[tokio::test]
async fn items_near_of_a_category_or_a_mode_or_both() {
    for radius in [5, 25] {
        for category in [None, Some("books"), Some("furniture")] {
            for mode in [None, Some("free"), Some("auction")] {
                near(CENTER, (52.2297, 21.0122), radius, category, mode).await;
            }
        }
    }
}

#[tokio::test]
async fn the_edge_of_a_circle_is_exact() {
    let ids =
        |rows: &[Json]| -> Vec<String> { rows.iter().map(|row| text(&row["item"], "itemId").to_owned()).collect() };
    let five = ids(&near(CENTER, (52.2297, 21.0122), 5, None, None).await);
    let ten = ids(&near(CENTER, (52.2297, 21.0122), 10, None, None).await);
    let has = |ids: &[String], id: &str| ids.iter().any(|known| known == id);
    assert!(has(&five, INSIDE_5_KM) && !has(&five, OUTSIDE_5_KM));
    assert!(has(&ten, INSIDE_5_KM) && has(&ten, OUTSIDE_5_KM));
    assert!(has(&five, "01JZ2FZZ007RJSWVF58DQEFHRA"), "at the very point");
    assert!(has(&five, LAPSED_ITEM), "its hold has lapsed");
    assert!(!has(&five, "01KGZHYHD0AKJDZFBZVG9RXNCA"), "held right now");
}

#[tokio::test]
async fn items_of_each_category_newest_first() {
    let system = ecobid().await;
    for category in [
        "furniture",
        "electronics",
        "clothing",
        "books",
        "home",
        "kids",
        "sports",
        "other",
    ] {
        let expected = alive(system, "Item", |row| text(row, "category") == category);
        system
            .check("itemsOfCategory", &[("category", category)], &kasia(), expected, NEWEST)
            .await;
    }
}

#[tokio::test]
async fn items_by_status_count_lapsed_holds_as_available() {
    let system = ecobid().await;
    for status in ["available", "reserved", "confirmed", "completed", "cancelled"] {
        let expected = alive(system, "Item", |row| text(row, "status") == status);
        let there = expected.iter().any(|row| text(row, "itemId") == LAPSED_ITEM);
        assert_eq!(there, status == "available");
        let order = Order::Down(|row| vec![text(row, "timestamp").to_owned(), text(row, "itemId").to_owned()]);
        system
            .check("itemsByStatus", &[("status", status)], &kasia(), expected, order)
            .await;
    }
}

#[tokio::test]
async fn an_item_by_id_unless_it_has_expired() {
    let system = ecobid().await;
    for row in alive(system, "Item", |_| true) {
        same(
            &system.one("item", &[("itemId", text(&row, "itemId"))], &kasia()).await,
            &row,
        );
    }
    for read in ["item", "itemPage"] {
        refuses!(
            system.refused(read, &[("itemId", "01JN8EY4M0KXJW2K92KS24123Z")], &kasia()),
            NotFound
        );
        refuses!(
            system.refused(read, &[("itemId", "01JN8EY4M0KXJW2K92KS24123A")], &kasia()),
            NotFound
        );
    }
}

#[tokio::test]
async fn an_items_page_has_the_callers_reservations_and_its_newest_auction() {
    let system = ecobid().await;
    let newest = |mut rows: Vec<Json>, id: &str, most: usize| {
        rows.sort_by(|a, b| text(b, id).cmp(text(a, id)));
        rows.truncate(most);
        rows
    };
    for item in alive(system, "Item", |_| true) {
        let id = text(&item, "itemId");
        let place = system.rows("Place", |row| text(row, "itemId") == id).into_iter().next();
        let buyer = place.as_ref().map(|place| text(place, "buyerId"));
        let buyer = buyer.filter(|buyer| !buyer.is_empty()).unwrap_or("nobody");
        for caller in [text(&item, "userId"), "piotr", "nobody", buyer] {
            let seen = |row: &Json| {
                text(row, "itemId") == id && [text(row, "buyerId"), text(row, "sellerId")].contains(&caller)
            };
            let reservations = newest(alive(system, "Reservation", seen), "resId", 20);
            let auctions = newest(
                alive(system, "Auction", |row| text(row, "itemId") == id),
                "auctionId",
                1,
            );
            let mut expected = item.clone();
            expected["reservations"] = Json::Array(reservations);
            expected["auctions"] = Json::Array(auctions);
            if let Some(place) = &place
                && [text(place, "userId"), text(place, "buyerId")].contains(&caller)
            {
                expected["place"] = place.clone();
            }
            same(
                &system
                    .one("itemPage", &[("itemId", id)], &Caller::with_id(caller))
                    .await,
                &expected,
            );
        }
    }
    let full = system.row("Item", "itemId", "01K76EPPC0S4GK2SFHMFR00MMT");
    let page = system
        .one(
            "itemPage",
            &[("itemId", text(&full, "itemId"))],
            &Caller::with_id(text(&full, "userId")),
        )
        .await;
    assert_eq!(page["reservations"].as_array().unwrap().len(), 20);
    let two = system
        .one("itemPage", &[("itemId", "01K0KMDB8054QWHAY8EW18A2BR")], &kasia())
        .await;
    assert_eq!(text(&two["auctions"][0], "auctionId"), "01KHABKY80DM8MACTMK3T9GQM5");
}

#[tokio::test]
async fn active_reservations_of_a_buyer_without_lapsed_ones() {
    let system = ecobid().await;
    for id in USERS.iter().chain(&["iza", "bartek", "nobody"]) {
        let active =
            |row: &Json| text(row, "buyerId") == *id && ["pending", "confirmed"].contains(&text(row, "status"));
        let expected = alive(system, "Reservation", active);
        let order = Order::Down(|row| vec![text(row, "createdAt").to_owned()]);
        system
            .check("myReservations", &[], &Caller::with_id(*id), expected, order)
            .await;
    }
}

#[tokio::test]
async fn a_reservation_by_id_for_its_two_sides() {
    let system = ecobid().await;
    let here = alive(system, "Reservation", |_| true);
    for row in system.rows("Reservation", |_| true) {
        let args = [("resId", text(&row, "resId"))];
        let now = here.iter().find(|known| known["resId"] == row["resId"]);
        for side in ["buyerId", "sellerId"] {
            let caller = Caller::with_id(text(&row, side));
            match now {
                Some(now) => same(&system.one("reservation", &args, &caller).await, now),
                None => refuses!(system.refused("reservation", &args, &caller), NotFound),
            }
        }
        refuses!(
            system.refused("reservation", &args, &Caller::with_id("nobody")),
            NotFound
        );
        refuses!(system.refused("reservation", &args, &Caller::anonymous()), NotFound);
    }
    let lapsed = system
        .one(
            "reservation",
            &[("resId", LAPSED_RESERVATION)],
            &Caller::with_id("tomek"),
        )
        .await;
    assert_eq!(text(&lapsed, "status"), "expired");
}

#[tokio::test]
async fn an_auction_has_its_highest_bids_and_ends_by_itself() {
    let system = ecobid().await;
    for row in alive(system, "Auction", |_| true) {
        let id = text(&row, "auctionId");
        let mut bids = system.rows("Bid", |bid| text(bid, "auctionId") == id);
        bids.sort_by_key(|bid| std::cmp::Reverse(bid["amount"].as_i64()));
        bids.truncate(20);
        let mut expected = row.clone();
        expected["bids"] = Json::Array(bids);
        let got = system.one("auction", &[("auctionId", id)], &kasia()).await;
        same(&got, &expected);
        let least = row["currentBid"]
            .as_i64()
            .map_or(row["minBid"].as_i64(), |bid| Some(bid + 1));
        assert_eq!(got["nextMin"].as_i64(), least);
    }
    let over = system
        .one("auction", &[("auctionId", "01KH629D80J10JSS2B493V8M8N")], &kasia())
        .await;
    assert_eq!(text(&over, "status"), "ended");
    refuses!(
        system.refused("auction", &[("auctionId", "01KH629D80J10JSS2B493V8M8A")], &kasia()),
        NotFound
    );
}

#[tokio::test]
async fn bids_highest_first_by_number_not_by_text() {
    let system = ecobid().await;
    let order = Order::Down(|row| vec![format!("{:07.0}", row["amount"].as_f64().unwrap())]);
    for auction in system.rows("Auction", |_| true) {
        let id = text(&auction, "auctionId");
        let expected = system.rows("Bid", |row| text(row, "auctionId") == id);
        system
            .check("bids", &[("auctionId", id)], &kasia(), expected, order)
            .await;
    }
}

#[tokio::test]
async fn ratings_of_a_user() {
    let system = ecobid().await;
    let order = Order::Down(|row| vec![text(row, "transactionId").to_owned(), text(row, "raterId").to_owned()]);
    for id in USERS.iter().chain(&["adam", "wojtek"]) {
        let expected = system.rows("Rating", |row| text(row, "userId") == *id);
        system
            .check("ratings", &[("userId", id)], &kasia(), expected, order)
            .await;
    }
}

#[tokio::test]
async fn notifications_end_after_30_days() {
    let system = ecobid().await;
    let order = Order::Down(|row| vec![text(row, "notificationId").to_owned()]);
    for id in USERS {
        let expected = alive(system, "Notification", |row| text(row, "userId") == id);
        system
            .check("notifications", &[], &Caller::with_id(id), expected, order)
            .await;
    }
    let (rows, _) = system.all("notifications", &[], &Caller::with_id("zofia"), 100).await;
    assert!(
        rows.iter()
            .all(|row| text(row, "notificationId") != "01JPT7YPM0CP2F16S2JFXFGDQP")
    );
}

#[tokio::test]
async fn nobody_in_particular_is_refused() {
    let system = ecobid().await;
    let reads: [(&str, &[(&str, &str)]); 11] = [
        ("profile", &[]),
        ("itemsOfUser", &[("userId", "kasia")]),
        ("itemsNear", &[("at", CENTER), ("km", "5")]),
        ("itemsOfCategory", &[("category", "books")]),
        ("itemsByStatus", &[("status", "available")]),
        ("item", &[("itemId", LAPSED_ITEM)]),
        ("itemPage", &[("itemId", LAPSED_ITEM)]),
        ("myReservations", &[]),
        ("bids", &[("auctionId", "01KH999A00GVF4R2TW2T7D0EAJ")]),
        ("ratings", &[("userId", "kasia")]),
        ("notifications", &[]),
    ];
    for (read, args) in reads {
        refuses!(system.refused(read, args, &Caller::anonymous()), Unauthenticated);
    }
}

#[tokio::test]
async fn a_radius_is_one_of_four_and_a_place_is_on_earth() {
    let system = ecobid().await;
    let ask = async |at: Json, km: Json| {
        let request = singlet_runtime::Request {
            args: [("at", at), ("km", km)]
                .map(|(name, json)| {
                    (
                        name.to_owned(),
                        values::from_json(&json, &singlet_model::types::Type::Json).unwrap(),
                    )
                })
                .into(),
            caller: kasia(),
            now: NOW,
            ..Default::default()
        };
        system.engine.read("itemsNear", &request).await
    };
    let warsaw = json!({"lat": 52.2297, "lon": 21.0122});
    assert!(ask(warsaw.clone(), json!(5)).await.is_ok());
    names(&ask(warsaw.clone(), json!(7)).await.unwrap_err(), "km");
    names(&ask(warsaw, json!("5")).await.unwrap_err(), "km");
    names(&ask(json!({"lat": 91, "lon": 0}), json!(5)).await.unwrap_err(), "at");
    names(&ask(json!({"lat": 1}), json!(5)).await.unwrap_err(), "at");
}
