//! Following changes under a name: what was done is noted afterwards, so that nothing is left out, and some may come again.

use std::sync::Arc;

use singlet_store::{Cancellation, ErrorKind, Store, StoreError, StreamPosition, TransactWrite, TransactWriteRequest};

use crate::followers::{FollowError, Followers, Noted};
use crate::reader::{ChangePage, ChangeReader};

/// How old a noted position gets while nothing happens. It is far from the 23 hours for which one counts, and rare enough for
/// the stream on which every note is, too.
const IDLE_SECONDS_MAX: i64 = 15 * 60;

/// The most writes that are committed with a position: a transaction has 100 actions.
pub const COMMIT_WRITES_MAX: usize = 99;

/// One that follows under a name.
pub struct Follower {
    followers: Followers,
    name: String,
    noted: Noted,
    reader: ChangeReader,
    /// Whether changes were told since the last note.
    has_told: bool,
}

impl Follower {
    /// Goes on where the follower of that name was; a new one begins now: what happened before is not told, as far as clocks say
    /// ([`ChangeReader::without_earlier`]).
    ///
    /// # Errors
    ///
    /// Where the name is none, or the store fails.
    pub async fn start(followers: Followers, name: &str, now: i64) -> Result<Self, FollowError> {
        let noted = match followers.noted_of(name).await? {
            Some(noted) => noted,
            None => {
                // Noted as a place: a follower that began at `Latest` each time would miss what happened while it was away.
                let position = place_at(&followers, StreamPosition::Latest).await?;
                followers.enter_follower(name, position, now).await?
            }
        };
        Ok(Self::at(followers, name, noted))
    }

    /// The same under a name that nobody else can choose.
    pub(crate) async fn start_kept(followers: Followers, name: &str, now: i64) -> Result<Self, FollowError> {
        let noted = match followers.noted_of(name).await? {
            Some(noted) => noted,
            None => {
                let position = place_at(&followers, StreamPosition::Latest).await?;
                followers.enter_kept(name, position, now).await?
            }
        };
        Ok(Self::at(followers, name, noted))
    }

    fn at(followers: Followers, name: &str, noted: Noted) -> Self {
        let reader = reader_at(&followers, noted.position.clone());
        Follower {
            followers,
            name: name.to_owned(),
            noted,
            reader,
            has_told: false,
        }
    }

    /// The same with what happened before it began, for who has read every row after that: of what the store tells none may be missing.
    #[must_use]
    pub fn with_earlier(mut self) -> Self {
        self.reader = self.reader.with_earlier();
        self
    }

    /// Goes back to what is noted, with pages of so many records: of what was told since, nothing was done.
    pub(crate) fn read_again(&mut self, page_records: u32) {
        let reader = reader_at(&self.followers, self.noted.position.clone());
        self.reader = reader.with_earlier().with_page_records(page_records);
        self.has_told = false;
    }

    /// Has the next note say nothing of gaps: what they mean is noted elsewhere.
    pub(crate) fn forget_gaps(&mut self) {
        self.noted.gaps.clear();
    }

    /// Reads pages of so many records from now on.
    pub(crate) fn set_page_records(&mut self, records: u32) {
        self.reader.set_page_records(records);
    }

    /// Does not count as being at the head until the stream has been looked at again.
    pub(crate) fn leave_head(&mut self) {
        self.reader.leave_head();
    }

    /// How far it is, as noted.
    pub fn noted_progress(&self) -> &Noted {
        &self.noted
    }

    /// Whether there is nothing to read but what is still to come.
    pub fn is_at_head(&self) -> bool {
        self.reader.is_at_head()
    }

    /// Whether it has come to what happened after an instant, in seconds since 1970.
    pub fn has_passed(&self, seconds: i64) -> bool {
        self.reader.has_passed(seconds)
    }

