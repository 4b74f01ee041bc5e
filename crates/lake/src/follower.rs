//! Follows the changes of a model's table into a lake.

use std::sync::Arc;
use std::time::Duration;

use singlet_changes::{
    ChangeDecoder, ChangePage, ChangeReader, ChangeSource, FollowError, Followers, LAKE_FOLLOWERS, Noted,
    SnapshotReader, Told,
};
use singlet_model::Model;
use singlet_store::StreamPosition;

use crate::batches::newest_number;
use crate::compaction::{KEPT_MILLIS, Tidied};
use crate::error::LakeError;
use crate::files::LakeFiles;
use crate::lake::{Appended, Lake};
use crate::personal::has_personal;
use crate::snapshot_rows::{HELD_ROWS_MAX, SnapshotRows};

/// The most changes of a batch.
const BATCH_CHANGES_MAX: usize = 20_000;

/// How long a change waits for others: each batch is a file, and a version, of every table it touches.
const BATCH_MILLIS: i64 = 2_000;

/// How old a noted position gets while nothing happens.
const IDLE_MILLIS: i64 = 15 * 60 * 1_000;

/// After so many batches it is looked whether files are to be put together.
const TIDY_BATCHES: u32 = 16;

/// How often old files are removed.
const VACUUM_MILLIS: i64 = 60 * 60 * 1_000;

/// After so many pages of rows the stream is read on.
const SCAN_PAGES: usize = 20;

/// How often a note is tried that others write too.
const NOTE_TRIES_MAX: usize = 16;

/// How long it is waited at the head of a stream that is elsewhere.
const HEAD_PAUSE: Duration = Duration::from_millis(250);

/// Follows changes into a lake.
pub struct LakeFollower {
    files: Arc<dyn LakeFiles>,
    model: Arc<Model>,
    source: Arc<dyn ChangeSource>,
    followers: Followers,
    /// How late the stream may be after a scan, in milliseconds.
    late_millis: i64,
    kept_millis: i64,
    /// None where something failed: it is opened again.
    opened: Option<Opened>,
    vacuumed_at: i64,
    /// Whether history is emptied whenever it is tidied, and not once a day.
    erases_at_once: bool,
    /// How many rows of a snapshot are held in memory at once.
    held_rows_max: usize,
}

/// A lake, and how far its changes were read.
struct Opened {
    lake: Lake,
    name: String,
    noted: Option<Noted>,
    /// Whether the table is the one of which the lake's position is.
    is_known: bool,
    reader: Option<ChangeReader>,
    pending: Vec<Told>,
    /// When the first of those was read, in milliseconds since 1970.
    pending_since: i64,
    batches: u32,
}

/// What one step did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LakeStep {
    /// How many records were read.
    pub records: usize,
    /// What the tables got.
    pub appended: Appended,
    /// Whether all rows were read anew.
    pub is_snapshot: bool,
}

impl LakeFollower {
    /// Of a model's table, into a lake that is opened with the first step.
    pub fn new(files: Arc<dyn LakeFiles>, model: Arc<Model>, source: Arc<dyn ChangeSource>, late_millis: i64) -> Self {
        LakeFollower {
            followers: Followers::new(Arc::clone(&model), Arc::clone(&source)),
            files,
            model,
            source,
            late_millis,
            kept_millis: KEPT_MILLIS,
            opened: None,
            vacuumed_at: i64::MIN,
            erases_at_once: false,
            held_rows_max: HELD_ROWS_MAX,
        }
    }

