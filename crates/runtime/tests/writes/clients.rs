//! Clients of every system, which send a mixed load of its writes, each with a key, and do not give up while a retry may help.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value as Json, json};
use singlet_runtime::{Caller, WriteRequest};

use super::support::{Outcome, System, outcome, role, user, word};

pub const SYSTEMS: [&str; 5] = ["booking", "country", "ecobid", "todo", "wardrobe"];

/// How often a client sends one write before it is a failure of the test.
const SENDINGS_MAX: u32 = 100;

/// A write as it was sent.
#[derive(Clone, Debug)]
pub struct Sent {
    pub write: String,
    pub caller: String,
    pub role: Option<String>,
    pub key: String,
    pub args: Json,
}

impl Sent {
    pub fn to_json(&self) -> Json {
        json!([self.write, self.caller, self.role, self.key, self.args])
    }

    pub fn from_json(json: &Json) -> Sent {
        let text = |at: usize| json[at].as_str().map(str::to_owned);
        Sent {
            write: text(0).unwrap(),
            caller: text(1).unwrap(),
            role: text(2),
            key: text(3).unwrap(),
            args: json[4].clone(),
        }
    }

    /// Sends it until it is done or refused.
    pub async fn send(&self, system: &System) -> Outcome {
        let caller: Caller = match &self.role {
            Some(name) => role(&self.caller, name),
            None => user(&self.caller),
        };
        let request = WriteRequest {
            idempotency_key: Some(self.key.clone()),
            ..system.request(&self.write, &caller, &self.args)
        };
        let mut last = None;
        for _ in 0..SENDINGS_MAX {
            match system.send(&self.write, &request).await {
                Err(error) if error.is_temporary() => last = Some(error),
                ended => return outcome(ended),
            }
        }
        panic!("{self:?} does not end: {last:?}");
    }
}

/// What a client does with what it sends: before it is sent, and when it is answered.
type Log<'s> = &'s (dyn Fn(&Sent, Option<&Outcome>) + Send + Sync);

pub struct Client<'s> {
    pub system: &'s System,
    /// Makes the names, codes and days of a client its own.
    pub number: u32,
    pub log: Log<'s>,
    sent: AtomicU32,
}

impl<'s> Client<'s> {
    pub fn new(system: &'s System, number: u32, log: Log<'s>) -> Self {
        Client {
            system,
            number,
            log,
            sent: AtomicU32::new(0),
        }
    }

    pub async fn run(&self, turns: u32) {
        match self.system.engine.model().name.as_str() {
            "booking" => self.booking(turns).await,
            "country" => self.country(turns).await,
            "ecobid" => self.ecobid(turns).await,
            "todo" => self.todo(turns).await,
            _ => self.wardrobe(turns).await,
        }
    }

    fn me(&self) -> String {
        format!("client{}", self.number)
    }

    async fn send(&self, write: &str, caller: &str, role: Option<&str>, args: Json) -> Outcome {
        let sent = Sent {
            write: write.to_owned(),
            caller: caller.to_owned(),
            role: role.map(str::to_owned),
            key: format!("{}-{}", self.number, self.sent.fetch_add(1, Ordering::Relaxed)),
            args,
        };
        (self.log)(&sent, None);
        let outcome = sent.send(self.system).await;
        (self.log)(&sent, Some(&outcome));
        outcome
    }

    async fn todo(&self, turns: u32) {
        let me = self.me();
        let send = async |write: &str, args: Json| self.send(write, &me, None, args).await;
        let profile = json!({"email": format!("{me}@x.org"), "name": me});
        send("registerUser", profile).await.unwrap();
        for turn in 0..turns {
            let args = json!({"title": format!("task {turn}"), "priority": "high", "category": "a#b"});
            let task = send("createTask", args).await.unwrap();
            let id = json!({"task_id": task["task_id"]});
            send("completeTask", id.clone()).await.unwrap();
            match turn % 4 {
                0 => send("deleteTask", id).await.unwrap(),
                1 => send("reopenTask", id).await.unwrap(),
                2 => {
                    let args = json!({"task_id": task["task_id"], "priority": null, "due_date": "2026-12-01"});
                    send("updateTask", args).await.unwrap()
                }
                _ => {
                    let args = json!({"email": format!("{me}-{turn}@x.org"), "name": me});
                    send("updateUser", args).await.unwrap();
                    send("deleteCompletedTasks", json!({})).await.unwrap()
                }
            };
        }
    }

