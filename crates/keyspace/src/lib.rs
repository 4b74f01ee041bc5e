//! An ordered, durable key space of bytes.
//!
//! Keys and values are bytes, keys are ordered as bytes are. Readers hold a [`Snapshot`], which shows one commit and
//! waits for nobody. Writers hand in a *work*, a function over a [`Draft`]; one writer takes all works that wait, runs
//! them one after the other, makes what they changed durable at once, shows it, and only then answers them.
//!
//! # What it promises
//!
//! - A commit that was answered is there after a kill or a loss of power, and so are all before it.
//! - A commit is there whole or not at all; commits have numbers without gaps, in the order in which they ran.
//! - A snapshot never shows what is not durable.
//! - After a failure of the disk nothing more is written, and reads go on.
//!
//! # Words
//!
//! *Work*: what one caller wants to be done as one commit. *Group*: the works that are made durable together.
//!
//! # What it is not
//!
//! It is not shared between processes, knows nothing of items or tables, and does not depend on an asynchronous runtime.

mod answer;
mod bytes;
mod draft;
mod error;
mod layers;
pub mod limits;
mod queue;
mod range;
mod snapshot;
mod work;
mod writer;

pub use bytes::{Bytes, Key, Value};
pub use draft::Draft;
pub use error::{Error, Result};
pub use range::{Direction, Range};
pub use snapshot::Snapshot;

use answer::Answer;
use layers::Layers;
use queue::Queue;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock, TryLockError};
use work::Job;
use writer::Writer;

/// How a key space in a folder is kept.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// How many bytes of changes are kept in memory before they are written to the base, at most twice as many.
    pub memory_bytes: usize,
    /// How many bytes of the base are cached.
    pub cache_bytes: usize,
    /// How many works may wait for the writer.
    pub queue_works_max: usize,
    /// How many bytes the works that wait may have together, as their callers state them.
    pub queue_bytes_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            memory_bytes: 16 << 20,
            cache_bytes: 48 << 20,
            queue_works_max: 16_384,
            queue_bytes_max: 64 << 20,
        }
    }
}

/// An ordered key space of bytes. Clones are the same space.
#[derive(Clone)]
pub struct Keyspace {
    shared: Arc<Shared>,
}

/// What all clones of a space share.
struct Shared {
    queue: Queue,
    writer: Mutex<Writer>,
    published: RwLock<Arc<Layers>>,
}

impl Keyspace {
    /// An empty space in memory, gone when the last clone is dropped.
    pub fn in_memory() -> Self {
        Self::in_memory_with(&Options::default())
    }

    /// [`Keyspace::in_memory`] with other bounds of the queue.
    pub fn in_memory_with(options: &Options) -> Self {
        Self {
            shared: Arc::new(Shared {
                queue: Queue::new(options.queue_works_max, options.queue_bytes_max),
                writer: Mutex::new(Writer::default()),
                published: RwLock::default(),
            }),
        }
    }

    /// The space in a folder, which is made if it is not there.
    pub fn open(folder: &Path, options: Options) -> Result<Self> {
        let _ = options;
        Err(Error::unsupported(format!(
            "`{}`: only spaces in memory are served so far",
            folder.display()
        )))
    }

    /// The newest durable state. It takes one pointer, waits for no writer and stops none.
    pub fn snapshot(&self) -> Snapshot {
        let published = self.shared.published.read().unwrap_or_else(PoisonError::into_inner);
        Snapshot::new(Arc::clone(&published))
    }

    /// Runs `work` as one commit. It waits in the queue from the call on, whether the answer is awaited or not; the
    /// answer comes when what it changed, and what it saw, is durable and shown to new snapshots.
    ///
    /// Where `work` answers an error or panics, nothing of it is kept and others are not concerned.
    pub fn commit<R, E, W>(&self, work: W) -> impl Future<Output = std::result::Result<R, E>> + Send + use<R, E, W>
    where
        W: FnOnce(&mut Draft<'_>) -> std::result::Result<R, E> + Send + 'static,
        R: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.commit_weighing(0, work)
    }

    /// [`Keyspace::commit`] of a work that holds `bytes` while it waits, of which the queue takes a bounded sum.
    pub fn commit_weighing<R, E, W>(
        &self,
        bytes: usize,
        work: W,
    ) -> impl Future<Output = std::result::Result<R, E>> + Send + use<R, E, W>
    where
        W: FnOnce(&mut Draft<'_>) -> std::result::Result<R, E> + Send + 'static,
        R: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let (job, answer) = Job::new(bytes, work);
        if let Err((job, error)) = self.shared.queue.push(job) {
            job.refuse(&error);
        } else {
            self.shared.run_waiting();
        }
        Answer::wait(answer)
    }
}

impl Shared {
    /// Runs all works that wait, unless somebody does so already.
    ///
    /// Whoever finds the writer taken leaves the work to its holder, who looks at the queue again after letting go:
    /// so no work is left behind, and a work may itself hand in another one.
    fn run_waiting(&self) {
        while !self.queue.is_empty() {
            let mut writer = match self.writer.try_lock() {
                Ok(writer) => writer,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return,
            };
            while let Some(group) = self.queue.take_group() {
                writer.run(group, &self.published);
            }
        }
    }
}

impl std::fmt::Debug for Keyspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keyspace").finish_non_exhaustive()
    }
}
