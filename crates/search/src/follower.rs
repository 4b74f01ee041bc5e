//! Follows the changes of a model's table into an index of words.

use std::sync::Arc;
use std::time::Duration;

use singlet_changes::{
    Change, ChangePage, ChangeReader, ChangeSource, FollowError, Followers, Noted, SEARCH_FOLLOWERS, SnapshotReader,
    SnapshotRow, Told,
};
use singlet_item::Item;
use singlet_model::Model;
use singlet_runtime::{Attributes, primary_key, search_key};
use singlet_store::StreamPosition;

use crate::error::SearchError;
use crate::served::{ServedIndex, ShownIndex};
use crate::word_index::{IndexPlace, Mark, Searched, WordIndex, layout_of, searched_entities};

/// How long changes wait for others before they can be found: a commit writes some files.
const COMMIT_MILLIS: i64 = 250;

/// The most changes of a commit.
const COMMIT_CHANGES_MAX: usize = 20_000;

/// How old a noted position gets while nothing happens.
const IDLE_MILLIS: i64 = 15 * 60 * 1_000;

/// How long the words of rows that are gone stay in files.
const ERASE_MILLIS: i64 = 60 * 1_000;

/// How often a note is tried that others write too.
const NOTE_TRIES_MAX: usize = 16;

/// How long it is waited at the head of a stream that is elsewhere.
const HEAD_PAUSE: Duration = Duration::from_millis(250);

/// Follows changes into an index of words.
pub struct SearchFollower {
    place: IndexPlace,
    model: Arc<Model>,
    source: Arc<dyn ChangeSource>,
    followers: Followers,
    searched: Arc<Vec<Searched>>,
    layout: String,
    /// How late the stream may be after a scan, in milliseconds.
    late_millis: i64,
    served: Arc<ServedIndex>,
    /// None where something failed: it is opened again.
    opened: Option<Opened>,
}

/// An index, and how far changes were read into it.
struct Opened {
    words: WordIndex,
    noted: Option<Noted>,
    /// Whether the table is the one of which the index's position is.
    is_known: bool,
    reader: Option<ChangeReader>,
    /// How many changes were put and not committed.
    pending: usize,
    pending_since: i64,
    committed_at: i64,
    erased_at: i64,
}

/// What one step did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchStep {
    /// How many records were read.
    pub records: usize,
    /// How many changes were put into the index.
    pub changes: usize,
    /// Whether all rows were read anew.
    pub is_snapshot: bool,
    /// Whether what was put can be found now.
    pub is_committed: bool,
    /// When the newest of the changes happened, in seconds since 1970.
    pub newest_at: Option<i64>,
}

impl SearchFollower {
    /// Of a model's table, into an index that is opened with the first step.
    pub fn new(place: IndexPlace, model: Arc<Model>, source: Arc<dyn ChangeSource>, late_millis: i64) -> Self {
        let searched = searched_entities(&model);
        SearchFollower {
            followers: Followers::new(Arc::clone(&model), Arc::clone(&source)),
            place,
            source,
            layout: layout_of(&searched),
            searched: Arc::new(searched),
            model,
            late_millis,
            served: Arc::new(ServedIndex::default()),
            opened: None,
        }
    }

    /// The index as searches ask it.
    pub fn served_index(&self) -> Arc<ServedIndex> {
        Arc::clone(&self.served)
    }

    /// Whether all that was read is committed, and nothing is left to read but what is still to come.
    pub fn is_at_rest(&self) -> bool {
        let opened = self.opened.as_ref().filter(|opened| opened.pending == 0);
        let reader = opened.and_then(|opened| opened.reader.as_ref());
        reader.is_some_and(ChangeReader::is_at_head)
    }

    /// Whether it has come to what happened after an instant, in seconds since 1970.
    pub fn has_passed(&self, seconds: i64) -> bool {
        let reader = self.opened.as_ref().and_then(|opened| opened.reader.as_ref());
        reader.is_some_and(|reader| reader.has_passed(seconds))
    }

