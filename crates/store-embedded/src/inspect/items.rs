//! Items, and what follows from each: its entries, its expiry, what is counted.

use std::sync::Arc;

use singlet_item::{Item, item_size_bytes};
use singlet_keyspace::{Direction, Snapshot};
use singlet_store::Result;

use super::{FlawKind, Inspection, TableSize, each_row, shown_bytes, shown_key};
use crate::catalogue::Table;
use crate::codec::{RawItem, Reader};
use crate::entry::Entry;
use crate::expiry;
use crate::layout::{self, Area, Span, TABLE_PREFIX_BYTES};
use crate::tasks::Task;
use crate::totals::Totals;
use crate::view::View;

/// Every item with what follows from it.
pub(super) fn inspect_items(snapshot: &Snapshot, table: &Table, size: &mut TableSize, found: &mut Inspection) {
    let mut bytes = 0;
    let mut collection = Collection::default();
    each_row(
        snapshot,
        &Span::with_prefix(layout::of_table(Area::Items, table.number)),
        found,
        |found, (key, value)| {
            size.items.add(&key, &value);
            let value: Arc<[u8]> = value.into_shared();
            let read = RawItem::new(&value).and_then(|raw| Ok((raw.size_bytes(), raw.decode_item()?)));
            let Some((stated, item)) =
                found.note_unreadable(Some(table), Some(shown_bytes(layout::within_table(&key))), read)
            else {
                return;
            };
            let shown = || Some(shown_key(table, &item));
            if stated != item_size_bytes(&item) {
                let what = format!("the item states {stated} bytes, and has {}", item_size_bytes(&item));
                found.add_flaw(FlawKind::ItemSize, Some(table), shown(), what);
            }
            bytes += stated as u64;
            // Looked at first: an item under a wrong key has entries that are wrong too, which would be said again and again.
            if table.item_key(&item) != *key {
                found.add_flaw(
                    FlawKind::ItemMisplaced,
                    Some(table),
                    shown(),
                    "the item lies under another key than its own, where no read by its key finds it",
                );
                return;
            }
            let local_bytes = inspect_item(snapshot, table, (&key, &item, &value), found);
            if table.has_local_index() {
                collection.add(snapshot, table, &item, stated as u64 + local_bytes, found);
            }
        },
    );
    if table.has_local_index() {
        collection.end(snapshot, table, found);
    }
    let Some(totals) = found.note_unreadable(Some(table), None, Totals::of(snapshot, table)) else {
        return;
    };
    if (totals.items, totals.bytes) != (size.items.rows, bytes) {
        let what = format!(
            "{} items with {} bytes are counted, and {} with {bytes} are there",
            totals.items, totals.bytes, size.items.rows
        );
        found.add_flaw(FlawKind::TotalsDiffer, Some(table), None, what);
    }
}

/// The entries and the expiry of one item. Gives the bytes of its entries in local indexes.
fn inspect_item(
    snapshot: &Snapshot,
    table: &Table,
    (key, item, bytes): (&[u8], &Item, &Arc<[u8]>),
    found: &mut Inspection,
) -> u64 {
    let shown = || Some(shown_key(table, item));
    let mut local_bytes = 0;
    for index in &table.indexes {
        let entry = Entry::of(table, index, bytes);
        let Some(Some(entry)) = found.note_unreadable(Some(table), shown(), entry) else {
            continue;
        };
        if index.is_local() {
            local_bytes += entry.size_bytes as u64;
        }
        let there = found.note_unreadable(Some(table), shown(), snapshot.value(&entry.key));
        let name = &index.spec.name;
        match there {
            // One that is being filled has not come to every item.
            Some(None) if index.is_building => {}
            Some(None) => {
                let what = format!("index `{name}` has no entry of it: no read of that index shows it");
                found.add_flaw(FlawKind::EntryMissing, Some(table), shown(), what);
            }
            Some(Some(there)) if *there != *entry.bytes => {
                let what = format!("the entry of index `{name}` says something else than the item");
                found.add_flaw(FlawKind::EntryDiffers, Some(table), shown(), what);
            }
            _ => {}
        }
    }
    let expires = found.note_unreadable(Some(table), shown(), expiry::expires_at(table, Some(bytes)));
    // While times are entered some are missing, which is no flaw.
    if let Some(Some(at)) = expires.filter(|_| !table.expiry_is_building) {
        let kept = snapshot.value(&layout::expiry_key(table.number, at, key));
        if let Some(None) = found.note_unreadable(Some(table), shown(), kept) {
            let what = "the time at which it expires is not kept: it would never be removed";
            found.add_flaw(FlawKind::ExpiryMissing, Some(table), shown(), what);
        }
    }
    local_bytes
}

/// The item collection that is being added up: items of one partition lie together.
#[derive(Default)]
struct Collection {
    key: Vec<u8>,
    bytes: u64,
    seen: u64,
    shown: String,
}

