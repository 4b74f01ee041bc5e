//! Changes of a table, as its stream tells them.
//!
//! A change is written in the commit that made it, under the number of that commit and its place within: so the numbers are the order in
//! which things happened, and there is no change without its item or the other way round.

use std::sync::Arc;

use singlet_keyspace::{Direction, Draft};
use singlet_store::{
    Result, STREAM_PAGE_RECORDS_MAX, StoreError, StreamEvent, StreamPage, StreamPosition, StreamRecord, StreamRequest,
    StreamView,
};

use crate::catalogue::{Catalogue, Table};
use crate::codec::{RawItem, Reader, damaged_data, encode_item, put_varint};
use crate::layout::{self, Area, Span};
use crate::view::{View, from_space};
use crate::words;

/// How changes are written today.
const VERSION: u8 = 1;

/// The most bytes of images on one page, so that a page of large items is bounded too.
const PAGE_BYTES_MAX: usize = 1 << 20;

/// When a commit happens, and how many changes it has so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) at_seconds: i64,
    places: u32,
}

impl Moment {
    pub(crate) fn new(at_millis: u64) -> Self {
        Self {
            at_seconds: i64::try_from(at_millis / 1000).unwrap_or(i64::MAX),
            places: 0,
        }
    }
}

/// A place in the stream of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sequence {
    commit: u64,
    place: u32,
}

/// How many digits the place within a commit has.
const PLACE_DIGITS: usize = 10;
/// How many digits the number of a commit has, so that numbers sort as text.
const COMMIT_DIGITS: usize = 20;

impl Sequence {
    /// Before everything.
    pub(crate) const START: Self = Self { commit: 0, place: 0 };

    fn last_before(commit: u64) -> Self {
        Self {
            commit: commit.saturating_sub(1),
            place: u32::MAX,
        }
    }

    fn text(self) -> String {
        format!("{:0COMMIT_DIGITS$}{:0PLACE_DIGITS$}", self.commit, self.place)
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.len() != COMMIT_DIGITS + PLACE_DIGITS || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let (commit, place) = text.split_at_checked(COMMIT_DIGITS)?;
        Some(Self {
            commit: commit.parse().ok()?,
            place: place.parse().ok()?,
        })
    }

    pub(crate) fn of_key(key: &[u8]) -> Option<Self> {
        let (commit, place) = layout::within_table(key).split_at_checked(8)?;
        Some(Self {
            commit: u64::from_be_bytes(commit.try_into().ok()?),
            place: u32::from_be_bytes(place.try_into().ok()?),
        })
    }

    pub(crate) fn key(self, table: &Table) -> Vec<u8> {
        layout::change_key(table.number, self.commit, self.place)
    }

    pub(crate) fn commit(self) -> u64 {
        self.commit
    }

    pub(crate) fn bytes(self) -> Vec<u8> {
        let mut out = self.commit.to_be_bytes().to_vec();
        out.extend_from_slice(&self.place.to_be_bytes());
        out
    }
}

/// Writes down that an item changed. Gives how many bytes that takes.
pub(crate) fn record_change(
    draft: &mut Draft<'_>,
    table: &Table,
    old: Option<&Arc<[u8]>>,
    new: Option<&Arc<[u8]>>,
    moment: &mut Moment,
    is_expiry: bool,
) -> Result<u64> {
    let (Some(view), Some(any)) = (table.spec.stream, new.or(old)) else {
        return Ok(0);
    };
    let event = match (old, new) {
        (None, _) => event::INSERT,
        (Some(_), Some(_)) => event::MODIFY,
        (Some(_), None) if is_expiry => event::EXPIRE,
        (Some(_), None) => event::REMOVE,
    };
    let is_key = |name: &str| table.spec.key.attributes().any(|attribute| attribute.name == name);
    // The key in any case, whatever view the stream has: a change without it is of nobody.
    let key = RawItem::new(any)?.project_bytes(is_key)?;
    let old = old.filter(|_| matches!(view, StreamView::Old | StreamView::Both));
    let new = new.filter(|_| matches!(view, StreamView::New | StreamView::Both));
    let images = [Some(key.as_slice()), old.map(|old| &**old), new.map(|new| &**new)];
    put(draft, table, event, images, moment)
}

