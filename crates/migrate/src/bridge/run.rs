//! A bridge from its beginning, or from wherever it is: phase by phase, while both models serve.
//!
//! **Invariant: what a phase counts on was reached by everybody before it begins.** The mode of a process is changed once no write of
//! the phase before is under way; only then the table is read.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use singlet_audit::Pacer;
use singlet_evolve::bridge_hindrances;
use singlet_face::{Company, Face, face_differences};
use singlet_item::Item;
use singlet_runtime::{
    AuditDepth, Engine, Migration, MigrationPhase, TableControl, audit_rows, key_in, retried_past_conflicts, row, table,
};
use singlet_store::{Consumed, IndexKind, ScanRequest, TableChange};

use super::hindrances::{live_hindrances, shared_hindrances};
use super::layer::BridgeStore;
use super::pass::Pass;
use super::roll::{ProcessTimes, Roll};
use super::state::{BridgeSide, BridgeState, FOLLOWED_ELSEWHERE, Mode};
use super::twins::{Keeping, Stamping, Twins, Withheld};
use super::write::Writing;
use crate::error::{MigrateError, RowMisfit};
use crate::gate::gated_bridge;
use crate::migrator::{MigrateOptions, MigrateProgress};
use crate::report::MISFITS_SHOWN_MAX;
use crate::survey::Claims;
use crate::table_steps::{TableStep, wait_for_table};

/// How often a phase is begun anew because somebody else went on.
const TURNS_MAX: usize = 100;

/// How often rows are audited before what is found is believed: somebody may write them meanwhile.
const AUDITS_MAX: usize = 3;

const BEFORE: &str = "the bridge has not begun yet";

/// What a side does in a phase, by what is known of the other one.
type ModeOf = fn(BridgeSide, MigrationPhase, &Arc<Twins>, u64) -> Mode;

/// How far a bridge goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BridgeGoal {
    /// Both models serve.
    Both,
    /// The new model alone is left.
    NewAlone,
    /// The old model alone is left, as it was.
    OldAlone,
}

/// What a bridge would do to the rows of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BridgePlan {
    /// Items that were read.
    pub items: u64,
    /// Rows that the new model has otherwise.
    pub rows: u64,
    /// Indexes that are made.
    pub indexes: Vec<String>,
    /// Rows that cannot be rows of both models: how many, and the first.
    pub misfits: u64,
    /// The first of them.
    pub first_misfits: Vec<RowMisfit>,
}

/// Two models on one table: in one process which nobody else shares the table with, or led by one of several.
#[derive(Debug)]
pub struct Bridge {
    pub(super) old: Arc<Engine>,
    pub(super) new: Arc<Engine>,
    source: String,
    target: String,
    /// How the old model sees the new one's rows, and the other way round.
    pub(super) of_old: Arc<Twins>,
    pub(super) of_new: Arc<Twins>,
    old_state: Arc<BridgeState>,
    new_state: Arc<BridgeState>,
    /// What is done with the calls of who follows the changes of either.
    old_following: Arc<BridgeState>,
    new_following: Arc<BridgeState>,
    pub(super) options: MigrateOptions,
    pub(super) clock: fn() -> i64,
    /// Who else is at work, where others may be.
    pub(super) roll: Option<Roll>,
}

