//! Writers that change a system's rows for as long as they are let: guards, mirrors, versions and copies move all the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value as Json, json};
use singlet_runtime::{Attributes, Caller, Engine, RuntimeError, WriteRequest};
use singlet_values as values;
use tokio::task::JoinHandle;

use super::support::NOW;

/// Writers at work.
pub struct Writers {
    ended: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    tasks: Vec<JoinHandle<()>>,
}

impl Writers {
    pub fn start(system: &'static str, engine: &Arc<Engine>, count: u64) -> Self {
        let (ended, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let tasks = (0..count).map(|number| {
            let (engine, ended, done) = (Arc::clone(engine), Arc::clone(&ended), Arc::clone(&done));
            tokio::spawn(async move {
                let mut writer = Writer {
                    engine,
                    number,
                    turn: 0,
                    ids: Vec::new(),
                };
                while !ended.load(Ordering::Relaxed) {
                    writer.turn += 1;
                    writer.write(system).await;
                    done.fetch_add(1, Ordering::Relaxed);
                    // Who audits on the same two cores gets a turn, too.
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            })
        });
        let tasks = tasks.collect();
        Writers { ended, done, tasks }
    }

    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Ends them; how often they wrote.
    pub async fn end(self) -> u64 {
        self.ended.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await.unwrap();
        }
        self.done.load(Ordering::Relaxed)
    }
}

struct Writer {
    engine: Arc<Engine>,
    number: u64,
    turn: u64,
    ids: Vec<Json>,
}

impl Writer {
    /// Two writers share a caller, so that they run into one another.
    fn caller(&self) -> Caller {
        Caller::with_id(format!("writer{}", self.number / 2))
    }

    async fn call(&self, name: &str, caller: &Caller, args: Json) -> Option<Json> {
        let write = self
            .engine
            .model()
            .writes
            .iter()
            .find(|write| write.name == name)
            .unwrap();
        let mut sent = Attributes::new();
        for (key, value) in args.as_object().unwrap() {
            let known = write.args.iter().find(|known| known.name == *key).unwrap();
            sent.insert(key.clone(), values::from_json(value, &known.ty).unwrap());
        }
        let request = WriteRequest {
            args: sent,
            caller: caller.clone(),
            now: NOW,
            idempotency_key: Some(format!("{name}-{}-{}", self.number, self.turn)),
            ..WriteRequest::default()
        };
        match self.engine.write(name, &request).await {
            Ok(written) => Some(written.value.map_or(Json::Null, |value| values::to_json(&value))),
            Err(RuntimeError::Refused(_) | RuntimeError::Conflict | RuntimeError::NotFound) => None,
            Err(RuntimeError::Forbidden) => None,
            Err(RuntimeError::Store(error)) if error.is_retryable() => None,
            Err(error) => panic!("{name}: {error}"),
        }
    }

    /// A row that was made before, mostly one of the last; none until there is one.
    fn made(&self) -> Option<Json> {
        let last = self.ids.len().checked_sub(1)?;
        self.ids.get(last.saturating_sub(self.turn as usize % 3)).cloned()
    }

    async fn write(&mut self, system: &str) {
        let (turn, caller) = (self.turn, self.caller());
        let text = format!("{}-{turn}", self.number);
        match system {
            "todo" => {
                let user = json!({"email": format!("{text}@x.org"), "name": text});
                match turn % 5 {
                    0 => drop(self.call("updateUser", &caller, user).await),
                    1 => {
                        self.call("registerUser", &caller, user).await;
                        let task = json!({"title": text, "due_date": "2026-12-24", "priority": "high"});
                        let made = self.call("createTask", &caller, task).await;
                        self.ids.extend(made.map(|made| made["task_id"].clone()));
                    }
                    2 => self.on_made("completeTask", &caller, "task_id", json!({})).await,
                    3 => self.on_made("reopenTask", &caller, "task_id", json!({})).await,
                    _ => self.on_made("deleteTask", &caller, "task_id", json!({})).await,
                }
            }
            "wardrobe" => {
                let user = format!("writer{}", self.number / 2);
                match turn % 4 {
                    0 | 1 => {
                        let season = if turn.is_multiple_of(8) { "winter" } else { "summer" };
                        let item = json!({"userId": user, "Name": text, "Category": "Coats", "Season": season});
                        let made = self.call("createItem", &caller, item).await;
                        self.ids.extend(made.map(|made| made["ItemId"].clone()));
                    }
                    2 => {
                        self.on_made("updateItem", &caller, "itemId", json!({"Name": text}))
                            .await
                    }
                    _ => self.on_made("deleteItem", &caller, "itemId", json!({})).await,
                }
            }
            "country" => {
                let caller = caller.claim("role", "writer");
                let letter = |number: u64| char::from(b'A' + u8::try_from(number % 26).unwrap());
                let code = format!("Q{}", letter(self.number / 2));
                let row = json!({
                    "alpha2Code": code, "name": text,
                    "alpha3Code": format!("Q{}{}", letter(self.number), letter(turn)),
                    "numericCode": format!("{:03}", 900 + (self.number * 20 + turn) % 99),
                });
                match turn % 4 {
                    0 => drop(self.call("deleteCountry", &caller, json!({"alpha2": code})).await),
                    1 => drop(self.call("createCountry", &caller, row).await),
                    _ => {
                        let mut row = row;
                        row["alpha2"] = json!(code);
                        self.call("updateCountry", &caller, row).await;
                    }
                }
            }
            "booking" => {
                let user = json!({"email": format!("{text}@x.org"), "name": "writer", "phone": "123456"});
                match turn % 4 {
                    0 => drop(self.call("updateProfile", &caller, user).await),
                    1 => {
                        self.call("register", &caller, user).await;
                        let slot = ["MORNING", "AFTERNOON", "FULL_DAY"][turn as usize % 3];
                        let day = format!("2027-01-{:02}", 1 + turn % 28);
                        let booking = json!({"date": day, "duration": slot, "eventDescription": text, "attendees": 3});
                        let made = self.call("requestBooking", &caller, booking).await;
                        self.ids.extend(made.map(|made| made["bookingId"].clone()));
                    }
                    2 => {
                        let admin = Caller::with_id("root").claim("role", "admin");
                        self.on_made("approveBooking", &admin, "bookingId", json!({})).await;
                    }
                    _ => self.on_made("cancelBooking", &caller, "bookingId", json!({})).await,
                }
            }
            _ => {
                let seller = Caller::with_id(format!("seller{}", self.number / 2));
                let profile = json!({"username": "somebody", "email": format!("{text}@x.org")});
                match turn % 4 {
                    0 => drop(self.call("updateProfile", &seller, profile).await),
                    1 => {
                        self.call("register", &seller, profile.clone()).await;
                        self.call("register", &caller, profile).await;
                        let location = json!({"lat": 52.2297, "lon": 21.0122, "city": "Warszawa", "country": "PL"});
                        let item = json!({"location": location, "title": text, "description": "x", "category": "books", "mode": "free"});
                        let made = self.call("createItem", &seller, item).await;
                        self.ids.extend(made.map(|made| made["itemId"].clone()));
                    }
                    2 => self.on_made("reserveItem", &caller, "itemId", json!({})).await,
                    _ => self.on_made("withdrawItem", &seller, "itemId", json!({})).await,
                }
            }
        }
    }

    async fn on_made(&self, write: &str, caller: &Caller, name: &str, mut args: Json) {
        if let Some(id) = self.made() {
            args[name] = id;
            self.call(write, caller, args).await;
        }
    }
}
