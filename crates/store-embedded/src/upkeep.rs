//! What goes on beside requests: the format, tasks, expiry, trimming.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Arc, PoisonError, Weak};

use singlet_keyspace::Draft;
use singlet_store::{Result, StoreError};

use crate::catalogue::{self, Catalogue, Table};
use crate::codec::{Reader, put_varint};
use crate::expiry::Sweep;
use crate::layout::{self, Area};
use crate::stream::Moment;
use crate::trim::{self, Retention};
use crate::view::{View, from_space};
use crate::wait::wait_for;
use crate::{EmbeddedStore, Inner, blocking, expiry, now_millis, tasks};

/// How everything is laid out today.
pub(crate) const FORMAT: u128 = 1;
/// How many items one commit of a sweep deletes, or changes one commit of trimming removes.
const STEP_ROWS_MAX: usize = 256;
/// How much of what a killed process left undone is done while a folder is opened; the rest is done beside requests.
const OPENING_STEPS_MAX: usize = 32;

impl EmbeddedStore {
    /// Makes sure that the space is one that is understood, and goes on with what was begun.
    pub(crate) fn prepare_space(&self) -> Result<()> {
        let key = layout::named_key(Area::Format, "format");
        match self.snapshot().value(&key)? {
            None => {
                let begin = self.commit(0, move |_, draft, _| {
                    let mut format = Vec::new();
                    put_varint(&mut format, FORMAT);
                    draft.put_row(key, format).map_err(from_space)
                });
                wait_for(begin)?;
            }
            Some(bytes) => match Reader::new(&bytes).read_varint()? {
                FORMAT => {}
                newer => {
                    return Err(StoreError::unavailable(format!(
                        "the store has format {newer}, and this program knows {FORMAT}; open it with the program that wrote it, or a newer one"
                    )));
                }
            },
        }
        for _ in 0..OPENING_STEPS_MAX {
            if !tasks::is_any(&self.snapshot())? {
                return Ok(());
            }
            wait_for(self.step_tasks())?;
        }
        // Weak, so that a store which is dropped ends, and does not wait for its own upkeep.
        let inner = Arc::downgrade(&self.inner);
        let started = std::thread::Builder::new()
            .name("singlet-tasks".to_owned())
            .spawn(move || go_on(&inner));
        started
            .map(drop)
            .map_err(|error| StoreError::unavailable(format!("cannot start a thread: {error}")))
    }

    async fn step_tasks(&self) -> Result<bool> {
        self.commit(0, |catalogue, draft, _| tasks::step_task(catalogue, draft))
            .await
    }

    /// Does all that was asked for, on a thread of its own: whoever asked may stop waiting.
    pub(crate) async fn end_tasks(&self) -> Result<()> {
        if !tasks::is_any(&self.snapshot())? {
            return Ok(());
        }
        // Most are done in a step or two, where they were asked for.
        self.step_tasks().await?;
        if !tasks::is_any(&self.snapshot())? {
            return Ok(());
        }
        let store = self.clone();
        blocking(move || {
            while tasks::is_any(&store.snapshot())? {
                wait_for(store.step_tasks())?;
            }
            Ok(())
        })
        .await
    }

    /// Deletes every item whose TTL attribute names a time in the past, and returns how many there were. DynamoDB does
    /// so by itself, within days; here the owner of the store decides when.
    pub async fn delete_expired(&self) -> Result<usize> {
        let now_seconds = now_millis() / 1000;
        let mut deleted = 0;
        for table in self.tables()?.into_iter().filter(|table| table.spec.ttl.is_some()) {
            // Of one instant: what expires while it runs is of the next one, or a sweep would never end.
            let mut sweep = Sweep::new(now_seconds);
            while sweep.has_more(&self.snapshot(), &table)? {
                let (name, mut step) = (table.spec.name.clone(), sweep.clone());
                let swept = self.commit(0, move |catalogue, draft, now| {
                    // Asked again in each commit, since the table may be gone by then.
                    let Some(table) = catalogue.find_table(draft, &name)? else {
                        return Ok((0, step));
                    };
                    let mut moment = Moment::new(now);
                    let swept = expiry::sweep_expired(draft, &table, &mut step, STEP_ROWS_MAX, &mut moment)?;
                    Ok((swept, step))
                });
                match swept.await? {
                    // The table went, or nothing of it expires any more.
                    (0, _) => break,
                    (swept, step) => {
                        deleted += swept;
                        sweep = step;
                    }
                }
            }
        }
        Ok(deleted)
    }

