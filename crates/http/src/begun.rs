//! What was begun goes on though nobody waits for it any more.
//!
//! A write runs where its client waits for it. As a task of its own it would be handed over at its beginning and its answer at its end, which often wakes
//! another thread each time, and most clients stay. Only what is left of it when its client leaves, or when its time is over, becomes a task.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// What a work came to, or what it panicked with.
type Ended<T> = Result<T, Box<dyn Any + Send>>;

/// A work that has begun. Dropped before its end, it goes on as a task.
pub(crate) struct BegunWork<T: Send + 'static> {
    work: Option<BoxFuture<'static, Ended<T>>>,
    tasks: TaskTracker,
    /// Whoever waits for all tasks waits for this one from its beginning on, so that none is missed while it becomes a task.
    _counted: TaskTrackerToken,
}

impl<T: Send + 'static> BegunWork<T> {
    pub(crate) fn new(tasks: &TaskTracker, work: impl Future<Output = T> + Send + 'static) -> Self {
        BegunWork {
            work: Some(AssertUnwindSafe(work).catch_unwind().boxed()),
            tasks: tasks.clone(),
            _counted: tasks.token(),
        }
    }
}

impl<T: Send + 'static> Future for BegunWork<T> {
    type Output = Ended<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Ended<T>> {
        let Some(work) = &mut self.work else {
            return Poll::Pending; // it has ended, and was told so
        };
        let ended = ready!(work.as_mut().poll(context));
        self.work = None;
        Poll::Ready(ended)
    }
}

impl<T: Send + 'static> Drop for BegunWork<T> {
    fn drop(&mut self) {
        // Where nothing runs any more, this does not either.
        // What is left of it, from where it stands: nothing of it is begun again.
        if let (Some(work), Ok(runtime)) = (self.work.take(), Handle::try_current()) {
            drop(self.tasks.spawn_on(work, &runtime));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::panic,
        reason = "a test may fail, and one panics on purpose"
    )]

    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::Notify;

    use super::*;

    /// A work that waits once, and how often it has begun and ended.
    fn counted(
        begun: &Arc<AtomicUsize>,
        ended: &Arc<AtomicUsize>,
        go: &Arc<Notify>,
    ) -> impl Future<Output = ()> + use<> {
        let (begun, ended, go) = (Arc::clone(begun), Arc::clone(ended), Arc::clone(go));
        async move {
            begun.fetch_add(1, Ordering::Relaxed);
            go.notified().await;
            ended.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[tokio::test]
    async fn what_is_waited_for_runs_where_it_is_waited_for() {
        let tasks = TaskTracker::new();
        let here = tokio::spawn(async move {
            let ran = BegunWork::new(&tasks, async {
                tokio::task::yield_now().await;
                tokio::task::id()
            });
            ran.await.unwrap() == tokio::task::id()
        });
        assert!(here.await.unwrap());
    }

    #[tokio::test]
    async fn what_nobody_waits_for_goes_on_and_is_done_once() {
        let (begun, ended, go) = Default::default();
        let tasks = TaskTracker::new();
        for polled in [true, false] {
            let mut work = BegunWork::new(&tasks, counted(&begun, &ended, &go));
            if polled {
                assert!((&mut work).now_or_never().is_none());
            }
            drop(work);
        }
        tasks.close();
        assert!(tasks.wait().now_or_never().is_none());
        while begun.load(Ordering::Relaxed) < 2 {
            tokio::task::yield_now().await;
        }
        assert_eq!(ended.load(Ordering::Relaxed), 0);
        go.notify_waiters();
        go.notify_one();
        tasks.wait().await;
        assert_eq!((begun.load(Ordering::Relaxed), ended.load(Ordering::Relaxed)), (2, 2));
    }

    #[tokio::test]
    async fn whoever_waits_for_all_waits_for_what_still_has_its_client() {
        let (begun, ended, go) = Default::default();
        let tasks = TaskTracker::new();
        let mut work = BegunWork::new(&tasks, counted(&begun, &ended, &go));
        assert!((&mut work).now_or_never().is_none());
        tasks.close();
        assert!(tasks.wait().now_or_never().is_none());
        go.notify_one();
        assert!(work.await.is_ok());
        tasks.wait().await;
        assert_eq!(ended.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn a_panic_is_told_and_nothing_goes_on_after_it() {
        let tasks = TaskTracker::new();
        let work = BegunWork::new(&tasks, async { panic!("on purpose") });
        let ended: Ended<()> = work.await;
        assert_eq!(ended.unwrap_err().downcast_ref::<&str>(), Some(&"on purpose"));
        assert!(tasks.is_empty());
    }

    #[test]
    fn where_nothing_runs_it_ends() {
        drop(BegunWork::new(&TaskTracker::new(), std::future::pending::<()>()));
    }
}
