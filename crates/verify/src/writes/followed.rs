//! A table that is followed: operations are done twice, and so is what runs after them, by followers that may end on their way and by
//! the oracle.

use std::sync::Arc;

use fastrand::Rng;
use serde_json::Value as Json;
use singlet_changes::{
    ChangeSource, Deliveries, FollowError, Followers, TallyFollower, TriggerFollower, Unobserved, ask_for_figures,
};
use singlet_runtime::{Attributes, Engine};
use singlet_store::{ErrorKind, Store};

use super::follows::{FollowSetting, FollowingWrites};
use super::oracle::ExpectedOutcome;
use super::sequence::{Op, WriteSequence};
use super::tallied::compare_tallies;
use super::unify::Made;
use crate::VerifyError;
use crate::bench::BenchGiven;
use crate::choices::{CHOICES_TRIED_MAX, Choices};
use crate::clocked::{Clocked, Mortal};
use crate::interleaved::Interleaved;
use crate::run::NOW;

/// How many requests a process that ends on its way makes, at most.
const REQUESTS_MAX: usize = 60;

/// How many times followers end on their way to rest, at most.
const DEATHS_MAX: u8 = 3;

/// How often a follower is started anew because another was further.
const STARTS_MAX: usize = 100;

/// More than a sequence of operations has told, of one webhook.
const DELIVERIES_MAX: usize = 100_000;

/// An operation, and whether followers come to rest after it.
#[derive(Clone, Debug)]
pub struct FollowedOp {
    /// The operation.
    pub op: Op,
    /// Whether followers come to rest before and after it; else changes wait for later.
    pub rests: bool,
    /// What the faults on the way to rest are drawn from.
    pub faults: u64,
}

/// A table, who follows it, and what must be in it.
pub(crate) struct FollowedSequence {
    sequence: WriteSequence,
    store: Arc<Clocked>,
    /// What is still to run, by the oracle.
    pub follows: FollowingWrites,
    settings: Attributes,
    now: i64,
    /// Whether something was left open, so that what the table holds is not known any more.
    is_open: bool,
}

impl FollowedSequence {
    /// An empty table of a model, with a follower that has begun.
    ///
    /// # Errors
    ///
    /// What is wrong with the model, or why the store has no table.
    pub async fn open(text: &str, store: Arc<dyn Store>, given: BenchGiven) -> Result<Self, VerifyError> {
        let store = Clocked::clocked_around(store, NOW);
        let settings = given.settings.clone();
        let sequence = WriteSequence::open(text, Arc::clone(&store) as Arc<dyn Store>, given).await?;
        let followed = FollowedSequence {
            sequence,
            store,
            follows: FollowingWrites::default(),
            settings,
            now: NOW,
            is_open: false,
        };
        followed.started(Arc::clone(&followed.sequence.engine)).await?;
        Ok(followed)
    }

    /// The operations and what must be in the table.
    pub fn write_sequence(&self) -> &WriteSequence {
        &self.sequence
    }

    /// Does an operation. Where followers come to rest, what time has done by then runs before it, and what runs after it afterwards.
    ///
    /// # Errors
    ///
    /// How the engine, or what ran, differs from what is meant.
    pub async fn step(&mut self, followed: &FollowedOp) -> Result<ExpectedOutcome, VerifyError> {
        let op = &followed.op;
        self.move_clock(op.request.now).await?;
        if followed.rests {
            self.rest_followers(followed.faults).await?;
        }
        if self.is_open {
            return Ok(ExpectedOutcome::Open);
        }
        let before = self.sequence.oracle.rows.clone();
        let outcome = self.sequence.step(op).await?;
        self.is_open |= outcome == ExpectedOutcome::Open;
        if self.is_open {
            return Ok(ExpectedOutcome::Open);
        }
        let places = places_of(&self.sequence);
        let changed = (before.as_slice(), self.sequence.oracle.rows.as_slice());
        let taken = self.follows.take_up(places, changed, self.now);
        taken.map_err(|error| VerifyError::failed("the oracle cannot tell what changed", error))?;
        if followed.rests {
            self.rest_followers(followed.faults.wrapping_add(1)).await?;
        }
        Ok(outcome)
    }

    async fn move_clock(&mut self, now: i64) -> Result<(), VerifyError> {
        self.now = now;
        let moved = self.store.move_to(&self.sequence.judge.table.name, now).await;
        moved.map_err(VerifyError::from)
    }

