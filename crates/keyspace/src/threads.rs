//! The threads of a space in a folder: one that writes the log, and one that writes the base.

use crate::checkpoint;
use crate::log::Log;
use crate::shared::{Durable, Shared};
use crate::writer::SpaceWriter;
use crate::{Error, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// The threads of a space in a folder. They end when the last clone of it does.
pub(crate) struct Threads {
    shared: Arc<Shared>,
    writer: Mutex<Option<JoinHandle<()>>>,
    checkpoints: Mutex<Option<JoinHandle<()>>>,
    /// Whether what is in memory is written to the base in the end.
    write_all: Arc<AtomicBool>,
}

impl Threads {
    pub(crate) fn start(shared: &Arc<Shared>, log: Log) -> Result<Self> {
        let write_all = Arc::new(AtomicBool::new(false));
        let spawn = |name: &str, run: Box<dyn FnOnce(&Shared) + Send>| {
            let shared = Arc::clone(shared);
            let guarded = move || {
                if catch_unwind(AssertUnwindSafe(|| run(&shared))).is_err() {
                    // Before the queue is closed, so that what is still in it is refused with the reason.
                    shared.stop_writes(Error::failed("a thread of the key space panicked".to_owned()));
                    // Whoever waits in the queue is answered, and nobody comes after.
                    shared.queue.close();
                    shared.run_waiting();
                }
            };
            let thread = thread::Builder::new().name(name.to_owned()).spawn(guarded);
            thread.map_err(|error| Error::failed(format!("cannot start a thread: {error}")))
        };
        let (ending, mut writer) = (Arc::clone(&write_all), SpaceWriter::with_log(log));
        let write = move |shared: &Shared| {
            // None only when it is closed and empty, so that every work was answered.
            while let Some(works) = shared.queue.wait_for_group() {
                writer.run(works, shared);
            }
            if ending.load(Ordering::Acquire) {
                writer.end(shared);
            }
        };
        let check = |shared: &Shared| {
            if let Some(durable) = &shared.durable {
                let _over = GivesUp(durable);
                checkpoint::run_checkpoints(shared, durable);
            }
        };
        let threads = Self {
            shared: Arc::clone(shared),
            writer: Mutex::default(),
            checkpoints: Mutex::default(),
            write_all,
        };
        // The checkpoints first: a writer without them would wait for ever once its memory is full.
        *lock(&threads.checkpoints) = Some(spawn("keyspace-base", Box::new(check))?);
        *lock(&threads.writer) = Some(spawn("keyspace-log", Box::new(write))?);
        Ok(threads)
    }

    /// Does what waits, writes all to the base, and ends.
    pub(crate) fn close(&self) -> Result<()> {
        // Before the queue is closed, which is when the writer looks at it.
        self.write_all.store(true, Ordering::Release);
        self.end();
        match self.shared.stop_reason() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// The writer ends first, since it may still have something for the checkpoints.
    fn end(&self) {
        self.shared.queue.close();
        join(&self.writer);
        if let Some(durable) = &self.shared.durable {
            durable.checkpoints.end();
        }
        join(&self.checkpoints);
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.end();
    }
}

/// Says that checkpoints are over, however their thread ends.
struct GivesUp<'d>(&'d Durable);

impl Drop for GivesUp<'_> {
    fn drop(&mut self) {
        self.0.checkpoints.give_up();
    }
}

/// Waits for a thread, unless it is this one: a work may hold the last clone of the space that runs it.
fn join(thread: &Mutex<Option<JoinHandle<()>>>) {
    if let Some(handle) = lock(thread).take()
        && handle.thread().id() != thread::current().id()
    {
        // A panic was caught within.
        let _ = handle.join();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