    /// Reads a page of changes into the index, and commits where enough wait. The first step reads all rows, where the index does not have them.
    ///
    /// # Errors
    ///
    /// Where the store fails, or the index cannot be read or written: the next step goes on with what was committed.
    pub async fn follow_page(&mut self, now: &(dyn Fn() -> i64 + Sync)) -> Result<SearchStep, SearchError> {
        let mut opened = self.take_opened(now()).await?;
        let mut step = SearchStep::default();
        if opened.reader.is_none() && !opened.is_known {
            opened = self.take_snapshot(opened, now, &mut step).await?;
        }
        let began = now();
        // Of the mark, which was committed with the words: what was put and not committed is gone with the process.
        let position = opened.position();
        let reader = opened
            .reader
            .get_or_insert_with(|| ChangeReader::new(Arc::clone(&self.model), Arc::clone(&self.source), position));
        let page = match reader.next_page().await {
            Ok(page) => page,
            // What is gone was not seen: what the rows became of it can be.
            Err(error) if error.is_position_lost() => {
                opened = self.take_snapshot(opened, now, &mut step).await?;
                ChangePage::default()
            }
            Err(error) => {
                self.opened = Some(opened);
                return Err(error.into());
            }
        };
        step.records = page.told.len() + page.nothing + page.unknown + page.earlier;
        step.newest_at = newest_of(&page);
        let is_quiet = page.told.is_empty();
        let at_head = opened.reader.as_ref().is_some_and(ChangeReader::is_at_head);
        if !is_quiet {
            if opened.pending == 0 {
                opened.pending_since = began;
            }
            opened.pending += page.told.len();
            step.changes += page.told.len();
            opened = self.put_told(opened, page.told).await?;
        }
        let has_waited = now().saturating_sub(opened.pending_since) >= COMMIT_MILLIS;
        // Committed where it is quiet, or at last after a while: searches see what is committed.
        let is_due = opened.pending > 0 && (is_quiet || has_waited || opened.pending >= COMMIT_CHANGES_MAX);
        let is_old = self.place.is_kept() && now().saturating_sub(opened.committed_at) >= IDLE_MILLIS;
        if is_due || is_old {
            opened = self.commit(opened, now()).await?;
            step.is_committed = true;
        }
        if opened.pending == 0 && (is_quiet || at_head) {
            // Not before: what an earlier process left may be far behind.
            if !self.served.is_shown() {
                self.show(&opened);
            }
            // As of before the page was asked for: what came in between may not be in it.
            self.served.is_as_of(began);
        }
        if now().saturating_sub(opened.erased_at) >= ERASE_MILLIS && opened.pending == 0 {
            opened = self.erased(opened, now()).await?;
        }
        self.opened = Some(opened);
        Ok(step)
    }

    /// Follows up to what there was when it began, and commits it.
    ///
    /// # Errors
    ///
    /// As a step.
    pub async fn follow_to_head(&mut self, now: &(dyn Fn() -> i64 + Sync)) -> Result<(), SearchError> {
        let begun = now() / 1_000;
        loop {
            let step = self.follow_page(now).await?;
            if self.is_at_rest() && step.records == 0 || self.has_passed(begun + 1) && self.late_millis > 0 {
                return Ok(());
            }
            if step.records == 0 && self.late_millis > 0 {
                tokio::time::sleep(HEAD_PAUSE).await;
            }
        }
    }

    /// Writes anew what still has words of rows that are gone or became others: afterwards no file has them.
    ///
    /// # Errors
    ///
    /// As a step.
    pub async fn erase_gone(&mut self, now: i64) -> Result<(), SearchError> {
        let opened = self.take_opened(now).await?;
        let opened = self.erased(opened, now).await?;
        self.opened = Some(opened);
        Ok(())
    }

    fn show(&self, opened: &Opened) {
        self.served.show_committed(ShownIndex {
            searcher: opened.words.searcher(),
            fields: opened.words.fields,
            searched: Arc::clone(&self.searched),
        });
    }

    async fn erased(&self, mut opened: Opened, now: i64) -> Result<Opened, SearchError> {
        opened.erased_at = now;
        if !opened.words.has_gone_rows() {
            return Ok(opened);
        }
        let opened = in_index(opened, |opened| opened.words.erase_gone()).await?;
        if self.served.is_shown() {
            self.show(&opened);
        }
        Ok(opened)
    }

