//! Timers: rows that say when time changes another row, side by side in buckets of a minute.
//!
//! A timer is a hint. Whoever follows writes it when it is told a row that has a deadline, and at that instant looks at the row: what is
//! due is stored, which is a change as any other; what is not, because the deadline has moved or somebody was faster, is nothing. So a
//! timer that comes twice, late or for a row that is gone does no harm, and a deadline that moves has another timer.
//!
//! **Invariant:** every timer of a minute before the noted one was fired. A minute counts as read only when it is past by more than
//! clocks differ, and reading begins that much before what is noted.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use singlet_item::{Item, Number, Value};
use singlet_runtime::{Engine, RuntimeError};
use singlet_store::{DeleteRequest, KeyRange, PutRequest, QueryRequest};

use crate::change::{Change, ChangeId};
use crate::followers::{FollowError, Followers, number, number_value, turn_of};

const KIND: &str = "timers";
const READ_KIND: &str = "timers-read";
const ENTITY: &str = "$entity";
const KEY: &str = "$key";
const DUE: &str = "$due";
const MINUTE: &str = "$minute";

const MINUTE_MILLIS: i64 = 60_000;

/// By how many minutes the clocks of processes may differ.
const CLOCKS_DIFFER_MINUTES: i64 = 2;

/// How many timers are read at once.
const TIMERS_PAGE: u32 = 100;

/// The timers of a model's table.
pub(super) struct Timers {
    followers: Followers,
    /// The minutes for which this process has set timers, and has not fired them all.
    set: Mutex<BTreeSet<i64>>,
    /// The instants of those timers, for who moves a clock by hand.
    instants: Mutex<BTreeSet<i64>>,
    /// Every timer before this minute was fired, as far as this process knows.
    read: Option<i64>,
}

impl Timers {
    pub fn new(followers: Followers) -> Self {
        Timers {
            followers,
            set: Mutex::default(),
            instants: Mutex::default(),
            read: None,
        }
    }

    /// Whether any change of the model is made by time.
    pub fn are_needed(engine: &Engine) -> bool {
        let model = engine.model();
        model.entities.iter().any(|entity| model.is_timed(entity))
    }

    /// The earliest instant for which this process has set a timer.
    pub fn next_instant(&self) -> Option<i64> {
        lock(&self.instants).first().copied()
    }

    /// Sets the timers of a row that changed; those that are due are stored at once.
    pub async fn set(&self, engine: &Engine, change: &Change, now: i64) -> Result<(), RuntimeError> {
        let entity = engine.model().entity_named(&change.entity);
        let (Some(entity), Some(after)) = (entity.filter(|entity| engine.model().is_timed(entity)), &change.after)
        else {
            return Ok(());
        };
        let before = match &change.before {
            Some(before) => engine.deadlines(entity, before)?,
            None => Vec::new(),
        };
        for deadline in engine.deadlines(entity, after)? {
            if before.contains(&deadline) {
                continue;
            }
            let Some(key) = engine.key_of_row(entity, after)? else {
                continue;
            };
            if deadline.at <= now {
                engine.store_due(&entity.name, &key, now).await?;
                continue;
            }
            self.put(engine, &entity.name, key, deadline.at).await?;
        }
        Ok(())
    }

    async fn put(&self, engine: &Engine, entity: &str, key: Item, at: i64) -> Result<(), RuntimeError> {
        let minute = at.div_euclid(MINUTE_MILLIS);
        let mut item = self.followers.row(KIND, &[&minute.to_string()])?;
        // In the order of their instants; one for each row and instant.
        let mark = ChangeId::of_record(&format!("{at:015}"), &key);
        let sort = engine.model().table.key.get(1).map(|sort| sort.name.clone());
        item.extend(sort.map(|sort| (sort, Value::S(format!("{mark}#{entity}")))));
        item.insert(ENTITY.to_owned(), Value::S(entity.to_owned()));
        item.insert(KEY.to_owned(), Value::M(key));
        item.insert(DUE.to_owned(), number_value(at));
        let request = PutRequest {
            table: engine.model().table.name.clone(),
            item,
            condition: None,
            return_old: false,
        };
        engine.store().put(&request).await?;
        lock(&self.set).insert(minute);
        lock(&self.instants).insert(at);
        Ok(())
    }