    /// Has followers come to rest, on both sides.
    ///
    /// # Errors
    ///
    /// How what is in the table differs from what must be there.
    pub async fn rest_followers(&mut self, faults: u64) -> Result<(), VerifyError> {
        if self.is_open {
            return Ok(());
        }
        let parked = self.follow_to_rest(Rng::with_seed(faults)).await?;
        self.tally_to_rest(Rng::with_seed(faults.rotate_left(32))).await?;
        compare_tallies(&self.sequence.engine).await?;
        let told = self.told().await?;
        let mut choices = Choices::default();
        let mut first = None;
        for _ in 0..CHOICES_TRIED_MAX {
            let (mut oracle, mut follows) = (self.sequence.oracle.clone(), self.follows.clone());
            let places = places_of(&self.sequence);
            let open = follows.come_to_rest(places, &mut oracle, self.now, &choices)?;
            let mut made = Made::new(open);
            let mut same = self
                .sequence
                .compare_rows(&mut made, &oracle.rows, self.now)
                .await
                .map(|_| ());
            if same.is_ok() && parked != follows.kept_changes() {
                let meant = follows.kept_changes();
                same = Err(VerifyError::Differs(format!(
                    "parked changes differ\n  meant: {meant}\n  got:   {parked}"
                )));
            }
            if same.is_ok() {
                let mut meant = follows.told.clone();
                meant.sort();
                if meant != told {
                    same = Err(VerifyError::Differs(format!(
                        "what is told differs\n  meant: {meant:?}\n  got:   {told:?}"
                    )));
                }
            }
            let error = match same {
                Ok(()) => {
                    for (_, row) in &mut oracle.rows {
                        *row = made.put_row(row);
                    }
                    self.sequence.made.extend(made.known);
                    (self.sequence.oracle, self.follows) = (oracle, follows);
                    return Ok(());
                }
                Err(error) => error,
            };
            // Of what no order explains, the difference from the first is told.
            let error = first.unwrap_or(error);
            match choices.next_way() {
                Some(next) => choices = next,
                None => return Err(error.reworded(|what| format!("at rest, {what}"))),
            }
            first = Some(error);
        }
        // Not all orders were tried: any of the others may have been it.
        self.is_open = true;
        Ok(())
    }

    /// What lies in the table to be told: webhook, and what of the change. Nobody sends it.
    async fn told(&self) -> Result<Vec<(String, String)>, VerifyError> {
        let source: Arc<dyn ChangeSource> = Arc::new(self.store.clone() as Arc<dyn Store>);
        let deliveries = Deliveries::new(Followers::new(Arc::clone(&self.sequence.judge), source));
        let mut told = Vec::new();
        for webhook in &self.sequence.judge.webhooks {
            let found = deliveries.list_deliveries(&webhook.name, DELIVERIES_MAX).await;
            for delivery in found.map_err(|error| VerifyError::failed("deliveries cannot be read", error))? {
                let body: Json = serde_json::from_str(&delivery.body)?;
                let data = body.get("data").map(Json::to_string).unwrap_or_default();
                told.push((webhook.name.clone(), data));
            }
        }
        told.sort();
        Ok(told)
    }

    /// Whether something was left open, so that what the table holds is not known any more.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Followers end on their way, one or two at a time, until one comes to rest: how many changes are parked.
    async fn follow_to_rest(&self, mut rng: Rng) -> Result<usize, VerifyError> {
        for _ in 0..rng.u8(..=DEATHS_MAX) {
            let one = self.follow_and_end(rng.fork());
            match rng.bool() {
                true => one.await?,
                false => {
                    let other = self.follow_and_end(rng.fork());
                    let (one, other) = tokio::join!(one, other);
                    one.and(other)?;
                }
            }
        }
        if rng.bool() {
            let engines = [rng.fork(), rng.fork()].map(|rng| self.engine_on(self.store.clone(), rng));
            let [one, other] = engines.map(|engine| self.follow_on(engine));
            let (one, other) = tokio::join!(one, other);
            one.and(other)?;
        }
        self.follow_on(self.engine_on(self.store.clone(), rng)).await
    }

