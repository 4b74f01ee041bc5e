//! The change stream: shards hidden behind one position.

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]
mod fake;
#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]
mod tests;
#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]
mod triggers_tests;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use singlet_store::{
    Result, STREAM_PAGE_RECORDS_MAX, StoreError, StreamPage, StreamPosition, StreamRecord, StreamRequest,
};

use crate::shards::{Shard, ShardPlace, ShardProgress, StreamProgress, lost_position};

/// The most pages of shards that are listed; a page has up to 100.
pub(crate) const SHARD_PAGES_MAX: usize = 100;
/// The most shards that one page of records is read from.
const SHARDS_READ_MAX: usize = 32;
/// How often it is read on in a shard that gives nothing where nobody has looked yet: it may have empty stretches. Whoever looks again and
/// again reads once each time: reading is paid for, and a shard takes five a second.
const EMPTY_READS_MAX: usize = 4;
/// How often the shards are listed where none has ended: what comes after one that has is asked for at once. Everybody in an account
/// together may list ten times a second.
const LIST_SECONDS: i64 = 10;
/// How many iterators are remembered.
const ITERATORS_MAX: usize = 4096;

/// What a stream is asked. DynamoDB has four calls; which stream a table has is asked elsewhere.
#[async_trait]
pub(crate) trait ShardCalls: Send + Sync {
    /// A page of the shards, and after which shard the next page begins.
    async fn list_shards(&self, stream: &str, after: Option<String>) -> Result<(Vec<Shard>, Option<String>)>;

    /// An iterator at a place of a shard.
    async fn open_iterator(&self, stream: &str, shard: &str, place: &ShardPlace) -> Result<String>;

    /// Records at an iterator, and the iterator behind them; none at the end of a closed shard.
    async fn read_iterator(&self, iterator: &str, limit: usize) -> Result<(Vec<StreamRecord>, Option<String>)>;
}

/// Where the endpoint stands behind places of shards. It forgets iterators after a quarter of an hour, and so may we: then reading goes
/// on from the place. They are no part of a position.
#[derive(Debug, Default)]
pub(crate) struct Iterators(Mutex<HashMap<String, String>>);

impl Iterators {
    fn name(stream: &str, shard: &str, place: &ShardPlace) -> String {
        format!("{stream} {shard} {}", place.text())
    }

    fn take(&self, stream: &str, shard: &str, place: &ShardPlace) -> Option<String> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&Self::name(stream, shard, place))
    }

    fn keep(&self, stream: &str, shard: &str, place: &ShardPlace, iterator: String) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Forgotten all at once: they only save a call, and are opened again from their places.
        if all.len() >= ITERATORS_MAX {
            all.clear();
        }
        all.insert(Self::name(stream, shard, place), iterator);
    }
}

/// Seconds since 1970.
pub(crate) fn now_seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// A stream at one moment.
pub(crate) struct StreamReading<'a> {
    pub(crate) calls: &'a dyn ShardCalls,
    pub(crate) iterators: &'a Iterators,
    pub(crate) stream: &'a str,
    /// In seconds since 1970.
    pub(crate) now: i64,
}

