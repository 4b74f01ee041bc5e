//! What is let in: how many requests are worked on at once, and how many bytes they hold together.
//!
//! **Invariant: nothing waits in front of the engine.** A request has its place and its bytes at once or is refused with 503, so
//! what the process holds is bounded by the settings, not by how many ask. What is held is given back when its owner is dropped: a
//! write that goes on without its client keeps its own, and so does an answer that is still being sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use axum::http::{StatusCode, header};
use prometheus_client::metrics::gauge::Gauge;
use singlet_runtime::Memory;

use crate::problem::Problem;
use crate::settings::Limits;

/// Bytes that every request may hold without asking: who sends and asks for little is not refused because others hold much.
pub(crate) const SMALL_BYTES: usize = 16 * 1024;

/// What all requests of a service have in their hands.
#[derive(Debug)]
pub(crate) struct Admission {
    requests: UsedShare,
    bytes: UsedShare,
    /// The bytes, for whoever watches.
    shown: Gauge,
}

/// How much of something is in use, and how much there is.
#[derive(Debug)]
struct UsedShare {
    now: AtomicUsize,
    most: usize,
}

impl UsedShare {
    /// Takes some, of which the one who asks has `own` already. Who is alone may have more than there is: it would never be done
    /// otherwise.
    fn take(&self, more: usize, own: usize) -> bool {
        let taken = |now: usize| {
            let all = now.saturating_add(more);
            // A request that alone is too large for the bound is let in where no other holds anything, or it never would be.
            (all <= self.most || now <= own).then_some(all)
        };
        self.now
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken)
            .is_ok()
    }

    fn give_back(&self, some: usize) {
        self.now.fetch_sub(some, Ordering::Relaxed);
    }
}

impl Admission {
    pub(crate) fn new(limits: &Limits, shown: Gauge) -> Arc<Self> {
        let used = |most| UsedShare {
            now: AtomicUsize::new(0),
            most,
        };
        Arc::new(Admission {
            requests: used(limits.requests_max),
            bytes: used(limits.held_bytes_max),
            shown,
        })
    }

    /// A place among the requests that are worked on.
    ///
    /// # Errors
    ///
    /// Where all are taken.
    pub(crate) fn enter_request(self: &Arc<Self>) -> Result<RequestSlot, Problem> {
        match self.requests.take(1, 0) {
            true => Ok(RequestSlot(Arc::clone(self))),
            false => Err(overloaded_problem(format!(
                "{} requests are worked on, and no more are at once",
                self.requests.most
            ))),
        }
    }

    /// What a request holds: nothing yet beyond [`SMALL_BYTES`].
    pub(crate) fn hold_bytes(self: &Arc<Self>) -> RequestBytes {
        RequestBytes {
            admission: Arc::clone(self),
            bytes: AtomicUsize::new(0),
            is_long: AtomicBool::new(false),
        }
    }
}

/// One place among the requests that are worked on, until it is dropped.
#[derive(Debug)]
pub(crate) struct RequestSlot(Arc<Admission>);

impl Drop for RequestSlot {
    fn drop(&mut self) {
        self.0.requests.give_back(1);
    }
}

/// The bytes of one request, until it is dropped.
#[derive(Debug)]
pub(crate) struct RequestBytes {
    admission: Arc<Admission>,
    bytes: AtomicUsize,
    /// Whether its read has turned out to be long.
    is_long: AtomicBool,
}

impl RequestBytes {
    /// Holds so many bytes in all, unless it holds as many already.
    ///
    /// # Errors
    ///
    /// Where they are not to be had beside what others hold.
    pub(crate) fn cover_bytes(&self, bytes: usize) -> Result<(), Problem> {
        match self.covers(bytes) {
            true => Ok(()),
            false => Err(overloaded_problem(format!(
                "requests hold at most {} bytes together, and this one does not fit beside the others",
                self.admission.bytes.most
            ))),
        }
    }

    fn covers(&self, bytes: usize) -> bool {
        let more = self.missing(bytes);
        // Most hold little: they touch nothing that others do.
        if more == 0 {
            return true;
        }
        // Only what it does not have yet: a request asks for all that it holds, again and again.
        let has = self.admission.bytes.take(more, self.bytes.load(Ordering::Relaxed));
        if has {
            self.took(more);
        }
        has
    }

