//! A table is restored from files, item for item, whoever wrote them.
//!
//! # How it goes
//!
//! 1. All files are read and held against their sums, and every item against the table. What is wrong is said with its line, and nothing
//!    is written.
//! 2. The table's control row says that it is being restored, so that nobody opens it. Where it is still empty then, what Singlet keeps in a
//!    table that nobody has used goes, and the table is *held*: nothing runs by itself on it ([`singlet_runtime::HeldTable`]).
//! 3. Every item is put, but for what speaks of the stream of the table that was exported ([`is_of_following`]).
//! 4. The table is read and held against the files, and only then opens, knowing the models that the files say wrote the items.
//!
//! Until then it can be given up ([`crate::abort_restore`]).
//!
//! **Invariant: a table that opens is whole, and tells nobody anything.** Whoever is killed between any two steps leaves it closed, and the
//! same call goes on: it is known by the sums of the manifests.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use singlet_archive::{Archive, archives_in, repeated_key};
use singlet_audit::Pacer;
use singlet_changes::is_of_following;
use singlet_item::{Item, item_size_bytes};
use singlet_runtime::load::is_of_singlet;
use singlet_runtime::{Engine, HeldTable, Relocation, RelocationPhase, TableControl, row, table};
use singlet_store::{KeySchema, KeyType, TableSpec};

use crate::archived_item::{ItemRefusal, check_item};
use crate::copied_items::{CarriedTable, lacking_items, page_of, put_items, seen_just_now};
use crate::restore_error::RestoreError;
use crate::restore_terms::{RestoreOptions, RestorePlan, RestoreStage, RestoredTable};
use crate::table_copy::{
    WRITE_UNIT_BYTES, carried_tables, has_rows, is_followed, spec_differences, spec_of, unclaim_table,
};

/// How often the control row is looked at anew because another process changed it.
const TURNS_MAX: usize = 8;

/// How many items are put before it is looked whether the work is still this process's.
const ROUND_ITEMS: usize = 500;

/// Items that end within so long are not counted on: the store may remove them while the table is restored.
const ENDS_SOON_MILLIS: i64 = 24 * 3_600_000;

/// Files, and the table that is restored from them.
pub struct TableRestorer<'e> {
    target: &'e Engine,
    archives: Vec<TableArchive>,
    options: RestoreOptions,
    clock: &'e (dyn Fn() -> i64 + Sync),
    progress: &'e (dyn Fn(RestoreStage, u64) + Sync),
}

/// The files of one table.
struct TableArchive {
    table: CarriedTable,
    /// What every item is held against.
    spec: TableSpec,
    archive: Archive,
}

/// What all files came to.
struct Read {
    plan: RestorePlan,
    control: Option<TableControl>,
}

/// What lies in a table, whatever its order: how many items, and the sum of their hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Contents {
    items: u64,
    hashes: u64,
}

impl Contents {
    fn add(&mut self, item: &Item) {
        let mut hasher = DefaultHasher::new();
        item.hash(&mut hasher);
        self.items += 1;
        self.hashes = self.hashes.wrapping_add(hasher.finish());
    }
}

