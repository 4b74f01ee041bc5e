//! A table is carried from one store to another, item for item, while nothing works on it.
//!
//! # Terms
//!
//! - The *source* is the table that is carried, the *target* the one that it is carried to.
//! - What is *left behind* is what speaks of the source's own stream: how far followers are, which process follows, and figures that are
//!   true as of such a position. Whoever follows begins anew on the target.
//!
//! # How it goes
//!
//! 1. The source's control row says that it is copied, so that nobody opens it; a service on it lets nothing through.
//! 2. The target, in which nothing lies, says the same.
//! 3. Every item is put. Then the target is read and held against the source, until both have the same.
//! 4. The source says that it has *moved*, for good; then the target is free.
//!
//! **Invariant: never do both tables count.** The source refuses everybody from the first step to the last and ever after; the target
//! refuses everybody until the source has said that it moved. Whoever is killed between any two steps leaves both refused, and the same
//! call goes on.
//!
//! Whoever goes on needs to know nothing but the two control rows: what is on the target already is compared and not put again.

use std::sync::Arc;
use std::time::Duration;

use singlet_changes::{CLOCKS_DIFFER_SECONDS, Followers, is_of_following};
use singlet_item::{Item, item_size_bytes};
use singlet_runtime::load::is_of_singlet;
use singlet_runtime::{Engine, Relocation, RelocationPhase, RuntimeError, TableControl};
use singlet_store::{StoreError, TableSpec};

use crate::copied_items::{CarriedTable, page_of};
use crate::copy_error::CopyError;

/// How often the target's control row is looked at anew because another process changed it.
const TURNS_MAX: usize = 8;

/// How much of an item a write unit holds.
pub(crate) const WRITE_UNIT_BYTES: u64 = 1024;

/// How many bytes an id has, as digits.
const ID_DIGITS: usize = 32;

/// How a table is carried.
#[derive(Clone, Copy, Debug)]
pub struct CopyOptions {
    /// Write units a second that it may take; as many as it can, unless said.
    pub rate: Option<f64>,
    /// How many items a page has at most.
    pub page_items: u32,
    /// How long it waits, once the source says that it is copied, until who serves it has read that.
    pub source_settles_for: Duration,
    /// The same for the target.
    pub target_settles_for: Duration,
    /// How long it waits after the last item, where something follows the changes of the target: see [`CopyOptions::QUIET`].
    pub quiet_for: Duration,
}

impl CopyOptions {
    /// On DynamoDB what was before a follower is told from the rest by its time. Clocks may differ by so much to either side.
    pub const QUIET: Duration = Duration::from_secs(2 * CLOCKS_DIFFER_SECONDS.unsigned_abs());
}

impl Default for CopyOptions {
    fn default() -> Self {
        CopyOptions {
            rate: None,
            page_items: 500,
            source_settles_for: Duration::ZERO,
            target_settles_for: Duration::ZERO,
            quiet_for: Duration::ZERO,
        }
    }
}

/// What a copy does just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyStage {
    /// It waits until everybody knows.
    Settling,
    /// Items are put.
    Copying,
    /// Both tables are held against each other.
    Verifying,
    /// It waits until what was put counts as before.
    Quiet,
}

/// What would be carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyPlan {
    /// Items.
    pub items: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What it takes to put them, the indexes apart.
    pub write_units: u64,
    /// Items that are left behind.
    pub left_behind: u64,
}

/// What a copy came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopiedTable {
    /// Whether there was nothing to do: the table had moved.
    pub was_done: bool,
    /// Items that both tables have.
    pub items: u64,
    /// Items that this process put.
    pub put: u64,
}

/// A model's table in one store, and the place for it in another.
pub struct TableCopier<'e> {
    pub(crate) source: &'e Engine,
    pub(crate) target: &'e Engine,
    /// The target in words.
    place: String,
    pub(crate) options: CopyOptions,
    pub(crate) clock: &'e (dyn Fn() -> i64 + Sync),
    pub(crate) progress: &'e (dyn Fn(CopyStage, u64) + Sync),
}

impl std::fmt::Debug for TableCopier<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("TableCopier")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl<'e> TableCopier<'e> {
    /// Of one model on both stores; the place of the target is said in words. The clock gives epoch milliseconds.
    pub fn new(
        (source, target): (&'e Engine, &'e Engine),
        place: String,
        options: CopyOptions,
        clock: &'e (dyn Fn() -> i64 + Sync),
        progress: &'e (dyn Fn(CopyStage, u64) + Sync),
    ) -> Self {
        TableCopier {
            source,
            target,
            place,
            options,
            clock,
            progress,
        }
    }

