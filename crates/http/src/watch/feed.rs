//! The changes of one table, read once for all who watch.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use singlet_changes::{Change, ChangeReader, Told};
use singlet_runtime::Engine;
use singlet_store::{StoreError, StreamPosition};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{self, Receiver, Sender};

/// How long the reader waits before it looks again where there was nothing: a stream of DynamoDB is paid for by looking.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How long it waits after a failure; it doubles up to the longest. A shard of DynamoDB has two readers, and a third is throttled.
const FAILED_PAUSE: Duration = Duration::from_millis(500);
const FAILED_DOUBLINGS_MAX: u32 = 4;

/// How many changes a watcher may be behind; one further behind reads again without looking at them.
const BEHIND_MAX: usize = 1024;

/// The changes of a system's table, for as long as anybody wants them.
#[derive(Debug, Default)]
pub(crate) struct Feed {
    told: Arc<Mutex<Option<Sender<Arc<News>>>>>,
}

/// What a watcher hears.
#[derive(Debug)]
enum News {
    Change(Box<Change>),
    /// Changes were missed.
    Missed,
}

/// A watcher's ear.
#[derive(Debug)]
pub(super) struct Subscription(Receiver<Arc<News>>);

impl Feed {
    /// Listens. Every change that is made after this has returned is heard, or that some were missed.
    pub(super) async fn subscribe(&self, engine: &Arc<Engine>) -> Result<Subscription, StoreError> {
        if let Some(known) = lock(&self.told).as_ref() {
            return Ok(Subscription(known.subscribe()));
        }
        let mut reader = reader(engine);
        // Where it begins is known with its first page.
        reader.next_page().await?;
        let mut told = lock(&self.told);
        if let Some(known) = told.as_ref() {
            return Ok(Subscription(known.subscribe()));
        }
        let (sender, receiver) = broadcast::channel(BEHIND_MAX);
        *told = Some(sender.clone());
        tokio::spawn(read_on(Arc::clone(engine), reader, sender, Arc::clone(&self.told)));
        Ok(Subscription(receiver))
    }
}

fn reader(engine: &Arc<Engine>) -> ChangeReader {
    let source = Arc::new(Arc::clone(engine.store()));
    ChangeReader::new(Arc::clone(engine.model()), source, StreamPosition::Latest)
}

/// Reads until nobody listens.
async fn read_on(
    engine: Arc<Engine>,
    mut reader: ChangeReader,
    sender: Sender<Arc<News>>,
    told: Arc<Mutex<Option<Sender<Arc<News>>>>>,
) {
    // Also where reading panics: those who listen hear that it is over, and whoever comes begins anew.
    let _over = FeedEnd(sender.clone(), Arc::clone(&told));
    let mut failures = 0_u32;
    loop {
        {
            // Under the lock: whoever listens from now on begins another one.
            let mut told = lock(&told);
            if sender.receiver_count() == 0 {
                *told = None;
                return;
            }
        }
        match reader.next_page().await {
            Ok(page) => {
                failures = 0;
                let is_empty = page.is_empty();
                for told in page.told {
                    let news = match told {
                        Told::Change(change) => News::Change(Box::new(change)),
                        // Nobody knows what such a row was.
                        Told::Misfit(_) => News::Missed,
                    };
                    let _ = sender.send(Arc::new(news));
                }
                if is_empty {
                    tokio::time::sleep(LOOK_EVERY).await;
                }
            }
            Err(error) => {
                if failures == 0 {
                    tracing::warn!(system = engine.model().name, %error, "cannot read changes for clients that watch lists");
                }
                // What cannot be read for a while comes late, and is not missed: had everybody read again, a throttled stream would make
                // a throttled table of it.
                if error.is_position_lost() {
                    reader = self::reader(&engine);
                    let _ = reader.next_page().await;
                    let _ = sender.send(Arc::new(News::Missed));
                }
                tokio::time::sleep(FAILED_PAUSE.saturating_mul(1 << failures.min(FAILED_DOUBLINGS_MAX))).await;
                failures = failures.saturating_add(1);
            }
        }
    }
}

struct FeedEnd(Sender<Arc<News>>, Arc<Mutex<Option<Sender<Arc<News>>>>>);

impl Drop for FeedEnd {
    fn drop(&mut self) {
        let mut told = lock(&self.1);
        if told.as_ref().is_some_and(|known| known.same_channel(&self.0)) {
            *told = None;
        }
    }
}

impl Subscription {
    /// Waits for a change that concerns whoever asks, or until some were missed. Answers whether more can be heard.
    pub async fn next_concerned(&mut self, mut concerns: impl FnMut(&Change) -> bool) -> bool {
        loop {
            match self.0.recv().await {
                Ok(news) => match &*news {
                    News::Change(change) if !concerns(change) => {}
                    News::Change(_) | News::Missed => return true,
                },
                Err(RecvError::Lagged(_)) => return true,
                Err(RecvError::Closed) => return false,
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]

    use std::sync::atomic::{AtomicUsize, Ordering};

    use async_trait::async_trait;
    use singlet_model::Source;
    use singlet_runtime::{Attributes, load};
    use singlet_store::{ErrorKind, Result, Store, StoreLayer, StreamPage, StreamRequest};
    use singlet_store_embedded::EmbeddedStore;

    use super::*;

    const MODEL: &str = r#"
singlet: 1
name: notes
table: {name: notes, key: {partition: PK, sort: SK}, type: kind, stream: both_images}
entities:
  Note: {attributes: {id: string 1..8}, key: {PK: "NOTE#{id}", SK: "NOTE"}}
"#;

    /// A store whose stream is throttled for so many readings.
    #[derive(Debug)]
    struct Throttled {
        store: EmbeddedStore,
        readings: AtomicUsize,
    }

    #[async_trait]
    impl StoreLayer for Throttled {
        fn beneath(&self) -> &dyn Store {
            &self.store
        }

        async fn read_stream(&self, request: &StreamRequest) -> Result<StreamPage> {
            let left = self
                .readings
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
            match left {
                Ok(_) => Err(StoreError::new(ErrorKind::Throttled, "too many readers")),
                Err(_) => self.store.read_stream(request).await,
            }
        }
    }

    #[tokio::test]
    async fn what_is_throttled_comes_late_and_nobody_reads_again_for_it() {
        let model = singlet_model::load_source(&Source::new("model.yaml", MODEL.to_owned()))
            .model
            .unwrap();
        let store = Arc::new(Throttled {
            store: EmbeddedStore::memory().unwrap(),
            readings: AtomicUsize::new(0),
        });
        let engine = Engine::open(Arc::new(model), store.clone(), Attributes::new(), [7; 32]);
        engine.create_table().await.unwrap();
        let (engine, feed) = (Arc::new(engine), Feed::default());
        let mut heard = feed.subscribe(&engine).await.unwrap();
        store.readings.store(2, Ordering::SeqCst);
        load::load_text(&engine, "{\"Note\": {\"id\": \"a\"}}\n", 0)
            .await
            .unwrap();
        let mut changes = 0;
        let count = |_: &Change| {
            changes += 1;
            true
        };
        assert!(heard.next_concerned(count).await);
        // The first thing that is heard is the change.
        assert_eq!((changes, store.readings.load(Ordering::SeqCst)), (1, 0));
    }
}