impl std::fmt::Debug for TableRestorer<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("TableRestorer")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl<'e> TableRestorer<'e> {
    /// From the files in a folder. Where it has those of several tables, the model's is taken, and the small one beside it.
    ///
    /// # Errors
    ///
    /// Where the model's table is not among them, or more than once, or the manifests are not sound.
    pub fn new(
        target: &'e Engine,
        folder: &Path,
        options: RestoreOptions,
        clock: &'e (dyn Fn() -> i64 + Sync),
        progress: &'e (dyn Fn(RestoreStage, u64) + Sync),
    ) -> Result<Self, RestoreError> {
        let found = archives_in(folder)?;
        let [own, beside] = target.system_tables();
        let of = |name: &str| -> Vec<Archive> {
            let of_table = found.iter().filter(|archive| archive.table() == Some(name));
            of_table.cloned().collect()
        };
        let mut chosen = of(&own);
        if let ([], [only]) = (chosen.as_slice(), found.as_slice())
            && only.table() != Some(beside.as_str())
        {
            // A table may have been exported under another name.
            chosen.push(only.clone());
        }
        let besides = of(&beside);
        for several in [&chosen, &besides] {
            if several.len() > 1 {
                let folders = several.iter().map(|archive| archive.folder().to_owned());
                return Err(RestoreError::Several(folders.collect()));
            }
        }
        let Some(chosen) = chosen.pop() else {
            let names = found.iter().map(|archive| archive.table().unwrap_or("?").to_owned());
            return Err(RestoreError::OtherTables(names.collect()));
        };
        let spec = table::table_spec(target.model());
        let mut archives = vec![TableArchive::new(spec, chosen)];
        archives.extend(besides.into_iter().map(|archive| {
            let key = KeySchema::partition("PK", KeyType::String);
            TableArchive::new(TableSpec::new(beside.clone(), key), archive)
        }));
        Ok(TableRestorer {
            target,
            archives,
            options,
            clock,
            progress,
        })
    }

    /// What would be restored: all files are read. Nothing is written.
    ///
    /// # Errors
    ///
    /// Where the files are not whole, or the table cannot be restored from them.
    pub async fn restore_plan(&self) -> Result<RestorePlan, RestoreError> {
        let read = self.read()?;
        self.check_target(&read).await?;
        Ok(read.plan)
    }

    /// Begins, or goes on, and comes to the end.
    ///
    /// # Errors
    ///
    /// Where it cannot be done: then nothing was written, or the same call goes on once the reason is gone.
    pub async fn run(&self) -> Result<RestoredTable, RestoreError> {
        // All of it before anything is written: a file that is torn at its end leaves the table as it was.
        let read = self.read()?;
        if self.is_done().await? {
            return Ok(RestoredTable {
                was_done: true,
                items: read.plan.items,
                put: 0,
            });
        }
        self.check_target(&read).await?;
        self.make_tables().await?;
        let goes_on = self.prepare(&read).await?;
        let control = self.under_way().await?;
        // The same on both sides, however long it takes.
        let ends_after = (self.clock)().saturating_add(ENDS_SOON_MILLIS);
        let mut restored = RestoredTable::default();
        let mut wanted = Contents::default();
        let pacer = Pacer::new(self.options.rate);
        for archive in &self.archives {
            let done = self.put_archive(&control, archive, goes_on, &pacer, (&mut wanted, ends_after));
            let (items, put) = done.await?;
            restored.items += items;
            restored.put += put;
        }
        if self.contents(&control, ends_after).await? != wanted {
            return Err(RestoreError::NotStill);
        }
        if is_followed(self.target).await? {
            (self.progress)(RestoreStage::Quiet, self.options.quiet_for.as_secs());
            tokio::time::sleep(self.options.quiet_for).await;
        }
        let there = self.under_way().await?;
        let is_ours = match &read.control {
            Some(carried) => self.target.take_control_of(carried, &there, None).await?,
            None => self.target.remove_control(&there).await?,
        };
        // Otherwise another process has done the same.
        restored.was_done = !is_ours;
        match is_ours || self.is_done().await? {
            true => Ok(restored),
            false => Err(RestoreError::Overtaken),
        }
    }

    /// Every item of every file, once.
    fn read(&self) -> Result<Read, RestoreError> {
        let mut read = Read {
            plan: RestorePlan::default(),
            control: None,
        };
        for archive in &self.archives {
            self.read_archive(archive, &mut read)?;
            if let Some(found) = repeated_key(&archive.archive, |item| archive.table.key_of(item))? {
                return Err(RestoreError::Repeated(Box::new(found)));
            }
        }
        read.plan.knows_models = read.control.is_some();
        Ok(read)
    }

