//! Writes that run after changes: who reads, in which order they run, and what becomes of those that cannot.
//!
//! Changes of one row run in order, rows side by side. A page is noted when every change of it was done, refused or parked: whoever is
//! killed before that begins it again, and the records in the transactions tell what was done.
//!
//! # Terms
//!
//! - A *run* is one write after one change.
//! - A change is *parked* for a write that cannot be done for it, with all that is known of it; later changes of its row
//!   queue behind it, for that write. So is one that a rule refuses *for now* (`else: retry`), until it is tried again.

mod fire;
mod looks;
mod parked;
mod rate;
mod retries;
mod run;
mod timers;

use std::sync::Arc;

use singlet_model::Model;
use singlet_model::model::{Trigger, TriggerEvent, Webhook, Write};
use singlet_runtime::{Engine, Refused, RuntimeError};

use crate::change::{Change, ChangeKind};
use crate::follow::Follower;
use crate::followers::{FollowError, Followers, check_released};
use crate::lease::Lease;
use crate::source::ChangeSource;
use crate::tallies::forget_tallies;
use crate::webhooks::Deliveries;

pub use looks::LOOK_AGAIN_MILLIS;
pub(crate) use parked::Parking;
pub use parked::{PARKED_MAX, ParkedChange, ParkedChanges, ParkedOrder};
pub use rate::RUNS_PER_MINUTE_MAX;
pub(crate) use retries::Tries;
pub use retries::{REFUSED_PAUSES_SECONDS, REFUSED_TRIES_MAX};
pub(crate) use run::{run_end, run_with_retries};

/// The name under which all writes of a model that run after changes follow. No other follower can have it.
pub const TRIGGERS_FOLLOWER: &str = "$triggers";

/// The name of the lease of who runs them.
const LEASE: &str = "triggers";

/// What happens while changes are followed, for logs and metrics.
pub trait TriggerObserver: Send + Sync {
    /// A run ended.
    fn ran(&self, _write: &str, _change: &str, _ended: &RunEnd) {}

    /// A run cannot be done for now, and is tried again.
    fn waits(&self, _write: &str, _error: &RuntimeError) {}

    /// What time does to a row cannot be done, and is left to the next write of the row.
    fn unfired(&self, _entity: &str, _error: &RuntimeError) {}
}

/// Nobody looks.
pub struct Unobserved;

impl TriggerObserver for Unobserved {}

/// How a run ended.
#[derive(Debug)]
pub enum RunEnd {
    /// It was done.
    Done,
    /// It was done, or refused, before.
    DoneBefore,
    /// A rule refused it.
    Refused(Refused),
    /// A rule refused it for now: it is tried again by itself.
    Later(Refused),
    /// It is parked: why.
    Parked(String),
}

/// What is done after a change.
#[derive(Clone, Copy)]
pub(crate) enum Follows<'m> {
    /// A write runs.
    Write(&'m Write, &'m Trigger),
    /// Another system is told.
    Webhook(&'m Webhook),
}

impl<'m> Follows<'m> {
    /// All that a model has.
    fn all(model: &'m Model) -> impl Iterator<Item = Follows<'m>> {
        let writes = model
            .triggered_writes()
            .map(|(write, trigger)| Follows::Write(write, trigger));
        writes.chain(model.webhooks.iter().map(Follows::Webhook))
    }

    fn name(self) -> &'m str {
        match self {
            Follows::Write(write, _) => &write.name,
            Follows::Webhook(webhook) => &webhook.name,
        }
    }

    fn trigger(self) -> &'m Trigger {
        match self {
            Follows::Write(_, trigger) => trigger,
            Follows::Webhook(webhook) => &webhook.after,
        }
    }

    /// Whether what was done for the changes of one row depends on their order.
    fn is_in_order(self) -> bool {
        matches!(self, Follows::Write(..))
    }
}

/// What one page came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Followed {
    /// Records of the page, of rows or not.
    pub records: usize,
    /// Runs that were done now.
    pub done: usize,
    /// Runs that a rule refused.
    pub refused: usize,
    /// Runs that a rule refused for now.
    pub later: usize,
    /// Changes that were parked.
    pub parked: usize,
    /// When the newest change of the page happened, in seconds since 1970.
    pub newest_at: Option<i64>,
}

/// One that runs a model's writes after changes.
pub struct TriggerFollower {
    engine: Arc<Engine>,
    followers: Followers,
    follower: Follower,
    parked: ParkedChanges,
    rate: rate::RunRate,
    deliveries: Deliveries,
    /// Where time makes changes that something follows.
    timers: Option<timers::Timers>,
    /// Whether the indexes of the store may be behind the table.
    has_late_indexes: bool,
    observer: Arc<dyn TriggerObserver>,
}