/// Writes down a change that another store told. Gives how many bytes that takes.
pub(crate) fn record_told(draft: &mut Draft<'_>, table: &Table, told: &StreamRecord, places: u32) -> Result<u64> {
    let event = match told.event {
        StreamEvent::Insert => event::INSERT,
        StreamEvent::Modify => event::MODIFY,
        StreamEvent::Remove if told.expired => event::EXPIRE,
        StreamEvent::Remove => event::REMOVE,
    };
    let (key, old, new) = (
        encode_item(&told.key),
        told.old.as_ref().map(encode_item),
        told.new.as_ref().map(encode_item),
    );
    let mut moment = Moment {
        at_seconds: told.at_seconds,
        places,
    };
    put(
        draft,
        table,
        event,
        [Some(&key), old.as_deref(), new.as_deref()],
        &mut moment,
    )
}

/// Puts a change: its key, what was before and what is after.
fn put(
    draft: &mut Draft<'_>,
    table: &Table,
    event: u8,
    images: [Option<&[u8]>; 3],
    moment: &mut Moment,
) -> Result<u64> {
    let bytes: usize = images.iter().flatten().map(|image| image.len() + 4).sum();
    let mut out = Vec::with_capacity(bytes + 16);
    out.extend_from_slice(&[VERSION, event]);
    put_varint(&mut out, u128::try_from(moment.at_seconds).unwrap_or(0));
    for image in images {
        // An item is never empty, so that nothing is no image.
        let image = image.unwrap_or_default();
        put_varint(&mut out, image.len() as u128);
        out.extend_from_slice(image);
    }
    // Of the commit that makes it: a change and its item are there together or not at all.
    let key = layout::change_key(table.number, draft.number(), moment.places);
    // The place within the commit: two changes of one transaction must not have one number.
    moment.places += 1;
    let taken = (key.len() + out.len()) as u64;
    draft.put_row(key, out).map_err(from_space)?;
    Ok(taken)
}

/// What happened, in a byte.
mod event {
    pub(super) const INSERT: u8 = 0;
    pub(super) const MODIFY: u8 = 1;
    pub(super) const REMOVE: u8 = 2;
    pub(super) const EXPIRE: u8 = 3;
}

/// When a change was made.
pub(crate) fn at_seconds(bytes: &[u8]) -> Result<i64> {
    let mut reader = Reader::new(bytes);
    reader.take_bytes(2)?;
    i64::try_from(reader.read_varint()?).map_err(|_| damaged_data("a change"))
}

pub(crate) fn decode_record(key: &[u8], bytes: &[u8]) -> Result<StreamRecord> {
    let mut reader = Reader::new(bytes);
    if reader.read_byte()? != VERSION {
        return Err(damaged_data("a change of another version"));
    }
    let event = reader.read_byte()?;
    let at_seconds = i64::try_from(reader.read_varint()?).map_err(|_| damaged_data("a change"))?;
    let mut image = || match reader.bytes()? {
        [] => Ok(None),
        bytes => RawItem::new(bytes)?.decode_item().map(Some),
    };
    Ok(StreamRecord {
        sequence: Sequence::of_key(key).ok_or_else(|| damaged_data("a change"))?.text(),
        event: match event {
            event::INSERT => StreamEvent::Insert,
            event::MODIFY => StreamEvent::Modify,
            event::REMOVE | event::EXPIRE => StreamEvent::Remove,
            _ => return Err(damaged_data("a change of another kind")),
        },
        key: image()?.ok_or_else(|| damaged_data("a change"))?,
        old: image()?,
        new: image()?,
        at_seconds,
        expired: event == event::EXPIRE,
    })
}

