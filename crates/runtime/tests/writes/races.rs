//! Many at once: whatever the order, the invariants hold after every round, and each who lost is told why.
//!
//! Calls give way to one another between any two requests to the store, and one of twenty writes runs into somebody else's
//! transaction, which the embedded engine would never say by itself.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use singlet_runtime::{Caller, WriteRequest};

use super::support::{Outcome, System, number, outcome, refused, role, user, word};

async fn busy(name: &str, seed: u64) -> Arc<System> {
    Arc::new(System::busy(name, seed).await)
}

/// One write of a race.
struct Entry {
    write: &'static str,
    caller: Caller,
    key: Option<String>,
    args: Json,
}

fn entry(write: &'static str, caller: Caller, args: Json) -> Entry {
    Entry {
        write,
        caller,
        key: None,
        args,
    }
}

/// All of them at once; their outcomes in their order.
async fn race(system: &Arc<System>, entries: Vec<Entry>) -> Vec<Outcome> {
    let tasks: Vec<_> = entries
        .into_iter()
        .map(|entry| {
            let system = Arc::clone(system);
            tokio::spawn(async move {
                match &entry.key {
                    Some(key) => system.write_once(entry.write, &entry.caller, key, entry.args).await,
                    None => system.write(entry.write, &entry.caller, entry.args).await,
                }
            })
        })
        .collect();
    let mut outcomes = Vec::new();
    for task in tasks {
        outcomes.push(task.await.unwrap());
    }
    outcomes
}

fn won(outcomes: &[Outcome]) -> usize {
    outcomes.iter().filter(|outcome| outcome.is_ok()).count()
}

/// How many rounds run side by side: what answers one request after the other, as DynamoDB Local does, is not to be so far behind that
/// requests are given up.
const ROUNDS_AT_ONCE: u64 = 4;