    /// Which changes are kept from now on. Writes trim the others by themselves, some at a time.
    pub fn keep_changes(&self, retention: Retention) {
        let mut kept = self.inner.retention.write().unwrap_or_else(PoisonError::into_inner);
        *kept = Arc::new(retention);
    }

    /// Removes the changes of streams that need not be kept, and returns how many there were.
    pub async fn trim_changes(&self, retention: &Retention) -> Result<usize> {
        self.trim_changes_at(retention, now_millis()).await
    }

    /// Removes the changes that need not be kept by what [`EmbeddedStore::keep_changes`] said last, and returns how many there
    /// were.
    pub async fn trim_old_changes(&self) -> Result<usize> {
        let retention = Arc::clone(&self.inner.retention.read().unwrap_or_else(PoisonError::into_inner));
        self.trim_changes(&retention).await
    }

    async fn trim_changes_at(&self, retention: &Retention, now_millis: u64) -> Result<usize> {
        let retention = Arc::new(retention.clone());
        let mut trimmed = 0;
        for table in self.tables()? {
            loop {
                let (name, retention) = (table.spec.name.clone(), Arc::clone(&retention));
                let step = self.commit(0, move |catalogue: &Catalogue, draft, _| {
                    let Some(table) = catalogue.find_table(draft, &name)? else {
                        return Ok(0);
                    };
                    let now_seconds = Moment::new(now_millis).at_seconds;
                    trim::trim_changes(draft, &table, &retention, now_seconds, STEP_ROWS_MAX)
                });
                let step = step.await?;
                trimmed += step;
                if step < STEP_ROWS_MAX {
                    break;
                }
            }
        }
        Ok(trimmed)
    }

    /// Writes a copy of what is there now to an empty folder, while it serves. Opened, it is a store as this one.
    pub async fn backup(&self, folder: &Path) -> Result<()> {
        let (space, folder) = (self.inner.space.clone(), folder.to_owned());
        blocking(move || space.backup(&folder).map(drop).map_err(from_space)).await
    }

    /// Gives room back that deleted and replaced rows left, while it serves.
    pub async fn compact(&self) -> Result<()> {
        let space = self.inner.space.clone();
        blocking(move || space.compact().map_err(from_space)).await
    }

    fn tables(&self) -> Result<Vec<Table>> {
        catalogue::all_tables(&self.snapshot())
    }
}

/// How many commits go by until one trims.
const TRIM_EVERY_COMMITS: u64 = 64;

/// Trims some changes in a commit that changes something anyway, so that they are not kept for ever where nobody asks for it.
pub(crate) fn trim_now_and_then(draft: &mut Draft<'_>, retention: &Retention, now_millis: u64) -> Result<()> {
    // Not every write, since it looks at all tables that have a stream.
    if !draft.number().is_multiple_of(TRIM_EVERY_COMMITS) {
        return Ok(());
    }
    let now_seconds = Moment::new(now_millis).at_seconds;
    for table in catalogue::all_tables(draft)?
        .iter()
        .filter(|table| table.spec.stream.is_some())
    {
        trim::trim_changes(draft, table, retention, now_seconds, STEP_ROWS_MAX)?;
    }
    Ok(())
}

/// Goes on with tasks for as long as the store is open.
fn go_on(inner: &Weak<Inner>) {
    while let Some(inner) = inner.upgrade() {
        let store = EmbeddedStore { inner };
        // What fails here fails again for whoever waits for it, and is begun again at the next opening.
        match wait_for(store.step_tasks()) {
            Ok(true) => {}
            Ok(false) | Err(_) => return,
        }
    }
}