impl Bridge {
    /// Of two engines on one store. Nothing is changed.
    ///
    /// # Errors
    ///
    /// Where the table knows no model, another migration is under way, the models cannot run at once, or the store fails.
    pub async fn open(
        old: Engine,
        new: Engine,
        options: MigrateOptions,
        clock: fn() -> i64,
    ) -> Result<Self, MigrateError> {
        let faces = (old.face_in_table().await?, new.face_in_table().await?);
        let (source, target) = (faces.0.face_hash(), faces.1.face_hash());
        let control = old.table_control().await?.ok_or(MigrateError::Unknown)?;
        match control.current_migration() {
            Some(migration) if !migration.phase.is_bridge() || migration.target != target || migration.drops => {
                return Err(MigrateError::Another(migration.clone()));
            }
            Some(migration) if migration.source.as_ref().is_some_and(|from| *from != source) => {
                return Err(MigrateError::NotFrom("the bridge leads from another one".to_owned()));
            }
            _ => {}
        }
        if !is_ended(&control, &target) {
            check_writers(&old, &control, &faces.0).await?;
        }
        let mut hindrances = bridge_hindrances(
            (old.model(), &old.setting().settings),
            (new.model(), &new.setting().settings),
        );
        // Only before it begins: later the table is on its way, and differs from either model.
        if control.current_migration().is_none() && !is_ended(&control, &target) {
            let live = old.store().describe_table(&old.model().table.name).await?.spec;
            hindrances.extend(live_hindrances(old.model(), new.model(), &live));
            hindrances.sort();
        }
        hindrances.dedup();
        if !hindrances.is_empty() {
            return Err(MigrateError::NoBridge(hindrances));
        }
        let (old, new) = (Arc::new(old), Arc::new(new));
        let of_old = Arc::new(Twins::new(Arc::clone(&old), Arc::clone(&new), (&faces.0, &faces.1)));
        let of_new = Arc::new(Twins::new(Arc::clone(&new), Arc::clone(&old), (&faces.1, &faces.0)));
        let bridge = Bridge {
            old,
            new,
            source,
            target,
            of_old,
            of_new,
            old_state: Arc::new(BridgeState::new(Mode::ALONE)),
            new_state: Arc::new(BridgeState::new(Mode::Shut(BEFORE))),
            old_following: Arc::new(BridgeState::new(Mode::ALONE)),
            new_following: Arc::new(BridgeState::new(Mode::Shut(BEFORE))),
            options,
            clock,
            roll: None,
        };
        // Before anybody is served by it.
        bridge.adopt(&control).await;
        Ok(bridge)
    }

    /// The same for a table that several processes share, each of which takes part by itself ([`TableMember`](crate::TableMember)): this
    /// one serves nothing, and leads them from phase to phase.
    ///
    /// # Errors
    ///
    /// As [`Bridge::open`].
    pub async fn lead(
        old: Engine,
        new: Engine,
        options: MigrateOptions,
        (times, clock): (ProcessTimes, fn() -> i64),
    ) -> Result<Self, MigrateError> {
        let bridge = Bridge::open(old, new, options, clock).await?;
        let (old, new) = (bridge.old.face_in_table().await?, bridge.new.face_in_table().await?);
        let key = |face: &Face, name: &str| face.entities.get(name).map(|entity| entity.key.clone());
        let is_moved = |name: &str| key(&old, name) != key(&new, name);
        let hindrances = shared_hindrances(bridge.old.model(), bridge.new.model(), is_moved);
        if !hindrances.is_empty() {
            return Err(MigrateError::NoBridge(hindrances));
        }
        Ok(Bridge {
            roll: Some(Roll::new(times, clock)),
            ..bridge
        })
    }

    /// An engine of one of the models, which serves as the phase lets it.
    pub fn engine(&self, side: BridgeSide) -> Engine {
        let (engine, state, following) = match side {
            BridgeSide::Old => (&self.old, &self.old_state, &self.old_following),
            BridgeSide::New => (&self.new, &self.new_state, &self.new_following),
        };
        let followed = Arc::new(self.store_of(side, following));
        engine
            .on_store(Arc::new(self.store_of(side, state)))
            .followed_on(followed)
    }

    /// The same engine, by which no change is followed: another one on the same side does.
    pub fn unfollowed(&self, side: BridgeSide, engine: Engine) -> Engine {
        let state = Arc::new(BridgeState::new(Mode::Shut(FOLLOWED_ELSEWHERE)));
        engine.followed_on(Arc::new(self.store_of(side, &state)))
    }