    pub(crate) fn is_long(&self) -> bool {
        self.is_long.load(Ordering::Relaxed)
    }

    /// Holds so many bytes whatever others hold: what was done is answered.
    pub(crate) fn cover_anyway(&self, bytes: usize) {
        let more = self.missing(bytes);
        if more > 0 {
            self.admission.bytes.now.fetch_add(more, Ordering::Relaxed);
            self.took(more);
        }
    }

    fn missing(&self, bytes: usize) -> usize {
        bytes
            .saturating_sub(SMALL_BYTES)
            .saturating_sub(self.bytes.load(Ordering::Relaxed))
    }

    fn took(&self, more: usize) {
        self.bytes.fetch_add(more, Ordering::Relaxed);
        self.admission.shown.inc_by(i64::try_from(more).unwrap_or(i64::MAX));
    }
}

/// Rows take some times the bytes that they have in a table.
const ROW_FACTOR: usize = 3;

impl Memory for RequestBytes {
    fn hold(&self, bytes: usize) -> bool {
        // Rows take more in memory than what was read of them.
        self.covers(bytes.saturating_mul(ROW_FACTOR))
    }

    fn turns_long(&self) {
        self.is_long.store(true, Ordering::Relaxed);
    }
}

impl Drop for RequestBytes {
    fn drop(&mut self) {
        let bytes = *self.bytes.get_mut();
        if bytes == 0 {
            return;
        }
        self.admission.bytes.give_back(bytes);
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.admission.shown.dec_by(bytes);
    }
}

/// There is as much to do as is taken on at once.
pub(crate) fn overloaded_problem(detail: impl Into<String>) -> Problem {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", detail).with_header(header::RETRY_AFTER, "1")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]

    use super::*;

    fn admission(requests_max: usize, held_bytes_max: usize) -> Arc<Admission> {
        let limits = Limits {
            requests_max,
            held_bytes_max,
            ..Limits::default()
        };
        Admission::new(&limits, Gauge::default())
    }

    #[test]
    fn one_request_more_than_there_are_places_is_refused_and_a_place_comes_free() {
        for most in [1, 2, 7] {
            let admission = admission(most, 1);
            let mut places: Vec<RequestSlot> = (0..most).map(|_| admission.enter_request().unwrap()).collect();
            let refused = admission.enter_request().unwrap_err();
            assert_eq!((refused.status.as_u16(), &*refused.name), (503, "overloaded"));
            assert_eq!(refused.extra.headers.first().unwrap().0, header::RETRY_AFTER);
            drop(places.pop());
            assert!(admission.enter_request().is_ok());
        }
    }

    #[test]
    fn one_byte_more_than_there_are_is_refused_beside_others() {
        for most in [1, 2, 4096] {
            let admission = admission(1, most);
            let (first, second) = (admission.hold_bytes(), admission.hold_bytes());
            first.cover_bytes(SMALL_BYTES + most).unwrap();
            // What is small needs nothing.
            second.cover_bytes(SMALL_BYTES).unwrap();
            assert!(second.cover_bytes(SMALL_BYTES + 1).is_err());
            assert_eq!(admission.shown.get(), i64::try_from(most).unwrap());
            drop(first);
            second.cover_bytes(SMALL_BYTES + most).unwrap();
            drop(second);
            assert_eq!(
                (admission.bytes.now.load(Ordering::Relaxed), admission.shown.get()),
                (0, 0)
            );
        }
    }

    #[test]
    fn who_is_alone_may_hold_more_than_there_is_and_nobody_beside() {
        let admission = admission(1, 2);
        let (first, second) = (admission.hold_bytes(), admission.hold_bytes());
        first.cover_bytes(SMALL_BYTES + 1).unwrap();
        first.cover_bytes(SMALL_BYTES + 100).unwrap();
        assert!(second.cover_bytes(SMALL_BYTES + 1).is_err());
        second.cover_anyway(SMALL_BYTES + 3);
        // Not alone any more.
        assert!(first.cover_bytes(SMALL_BYTES + 101).is_err());
        drop((first, second));
        assert_eq!(admission.shown.get(), 0);
    }
}
