//! Tallies: counts and sums of rows by groups, kept as rows change.
//!
//! One follower keeps all tallies of a model. What a page of changes comes to in each group is written in one transaction with the position
//! after the page, on condition of the position before it: every change counts once, whoever else follows and whenever a process ends. That
//! condition is the only fence; the lease saves work.
//!
//! # Terms
//!
//! - A *generation* is one set of figures of a tally. What is [built](building) anew is another one, which counts when the head of
//!   the tally names it.
//! - A tally is *broken* where its figures cannot be kept: a sum of too many digits, changes that were gone. It then counts nothing until it is
//!   built anew.

mod building;
mod heads;
mod netted;

use std::sync::Arc;

use singlet_item::{Item, Value};
use singlet_model::Model;
use singlet_model::evaluate::EvaluateError;
use singlet_runtime::{Engine, GroupValues, TallyFigures, TallyHead, figure_values, group_row};
use singlet_store::{
    Cancellation, ErrorKind, Path, STREAM_PAGE_RECORDS_MAX, StoreError, TransactWrite, Update, UpdateRequest,
    UpdateReturn,
};

use self::building::{BuildError, Building};
use self::heads::{KnownTally, remove_generation, remove_other_generations, take_over};
use self::netted::{Moved, Netted, in_tally};
use crate::decode::ChangeDecoder;
use crate::follow::{COMMIT_WRITES_MAX, Follower};
use crate::followers::{FollowError, Followers};
use crate::lease::Lease;
use crate::reader::{ChangePage, Told};
use crate::triggers::followers_of;

pub use building::BUILT_ROWS_MAX;

/// The name under which all tallies of a model follow. No other follower can have it.
pub const TALLIES_FOLLOWER: &str = "$tallies";

/// The name of the lease of who keeps them.
const LEASE: &str = "tallies";

/// How long figures that do not count any more are left to who is still reading them.
const PAST_MILLIS: i64 = 60_000;

/// How many pages are of fewer records after one that had too many groups for a transaction.
const SMALL_PAGES: u32 = 16;

/// What one page came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TalliesFollowed {
    /// Records of the page, of rows or not.
    pub records: usize,
    /// Groups whose figures changed.
    pub groups: usize,
    /// Tallies whose figures were built and count from now on.
    pub built: usize,
    /// When the newest change of the page happened, in seconds since 1970.
    pub newest_at: Option<i64>,
}

/// How a tally is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TallyState {
    /// Its name.
    pub name: String,
    /// Whether its figures count.
    pub is_kept: bool,
    /// Whether they are to be built anew.
    pub is_asked: bool,
    /// Why they are kept no longer.
    pub broken: Option<String>,
}

/// One that keeps the tallies of a model.
pub struct TallyFollower {
    engine: Arc<Engine>,
    followers: Followers,
    follower: Follower,
    decoder: ChangeDecoder,
    known: Vec<KnownTally>,
    building: Vec<Option<Building>>,
    /// How long after a scan the stream may still tell what was before its end.
    settle_millis: i64,
    page_records: u32,
    small_pages: u32,
}

impl TallyFollower {
    /// Goes on where the last one was; the first begins with what is there. `settle_millis` is how late the stream of the store
    /// may be.
    ///
    /// # Errors
    ///
    /// Where the store fails, or another process does the same now.
    pub async fn start(engine: Arc<Engine>, settle_millis: i64, now_millis: i64) -> Result<Self, FollowError> {
        let followers = followers_of(&engine);
        // Before following: a tally that was removed and came back must not count on what it had.
        take_over(&engine, &followers).await?;
        let now = now_millis.div_euclid(1_000);
        let follower = Follower::start_kept(followers.clone(), TALLIES_FOLLOWER, now).await?;
        let mut this = TallyFollower {
            decoder: ChangeDecoder::new(Arc::clone(engine.model())),
            engine,
            followers,
            // Who is given what was before a scan builds on the scan.
            follower: follower.with_earlier(),
            known: Vec::new(),
            building: Vec::new(),
            settle_millis,
            page_records: STREAM_PAGE_RECORDS_MAX,
            small_pages: 0,
        };
        this.look_at_heads(now_millis).await?;
        Ok(this)
    }