    /// Who keeps tallies ends on the way, too, alone or beside another; sometimes figures are counted anew.
    async fn tally_to_rest(&self, mut rng: Rng) -> Result<(), VerifyError> {
        let Some(tally) = rng.choice(self.sequence.judge.tallies.iter()) else {
            return Ok(());
        };
        if rng.u8(..8) == 0 {
            let source: Arc<dyn ChangeSource> = Arc::new(self.store.clone() as Arc<dyn Store>);
            let followers = Followers::new(Arc::clone(&self.sequence.judge), source);
            let asked = ask_for_figures(&followers, &tally.name).await;
            asked.map_err(|error| VerifyError::failed("figures cannot be asked for", error))?;
        }
        for _ in 0..rng.u8(..=DEATHS_MAX) {
            let (one, other) = (self.tally_and_end(rng.fork()), self.tally_and_end(rng.fork()));
            match rng.bool() {
                true => one.await?,
                false => {
                    let (one, other) = tokio::join!(one, other);
                    one.and(other)?;
                }
            }
        }
        self.tally_on(self.engine_on(self.store.clone(), rng)).await
    }

    async fn tally_and_end(&self, mut rng: Rng) -> Result<(), VerifyError> {
        let mortal = Mortal::mortal_after(self.store.clone(), 1 + rng.usize(..REQUESTS_MAX));
        let engine = self.engine_on(mortal.clone(), rng);
        tokio::select! {
            ended = self.tally_on(engine) => ended,
            () = mortal.ended.notified() => Ok(()),
        }
    }

    /// Counts until there is nothing to count.
    async fn tally_on(&self, engine: Arc<Engine>) -> Result<(), VerifyError> {
        let now = self.now;
        for _ in 0..STARTS_MAX {
            let followed = async {
                let mut tallies = TallyFollower::start(Arc::clone(&engine), 0, now).await?;
                while !tallies.is_at_rest() {
                    tallies.follow_page(&|| now).await?;
                }
                Ok::<_, FollowError>(())
            };
            match followed.await {
                Ok(()) => return Ok(()),
                Err(FollowError::Overtaken) => {}
                // Another wrote the head of a tally.
                Err(FollowError::Store(error)) if matches!(error.kind(), ErrorKind::Cancelled(_)) => {}
                Err(error) => return Err(VerifyError::Failed(format!("tallies cannot be kept: {error}"))),
            }
        }
        Err(VerifyError::Failed(
            "who keeps tallies is overtaken again and again".to_owned(),
        ))
    }

    async fn follow_and_end(&self, mut rng: Rng) -> Result<(), VerifyError> {
        let mortal = Mortal::mortal_after(self.store.clone(), 1 + rng.usize(..REQUESTS_MAX));
        let engine = self.engine_on(mortal.clone(), rng);
        tokio::select! {
            ended = self.follow_on(engine) => ended.map(|_| ()),
            () = mortal.ended.notified() => Ok(()),
        }
    }

    /// A process of its own, whose requests let those of others go first.
    fn engine_on(&self, store: Arc<dyn Store>, rng: Rng) -> Arc<Engine> {
        let store = Interleaved::interleaved_around(store, rng);
        let model = Arc::clone(self.sequence.engine.model());
        Arc::new(Engine::open(model, store, self.settings.clone(), [7; 32]))
    }

    async fn started(&self, engine: Arc<Engine>) -> Result<TriggerFollower, VerifyError> {
        let started = TriggerFollower::start(engine, Arc::new(Unobserved), self.now).await;
        started.map_err(|error| VerifyError::failed("a follower does not start", error))
    }

    /// Follows until there is nothing to follow and nothing is due.
    async fn follow_on(&self, engine: Arc<Engine>) -> Result<usize, VerifyError> {
        let now = self.now;
        for _ in 0..STARTS_MAX {
            let mut follower = self.started(Arc::clone(&engine)).await?;
            loop {
                let followed = async {
                    let page = follower.follow_page(&|| now).await?;
                    let fired = follower.fire_due(now).await?;
                    // Boxed: a sequence holds the future of every call in it.
                    let retried = Box::pin(follower.follow_orders(&|| now)).await?;
                    Ok::<_, FollowError>(page.records == 0 && fired == 0 && retried == 0)
                };
                match followed.await {
                    Ok(true) => {
                        if follower.gap_count() > 0 {
                            return Err(VerifyError::Differs("a follower has a gap".to_owned()));
                        }
                        return Ok(follower.parked_changes().len());
                    }
                    Ok(false) => {}
                    Err(FollowError::Overtaken) => break,
                    Err(error) => return Err(VerifyError::Differs(format!("a follower cannot go on: {error}"))),
                }
            }
        }
        Err(VerifyError::Failed(
            "a follower is overtaken again and again".to_owned(),
        ))
    }
}

fn places_of(sequence: &WriteSequence) -> FollowSetting<'_> {
    FollowSetting {
        model: &sequence.judge,
        setting: sequence.engine.setting(),
    }
}