    /// Fires what is due, of every minute since the last that was read; how many timers that was.
    pub async fn fire_due(&mut self, engine: &Engine, now: i64) -> Result<usize, FollowError> {
        let this_minute = now.div_euclid(MINUTE_MILLIS);
        let row = self.followers.row(READ_KIND, &[])?;
        let read = match self.read {
            Some(read) => read,
            None => match self.followers.get(&row).await? {
                Some(item) => number(item.get(MINUTE)).unwrap_or(this_minute),
                None => this_minute,
            },
        };
        let mut fired = 0;
        for minute in read - CLOCKS_DIFFER_MINUTES..=this_minute {
            fired += self.fire_minute(engine, minute, now).await?;
        }
        if self.read != Some(this_minute) {
            let there = self.followers.get(&row).await?;
            let noted = there.as_ref().and_then(|item| number(item.get(MINUTE)));
            if noted.is_none_or(|noted| noted < this_minute) {
                let turn = there.as_ref().map(turn_of).transpose()?;
                let mut row = row;
                row.insert(MINUTE.to_owned(), number_value(this_minute));
                // Where another process was faster, it has noted the same.
                self.followers.put_item(row, turn).await?;
            }
            self.read = Some(this_minute);
        }
        Ok(fired)
    }

    /// Fires what is due of the minutes for which this process has set timers: for who moves a clock by hand, over months.
    pub async fn fire_set(&mut self, engine: &Engine, now: i64) -> Result<usize, FollowError> {
        let this_minute = now.div_euclid(MINUTE_MILLIS);
        let minutes: Vec<i64> = lock(&self.set).range(..=this_minute).copied().collect();
        let mut fired = 0;
        for minute in minutes {
            fired += self.fire_minute(engine, minute, now).await?;
        }
        lock(&self.set).retain(|minute| *minute >= this_minute);
        lock(&self.instants).retain(|instant| *instant > now);
        Ok(fired)
    }

    async fn fire_minute(&self, engine: &Engine, minute: i64, now: i64) -> Result<usize, FollowError> {
        let model = engine.model();
        let row = self.followers.row(KIND, &[&minute.to_string()])?;
        let Some((name, value)) = model.table.key.first().and_then(|key| row.get_key_value(&key.name)) else {
            return Ok(0);
        };
        let mut request = QueryRequest::new(
            model.table.name.clone(),
            KeyRange::partition(name.clone(), value.clone()),
        );
        request.consistent = true;
        request.limit = Some(TIMERS_PAGE);
        let mut fired = 0;
        loop {
            let page = engine.store().query(&request).await?;
            for item in &page.items {
                let due = item.get(DUE).and_then(Value::as_number).and_then(Number::to_i64);
                // They come in the order of their instants.
                if due.is_some_and(|due| due > now) {
                    return Ok(fired);
                }
                self.fire(engine, item, now).await?;
                fired += 1;
            }
            match page.last_key {
                Some(last) => request.start = Some(last),
                None => return Ok(fired),
            }
        }
    }

    /// Looks at a timer's row, stores what is due, and removes the timer. Killed before that, it is looked at again.
    async fn fire(&self, engine: &Engine, timer: &Item, now: i64) -> Result<(), FollowError> {
        let entity = timer.get(ENTITY).and_then(Value::as_str);
        if let (Some(entity), Some(Value::M(key))) = (entity, timer.get(KEY)) {
            engine.store_due(entity, key, now).await?;
        }
        let request = DeleteRequest {
            table: engine.model().table.name.clone(),
            key: self.followers.key_of(timer),
            condition: None,
            return_old: false,
        };
        engine.store().delete(&request).await?;
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
