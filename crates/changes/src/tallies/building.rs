//! Figures that are counted anew while others write.
//!
//! From a position on, every row is scanned while the stream is read on: a row that the stream tells is as it tells last, any other as it was
//! scanned. What comes of it is true of the position at which the stream has been read to its head after the scan.
//!
//! **Invariant:** nothing of what is built counts until the head names it, and the head is written in one transaction with the position
//! of which it is true.

use std::collections::HashMap;

use futures_util::{StreamExt, TryStreamExt, stream};
use singlet_item::{Item, Value};
use singlet_runtime::{Engine, GroupValues, TallyFigures, figure_values, group_row};
use singlet_store::PutRequest;

use super::heads::KnownTally;
use super::netted::{InTally, Moved, Netted, counted_row, in_tally};
use crate::change::ChangeId;
use crate::decode::ChangeDecoder;
use crate::followers::{FollowError, Followers};
use crate::source::ScanItems;

/// How many items are scanned at once.
const SCAN_ITEMS: u32 = 500;

/// How many rows of figures are written at once.
const PUTS_AT_ONCE: usize = 16;

/// The most rows of which figures are built: what each has is held until all are known, some 100 bytes a row.
pub const BUILT_ROWS_MAX: usize = 20_000_000;

/// Why figures cannot be built.
pub(super) enum BuildError {
    /// What a row adds cannot be computed, or there are too many rows: why.
    Unbuildable(String),
    /// The store failed.
    Follow(FollowError),
}

impl From<FollowError> for BuildError {
    fn from(error: FollowError) -> Self {
        BuildError::Follow(error)
    }
}

/// The figures of a tally that are being built.
pub(super) struct Building {
    pub generation: i64,
    /// What each row has in the tally: as the stream told it, or as it was scanned.
    rows: HashMap<u128, InTally>,
    scan: Scan,
}

/// How far the scan is.
enum Scan {
    After(Option<Item>),
    Done { at_millis: i64 },
}

impl Building {
    pub fn new(generation: i64) -> Self {
        Building {
            generation,
            rows: HashMap::new(),
            scan: Scan::After(None),
        }
    }

    /// When the scan ended, if it has.
    pub fn scanned_at(&self) -> Option<i64> {
        match self.scan {
            Scan::After(_) => None,
            Scan::Done { at_millis } => Some(at_millis),
        }
    }

    /// What the stream tells of a row counts more than what was scanned.
    pub fn tell_moved(&mut self, engine: &Engine, known: &KnownTally, moved: &Moved) -> Result<(), BuildError> {
        let tallied = known.tally.entity;
        let name = engine.model().entity(tallied).map_or("", |entity| &entity.name);
        let is_meant = |row: &Option<(String, _)>| row.as_ref().is_some_and(|(entity, _)| entity == name);
        let Some(mark) = mark_number(&moved.mark) else {
            return Ok(());
        };
        // Also one that is counted and no longer meant: it has to be taken out.
        if !is_meant(&moved.before) && !is_meant(&moved.after) && !self.rows.contains_key(&mark) {
            return Ok(());
        }
        let now = in_tally(engine, &known.tally, moved.after.as_ref());
        let now = now.map_err(|error| BuildError::Unbuildable(error.to_string()))?;
        // The stream over the scan, always: it tells later changes later, and a scan may have seen an old row.
        self.rows.insert(mark, now);
        self.check_rows()
    }

    /// Scans some more rows.
    pub async fn scan_page(
        &mut self,
        engine: &Engine,
        (decoder, followers): (&ChangeDecoder, &Followers),
        known: &KnownTally,
        now_millis: i64,
    ) -> Result<(), BuildError> {
        let Scan::After(start) = &self.scan else { return Ok(()) };
        let request = ScanItems {
            table: engine.model().table.name.clone(),
            start: start.clone(),
            limit: SCAN_ITEMS,
        };
        let page = followers
            .source()
            .scan_items(&request)
            .await
            .map_err(FollowError::from)?;
        for item in &page.items {
            let row = counted_row(decoder, item);
            let found = in_tally(engine, &known.tally, row.as_ref());
            let Some(found) = found.map_err(|error| BuildError::Unbuildable(error.to_string()))? else {
                continue;
            };
            let id = ChangeId::of_record("scan", &followers.key_of(item));
            if let Some(mark) = mark_number(id.item_mark()) {
                // What the stream has told of a row is newer than what the scan finds.
                self.rows.entry(mark).or_insert(Some(found));
            }
        }
        // Before the place moves on: memory is bounded by rows, and not by time.
        self.check_rows()?;
        self.scan = match page.last_key {
            Some(last) => Scan::After(Some(last)),
            None => Scan::Done { at_millis: now_millis },
        };
        Ok(())
    }

    fn check_rows(&self) -> Result<(), BuildError> {
        match self.rows.len() <= BUILT_ROWS_MAX {
            true => Ok(()),
            false => Err(BuildError::Unbuildable(format!(
                "it has more than the {BUILT_ROWS_MAX} rows of which figures are built"
            ))),
        }
    }

    /// Writes the figures, where nobody sees them yet.
    pub async fn write_figures(&self, engine: &Engine, known: &KnownTally) -> Result<(), BuildError> {
        let mut netted = Netted::default();
        for row in self.rows.values() {
            let moved = netted.move_row(None, row.clone());
            moved.map_err(|error| BuildError::Unbuildable(error.to_string()))?;
        }
        let mut puts = Vec::new();
        // Written under a generation that nothing names: nobody reads it until it is whole.
        for (group, figures) in netted.into_groups() {
            puts.push(self.put_figures(engine, known, &group, &figures)?);
        }
        // Not lazily: a stream that held the closure could not move between threads.
        let mut sent = Vec::with_capacity(puts.len());
        for put in &puts {
            sent.push(engine.store().put(put));
        }
        let done = stream::iter(sent).buffer_unordered(PUTS_AT_ONCE);
        let done: Result<Vec<_>, _> = done.try_collect().await;
        done.map_err(FollowError::from)?;
        Ok(())
    }

    fn put_figures(
        &self,
        engine: &Engine,
        known: &KnownTally,
        group: &GroupValues,
        figures: &TallyFigures,
    ) -> Result<PutRequest, FollowError> {
        let mut item = group_row(engine.model(), &known.tally.name, self.generation, group)?;
        item.extend(figure_values(figures).map(|(name, number)| (name, Value::N(number))));
        Ok(PutRequest {
            table: engine.model().table.name.clone(),
            item,
            // Its generation is this process's alone, so that writing it twice writes the same.
            condition: None,
            return_old: false,
        })
    }
}

fn mark_number(mark: &str) -> Option<u128> {
    u128::from_str_radix(mark, 16).ok()
}