    fn read_archive(&self, archive: &TableArchive, read: &mut Read) -> Result<(), RestoreError> {
        let model = self.target.model();
        let mut items = archive.archive.items();
        while let Some(archived) = items.next() {
            let archived = archived?;
            let item = &archived.item;
            let wrong = |refusal: ItemRefusal| {
                RestoreError::Item((items.path().to_owned(), archived.line), refusal.to_string())
            };
            check_item(&archive.spec, item).map_err(wrong)?;
            (self.progress)(RestoreStage::Reading, 1);
            if let Some(control) = TableControl::of_row(model, &archive.table.name, item)? {
                // Rows of a table that was on its way are half one model's and half another's.
                if let Some(migration) = control.current_migration() {
                    let phase = migration.phase.word();
                    return Err(RestoreError::OnTheWay(format!(
                        "it was being migrated, in the phase `{phase}`"
                    )));
                }
                if let Some(relocation) = control.current_relocation() {
                    return Err(RestoreError::OnTheWay(relocation.to_string()));
                }
                read.control = Some(control);
                continue;
            }
            if let Some(system) = TableControl::system_of_row(item, archive.table.key_of(item).values()) {
                return Err(RestoreError::Shared(system));
            }
            if !self.is_put(archive, item) {
                read.plan.left_out += u64::from(!self.target.is_hold_row(&archive.table.name, item));
                continue;
            }
            let bytes = item_size_bytes(item) as u64;
            read.plan.items += 1;
            read.plan.bytes += bytes;
            read.plan.write_units += bytes.div_ceil(WRITE_UNIT_BYTES).max(1);
        }
        Ok(())
    }

    /// Whether an item comes into the table: the control row is written at the end, and whether the table is held is its own affair.
    fn is_put(&self, archive: &TableArchive, item: &Item) -> bool {
        let name = &archive.table.name;
        let is_control = matches!(
            TableControl::of_row(self.target.model(), name, item),
            Ok(Some(_)) | Err(_)
        );
        !is_control && !self.target.is_hold_row(name, item) && !is_of_following(self.target.model(), item)
    }

    /// Tells these files from all others.
    fn id(&self) -> String {
        self.archives
            .iter()
            .map(|archive| archive.archive.archive_fingerprint())
            .collect()
    }

    /// The files in words.
    fn from(&self) -> String {
        let folders = self
            .archives
            .first()
            .map(|archive| archive.archive.folder().display().to_string());
        folders.unwrap_or_default()
    }

    /// Whether the table was restored from these files, and is not released yet.
    async fn is_done(&self) -> Result<bool, RestoreError> {
        if !self.has_table().await? {
            return Ok(false);
        }
        let is_under_way = self.relocation().await?.is_some();
        let held = self.target.held_table().await?;
        Ok(!is_under_way && held.is_some_and(|held| held.archive == self.id()))
    }

    async fn has_table(&self) -> Result<bool, RestoreError> {
        let name = &self.target.model().table.name;
        Ok(self.target.store().list_tables().await?.contains(name))
    }

    async fn relocation(&self) -> Result<Option<Relocation>, RestoreError> {
        let control = self.target.table_control().await?;
        Ok(control.as_ref().and_then(TableControl::current_relocation).cloned())
    }

