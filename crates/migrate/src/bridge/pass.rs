//! One reading of the table after the other, until every row is what the phase has it be.

use std::sync::{Mutex, PoisonError};

use futures_util::{StreamExt, stream};
use singlet_audit::Pacer;
use singlet_item::Item;
use singlet_runtime::{MigrationPhase, RuntimeError, key_in, retried_past_conflicts, row};
use singlet_store::{Consumed, DeleteRequest};

use super::run::Bridge;
use super::state::BridgeSide;
use super::twins::{Keeping, Stamping};
use super::write::{Settled, Writing};
use crate::error::{MigrateError, RowMisfit};
use crate::migrator::MigrateProgress;
use crate::report::MISFITS_SHOWN_MAX;
use crate::step::as_read;

/// How often the table is read in one phase.
const PASSES_MAX: usize = 1_000;

/// How often a row that others change is tried in one reading of the table.
const ROW_TRIES_MAX: usize = 16;

/// One reading of the table after the other.
pub(crate) struct Pass<'p> {
    pub bridge: &'p Bridge,
    pub stamping: Stamping,
    pub consumed: &'p Mutex<Consumed>,
    pub pacer: &'p Pacer,
    pub progress: &'p (dyn Fn(MigrateProgress) + Sync),
    pub phase: MigrationPhase,
}

impl Pass<'_> {
    /// Reads the table until there is nothing left to do in it for the model that rows are kept by.
    pub async fn until_still(&self, side: BridgeSide, keeping: Keeping) -> Result<(), MigrateError> {
        for _ in 0..PASSES_MAX {
            let (written, blocked) = self.once(side, keeping).await?;
            match (written, blocked.is_empty()) {
                // A pass that has written nothing: rows that come after it are written by the models themselves, for both.
                (0, true) => return Ok(()),
                (0, false) => return Err(MigrateError::Blocked(blocked.len() as u64, blocked)),
                _ => {}
            }
        }
        Err(RuntimeError::Conflict.into())
    }

    async fn once(&self, side: BridgeSide, keeping: Keeping) -> Result<(u64, Vec<RowMisfit>), MigrateError> {
        let (mut written, mut blocked, mut start) = (0, Vec::new(), None);
        loop {
            let page = self.bridge.page(start.take()).await?;
            self.count(&page.consumed);
            let work = page.items.into_iter();
            let work = work.map(|item| async move { self.row(side, keeping, &item).await });
            let mut work = stream::iter(work).buffer_unordered(self.bridge.options.rows_at_once.max(1));
            while let Some(done) = work.next().await {
                match done? {
                    Ok(is_written) => written += u64::from(is_written),
                    Err(misfit) => blocked.push(misfit),
                }
            }
            blocked.truncate(MISFITS_SHOWN_MAX);
            (self.progress)(MigrateProgress {
                phase: self.phase,
                items: page.scanned as u64,
                written,
            });
            self.pacer.wait_until_paid().await;
            start = page.last_key;
            if start.is_none() {
                return Ok((written, blocked));
            }
        }
    }

    /// Has one item be what it is to be; whether it was written, or somebody was always faster.
    async fn row(
        &self,
        side: BridgeSide,
        keeping: Keeping,
        item: &Item,
    ) -> Result<Result<bool, RowMisfit>, MigrateError> {
        let bridge = self.bridge;
        let key = key_in(bridge.old.model(), item);
        let mut item = item.clone();
        // Others write the row; the next pass looks at it in any case.
        for _ in 0..ROW_TRIES_MAX {
            match self.row_as_read(side, keeping, &item).await? {
                Ok(Settled::Changed) => {}
                Ok(settled) => return Ok(Ok(settled == Settled::Written)),
                Err(misfit) => return Ok(Err(misfit)),
            }
            let how = (keeping, self.stamping);
            let writing = Writing::new(bridge.old.store(), &bridge.of_old, how, bridge.clock);
            let mut consumed = Consumed::default();
            let there = writing.read_again(&key, &mut consumed).await?;
            self.count(&consumed);
            match there {
                Some(there) => item = there,
                None => return Ok(Ok(false)),
            }
        }
        // Counted as written, so that another pass comes.
        Ok(Ok(true))
    }

    async fn row_as_read(
        &self,
        side: BridgeSide,
        keeping: Keeping,
        item: &Item,
    ) -> Result<Result<Settled, RowMisfit>, MigrateError> {
        let bridge = self.bridge;
        if let Some(roll) = &bridge.roll {
            // Before each row: who was not heard for too long may have been forgotten, and the table gone on.
            roll.check_heard()?;
        }
        let (own, back) = match side {
            BridgeSide::Old => (&bridge.of_old, &bridge.of_new),
            BridgeSide::New => (&bridge.of_new, &bridge.of_old),
        };
        let now = (bridge.clock)();
        let has_expired = row::has_expired(own.model(), item, now);
        let is_others = own.is_others(item);
        if has_expired {
            // What has ended is not taken along, and must not be left where no model looks.
            return match is_others && keeping == Keeping::OwnAlone {
                true => Ok(Ok(self.remove(item).await?)),
                false => Ok(Ok(Settled::Same)),
            };
        }
        let (twins, keeping) = match (own.entity_of(item).is_some(), own.is_row_of_other(item)) {
            (true, _) => (own, keeping),
            // A row that only the other model has is copied before its own goes.
            (false, true) if keeping == Keeping::OwnAlone => (back, Keeping::Both),
            _ => return Ok(Ok(Settled::Same)),
        };
        let stamping = match keeping {
            Keeping::Both => match self.stamping {
                Stamping::Nothing => Stamping::Epoch(1),
                epoch => epoch,
            },
            Keeping::OwnAlone => self.stamping,
        };
        let writing = Writing::new(bridge.old.store(), twins, (keeping, stamping), bridge.clock);
        let mut consumed = Consumed::default();
        let settled = writing.settle(item, &mut consumed).await?;
        self.count(&consumed);
        Ok(settled.map_err(|withheld| bridge.misfit(item, &withheld)))
    }

    async fn remove(&self, item: &Item) -> Result<Settled, MigrateError> {
        let model = self.bridge.old.model();
        let request = DeleteRequest {
            table: model.table.name.clone(),
            key: key_in(model, item),
            // As it was read: a row that was given more time meanwhile must stay.
            condition: Some(as_read(item, &Item::new())),
            return_old: false,
        };
        let store = self.bridge.old.store();
        match retried_past_conflicts(self.bridge.old.bounds(), || store.delete(&request)).await {
            Ok(answer) => {
                self.count(&answer.consumed);
                Ok(Settled::Written)
            }
            Err(error) if error.is_condition_failed() => Ok(Settled::Changed),
            Err(error) => Err(error.into()),
        }
    }

    fn count(&self, consumed: &Consumed) {
        self.pacer.note_taken(consumed.total_units().write.get() as f64);
        let mut total = self.consumed.lock().unwrap_or_else(PoisonError::into_inner);
        *total += consumed;
    }
}
