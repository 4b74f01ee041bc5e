//! Writes that run by the clock: which tick is due, once, and how far each write is.
//!
//! A tick runs with a record of write and tick in its transaction, as a change does, so that it does not matter who runs it. What the
//! table keeps of a write beside that is how far its ticks are past: of those that were missed, the last alone is run. A bulk write whose
//! tick has begun is finished before another begins.
//!
//! **Invariant:** ticks up to the noted instant are past, run or missed. It is moved on after a run, so that whoever is killed between
//! the two finds the record.

use std::sync::Arc;

use jiff::tz::TimeZone;
use singlet_item::{Item, Value};
use singlet_model::model::{Schedule, Tick};
use singlet_runtime::{Engine, RuntimeError, TickRun, TriggerOutcome};

use crate::followers::{FollowError, Followers, check_released, number_of, number_value, turn_of, unreadable_progress};
use crate::lease::Lease;
use crate::triggers::{
    ParkedChange, ParkedChanges, ParkedOrder, Parking, RunEnd, Tries, TriggerObserver, followers_of, run_end,
    run_with_retries,
};

/// The name of the lease of who runs them.
const LEASE: &str = "ticks";

const KIND: &str = "schedule";
const PASSED: &str = "$passed";
const BEGUN_AT: &str = "$begun";
const BEGUN_ID: &str = "$tick";

/// How long what is kept of a tick counts, its record and its progress. A clock that was further ahead is not believed, and what
/// began longer ago is not gone on with.
const KEPT_MILLIS: i64 = 8 * 86_400_000;

/// How often the row of a write is tried to be written, which others write too.
const TRIES_MAX: usize = 16;

/// How far the ticks of a write are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotedTicks {
    /// Ticks up to this instant are past.
    pub passed: i64,
    /// The tick of a bulk write that has begun.
    pub begun: Option<Tick>,
}

/// What runs one write of a model by the clock.
pub struct Ticker {
    engine: Arc<Engine>,
    followers: Followers,
    parked: ParkedChanges,
    observer: Arc<dyn TriggerObserver>,
    write: String,
    schedule: Schedule,
    zone: TimeZone,
    is_bulk: bool,
    noted: NotedTicks,
}

impl Ticker {
    /// One for each write of a model that runs by the clock. Whoever is not known yet begins now: its first tick is the next.
    ///
    /// # Errors
    ///
    /// Where the store fails, or the table is held.
    pub async fn start_all(
        engine: &Arc<Engine>,
        observer: &Arc<dyn TriggerObserver>,
        now: i64,
    ) -> Result<Vec<Self>, FollowError> {
        let mut all = Vec::new();
        for (write, schedule) in engine.model().scheduled_writes() {
            let followers = followers_of(engine);
            let parked = ParkedChanges::new(followers.clone());
            parked.look_anew().await?;
            let begins = NotedTicks {
                passed: now,
                begun: None,
            };
            let noted = entered(&followers, &write.name, begins).await?;
            all.push(Ticker {
                engine: Arc::clone(engine),
                followers,
                parked,
                observer: Arc::clone(observer),
                write: write.name.clone(),
                schedule,
                zone: engine.setting().zone.clone(),
                is_bulk: write.bulk,
                noted,
            });
        }
        if !all.is_empty() {
            // After all are entered: their clocks begin now, though nothing runs until the table is released.
            check_released(engine).await?;
        }
        Ok(all)
    }

    /// The lease of who runs the ticks of a model, for a process that is not alone.
    pub fn tick_lease(engine: &Arc<Engine>) -> Lease {
        Lease::new(followers_of(engine), LEASE)
    }

    /// The write.
    pub fn write(&self) -> &str {
        &self.write
    }

    /// How many of its ticks are parked: the last that could not be done, or none.
    pub fn parked_ticks(&self) -> usize {
        self.parked_tick().map_or(0, |_| 1)
    }

    /// The instant at which its next tick is due, as far as it knows.
    pub fn next_instant(&self) -> Option<i64> {
        Some(self.schedule.next_tick(self.noted.passed, &self.zone)?.at)
    }