impl StreamReading<'_> {
    /// Reads a page from a position on.
    pub(crate) async fn read_page(&self, request: &StreamRequest) -> Result<StreamPage> {
        if request.limit == 0 || request.limit > STREAM_PAGE_RECORDS_MAX {
            return Err(StoreError::bad_request(format!(
                "a page of a stream has 1 to {STREAM_PAGE_RECORDS_MAX} records, not {}",
                request.limit
            )));
        }
        let mut progress = match &request.position {
            StreamPosition::Start => StreamProgress::at_start(self.stream, self.now),
            StreamPosition::After(text) => StreamProgress::from_text(text)?,
            StreamPosition::Latest => {
                let shards = self.all_shards().await?;
                let progress = StreamProgress::at_open_shards(self.stream, self.now, &shards);
                return Ok(page(Vec::new(), &progress));
            }
        };
        // Before anything is read: what is read behind a gap would hide it.
        progress.is_kept(self.stream, self.now)?;
        if progress.is_to_be_listed(self.now, LIST_SECONDS) {
            // All pages of the list, or a shard on the last one would be taken for gone.
            progress.follow_listed(&self.all_shards().await?, self.now);
        }
        let records = self.read_shards(&mut progress, request.limit as usize).await?;
        Ok(page(records, &progress))
    }

    /// All shards, or an error: of a listing that is not whole, nothing follows.
    async fn all_shards(&self) -> Result<Vec<Shard>> {
        let (mut shards, mut after) = (Vec::new(), None);
        for _ in 0..SHARD_PAGES_MAX {
            let (listed, next) = self.calls.list_shards(self.stream, after).await?;
            shards.extend(listed);
            match next {
                Some(next) => after = Some(next),
                None => return Ok(shards),
            }
        }
        Err(StoreError::unavailable(format!(
            "the stream has more than {SHARD_PAGES_MAX} pages of shards"
        )))
    }

    /// Reads shards in turn until the page is full. Those that were read go to the back, so that a busy shard does not
    /// starve the others; nor does one that is throttled.
    async fn read_shards(&self, progress: &mut StreamProgress, limit: usize) -> Result<Vec<StreamRecord>> {
        // Computed before any is read: a child must not be read in the page in which its parent ends.
        let due: Vec<bool> = progress.shards.iter().map(|shard| progress.is_due(shard)).collect();
        let (mut records, mut first, mut last) = (Vec::new(), Vec::new(), Vec::new());
        let (mut reads, mut throttled) = (0, None);
        for (shard, is_due) in progress.shards.drain(..).zip(due) {
            if !is_due || records.len() >= limit || reads >= SHARDS_READ_MAX {
                first.push(shard);
                continue;
            }
            reads += 1;
            let before = shard.clone();
            match self.read_shard(shard, limit - records.len()).await {
                Ok((read, found)) => {
                    last.push(read);
                    records.extend(found);
                }
                Err(error) if error.is_throttled() => {
                    throttled = Some(error);
                    // As it was, and at the end of the line: one that is throttled must not keep the others waiting.
                    last.push(before);
                }
                Err(error) => return Err(error),
            }
        }
        let is_stopped = throttled.is_some() && records.is_empty() && last.len() == 1;
        // Those that were not read come first the next time, so that all have their turn.
        first.append(&mut last);
        progress.shards = first;
        match throttled {
            Some(error) if is_stopped => Err(error),
            _ => Ok(records),
        }
    }

    async fn read_shard(&self, mut shard: ShardProgress, limit: usize) -> Result<(ShardProgress, Vec<StreamRecord>)> {
        let (at, mut next) = match self.records_at(&shard, limit).await {
            // A parent that is not listed any more may be gone: then it had nothing left to tell.
            Err(error) if shard.place == ShardPlace::Perhaps && error.is_position_lost() => {
                (At::Opened(Vec::new()), None)
            }
            answer => answer?,
        };
        let (mut records, reads) = match at {
            // DynamoDB gives empty pages before those with records; a remembered iterator is past them.
            At::Opened(records) => (records, EMPTY_READS_MAX),
            At::Remembered(records) => (records, 0),
        };
        for _ in 0..reads {
            let Some(iterator) = next.as_ref().filter(|_| records.is_empty()) else {
                break;
            };
            (records, next) = self.calls.read_iterator(iterator, limit).await?;
        }
        shard.read_at = self.now;
        // That a shard is closed, or a page empty, says nothing: only where there is no further iterator it has ended.
        let place = match (&next, records.last()) {
            (None, _) => ShardPlace::End,
            (Some(_), Some(last)) => ShardPlace::After(last.sequence.clone()),
            (Some(_), None) if shard.place == ShardPlace::Perhaps => ShardPlace::Start,
            (Some(_), None) => shard.place,
        };
        if let Some(iterator) = next {
            // Under the place that it goes on from, so that only who is there takes it.
            self.iterators.keep(self.stream, &shard.shard, &place, iterator);
        }
        shard.place = place;
        Ok((shard, records))
    }

    /// Reads at the iterator that is remembered, or, if there is none or the endpoint forgot it, at the place.
    async fn records_at(&self, shard: &ShardProgress, limit: usize) -> Result<(At, Option<String>)> {
        // Taken out: an iterator that is used twice would give the same page to two.
        if let Some(iterator) = self.iterators.take(self.stream, &shard.shard, &shard.place) {
            match self.calls.read_iterator(&iterator, limit).await {
                Err(error) if error.is_position_lost() => {}
                answer => return answer.map(|(records, next)| (At::Remembered(records), next)),
            }
        }
        let opened = self.calls.open_iterator(self.stream, &shard.shard, &shard.place).await;
        let iterator = opened.map_err(|error| match error.is_not_found() {
            // Gone before it was read to its end: its changes are lost, and that must be said.
            true => lost_position(format!("shard `{}` is gone, and was not read to its end", shard.shard)),
            false => error,
        })?;
        let (records, next) = self.calls.read_iterator(&iterator, limit).await?;
        Ok((At::Opened(records), next))
    }
}

/// Records, by where it was read on.
enum At {
    /// At an iterator that was opened for it.
    Opened(Vec<StreamRecord>),
    /// Where the last reading ended.
    Remembered(Vec<StreamRecord>),
}

fn page(records: Vec<StreamRecord>, progress: &StreamProgress) -> StreamPage {
    StreamPage {
        records,
        next: StreamPosition::After(progress.to_text()),
        began_at_seconds: progress.began_at,
    }
}