    /// The table is the model's, and empty, or was begun to be restored from these files.
    async fn check_target(&self, read: &Read) -> Result<(), RestoreError> {
        if !self.has_table().await? {
            return match self.options.makes_tables {
                true => Ok(()),
                false => Err(RestoreError::NoTarget),
            };
        }
        let found = spec_differences(&table::table_spec(self.target.model()), &spec_of(self.target).await?);
        if !found.is_empty() {
            return Err(RestoreError::OtherTarget(found));
        }
        let control = self.target.table_control().await?;
        let is_known = control.as_ref().is_some_and(|control| !control.faces().is_empty());
        // Before it is looked for rows: whoever goes on finds its own.
        match control.as_ref().and_then(TableControl::current_relocation) {
            Some(known) if known.id == self.id() && known.phase.is_restoring() => return Ok(()),
            Some(known) => return Err(RestoreError::Elsewhere(known.clone())),
            None => {}
        }
        if has_rows(self.target, self.options.page_items).await? {
            return Err(RestoreError::NotEmpty);
        }
        // Its guards would be in a form that the items know nothing of, and its models in those that did not write them.
        match is_known && read.control.is_none() {
            true => Err(RestoreError::KnowsModel),
            false => Ok(()),
        }
    }

    async fn make_tables(&self) -> Result<(), RestoreError> {
        if !self.has_table().await? {
            let spec = table::table_spec(self.target.model());
            match self.target.store().create_table(&spec).await {
                // Somebody else was faster.
                Err(error) if error.is_in_use() => {}
                made => made?,
            }
        }
        if self.archives.len() > 1 {
            self.target.make_table_beside().await?;
        }
        Ok(())
    }

    /// The table refuses everybody, is empty and held; whether that was so before.
    async fn prepare(&self, read: &Read) -> Result<bool, RestoreError> {
        let of_phase = |phase| Relocation {
            phase,
            id: self.id(),
            to: self.from(),
        };
        let (preparing, restoring) = (
            of_phase(RelocationPhase::Preparing),
            of_phase(RelocationPhase::Restoring),
        );
        let mut goes_on = true;
        for _ in 0..TURNS_MAX {
            let there = self.target.table_control().await?;
            let known = there.as_ref().and_then(TableControl::current_relocation);
            match (&there, known) {
                (_, Some(known)) if known.id != restoring.id || !known.phase.is_restoring() => {
                    return Err(RestoreError::Elsewhere(known.clone()));
                }
                (_, Some(known)) if known.phase == RelocationPhase::Restoring => return Ok(goes_on),
                (Some(claimed), Some(_)) => {
                    (self.progress)(RestoreStage::Settling, 0);
                    tokio::time::sleep(self.options.settles_for).await;
                    // A service may have written before it noticed. What it wrote is its callers', and is not thrown away.
                    if has_rows(self.target, self.options.page_items).await? {
                        // Where another process went on meanwhile, the rows are those that it put.
                        match unclaim_table(self.target, claimed).await? {
                            true => return Err(RestoreError::NotEmpty),
                            false => continue,
                        }
                    }
                    self.clear(claimed).await?;
                    // Before the table can open: what runs by itself would begin as soon as it does.
                    let held = HeldTable {
                        archive: self.id(),
                        from: self.from(),
                        since_millis: (self.clock)(),
                    };
                    if !self.target.hold_while_known(claimed, &held).await? {
                        continue;
                    }
                    match &read.control {
                        Some(carried) => self.target.take_control_of(carried, claimed, Some(&restoring)).await?,
                        None => self.target.set_relocation(claimed, Some(&restoring)).await?,
                    };
                    // Nothing lies there yet, so that nothing has to be compared.
                    goes_on = false;
                }
                (Some(there), None) => {
                    self.check_target(read).await?;
                    self.target.set_relocation(there, Some(&preparing)).await?;
                }
                (None, _) => {
                    self.check_target(read).await?;
                    match &read.control {
                        Some(carried) => self.target.claim_unknown(carried, &preparing).await?,
                        None => self.target.claim_new(&preparing).await?,
                    };
                }
            }
        }
        Err(RestoreError::Overtaken)
    }

