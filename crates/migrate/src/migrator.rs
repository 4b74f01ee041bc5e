//! A migration from its beginning, or from wherever it is, to its end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use singlet_audit::Pacer;
use singlet_changes::Followers;
use singlet_face::{Company, Face, face_differences};
use singlet_runtime::{Engine, Migration, MigrationPhase, RuntimeError, TableControl, table};
use singlet_store::{Consumed, TableSpec};

use crate::error::MigrateError;
use crate::images::Models;
use crate::pass::{Passed, Turning};
use crate::report::MigrationPlan;
use crate::step::Direction;
use crate::table_steps::{all_steps, steps_after, steps_before, table_hindrances};

/// How often the whole table is read in one phase. Each reading that finds something brings rows further; what is still in the way
/// of something else after so many stays there.
const PASSES_MAX: usize = 1_000;

/// How often a phase is begun anew because somebody else went on.
const TURNS_MAX: usize = 100;

/// How rows are changed.
#[derive(Clone, Copy, Debug)]
pub struct MigrateOptions {
    /// Whether what the new model does not have is removed.
    pub drops: bool,
    /// Write units a second that it may take; as many as it can, unless said.
    pub rate: Option<f64>,
    /// Rows on their way to the store at the same time.
    pub rows_at_once: usize,
    /// How many items a page has at most.
    pub page_items: u32,
    /// How long it waits, once the table says that it is migrated, until others have read that; and how long an abort waits before it
    /// ends, since a process that was asleep may still send what it had read before.
    pub settles_for: Duration,
}

impl Default for MigrateOptions {
    fn default() -> Self {
        MigrateOptions {
            drops: false,
            rate: None,
            rows_at_once: 32,
            page_items: 500,
            settles_for: Duration::ZERO,
        }
    }
}

/// How far a migration is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MigrateProgress {
    /// The phase.
    pub phase: MigrationPhase,
    /// Items that were read since the last time it was told.
    pub items: u64,
    /// Rows that this reading of the table has changed.
    pub written: u64,
}

/// What a migration came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Migrated {
    /// Whether there was nothing to do: the table knew the new model alone.
    pub was_done: bool,
    /// What it consumed, as far as this process saw to it.
    pub consumed: Consumed,
}

/// Two models on one table, and how its rows are changed from the one to the other.
pub struct Migrator<'e> {
    old: &'e Engine,
    new: &'e Engine,
    options: MigrateOptions,
    clock: &'e (dyn Fn() -> i64 + Sync),
    progress: &'e (dyn Fn(MigrateProgress) + Sync),
}

impl std::fmt::Debug for Migrator<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Migrator")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// What works in one phase.
pub(crate) struct Working<'m> {
    pub models: &'m Models<'m>,
    pub options: MigrateOptions,
    pub clock: &'m (dyn Fn() -> i64 + Sync),
    pub pacer: &'m Pacer,
    pub epoch: u64,
    pub consumed: &'m Mutex<Consumed>,
    /// The attributes that say what an item is, where the table has a stream that somebody may follow.
    pub leaves: Option<Vec<&'m String>>,
    phase: MigrationPhase,
    progress: &'m (dyn Fn(MigrateProgress) + Sync),
}

impl Working<'_> {
    pub fn tell_progress(&self, items: u64, written: u64) {
        (self.progress)(MigrateProgress {
            phase: self.phase,
            items,
            written,
        });
    }

    /// Read units that were consumed.
    pub fn consumed_units(&self) -> f64 {
        let consumed = self.consumed.lock().unwrap_or_else(PoisonError::into_inner);
        consumed.total_units().read.half_count() as f64 / 2.0
    }
}

impl<'e> Migrator<'e> {
    /// Of a table that both engines are open on. The clock gives epoch milliseconds.
    pub fn new(
        (old, new): (&'e Engine, &'e Engine),
        options: MigrateOptions,
        clock: &'e (dyn Fn() -> i64 + Sync),
        progress: &'e (dyn Fn(MigrateProgress) + Sync),
    ) -> Self {
        Migrator {
            old,
            new,
            options,
            clock,
            progress,
        }
    }

