//! The changes of a stream: their numbers, and whether those of an item follow from one another and end with what it is.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use singlet_item::Item;
use singlet_keyspace::{Direction, Snapshot};
use singlet_store::{Result, StreamEvent, StreamRecord};

use super::{FlawKind, Inspection, TableSize, each_row, shown_bytes, shown_key};
use crate::catalogue::Table;
use crate::codec::RawItem;
use crate::layout::{self, Area, Span};
use crate::stream::{self, Sequence};
use crate::totals::Totals;
use crate::view::View;

/// How many items are followed through their changes, a few dozen bytes each; the changes of others are only read.
const FOLLOWED_ITEMS_MAX: usize = 1 << 21;

/// What an item was at some point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Was {
    Absent,
    /// There, and what it was is not told.
    There,
    /// There, as a hash of it.
    Exactly(u64),
}

impl Was {
    fn of(image: Option<&Item>, is_there: bool) -> Self {
        match (image, is_there) {
            (_, false) => Was::Absent,
            (None, true) => Was::There,
            (Some(item), true) => {
                let mut hasher = DefaultHasher::new();
                item.hash(&mut hasher);
                Was::Exactly(hasher.finish())
            }
        }
    }

    fn fits(self, other: Self) -> bool {
        match (self, other) {
            (Was::Absent, Was::Absent) => true,
            (Was::Absent, _) | (_, Was::Absent) => false,
            (Was::Exactly(one), Was::Exactly(other)) => one == other,
            (Was::There, _) | (_, Was::There) => true,
        }
    }
}

pub(super) fn inspect_changes(snapshot: &Snapshot, table: &Table, size: &mut TableSize, found: &mut Inspection) {
    let trimmed = found.note_unreadable(Some(table), None, stream::trimmed_up_to(snapshot, table));
    each_row(
        snapshot,
        &Span::with_prefix(layout::of_table(Area::Changes, table.number)),
        found,
        |found, (key, value)| {
            size.changes.add(&key, &value);
            let shown = Some(shown_bytes(layout::within_table(&key)));
            let Some(sequence) = Sequence::of_key(&key) else {
                found.add_flaw(FlawKind::ChangeNumber, Some(table), shown, "a change has no number");
                return;
            };
            if sequence.commit() > snapshot.number() {
                let what = format!(
                    "a change has the number of commit {}, and the last commit is {}",
                    sequence.commit(),
                    snapshot.number()
                );
                found.add_flaw(FlawKind::ChangeNumber, Some(table), shown.clone(), what);
            }
            if trimmed.is_some_and(|trimmed| sequence <= trimmed && trimmed != Sequence::START) {
                let what = "a change is there that is said to have been removed";
                found.add_flaw(FlawKind::ChangeNumber, Some(table), shown.clone(), what);
            }
        },
    );
    let counted = found.note_unreadable(Some(table), None, Totals::of(snapshot, table));
    if let Some(counted) = counted.filter(|counted| counted.change_bytes != size.changes.bytes) {
        let what = format!(
            "{} bytes of changes are counted, and {} are there",
            counted.change_bytes, size.changes.bytes
        );
        found.add_flaw(FlawKind::TotalsDiffer, Some(table), None, what);
    }
    if table.spec.stream.is_some() {
        inspect_order(snapshot, table, found);
    }
}

/// Goes back from what every item is now through its changes: each must end with what the next began from.
fn inspect_order(snapshot: &Snapshot, table: &Table, found: &mut Inspection) {
    let mut followed: HashMap<u64, Was> = HashMap::new();
    let span = stream::stream_span(table);
    let changes = snapshot
        // From what an item is now: how it was before its oldest change nobody knows.
        .range(span.bounds(), Direction::Backward)
        .map_while(std::result::Result::ok);
    for (key, value) in changes {
        let shown = Some(shown_bytes(layout::within_table(&key)));
        let Some(change) = found.note_unreadable(Some(table), shown, stream::decode_record(&key, &value)) else {
            continue;
        };
        let item_key = table.item_key(&change.key);
        let mut hasher = DefaultHasher::new();
        item_key.hash(&mut hasher);
        let hash = hasher.finish();
        let shown = || Some(shown_key(table, &change.key));
        let later = match followed.get(&hash) {
            Some(later) => *later,
            // Memory has to stay bounded whatever the folder holds, so that the changes of others are only read.
            None if followed.len() >= FOLLOWED_ITEMS_MAX => continue,
            None => match found.note_unreadable(Some(table), shown(), item_now(snapshot, &item_key)) {
                Some(now) => now,
                None => continue,
            },
        };
        let (before, after) = ends_of(&change);
        if !after.fits(later) {
            let what = format!(
                "change {} leaves it as something else than what the next change begins from, or what it is now",
                change.sequence
            );
            found.add_flaw(FlawKind::ChangeOrder, Some(table), shown(), what);
        }
        // What it was before this change is what the one before must have left.
        followed.insert(hash, before);
    }
}

fn item_now(snapshot: &Snapshot, key: &[u8]) -> Result<Was> {
    match snapshot.value(key)? {
        None => Ok(Was::Absent),
        Some(bytes) => Ok(Was::of(Some(&RawItem::new(&bytes)?.decode_item()?), true)),
    }
}

/// What an item was before and after a change.
fn ends_of(change: &StreamRecord) -> (Was, Was) {
    (
        Was::of(change.old.as_ref(), change.event != StreamEvent::Insert),
        Was::of(change.new.as_ref(), change.event != StreamEvent::Remove),
    )
}
