use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// Where the answer of a work is left for whoever awaits it.
pub(crate) struct Answer<T> {
    state: Mutex<State<T>>,
}

struct State<T> {
    answer: Option<T>,
    waker: Option<Waker>,
}

impl<T> Answer<T> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                answer: None,
                waker: None,
            }),
        })
    }

    /// Leaves the answer. Of several the first counts.
    pub(crate) fn give(&self, answer: T) {
        let mut state = self.lock();
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
                    state.waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