/// Runs rounds that have nothing to do with one another, some side by side.
async fn rounds<F: Future<Output = ()> + Send + 'static>(count: u64, round: impl Fn(u64) -> F) {
    for first in (0..count).step_by(ROUNDS_AT_ONCE as usize) {
        let last = count.min(first + ROUNDS_AT_ONCE);
        let all: Vec<_> = (first..last).map(|at| tokio::spawn(round(at))).collect();
        for round in all {
            round.await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_approvals_of_overlapping_bookings() {
    rounds(10, async |seed| {
        let system = busy("booking", seed).await;
        let mut random = fastrand::Rng::with_seed(seed);
        // Few full days, or one of them would nearly always win.
        let wanted: Vec<&str> = (0..100)
            .map(|_| match random.u8(0..20) {
                0 => "FULL_DAY",
                1..=9 => "MORNING",
                _ => "AFTERNOON",
            })
            .collect();
        for id in ["u0", "u1", "u2", "u3", "u4"] {
            let profile = json!({"email": format!("{id}@x.org"), "name": id, "phone": "12345"});
            system.write("register", &user(id), profile).await.unwrap();
        }
        let mut entries = Vec::new();
        for (at, slot) in wanted.iter().enumerate() {
            let args = json!({"date": "2026-12-24", "duration": slot, "eventDescription": "x", "attendees": 1});
            let caller = user(&format!("u{}", at % 5));
            let booking = system.write("requestBooking", &caller, args).await.unwrap();
            let args = json!({"bookingId": booking["bookingId"]});
            entries.push(entry("approveBooking", role("root", "admin"), args));
        }
        let outcomes = race(&system, entries).await;
        let rows = system.promises().await;
        let events: BTreeSet<String> = rows.of("Event").iter().map(|event| word(event, "timeSlot")).collect();
        assert_eq!(won(&outcomes), events.len());
        assert_eq!(rows.count("Booking", &[("status", &json!("approved"))]), events.len());
        let full = events.contains("FULL_DAY");
        for (slot, outcome) in wanted.iter().zip(&outcomes) {
            if outcome.is_err() {
                assert_eq!(outcome, &refused(&format!("slot_taken 409 slot={slot}")));
                // Nobody is refused a slot that stayed free.
                let taken = full || events.contains(*slot) || (*slot == "FULL_DAY" && !events.is_empty());
                assert!(taken, "{slot} refused, though only {events:?} is taken");
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_buyers_of_one_item() {
    rounds(10, async |seed| {
        let system = busy("ecobid", seed).await;
        for id in (0..10).map(|at| format!("b{at}")).chain(["sam".to_owned()]) {
            let profile = json!({"username": "abc", "email": "a@x.org"});
            system.write("register", &user(&id), profile).await.unwrap();
        }
        let item = system.write("createItem", &user("sam"), item("free")).await.unwrap();
        let reserve = |at| {
            let args = json!({"itemId": item["itemId"]});
            entry("reserveItem", user(&format!("b{}", at % 10)), args)
        };
        let outcomes = race(&system, (0..100).map(reserve).collect()).await;
        assert_eq!(won(&outcomes), 1, "{outcomes:?}");
        for outcome in outcomes.iter().filter(|outcome| outcome.is_err()) {
            assert_eq!(outcome, &refused("not_available 409"));
        }
        let rows = system.promises().await;
        assert_eq!((rows.of("Reservation").len(), rows.of("Notification").len()), (1, 1));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_bidders() {
    rounds(20, async |seed| {
        let system = busy("ecobid", seed).await;
        for id in (0..10).map(|at| format!("b{at}")).chain(["sam".to_owned()]) {
            let profile = json!({"username": "abc", "email": "a@x.org"});
            system.write("register", &user(&id), profile).await.unwrap();
        }
        let item = system.write("createItem", &user("sam"), item("auction")).await.unwrap();
        let args = json!({"itemId": item["itemId"], "hours": 24, "minBid": 5});
        let auction = system.write("createAuction", &user("sam"), args).await.unwrap();
        let mut amounts: Vec<i64> = (5..55).collect();
        fastrand::Rng::with_seed(seed).shuffle(&mut amounts);
        let bid = |(at, amount): (usize, &i64)| {
            let args = json!({"auctionId": auction["auctionId"], "amount": amount});
            entry("placeBid", user(&format!("b{}", at % 10)), args)
        };
        let outcomes = race(&system, amounts.iter().enumerate().map(bid).collect()).await;
        let rows = system.promises().await;
        for (amount, outcome) in amounts.iter().zip(&outcomes) {
            let there = rows.count("Bid", &[("amount", &json!(amount))]);
            assert_eq!(there, usize::from(outcome.is_ok()), "{amount}: {outcome:?}");
            if let Err(said) = outcome {
                let least: i64 = said.strip_prefix("bid_too_low 409 least=").unwrap().parse().unwrap();
                assert!(*amount < least && least <= 55, "{amount}: {said}");
            }
        }
        assert_eq!(rows.of("Auction")[0]["currentBid"], 54, "the highest bid always wins");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_replays_of_one_key() {
    rounds(10, async |seed| {
        let system = busy("wardrobe", seed).await;
        let ada = user("ada");
        let once = |write: &'static str, key: &str, args: Json| Entry {
            key: Some(key.to_owned()),
            ..entry(write, ada.clone(), args)
        };
        let coat = json!({"userId": "ada", "Name": "Coat", "Category": "outer"});
        let created = race(
            &system,
            (0..50).map(|_| once("createItem", "k", coat.clone())).collect(),
        )
        .await;
        let first = created[0].clone().unwrap();
        assert!(
            created.iter().all(|outcome| outcome.as_ref() == Ok(&first)),
            "{created:?}"
        );
        // A write that reads first, and counts.
        let args = json!({"itemId": first["ItemId"]});
        let shared = race(&system, (0..50).map(|_| once("shareItem", "s", args.clone())).collect()).await;
        assert!(
            shared.iter().all(|outcome| outcome == &shared[0] && outcome.is_ok()),
            "{shared:?}"
        );
        let rows = system.promises().await;
        assert_eq!((rows.of("Item").len(), rows.of("Activity").len()), (1, 2));
        assert_eq!(rows.of("Item")[0]["SharedCount"], 1);
    })
    .await;
}

/// The winner's own change gives the row another version than the one that all of them ask for.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_replays_of_one_key_that_ask_for_a_version() {
    rounds(10, async |seed| {
        let system = busy("booking", seed).await;
        let profile = json!({"email": "a@x.org", "name": "A", "phone": "12345"});
        system.write("register", &user("ada"), profile).await.unwrap();
        let request = WriteRequest {
            idempotency_key: Some("k".to_owned()),
            precondition: Some(number(1)).into(),
            ..system.request("updateProfile", &user("ada"), &json!({"name": "B"}))
        };
        let replays: Vec<_> = (0..50)
            .map(|_| {
                let (system, request) = (Arc::clone(&system), request.clone());
                tokio::spawn(async move { outcome(system.send("updateProfile", &request).await) })
            })
            .collect();
        for replay in replays {
            assert_eq!(replay.await.unwrap().unwrap()["version"], 2);
        }
        assert_eq!(system.promises().await.of("User")[0]["version"], 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_sign_ups_with_one_email() {
    rounds(50, async |seed| {
        let system = busy("booking", seed).await;
        for at in 0..10 {
            let profile = |email: String| json!({"email": email, "name": "x", "phone": "12345"});
            let entries = vec![
                entry("register", user(&format!("a{at}")), profile(format!("e{at}@x.org"))),
                entry("register", user(&format!("b{at}")), profile(format!("E{at}@X.org"))),
            ];
            let outcomes = race(&system, entries).await;
            assert_eq!(won(&outcomes), 1, "{outcomes:?}");
            assert!(outcomes.contains(&refused("email_taken 409")), "{outcomes:?}");
            assert_eq!(system.promises().await.of("User").len(), at + 1);
        }
    })
    .await;
}

fn country(alpha2: &str, alpha3: &str, numeric: &str, name: &str) -> Json {
    json!({"alpha2Code": alpha2, "alpha3Code": alpha3, "numericCode": numeric, "name": name})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn twenty_updates_of_one_country() {
    rounds(50, async |seed| {
        let system = busy("country", seed).await;
        let writer = role("w", "writer");
        let created = system
            .write("createCountry", &writer, country("DE", "DEU", "276", "0"))
            .await;
        created.unwrap();
        let update = |at: u32| {
            let mut args = country(
                "DE",
                &format!("DE{}", char::from(b'A' + (at % 7) as u8)),
                "276",
                &at.to_string(),
            );
            args["alpha2"] = json!("DE");
            entry("updateCountry", writer.clone(), args)
        };
        let outcomes = race(&system, (1..=20).map(update).collect()).await;
        let conflicts = outcomes
            .iter()
            .filter(|outcome| outcome == &&refused("conflict"))
            .count();
        assert_eq!(won(&outcomes) + conflicts, 20, "{outcomes:?}");
        let rows = system.promises().await;
        assert_eq!(rows.of("Country").len(), 1 + won(&outcomes));
        assert_eq!(rows.count("Country", &[("expiryDate", &Json::Null)]), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_value_taken_and_given_up() {
    rounds(20, async |seed| {
        let system = busy("country", seed).await;
        let writer = role("w", "writer");
        let (mut holder, mut other) = ("DE", "FR");
        let made = system
            .write("createCountry", &writer, country(holder, "AAA", "111", "x"))
            .await;
        made.unwrap();
        for at in 0..25 {
            system.pass(1);
            let taken = country(other, "AAA", "222", &at.to_string());
            let entries = vec![
                entry("deleteCountry", writer.clone(), json!({"alpha2": holder})),
                entry("createCountry", writer.clone(), taken.clone()),
            ];
            let outcomes = race(&system, entries).await;
            assert!(outcomes[0].is_ok(), "{outcomes:?}");
            if let Err(said) = &outcomes[1] {
                assert!(said == "alpha3_in_use 409" || said == "numeric_in_use 409", "{said}");
            }
            system.promises().await;
            let guards = system.keys_under("$unique#Country#alpha3Code#AAA").await.len();
            assert_eq!(guards, won(&outcomes) - 1, "{outcomes:?}");
            if outcomes[1].is_err() {
                system.write("createCountry", &writer, taken).await.unwrap();
            }
            (holder, other) = (other, holder);
        }
    })
    .await;
}

fn item(mode: &str) -> Json {
    json!({
        "title": "Chair", "description": "", "category": "home", "mode": mode,
        "location": {"lat": 52.2, "lon": 21, "city": "Warsaw", "country": "PL"},
    })
}