    /// What would be carried. Nothing is written.
    ///
    /// # Errors
    ///
    /// Where it cannot be done, or a store fails.
    pub async fn copy_plan(&self) -> Result<CopyPlan, CopyError> {
        let control = self.source_control().await?;
        match control.current_relocation() {
            Some(known) if known.phase == RelocationPhase::Moved => return Err(CopyError::Moved(known.clone())),
            Some(_) => self.check_target_table().await?,
            None => {
                self.check_target_table().await?;
                self.check_target_free().await?;
            }
        }
        let mut plan = CopyPlan::default();
        for table in carried_tables(self.source).await? {
            let mut start = None;
            loop {
                let page = page_of(self.source, &table.name, self.options.page_items, start).await?;
                for item in &page.items {
                    self.check_system(&control, &table, item)?;
                    if !self.is_carried(&control, &table, item) {
                        plan.left_behind += u64::from(!control.is_row(item));
                        continue;
                    }
                    let bytes = item_size_bytes(item) as u64;
                    plan.items += 1;
                    plan.bytes += bytes;
                    plan.write_units += bytes.div_ceil(WRITE_UNIT_BYTES).max(1);
                }
                start = page.last_key;
                if start.is_none() {
                    break;
                }
            }
        }
        Ok(plan)
    }

    /// Begins, or goes on, and comes to the end.
    ///
    /// # Errors
    ///
    /// Where it cannot be done: then the source opens as before, or the same call goes on once the reason is gone.
    pub async fn run(&self) -> Result<CopiedTable, CopyError> {
        let control = self.source_control().await?;
        let (relocation, is_new) = match control.current_relocation() {
            Some(known) if known.to != self.place => return Err(CopyError::Elsewhere(known.clone())),
            // Also for who asks anew: one that was killed after the source had moved has left the target closed.
            Some(known) if known.phase == RelocationPhase::Moved => return self.release(&control, known).await,
            Some(known) => (known.clone(), false),
            None => {
                self.check_target_table().await?;
                self.check_target_free().await?;
                (self.begin(&control).await?, true)
            }
        };
        if let Err(error) = self.prepare(&relocation).await {
            // Nothing lies on the target yet, so that there is nothing to go on with.
            if error.is_hindrance() && !self.has_begun(&relocation).await? {
                self.forget(&relocation).await?;
            }
            return Err(error);
        }
        let control = self.marked_source(&relocation).await?;
        let copied = self.bring_items(&control, is_new).await?;
        // Whoever follows the target must be able to tell what was put from what comes after it.
        if is_followed(self.target).await? {
            (self.progress)(CopyStage::Quiet, self.options.quiet_for.as_secs());
            tokio::time::sleep(self.options.quiet_for).await;
        }
        // The source says so before the target is free: the other way round both would count for a moment.
        let moved = Relocation {
            phase: RelocationPhase::Moved,
            ..relocation
        };
        if !self.source.set_relocation(&control, Some(&moved)).await? {
            // Another process has said so already, or it was aborted.
            self.marked_source(&moved).await?;
        }
        let control = self.source_control().await?;
        let end = self.release(&control, &moved).await?;
        Ok(CopiedTable {
            items: copied.items,
            put: copied.put,
            was_done: end.was_done && is_new,
        })
    }

    /// Has the source open again. What lies on the target stays, and counts for nothing.
    ///
    /// # Errors
    ///
    /// Where nothing is under way, or it is too late.
    pub async fn abort_copy(&self) -> Result<(), CopyError> {
        let control = self.source_control().await?;
        match control.current_relocation() {
            None => Err(CopyError::NothingToAbort),
            Some(known) if known.phase == RelocationPhase::Moved => Err(CopyError::Moved(known.clone())),
            Some(known) => {
                let known = known.clone();
                // The source first: whoever still copies looks there, and stops.
                self.forget(&known).await?;
                // The target may be out of reach: then it stays closed, and nothing lies there.
                if let Ok(Some(there)) = self.target.table_control().await
                    && let Some(claim) = there.current_relocation()
                    && claim.id == known.id
                    // One that holds items stays closed: half of a table must not be taken for a whole one.
                    && claim.phase == RelocationPhase::Claimed
                {
                    unclaim_table(self.target, &there).await?;
                }
                Ok(())
            }
        }
    }

    async fn source_control(&self) -> Result<TableControl, CopyError> {
        let control = self.source.table_control().await?.ok_or(CopyError::Unknown)?;
        if let Some(migration) = control.current_migration() {
            return Err(CopyError::Migrating(migration.clone()));
        }
        // What is half restored is not opened by giving up a copy that nobody began.
        match control.current_relocation() {
            Some(known) if known.phase.is_restoring() => Err(CopyError::Elsewhere(known.clone())),
            _ => Ok(control),
        }
    }

