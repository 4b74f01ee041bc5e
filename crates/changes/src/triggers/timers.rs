//! Timers: rows that say when time does something to another row, side by side in buckets of a minute.
//!
//! A timer is a hint. Whoever follows writes it when it is told a row that has a deadline, and at that instant looks at the row
//! ([`super::fire`]). So a timer that comes twice, late or for a row that is gone does no harm, and a deadline that moves has another timer.
//!
//! **Invariant:** every timer of a minute before the noted one was fired. A minute counts as read only when it is past by more than
//! clocks differ, and reading begins that much before what is noted.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::{Mutex, PoisonError};

use singlet_item::{Item, Value};
use singlet_model::model::Entity;
use singlet_runtime::{Attributes, Engine, RuntimeError};
use singlet_store::{DeleteRequest, KeyRange, PutRequest, QueryRequest};

use crate::change::ChangeId;
use crate::followers::{FollowError, Followers, number_of, number_value, turn_of};

const KIND: &str = "timers";
const READ_KIND: &str = "timers-read";
const ENTITY: &str = "$entity";
const KEY: &str = "$key";
const DUE: &str = "$due";
const LOOK: &str = "$look";
const MINUTE: &str = "$minute";

const MINUTE_MILLIS: i64 = 60_000;

/// By how many minutes the clocks of processes may differ.
const CLOCKS_DIFFER_MINUTES: i64 = 2;

/// How many timers are read at once.
const TIMERS_PAGE: u32 = 100;

/// What becomes of deadlines that are due when they are set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Late {
    /// They are given to be fired.
    Given,
    /// They have timers too.
    Timed,
}

/// One deadline of one row.
#[derive(Clone, Debug)]
pub(super) struct Timer {
    /// The key of the timer's own row; none where it was due before it was set.
    place: Option<Item>,
    /// The entity of the row.
    pub entity: String,
    /// The key of the row.
    pub key: Item,
    /// The deadline.
    pub at: i64,
    /// The write whose rows are looked for again then, where that is all.
    pub look: Option<String>,
}

impl Timer {
    /// Of a deadline of a row.
    fn of_deadline(entity: &str, key: Item, at: i64) -> Self {
        Timer {
            place: None,
            entity: entity.to_owned(),
            key,
            at,
            look: None,
        }
    }

    /// Of another look for the rows of a write.
    pub fn of_look(entity: &str, key: Item, write: &str, at: i64) -> Self {
        Timer {
            look: Some(write.to_owned()),
            ..Timer::of_deadline(entity, key, at)
        }
    }
}

/// The timers of a model's table.
pub(super) struct Timers {
    followers: Followers,
    /// The minutes for which this process has set timers, and has not fired them all.
    set: Mutex<BTreeSet<i64>>,
    /// The instants of those timers, for who moves a clock by hand.
    instants: Mutex<BTreeSet<i64>>,
    /// Every timer before this minute was fired, as far as this process knows.
    read: Mutex<Option<i64>>,
}

impl Timers {
    pub fn new(followers: Followers) -> Self {
        Timers {
            followers,
            set: Mutex::default(),
            instants: Mutex::default(),
            read: Mutex::default(),
        }
    }

    /// Whether anything runs after what time does.
    pub fn are_needed(engine: &Engine) -> bool {
        let model = engine.model();
        model.entities.iter().any(|entity| model.is_timed(entity))
    }

    /// The earliest instant for which this process has set a timer.
    pub fn next_instant(&self) -> Option<i64> {
        lock(&self.instants).first().copied()
    }

    /// Sets the timers of a row that changed; gives those that are due already, unless they are wanted as timers too.
    pub async fn set_timers(
        &self,
        engine: &Engine,
        entity: &Entity,
        (before, after): (Option<&Attributes>, &Attributes),
        late: Late,
        now: i64,
    ) -> Result<Vec<Timer>, RuntimeError> {
        let mut due = Vec::new();
        // A row whose deadline could not be computed had no timer.
        let before = before.map(|before| engine.deadlines(entity, before).unwrap_or_default());
        for deadline in engine.deadlines(entity, after)? {
            // It has its timer already, from the change before.
            if before.as_ref().is_some_and(|before| before.contains(&deadline)) {
                continue;
            }
            let Some(key) = engine.key_of_row(entity, after)? else {
                continue;
            };
            let timer = Timer::of_deadline(&entity.name, key, deadline.at);
            match deadline.at <= now && late == Late::Given {
                true => due.push(timer),
                false => self.put_timer(engine, timer, now).await?,
            }
        }
        Ok(due)
    }