    /// Runs the tick that is due at an instant, if any: of those that were missed, the last.
    ///
    /// # Errors
    ///
    /// Where the store fails; what was not noted is looked at again.
    pub async fn run_due(&mut self, now: i64) -> Result<Option<RunEnd>, FollowError> {
        self.pass_wild_clock(now).await?;
        let Some(tick) = self.schedule.last_tick(now, &self.zone) else {
            return Ok(None);
        };
        // A bulk write that was begun is ended first: two of them at once would take turns at each other's rows.
        let begun = self.noted.begun.clone().filter(|begun| *begun != tick);
        if let Some(begun) = begun.filter(|begun| now.saturating_sub(begun.at) < KEPT_MILLIS) {
            self.run(&begun).await?;
            self.note(begun.at, None).await?;
        }
        // Past, run or missed: a tick is never gone back to.
        if tick.at <= self.noted.passed {
            return Ok(None);
        }
        if self.is_bulk && self.noted.begun.as_ref() != Some(&tick) {
            let passed = self.noted.passed;
            // Noted before it runs, so that a process that is killed knows what to go on with.
            self.note(passed, Some(tick.clone())).await?;
        }
        let end = self.run(&tick).await?;
        // After the run: killed between the two, the record of the run says that it was done.
        self.note(tick.at, None).await?;
        Ok(Some(end))
    }

    /// Does what operators asked for of its parked tick.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn follow_orders(&mut self) -> Result<(), FollowError> {
        if self.parked_tick().is_none() {
            return Ok(());
        }
        self.parked.look_anew().await?;
        let ordered = self.parked.ordered_parked().into_iter();
        let own: Vec<_> = ordered.filter(|(parked, _)| self.is_own(parked)).collect();
        for (parked, order) in own {
            match order {
                ParkedOrder::Discard => self.parked.remove(self.engine.store().as_ref(), &parked).await?,
                ParkedOrder::Retry => self.retry(&parked).await?,
            }
        }
        Ok(())
    }

    /// Begins anew where a clock was so far ahead that the schedule would stand still for long.
    async fn pass_wild_clock(&mut self, now: i64) -> Result<(), FollowError> {
        match self.noted.passed.saturating_sub(now) > KEPT_MILLIS {
            true => {
                let from = NotedTicks {
                    passed: now,
                    begun: None,
                };
                self.noted = change_noted(&self.followers, &self.write, |there| {
                    if there.passed.saturating_sub(now) > KEPT_MILLIS {
                        *there = from.clone();
                    }
                })
                .await?;
                Ok(())
            }
            false => Ok(()),
        }
    }

    /// Runs a tick; one that cannot be done is parked, in the place of an earlier one.
    async fn run(&self, tick: &Tick) -> Result<RunEnd, FollowError> {
        let store = self.engine.store().as_ref();
        let earlier = self.parked_tick().filter(|parked| parked.change != tick.id);
        match self.tried(tick, None).await {
            Ok(outcome) => {
                let end = run_end(outcome);
                self.observer.ran(&self.write, &tick.id, &end);
                if let Some(earlier) = earlier {
                    self.parked.remove(store, &earlier).await?;
                }
                Ok(end)
            }
            Err(error) => {
                let reason = error.to_string();
                let parking = Parking::of_tick(&self.write, tick);
                self.parked.park_change(&parking, &reason, Tries::NONE).await?;
                if let Some(earlier) = earlier {
                    self.parked.remove(store, &earlier).await?;
                }
                let end = RunEnd::Parked(reason);
                self.observer.ran(&self.write, &tick.id, &end);
                Ok(end)
            }
        }
    }

    async fn retry(&self, parked: &ParkedChange) -> Result<(), FollowError> {
        let store = self.engine.store().as_ref();
        let body = self.parked.parked_body(parked).await?;
        let Some((key, tick)) = body.and_then(|(key, parking)| Some((key, parking.parked_tick()?))) else {
            // It was done, and only its place in the list was left.
            return self.parked.remove(store, parked).await;
        };
        match self.tried(&tick, Some(&key)).await {
            Ok(outcome) => {
                self.observer.ran(&self.write, &tick.id, &run_end(outcome));
                self.parked.remove(store, parked).await
            }
            Err(error) => self.parked.note_still_parked(parked, &error.to_string()).await,
        }
    }

    async fn tried(&self, tick: &Tick, parked: Option<&Item>) -> Result<TriggerOutcome, RuntimeError> {
        let run = || {
            let run = TickRun {
                write: &self.write,
                tick,
                parked,
            };
            self.engine.run_tick(run)
        };
        run_with_retries(self.observer.as_ref(), &self.write, run).await
    }

    fn parked_tick(&self) -> Option<ParkedChange> {
        self.parked.seen_parked().into_iter().find(|parked| self.is_own(parked))
    }

    fn is_own(&self, parked: &ParkedChange) -> bool {
        parked.is_tick() && parked.write == self.write
    }

    /// Notes how far it is; where another process is further, that counts.
    async fn note(&mut self, passed: i64, begun: Option<Tick>) -> Result<(), FollowError> {
        self.noted = change_noted(&self.followers, &self.write, |there| {
            // Never back, whatever an older process believes.
            if passed >= there.passed {
                *there = NotedTicks {
                    passed,
                    begun: begun.clone(),
                };
            }
        })
        .await?;
        Ok(())
    }
}

