//! Items that end at a time of their own.
//!
//! Beside each item whose table has a TTL lies its time, in order: what expired is found without looking at anything else.

use std::sync::Arc;

use singlet_keyspace::{Direction, Draft};
use singlet_store::Result;

use crate::catalogue::Table;
use crate::codec::{RawItem, damaged_data};
use crate::layout::{self, Area, Span, TABLE_PREFIX_BYTES};
use crate::stream::Moment;
use crate::view::{View, from_space};
use crate::write::ItemChange;

/// When an item expires, in seconds since 1970, if it does.
pub(crate) fn expires_at(table: &Table, item: Option<&Arc<[u8]>>) -> Result<Option<u64>> {
    let (Some(attribute), Some(bytes)) = (&table.spec.ttl, item) else {
        return Ok(None);
    };
    match RawItem::new(bytes)?.get(attribute)? {
        // A time before 1970, or what is no integer, never expires, as in DynamoDB.
        Some(value) => Ok(value.as_i64()?.and_then(|seconds| u64::try_from(seconds).ok())),
        None => Ok(None),
    }
}

/// Keeps the time of an item that changed.
pub(crate) fn replace_expiry(
    draft: &mut Draft<'_>,
    table: &Table,
    key: &[u8],
    old: Option<&Arc<[u8]>>,
    new: Option<&Arc<[u8]>>,
) -> Result<()> {
    let (before, after) = (expires_at(table, old)?, expires_at(table, new)?);
    // Both are of the same attribute, so that equal times are the same row.
    if before == after {
        return Ok(());
    }
    if let Some(at) = before {
        draft
            .delete_row(layout::expiry_key(table.number, at, key))
            .map_err(from_space)?;
    }
    enter(draft, table, key, after)
}

fn enter(draft: &mut Draft<'_>, table: &Table, key: &[u8], at: Option<u64>) -> Result<()> {
    match at {
        Some(at) => draft
            .put_row(layout::expiry_key(table.number, at, key), [].as_slice())
            .map_err(from_space),
        None => Ok(()),
    }
}

/// Enters the time of an item that was there before times were kept.
pub(crate) fn build_expiry(draft: &mut Draft<'_>, table: &Table, key: &[u8], item: &Arc<[u8]>) -> Result<()> {
    let at = expires_at(table, Some(item))?;
    enter(draft, table, key, at)
}

/// The times of a table that are past.
fn past(table: &Table, now_seconds: u64) -> Span {
    Span {
        from: layout::of_table(Area::Expiries, table.number),
        to: Some(layout::expiry_key(table.number, now_seconds, &[])),
    }
}

/// A sweep of a table: what expired before it began.
///
/// It goes on after the last time that it met. What it deleted lies in memory as deleted until it is in the base, and each step
/// would walk over all of it again.
#[derive(Clone, Debug)]
pub(crate) struct Sweep {
    now_seconds: u64,
    after: Option<Vec<u8>>,
}

impl Sweep {
    pub(crate) fn new(now_seconds: u64) -> Self {
        Self {
            now_seconds,
            after: None,
        }
    }

    fn span(&self, table: &Table) -> Span {
        let past = past(table, self.now_seconds);
        match &self.after {
            Some(key) => past.after_key(key),
            None => past,
        }
    }

    /// Whether items of a table are left that expired.
    pub(crate) fn has_more(&self, view: &impl View, table: &Table) -> Result<bool> {
        Ok(view.first(&self.span(table), Direction::Forward)?.is_some())
    }
}

/// Deletes some items that expired; how many.
pub(crate) fn sweep_expired(
    draft: &mut Draft<'_>,
    table: &Table,
    sweep: &mut Sweep,
    rows_max: usize,
    moment: &mut Moment,
) -> Result<usize> {
    let span = sweep.span(table);
    // Bounded, for all of it is one commit.
    let rows = draft.rows(span.bounds(), Direction::Forward).take(rows_max);
    let found: Vec<Vec<u8>> = rows
        .map(|row| row.map(|(key, _)| key.to_vec()))
        .collect::<std::result::Result<_, _>>()
        .map_err(from_space)?;
    let mut deleted = 0;
    for expiry in found {
        let within = expiry
            .get(TABLE_PREFIX_BYTES + size_of::<u64>()..)
            .ok_or_else(|| damaged_data("an expiry"))?;
        let mut key = layout::of_table(Area::Items, table.number);
        key.extend_from_slice(within);
        // Times are kept with every change, so that this one is the item's.
        let old = draft
            .value(&key)?
            .ok_or_else(|| damaged_data("an expiry"))?
            .into_shared();
        let item = RawItem::new(&old)?;
        let collection = collection(table, item)?;
        let change = ItemChange {
            table,
            key: &key,
            collection: collection.as_deref(),
            old: Some(&old),
            new: None,
            sizes: (Some(item.size_bytes()), None),
        };
        // What expires is deleted without charge.
        // All that follows from an item goes with it, as if somebody had deleted it.
        change.apply_change(draft, None, moment, true)?;
        deleted += 1;
        // The time and not the item: the next step goes on behind what is remembered as deleted.
        sweep.after = Some(expiry);
    }
    Ok(deleted)
}

fn collection(table: &Table, item: RawItem<'_>) -> Result<Option<Vec<u8>>> {
    if !table.has_local_index() {
        return Ok(None);
    }
    let mut key = layout::of_table(Area::Collections, table.number);
    let mut values = Vec::new();
    for attribute in table.partition_key() {
        let value = item.get(&attribute.name)?.ok_or_else(|| damaged_data("an item"))?;
        values.push(value.decode_value()?);
    }
    layout::put_partition(&mut key, &values);
    Ok(Some(key))
}
