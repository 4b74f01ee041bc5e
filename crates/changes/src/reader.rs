//! Reads a stream on from a position, page by page, and tells what it means.

use std::sync::Arc;

use singlet_model::Model;
use singlet_store::{Result, STREAM_PAGE_RECORDS_MAX, StreamPosition, StreamRequest};

use crate::change::Change;
use crate::decode::{ChangeDecoder, Decoded, Misfit};
use crate::source::ChangeSource;

/// How many pages in a row must be empty for the head of a stream: a shard of DynamoDB may have empty stretches.
const HEAD_EMPTY_PAGES: u32 = 5;

/// By how many seconds the clock of who began may be ahead of the store's: so much of what was before may be told as if it came after.
pub const CLOCKS_DIFFER_SECONDS: i64 = 2 * 60;

/// Reads the changes of one model's rows.
pub struct ChangeReader {
    decoder: ChangeDecoder,
    source: Arc<dyn ChangeSource>,
    position: StreamPosition,
    page_records: u32,
    empty_pages: u32,
    newest_at: Option<i64>,
    tells_earlier: bool,
}

/// What one page of records means.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChangePage {
    /// Changes and misfits, in the order of their records.
    pub told: Vec<Told>,
    /// Records that mean nothing for a row.
    pub nothing: usize,
    /// Records of items of no entity.
    pub unknown: usize,
    /// Records from before the reading began, which are not told.
    pub earlier: usize,
}

/// A change, or a row that does not fit.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// A change.
    Change(Change),
    /// A row that does not fit.
    Misfit(Box<Misfit>),
}

impl ChangePage {
    /// How many records it was.
    pub fn is_empty(&self) -> bool {
        self.told.is_empty() && self.nothing == 0 && self.unknown == 0 && self.earlier == 0
    }
}

impl ChangeReader {
    /// Reads on from a position.
    pub fn new(model: Arc<Model>, source: Arc<dyn ChangeSource>, position: StreamPosition) -> Self {
        ChangeReader {
            decoder: ChangeDecoder::new(model),
            source,
            position,
            page_records: STREAM_PAGE_RECORDS_MAX,
            empty_pages: 0,
            newest_at: None,
            tells_earlier: true,
        }
    }

    /// The same without what happened before it began. On DynamoDB a reading begins in the middle of shards and is given some hours of that;
    /// it is told from the rest by its time, and where clocks differ by more than [`CLOCKS_DIFFER_SECONDS`], wrongly.
    #[must_use]
    pub fn without_earlier(mut self) -> Self {
        self.tells_earlier = false;
        self
    }

    /// The same with smaller pages; at least one record.
    #[must_use]
    pub fn with_page_records(mut self, records: u32) -> Self {
        self.page_records = records.clamp(1, STREAM_PAGE_RECORDS_MAX);
        self
    }

    pub(crate) fn set_page_records(&mut self, records: u32) {
        self.page_records = records.clamp(1, STREAM_PAGE_RECORDS_MAX);
    }

    pub(crate) fn leave_head(&mut self) {
        self.empty_pages = 0;
    }

    /// The same with it.
    #[must_use]
    pub(crate) fn with_earlier(mut self) -> Self {
        self.tells_earlier = true;
        self
    }

    /// Where it goes on: before everything that no page has told.
    pub fn position(&self) -> &StreamPosition {
        &self.position
    }

    /// Whether the last pages were empty, so that there is nothing to read but what is still to come.
    pub fn is_at_head(&self) -> bool {
        self.empty_pages >= HEAD_EMPTY_PAGES
    }

    /// Whether it has come to what happened after an instant, in seconds since 1970. Where others write all the time there is no
    /// head, and who wants what there was when it began ends here.
    pub fn has_passed(&self, seconds: i64) -> bool {
        self.newest_at.is_some_and(|newest| newest > seconds)
    }

    /// Reads a page. The position moves on only when all of it is told: where it fails, the same page is read again.
    ///
    /// # Errors
    ///
    /// Where the position is lost, or the source fails.
    pub async fn next_page(&mut self) -> Result<ChangePage> {
        let request = StreamRequest {
            table: self.decoder.model().table.name.clone(),
            position: self.position.clone(),
            limit: self.page_records,
        };
        // The position stays until all is told, so that a page that fails is read again whole.
        let records = self.source.read_records(&request).await?;
        // At `Latest` the first page is always empty, which says nothing about the head.
        self.empty_pages = match records.records.is_empty() && request.position != StreamPosition::Latest {
            true => self.empty_pages.saturating_add(1),
            false => 0,
        };
        let newest = records.records.iter().map(|record| record.at_seconds).max();
        let mut page = ChangePage::default();
        let began_at = records.began_at_seconds.filter(|_| !self.tells_earlier);
        let since = began_at.map_or(i64::MIN, |began| began.saturating_sub(CLOCKS_DIFFER_SECONDS));
        for record in records.records {
            // By time, since the numbers of shards say nothing about when the reading began.
            if record.at_seconds < since {
                page.earlier += 1;
                continue;
            }
            match self.decoder.decode_change(self.source.as_ref(), record).await? {
                Decoded::Changes(changes) => page.told.extend(changes.into_iter().map(Told::Change)),
                Decoded::Misfit(misfit) => page.told.push(Told::Misfit(misfit)),
                Decoded::Nothing => page.nothing += 1,
                Decoded::Unknown => page.unknown += 1,
            }
        }
        // After the whole page: a change that was not told must come again.
        self.position = records.next;
        self.newest_at = self.newest_at.max(newest);
        Ok(page)
    }
}
