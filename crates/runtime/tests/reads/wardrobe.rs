//! Wardrobe: items by season and category, activities, idempotency records.

use serde_json::{Value as Json, json};
use singlet_item::{Item, Number, Value};
use singlet_runtime::{Caller, RuntimeError};

use crate::refuses;
use crate::support::{NOW, Order, System, only, same, text, wardrobe};

const USERS: [&str; 3] = ["ines", "tomas", "yuki"];
const CARRIED: [&str; 6] = ["ItemId", "UserId", "Name", "Category", "Season", "CreatedAt"];

const NEWEST_ITEM: Order = Order::Down(|row| vec![text(row, "ItemId").to_owned()]);
const NEWEST: Order = Order::Down(|row| vec![text(row, "CreatedAt").to_owned()]);

fn items(system: &System, user: &str, keep: impl Fn(&Json) -> bool) -> Vec<Json> {
    only(
        &system.rows("Item", |row| text(row, "UserId") == user && keep(row)),
        &CARRIED,
    )
}

#[tokio::test]
async fn an_item_is_its_owners_or_public() {
    let system = wardrobe().await;
    let (ines, yuki) = (Caller::with_id("ines"), Caller::with_id("yuki"));
    for row in system.rows("Item", |_| true) {
        let args = [("itemId", text(&row, "ItemId"))];
        let owner = Caller::with_id(text(&row, "UserId"));
        same(&system.one("item", &args, &owner).await, &row);
        for other in [&ines, &yuki, &Caller::anonymous()]
            .into_iter()
            .filter(|other| **other != owner)
        {
            match row["IsPublic"] == json!(true) {
                true => same(&system.one("item", &args, other).await, &row),
                false => refuses!(system.refused("item", &args, other), NotFound),
            }
        }
    }
    refuses!(
        system.refused("item", &[("itemId", "01JM31KAD1BM0NSJGK6HKM03ZZ")], &ines),
        NotFound
    );
}

#[tokio::test]
async fn items_newest_first_all_or_of_a_category() {
    let system = wardrobe().await;
    for user in USERS {
        let caller = Caller::with_id(user);
        system
            .check(
                "items",
                &[("userId", user)],
                &caller,
                items(system, user, |_| true),
                NEWEST_ITEM,
            )
            .await;
        for category in ["Accessories", "Outerwear", "Tops", "Knitwear", "No such category"] {
            let expected = items(system, user, |row| text(row, "Category") == category);
            let args = [("userId", user), ("category", category)];
            system.check("items", &args, &caller, expected, NEWEST_ITEM).await;
        }
    }
}

#[tokio::test]
async fn a_season_has_its_own_and_all_season_items() {
    let system = wardrobe().await;
    for user in USERS {
        for season in ["spring", "summer", "fall", "winter", "all-season"] {
            let of = |row: &Json| [season, "all-season"].contains(&text(row, "Season"));
            let args = [("userId", user), ("season", season)];
            let caller = Caller::with_id(user);
            system
                .check("itemsBySeason", &args, &caller, items(system, user, of), NEWEST)
                .await;
            for category in ["Accessories", "Tops", "Shoes"] {
                let args = [args[0], args[1], ("category", category)];
                let expected = items(system, user, |row| of(row) && text(row, "Category") == category);
                system.check("itemsBySeason", &args, &caller, expected, NEWEST).await;
            }
        }
    }
}

#[tokio::test]
async fn items_of_one_millisecond_come_once_each() {
    let (rows, _) = wardrobe()
        .await
        .all(
            "itemsBySeason",
            &[("userId", "ines"), ("season", "winter")],
            &Caller::with_id("ines"),
            1,
        )
        .await;
    let pairs = [
        "01K91YEBAJNJ59V15Y1W1SZP66",
        "01K91YEBAJ1YP5JWKPSKRNV19X",
        "01KA6X5S80GTR54WD1S8AWAYRM",
        "01KA6X5S809MJ7S349ZZFDH9K9",
    ];
    for id in pairs {
        assert_eq!(rows.iter().filter(|row| text(row, "ItemId") == id).count(), 1, "{id}");
    }
}

#[tokio::test]
async fn an_item_without_season_is_in_the_list_of_all_and_in_no_seasons() {
    let system = wardrobe().await;
    let bare = "01JNCZ9ZJV3KZ6YNY05F5W3BV5";
    let user = text(&system.row("Item", "ItemId", bare), "UserId").to_owned();
    let caller = Caller::with_id(&*user);
    let there = |rows: &[Json]| rows.iter().any(|row| text(row, "ItemId") == bare);
    assert!(there(&system.all("items", &[("userId", &user)], &caller, 100).await.0));
    for season in ["spring", "summer", "fall", "winter", "all-season"] {
        assert!(!there(
            &system
                .all("itemsBySeason", &[("userId", &user), ("season", season)], &caller, 100)
                .await
                .0
        ));
    }
}

#[tokio::test]
async fn activities_newest_first() {
    let system = wardrobe().await;
    for user in USERS {
        let expected = system.rows("Activity", |row| text(row, "UserId") == user);
        let order = Order::Down(|row| vec![text(row, "ActivityId").to_owned()]);
        system
            .check(
                "activities",
                &[("userId", user)],
                &Caller::with_id(user),
                expected,
                order,
            )
            .await;
    }
}

#[tokio::test]
async fn lists_are_the_callers_own() {
    let system = wardrobe().await;
    let args: [(&str, &[(&str, &str)]); 3] = [
        ("items", &[("userId", "ines")]),
        ("itemsBySeason", &[("userId", "ines"), ("season", "winter")]),
        ("activities", &[("userId", "ines")]),
    ];
    for (read, args) in args {
        refuses!(system.refused(read, args, &Caller::anonymous()), Unauthenticated);
        refuses!(system.refused(read, args, &Caller::with_id("tomas")), Forbidden);
    }
    refuses!(
        system.refused("idempotencyRecord", &[("key", "k")], &Caller::anonymous()),
        Unauthenticated
    );
}

#[tokio::test]
async fn an_idempotency_record_is_the_callers_and_expires() {
    let system = System::open("wardrobe").await;
    let record = |key: &str, expires: i64| {
        let word = |text: String| Value::S(text);
        Item::from([
            ("PK".to_owned(), word("USER#ines".to_owned())),
            ("SK".to_owned(), word(format!("IDEMPOTENCY#{key}"))),
            ("EntityType".to_owned(), word("Idempotency".to_owned())),
            ("UserId".to_owned(), word("ines".to_owned())),
            ("Key".to_owned(), word(key.to_owned())),
            ("TTL".to_owned(), Value::N(Number::from(expires))),
        ])
    };
    let seconds = NOW / 1_000;
    system
        .put_items(vec![record("fresh", seconds + 1), record("gone", seconds)])
        .await;
    let ines = Caller::with_id("ines");
    assert_eq!(
        system.one("idempotencyRecord", &[("key", "fresh")], &ines).await["Key"],
        json!("fresh")
    );
    refuses!(system.refused("idempotencyRecord", &[("key", "gone")], &ines), NotFound);
    refuses!(
        system.refused("idempotencyRecord", &[("key", "fresh")], &Caller::with_id("yuki")),
        NotFound
    );
}