    /// The store as one of the models sees it.
    pub(super) fn store_of(&self, side: BridgeSide, state: &Arc<BridgeState>) -> BridgeStore {
        let engine = match side {
            BridgeSide::Old => &self.old,
            BridgeSide::New => &self.new,
        };
        let table = (Arc::clone(engine.store()), engine.model().table.name.as_str());
        BridgeStore::new(table, Arc::clone(state), self.clock)
    }

    /// An engine of one of the models for a service: it lets nothing through, either, while writes stop for another migration.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn served(&self, side: BridgeSide) -> Result<Engine, MigrateError> {
        let raw = match side {
            BridgeSide::Old => &self.old,
            BridgeSide::New => &self.new,
        };
        let own = raw.face_in_table().await?.face_hash();
        Ok(gated_bridge(
            self.engine(side),
            raw.on_store(Arc::clone(raw.store())),
            own,
        ))
    }

    /// What it would do, by what lies in the table. Nothing is written.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn plan(&self) -> Result<BridgePlan, MigrateError> {
        let mut plan = BridgePlan {
            indexes: self.added_indexes(),
            ..BridgePlan::default()
        };
        let (mut claims, mut start) = (Claims::default(), None);
        loop {
            let page = self.page(start.take()).await?;
            plan.items += page.scanned as u64;
            for item in &page.items {
                self.plan_row(item, &mut plan, &mut claims).await?;
            }
            start = page.last_key;
            if start.is_none() {
                return Ok(plan);
            }
        }
    }

    async fn plan_row(&self, item: &Item, plan: &mut BridgePlan, claims: &mut Claims) -> Result<(), MigrateError> {
        let now = (self.clock)();
        let is_row = self.of_old.entity_of(item).is_some();
        // A row whose time has come is not taken along.
        if !is_row || row::has_expired(self.old.model(), item, now) {
            return Ok(());
        }
        plan.rows += 1;
        let stamping = Stamping::Epoch(0);
        let writing = Writing::new(self.old.store(), &self.of_old, (Keeping::Both, stamping), self.clock);
        let mut withheld = writing.becomes(item).await?.err();
        for name in self.of_old.names_of_other(item) {
            withheld = withheld.or_else(|| {
                Some(Withheld(format!(
                    "it has `{name}`, which the old model does not know and an abort would remove"
                )))
            });
        }
        if withheld.is_none()
            && let Ok(keys) = self.of_old.keys_of_other(item, now)
        {
            // Two rows with one place in the new model: found before anything is written.
            let taken = keys.iter().any(|key| !claims.claim_key(key));
            withheld =
                taken.then(|| Withheld("another row has its place or its unique value in the new model".to_owned()));
        }
        if let Some(withheld) = withheld {
            plan.misfits += 1;
            if plan.first_misfits.len() < MISFITS_SHOWN_MAX {
                plan.first_misfits.push(self.misfit(item, &withheld));
            }
        }
        Ok(())
    }

    /// Goes from wherever it is to a goal, and waits for what is under way before each phase.
    ///
    /// # Errors
    ///
    /// Where it cannot be reached, or the store fails: both models serve on as far as they do, and the same call goes on.
    pub async fn reach(
        &self,
        goal: BridgeGoal,
        progress: &(dyn Fn(MigrateProgress) + Sync),
    ) -> Result<Consumed, MigrateError> {
        let Some(roll) = &self.roll else {
            return self.go(goal, progress).await;
        };
        let reached = tokio::select! {
            reached = self.go(goal, progress) => reached,
            () = roll.keep_saying(&self.old) => Err(MigrateError::Asleep),
        };
        // Also where it failed, or others would wait for it.
        roll.leave(&self.old).await;
        reached
    }

    async fn go(
        &self,
        goal: BridgeGoal,
        progress: &(dyn Fn(MigrateProgress) + Sync),
    ) -> Result<Consumed, MigrateError> {
        use MigrationPhase as Phase;
        let consumed = Mutex::new(Consumed::default());
        let pacer = Pacer::new(self.options.rate);
        for _ in 0..TURNS_MAX {
            let control = self.old.table_control().await?.ok_or(MigrateError::Unknown)?;
            // The modes first, and then what the phase counts on.
            self.adopt(&control).await;
            // No row is touched before every process has this phase behind it.
            if !self.is_reached_by_all(&control).await? {
                continue;
            }
            let pass = Pass {
                bridge: self,
                stamping: self.stamping(&control),
                consumed: &consumed,
                pacer: &pacer,
                progress,
                phase: Phase::Announce,
            };
            let Some(migration) = control.current_migration() else {
                let is_new = is_ended(&control, &self.target);
                match goal {
                    BridgeGoal::NewAlone | BridgeGoal::Both if is_new => break,
                    BridgeGoal::OldAlone if is_new => return Err(MigrateError::NothingToAbort),
                    BridgeGoal::OldAlone => break,
                    _ => {}
                }
                let plan = self.plan().await?;
                // Before the phase is noted: a table that cannot be bridged is left as it is.
                if plan.misfits > 0 {
                    return Err(MigrateError::Unbridged(plan.misfits, plan.first_misfits));
                }
                self.check_faces(&control, &[&self.source]).await?;
                let migration = Migration {
                    phase: Phase::Announce,
                    target: self.target.clone(),
                    source: Some(self.source.clone()),
                    drops: false,
                };
                self.new.begin_bridge(&control, &migration).await?;
                continue;
            };
            let pass = Pass {
                phase: migration.phase,
                ..pass
            };
            let next = match (goal, migration.phase) {
                (BridgeGoal::OldAlone, Phase::Contract) => return Err(MigrateError::TooLate(Phase::Contract)),
                (BridgeGoal::OldAlone, phase) if phase != Phase::Withdraw && phase != Phase::Retreat => Phase::Withdraw,
                (_, Phase::Announce) => {
                    // Whoever shares the table and says nothing of itself has closed by then.
                    tokio::time::sleep(self.options.settles_for).await;
                    Phase::Expand
                }
                (_, Phase::Expand) => Phase::Backfill,
                (_, Phase::Backfill) => {
                    // Rows before indexes: an index that is made then has what the new model needs.
                    pass.until_still(BridgeSide::Old, Keeping::Both).await?;
                    self.make_indexes().await?;
                    Phase::Verify
                }
                (_, Phase::Verify) => {
                    pass.until_still(BridgeSide::Old, Keeping::Both).await?;
                    self.verify(&control).await?;
                    Phase::Switch
                }
                (BridgeGoal::Both, Phase::Switch) => break,
                (_, Phase::Switch) => {
                    // A process of the old model that still serves would go on writing for the old one alone.
                    self.check_faces(&control, &[&self.target]).await?;
                    Phase::Settle
                }
                (_, Phase::Settle) => {
                    self.check_faces(&control, &[&self.target]).await?;
                    match self.is_followed() {
                        true => {
                            self.bring_followers(&control).await?;
                            Phase::Rest
                        }
                        false => Phase::Contract,
                    }
                }
                (_, Phase::Rest) => {
                    self.check_faces(&control, &[&self.target]).await?;
                    match self.hand_over(&control).await {
                        Ok(()) => Phase::Contract,
                        Err(error) => {
                            self.leave_rest(&control, migration).await?;
                            return Err(error);
                        }
                    }
                }
                (_, Phase::Contract) => {
                    // After it nothing is left of the old model, so that only now the control row may forget it.
                    pass.until_still(BridgeSide::New, Keeping::OwnAlone).await?;
                    self.let_indexes_forget().await;
                    self.new.end_migration(&control).await?;
                    continue;
                }
                // Whoever gave it up is not overruled.
                (BridgeGoal::Both | BridgeGoal::NewAlone, Phase::Withdraw | Phase::Retreat) => {
                    return Err(MigrateError::Aborting);
                }
                (_, Phase::Withdraw) => Phase::Retreat,
                (_, Phase::Retreat) => {
                    pass.until_still(BridgeSide::Old, Keeping::OwnAlone).await?;
                    self.let_indexes_forget().await;
                    self.remove_indexes().await?;
                    self.old.abandon_bridge(&control).await?;
                    continue;
                }
                (_, Phase::Look | Phase::Rows | Phase::Finish | Phase::Abort) => {
                    return Err(MigrateError::Another(migration.clone()));
                }
            };
            let next = Migration {
                phase: next,
                ..migration.clone()
            };
            // On condition of the epoch: of two who lead, one goes on.
            self.old.set_migration(&control, Some(&next)).await?;
        }
        Ok(consumed.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Says that this process is at this phase, and waits until all others are; whether the table still says the same.
    async fn is_reached_by_all(&self, control: &TableControl) -> Result<bool, MigrateError> {
        let Some(roll) = &self.roll else { return Ok(true) };
        roll.say(&self.old, control, control.epoch()).await?;
        let now = self.old.table_control().await?;
        // Whoever went on before that has not waited for this process.
        if now.is_none_or(|now| now.epoch() != control.epoch()) {
            return Ok(false);
        }
        roll.all_have_reached(&self.old, control).await
    }

    /// That no process is at work of a model other than those allowed.
    async fn check_faces(&self, control: &TableControl, allowed: &[&str]) -> Result<(), MigrateError> {
        match &self.roll {
            Some(roll) => roll.check_faces(&self.old, control, allowed).await,
            None => Ok(()),
        }
    }

    /// The phase that the table is in; none where there is no bridge.
    ///
    /// # Errors
    ///
    /// Where the store fails.
    pub async fn phase(&self) -> Result<Option<MigrationPhase>, MigrateError> {
        Ok(self.old.migration_phase().await?)
    }

    /// Has both models do what the table says, once no write of before is under way.
    pub(super) async fn adopt(&self, control: &TableControl) {
        let epoch = control.epoch();
        let states = [
            (Mode::of as ModeOf, &self.old_state, &self.new_state),
            (Mode::of_follower, &self.old_following, &self.new_following),
        ];
        for (mode_of, old_state, new_state) in states {
            let (old, new) = match control.current_migration() {
                Some(migration) => (
                    mode_of(BridgeSide::Old, migration.phase, &self.of_old, epoch),
                    mode_of(BridgeSide::New, migration.phase, &self.of_new, epoch),
                ),
                None if is_ended(control, &self.target) => (Mode::Shut(super::state::NO_MORE), Mode::ALONE),
                None => (Mode::ALONE, Mode::Shut(BEFORE)),
            }; // Whoever is shut is so before the other one relies on it.
            match old {
                // The order decides: the one that goes on alone must not begin before the other one is shut.
                Mode::Shut(_) => {
                    old_state.change(old).await;
                    new_state.change(new).await;
                }
                _ => {
                    new_state.change(new).await;
                    old_state.change(old).await;
                }
            }
        }
    }

    /// While images of one of the models go, rows lose what the bridge noted in them.
    pub(super) fn stamping(&self, control: &TableControl) -> Stamping {
        match control.current_migration() {
            Some(migration) => Stamping::in_phase(migration.phase, control.epoch()),
            None => Stamping::Epoch(control.epoch()),
        }
    }

    fn added_indexes(&self) -> Vec<String> {
        let known = table::table_spec(self.old.model()).indexes;
        let wanted = table::table_spec(self.new.model()).indexes.into_iter();
        let added = wanted.filter(|index| index.kind == IndexKind::Global);
        added
            .filter(|index| !known.iter().any(|known| known.name == index.name))
            .map(|index| index.name)
            .collect()
    }

    /// Whoever reads drops what is the other model's for as long as the table is on a bridge, and no longer: an index must not have it then.
    async fn let_indexes_forget(&self) {
        let has_indexes = !self.old.model().table.indexes.is_empty() || !self.new.model().table.indexes.is_empty();
        if has_indexes && self.of_old.moves_rows() {
            // An index may still show rows in the other model's place.
            tokio::time::sleep(self.late()).await;
        }
    }

    async fn make_indexes(&self) -> Result<(), MigrateError> {
        let (store, name) = (self.old.store(), &self.old.model().table.name);
        let added = self.added_indexes();
        for index in table::table_spec(self.new.model()).indexes {
            let live = store.describe_table(name).await?.spec;
            let is_there = live.indexes.iter().any(|known| known.name == index.name);
            if added.contains(&index.name) && !is_there {
                let step = TableStep::Change(TableChange::AddIndex(index));
                step.take(&**store, name).await?;
            }
        }
        Ok(wait_for_table(&**store, name).await?)
    }

    async fn remove_indexes(&self) -> Result<(), MigrateError> {
        let (store, name) = (self.old.store(), &self.old.model().table.name);
        for index in self.added_indexes() {
            wait_for_table(&**store, name).await?;
            let live = store.describe_table(name).await?.spec;
            if live.indexes.iter().any(|known| known.name == index) {
                let step = TableStep::Change(TableChange::RemoveIndex(index));
                step.take(&**store, name).await?;
            }
        }
        Ok(wait_for_table(&**store, name).await?)
    }

    /// Audits every row as the new model will read it.
    async fn verify(&self, control: &TableControl) -> Result<(), MigrateError> {
        let mode = Mode::Beside {
            twins: Arc::clone(&self.of_new),
            keeping: Keeping::Both,
            stamping: self.stamping(control),
            epoch: control.epoch(),
        };
        let state = Arc::new(BridgeState::new(mode));
        let table = (Arc::clone(self.new.store()), self.new.model().table.name.as_str());
        let store = BridgeStore::new(table, state, self.clock);
        let seen = self.new.on_store(Arc::new(store));
        let mut found = (0, Vec::new());
        for _ in 0..AUDITS_MAX {
            let audit = audit_rows(&seen, (self.clock)(), AuditDepth::Rows).await?;
            match audit.misfit_count() {
                0 => return Ok(()),
                count => found = (count, audit.first),
            }
        }
        let (count, mut first) = found;
        first.truncate(MISFITS_SHOWN_MAX);
        Err(MigrateError::Unsound(count, first))
    }

    pub(super) async fn page(&self, start: Option<Item>) -> Result<singlet_store::PageAnswer, MigrateError> {
        let request = ScanRequest {
            table: self.old.model().table.name.clone(),
            // A row that an old copy lacks would be left as it was.
            consistent: true,
            limit: Some(self.options.page_items),
            start,
            ..ScanRequest::default()
        };
        let store = self.old.store();
        Ok(retried_past_conflicts(self.old.bounds(), || store.scan(&request)).await?)
    }

    pub(super) fn misfit(&self, item: &Item, withheld: &Withheld) -> RowMisfit {
        let entity = singlet_runtime::load::entity_of_item(self.old.model(), item);
        RowMisfit {
            key: key_in(self.old.model(), item),
            entity: entity.map(|entity| entity.name.clone()).unwrap_or_default(),
            reason: withheld.to_string(),
        }
    }
}

/// Whether the table knows the new model alone.
fn is_ended(control: &TableControl, target: &str) -> bool {
    control.current_migration().is_none() && matches!(control.faces(), [only] if only == target)
}

/// The old model reads rightly whatever wrote rows that are there.
async fn check_writers(old: &Engine, control: &TableControl, face: &Face) -> Result<(), MigrateError> {
    let hash = face.face_hash();
    if !control.faces().contains(&hash) {
        return Err(MigrateError::NotFrom("the table does not know it".to_owned()));
    }
    let mut found = BTreeSet::new();
    for wrote in old.known_faces().await? {
        if wrote.face_hash() != hash {
            found.extend(
                face_differences(&wrote, face, Company::Alone)
                    .iter()
                    .map(|one| format!("\n  {one}")),
            );
        }
    }
    match found.is_empty() {
        true => Ok(()),
        false => Err(MigrateError::NotFrom(found.into_iter().collect())),
    }
}