/// A write that runs by the clock, and how far it is.
#[derive(Clone, Debug)]
pub struct NotedSchedule {
    /// The write.
    pub write: String,
    /// When it runs.
    pub schedule: Schedule,
    /// How far its ticks are; nothing where nobody has followed its clock.
    pub noted: Option<NotedTicks>,
    /// The instant of the next tick.
    pub next: Option<i64>,
}

/// How far every write of a model is that runs by the clock.
///
/// # Errors
///
/// Where the store fails, or a row cannot be read.
pub async fn noted_schedules(followers: &Followers, now: i64) -> Result<Vec<NotedSchedule>, FollowError> {
    let model = followers.model();
    let zone = TimeZone::get(&model.zone).unwrap_or(TimeZone::UTC);
    let mut all = Vec::new();
    for (write, schedule) in model.scheduled_writes() {
        let noted = noted_ticks(followers, &write.name).await?;
        let from = noted.as_ref().map_or(now, |noted| noted.passed);
        all.push(NotedSchedule {
            write: write.name.clone(),
            schedule,
            noted,
            next: schedule.next_tick(from, &zone).map(|tick| tick.at),
        });
    }
    Ok(all)
}

/// How far the ticks of a write are; nothing where nobody has followed its clock.
///
/// # Errors
///
/// Where the store fails, or the row cannot be read.
pub async fn noted_ticks(followers: &Followers, write: &str) -> Result<Option<NotedTicks>, FollowError> {
    let there = followers.get(&followers.row(KIND, &[write])?).await?;
    there.as_ref().map(noted_in).transpose()
}

/// The note that is there, or the first.
async fn entered(followers: &Followers, write: &str, begins: NotedTicks) -> Result<NotedTicks, FollowError> {
    let row = followers.row(KIND, &[write])?;
    if followers.get(&row).await?.is_none() {
        // Where another process was faster, its note counts.
        followers.put_item(with_noted(row, &begins), None).await?;
    }
    let noted = noted_ticks(followers, write).await?;
    noted.ok_or_else(unreadable_progress)
}

/// Changes the note of a write, whatever others note meanwhile; what is there then.
async fn change_noted(
    followers: &Followers,
    write: &str,
    change: impl Fn(&mut NotedTicks),
) -> Result<NotedTicks, FollowError> {
    let row = followers.row(KIND, &[write])?;
    for _ in 0..TRIES_MAX {
        let there = followers.get(&row).await?.ok_or_else(unreadable_progress)?;
        let before = noted_in(&there)?;
        let mut after = before.clone();
        change(&mut after);
        if after == before {
            return Ok(after);
        }
        let turn = turn_of(&there)?;
        if followers
            .put_item(with_noted(row.clone(), &after), Some(turn))
            .await?
            .is_some()
        {
            return Ok(after);
        }
    }
    Err(FollowError::Overtaken)
}

fn with_noted(mut row: Item, noted: &NotedTicks) -> Item {
    row.insert(PASSED.to_owned(), number_value(noted.passed));
    if let Some(begun) = &noted.begun {
        row.insert(BEGUN_AT.to_owned(), number_value(begun.at));
        row.insert(BEGUN_ID.to_owned(), Value::S(begun.id.clone()));
    }
    row
}

fn noted_in(item: &Item) -> Result<NotedTicks, FollowError> {
    let begun = match (
        number_of(item.get(BEGUN_AT)),
        item.get(BEGUN_ID).and_then(Value::as_str),
    ) {
        (Some(at), Some(id)) => Some(Tick { at, id: id.to_owned() }),
        _ => None,
    };
    Ok(NotedTicks {
        passed: number_of(item.get(PASSED)).ok_or_else(unreadable_progress)?,
        begun,
    })
}
