//! Changes are kept for those who follow them, while a service runs on a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use singlet_changes::{ChangeSource, FollowError, Followers, Noted};
use singlet_http::Service;
use singlet_model::Model;
use singlet_store::{Store, StreamPosition};
use singlet_store_embedded::{EmbeddedStore, Retention};
use tokio::task::JoinHandle;

use crate::pace::now_millis;

/// How often it is looked how far followers are. A change is kept for a day at least, so that nothing hangs on it.
const LOOK_PAUSE: Duration = Duration::from_secs(60);

/// After how long without a note a follower is late. One that runs notes every quarter of an hour.
const LATE_SECONDS: i64 = 24 * 60 * 60;

/// What is kept where nobody knows who follows: everything that may be needed.
pub fn for_anybody() -> Retention {
    let usual = Retention::default();
    Retention {
        age_min: usual.age_max,
        ..usual
    }
}

/// The looking after a store; it ends when this is dropped.
#[derive(Debug)]
pub struct Keeping(JoinHandle<()>);

impl Drop for Keeping {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Has a store keep what the followers of the systems still need, from now on.
pub fn keep_what_is_needed(store: EmbeddedStore, service: Arc<Service>) -> Keeping {
    Keeping(tokio::spawn(async move {
        let mut known = BTreeSet::new();
        loop {
            // The systems are asked each time: a model that is taken up may have another table.
            let models: Vec<Arc<Model>> = service
                .systems()
                .iter()
                .map(|system| Arc::clone(system.model()))
                .collect();
            match needed(&store, &models, now_millis() / 1_000).await {
                Ok((retention, troubles)) => {
                    store.keep_changes(retention);
                    // Each is said when it begins, not every minute.
                    for trouble in troubles.difference(&known) {
                        tracing::warn!(system = trouble.system, follower = trouble.follower, "{}", trouble.what);
                    }
                    known = troubles;
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot read how far followers have come: their changes are kept");
                    // Without knowing who follows, everything that may be needed is kept.
                    store.keep_changes(for_anybody());
                }
            }
            tokio::time::sleep(LOOK_PAUSE).await;
        }
    }))
}

/// Something about a follower that an operator should know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Trouble {
    system: String,
    follower: String,
    what: &'static str,
}

/// What is to be said of a follower.
fn trouble_of(noted: &Noted, now_seconds: i64) -> Option<&'static str> {
    if !noted.gaps.is_empty() {
        return Some("changes were gone before a follower came to them: `singlet changes MODEL lag` says which");
    }
    let is_late = now_seconds.saturating_sub(noted.at_seconds) >= LATE_SECONDS;
    is_late.then_some("a follower has not been here for a day, and changes are kept for a week at most")
}

/// What the followers of some models still need, and what is to be said of them.
async fn needed(
    store: &EmbeddedStore,
    models: &[Arc<Model>],
    now_seconds: i64,
) -> Result<(Retention, BTreeSet<Trouble>), FollowError> {
    let mut slowest: BTreeMap<String, String> = BTreeMap::new();
    let mut troubles = BTreeSet::new();
    let shared: Arc<dyn Store> = Arc::new(store.clone());
    let source: Arc<dyn ChangeSource> = Arc::new(shared);
    for model in models {
        let followers = Followers::new(Arc::clone(model), Arc::clone(&source));
        for name in followers.names().await? {
            let Some(noted) = followers.noted_of(&name).await? else {
                continue;
            };
            troubles.extend(trouble_of(&noted, now_seconds).map(|what| Trouble {
                system: model.name.clone(),
                follower: name.clone(),
                what,
            }));
            let StreamPosition::After(position) = noted.position else {
                continue;
            };
            // Positions of this store are numbers of one length.
            let known = slowest
                .entry(model.table.name.clone())
                .or_insert_with(|| position.clone());
            // The slowest of all models on the table: a change is kept until the last of them has passed it.
            if position < *known {
                *known = position;
            }
        }
    }
    let retention = Retention {
        followers: slowest,
        ..Retention::default()
    };
    Ok((retention, troubles))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use singlet_changes::Follower;
    use singlet_model::Source;
    use singlet_store::PutRequest;

    const NOTES: &str = r#"
singlet: 1
name: notes
table: {name: notes, key: {partition: PK, sort: SK}, type: kind, stream: both_images}
entities:
  Note:
    attributes: {id: string 1..8}
    key: {PK: "NOTE#{id}", SK: "NOTE"}
"#;

    #[tokio::test]
    async fn the_slowest_follower_of_a_table_decides() {
        let loaded = singlet_model::load_source(&Source::new("model.yaml", NOTES.to_owned()));
        let model = Arc::new(loaded.model.unwrap());
        let store = EmbeddedStore::memory().unwrap();
        let shared: Arc<dyn Store> = Arc::new(store.clone());
        shared
            .create_table(&singlet_runtime::table::table_spec(&model))
            .await
            .unwrap();
        let models = [Arc::clone(&model)];
        assert!(needed(&store, &models, 1).await.unwrap().0.followers.is_empty());
        let source: Arc<dyn ChangeSource> = Arc::new(Arc::clone(&shared));
        let followers = Followers::new(Arc::clone(&model), source);
        Follower::start(followers.clone(), "slow", 1).await.unwrap();
        let mut fast = Follower::start(followers.clone(), "fast", 1).await.unwrap();
        let item = [("PK", "NOTE#a"), ("SK", "NOTE"), ("kind", "Note"), ("id", "a")];
        let item = item.map(|(name, text)| (name.to_owned(), text.into()));
        let put = PutRequest {
            table: "notes".to_owned(),
            item: item.into_iter().collect(),
            ..PutRequest::default()
        };
        shared.put(&put).await.unwrap();
        assert_eq!(fast.next_page(2).await.unwrap().told.len(), 1);
        fast.note_progress(2).await.unwrap();
        let slow = followers.noted_of("slow").await.unwrap().unwrap().position;
        let (kept, troubles) = needed(&store, &models, LATE_SECONDS + 1).await.unwrap();
        assert_eq!(StreamPosition::After(kept.followers["notes"].clone()), slow);
        let late: Vec<&str> = troubles.iter().map(|trouble| trouble.follower.as_str()).collect();
        assert_eq!(late, ["slow"]);
        followers.forget_follower("slow").await.unwrap();
        let (kept, troubles) = needed(&store, &models, LATE_SECONDS + 1).await.unwrap();
        assert_eq!(
            StreamPosition::After(kept.followers["notes"].clone()),
            fast.noted_progress().position
        );
        assert!(troubles.is_empty());
    }
}