impl TriggerFollower {
    /// Goes on where the last one was; the first begins now, also where the table is held: what happens meanwhile waits, too.
    ///
    /// # Errors
    ///
    /// Where the store fails, or the table is held.
    pub async fn start(
        engine: Arc<Engine>,
        observer: Arc<dyn TriggerObserver>,
        now_millis: i64,
    ) -> Result<Self, FollowError> {
        let followers = followers_of(&engine);
        let follower = Follower::start_kept(followers.clone(), TRIGGERS_FOLLOWER, now_millis.div_euclid(1_000)).await?;
        // After the follower is entered: what happens while the table is held waits, and is not missed.
        check_released(&engine).await?;
        let parked = ParkedChanges::new(followers.clone());
        // Before the first page: a change behind a parked one must be parked too.
        parked.look_anew().await?;
        let timers = timers::Timers::are_needed(&engine).then(|| timers::Timers::new(followers.clone()));
        Ok(TriggerFollower {
            timers,
            has_late_indexes: false,
            engine,
            deliveries: Deliveries::new(followers.clone()),
            followers,
            follower,
            parked,
            rate: rate::RunRate::default(),
            observer,
        })
    }

    /// The lease of who runs them, for a process that is not alone.
    pub fn trigger_lease(&self) -> Lease {
        Lease::new(self.followers.clone(), LEASE)
    }

    /// Whether there is nothing to read but what is still to come.
    pub fn is_at_head(&self) -> bool {
        self.follower.is_at_head()
    }

    /// Whether it has come to what happened after an instant, in seconds since 1970.
    pub fn has_passed(&self, seconds: i64) -> bool {
        self.follower.has_passed(seconds)
    }

    /// Changes that were gone before it came.
    pub fn gap_count(&self) -> usize {
        self.follower.noted_progress().gaps.len()
    }

    /// The changes that are parked, as last seen.
    pub fn parked_changes(&self) -> Vec<ParkedChange> {
        self.parked.seen_parked()
    }

    /// Reads a page, runs what is to run after its changes, and notes that it is done. The clock is asked for each run.
    ///
    /// # Errors
    ///
    /// Where the stream cannot be read, or another process is further: then it is started anew. What was not noted comes again.
    pub async fn follow_page(&mut self, clock: &(dyn Fn() -> i64 + Sync)) -> Result<Followed, FollowError> {
        let page = self.follower.next_page(clock().div_euclid(1_000)).await?;
        let followed = self.run_page(&page, clock).await?;
        // After every run of the page: killed before it, the page comes again, and records tell what ran.
        self.follower.note_progress(clock().div_euclid(1_000)).await?;
        Ok(followed)
    }

    /// The earliest instant at which time does something, of those that this one was told, or a refusal is tried again.
    pub fn next_instant(&self) -> Option<i64> {
        let timers = self.timers.as_ref().and_then(timers::Timers::next_instant);
        timers.into_iter().chain(self.next_try()).min()
    }

    /// Tries again what was refused for now and is due, and does what operators asked for of parked changes; how many it was.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn follow_orders(&mut self, clock: &(dyn Fn() -> i64 + Sync)) -> Result<usize, FollowError> {
        self.parked.look_anew().await?;
        let mut ordered: Vec<(ParkedChange, ParkedOrder)> = self.parked.ordered_parked();
        ordered.retain(|(parked, _)| !parked.is_tick());
        let count = ordered.len();
        for (parked, order) in ordered {
            match order {
                // The order of a row is kept also against operators: the first of it goes first.
                ParkedOrder::Retry if self.is_behind(&parked) => {
                    self.parked.still_until(&parked, parked::BEHIND, parked.tries).await?;
                }
                ParkedOrder::Retry => self.retry(&parked, clock).await?,
                ParkedOrder::Discard => self.parked.remove(self.engine.store().as_ref(), &parked).await?,
            }
        }
        Ok(count + self.retry_refused(clock).await?)
    }
}

/// Forgets the followers of a model in which nothing follows changes any more, or that has no tally, and what webhooks still had to tell that
/// it no longer has; how many deliveries those were.
///
/// # Errors
///
/// Where the store fails.
pub async fn forget_unneeded(engine: &Arc<Engine>) -> Result<usize, FollowError> {
    if engine.model().table.stream.is_none() {
        return Ok(0);
    }
    forget_tallies(engine).await?;
    let followers = followers_of(engine);
    let removed = match engine.model().has_room_for_timers() {
        true => {
            let deliveries = Deliveries::new(followers.clone());
            deliveries.forget_others(engine.store().as_ref()).await?
        }
        false => 0,
    };
    if engine.model().followed_changes().next().is_some() {
        return Ok(removed);
    }
    let is_known = followers.names().await?.iter().any(|name| name == TRIGGERS_FOLLOWER);
    if is_known {
        followers.forget_follower(TRIGGERS_FOLLOWER).await?;
    }
    Ok(removed)
}

pub(crate) fn followers_of(engine: &Arc<Engine>) -> Followers {
    let source: Arc<dyn ChangeSource> = Arc::new(Arc::clone(engine.store()));
    Followers::new(Arc::clone(engine.model()), source)
}

/// Whether a kind of change is what a write runs after.
fn is_of_kind(event: &TriggerEvent, change: &Change) -> bool {
    match event {
        TriggerEvent::Create => change.kind == ChangeKind::Created,
        TriggerEvent::Update(_) => change.kind == ChangeKind::Updated,
        TriggerEvent::Delete => change.kind == ChangeKind::Deleted,
        TriggerEvent::Expire => change.kind == ChangeKind::Expired,
        TriggerEvent::Enter(_) => matches!(change.kind, ChangeKind::Created | ChangeKind::Updated),
        // A timer runs it.
        TriggerEvent::Reach(_) => false,
    }
}