    /// Keeps a timer. Minutes that are past are not read again: what is late stands in this one.
    pub async fn put_timer(&self, engine: &Engine, timer: Timer, now: i64) -> Result<(), RuntimeError> {
        let Timer {
            entity, key, at, look, ..
        } = timer;
        // A deadline that is past stands in this minute, for those before are not read again.
        let minute = minute_of(at.max(now));
        let mut item = self.followers.row(KIND, &[&minute.to_string()])?;
        // In the order of their instants; one for each row and instant.
        let mark = ChangeId::of_record(&format!("{at:015}"), &key);
        let sort = engine.model().table.key.get(1).map(|sort| sort.name.clone());
        let of_look = look.as_ref().map(|write| format!("#{write}")).unwrap_or_default();
        item.extend(sort.map(|sort| (sort, Value::S(format!("{mark}#{entity}{of_look}")))));
        item.insert(ENTITY.to_owned(), Value::S(entity));
        item.extend(look.map(|write| (LOOK.to_owned(), Value::S(write))));
        item.insert(KEY.to_owned(), Value::M(key));
        item.insert(DUE.to_owned(), number_value(at));
        let request = PutRequest {
            table: engine.model().table.name.clone(),
            item,
            // The key is made of the instant and the row, so that setting it twice sets one.
            condition: None,
            return_old: false,
        };
        engine.store().put(&request).await?;
        lock(&self.set).insert(minute);
        lock(&self.instants).insert(at.max(now));
        Ok(())
    }

    /// The minutes whose timers may not have been fired by an instant.
    pub async fn minutes_due(&self, now: i64) -> Result<RangeInclusive<i64>, FollowError> {
        let this_minute = minute_of(now);
        let known = *lock(&self.read);
        let read = match known {
            Some(read) => read,
            None => match self.followers.get(&self.followers.row(READ_KIND, &[])?).await? {
                Some(item) => number_of(item.get(MINUTE)).unwrap_or(this_minute),
                None => this_minute,
            },
        };
        // Before what is noted: another process whose clock is behind may have put a timer there since.
        Ok(read - CLOCKS_DIFFER_MINUTES..=this_minute)
    }

    /// Notes that everything that was due by an instant was fired.
    pub async fn note_fired(&self, now: i64) -> Result<(), FollowError> {
        let this_minute = minute_of(now);
        if *lock(&self.read) == Some(this_minute) {
            return Ok(());
        }
        let mut row = self.followers.row(READ_KIND, &[])?;
        let there = self.followers.get(&row).await?;
        let noted = there.as_ref().and_then(|item| number_of(item.get(MINUTE)));
        // Never back, by whatever clock.
        if noted.is_none_or(|noted| noted < this_minute) {
            let turn = there.as_ref().map(turn_of).transpose()?;
            row.insert(MINUTE.to_owned(), number_value(this_minute));
            // Where another process was faster, it has noted the same.
            self.followers.put_item(row, turn).await?;
        }
        *lock(&self.read) = Some(this_minute);
        Ok(())
    }

    /// The minutes for which this process has set timers that are due: for who moves a clock by hand, over months.
    pub fn minutes_set(&self, now: i64) -> Vec<i64> {
        lock(&self.set).range(..=minute_of(now)).copied().collect()
    }

    /// Forgets what this process has set and fired.
    pub fn forget_set(&self, now: i64) {
        lock(&self.set).retain(|minute| *minute >= minute_of(now));
        lock(&self.instants).retain(|instant| *instant > now);
    }

    /// Timers of a minute that are due, a page of them, and where the next page begins.
    pub async fn due_page(
        &self,
        engine: &Engine,
        minute: i64,
        start: Option<Item>,
        now: i64,
    ) -> Result<(Vec<Timer>, Option<Item>), FollowError> {
        let model = engine.model();
        let row = self.followers.row(KIND, &[&minute.to_string()])?;
        let Some((name, value)) = model.table.key.first().and_then(|key| row.get_key_value(&key.name)) else {
            return Ok((Vec::new(), None));
        };
        let mut request = QueryRequest::new(
            model.table.name.clone(),
            KeyRange::partition(name.clone(), value.clone()),
        );
        // A timer that an old copy lacks would be passed for good when the minute is noted.
        request.consistent = true;
        request.limit = Some(TIMERS_PAGE);
        request.start = start;
        let page = engine.store().query(&request).await?;
        let mut due = Vec::new();
        for item in &page.items {
            let timer = self.timer_in(item);
            // They come in the order of their instants.
            if timer.as_ref().is_some_and(|timer| timer.at > now) {
                return Ok((due, None));
            }
            due.extend(timer);
        }
        Ok((due, page.last_key))
    }

    fn timer_in(&self, item: &Item) -> Option<Timer> {
        let Some(Value::M(key)) = item.get(KEY) else {
            return None;
        };
        Some(Timer {
            place: Some(self.followers.key_of(item)),
            entity: item.get(ENTITY).and_then(Value::as_str)?.to_owned(),
            key: key.clone(),
            at: number_of(item.get(DUE))?,
            look: item.get(LOOK).and_then(Value::as_str).map(str::to_owned),
        })
    }

    /// Removes a timer that was fired.
    pub async fn remove(&self, engine: &Engine, timer: &Timer) -> Result<(), FollowError> {
        let Some(key) = &timer.place else { return Ok(()) };
        let request = DeleteRequest {
            table: engine.model().table.name.clone(),
            key: key.clone(),
            condition: None,
            return_old: false,
        };
        engine.store().delete(&request).await?;
        Ok(())
    }
}

fn minute_of(instant: i64) -> i64 {
    instant.div_euclid(MINUTE_MILLIS)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