    /// The lease of who keeps them, for a process that is not alone.
    pub fn tally_lease(engine: &Arc<Engine>) -> Lease {
        Lease::new(followers_of(engine), LEASE)
    }

    /// Whether all that happened is counted, and nothing is being built.
    pub fn is_at_rest(&self) -> bool {
        self.follower.is_at_head() && !self.is_building()
    }

    /// Whether figures are being built.
    pub fn is_building(&self) -> bool {
        self.building.iter().any(Option::is_some)
    }

    /// Whether it has come to what happened after an instant, in seconds since 1970, and nothing is being built.
    pub fn has_passed(&self, seconds: i64) -> bool {
        self.follower.has_passed(seconds) && !self.is_building()
    }

    /// Looks what the table says of each tally, begins to build what must be built, and removes figures that do not count any more.
    ///
    /// # Errors
    ///
    /// Where the store fails, or another process does the same now.
    pub async fn look_at_heads(&mut self, now_millis: i64) -> Result<(), FollowError> {
        let mut known = Vec::new();
        let model = Arc::clone(self.engine.model());
        for tally in &model.tallies {
            known.push(KnownTally::read(&self.followers, tally).await?);
        }
        self.known = known;
        self.building.resize_with(self.known.len(), || None);
        // Before anything is built: what was built of the stream before a gap is wrong.
        self.break_by_gaps().await?;
        for (known, building) in self.known.iter_mut().zip(&mut self.building) {
            let is_past = |(_, since): &(i64, i64)| now_millis.saturating_sub(*since) > PAST_MILLIS;
            if let Some((generation, _)) = known.head.past.filter(is_past) {
                remove_generation(&self.engine, &self.followers, &known.tally.name, generation).await?;
                let head = TallyHead {
                    past: None,
                    ..known.head.clone()
                };
                known.put_head(&self.followers, head).await?;
            }
            // One at a time of each tally: the memory of what it has scanned is in this process.
            if building.is_some() || !known.needs_building() {
                continue;
            }
            let generation = known.next_generation();
            let head = TallyHead {
                building: Some(generation),
                ..known.head.clone()
            };
            // Said in the table before a row of it is written: another process then knows of the generation.
            known.put_head(&self.followers, head).await?;
            // Only now: what another process was building might have come to count before the head said otherwise.
            let counting = [known.head.live, known.head.past.map(|(past, _)| past)];
            let counting: Vec<i64> = counting.into_iter().flatten().collect();
            remove_other_generations(&self.engine, &self.followers, &known.tally.name, &counting).await?;
            *building = Some(Building::new(generation));
        }
        Ok(())
    }

    /// Changes that were gone before they were counted make all figures wrong.
    async fn break_by_gaps(&mut self) -> Result<(), FollowError> {
        if self.follower.noted_progress().gaps.is_empty() {
            return Ok(());
        }
        for (known, building) in self.known.iter_mut().zip(&mut self.building) {
            // What was built of the stream before the gap is wrong, too.
            *building = None;
            let head = TallyHead {
                is_asked: true,
                broken: Some("changes were gone before they were counted".to_owned()),
                ..known.head.clone()
            };
            known.put_head(&self.followers, head).await?;
        }
        // The heads say it now, until the figures are counted again.
        // After the heads are written: killed between the two, the gap is found again.
        self.follower.forget_gaps();
        Ok(())
    }