    /// What it would do, by what lies in the table. Nothing is written.
    ///
    /// # Errors
    ///
    /// Where the models or the table do not allow it, another migration is under way, or the store fails.
    pub async fn migration_plan(&self) -> Result<MigrationPlan, MigrateError> {
        let faces = self.faces().await?;
        let control = self.control().await?;
        if let Some(migration) = control.current_migration() {
            return Err(MigrateError::Another(migration.clone()));
        }
        let live = self.checked(&control, &faces).await?;
        let models = Models::new(self.old, self.new, faces, self.options.drops);
        let (consumed, pacer) = (Mutex::default(), Pacer::new(None));
        let working = self.working(&models, &control, MigrationPhase::Look, (&consumed, &pacer));
        self.surveyed(&working, &live).await
    }

    /// Begins, or goes on, and comes to the end.
    ///
    /// # Errors
    ///
    /// Where it cannot be done: then nothing was changed, or the same call goes on once the reason is gone.
    pub async fn run(&self) -> Result<Migrated, MigrateError> {
        let faces = self.faces().await?;
        let target = faces.1.face_hash();
        let (consumed, pacer) = (Mutex::default(), Pacer::new(self.options.rate));
        let mut has_begun = false;
        for _ in 0..TURNS_MAX {
            let control = self.control().await?;
            let Some(migration) = control.current_migration().cloned() else {
                if has_begun {
                    // Whoever else was at it has ended it.
                    let was_done = false;
                    return self.ended(&control, &target, consumed, was_done);
                }
                let live = match self.checked(&control, &faces).await {
                    // What was found while somebody else began is of neither state.
                    Err(_) if !self.is_current(&control).await? => continue,
                    live => live?,
                };
                if self.is_done(&control, &faces, &live).await? {
                    return self.ended(&control, &target, consumed, true);
                }
                let migration = Migration {
                    phase: MigrationPhase::Look,
                    target: target.clone(),
                    source: None,
                    drops: self.options.drops,
                };
                has_begun |= self.old.set_migration(&control, Some(&migration)).await?;
                continue;
            };
            // Rows that were changed already were changed by those words: others would leave rows of both kinds.
            if migration.target != target || migration.drops != self.options.drops {
                return Err(MigrateError::Another(migration));
            }
            has_begun = true;
            let models = Models::new(self.old, self.new, faces.clone(), migration.drops);
            let working = self.working(&models, &control, migration.phase, (&consumed, &pacer));
            let to = |phase| Migration {
                phase,
                ..migration.clone()
            };
            match migration.phase {
                MigrationPhase::Abort => return Err(MigrateError::Aborting),
                MigrationPhase::Look => {
                    tokio::time::sleep(self.options.settles_for).await;
                    let looked = self.looked(&working, &control, &faces).await;
                    if let Err(error) = looked {
                        // Nothing was changed, so that nothing needs to be aborted. Where somebody else went on, it was of another moment.
                        match self.old.set_migration(&control, None).await? {
                            true => return Err(error),
                            false => continue,
                        }
                    }
                    self.old
                        .set_migration(&control, Some(&to(MigrationPhase::Rows)))
                        .await?;
                }
                MigrationPhase::Rows => {
                    let changed = match self.changed(&working).await {
                        Err(_) if !self.is_current(&control).await? => continue,
                        changed => changed?,
                    };
                    if changed {
                        self.old
                            .set_migration(&control, Some(&to(MigrationPhase::Finish)))
                            .await?;
                    }
                }
                MigrationPhase::Finish => {
                    let finished = match self.finished(&working).await {
                        Err(_) if !self.is_current(&control).await? => continue,
                        finished => finished?,
                    };
                    if finished && self.new.end_migration(&control).await? {
                        let consumed = consumed.into_inner().unwrap_or_else(PoisonError::into_inner);
                        return Ok(Migrated {
                            was_done: false,
                            consumed,
                        });
                    }
                }
                // A bridge was told of above.
                _ => return Err(MigrateError::Another(migration)),
            }
        }
        Err(RuntimeError::Conflict.into())
    }

