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
//! - After a failure of the disk nothing more is written, and reads go on. Where nothing can have been lost (the disk was full, the
//!   folder was out of sight), writes are taken again once that is over.
//!
//! # Words
//!
//! *Work*: what one caller wants to be done as one commit. *Group*: the works that are made durable together.
//!
//! # What it is not
//!
//! It is not shared between processes, knows nothing of items or tables, and does not depend on an asynchronous runtime.

mod answer;
mod backend;
mod base;
mod bytes;
mod checkpoint;
pub mod disk;
mod draft;
mod error;
mod folder;
mod layers;
pub mod limits;
mod log;
mod opening;
mod overlay;
mod queue;
mod range;
mod replay;
mod shared;
pub mod simulated;
mod snapshot;
mod threads;
mod work;
mod writer;

pub use bytes::{Bytes, Key, Value};
pub use draft::Draft;
pub use error::{Error, Result};
pub use range::{Direction, Range};
pub use snapshot::Snapshot;

use answer::{Promise, WorkAnswer};
use disk::Disk;
use folder::Folder;
use layers::Layers;
use overlay::Overlay;
use shared::{Durable, Shared, Stopped};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use threads::Threads;
use work::Job;

/// How a key space in a folder is kept.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// How many bytes of changes are gathered in memory before they are written to the base. While they are, as many more.
    pub memory_bytes: usize,
    /// How many bytes of the base are cached.
    pub cache_bytes: usize,
    /// How many works may wait for the writer.
    pub queue_works_max: usize,
    /// How many bytes the works that wait may have together, as their callers state them.
    pub queue_bytes_max: usize,
    /// How long it is waited for room on a full disk before the base is tried again.
    pub room_pause: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            memory_bytes: 16 << 20,
            cache_bytes: 32 << 20,
            queue_works_max: 16_384,
            queue_bytes_max: 64 << 20,
            room_pause: Duration::from_secs(1),
        }
    }
}

/// How much a space takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Size {
    /// Bytes of changes in memory that are not in the base yet, about.
    pub memory_bytes: u64,
    /// Bytes of the log.
    pub log_bytes: u64,
    /// Bytes of the base file.
    pub base_bytes: u64,
}

/// An ordered key space of bytes. Clones are the same space.
///
/// Where it is in a folder, that is free for others once all clones and snapshots are dropped.
#[derive(Clone)]
pub struct Keyspace {
    shared: Arc<Shared>,
    threads: Option<Arc<Threads>>,
}

impl Keyspace {
    /// An empty space in memory, gone when the last clone is dropped.
    pub fn in_memory() -> Self {
        Self::in_memory_with(&Options::default())
    }

    /// [`Keyspace::in_memory`] with other bounds of the queue.
    pub fn in_memory_with(options: &Options) -> Self {
        Self {
            shared: Shared::new(options, Layers::default(), Stopped::default(), None),
            threads: None,
        }
    }

    /// The space in a folder, which is made if it is not there. Only one process may have it open, once.
    pub fn open(folder: &Path, options: Options) -> Result<Self> {
        let opened = Folder::open(folder);
        let opened =
            opened.map_err(|error| Error::io(&folder.display().to_string(), "cannot lock the key space", &error))?;
        Self::open_on(Arc::new(opened), options)
    }

    /// The space in a folder, to be looked at: nothing in the folder is changed, whatever is done here. Before that every page of
    /// its base is held against its checksum, which an opening does not do.
    ///
    /// # Errors
    ///
    /// Where a process has it open, where it holds no space, and what of it is damaged.
    pub fn open_to_inspect(folder: &Path, options: Options) -> Result<Self> {
        let opened = Overlay::open(folder);
        let overlay =
            opened.map_err(|error| Error::io(&folder.display().to_string(), "cannot look at the key space", &error))?;
        // Before the space is opened over it, which reads only what it needs.
        opening::check_base(&overlay, &options)?;
        Self::open_on(Arc::new(overlay), options)
    }

    /// Whether a folder holds a space.
    pub fn is_in(folder: &Path) -> bool {
        folder.join(opening::FORMAT_FILE).is_file()
    }

    /// The space on a disk of one's own, as tests put one beneath.
    pub fn open_on(disk: Arc<dyn Disk>, options: Options) -> Result<Self> {
        let stopped = Stopped::default();
        let opened = opening::open_space(&*disk, &options, &stopped)?;
        let durable = Durable {
            disk,
            options: options.clone(),
            checkpoints: checkpoint::Checkpoints::default(),
            log_bytes: shared::LogBytes::default(),
        };
        durable.log_bytes.set(opened.log.bytes());
        let shared = Shared::new(&options, opened.layers, stopped, Some(durable));
        let threads = Threads::start(&shared, opened.log)?;
        Ok(Self {
            shared,
            threads: Some(Arc::new(threads)),
        })
    }

