//! The words of rows, followed into an index while a process serves.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use singlet_changes::ChangeSource;
use singlet_face::Company;
use singlet_runtime::Engine;
use singlet_search::{IndexPlace, SearchError, SearchFollower};

use crate::following::{AWAY_PAUSE_MAX, HEAD_PAUSE_SHARED, Noticed, stream_late_millis};
use crate::place::Place;
use crate::private_file::create_folder;
use crate::store::now;

/// The folder of indexes within a folder of data.
const INDEXES: &str = "search";

/// How long it is waited at the head of a stream of this process's own.
const HEAD_PAUSE_ALONE: Duration = Duration::from_millis(25);

/// Where the indexes of a service lie.
#[derive(Clone, Debug)]
pub(crate) enum SearchPlace {
    /// In memory, as the rows.
    Memory,
    /// In a folder, each under its system's name.
    Folder(PathBuf),
    /// Nowhere: nobody said where.
    Nowhere,
}

impl SearchPlace {
    /// Beside the data, unless a folder is named.
    pub(crate) fn of(place: &Place, named: Option<&Path>) -> Self {
        match (named, place) {
            (Some(folder), _) => SearchPlace::Folder(folder.to_owned()),
            (None, Place::Memory) => SearchPlace::Memory,
            (None, Place::Folder(folder)) => SearchPlace::Folder(folder.join(INDEXES)),
            (None, Place::DynamoDb { .. }) => SearchPlace::Nowhere,
        }
    }

    /// Makes the folder. It is made before anybody is told that the service serves, and never again: where the folder of the data is
    /// removed or moved away, nothing of it is made anew.
    ///
    /// # Errors
    ///
    /// Where it cannot be made.
    pub(crate) fn prepare(&self) -> Result<(), String> {
        let SearchPlace::Folder(folder) = self else {
            return Ok(());
        };
        let made = create_folder(folder);
        made.map_err(|error| format!("the folder `{}` for searches cannot be made: {error}", folder.display()))
    }

    fn of_system(&self, system: &str) -> Option<IndexPlace> {
        match self {
            SearchPlace::Memory => Some(IndexPlace::Memory),
            SearchPlace::Folder(folder) => Some(IndexPlace::Folder(folder.join(system))),
            SearchPlace::Nowhere => None,
        }
    }
}

fn follower(engine: &Engine, place: IndexPlace, late_millis: i64) -> SearchFollower {
    let source: Arc<dyn ChangeSource> = Arc::new(Arc::clone(engine.store()));
    SearchFollower::new(place, Arc::clone(engine.model()), source, late_millis)
}

/// Has a system's searches answered from an index that somebody is about to follow its rows into; nothing where it has no searches, or no
/// place for their words.
pub(crate) fn begin(engine: &Engine, company: Company, place: &SearchPlace) -> Option<SearchFollower> {
    let model = engine.model();
    if model.searches.is_empty() {
        return None;
    }
    let Some(place) = place.of_system(&model.name) else {
        tracing::warn!(
            system = model.name,
            "what is found by words is not found: say with `--search-index` in which folder the words are kept"
        );
        return None;
    };
    let words = follower(engine, place, stream_late_millis(company));
    engine.search_by(words.served());
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
        let pause = match words.follow_page(&now).await {
            Ok(step) => {
                failures = 0;
                if step.is_snapshot {
                    tracing::info!(system = model.name, "the words of all rows are known");
                }
                noticed.searched(step.newest_at);
                match (step.records, company) {
                    (1.., _) => continue,
                    (0, Company::Alone) => HEAD_PAUSE_ALONE,
                    (0, Company::Shared) => HEAD_PAUSE_SHARED,
                }
            }
            Err(error) => {
                if failures == 0 {
                    tracing::warn!(system = model.name, %error, "the words of rows cannot be followed for now");
                }
                failures = failures.saturating_add(1);
                HEAD_PAUSE_SHARED
                    .saturating_mul(1 << failures.min(10))
                    .min(AWAY_PAUSE_MAX)
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
pub(crate) async fn search_rows_once(engine: &Engine) -> Result<(), SearchError> {
    let mut words = follower(engine, IndexPlace::Memory, 0);
    words.follow_to_head(&now).await?;
    engine.search_by(words.served());
    Ok(())
}