    /// The next changes. Where they are gone, that is noted as a gap, and it goes on with the oldest that are kept.
    ///
    /// # Errors
    ///
    /// Where the store fails; the same page is then read again.
    pub async fn next_page(&mut self, now: i64) -> Result<ChangePage, FollowError> {
        let page = match self.reader.next_page().await {
            // A gap is noted before anything is read behind it, so that it cannot be forgotten by a process that is killed.
            Err(error) if error.is_position_lost() => {
                self.begin_again(now).await?;
                self.reader.next_page().await?
            }
            page => page?,
        };
        self.has_told |= !page.told.is_empty();
        Ok(page)
    }

    async fn begin_again(&mut self, now: i64) -> Result<(), FollowError> {
        // A place is noted, not `start`: what is kept today may be gone tomorrow, and that would be a gap too.
        let reader = reader_at(&self.followers, StreamPosition::Start);
        let before = self.noted.position.clone();
        self.noted = self.followers.note_gap(&self.name, &self.noted, &before, now).await?;
        self.reader = reader;
        Ok(())
    }

    /// Notes that every page that was told is done. A page without changes is noted only where the last note is old.
    ///
    /// # Errors
    ///
    /// Where another process follows under the same name and is further, or the store fails: then what was told comes again.
    pub async fn note_progress(&mut self, now: i64) -> Result<(), FollowError> {
        let is_idle = now.saturating_sub(self.noted.at_seconds) < IDLE_SECONDS_MAX;
        // The note is on the stream that it follows: noting every page would never come to its head.
        if !self.has_told && is_idle {
            return Ok(());
        }
        // After all that was told: what was told and not done must not be passed.
        let position = self.reader.position().clone();
        self.noted = self
            .followers
            .note_position(&self.name, &self.noted, &position, now)
            .await?;
        self.has_told = false;
        Ok(())
    }
}

impl Follower {
    /// Writes what was made of the pages that were told, and notes that they are done, all or nothing: for those who keep state, as a
    /// sum is. Every change counts once, whoever else follows under the name and whenever a process ends.
    ///
    /// Where it fails for a while, the same may be sent again; where it was done and only the answer was lost, it is not done again.
    ///
    /// # Errors
    ///
    /// Where another process is further ([`FollowError::Overtaken`]: nothing was written), there are too many writes, one of their
    /// conditions does not hold, or the store fails.
    pub async fn commit(&mut self, store: &dyn Store, writes: Vec<TransactWrite>, now: i64) -> Result<(), FollowError> {
        if writes.len() > COMMIT_WRITES_MAX {
            return Err(FollowError::Refused(format!(
                "one transaction has at most {COMMIT_WRITES_MAX} writes beside the position, not {}",
                writes.len()
            )));
        }
        let position = self.reader.position().clone();
        let (put, noted) = self.followers.note_write(&self.name, &self.noted, &position, now)?;
        // The note first: by its place in the answer it is known which condition failed.
        let mut actions = vec![TransactWrite::Put(put)];
        actions.extend(writes);
        // The condition on the note does what a token would: a second sending finds the turn raised.
        let request = TransactWriteRequest { actions, token: None };
        self.noted = match store.transact_write(&request).await {
            Ok(_) => noted,
            Err(error) if is_overtaken(&error) => {
                // Refused, because it was done already: the note there is this one, and only its answer was lost.
                self.followers.noted_alike(&self.name, &self.noted, &position).await?
            }
            Err(error) => return Err(error.into()),
        };
        self.has_told = false;
        Ok(())
    }
}

/// Whether the note itself, the first action, was refused.
fn is_overtaken(error: &StoreError) -> bool {
    match error.kind() {
        ErrorKind::Cancelled(reasons) => matches!(reasons.first(), Some(Cancellation::ConditionFailed { .. })),
        _ => false,
    }
}

fn reader_at(followers: &Followers, position: StreamPosition) -> ChangeReader {
    let (model, source) = (Arc::clone(followers.model()), Arc::clone(followers.source()));
    // On DynamoDB a stream begins in the middle of shards, with hours of what was before.
    ChangeReader::new(model, source, position).without_earlier()
}

/// A position as a place that can be noted.
async fn place_at(followers: &Followers, position: StreamPosition) -> Result<StreamPosition, StoreError> {
    let mut reader = reader_at(followers, position).with_page_records(1);
    reader.next_page().await?;
    Ok(reader.position().clone())
}