    /// The same, where snapshots hold fewer rows at once.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn with_held_rows(mut self, held_rows_max: usize) -> Self {
        self.held_rows_max = held_rows_max;
        self
    }

    /// The same, where history is emptied of what told of rows that are gone whenever it is tidied.
    #[must_use]
    pub fn with_erasure_at_once(mut self) -> Self {
        self.erases_at_once = true;
        self
    }

    /// The same, where what is no longer in a table stays for so long.
    #[must_use]
    pub fn with_kept_millis(mut self, kept_millis: i64) -> Self {
        self.kept_millis = kept_millis.max(0);
        self
    }

    /// Whether there is nothing to read but what is still to come.
    pub fn is_at_head(&self) -> bool {
        self.reader().is_some_and(ChangeReader::is_at_head)
    }

    /// Whether it has come to what happened after an instant, in seconds since 1970.
    pub fn has_passed(&self, seconds: i64) -> bool {
        self.reader().is_some_and(|reader| reader.has_passed(seconds))
    }

    fn reader(&self) -> Option<&ChangeReader> {
        self.opened.as_ref()?.reader.as_ref()
    }

    /// Reads a page of changes, and writes a batch where enough wait or the first has waited long enough. The first step reads all rows, where
    /// the lake does not have them.
    ///
    /// # Errors
    ///
    /// Where the store fails, files cannot be read or written, or another process writes to the lake: the next step goes on with what the lake
    /// has by then.
    pub async fn follow_page(&mut self, now: &(dyn Fn() -> i64 + Sync)) -> Result<LakeStep, LakeError> {
        let mut opened = self.take_opened(now()).await?;
        let mut step = LakeStep::default();
        // Only where nothing was read yet: with a reader the lake follows what it has.
        if opened.reader.is_none() && (opened.lake.needs_snapshot() || !opened.is_known) {
            opened = self.take_snapshot(opened, now, &mut step).await?;
        }
        let reader = opened.reader_at(&self.model, &self.source);
        let page = match reader.next_page().await {
            Ok(page) => page,
            // What is gone was not seen: what the rows became of it can be.
            Err(error) if error.is_position_lost() => {
                // What was told before the gap is in the snapshot too, and would come twice.
                opened.pending.clear();
                opened = self.take_snapshot(opened, now, &mut step).await?;
                ChangePage::default()
            }
            Err(error) => {
                // A failed call of the stream leaves the lake as it is; any other failure has it opened anew.
                self.opened = Some(opened);
                return Err(error.into());
            }
        };
        step.records = page.told.len() + page.nothing + page.unknown + page.earlier;
        if opened.pending.is_empty() {
            opened.pending_since = now();
        }
        opened.pending.extend(page.told);
        let has_waited = now().saturating_sub(opened.pending_since) >= BATCH_MILLIS;
        let is_due = opened.pending.len() >= BATCH_CHANGES_MAX || has_waited && !opened.pending.is_empty();
        let is_old = now().saturating_sub(opened.lake.batch_at_millis()) >= IDLE_MILLIS;
        // Also where nothing happened: a position that is not noted for a day would be lost.
        if is_due || is_old {
            let appended = self.write_batch(opened, now()).await?;
            step.appended.changes += appended.changes;
            step.appended.misfits += appended.misfits;
        } else {
            self.opened = Some(opened);
        }
        Ok(step)
    }

    /// Writes what waits.
    ///
    /// # Errors
    ///
    /// As a step.
    pub async fn flush_waiting(&mut self, now: i64) -> Result<Appended, LakeError> {
        match self.opened.take() {
            Some(opened) if !opened.pending.is_empty() => self.write_batch(opened, now).await,
            opened => {
                self.opened = opened;
                Ok(Appended::default())
            }
        }
    }

    /// Puts small files together and removes old ones.
    ///
    /// # Errors
    ///
    /// As a step.
    pub async fn tidy(&mut self, now: i64) -> Result<Tidied, LakeError> {
        let kept_since = now.saturating_sub(self.kept_millis);
        let mut opened = self.take_opened(now).await?;
        let erases_at_once = self.erases_at_once;
        let (lake, tidied) = in_lake(opened.lake, move |lake| {
            let emptied_rows = match erases_at_once {
                true => lake.erase_gone(now)?,
                false => lake.erase_due(now)?,
            };
            let mut tidied = lake.tidy(now)?;
            tidied.emptied_rows = emptied_rows;
            tidied.removed_files = lake.vacuum(kept_since)?.removed_files;
            Ok(tidied)
        })
        .await?;
        opened.lake = lake;
        self.vacuumed_at = now;
        self.opened = Some(opened);
        Ok(tidied)
    }

    async fn take_opened(&mut self, now: i64) -> Result<Opened, LakeError> {
        if let Some(opened) = self.opened.take() {
            return Ok(opened);
        }
        let (files, model) = (Arc::clone(&self.files), Arc::clone(&self.model));
        let secret = match has_personal(&model) {
            true => self.followers.value_secret().await?,
            false => Vec::new(),
        };
        let lake = tokio::task::spawn_blocking(move || Lake::open(files, model, &secret, now)).await;
        let lake = lake.map_err(|_| LakeError::Ended)??;
        let name = format!("{LAKE_FOLLOWERS}{}", lake.id());
        let noted = self.followers.noted_of(&name).await?;
        let mut opened = Opened {
            is_known: is_of_table(&lake, noted.as_ref()),
            lake,
            name,
            noted,
            reader: None,
            pending: Vec::new(),
            pending_since: now,
            batches: 0,
        };
        // Another process may have written since: what was read of the lake is then old.
        if !self.is_newest(&opened).await? {
            return Err(LakeError::Overtaken);
        }
        if let Some(position) = opened.lake.told_position().filter(|_| opened.is_known) {
            self.note(&mut opened, &position, now).await?;
        }
        Ok(opened)
    }

    /// Whether nobody has written a batch since.
    async fn is_newest(&self, opened: &Opened) -> Result<bool, LakeError> {
        let (files, number) = (Arc::clone(&self.files), opened.lake.batch_number());
        let newest = tokio::task::spawn_blocking(move || newest_number(files.as_ref())).await;
        Ok(newest.map_err(|_| LakeError::Ended)?? == Some(number))
    }

    /// Writes a batch of what waits, and says in the table how far that is.
    async fn write_batch(&mut self, mut opened: Opened, now: i64) -> Result<Appended, LakeError> {
        let position = opened.reader_at(&self.model, &self.source).position().clone();
        let pending = std::mem::take(&mut opened.pending);
        let at = position.clone();
        // The position goes into the lake with the rows: what counts is there, and the note only keeps the changes.
        let (lake, appended) = in_lake(opened.lake, move |lake| lake.append_told(&pending, &at, now)).await?;
        opened.lake = lake;
        // After the batch: noted first, a process that is killed would never bring what lies between.
        self.note(&mut opened, &position, now).await?;
        opened.batches += 1;
        let is_tidied = opened.batches >= TIDY_BATCHES;
        if is_tidied {
            opened.batches = 0;
            let is_vacuumed = now.saturating_sub(self.vacuumed_at) >= VACUUM_MILLIS;
            let kept_since = now.saturating_sub(self.kept_millis);
            let (lake, _) = in_lake(opened.lake, move |lake| {
                lake.erase_due(now)?;
                lake.tidy(now)?;
                match is_vacuumed {
                    true => lake.vacuum(kept_since).map(drop),
                    false => Ok(()),
                }
            })
            .await?;
            opened.lake = lake;
            if is_vacuumed {
                self.vacuumed_at = now;
            }
        }
        self.opened = Some(opened);
        Ok(appended)
    }

    /// Says in the table how far the lake is: it keeps changes for it, and knows it again.
    ///
    /// **Invariant:** a batch is written only when the one before was noted. So a table whose note is neither the lake's position nor the one
    /// before is another than the lake was made of, or an older copy of it.
    async fn note(&self, opened: &mut Opened, position: &StreamPosition, now: i64) -> Result<(), LakeError> {
        let seconds = now.div_euclid(1_000);
        for _ in 0..NOTE_TRIES_MAX {
            let done = match &opened.noted {
                Some(noted) if noted.position == *position => return Ok(()),
                Some(noted) => {
                    self.followers
                        .note_position(&opened.name, noted, position, seconds)
                        .await
                }
                None => {
                    self.followers
                        .enter_follower(&opened.name, position.clone(), seconds)
                        .await
                }
            };
            match done {
                Ok(noted) => {
                    opened.noted = Some(noted);
                    return Ok(());
                }
                Err(FollowError::Overtaken) => {}
                Err(error) => return Err(error.into()),
            }
            opened.noted = self.followers.noted_of(&opened.name).await?;
            // Overtaken in the note is nothing by itself; overtaken in the lake is.
            if !self.is_newest(opened).await? {
                break;
            }
        }
        Err(LakeError::Overtaken)
    }

    /// Reads every row while others write, from a position on, and goes on where the stream is read to its head after that: a row that the stream
    /// told is as it told last, any other as it was read.
    async fn take_snapshot(
        &mut self,
        mut opened: Opened,
        now: &(dyn Fn() -> i64 + Sync),
        step: &mut LakeStep,
    ) -> Result<Opened, LakeError> {
        let latest = StreamPosition::Latest;
        let mut reader = ChangeReader::new(Arc::clone(&self.model), Arc::clone(&self.source), latest);
        let decoder = ChangeDecoder::new(Arc::clone(&self.model));
        let mut rows = SnapshotRows::new(decoder, self.held_rows_max);
        // A position before the scan, from which on everything is told that the scan may miss.
        rows.take_told(&opened.lake, &reader.next_page().await?)?;
        let position = reader.position().clone();
        // Noted before the scan, so that its changes are kept however long it takes.
        self.note(&mut opened, &position, now()).await?;
        let mut scan = SnapshotReader::new(Arc::clone(&self.model), Arc::clone(&self.source));
        let mut pages = 0_usize;
        while let Some(page) = scan.next_page(now()).await? {
            rows.take_scanned(&opened.lake, page)?;
            if rows.is_full() {
                let spilled = tokio::task::spawn_blocking(move || rows.spill_rows().map(|()| rows));
                rows = spilled.await.map_err(|_| LakeError::Ended)??;
            }
            pages += 1;
            if pages.is_multiple_of(SCAN_PAGES) {
                // The stream is read along, or it would have gone on too far when the scan ends.
                rows.take_told(&opened.lake, &reader.next_page().await?)?;
            }
        }
        let passed = now().saturating_add(self.late_millis);
        loop {
            let page = reader.next_page().await?;
            rows.take_told(&opened.lake, &page)?;
            let is_past = reader.is_at_head() || reader.has_passed(passed.div_euclid(1_000));
            // The stream may be late: what happened during the scan must have been told.
            if is_past && now() >= passed {
                break;
            }
            if page.is_empty() && self.late_millis > 0 {
                tokio::time::sleep(HEAD_PAUSE).await;
            }
        }
        let position = reader.position().clone();
        let (at, now) = (position.clone(), now());
        let (lake, appended) = in_lake(opened.lake, move |lake| lake.replace_rows(rows, &at, now)).await?;
        opened.lake = lake;
        opened.reader = Some(reader);
        opened.is_known = true;
        self.note(&mut opened, &position, now).await?;
        step.is_snapshot = true;
        step.appended = appended;
        Ok(opened)
    }
}

impl Opened {
    fn reader_at(&mut self, model: &Arc<Model>, source: &Arc<dyn ChangeSource>) -> &mut ChangeReader {
        let position = self.lake.told_position().unwrap_or(StreamPosition::Latest);
        self.reader
            .get_or_insert_with(|| ChangeReader::new(Arc::clone(model), Arc::clone(source), position))
    }
}

/// Whether the table has noted how far the lake is, or how far it was before its last batch.
fn is_of_table(lake: &Lake, noted: Option<&Noted>) -> bool {
    let noted = noted.map(|noted| noted.position.clone());
    // Also the one before: a process may have been killed between the batch and its note.
    noted.is_some() && (noted == lake.told_position() || noted == lake.position_before())
}

/// Does what takes long, and waits for files, where nothing else waits for it. A lake in which something failed is not used again.
async fn in_lake<T: Send + 'static>(
    mut lake: Lake,
    work: impl FnOnce(&mut Lake) -> Result<T, LakeError> + Send + 'static,
) -> Result<(Lake, T), LakeError> {
    let done = tokio::task::spawn_blocking(move || work(&mut lake).map(|done| (lake, done)));
    done.await.map_err(|_| LakeError::Ended)?
}