    /// Makes every row again what it was, where rows still remember it.
    ///
    /// # Errors
    ///
    /// Where nothing is under way, it is too late, or the store fails: then the same call goes on.
    pub async fn abort_migration(&self) -> Result<Migrated, MigrateError> {
        let faces = self.faces().await?;
        let (consumed, pacer) = (Mutex::default(), Pacer::new(self.options.rate));
        let mut has_begun = false;
        for _ in 0..TURNS_MAX {
            let control = self.control().await?;
            let Some(migration) = control.current_migration().cloned() else {
                if !has_begun {
                    return Err(MigrateError::NothingToAbort);
                }
                let consumed = consumed.into_inner().unwrap_or_else(PoisonError::into_inner);
                return Ok(Migrated {
                    was_done: false,
                    consumed,
                });
            };
            if migration.target != faces.1.face_hash() {
                return Err(MigrateError::Another(migration));
            }
            match migration.phase {
                MigrationPhase::Finish => return Err(MigrateError::TooLate(MigrationPhase::Finish)),
                MigrationPhase::Look => has_begun |= self.old.set_migration(&control, None).await?,
                MigrationPhase::Rows => {
                    // Said before any row goes back: whoever still works forward learns from it that its phase is over.
                    let aborted = Migration {
                        phase: MigrationPhase::Abort,
                        ..migration
                    };
                    has_begun |= self.old.set_migration(&control, Some(&aborted)).await?;
                }
                MigrationPhase::Abort => {
                    let models = Models::new(self.old, self.new, faces.clone(), migration.drops);
                    let working = self.working(&models, &control, migration.phase, (&consumed, &pacer));
                    let is_back = match self.brought_back(&working).await {
                        Err(_) if !self.is_current(&control).await? => {
                            has_begun = true;
                            continue;
                        }
                        is_back => is_back?,
                    };
                    if is_back {
                        has_begun |= self.old.set_migration(&control, None).await?;
                    }
                }
                // A bridge was told of above.
                _ => return Err(MigrateError::Another(migration)),
            }
        }
        Err(RuntimeError::Conflict.into())
    }

    fn ended(
        &self,
        control: &TableControl,
        target: &str,
        consumed: Mutex<Consumed>,
        was_done: bool,
    ) -> Result<Migrated, MigrateError> {
        match control.faces() {
            [only] if only == target => Ok(Migrated {
                was_done,
                consumed: consumed.into_inner().unwrap_or_else(PoisonError::into_inner),
            }),
            _ => Err(MigrateError::Aborting),
        }
    }