    /// Reads a page, and writes what it comes to with the position after it. Where figures are built, it scans some rows besides.
    ///
    /// # Errors
    ///
    /// Where the store fails, or another process is further: then it is started anew. What was not written comes again.
    pub async fn follow_page(&mut self, clock: &(dyn Fn() -> i64 + Sync)) -> Result<TalliesFollowed, FollowError> {
        let page = self.follower.next_page(clock().div_euclid(1_000)).await?;
        // A page behind a gap must not be counted onto figures that lack what was gone.
        if !self.follower.noted_progress().gaps.is_empty() {
            self.look_at_heads(clock()).await?;
        }
        let mut followed = TalliesFollowed {
            records: page.told.len() + page.nothing + page.unknown + page.earlier,
            newest_at: newest_at(&page),
            ..TalliesFollowed::default()
        };
        let moved: Vec<Moved> = page.told.iter().map(|told| Moved::of(&self.decoder, told)).collect();
        match self.count_page(&moved, clock).await? {
            Some(groups) => followed.groups = groups,
            // It comes again, in parts.
            None => return Ok(followed),
        }
        for at in 0..self.building.len() {
            followed.built += usize::from(self.build(at, &moved, clock).await?);
        }
        Ok(followed)
    }

    /// Writes what a page comes to in the figures that count; nothing, where it has too many groups and is read again.
    async fn count_page(
        &mut self,
        moved: &[Moved],
        clock: &(dyn Fn() -> i64 + Sync),
    ) -> Result<Option<usize>, FollowError> {
        let now = clock().div_euclid(1_000);
        let mut broken: Vec<Option<String>> = vec![None; self.known.len()];
        let mut netted: Vec<Netted> = Vec::new();
        for (known, broken) in self.known.iter().zip(&mut broken) {
            let mut of_tally = Netted::default();
            // What is broken or of another definition is not added to: it is built anew.
            if known.kept_generation().is_some() {
                *broken = self
                    .net(known, moved, &mut of_tally)
                    .err()
                    .map(|error| error.to_string());
            }
            netted.push(of_tally);
        }
        let groups: usize = netted.iter().map(Netted::len).sum();
        // A page must be one transaction with its position, or a killed process would count a part of it twice.
        if groups + self.known.len() > COMMIT_WRITES_MAX && self.page_records > 1 {
            self.page_records = (self.page_records / 2).max(1);
            self.small_pages = SMALL_PAGES;
            self.follower.read_again(self.page_records);
            return Ok(None);
        }
        // Nothing to write but the position, which is noted now and then.
        if groups == 0 && broken.iter().all(Option::is_none) {
            self.follower.note_progress(now).await?;
        } else {
            self.commit(netted, broken, now).await?;
        }
        self.read_larger_pages();
        Ok(Some(groups))
    }

    fn net(&self, known: &KnownTally, moved: &[Moved], netted: &mut Netted) -> Result<(), EvaluateError> {
        for moved in moved {
            let row = |row| in_tally(&self.engine, &known.tally, row);
            let (before, after) = (row(moved.before.as_ref())?, row(moved.after.as_ref())?);
            netted.move_row(before, after)?;
        }
        Ok(())
    }

    /// What comes after pages with many groups may have few.
    fn read_larger_pages(&mut self) {
        if self.page_records == STREAM_PAGE_RECORDS_MAX {
            return;
        }
        self.small_pages = self.small_pages.saturating_sub(1);
        if self.small_pages == 0 {
            self.page_records = STREAM_PAGE_RECORDS_MAX;
            self.follower.set_page_records(self.page_records);
        }
    }

