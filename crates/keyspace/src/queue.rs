//! The works that wait for the writer.
//!
//! **Invariant: a work that was taken reaches the writer, in the order in which it came.** Closing refuses new ones and drops none. What
//! does not fit is given back at once, with the reason: nobody waits in front of a full queue, so that callers hear of a slow disk
//! rather than fill the memory.

use crate::Error;
use crate::limits::GROUP_WORKS_MAX;
use crate::work::Job;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The works that wait for the writer, of which there is a bounded number.
pub(crate) struct Queue {
    works_max: usize,
    bytes_max: usize,
    waiting: Mutex<WaitingJobs>,
    arrived: Condvar,
}

#[derive(Default)]
struct WaitingJobs {
    jobs: VecDeque<Job>,
    bytes: usize,
    closed: bool,
}

impl Queue {
    pub(crate) fn new(works_max: usize, bytes_max: usize) -> Self {
        Self {
            works_max,
            bytes_max,
            waiting: Mutex::default(),
            arrived: Condvar::new(),
        }
    }

    /// Takes a work, or gives it back with the reason.
    pub(crate) fn push(&self, job: Job) -> Result<(), (Job, Error)> {
        let mut waiting = self.lock();
        // Under the lock of the queue: a work that came in after the last group would never be answered.
        if waiting.closed {
            return Err((job, Error::closed()));
        }
        let (works, bytes) = (waiting.jobs.len(), waiting.bytes.saturating_add(job.bytes));
        if works >= self.works_max {
            let reason = format!("{works} writes wait, and no more than that may");
            return Err((job, Error::busy(reason)));
        }
        // One work alone may be as large as it likes: its own limits are elsewhere.
        if bytes > self.bytes_max && works > 0 {
            let reason = format!(
                "writes of {} bytes wait, and at most {} may",
                waiting.bytes, self.bytes_max
            );
            return Err((job, Error::busy(reason)));
        }
        waiting.bytes = bytes;
        waiting.jobs.push_back(job);
        // Whoever is woken takes the lock at once.
        drop(waiting);
        self.arrived.notify_one();
        Ok(())
    }

    /// Takes no more works. Those that wait are still done.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_all();
    }

    /// Waits for works, and answers none once it is closed and empty.
    pub(crate) fn wait_for_group(&self) -> Option<Vec<Job>> {
        let waiting = self.lock();
        let waiting = self
            .arrived
            // Closed and not empty goes on: what was taken is done.
            .wait_while(waiting, |waiting| waiting.jobs.is_empty() && !waiting.closed);
        drop(waiting.unwrap_or_else(PoisonError::into_inner));
        self.take_group()
    }

    /// The works that are made durable together next, if any wait.
    pub(crate) fn take_group(&self) -> Option<Vec<Job>> {
        let mut waiting = self.lock();
        let works = waiting.jobs.len().min(GROUP_WORKS_MAX);
        // From the front, in the order in which they came.
        let group: Vec<Job> = waiting.jobs.drain(..works).collect();
        waiting.bytes = waiting.bytes.saturating_sub(group.iter().map(|job| job.bytes).sum());
        (!group.is_empty()).then_some(group)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().jobs.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, WaitingJobs> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