    /// The source's control row, while it says this.
    async fn marked_source(&self, relocation: &Relocation) -> Result<TableControl, CopyError> {
        let control = self.source_control().await?;
        match control.current_relocation() == Some(relocation) {
            true => Ok(control),
            false => Err(CopyError::Overtaken),
        }
    }

    async fn begin(&self, control: &TableControl) -> Result<Relocation, CopyError> {
        let digits = std::iter::repeat_with(|| fastrand::digit(16)).take(ID_DIGITS);
        let relocation = Relocation {
            phase: RelocationPhase::Copying,
            id: digits.collect(),
            to: self.place.clone(),
        };
        match self.source.set_relocation(control, Some(&relocation)).await? {
            true => Ok(relocation),
            false => Err(CopyError::Overtaken),
        }
    }

    async fn forget(&self, relocation: &Relocation) -> Result<(), CopyError> {
        let control = self.marked_source(relocation).await?;
        match self.source.set_relocation(&control, None).await? {
            true => Ok(()),
            false => Err(CopyError::Overtaken),
        }
    }

    /// Both tables refuse everybody, and everybody has had the time to notice.
    async fn prepare(&self, relocation: &Relocation) -> Result<(), CopyError> {
        (self.progress)(CopyStage::Settling, 0);
        tokio::time::sleep(self.options.source_settles_for).await;
        let source = self.marked_source(relocation).await?;
        // Only after the wait: until then writes may still come that nobody can have followed.
        self.check_followers().await?;
        self.check_target_table().await?;
        let claim = Relocation {
            phase: RelocationPhase::Claimed,
            ..relocation.clone()
        };
        for _ in 0..TURNS_MAX {
            let there = self.target.table_control().await?;
            let known = there.as_ref().and_then(TableControl::current_relocation);
            match (&there, known) {
                (_, Some(known)) if known.id != relocation.id => return Err(CopyError::Unfinished),
                // Whoever has begun to copy has seen that it is free.
                (_, Some(known)) if known.phase != RelocationPhase::Claimed => return Ok(()),
                (Some(claimed), Some(_)) => {
                    tokio::time::sleep(self.options.target_settles_for).await;
                    // A service may have written before it noticed. What it wrote is its callers', and is not thrown away.
                    if let Err(error) = self.check_target_empty().await {
                        // Where another process went on meanwhile, the rows are those that it copied.
                        match unclaim_table(self.target, claimed).await? {
                            true => return Err(error),
                            false => continue,
                        }
                    }
                    self.target.take_control_of(&source, claimed, Some(relocation)).await?;
                }
                (there, None) => {
                    // Before it is claimed, too: a table in use is not closed to its service for the time of a look.
                    self.check_target_empty().await?;
                    match there {
                        Some(there) => self.target.set_relocation(there, Some(&claim)).await?,
                        None => self.target.claim_unknown(&source, &claim).await?,
                    };
                }
                (None, Some(_)) => return Err(CopyError::Overtaken),
            }
        }
        Err(CopyError::Overtaken)
    }

    /// Whether the target holds what this copy has put there.
    async fn has_begun(&self, relocation: &Relocation) -> Result<bool, CopyError> {
        let there = self.target.table_control().await?;
        let known = there.as_ref().and_then(TableControl::current_relocation);
        Ok(known.is_some_and(|known| known.id == relocation.id && known.phase != RelocationPhase::Claimed))
    }

    /// Nobody writes any more, so that whoever follows has all before it that it will ever have of the source.
    async fn check_followers(&self) -> Result<(), CopyError> {
        let spec = spec_of(self.source).await?;
        if spec.stream.is_none() {
            return Ok(());
        }
        let store = Arc::new(Arc::clone(self.source.store()));
        let behind = Followers::new(Arc::clone(self.source.model()), store)
            .followers_behind()
            .await?;
        match behind.is_empty() {
            true => Ok(()),
            false => Err(CopyError::Behind(behind)),
        }
    }

    /// The target is a table like the source.
    async fn check_target_table(&self) -> Result<(), CopyError> {
        let source = spec_of(self.source).await?;
        let target = match spec_of(self.target).await {
            Err(error) if error.is_not_found() => return Err(CopyError::NoTarget),
            target => target?,
        };
        let found = spec_differences(&source, &target);
        match found.is_empty() {
            true => Ok(()),
            false => Err(CopyError::OtherTable(found)),
        }
    }

    /// No copy is under way to the target, and nothing lies there.
    async fn check_target_free(&self) -> Result<(), CopyError> {
        let there = self.target.table_control().await?;
        match there.as_ref().and_then(TableControl::current_relocation) {
            Some(_) => Err(CopyError::Unfinished),
            None => self.check_target_empty().await,
        }
    }

    async fn check_target_empty(&self) -> Result<(), CopyError> {
        match has_rows(self.target, self.options.page_items).await? {
            true => Err(CopyError::NotEmpty),
            false => Ok(()),
        }
    }

