use crate::Error;
use crate::limits::GROUP_WORKS_MAX;
use crate::work::Job;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The works that wait for the writer, of which there is a bounded number.
pub(crate) struct Queue {
    works_max: usize,
    bytes_max: usize,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    bytes: usize,
}

impl Queue {
    pub(crate) fn new(works_max: usize, bytes_max: usize) -> Self {
        Self {
            works_max,
            bytes_max,
            waiting: Mutex::default(),
        }
    }

    /// Takes a work, or gives it back with the reason.
    pub(crate) fn push(&self, job: Job) -> Result<(), (Job, Error)> {
        let mut waiting = self.lock();
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
        Ok(())
    }

    /// The works that are made durable together next, if any wait.
    pub(crate) fn take_group(&self) -> Option<Vec<Job>> {
        let mut waiting = self.lock();
        let works = waiting.jobs.len().min(GROUP_WORKS_MAX);
        let group: Vec<Job> = waiting.jobs.drain(..works).collect();
        waiting.bytes = waiting.bytes.saturating_sub(group.iter().map(|job| job.bytes).sum());
        (!group.is_empty()).then_some(group)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().jobs.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