    /// The newest durable state. It takes one pointer, waits for no writer and stops none.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.shared.published_layers())
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
        // Made and queued here and not in the future: what is called first is done first, whether it is awaited or not.
        let (job, answer) = Job::new(bytes, work);
        let refused = match self.shared.stop_reason() {
            Some(stopped) => Err((job, stopped)),
            None => self.shared.queue.push(job),
        };
        match refused {
            Err((job, error)) => job.refuse_job(&error),
            // In memory there is no thread: whoever hands in a work runs what waits.
            Ok(()) if self.threads.is_none() => self.shared.run_waiting(),
            Ok(()) => {}
        }
        WorkAnswer::wait(answer)
    }

    /// Writes all that is in memory to the base; the thread waits for it. In memory there is nothing to do.
    pub fn checkpoint(&self) -> Result<()> {
        let Some(durable) = &self.shared.durable else {
            return Ok(());
        };
        let answer = WorkAnswer::new();
        // Before the empty work, since the writer looks after works: the other way round it could look once too early.
        durable.checkpoints.want_all(Promise::new(Arc::clone(&answer)));
        // The writer looks at what is wanted after each work.
        answer::block_on(self.commit(|_| Ok::<_, Error>(())))?;
        answer::block_on(WorkAnswer::wait(answer))
    }

    /// Writes the base anew, without the room that deleted and replaced rows left; the thread waits for it. It serves
    /// meanwhile, and takes as many writes as fit in memory. The new file needs room beside the old one.
    pub fn compact(&self) -> Result<()> {
        let Some(durable) = &self.shared.durable else {
            return Ok(());
        };
        // First, so that what is copied is nearly all, and little has to be written twice.
        self.checkpoint()?;
        let answer = WorkAnswer::new();
        durable.checkpoints.want_compaction(Promise::new(Arc::clone(&answer)));
        answer::block_on(WorkAnswer::wait(answer))
    }

    /// Writes a copy of what is shown now to a folder without a key space, and answers its commit; the thread waits for
    /// it. It serves meanwhile.
    pub fn backup(&self, folder: &Path) -> Result<u64> {
        let opened = Folder::open(folder);
        let opened =
            opened.map_err(|error| Error::io(&folder.display().to_string(), "cannot lock the copy", &error))?;
        self.backup_on(&opened)
    }

    /// [`Keyspace::backup`] to a disk of one's own.
    pub fn backup_on(&self, disk: &dyn Disk) -> Result<u64> {
        let snapshot = self.snapshot();
        opening::copy_space(disk, snapshot.range(.., Direction::Forward), snapshot.number())?;
        Ok(snapshot.number())
    }

    /// Whether writes are possible, and why not: looks at the folder and its files, and where there was no room, whether there is
    /// some by now.
    pub fn check_writes(&self) -> impl Future<Output = Result<()>> + Send + use<> {
        // The writer looks at all that before it answers anybody.
        self.commit(|_| Ok::<_, Error>(()))
    }

    /// How much it takes now.
    pub fn size(&self) -> Result<Size> {
        // One state for all figures, so that what moves from memory to the base is not counted twice.
        let shown = self.shared.published_layers();
        let frozen_bytes = shown.frozen.as_ref().map_or(0, |frozen| frozen.bytes);
        let base_bytes = shown.base.as_ref().map_or(Ok(0), |base| base.bytes());
        Ok(Size {
            memory_bytes: (shown.active_bytes + frozen_bytes) as u64,
            log_bytes: self
                .shared
                .durable
                .as_ref()
                .map_or(0, |durable| durable.log_bytes.sum()),
            base_bytes: base_bytes.map_err(|error| Error::io("the base", "cannot ask for the size", &error))?,
        })
    }

    /// Does all works that wait, writes all to the base, and ends. Other clones take no more writes; snapshots stay. A
    /// space that is dropped without it loses nothing, and takes longer to open.
    pub fn close(self) -> Result<()> {
        match &self.threads {
            Some(threads) => threads.close(),
            None => Ok(()),
        }
    }
}

impl std::fmt::Debug for Keyspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keyspace").finish_non_exhaustive()
    }
}