    async fn take_opened(&mut self, now: i64) -> Result<Opened, SearchError> {
        if let Some(opened) = self.opened.take() {
            return Ok(opened);
        }
        let place = self.place.clone();
        let words = tokio::task::spawn_blocking(move || WordIndex::open(&place)).await;
        let mut words = words.map_err(|_| SearchError::Ended)??;
        if words.mark.id.is_empty() {
            words.mark.id = random_id()?;
        }
        let noted = match self.place.is_kept() {
            true => self.followers.noted_of(&name_of(&words.mark)).await?,
            false => None,
        };
        let is_of_table = noted
            .as_ref()
            .is_some_and(|noted| is_noted(&words.mark, &noted.position));
        let is_known = is_of_table && words.mark.layout == self.layout;
        let mut opened = Opened {
            words,
            noted,
            is_known,
            reader: None,
            pending: 0,
            pending_since: now,
            committed_at: now,
            // What an earlier process left to be erased is erased soon.
            erased_at: i64::MIN,
        };
        // The note keeps the changes that are still to be read, so that it must be as far as the index.
        if opened.is_known {
            self.note(&mut opened, now).await?;
        }
        Ok(opened)
    }

    /// Puts what a page tells.
    async fn put_told(&self, opened: Opened, told: Vec<Told>) -> Result<Opened, SearchError> {
        let (model, searched) = (Arc::clone(&self.model), Arc::clone(&self.searched));
        in_index(opened, move |opened| {
            for told in &told {
                match told {
                    Told::Change(change) => put_change(&model, &searched, &opened.words, change)?,
                    Told::Misfit(misfit) => {
                        let items = [&misfit.record.old, &misfit.record.new];
                        for item in items.into_iter().flatten() {
                            let key = search_key(&table_key(&model, item));
                            if let Some(searched) = searched.first() {
                                // A row that does not fit is found by nobody, whatever words it had.
                                opened.words.put_row(searched, &key, None)?;
                            }
                        }
                    }
                }
            }
            Ok(())
        })
        .await
    }

    /// Commits what was put, with how far that is, and says so in the table.
    async fn commit(&self, mut opened: Opened, now: i64) -> Result<Opened, SearchError> {
        let position = opened.reader.as_ref().map(|reader| reader.position().clone());
        let mark = Mark {
            id: opened.words.mark.id.clone(),
            layout: self.layout.clone(),
            // The place before, too: killed between the commit and its note, the older one is noted.
            before: opened.words.mark.position.clone(),
            position: match position {
                Some(StreamPosition::After(after)) => Some(after),
                _ => None,
            },
        };
        opened = in_index(opened, move |opened| opened.words.commit(mark)).await?;
        opened.pending = 0;
        opened.committed_at = now;
        if self.served.is_shown() {
            self.show(&opened);
        }
        // After the commit: noted first, words between the two would be lost.
        self.note(&mut opened, now).await?;
        Ok(opened)
    }

    /// Says in the table how far the index is: it keeps changes for it, and knows it again.
    ///
    /// **Invariant:** a commit is made only when the one before was noted. So a table whose note is neither the index's position nor the one
    /// before is another than the index was made of, or an older copy of it.
    async fn note(&self, opened: &mut Opened, now: i64) -> Result<(), SearchError> {
        let Some(position) = opened.words.mark.position.clone().filter(|_| self.place.is_kept()) else {
            return Ok(());
        };
        let (name, position) = (name_of(&opened.words.mark), StreamPosition::After(position));
        let seconds = now.div_euclid(1_000);
        for _ in 0..NOTE_TRIES_MAX {
            let done = match &opened.noted {
                Some(noted) if noted.position == position => return Ok(()),
                Some(noted) => self.followers.note_position(&name, noted, &position, seconds).await,
                None => self.followers.enter_follower(&name, position.clone(), seconds).await,
            };
            match done {
                Ok(noted) => {
                    opened.noted = Some(noted);
                    return Ok(());
                }
                Err(FollowError::Overtaken) => {}
                Err(error) => return Err(error.into()),
            }
            opened.noted = self.followers.noted_of(&name).await?;
        }
        Err(SearchError::Follow(FollowError::Overtaken))
    }

