//! How whoever hands in a work hears what became of it.
//!
//! **Invariant: everybody is answered.** A promise that is dropped, be it by a panic or by a queue that is closed, answers that the work
//! was abandoned.

use crate::Error;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Where the answer of a work is left for whoever awaits it.
pub(crate) struct WorkAnswer<T> {
    state: Mutex<AnswerState<T>>,
}

struct AnswerState<T> {
    answer: Option<T>,
    waker: Option<Waker>,
}

impl<T> WorkAnswer<T> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(AnswerState {
                answer: None,
                waker: None,
            }),
        })
    }

    /// Leaves the answer. Of several the first counts.
    pub(crate) fn give(&self, answer: T) {
        let mut state = self.lock();
        // Whoever waits may have taken the first already, and must not find another one.
        if state.answer.is_none() {
            state.answer = Some(answer);
        }
        let waker = state.waker.take();
        // Whoever wakes may look at once.
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(crate) async fn wait(answer: Arc<Self>) -> T {
        std::future::poll_fn(move |context| {
            let mut state = answer.lock();
            match state.answer.take() {
                Some(answer) => Poll::Ready(answer),
                None => {
                    // Under the same lock as the look at the answer: one that came between the two would wake nobody.
                    state.waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }

    fn lock(&self) -> MutexGuard<'_, AnswerState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for a future on this thread.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(UnparkWaker(std::thread::current())));
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(answer) => return answer,
            Poll::Pending => std::thread::park(),
        }
    }
}

struct UnparkWaker(std::thread::Thread);

impl Wake for UnparkWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The duty to answer a work: who drops it without having done so answers that the work was abandoned, so that nobody
/// waits for ever.
pub(crate) struct Promise<R, E: From<Error>> {
    answer: Option<Arc<WorkAnswer<Result<R, E>>>>,
}

impl<R, E: From<Error>> Promise<R, E> {
    pub(crate) fn new(answer: Arc<WorkAnswer<Result<R, E>>>) -> Self {
        Self { answer: Some(answer) }
    }

    pub(crate) fn keep(mut self, given: Result<R, E>) {
        if let Some(answer) = self.answer.take() {
            answer.give(given);
        }
    }
}

impl<R, E: From<Error>> Drop for Promise<R, E> {
    fn drop(&mut self) {
        if let Some(answer) = self.answer.take() {
            answer.give(Err(E::from(Error::abandoned())));
        }
    }
}
