//! The index as searches ask it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use singlet_runtime::{SearchHits, SearchIndex, SearchProblem, SearchRequest};
use tantivy::Searcher;
use tokio::sync::watch;

use crate::lookup::look_up;
use crate::word_index::{Fields, Searched};

/// How long a search waits for an index that does not have all rows yet, or is behind.
pub(crate) const SEARCH_WAIT_MILLIS: u64 = 2_000;

/// What is searched: nothing until all rows are known.
#[derive(Clone, Default)]
struct Shown {
    index: Option<ShownIndex>,
    as_of: i64,
}

/// What was committed.
#[derive(Clone)]
pub(crate) struct ShownIndex {
    pub searcher: Searcher,
    pub fields: Fields,
    pub searched: Arc<Vec<Searched>>,
}

/// An index that somebody follows changes into.
pub struct ServedIndex {
    shown: watch::Sender<Shown>,
}

impl fmt::Debug for ServedIndex {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("ServedIndex")
    }
}

impl Default for ServedIndex {
    fn default() -> Self {
        ServedIndex {
            shown: watch::Sender::new(Shown::default()),
        }
    }
}

impl ServedIndex {
    /// Shows what was committed.
    pub(crate) fn show_committed(&self, index: ShownIndex) {
        self.shown.send_modify(|shown| shown.index = Some(index));
    }

    /// Says that what is shown has every change up to an instant.
    pub(crate) fn is_as_of(&self, millis: i64) {
        self.shown.send_if_modified(|shown| {
            let is_later = millis > shown.as_of;
            // Never back: who waits for an instant has seen that it was passed.
            shown.as_of = shown.as_of.max(millis);
            is_later
        });
    }

    /// Whether anything is shown.
    pub(crate) fn is_shown(&self) -> bool {
        self.shown.borrow().index.is_some()
    }

    /// Shows nothing: the rows are read anew.
    pub(crate) fn hide_index(&self) {
        self.shown.send_modify(|shown| shown.index = None);
    }

    /// The instant up to which it has every change, in epoch milliseconds.
    pub fn as_of(&self) -> i64 {
        self.shown.borrow().as_of
    }
}

#[async_trait]
impl SearchIndex for ServedIndex {
    async fn search(&self, request: SearchRequest) -> Result<SearchHits, SearchProblem> {
        let needed = request.after.as_ref().map_or(i64::MIN, |after| after.as_of);
        let mut shown = self.shown.subscribe();
        let is_enough = |shown: &Shown| shown.index.is_some() && shown.as_of >= needed;
        let waited = Duration::from_millis(SEARCH_WAIT_MILLIS);
        let known = tokio::time::timeout(waited, async {
            let known = shown.wait_for(is_enough).await;
            known.ok().map(|shown| shown.clone())
        });
        let known = known.await.ok().flatten().unwrap_or_default();
        let Some(index) = known.index else {
            let is_ready = self.shown.borrow().index.is_some();
            return Err(match is_ready {
                true => SearchProblem::Behind,
                false => SearchProblem::NotReady,
            });
        };
        let looked = tokio::task::spawn_blocking(move || look_up(&index, &request)).await;
        let looked = looked.map_err(|error| SearchProblem::Failed(error.to_string()))?;
        let looked = looked.map_err(|error| SearchProblem::Failed(error.to_string()))?;
        Ok(SearchHits {
            hits: looked.hits,
            counts: looked.counts,
            as_of: known.as_of,
            is_end: looked.is_end,
        })
    }
}