    async fn wardrobe(&self, turns: u32) {
        let me = self.me();
        let send = async |write: &str, args: Json| self.send(write, &me, None, args).await;
        for turn in 0..turns {
            let args = json!({"userId": me, "Name": format!("coat {turn}"), "Category": "outer", "Season": "winter"});
            let item = send("createItem", args).await.unwrap();
            let id = json!({"itemId": item["ItemId"]});
            send("shareItem", id.clone()).await.unwrap();
            let args = json!({"itemId": item["ItemId"], "Name": format!("parka {turn}"), "Season": null});
            send("updateItem", args).await.unwrap();
            send("shareItem", id.clone()).await.unwrap();
            if turn % 3 == 2 {
                send("deleteItem", id).await.unwrap();
            }
        }
    }

    async fn country(&self, turns: u32) {
        let me = self.me();
        let send = async |write: &str, args: Json| self.send(write, &me, Some("writer"), args).await;
        for turn in 0..turns.min(10) {
            let made = country(self.number * 20 + turn, 'A', "made");
            let path = made["alpha2Code"].clone();
            send("createCountry", made.clone()).await.unwrap();
            for (letter, name) in [('A', "changed"), ('B', "changed"), ('B', "changed")] {
                let mut args = country(self.number * 20 + turn, letter, name);
                args["alpha2"] = path.clone();
                send("updateCountry", args).await.unwrap();
            }
            if turn % 2 == 1 {
                send("deleteCountry", json!({"alpha2": path})).await.unwrap();
            }
            let file = json!({"countries": [made, country(self.number * 20 + 10 + turn, 'A', "loaded")]});
            assert_eq!(send("loadCountries", file).await.unwrap()["loaded"], 2);
        }
    }

    async fn booking(&self, turns: u32) {
        let me = self.me();
        let send = async |write: &str, args: Json| self.send(write, &me, None, args).await;
        let decide = async |write: &str, args: Json| self.send(write, "root", Some("admin"), args).await;
        let profile = json!({"email": format!("{me}@x.org"), "name": me, "phone": "12345"});
        send("register", profile).await.unwrap();
        for turn in 0..turns {
            let date = format!("{}-{:02}-{:02}", 2027 + self.number, 1 + turn % 12, 1 + turn / 12 % 28);
            let slot = ["MORNING", "AFTERNOON", "FULL_DAY"][turn as usize % 3];
            let args = json!({"date": date, "duration": slot, "eventDescription": "x", "attendees": 9});
            let first = send("requestBooking", args.clone()).await.unwrap();
            let id = json!({"bookingId": first["bookingId"]});
            decide("approveBooking", id.clone()).await.unwrap();
            let second = send("requestBooking", args).await.unwrap();
            let taken = decide("approveBooking", json!({"bookingId": second["bookingId"]})).await;
            assert_eq!(taken, Err(format!("slot_taken 409 slot={slot}")));
            let reason = json!({"bookingId": second["bookingId"], "reason": "taken"});
            decide("rejectBooking", reason).await.unwrap();
            let paid = json!({
                "bookingId": first["bookingId"], "amount": 10, "currency": "EUR", "method": "cash",
                "paidAt": "2026-11-16T12:00:00.000Z",
            });
            let payment = decide("recordPayment", paid).await.unwrap();
            if turn % 2 == 0 {
                send("cancelBooking", id).await.unwrap();
                let refund = json!({"bookingId": first["bookingId"], "paymentId": payment["paymentId"]});
                decide("refundPayment", refund).await.unwrap();
            }
            send("updateProfile", json!({"email": format!("{me}-{turn}@x.org")}))
                .await
                .unwrap();
        }
    }

