//! The words of rows, followed into an index.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use singlet_changes::ChangeSource;
use singlet_face::Company;
use singlet_runtime::Engine;
use singlet_search::{IndexPlace, SearchError, SearchFollower};

use crate::noticed::Noticed;
use crate::pace::{away_pause, head_pause, now_millis, stream_late_millis};

/// How long changes wait for others at the head of the stream, once some were committed. A commit costs a note in the table, some files, and
/// memory that is given back only after a while: one for every few changes took most of what a service held under a steady load.
const COMMIT_PAUSE: Duration = Duration::from_secs(1);

/// Where the indexes of a service lie.
#[derive(Clone, Debug)]
pub enum WordsPlace {
    /// In memory, as the rows.
    Memory,
    /// In a folder, each under its system's name.
    Folder(PathBuf),
    /// Nowhere: nobody said where.
    Nowhere,
}

impl WordsPlace {
    fn of_system(&self, system: &str) -> Option<IndexPlace> {
        match self {
            WordsPlace::Memory => Some(IndexPlace::Memory),
            WordsPlace::Folder(folder) => Some(IndexPlace::Folder(folder.join(system))),
            WordsPlace::Nowhere => None,
        }
    }
}

fn follower(engine: &Engine, place: IndexPlace, late_millis: i64) -> SearchFollower {
    let source: Arc<dyn ChangeSource> = Arc::new(Arc::clone(engine.store()));
    SearchFollower::new(place, Arc::clone(engine.model()), source, late_millis)
}

/// Has a system's searches answered from an index that somebody is about to follow its rows into; nothing where it has no searches, or no
/// place for their words.
pub(crate) fn begin_search(
    (system, engine): (&str, &Engine),
    company: Company,
    place: &WordsPlace,
) -> Option<SearchFollower> {
    let model = engine.model();
    if model.searches.is_empty() {
        return None;
    }
    // Two models of one system may be served at once, each with words of its own.
    let Some(place) = place.of_system(system) else {
        tracing::warn!(
            system = model.name,
            "full-text search is off: name a folder for its index with `--search-index`"
        );
        return None;
    };
    let words = follower(engine, place, stream_late_millis(company));
    // Before anything was followed: a search is then told to wait, and not that there is no index.
    engine.search_by(words.served_index());
    Some(words)
}

/// Follows the words of a system's rows.
pub(crate) async fn search_for_ever(
    engine: &Engine,
    noticed: &Noticed,
    company: Company,
    words: Option<SearchFollower>,
) {
    let (model, Some(mut words)) = (engine.model(), words) else {
        return;
    };
    let mut failures = 0_u32;
    loop {
        let pause = match words.follow_page(&now_millis).await {
            Ok(step) => {
                failures = 0;
                if step.is_snapshot {
                    tracing::info!(system = model.name, "the search index has every row");
                }
                noticed.note_searched(step.newest_at);
                match (step.is_committed && words.is_at_rest(), step.records) {
                    (true, _) => COMMIT_PAUSE,
                    (false, 0) => head_pause(company),
                    (false, _) => continue,
                }
            }
            Err(error) => {
                if failures == 0 {
                    tracing::warn!(system = model.name, %error, "the search index cannot follow changes for now");
                }
                failures = failures.saturating_add(1);
                away_pause(failures)
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// Has one process's searches answered from all rows as they are now, read for that.
///
/// # Errors
///
/// Where the rows cannot be read.
pub async fn search_rows_once(engine: &Engine) -> Result<(), SearchError> {
    let mut words = follower(engine, IndexPlace::Memory, 0);
    words.follow_to_head(&now_millis).await?;
    engine.search_by(words.served_index());
    Ok(())
}
