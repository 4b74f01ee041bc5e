//! What must hold between the rows of each system whatever happened to it, beyond what its model says of one row.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use singlet_item::Value;
use singlet_runtime::values;

use super::support::System;

/// The rows of a dump, by entity.
pub struct Rows(BTreeMap<String, Vec<Json>>);

impl Rows {
    pub fn of(&self, entity: &str) -> &[Json] {
        self.0.get(entity).map_or(&[], Vec::as_slice)
    }

    /// How many rows have these values.
    pub fn count(&self, entity: &str, values: &[(&str, &Json)]) -> usize {
        let fits = |row: &&Json| values.iter().all(|(name, value)| row[*name] == **value);
        self.of(entity).iter().filter(fits).count()
    }
}

impl System {
    /// Holds the whole table against the model and against what its system promises.
    pub async fn promises(&self) -> Rows {
        let mut rows: BTreeMap<String, Vec<Json>> = BTreeMap::new();
        for item in self.check().await.into_values() {
            let kind = self.kind(&item).to_owned();
            rows.entry(kind).or_default().push(values::to_json(&Value::M(item)));
        }
        let rows = Rows(rows);
        match self.engine.model().name.as_str() {
            "todo" => todo(&rows),
            "wardrobe" => wardrobe(&rows),
            "country" => country(&rows),
            "booking" => booking(&rows),
            "ecobid" => ecobid(&rows),
            other => panic!("{other} promises nothing"),
        }
        rows
    }
}

fn todo(rows: &Rows) {
    for task in rows.of("Task") {
        let completed = task["status"] == "completed";
        assert_eq!(completed, !task["completed_at"].is_null(), "{task}");
        assert_eq!(rows.count("User", &[("user_id", &task["user_id"])]), 1, "{task}");
    }
}

/// An item is as often shared as its activities say, and was created once.
fn wardrobe(rows: &Rows) {
    for item in rows.of("Item") {
        let told = |kind: &str| {
            let kind = Json::from(kind);
            rows.count("Activity", &[("ItemId", &item["ItemId"]), ("ActivityType", &kind)])
        };
        assert_eq!(item["SharedCount"], told("ItemShared"), "{item}");
        assert_eq!(told("ItemCreated"), 1, "{item}");
        assert_eq!(item["IsPublic"], told("ItemShared") > 0, "{item}");
        assert!(rows.count("Idempotency", &[("ItemId", &item["ItemId"])]) >= 1, "{item}");
    }
}

/// The versions of a country follow one another without a gap, and one of them is current.
fn country(rows: &Rows) {
    let mut versions: BTreeMap<String, Vec<&Json>> = BTreeMap::new();
    for row in rows.of("Country") {
        versions.entry(row["alpha2Code"].to_string()).or_default().push(row);
    }
    for versions in versions.values_mut() {
        versions.sort_by_key(|row| row["createDate"].to_string());
        for pair in versions.windows(2) {
            assert_eq!(pair[0]["expiryDate"], pair[1]["createDate"], "{versions:?}");
        }
        assert!(versions[versions.len() - 1]["expiryDate"].is_null(), "{versions:?}");
    }
}

/// Counters count, nothing overlaps, and an approval is there with all that it means.
fn booking(rows: &Rows) {
    for user in rows.of("User") {
        let id = &user["userId"];
        assert_eq!(
            user["bookingsRequested"],
            rows.count("Booking", &[("userId", id)]),
            "{user}"
        );
        let approved = Json::from("approved");
        let told = rows.count("Notification", &[("userId", id), ("kind", &approved)]);
        assert_eq!(user["bookingsApproved"], told, "{user}");
    }
    for booking in rows.of("Booking") {
        let id = ("bookingId", &booking["bookingId"]);
        let slot = ("timeSlot", &booking["duration"]);
        let held = usize::from(booking["status"] == "approved");
        assert_eq!(
            rows.count("Event", &[id, slot, ("date", &booking["date"])]),
            held,
            "{booking}"
        );
        assert_eq!(
            rows.count("LockCode", &[id, ("date", &booking["date"])]),
            held,
            "{booking}"
        );
        let audited = |action: &str| {
            let action = Json::from(action);
            rows.count("AuditLog", &[("target", id.1), ("action", &action)])
        };
        let decided = usize::from(booking["decidedBy"] != Json::Null);
        assert_eq!(audited("approve") + audited("reject"), decided, "{booking}");
        assert_eq!(
            audited("cancel"),
            usize::from(booking["status"] == "cancelled"),
            "{booking}"
        );
    }
    for event in rows.of("Event") {
        let date = ("date", &event["date"]);
        let whole = Json::from("FULL_DAY");
        let beside = rows.count("Event", &[date]);
        let full = rows.count("Event", &[date, ("timeSlot", &whole)]);
        assert!(full == 0 || beside == 1, "a half day inside a full day: {event}");
    }
    for payment in rows.of("Payment") {
        let target = ("target", &payment["paymentId"]);
        let audited = |action: &str| rows.count("AuditLog", &[target, ("action", &Json::from(action))]);
        assert_eq!(audited("record_payment"), 1, "{payment}");
        assert_eq!(
            audited("refund_payment"),
            usize::from(payment["status"] == "refunded"),
            "{payment}"
        );
    }
}

/// Bids, ratings and gifts are counted, and an item is held by the reservation that it names.
fn ecobid(rows: &Rows) {
    for auction in rows.of("Auction") {
        let bids: Vec<&Json> = rows
            .of("Bid")
            .iter()
            .filter(|bid| bid["auctionId"] == auction["auctionId"])
            .collect();
        assert_eq!(auction["bidCount"], bids.len(), "{auction}");
        let highest = bids.iter().max_by_key(|bid| bid["amount"].as_i64());
        let (amount, leader) = highest.map_or((&Json::Null, &Json::Null), |bid| (&bid["amount"], &bid["userId"]));
        assert_eq!(
            (&auction["currentBid"], &auction["leaderId"]),
            (amount, leader),
            "{auction}"
        );
    }
    for user in rows.of("User") {
        let id = &user["userId"];
        let completed = Json::from("completed");
        let given = rows.count("Reservation", &[("sellerId", id), ("status", &completed)]);
        assert_eq!(user["itemsGiven"], given, "{user}");
        let ratings = rows.of("Rating").iter().filter(|rating| rating["userId"] == *id);
        let stars: Vec<i64> = ratings.map(|rating| rating["stars"].as_i64().unwrap()).collect();
        assert_eq!(user["ratingCount"], stars.len(), "{user}");
        assert_eq!(user["ratingSum"], stars.iter().sum::<i64>(), "{user}");
    }
    for item in rows.of("Item") {
        for (held, by) in [("reserved", "pending"), ("confirmed", "confirmed")] {
            let by = Json::from(by);
            let holding = [("itemId", &item["itemId"]), ("status", &by)];
            let named = [
                ("itemId", &item["itemId"]),
                ("status", &by),
                ("resId", &item["reservationId"]),
            ];
            let expected = usize::from(item["status"] == held);
            assert_eq!(rows.count("Reservation", &holding), expected, "{item}");
            assert_eq!(rows.count("Reservation", &named), expected, "{item}");
        }
    }
}
