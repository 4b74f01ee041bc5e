//! Reads that turn out to be long go on elsewhere.
//!
//! A thread that always has something to do gets its share of the processor and no more, and whoever waits for it waits for that of
//! others; one that mostly waits is let in at once. So the threads that answer short requests must not be those that take a
//! hundred thousand rows apart, whichever of their tasks may run in between.

use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::task::Poll;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinError;
use tokio_util::task::AbortOnDropHandle;

/// Threads of their own, made when the first read turns out to be long.
#[derive(Debug, Default)]
pub(crate) struct LongReads(OnceLock<Option<Runtime>>);

impl LongReads {
    /// What `reading` answers. From the first time that it waits and `is_long` on, it runs elsewhere; who no longer waits for it
    /// ends it.
    ///
    /// # Errors
    ///
    /// Where it panicked there.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        mut reading: BoxFuture<'static, T>,
        is_long: impl Fn() -> bool,
    ) -> Result<T, JoinError> {
        let read_here = std::future::poll_fn(|context| match reading.poll_unpin(context) {
            Poll::Ready(read) => Poll::Ready(Some(read)),
            // Only between two polls: the reading is whole then, and can be moved.
            Poll::Pending if is_long() => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        });
        if let Some(read) = read_here.await {
            return Ok(read);
        }
        match self.elsewhere() {
            // Who waits for it may leave, and then it ends.
            Some(elsewhere) => AbortOnDropHandle::new(elsewhere.spawn(reading)).await,
            None => Ok(reading.await),
        }
    }

    /// As many threads as leave half of the processors, and at least one; nothing where they are not to be had.
    fn elsewhere(&self) -> Option<&Handle> {
        let runtime = self.0.get_or_init(|| {
            let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
            Builder::new_multi_thread()
                .worker_threads((processors / 2).max(1))
                .thread_name("singlet-long-reads")
                .enable_time()
                .build()
                .inspect_err(|error| tracing::warn!(%error, "cannot start separate threads for long reads"))
                .ok()
        });
        runtime.as_ref().map(Runtime::handle)
    }
}

impl Drop for LongReads {
    fn drop(&mut self) {
        // A service may end on a thread that may not wait.
        if let Some(runtime) = self.0.take().flatten() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]

    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn here() -> Option<String> {
        std::thread::current().name().map(str::to_owned)
    }

    #[tokio::test]
    async fn what_is_short_stays_and_what_is_long_goes_on_elsewhere() {
        let (reads, is_long) = (LongReads::default(), Arc::new(AtomicBool::new(false)));
        let told = Arc::clone(&is_long);
        let reading = |turns_long: bool| {
            let told = Arc::clone(&told);
            async move {
                tokio::task::yield_now().await;
                told.store(turns_long, Ordering::Relaxed);
                tokio::task::yield_now().await;
                here()
            }
            .boxed()
        };
        let short = reads.run(reading(false), || is_long.load(Ordering::Relaxed)).await;
        assert_eq!(short.unwrap(), here());
        assert!(reads.0.get().is_none());
        let long = reads.run(reading(true), || is_long.load(Ordering::Relaxed)).await;
        assert_eq!(long.unwrap().as_deref(), Some("singlet-long-reads"));
    }

    #[tokio::test]
    async fn a_long_read_that_nobody_waits_for_ends_and_one_that_panics_is_said() {
        struct Ends(Option<tokio::sync::oneshot::Sender<()>>);
        impl Drop for Ends {
            fn drop(&mut self) {
                let _ = self.0.take().map(|ended| ended.send(()));
            }
        }
        let reads = LongReads::default();
        let (ending, ended) = tokio::sync::oneshot::channel();
        let guard = Ends(Some(ending));
        let reading = async move {
            let _guard = guard;
            std::future::pending::<()>().await;
        };
        let mut waiting = Box::pin(reads.run(reading.boxed(), || true));
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(waiting);
        ended.await.unwrap();
        let panics = async {
            tokio::task::yield_now().await;
            assert_eq!(here(), None, "on purpose");
        };
        assert!(reads.run(panics.boxed(), || true).await.unwrap_err().is_panic());
    }
}