    fn working<'m>(
        &'m self,
        models: &'m Models<'m>,
        control: &TableControl,
        phase: MigrationPhase,
        (consumed, pacer): (&'m Mutex<Consumed>, &'m Pacer),
    ) -> Working<'m> {
        let names = [
            &models.map.old.table.type_attribute,
            &models.map.new.table.type_attribute,
        ];
        let has_stream = models.map.old.table.stream.is_some() || models.map.new.table.stream.is_some();
        Working {
            models,
            leaves: has_stream.then(|| names.into_iter().flatten().collect()),
            options: self.options,
            clock: self.clock,
            pacer,
            epoch: control.epoch(),
            consumed,
            phase,
            progress: self.progress,
        }
    }

    /// The faces of both models in this table.
    async fn faces(&self) -> Result<(Face, Face), MigrateError> {
        Ok((self.old.face_in_table().await?, self.new.face_in_table().await?))
    }

    async fn control(&self) -> Result<TableControl, MigrateError> {
        let control = self.old.table_control().await?.ok_or(MigrateError::Unknown)?;
        match control.current_relocation() {
            Some(relocation) => Err(MigrateError::Relocated(relocation.clone())),
            None => Ok(control),
        }
    }

    /// The table of the old model, where what it has and the new one does not is removed.
    fn dropped_table(&self) -> Option<TableSpec> {
        self.options.drops.then(|| table::table_spec(self.old.model()))
    }

    /// Whether nobody has changed what the table knows since.
    async fn is_current(&self, control: &TableControl) -> Result<bool, MigrateError> {
        Ok(self.control().await?.epoch() == control.epoch())
    }

    /// Whether the table knows the new model alone, and needs no change itself.
    fn is_reached(&self, control: &TableControl, faces: &(Face, Face), live: &TableSpec) -> bool {
        let (wanted, target) = (table::table_spec(self.new.model()), faces.1.face_hash());
        let is_known = matches!(control.faces(), [only] if *only == target);
        is_known && all_steps(&wanted, live, self.dropped_table().as_ref()).is_empty()
    }

    /// Whether rows of the new model are such that what the old one had besides can be told from them.
    async fn drops_more(&self, control: &TableControl, faces: &(Face, Face)) -> bool {
        let is_other = self.options.drops && faces.0.face_hash() != faces.1.face_hash();
        is_other && self.check_writers(control, &faces.0).await.is_ok()
    }

    /// Whether nothing is left to do: no row of what the new model does not have, either.
    async fn is_done(
        &self,
        control: &TableControl,
        faces: &(Face, Face),
        live: &TableSpec,
    ) -> Result<bool, MigrateError> {
        if !self.is_reached(control, faces, live) {
            return Ok(false);
        }
        if !self.drops_more(control, faces).await {
            return Ok(true);
        }
        let models = Models::new(self.old, self.new, faces.clone(), true);
        let (consumed, pacer) = (Mutex::default(), Pacer::new(None));
        let working = self.working(&models, control, MigrationPhase::Look, (&consumed, &pacer));
        Ok(self.surveyed(&working, live).await?.changes_nothing())
    }

    /// Whether the old model wrote the rows, and the change can be made in this table; the table as it is.
    async fn checked(&self, control: &TableControl, faces: &(Face, Face)) -> Result<TableSpec, MigrateError> {
        let live = self
            .old
            .store()
            .describe_table(&self.old.model().table.name)
            .await?
            .spec;
        let models = Models::new(self.old, self.new, faces.clone(), self.options.drops);
        let mut hindrances = models.map.mapping_hindrances();
        if hindrances.is_empty() && self.is_reached(control, faces, &live) && !self.drops_more(control, faces).await {
            return Ok(live);
        }
        self.check_writers(control, &faces.0).await?;
        hindrances.extend(table_hindrances(&table::table_spec(self.new.model()), &live));
        match hindrances.is_empty() {
            true => Ok(live),
            false => Err(MigrateError::Impossible(hindrances)),
        }
    }

    /// The old model reads rightly whatever wrote rows that are there.
    async fn check_writers(&self, control: &TableControl, old: &Face) -> Result<(), MigrateError> {
        let hash = old.face_hash();
        let mut found = Vec::new();
        for wrote in self.old.known_faces().await? {
            if wrote.face_hash() != hash {
                found.extend(face_differences(&wrote, old, Company::Alone));
            }
        }
        if !found.is_empty() {
            let found: Vec<String> = found.iter().map(|difference| format!("\n  {difference}")).collect();
            return Err(MigrateError::NotFrom(found.concat()));
        }
        // Of what is only to be dropped the table need not know whose it was: its rows are read rightly by the old model, too.
        match control.faces().contains(&hash) || self.options.drops {
            true => Ok(()),
            false => Err(MigrateError::NotFrom("the table does not know it".to_owned())),
        }
    }

    /// Nobody writes any more, so that whoever follows has all before it that it will ever have of the old model.
    async fn check_followers(&self) -> Result<(), MigrateError> {
        let source = Arc::new(Arc::clone(self.old.store()));
        let behind = Followers::new(Arc::clone(self.old.model()), source)
            .followers_behind()
            .await?;
        match behind.is_empty() {
            true => Ok(()),
            false => Err(MigrateError::Behind(behind)),
        }
    }

    async fn surveyed(&self, working: &Working<'_>, live: &TableSpec) -> Result<MigrationPlan, MigrateError> {
        let mut plan = working.survey_rows(live).await?;
        let steps = all_steps(
            &table::table_spec(self.new.model()),
            live,
            self.dropped_table().as_ref(),
        );
        plan.table = steps.iter().map(|step| step.words()).collect();
        Ok(plan)
    }

    async fn looked(
        &self,
        working: &Working<'_>,
        control: &TableControl,
        faces: &(Face, Face),
    ) -> Result<(), MigrateError> {
        let live = self.checked(control, faces).await?;
        if live.stream.is_some() {
            self.check_followers().await?;
        }
        let plan = self.surveyed(working, &live).await?;
        match plan.misfits {
            0 => Ok(()),
            _ => Err(MigrateError::Misfits(Box::new(plan))),
        }
    }

    /// Changes every row; whether that is done and found sound.
    async fn changed(&self, working: &Working<'_>) -> Result<bool, MigrateError> {
        let wanted = table::table_spec(self.new.model());
        let live = working.live_table().await?;
        working.change_table(steps_before(&wanted, &live)).await?;
        // Looked at once more as a whole: from the next phase on there is no way back.
        Ok(self.pass_until_still(working, Direction::Forward).await? && working.verify_rows().await?)
    }

    /// Reads the table until nothing is left to change; whether the phase lasted.
    async fn pass_until_still(&self, working: &Working<'_>, direction: Direction) -> Result<bool, MigrateError> {
        let mut turning = Turning::Nothing;
        for _ in 0..PASSES_MAX {
            let Passed::Whole(end) = working.rows_pass(direction, turning).await? else {
                return Ok(false);
            };
            turning = match (end.written, end.blocked) {
                (0, 0) => return Ok(true),
                (0, blocked) if turning == Turning::Circles => {
                    return Err(MigrateError::Blocked(blocked, end.first_blocked));
                }
                // Nothing moved, so that nothing will make room.
                (0, _) => Turning::Circles,
                _ => Turning::Nothing,
            };
        }
        Err(RuntimeError::Conflict.into())
    }

    /// Has rows forget what they were, and makes the table what the model needs; whether the phase lasted.
    async fn finished(&self, working: &Working<'_>) -> Result<bool, MigrateError> {
        loop {
            match working.finish_pass().await? {
                // Only a reading that changed nothing says that nothing is left.
                Passed::Whole(end) if end.written == 0 => break,
                Passed::Whole(_) => {}
                Passed::Over => return Ok(false),
            }
        }
        let live = working.live_table().await?;
        let wanted = table::table_spec(self.new.model());
        working
            .change_table(steps_after(&wanted, &live, self.dropped_table().as_ref()))
            .await?;
        working.is_phase_on().await
    }

    /// Makes rows and table again what they were; whether the phase lasted.
    async fn brought_back(&self, working: &Working<'_>) -> Result<bool, MigrateError> {
        if !self.pass_until_still(working, Direction::Backward).await? {
            return Ok(false);
        }
        tokio::time::sleep(self.options.settles_for).await;
        // Once more: a process that was asleep may have sent what it had read before the phase was another.
        if !self.options.settles_for.is_zero() && !self.pass_until_still(working, Direction::Backward).await? {
            return Ok(false);
        }
        let live = working.live_table().await?;
        let wanted = table::table_spec(self.old.model());
        working.change_table(steps_after(&wanted, &live, None)).await?;
        working.is_phase_on().await
    }
}