/// All changes of a table that its stream has.
pub(crate) fn stream_span(table: &Table) -> Span {
    let all = Span::with_prefix(layout::of_table(Area::Changes, table.number));
    all.after_key(&Sequence::last_before(table.stream_since).key(table))
}

/// The last change that is no longer kept.
pub(crate) fn trimmed_up_to(view: &impl View, table: &Table) -> Result<Sequence> {
    match view.value(&layout::of_table(Area::Trimmed, table.number))? {
        None => Ok(Sequence::START),
        Some(bytes) => {
            let mut key = layout::of_table(Area::Changes, table.number);
            key.extend_from_slice(&bytes);
            Sequence::of_key(&key).ok_or_else(|| damaged_data("the end of a stream"))
        }
    }
}

/// Where a position stands, if it still does.
pub(crate) fn resolve_position(view: &impl View, table: &Table, position: &str) -> Result<Sequence> {
    let lost = || {
        StoreError::from_protocol(
            "TrimmedDataAccessException",
            "The operation attempted to read past the oldest stream record in a shard.",
        )
    };
    let Some(sequence) = Sequence::parse(position) else {
        // Numbers of another length are those of the store of before.
        let is_number = !position.is_empty() && position.bytes().all(|byte| byte.is_ascii_digit());
        let shown: String = position.chars().take(64).collect();
        return Err(match is_number {
            true => lost(),
            false => words::invalid_request(format!("Invalid SequenceNumber: `{shown}`")),
        });
    };
    // Said and not passed over: a follower that goes on behind a gap would never know of it.
    if sequence < trimmed_up_to(view, table)? || sequence < Sequence::last_before(table.stream_since) {
        return Err(lost());
    }
    Ok(sequence)
}

pub(crate) fn read_changes(catalogue: &Catalogue, view: &impl View, request: &StreamRequest) -> Result<StreamPage> {
    if request.limit == 0 || request.limit > STREAM_PAGE_RECORDS_MAX {
        return Err(StoreError::bad_request(format!(
            "a page of a stream has 1 to {STREAM_PAGE_RECORDS_MAX} records, not {}",
            request.limit
        )));
    }
    let table = catalogue.find_table(view, &request.table)?;
    let table = table
        .filter(|table| table.spec.stream.is_some())
        .ok_or_else(|| words::no_stream(&request.table))?;
    let all = stream_span(&table);
    let (mut last, span) = match &request.position {
        StreamPosition::Start => {
            let before = trimmed_up_to(view, &table)?.max(Sequence::last_before(table.stream_since));
            (before, all.after_key(&before.key(&table)))
        }
        StreamPosition::After(position) => {
            let sequence = resolve_position(view, &table, position)?;
            (sequence, all.after_key(&sequence.key(&table)))
        }
        StreamPosition::Latest => {
            let newest = match view.first(&all, Direction::Backward)? {
                Some((key, _)) => Sequence::of_key(&key).ok_or_else(|| damaged_data("a change"))?,
                None => trimmed_up_to(view, &table)?.max(Sequence::last_before(table.stream_since)),
            };
            return Ok(StreamPage {
                records: Vec::new(),
                next: StreamPosition::After(newest.text()),
                began_at_seconds: None,
            });
        }
    };
    let (mut records, mut bytes) = (Vec::new(), 0);
    for row in view.rows(span.bounds(), Direction::Forward) {
        let (key, value) = row.map_err(from_space)?;
        records.push(decode_record(&key, &value)?);
        // Also where nothing is left: the position moves with what was read.
        last = Sequence::of_key(&key).unwrap_or(last);
        bytes += value.len();
        if records.len() >= request.limit as usize || bytes >= PAGE_BYTES_MAX {
            break;
        }
    }
    Ok(StreamPage {
        records,
        next: StreamPosition::After(last.text()),
        began_at_seconds: None,
    })
}