    /// What Singlet keeps in a table that nobody has used goes: a key of guards and models that are not those of the items.
    async fn clear(&self, claimed: &TableControl) -> Result<(), RestoreError> {
        for table in carried_tables(self.target).await? {
            let mut start = None;
            loop {
                let page = page_of(self.target, &table.name, self.options.page_items, start).await?;
                let is_left = |item: &&Item| {
                    let is_control = table.name == claimed.table() && claimed.is_row(item);
                    let is_ours =
                        table.name != self.target.model().table.name || is_of_singlet(self.target.model(), item);
                    is_ours && !is_control && !self.target.is_hold_row(&table.name, item)
                };
                let keys = page.items.iter().filter(is_left).map(|item| table.key_of(item));
                if !self
                    .target
                    .remove_while_known(claimed, &table.name, keys.collect())
                    .await?
                {
                    return Err(RestoreError::Overtaken);
                }
                start = page.last_key;
                if start.is_none() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// What the table says, while it is restored from these files.
    async fn under_way(&self) -> Result<TableControl, RestoreError> {
        let control = self.target.table_control().await?.ok_or(RestoreError::Overtaken)?;
        match control.current_relocation() {
            Some(known) if known.id == self.id() && known.phase == RelocationPhase::Restoring => Ok(control),
            _ => Err(RestoreError::Overtaken),
        }
    }

    /// Whoever was overtaken, or given up, must not write to a table that somebody uses by now.
    async fn check_ours(&self, control: &TableControl) -> Result<(), RestoreError> {
        match self.under_way().await?.epoch() == control.epoch() {
            true => Ok(()),
            false => Err(RestoreError::Overtaken),
        }
    }

    /// Puts the items of an archive, or those that are not there yet: how many it has, and how many were put.
    async fn put_archive(
        &self,
        control: &TableControl,
        archive: &TableArchive,
        goes_on: bool,
        pacer: &Pacer,
        (wanted, ends_after): (&mut Contents, i64),
    ) -> Result<(u64, u64), RestoreError> {
        let (mut items, mut put) = (0, 0);
        let seen = seen_just_now();
        self.check_ours(control).await?;
        let mut archived = archive.archive.items();
        loop {
            let mut round = Vec::with_capacity(ROUND_ITEMS);
            while round.len() < ROUND_ITEMS
                && let Some(next) = archived.next()
            {
                let item = next?.item;
                if !self.is_put(archive, &item) {
                    continue;
                }
                // Whether or not it is put now: it is held against all that the table has in the end.
                if !row::has_expired(self.target.model(), &item, ends_after) {
                    wanted.add(&item);
                }
                round.push(item);
            }
            if round.is_empty() {
                return Ok((items, put));
            }
            let count = round.len() as u64;
            items += count;
            if goes_on {
                round = lacking_items(self.target, &archive.table, round, (self.clock)()).await?;
            }
            put += round.len() as u64;
            put_items(
                self.target,
                &archive.table,
                round,
                pacer,
                (&seen, || self.check_ours(control)),
            )
            .await?;
            (self.progress)(RestoreStage::Putting, count);
            self.check_ours(control).await?;
        }
    }

    /// What lies in the tables, but for what is written apart, and for what ends before an instant.
    async fn contents(&self, control: &TableControl, ends_after: i64) -> Result<Contents, RestoreError> {
        let mut contents = Contents::default();
        for table in carried_tables(self.target).await? {
            let mut start = None;
            loop {
                let page = page_of(self.target, &table.name, self.options.page_items, start).await?;
                for item in &page.items {
                    let is_apart = table.name == control.table() && control.is_row(item)
                        || self.target.is_hold_row(&table.name, item);
                    if !is_apart && !row::has_expired(self.target.model(), item, ends_after) {
                        contents.add(item);
                    }
                }
                (self.progress)(RestoreStage::Verifying, page.items.len() as u64);
                start = page.last_key;
                if start.is_none() {
                    break;
                }
            }
        }
        Ok(contents)
    }
}

impl TableArchive {
    fn new(spec: TableSpec, archive: Archive) -> Self {
        TableArchive {
            table: CarriedTable {
                name: spec.name.clone(),
                key: spec.key.clone(),
            },
            spec,
            archive,
        }
    }
}