    /// One transaction: the position, the figures of each group, and for each tally that cannot be kept that it is not.
    async fn commit(
        &mut self,
        netted: Vec<Netted>,
        mut broken: Vec<Option<String>>,
        now: i64,
    ) -> Result<(), FollowError> {
        let netted: Vec<Vec<(GroupValues, TallyFigures)>> = netted
            .into_iter()
            .map(|netted| netted.into_groups().collect())
            .collect();
        loop {
            let (writes, known) = self.writes(&netted, &broken)?;
            let committed = self.follower.commit(self.engine.store().as_ref(), writes, now).await;
            match committed {
                Ok(()) => {
                    // Only where it was written: the heads have turns, on which the next write is conditioned.
                    self.known = known;
                    return Ok(());
                }
                // A number that leaves its range is refused by the store: only sums grow so far.
                // The tally breaks and the page goes on: a sum that cannot be kept must not hold up the others.
                Err(FollowError::Store(error)) if is_out_of_range(&error) => {
                    let mut is_other = false;
                    for ((known, netted), broken) in self.known.iter().zip(&netted).zip(&mut broken) {
                        if !known.tally.sums.is_empty() && !netted.is_empty() && broken.is_none() {
                            *broken = Some(format!("a sum cannot be kept: {error}"));
                            is_other = true;
                        }
                    }
                    if !is_other {
                        return Err(FollowError::Store(error));
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn writes(
        &self,
        netted: &[Vec<(GroupValues, TallyFigures)>],
        broken: &[Option<String>],
    ) -> Result<(Vec<TransactWrite>, Vec<KnownTally>), FollowError> {
        let mut writes = Vec::new();
        let mut after = Vec::new();
        for ((known, netted), broken) in self.known.iter().zip(netted).zip(broken) {
            if let Some(reason) = broken {
                let head = TallyHead {
                    broken: Some(reason.clone()),
                    ..known.head.clone()
                };
                let (put, known) = known.write(&self.followers, head)?;
                writes.push(TransactWrite::Put(put));
                after.push(known);
                continue;
            }
            if let Some(generation) = known.kept_generation() {
                for (group, figures) in netted {
                    let row = group_row(self.engine.model(), &known.tally.name, generation, group)?;
                    writes.push(TransactWrite::Update(self.add_figures(row, figures)));
                }
            }
            after.push(known.clone());
        }
        Ok((writes, after))
    }

    fn add_figures(&self, row: Item, figures: &TallyFigures) -> UpdateRequest {
        let key = self.followers.key_of(&row);
        let mut update = Update::new();
        for (name, value) in row.into_iter().filter(|(name, _)| !key.contains_key(name)) {
            update = update.set(Path::attribute(name), value);
        }
        for (name, number) in figure_values(figures) {
            // Added by the store to what is there, under the one condition on the position.
            update = update.add(Path::attribute(name), Value::N(number));
        }
        UpdateRequest {
            table: self.engine.model().table.name.clone(),
            key,
            update,
            condition: None,
            returns: UpdateReturn::Nothing,
        }
    }

    /// Goes on building the figures of a tally; whether they count now.
    async fn build(
        &mut self,
        at: usize,
        moved: &[Moved],
        clock: &(dyn Fn() -> i64 + Sync),
    ) -> Result<bool, FollowError> {
        match self.try_build(at, moved, clock).await {
            Ok(built) => Ok(built),
            Err(BuildError::Follow(error)) => Err(error),
            Err(BuildError::Unbuildable(reason)) => {
                if let (Some(known), Some(building)) = (self.known.get_mut(at), self.building.get_mut(at)) {
                    *building = None;
                    let head = TallyHead {
                        // Some figures that nobody keeps, so that it is not begun again and again.
                        live: Some(known.head.live.unwrap_or_default()),
                        definition: known.tally.definition.clone(),
                        is_asked: false,
                        broken: Some(reason),
                        ..known.head.clone()
                    };
                    known.put_head(&self.followers, head).await?;
                }
                Ok(false)
            }
        }
    }

    async fn try_build(
        &mut self,
        at: usize,
        moved: &[Moved],
        clock: &(dyn Fn() -> i64 + Sync),
    ) -> Result<bool, BuildError> {
        let (Some(known), Some(Some(building))) = (self.known.get(at), self.building.get_mut(at)) else {
            return Ok(false);
        };
        for moved in moved {
            // Also while it is scanned: what the stream tells counts over what the scan sees.
            building.tell_moved(&self.engine, known, moved)?;
        }
        let Some(scanned_at) = building.scanned_at() else {
            let read_by = (&self.decoder, &self.followers);
            building.scan_page(&self.engine, read_by, known, clock()).await?;
            // What happened while it was scanned is read before anything is said of it.
            self.follower.leave_head();
            return Ok(false);
        };
        // The stream may be late: what happened before the end of the scan must have been told.
        let is_settled = clock().saturating_sub(scanned_at) >= self.settle_millis;
        if !self.follower.is_at_head() || !is_settled {
            return Ok(false);
        }
        // Before the head names them, so that nobody reads half of them.
        building.write_figures(&self.engine, known).await?;
        let generation = building.generation;
        self.publish(at, generation, clock()).await?;
        Ok(true)
    }

    /// Has figures count from now on: one transaction with the position of which they are true.
    async fn publish(&mut self, at: usize, generation: i64, now_millis: i64) -> Result<(), FollowError> {
        let Some(known) = self.known.get_mut(at) else {
            return Ok(());
        };
        // Who asked meanwhile gets what was built.
        *known = KnownTally::read(&self.followers, &known.tally).await?;
        // Another process began anew. Were this one to count, nobody would know of the other's rows, and its number would come again.
        if known.head.building != Some(generation) {
            return Err(FollowError::Overtaken);
        }
        let head = TallyHead {
            live: Some(generation),
            definition: known.tally.definition.clone(),
            building: None,
            // The old figures stay for a while: a reader may have read the head before it changed.
            past: known.head.live.map(|live| (live, now_millis)),
            is_asked: false,
            broken: None,
        };
        let (put, published) = known.write(&self.followers, head)?;
        let writes = vec![TransactWrite::Put(put)];
        let now = now_millis.div_euclid(1_000);
        self.follower.commit(self.engine.store().as_ref(), writes, now).await?;
        *known = published;
        if let Some(building) = self.building.get_mut(at) {
            *building = None;
        }
        Ok(())
    }
}

/// Asks for the figures of a tally to be built anew, by whoever keeps them.
///
/// # Errors
///
/// Where there is no such tally, or the store fails.
pub async fn ask_for_figures(followers: &Followers, tally: &str) -> Result<(), FollowError> {
    let model = Arc::clone(followers.model());
    let tally = model.tallies.iter().find(|known| known.name == tally);
    let tally = tally.ok_or_else(|| FollowError::Refused("there is no such tally".to_owned()))?;
    heads::ask_for(followers, tally).await
}

/// How every tally of a model is.
///
/// # Errors
///
/// Where the store fails.
pub async fn tally_states(followers: &Followers) -> Result<Vec<TallyState>, FollowError> {
    let model: Arc<Model> = Arc::clone(followers.model());
    let mut all = Vec::new();
    for tally in &model.tallies {
        let known = KnownTally::read(followers, tally).await?;
        all.push(TallyState {
            name: tally.name.clone(),
            is_kept: known.kept_generation().is_some(),
            is_asked: known.needs_building(),
            broken: known.head.broken,
        });
    }
    Ok(all)
}

/// Forgets the tallies of a model that has none any more, with their figures.
pub(crate) async fn forget_tallies(engine: &Arc<Engine>) -> Result<(), FollowError> {
    let followers = followers_of(engine);
    let is_known = followers.names().await?.iter().any(|name| name == TALLIES_FOLLOWER);
    if !engine.model().tallies.is_empty() || !is_known {
        return Ok(());
    }
    take_over(engine, &followers).await?;
    followers.forget_follower(TALLIES_FOLLOWER).await
}

/// Whether the store refused a number.
fn is_out_of_range(error: &StoreError) -> bool {
    let is_invalid = |reason: &Cancellation| matches!(reason, Cancellation::Invalid(_));
    match error.kind() {
        ErrorKind::BadRequest => true,
        ErrorKind::Cancelled(reasons) => reasons.iter().any(is_invalid),
        _ => false,
    }
}

fn newest_at(page: &ChangePage) -> Option<i64> {
    let at = page.told.iter().map(|told| match told {
        Told::Change(change) => change.at_seconds,
        Told::Misfit(misfit) => misfit.record.at_seconds,
    });
    at.max()
}