    /// The control row is written by itself, at the beginning and at the end.
    pub(crate) fn is_carried(&self, control: &TableControl, table: &CarriedTable, item: &Item) -> bool {
        let is_control = table.name == control.table() && control.is_row(item);
        !is_control && !is_of_following(self.source.model(), item)
    }

    /// A control row of another system: its table would have to move with this one.
    pub(crate) fn check_system(
        &self,
        control: &TableControl,
        table: &CarriedTable,
        item: &Item,
    ) -> Result<(), CopyError> {
        let is_own = table.name == control.table() && control.is_row(item);
        match TableControl::system_of_row(item, table.key_of(item).values()) {
            Some(system) if !is_own => Err(CopyError::Shared(system)),
            _ => Ok(()),
        }
    }

    /// Whoever was aborted, or was overtaken by another process, must not write to a table that somebody uses by now.
    pub(crate) async fn check_under_way(&self, control: &TableControl) -> Result<(), CopyError> {
        let now = self.source_control().await?;
        match now.epoch() == control.epoch() {
            true => Ok(()),
            false => Err(CopyError::Overtaken),
        }
    }

    /// The source has moved: the target is free.
    async fn release(&self, source: &TableControl, moved: &Relocation) -> Result<CopiedTable, CopyError> {
        let done = CopiedTable {
            was_done: true,
            ..CopiedTable::default()
        };
        let there = self.target.table_control().await?.ok_or(CopyError::LostTarget)?;
        match there.current_relocation() {
            None => Ok(done),
            Some(known) if known.id != moved.id => Err(CopyError::Unfinished),
            Some(_) => {
                let is_ours = self.target.take_control_of(source, &there, None).await?;
                // Otherwise another process has done the same.
                Ok(CopiedTable {
                    was_done: !is_ours,
                    ..done
                })
            }
        }
    }
}

pub(crate) async fn spec_of(engine: &Engine) -> Result<TableSpec, StoreError> {
    let described = engine.store().describe_table(&engine.model().table.name).await?;
    Ok(described.spec)
}

/// Where a table is not what items come from: what differs.
pub(crate) fn spec_differences(source: &TableSpec, target: &TableSpec) -> Vec<String> {
    let mut found = Vec::new();
    if source.key != target.key {
        found.push("it has another key".to_owned());
    }
    for index in &source.indexes {
        let there = target.indexes.iter().find(|known| known.name == index.name);
        match there {
            None => found.push(format!("it has no index `{}`", index.name)),
            Some(known)
                if (known.kind, &known.key, &known.projection) != (index.kind, &index.key, &index.projection) =>
            {
                found.push(format!("its index `{}` is another", index.name));
            }
            Some(_) => {}
        }
    }
    let shown = |ttl: &Option<String>| ttl.as_ref().map_or("nothing".to_owned(), |name| format!("`{name}`"));
    if source.ttl != target.ttl {
        found.push(format!(
            "its items expire by {}, not {}",
            shown(&target.ttl),
            shown(&source.ttl)
        ));
    }
    if source.stream.is_some() && source.stream != target.stream {
        found.push("its stream does not carry the same".to_owned());
    }
    found
}

/// A table is again what it was before it was claimed; whether nobody was faster.
pub(crate) async fn unclaim_table(engine: &Engine, claimed: &TableControl) -> Result<bool, RuntimeError> {
    match claimed.faces() {
        [] => engine.remove_control(claimed).await,
        _ => engine.set_relocation(claimed, None).await,
    }
}

/// Whether anything lies in the model's table but what Singlet keeps in one that nobody has used.
pub(crate) async fn has_rows(engine: &Engine, page_items: u32) -> Result<bool, RuntimeError> {
    let table = &engine.model().table.name;
    let mut start = None;
    loop {
        let page = page_of(engine, table, page_items, start).await?;
        if page.items.iter().any(|item| !is_of_singlet(engine.model(), item)) {
            return Ok(true);
        }
        start = page.last_key;
        if start.is_none() {
            return Ok(false);
        }
    }
}

/// Whether anything of the model acts on the changes of its table.
pub(crate) async fn is_followed(engine: &Engine) -> Result<bool, StoreError> {
    let has_followed = engine.model().followed_changes().next().is_some();
    Ok(has_followed && spec_of(engine).await?.stream.is_some())
}

/// The tables that are there of a model's system.
pub(crate) async fn carried_tables(engine: &Engine) -> Result<Vec<CarriedTable>, StoreError> {
    let mut carried = Vec::new();
    for name in engine.system_tables() {
        let key = match engine.store().describe_table(&name).await {
            Err(error) if error.is_not_found() => continue,
            described => described?.spec.key,
        };
        carried.push(CarriedTable { name, key });
    }
    Ok(carried)
}
