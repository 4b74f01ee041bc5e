//! A restoring is given up: what it had put into the table goes again.
//!
//! Only an empty table is restored, and nobody opens it before it is whole, so that whatever lies in it came from the files. The files
//! themselves are not needed: they may be what is wrong.

use singlet_item::Item;
use singlet_runtime::{Engine, Relocation, RelocationPhase, TableControl};

use crate::copied_items::page_of;
use crate::restore_error::RestoreError;
use crate::restore_terms::{RestoreOptions, RestoreStage};
use crate::table_copy::{carried_tables, has_rows, unclaim_table};

/// How often the control row is looked at anew because another process changed it.
const TURNS_MAX: usize = 8;

/// A restoring that was given up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AbandonedRestore {
    /// The files in words.
    pub from: String,
    /// Items that this process removed.
    pub removed: u64,
}

/// Removes what a restoring that is under way has put into the table, which then is one that nobody has opened. Killed between any two
/// steps, the same call goes on.
///
/// # Errors
///
/// Where nothing is being restored, or the store fails.
pub async fn abort_restore(
    engine: &Engine,
    options: RestoreOptions,
    progress: &(dyn Fn(RestoreStage, u64) + Sync),
) -> Result<AbandonedRestore, RestoreError> {
    let abandoning = Abandoning {
        engine,
        options,
        progress,
    };
    let name = &engine.model().table.name;
    match engine.store().list_tables().await?.contains(name) {
        true => abandoning.run().await,
        false => Err(RestoreError::NothingToAbort),
    }
}

struct Abandoning<'e> {
    engine: &'e Engine,
    options: RestoreOptions,
    progress: &'e (dyn Fn(RestoreStage, u64) + Sync),
}

impl Abandoning<'_> {
    async fn run(&self) -> Result<AbandonedRestore, RestoreError> {
        let mut done = AbandonedRestore::default();
        let mut has_begun = false;
        for _ in 0..TURNS_MAX {
            let control = self.engine.table_control().await?;
            let Some((control, known)) =
                control.and_then(|control| Some((control.clone(), control.current_relocation()?.clone())))
            else {
                // Whoever else was at it has ended it.
                return has_begun.then_some(done).ok_or(RestoreError::NothingToAbort);
            };
            done.from.clone_from(&known.to);
            match known.phase {
                // What lies there before anything was put is its callers', and stays.
                RelocationPhase::Preparing if has_rows(self.engine, self.options.page_items).await? => {
                    if unclaim_table(self.engine, &control).await? {
                        return Ok(done);
                    }
                }
                RelocationPhase::Preparing | RelocationPhase::Restoring => {
                    let abandoning = Relocation {
                        phase: RelocationPhase::Abandoning,
                        ..known
                    };
                    has_begun |= self.engine.set_relocation(&control, Some(&abandoning)).await?;
                }
                RelocationPhase::Abandoning => {
                    has_begun = true;
                    if self.remove_all(&control, &mut done.removed).await?
                        && self.engine.remove_control(&control).await?
                    {
                        return Ok(done);
                    }
                }
                RelocationPhase::Claimed | RelocationPhase::Copying | RelocationPhase::Moved => {
                    return Err(RestoreError::Elsewhere(known));
                }
            }
        }
        Err(RestoreError::Overtaken)
    }

    /// Removes every item but the control row, until none is found; whether the work was this process's to its end.
    async fn remove_all(&self, control: &TableControl, removed: &mut u64) -> Result<bool, RestoreError> {
        // A restoring that was asleep looks again before it puts anything; what it had sent arrives meanwhile.
        (self.progress)(RestoreStage::Settling, 0);
        tokio::time::sleep(self.options.settles_for).await;
        loop {
            let mut found = 0;
            for table in carried_tables(self.engine).await? {
                let mut start = None;
                loop {
                    let page = page_of(self.engine, &table.name, self.options.page_items, start).await?;
                    let is_control = |item: &Item| table.name == control.table() && control.is_row(item);
                    let items = page.items.iter().filter(|item| !is_control(item));
                    let keys: Vec<Item> = items.map(|item| table.key_of(item)).collect();
                    found += keys.len() as u64;
                    (self.progress)(RestoreStage::Removing, keys.len() as u64);
                    if !self.engine.remove_while_known(control, &table.name, keys).await? {
                        return Ok(false);
                    }
                    start = page.last_key;
                    if start.is_none() {
                        break;
                    }
                }
            }
            *removed += found;
            if found == 0 {
                return Ok(true);
            }
        }
    }
}
