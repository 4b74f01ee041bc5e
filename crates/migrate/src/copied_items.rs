//! The items of a table that is carried: put where it goes to, and held against what they were.

use std::collections::BTreeMap;

use futures_util::{StreamExt, stream};
use singlet_audit::Pacer;
use singlet_item::{Item, item_size_bytes};
use singlet_runtime::load::put_all;
use singlet_runtime::{Engine, RuntimeError, TableControl, batch_get, retried_past_conflicts, row};
use singlet_store::{DeleteRequest, KeySchema, PageAnswer, ScanRequest};

use crate::copy_error::CopyError;
use crate::gate::{GATE_BEAT, Gate, wall_millis};
use crate::table_copy::{CopiedTable, CopyStage, TableCopier, WRITE_UNIT_BYTES, carried_tables};

/// How often both tables are held against each other. What differs after so many is written by somebody else.
const ROUNDS_MAX: usize = 5;

/// Batches on their way to the target at the same time.
const BATCHES_AT_ONCE: usize = 8;

/// The items of a batch.
const BATCH_ITEMS: usize = 25;

/// What came of holding the target against the source.
#[derive(Clone, Copy, Debug, Default)]
struct Compared {
    equal: u64,
    corrected: u64,
}

/// A table of both stores, and how its items are told.
pub(crate) struct CarriedTable {
    pub name: String,
    pub key: KeySchema,
}

impl CarriedTable {
    pub fn key_of(&self, item: &Item) -> Item {
        let names = self.key.attributes().map(|attribute| &attribute.name);
        names
            .filter_map(|name| Some((name.clone(), item.get(name)?.clone())))
            .collect()
    }
}

impl TableCopier<'_> {
    /// Brings the target's items to what the source's are.
    pub(crate) async fn bring_items(&self, control: &TableControl, is_new: bool) -> Result<CopiedTable, CopyError> {
        let pacer = Pacer::new(self.options.rate);
        let mut copied = CopiedTable::default();
        for table in carried_tables(self.source).await? {
            if table.name != self.target.model().table.name {
                self.target.make_table_beside().await?;
            }
            let mut filled = self.fill(control, &table, !is_new, &pacer).await?;
            copied.put += filled.corrected;
            let mut rounds = 0;
            loop {
                let compared = self.compare(control, &table).await?;
                // What has expired may be gone from the target: then the source is asked which.
                if compared.corrected == 0 && compared.equal == filled.equal {
                    break;
                }
                rounds += 1;
                if rounds > ROUNDS_MAX {
                    return Err(CopyError::NotStill);
                }
                filled = self.fill(control, &table, true, &pacer).await?;
                copied.put += filled.corrected;
                if compared.corrected == 0 && filled.corrected == 0 {
                    break;
                }
            }
            copied.items += filled.equal;
        }
        Ok(copied)
    }

    /// Puts what the target lacks: all of it, or what is not there as it is here. How many there are, and how many were put.
    async fn fill(
        &self,
        control: &TableControl,
        table: &CarriedTable,
        compares: bool,
        pacer: &Pacer,
    ) -> Result<Compared, CopyError> {
        let mut filled = Compared::default();
        let seen = seen_just_now();
        self.check_under_way(control).await?;
        let mut start = None;
        loop {
            let page = page_of(self.source, &table.name, self.options.page_items, start).await?;
            let read = page.items.len() as u64;
            for item in &page.items {
                self.check_system(control, table, item)?;
            }
            let mut items = page.items;
            items.retain(|item| self.is_carried(control, table, item));
            filled.equal += items.len() as u64;
            if compares {
                items = lacking_items(self.target, table, items, (self.clock)()).await?;
            }
            filled.corrected += items.len() as u64;
            put_items(
                self.target,
                table,
                items,
                pacer,
                (&seen, || self.check_under_way(control)),
            )
            .await?;
            (self.progress)(CopyStage::Copying, read);
            start = page.last_key;
            if start.is_none() {
                return Ok(filled);
            }
            self.check_under_way(control).await?;
        }
    }

    /// Holds every item of the target against the source. What differs is put again, what is not of the source goes.
    async fn compare(&self, control: &TableControl, table: &CarriedTable) -> Result<Compared, CopyError> {
        let mut compared = Compared::default();
        let mut start = None;
        loop {
            let page = page_of(self.target, &table.name, self.options.page_items, start).await?;
            let read = page.items.len() as u64;
            // The two control rows say different things, and are written by themselves.
            let is_control = |item: &Item| table.name == control.table() && control.is_row(item);
            let there: Vec<Item> = page.items.into_iter().filter(|item| !is_control(item)).collect();
            let wanted = items_of(self.source, table, &there).await?;
            let wanted = |item: &Item| {
                let wanted = wanted.get(&table.key_of(item));
                // What the source leaves behind must not lie there, either.
                wanted.filter(|wanted| self.is_carried(control, table, wanted))
            };
            for item in &there {
                match wanted(item) {
                    Some(wanted) if wanted == item => compared.equal += 1,
                    Some(wanted) => {
                        compared.corrected += 1;
                        put_all(self.target.store(), &table.name, vec![wanted.clone()], |_| {}).await?;
                    }
                    None => {
                        compared.corrected += 1;
                        remove_item(self.target, table, item).await?;
                    }
                }
            }
            (self.progress)(CopyStage::Verifying, read);
            start = page.last_key;
            if start.is_none() {
                return Ok(compared);
            }
            self.check_under_way(control).await?;
        }
    }
}

