//! What was answered is on the disk: writes share the waits for it.
//!
//! The engine adds every write to SQLite's journal beside the database and would wait for the disk at each, with its lock held. Here
//! it does not wait; the journal is synced after the engine let go of its lock, once for all the writes that came in while
//! the last sync ran. No answer is given before: not to a write, and not to a read or a refusal that may have seen one
//! that is not yet on the disk. So a power cut takes nothing that anyone was told.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use singlet_store::{ErrorKind, Result, StoreError};

/// SQLite's journal of one database.
pub(crate) struct Journal<D = File> {
    disk: D,
    /// Held while the engine writes, so that writes end in the order of their numbers.
    writing: Mutex<()>,
    progress: Mutex<Progress>,
    changed: Condvar,
}

/// What writes wait for.
pub(crate) trait Disk {
    /// Returns when everything that was written is there to stay.
    fn sync(&self) -> io::Result<()>;
}

impl Disk for File {
    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

/// How far the writes are, by their numbers.
#[derive(Debug, Default)]
struct Progress {
    begun: u64,
    ended: u64,
    /// On the disk up to here.
    kept: u64,
    is_syncing: bool,
    /// What the disk said. The system may take what it could not write as written, so that asking again proves nothing.
    failure: Option<String>,
}

impl Journal {
    /// The journal at a path, which stays that file for as long as the engine has its database open.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
        file.sync_all()?;
        Ok(Self::on(file))
    }
}

