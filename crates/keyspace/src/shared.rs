//! What the threads of a space share: the state that is shown, the queue, the writer, and why writes are not taken.
//!
//! **Invariant: what is shown changes as a whole.** Readers take a pointer to layers that nobody changes any more; a new state is a
//! new pointer. Two threads show states, each with changes of its own part, so both go through [`Shared::publish_change`], which begins
//! from what is shown at that moment.

use crate::checkpoint::Checkpoints;
use crate::disk::Disk;
use crate::layers::Layers;
use crate::queue::Queue;
use crate::writer::SpaceWriter;
use crate::{Error, Options};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, TryLockError};

/// Why no more writes are taken, once that is so. Bases share it: who reads that one is damaged stops writes.
pub(crate) type Stopped = Arc<OnceLock<Error>>;

/// Why no writes are taken for now. Each is set and cleared by who meets it.
#[derive(Default)]
pub(crate) struct Pauses {
    /// The log cannot be written.
    pub(crate) log: Pause,
    /// The base cannot be written.
    pub(crate) base: Pause,
}

#[derive(Default)]
pub(crate) struct Pause {
    is_set: AtomicBool,
    reason: Mutex<Option<Error>>,
}

impl Pause {
    pub(crate) fn set(&self, reason: Error) {
        *self.lock() = Some(reason);
        // After the reason is there.
        self.is_set.store(true, Ordering::Release);
    }

    pub(crate) fn clear(&self) {
        // Nothing is locked where nothing was set, which is after every group.
        if self.is_set.swap(false, Ordering::AcqRel) {
            *self.lock() = None;
        }
    }

    pub(crate) fn reason(&self) -> Option<Error> {
        match self.is_set.load(Ordering::Acquire) {
            true => self.lock().as_ref().map(Error::stopped_by),
            false => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Error>> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What all clones of a space, and its threads, share.
pub(crate) struct Shared {
    pub(crate) queue: Queue,
    /// Locked only to take or exchange the pointer.
    published: RwLock<Arc<Layers>>,
    stopped: Stopped,
    pauses: Pauses,
    /// In memory whoever hands in a work runs it; else a thread does.
    writer: Mutex<SpaceWriter>,
    pub(crate) durable: Option<Durable>,
}

/// What a space in a folder has beside.
pub(crate) struct Durable {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) options: Options,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) log_bytes: LogBytes,
}

/// How many bytes the segments of the log have.
#[derive(Default)]
pub(crate) struct LogBytes {
    current: AtomicU64,
    frozen: AtomicU64,
}

impl Shared {
    pub(crate) fn new(options: &Options, layers: Layers, stopped: Stopped, durable: Option<Durable>) -> Arc<Self> {
        Arc::new(Self {
            queue: Queue::new(options.queue_works_max, options.queue_bytes_max),
            published: RwLock::new(Arc::new(layers)),
            stopped,
            pauses: Pauses::default(),
            writer: Mutex::default(),
            durable,
        })
    }

    pub(crate) fn published_layers(&self) -> Arc<Layers> {
        Arc::clone(&self.published.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Shows another state. The writer changes what is in memory and the checkpoints what is beneath, each its own part
    /// of what is shown now.
    pub(crate) fn publish_change(&self, change: impl FnOnce(&mut Layers)) {
        let mut published = self.published.write().unwrap_or_else(PoisonError::into_inner);
        // From what is shown at this moment: the other thread may have shown another state since the caller looked.
        let mut layers = (**published).clone();
        change(&mut layers);
        let before = std::mem::replace(&mut *published, Arc::new(layers));
        drop(published);
        // It may be the last pointer to much: nobody waits for its end.
        drop(before);
    }

    /// Takes no more writes from now on, for the first reason that there was.
    pub(crate) fn stop_writes(&self, reason: Error) {
        // The first reason stays: what fails after it mostly follows from it.
        let _ = self.stopped.set(reason);
        if let (Some(durable), Some(stopped)) = (&self.durable, self.stop_reason()) {
            // Whoever waits for a checkpoint would wait for ever.
            durable.checkpoints.refuse_all(&stopped);
        }
    }

    /// What bases are opened with.
    pub(crate) fn stopped_bases(&self) -> &Stopped {
        &self.stopped
    }

    pub(crate) fn pauses(&self) -> &Pauses {
        &self.pauses
    }

    /// Why no more writes are taken, if so.
    pub(crate) fn stop_reason(&self) -> Option<Error> {
        self.stopped.get().map(Error::stopped_by)
    }

    /// Runs all works that wait, unless somebody does so already.
    ///
    /// Whoever finds the writer taken leaves the work to its holder, who looks at the queue again after letting go:
    /// so no work is left behind, and a work may itself hand in another one.
    pub(crate) fn run_waiting(&self) {
        // Looked at again after the writer is let go: a work that came in while it was held has nobody else.
        while !self.queue.is_empty() {
            let mut writer = match self.writer.try_lock() {
                Ok(writer) => writer,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return,
            };
            while let Some(works) = self.queue.take_group() {
                writer.run(works, self);
            }
        }
    }
}

impl LogBytes {
    pub(crate) fn set(&self, bytes: u64) {
        self.current.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn begin_segment(&self, bytes: u64) {
        let before = self.current.swap(bytes, Ordering::Relaxed);
        self.frozen.fetch_add(before, Ordering::Relaxed);
    }

    pub(crate) fn removed_all_but_current(&self) {
        self.frozen.store(0, Ordering::Relaxed);
    }

    pub(crate) fn sum(&self) -> u64 {
        self.current.load(Ordering::Relaxed) + self.frozen.load(Ordering::Relaxed)
    }
}
