//! One thread's subject: filled, asked, and made anew where it cannot be used again.

use std::sync::Arc;

use fastrand::Rng;
use singlet_runtime::{Engine, RuntimeError};

use super::Subjects;
use super::subject::{SentRequest, Subject};
use super::table::{Judge, ProbeTable};
use crate::VerifyError;

/// A random source that follows from the seed, the operation and the round.
pub(super) fn seeded_rng(seed: u64, operation: &str, round: u64) -> Rng {
    // FNV-1a: the same on every machine and in every version of the compiler.
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let bytes = operation.bytes().chain(seed.to_le_bytes()).chain(round.to_le_bytes());
    for byte in bytes {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    Rng::with_seed(hash)
}

/// What one thread tries.
pub(super) struct Worker<'s> {
    make: &'s Subjects<'s>,
    subject: Option<Subject>,
}

impl<'s> Worker<'s> {
    pub fn new(make: &'s Subjects<'s>) -> Self {
        Worker { make, subject: None }
    }

    /// The subject, on a table that has these rows and no others.
    pub async fn fill_subject(&mut self, judge: &Judge<'_>, table: &ProbeTable) -> Result<(), VerifyError> {
        let items = judge
            .items(table)
            .ok_or_else(|| VerifyError::Failed("a row that was drawn has no key".to_owned()))?;
        if let Some(subject) = &self.subject
            && matches!(subject.refill(items.clone()).await, Ok(true))
        {
            return Ok(());
        }
        let subject = (self.make)().await?;
        let filled = subject
            .refill(items)
            .await
            .map_err(|error| VerifyError::failed("the rows cannot be stored", error))?;
        self.subject = Some(subject);
        match filled {
            true => Ok(()),
            false => Err(VerifyError::Failed("the table cannot be emptied".to_owned())),
        }
    }

    /// The engine that is tried.
    pub fn engine(&self) -> Result<&Arc<Engine>, RuntimeError> {
        let subject = self.subject.as_ref();
        subject
            .map(|subject| &subject.engine)
            .ok_or_else(|| RuntimeError::Stored("there is nothing to try".to_owned()))
    }

    pub fn watch_requests(&self) {
        self.subject.iter().for_each(Subject::watch);
    }

    pub fn sent_requests(&self) -> Vec<SentRequest> {
        self.subject.as_ref().map(Subject::sent).unwrap_or_default()
    }
}