impl Collection {
    fn add(&mut self, snapshot: &Snapshot, table: &Table, item: &Item, bytes: u64, found: &mut Inspection) {
        let mut key = layout::of_table(Area::Collections, table.number);
        let values = table
            .partition_key()
            .iter()
            .filter_map(|attribute| item.get(&attribute.name));
        layout::put_partition(&mut key, values);
        // Items of one collection lie together, so that a new key is the end of the one before.
        if key != self.key {
            self.compare(snapshot, table, found);
            self.key = key;
            self.bytes = 0;
            self.seen += 1;
            self.shown = shown_key(table, item);
        }
        self.bytes += bytes;
    }

    fn compare(&self, snapshot: &Snapshot, table: &Table, found: &mut Inspection) {
        if self.key.is_empty() {
            return;
        }
        let counted = snapshot
            .value(&self.key)
            .and_then(|bytes| bytes.map_or(Ok(0), |bytes| Reader::new(&bytes).read_varint()));
        let shown = Some(self.shown.clone());
        let Some(counted) = found.note_unreadable(Some(table), shown.clone(), counted) else {
            return;
        };
        if counted != u128::from(self.bytes) {
            let what = format!(
                "{counted} bytes are counted in its item collection, and {} are there",
                self.bytes
            );
            found.add_flaw(FlawKind::CollectionDiffers, Some(table), shown, what);
        }
    }

    fn end(&self, snapshot: &Snapshot, table: &Table, found: &mut Inspection) {
        self.compare(snapshot, table, found);
        let span = Span::with_prefix(layout::of_table(Area::Collections, table.number));
        let kept = snapshot.range(span.bounds(), Direction::Forward).count() as u64;
        if kept != self.seen {
            let what = format!("{kept} item collections are counted, and {} are there", self.seen);
            found.add_flaw(FlawKind::CollectionDiffers, Some(table), None, what);
        }
    }
}

/// Every entry of every index has its item.
pub(super) fn inspect_entries(
    snapshot: &Snapshot,
    table: &Table,
    begun: &[Task],
    size: &mut TableSize,
    found: &mut Inspection,
) {
    each_row(
        snapshot,
        &Span::with_prefix(layout::of_table(Area::Entries, table.number)),
        found,
        |found, (key, value)| {
            size.entries.add(&key, &value);
            let number = layout::within_table(&key)
                .first_chunk::<4>()
                .map(|bytes| u32::from_be_bytes(*bytes));
            let index = table.indexes.iter().find(|index| Some(index.number) == number);
            let is_going = |task: &Task| matches!(task, Task::RemoveIndex { number: of, index } if *of == table.number && Some(*index) == number);
            let Some(index) = index else {
                // Entries of an index that is being removed go in steps.
                if !begun.iter().any(is_going) {
                    let key = Some(shown_bytes(layout::within_table(&key)));
                    found.add_flaw(
                        FlawKind::EntryStray,
                        Some(table),
                        key,
                        "an entry of an index that is not there",
                    );
                }
                return;
            };
            let shown = Some(shown_bytes(layout::within_table(&key)));
            let Some(entry) = found.note_unreadable(
                Some(table),
                shown,
                RawItem::new(&value).and_then(|raw| raw.decode_item()),
            ) else {
                return;
            };
            let shown = || Some(shown_key(table, &entry));
            let of_item = |bytes: singlet_keyspace::Bytes| Entry::of(table, index, &bytes.into_shared());
            let expected: Result<Option<Entry>> = snapshot
                .value(&table.item_key(&entry))
                .and_then(|bytes| Ok(bytes.map(of_item).transpose()?.flatten()));
            let Some(expected) = found.note_unreadable(Some(table), shown(), expected) else {
                return;
            };
            if expected.is_none_or(|expected| *expected.key != *key) {
                let what = format!(
                    "index `{}` has an entry that no item has: a read shows what is not there",
                    index.spec.name
                );
                found.add_flaw(FlawKind::EntryStray, Some(table), shown(), what);
            }
        },
    );
}

/// Every time has its item.
pub(super) fn inspect_expiries(snapshot: &Snapshot, table: &Table, size: &mut TableSize, found: &mut Inspection) {
    each_row(
        snapshot,
        &Span::with_prefix(layout::of_table(Area::Expiries, table.number)),
        found,
        |found, (key, value)| {
            size.expiries.add(&key, &value);
            let mut item_key = layout::of_table(Area::Items, table.number);
            item_key.extend_from_slice(key.get(TABLE_PREFIX_BYTES + size_of::<u64>()..).unwrap_or_default());
            let shown = Some(shown_bytes(layout::within_table(&item_key)));
            let item = snapshot
                .value(&item_key)
                .map(|bytes| bytes.map(singlet_keyspace::Bytes::into_shared));
            let at = item.and_then(|item| expiry::expires_at(table, item.as_ref()));
            let Some(at) = found.note_unreadable(Some(table), shown.clone(), at) else {
                return;
            };
            if at.is_none_or(|at| layout::expiry_key(table.number, at, &item_key) != *key) {
                let what = "a time is kept at which no item expires: removing what expired would stop there";
                found.add_flaw(FlawKind::ExpiryStray, Some(table), shown, what);
            }
        },
    );
}