    /// Reads every row while others write, from a position on, then what happened meanwhile, and shows all of it at once. A row that the
    /// stream tells is put again as it tells last: whatever the scan met of it does not matter.
    async fn take_snapshot(
        &mut self,
        mut opened: Opened,
        now: &(dyn Fn() -> i64 + Sync),
        step: &mut SearchStep,
    ) -> Result<Opened, SearchError> {
        // Not served while it lacks rows: an answer with some of them looks like one with all.
        self.served.hide_index();
        step.is_snapshot = true;
        let latest = StreamPosition::Latest;
        let mut reader = ChangeReader::new(Arc::clone(&self.model), Arc::clone(&self.source), latest);
        // A place before the scan, from which on everything is told.
        let mut told = reader.next_page().await?.told;
        opened = in_index(opened, |opened| opened.words.clear()).await?;
        let mut scan = SnapshotReader::new(Arc::clone(&self.model), Arc::clone(&self.source));
        while let Some(page) = scan.next_page(now()).await? {
            step.changes += page.len();
            let (model, searched) = (Arc::clone(&self.model), Arc::clone(&self.searched));
            opened = in_index(opened, move |opened| {
                for row in &page {
                    if let SnapshotRow::Row { entity, row, .. } = row {
                        put_row(&model, &searched, &opened.words, entity, row, Some(row))?;
                    }
                }
                Ok(())
            })
            .await?;
        }
        let passed = now().saturating_add(self.late_millis);
        loop {
            let began = now();
            opened = self.put_told(opened, std::mem::take(&mut told)).await?;
            let page = reader.next_page().await?;
            let is_past = reader.is_at_head() || reader.has_passed(passed.div_euclid(1_000));
            let is_empty = page.is_empty();
            opened = self.put_told(opened, page.told).await?;
            if is_past && now() >= passed {
                self.served.is_as_of(began.min(passed));
                break;
            }
            if is_empty && self.late_millis > 0 {
                tokio::time::sleep(HEAD_PAUSE).await;
            }
        }
        opened.reader = Some(reader);
        opened.is_known = true;
        self.commit(opened, now()).await
    }
}

impl Opened {
    fn position(&self) -> StreamPosition {
        match &self.words.mark.position {
            Some(after) => StreamPosition::After(after.clone()),
            None => StreamPosition::Latest,
        }
    }
}

fn put_change(model: &Model, searched: &[Searched], words: &WordIndex, change: &Change) -> Result<(), SearchError> {
    // The key of the row as it was: a row that moves has to be taken out under its old key.
    let before = change.before.as_ref().or(change.after.as_ref()).unwrap_or(&change.key);
    put_row(model, searched, words, &change.entity, before, change.after.as_ref())
}

/// Puts a row by the key that some of its attributes make.
fn put_row(
    model: &Model,
    searched: &[Searched],
    words: &WordIndex,
    entity: &str,
    known: &Attributes,
    row: Option<&Attributes>,
) -> Result<(), SearchError> {
    let Some(searched) = searched.iter().find(|one| one.entity == entity) else {
        return Ok(());
    };
    let Some(entity) = model.entity_named(entity) else {
        return Ok(());
    };
    let key = primary_key(entity, known).map_err(|error| SearchError::Index(error.to_string()))?;
    match key {
        Some(key) => words.put_row(searched, &search_key(&key), row),
        None => Ok(()),
    }
}

fn table_key(model: &Model, item: &Item) -> Item {
    let names = model.table.key.iter().map(|key| &key.name);
    names
        .filter_map(|name| Some((name.clone(), item.get(name)?.clone())))
        .collect()
}

fn newest_of(page: &ChangePage) -> Option<i64> {
    let at = page.told.iter().map(|told| match told {
        Told::Change(change) => change.at_seconds,
        Told::Misfit(misfit) => misfit.record.at_seconds,
    });
    at.max()
}

/// Whether the table has noted how far the index is, or how far it was before its last commit.
fn is_noted(mark: &Mark, noted: &StreamPosition) -> bool {
    let StreamPosition::After(noted) = noted else {
        return false;
    };
    [&mark.position, &mark.before]
        .into_iter()
        .flatten()
        .any(|known| known == noted)
}

fn name_of(mark: &Mark) -> String {
    format!("{SEARCH_FOLLOWERS}{}", mark.id)
}

fn random_id() -> Result<String, SearchError> {
    let mut bytes = [0_u8; 8];
    getrandom::fill(&mut bytes).map_err(|error| SearchError::Index(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Does what takes long, and waits for files, where nothing else waits for it. An index in which something failed is opened again.
async fn in_index(
    mut opened: Opened,
    work: impl FnOnce(&mut Opened) -> Result<(), SearchError> + Send + 'static,
) -> Result<Opened, SearchError> {
    let done = tokio::task::spawn_blocking(move || work(&mut opened).map(|()| opened));
    done.await.map_err(|_| SearchError::Ended)?
}
