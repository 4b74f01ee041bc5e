//! The file of a base, beneath the engine that keeps rows in it.

use crate::disk::{DiskFile, SyncPoint};
use crate::limits::HELD_BACK_BYTES_MAX;
use redb::StorageBackend;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The file of a base, as the engine beneath reaches it.
///
/// The engine refuses even reads after a write has failed. Here reads go on: from the first failed write on, writes go
/// to memory, so that the engine sees what it wrote, and nothing of it reaches the disk, where the last
/// commit stays as it was. Whoever commits asks for the failure afterwards.
#[derive(Debug)]
pub(crate) struct Backend {
    file: Arc<dyn DiskFile>,
    failure: Arc<BaseFailure>,
    /// Bytes that were written and that the system may still hold back.
    held_back: AtomicU64,
}

/// What became of a base whose file could not be written.
#[derive(Debug, Default)]
pub(crate) struct BaseFailure {
    happened: AtomicBool,
    /// What the file has at least. Written before it is cut and after it has grown, so that it is never too much.
    bytes_min: AtomicU64,
    /// How often the file was cut. Counted after `bytes_min` is written and before the file is cut.
    cuts: AtomicU64,
    instead: Mutex<Instead>,
}

/// What is kept in memory instead.
#[derive(Debug, Default)]
struct Instead {
    reason: Option<Arc<io::Error>>,
    len: u64,
    /// In the order in which they were written.
    writes: Vec<(u64, Vec<u8>)>,
}

impl BaseFailure {
    pub(crate) fn reason(&self) -> Option<Arc<io::Error>> {
        if !self.happened.load(Ordering::Acquire) {
            return None;
        }
        self.lock().reason.clone()
    }

    /// How many bytes the file has at least, as it was written.
    pub(crate) fn bytes_min(&self) -> u64 {
        self.bytes_min.load(Ordering::Acquire)
    }

    pub(crate) fn cuts(&self) -> u64 {
        self.cuts.load(Ordering::Acquire)
    }

    fn lock(&self) -> MutexGuard<'_, Instead> {
        self.instead.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Backend {
    pub(crate) fn new(file: Arc<dyn DiskFile>) -> io::Result<(Self, Arc<BaseFailure>)> {
        let failure = Arc::new(BaseFailure::default());
        failure.bytes_min.store(file.len()?, Ordering::Release);
        let backend = Self {
            file,
            failure: Arc::clone(&failure),
            held_back: AtomicU64::new(0),
        };
        Ok((backend, failure))
    }

    /// Writes to the file. What the engine writes for one transaction would pile up in the system until its end, and a sync of the log,
    /// for which commits wait, would then wait for all of it: so it goes to the disk a little at a time.
    fn write_to_file(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write_at(offset, data)?;
        let held_back = self.held_back.fetch_add(data.len() as u64, Ordering::Relaxed) + data.len() as u64;
        if held_back < HELD_BACK_BYTES_MAX {
            return Ok(());
        }
        self.held_back.store(0, Ordering::Relaxed);
        self.file.write_back()
    }

    /// Does something to the file, or to what is kept instead of it.
    fn change(&self, on_file: impl FnOnce() -> io::Result<()>, instead: impl FnOnce(&mut Instead)) -> io::Result<()> {
        let failure = &self.failure;
        if !failure.happened.load(Ordering::Acquire) {
            let Err(error) = on_file() else { return Ok(()) };
            let len = self.file.len()?;
            let mut state = failure.lock();
            state.reason.get_or_insert(Arc::new(error));
            state.len = state.len.max(len);
            // After the reason and the length are there: whoever sees that it happened asks for both.
            failure.happened.store(true, Ordering::Release);
        }
        // Also the write that failed: the engine takes it for done and reads it again.
        instead(&mut failure.lock());
        Ok(())
    }
}

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        if self.failure.happened.load(Ordering::Acquire) {
            return Ok(self.failure.lock().len);
        }
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if !self.failure.happened.load(Ordering::Acquire) {
            // Without a lock as long as nothing failed, since every read of the space comes through here.
            return self.file.read_at(offset, out);
        }
        out.fill(0);
        let in_file = self.file.len()?.saturating_sub(offset);
        let in_file = usize::try_from(in_file).unwrap_or(usize::MAX).min(out.len());
        if let Some(out) = out.get_mut(..in_file).filter(|out| !out.is_empty()) {
            self.file.read_at(offset, out)?;
        }
        // In the order in which they were written: the later of two over one place counts.
        for (at, bytes) in &self.failure.lock().writes {
            lay_over(out, offset, bytes, *at);
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let on_file = || {
            let grows = self.file.len()? < len;
            if !grows {
                // Before the file is cut: whoever checks its length meanwhile must not take it for cut short by others.
                self.failure.bytes_min.store(len, Ordering::Release);
                self.failure.cuts.fetch_add(1, Ordering::AcqRel);
                return self.file.set_len(len);
            }
            self.file.set_len(len)?;
            // The engine writes that the file has grown, and stops when it finds that it has not.
            self.file.sync(SyncPoint::BaseGrown)?;
            // After it has grown, and durably: nothing may be said to be there that a loss of power could take.
            self.failure.bytes_min.store(len, Ordering::Release);
            Ok(())
        };
        self.change(on_file, |instead| instead.len = len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.change(|| self.file.sync(SyncPoint::BaseWritten), |_| ())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let kept = |instead: &mut Instead| {
            instead.len = instead.len.max(offset + data.len() as u64);
            instead.writes.push((offset, data.to_vec()));
        };
        self.change(|| self.write_to_file(offset, data), kept)
    }
}

/// Copies what of `bytes`, which begin at `at`, lies within `out`, which begins at `offset`.
pub(crate) fn lay_over(out: &mut [u8], offset: u64, bytes: &[u8], at: u64) {
    let skip = |from: u64, to: u64| usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX);
    let (into, from) = (out.get_mut(skip(offset, at)..), bytes.get(skip(at, offset)..));
    if let (Some(into), Some(from)) = (into, from) {
        for (into, from) in into.iter_mut().zip(from) {
            *into = *from;
        }
    }
}