impl<D: Disk> Journal<D> {
    fn on(disk: D) -> Self {
        Self {
            disk,
            writing: Mutex::default(),
            progress: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Runs a call that may write.
    pub(crate) fn write<T>(&self, call: impl FnOnce() -> Result<T>) -> Result<T> {
        let writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut write = Write::begin(self);
        let answer = call();
        write.is_nothing = answer.as_ref().is_err_and(wrote_nothing);
        let number = write.number;
        drop(write);
        drop(writing);
        self.keep(number)?;
        answer
    }

    /// Runs a call that only reads.
    pub(crate) fn read<T>(&self, call: impl FnOnce() -> Result<T>) -> Result<T> {
        let answer = call();
        self.keep(self.begun())?;
        answer
    }

    /// Whether nobody writes, and all that was written is on the disk.
    pub(crate) fn is_idle(&self) -> bool {
        let progress = self.progress();
        progress.begun == progress.kept && progress.failure.is_none()
    }

    /// The last write that was begun: what a read saw that just ended was begun before, and what it did not see does no harm.
    pub(crate) fn begun(&self) -> u64 {
        self.progress().begun
    }

    /// Waits until the writes up to this one are on the disk.
    pub(crate) fn keep(&self, number: u64) -> Result<()> {
        let mut progress = self.progress();
        loop {
            if let Some(failure) = &progress.failure {
                return Err(StoreError::unavailable(format!(
                    "the disk failed, and what it holds is known only after a restart: {failure}"
                )));
            }
            if progress.kept >= number {
                return Ok(());
            }
            // What is being written now is synced by whoever writes it, or by the next to look.
            if progress.is_syncing || progress.ended == progress.kept {
                progress = self.changed.wait(progress).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            progress = self.sync(progress);
        }
    }

    fn sync<'a>(&'a self, mut progress: MutexGuard<'a, Progress>) -> MutexGuard<'a, Progress> {
        let ended = progress.ended;
        progress.is_syncing = true;
        drop(progress);
        let done = self.disk.sync();
        let mut progress = self.progress();
        progress.is_syncing = false;
        match done {
            Ok(()) => progress.kept = progress.kept.max(ended),
            Err(error) => progress.failure = Some(error.to_string()),
        }
        self.changed.notify_all();
        progress
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A write that the engine is at; dropped when it ended, however it did.
struct Write<'a, D: Disk> {
    journal: &'a Journal<D>,
    number: u64,
    /// It was refused.
    is_nothing: bool,
}

impl<'a, D: Disk> Write<'a, D> {
    fn begin(journal: &'a Journal<D>) -> Self {
        let mut progress = journal.progress();
        progress.begun += 1;
        Self {
            journal,
            number: progress.begun,
            is_nothing: false,
        }
    }
}

impl<D: Disk> Drop for Write<'_, D> {
    fn drop(&mut self) {
        let mut progress = self.journal.progress();
        progress.ended = self.number;
        // With nothing before it that is not yet on the disk, there is nothing to wait for.
        if self.is_nothing && progress.kept == self.number - 1 {
            progress.kept = self.number;
        }
        // Reads wait for it where it ran beside them.
        self.journal.changed.notify_all();
    }
}

/// Whether an error says that the engine changed nothing.
fn wrote_nothing(error: &StoreError) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConditionFailed { .. } | ErrorKind::Cancelled(_)
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::thread;
    use std::time::Duration;

    /// A disk that takes its time, and knows what was written when it was asked.
    #[derive(Default)]
    struct Slow {
        written: AtomicU64,
        kept: AtomicU64,
        syncs: AtomicU64,
        fails: AtomicBool,
    }

    impl Disk for Slow {
        fn sync(&self) -> io::Result<()> {
            let written = self.written.load(Ordering::SeqCst);
            thread::sleep(Duration::from_millis(2));
            if self.fails.load(Ordering::SeqCst) {
                return Err(io::Error::other("no such sector"));
            }
            self.kept.fetch_max(written, Ordering::SeqCst);
            self.syncs.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
    }

    impl Journal<Slow> {
        fn put(&self) -> Result<u64> {
            self.write(|| Ok(self.disk.written.fetch_add(1, Ordering::SeqCst) + 1))
        }

        fn get(&self) -> Result<u64> {
            self.read(|| Ok(self.disk.written.load(Ordering::SeqCst)))
        }

        fn refused(&self) -> Result<u64> {
            self.write(|| Err(StoreError::new(ErrorKind::ConditionFailed { old: None }, "no")))
        }

        fn kept(&self) -> u64 {
            self.disk.kept.load(Ordering::SeqCst)
        }
    }

    #[test]
    fn nothing_is_answered_before_it_is_on_the_disk_and_writers_share_the_wait() {
        const ROUNDS: u64 = 50;
        const WRITERS: u64 = 8;
        let journal = Journal::on(Slow::default());
        thread::scope(|scope| {
            for _ in 0..WRITERS {
                scope.spawn(|| {
                    for _ in 0..ROUNDS {
                        let number = journal.put().unwrap();
                        assert!(journal.kept() >= number);
                    }
                });
                scope.spawn(|| {
                    for round in 0..ROUNDS {
                        let seen = journal.get().unwrap();
                        assert!(journal.kept() >= seen);
                        if round % 3 == 0 {
                            let written = journal.disk.written.load(Ordering::SeqCst);
                            assert!(journal.refused().unwrap_err().is_condition_failed());
                            assert!(journal.kept() >= written);
                        }
                    }
                });
            }
        });
        assert_eq!(journal.kept(), ROUNDS * WRITERS);
        let syncs = journal.disk.syncs.load(Ordering::SeqCst);
        assert!(syncs < ROUNDS * WRITERS, "{syncs} syncs");
    }

    #[test]
    fn a_read_and_a_refusal_alone_wait_for_nothing() {
        let journal = Journal::on(Slow::default());
        journal.put().unwrap();
        for _ in 0..3 {
            journal.get().unwrap();
            journal.refused().unwrap_err();
        }
        assert_eq!(journal.disk.syncs.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn after_a_failure_of_the_disk_nothing_is_answered() {
        let journal = Journal::on(Slow::default());
        journal.disk.fails.store(true, Ordering::SeqCst);
        assert!(journal.put().unwrap_err().is_unavailable());
        // The next sync would succeed, but says nothing of what the last one lost.
        journal.disk.fails.store(false, Ordering::SeqCst);
        assert!(journal.put().unwrap_err().is_unavailable());
        assert!(journal.get().unwrap_err().is_unavailable());
    }

    #[test]
    fn a_write_that_panics_holds_up_nobody() {
        let journal = Journal::on(Slow::default());
        let panicked = thread::scope(|scope| {
            let writer = scope.spawn(|| journal.write::<()>(|| std::panic::resume_unwind(Box::new("of its own"))));
            writer.join()
        });
        assert!(panicked.is_err());
        assert_eq!(journal.get().unwrap(), 0);
        assert_eq!(journal.put().unwrap(), 1);
    }
}
