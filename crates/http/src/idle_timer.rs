//! The timer by which a connection waits for the head of its next request.
//!
//! Such a wait begins and ends with every request, and hardly ever to its limit. To put each into the wheel of timers and to take it out again is done
//! under a lock that all connections share. So a connection has one sleep in the wheel, which stays there from one wait to the next: where it ends before
//! the wait that is under way, it is put off to the end of that one. Nothing ends too early by it, or too late.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};

/// The timer of one connection, which waits for one thing at a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct IdleTimer {
    in_wheel: Arc<Mutex<Option<Pin<Box<tokio::time::Sleep>>>>>,
}

/// One wait.
struct IdleWait {
    timer: IdleTimer,
    until: Instant,
}

impl Timer for IdleTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(Instant::now() + duration)
    }

    fn sleep_until(&self, until: Instant) -> Pin<Box<dyn Sleep>> {
        let timer = self.clone();
        Box::pin(IdleWait { timer, until })
    }
}

impl Sleep for IdleWait {}

impl Future for IdleWait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let until = tokio::time::Instant::from_std(self.until);
        let mut in_wheel = self.timer.in_wheel.lock().unwrap_or_else(PoisonError::into_inner);
        let sleep = in_wheel.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        // Sooner than what is in the wheel: it would be woken too late.
        if sleep.deadline() > until {
            sleep.as_mut().reset(until);
        }
        loop {
            ready!(sleep.as_mut().poll(context));
            // One that ended for an earlier wait says nothing about this one.
            if sleep.deadline() >= until {
                return Poll::Ready(());
            }
            sleep.as_mut().reset(until);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn later(millis: u64) -> Instant {
        Instant::now() + Duration::from_millis(millis)
    }

    #[tokio::test]
    async fn a_wait_ends_at_its_time_though_one_before_it_was_given_up() {
        let timer = IdleTimer::default();
        let mut given_up = timer.sleep_until(later(30));
        assert!((&mut given_up).now_or_never().is_none());
        drop(given_up);
        let began = Instant::now();
        timer.sleep_until(later(120)).await;
        assert!(began.elapsed() >= Duration::from_millis(120));
    }

    #[tokio::test]
    async fn a_shorter_wait_does_not_last_as_long_as_the_one_before() {
        let timer = IdleTimer::default();
        let mut given_up = timer.sleep_until(later(60_000));
        assert!((&mut given_up).now_or_never().is_none());
        drop(given_up);
        let waited = tokio::time::timeout(Duration::from_secs(10), timer.sleep_until(later(20))).await;
        assert!(waited.is_ok());
    }

    #[tokio::test]
    async fn after_one_that_has_ended_another_lasts_its_time() {
        let timer = IdleTimer::default();
        for _ in 0..3 {
            let began = Instant::now();
            timer.sleep(Duration::from_millis(20)).await;
            assert!(began.elapsed() >= Duration::from_millis(20));
        }
        let mut past = timer.sleep_until(later(0));
        tokio::time::sleep(Duration::from_millis(2)).await;
        assert!((&mut past).now_or_never().is_some());
    }
}
