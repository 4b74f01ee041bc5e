//! What is let in: how many calls are worked on at once, and how many bytes they hold together.
//!
//! Nothing waits here. A call has its place and its bytes at once, or is refused with 503, which clients try again after a while.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::fault::{Fault, FaultKind};

/// Bytes that every call may hold without asking: who sends and asks for little is not refused because others hold much.
pub(crate) const SMALL_BYTES: usize = 16 * 1024;

/// Bytes that one value of a JSON text takes while a request is made of it, about.
const VALUE_BYTES: usize = 128;

/// How often a text is there while it is taken apart or put together: as text, as a tree, in items.
const TEXT_FACTOR: usize = 3;

/// How much is worked on at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdmissionBounds {
    /// How many calls are worked on at once; one more is refused.
    pub calls_max: usize,
    /// How many bytes calls hold together, beyond the first 16 KB of each. Who is alone may hold more.
    pub held_bytes_max: u32,
}

impl Default for AdmissionBounds {
    fn default() -> Self {
        Self {
            calls_max: 1024,
            held_bytes_max: 32 * 1024 * 1024,
        }
    }
}

/// What all calls of an endpoint have in their hands.
#[derive(Debug)]
pub(crate) struct CallAdmission {
    bounds: AdmissionBounds,
    calls: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
}

impl CallAdmission {
    pub(crate) fn new(bounds: AdmissionBounds) -> Self {
        Self {
            bounds,
            calls: Arc::new(Semaphore::new(bounds.calls_max.min(Semaphore::MAX_PERMITS))),
            bytes: Arc::new(Semaphore::new(bounds.held_bytes_max as usize)),
        }
    }

    /// A place among the calls that are worked on.
    pub(crate) fn enter_call(&self) -> Result<OwnedSemaphorePermit, Fault> {
        let place = Arc::clone(&self.calls).try_acquire_owned();
        place.map_err(|_| overloaded(&format!("{} calls are worked on", self.bounds.calls_max)))
    }

    /// What a call holds: nothing yet beyond [`SMALL_BYTES`].
    pub(crate) fn hold_bytes(&self) -> HeldBytes {
        HeldBytes {
            bytes: Arc::clone(&self.bytes),
            bytes_max: self.bounds.held_bytes_max,
            held: None,
        }
    }
}

/// The bytes of one call, until it is dropped.
#[derive(Debug)]
pub(crate) struct HeldBytes {
    bytes: Arc<Semaphore>,
    bytes_max: u32,
    held: Option<OwnedSemaphorePermit>,
}

impl HeldBytes {
    /// Holds what a text of so many bytes takes.
    pub(crate) fn cover_text(&mut self, bytes: usize) -> Result<(), Fault> {
        self.cover(bytes.saturating_mul(TEXT_FACTOR))
    }

    /// Holds what a text takes once it is taken apart: `[7,7,…]` is sixty times as large then.
    pub(crate) fn cover_parsed(&mut self, text: &[u8]) -> Result<(), Fault> {
        let values = text.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
        self.cover(text.len().saturating_mul(TEXT_FACTOR) + values.saturating_mul(VALUE_BYTES))
    }

    /// Holds so many bytes in all, unless it holds as many already. Who needs more than there is takes all that there is: it would
    /// never be done otherwise.
    fn cover(&mut self, bytes: usize) -> Result<(), Fault> {
        let wanted = u32::try_from(bytes.saturating_sub(SMALL_BYTES)).unwrap_or(u32::MAX);
        let wanted = wanted.min(self.bytes_max) as usize;
        let has = self.held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let more = wanted.saturating_sub(has);
        if more == 0 {
            return Ok(());
        }
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        let taken = Arc::clone(&self.bytes).try_acquire_many_owned(more);
        let taken = taken.map_err(|_| overloaded(&format!("calls hold at most {} bytes together", self.bytes_max)))?;
        match &mut self.held {
            Some(held) => held.merge(taken),
            None => self.held = Some(taken),
        }
        Ok(())
    }
}

fn overloaded(reason: &str) -> Fault {
    let message =
        format!("The service is currently unavailable or busy: {reason}, and this one does not fit beside them");
    Fault::new(FaultKind::Unavailable, message)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]

    use super::*;

    fn admission(calls_max: usize, held_bytes_max: u32) -> CallAdmission {
        CallAdmission::new(AdmissionBounds {
            calls_max,
            held_bytes_max,
        })
    }

    #[test]
    fn one_call_more_than_there_are_places_is_refused_and_a_place_comes_free() {
        for most in [1, 2, 7] {
            let admission = admission(most, 1);
            let mut places: Vec<_> = (0..most).map(|_| admission.enter_call().unwrap()).collect();
            assert_eq!(admission.enter_call().unwrap_err().status(), 503);
            drop(places.pop());
            assert!(admission.enter_call().is_ok());
        }
    }

    #[test]
    fn one_byte_more_than_there_are_is_refused_beside_others_and_who_is_alone_fits() {
        for most in [1, 2, 4096] {
            let admission = admission(1, most);
            let (mut first, mut second) = (admission.hold_bytes(), admission.hold_bytes());
            first.cover(SMALL_BYTES + most as usize).unwrap();
            second.cover(SMALL_BYTES).unwrap();
            assert_eq!(second.cover(SMALL_BYTES + 1).unwrap_err().status(), 503);
            first.cover(SMALL_BYTES + most as usize + 1).unwrap();
            drop(first);
            second.cover(usize::MAX).unwrap();
            drop(second);
            assert_eq!(admission.bytes.available_permits(), most as usize);
        }
    }
}
