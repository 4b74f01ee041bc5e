//! Rows of the key space that belong to nothing, and tokens of transactions.

use std::ops::Bound;

use singlet_keyspace::{Direction, Snapshot};

use super::{FlawKind, Inspection, each_row, shown_bytes};
use crate::catalogue::Table;
use crate::layout::{self, Area, TABLE_AREAS, TABLE_PREFIX_BYTES};
use crate::order::after_prefix;
use crate::tasks::Task;
use crate::tokens;
use crate::view::{View, from_space};

/// How many places are looked at between which rows of known tables lie; there is one for each table and area.
const PLACES_MAX: usize = 1 << 20;

/// Rows of tables that are not there, and rows of no area.
pub(super) fn inspect_leftovers(snapshot: &Snapshot, tables: &[Table], begun: &[Task], found: &mut Inspection) {
    let is_known = |key: &[u8]| {
        let number = key
            .get(1..TABLE_PREFIX_BYTES)
            .and_then(|bytes| bytes.first_chunk::<4>());
        let number = number.map(|bytes| u32::from_be_bytes(*bytes));
        tables.iter().any(|table| Some(table.number) == number)
            || begun
                .iter()
                // Rows of a table that is being removed belong to nobody any more, and go.
                .any(|task| matches!(task, Task::RemoveTable { number: of } if Some(*of) == number))
    };
    let of_tables = |area: u8| TABLE_AREAS.iter().any(|known| *known as u8 == area);
    let single = [Area::Format, Area::Tables, Area::Tasks, Area::Tokens, Area::TokenTimes];
    let mut from = Vec::new();
    for _ in 0..PLACES_MAX {
        let rest = (Bound::Included(from.as_slice()), Bound::Unbounded);
        let next = snapshot.range(rest, Direction::Forward).next();
        let key = match next {
            None => return,
            Some(Ok((key, _))) => key,
            // What cannot be read was said of the area that it is in.
            Some(Err(error)) => {
                found.note_unreadable::<()>(None, None, Err(from_space(error)));
                return;
            }
        };
        let area = key.first().copied().unwrap_or_default();
        let prefix = match of_tables(area) {
            true => key.get(..TABLE_PREFIX_BYTES).unwrap_or(&key),
            false => key.get(..1).unwrap_or_default(),
        };
        let belongs = match of_tables(area) {
            true => is_known(&key),
            false => single.iter().any(|known| *known as u8 == area),
        };
        if !belongs {
            let what = "rows of the key space belong to no table that is there";
            found.add_flaw(FlawKind::Leftover, None, Some(shown_bytes(&key)), what);
        }
        // On to the next table or area, and not row by row: a folder may have millions of them.
        match after_prefix(prefix.to_vec()) {
            Some(after) if !prefix.is_empty() => from = after,
            _ => return,
        }
    }
}

/// A token and its time are kept and forgotten together.
pub(super) fn inspect_tokens(snapshot: &Snapshot, found: &mut Inspection) {
    let stray = |token: &[u8], found: &mut Inspection| {
        let what = "the token of a transaction and its time do not fit together";
        found.add_flaw(FlawKind::TokenStray, None, Some(shown_bytes(token)), what);
    };
    each_row(snapshot, &layout::all_of(Area::Tokens), found, |found, (key, value)| {
        let token = key.get(1..).unwrap_or_default();
        let time = tokens::read_token(&value).map(|(_, at)| tokens::time_key(at, token));
        let kept = time.map(|time| snapshot.value(&time)).transpose();
        if let Some(None | Some(None)) = found.note_unreadable(None, None, kept) {
            stray(token, found);
        }
    });
    each_row(snapshot, &layout::all_of(Area::TokenTimes), found, |found, (key, _)| {
        let Some((at, token)) = key.get(1..).and_then(|rest| rest.split_at_checked(8)) else {
            stray(&key, found);
            return;
        };
        let mut own = vec![Area::Tokens as u8];
        own.extend_from_slice(token);
        let Some(kept) = found.note_unreadable(None, None, snapshot.value(&own)) else {
            return;
        };
        // Used again since, it is known by its later time.
        if kept.is_none_or(|value| value.get(8..).is_none_or(|later| later < at)) {
            stray(token, found);
        }
    });
}