/// Of some items, those that are not in a table as they are; what has expired may be gone there.
pub(crate) async fn lacking_items(
    engine: &Engine,
    table: &CarriedTable,
    items: Vec<Item>,
    now: i64,
) -> Result<Vec<Item>, RuntimeError> {
    let there = items_of(engine, table, &items).await?;
    let is_lacking = |item: &Item| match there.get(&table.key_of(item)) {
        Some(there) => there != item,
        None => !row::has_expired(engine.model(), item, now),
    };
    Ok(items.into_iter().filter(is_lacking).collect())
}

/// What lies under the keys of some items.
async fn items_of(engine: &Engine, table: &CarriedTable, items: &[Item]) -> Result<BTreeMap<Item, Item>, RuntimeError> {
    let keys: Vec<Item> = items.iter().map(|item| table.key_of(item)).collect();
    // Strongly: what was put a moment ago would otherwise seem to be lacking.
    let (found, _) = batch_get(engine.store(), engine.bounds(), &table.name, &keys, true).await?;
    Ok(found.into_iter().map(|item| (table.key_of(&item), item)).collect())
}

/// When it was last seen that the work is still this process's. One that was asleep learns by it that it must look again before it puts
/// anything: what it read before may be long over.
pub(crate) fn seen_just_now() -> Gate {
    Gate::open(wall_millis, GATE_BEAT)
}

/// Puts items as they are, for as long as the work is this process's.
pub(crate) async fn put_items<E, Look>(
    engine: &Engine,
    table: &CarriedTable,
    items: Vec<Item>,
    pacer: &Pacer,
    (seen, look): (&Gate, impl Fn() -> Look),
) -> Result<(), E>
where
    E: From<RuntimeError>,
    Look: Future<Output = Result<(), E>>,
{
    let look = &look;
    let batches: Vec<Vec<Item>> = items.chunks(BATCH_ITEMS).map(<[Item]>::to_vec).collect();
    let work = batches.into_iter().map(|batch| async move {
        let units = batch
            .iter()
            .map(|item| (item_size_bytes(item) as u64).div_ceil(WRITE_UNIT_BYTES));
        let units: u64 = units.sum();
        pacer.wait_until_paid().await;
        pacer.note_taken(units as f64);
        // After the wait for the rate, which may be long, and before anything is sent.
        if seen.is_stale() {
            let at = seen.gate_moment();
            look().await?;
            seen.has_read(None, at);
        }
        put_all(engine.store(), &table.name, batch, |_| {})
            .await
            .map_err(E::from)
    });
    let mut work = stream::iter(work).buffer_unordered(BATCHES_AT_ONCE);
    while let Some(done) = work.next().await {
        done?;
    }
    Ok(())
}

async fn remove_item(engine: &Engine, table: &CarriedTable, item: &Item) -> Result<(), RuntimeError> {
    let request = DeleteRequest {
        table: table.name.clone(),
        key: table.key_of(item),
        ..DeleteRequest::default()
    };
    retried_past_conflicts(engine.bounds(), || engine.store().delete(&request)).await?;
    Ok(())
}

/// One page of a table, strongly.
pub(crate) async fn page_of(
    engine: &Engine,
    table: &str,
    limit: u32,
    start: Option<Item>,
) -> Result<PageAnswer, RuntimeError> {
    let request = ScanRequest {
        table: table.to_owned(),
        consistent: true,
        limit: Some(limit.max(1)),
        start,
        ..ScanRequest::default()
    };
    Ok(retried_past_conflicts(engine.bounds(), || engine.store().scan(&request)).await?)
}
