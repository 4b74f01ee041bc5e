//! Readings that several watchers share: those of one read whose answer does not depend on who asks.
//!
//! **Invariant:** a watcher is given only a reading that began after it was woken. So it is as good as one of its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use singlet_runtime::{RuntimeError, WatchedRows};
use tokio::time::Instant;

/// The readings of a system, for as long as somebody watches.
#[derive(Debug, Default)]
pub(crate) struct SharedReads {
    known: Mutex<HashMap<String, Weak<SharedRead>>>,
}

/// The last reading of one read, for all who watch it.
#[derive(Debug, Default)]
pub(super) struct SharedRead {
    /// When it began, and what it answered; nothing where it failed.
    last: tokio::sync::Mutex<Option<(Instant, Option<Arc<WatchedRows>>)>>,
}

impl SharedReads {
    /// That of a key. Those that nobody watches any more go when another comes.
    pub(super) fn of_key(&self, key: &str) -> Arc<SharedRead> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = known.get(key).and_then(Weak::upgrade) {
            return shared;
        }
        known.retain(|_, shared| shared.strong_count() > 0);
        let shared = Arc::new(SharedRead::default());
        known.insert(key.to_owned(), Arc::downgrade(&shared));
        shared
    }
}

impl SharedRead {
    /// What was read since an instant; read now, where nobody has.
    ///
    /// # Errors
    ///
    /// As the reading; where another's failed, that there is no room: it is tried again later.
    pub(super) async fn read_since<F>(
        &self,
        woken: Instant,
        read: impl FnOnce() -> F,
    ) -> Result<Arc<WatchedRows>, RuntimeError>
    where
        F: Future<Output = Result<WatchedRows, RuntimeError>>,
    {
        let mut last = self.last.lock().await;
        if let Some((_, answer)) = last.as_ref().filter(|(began, _)| *began >= woken) {
            return answer.clone().ok_or(RuntimeError::NoRoom);
        }
        let began = Instant::now();
        let answer = read().await.map(Arc::new);
        *last = Some((began, answer.as_ref().ok().cloned()));
        answer
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]

    use std::sync::atomic::{AtomicI64, Ordering};
    use std::time::Duration;

    use futures_util::future::join_all;

    use super::*;

    /// Later than any reading of these tests began.
    const LATER: Duration = Duration::from_secs(3_600);

    fn rows(now: i64) -> WatchedRows {
        WatchedRows {
            rows: Vec::new(),
            now,
            next_instant: None,
        }
    }

    #[tokio::test]
    async fn of_many_who_are_woken_one_reads_and_who_is_woken_later_gets_nothing_of_before() {
        let shared = SharedReads::default().of_key("a");
        let count = AtomicI64::new(0);
        let reading = || async {
            let at = count.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            Ok(rows(at))
        };
        let woken = Instant::now();
        let all = join_all((0..100).map(|_| shared.read_since(woken, reading))).await;
        assert!(all.iter().all(|answer| answer.as_ref().unwrap().now == 0));
        // Woken while that was under way: what changed since may not be in it.
        let later = shared.read_since(woken + LATER, reading).await;
        assert_eq!((later.unwrap().now, count.load(Ordering::SeqCst)), (1, 2));
    }

    #[tokio::test]
    async fn a_reading_that_fails_is_not_tried_by_all_one_after_another() {
        let shared = SharedRead::default();
        let woken = Instant::now();
        let failed = shared.read_since(woken, || async { Err(RuntimeError::NotFound) }).await;
        assert!(matches!(failed, Err(RuntimeError::NotFound)));
        let other = shared.read_since(woken, || async { Ok(rows(1)) }).await;
        assert!(matches!(other, Err(RuntimeError::NoRoom)));
        let again = shared.read_since(woken + LATER, || async { Ok(rows(1)) }).await;
        assert_eq!(again.unwrap().now, 1);
    }

    #[test]
    fn what_nobody_watches_is_forgotten() {
        let reads = SharedReads::default();
        let kept = reads.of_key("a");
        drop(reads.of_key("b"));
        assert!(Arc::ptr_eq(&kept, &reads.of_key("a")));
        drop(reads.of_key("c"));
        assert_eq!(reads.known.lock().unwrap().len(), 2);
    }
}