    async fn ecobid(&self, turns: u32) {
        let (sam, bea) = (format!("{}-s", self.me()), format!("{}-b", self.me()));
        let sell = async |write: &str, args: Json| self.send(write, &sam, None, args).await;
        let buy = async |write: &str, args: Json| self.send(write, &bea, None, args).await;
        for (caller, name) in [(&sam, "Sam"), (&bea, "Bea")] {
            let profile = json!({"username": name, "email": "a@x.org"});
            self.send("register", caller, None, profile).await.unwrap();
        }
        let item = |mode: &str| {
            json!({
                "title": "Chair", "description": "", "category": "home", "mode": mode,
                "location": {"lat": 52.2, "lon": 21, "city": "Warsaw", "country": "PL"},
            })
        };
        for turn in 0..turns {
            let gift = sell("createItem", item("free")).await.unwrap();
            let held = buy("reserveItem", json!({"itemId": gift["itemId"]})).await.unwrap();
            let id = json!({"resId": held["resId"]});
            match turn % 3 {
                0 => {
                    let args = json!({"resId": held["resId"], "pickupTime": "2026-11-18T10:00:00.000Z"});
                    sell("confirmReservation", args).await.unwrap();
                    sell("completeReservation", id).await.unwrap();
                    let stars = json!({"userId": sam, "transactionId": held["resId"], "stars": 1 + turn % 5});
                    buy("rateUser", stars).await.unwrap();
                }
                1 => {
                    buy("cancelReservation", id).await.unwrap();
                    sell("deleteItem", json!({"itemId": gift["itemId"]})).await.unwrap();
                }
                _ => {}
            }
            let sold = sell("createItem", item("auction")).await.unwrap();
            let args = json!({"itemId": sold["itemId"], "hours": 24, "minBid": 5});
            let auction = word(&sell("createAuction", args).await.unwrap(), "auctionId");
            for (amount, fits) in [(5, true), (9, true), (9, false)] {
                let bid = buy("placeBid", json!({"auctionId": auction, "amount": amount})).await;
                assert_eq!(bid.is_ok(), fits, "{bid:?}");
            }
        }
    }
}

/// A country with codes of its own.
fn country(number: u32, letter: char, name: &str) -> Json {
    let letter_of = |at: u32| char::from(b'A' + u8::try_from(at % 26).unwrap());
    let alpha2: String = [letter_of(number / 26), letter_of(number)].iter().collect();
    json!({
        "alpha2Code": alpha2, "alpha3Code": format!("{alpha2}{letter}"), "numericCode": format!("{number:03}"),
        "name": name,
    })
}

/// How many rows of an entity there are after these writes, by write: one more for each that creates, less for each that deletes.
pub fn rows_after(done: &[(Sent, Outcome)], entity: &str) -> i64 {
    let change = |sent: &Sent, answer: &Json| match (entity, sent.write.as_str()) {
        ("Task", "createTask") => 1,
        ("Task", "deleteTask") => -1,
        ("Task", "deleteCompletedTasks") => -answer["deleted"].as_i64().unwrap(),
        ("Item", "createItem") => 1,
        ("Item", "deleteItem") => -1,
        ("Activity", "createItem" | "shareItem") => 1,
        ("Booking", "requestBooking") => 1,
        ("Payment", "recordPayment") => 1,
        ("User", "register" | "registerUser") => 1,
        ("Reservation", "reserveItem") => 1,
        ("Auction", "createAuction") => 1,
        ("Bid", "placeBid") => 1,
        ("Rating", "rateUser") => 1,
        _ => 0,
    };
    let done = done
        .iter()
        .filter_map(|(sent, outcome)| Some((sent, outcome.as_ref().ok()?)));
    done.map(|(sent, answer)| change(sent, answer)).sum()
}

/// The entities whose rows are counted, by system.
pub fn counted(system: &str) -> &'static [&'static str] {
    match system {
        "todo" => &["User", "Task"],
        "wardrobe" => &["Item", "Activity"],
        "booking" => &["User", "Booking", "Payment"],
        "ecobid" => &["User", "Item", "Reservation", "Auction", "Bid", "Rating"],
        _ => &[],
    }
}
